#include "history_maker.h"

#include "base/mix.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CALLS = 4096, MOST_PIECES = 2 * MOST_CALLS, MOST_TAKES = MOST_CALLS };

/* A run while it is made. Arrays are as large as any test wants them. */
struct run {
    struct made *made;
    struct gn_history *h;
    const struct maker_settings *settings;
    uint64_t state;
    int64_t now_ns[MAKER_LOCATIONS], early_ns[MAKER_LOCATIONS], late_ns[MAKER_LOCATIONS];
    uint32_t last_call[MAKER_LOCATIONS];
};

static uint64_t below(struct run *r, uint64_t n)
{
    return gn_mix_next(&r->state) % n;
}

static int64_t some_ns(struct run *r, uint64_t most)
{
    return (int64_t)(1 + below(r, most)) * r->settings->unit_ns;
}

static struct gn_interval seen(const struct run *r, uint32_t location, int64_t ns)
{
    return (struct gn_interval){ns - r->early_ns[location], ns + r->late_ns[location]};
}

/* ---- calls ---- */

static void compute(struct run *r, struct gn_call *c)
{
    const uint64_t pieces = below(r, 3);
    c->first_piece = (uint32_t)r->h->piece_count;
    c->piece_count = (uint32_t)pieces;
    for (uint64_t i = 0; i < pieces; i++) {
        const int64_t ns = some_ns(r, 8);
        r->made->piece_ns[r->h->piece_count] = (double)ns;
        r->h->pieces[r->h->piece_count++] =
            (struct gn_piece){(uint32_t)below(r, MAKER_ACTIVITIES), GN_PIECE_ALONE,
                              (double)ns * (1 - r->settings->rate), (double)ns * (1 + r->settings->rate)};
        r->now_ns[c->location] += ns;
    }
}

static uint32_t enter(struct run *r, uint32_t location, uint32_t flags)
{
    const uint32_t index = (uint32_t)r->h->call_count++;
    struct gn_call *c = &r->h->calls[index];
    const bool is_call = !(flags & (GN_CALL_BEGIN | GN_CALL_END));
    *c = (struct gn_call){.location = location, .before = r->last_call[location], .waits_from = index};
    c->flags = flags;
    c->path = is_call && below(r, 4) ? (uint32_t)below(r, MAKER_PATHS) : GN_NONE;
    c->region = is_call ? (c->path == GN_NONE ? 1 : 0) : GN_NONE;
    if (!(flags & GN_CALL_BEGIN))
        compute(r, c);
    c->first_take = (uint32_t)r->h->take_count;
    c->enter = seen(r, location, r->now_ns[location]);
    c->enter_ticks = (uint64_t)r->now_ns[location];
    struct maker_call *truth = &r->made->truth[index];
    truth->enter_ns = r->now_ns[location];
    truth->inputs[truth->input_count++] =
        (struct maker_input){index, truth->enter_ns, c->enter.lo_ns, c->enter.hi_ns, false};
    r->last_call[location] = index;
    r->h->steps[r->h->step_count++] = index << 1;
    return index;
}

static struct gn_take *take(struct run *r, uint32_t call, enum gn_take_kind kind, uint32_t from,
                            uint32_t member)
{
    struct gn_take *t = &r->h->takes[r->h->take_count++];
    *t = (struct gn_take){
        .call = call, .from = from, .member = member, .kind = (uint8_t)kind, .is_certain = true};
    r->h->calls[call].take_count++;
    return t;
}

static void input(struct run *r, uint32_t call, uint32_t from, int64_t come_ns, int64_t longest_ns,
                  bool is_of_many)
{
    const struct gn_interval given = r->h->calls[from].enter;
    struct maker_call *truth = &r->made->truth[call];
    truth->inputs[truth->input_count++] =
        (struct maker_input){from, come_ns, given.lo_ns, given.hi_ns + longest_ns, is_of_many};
}

static double positive(int64_t ns)
{
    return ns > 0 ? (double)ns : 0;
}

static int64_t last_lo(const struct maker_call *truth)
{
    int64_t lo_ns = INT64_MIN;
    for (int i = 0; i < truth->input_count; i++)
        lo_ns = truth->inputs[i].lo_ns > lo_ns ? truth->inputs[i].lo_ns : lo_ns;
    return lo_ns;
}

/* What comes by message may have been under way for so long. */
static int64_t allowance(const struct run *r, const struct gn_take *t)
{
    return t->kind == GN_TAKE_MESSAGE ? r->made->longest_ns : 0;
}

