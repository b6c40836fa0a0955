/*
 * agent/running — runs that go on, seen from outside: a run's folder says how to reach its agent on this host
 * (parts/<host>.open, docs/run-folder.md), and that gives what there is to see.
 */
#ifndef GNOMON_AGENT_RUNNING_H
#define GNOMON_AGENT_RUNNING_H

#include "base/error.h"

#include <stddef.h>

/* The folder of the newest run in the working directory whose agent answers; -ENOENT: there is none. */
int gn_running_newest(const char *where, char *path, size_t size, struct gn_error *err);

/*
 * The events of a run from now on, as an event stream (event/wire.h) with call paths left out. Returns the
 * descriptor to read from, which does not block and is the caller's; -ENOENT: it does not go on, or is
 * another host's; another negative errno value: what its agent said.
 */
int gn_running_stream(const char *run, struct gn_error *err);

#endif
