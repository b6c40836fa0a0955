/*
 * order: against the reference, after every single push, on thousands of small random executions.
 *
 * GNOMON_TEST_SEED=n runs one seed (as a failure prints it) instead of all; GNOMON_TEST_SEEDS=n that many.
 */
#include "causality/order.h"
#include "order_check.h"
#include "order_reference.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_SEQUENCE = MAX_LOCATIONS * MAX_EVENTS };

/* What executions are like, and what is compared. */
struct property {
    struct execution_settings settings;
    bool adjust, numbered;
    enum { REPORTED = 1, SIZES = 2, PLACES = 4, STATS = 8, EVENTS = 16 } compare;
};

/* One execution being delivered. */
struct trial {
    const struct property *property;
    uint64_t seed, dice;
    struct execution *x;
    struct reference r;
    struct gn_order *order;
    struct gn_event events[MAX_SEQUENCE + 1]; /* as reported */
    struct gn_place places[MAX_SEQUENCE + 1];
    size_t reported, compared;
    size_t outs[MAX_LOCATIONS]; /* how many of each location were reported */
    uint64_t final_ticks[MAX_LOCATIONS][MAX_EVENTS];
    uint64_t drift[MAX_LOCATIONS];
    uint64_t nodes_max, unreported_max, adjusted, released;
    double nodes_sum, unreported_sum;
    size_t delivered[MAX_LOCATIONS]; /* numbered: in any order */
    bool came[MAX_LOCATIONS][MAX_EVENTS];
    char last[200]; /* what was done last */
};

static int take(void *self, const struct gn_event *event, const struct gn_place *place)
{
    struct trial *t = self;
    if (t->reported > MAX_SEQUENCE)
        return -E2BIG;
    t->events[t->reported] = *event;
    t->places[t->reported++] = *place;
    return 0;
}

/* ---- saying what went wrong ---- */

static void describe(const struct gn_event *e, char *text, size_t size)
{
    snprintf(text, size, "%u.%u %s op %s comm %d peer %d tag %d request %d sent %d received %d", e->location,
             e->record, gn_event_name(e->kind),
             e->op == GN_COLLECTIVE_UNKNOWN ? "-" : gn_collective_name(e->op), (int)e->comm, (int)e->peer,
             (int)e->tag, (int)e->request, (int)e->bytes_sent, (int)e->bytes_received);
}

static void print_definitions(const struct gn_definitions *d)
{
    for (size_t l = 0; l < d->location_count; l++)
        print_message("  location %zu: process %u\n", l, d->locations[l].process);
    for (size_t c = 0; c < d->comm_count; c++) {
        print_message("  comm %zu: processes", c);
        for (uint32_t i = 0; i < d->comms[c].member_count; i++)
            print_message(" %u", d->comms[c].members[i]);
        print_message("\n");
    }
    for (size_t w = 0; w < d->window_count; w++)
        print_message("  window %zu: comm %u\n", w, d->windows[w].comm);
}

static void explain(const struct trial *t)
{
    char text[200];
    print_message("seed %llu, %u steps; last %s\n", (unsigned long long)t->seed, t->property->settings.steps,
                  t->last);
    print_definitions(t->x->definitions);
    for (uint32_t l = 0; l < t->x->location_count; l++)
        for (size_t i = 0; i < t->r.pushed[l]; i++) {
            describe(&t->x->events[l][i], text, sizeof text);
            print_message("  %s%s%s%s\n", text, i < t->outs[l] ? "; reported" : "",
                          i < t->r.reported[l] ? "" : "; should wait",
                          i + 1 == t->r.pushed[l] && t->r.ended[l] ? "; location ended" : "");
        }
}

#define EXPECT(t, condition, ...)                                                                            \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            print_message(__VA_ARGS__);                                                                      \
            print_message("\n");                                                                             \
            explain(t);                                                                                      \
            fail();                                                                                          \
        }                                                                                                    \
    } while (0)

#define EXPECT_SAME(t, is, should, what)                                                                     \
    EXPECT(t, (is) == (should), "%s: %llu instead of %llu", what, (unsigned long long)(is),                  \
           (unsigned long long)(should))

/* ---- comparing ---- */

static bool receives(const struct gn_event *e)
{
    return e->kind == GN_EVENT_MPI_RECV || e->kind == GN_EVENT_MPI_IRECV;
}

