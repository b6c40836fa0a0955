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

/* What goes of one process's time in a section. */
static float share_of(enum gn_level level, const struct times *t, double own, bool is_late)
{
    const bool is_more = t->late > t->others;
    switch (level) {
    case GN_LEVEL_MEAN:
        return is_late ? share_above(own, t->others) : 0;
    case GN_LEVEL_FASTEST:
        return is_late ? share_above(own, t->least) : 0;
    case GN_LEVEL_EVEN:
        return is_more ? share_above(own, t->all) : 0;
    default:
        return is_late && is_more ? 1 : 0;
    }
}

struct replays {
    const struct gn_sections *sections;
    const struct gn_history *history;
    const bool *late;
    float *share;  /* [site_count * process_count] */
    float *before; /* [call_count] */
    struct gn_whatif_pass *pass;
};

static struct gn_whatif_result replay(const struct replays *r, enum gn_level level)
{
    const struct gn_sections *s = r->sections;
    const struct gn_history *h = r->history;
    for (size_t site = 0; site < s->site_count; site++) {
        const struct times t = times_of(s, site, r->late);
        for (size_t p = 0; p < s->process_count; p++)
            r->share[site * s->process_count + p] =
                share_of(level, &t, s->sums[site * s->process_count + p].ns, r->late[p]);
    }
    for (size_t c = 0; c < h->call_count; c++) {
        const int64_t site = s->site_count > 0 ? gn_section_of(s, h, &h->calls[c]) : -1;
        const uint32_t process = h->definitions->locations[h->calls[c].location].process;
        r->before[c] = site < 0 ? 0 : r->share[(size_t)site * s->process_count + process];
    }
    return gn_whatif(r->pass, &(struct gn_whatif){.before = r->before});
}

static bool open_replays(struct replays *r)
{
    const struct gn_sections *s = r->sections;
    r->share = calloc(s->site_count * s->process_count + 1, sizeof *r->share);
    r->before = calloc(r->history->call_count + 1, sizeof *r->before);
    r->pass = gn_whatif_pass_new(r->history);
    return r->share && r->before && r->pass;
}

static void close_replays(struct replays *r)
{
    free(r->share);
    free(r->before);
    gn_whatif_pass_free(r->pass);
}

int gn_levelled_find(struct gn_whatif_result results[GN_LEVELS], const struct gn_sections *sections,
                     size_t part, const bool *late, struct gn_error *err)
{
    struct replays r = {.sections = sections, .history = &sections->seen->parts[part].history, .late = late};
    const bool has_memory = open_replays(&r);
    for (enum gn_level level = 0; has_memory && level < GN_LEVELS; level++)
        results[level] = replay(&r, level);
    close_replays(&r);
    return has_memory ? 0 : gn_fail(err, -ENOMEM, "no memory for %zu calls", r.history->call_count);
}

int gn_levelled_gone(struct gn_whatif_result *gone, const struct gn_sections *sections, size_t part,
                     const bool *late, struct gn_error *err)
{
    struct replays r = {.sections = sections, .history = &sections->seen->parts[part].history, .late = late};
    const bool has_memory = open_replays(&r);
    if (has_memory)
        *gone = replay(&r, GN_LEVEL_GONE);
    close_replays(&r);
    return has_memory ? 0 : gn_fail(err, -ENOMEM, "no memory for %zu calls", r.history->call_count);
}