/* Of what a take gave, when it may have been there: [lo, hi]. Inputs of messages have one giver. */
static struct gn_interval given(const struct run *r, const struct gn_take *t)
{
    const struct gn_history *h = r->h;
    struct gn_interval when = {INT64_MIN, INT64_MIN};
    if (t->kind == GN_TAKE_MESSAGE || t->kind == GN_TAKE_RECEIVER) {
        when = h->calls[t->from].enter;
        when.hi_ns += allowance(r, t);
        return when;
    }
    const struct gn_history_gathering *g = &h->gatherings[t->from];
    for (uint32_t p = g->first_part; p < g->first_part + g->part_count; p++) {
        const struct gn_interval in = h->calls[h->parts[p].call].enter;
        if (!h->parts[p].gives || (g->shape == GN_SHAPE_PREFIX && p >= t->member))
            continue;
        when.lo_ns = in.lo_ns > when.lo_ns ? in.lo_ns : when.lo_ns;
        when.hi_ns = in.hi_ns > when.hi_ns ? in.hi_ns : when.hi_ns;
    }
    return when;
}

static void leave(struct run *r, uint32_t call)
{
    struct gn_call *c = &r->h->calls[call];
    struct maker_call *truth = &r->made->truth[call];
    int64_t last_ns = truth->enter_ns;
    for (int i = 0; i < truth->input_count; i++)
        last_ns = truth->inputs[i].come_ns > last_ns ? truth->inputs[i].come_ns : last_ns;
    truth->leave_ns = last_ns + (c->flags & (GN_CALL_BEGIN | GN_CALL_END) ? 0 : some_ns(r, 2));
    r->now_ns[c->location] = truth->leave_ns;
    c->leave = seen(r, c->location, truth->leave_ns);
    c->leave_ticks = (uint64_t)truth->leave_ns;
    const int64_t lo_ns = last_lo(truth);
    c->is_tight = truth->inputs[0].hi_ns >= lo_ns;
    c->extra_ns = positive(lo_ns - truth->inputs[0].hi_ns);
    for (uint32_t i = c->first_take; i < c->first_take + c->take_count; i++) {
        struct gn_take *t = &r->h->takes[i];
        const struct gn_interval when = given(r, t);
        t->given = (struct gn_interval){when.lo_ns, when.hi_ns - allowance(r, t)};
        t->is_tight = when.hi_ns >= lo_ns;
        t->extra_ns = positive(lo_ns - when.hi_ns);
        t->room_ns = positive(c->leave.hi_ns - when.lo_ns);
    }
    r->h->steps[r->h->step_count++] = call << 1 | 1;
}

/* ---- operations ---- */

/* A call that waits together with the poll before it. */
static uint32_t poll(struct run *r, uint32_t location)
{
    const uint32_t first = enter(r, location, GN_CALL_POLL);
    leave(r, first);
    const uint32_t call = enter(r, location, 0);
    r->h->calls[call].waits_from = first;
    r->made->truth[call].inputs[0] = r->made->truth[first].inputs[0];
    return call;
}

static void send(struct run *r)
{
    const uint32_t from = (uint32_t)below(r, MAKER_LOCATIONS);
    const uint32_t to = (from + 1 + (uint32_t)below(r, MAKER_LOCATIONS - 1)) % MAKER_LOCATIONS;
    const int64_t takes_ns = (int64_t)below(r, 3) * r->settings->unit_ns;
    const bool is_synchronous = below(r, 3) == 0;
    const uint32_t sent = enter(r, from, GN_CALL_SENDS);
    if (!is_synchronous)
        leave(r, sent);
    const uint32_t received = below(r, 3) ? enter(r, to, 0) : poll(r, to);
    input(r, received, sent, r->made->truth[sent].enter_ns + takes_ns, r->made->longest_ns, false);
    take(r, received, GN_TAKE_MESSAGE, sent, GN_NONE);
    leave(r, received);
    if (!is_synchronous)
        return;
    r->h->calls[sent].first_take = (uint32_t)r->h->take_count;
    input(r, sent, received, r->made->truth[received].enter_ns, 0, false);
    take(r, sent, GN_TAKE_RECEIVER, received, GN_NONE);
    leave(r, sent);
}

static bool gives(const struct gn_history_gathering *g, uint32_t member)
{
    return (g->shape != GN_SHAPE_ONE_TO_ALL || member == g->root) &&
           (g->shape != GN_SHAPE_ALL_TO_ONE || member != g->root) &&
           (g->shape != GN_SHAPE_PREFIX || member + 1 < MAKER_LOCATIONS);
}

static bool gets(const struct gn_history_gathering *g, uint32_t member)
{
    return (g->shape != GN_SHAPE_ONE_TO_ALL || member != g->root) &&
           (g->shape != GN_SHAPE_ALL_TO_ONE || member == g->root) &&
           (g->shape != GN_SHAPE_PREFIX || member > 0);
}

