#include "answer/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* 0: the variable says nothing. */
static int columns_variable(void)
{
    const char *text = getenv("COLUMNS");
    const long columns = text ? strtol(text, NULL, 10) : 0;
    return columns <= 0 ? 0 : columns < 100000 ? (int)columns : 100000;
}

struct gn_terminal gn_terminal_of(int descriptor)
{
    struct winsize size;
    const char *no_color = getenv("NO_COLOR");
    struct gn_terminal t = {.color = isatty(descriptor) && !(no_color && *no_color)};
    if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col)
        t.width = size.ws_col < GN_WIDTH_MOST ? size.ws_col : GN_WIDTH_MOST;
    else
        t.width = columns_variable() ? columns_variable() : GN_WIDTH_OF_FILES;
    if (t.width < GN_WIDTH_LEAST)
        t.width = GN_WIDTH_LEAST;
    return t;
}

const char *gn_shade(const struct gn_terminal *terminal, const char *code)
{
    return terminal->color ? code : "";
}
