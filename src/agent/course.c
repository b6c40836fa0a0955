#include "agent/course.h"

#include "base/grow.h"
#include "base/wrapping.h"
#include "clock/ticks.h"
#include "graph/graph.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_STEP_MS = 25,
    MOST_BYTES = 8 << 20,
    SHARE = 200,    /* of the time that looks may take, one part */
    TRIES = 3,      /* to find a location in one state, and to look at all of them soon enough */
    LATE_US = 2000, /* what happens so long after a moment may be told of it, and twice what a look takes at
                       least */
    READ_TRIES = 100,
    MOST_PAIRS = 8192 /* of peers and completions: calls come first */
};

enum { COUNT, TICKS }; /* of sums */

/* What a thread is doing. */
struct now {
    uint32_t node, inside;
    uint64_t since_ticks, events;
    uint64_t first_ticks, past_ticks; /* of its thread, and of those before it in its place */
    bool in_use;
};

struct gn_course_process {
    struct gn_series_process told;
    struct location {
        /* as it was read last */
        struct now now;
        bool settled; /* all of it was read in one state */
        bool
            same; /* nothing has happened since it was put: only the node that it is in was read, into sums */
        uint32_t nodes, edges;
        int64_t *sums; /* of nodes, then of edges */
        size_t room;
        /* as it was put last */
        bool is_put;
        uint64_t events, since_ticks;
        uint32_t open;  /* the node since which it computed; GN_SERIES_NONE: it did not */
        uint32_t ahead; /* the node in whose call it was; likewise */
    } * locations;      /* as many as told has */
    bool is_over;       /* it had ended: nothing comes any more */
};

/* ---- rows ---- */

static bool grow_nodes(struct gn_course *c, struct gn_series_location *l, uint32_t count)
{
    while (l->node_count < count) {
        if (!gn_grow(&l->nodes, &l->node_room, l->node_count, sizeof *l->nodes))
            return false;
        l->nodes[l->node_count++] =
            (struct gn_series_node){gn_series_row(c->series), GN_SERIES_NONE, GN_SERIES_NONE};
    }
    return true;
}

static bool grow_edges(struct gn_course *c, struct gn_series_location *l, struct gn_location *shared,
                       uint32_t count)
{
    while (l->edge_count < count) {
        if (!gn_grow(&l->edges, &l->edge_room, l->edge_count, sizeof *l->edges))
            return false;
        const struct gn_tag_edge *edge = &shared->edges[l->edge_count];
        l->edges[l->edge_count++] =
            (struct gn_series_edge){GN_GET(edge->from), GN_GET(edge->to), gn_series_row(c->series)};
    }
    return true;
}

static uint32_t row_of_pair(struct gn_course *c)
{
    return c->pairs < MOST_PAIRS && ++c->pairs ? gn_series_row(c->series) : GN_SERIES_NONE;
}

static bool grow_peers(struct gn_course *c, struct gn_series_location *l, struct gn_location *shared,
                       uint32_t count)
{
    while (l->peer_count < count) {
        if (!gn_grow(&l->peers, &l->peer_room, l->peer_count, sizeof *l->peers))
            return false;
        const struct gn_tag_peer *peer = &shared->peers[l->peer_count];
        l->peers[l->peer_count++] =
            (struct gn_series_peer){GN_GET(peer->node), GN_GET(peer->peer), row_of_pair(c)};
    }
    return true;
}

static bool grow_completions(struct gn_course *c, struct gn_series_location *l, struct gn_location *shared,
                             uint32_t count)
{
    while (l->completion_count < count) {
        if (!gn_grow(&l->completions, &l->completion_room, l->completion_count, sizeof *l->completions))
            return false;
        const struct gn_tag_completion *completion = &shared->completions[l->completion_count];
        l->completions[l->completion_count++] =
            (struct gn_series_edge){GN_GET(completion->from), GN_GET(completion->to), row_of_pair(c)};
    }
    return true;
}

