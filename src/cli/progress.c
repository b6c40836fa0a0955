#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { WIDEST = 40, LABEL = 20, INTERVAL_NS = 100000000 };

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct gn_progress gn_progress_begin(bool is_shown)
{
    struct winsize size = {.ws_col = 0};
    struct gn_progress progress = {.is_shown = is_shown && isatty(STDERR_FILENO)};
    if (progress.is_shown && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0)
        size.ws_col = 0;
    progress.width = size.ws_col ? size.ws_col : 80;
    return progress;
}

/* Short commands show nothing: the first bar comes after an interval. */
static bool is_time(struct gn_progress *p, const char *phase)
{
    const uint64_t now = now_ns();
    const bool is_first = p->next_ns == 0, is_due = now >= p->next_ns || (p->phase && p->phase != phase);
    if (is_first || is_due)
        p->next_ns = now + INTERVAL_NS;
    return is_due && !is_first;
}

void gn_progress_show(struct gn_progress *progress, const char *phase, double share)
{
    char bar[WIDEST + 1];
    if (!progress->is_shown || !is_time(progress, phase))
        return;
    const int room = progress->width - LABEL - 10, width = room > WIDEST ? WIDEST : room > 0 ? room : 0;
    share = share > 0 ? share < 1 ? share : 1 : 0;
    const int full = (int)(share * width);
    memset(bar, ' ', sizeof bar);
    memset(bar, '=', (size_t)full);
    bar[width] = '\0';
    fprintf(stderr, "\r%-*.*s [%s] %3d %%\033[K", LABEL, LABEL, phase, bar, (int)(share * 100));
    fflush(stderr);
    progress->phase = phase;
}

void gn_progress_end(struct gn_progress *progress)
{
    if (progress->is_shown && progress->phase)
        fputs("\r\033[K", stderr);
    progress->is_shown = false;
}
