/*
 * program/debugserver — debug files from debuginfod servers (elfutils' client), by build id.
 *
 * A tool that reads a job's results must not tell other machines what ran, nor let anybody wait for them. So
 * a server is asked only where the user has named some (DEBUGINFOD_URLS) and only by who has time: the
 * agent's look-up thread, while the program runs. All others take what was fetched before, by whatever tool,
 * from the client's cache on this machine. The client is loaded when it is needed first; where it is not
 * installed, nothing is asked.
 */
#ifndef GNOMON_PROGRAM_DEBUGSERVER_H
#define GNOMON_PROGRAM_DEBUGSERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who has time to wait, and for how long. */
struct gn_debug_patience {
    bool (*goes_on)(void *context); /* asked at least once a second while a server is waited for */
    void *context;
    uint64_t left_ns; /* for all questions together; becomes less */
};

/* A file descriptor of the debug file with that build id, and its path in *path (to be freed); -1: none.
 * Without patience (NULL, at its end, or when it does not go on) only the cache is looked at. */
int gn_debugserver_find(const uint8_t *build_id, size_t bytes, struct gn_debug_patience *patience,
                        char **path);

#endif
