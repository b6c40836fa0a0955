#include "agent/windows.h"

#include "base/mix.h"

#include <math.h>

#define SAVED_NS 1000000000ull

void gn_windows_begin(struct gn_windows *w, double rate, uint64_t seed)
{
    *w = (struct gn_windows){.rate = rate, .random = seed};
}

/* Until the next one, for what was kept since it was last paid for: at least so much. */
static void pay(struct gn_windows *w, uint64_t events, size_t locations, double least)
{
    const double all = GN_WINDOWS_DOUBLE + (double)GN_WINDOWS_EACH * (double)locations;
    const double doubled = fmin((double)events / all, 60);
    const double paid = fmax((double)(events - w->events), least);
    const double about_one = 0.5 + gn_mix_unit(gn_mix_next(&w->random));
    w->next_ns += (uint64_t)fmin(paid / w->rate * exp2(doubled) * about_one * 1e9, 1e17);
    w->events = events;
}

bool gn_windows_wanted(struct gn_windows *w, uint64_t now_ns, uint64_t events, size_t locations)
{
    if (!w->is_open) {
        if (w->count == GN_KEPT_WINDOWS_MOST || now_ns < w->next_ns)
            return false;
        w->next_ns = now_ns;
        return true;
    }
    if (events - w->events < GN_WINDOWS_LEAST + GN_WINDOWS_EACH * (uint64_t)locations)
        return true;
    /* what has taken its time has paid for it; of what was not used, a second's worth is kept */
    pay(w, events, locations, 0);
    if (now_ns < w->next_ns)
        return false;
    if (now_ns - w->next_ns > SAVED_NS)
        w->next_ns = now_ns - SAVED_NS;
    return true;
}

void gn_windows_open(struct gn_windows *w, uint64_t ticks, uint64_t events)
{
    w->is_open = true;
    w->events = events;
    w->spans[w->count].begin_ticks = ticks;
}

void gn_windows_end(struct gn_windows *w, uint64_t ticks)
{
    w->is_open = false;
    w->spans[w->count].end_ticks = ticks;
    w->count += ticks > w->spans[w->count].begin_ticks;
}

void gn_windows_close(struct gn_windows *w, uint64_t ticks, uint64_t events, size_t locations)
{
    pay(w, events, locations, 0);
    w->was_closed = true;
    gn_windows_end(w, ticks);
}

bool gn_windows_are_whole(const struct gn_windows *w)
{
    return w->count == 1 && !w->was_closed;
}

void gn_windows_cut(struct gn_windows *w, uint64_t ticks, uint64_t events, size_t locations)
{
    pay(w, events, locations, GN_WINDOWS_LEAST / 2.); /* which had next to nothing, perhaps */
    gn_windows_close(w, ticks, events, locations);
}