/* ---- a location ---- */

static struct now now_of(struct gn_location *l)
{
    struct now now = {0};
    for (int tries = 0; tries < READ_TRIES; tries++) {
        const uint32_t before = gn_seq_read_begin(&l->seq);
        now.node = GN_GET(l->now_node);
        now.inside = GN_GET(l->now_inside);
        now.since_ticks = GN_GET(l->now_ticks);
        if (gn_seq_read_good(&l->seq, before))
            break;
    }
    now.events = GN_GET(l->events);
    now.first_ticks = GN_GET(l->first_ticks);
    now.past_ticks = GN_GET(l->past_ticks);
    now.in_use = GN_GET(l->in_use);
    return now;
}

static bool is_same(const struct now *a, const struct now *b)
{
    return a->node == b->node && a->inside == b->inside && a->since_ticks == b->since_ticks &&
           a->events == b->events && a->in_use == b->in_use;
}

/* Of a record that its writer is inside of all the time, what was there last. */
static void read_node(struct gn_tag_node *node, int64_t sums[GN_SERIES_VALUES])
{
    for (int tries = 0; tries < READ_TRIES; tries++) {
        const uint32_t before = gn_seq_read_begin(&node->seq);
        sums[COUNT] = (int64_t)GN_GET(node->time.count);
        sums[TICKS] = (int64_t)GN_GET(node->time.total_ticks);
        sums[2] = (int64_t)GN_GET(node->messages);
        sums[3] = (int64_t)GN_GET(node->bytes);
        if (gn_seq_read_good(&node->seq, before))
            return;
    }
}

static void read_edge(struct gn_tag_edge *edge, int64_t sums[GN_SERIES_VALUES])
{
    for (int tries = 0; tries < READ_TRIES; tries++) {
        const uint32_t before = gn_seq_read_begin(&edge->seq);
        sums[COUNT] = (int64_t)GN_GET(edge->time.count);
        sums[TICKS] = (int64_t)GN_GET(edge->time.total_ticks);
        sums[2] = (int64_t)GN_GET(edge->exact);
        sums[3] = (int64_t)GN_GET(edge->probe_ticks);
        if (gn_seq_read_good(&edge->seq, before))
            return;
    }
}

static void read_peer(struct gn_tag_peer *peer, int64_t sums[GN_SERIES_VALUES])
{
    for (int tries = 0; tries < READ_TRIES; tries++) {
        const uint32_t before = gn_seq_read_begin(&peer->seq);
        sums[0] = (int64_t)GN_GET(peer->sent_messages);
        sums[1] = (int64_t)GN_GET(peer->sent_bytes);
        sums[2] = (int64_t)GN_GET(peer->received_messages);
        sums[3] = (int64_t)GN_GET(peer->received_bytes);
        if (gn_seq_read_good(&peer->seq, before))
            return;
    }
}

