/*
 * The history against the truth: a synthetic program is looked at through wrong clocks, and everything that
 * the history says about times holds for the true ones: of calls, of changes, of what was computed between
 * calls, and of who came how much earlier than whom. Bounds that cannot all be right are refuted.
 *
 * test_history [-n CASES] [-s SEED] [-v]
 */
#include "analyse/history.h"
#include "base/mix.h"
#include "trace/clock_offsets.h"
#include "synth/skew.h"
#include "synth/synth.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#ifndef CASES
#define CASES 300
#endif

static int cases = CASES;
static uint64_t seed = 1;
static bool verbose;

/* ---- the true times ---- */

/* A reading, and the reference's at that instant. Events with the same reading are within a tick. */
struct instant {
    uint64_t ticks;
    int64_t ns;
};
struct truth {
    struct instant *instants[64];
    size_t count[64];
};

static void look(struct truth *t, struct gn_source *source, const struct gn_synth_settings *settings)
{
    const struct gn_skew reference = gn_skew_of(settings, 0);
    const struct gn_event *events;
    struct gn_error err;
    for (uint32_t l = 0; l < source->definitions->location_count; l++) {
        int64_t count;
        t->instants[l] = NULL;
        t->count[l] = 0;
        while ((count = source->pull(source->self, l, &events, &err)) > 0) {
            const double *true_ns = gn_synth_truth(source, l);
            t->instants[l] = realloc(t->instants[l], (t->count[l] + (size_t)count) * sizeof *t->instants[l]);
            assert_non_null(t->instants[l]);
            for (int64_t i = 0; i < count; i++)
                t->instants[l][t->count[l]++] =
                    (struct instant){events[i].ticks, (int64_t)(gn_skew_ticks(&reference, true_ns[i]) -
                                                                source->definitions->first_ticks)};
        }
        assert_int_equal(count, 0);
    }
}

static void forget(struct truth *t, size_t locations)
{
    for (size_t l = 0; l < locations; l++)
        free(t->instants[l]);
}

/* The reference's reading at an event with these ticks: rounded down. */
static int64_t at(const struct truth *t, uint32_t location, uint64_t ticks)
{
    size_t low = 0, high = t->count[location];
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (t->instants[location][middle].ticks < ticks)
            low = middle + 1;
        else
            high = middle;
    }
    assert_true(low < t->count[location] && t->instants[location][low].ticks == ticks);
    return t->instants[location][low].ns;
}

/* ---- a program and its history ---- */

struct subject {
    struct gn_synth_settings settings;
    struct gn_source measured, source;
    struct gn_bounds **bounds;
    const struct gn_bounds **of;
    struct truth truth;
    struct gn_history h;
};

static void open_clocks(struct subject *s, const struct gn_synth_settings *settings)
{
    struct gn_error err = {""};
    s->settings = *settings;
    assert_int_equal(gn_synth_open(&s->measured, settings, &err), 0);
    look(&s->truth, &s->measured, settings);
    assert_int_equal(gn_synth_measure(&s->measured, &err), 0);
    const struct gn_definitions *d = s->measured.definitions;
    s->bounds = calloc(d->clock_count + 1, sizeof *s->bounds);
    s->of = calloc(d->location_count + 1, sizeof *s->of);
    for (uint32_t c = 1; c < d->clock_count; c++)
        s->bounds[c] = gn_clock_offsets_bounds(d, c, &err);
    for (size_t l = 0; l < d->location_count; l++)
        s->of[l] = s->bounds[d->locations[l].clock];
}

static void open_history(struct subject *s)
{
    struct gn_error err = {""};
    const struct gn_history_settings how = {.bounds = s->of, .has_tracks = true};
    assert_int_equal(gn_synth_open(&s->source, &s->settings, &err), 0);
    s->source.definitions = s->measured.definitions; /* the same, and what was found out about clocks */
    if (gn_history_read(&s->h, &s->source, &how, &err) != 0)
        fail_msg("%s", err.text);
}

