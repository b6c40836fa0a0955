#include "analyse/scores.h"

#include "analyse/states.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- who is who ---- */

/* The machine that a location runs on: its process's system node, or the one above that is a host. */
static uint32_t host_of(const struct gn_definitions *d, uint32_t location)
{
    const uint32_t process = d->locations[location].process;
    const uint32_t own = process < d->process_count ? d->processes[process].system_node : GN_NONE;
    for (uint32_t n = own; n < d->system_node_count; n = d->system_nodes[n].parent)
        if (d->system_nodes[n].is_domain)
            return n;
    return own;
}

static uint32_t key_of(const struct gn_definitions *d, uint32_t location, enum gn_scored by)
{
    if (by == GN_SCORED_THREAD)
        return location;
    return by == GN_SCORED_RANK ? d->locations[location].process : host_of(d, location);
}

static size_t most_keys(const struct gn_definitions *d, enum gn_scored by)
{
    return by == GN_SCORED_THREAD ? d->location_count
           : by == GN_SCORED_RANK ? d->process_count
                                  : d->system_node_count;
}

/* A key that is nothing's (a process on no machine) has one group of its own. */
static int number_groups(struct gn_groups *g, const struct gn_history *h, enum gn_scored by)
{
    const struct gn_definitions *d = h->definitions;
    const size_t keys = most_keys(d, by);
    uint32_t *group_of_key = malloc((keys + 1) * sizeof *group_of_key);
    if (!group_of_key)
        return -ENOMEM;
    memset(group_of_key, 0xff, (keys + 1) * sizeof *group_of_key); /* GN_NONE */
    for (uint32_t l = 0; l < d->location_count; l++) {
        g->of[l] = GN_NONE;
        if (h->first_call[l] == GN_NONE)
            continue;
        const uint32_t key = key_of(d, l, by);
        uint32_t *group = &group_of_key[key < keys ? key : keys];
        if (*group == GN_NONE) {
            *group = (uint32_t)g->count;
            g->first[g->count++] = l;
        }
        g->of[l] = *group;
    }
    free(group_of_key);
    return 0;
}

int gn_groups_make(struct gn_groups *groups, const struct gn_history *history, enum gn_scored by,
                   struct gn_error *err)
{
    const size_t locations = history->definitions->location_count;
    *groups = (struct gn_groups){.of = malloc((locations + 1) * sizeof *groups->of),
                                 .first = malloc((locations + 1) * sizeof *groups->first)};
    if (groups->of && groups->first && number_groups(groups, history, by) == 0)
        return 0;
    gn_groups_clear(groups);
    return gn_fail(err, -ENOMEM, "no memory for who is scored");
}

void gn_groups_clear(struct gn_groups *groups)
{
    free(groups->of);
    free(groups->first);
    *groups = (struct gn_groups){.of = NULL};
}

/* ---- one question ---- */

struct asker {
    const struct gn_history *h;
    const struct gn_groups *groups;
    const struct gn_scores_settings *settings;
    struct gn_scores *out;
    struct gn_error *err;
};

static struct gn_score percent(const struct gn_history *h, struct gn_frame_time time)
{
    const double longest_ns = (double)h->length.hi_ns, shortest_ns = (double)h->length.lo_ns;
    struct gn_score score = {longest_ns > 0 ? 100 * time.lo_ns / longest_ns : 0, 100};
    if (shortest_ns > 0)
        score.hi = 100 * time.hi_ns / shortest_ns;
    score.hi = fmin(fmax(score.hi, 0), 100);
    score.lo = fmin(fmax(score.lo, 0), score.hi);
    return score;
}

static int ask(struct asker *a, const struct gn_states *states, struct gn_score *scores)
{
    struct gn_frames frames;
    const struct gn_question question = {.others = 1};
    int code = gn_frames_ask(&frames, states->of, states->count, &question, a->err);
    if (code < 0)
        return code;
    for (size_t i = 0; i < states->count && i < frames.count; i++)
        scores[i] = percent(a->h, frames.location[i]);
    if (scores == a->out->scores) {
        a->out->all = percent(a->h, frames.all);
        a->out->frames = frames.frames;
    }
    gn_frames_clear(&frames);
    return 0;
}