static void read_completion(struct gn_tag_completion *completion, int64_t sums[GN_SERIES_VALUES])
{
    for (int tries = 0; tries < READ_TRIES; tries++) {
        const uint32_t before = gn_seq_read_begin(&completion->seq);
        sums[COUNT] = (int64_t)GN_GET(completion->count);
        sums[TICKS] = (int64_t)GN_GET(completion->total_ticks);
        sums[2] = (int64_t)GN_GET(completion->ahead_ticks);
        sums[3] = 0;
        if (gn_seq_read_good(&completion->seq, before))
            return;
    }
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static bool make_room(struct location *own, size_t count)
{
    if (count <= own->room)
        return true;
    int64_t *sums = realloc(own->sums, count * GN_SERIES_VALUES * sizeof *sums);
    if (!sums)
        return false;
    own->sums = sums;
    own->room = count;
    return true;
}

static int64_t *sums_of(const struct location *own, size_t i)
{
    return own->sums + i * GN_SERIES_VALUES;
}

/* All sums, unless nothing has happened since they were put. False: no memory. */
static bool read_location(struct location *own, struct gn_location *shared)
{
    own->now = now_of(shared);
    own->same = own->is_put && own->now.events == own->events && own->now.since_ticks == own->since_ticks;
    own->settled = own->same;
    if (own->same && own->now.inside == 1 && own->now.node < own->nodes) {
        read_node(&shared->nodes[own->now.node], own->sums);
        const struct now after = now_of(shared);
        own->same = own->settled = is_same(&own->now, &after);
        own->now = after;
    }
    for (int tries = 0; tries < TRIES && !own->settled; tries++) {
        own->edges = smaller(GN_OBSERVE(shared->edge_count), GN_MAX_EDGES);
        own->nodes = smaller(GN_OBSERVE(shared->node_count), GN_MAX_NODES);
        if (!make_room(own, (size_t)own->nodes + own->edges + 1))
            return false;
        for (uint32_t i = 0; i < own->nodes; i++)
            read_node(&shared->nodes[i], sums_of(own, i));
        for (uint32_t i = 0; i < own->edges; i++)
            read_edge(&shared->edges[i], sums_of(own, own->nodes + i));
        const struct now after = now_of(shared);
        own->settled = is_same(&own->now, &after);
        own->now = after;
    }
    return true;
}

/* The row of a node of which nothing is told any more, and of the one of which something is. which: tells as
 * many ticks from those of another time, by chance. */
static void put_ticks(struct gn_course *c, struct gn_series_location *l, size_t row_at, uint32_t *of,
                      uint32_t node, int64_t ticks, int64_t which)
{
    const int64_t some[GN_SERIES_VALUES] = {ticks, which}, none[GN_SERIES_VALUES] = {0};
    const bool is_told = ticks > 0 && node < l->node_count;
    if (*of < l->node_count && (!is_told || *of != node))
        gn_series_put(c->series, *(uint32_t *)((char *)&l->nodes[*of] + row_at), none);
    *of = is_told ? node : GN_SERIES_NONE;
    if (!is_told)
        return;
    uint32_t *row = (uint32_t *)((char *)&l->nodes[node] + row_at);
    if (*row == GN_SERIES_NONE)
        *row = gn_series_row(c->series);
    gn_series_put(c->series, *row, some);
}

/* What it computes since a node, up to now, where nobody knows yet what follows. */
static void put_open(struct gn_course *c, struct location *own, struct gn_series_location *l, int64_t ticks)
{
    const struct now *now = &own->now;
    const bool is_open = now->in_use && now->inside == 0 && ticks > 0;
    put_ticks(c, l, offsetof(struct gn_series_node, open), &own->open, now->node, is_open ? ticks : 0, 0);
    if (own->open == GN_SERIES_NONE)
        return;
    l->since = now->node;
    l->since_events = now->events;
}

/* gn_tag_ahead of what was read. */
static int64_t ahead_of_call(const struct location *own, struct gn_location *shared)
{
    const struct now *now = &own->now;
    uint64_t counted = 0;
    if (!own->settled || !now->in_use || now->inside != 1)
        return 0;
    for (uint32_t i = 0; i < own->nodes; i++)
        if (gn_activity_takes_time(GN_GET(shared->nodes[i].activity)))
            counted += (uint64_t)sums_of(own, i)[TICKS];
    for (uint32_t i = 0; i < own->edges; i++)
        counted += (uint64_t)sums_of(own, own->nodes + i)[TICKS];
    return (int64_t)gn_tag_ahead(now->since_ticks, now->first_ticks, now->past_ticks, counted);
}

static void put_node(struct gn_course *c, const struct location *own, const struct gn_series_location *l,
                     uint32_t i, int64_t *sums, int64_t open_ticks)
{
    if (own->now.inside == 1 && own->now.node == i)
        sums[TICKS] = gn_plus(sums[TICKS], open_ticks);
    gn_series_put(c->series, l->nodes[i].node, sums);
}

/* Messages and requests are read when they are put: they need not be of the very moment, as what a call has
 * done is done when it is left. False: no memory. */
static bool put_pairs(struct gn_course *c, struct gn_series_location *l, struct gn_location *shared)
{
    int64_t sums[GN_SERIES_VALUES] = {0};
    if (!grow_peers(c, l, shared, smaller(GN_OBSERVE(shared->peer_count), GN_MAX_PEERS)) ||
        !grow_completions(c, l, shared, smaller(GN_OBSERVE(shared->completion_count), GN_MAX_COMPLETIONS)))
        return false;
    for (uint32_t i = 0; i < l->peer_count && l->peers[i].row != GN_SERIES_NONE; i++) {
        read_peer(&shared->peers[i], sums);
        gn_series_put(c->series, l->peers[i].row, sums);
    }
    for (uint32_t i = 0; i < l->completion_count && l->completions[i].row != GN_SERIES_NONE; i++) {
        read_completion(&shared->completions[i], sums);
        gn_series_put(c->series, l->completions[i].row, sums);
    }
    return true;
}

/* ticks: the moment. What began later, while it was looked at, is not open at that moment. */
static void put_location(struct gn_course *c, struct location *own, struct gn_series_location *l,
                         struct gn_location *shared, uint64_t ticks)
{
    const bool later = !own->settled || ticks <= own->now.since_ticks;
    const int64_t open = later ? 0 : (int64_t)(ticks - own->now.since_ticks);
    bool is_put = true;
    if (own->same) {
        if (own->now.inside == 1 && own->now.node < l->node_count)
            put_node(c, own, l, own->now.node, own->sums, open);
    } else if (grow_nodes(c, l, own->nodes) && grow_edges(c, l, shared, own->edges)) {
        put_ticks(c, l, offsetof(struct gn_series_node, ahead), &own->ahead, own->now.node,
                  ahead_of_call(own, shared), (int64_t)own->now.events);
        for (uint32_t i = 0; i < own->nodes; i++)
            put_node(c, own, l, i, sums_of(own, i), open);
        for (uint32_t i = 0; i < own->edges; i++)
            gn_series_put(c->series, l->edges[i].row, sums_of(own, own->nodes + i));
        is_put = put_pairs(c, l, shared);
    } else {
        is_put = false;
    }
    put_open(c, own, l, open);
    own->events = own->now.events;
    own->since_ticks = own->now.since_ticks;
    own->is_put = own->settled && is_put;
}

/* ---- a process ---- */

static bool grow_locations(struct gn_course_process *p, uint32_t count)
{
    if (count <= p->told.location_count)
        return true;
    struct gn_series_location *locations = realloc(p->told.locations, count * sizeof *locations);
    if (locations)
        p->told.locations = locations;
    struct location *own = realloc(p->locations, count * sizeof *own);
    if (own)
        p->locations = own;
    if (!locations || !own)
        return false;
    for (uint32_t i = p->told.location_count; i < count; i++) {
        locations[i] = (struct gn_series_location){.since = GN_SERIES_NONE};
        own[i] = (struct location){.open = GN_SERIES_NONE, .ahead = GN_SERIES_NONE};
    }
    p->told.location_count = count;
    return true;
}

static void look_at_samples(struct gn_course *c, struct gn_course_process *p, struct gn_sampler *sampler,
                            int pid, bool is_last)
{
    struct gn_sampled sampled = {.state = ""};
    if (!(is_last ? gn_sampler_look(sampler, pid, &sampled) : gn_sampler_try(sampler, pid, &sampled)))
        return; /* they come with the next look */
    for (size_t i = 0; i < sampled.count; i++) {
        const int64_t sums[GN_SERIES_VALUES] = {(int64_t)sampled.counts[i].count,
                                                (int64_t)sampled.counts[i].time_ns};
        if (i == p->told.sample_count) {
            if (!gn_grow(&p->told.samples, &p->told.sample_room, i, sizeof *p->told.samples))
                break;
            p->told.samples[p->told.sample_count++] = gn_series_row(c->series);
        }
        gn_series_put(c->series, p->told.samples[i], sums);
    }
    gn_sampler_go_on(sampler);
}

/* Whether there is something to look at. */
static bool is_seen(const struct gn_course_process *p, const struct gn_watched *w)
{
    return w->segment && !p->is_over && GN_GET(w->segment->state) != GN_STATE_EMPTY &&
           GN_GET(w->segment->start_ticks) != 0;
}

/* False: no memory. */
static bool read_process(struct gn_course_process *p, const struct gn_watched *w)
{
    const uint32_t count =
        smaller(GN_OBSERVE(w->segment->location_count), gn_tag_locations(w->segment_bytes));
    if (!grow_locations(p, count))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!read_location(&p->locations[i], &w->segment->locations[i]))
            return false;
    return true;
}

