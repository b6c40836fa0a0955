#include "made_history.h"

#include <stdlib.h>
#include <string.h>

static const double NS = 1e6; /* per ms */

static struct gn_interval at(const struct made *m, uint32_t location, double ms)
{
    const double wide_ms = m->wide_ms[location];
    return (struct gn_interval){(int64_t)((ms - wide_ms) * NS), (int64_t)((ms + wide_ms) * NS)};
}

static uint32_t open_call(struct made *m, uint32_t location, double enter_ms, double leave_ms, uint32_t flags)
{
    const uint32_t call = (uint32_t)m->h.call_count++;
    m->calls[call] = (struct gn_call){.enter = at(m, location, enter_ms),
                                      .leave = at(m, location, leave_ms),
                                      .enter_ticks = (uint64_t)(enter_ms * NS),
                                      .leave_ticks = (uint64_t)(leave_ms * NS),
                                      .location = location,
                                      .before = m->last_call[location],
                                      .waits_from = call,
                                      .region = flags ? GN_NONE : 0,
                                      .path = GN_NONE,
                                      .flags = flags};
    if (m->first_call[location] == GN_NONE)
        m->first_call[location] = call;
    m->last_call[location] = call;
    return call;
}

struct made *made_new(uint32_t locations, const uint32_t *domain_of)
{
    struct made *m = calloc(1, sizeof *m);
    m->d = gn_definitions_new();
    m->d->ticks_per_second = 1000000000;
    made_region(m, "MPI_Something", GN_ROLE_MPI);
    memset(m->first_call, 0xff, sizeof m->first_call);
    memset(m->last_call, 0xff, sizeof m->last_call);
    for (uint32_t l = 0; l < locations; l++) {
        const uint32_t process = gn_define_process(
            m->d, &(struct gn_process){.system_node = GN_NONE, .main_location = GN_NONE, .rank = (int32_t)l});
        gn_define_location(
            m->d, &(struct gn_location_def){.process = process, .domain = domain_of ? domain_of[l] : 0});
    }
    for (uint32_t a = 0; a < 16; a++)
        m->activities[a] = (struct gn_computation){GN_NONE, GN_NONE, 0, GN_NONE};
    m->h = (struct gn_history){.definitions = m->d,
                               .activities = m->activities,
                               .calls = m->calls,
                               .steps = m->steps,
                               .pieces = m->pieces,
                               .takes = m->takes,
                               .gatherings = m->gatherings,
                               .parts = m->parts,
                               .part_order = m->part_order,
                               .tracks = m->tracks,
                               .first_call = m->first_call,
                               .last_call = m->last_call,
                               .activity_count = 16};
    return m;
}

void made_free(struct made *m)
{
    gn_definitions_free(m->d);
    free(m);
}

uint32_t made_region(struct made *m, const char *name, uint8_t role)
{
    return gn_define_region(m->d,
                            &(struct gn_region_def){.name = gn_define_string(m->d, name), .role = role});
}

uint32_t made_comm(struct made *m, uint32_t count, const uint32_t *members)
{
    return gn_define_comm(m->d, &(struct gn_comm_def){.parent = GN_NONE,
                                                      .member_count = count,
                                                      .members = (uint32_t *)(uintptr_t)members});
}

uint32_t made_call(struct made *m, uint32_t location, double enter_ms, double leave_ms, uint32_t activity)
{
    if (m->last_call[location] == GN_NONE)
        open_call(m, location, 0, 0, GN_CALL_BEGIN);
    const uint64_t since = m->calls[m->last_call[location]].leave_ticks;
    const uint32_t call = open_call(m, location, enter_ms, leave_ms, 0);
    const double ns = (double)(m->calls[call].enter_ticks - since);
    m->calls[call].first_piece = (uint32_t)m->h.piece_count;
    m->calls[call].piece_count = 1;
    m->pieces[m->h.piece_count++] = (struct gn_piece){activity, GN_PIECE_ALONE, ns, ns};
    return call;
}

static void take(struct made *m, struct gn_take what)
{
    what.is_certain = true;
    m->takes[m->h.take_count++] = what;
}

void made_takes_message(struct made *m, uint32_t call, uint32_t from)
{
    take(m, (struct gn_take){.call = call, .from = from, .member = GN_NONE, .kind = GN_TAKE_MESSAGE});
}

