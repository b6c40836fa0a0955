/*
 * check_order TRACE [roundrobin | recorded | random:SEED | aligned | delayed[:SPEC]]… — sorts an OTF2 archive
 * as if its events arrived in that order (without one: in several of these) and checks the result. Exit
 * status 1: not in causal order, or a receive is joined to a send that comes later on the same clock.
 *
 *   roundrobin    one event of each location in turn
 *   recorded      the event with the earliest timestamp first
 *   random:SEED   bursts of random lengths of random locations
 *   aligned       as check, sync and the analyses read it (causality/arrival.h)
 *   delayed:SPEC  as gnomon order has it (docs/order.md)
 */
#include "causality/arrival_spec.h"
#include "causality/order.h"
#include "order_check.h"
#include "order_execution.h"
#include "trace/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a location has ready. */
struct feed {
    const struct gn_event *events;
    int64_t count, next;
    bool ended;
};

struct sorting {
    struct gn_source source;
    struct gn_order *order;
    struct order_check *check;
    struct feed *feeds;
    uint32_t location_count, turn, burst;
    uint64_t dice, early;
    struct gn_error err;
};

static int report(void *self, const struct gn_event *event, const struct gn_place *place)
{
    struct sorting *s = self;
    const struct gn_location_def *locations = s->source.definitions->locations;
    order_check_reported(s->check, event, place->flags & (GN_PLACE_RELEASED | GN_PLACE_AMBIGUOUS));
    if ((event->kind == GN_EVENT_MPI_RECV || event->kind == GN_EVENT_MPI_IRECV) &&
        place->flags & GN_PLACE_CORRELATED && place->sent_ticks > event->ticks &&
        locations[place->sender].domain == locations[event->location].domain)
        s->early++;
    return 0;
}

/* The next event of a location, or NULL at its end (*status 0) or when it cannot be read. */
static const struct gn_event *peek(struct sorting *s, uint32_t location, int *status)
{
    struct feed *feed = &s->feeds[location];
    *status = 0;
    if (feed->ended)
        return NULL;
    if (feed->next == feed->count) {
        feed->next = 0;
        feed->count = s->source.pull(s->source.self, location, &feed->events, &s->err);
        *status = feed->count < 0 ? (int)feed->count : 0;
        if (feed->count <= 0)
            return NULL;
    }
    return &feed->events[feed->next];
}

/* ---- arrival ---- */

static uint32_t in_turn(struct sorting *s)
{
    do
        s->turn = (s->turn + 1) % s->location_count;
    while (s->feeds[s->turn].ended);
    return s->turn;
}

static uint32_t at_random(struct sorting *s)
{
    if (s->burst == 0 || s->feeds[s->turn].ended) {
        s->burst = 1 + dice_below(&s->dice, 1u << dice_below(&s->dice, 10));
        s->turn = dice_below(&s->dice, s->location_count);
    }
    s->burst--;
    return s->feeds[s->turn].ended ? in_turn(s) : s->turn;
}

static uint32_t as_recorded(struct sorting *s)
{
    uint32_t earliest = GN_NONE;
    const struct gn_event *first = NULL;
    int status;
    for (uint32_t l = 0; l < s->location_count; l++) {
        const struct gn_event *event = peek(s, l, &status);
        if (!event && !s->feeds[l].ended)
            return l; /* to be ended */
        if (event && (!first || event->ticks < first->ticks)) {
            first = event;
            earliest = l;
        }
    }
    return earliest;
}

/* ---- sorting ---- */

static int deliver(struct sorting *s, uint32_t (*next)(struct sorting *s))
{
    for (uint32_t left = s->location_count; left > 0;) {
        uint32_t location = next(s);
        int status;
        const struct gn_event *event = peek(s, location, &status);
        if (event) {
            order_check_pushed(s->check, event);
            s->feeds[location].next++;
            status = gn_order_push(s->order, event);
        } else if (status == 0) {
            s->feeds[location].ended = true;
            left--;
            status = gn_order_end(s->order, location);
        }
        if (status < 0)
            return status;
    }
    return gn_order_finish(s->order);
}

static int push(void *self, const struct gn_event *event, struct gn_error *err)
{
    struct sorting *s = self;
    (void)err;
    order_check_pushed(s->check, event);
    return gn_order_push(s->order, event);
}

static int end(void *self, uint32_t location, struct gn_error *err)
{
    struct sorting *s = self;
    (void)err;
    return gn_order_end(s->order, location);
}

/* As the commands have it delivered. */
static int deliver_aligned(struct sorting *s)
{
    const struct gn_arrival_sink sink = {s, push, end};
    const int code = gn_arrival_carry(&s->source, &sink, &s->err);
    return code < 0 ? code : gn_order_finish(s->order);
}