/* The end of a one-to-all that depends on its root, or a receive with a send: the sender is known. */
static bool correlated(const struct gn_event *e, int predecessors)
{
    bool one_to_all =
        (e->kind == GN_EVENT_COLLECTIVE_END || e->kind == GN_EVENT_NBC_COMPLETE) &&
        (e->op == GN_COLLECTIVE_BCAST || e->op == GN_COLLECTIVE_SCATTER || e->op == GN_COLLECTIVE_SCATTERV);
    return predecessors == 1 && (one_to_all || receives(e));
}

static uint64_t expected_ticks(struct trial *t, const struct gn_event *e, const struct where *where,
                               int count)
{
    uint64_t *drift = &t->drift[e->location], final;
    if (!t->property->adjust)
        return e->ticks;
    for (int i = 0; i < count; i++) {
        final = t->final_ticks[where[i].location][where[i].index];
        if (final > e->ticks && final - e->ticks > *drift)
            *drift = final - e->ticks;
    }
    return e->ticks + *drift;
}

static void compare_place(struct trial *t, const struct gn_event *e, const struct gn_place *place)
{
    struct where where[MAX_PROCESSES];
    bool released;
    int count = reference_predecessors(&t->r, e->location, e->record, where, &released);
    uint64_t ticks = expected_ticks(t, e, where, count);
    t->final_ticks[e->location][e->record] = place->ticks;
    t->adjusted += ticks != e->ticks;
    t->released += released;
    if (!(t->property->compare & PLACES))
        return;
    snprintf(t->last + strlen(t->last), sizeof t->last - strlen(t->last), ", reported %u.%u", e->location,
             e->record);
    EXPECT_SAME(t, place->ticks, ticks, "ticks");
    EXPECT_SAME(t, (place->flags & GN_PLACE_RELEASED) != 0, released, "released");
    EXPECT_SAME(t, (place->flags & GN_PLACE_UNMATCHED) != 0, released && receives(e), "unmatched");
    EXPECT_SAME(t, (place->flags & GN_PLACE_AMBIGUOUS) != 0, 0, "ambiguous");
    EXPECT_SAME(t, (place->flags & GN_PLACE_CORRELATED) != 0, correlated(e, count), "correlated");
    if (correlated(e, count)) {
        EXPECT_SAME(t, place->sender, where[0].location, "sender");
        EXPECT_SAME(t, place->sent_ticks, t->x->events[where[0].location][where[0].index].ticks,
                    "sent ticks");
    }
}

/* What was reported since the last comparison. */
static void compare_reports(struct trial *t)
{
    for (; t->compared < t->reported; t->compared++) {
        const struct gn_event *e = &t->events[t->compared], *pushed;
        char text[200];
        EXPECT(t, e->location < t->x->location_count, "an event of location %u was reported", e->location);
        EXPECT(t, e->record == t->outs[e->location], "%u.%u was reported, not %u.%zu", e->location, e->record,
               e->location, t->outs[e->location]);
        pushed = &t->x->events[e->location][e->record];
        describe(e, text, sizeof text);
        EXPECT(t, !(t->property->compare & EVENTS) || memcmp(e, pushed, sizeof *e) == 0, "changed: %s", text);
        t->outs[e->location]++;
        compare_place(t, e, &t->places[t->compared]);
    }
    if (t->property->compare & REPORTED)
        for (uint32_t l = 0; l < t->x->location_count; l++)
            EXPECT(t, t->outs[l] == t->r.reported[l],
                   "of location %u, %zu events were reported instead of %zu", l, t->outs[l],
                   t->r.reported[l]);
}

static void compare(struct trial *t)
{
    const struct gn_order_stats *stats = gn_order_stats(t->order);
    reference_compute(&t->r);
    compare_reports(t);
    if (t->property->compare & SIZES) {
        EXPECT_SAME(t, stats->nodes, t->r.nodes, "nodes");
        EXPECT_SAME(t, stats->unreported, t->r.unreported, "unreported");
    }
}

static void count_push(struct trial *t)
{
    t->nodes_sum += (double)t->r.nodes;
    t->unreported_sum += (double)t->r.unreported;
    t->nodes_max = t->r.nodes > t->nodes_max ? t->r.nodes : t->nodes_max;
    t->unreported_max = t->r.unreported > t->unreported_max ? t->r.unreported : t->unreported_max;
}

