/*
 * Tables 3 and 4 of Benavides et al. 2019 (section 6) for one traced run with a straggler that is known: its
 * score, and how much shorter the run would be without it. bench/table345.py makes the runs and compares with
 * what they really take when the straggler is gone.
 *
 *   stragglers RUN BUSY WAITING RANK FACTOR    regions; the straggler; how many times the work it does
 *
 * Printed is JSON, an object for each way to bring the hosts' times together:
 *
 *   gnomon             the bounds of the run
 *   linear regression  } a straight line without bounds, through gnomon's own exchanges (the run has to be
 *   convex hull        } measured with --keep-exchanges), or through the program's messages, as the paper
 *                        fits them (sections 3.5 and 6): what a collective gives each of its members counts
 *                        as a message, which left when its giver entered and was there when its taker left
 *
 * and in it, for each form of the question "what if the straggler were gone?", by how much its region is made
 * faster at that rank, and by how much that makes the run shorter:
 *
 *   score           by its score, as the paper does (step 2)
 *   gnomon's score  by the score with gnomon's bounds (the paper's "w/ FreeZer SS")
 *   time alone      by the time in which it alone was busy: score × run ÷ time in the region
 *   mean, median    to what the other ranks take
 *   factor          by what is known: 1 − 1 / FACTOR
 */
#include "analyse/scores.h"
#include "analyse/whatif.h"
#include "base/grow.h"
#include "cli/history.h"
#include "baselines/fits.h"
#include "kept_exchanges.h"
#include "trace/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct asked {
    const char *run, *busy, *waiting;
    int32_t rank;
    double factor;
};

enum form { BY_SCORE, BY_GNOMONS_SCORE, BY_TIME_ALONE, TO_MEAN, TO_MEDIAN, BY_FACTOR, FORMS };

static const char *const form_names[] = {"score", "gnomon's score", "time alone", "mean", "median", "factor"};

struct share {
    double lo, hi;
};

static int no_memory(struct gn_error *err)
{
    return gn_fail(err, -ENOMEM, "no memory");
}

/* ---- scores ---- */

static uint32_t location_of(const struct gn_history *h, int32_t rank)
{
    const struct gn_definitions *d = h->definitions;
    for (size_t p = 0; p < d->process_count; p++)
        if (d->processes[p].rank == rank)
            return d->processes[p].main_location;
    return GN_NONE;
}

static int score_of(const struct gn_history *h, const struct asked *a, struct gn_score *score,
                    struct gn_error *err)
{
    struct gn_groups groups = {.of = NULL};
    struct gn_scores scores = {.scores = NULL};
    struct gn_named busy = {NULL, NULL}, waiting = {NULL, NULL};
    const struct gn_scores_settings settings = {.waiting = &waiting, .busy = &busy};
    const uint32_t location = location_of(h, a->rank);
    int code =
        gn_named_open(&busy, h->definitions) && gn_named_open(&waiting, h->definitions) ? 0 : no_memory(err);
    if (code == 0) {
        gn_named_add(&busy, h, a->busy);
        gn_named_add(&waiting, h, a->waiting);
    }
    if (code == 0 && location >= h->definitions->location_count)
        code = gn_fail(err, -EINVAL, "%s: there is no rank %" PRId32, a->run, a->rank);
    if (code == 0)
        code = gn_groups_make(&groups, h, GN_SCORED_RANK, err);
    if (code == 0)
        code = gn_scores_find(&scores, h, &groups, &settings, err);
    if (code == 0)
        *score = scores.scores[groups.of[location]];
    gn_scores_clear(&scores);
    gn_groups_clear(&groups);
    gn_named_clear(&busy);
    gn_named_clear(&waiting);
    return code;
}

/* ---- by how much ---- */

