#include "synth_stream.h"

#include "base/grow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void append(struct stream *stream, const struct gn_event *events, const double *truth, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        assert_true(gn_grow(&stream->events, &stream->capacity, stream->count, sizeof *stream->events));
        assert_true(gn_grow(&stream->truth, &stream->truth_capacity, stream->count, sizeof *stream->truth));
        stream->events[stream->count] = events[i];
        stream->truth[stream->count++] = truth[i];
    }
}

/* One pull; false at the location's end. */
static bool pull(struct trace *trace, uint32_t location)
{
    struct gn_error err;
    const struct gn_event *events;
    int64_t count = trace->source.pull(trace->source.self, location, &events, &err);
    assert_true(count >= 0);
    if (count > 0)
        append(&trace->streams[location], events, gn_synth_truth(&trace->source, location), count);
    return count > 0;
}

static uint32_t choose(enum pull_order order, uint32_t turn, uint32_t locations)
{
    if (order == BACKWARD)
        return locations - 1 - turn % locations;
    return order == BY_CHANCE ? (uint32_t)rand() % locations : turn % locations;
}

static void pull_all(struct trace *trace, enum pull_order order)
{
    uint32_t locations = trace->settings.locations, ended = 0;
    bool *over = calloc(locations, sizeof *over);
    srand(1);
    for (uint32_t turn = 0; ended < locations; turn++) {
        uint32_t location = choose(order, turn, locations);
        if (over[location])
            continue;
        bool more = pull(trace, location);
        while (order == ONE_BY_ONE && more)
            more = pull(trace, location);
        over[location] = !more;
        ended += !more;
        if (turn % 16 == 0 && gn_synth_waiting(&trace->source) > trace->most_waiting)
            trace->most_waiting = gn_synth_waiting(&trace->source);
    }
    free(over);
}

struct trace trace_open(const struct gn_synth_settings *settings, enum pull_order order)
{
    struct gn_error err = {""};
    struct trace trace = {.settings = *settings};
    if (gn_synth_open(&trace.source, settings, &err) != 0)
        fail_msg("%s", err.text);
    trace.streams = calloc(settings->locations, sizeof *trace.streams);
    pull_all(&trace, order);
    return trace;
}

void trace_close(struct trace *trace)
{
    for (uint32_t i = 0; i < trace->settings.locations; i++) {
        free(trace->streams[i].events);
        free(trace->streams[i].truth);
    }
    free(trace->streams);
    trace->source.close(trace->source.self);
}

/* ---- enters and leaves, references, requests ---- */

static void check_references(const struct trace *trace, const struct gn_event *event)
{
    const struct gn_definitions *d = trace->source.definitions;
    bool frame = event->kind == GN_EVENT_ENTER || event->kind == GN_EVENT_LEAVE;
    assert_true(frame ? event->region < d->region_count : event->region == GN_NONE);
    assert_true(frame ? event->path < d->path_count : event->path == GN_NONE);
    if (frame)
        assert_int_equal(d->paths[event->path].region, event->region);
    if (event->comm != GN_NONE) {
        assert_true(event->comm < d->comm_count);
        assert_true(event->peer >= GN_ANY || event->peer < d->comms[event->comm].member_count);
        assert_true(gn_comm_rank_of(d, event->comm, event->location, NULL) != GN_NONE);
    }
}

static bool starts(unsigned kind)
{
    return kind == GN_EVENT_MPI_ISEND || kind == GN_EVENT_MPI_IRECV_REQUEST || kind == GN_EVENT_NBC_REQUEST;
}

static bool completes(unsigned kind)
{
    return kind == GN_EVENT_MPI_ISEND_COMPLETE || kind == GN_EVENT_MPI_IRECV ||
           kind == GN_EVENT_NBC_COMPLETE || kind == GN_EVENT_MPI_REQUEST_CANCELLED;
}

enum { DEEPEST = 16, MOST_REQUESTS = 64 };