static int ask_for(struct asker *a, const struct gn_groups *groups, uint32_t comm, uint32_t phase,
                   struct gn_score *scores)
{
    struct gn_states states;
    const struct gn_states_settings settings = {
        .waiting = a->settings->waiting, .busy = a->settings->busy, .comm = comm, .phase = phase};
    int code = gn_states_make(&states, a->h, groups->of, groups->count, &settings, a->err);
    if (code < 0)
        return code;
    code = ask(a, &states, scores);
    gn_states_clear(&states);
    return code;
}

/* ---- communicators ---- */

/* How many whole collectives each communicator had that MPI says to synchronise. */
static uint32_t *count_instances(const struct gn_history *h)
{
    uint32_t *count = calloc(h->definitions->comm_count + 1, sizeof *count);
    for (size_t g = 0; count && g < h->gathering_count; g++) {
        const struct gn_history_gathering *one = &h->gatherings[g];
        if (one->is_whole && !one->is_vague && one->comm < h->definitions->comm_count)
            count[one->comm]++;
    }
    return count;
}

/* The groups with members of the communicator, renumbered. Who is not a member is left out. */
static void members_of(const struct asker *a, uint32_t comm, struct gn_groups *members, uint32_t *number)
{
    const struct gn_definitions *d = a->h->definitions;
    memset(number, 0xff, a->groups->count * sizeof *number);
    members->count = 0;
    for (uint32_t l = 0; l < d->location_count; l++) {
        const uint32_t group = a->groups->of[l];
        const bool is_member =
            group != GN_NONE && gn_comm_rank_of(d, comm, d->locations[l].process, NULL) != GN_NONE;
        members->of[l] = GN_NONE;
        if (!is_member)
            continue;
        if (number[group] == GN_NONE) {
            members->first[members->count] = group;
            number[group] = (uint32_t)members->count++;
        }
        members->of[l] = number[group];
    }
}

static int ask_comm(struct asker *a, uint32_t comm, uint32_t instances, struct gn_groups *members,
                    uint32_t *number, struct gn_score *scores)
{
    members_of(a, comm, members, number);
    if (members->count < 2 || members->count >= a->groups->count)
        return 0;
    memset(scores, 0, members->count * sizeof *scores);
    int code = ask_for(a, members, comm, GN_NONE, scores);
    for (size_t i = 0; i < members->count && code == 0; i++) {
        struct gn_context *best = &a->out->contexts[members->first[i]];
        if (best->comm == GN_NONE || scores[i].lo > best->score.lo)
            *best =
                (struct gn_context){comm, instances, a->h->definitions->comms[comm].member_count, scores[i]};
    }
    return code;
}

static int ask_comms(struct asker *a)
{
    const struct gn_definitions *d = a->h->definitions;
    struct gn_groups members = {.of = malloc((d->location_count + 1) * sizeof *members.of),
                                .first = malloc((a->groups->count + 1) * sizeof *members.first)};
    uint32_t *number = malloc((a->groups->count + 1) * sizeof *number), *instances = count_instances(a->h);
    struct gn_score *scores = malloc((a->groups->count + 1) * sizeof *scores);
    int code = members.of && members.first && number && instances && scores ? 0 : -ENOMEM;
    for (uint32_t c = 0; c < d->comm_count && code == 0; c++)
        if (instances[c] && !d->comms[c].is_self && !d->comms[c].other_count)
            code = ask_comm(a, c, instances[c], &members, number, scores);
    gn_groups_clear(&members);
    free(number);
    free(instances);
    free(scores);
    return code;
}

/* ---- phases ---- */

static struct gn_phase *new_phase(struct gn_scores *out, uint32_t region)
{
    struct gn_phase *phase = &out->phases[out->phase_count];
    *phase = (struct gn_phase){.region = region, .scores = calloc(out->count + 1, sizeof *phase->scores)};
    out->phase_count += phase->scores != NULL;
    return phase->scores ? phase : NULL;
}

static int64_t clamp(int64_t at_ns, int64_t lo_ns, int64_t hi_ns)
{
    return at_ns < lo_ns ? lo_ns : at_ns > hi_ns ? hi_ns : at_ns;
}

/* What was certain, or possible, within the slice stays so when all that changes outside of it does at its
 * ends. */
