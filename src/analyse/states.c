#include "analyse/states.h"

#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>

/* What changes at a mark. */
enum what {
    RUNS,
    ENDS,
    CALLS_WAITING,
    CALLS,
    COMPUTES,
    INTO_WAITING,
    OUT_OF_WAITING,
    INTO_BUSY,
    OUT_OF_BUSY,
    INTO_PHASE,
    OUT_OF_PHASE,
    INTO_JOIN,
    OUT_OF_JOIN,
    INTO_REGION, /* the first one that has a bit, and so on */
    OUT_OF_REGION = INTO_REGION + GN_STATE_BITS,
    WHATS = OUT_OF_REGION + GN_STATE_BITS
};
_Static_assert(WHATS <= UINT8_MAX, "a mark has a byte for it");

struct mark {
    struct gn_interval at;
    uint64_t ticks;
    uint64_t number; /* order at its location */
    uint32_t location;
    uint8_t what;
};

struct maker {
    const struct gn_history *h;
    const struct gn_states_settings *s;
    const struct gn_region_bits *bits; /* where each location is by itself; NULL */
    struct mark *marks;                /* of one group */
    size_t mark_count, mark_capacity, stage_count, stage_capacity;
    bool *joins;       /* [region_count] there threads wait for others of their process; NULL: nobody does */
    bool *has_others;  /* [process_count] it has several locations */
    bool is_thread;    /* the group is one of several threads */
    bool is_one_clock; /* the group's */
    uint32_t own_domain;    /* first number that is no clock domain: of groups with several */
    bool *has_say;          /* [location_count] */
    bool *is_heard;         /* [process_count] one of its locations has a say */
    struct member *members; /* [location_count] */
    uint32_t *chain;        /* calls of a location, from its last one back */
    size_t chain_count, chain_capacity;
};

/* What one location is in. */
struct member {
    bool runs, calls, waits;       /* waits: in a call that depends on others */
    uint32_t waiting, busy, phase; /* named regions that are open */
    uint32_t joins;                /* where it waits for threads of its process */
};

/* ---- which calls wait ---- */

static bool takes_from_comm(const struct gn_history *h, const struct gn_call *c, uint32_t comm)
{
    for (uint32_t i = c->first_take; i < c->first_take + c->take_count; i++)
        if (h->takes[i].kind == GN_TAKE_GATHERING && h->gatherings[h->takes[i].from].comm == comm &&
            h->takes[i].is_certain)
            return true;
    return false;
}

/* Where matches were lost, what the call is says whether it may depend on others. */
static bool does_wait(const struct maker *m, const struct gn_call *c)
{
    const struct gn_history *h = m->h;
    if (m->s->comm != GN_NONE)
        return takes_from_comm(h, c, m->s->comm);
    return c->take_count || c->flags & GN_CALL_POLL ||
           gn_activity_may_wait(gn_region_activity(h->definitions, c->region));
}

/* ---- marks ---- */

static int mark(struct maker *m, uint32_t location, struct gn_interval at, uint64_t ticks, enum what what)
{
    if (!gn_grow(&m->marks, &m->mark_capacity, m->mark_count, sizeof *m->marks))
        return -ENOMEM;
    m->marks[m->mark_count] = (struct mark){at, ticks, m->mark_count, location, (uint8_t)what};
    m->mark_count++;
    return 0;
}

/* The calls of a location, last one first, without polls that are one with the call that ends them. */
static int chain_calls(struct maker *m, uint32_t location)
{
    const struct gn_call *calls = m->h->calls;
    m->chain_count = 0;
    for (uint32_t c = m->h->last_call[location]; c != GN_NONE; c = calls[calls[c].waits_from].before) {
        if (!gn_grow(&m->chain, &m->chain_capacity, m->chain_count, sizeof *m->chain))
            return -ENOMEM;
        m->chain[m->chain_count++] = c;
    }
    return 0;
}