/* Of threads that go along with others, nothing: a rank takes as long as those that they go along with. */
static double *times_of_ranks(const struct gn_history *h, const bool *chosen)
{
    const struct gn_definitions *d = h->definitions;
    double *time_ns = calloc(d->process_count + 1, sizeof *time_ns);
    for (size_t c = 0; time_ns && c < h->call_count; c++) {
        const struct gn_call *call = &h->calls[c];
        const struct gn_piece *piece = &h->pieces[call->first_piece];
        for (uint32_t i = 0; i < call->piece_count && !h->is_carried[call->location]; i++)
            if (chosen[piece[i].activity])
                time_ns[d->locations[call->location].process] += (piece[i].lo_ns + piece[i].hi_ns) / 2;
    }
    return time_ns;
}

static int ascending(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

struct times {
    double own_ns, mean_ns, median_ns; /* of the straggler; of the others */
};

static struct times times_in_region(const struct gn_history *h, double *of_process_ns, int32_t rank)
{
    const struct gn_definitions *d = h->definitions;
    struct times t = {0, 0, 0};
    size_t others = 0;
    for (size_t p = 0; p < d->process_count; p++) {
        if (d->processes[p].rank == rank) {
            t.own_ns = of_process_ns[p];
        } else {
            t.mean_ns += of_process_ns[p];
            of_process_ns[others++] = of_process_ns[p]; /* others ≤ p */
        }
    }
    if (others == 0)
        return t;
    t.mean_ns /= (double)others;
    qsort(of_process_ns, others, sizeof *of_process_ns, ascending);
    t.median_ns = (of_process_ns[(others - 1) / 2] + of_process_ns[others / 2]) / 2;
    return t;
}

static double limited(double share)
{
    return share > 0 ? share < 1 ? share : 1 : 0; /* NAN: nothing was done in the region */
}

static struct share same(double share)
{
    return (struct share){limited(share), limited(share)};
}

static struct share share_of(enum form form, const struct gn_history *h, const struct asked *a,
                             const struct times *t, const struct gn_score *own, const struct gn_score *gnomon)
{
    switch (form) {
    case BY_SCORE:
        return (struct share){limited(own->lo / 100), limited(own->hi / 100)};
    case BY_GNOMONS_SCORE:
        return (struct share){limited(gnomon->lo / 100), limited(gnomon->hi / 100)};
    case BY_TIME_ALONE:
        return (struct share){limited(own->lo / 100 * (double)h->length.lo_ns / t->own_ns),
                              limited(own->hi / 100 * (double)h->length.hi_ns / t->own_ns)};
    case TO_MEAN:
        return same(1 - t->mean_ns / t->own_ns);
    case TO_MEDIAN:
        return same(1 - t->median_ns / t->own_ns);
    default:
        return same(1 - 1 / a->factor);
    }
}

/* ---- predictions ---- */

struct question {
    const struct gn_history *h;
    struct gn_whatif_pass *pass;
    bool *chosen, *at_location;
    float *share;
    double *times_ns;
};

static void question_end(struct question *q)
{
    gn_whatif_pass_free(q->pass);
    free(q->chosen);
    free(q->at_location);
    free(q->share);
    free(q->times_ns);
}

static int question_begin(struct question *q, const struct gn_history *h, const struct asked *a,
                          struct gn_error *err)
{
    const struct gn_definitions *d = h->definitions;
    *q = (struct question){.h = h,
                           .pass = gn_whatif_pass_new(h),
                           .chosen = calloc(h->activity_count + 1, sizeof *q->chosen),
                           .at_location = calloc(d->location_count + 1, sizeof *q->at_location),
                           .share = calloc(h->activity_count + 1, sizeof *q->share)};
    int code = q->pass && q->chosen && q->at_location && q->share ? 0 : no_memory(err);
    if (code == 0 && gn_activities_named(h, a->busy, q->chosen) == 0)
        code = gn_fail(err, -EINVAL, "%s: nothing is computed in a region \"%s\"", a->run, a->busy);
    for (size_t l = 0; l < d->location_count && code == 0; l++)
        q->at_location[l] = d->processes[d->locations[l].process].rank == a->rank;
    if (code == 0 && !(q->times_ns = times_of_ranks(h, q->chosen)))
        code = no_memory(err);
    if (code != 0)
        question_end(q);
    return code;
}

static struct gn_whatif_result predict(const struct question *q, double share)
{
    const struct gn_whatif what = {.share = q->share, .at_location = q->at_location};
    for (size_t i = 0; i < q->h->activity_count; i++)
        q->share[i] = q->chosen[i] ? (float)share : 0;
    return gn_whatif(q->pass, &what);
}

/* A larger share is never a smaller reduction. */
static void print_forms(const struct question *q, const struct asked *a, const struct gn_score *own,
                        const struct gn_score *gnomon)
{
    const struct times times = times_in_region(q->h, q->times_ns, a->rank);
    for (enum form form = 0; form < FORMS; form++) {
        const struct share share = share_of(form, q->h, a, &times, own, gnomon);
        printf("%s\"%s\": {\"share\": [%.9f, %.9f], \"reduction_s\": [%.9f, %.9f]}", form ? ", " : "",
               form_names[form], share.lo, share.hi, predict(q, share.lo).reduction_lo_ns / 1e9,
               predict(q, share.hi).reduction_hi_ns / 1e9);
    }
}

static int print_one(const char *name, const struct gn_history *h, const struct asked *a,
                     struct gn_score *gnomon, struct gn_error *err)
{
    struct gn_score own;
    struct question question;
    int code = score_of(h, a, &own, err);
    if (code == 0 && !name[0])
        *gnomon = own;
    if (code == 0)
        code = question_begin(&question, h, a, err);
    if (code != 0)
        return code;
    printf("%s{\"clocks\": \"%s\", \"length_s\": [%.9f, %.9f], \"score\": [%.9f, %.9f], \"forms\": {",
           name[0] ? ",\n " : "[", name[0] ? name : "gnomon", (double)h->length.lo_ns / 1e9,
           (double)h->length.hi_ns / 1e9, own.lo, own.hi);
    print_forms(&question, a, &own, gnomon);
    printf("}}");
    question_end(&question);
    return 0;
}

/* ---- the program's messages ---- */

struct messages {
    struct gn_exchange *list; /* each with one half only */
    size_t count, capacity;
    uint32_t child; /* clock domains of the trace */
    uint32_t parent;
    bool failed;
};

static bool is_of(const struct gn_history *h, const struct gn_call *call, uint32_t domain)
{
    return h->definitions->locations[call->location].domain == domain;
}

static void add(struct messages *m, const struct gn_exchange *x)
{
    if (gn_grow(&m->list, &m->capacity, m->count, sizeof *m->list))
        m->list[m->count++] = *x;
    else
        m->failed = true;
}

static void add_message(struct messages *m, const struct gn_history *h, const struct gn_call *from,
                        const struct gn_call *to)
{
    const bool there = is_of(h, from, m->child) && is_of(h, to, m->parent);
    if (there)
        add(m, &(struct gn_exchange){
                   .asked_ticks = from->enter_ticks, .heard_ticks = to->leave_ticks, .there = true});
    else if (is_of(h, from, m->parent) && is_of(h, to, m->child))
        add(m, &(struct gn_exchange){
                   .answered_ticks = from->enter_ticks, .received_ticks = to->leave_ticks, .back = true});
}

/* Of a blocking collective: a call is left when what the others give has come. */
static void add_pair(struct messages *m, const struct gn_history *h, const struct gn_given_part *of_child,
                     const struct gn_given_part *of_parent)
{
    const struct gn_call *child = &h->calls[of_child->call], *parent = &h->calls[of_parent->call];
    const struct gn_exchange x = {.asked_ticks = child->enter_ticks,
                                  .heard_ticks = parent->leave_ticks,
                                  .answered_ticks = parent->enter_ticks,
                                  .received_ticks = child->leave_ticks,
                                  .there = of_child->gives && of_parent->gets,
                                  .back = of_parent->gives && of_child->gets};
    if (is_of(h, child, m->child) && is_of(h, parent, m->parent) && (x.there || x.back))
        add(m, &x);
}

static int find_messages(struct messages *m, const struct gn_history *h, struct gn_error *err)
{
    for (size_t g = 0; g < h->gathering_count; g++) {
        const struct gn_given_part *parts = &h->parts[h->gatherings[g].first_part];
        const uint32_t count = h->gatherings[g].shape == GN_SHAPE_PREFIX ? 0 : h->gatherings[g].part_count;
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t j = 0; j < count; j++)
                add_pair(m, h, &parts[i], &parts[j]);
    }
    for (size_t i = 0; i < h->take_count; i++)
        if (h->takes[i].kind == GN_TAKE_MESSAGE)
            add_message(m, h, &h->calls[h->takes[i].from], &h->calls[h->takes[i].call]);
    return m->failed ? no_memory(err) : 0;
}