static void close_subject(struct subject *s)
{
    forget(&s->truth, s->settings.locations);
    gn_history_clear(&s->h);
    for (uint32_t c = 0; c < s->measured.definitions->clock_count; c++)
        gn_bounds_free(s->bounds[c]);
    free(s->bounds);
    free(s->of);
    s->source.close(s->source.self);
    s->measured.close(s->measured.self);
}

static double between(uint64_t *random, double low, double high)
{
    return low + (high - low) * gn_mix_unit(gn_mix_next(random));
}

static bool one_in(uint64_t *random, uint64_t n)
{
    return gn_mix_next(random) % n == 0;
}

static struct gn_synth_settings any_program(uint64_t *random)
{
    static const enum gn_wander wanders[] = {GN_WANDER_NONE, GN_WANDER_SINE, GN_WANDER_RAMP, GN_WANDER_STEP};
    struct gn_synth_settings s = gn_synth_defaults();
    size_t patterns = 0;
    while (gn_synth_patterns()[patterns].name)
        patterns++;
    s.pattern = gn_synth_patterns()[gn_mix_next(random) % patterns].name;
    s.locations = 2 + (uint32_t)(gn_mix_next(random) % 11);
    s.iterations = 2 + gn_mix_next(random) % 40;
    s.seed = gn_mix_next(random) % 1000000;
    s.domains = 1 + (uint32_t)(gn_mix_next(random) % s.locations);
    s.offset_ns = between(random, 0, 1e6);
    s.rate_ppm = pow(10, between(random, -1, 4));
    s.wander = wanders[gn_mix_next(random) % 4];
    s.wander_ppm = s.wander == GN_WANDER_NONE ? 0 : pow(10, between(random, -2, 1.5));
    s.wander_period_s = pow(10, between(random, -4, 1));
    s.compute_ns = pow(10, between(random, 3, 6));
    s.latency_ns = pow(10, between(random, 0.5, 5));
    s.imbalance = between(random, 0, 1);
    s.quiet_ns = one_in(random, 4) ? pow(10, between(random, 6, 9)) : 0;
    s.unmatched = one_in(random, 4) ? between(random, 0, 0.5) : 0;
    s.lost = one_in(random, 3) ? pow(10, between(random, -3, -0.5)) : 0;
    s.measured = true;
    s.measure_error_ns = pow(10, between(random, 0, 5));
    s.measure_period_s = pow(10, between(random, -3.5, 0));
    return s;
}

/* ---- what is asserted ---- */

#define hold(s, condition, ...)                                                                              \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            wrong(s, #condition, __VA_ARGS__);                                                               \
    } while (0)

__attribute__((format(printf, 3, 4))) static void wrong(const struct subject *s, const char *what,
                                                        const char *format, ...)
{
    const struct gn_synth_settings *p = &s->settings;
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fail_msg("%s -n %u --iterations %lu --seed %lu --domains %u, wander %d of %g ppm in %g s: %s: not %s",
             p->pattern, p->locations, (unsigned long)p->iterations, (unsigned long)p->seed, p->domains,
             (int)p->wander, p->wander_ppm, p->wander_period_s, text, what);
}

static bool contains(struct gn_interval bounds, int64_t ns)
{
    return bounds.lo_ns <= ns + 1 && bounds.hi_ns >= ns;
}

static int64_t entered(const struct subject *s, uint32_t call)
{
    const struct gn_call *c = &s->h.calls[call];
    return at(&s->truth, c->location, c->enter_ticks);
}

