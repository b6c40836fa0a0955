#include "answer/clock_report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double BILLION = 1e9;

/* ---- one clock ---- */

/* Measured over some ms, the same frequency comes out a little different on each host; but the difference of
 * two counters that have run for days must not change by seconds for that. */
static double counted_at(const struct gn_clock_row *row, const struct gn_clock_row *reference)
{
    double ratio = row->def.hz / reference->def.hz;
    return fabs(ratio - 1) < 1e-3 ? reference->def.hz : row->def.hz;
}

static double width_of(struct gn_interval interval)
{
    return (double)((long double)interval.hi_ns - (long double)interval.lo_ns);
}

struct span {
    uint64_t first, last;
};

static void widen_by_sent(void *context, uint64_t sent_ticks, uint64_t received_ticks)
{
    struct span *span = context;
    (void)received_ticks;
    span->first = sent_ticks < span->first ? sent_ticks : span->first;
    span->last = sent_ticks > span->last ? sent_ticks : span->last;
}

static void widen_by_received(void *context, uint64_t sent_ticks, uint64_t received_ticks)
{
    widen_by_sent(context, received_ticks, sent_ticks);
}

/* From the agent's first to its last reading; where nobody has told these, from the first to the last
 * message. */
static struct span span_of(const struct gn_clocks *clocks, uint32_t domain, const struct gn_clock_row *row)
{
    if (row->last_ticks > row->epoch_ticks)
        return (struct span){row->epoch_ticks, row->last_ticks};
    struct span span = {UINT64_MAX, 0};
    for (uint32_t other = 0; other < gn_clocks_count(clocks); other++) {
        gn_clocks_each_kept(clocks, domain, other, widen_by_sent, &span);
        gn_clocks_each_kept(clocks, other, domain, widen_by_received, &span);
    }
    return span.first <= span.last ? span : (struct span){row->epoch_ticks, row->epoch_ticks};
}

struct widths {
    double least, most, area, length;
    double last;
    uint64_t at_ticks;
    bool begun;
};

static void add_width(struct widths *w, uint64_t ticks, struct gn_interval interval)
{
    double width = width_of(interval);
    if (w->begun) {
        double length = (double)(ticks - w->at_ticks);
        w->area += length * (width + w->last) / 2;
        w->length += length;
    }
    w->least = !w->begun || width < w->least ? width : w->least;
    w->most = !w->begun || width > w->most ? width : w->most;
    w->last = width;
    w->at_ticks = ticks;
    w->begun = true;
}

/* Between breakpoints the bounds are straight, and so is their width. */
static void measure_widths(struct gn_clock_host *host)
{
    const struct gn_bounds *bounds = host->state->bounds;
    const struct gn_breakpoint *points;
    struct gn_outside outside;
    struct widths w = {.begun = false};
    size_t count = gn_bounds_breakpoints(bounds, &points, &outside);
    add_width(&w, host->first_ticks, gn_bounds_convert(bounds, host->first_ticks));
    for (size_t i = 0; i < count; i++)
        if (points[i].ticks > host->first_ticks && points[i].ticks < host->last_ticks)
            add_width(&w, points[i].ticks, (struct gn_interval){points[i].lo_ns, points[i].hi_ns});
    add_width(&w, host->last_ticks, gn_bounds_convert(bounds, host->last_ticks));
    host->least_ns = w.least;
    host->most_ns = w.most;
    host->mean_ns = w.length > 0 ? w.area / w.length : w.most;
}

static double middle_ns(const struct gn_bounds *bounds, uint64_t ticks)
{
    struct gn_interval interval = gn_bounds_convert(bounds, ticks);
    return (double)(((long double)interval.lo_ns + (long double)interval.hi_ns) / 2);
}

/* A reading of this clock from about the reference's time `ns`. */
static uint64_t reading_at(const struct gn_clock_host *host, double ns)
{
    uint64_t lo = host->first_ticks, hi = host->last_ticks;
    while (lo < hi) {
        uint64_t ticks = lo + (hi - lo) / 2;
        if (middle_ns(host->state->bounds, ticks) < ns)
            lo = ticks + 1;
        else
            hi = ticks;
    }
    return lo;
}

/* A whole number, if a double can say it. */
static double rounded_down(long double value)
{
    double result = (double)floorl(value);
    return (long double)result > value ? nextafter(result, -INFINITY) : result;
}

/* b's reading less a's at one moment, in ns at their frequencies. Their readings are not of one moment, but
 * how far apart the moments can be is what their bounds say. */
