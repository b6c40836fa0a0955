/*
 * base/error — a message a person can act on, next to a negative return code.
 *
 * Functions that can fail return 0 (or a count) on success and a negative errno value on failure, and
 * fill a struct gn_error given by the caller with what was being done, where, and what to do about it.
 * A NULL gn_error is allowed everywhere: the code is then all the caller gets.
 */
#ifndef GNOMON_BASE_ERROR_H
#define GNOMON_BASE_ERROR_H

struct gn_error {
    char text[1024]; /* one sentence without a full stop or newline; empty when nothing failed */
};

/* Writes a printf-style message into err (ignored when err is NULL) and returns code, so that a failing
 * function can end with `return gn_fail(err, -ENOENT, "...")`. */
int gn_fail(struct gn_error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