static uint32_t begin_gathering(struct run *r)
{
    struct gn_history *h = r->h;
    const uint32_t index = (uint32_t)h->gathering_count++;
    struct gn_history_gathering *g = &h->gatherings[index];
    *g = (struct gn_history_gathering){.shape = (uint8_t)below(r, 4),
                                       .root = (uint32_t)below(r, MAKER_LOCATIONS)};
    g->last = (struct gn_interval){INT64_MIN, INT64_MIN};
    g->is_whole = g->shape == GN_SHAPE_ALL_TO_ALL;
    g->first_part = (uint32_t)h->part_count;
    g->part_count = MAKER_LOCATIONS;
    h->part_count += MAKER_LOCATIONS;
    return index;
}

static void note_last(struct gn_history *h, struct gn_history_gathering *g)
{
    for (uint32_t p = g->first_part; p < g->first_part + g->part_count; p++) {
        const struct gn_interval in = h->calls[h->parts[p].call].enter;
        g->last.lo_ns = h->parts[p].gives && in.lo_ns > g->last.lo_ns ? in.lo_ns : g->last.lo_ns;
        g->last.hi_ns = h->parts[p].gives && in.hi_ns > g->last.hi_ns ? in.hi_ns : g->last.hi_ns;
    }
    for (uint32_t p = g->first_part; p < g->first_part + g->part_count; p++) {
        const struct gn_interval in = h->calls[h->parts[p].call].enter;
        h->parts[p].is_tight = h->parts[p].gives && in.hi_ns >= g->last.lo_ns;
        h->parts[p].extra_ns = positive(g->last.lo_ns - in.hi_ns);
    }
}

static void take_gathering(struct run *r, uint32_t call, uint32_t index, uint32_t member)
{
    struct gn_history *h = r->h;
    const struct gn_history_gathering *g = &h->gatherings[index];
    if (!gets(g, member))
        return;
    for (uint32_t p = g->first_part; p < g->first_part + g->part_count; p++)
        if (h->parts[p].gives && h->parts[p].call == call && g->shape != GN_SHAPE_PREFIX)
            r->made->truth[call].inputs[0].is_of_many = true;
        else if (h->parts[p].gives && h->parts[p].call != call &&
                 (g->shape != GN_SHAPE_PREFIX || h->parts[p].member < member))
            input(r, call, h->parts[p].call, r->made->truth[h->parts[p].call].enter_ns, 0, true);
    take(r, call, GN_TAKE_GATHERING, index, g->first_part + member);
}

static void gather(struct run *r)
{
    struct gn_history *h = r->h;
    const bool is_blocking = below(r, 3) > 0;
    const uint32_t index = begin_gathering(r), first = h->gatherings[index].first_part;
    uint32_t calls[MAKER_LOCATIONS];
    for (uint32_t l = 0; l < MAKER_LOCATIONS; l++) {
        calls[l] = enter(r, l, 0);
        h->calls[calls[l]].first_part = first + l;
        h->calls[calls[l]].part_count = 1;
        h->part_order[first + l] = first + l;
        h->parts[first + l] = (struct gn_given_part){
            calls[l], index, l, gives(&h->gatherings[index], l), gets(&h->gatherings[index], l), false, 0};
        if (!is_blocking)
            leave(r, calls[l]);
    }
    note_last(h, &h->gatherings[index]);
    for (uint32_t l = 0; l < MAKER_LOCATIONS; l++) {
        const uint32_t call = is_blocking ? calls[l] : enter(r, l, 0);
        h->calls[call].first_take = (uint32_t)h->take_count;
        take_gathering(r, call, index, l);
        leave(r, call);
    }
}

/* ---- the run ---- */

static void set_clocks(struct run *r)
{
    const int64_t width_ns = r->settings->width_ns;
    for (uint32_t l = 0; l < MAKER_LOCATIONS; l++) {
        r->last_call[l] = GN_NONE;
        r->early_ns[l] = width_ns ? (int64_t)below(r, (uint64_t)width_ns) : 0;
        r->late_ns[l] = width_ns - r->early_ns[l];
        r->h->rate_lo[l] = 1 - r->settings->rate;
        r->h->rate_hi[l] = 1 + r->settings->rate;
    }
}

static void set_length(struct gn_history *h)
{
    h->first = h->calls[h->first_call[0]].enter;
    h->last = h->calls[h->last_call[0]].leave;
    for (uint32_t l = 0; l < MAKER_LOCATIONS; l++) {
        const struct gn_interval first = h->calls[h->first_call[l]].enter,
                                 last = h->calls[h->last_call[l]].leave;
        h->first.lo_ns = first.lo_ns < h->first.lo_ns ? first.lo_ns : h->first.lo_ns;
        h->first.hi_ns = first.hi_ns < h->first.hi_ns ? first.hi_ns : h->first.hi_ns;
        h->last.lo_ns = last.lo_ns > h->last.lo_ns ? last.lo_ns : h->last.lo_ns;
        h->last.hi_ns = last.hi_ns > h->last.hi_ns ? last.hi_ns : h->last.hi_ns;
    }
    h->length.lo_ns = (int64_t)positive(h->last.lo_ns - h->first.hi_ns);
    h->length.hi_ns = (int64_t)positive(h->last.hi_ns - h->first.lo_ns);
}