static int mark_call(struct maker *m, uint32_t call)
{
    const struct gn_call *c = &m->h->calls[call], *first = &m->h->calls[c->waits_from];
    if (c->flags & (GN_CALL_BEGIN | GN_CALL_END))
        return mark(m, c->location, c->enter, c->enter_ticks, c->flags & GN_CALL_BEGIN ? RUNS : ENDS);
    const int code =
        mark(m, c->location, first->enter, first->enter_ticks, does_wait(m, c) ? CALLS_WAITING : CALLS);
    return code ? code : mark(m, c->location, c->leave, c->leave_ticks, COMPUTES);
}

static int mark_calls(struct maker *m, uint32_t location)
{
    int code = chain_calls(m, location);
    for (size_t i = m->chain_count; i-- > 0 && code == 0;) {
        code = mark_call(m, m->chain[i]);
    }
    return code;
}

static bool is_user(const struct gn_definitions *d, uint32_t region)
{
    return region < d->region_count && d->regions[region].role == GN_ROLE_USER;
}

static int mark_bits(struct maker *m, uint32_t location, const struct gn_change *c)
{
    const struct gn_definitions *d = m->h->definitions;
    uint64_t bits = (c->region < d->region_count ? m->bits->of_region[c->region] : 0) |
                    (c->path < d->path_count ? m->bits->of_path[c->path] : 0);
    int code = 0;
    for (; bits && code == 0; bits &= bits - 1)
        code = mark(m, location, c->at, c->ticks,
                    (c->is_enter ? INTO_REGION : OUT_OF_REGION) + (enum what)__builtin_ctzll(bits));
    return code;
}

static bool is_in(const struct maker *m, const struct gn_named *named, const struct gn_change *c)
{
    return named && gn_is_named(named, m->h->definitions, c->region, c->path);
}

static int mark_change(struct maker *m, uint32_t location, const struct gn_change *c, uint32_t user_depth)
{
    int code = 0;
    if (is_in(m, m->s->waiting, c))
        code = mark(m, location, c->at, c->ticks, c->is_enter ? INTO_WAITING : OUT_OF_WAITING);
    if (code == 0 && is_in(m, m->s->busy, c))
        code = mark(m, location, c->at, c->ticks, c->is_enter ? INTO_BUSY : OUT_OF_BUSY);
    if (code == 0 && m->s->phase != GN_NONE && c->region == m->s->phase && user_depth == 0)
        code = mark(m, location, c->at, c->ticks, c->is_enter ? INTO_PHASE : OUT_OF_PHASE);
    if (code == 0 && m->joins && c->region < m->h->definitions->region_count && m->joins[c->region])
        code = mark(m, location, c->at, c->ticks, c->is_enter ? INTO_JOIN : OUT_OF_JOIN);
    return code == 0 && m->bits ? mark_bits(m, location, c) : code;
}

static int mark_changes(struct maker *m, uint32_t location)
{
    const struct gn_track *track = &m->h->tracks[location];
    uint32_t depth = 0; /* of regions that the user named, around the change */
    int code = 0;
    for (size_t i = 0; i < track->count && code == 0; i++) {
        const struct gn_change *c = &track->changes[i];
        const bool is = is_user(m->h->definitions, c->region);
        depth -= is && !c->is_enter && depth;
        code = mark_change(m, location, c, depth);
        depth += is && c->is_enter;
    }
    return code;
}

static int mark_location(struct maker *m, uint32_t location)
{
    int code = mark_calls(m, location);
    if (code == 0 && m->h->tracks &&
        (m->s->waiting || m->s->busy || m->s->phase != GN_NONE || m->bits || m->joins))
        code = mark_changes(m, location);
    return code;
}

/* ---- marks of a group in order ---- */

/* One clock for all: by its readings. Calls and regions of one location may share a reading; then as they
 * were marked, which has calls first. */