static void calls_are_in_their_bounds(const struct subject *s)
{
    for (uint32_t c = 0; c < s->h.call_count; c++) {
        const struct gn_call *call = &s->h.calls[c];
        const int64_t enter_ns = entered(s, c), leave_ns = at(&s->truth, call->location, call->leave_ticks);
        hold(s, contains(call->enter, enter_ns), "call %u entered at %ld in [%ld, %ld]", c, (long)enter_ns,
             (long)call->enter.lo_ns, (long)call->enter.hi_ns);
        hold(s, contains(call->leave, leave_ns), "call %u left at %ld in [%ld, %ld]", c, (long)leave_ns,
             (long)call->leave.lo_ns, (long)call->leave.hi_ns);
        double lo_ns = 0, hi_ns = 2;
        for (uint32_t p = call->first_piece; p < call->first_piece + call->piece_count; p++) {
            lo_ns += s->h.pieces[p].lo_ns;
            hi_ns += s->h.pieces[p].hi_ns;
        }
        const struct gn_call *before = call->before == GN_NONE ? NULL : &s->h.calls[call->before];
        const double ns =
            before ? (double)(enter_ns - at(&s->truth, before->location, before->leave_ticks)) : 0;
        hold(s, ns >= lo_ns - 2 && ns <= hi_ns, "%g ns before call %u in [%g, %g]", ns, c, lo_ns, hi_ns);
    }
}

static void changes_are_in_their_bounds(const struct subject *s)
{
    for (uint32_t l = 0; l < s->settings.locations; l++)
        for (size_t i = 0; i < s->h.tracks[l].count; i++) {
            const struct gn_change *c = &s->h.tracks[l].changes[i];
            const int64_t ns = at(&s->truth, l, c->ticks);
            hold(s, contains(c->at, ns), "change %zu of %u at %ld in [%ld, %ld]", i, l, (long)ns,
                 (long)c->at.lo_ns, (long)c->at.hi_ns);
        }
}

static int64_t last_given(const struct subject *s, const struct gn_history_gathering *g, uint32_t end)
{
    int64_t last_ns = INT64_MIN;
    for (uint32_t p = g->first_part; p < end; p++)
        if (s->h.parts[p].gives && entered(s, s->h.parts[p].call) > last_ns)
            last_ns = entered(s, s->h.parts[p].call);
    return last_ns;
}

/* What is known of a duration at least, by the limits of rates. */
static double least_share(const struct subject *s)
{
    return 1 - 8e-6 * (s->settings.rate_ppm + s->settings.wander_ppm);
}

static uint32_t domain_of(const struct subject *s, uint32_t call)
{
    return s->h.definitions->locations[s->h.calls[call].location].domain;
}

/* When the last one of the call's clock gave. */
static int64_t last_near(const struct subject *s, const struct gn_history_gathering *g, uint32_t call)
{
    int64_t last_ns = INT64_MIN / 2;
    for (uint32_t p = g->first_part; p < g->first_part + g->part_count; p++) {
        const struct gn_given_part *part = &s->h.parts[p];
        if (part->gives && domain_of(s, part->call) == domain_of(s, call) && entered(s, part->call) > last_ns)
            last_ns = entered(s, part->call);
    }
    return last_ns;
}

static void instances_are_in_their_bounds(const struct subject *s)
{
    for (uint32_t i = 0; i < s->h.gathering_count; i++) {
        const struct gn_history_gathering *g = &s->h.gatherings[i];
        const int64_t last_ns = last_given(s, g, g->first_part + g->part_count);
        if (g->part_count == 0)
            continue;
        hold(s, contains(g->last, last_ns), "instance %u complete at %ld", i, (long)last_ns);
        for (uint32_t p = g->first_part; p < g->first_part + g->part_count; p++) {
            const struct gn_given_part *part = &s->h.parts[p];
            const int64_t ns = entered(s, part->call);
            if (g->is_partial) /* then nothing is said about the last of all */
                continue;
            hold(s, !part->gives || part->extra_ns <= (double)(last_ns - ns) + 1,
                 "part %u of %u was %ld earlier, not %g", p, i, (long)(last_ns - ns), part->extra_ns);
            hold(s, !part->gives || ns < last_ns || part->is_tight, "part %u of %u was the last", p, i);
            const int64_t near_ns = last_near(s, g, part->call) - ns;
            hold(s, part->extra_ns >= (double)near_ns * least_share(s) - 2,
                 "part %u was %ld before one of its clock", p, (long)near_ns);
        }
    }
}