static void follow_request(const struct gn_event *event, uint64_t *open, size_t *count)
{
    size_t place = 0;
    while (place < *count && open[place] != event->request)
        place++;
    if (starts(event->kind)) {
        assert_true(place == *count && *count < MOST_REQUESTS && event->request != 0);
        open[(*count)++] = event->request;
    } else if (completes(event->kind) || event->kind == GN_EVENT_MPI_REQUEST_TEST) {
        assert_true(place < *count);
        if (event->kind != GN_EVENT_MPI_REQUEST_TEST)
            open[place] = open[--*count];
    }
}

static bool is_communication(unsigned kind)
{
    return kind >= GN_EVENT_MPI_SEND && kind <= GN_EVENT_COMM_DESTROY;
}

static void check_location(const struct trace *trace, const struct stream *stream)
{
    const struct gn_definitions *d = trace->source.definitions;
    uint32_t paths[DEEPEST], depth = 0;
    uint64_t open[MOST_REQUESTS];
    size_t open_count = 0;
    assert_int_equal(stream->events[0].kind, GN_EVENT_PROGRAM_BEGIN);
    assert_int_equal(stream->events[stream->count - 1].kind, GN_EVENT_PROGRAM_END);
    for (size_t i = 0; i < stream->count; i++) {
        const struct gn_event *event = &stream->events[i];
        check_references(trace, event);
        assert_true(i == 0 || stream->truth[i] > stream->truth[i - 1]);
        assert_true(i == 0 || event->ticks >= event[-1].ticks);
        if (event->kind == GN_EVENT_ENTER) {
            assert_int_equal(d->paths[event->path].parent, depth > 0 ? paths[depth - 1] : GN_NONE);
            paths[depth++] = event->path;
        } else if (event->kind == GN_EVENT_LEAVE) {
            assert_true(depth > 0 && paths[--depth] == event->path);
        } else if (is_communication(event->kind)) {
            assert_true(depth > 0 && d->regions[d->paths[paths[depth - 1]].region].role == GN_ROLE_MPI);
        }
        follow_request(event, open, &open_count);
    }
    assert_int_equal(depth, 0);
    assert_int_equal(open_count, 0);
}

void check_well_formed(const struct trace *trace)
{
    for (uint32_t i = 0; i < trace->settings.locations; i++) {
        assert_true(trace->streams[i].count > 0);
        for (size_t k = 0; k < trace->streams[i].count; k++)
            assert_int_equal(trace->streams[i].events[k].location, i);
        check_location(trace, &trace->streams[i]);
    }
}

/* ---- messages: the n-th send of a channel meets the n-th receive in posting order ---- */

struct message {
    uint32_t comm, source, destination, tag;
    size_t number; /* of the send, or of the post, at its location */
    double ns;     /* of the send, or of the receive's completion */
    uint64_t request, bytes;
    bool open, cancelled;
};

struct messages {
    struct message *all;
    size_t count, capacity;
};

static struct message *add(struct messages *messages, const struct gn_event *event, double ns)
{
    assert_true(gn_grow(&messages->all, &messages->capacity, messages->count, sizeof *messages->all));
    struct message *m = &messages->all[messages->count];
    *m = (struct message){.comm = event->comm,
                          .tag = event->tag,
                          .number = messages->count++,
                          .ns = ns,
                          .request = event->request};
    return m;
}

static struct message *posted(struct messages *receives, uint64_t request)
{
    for (size_t i = receives->count; i-- > 0;)
        if (receives->all[i].open && receives->all[i].request == request)
            return &receives->all[i];
    fail_msg("request %llu completes and was not posted", (unsigned long long)request);
    return NULL;
}

static void complete(struct message *receive, const struct gn_event *event, double ns)
{
    receive->open = false;
    receive->source = event->peer;
    receive->destination = event->location;
    receive->comm = event->comm;
    receive->tag = event->tag;
    receive->bytes = event->bytes_received;
    receive->ns = ns;
}

static void collect(struct messages *sends, struct messages *receives, const struct gn_event *event,
                    double ns)
{
    switch (event->kind) {
    case GN_EVENT_MPI_SEND:
    case GN_EVENT_MPI_ISEND:;
        struct message *send = add(sends, event, ns);
        send->source = event->location;
        send->destination = event->peer;
        send->bytes = event->bytes_sent;
        break;
    case GN_EVENT_MPI_IRECV_REQUEST:
        add(receives, event, ns)->open = true;
        break;
    case GN_EVENT_MPI_RECV:
        complete(add(receives, event, ns), event, ns);
        break;
    case GN_EVENT_MPI_IRECV:
        complete(posted(receives, event->request), event, ns);
        break;
    case GN_EVENT_MPI_REQUEST_CANCELLED:;
        struct message *cancelled = posted(receives, event->request);
        cancelled->open = false;
        cancelled->cancelled = true;
        break;
    default:
        break;
    }
}

