/*
 * trace/retime_place — whether a new archive can get the name that it is to have. Asked before anything is
 * done: what is wrong with a place is then said at once, and not after hours.
 */
#ifndef GNOMON_TRACE_RETIME_PLACE_H
#define GNOMON_TRACE_RETIME_PLACE_H

#include "trace/archive.h"

/*
 * out: the new archive's folder, without a slash at its end; unfinished: the name that it has until it is
 * complete, beside it. Nothing is changed. 0, or a negative errno value with err saying what to do: out is
 * inside of the old archive's folder or no name of its own (-EINVAL), is there and not an empty folder
 * (-EEXIST), is a mount point (-EBUSY), is in no folder or in one that may not be written to; unfinished is
 * being written (-EBUSY), or not known to be what it should be (-EEXIST).
 */
int gn_retime_place(const struct gn_archive *archive, const char *out, const char *unfinished,
                    struct gn_error *err);

/* The folder that a path is in, without links; to be freed. NULL: errno says why. */
char *gn_retime_folder_of(const char *path);

/* The file in an unfinished folder that says that it is one, and, by a lock, that its maker lives. */
#define GN_RETIME_MARK ".gnomon-unfinished"

#endif
