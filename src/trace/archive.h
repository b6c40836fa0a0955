/* trace/archive — where the anchor file of an OTF2 archive is, and whether it is one. */
#ifndef GNOMON_TRACE_ARCHIVE_H
#define GNOMON_TRACE_ARCHIVE_H

#include "base/error.h"
#include "trace/anchor.h"

#include <limits.h>

struct gn_archive {
    char anchor[PATH_MAX]; /* …/traces.otf2 */
    char folder[PATH_MAX]; /* …/traces: one file per location */
    struct gn_anchor content;
};

/* Bytes of an anchor file that are looked at; they have a few hundred. */
enum { GN_ANCHOR_MOST = 1 << 20 };

/*
 * Finds the anchor file: path itself, or the only *.otf2 in the folder at path, or in its trace/ subfolder.
 * Returns 0 or a negative errno value: there is none, there are several, or it is no anchor file.
 */
int gn_archive_find(struct gn_archive *archive, const char *path, struct gn_error *err);

#endif