static void run_all(struct run *r)
{
    struct gn_history *h = r->h;
    set_clocks(r);
    for (uint32_t l = 0; l < MAKER_LOCATIONS; l++) {
        r->now_ns[l] = 1000000;
        h->first_call[l] = enter(r, l, GN_CALL_BEGIN);
        leave(r, h->first_call[l]);
    }
    for (int i = 0; i < r->settings->operations; i++)
        if (below(r, 2))
            send(r);
        else
            gather(r);
    for (uint32_t l = 0; l < MAKER_LOCATIONS; l++) {
        h->last_call[l] = enter(r, l, GN_CALL_END);
        leave(r, h->last_call[l]);
    }
    set_length(h);
}

/* Process 0 has two locations. */
static struct gn_definitions *define(void)
{
    struct gn_definitions *d = gn_definitions_new();
    const char *const regions[] = {"MPI_Send", "MPI_Waitall", "compute", "exchange", "solve", "io"};
    for (int32_t p = 0; p < MAKER_PROCESSES; p++) {
        const struct gn_process process = {.system_node = GN_NONE, .main_location = GN_NONE, .rank = p};
        gn_define_process(d, &process);
    }
    for (uint32_t l = 0; l < MAKER_LOCATIONS; l++) {
        const struct gn_location_def location = {.process = l % MAKER_PROCESSES, .domain = l, .file_id = l};
        gn_define_location(d, &location);
    }
    for (size_t i = 0; i < sizeof regions / sizeof *regions; i++) {
        const bool is_call = strncmp(regions[i], "MPI_", 4) == 0;
        const struct gn_region_def region = {.name = gn_define_string(d, regions[i]),
                                             .role = is_call ? GN_ROLE_MPI : GN_ROLE_FUNCTION};
        gn_define_region(d, &region);
    }
    for (uint32_t i = 0; i < MAKER_PATHS; i++) {
        const struct gn_path_def path = {
            .parent = GN_NONE, .region = 0, .source_file = gn_define_string(d, "app.c"), .line = 10 + i};
        gn_define_path(d, &path);
    }
    return d;
}

void maker_make(struct made *made, const struct maker_settings *settings)
{
    struct gn_history *h = &made->history;
    struct run r = {.made = made, .h = h, .settings = settings, .state = settings->seed};
    *made = (struct made){.definitions = define(), .longest_ns = 2 * settings->unit_ns};
    made->truth = calloc(MOST_CALLS, sizeof *made->truth);
    made->piece_ns = calloc(MOST_PIECES, sizeof *made->piece_ns);
    h->definitions = made->definitions;
    h->activities = calloc(MAKER_ACTIVITIES, sizeof *h->activities);
    h->activity_count = MAKER_ACTIVITIES;
    for (uint32_t a = 0; a < MAKER_ACTIVITIES; a++)
        h->activities[a] = (struct gn_computation){.parent = GN_NONE, .region = 2 + a, .path = GN_NONE};
    h->calls = calloc(MOST_CALLS, sizeof *h->calls);
    h->steps = calloc(2 * MOST_CALLS, sizeof *h->steps);
    h->pieces = calloc(MOST_PIECES, sizeof *h->pieces);
    h->takes = calloc(MOST_TAKES, sizeof *h->takes);
    h->gatherings = calloc(MOST_CALLS, sizeof *h->gatherings);
    h->parts = calloc(MOST_CALLS, sizeof *h->parts);
    h->part_order = calloc(MOST_CALLS, sizeof *h->part_order);
    h->first_call = calloc(MAKER_LOCATIONS, sizeof *h->first_call);
    h->last_call = calloc(MAKER_LOCATIONS, sizeof *h->last_call);
    h->is_carried = calloc(MAKER_LOCATIONS, sizeof *h->is_carried);
    h->rate_lo = calloc(MAKER_LOCATIONS, sizeof *h->rate_lo);
    h->rate_hi = calloc(MAKER_LOCATIONS, sizeof *h->rate_hi);
    h->longest_ns = (double)made->longest_ns;
    run_all(&r);
}

void maker_clear(struct made *made)
{
    struct gn_history *h = &made->history;
    void *all[] = {made->truth,   made->piece_ns, h->activities, h->calls,   h->steps,
                   h->pieces,     h->takes,       h->gatherings, h->parts,   h->part_order,
                   h->first_call, h->last_call,   h->is_carried, h->rate_lo, h->rate_hi};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    gn_definitions_free(made->definitions);
    *made = (struct made){.definitions = NULL};
}
