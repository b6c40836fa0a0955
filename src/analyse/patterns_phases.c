/* One rank after the other is late, each in a part of the run of its own (analyse/late_phases.h). */
#include "analyse/levelled.h"
#include "analyse/patterns_rank.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static const struct gn_problem_pattern phases = {
    .name = "phases",
    .replay = "with each rank like the others in its part",
    .remedy =
        "who is late changes with the part of the run: look at each by itself, and balance it there; where "
        "all do the same, see what slows their cores down for a while"};

_Static_assert(GN_PROBLEM_PHASES == (int)GN_LATE_PHASES_MOST, "each is told");

/* What is known of each phase by itself. */
struct stages {
    struct gn_sections sections[GN_LATE_PHASES_MOST];
    struct gn_levels levels[GN_LATE_PHASES_MOST];
    size_t count;
};

static void close_stages(struct stages *s)
{
    for (size_t i = 0; i < s->count; i++) {
        gn_levels_close(&s->levels[i]);
        gn_sections_clear(&s->sections[i]);
    }
}

/* The caller closes in any case. */
static int open_stages(struct stages *s, const struct gn_look *l, struct gn_error *err)
{
    int code = 0;
    s->count = 0;
    for (size_t i = 0; i < l->phases.count && code == 0; i++) {
        for (size_t p = 0; p < l->seen->definitions->process_count; p++)
            l->late[p] = p == l->phases.items[i].process;
        s->levels[i].share = NULL;
        code = gn_sections_find_in(&s->sections[i], l->seen, &l->phases, i);
        s->count++;
        code = code < 0 ? gn_fail(err, code, "no memory for what processes compute in a part of the run")
                        : gn_levels_open(&s->levels[i], &s->sections[i], l->late, err);
    }
    return code;
}

static void set_late(const struct gn_look *l)
{
    for (uint32_t p = 0; p < l->seen->definitions->process_count; p++)
        l->late[p] = gn_late_phases_have(&l->phases, p);
}

static struct gn_span reduction_of(const struct gn_whatif_result *a, const struct gn_whatif_result *b)
{
    return (struct gn_span){fmax(0, fmin(a->reduction_lo_ns, b->reduction_lo_ns)),
                            fmax(0, fmax(a->reduction_hi_ns, b->reduction_hi_ns))};
}

/* Of a trace: in a slice in which one phase ends, and another one begins, either is late, and it goes with
 * one of them. What of the reduction may be missing for that. */
static double at_ends_ns(const struct gn_late_phases *list, double reduction_ns)
{
    double ends_ns = 0, length_ns = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct gn_late_phase *p = &list->items[i];
        ends_ns += (p->from.hi_ns - p->from.lo_ns) / 2;
        ends_ns += i + 1 == list->count ? (p->to.hi_ns - p->to.lo_ns) / 2 : 0;
        length_ns += p->to.hi_ns - p->from.lo_ns;
    }
    return length_ns > 0 ? ends_ns * fmin(1, reduction_ns / length_ns) : 0;
}

static int replay(const struct gn_look *l, const struct stages *s, struct gn_replayed *r,
                  struct gn_error *err)
{
    const size_t count = l->seen->count;
    for (size_t i = 0; i < count; i++) {
        struct gn_whatif_result n[GN_LEVELS];
        for (size_t kind = 0; kind < 4; kind++)
            l->each[kind * count + i] = (struct gn_span){0, 0};
        if (count > 1 && gn_late_phase_of_slice(&l->phases, i) < 0) /* a window of no phase stays as it is */
            continue;
        const int code = gn_levels_replay_phases(s->levels, &l->phases, i, n, err);
        if (code < 0)
            return code;
        l->each[i] = reduction_of(&n[GN_LEVEL_MEAN], &n[GN_LEVEL_FASTEST]);
        l->each[count + i] = reduction_of(&n[GN_LEVEL_EVEN], &n[GN_LEVEL_EVEN]);
        l->each[2 * count + i] = reduction_of(&n[GN_LEVEL_MEAN], &n[GN_LEVEL_MEAN]);
        l->each[3 * count + i] = reduction_of(&n[GN_LEVEL_HALF], &n[GN_LEVEL_HALF]);
    }
    *r = (struct gn_replayed){.chance_ns = 0};
    if (count > 1) {
        r->like = gn_seen_total(l->seen, l->each);
        r->even = gn_seen_total(l->seen, l->each + count);
        r->mean = gn_seen_total(l->seen, l->each + 2 * count);
        r->half = gn_seen_total(l->seen, l->each + 3 * count);
    } else { /* all that is asked for, else there are no phases */
        r->like = l->each[0];
        r->even = l->each[1];
        r->mean = l->each[2];
        r->half = l->each[3];
        r->like.hi_ns += at_ends_ns(&l->phases, r->like.hi_ns);
        r->mean.hi_ns += at_ends_ns(&l->phases, r->mean.hi_ns);
        r->half.hi_ns += at_ends_ns(&l->phases, r->half.hi_ns);
    }
    return 0;
}

