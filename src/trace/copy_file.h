/*
 * trace/copy_file — files copied without looking at them: by the file system itself where it can share
 * blocks, else within the kernel, else by hand.
 */
#ifndef GNOMON_TRACE_COPY_FILE_H
#define GNOMON_TRACE_COPY_FILE_H

#include "base/error.h"

#include <stdint.h>

/* Writes what it is given behind what is there. path: for messages. 0 or a negative errno value. */
int gn_write_all(int fd, const char *path, const void *bytes, uint64_t size, struct gn_error *err);

/* The first `bytes` bytes of a file; both begin at their beginnings, and `to` is left behind the last one. */
int gn_copy_bytes(int from, const char *from_path, int to, const char *to_path, uint64_t bytes,
                  struct gn_error *err);

/* Opens for reading, or creates, which must not be there yet (-EEXIST). The descriptor or a negative errno
 * value. */
int gn_open_input(const char *path, struct gn_error *err);
int gn_open_output(const char *path, struct gn_error *err);

/* Closes, which is where some file systems say that there is no room. result: what was before; an error stays
 * what it was. */
int gn_close_output(int fd, const char *path, int result, struct gn_error *err);

/* A file, or a folder with all that is in it. What is neither is left out. The copy must not be there yet. */
int gn_copy_file(const char *from, const char *to, struct gn_error *err);
int gn_copy_tree(const char *from, const char *to, struct gn_error *err);

/* A folder and all that is in it, as far as it can be removed; does not follow links. 0 or a negative errno
 * value: something is left. */
int gn_remove_tree(const char *path, struct gn_error *err);

#endif
