#include "analyse/levelled.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* What the late ones, and the others, compute in a section: those others that do it, if any does. */
struct times {
    double late, others, least, all; /* mean, mean, least of the others, mean of all */
};

/* A mean of those that do it. */
static double mean(double sum, size_t count)
{
    return sum / fmax(1, (double)count);
}

static struct times times_of(const struct gn_sections *s, size_t site, const bool *late)
{
    const struct gn_section_sum *sums = &s->sums[site * s->process_count];
    struct times t = {.least = INFINITY};
    size_t others = 0, late_ones = 0;
    for (size_t p = 0; p < s->process_count; p++) {
        if (sums[p].times <= 0)
            continue;
        *(late[p] ? &t.late : &t.others) += sums[p].ns;
        *(late[p] ? &late_ones : &others) += 1;
        t.least = late[p] ? t.least : fmin(t.least, sums[p].ns);
    }
    t.all = mean(t.late + t.others, others > 0 ? others + late_ones : s->process_count);
    t.late = mean(t.late, late_ones);
    t.others = mean(t.others, others);
    t.least = fmin(t.least, t.others);
    return t;
}

static float share_above(double own, double level)
{
    return own > level && own > 0 ? (float)(1 - level / own) : 0;
}

/* What each does in single sections more than the others, and more than all in the mean. */
struct more {
    double late_ns, uneven_ns;
};

/* So much of what goes by single sections may go, 0 … 1: of the late ones what they do more in all than the
 * others, of each what it does more than all. */
struct net {
    double late, even;
};

/* What goes of one process's time in a section. */
static float share_of(enum gn_level level, const struct times *t, double own, bool is_late, struct net net)
{
    const bool is_more = t->late > t->others;
    switch (level) {
    case GN_LEVEL_MEAN:
        return is_late ? share_above(own, t->others) : 0;
    case GN_LEVEL_NET:
        return is_late ? (float)net.late * share_above(own, t->others) : 0;
    case GN_LEVEL_FASTEST:
        return is_late ? share_above(own, t->least) : 0;
    case GN_LEVEL_EVEN:
        return is_more ? (float)net.even * share_above(own, t->all) : 0;
    case GN_LEVEL_HALF:
        return is_late && own > t->others ? 0.5F : 0;
    default:
        return is_late && own > t->least ? 1 : 0;
    }
}

/* What is more in all, of what is more in single sections. */
static double net_of(double all, double level, double more)
{
    return more > 0 ? fmin(fmax(all - level, 0) / more, 1) : 1;
}

static void add_up(const struct gn_sections *s, const bool *late, struct more *more)
{
    for (size_t site = 0; site < s->site_count; site++) {
        const struct times t = times_of(s, site, late);
        for (size_t p = 0; p < s->process_count; p++) {
            const double ns = s->sums[site * s->process_count + p].ns;
            more[p].late_ns += fmax(0, ns - t.others);
            more[p].uneven_ns += t.late > t.others ? fmax(0, ns - t.all) : 0;
        }
    }
}

/* What those that are not late compute, each in the mean; or those of them that do what the late ones do, if
 * that is more. Below 0: all are late. */
static double others_of(const struct gn_sections_in_all *in_all, const bool *late, size_t count)
{
    double others_ns = 0, peers_ns = 0;
    size_t others = 0, peers = 0;
    for (size_t p = 0; p < count; p++) {
        others_ns += late[p] ? 0 : in_all[p].all_ns;
        others += !late[p];
        peers_ns += in_all[p].is_peer ? in_all[p].all_ns : 0;
        peers += in_all[p].is_peer;
    }
    return others > 0 ? fmax(mean(others_ns, others), mean(peers_ns, peers)) : -1;
}

/* Of each process. NULL: no memory. */
static struct net *find_net(const struct gn_sections *s, const bool *late)
{
    struct net *net = calloc(s->process_count + 1, sizeof *net);
    struct more *more = calloc(s->process_count + 1, sizeof *more);
    struct gn_sections_in_all *in_all;
    const bool is_known = gn_sections_add_up(s, late, &in_all) == 0 && net && more;
    double all_ns = 0;
    for (size_t p = 0; p < s->process_count && is_known; p++)
        all_ns += in_all[p].all_ns / (double)s->process_count;
    if (is_known) {
        const double others_ns = others_of(in_all, late, s->process_count);
        add_up(s, late, more);
        for (size_t p = 0; p < s->process_count; p++)
            net[p] = (struct net){
                late[p] && others_ns >= 0 ? net_of(in_all[p].all_ns, others_ns, more[p].late_ns) : 1,
                net_of(in_all[p].all_ns, all_ns, more[p].uneven_ns)};
    } else {
        free(net);
        net = NULL;
    }
    free(in_all);
    free(more);
    return net;
}

