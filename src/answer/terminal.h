/*
 * answer/terminal — how answers look where they are written to: colours and width.
 *
 * As wide as the terminal, from 72 to 140 columns: lines that are longer are hard to read. A file or a pipe
 * is 100 columns wide, or $COLUMNS, as many as that says. Where the locale has no UTF-8, signs are plain
 * letters (answer/ascii.h).
 */
#ifndef GNOMON_ANSWER_TERMINAL_H
#define GNOMON_ANSWER_TERMINAL_H

#include <stdbool.h>

#define GN_BOLD "\033[1m"
#define GN_DIM "\033[2m"
#define GN_RED "\033[31m"
#define GN_YELLOW "\033[33m"
#define GN_PLAIN "\033[0m"

enum { GN_WIDTH_LEAST = 72, GN_WIDTH_MOST = 140, GN_WIDTH_OF_FILES = 100 };

struct gn_terminal {
    bool color; /* a terminal, and NO_COLOR is not set */
    bool ascii; /* no UTF-8 */
    int width;  /* columns, at least GN_WIDTH_LEAST */
};

struct gn_terminal gn_terminal_of(int descriptor);

/* code, or "" where nothing is coloured. */
const char *gn_shade(const struct gn_terminal *terminal, const char *code);

#endif
