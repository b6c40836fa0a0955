/* What was seen in virtual time: windows as they would have been, and what is left of calls. */
#include "analyse/seen.h"

#include <math.h>
#include <stdlib.h>

static struct gn_kept_window without_margins(const struct gn_definitions *d, struct gn_kept_window window)
{
    const uint64_t margin = (window.end_ticks - window.begin_ticks) / GN_SEEN_MARGIN;
    if (window.begin_ticks > d->first_ticks)
        window.begin_ticks += margin;
    if (window.end_ticks < d->first_ticks + d->length_ticks)
        window.end_ticks -= margin;
    return window;
}

/* By how many ticks locations are earlier at the end than they were, in the mean. */
static uint64_t earlier_ticks(const struct gn_history *h)
{
    double ns = 0, locations = 0, ticks_ns = 1e9 / (double)h->definitions->ticks_per_second;
    for (uint32_t l = 0; h->gone_ns && l < h->definitions->location_count; l++) {
        if (h->first_call[l] == GN_NONE || h->is_carried[l])
            continue;
        ns += h->earlier_ns[l];
        locations++;
    }
    return locations > 0 ? (uint64_t)(ns / locations / ticks_ns) : 0;
}

/* A moment of a window in the time of the history: within it, all goes faster alike. */
static uint64_t in_history(const struct gn_kept_window *window, uint64_t ticks, uint64_t earlier_ticks)
{
    const double length = (double)(window->end_ticks - window->begin_ticks);
    const double part = length > 0 ? (double)(ticks - window->begin_ticks) / length : 0;
    const uint64_t less = (uint64_t)(part * (double)earlier_ticks);
    return ticks - less > window->begin_ticks ? ticks - less : window->begin_ticks;
}

void gn_seen_set_window(struct gn_seen_part *part, const struct gn_definitions *definitions,
                        const struct gn_kept_window *window)
{
    const struct gn_history *h = &part->history;
    const double length_ns = ((double)h->length.lo_ns + (double)h->length.hi_ns) / 2;
    part->window = part->counted = (struct gn_kept_window){0, 0};
    part->slowed = h->gone_ns && length_ns > 0 ? fmax(1, h->measured_ns / length_ns) : 1;
    if (!window)
        return;
    const uint64_t earlier = earlier_ticks(h);
    const struct gn_kept_window counted = without_margins(definitions, *window);
    part->counted = (struct gn_kept_window){in_history(window, counted.begin_ticks, earlier),
                                            in_history(window, counted.end_ticks, earlier)};
    part->window =
        (struct gn_kept_window){window->begin_ticks, in_history(window, window->end_ticks, earlier)};
    if (part->window.end_ticks > part->window.begin_ticks)
        part->slowed = (double)(window->end_ticks - window->begin_ticks) /
                       (double)(part->window.end_ticks - part->window.begin_ticks);
}

/* ---- calls ---- */

/* each: [process_count × site_count] */
static void add_part(const struct gn_seen *seen, size_t p, double *each)
{
    const struct gn_seen_part *part = &seen->parts[p];
    const struct gn_history *h = &part->history;
    for (uint32_t c = 0; h->gone_ns && c < h->call_count; c++) {
        const struct gn_call *call = &h->calls[c];
        const int64_t site =
            gn_seen_counts(seen, p, call) ? gn_seen_site_of(seen, call->region, call->path) : -1;
        const uint32_t process = h->definitions->locations[call->location].process;
        if (site >= 0 && process < h->definitions->process_count)
            each[process * seen->site_count + (size_t)site] += part->counted_weight * (double)h->gone_ns[c];
    }
}

double gn_seen_own_share(const struct gn_seen *seen)
{
    double share = 0;
    for (size_t p = 0; p < seen->count; p++)
        if (seen->parts[p].history.gone_ns)
            share = fmax(share, seen->parts[p].history.own_work_share);
    return share;
}

bool gn_seen_is_virtual(const struct gn_seen *seen)
{
    return gn_seen_own_share(seen) > 0;
}

double *gn_seen_gone(const struct gn_seen *seen)
{
    double *each = calloc(seen->definitions->process_count * seen->site_count + 1, sizeof *each);
    for (size_t p = 0; each && p < seen->count; p++)
        add_part(seen, p, each);
    return each;
}
