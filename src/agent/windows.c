#include "agent/windows.h"

#include "base/mix.h"

#include <math.h>

#define SAVED_NS 1000000000ull
#define MOMENT_NS 50000000ull /* in each of which is one that several hosts have */

enum { LEVELS = 16, BURST = 4 /* shares that a window has at most */ };

void gn_windows_begin(struct gn_windows *w, double rate, uint64_t seed)
{
    *w = (struct gn_windows){.rate = rate, .random = seed};
}

/* Until the next one. Paid for is what windows have in the mean, not what this one had: one that had next to
 * nothing because all waited would be followed at once, and have the end of that wait. The first one knows no
 * mean. */
static void pay(struct gn_windows *w, uint64_t events, size_t locations)
{
    const double all = GN_WINDOWS_DOUBLE + (double)GN_WINDOWS_EACH * (double)locations;
    const double doubled = fmin((double)events / all, 60);
    const double paid = w->parts > 0 ? w->kept / w->parts : (double)(events - w->events);
    const double about_one = w->common ? 1 : 0.5 + gn_mix_unit(gn_mix_next(&w->random));
    w->next_ns += (uint64_t)fmin(paid / w->rate * exp2(doubled) * about_one * 1e9, 1e17);
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

static uint64_t share_of(size_t locations)
{
    return GN_WINDOWS_LEAST + GN_WINDOWS_EACH * (uint64_t)locations;
}

/* By the time that others took; the first one has none before it. */
static bool is_full(const struct gn_windows *w, uint64_t events, size_t locations)
{
    const uint64_t kept = events - w->events, share = share_of(locations);
    if (!(w->kept > 0 && w->kept_ns > 0))
        return kept >= share;
    return kept >= BURST * share || (double)(w->now_ns - w->paid_ns) * w->kept >= (double)share * w->kept_ns;
}

/* Of windows, or of parts of one that goes on, those before count ever less. */
static void note(struct gn_windows *w, uint64_t events)
{
    static const double memory = 15. / 16;
    w->parts = w->parts * memory + 1;
    w->kept = w->kept * memory + (double)(events - w->events);
    w->kept_ns = w->kept_ns * memory + (double)(w->now_ns - w->paid_ns);
    w->events = events;
    w->paid_ns = w->now_ns;
}

/* What the next one waits for yet is as much shorter or longer. */
void gn_windows_set_rate(struct gn_windows *w, double rate, uint64_t now_ns)
{
    const bool begins = w->rate <= 0 && rate > 0;
    if (begins)
        w->next_ns = now_ns;
    else if (rate > 0 && w->next_ns > now_ns)
        w->next_ns = now_ns + (uint64_t)fmin((double)(w->next_ns - now_ns) * w->rate / rate, 1e17);
    w->rate = rate;
    w->now_ns = now_ns;
    if (w->is_open)
        return;
    w->begun_ns = now_ns; /* what others wait for, too, is counted from here */
    if (w->common && rate > 0)
        wait_for_moment(w);
}

bool gn_windows_wanted(struct gn_windows *w, uint64_t now_ns, uint64_t events, size_t locations)
{
    w->now_ns = now_ns;
    if (w->rate <= 0)
        return false;
    if (!w->is_open) {
        if (w->count == GN_KEPT_WINDOWS_MOST || now_ns < w->next_ns || (w->common && now_ns == 0))
            return false;
        w->next_ns = w->begun_ns = w->paid_ns = now_ns;
        return true;
    }
    if (!is_full(w, events, locations))
        return true;
    /* what has taken its time has paid for it; of what was not used, a second's worth is kept */
    pay(w, events, locations);
    if (now_ns < w->next_ns)
        return false;
    note(w, events);
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
    if (w->parts == 0) { /* and all that it had is known only now */
        w->next_ns = w->begun_ns;
        pay(w, events, locations);
    }
    note(w, events);
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
    pay(w, events, locations);
    gn_windows_close(w, ticks, events, locations);
}