int gn_levels_open(struct gn_levels *levels, const struct gn_sections *s, const bool *late,
                   struct gn_error *err)
{
    const size_t entries = s->site_count * s->process_count;
    *levels = (struct gn_levels){s, calloc(GN_LEVELS * entries + 1, sizeof *levels->share)};
    if (!levels->share)
        return gn_fail(err, -ENOMEM, "no memory for what %zu processes compute", s->process_count);
    struct net *net = find_net(s, late);
    for (size_t site = 0; site < s->site_count && net; site++) {
        const struct times t = times_of(s, site, late);
        for (size_t p = 0; p < s->process_count; p++)
            for (enum gn_level level = 0; level < GN_LEVELS; level++)
                levels->share[level * entries + site * s->process_count + p] =
                    share_of(level, &t, s->sums[site * s->process_count + p].ns, late[p], net[p]);
    }
    if (!net)
        gn_levels_close(levels);
    free(net);
    return levels->share
               ? 0
               : gn_fail(err, -ENOMEM, "no memory for what %zu processes compute", s->process_count);
}

void gn_levels_close(struct gn_levels *levels)
{
    free(levels->share);
    levels->share = NULL;
}

/* What goes of what is computed before a call. */
static float share_before(const struct gn_levels *levels, enum gn_level level, const struct gn_history *h,
                          const struct gn_call *call)
{
    const struct gn_sections *s = levels->sections;
    const int64_t site = gn_section_of(s, h, call);
    const uint32_t process = h->definitions->locations[call->location].process;
    return site < 0
               ? 0
               : levels->share[((size_t)level * s->site_count + (size_t)site) * s->process_count + process];
}

static const struct gn_levels *levels_of(const struct gn_levels *levels, const struct gn_late_phases *phases,
                                         size_t part, const struct gn_call *call)
{
    const int phase = phases ? gn_late_phase_of(phases, levels->sections->seen, part, call) : 0;
    return phase < 0 ? NULL : &levels[phase];
}

int gn_levels_replay_phases(const struct gn_levels *levels, const struct gn_late_phases *phases, size_t part,
                            struct gn_whatif_result results[GN_LEVELS], struct gn_error *err)
{
    const struct gn_sections *s = levels->sections;
    const struct gn_history *h = &s->seen->parts[part].history;
    float *before = calloc(h->call_count + 1, sizeof *before);
    struct gn_whatif_pass *pass = gn_whatif_pass_new(h);
    for (enum gn_level level = 0; before && pass && level < GN_LEVELS; level++) {
        for (size_t c = 0; c < h->call_count; c++) {
            const struct gn_levels *own = levels_of(levels, phases, part, &h->calls[c]);
            before[c] = own ? share_before(own, level, h, &h->calls[c]) : 0;
        }
        results[level] = gn_whatif(pass, &(struct gn_whatif){.before = before});
    }
    const bool has_memory = before && pass;
    free(before);
    gn_whatif_pass_free(pass);
    return has_memory ? 0 : gn_fail(err, -ENOMEM, "no memory for %zu calls", h->call_count);
}

int gn_levels_replay(const struct gn_levels *levels, size_t part, struct gn_whatif_result results[GN_LEVELS],
                     struct gn_error *err)
{
    return gn_levels_replay_phases(levels, NULL, part, results, err);
}

int gn_levelled_to(struct gn_whatif_result *result, const struct gn_sections *s, size_t part, size_t site,
                   double base_ns, struct gn_error *err)
{
    const struct gn_history *h = &s->seen->parts[part].history;
    float *before = calloc(h->call_count + 1, sizeof *before);
    struct gn_whatif_pass *pass = gn_whatif_pass_new(h);
    const bool has_memory = before && pass;
    for (size_t c = 0; has_memory && c < h->call_count; c++)
        if (gn_section_of(s, h, &h->calls[c]) == (int64_t)site)
            before[c] = share_above(gn_computed_before(h, &h->calls[c]), base_ns);
    if (has_memory)
        *result = gn_whatif(pass, &(struct gn_whatif){.before = before});
    free(before);
    gn_whatif_pass_free(pass);
    return has_memory ? 0 : gn_fail(err, -ENOMEM, "no memory for %zu calls", h->call_count);
}
