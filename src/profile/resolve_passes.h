/*
 * profile/resolve_passes — the loops of the program that calls stand in, and what is known, from the
 * program's code, of how often each was entered and gone round between two calls (program/iterations).
 *
 * Two activities that follow each other have call paths; in the innermost function that both have in common
 * control went from the one call to the other, what is further in on the first path was left, on the second
 * entered. Unless it went a longer way: that function, and others around it, left and entered again. Each way
 * that the code allows counts, so that what is stored holds the truth, and is exact where only one is left.
 */
#ifndef GNOMON_PROFILE_RESOLVE_PASSES_H
#define GNOMON_PROFILE_RESOLVE_PASSES_H

#include "profile/profile.h"

/* Fills tables loop, site_loop, pass and call_pass anew, from the modules that can be read. */
int gn_resolve_passes(sqlite3 *db, struct gn_modules *modules, struct gn_error *err);

#endif
