/* program/die — entries of debug information, which may be wrong. */
#ifndef GNOMON_PROGRAM_DIE_H
#define GNOMON_PROGRAM_DIE_H

#include <elfutils/libdw.h>
#include <stdbool.h>

/* Moves to the next entry of the same level. A file may point backwards, which would never end; that counts
 * as the last entry. */
static inline bool gn_die_next_sibling(Dwarf_Die *die)
{
    Dwarf_Off before = dwarf_dieoffset(die);
    Dwarf_Die next;
    if (dwarf_siblingof(die, &next) != 0 || dwarf_dieoffset(&next) <= before)
        return false;
    *die = next;
    return true;
}

#endif
