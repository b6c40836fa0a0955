/*
 * Any bytes as definitions and events of a source, which no archive would have: ends without begins, requests
 * that are used again, references to nothing, readings that go back or are near the largest, events that are
 * lost anywhere, collectives that disagree, processes without locations. Everything is asked of them
 * (history_checks.h).
 *
 * The bytes are read as small numbers, so that events meet: the first ones say who there is, then EVENT_BYTES
 * each make an event.
 */
#include "fuzz.h"
#include "history_checks.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_LOCATIONS = 6, MAX_EVENTS = 400, SLICE = 7, LONGEST_S = 60 };

struct bytes {
    const uint8_t *data;
    size_t left;
};

struct world {
    struct gn_definitions *d;
    struct gn_event events[MAX_LOCATIONS][MAX_EVENTS];
    uint32_t count[MAX_LOCATIONS], next[MAX_LOCATIONS];
    uint64_t now[MAX_LOCATIONS];
    struct gn_bounds *bounds[MAX_LOCATIONS + 1];
};

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
    const uint8_t b = byte(in);
    return b < 230 ? b % 5 : b < 236 ? special[b - 230] : b;
}

static uint64_t amount(struct bytes *in)
{
    const uint8_t b = byte(in);
    return b == 255 ? GN_BYTES_UNKNOWN : b == 254 ? UINT64_MAX / 2 : b % 4;
}

/* ---- definitions ---- */

static void define_comm(struct world *w, struct bytes *in, uint32_t processes)
{
    uint32_t members[MAX_LOCATIONS], count = byte(in) % (processes + 1), others = 0;
    const uint8_t how = byte(in);
    for (uint32_t i = 0; i < count; i++)
        members[i] = how % 4 == 3 ? reference(in) : (how + i) % processes;
    for (uint32_t i = 0; i < count; i++)
        members[i] = members[i] < processes ? members[i] : GN_NONE;
    if (how >= 224 && count > 1) {
        others = 1;
        count--;
    }
    gn_define_comm(w->d, &(struct gn_comm_def){.parent = GN_NONE,
                                               .member_count = count,
                                               .other_count = others,
                                               .is_self = how == 200,
                                               .members = members});
}

static void define_regions(struct world *w)
{
    static const struct {
        const char *name;
        enum gn_region_role role;
    } regions[] = {{"MPI_Send", GN_ROLE_MPI},
                   {"work", GN_ROLE_FUNCTION},
                   {"MPI_Allreduce", GN_ROLE_MPI},
                   {"phase", GN_ROLE_USER},
                   {"MPI_Finalize", GN_ROLE_MPI}};
    for (size_t i = 0; i < sizeof regions / sizeof *regions; i++) {
        gn_define_region(w->d, &(struct gn_region_def){gn_define_string(w->d, regions[i].name), 0, 0, 0,
                                                       (uint8_t)regions[i].role, GN_ACTIVITY_NONE});
        gn_define_path(w->d, &(struct gn_path_def){i ? (uint32_t)i - 1 : GN_NONE, (uint32_t)i, 0, 0});
    }
}

static void define(struct world *w, struct bytes *in)
{
    static const uint64_t rates[] = {1000000000, 1, 0, UINT64_MAX};
    uint32_t all[MAX_LOCATIONS];
    const uint32_t locations = byte(in) % (MAX_LOCATIONS + 1), processes = 1 + byte(in) % MAX_LOCATIONS;
    w->d->ticks_per_second = rates[byte(in) % 16 / 4 * (byte(in) > 200)];
    for (uint32_t p = 0; p < processes; p++) {
        gn_define_process(w->d, &(struct gn_process){0, GN_NONE, GN_NONE, byte(in) < 240 ? (int32_t)p : -1});
        all[p] = p;
    }
    for (uint32_t l = 0; l < locations; l++)
        gn_define_location(
            w->d, &(struct gn_location_def){0, l % processes, byte(in) < 128 ? l : 0, l, UINT64_MAX, 0});
    gn_define_comm(w->d, &(struct gn_comm_def){.parent = GN_NONE, .member_count = processes, .members = all});
    for (uint32_t c = byte(in) % 4; c > 0; c--)
        define_comm(w, in, processes);
    for (uint32_t i = byte(in) % 3; i > 0; i--) {
        const uint32_t comm = reference(in);
        gn_define_window(w->d, &(struct gn_window_def){0, comm < w->d->comm_count ? comm : GN_NONE});
    }
    define_regions(w);
}

