/*
 * capture/spawn — what the program starts itself, by MPI_Comm_spawn and MPI_Comm_spawn_multiple, is measured,
 * too.
 *
 * A launcher starts these processes, out of our sight and with its own environment. So the command that the
 * program names is replaced by `gnomon run … -- COMMAND`, which makes itself known to this process's agent
 * and becomes the command: the same words, the same directory, the same process. Only where that surely comes
 * out the same: the root knows the communicator, and the command is there. Otherwise the call is left as it
 * is, and its processes are counted as not measured.
 */
#ifndef GNOMON_CAPTURE_SPAWN_H
#define GNOMON_CAPTURE_SPAWN_H

#include "capture/recorder.h"

enum { GN_SPAWN_WORDS = 1024, GN_SPAWN_COMMANDS = 64 };

/* Lives as long as the call: the words that stand for the program's. */
struct gn_spawn {
    const char *words[GN_SPAWN_WORDS];
    unsigned used;
    const char *commands[GN_SPAWN_COMMANDS];
    const char *const *argvs[GN_SPAWN_COMMANDS];
    char by[160];
};

/* How the children of this process are to be measured; from MPI_Init on. Strings that stay. */
struct gn_spawn_settings {
    const char *run;      /* the path of gnomon; "": they are not */
    const char *agent;    /* the name of its socket */
    const char *pcontrol; /* as the option has it, or NULL */
    bool traced;
};
void gn_spawn_open(const struct gn_spawn_settings *settings);

/* Ahead of the call: replaces command and arguments. */
void gn_spawn_through(struct gn_spawn *spawn, void **command, void **argv, gn_handle info, int root,
                      gn_handle comm);
void gn_spawn_all_through(struct gn_spawn *spawn, int count, void **commands, void **argvs, const void *infos,
                          int root, gn_handle comm);

/* After it: so many processes were started. */
void gn_after_spawn(struct gn_capture_call *call, int maxprocs, int root, gn_handle comm);
void gn_after_spawn_multiple(struct gn_capture_call *call, int count, const void *maxprocs, int root,
                             gn_handle comm);

#endif