static void compare_stats(struct trial *t)
{
    const struct gn_order_stats *stats = gn_order_stats(t->order);
    struct reference_counts counts = reference_counts(&t->r);
    uint64_t pushed = 0;
    for (uint32_t l = 0; l < t->x->location_count; l++)
        pushed += t->x->counts[l];
    EXPECT_SAME(t, stats->pushed, pushed, "pushed");
    EXPECT_SAME(t, stats->reported, pushed, "reported");
    EXPECT_SAME(t, stats->messages, counts.messages, "messages");
    EXPECT_SAME(t, stats->unmatched_sends, counts.unmatched_sends, "unmatched sends");
    EXPECT_SAME(t, stats->unmatched_receives, counts.unmatched_receives, "unmatched receives");
    EXPECT_SAME(t, stats->collectives, counts.collectives, "collectives");
    EXPECT_SAME(t, stats->incomplete_collectives, counts.incomplete_collectives, "incomplete collectives");
    EXPECT_SAME(t, stats->released, t->released, "events released");
    EXPECT_SAME(t, stats->adjusted, t->adjusted, "events adjusted");
    EXPECT_SAME(t, stats->ambiguous, 0, "ambiguous");
    EXPECT_SAME(t, stats->contradictions, 0, "contradictions");
    EXPECT_SAME(t, stats->lost, 0, "lost");
    EXPECT_SAME(t, stats->nodes_max, t->nodes_max, "largest number of nodes");
    EXPECT_SAME(t, stats->unreported_max, t->unreported_max, "largest number of unreported");
    EXPECT(t, stats->nodes_sum == t->nodes_sum, "sum of nodes: %g instead of %g", stats->nodes_sum,
           t->nodes_sum);
    EXPECT(t, stats->unreported_sum == t->unreported_sum, "sum of unreported: %g instead of %g",
           stats->unreported_sum, t->unreported_sum);
}

/* ---- delivering ---- */

/* The next event of a location, or with numbers, any. */
static void push(struct trial *t, uint32_t l)
{
    size_t i = t->delivered[l];
    if (t->property->numbered)
        do
            i = dice_below(&t->dice, (uint32_t)t->x->counts[l]);
        while (t->came[l][i]);
    t->came[l][i] = true;
    t->delivered[l]++;
    while (t->r.pushed[l] < t->x->counts[l] && t->came[l][t->r.pushed[l]])
        t->r.pushed[l]++;
    snprintf(t->last, sizeof t->last, "pushed %u.%zu", l, i);
    const struct gn_event *e = &t->x->events[l][i];
    int status = t->property->numbered ? gn_order_push_numbered(t->order, e, i) : gn_order_push(t->order, e);
    EXPECT(t, status == 0, "the push returned %d", status);
    compare(t);
    count_push(t);
}

static void end(struct trial *t, uint32_t l)
{
    t->r.ended[l] = true;
    snprintf(t->last, sizeof t->last, "ended %u", l);
    int status = gn_order_end(t->order, l);
    EXPECT(t, status == 0, "the end returned %d", status);
    compare(t);
}

static void deliver(struct trial *t)
{
    uint32_t locations = t->x->location_count, left = locations, l = 0;
    double burst = (double)dice_below(&t->dice, 10) / 10; /* one location at a time, or mixed */
    while (left > 0) {
        if (!dice_chance(&t->dice, burst))
            l = dice_below(&t->dice, locations);
        if (t->delivered[l] < t->x->counts[l])
            push(t, l);
        else if (!t->r.ended[l] && dice_chance(&t->dice, 0.3)) {
            end(t, l);
            left--;
        } else
            l = dice_below(&t->dice, locations);
    }
    snprintf(t->last, sizeof t->last, "finished");
    EXPECT_SAME(t, gn_order_finish(t->order), 0, "finish");
    compare(t);
}

/* Events count by their names here: that they come out unchanged is a property of its own. */
static void check_sequence(struct trial *t)
{
    struct order_check *check = order_check_new(t->x->definitions);
    struct order_verdict verdict;
    for (uint32_t l = 0; l < t->x->location_count; l++)
        for (size_t i = 0; i < t->x->counts[l]; i++)
            order_check_pushed(check, &t->x->events[l][i]);
    for (size_t i = 0; i < t->reported; i++)
        order_check_reported(check, &t->x->events[t->events[i].location][t->events[i].record], false);
    EXPECT(t, order_check_finish(check, &verdict),
           "%llu events missing, %llu foreign, %llu receives before their send, %llu ends before a begin",
           (unsigned long long)verdict.missing, (unsigned long long)verdict.foreign,
           (unsigned long long)verdict.receives_before_send, (unsigned long long)verdict.ends_before_begin);
    order_check_free(check);
}