static void put_process(struct gn_course *c, struct gn_course_process *p, const struct gn_watched *w,
                        struct gn_sampler *sampler, uint64_t ticks)
{
    const uint64_t start = GN_GET(w->segment->start_ticks),
                   own_end = GN_GET(w->segment->end_ticks); /* as for its graph */
    const uint64_t end = own_end ? own_end : w->end_ticks;
    if (end && end < ticks)
        ticks = end;
    if (start <= ticks && (!c->begin_ticks || start < c->begin_ticks))
        c->begin_ticks = start;
    p->told.series = c->series;
    for (uint32_t i = 0; i < p->told.location_count; i++)
        put_location(c, &p->locations[i], &p->told.locations[i], &w->segment->locations[i], ticks);
    look_at_samples(c, p, sampler, (int)w->segment->pid, false);
    p->is_over = w->end_ticks != 0;
}

static bool grow_processes(struct gn_course *c, size_t count)
{
    while (c->count < count) {
        if (!gn_grow(&c->processes, &c->room, c->count, sizeof *c->processes))
            return false;
        c->processes[c->count++] = (struct gn_course_process){.locations = NULL};
    }
    return true;
}

/* ---- all ---- */

uint64_t gn_course_wait_ns(const struct gn_course *c, uint64_t now_ns)
{
    return c->next_ns > now_ns ? c->next_ns - now_ns : 0;
}

