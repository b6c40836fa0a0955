/* profile/resolve_samples — loops of sampled places, what libraries do there; and places that are called the
 * same become one. */
#ifndef GNOMON_PROFILE_RESOLVE_SAMPLES_H
#define GNOMON_PROFILE_RESOLVE_SAMPLES_H

#include "program/program.h"

#include <sqlite3.h>

/* Notes the loops around sampled sites of a module. */
int gn_resolve_loops(sqlite3 *db, struct gn_error *err, int64_t module, struct gn_program *program);

/* Notes what functions of a module do that samples were taken below, where everybody knows that
 * (program/runtime). */
int gn_resolve_runtimes(sqlite3 *db, struct gn_error *err, int64_t module, struct gn_program *program);

/* Rows of samples whose places have the same name, line and loop are added up, and stand at one of them. */
int gn_resolve_same_places(sqlite3 *db, struct gn_error *err);

#endif