static int compare_channels(const struct message *a, const struct message *b)
{
    if (a->cancelled != b->cancelled)
        return a->cancelled ? 1 : -1;
    if (a->comm != b->comm)
        return a->comm < b->comm ? -1 : 1;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    if (a->destination != b->destination)
        return a->destination < b->destination ? -1 : 1;
    return (a->tag > b->tag) - (a->tag < b->tag);
}

static int by_channel(const void *a, const void *b)
{
    const struct message *x = a, *y = b;
    int channel = compare_channels(x, y);
    return channel ? channel : (x->number > y->number) - (x->number < y->number);
}

static void sort(struct messages *messages)
{
    if (messages->count > 0)
        qsort(messages->all, messages->count, sizeof *messages->all, by_channel);
}

/* What a message takes at least: less within a domain, when that is said. */
static double least_ns(const struct trace *trace, const struct message *message)
{
    const struct gn_location_def *locations = trace->source.definitions->locations;
    bool within = locations[message->source].domain == locations[message->destination].domain;
    return within && trace->settings.within_latency_ns > 0 ? trace->settings.within_latency_ns
                                                           : trace->settings.latency_ns;
}

static void match(const struct trace *trace, const struct messages *sends, const struct messages *receives)
{
    size_t s = 0, unmatched = 0;
    for (size_t r = 0; r < receives->count && !receives->all[r].cancelled; r++, s++) {
        const struct message *receive = &receives->all[r];
        for (; s < sends->count && compare_channels(&sends->all[s], receive) < 0; s++)
            unmatched++;
        assert_true(s < sends->count && compare_channels(&sends->all[s], receive) == 0);
        assert_true(receive->ns >= sends->all[s].ns + least_ns(trace, receive));
        assert_int_equal(receive->bytes, sends->all[s].bytes);
    }
    unmatched += sends->count - s;
    bool some = trace->settings.unmatched > 0 || strcmp(trace->settings.pattern, "unmatched") == 0;
    assert_true(some || unmatched == 0);
    if (trace->settings.unmatched > 0 && sends->count > 1000) {
        double share = (double)unmatched / (double)sends->count;
        assert_true(share > 0.8 * trace->settings.unmatched && share < 1.2 * trace->settings.unmatched);
    }
}

void check_messages(const struct trace *trace)
{
    struct messages sends = {NULL, 0, 0}, receives = {NULL, 0, 0};
    for (uint32_t i = 0; i < trace->settings.locations; i++)
        for (size_t k = 0; k < trace->streams[i].count; k++)
            collect(&sends, &receives, &trace->streams[i].events[k], trace->streams[i].truth[k]);
    for (size_t i = 0; i < receives.count; i++)
        assert_false(receives.all[i].open);
    sort(&sends);
    sort(&receives);
    match(trace, &sends, &receives);
    free(sends.all);
    free(receives.all);
}

/* ---- collectives: by the meaning of each operation, pair by pair ---- */

struct part {
    double begin_ns, end_ns;
    struct gn_event event; /* the end */
    bool ended;
};

struct group {
    struct part *parts; /* [instance * members + member] */
    size_t capacity, *begun;
};

