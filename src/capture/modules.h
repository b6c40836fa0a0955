/*
 * capture/modules — which executable or library an address lies in, written into the segment once for each.
 * Identified by build id and offset, so that all ranks agree whatever the address space layout.
 */
#ifndef GNOMON_CAPTURE_MODULES_H
#define GNOMON_CAPTURE_MODULES_H

#include "image/tag.h"
#include "unwind/table.h"

#include <link.h>
#include <stdbool.h>

/* Index into segment->modules of the module that contains `address`; 0 when there is none (generated code) or
 * the list is full. *table: its unwind information, until the next call; NULL when there is no such module.
 * Called under the lock of capture/lists. */
uint16_t gn_module_at(struct gn_tag *segment, uintptr_t address, const struct gn_unwind_table **table);

/* Index of the module that stands for a file in Python's language; 0 when the table is full. Under the same
 * lock. */
uint16_t gn_module_of_source(struct gn_tag *segment, const char *file);

/* Path of this program, as well as it can be known; empty when it cannot. */
void gn_module_executable(char *path, size_t size);

/* Whether the module belongs to an MPI library (its frames are not the user's call sites). */
bool gn_module_is_mpi(const struct gn_module *module);

/* Whether it is what meets calls of functions that the user has named (image/activity_slots.h). */
bool gn_module_is_slots(const struct gn_module *module);

/* Whether it is the C library or the dynamic loader (frames outside of main and of thread functions). */
bool gn_module_is_libc(const struct gn_module *module);

/* Moves on whenever a library may have been unloaded: an address may mean something else from then on. */
extern gn_shared32 gn_unload_era;

/* Looks whether one was. Takes the loader's lock. */
void gn_modules_notice(void);

#if defined(DLFO_EH_SEGMENT_TYPE)
/* glibc's _dl_find_object, which takes no lock: *code is what it says. False: this glibc has none. */
bool gn_loader_finds(void *address, struct dl_find_object *result, int *code);
#endif

/* Whether the address lies in a module now. Takes no lock; false where that cannot be known so (before
 * glibc 2.35). */
bool gn_is_loaded(uintptr_t address);

#endif