/* ---- clocks without bounds ---- */

struct line {
    const struct gn_fit *fit; /* NULL: the reference */
    const struct gn_clock_row *row;
    uint64_t epoch_ticks; /* of the reference */
};

static struct gn_interval time_of(const struct line *line, uint64_t ticks)
{
    if (line->fit)
        return gn_fit_convert(line->fit, ticks);
    const long double since = (long double)(int64_t)(ticks - line->epoch_ticks);
    const int64_t ns = (int64_t)roundl(since * 1e9L / (long double)line->row->def.hz);
    return (struct gn_interval){ns, ns};
}

/* A straight line needs two points: before and after all that was measured. */
static struct gn_bounds *bounds_of(const struct line *line, struct gn_error *err)
{
    const uint64_t second = (uint64_t)line->row->def.hz;
    struct gn_breakpoint ends[] = {{.ticks = line->row->epoch_ticks - second},
                                   {.ticks = line->row->last_ticks + second}};
    for (int i = 0; i < 2; i++) {
        const struct gn_interval at = time_of(line, ends[i].ticks);
        ends[i].lo_ns = at.lo_ns;
        ends[i].hi_ns = at.hi_ns;
    }
    const double rate = (double)(ends[1].lo_ns - ends[0].lo_ns) / (double)(ends[1].ticks - ends[0].ticks);
    const struct gn_outside outside = {rate, rate};
    return gn_bounds_new(ends, 2, &outside, err);
}

