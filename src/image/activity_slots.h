/*
 * image/activity_slots — the library that meets calls of functions that the user has named (gnomon run
 * --activity).
 *
 * It is built once, with GN_SLOTS entry points of which nobody knows the names (capture/slots.S). For a run,
 * a copy is made in which some are called as the functions that are meant (cli/activity_library.h): their
 * names in its symbol table, its hash table, and gn_slots say the same. Preloaded, it is found before the
 * libraries that have these functions.
 */
#ifndef GNOMON_IMAGE_ACTIVITY_SLOTS_H
#define GNOMON_IMAGE_ACTIVITY_SLOTS_H

#define GN_SLOTS 32
#define GN_SLOT_AREA 2752        /* bytes of registers that are kept: no kind of KEPT (slots.S) ends above */
#define GN_SLOT_SYMBOL_BYTES 256 /* with the end, as every slot's own name */

#ifndef __ASSEMBLER__
struct gn_slot {
    char symbol[GN_SLOT_SYMBOL_BYTES]; /* empty: of no function */
    char version[64];                  /* of it, that the program asks for; empty: it names none */
    char name[64];                     /* of the activity */
};
#endif

#endif
