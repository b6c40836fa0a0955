/*
 * What a what-if pass costs, against a pass that only reads the same arrays in the same order; the critical
 * path; and a whole sweep on one core and on all.
 *
 *   whatif [EVENTS]      default 1e6
 *
 * Synthetic programs on 64 ranks of 4 hosts whose clocks are off by up to 20 us and known to bounds. Passes
 * run in turn, round after round; medians are printed, and the ratio within a round.
 */
#include "analyse/sweep.h"
#include "timing.h"
#include "trace/clock_offsets.h"
#include "synth/synth.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 15, RANKS = 64, DOMAINS = 4 };

static volatile double consumed;

struct subject {
    struct gn_source measured, source; /* the first has the clocks' offsets, the second the events */
    struct gn_bounds **bounds;
    const struct gn_bounds **of;
    struct gn_history h;
};

static void fail(const struct gn_error *err)
{
    fprintf(stderr, "whatif: %s\n", err->text);
    exit(1);
}

/* ---- a history ---- */

static void run_to_end(struct gn_source *source)
{
    struct gn_error err = {""};
    const struct gn_event *events;
    for (uint32_t l = 0; l < source->definitions->location_count; l++)
        while (source->pull(source->self, l, &events, &err) > 0)
            ;
}

static void open_subject(struct subject *s, const char *pattern, double events)
{
    struct gn_synth_settings settings = gn_synth_defaults();
    struct gn_error err = {""};
    settings.pattern = pattern;
    settings.locations = RANKS;
    settings.events = (uint64_t)events;
    settings.domains = DOMAINS;
    settings.offset_ns = 20e3;
    settings.rate_ppm = 1;
    settings.measured = true;
    settings.measure_error_ns = 500;
    settings.measure_period_s = 0.01;
    if (gn_synth_open(&s->measured, &settings, &err) != 0)
        fail(&err);
    run_to_end(&s->measured);
    if (gn_synth_measure(&s->measured, &err) != 0)
        fail(&err);
    const struct gn_definitions *d = s->measured.definitions;
    s->bounds = calloc(d->clock_count + 1, sizeof *s->bounds);
    s->of = calloc(d->location_count + 1, sizeof *s->of);
    for (uint32_t c = 1; c < d->clock_count; c++)
        if (!(s->bounds[c] = gn_clock_offsets_bounds(d, c, &err)))
            fail(&err);
    for (size_t l = 0; l < d->location_count; l++)
        s->of[l] = s->bounds[d->locations[l].clock];
    const struct gn_history_settings how = {.bounds = s->of};
    if (gn_synth_open(&s->source, &settings, &err) != 0 ||
        gn_history_read(&s->h, &s->source, &how, &err) != 0)
        fail(&err);
}

static void close_subject(struct subject *s)
{
    gn_history_clear(&s->h);
    for (uint32_t c = 0; c < s->measured.definitions->clock_count; c++)
        gn_bounds_free(s->bounds[c]);
    free(s->bounds);
    free(s->of);
    s->source.close(s->source.self);
    s->measured.close(s->measured.self);
}

/* ---- passes ---- */

/* All that a pass looks at, and nothing done with it. */
static double read_only(const struct gn_history *h)
{
    double sum = 0;
    for (size_t s = 0; s < h->step_count; s++) {
        const struct gn_call *c = &h->calls[h->steps[s] >> 1];
        sum += (double)c->location;
        if (h->steps[s] & 1) {
            for (uint32_t t = c->first_take; t < c->first_take + c->take_count; t++)
                sum += h->takes[t].extra_ns + h->takes[t].room_ns + (double)h->takes[t].from;
            continue;
        }
        for (uint32_t p = c->first_piece; p < c->first_piece + c->piece_count; p++)
            sum += h->pieces[p].lo_ns + h->pieces[p].hi_ns;
        for (uint32_t p = c->first_part; p < c->first_part + c->part_count; p++)
            sum += h->parts[h->part_order[p]].extra_ns;
    }
    return sum;
}