/* Steps that have doubled are as far apart from here on; so are those of a look that takes too long. */
static void schedule(struct gn_course *c, size_t steps_before, uint64_t began_ns, uint64_t used_ns)
{
    size_t steps;
    gn_series_moments(c->series, &steps);
    if (c->step_ns == 0)
        c->step_ns = FIRST_STEP_MS * 1000000ull;
    if (steps_before > 0) /* the first one has rows to make */
        c->look_ns = c->look_ns ? (7 * c->look_ns + used_ns) / 8 : used_ns;
    if (steps < steps_before || c->look_ns * SHARE > c->step_ns)
        c->step_ns *= 2;
    c->next_ns = began_ns + c->step_ns;
}

/* All that there is to see, as of the moment that comes back; 0: there is nothing, or no memory. What the
 * agent is too late for, as it had no core meanwhile, is read again. */
static uint64_t read_all(struct gn_course *c, const struct gn_watched_list *watched, bool is_last)
{
    uint64_t ticks = 0;
    for (int tries = 0; tries < TRIES; tries++) {
        const uint64_t began_ns = gn_monotonic_ns();
        bool any = false;
        ticks = gn_ticks();
        for (size_t i = 0; i < watched->count; i++) {
            if (!is_seen(&c->processes[i], &watched->items[i]))
                continue;
            any = true;
            if (!read_process(&c->processes[i], &watched->items[i]))
                return 0;
        }
        if (!any)
            return 0;
        const uint64_t took_ns = gn_monotonic_ns() - began_ns;
        c->read_ns = !c->read_ns || took_ns < c->read_ns ? took_ns : c->read_ns;
        if (took_ns <= 2 * c->read_ns + LATE_US * 1000ull || is_last)
            return ticks;
    }
    c->read_ns *= 2; /* there may be more to read than there was */
    return 0;
}