/* ---- beside what ranks do in all of the run ---- */

static bool has_phase(const struct gn_look *l, int rank)
{
    const uint32_t process = rank < 0 ? GN_NONE : gn_process_of_rank(l->seen->definitions, rank);
    return process != GN_NONE && gn_late_phases_have(&l->phases, process);
}

/* All ranks that it is of are late in phases, for what they compute. */
static bool is_of_phases(const struct gn_look *l, const struct gn_problem *p)
{
    bool all = gn_problem_is_of_rank(p) && !p->is_preempted && p->late_count <= GN_PROBLEM_LATE &&
               has_phase(l, p->rank);
    for (size_t i = 0; i < p->late_count && all; i++)
        all = has_phase(l, p->late[i]);
    return all;
}

/* They are a part of it. */
static void take_out(const struct gn_look *l)
{
    struct gn_problems *all = l->problems;
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++)
        if (!is_of_phases(l, &all->items[i]))
            all->items[kept++] = all->items[i];
    all->count = kept;
    kept = 0;
    for (size_t i = 0; i < all->slack_count; i++)
        if (!has_phase(l, all->slacks[i].rank))
            all->slacks[kept++] = all->slacks[i];
    all->slack_count = kept;
}

/* Each is of several steps: what is late once is no part of the run. */
static bool have_steps(const struct gn_look *l, const struct stages *s)
{
    static const double few = 5;
    for (size_t i = 0; i < s->count; i++) {
        const uint32_t process = l->phases.items[i].process;
        const int64_t section = gn_sections_longest(&s->sections[i], process);
        if (section < 0 ||
            s->sections[i].sums[(size_t)section * s->sections[i].process_count + process].times < few)
            return false;
    }
    return true;
}

/* ---- what is told ---- */

/* Its process has no other one, and is late in none of the rest of the run, to speak of. */
static bool is_only(const struct gn_late_phase *phase)
{
    static const double most_of_it = 0.8;
    return phase->caused_ns >= most_of_it * phase->all_ns;
}

/* Of all calls in which those that are late are waited for, the one with most of it, by line. */
static bool most_waited_in(const struct gn_look *l, struct gn_chain_call *call)
{
    double *ns = calloc(l->seen->site_count + 1, sizeof *ns), most_ns = 0, longest_ns = 0;
    int64_t most = -1;
    for (size_t i = 0; i < l->cause_count && ns; i++) {
        const struct gn_seen_cause *c = &l->causes[i];
        const int64_t site = gn_seen_site_of(l->seen, c->call_region, c->call_path);
        if (site < 0)
            continue;
        ns[site] += gn_late_phases_share(&l->phases, c->process) * c->seen_ns;
        most = ns[site] > most_ns ? site : most;
        most_ns = fmax(most_ns, ns[site]);
    }
    free(ns);
    for (size_t i = 0; i < l->cause_count && most >= 0; i++) {
        const struct gn_seen_cause *c = &l->causes[i];
        const double here_ns = gn_late_phases_share(&l->phases, c->process) * c->seen_ns;
        if (here_ns > longest_ns && gn_seen_site_of(l->seen, c->call_region, c->call_path) == most) {
            longest_ns = here_ns;
            *call = (struct gn_chain_call){c->call_region, c->call_path};
        }
    }
    return longest_ns > 0;
}