/* Of each domain: some nothing, some narrow, some as far away as there is. */
static void define_bounds(struct world *w, struct bytes *in)
{
    for (uint32_t l = 0; l < MAX_LOCATIONS; l++) {
        const uint8_t how = byte(in);
        int64_t lo_ns = (int64_t)byte(in) << how % 56, width_ns = byte(in);
        if (how < 64)
            continue;
        const struct gn_breakpoint points[] = {{byte(in), lo_ns, lo_ns + width_ns},
                                               {1000, lo_ns + 500, lo_ns + 500 + (width_ns << how % 48)}};
        const struct gn_outside outside = {how < 200 ? 0.999 : 0, how < 240 ? 1.001 : 1e30};
        w->bounds[l] = gn_bounds_new(points, 2, &outside, NULL);
    }
}

/* ---- events ---- */

static uint64_t next_ticks(struct world *w, struct bytes *in, uint32_t location)
{
    const uint8_t how = byte(in);
    const uint64_t small = byte(in);
    uint64_t *now = &w->now[location];
    if (how < 240)
        *now += small <= UINT64_MAX - *now ? small : 0;
    else if (how < 244)
        *now -= small < *now ? small : *now;
    else if (how < 248)
        *now = small << byte(in) % 64;
    else if (how == 255)
        *now = UINT64_MAX - small;
    return *now;
}

static void add_event(struct world *w, struct bytes *in)
{
    /* what makes up most of a trace more often than by chance */
    static const uint8_t usual[] = {GN_EVENT_ENTER,    GN_EVENT_LEAVE,          GN_EVENT_ENTER,
                                    GN_EVENT_LEAVE,    GN_EVENT_MPI_SEND,       GN_EVENT_MPI_RECV,
                                    GN_EVENT_MPI_RECV, GN_EVENT_COLLECTIVE_END, GN_EVENT_COLLECTIVE_BEGIN};
    const uint8_t kind = byte(in);
    const uint32_t location = byte(in) % (uint32_t)w->d->location_count;
    struct gn_event e =
        gn_event_bare(kind < 150 ? usual[kind % sizeof usual] : kind % GN_EVENT_KIND_COUNT, location, 0);
    if (w->count[location] == MAX_EVENTS)
        return;
    e.ticks = next_ticks(w, in, location);
    e.op = byte(in);
    e.op = e.op < 128 ? GN_COLLECTIVE_ALLREDUCE : e.op < 250 ? e.op % GN_COLLECTIVE_COUNT : e.op;
    e.comm = kind < 100 ? 0 : reference(in);
    e.peer = reference(in);
    e.tag = reference(in) % 2;
    e.request = byte(in) % 4;
    e.bytes_sent = amount(in);
    e.bytes_received = amount(in);
    e.region = reference(in);
    e.path = reference(in);
    w->events[location][w->count[location]++] = e;
}

static int64_t pull(void *self, uint32_t location, const struct gn_event **events, struct gn_error *err)
{
    struct world *w = self;
    const uint32_t left = w->count[location] - w->next[location], count = left < SLICE ? left : SLICE;
    (void)err;
    *events = &w->events[location][w->next[location]];
    w->next[location] += count;
    return count;
}

static void check(struct world *w, bool has_bounds, bool has_tracks)
{
    const struct gn_bounds *of[MAX_LOCATIONS + 1] = {NULL};
    struct gn_source source = {.self = w, .definitions = w->d, .pull = pull};
    for (size_t l = 0; has_bounds && l < w->d->location_count; l++)
        of[l] = w->bounds[w->d->locations[l].domain];
    const struct gn_history_settings settings = {.bounds = of, .has_tracks = has_tracks};
    memset(w->next, 0, sizeof w->next);
    alarm(LONGEST_S); /* whatever takes longer hangs */
    history_must(history_check(&source, &settings) == 0, "whatever the events are, there is an answer");
    alarm(0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = {data, size};
    struct world *w = calloc(1, sizeof *w);
    history_must(w && (w->d = gn_definitions_new()), "memory");
    define(w, &in);
    define_bounds(w, &in);
    while (in.left > 0 && w->d->location_count > 0)
        add_event(w, &in);
    check(w, true, true);
    check(w, false, false);
    for (size_t l = 0; l < MAX_LOCATIONS; l++)
        gn_bounds_free(w->bounds[l]);
    gn_definitions_free(w->d);
    free(w);
    return 0;
}
