/* cli/terminal — how reports look where they are written to: colours and width. */
#ifndef GNOMON_CLI_TERMINAL_H
#define GNOMON_CLI_TERMINAL_H

#include <stdbool.h>

#define GN_BOLD "\033[1m"
#define GN_DIM "\033[2m"
#define GN_RED "\033[31m"
#define GN_YELLOW "\033[33m"
#define GN_PLAIN "\033[0m"

struct gn_terminal {
    bool color; /* a terminal, and NO_COLOR is not set */
    int width;  /* columns, at least 60; of a file or a pipe so many that nothing is cut */
};

struct gn_terminal gn_terminal_of(int descriptor);

#endif