static int64_t given(const struct subject *s, const struct gn_take *t)
{
    if (t->kind != GN_TAKE_GATHERING)
        return entered(s, t->from);
    const struct gn_history_gathering *g = &s->h.gatherings[t->from];
    return last_given(s, g, g->shape == GN_SHAPE_PREFIX ? t->member : g->first_part + g->part_count);
}

static void takes_are_in_their_bounds(const struct subject *s)
{
    for (uint32_t c = 0; c < s->h.call_count; c++) {
        const struct gn_call *call = &s->h.calls[c];
        const int64_t own_ns = entered(s, call->waits_from),
                      left_ns = at(&s->truth, call->location, call->leave_ticks);
        int64_t last_ns = own_ns;
        for (uint32_t t = call->first_take; t < call->first_take + call->take_count; t++) {
            const struct gn_take *take = &s->h.takes[t];
            const int64_t ns = given(s, take);
            hold(s, contains(take->given, ns), "take %u of call %u given at %ld in [%ld, %ld]", t, c,
                 (long)ns, (long)take->given.lo_ns, (long)take->given.hi_ns);
            hold(s, !take->is_certain || take->room_ns >= (double)(left_ns - ns) - 1,
                 "call %u left %ld after take %u, not %g", c, (long)(left_ns - ns), t, take->room_ns);
            last_ns = take->is_certain && ns > last_ns ? ns : last_ns;
            hold(s,
                 take->kind == GN_TAKE_GATHERING || domain_of(s, take->from) != domain_of(s, c) ||
                     take->room_ns <= (double)(left_ns - ns) / least_share(s) + 3,
                 "take %u of one clock was %ld before the leave, not %g", t, (long)(left_ns - ns),
                 take->room_ns);
        }
        hold(s, call->extra_ns <= (double)(last_ns - own_ns) + 1, "call %u was entered %ld early, not %g", c,
             (long)(last_ns - own_ns), call->extra_ns);
        hold(s, own_ns < last_ns || call->is_tight || call->flags & GN_CALL_UNSURE,
             "call %u took nothing that came", c);
    }
}

/* ---- tests ---- */

struct tally {
    uint64_t calls, tightened;
};

static void check(const struct gn_synth_settings *settings, struct tally *tally)
{
    struct subject s;
    open_clocks(&s, settings);
    open_history(&s);
    hold(&s, !s.h.refuted, "bounds that are right");
    calls_are_in_their_bounds(&s);
    changes_are_in_their_bounds(&s);
    instances_are_in_their_bounds(&s);
    takes_are_in_their_bounds(&s);
    tally->calls += s.h.call_count;
    tally->tightened += s.h.tightened;
    close_subject(&s);
}

static void everything_is_in_its_bounds(void **state)
{
    (void)state;
    uint64_t random = seed;
    struct tally tally = {0, 0};
    for (int i = 0; i < cases; i++) {
        const struct gn_synth_settings settings = any_program(&random);
        if (verbose)
            fprintf(stderr, "%d: %s\n", i, settings.pattern);
        check(&settings, &tally);
    }
    printf("%lu calls, %lu bounds moved\n", (unsigned long)tally.calls, (unsigned long)tally.tightened);
    assert_true(tally.tightened > 0);
}

/* Whether a member of a gatherv gave anything is told by its end. */
static void lost_ends_are_no_givers(void **state)
{
    (void)state;
    uint64_t random = seed + 2;
    struct tally tally = {0, 0};
    for (int i = 0; i < cases; i++) {
        struct gn_synth_settings settings = any_program(&random);
        settings.pattern = i % 2 ? "collectives" : "nbc";
        settings.measure_error_ns = 1;
        settings.lost = between(&random, 0.01, 0.2);
        check(&settings, &tally);
    }
}

