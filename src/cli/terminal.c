#include "cli/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { MIN_WIDTH = 60, UNLIMITED = 1000 };

struct gn_terminal gn_terminal_of(int descriptor)
{
    struct winsize size;
    struct gn_terminal t = {false, 0};
    const char *columns = getenv("COLUMNS"), *no_color = getenv("NO_COLOR");
    t.color = isatty(descriptor) && !(no_color && *no_color);
    if (ioctl(descriptor, TIOCGWINSZ, &size) == 0)
        t.width = size.ws_col;
    if (t.width == 0 && columns)
        t.width = atoi(columns);
    if (t.width < MIN_WIDTH)
        t.width = t.width > 0 ? MIN_WIDTH : UNLIMITED; /* a file or a pipe: nothing is cut */
    return t;
}