uint32_t made_collective(struct made *m, uint32_t comm, enum gn_shape shape, uint32_t root,
                         const uint32_t *calls, uint32_t count)
{
    const uint32_t g = (uint32_t)m->h.gathering_count++, first = (uint32_t)m->h.part_count;
    m->gatherings[g] =
        (struct gn_history_gathering){.comm = comm,
                                      .shape = (uint8_t)shape,
                                      .is_whole = shape == GN_SHAPE_ALL_TO_ALL,
                                      .root = shape == GN_SHAPE_ONE_TO_ALL ? first + root : GN_NONE,
                                      .first_part = first,
                                      .part_count = count};
    for (uint32_t i = 0; i < count; i++) {
        const bool gets = shape == GN_SHAPE_ALL_TO_ALL || (shape == GN_SHAPE_ONE_TO_ALL && i != root) ||
                          (shape == GN_SHAPE_ALL_TO_ONE && i == root) || (shape == GN_SHAPE_PREFIX && i > 0);
        m->parts[m->h.part_count++] =
            (struct gn_given_part){.call = calls[i],
                                   .gathering = g,
                                   .member = i,
                                   .gives = shape != GN_SHAPE_ONE_TO_ALL || i == root,
                                   .gets = gets};
        if (gets)
            take(m, (struct gn_take){
                        .call = calls[i], .from = g, .member = first + i, .kind = GN_TAKE_GATHERING});
    }
    return g;
}

void made_change(struct made *m, uint32_t location, double at_ms, uint32_t region, bool is_enter)
{
    struct gn_track *t = &m->tracks[location];
    t->changes = m->changes[location];
    t->changes[t->count++] =
        (struct gn_change){at(m, location, at_ms), (uint64_t)(at_ms * NS), region, GN_NONE, is_enter};
}

/* ---- the end ---- */

static int by_call(const void *left, const void *right)
{
    const struct gn_take *a = left, *b = right;
    return a->call < b->call ? -1 : a->call > b->call;
}

static const struct made *sorting;

static uint64_t step_ticks(uint32_t step)
{
    const struct gn_call *c = &sorting->calls[step >> 1];
    return step & 1 ? c->leave_ticks : c->enter_ticks;
}

/* By the true time; enters first, so that what is given at a time is given before it is taken. */
static int by_step(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (step_ticks(a) != step_ticks(b))
        return step_ticks(a) < step_ticks(b) ? -1 : 1;
    if ((a & 1) != (b & 1))
        return (a & 1) ? 1 : -1;
    return a < b ? -1 : a > b;
}

static void place_takes(struct made *m)
{
    qsort(m->takes, m->h.take_count, sizeof *m->takes, by_call);
    for (uint32_t i = 0; i < m->h.take_count; i++) {
        struct gn_call *c = &m->calls[m->takes[i].call];
        c->first_take = c->take_count ? c->first_take : i;
        c->take_count++;
    }
}

static void place_parts(struct made *m)
{
    uint32_t next = 0;
    for (uint32_t c = 0; c < m->h.call_count; c++) {
        m->calls[c].first_part = next;
        for (uint32_t i = 0; i < m->h.part_count; i++)
            if (m->parts[i].call == c)
                m->part_order[next++] = i;
        m->calls[c].part_count = next - m->calls[c].first_part;
    }
}

struct gn_history *made_end(struct made *m, double end_ms)
{
    for (uint32_t l = 0; l < m->d->location_count; l++)
        if (m->last_call[l] != GN_NONE)
            open_call(m, l, end_ms, end_ms, GN_CALL_END);
    place_takes(m);
    place_parts(m);
    for (uint32_t c = 0; c < m->h.call_count; c++) {
        m->steps[m->h.step_count++] = c << 1;
        m->steps[m->h.step_count++] = c << 1 | 1;
    }
    sorting = m;
    qsort(m->steps, m->h.step_count, sizeof *m->steps, by_step);
    m->h.first = (struct gn_interval){0, 0};
    m->h.last = m->h.length = (struct gn_interval){(int64_t)(end_ms * NS), (int64_t)(end_ms * NS)};
    return &m->h;
}
