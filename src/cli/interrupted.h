/*
 * cli/interrupted — SIGINT, SIGTERM and SIGHUP while something unfinished lies about: it is cleaned up, and
 * the program then ends by the signal.
 *
 * A signal handler may do next to nothing, and the program may be waiting somewhere for ever (for other
 * processes, for instance). So the signals go to a thread. It leaves the cleaning to the program, which
 * asks often whether it is to end; when it does not ask within a second, the thread does it.
 */
#ifndef GNOMON_CLI_INTERRUPTED_H
#define GNOMON_CLI_INTERRUPTED_H

/* From here on, for the rest of the program; before other threads are started, which inherit which signals
 * they do not get. When there is no thread to be had, signals end the program as ever. */
void gn_interrupted_begin(void);

/* What is to be called before the end; NULL: nothing. */
void gn_interrupted_clean(void (*clean)(void *self), void *self);

/* In the thread that works, often: cheap. Does not return after a signal. */
void gn_interrupted_check(void);

#endif