static struct gn_problem_phase phase_of(const struct gn_look *l, const struct stages *s, size_t i)
{
    const struct gn_late_phase *phase = &l->phases.items[i];
    const int64_t section = gn_sections_longest(&s->sections[i], phase->process);
    struct gn_problem_phase told = {.rank = gn_look_rank(l, phase->process),
                                    .from_s = {phase->from.lo_ns * 1e-9, phase->from.hi_ns * 1e-9},
                                    .to_s = {phase->to.lo_ns * 1e-9, phase->to.hi_ns * 1e-9}};
    struct gn_problem one = {.rank = told.rank};
    if (is_only(phase)) /* where others wait for it is known of all of the run */
        gn_look_tell_chain(l, &one, phase->process, NULL, 1);
    if (one.hop_count > 0)
        told.waited = one.hops[0];
    if (section < 0)
        return told;
    const struct gn_section_difference d =
        gn_sections_differ_one(&s->sections[i], (size_t)section, phase->process);
    const struct gn_call_place place = gn_call_place_of(l->seen, &l->seen->sites[section]);
    told.own_s = d.own_ns * 1e-9;
    told.others_s = d.others_ns * 1e-9;
    told.differs = (struct gn_problem_difference){.call = place.call,
                                                  .function = place.function,
                                                  .file = place.file,
                                                  .line = place.line,
                                                  .times = d.times,
                                                  .each = d.each};
    return told;
}

static const struct gn_late_phase *largest(const struct gn_late_phases *list)
{
    const struct gn_late_phase *most = &list->items[0];
    for (size_t i = 1; i < list->count; i++)
        most = list->items[i].caused_ns > most->caused_ns ? &list->items[i] : most;
    return most;
}

static void add(const struct gn_look *l, const struct stages *s, const struct gn_replayed *r)
{
    struct gn_problem p = {.pattern = &phases,
                           .rank = -1,
                           .phase_count = l->phases.count,
                           .is_replayed = true,
                           .lost_low_s = r->like.lo_ns * 1e-9,
                           .lost_high_s = r->like.hi_ns * 1e-9,
                           .gain_low_s = fmin(r->like.lo_ns, r->even.lo_ns) * 1e-9,
                           .gain_high_s = r->like.hi_ns * 1e-9,
                           .even_low_s = r->even.lo_ns * 1e-9,
                           .even_high_s = r->even.hi_ns * 1e-9,
                           .sure = GN_PROBLEM_POSSIBLE,
                           .assumes = GN_PROBLEM_SAME | gn_look_assumed(l)};
    uint32_t latest = largest(&l->phases)->process;
    struct gn_chain_call call;
    for (size_t i = 0; i < l->phases.count; i++)
        p.phases[i] = phase_of(l, s, i);
    p.most_rank = gn_look_rank(l, latest);
    set_late(l);
    gn_look_tell_late(l, &p);
    gn_look_tell_times(l, &p, &latest);
    gn_look_allow_for_repeats(l, &p);
    gn_look_tell_gains(l, &p, r);
    if (most_waited_in(l, &call)) {
        gn_look_tell_chain(l, &p, latest, &call, 1);
        p.row = gn_look_row(l->s, gn_call_place_at(l->seen->definitions, call.region, call.path));
    }
    /* who was late for want of a core was not late by itself */
    if (l->seen->is_whole && l->phases.caused_ns >= r->like.lo_ns && r->like.lo_ns >= r->like.hi_ns / 2 &&
        !gn_look_lacks_cores(l))
        p.sure = GN_PROBLEM_CERTAIN;
    gn_problems_add(l->problems, l->s, p);
}

int gn_look_at_phases(const struct gn_look *l, struct gn_error *err)
{
    static const double half = 0.5;
    const double lost_s = l->phases.caused_ns * 1e-9 / fmax(1, l->s->ranks);
    struct stages s;
    struct gn_replayed r;
    if (l->phases.count == 0 || l->sections.site_count == 0 ||
        lost_s < GN_PROBLEM_LEAST_SHARE * l->s->elapsed_s)
        return 0;
    int code = open_stages(&s, l, err);
    bool is_it = code == 0 && have_steps(l, &s);
    code = is_it ? replay(l, &s, &r, err) : code;
    /* where it is not what they compute there, something else is the matter, or others are as late */
    is_it = is_it && code == 0 && isfinite(r.even.hi_ns) &&
            fmin(r.even.hi_ns, r.like.hi_ns) * 1e-9 >= half * lost_s;
    if (is_it) {
        take_out(l);
        add(l, &s, &r);
    }
    close_stages(&s);
    return code < 0 ? code : is_it;
}
