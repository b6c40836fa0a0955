#include "capture/window_counts.h"

#include "capture/comms.h"
#include "capture/recorder.h"
#include "capture/tracer.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>

struct side {
    struct gn_epoch open; /* the one that was begun last */
    uint32_t group;       /* of all of them + 1; 0: there was none */
    gn_handle handle;     /* of the last one's group, and gn_era then */
    uint32_t era;
    bool varies;
    uint64_t begun;
};

struct window {
    uint64_t collectives;
    struct side sides[2];
};

static struct window *windows; /* [GN_RING_WINDOWS] */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const struct gn_epoch unknown = {GN_NONE, GN_UNNUMBERED};

int gn_window_counts_open(void)
{
    void *memory = mmap(NULL, GN_RING_WINDOWS * sizeof *windows, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return -1;
    windows = memory;
    return 0;
}

static struct window *at(uint32_t window)
{
    return windows && window < GN_RING_WINDOWS ? &windows[window] : NULL;
}

uint64_t gn_window_counts_collective(uint32_t window)
{
    struct window *w = at(window);
    if (!w)
        return GN_UNNUMBERED;
    pthread_mutex_lock(&lock);
    const uint64_t number = w->collectives++;
    pthread_mutex_unlock(&lock);
    return number;
}

struct gn_epoch gn_window_counts_begin(uint32_t window, enum gn_epoch_side of, gn_handle group)
{
    struct window *w = at(window);
    if (!w)
        return unknown;
    /* what a library takes to tell a group's members can grow with the square of their number */
    const uint32_t era = GN_GET(gn_era);
    struct side *side = &w->sides[of];
    pthread_mutex_lock(&lock);
    const bool is_last = side->begun > 0 && side->handle == group && side->era == era;
    uint32_t named = side->open.group;
    pthread_mutex_unlock(&lock);
    if (!is_last)
        named = gn_group_define(group);
    pthread_mutex_lock(&lock);
    side->handle = group;
    side->era = era;
    side->varies |= named == GN_NONE || (side->group > 0 && side->group != named + 1);
    side->group = named + 1;
    side->open = (struct gn_epoch){named, side->varies ? GN_UNNUMBERED : side->begun};
    side->begun++;
    const struct gn_epoch begun = side->open;
    pthread_mutex_unlock(&lock);
    return begun;
}

struct gn_epoch gn_window_counts_end(uint32_t window, enum gn_epoch_side of)
{
    struct window *w = at(window);
    if (!w)
        return unknown;
    pthread_mutex_lock(&lock);
    struct side *side = &w->sides[of];
    const struct gn_epoch ended = side->begun > 0 ? side->open : unknown;
    pthread_mutex_unlock(&lock);
    return ended;
}
