/*
 * agent/trace_part — this host's part of the run's trace: from rings to an archive in the run folder.
 *
 *   open ──► add (each process that asks) … ──► stop (all have ended) ──► finish: definitions, facts of the
 * run
 *
 * The archive is RUN/trace, where this host is the only one, else RUN/trace-<host>; of a trace in windows
 * (agent/windows.h) RUN/windows or RUN/windows-<host>. While the run lasts it
 * holds events only; what they refer to is written at the end, when the profile knows the source places.
 */
#ifndef GNOMON_AGENT_TRACE_PART_H
#define GNOMON_AGENT_TRACE_PART_H

#include "agent/order.h"
#include "base/error.h"
#include "agent/readers.h"
#include "agent/watched.h"

#include <sqlite3.h>
#include <stdint.h>

/* Archives in a run's folder. */
#define GN_TRACE_NAME "trace"
#define GN_WINDOWS_NAME "windows"

struct gn_trace_part;

struct gn_trace_place {
    const char *folder; /* the run's */
    const char *host;   /* this one's name */
    bool several_hosts;
    struct gn_exchanges *exchanges; /* by which windows of several hosts are of one moment, until the part is
                                       stopped; NULL: this is the only one */
};

/* 0 or a negative errno value. */
int gn_trace_part_open(struct gn_trace_part **part, const struct gn_trace_place *place,
                       const struct gn_trace_settings *settings, struct gn_error *err);

/* How far the trace is, for one that goes on when this process is killed: a memory file, which stays the
 * part's. */
int gn_trace_part_state(const struct gn_trace_part *part);

/*
 * Goes on with the trace of an agent that was killed, from its state and from what lies in the folder:
 * nothing that is in a process's rings is lost or taken twice. list: the processes, with their rings. Errors:
 * as gn_trace_part_open; -ENOENT: it had no trace, or had finished it.
 */
int gn_trace_part_go_on(struct gn_trace_part **part, int state, const struct gn_trace_place *place,
                        const struct gn_trace_settings *settings, const struct gn_watched_list *list,
                        struct gn_error *err);

/* Makes rings for a process that has its segment. Returns a descriptor for the process, which the caller
 * closes, or a negative errno value. */
int gn_trace_part_add(struct gn_trace_part *part, struct gn_watched *watched);

/* A process that was added has ended. */
void gn_trace_part_ended(struct gn_trace_part *part, int pid);

/* Lets somebody watch: agent/readers.h says what through which descriptors, and the errors; -ENOTSUP: windows
 * are no stream. */
int gn_trace_part_show(struct gn_trace_part *part, int descriptor);

/* Of events in windows: so many a second from now on; 0: none. */
void gn_trace_part_set_rate(struct gn_trace_part *part, double rate);

/*
 * Of events in windows: so much of them that who reads the files meanwhile finds all of the windows that the
 * profile, a checkpoint of the run, is told of here; nothing where they cannot be told of now.
 */
void gn_trace_part_show_windows(struct gn_trace_part *part, sqlite3 *profile);

/* Takes the last events. */
void gn_trace_part_stop(struct gn_trace_part *part);

/*
 * Completes the archive and writes into the profile how many events there are, how many are missing, and why:
 * see docs/profile-format.md. profile: with its sites resolved. Frees part, which may be NULL, but for its
 * readers, whose streams may not have gone out: they are returned (NULL: there were none).
 */
struct gn_readers *gn_trace_part_finish(struct gn_trace_part *part, sqlite3 *profile);

/* The profile is in the run's folder: what is beside its trace for an agent that goes on is not needed. */
void gn_trace_part_saved(const char *folder);

#endif