static int deliver_as(struct sorting *s, const struct gn_arrival_settings *settings)
{
    struct gn_arrival *arrival;
    struct gn_arrived arrived;
    int code = gn_arrival_open(&arrival, &s->source, settings, &s->err);
    while (code == 0 && (code = gn_arrival_next(arrival, &arrived, &s->err)) == 1) {
        code = arrived.count ? 0 : end(s, arrived.location, &s->err);
        for (uint32_t i = 0; i < arrived.count && code == 0; i++)
            code = push(s, &arrived.events[i], &s->err);
    }
    gn_arrival_close(arrival);
    return code < 0 ? code : gn_order_finish(s->order);
}

static bool judge(struct sorting *s, const char *arrival)
{
    const struct gn_order_stats *stats = gn_order_stats(s->order);
    struct order_verdict v;
    bool good = order_check_finish(s->check, &v);
    printf("%s: %" PRIu64 " events, %" PRIu64 " messages and %" PRIu64
           " ends of collectives checked, %" PRIu64 " excused; nodes: mean %.1f, most %" PRIu64
           "; unreported: mean %.1f, most %" PRIu64 "\n",
           arrival, v.pushed, v.messages, v.collective_ends, v.excused,
           stats->nodes_sum / (double)(stats->pushed ? stats->pushed : 1), stats->nodes_max,
           stats->unreported_sum / (double)(stats->pushed ? stats->pushed : 1), stats->unreported_max);
    if (s->early)
        printf("%s: %" PRIu64 " receives are joined to a send that comes later on the same clock\n", arrival,
               s->early);
    if (!good)
        printf("%s: %" PRIu64 " events missing, %" PRIu64 " foreign, %" PRIu64
               " receives before their send, %" PRIu64 " ends before a begin\n",
               arrival, v.missing, v.foreign, v.receives_before_send, v.ends_before_begin);
    if (v.foreign)
        printf("%s: the first foreign event is a %s of location %u at %" PRIu64 "\n", arrival,
               gn_event_name(v.first_foreign.kind), v.first_foreign.location, v.first_foreign.ticks);
    return good && s->early == 0;
}

static int sort_with(struct sorting *s, const char *arrival)
{
    const struct gn_order_sink sink = {s, report};
    struct gn_arrival_settings as;
    const bool aligned = strcmp(arrival, "aligned") == 0;
    const struct gn_order_settings settings = {.in_time = aligned};
    int code = gn_order_open(&s->order, s->source.definitions, &settings, &sink, &s->err);
    if (code < 0)
        return code;
    if (aligned)
        return deliver_aligned(s);
    if (strcmp(arrival, "roundrobin") == 0)
        return deliver(s, in_turn);
    if (strcmp(arrival, "recorded") == 0)
        return deliver(s, as_recorded);
    if (strncmp(arrival, "random:", 7) == 0) {
        s->dice = strtoull(arrival + 7, NULL, 10);
        return deliver(s, at_random);
    }
    code = gn_arrival_parse(&as, arrival, &s->err);
    return code < 0 ? code : deliver_as(s, &as);
}

/* 0, 1: not in order, 2: could not be done. */
static int check(const char *path, const char *arrival)
{
    struct sorting s = {0};
    const struct gn_trace_report *trace_report;
    if (gn_trace_open(&s.source, &trace_report, path, &s.err) < 0) {
        fprintf(stderr, "check_order: %s\n", s.err.text);
        return 2;
    }
    s.location_count = (uint32_t)s.source.definitions->location_count;
    s.feeds = calloc(s.location_count + 1, sizeof *s.feeds);
    s.check = order_check_new(s.source.definitions);
    int status = s.feeds && s.check ? sort_with(&s, arrival) : -ENOMEM;
    int verdict = 2;
    if (status < 0)
        fprintf(stderr, "check_order: %s\n", s.err.text[0] ? s.err.text : strerror(-status));
    else
        verdict = judge(&s, arrival) ? 0 : 1;
    gn_order_close(s.order);
    order_check_free(s.check);
    free(s.feeds);
    s.source.close(s.source.self);
    return verdict;
}

int main(int argc, char **argv)
{
    static const char *const all[] = {"roundrobin", "recorded", "random:1", "random:2",
                                      "random:3",   "aligned",  "delayed"};
    const char *const *arrivals = argc > 2 ? (const char *const *)argv + 2 : all;
    int count = argc > 2 ? argc - 2 : (int)(sizeof all / sizeof *all), worst = 0;
    if (argc < 2) {
        fprintf(
            stderr,
            "usage: check_order TRACE [roundrobin | recorded | random:SEED | aligned | delayed:SPEC]...\n");
        return 2;
    }
    for (int i = 0; i < count; i++) {
        int verdict = check(argv[1], arrivals[i]);
        worst = verdict > worst ? verdict : worst;
    }
    return worst;
}