/* What a way to bring times together knows of each host. */
struct hosts {
    struct kept_exchanges kept;
    struct messages *messages; /* [kept.clocks.count] between the host and the reference */
};

static uint32_t domain_named(const struct gn_definitions *d, const char *host)
{
    for (size_t l = 0; l < d->location_count; l++)
        if (strcmp(gn_domain_name(d, d->locations[l].domain), host) == 0)
            return d->locations[l].domain;
    return GN_NONE;
}

static void clear_hosts(struct hosts *t)
{
    for (uint32_t i = 0; t->messages && i < t->kept.clocks.count; i++)
        free(t->messages[i].list);
    free(t->messages);
    kept_exchanges_clear(&t->kept);
}

static int read_hosts(struct hosts *t, const struct gn_history *h, const char *run, struct gn_error *err)
{
    *t = (struct hosts){.messages = NULL};
    int code = kept_exchanges_read(&t->kept, run, err);
    if (code != 0)
        return code;
    t->messages = calloc(t->kept.clocks.count + 1, sizeof *t->messages);
    code = t->messages ? 0 : no_memory(err);
    for (uint32_t i = 0; i < t->kept.clocks.count && code == 0; i++) {
        t->messages[i].parent = domain_named(h->definitions, t->kept.clocks.rows[0].host);
        t->messages[i].child = domain_named(h->definitions, t->kept.clocks.rows[i].host);
        code = i > 0 ? find_messages(&t->messages[i], h, err) : 0;
    }
    if (code != 0)
        clear_hosts(t);
    return code;
}

/* One line for each host; the reference's is its own. */
static int fit_lines(struct gn_bounds **bounds, const struct hosts *t, enum gn_fit_kind kind, bool own,
                     struct gn_error *err)
{
    const struct gn_clock_row *rows = t->kept.clocks.rows;
    for (uint32_t i = 0; i < t->kept.clocks.count; i++) {
        const struct gn_fit_pair pair = {.exchanges = own ? t->messages[i].list : t->kept.of[i].list,
                                         .count = own ? t->messages[i].count : t->kept.of[i].count,
                                         .child = rows[i].def,
                                         .parent = rows[0].def,
                                         .epoch_ticks = rows[0].epoch_ticks};
        struct gn_fit *fit = i > 0 ? gn_fit_new(kind, &pair, err) : NULL;
        const struct line line = {fit, &rows[i], rows[0].epoch_ticks};
        if (fit || i == 0)
            bounds[i] = bounds_of(&line, err);
        gn_fit_free(fit);
        if (!bounds[i])
            return -EINVAL;
    }
    return 0;
}