struct change {
    struct gn_whatif_pass *pass;
    float *share;
    bool *at_location;
};

static struct change some_change(const struct gn_history *h)
{
    struct change c = {gn_whatif_pass_new(h), calloc(h->activity_count + 1, sizeof *c.share),
                       calloc(RANKS, sizeof *c.at_location)};
    if (!c.pass || !c.share || !c.at_location)
        exit(1);
    for (size_t a = 0; a < h->activity_count; a++)
        c.share[a] = 0.2f;
    for (size_t l = 0; l < RANKS; l += 2)
        c.at_location[l] = true;
    return c;
}

static void time_passes(const struct gn_history *h, double *read, double *pass, double *ratio)
{
    struct change c = some_change(h);
    const struct gn_whatif what = {.share = c.share, .at_location = c.at_location};
    for (int round = -1; round < ROUNDS; round++) { /* the first one finds memory cold */
        const int at = round < 0 ? 0 : round;
        const double begin_ns = timing_now_ns();
        consumed = read_only(h);
        const double middle_ns = timing_now_ns();
        consumed = gn_whatif(c.pass, &what).reduction_hi_ns;
        pass[at] = timing_now_ns() - middle_ns;
        read[at] = middle_ns - begin_ns;
        ratio[at] = pass[at] / read[at];
    }
    gn_whatif_pass_free(c.pass);
    free(c.share);
    free(c.at_location);
}

static double time_sweep(const struct gn_history *h, const struct gn_critical *critical, unsigned threads,
                         uint64_t *tried)
{
    const struct gn_sweep_settings settings = {.best = 10, .threads = threads};
    struct gn_sweep sweep;
    struct gn_error err = {""};
    const double begin_ns = timing_now_ns();
    if (gn_sweep(&sweep, h, critical, &settings, &err) != 0)
        fail(&err);
    const double ns = timing_now_ns() - begin_ns;
    *tried = sweep.tried;
    gn_sweep_clear(&sweep);
    return ns;
}

static unsigned cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

static void look_at(const char *pattern, double events)
{
    double read[ROUNDS], pass[ROUNDS], ratio[ROUNDS];
    struct subject s;
    struct gn_critical critical;
    struct gn_error err = {""};
    uint64_t tried;
    open_subject(&s, pattern, events);
    time_passes(&s.h, read, pass, ratio);
    const double begin_ns = timing_now_ns();
    if (gn_critical_find(&critical, &s.h, &err) != 0)
        fail(&err);
    const double path_ns = timing_now_ns() - begin_ns;
    const double one_ns = time_sweep(&s.h, &critical, 1, &tried);
    const double all_ns = time_sweep(&s.h, &critical, 0, &tried);
    const struct timing_summary of_pass = timing_summarise(pass, ROUNDS);
    printf("%-12s %9llu %8.2f %8.2f %8.2f %8.2f %9.1f %7llu %9.2f %9.2f %8.2f\n", pattern,
           (unsigned long long)s.h.events, timing_summarise(read, ROUNDS).median * 1e-6,
           of_pass.median * 1e-6, of_pass.min * 1e-6, timing_summarise(ratio, ROUNDS).median, path_ns * 1e-6,
           (unsigned long long)tried, one_ns * 1e-9, all_ns * 1e-9, one_ns / all_ns);
    fflush(stdout);
    gn_critical_clear(&critical);
    close_subject(&s);
}

int main(int argc, char **argv)
{
    static const char *const patterns[] = {"ring",        "stencil2", "multigrid",  "wavefront",
                                           "collectives", "nbc",      "nonblocking"};
    const double events = argc > 1 ? strtod(argv[1], NULL) : 1e6;
    printf("                            read     pass      min    pass/     path           sweep, s: all "
           "cores\n");
    printf("program         events        ms       ms       ms     read       ms   tried       one   (%3u)   "
           "one/all\n",
           cores());
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        look_at(patterns[i], events);
    return 0;
}
