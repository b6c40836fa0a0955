/*
 * profile — the result of a run: one SQLite database, readable from any language (docs/profile-format.md).
 *
 * Each host's agent fills one in memory from its ranks' snapshots, resolves source places while the
 * executables are at hand, and saves it; parts of several hosts have the same form and are merged into
 * profile.db. Things are merged by what they are — (module, offset) for call sites, the chain of sites for
 * call paths — never by address.
 */
#ifndef GNOMON_PROFILE_H
#define GNOMON_PROFILE_H

#include "base/error.h"
#include "graph/snapshot.h"
#include "profile/last_calls.h"

#include <sqlite3.h>

#define GN_PROFILE_APPLICATION_ID 0x676e6d6e /* "gnmn" */
#define GN_PROFILE_VERSION 4

/* What the agent knows about a process besides its snapshot. */
struct gn_process_facts {
    const char *host;
    double tick_ns;     /* length of a tick, measured over the run */
    uint64_t end_ticks; /* when the agent saw it end, 0: still running */
    int launcher_rank;  /* rank as the launcher said; used when MPI_Init did not get that far; -1 unknown */
    const char *ended;  /* "running", "exit", "signal", "unknown" */
    int exit_status;    /* exit status or signal number, -1 unknown */
    const struct gn_last_calls *last_calls; /* NULL: not known */
};

/* Creates an empty profile at path (":memory:" too). */
int gn_profile_create(sqlite3 **db, const char *path, struct gn_error *err);

/* Opens an existing profile for reading. -EINVAL: not a profile, or of a newer version; the message says
 * which. */
int gn_profile_open(sqlite3 **db, const char *path, struct gn_error *err);
void gn_profile_close(sqlite3 *db);

/* Adds one process. */
int gn_profile_add(sqlite3 *db, const struct gn_process_facts *facts, const struct gn_snapshot *snapshot,
                   struct gn_error *err);

/* Adds a rank of which the launcher told but no measurement exists. */
int gn_profile_add_missing(sqlite3 *db, const struct gn_process_facts *facts, const char *message,
                           struct gn_error *err);

/* Told now and then, when places are looked for: how many transitions of how many are done. */
struct gn_resolve_progress {
    void (*tell)(void *context, size_t done, size_t all);
    void *context;
};

/* Finds functions, files and lines for all call sites that have none yet, and for what ran between calls.
 * Modules that cannot be read any more leave their sites without a place. modules: what is open already, and
 * found out (it stays open); NULL: nothing. progress: NULL when nobody wants to know. */
struct gn_modules;
int gn_profile_resolve(sqlite3 *db, struct gn_modules *modules, const struct gn_resolve_progress *progress,
                       struct gn_error *err);

/* Copies all of the profile at part_path into db. */
int gn_profile_merge(sqlite3 *db, const char *part_path, struct gn_error *err);

/* Writes db to path: complete under that name, or not at all. Errors: negative errno (-ENOSPC, -EROFS, …). */
int gn_profile_save(sqlite3 *db, const char *path, struct gn_error *err);

/* Facts of the run as text. get returns the number of bytes written without the zero, 0 when there is none.
 */
int gn_profile_set(sqlite3 *db, const char *key, const char *value, struct gn_error *err);
size_t gn_profile_get(sqlite3 *db, const char *key, char *value, size_t size);

#endif
