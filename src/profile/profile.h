/*
 * profile — the result of a run: one SQLite database, readable from any language (docs/profile-format.md).
 *
 * Each host's agent writes the graph of its ranks (graph/graph.h) into one in memory, resolves source places
 * while the executables are at hand, and saves it; parts of several hosts have the same form, and their
 * graphs are joined into that of profile.db. Nothing is decided here: what is one and what is two, graph/
 * says.
 */
#ifndef GNOMON_PROFILE_H
#define GNOMON_PROFILE_H

#include "base/error.h"
#include "graph/graph.h"

#include <sqlite3.h>

#define GN_PROFILE_APPLICATION_ID 0x676e6d6e /* "gnmn" */
#define GN_PROFILE_VERSION 17

/* Creates an empty profile at path (":memory:" too). A profile is for one thread at a time. */
int gn_profile_create(sqlite3 **db, const char *path, struct gn_error *err);

/* Opens an existing profile for reading. -EINVAL: not a profile, or of a newer version; the message says
 * which. */
int gn_profile_open(sqlite3 **db, const char *path, struct gn_error *err);
void gn_profile_close(sqlite3 *db);

/* Writes a graph in the place of the one that the profile has. */
int gn_profile_write(sqlite3 *db, const struct gn_graph *graph, struct gn_error *err);

/* Adds the graph of a profile, of any format, to what is in *graph (which may be half of it after an error:
 * -EINVAL, a damaged file). */
int gn_profile_read(sqlite3 *db, struct gn_graph *graph, struct gn_error *err);

/* Told now and then, when places are looked for: how many executables and libraries of how many are done. */
struct gn_resolve_progress {
    void (*tell)(void *context, size_t done, size_t all);
    void *context;
};

/* Finds functions, files and lines for all call sites that have none yet, for samples, and for what ran
 * between calls. Modules that cannot be read any more leave their sites without a place. modules: what is
 * open already, and found out (it stays open); NULL: nothing. progress: NULL when nobody wants to know. */
struct gn_modules;
int gn_profile_resolve(sqlite3 *db, struct gn_modules *modules, const struct gn_resolve_progress *progress,
                       struct gn_error *err);

/* Joins the graph of the profile at part_path to `graph`, and copies all else of it into db, to which `graph`
 * is written when all parts are there. After an error neither has changed. */
int gn_profile_join(sqlite3 *db, struct gn_graph *graph, const char *part_path, struct gn_error *err);
/* The same; what cannot be joined is noted in db, under part/NAME: a run without it is not complete. */
int gn_profile_join_or_note(sqlite3 *db, struct gn_graph *graph, const char *part_path, struct gn_error *err);
/* The same for one part, with the graph that db has. */
int gn_profile_merge(sqlite3 *db, const char *part_path, struct gn_error *err);

/* Writes db to path: complete under that name, or not at all. Errors: negative errno (-ENOSPC, -EROFS, …). */
int gn_profile_save(sqlite3 *db, const char *path, struct gn_error *err);

/* Facts of the run as text. get returns the number of bytes written without the zero, 0 when there is none.
 */
int gn_profile_set(sqlite3 *db, const char *key, const char *value, struct gn_error *err);
size_t gn_profile_get(sqlite3 *db, const char *key, char *value, size_t size);

#endif
