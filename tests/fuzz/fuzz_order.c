/*
 * Any bytes as definitions and pushes: the sort neither crashes nor hangs, and after gn_order_finish each
 * event that it took has come out once, in the order of its location.
 *
 * The bytes are read as small numbers, so that events meet: the first ones say who there is, then 12 bytes
 * each make an event, or end a location.
 */
#include "fuzz.h"

#include "causality/order.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LOCATIONS = 8, EVENT_BYTES = 12, MAX_TAKEN = 1 << 16 };

struct bytes {
    const uint8_t *data;
    size_t left;
};

struct run {
    struct gn_definitions *d;
    struct gn_order *order;
    uint64_t next[MAX_LOCATIONS];     /* number of the next event of a location to come out */
    uint64_t sequence[MAX_LOCATIONS]; /* of the next event to be pushed */
    uint64_t taken, out;
    bool numbered;
};

static void require(bool fact, const char *text)
{
    if (fact)
        return;
    fprintf(stderr, "not so: %s\n", text);
    abort();
}

static uint8_t byte(struct bytes *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->data++;
}

/* Small, with a few that stand for something. */
static uint32_t reference(struct bytes *in)
{
    static const uint32_t special[] = {GN_NONE,      GN_ANY,           GN_ROOT_SELF,
                                       GN_ROOT_NONE, GN_TAG_NEIGHBOUR, INT32_MAX};
    uint8_t b = byte(in);
    return b < 200 ? b % 5 : b < 206 ? special[b - 200] : b;
}

static uint64_t amount(struct bytes *in)
{
    uint8_t b = byte(in);
    return b == 255 ? GN_BYTES_UNKNOWN : b == 254 ? UINT64_MAX / 2 : b % 4;
}

static int report(void *self, const struct gn_event *event, const struct gn_place *place)
{
    struct run *r = self;
    (void)place;
    require(event->location < MAX_LOCATIONS, "a location that there is");
    if (event->record == 0 && event->kind == GN_EVENT_LOST && r->numbered)
        return 0; /* numbers that never came */
    require(event->record == 1 + r->next[event->location], "the next event of its location");
    r->next[event->location]++;
    r->out++;
    return 0;
}

static void define_comm(struct run *r, struct bytes *in, uint32_t processes)
{
    uint32_t members[MAX_LOCATIONS], count = byte(in) % (processes + 1), others = 0, first = byte(in);
    for (uint32_t i = 0; i < count; i++)
        members[i] = (first + i) % processes;
    if (byte(in) % 8 == 0 && count > 1) {
        others = 1;
        count--;
    }
    gn_define_comm(r->d,
                   &(struct gn_comm_def){
                       .parent = GN_NONE, .member_count = count, .other_count = others, .members = members});
}

static const char *const calls[] = {"MPI_Isend", "MPI_Recv", "MPI_Wait"};

static void define(struct run *r, struct bytes *in)
{
    uint32_t locations = 1 + byte(in) % MAX_LOCATIONS, processes = 1 + byte(in) % locations;
    uint32_t all[MAX_LOCATIONS];
    for (uint32_t p = 0; p < processes; p++) {
        gn_define_process(r->d, &(struct gn_process){0, GN_NONE, GN_NONE, (int32_t)p});
        all[p] = p;
    }
    for (uint32_t l = 0; l < locations; l++)
        gn_define_location(r->d, &(struct gn_location_def){0, l % processes, 0, l, UINT64_MAX, 0});
    for (int i = 0; i < 3; i++) /* calls that may send, that may receive, and may do neither */
        gn_define_region(
            r->d, &(struct gn_region_def){.name = gn_define_string(r->d, calls[i]), .role = GN_ROLE_MPI});
    gn_define_comm(r->d, &(struct gn_comm_def){.parent = GN_NONE, .member_count = processes, .members = all});
    for (uint32_t c = byte(in) % 3; c > 0; c--)
        define_comm(r, in, processes);
    for (uint32_t w = byte(in) % 3; w > 0; w--)
        gn_define_window(r->d, &(struct gn_window_def){0, reference(in)});
}

static struct gn_event next_event(struct bytes *in)
{
    uint8_t kind = byte(in), location = byte(in);
    struct gn_event e = gn_event_bare(kind % (GN_EVENT_KIND_COUNT + 1), location % (MAX_LOCATIONS + 1), 0);
    e.ticks = (uint64_t)byte(in) << (byte(in) % 64);
    e.op = byte(in);
    e.op = e.op < 250 ? e.op % GN_COLLECTIVE_COUNT : e.op;
    e.comm = reference(in);
    e.peer = reference(in);
    e.tag = reference(in);
    e.request = byte(in) % 4;
    e.bytes_sent = amount(in);
    e.bytes_received = amount(in);
    e.region = reference(in);
    if (gn_event_has_number(e.kind)) { /* mostly small ones, perhaps in doubt, late or none */
        const uint8_t b = byte(in);
        e.number = b < 128   ? b % 8
                   : b < 192 ? GN_NUMBER_UNORDERED | b % 8
                   : b < 200 ? b
                             : GN_UNNUMBERED - b % 2;
    }
    return e;
}

/* With numbers, two events of a location come the other way round when a bit says so. */
static int push(struct run *r, struct gn_event *e, bool swapped)
{
    uint32_t l = e->location;
    if (!r->numbered || l >= r->d->location_count)
        return gn_order_push(r->order, e);
    struct gn_event twin = *e;
    uint64_t sequence = r->sequence[l];
    if (!swapped)
        return gn_order_push_numbered(r->order, e, sequence);
    twin.record++;
    int status = gn_order_push_numbered(r->order, &twin, sequence + 1);
    if (status < 0)
        return status;
    require(gn_order_push_numbered(r->order, &twin, sequence + 1) == -EEXIST, "a number comes once");
    require(gn_order_push_numbered(r->order, e, sequence) == 0, "the number before it is taken");
    r->sequence[l]++;
    r->taken++;
    return 0;
}

static void step(struct run *r, struct bytes *in)
{
    struct gn_event e = next_event(in);
    uint8_t how = byte(in);
    if (how >= 250) {
        gn_order_end(r->order, e.location);
        return;
    }
    if (e.location < MAX_LOCATIONS)
        e.record = (uint32_t)r->sequence[e.location] + 1;
    int status = push(r, &e, how % 4 == 0);
    require(status == 0 || status == -EINVAL, "a push is taken or refused");
    if (status == 0) {
        r->sequence[e.location]++;
        r->taken++;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = {data, size};
    struct run r = {.d = gn_definitions_new()};
    struct gn_order_sink sink = {&r, report};
    uint8_t how = byte(&in);
    struct gn_order_settings settings = {
        .adjust = how & 1, .in_time = how & 8, .is_live = how & 16, .patience = how & 2 ? 4 : 0};
    r.numbered = how & 4;
    define(&r, &in);
    require(gn_order_open(&r.order, r.d, &settings, &sink, NULL) == 0, "it opens");
    while (in.left > 0 && r.taken < MAX_TAKEN)
        step(&r, &in);
    require(gn_order_finish(r.order) == 0, "it finishes");
    require(r.out == r.taken, "what was taken came out");
    const struct gn_order_stats *stats = gn_order_stats(r.order);
    require(stats->reported == stats->pushed, "as many are reported as pushed");
    require(stats->unreported == 0, "nothing is unreported");
    require(stats->nodes == 0, "no node is left");
    gn_order_close(r.order);
    gn_definitions_free(r.d);
    return 0;
}