static struct gn_clock_report_range
offset_between(const struct gn_clock_report *r, const struct gn_clock_host *a, const struct gn_clock_host *b)
{
    const struct gn_clock_row *reference = r->hosts[0].row;
    long double hz_a = counted_at(a->row, reference), hz_b = counted_at(b->row, reference), apart;
    if (hz_a == hz_b)
        apart = ((long double)b->at_ticks - (long double)a->at_ticks) * BILLION / hz_a;
    else
        apart = (long double)b->at_ticks * BILLION / hz_b - (long double)a->at_ticks * BILLION / hz_a;
    long double grain_a = (long double)a->row->def.granularity_ticks * BILLION / hz_a,
                grain_b = (long double)b->row->def.granularity_ticks * BILLION / hz_b;
    long double earliest = (long double)b->at.lo_ns - (long double)a->at.hi_ns,
                latest = (long double)b->at.hi_ns - (long double)a->at.lo_ns;
    return (struct gn_clock_report_range){rounded_down(apart - latest - grain_a),
                                          -rounded_down(earliest - apart - grain_b)};
}

/* ---- the narrowest that the exchanges allow ---- */

struct delays {
    const struct gn_bounds *from, *to;
    double least_ns; /* over the middles of the bounds; an error of these goes into one direction's delays
                        with one sign and into the other's with the other */
};

static void least_delay(void *context, uint64_t sent_ticks, uint64_t received_ticks)
{
    struct delays *d = context;
    double delay = middle_ns(d->to, received_ticks) - middle_ns(d->from, sent_ticks);
    d->least_ns = delay < d->least_ns ? delay : d->least_ns;
}

static double least_delay_between(const struct gn_clock_report *r, const struct gn_clocks *clocks,
                                  uint32_t from, uint32_t to)
{
    struct delays d = {r->hosts[from].state->bounds, r->hosts[to].state->bounds, INFINITY};
    gn_clocks_each_kept(clocks, from, to, least_delay, &d);
    return d.least_ns;
}

static double grain_ns(const struct gn_clock_host *host)
{
    return (double)host->row->def.granularity_ticks * 1e9 / host->row->def.hz;
}

/* A message can have been received as much as a granularity after the reading says: nobody can know its delay
 * better than that. */
static void find_floor(struct gn_clock_report *r, const struct gn_clocks *clocks, uint32_t i)
{
    struct gn_clock_host *host = &r->hosts[i];
    host->floor_ns = i == 0 ? 0 : -1;
    if (i == 0 || host->parent >= i || !host->state->reached || !r->hosts[host->parent].state->reached ||
        r->hosts[host->parent].floor_ns < 0)
        return;
    double there = least_delay_between(r, clocks, i, host->parent),
           back = least_delay_between(r, clocks, host->parent, i);
    if (isfinite(there) && isfinite(back))
        host->floor_ns = r->hosts[host->parent].floor_ns + fmax(there + back, 0) + grain_ns(host) +
                         grain_ns(&r->hosts[host->parent]);
}

/* ---- all of them ---- */

/* Solving knows how long a tick is; people say how fast a clock is. */
static struct gn_clock_report_range rate_between(const struct gn_clock_state *a,
                                                 const struct gn_clock_state *b)
{
    double a_lo = 1 + b->rate_lo_ppb / BILLION, a_hi = 1 + b->rate_hi_ppb / BILLION;
    double b_lo = 1 + a->rate_lo_ppb / BILLION, b_hi = 1 + a->rate_hi_ppb / BILLION;
    struct gn_clock_report_range rate = {a_hi > 0 && isfinite(a_hi) ? (b_lo / a_hi - 1) * BILLION : -BILLION,
                                         a_lo > 0 ? (b_hi / a_lo - 1) * BILLION : INFINITY};
    return rate;
}

static uint32_t parent_of(const struct gn_clock_row *rows, uint32_t count, uint32_t i)
{
    for (uint32_t k = 0; rows[i].parent && k < count; k++)
        if (k != i && strcmp(rows[k].domain, rows[i].parent) == 0)
            return k;
    return UINT32_MAX;
}

static uint32_t count_machines(const struct gn_clock_row *rows, uint32_t count)
{
    uint32_t machines = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = 0;
        while (k < i && strcmp(rows[k].host, rows[i].host) != 0)
            k++;
        machines += k == i;
    }
    return machines;
}

