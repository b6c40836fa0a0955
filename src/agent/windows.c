#include "agent/windows.h"

#include "base/mix.h"

#include <math.h>

#define SAVED_NS 1000000000ull
#define MOMENT_NS 50000000ull /* in each of which is one that several hosts have */

enum { LEVELS = 16 };

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
    const double about_one = w->common ? 1 : 0.5 + gn_mix_unit(gn_mix_next(&w->random));
    w->next_ns += (uint64_t)fmin(paid / w->rate * exp2(doubled) * about_one * 1e9, 1e17);
    w->events = events;
}

/* ---- moments of several hosts ---- */

static uint64_t moment_ns(const struct gn_windows *w, uint64_t number)
{
    return number * MOMENT_NS + gn_mix_at(w->common, 0, number) % MOMENT_NS;
}

static bool has_level(const struct gn_windows *w, uint64_t number, unsigned level)
{
    return (gn_mix_at(w->common, 1, number) & (((uint64_t)1 << level) - 1)) == 0;
}

/* Those of a level are so far apart in the mean as the next window has been put off, or further. */
static void wait_for_moment(struct gn_windows *w)
{
    unsigned level = 0;
    while (level < LEVELS && w->begun_ns + (MOMENT_NS << level) < w->next_ns)
        level++;
    uint64_t number = w->now_ns / MOMENT_NS;
    while (moment_ns(w, number) <= w->now_ns || !has_level(w, number, level))
        number++;
    w->next_ns = moment_ns(w, number);
}

/* ---- windows ---- */

bool gn_windows_wanted(struct gn_windows *w, uint64_t now_ns, uint64_t events, size_t locations)
{
    w->now_ns = now_ns;
    if (!w->is_open) {
        if (w->count == GN_KEPT_WINDOWS_MOST || now_ns < w->next_ns || (w->common && now_ns == 0))
            return false;
        w->next_ns = w->begun_ns = now_ns;
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

void gn_windows_open(struct gn_windows *w, uint64_t ticks, uint64_t events, bool is_late)
{
    w->has_gaps |= is_late;
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
    if (w->common)
        wait_for_moment(w);
    w->has_gaps = true;
    gn_windows_end(w, ticks);
}

bool gn_windows_are_whole(const struct gn_windows *w)
{
    return w->count == 1 && !w->has_gaps;
}

void gn_windows_cut(struct gn_windows *w, uint64_t ticks, uint64_t events, size_t locations)
{
    pay(w, events, locations, GN_WINDOWS_LEAST / 2.); /* which had next to nothing, perhaps */
    gn_windows_close(w, ticks, events, locations);
}