static int by_ticks(const void *left, const void *right)
{
    const struct mark *a = left, *b = right;
    if (a->ticks != b->ticks)
        return a->ticks < b->ticks ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static int by_time(const void *left, const void *right)
{
    const struct mark *a = left, *b = right;
    if (a->at.lo_ns != b->at.lo_ns)
        return a->at.lo_ns < b->at.lo_ns ? -1 : 1;
    if (a->at.hi_ns != b->at.hi_ns)
        return a->at.hi_ns < b->at.hi_ns ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* Of several clocks, the order of marks whose bounds overlap is not known: each of them may have been at any
 * time in all of their bounds. */
static void widen_overlapping(struct mark *marks, size_t count)
{
    for (size_t first = 0, end; first < count; first = end) {
        struct gn_interval all = marks[first].at;
        for (end = first + 1; end < count && marks[end].at.lo_ns <= all.hi_ns; end++)
            all.hi_ns = marks[end].at.hi_ns > all.hi_ns ? marks[end].at.hi_ns : all.hi_ns;
        for (size_t i = first; i < end; i++)
            if (end - first > 1)
                marks[i].at = all;
    }
}

static void order_marks(struct maker *m)
{
    const struct gn_location_def *locations = m->h->definitions->locations;
    m->is_one_clock = true;
    for (size_t i = 1; i < m->mark_count; i++)
        m->is_one_clock = m->is_one_clock &&
                          locations[m->marks[i].location].domain == locations[m->marks[0].location].domain;
    if (m->mark_count)
        qsort(m->marks, m->mark_count, sizeof *m->marks, m->is_one_clock ? by_ticks : by_time);
    if (!m->is_one_clock)
        widen_overlapping(m->marks, m->mark_count);
}

/* ---- states ---- */

static void apply(struct member *in, enum what what)
{
    switch (what) {
    case RUNS:
        in->runs = true;
        break;
    case ENDS:
        in->runs = false;
        break;
    case CALLS_WAITING:
    case CALLS:
        in->calls = true;
        in->waits = what == CALLS_WAITING;
        break;
    case COMPUTES:
        in->calls = in->waits = false;
        break;
    case INTO_WAITING:
        in->waiting++;
        break;
    case OUT_OF_WAITING:
        in->waiting -= in->waiting > 0;
        break;
    case INTO_BUSY:
        in->busy++;
        break;
    case OUT_OF_BUSY:
        in->busy -= in->busy > 0;
        break;
    case INTO_PHASE:
        in->phase++;
        break;
    case OUT_OF_PHASE:
        in->phase -= in->phase > 0;
        break;
    case INTO_JOIN:
        in->joins++;
        break;
    case OUT_OF_JOIN:
        in->joins -= in->joins > 0;
        break;
    default: /* regions are counted by their bits: change_region() */
        break;
    }
}

static uint8_t state_of(const struct maker *m, const struct member *in)
{
    const bool joins = m->is_thread && in->joins > 0 && m->s->comm == GN_NONE;
    const bool waits = m->s->waiting ? in->waiting > 0 : in->waits || (joins && !in->calls);
    const bool busy = m->s->busy ? in->busy > 0 : !in->calls && !joins;
    if (!in->runs)
        return GN_STATE_OTHER;
    if (waits)
        return GN_STATE_A;
    return busy && (m->s->phase == GN_NONE || in->phase > 0) ? GN_STATE_B : GN_STATE_OTHER;
}

/* Another thread speaks for it. */
static bool is_silent(const struct maker *m, uint32_t location)
{
    const uint32_t process = m->h->definitions->locations[location].process;
    return !m->has_say[location] && process < m->h->definitions->process_count && m->is_heard[process];
}

/* How many of a group's members are in what. */
struct tally {
    uint32_t waiting, busy;
    uint32_t outside; /* of calls; of questions */
};

/* As questions mean it, each by itself. */
static void count_asked(struct tally *t, const struct maker *m, const struct member *in, bool is_heard,
                        int sign)
{
    const bool joins = m->is_thread && in->joins > 0, outside = is_heard && !in->calls && !joins,
               waits = is_heard && (in->waits || (joins && !in->calls));
    if (!in->runs)
        return;
    t->waiting += (m->s->waiting ? in->waiting > 0 : waits) ? (uint32_t)sign : 0;
    t->busy += (m->s->busy ? in->busy > 0 : outside) ? (uint32_t)sign : 0;
    t->outside += outside ? (uint32_t)sign : 0;
}

static void count(struct tally *t, const struct maker *m, uint32_t location, int sign)
{
    const struct member *in = &m->members[location];
    const uint8_t state = state_of(m, in);
    if (m->s->is_asked) {
        count_asked(t, m, in, !is_silent(m, location), sign);
        return;
    }
    t->waiting += state == GN_STATE_A ? (uint32_t)sign : 0;
    t->busy += state == GN_STATE_B ? (uint32_t)sign : 0;
}

static uint8_t state_of_all(const struct maker *m, const struct tally *t)
{
    if (m->s->is_asked && t->waiting && (m->s->waiting || !t->outside))
        return GN_STATE_A;
    if (t->busy)
        return GN_STATE_B;
    if (m->s->is_asked)
        return GN_STATE_OTHER;
    return t->waiting ? GN_STATE_A : GN_STATE_OTHER;
}

static int add_stage(struct maker *m, struct gn_states *states, const struct mark *at, uint64_t state)
{
    if (!gn_grow(&states->stages, &m->stage_capacity, m->stage_count, sizeof *states->stages))
        return -ENOMEM;
    states->stages[m->stage_count++] = (struct gn_stage){at->at, state, m->is_one_clock ? at->ticks : 0};
    return 0;
}

/* Bounds of one location may touch; stages' must not descend. Those of several locations may contradict the
 * order of their clock's readings: then an assumption on it was refuted, and there still has to be an
 * interval. */
static void keep_ascending(struct gn_stage *stages, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (stages[i].at.lo_ns < stages[i - 1].at.lo_ns)
            stages[i].at.lo_ns = stages[i - 1].at.lo_ns;
    for (size_t i = count; i-- > 1;)
        if (stages[i - 1].at.hi_ns > stages[i].at.hi_ns)
            stages[i - 1].at.hi_ns = stages[i].at.hi_ns;
    for (size_t i = 0; i < count; i++)
        if (stages[i].at.hi_ns < stages[i].at.lo_ns)
            stages[i].at.hi_ns = stages[i].at.lo_ns;
}

static void apply_mark(struct maker *m, const struct mark *k, struct tally *tally)
{
    count(tally, m, k->location, -1);
    apply(&m->members[k->location], (enum what)k->what);
    count(tally, m, k->location, 1);
}

/* Marks of several clocks that have been put together (widen_overlapping): where they end. */
static size_t end_of_cluster(const struct maker *m, size_t first)
{
    const struct gn_location_def *locations = m->h->definitions->locations;
    const struct mark *k = m->marks;
    size_t end = first + 1;
    bool has_several = false;
    for (;
         end < m->mark_count && k[end].at.lo_ns == k[first].at.lo_ns && k[end].at.hi_ns == k[first].at.hi_ns;
         end++)
        has_several |= locations[k[end].location].domain != locations[k[first].location].domain;
    return has_several ? end : first + 1;
}

/* In which order they came is not known: meanwhile all may be in anything. */
static int add_any(struct maker *m, struct gn_states *states, const struct mark *at)
{
    int code = 0;
    for (uint8_t state = GN_STATE_OTHER; state <= GN_STATE_B && code == 0; state++)
        code = add_stage(m, states, at, state);
    return code;
}

static int add_stages(struct maker *m, struct gn_states *states, uint32_t group)
{
    const size_t first = m->stage_count;
    struct tally tally = {0, 0, 0};
    uint8_t state = GN_STATE_OTHER;
    int code = 0;
    for (size_t i = 0, end; i < m->mark_count && code == 0; i = end) {
        end = m->is_one_clock ? i + 1 : end_of_cluster(m, i);
        for (size_t k = i; k < end; k++)
            apply_mark(m, &m->marks[k], &tally);
        const bool is_last = end == m->mark_count, is_any = end > i + 1;
        if (is_any)
            code = add_any(m, states, &m->marks[i]);
        if (code == 0 && (is_any || state_of_all(m, &tally) != state || is_last)) {
            state = is_last ? GN_STATE_OTHER : state_of_all(m, &tally);
            code = add_stage(m, states, &m->marks[i], state);
        }
    }
    keep_ascending(states->stages + first, m->stage_count - first);
    states->of[group].count = m->stage_count - first;
    states->of[group].domain = m->mark_count && m->is_one_clock
                                   ? m->h->definitions->locations[m->marks[0].location].domain
                                   : m->own_domain + group;
    return code;
}

/* ---- who has a say ---- */

static bool has_calls(const struct gn_history *h, uint32_t location)
{
    const uint32_t first = h->first_call[location], last = h->last_call[location];
    return first != GN_NONE && last != first && h->calls[last].before != first;
}

static bool enters_any(const struct maker *m, uint32_t location)
{
    const struct gn_track *track = &m->h->tracks[location];
    for (size_t i = 0; i < track->count; i++) {
        if (is_in(m, m->s->waiting, &track->changes[i]) || is_in(m, m->s->busy, &track->changes[i]))
            return true;
    }
    return false;
}

static void find_say(struct maker *m)
{
    const struct gn_definitions *d = m->h->definitions;
    for (uint32_t l = 0; l < d->location_count; l++) {
        m->has_say[l] =
            ((!m->s->waiting || m->s->is_asked) && has_calls(m->h, l)) ||
            (!m->s->is_asked && m->h->tracks && (m->s->waiting || m->s->busy) && enters_any(m, l));
        if (m->has_say[l] && d->locations[l].process < d->process_count)
            m->is_heard[d->locations[l].process] = true;
    }
}

/* ---- all ---- */

static bool has_other_threads(const struct maker *m, uint32_t location)
{
    const uint32_t process = m->h->definitions->locations[location].process;
    return process < m->h->definitions->process_count && m->has_others[process];
}

static int make_group(struct maker *m, struct gn_states *states, const uint32_t *members, size_t count_of,
                      uint32_t group)
{
    int code = 0;
    m->mark_count = 0;
    m->is_thread = count_of == 1 && has_other_threads(m, members[0]);
    for (size_t i = 0; i < count_of && code == 0; i++)
        if (m->h->first_call[members[i]] != GN_NONE && (m->s->is_asked || !is_silent(m, members[i])))
            code = mark_location(m, members[i]);
    order_marks(m);
    return code ? code : add_stages(m, states, group);
}

/* Locations by group, counted: *ends[group] is where the group's end. */
static uint32_t *sorted_by_group(const struct gn_history *h, const uint32_t *group_of, size_t count,
                                 uint32_t **ends)
{
    const size_t locations = h->definitions->location_count;
    uint32_t *sorted = malloc((locations + 1) * sizeof *sorted);
    *ends = calloc(count + 1, sizeof **ends);
    for (uint32_t l = 0; sorted && *ends && l < locations; l++)
        if (group_of[l] < count)
            (*ends)[group_of[l] + 1]++;
    for (size_t g = 0; *ends && g < count; g++)
        (*ends)[g + 1] += (*ends)[g];
    for (uint32_t l = 0; sorted && *ends && l < locations; l++)
        if (group_of[l] < count)
            sorted[(*ends)[group_of[l]]++] = l;
    return sorted;
}

static int make_all(struct maker *m, struct gn_states *states, const uint32_t *group_of)
{
    uint32_t *ends, *sorted = sorted_by_group(m->h, group_of, states->count, &ends);
    int code = sorted && ends ? 0 : -ENOMEM;
    for (uint32_t g = 0; g < states->count && code == 0; g++) {
        const uint32_t first = g ? ends[g - 1] : 0;
        code = make_group(m, states, sorted + first, ends[g] - first, g);
    }
    free(sorted);
    free(ends);
    return code;
}

/* ---- each location by itself ---- */

/* What is open of the regions with each bit. */
static uint64_t change_region(uint32_t *open, uint64_t in, unsigned what)
{
    const bool is_enter = what < OUT_OF_REGION;
    const unsigned bit = what - (is_enter ? INTO_REGION : OUT_OF_REGION);
    open[bit] += is_enter ? 1 : open[bit] ? (uint32_t)-1 : 0;
    return open[bit] ? in | 1ull << bit : in & ~(1ull << bit);
}

static uint64_t being(const struct member *in, bool is_heard, uint64_t regions)
{
    if (!in->runs)
        return GN_STATE_OTHER;
    const bool joins = in->joins > 0 && !in->calls;
    return GN_RUNNING | (in->calls ? GN_CALLING : 0) | (is_heard && in->waits ? GN_WAITING : 0) |
           (is_heard && !in->calls ? GN_BUSY : 0) |
           (is_heard && (in->waits || joins) ? GN_WAITING_ALONE : 0) |
           (is_heard && !in->calls && !joins ? GN_BUSY_ALONE : 0) | regions;
}

static int add_stages_of_one(struct maker *m, struct gn_states *states, uint32_t location, uint64_t asked)
{
    const size_t first = m->stage_count;
    const bool is_heard = !is_silent(m, location);
    struct member in = {.runs = false};
    uint32_t open[GN_STATE_BITS] = {0};
    uint64_t regions = 0, was = 0;
    int code = 0;
    for (size_t i = 0; i < m->mark_count && code == 0; i++) {
        const struct mark *k = &m->marks[i];
        const bool is_last = i + 1 == m->mark_count;
        if (k->what >= INTO_REGION)
            regions = change_region(open, regions, k->what);
        apply(&in, (enum what)k->what);
        const uint64_t now = is_last ? GN_STATE_OTHER : asked & being(&in, is_heard, regions);
        if (i == 0 || is_last || now != was)
            code = add_stage(m, states, k, now);
        was = now;
    }
    keep_ascending(states->stages + first, m->stage_count - first);
    states->of[location] = (struct gn_stages){.count = m->stage_count - first,
                                              .domain = m->h->definitions->locations[location].domain};
    return code;
}

static int make_each(struct maker *m, struct gn_states *states, uint64_t asked)
{
    int code = 0;
    for (uint32_t l = 0; l < states->count && code == 0; l++) {
        m->mark_count = 0;
        if (m->h->first_call[l] != GN_NONE)
            code = mark_location(m, l);
        order_marks(m);
        if (code == 0)
            code = add_stages_of_one(m, states, l, asked);
    }
    return code;
}

/* ---- begin and end ---- */

/* Regions in which threads waited for each other; and who has any. */
static int find_joins(struct maker *m)
{
    const struct gn_history *h = m->h;
    const struct gn_definitions *d = h->definitions;
    bool *seen = calloc(d->process_count + 1, sizeof *seen);
    m->joins = seen && h->beside && h->tracks ? calloc(d->region_count + 1, sizeof *m->joins) : NULL;
    for (size_t l = 0; seen && l < d->location_count; l++)
        if (d->locations[l].process < d->process_count && h->first_call[l] != GN_NONE) {
            m->has_others[d->locations[l].process] |= seen[d->locations[l].process];
            seen[d->locations[l].process] = true;
        }
    for (size_t i = 0; m->joins && i < h->piece_count; i++) {
        const uint32_t region = h->activities[h->pieces[i].activity].region;
        if (h->pieces[i].kind == GN_PIECE_JOIN && region < d->region_count)
            m->joins[region] = true;
    }
    const int code = seen && (m->joins || !h->beside || !h->tracks) ? 0 : -ENOMEM;
    free(seen);
    return code;
}

static int begin(struct maker *m, struct gn_states *states, size_t count_of)
{
    const struct gn_definitions *d = m->h->definitions;
    m->has_say = calloc(d->location_count + 1, sizeof *m->has_say);
    m->is_heard = calloc(d->process_count + 1, sizeof *m->is_heard);
    m->members = calloc(d->location_count + 1, sizeof *m->members);
    *states = (struct gn_states){.of = calloc(count_of + 1, sizeof *states->of), .count = count_of};
    for (size_t l = 0; l < d->location_count; l++)
        if (d->locations[l].domain >= m->own_domain)
            m->own_domain = d->locations[l].domain + 1;
    m->has_others = calloc(d->process_count + 1, sizeof *m->has_others);
    if (!m->has_say || !m->is_heard || !m->has_others || !m->members || !states->of || find_joins(m) != 0)
        return -ENOMEM;
    find_say(m);
    return 0;
}

/* The stages have their places now. */
static int end(struct maker *m, struct gn_states *states, int code, struct gn_error *err)
{
    size_t first = 0;
    for (size_t g = 0; g < states->count && code == 0; g++) {
        states->of[g].stages = states->stages ? states->stages + first : NULL;
        first += states->of[g].count;
    }
    free(m->marks);
    free(m->has_say);
    free(m->is_heard);
    free(m->has_others);
    free(m->joins);
    free(m->members);
    free(m->chain);
    if (code == 0)
        return 0;
    gn_states_clear(states);
    return gn_fail(err, code, "no memory for what %zu locations were in", m->h->definitions->location_count);
}

int gn_states_make(struct gn_states *states, const struct gn_history *history, const uint32_t *group_of,
                   size_t count_of, const struct gn_states_settings *settings, struct gn_error *err)
{
    struct maker m = {.h = history, .s = settings};
    int code = begin(&m, states, count_of);
    if (code == 0)
        code = make_all(&m, states, group_of);
    return end(&m, states, code, err);
}

int gn_states_of_each(struct gn_states *states, const struct gn_history *history,
                      const struct gn_region_bits *bits, uint64_t asked, struct gn_error *err)
{
    static const struct gn_states_settings calls = {.comm = GN_NONE, .phase = GN_NONE};
    struct maker m = {.h = history, .s = &calls, .bits = bits};
    int code = begin(&m, states, history->definitions->location_count);
    if (code == 0)
        code = make_each(&m, states, asked);
    return end(&m, states, code, err);
}

void gn_states_clear(struct gn_states *states)
{
    free(states->of);
    free(states->stages);
    *states = (struct gn_states){.of = NULL};
}

/* ---- phases ---- */

static size_t note_phase(uint32_t *regions, size_t found, size_t most, uint32_t region)
{
    for (size_t i = 0; i < found; i++)
        if (regions[i] == region)
            return found;
    if (found < most)
        regions[found++] = region;
    return found;
}

size_t gn_states_phases(const struct gn_history *history, uint32_t *regions, size_t most)
{
    size_t found = 0;
    for (size_t l = 0; history->tracks && l < history->definitions->location_count; l++) {
        const struct gn_track *track = &history->tracks[l];
        uint32_t depth = 0;
        for (size_t i = 0; i < track->count; i++) {
            const struct gn_change *c = &track->changes[i];
            if (!is_user(history->definitions, c->region))
                continue;
            if (c->is_enter && depth == 0)
                found = note_phase(regions, found, most, c->region);
            depth += c->is_enter ? 1 : depth ? (uint32_t)-1 : 0;
        }
    }
    return found;
}