/* Whether what `from` brings is in what `to` gets. */
static bool depends(const struct part *to, const struct part *from, uint32_t to_rank, uint32_t from_rank)
{
    uint32_t root = to->event.peer;
    switch (to->event.op) {
    case GN_COLLECTIVE_BCAST:
    case GN_COLLECTIVE_SCATTER:
        return from_rank == root;
    case GN_COLLECTIVE_SCATTERV:
        return from_rank == root && to->event.bytes_received > 0;
    case GN_COLLECTIVE_GATHER:
    case GN_COLLECTIVE_REDUCE:
        return to_rank == root;
    case GN_COLLECTIVE_GATHERV:
        return to_rank == root && from->event.bytes_sent > 0;
    case GN_COLLECTIVE_SCAN:
    case GN_COLLECTIVE_EXSCAN:
        return from_rank < to_rank;
    case GN_COLLECTIVE_ALLGATHERV:
    case GN_COLLECTIVE_ALLTOALLV:
    case GN_COLLECTIVE_ALLTOALLW:
    case GN_COLLECTIVE_REDUCE_SCATTER:
        return from->event.bytes_sent > 0 && to->event.bytes_received > 0;
    default:
        return true;
    }
}

static void check_instance(const struct trace *trace, const struct part *parts, uint32_t members)
{
    uint64_t sent = 0, received = 0;
    for (uint32_t i = 0; i < members; i++) {
        assert_true(parts[i].ended);
        assert_int_equal(parts[i].event.op, parts[0].event.op);
        assert_int_equal(parts[i].event.peer, parts[0].event.peer);
        sent += parts[i].event.bytes_sent;
        received += parts[i].event.bytes_received;
        for (uint32_t k = 0; k < members; k++)
            if (k != i && depends(&parts[i], &parts[k], i, k))
                assert_true(parts[i].end_ns >= parts[k].begin_ns + trace->settings.latency_ns);
    }
    assert_int_equal(sent, received);
}

static struct part *part_at(struct group *group, size_t instance, uint32_t members, uint32_t member)
{
    size_t place = instance * members + member;
    while (group->capacity <= place) {
        size_t before = group->capacity;
        assert_true(gn_grow(&group->parts, &group->capacity, before, sizeof *group->parts));
        memset(group->parts + before, 0, (group->capacity - before) * sizeof *group->parts);
    }
    return &group->parts[place];
}

struct open_part {
    uint64_t request;
    uint32_t comm;
    size_t instance;
};

static void follow_collectives(const struct trace *trace, struct group *groups, const struct stream *stream)
{
    const struct gn_definitions *d = trace->source.definitions;
    struct open_part open[8];
    size_t count = 0, place;
    for (size_t i = 0; i < stream->count; i++) {
        const struct gn_event *e = &stream->events[i];
        bool begin = e->kind == GN_EVENT_COLLECTIVE_BEGIN || e->kind == GN_EVENT_NBC_REQUEST;
        if (!begin && e->kind != GN_EVENT_COLLECTIVE_END && e->kind != GN_EVENT_NBC_COMPLETE)
            continue;
        uint32_t members = d->comms[e->comm].member_count;
        uint32_t member = gn_comm_rank_of(d, e->comm, e->location, NULL);
        struct group *group = &groups[e->comm];
        if (begin) {
            assert_true(count < 8);
            open[count++] = (struct open_part){e->request, e->comm, group->begun[member]};
            part_at(group, group->begun[member]++, members, member)->begin_ns = stream->truth[i];
            continue;
        }
        for (place = 0; place < count; place++)
            if (open[place].request == e->request)
                break;
        assert_true(place < count && open[place].comm == e->comm);
        struct part *part = part_at(group, open[place].instance, members, member);
        part->end_ns = stream->truth[i];
        part->event = *e;
        part->ended = true;
        open[place] = open[--count];
    }
}

void check_collectives(const struct trace *trace)
{
    const struct gn_definitions *d = trace->source.definitions;
    struct group *groups = calloc(d->comm_count, sizeof *groups);
    for (size_t c = 0; c < d->comm_count; c++)
        groups[c].begun = calloc(d->comms[c].member_count, sizeof *groups[c].begun);
    for (uint32_t i = 0; i < trace->settings.locations; i++)
        follow_collectives(trace, groups, &trace->streams[i]);
    for (size_t c = 0; c < d->comm_count; c++) {
        uint32_t members = d->comms[c].member_count;
        for (uint32_t i = 0; i < members; i++)
            assert_int_equal(groups[c].begun[i], groups[c].begun[0]);
        for (size_t n = 0; n < groups[c].begun[0]; n++)
            check_instance(trace, &groups[c].parts[n * members], members);
        free(groups[c].begun);
        free(groups[c].parts);
    }
    free(groups);
}
