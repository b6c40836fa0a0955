#include "analyse/history_inside.h"

#include "causality/arrival.h"

#include <stdlib.h>

static int no_memory(struct gn_error *err)
{
    return gn_fail(err, -ENOMEM, "no memory for the calls and computation of the trace");
}

/* ---- reading ---- */

static int push(void *self, const struct gn_event *event, struct gn_error *err)
{
    return gn_history_event(self, event) == 0 ? 0 : no_memory(err);
}

static int end(void *self, uint32_t location, struct gn_error *err)
{
    return gn_history_location_ends(self, location) == 0 ? 0 : no_memory(err);
}

static int carry(struct gn_history_make *m, struct gn_source *source, struct gn_error *err)
{
    const struct gn_arrival_sink sink = {m, push, end};
    const int code = gn_arrival_carry(source, &sink, err);
    return code == 0 && gn_order_finish(m->order) != 0 ? no_memory(err) : code;
}

static int open_make(struct gn_history_make *m, struct gn_error *err)
{
    const struct gn_order_sink sink = {m, gn_history_report};
    const size_t locations = m->d->location_count;
    struct gn_history *h = m->h;
    h->first_call = malloc((locations + 1) * sizeof *h->first_call);
    h->last_call = malloc((locations + 1) * sizeof *h->last_call);
    h->tracks = m->settings->has_tracks ? calloc(locations + 1, sizeof *h->tracks) : NULL;
    m->places = calloc(locations + 1, sizeof *m->places);
    m->is_loose = calloc(m->d->process_count + 1, sizeof *m->is_loose);
    if (!h->first_call || !h->last_call || !m->places || !m->is_loose ||
        (m->settings->has_tracks && !h->tracks) || gn_history_clocks(m) != 0)
        return no_memory(err);
    for (size_t l = 0; l < locations; l++) {
        h->first_call[l] = h->last_call[l] = GN_NONE;
        m->places[l].part = m->places[l].window_part = m->places[l].call = GN_NONE;
        h->unbounded += !m->settings->bounds[l];
    }
    const struct gn_order_settings settings = {.in_time = true}; /* see gn_arrival_carry */
    return gn_order_open(&m->order, m->d, &settings, &sink, err);
}

static void close_make(struct gn_history_make *m)
{
    gn_order_close(m->order);
    gn_history_places_free(m);
    free(m->is_loose);
    for (uint32_t c = 0; c < m->clock_count; c++) {
        free(m->lower[c].ties);
        free(m->upper[c].ties);
    }
    gn_map_clear(&m->requests); /* values are numbers */
    gn_map_clear(&m->posts);
    gn_map_clear(&m->sending);
    free(m->sends);
    gn_lookup_clear(&m->activities);
    free(m->open_parts);
    free(m->matched);
    gn_history_epochs_free(m);
    free(m->asked);
    free(m->entered);
    free(m->left);
    free(m->own_work);
    free(m->polled);
    free(m->own_work_ns);
    m->h->rate_lo = m->rate_lo;
    m->h->rate_hi = m->rate_hi;
    free(m->clock);
    free(m->lower);
    free(m->upper);
}

/* ---- how long the run was ---- */

static int64_t limited(double ns)
{
    const double far = (double)GN_HISTORY_FAR_NS;
    return (int64_t)(ns > far ? far : ns < -far ? -far : ns);
}

static bool calls(const struct gn_history *h, uint32_t location)
{
    return h->first_call[location] != GN_NONE &&
           h->calls[h->last_call[location]].before != h->first_call[location];
}

/* Locations that call, and those that fork others. */
static void find_leaders(const struct gn_history *h, bool *leads)
{
    for (uint32_t l = 0; l < h->definitions->location_count; l++)
        leads[l] = calls(h, l);
    for (size_t c = 0; h->beside && c < h->call_count; c++)
        leads[h->calls[c].location] |= (h->calls[c].flags & GN_CALL_FORKS) != 0;
}

static int find_carried(const struct gn_history_make *m)
{
    struct gn_history *h = m->h;
    const struct gn_definitions *d = m->d;
    bool *leads = calloc(d->location_count + 1, sizeof *leads);
    bool *is_led = calloc(d->process_count + 1, sizeof *is_led); /* processes that have such a location */
    h->is_carried = calloc(d->location_count + 1, sizeof *h->is_carried);
    const int code = leads && is_led && h->is_carried ? 0 : -ENOMEM;
    if (code == 0)
        find_leaders(h, leads);
    for (uint32_t l = 0; code == 0 && l < d->location_count; l++)
        if (d->locations[l].process < d->process_count && leads[l])
            is_led[d->locations[l].process] = true;
    for (uint32_t l = 0; code == 0 && l < d->location_count; l++)
        h->is_carried[l] =
            d->locations[l].process < d->process_count && is_led[d->locations[l].process] && !leads[l];
    free(leads);
    free(is_led);
    return code;
}

/* The longest that a single location was there, by its own clock. */
static int64_t longest_stay(const struct gn_history_make *m)
{
    const struct gn_history *h = m->h;
    int64_t longest_ns = 0;
    for (uint32_t l = 0; l < m->d->location_count; l++) {
        if (h->first_call[l] == GN_NONE || h->is_carried[l])
            continue;
        uint64_t ticks = h->calls[h->last_call[l]].leave_ticks - h->calls[h->first_call[l]].enter_ticks;
        int64_t ns = limited(gn_history_least_ns(m, l, ticks));
        longest_ns = ns > longest_ns ? ns : longest_ns;
    }
    return longest_ns;
}