static int ask_slice(struct asker *a, const struct gn_states *states, int64_t begin_ns, int64_t end_ns)
{
    struct gn_phase *phase = new_phase(a->out, GN_NONE);
    struct gn_states cut = {.of = malloc((states->count + 1) * sizeof *cut.of), .count = states->count};
    size_t all = 0, first = 0;
    for (size_t i = 0; i < states->count; i++)
        all += states->of[i].count;
    cut.stages = malloc((all + 1) * sizeof *cut.stages);
    int code = phase && cut.of && cut.stages ? 0 : -ENOMEM;
    for (size_t i = 0; i < states->count && code == 0; i++) {
        cut.of[i] = states->of[i];
        cut.of[i].stages = cut.stages + first;
        for (size_t s = 0; s < states->of[i].count; s++) {
            struct gn_stage stage = states->of[i].stages[s];
            stage.at.lo_ns = clamp(stage.at.lo_ns, begin_ns, end_ns);
            stage.at.hi_ns = clamp(stage.at.hi_ns, begin_ns, end_ns);
            cut.stages[first++] = stage;
        }
    }
    if (code == 0) {
        phase->begin_ns = (double)begin_ns;
        phase->end_ns = (double)end_ns;
        code = ask(a, &cut, phase->scores);
    }
    gn_states_clear(&cut);
    return code;
}

static int ask_slices(struct asker *a)
{
    struct gn_states states;
    const struct gn_states_settings settings = {
        .waiting = a->settings->waiting, .busy = a->settings->busy, .comm = GN_NONE, .phase = GN_NONE};
    const int64_t begin_ns = a->h->first.lo_ns, length_ns = a->h->last.hi_ns - begin_ns;
    int code = gn_states_make(&states, a->h, a->groups->of, a->groups->count, &settings, a->err);
    if (code < 0)
        return code;
    for (int64_t i = 0; i < GN_PHASE_SLICES && code == 0; i++)
        code = ask_slice(a, &states, begin_ns + length_ns / GN_PHASE_SLICES * i,
                         i + 1 == GN_PHASE_SLICES ? a->h->last.hi_ns
                                                  : begin_ns + length_ns / GN_PHASE_SLICES * (i + 1));
    gn_states_clear(&states);
    return code;
}

/* A single region around everything tells no phases. */
static int ask_phases(struct asker *a)
{
    uint32_t regions[GN_PHASES];
    const size_t count = gn_states_phases(a->h, regions, GN_PHASES);
    int code = 0;
    if (count < 2)
        return ask_slices(a);
    for (size_t i = 0; i < count && code == 0; i++) {
        const struct gn_phase *phase = new_phase(a->out, regions[i]);
        code = phase ? ask_for(a, a->groups, GN_NONE, regions[i], phase->scores) : -ENOMEM;
    }
    return code;
}

/* ---- all ---- */

static int find(struct asker *a)
{
    const size_t count = a->groups->count;
    a->out->scores = calloc(count + 1, sizeof *a->out->scores);
    a->out->contexts = calloc(count + 1, sizeof *a->out->contexts);
    if (!a->out->scores || !a->out->contexts)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        a->out->contexts[i].comm = GN_NONE;
    if (count < 2) /* there are no others */
        return 0;
    int code = ask_for(a, a->groups, GN_NONE, GN_NONE, a->out->scores);
    if (code == 0 && !a->settings->waiting)
        code = ask_comms(a);
    return code == 0 && a->settings->has_phases ? ask_phases(a) : code;
}

int gn_scores_find(struct gn_scores *scores, const struct gn_history *history, const struct gn_groups *groups,
                   const struct gn_scores_settings *settings, struct gn_error *err)
{
    struct asker a = {history, groups, settings, scores, err};
    *scores = (struct gn_scores){.count = groups->count};
    int code = find(&a);
    if (code == 0)
        return 0;
    gn_scores_clear(scores);
    return gn_fail(err, code, "no memory for the scores of %zu", groups->count);
}

void gn_scores_clear(struct gn_scores *scores)
{
    free(scores->scores);
    free(scores->contexts);
    for (size_t i = 0; i < scores->phase_count; i++)
        free(scores->phases[i].scores);
    *scores = (struct gn_scores){.count = 0};
}