static void look(struct gn_course *c, const struct gn_watched_list *watched,
                 const struct gn_host_clock *clock, struct gn_sampler *sampler, bool is_last)
{
    const uint64_t began_ns = gn_monotonic_ns(), used_ns = gn_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    size_t steps;
    if (!c->series)
        c->series = gn_series_new(MOST_BYTES);
    if (!c->series || clock->groups.group_count > 1 || !grow_processes(c, watched->count)) {
        c->next_ns = began_ns + 1000000000ull;
        return;
    }
    gn_series_moments(c->series, &steps);
    const uint64_t ticks = read_all(c, watched, is_last);
    for (size_t i = 0; ticks && i < watched->count; i++)
        if (is_seen(&c->processes[i], &watched->items[i]))
            put_process(c, &c->processes[i], &watched->items[i], sampler, ticks);
    if (ticks)
        gn_series_close(c->series, ticks);
    schedule(c, steps, began_ns, gn_clock_ns(CLOCK_THREAD_CPUTIME_ID) - used_ns);
}

void gn_course_look(struct gn_course *c, const struct gn_watched_list *watched,
                    const struct gn_host_clock *clock, struct gn_sampler *sampler)
{
    look(c, watched, clock, sampler, false);
}

/* Samples are looked at some time after they were taken. */
void gn_course_end(struct gn_course *c, const struct gn_watched_list *watched,
                   const struct gn_host_clock *clock, struct gn_sampler *sampler)
{
    size_t steps = 0;
    look(c, watched, clock, sampler, true);
    const uint64_t *moments = c->series ? gn_series_moments(c->series, &steps) : NULL;
    if (steps == 0)
        return;
    const uint64_t last = moments[steps - 1];
    for (size_t i = 0; i < watched->count && i < c->count; i++)
        if (c->processes[i].told.series)
            look_at_samples(c, &c->processes[i], sampler, (int)watched->items[i].segment->pid, true);
    gn_series_close(c->series, last + 1);
}

const struct gn_series_process *gn_course_of(const struct gn_course *c, size_t process)
{
    return process < c->count && c->processes[process].told.series ? &c->processes[process].told : NULL;
}

int gn_course_put_moments(const struct gn_course *c, const struct gn_host_clock *clock, const char *host,
                          struct gn_graph *graph, struct gn_error *err)
{
    size_t count = 0;
    const uint64_t *moments = c->series ? gn_series_moments(c->series, &count) : NULL;
    const struct gn_graph_host named = {gn_graph_text(graph, host)};
    for (size_t i = 0; count > 0 && i <= count; i++) {
        const uint64_t ticks = i ? moments[i - 1] : c->begin_ticks ? c->begin_ticks : moments[0];
        const struct gn_graph_moment row = {gn_graph_put(graph, GN_GRAPH_HOST, &named), (int64_t)i,
                                            (int64_t)gn_host_clock_shown(clock, ticks)};
        gn_graph_put(graph, GN_GRAPH_MOMENT, &row);
    }
    return gn_graph_check(graph, err);
}

void gn_course_clear(struct gn_course *c)
{
    for (size_t i = 0; i < c->count; i++) {
        struct gn_course_process *p = &c->processes[i];
        for (uint32_t k = 0; k < p->told.location_count; k++) {
            free(p->told.locations[k].nodes);
            free(p->told.locations[k].edges);
            free(p->told.locations[k].peers);
            free(p->told.locations[k].completions);
            free(p->locations[k].sums);
        }
        free(p->told.locations);
        free(p->told.samples);
        free(p->locations);
    }
    free(c->processes);
    gn_series_free(c->series);
    *c = (struct gn_course){.series = NULL};
}
