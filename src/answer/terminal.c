#include "answer/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* 0: the variable says nothing. */
static int columns_variable(void)
{
    const char *text = getenv("COLUMNS");
    const long columns = text ? strtol(text, NULL, 10) : 0;
    return columns <= 0 ? 0 : columns < 100000 ? (int)columns : 100000;
}

/* Whether the locale of the environment has no UTF-8: that of C, which is also what nothing is, has none. */
static bool is_ascii(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *locale = NULL;
    for (size_t i = 0; i < sizeof variables / sizeof *variables && !(locale && *locale); i++)
        locale = getenv(variables[i]);
    return !locale || !(strcasestr(locale, "utf-8") || strcasestr(locale, "utf8"));
}

struct gn_terminal gn_terminal_of(int descriptor)
{
    struct winsize size;
    const char *no_color = getenv("NO_COLOR");
    struct gn_terminal t = {.color = isatty(descriptor) && !(no_color && *no_color), .ascii = is_ascii()};
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