static void measure(const struct gn_history_make *m)
{
    struct gn_history *h = m->h;
    h->first = (struct gn_interval){INT64_MAX, INT64_MAX};
    h->last = (struct gn_interval){INT64_MIN, INT64_MIN};
    for (uint32_t l = 0; l < m->d->location_count; l++) {
        if (h->first_call[l] == GN_NONE)
            continue;
        const struct gn_interval a = h->calls[h->first_call[l]].enter, b = h->calls[h->last_call[l]].leave;
        h->first.lo_ns = a.lo_ns < h->first.lo_ns ? a.lo_ns : h->first.lo_ns;
        h->first.hi_ns = a.hi_ns < h->first.hi_ns ? a.hi_ns : h->first.hi_ns;
        if (h->is_carried[l])
            continue;
        h->last.lo_ns = b.lo_ns > h->last.lo_ns ? b.lo_ns : h->last.lo_ns;
        h->last.hi_ns = b.hi_ns > h->last.hi_ns ? b.hi_ns : h->last.hi_ns;
    }
    if (h->call_count == 0)
        h->first = h->last = (struct gn_interval){0, 0};
    int64_t lo_ns = h->last.lo_ns - h->first.hi_ns, stay_ns = longest_stay(m);
    h->length.lo_ns = lo_ns > stay_ns ? lo_ns : stay_ns;
    h->length.hi_ns = h->last.hi_ns - h->first.lo_ns;
    if (h->length.hi_ns < h->length.lo_ns)
        h->length.hi_ns = h->length.lo_ns;
}

/* ---- without what measuring has cost ---- */

static double worst_share(const struct gn_history_make *m)
{
    const struct gn_history *h = m->h;
    double worst = 0;
    for (uint32_t l = 0; m->own_work_ns && l < m->d->location_count; l++) {
        double own_ns = 0;
        if (h->first_call[l] == GN_NONE)
            continue;
        for (uint32_t c = h->last_call[l]; c != GN_NONE; c = h->calls[c].before)
            own_ns += (double)m->own_work_ns[c];
        const uint64_t ticks = h->calls[h->last_call[l]].leave_ticks - h->calls[h->first_call[l]].enter_ticks;
        const double share = own_ns / gn_history_most_ns(m, l, ticks);
        worst = share > worst ? share : worst;
    }
    return worst;
}

/* Threads beside others wait for them in ways that the pass does not know; gnomon records none such. */
static int go_virtual(struct gn_history_make *m)
{
    struct gn_history *h = m->h;
    h->own_work_share = worst_share(m);
    if (!m->settings->in_virtual_time || h->own_work_share <= 0 || h->beside > 0)
        return 0;
    h->measured_ns = ((double)h->length.lo_ns + (double)h->length.hi_ns) / 2;
    int code = gn_history_virtual(m);
    if (code == 0) {
        gn_history_settle_gatherings(h);
        code = gn_history_slack(m);
        measure(m);
    }
    return code;
}

/* ---- all ---- */

static int conclude(struct gn_history_make *m, struct gn_error *err)
{
    const struct gn_order_stats *stats = gn_order_stats(m->order);
    struct gn_history *h = m->h;
    h->unmatched = stats->unmatched_receives;
    h->ambiguous += stats->ambiguous;
    h->rate_lo = m->rate_lo;
    h->rate_hi = m->rate_hi;
    h->lost = stats->lost;
    if (gn_history_number_steps(m) != 0 || gn_history_gather(m) != 0 || gn_history_match(m) != 0 ||
        gn_history_tighten(m) != 0 || gn_history_slack(m) != 0 || find_carried(m) != 0)
        return no_memory(err);
    measure(m);
    if (gn_history_own_work_find(m) != 0 || go_virtual(m) != 0)
        return no_memory(err);
    return 0;
}

int gn_history_read(struct gn_history *history, struct gn_source *source,
                    const struct gn_history_settings *settings, struct gn_error *err)
{
    struct gn_history_make m = {.h = history, .settings = settings, .d = source->definitions};
    *history = (struct gn_history){.definitions = source->definitions,
                                   .refuted = settings->refuted,
                                   .is_partial = settings->is_partial,
                                   .cuts = settings->cuts,
                                   .cut_count = settings->cut_count};
    int code = open_make(&m, err);
    if (code == 0)
        code = carry(&m, source, err);
    if (code == 0)
        code = conclude(&m, err);
    close_make(&m);
    if (code != 0)
        gn_history_clear(history);
    return code;
}

void gn_history_clear(struct gn_history *history)
{
    for (size_t l = 0; history->tracks && l < history->definitions->location_count; l++)
        free(history->tracks[l].changes);
    free(history->activities);
    free(history->calls);
    free(history->steps);
    free(history->pieces);
    free(history->takes);
    free(history->gatherings);
    free(history->parts);
    free(history->part_order);
    free(history->tracks);
    free(history->rivals);
    free(history->contests);
    free(history->first_call);
    free(history->last_call);
    free(history->is_carried);
    free(history->rate_lo);
    free(history->rate_hi);
    free(history->gone_ns);
    free(history->earlier_ns);
    *history = (struct gn_history){.definitions = NULL};
}

double gn_computed_before(const struct gn_history *h, const struct gn_call *call)
{
    double ns = 0;
    for (uint32_t i = call->first_piece; i < call->first_piece + call->piece_count; i++)
        if (h->pieces[i].kind != GN_PIECE_JOIN)
            ns += (h->pieces[i].lo_ns + h->pieces[i].hi_ns) / 2;
    return ns;
}