static const struct gn_bounds *bounds_at(const struct hosts *t, struct gn_bounds *const *bounds,
                                         uint32_t domain)
{
    for (uint32_t i = 0; i < t->kept.clocks.count; i++)
        if (t->messages[i].child == domain)
            return bounds[i];
    return NULL;
}

/* The same trace on these clocks. */
static int print_read_again(const char *name, const struct asked *a, const struct hosts *t,
                            struct gn_bounds *const *bounds, struct gn_score *gnomon, struct gn_error *err)
{
    struct gn_source source;
    struct gn_history history;
    int code = gn_trace_open(&source, NULL, a->run, err);
    if (code < 0)
        return code;
    const size_t locations = source.definitions->location_count;
    const struct gn_bounds **of = calloc(locations + 1, sizeof *of);
    for (size_t l = 0; of && l < locations; l++)
        of[l] = bounds_at(t, bounds, source.definitions->locations[l].domain);
    const struct gn_history_settings settings = {.bounds = of, .has_tracks = true};
    code = of ? gn_history_read(&history, &source, &settings, err) : no_memory(err);
    if (code == 0) {
        code = print_one(name, &history, a, gnomon, err);
        gn_history_clear(&history);
    }
    free(of);
    source.close(source.self);
    return code;
}

static int print_fit(const struct asked *a, const struct hosts *t, enum gn_fit_kind kind, bool own,
                     struct gn_score *gnomon, struct gn_error *err)
{
    char name[80];
    snprintf(name, sizeof name, "%s, %s", gn_fit_name(kind), own ? "program" : "exchanges");
    struct gn_bounds **bounds = calloc(t->kept.clocks.count + 1, sizeof(struct gn_bounds *));
    if (!bounds)
        return no_memory(err);
    int code = 0;
    if (fit_lines(bounds, t, kind, own, err) == 0)
        code = print_read_again(name, a, t, bounds, gnomon, err);
    else /* that there is none is a result */
        printf(",\n {\"clocks\": \"%s\", \"problem\": \"%s\"}", name, err->text);
    for (uint32_t i = 0; i < t->kept.clocks.count; i++)
        gn_bounds_free(bounds[i]);
    free(bounds);
    return code;
}

/* ---- all ---- */

static int print_all(const struct asked *a, const struct gn_history *h, struct gn_error *err)
{
    static const enum gn_fit_kind kinds[] = {GN_FIT_REGRESSION, GN_FIT_HULL};
    struct hosts hosts;
    struct gn_score gnomon;
    int code = read_hosts(&hosts, h, a->run, err);
    if (code != 0)
        return code;
    code = print_one("", h, a, &gnomon, err);
    for (int own = 0; own < 2; own++)
        for (int k = 0; k < 2 && code == 0; k++)
            code = print_fit(a, &hosts, kinds[k], own, &gnomon, err);
    if (code == 0)
        printf("]\n");
    clear_hosts(&hosts);
    return code;
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: stragglers RUN BUSY WAITING RANK FACTOR\n");
        return 2;
    }
    const struct asked a = {argv[1], argv[2], argv[3], atoi(argv[4]), atof(argv[5])};
    const struct gn_cli_history_settings settings = {.command = "stragglers", .has_tracks = true};
    struct gn_cli_history *opened = malloc(sizeof *opened);
    struct gn_error err = {""};
    int code = opened ? gn_cli_history_open(opened, a.run, &settings, &err) : no_memory(&err);
    if (code == 0) {
        gn_cli_history_tell(opened, "stragglers");
        code = print_all(&a, &opened->history, &err);
        gn_cli_history_close(opened);
    }
    free(opened);
    if (code < 0)
        fprintf(stderr, "stragglers: %s\n", err.text);
    return code < 0 ? 2 : 0;
}