/* The bounds of one clock, moved. */
static void shift(struct subject *s, uint32_t clock, int64_t ns)
{
    const struct gn_breakpoint *points;
    struct gn_outside outside;
    struct gn_error err;
    const size_t count = gn_bounds_breakpoints(s->bounds[clock], &points, &outside);
    struct gn_breakpoint *moved = calloc(count, sizeof *moved);
    for (size_t i = 0; i < count; i++)
        moved[i] = (struct gn_breakpoint){points[i].ticks, points[i].lo_ns + ns, points[i].hi_ns + ns};
    struct gn_bounds *bounds = gn_bounds_new(moved, count, &outside, &err);
    assert_non_null(bounds);
    for (size_t l = 0; l < s->settings.locations; l++)
        if (s->of[l] == s->bounds[clock])
            s->of[l] = bounds;
    gn_bounds_free(s->bounds[clock]);
    s->bounds[clock] = bounds;
    free(moved);
}

static bool is_contradicted(const struct subject *s)
{
    for (size_t t = 0; t < s->h.take_count; t++) {
        const struct gn_take *take = &s->h.takes[t];
        const struct gn_call *to = &s->h.calls[take->call], *from = &s->h.calls[take->from];
        if (take->kind == GN_TAKE_MESSAGE && !(to->flags & GN_CALL_UNSURE) &&
            gn_bounds_convert(s->of[from->location], from->enter_ticks).lo_ns >
                gn_bounds_convert(s->of[to->location], to->leave_ticks).hi_ns)
            return true;
    }
    return false;
}

/* A refuted history has nothing that is upside down. */
static void intervals_are_intervals(const struct subject *s)
{
    for (uint32_t c = 0; c < s->h.call_count; c++) {
        const struct gn_call *call = &s->h.calls[c];
        hold(s, call->enter.lo_ns <= call->enter.hi_ns && call->leave.lo_ns <= call->leave.hi_ns, "call %u",
             c);
        hold(s, call->enter.lo_ns <= call->leave.lo_ns && call->enter.hi_ns <= call->leave.hi_ns, "call %u",
             c);
    }
    for (uint32_t l = 0; l < s->settings.locations; l++)
        for (size_t i = 0; i < s->h.tracks[l].count; i++) {
            const struct gn_change *c = &s->h.tracks[l].changes[i];
            hold(s, c->at.lo_ns <= c->at.hi_ns, "change %zu of %u", i, l);
            hold(s, i == 0 || (c[-1].at.lo_ns <= c->at.lo_ns && c[-1].at.hi_ns <= c->at.hi_ns),
                 "change %zu of %u after the one before", i, l);
        }
}

static void wrong_bounds_are_refuted(void **state)
{
    (void)state;
    uint64_t random = seed + 1;
    int contradicted = 0;
    for (int i = 0; i < cases / 3 + 1; i++) {
        struct gn_synth_settings settings = any_program(&random);
        struct subject s;
        settings.domains = settings.domains < 2 ? 2 : settings.domains;
        open_clocks(&s, &settings);
        shift(&s, s.measured.definitions->locations[settings.locations - 1].clock,
              (int64_t)(between(&random, -1, 1) * 1e7));
        open_history(&s);
        hold(&s, s.h.refuted || !is_contradicted(&s), "case %d", i);
        contradicted += is_contradicted(&s);
        intervals_are_intervals(&s);
        close_subject(&s);
    }
    assert_true(contradicted > 0);
}

int main(int argc, char **argv)
{
    int option;
    while ((option = getopt(argc, argv, "n:s:v")) != -1) {
        if (option == 'n')
            cases = atoi(optarg);
        else if (option == 's')
            seed = strtoull(optarg, NULL, 10);
        else if (option == 'v')
            verbose = true;
        else
            return 2;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(everything_is_in_its_bounds),
                                       cmocka_unit_test(lost_ends_are_no_givers),
                                       cmocka_unit_test(wrong_bounds_are_refuted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