static void describe_host(struct gn_clock_report *r, const struct gn_clocks *clocks,
                          const struct gn_clock_row *rows, uint32_t i)
{
    struct gn_clock_host *host = &r->hosts[i];
    struct span span = span_of(clocks, i, &rows[i]);
    *host = (struct gn_clock_host){.row = &rows[i],
                                   .state = gn_clocks_state(clocks, i),
                                   .parent = parent_of(rows, r->count, i),
                                   .first_ticks = span.first,
                                   .last_ticks = span.last,
                                   .offset_ns = {-INFINITY, INFINITY},
                                   .floor_ns = -1};
    r->unreached += !host->state->reached || rows[i].mixed;
    r->refuted += host->state->refuted_count > 0;
    if (!host->state->reached)
        return;
    measure_widths(host);
    const struct gn_bounds *reference = r->hosts[0].state->bounds;
    double middle =
        (middle_ns(reference, r->hosts[0].first_ticks) + middle_ns(reference, r->hosts[0].last_ticks)) / 2;
    host->at_ticks = reading_at(host, middle);
    host->at = gn_bounds_convert(host->state->bounds, host->at_ticks);
    host->rate_ppb =
        i == 0 ? (struct gn_clock_report_range){0, 0} : rate_between(r->hosts[0].state, host->state);
    host->offset_ns = i == 0 ? (struct gn_clock_report_range){0, 0} : offset_between(r, &r->hosts[0], host);
    find_floor(r, clocks, i);
}

static int by_width(const void *x, const void *y)
{
    const struct gn_clock_pair *p = x, *q = y;
    if (p->most_ns != q->most_ns)
        return p->most_ns < q->most_ns ? 1 : -1;
    return p->a != q->a ? (p->a > q->a) - (p->a < q->a) : (p->b > q->b) - (p->b < q->b);
}

static int make_pairs(struct gn_clock_report *r)
{
    size_t most = (size_t)r->count * (r->count - 1) / 2;
    r->pairs = calloc(most ? most : 1, sizeof *r->pairs);
    if (!r->pairs)
        return -ENOMEM;
    r->most_ns = r->mean_ns = -1;
    for (uint32_t a = 0; a < r->count; a++)
        for (uint32_t b = a + 1; b < r->count; b++) {
            const struct gn_clock_host *x = &r->hosts[a], *y = &r->hosts[b];
            if (!x->state->reached || !y->state->reached)
                continue;
            struct gn_clock_pair *pair = &r->pairs[r->pair_count++];
            *pair = (struct gn_clock_pair){.a = a,
                                           .b = b,
                                           .offset_ns = offset_between(r, x, y),
                                           .rate_ppb = rate_between(x->state, y->state),
                                           .mean_ns = x->mean_ns + y->mean_ns,
                                           .most_ns = x->most_ns + y->most_ns};
            r->most_ns = fmax(r->most_ns, pair->most_ns / 2);
            r->mean_ns = fmax(r->mean_ns, pair->mean_ns / 2);
        }
    qsort(r->pairs, r->pair_count, sizeof *r->pairs, by_width);
    return 0;
}

int gn_clock_report_make(struct gn_clock_report *r, struct gn_clocks *clocks, const struct gn_clock_row *rows,
                         const struct gn_assumption *assumption, struct gn_error *err)
{
    *r = (struct gn_clock_report){.assumption = *assumption, .count = gn_clocks_count(clocks)};
    int code = gn_clocks_solve(clocks, assumption, err);
    if (code != 0)
        return code;
    r->hosts = calloc(r->count ? r->count : 1, sizeof *r->hosts);
    if (!r->hosts)
        return gn_fail(err, -ENOMEM, "no memory for %u clocks", r->count);
    for (uint32_t i = 0; i < r->count; i++)
        describe_host(r, clocks, rows, i);
    r->machines = count_machines(rows, r->count);
    if (r->count > 0)
        r->elapsed_s = (double)(r->hosts[0].last_ticks - r->hosts[0].first_ticks) / rows[0].def.hz;
    if (make_pairs(r) != 0) {
        gn_clock_report_clear(r);
        return gn_fail(err, -ENOMEM, "no memory for the pairs of %u clocks", r->count);
    }
    return 0;
}

void gn_clock_report_clear(struct gn_clock_report *r)
{
    free(r->hosts);
    free(r->pairs);
    *r = (struct gn_clock_report){.hosts = NULL};
}

bool gn_clock_report_comparable(const struct gn_clock_report *r)
{
    return r->most_ns >= 0 && r->most_ns <= 1e17;
}

int gn_clock_report_status(const struct gn_clock_report *r)
{
    return r->unreached > 0 || r->refuted > 0 || r->missing_ranks > 0 ||
           (r->count > 1 && !gn_clock_report_comparable(r));
}