static void run(const struct property *property, uint64_t seed)
{
    static struct trial t;
    struct gn_order_settings settings = {.adjust = property->adjust, .in_time = true, .patience = MAX_EVENTS};
    memset(&t, 0, sizeof t);
    t = (struct trial){.property = property, .seed = seed, .dice = ~seed, .last = "opened"};
    t.x = execution_new(&property->settings);
    assert_non_null(t.x);
    assert_int_equal(reference_open(&t.r, t.x), 0);
    struct gn_order_sink sink = {.self = &t, .report = take};
    assert_int_equal(gn_order_open(&t.order, t.x->definitions, &settings, &sink, NULL), 0);
    deliver(&t);
    if (property->compare & STATS)
        compare_stats(&t);
    check_sequence(&t);
    gn_order_close(t.order);
    reference_close(&t.r);
    execution_free(t.x);
}

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *value = getenv(name);
    return value ? strtoull(value, NULL, 10) : otherwise;
}

/* Small executions first: what fails there is easy to see. */
static void holds(void **state)
{
    static const unsigned steps[] = {4, 8, 16, 32, 64};
    uint64_t only = from_environment("GNOMON_TEST_SEED", 0),
             seeds = from_environment("GNOMON_TEST_SEEDS", SEEDS);
    struct property property = *(const struct property *)*state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        for (uint64_t seed = only ? only : 1; seed <= (only ? only : seeds); seed++) {
            property.settings.steps = steps[i];
            property.settings.seed = seed;
            run(&property, seed);
        }
}

#define WILD .wildcards = 0.3
#define ALL .collectives = true, .windows = true, WILD
#define CANCELLED .cancelled = 0.2
#define UNKNOWN .unknown = 0.3
#define CUT .cut = 0.5

/* X(name, settings of the execution, what is compared, otherwise) */
#define PROPERTIES(X)                                                                                        \
    X(messages, (WILD), REPORTED, )                                                                          \
    X(messages_cancelled, (WILD, CANCELLED), REPORTED, )                                                     \
    X(messages_unknown, (WILD, CANCELLED, UNKNOWN), REPORTED, )                                              \
    X(everything, (ALL, CANCELLED), REPORTED, )                                                              \
    X(everything_unknown, (ALL, CANCELLED, UNKNOWN), REPORTED, )                                             \
    X(everything_cut, (ALL, CANCELLED, CUT), REPORTED, )                                                     \
    X(everything_unknown_cut, (ALL, CANCELLED, UNKNOWN, CUT), REPORTED, )                                    \
    X(unchanged, (ALL, CANCELLED), EVENTS, )                                                                 \
    X(unchanged_unknown, (ALL, CANCELLED, UNKNOWN), EVENTS, )                                                \
    X(sizes_of_messages, (WILD, CANCELLED), SIZES, )                                                         \
    X(sizes, (ALL, CANCELLED), SIZES, )                                                                      \
    X(sizes_unknown, (ALL, CANCELLED, UNKNOWN), SIZES, )                                                     \
    X(sizes_cut, (ALL, CANCELLED, CUT), SIZES, )                                                             \
    X(sizes_unknown_cut, (ALL, CANCELLED, UNKNOWN, CUT), SIZES, )                                            \
    X(places_of_messages_cut, (WILD, CANCELLED, UNKNOWN, CUT), PLACES, )                                     \
    X(places, (ALL, CANCELLED), PLACES, )                                                                    \
    X(places_unknown, (ALL, CANCELLED, UNKNOWN), PLACES, )                                                   \
    X(places_cut, (ALL, CANCELLED, CUT), PLACES, )                                                           \
    X(adjusted, (ALL, CANCELLED), PLACES, .adjust = true)                                                    \
    X(adjusted_unknown, (ALL, CANCELLED, UNKNOWN), PLACES, .adjust = true)                                   \
    X(stats, (ALL, CANCELLED), STATS, .adjust = true)                                                        \
    X(stats_unknown, (ALL, CANCELLED, UNKNOWN), STATS, .adjust = true)                                       \
    X(stats_of_messages_cut, (WILD, CANCELLED, UNKNOWN, CUT), STATS, )                                       \
    X(stats_cut, (ALL, CANCELLED, CUT), STATS, )                                                             \
    X(numbered, (ALL, CANCELLED), REPORTED, .numbered = true)                                                \
    X(numbered_unknown, (ALL, CANCELLED, UNKNOWN), REPORTED, .numbered = true)

#define BRACES(...)                                                                                          \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#define X(name, execution, what, ...)                                                                        \
    static struct property name = {.settings = BRACES execution, .compare = what, __VA_ARGS__};
PROPERTIES(X)
#undef X

int main(void)
{
    const struct CMUnitTest tests[] = {
#define X(name, ...) {#name, holds, NULL, NULL, &name},
        PROPERTIES(X)
#undef X
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
