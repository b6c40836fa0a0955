#include "profile/deal.h"

#include "graph/sampled.h"
#include "program/names.h"
#include "program/runtime.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Looks are independent of each other, but each stands for the time since the one before, which varies. */
static const double PER_LOOK = 1.5;

static int by_location(const void *left, const void *right)
{
    const struct gn_sample_row *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    if (a->location != b->location)
        return a->location < b->location ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static bool is_own_library(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash && strncmp(slash + 1, "libgnomon", strlen("libgnomon")) == 0;
}

/* Recording: what it takes is taken off already. Nor are marks of regions anything of the program's. */
bool gn_deal_is_ours(const struct gn_edge_dealer *g, int place)
{
    const struct gn_sample_place *p = place == GN_SAMPLE_OTHER_PLACES ? NULL : &g->samples.places[place];
    return p && (gn_name_is_region_mark(p->function) || is_own_library(p->library) ||
                 (!p->library && is_own_library(p->module)));
}

/* One more over all locations; rows come by edge and place. */
static void add_up(struct gn_sample_row *rows, size_t *count, const struct gn_sample_row *r)
{
    struct gn_sample_row *last = *count ? &rows[*count - 1] : NULL;
    if (last && last->from == r->from && last->to == r->to && last->place == r->place) {
        gn_samples_sum(&last->count, r->count);
        gn_samples_sum(&last->time_ns, r->time_ns);
    } else {
        rows[*count] = *r;
        rows[(*count)++].location = 0;
    }
}

/* What a look has found. */
static void take_look(struct gn_edge_dealer *g, const struct gn_sample_row *r)
{
    if (r->other_threads || r->to == 0 || gn_deal_is_ours(g, r->place))
        return;
    if (r->how == GN_SAMPLED_ASLEEP)
        g->asleep[g->asleep_count++] = *r;
    if (r->how == GN_SAMPLED_INTERPRETED) {
        g->lines[g->line_count++] = *r;
        add_up(g->all_lines, &g->all_line_count, r);
    }
    if (r->how == GN_SAMPLED_NATIVE) {
        g->native[g->native_count++] = *r;
        add_up(g->all_native, &g->all_native_count, r);
    }
}

static void sort_by_location(struct gn_sample_row *rows, size_t count)
{
    if (count)
        qsort(rows, count, sizeof *rows, by_location);
}

/* Samples of what locations did themselves, ordered by edge and location; and likewise added up over all of
 * these, as of location 0. */
int gn_deal_sort(struct gn_edge_dealer *g)
{
    struct gn_samples *s = &g->samples;
    struct gn_sample_row **const kinds[] = {&g->counted, &g->added_up, &g->in_calls,  &g->asleep,
                                            &g->lines,   &g->native,   &g->all_lines, &g->all_native};
    size_t used = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (!(*kinds[i] = calloc(s->row_count + 1, sizeof **kinds[i])))
            return gn_fail(g->rows->err, -ENOMEM, "no memory for the rows of the report");
    for (size_t i = 0; i < s->row_count; i++) { /* by edge and place */
        const struct gn_sample_row *r = &s->rows[i];
        if (r->how >= GN_SAMPLED_METRIC) {
            g->counted[g->counted_count++] = *r;
            continue;
        }
        if (r->how != GN_SAMPLED_RUNNING) {
            take_look(g, r);
            continue;
        }
        g->rows->summary->sampling.has_others |= r->other_threads;
        if (g->raw && !r->other_threads && gn_deal_is_ours(g, r->place))
            g->rows->summary->sampling.ours_s += (double)r->time_ns * 1e-9;
        if (r->to == 0 && !r->other_threads)
            g->in_calls[g->in_call_count++] = *r;
        if (r->other_threads || r->to == 0 || gn_deal_is_ours(g, r->place))
            continue;
        add_up(g->added_up, &g->added_up_count, r);
        s->rows[used++] = *r;
    }
    s->row_count = used;
    sort_by_location(s->rows, used);
    sort_by_location(g->in_calls, g->in_call_count);
    sort_by_location(g->asleep, g->asleep_count);
    sort_by_location(g->lines, g->line_count);
    sort_by_location(g->native, g->native_count);
    return 0;
}

/* Rows of one edge and location. */
struct some {
    const struct gn_sample_row *rows;
    size_t count;
    int64_t samples, time_ns; /* of processor time, that they stand for */
};

static struct some samples_of(const struct gn_sample_row *rows, size_t count, int64_t from, int64_t to,
                              int64_t location)
{
    const struct gn_sample_row sought = {.from = from, .to = to, .location = location, .place = INT32_MIN};
    struct some some = {.rows = rows};
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (by_location(&rows[middle], &sought) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (some.rows = &rows[low];
         low < count && rows[low].from == from && rows[low].to == to && rows[low].location == location;
         low++, some.count++) {
        gn_samples_sum(&some.samples, rows[low].count);
        gn_samples_sum(&some.time_ns, rows[low].time_ns);
    }
    return some;
}

/* What is known of where a location is on an edge, while it computes there. */
struct seen {
    struct some samples;       /* of processor time */
    struct some lines, native; /* looks: at lines of Python; outside of it */
};

static struct seen seen_of(const struct gn_edge_dealer *g, const struct gn_activity_row *range,
                           int64_t location)
{
    return (struct seen){samples_of(g->samples.rows, g->samples.row_count, range->from, range->to, location),
                         samples_of(g->lines, g->line_count, range->from, range->to, location),
                         samples_of(g->native, g->native_count, range->from, range->to, location)};
}

static struct seen seen_of_all(const struct gn_edge_dealer *g, const struct gn_activity_row *range)
{
    return (struct seen){samples_of(g->added_up, g->added_up_count, range->from, range->to, 0),
                         samples_of(g->all_lines, g->all_line_count, range->from, range->to, 0),
                         samples_of(g->all_native, g->all_native_count, range->from, range->to, 0)};
}

struct gn_activity_row gn_deal_row(const struct gn_edge_dealer *g, const struct gn_activity_row *range,
                                   int place)
{
    struct gn_activity_row row = *range;
    if (place == GN_SAMPLE_OTHER_PLACES) {
        row.how = GN_HOW_OTHER_PLACES;
        return row;
    }
    gn_row_at(&row, &g->samples.places[place]);
    return row;
}

/* Samples of one kind of a location on an edge, and the row of each. */
struct dealt {
    struct some some;
    bool is_asleep; /* found so */
    int64_t ns;     /* to be divided as they are */
    int64_t cpu_ns; /* of it, on a core, by the location's own samples */
    double off_ns;  /* by which that may be off */
};

static struct gn_activity_row dealt_row(const struct gn_edge_dealer *g, const struct gn_activity_row *range,
                                        const struct dealt *d, int place)
{
    struct gn_activity_row row = gn_deal_row(g, range, place);
    if (d->is_asleep && place == GN_SAMPLE_OTHER_PLACES) {
        row.how = GN_HOW_UNSEEN;
        row.on_no_core = true;
    } else if (d->is_asleep && !row.runtime) {
        row.runtime = (char *)(uintptr_t)gn_runtime_text(GN_RUNTIME_ASLEEP);
    }
    return row;
}

/* Adds pieces that add up to d->ns. The first one has what else *part has (its count), which is then 0. */
static int deal_as_seen(struct gn_edge_dealer *g, const struct gn_activity_row *range, const struct dealt *d,
                        struct gn_row_stretch *part)
{
    int64_t given = 0, passed = 0;
    int code = 0;
    for (size_t i = 0; code == 0 && i < d->some.count; i++) {
        const struct gn_sample_row *r = &d->some.rows[i];
        const double share = (double)r->time_ns / (double)d->some.time_ns;
        const struct gn_activity_row row = dealt_row(g, range, d, r->place);
        double off = d->off_ns * share;
        gn_samples_sum(&passed, r->time_ns);
        const double until = (double)d->ns * ((double)passed / (double)d->some.time_ns);
        part->ns = (passed >= d->some.time_ns ? d->ns : (int64_t)until) - given;
        part->cpu_ns = (int64_t)((double)d->cpu_ns * share);
        part->asleep_ns = d->is_asleep ? part->ns : 0;
        given += part->ns;
        if (d->is_asleep) { /* shares of the others are those of the whole edge */
            const struct gn_samples_share found = gn_samples_share(r->count, d->some.samples, PER_LOOK);
            off = hypot(off, fmax(found.high - found.share, found.share - found.low) * (double)d->ns);
        }
        code = gn_row_pieces_add(g->rows, &row, part);
        gn_row_pieces_add_off(g->rows, &row, off, d->is_asleep ? r->count : 0);
        part->count = 0;
    }
    return code;
}

static int add_rest(struct gn_edge_dealer *g, const struct gn_activity_row *range, enum gn_how how,
                    bool with_kernel, int64_t ns, double off_ns, struct gn_row_stretch *part)
{
    struct gn_activity_row row = *range;
    row.how = how;
    row.on_no_core = how == GN_HOW_UNSEEN && with_kernel;
    part->ns = ns;
    part->cpu_ns = part->asleep_ns = 0;
    const int code = gn_row_pieces_add(g->rows, &row, part);
    part->count = 0;
    gn_row_pieces_add_off(g->rows, &row, off_ns, 0);
    return code;
}

/* What no sample is of: at places where the location was found asleep, for as long as it was; and what is
 * left of it. */
static int add_unseen(struct gn_edge_dealer *g, const struct gn_activity_row *range, int64_t location,
                      int64_t ns, double off_ns, const struct gn_sampled_process *process,
                      struct gn_row_stretch *part)
{
    struct dealt d = {.some = samples_of(g->asleep, g->asleep_count, range->from, range->to, location),
                      .is_asleep = true};
    const struct gn_divided asleep = gn_divide_asleep(ns, d.some.time_ns, d.some.samples, process);
    int code = 0;
    d.ns = asleep.ns;
    d.off_ns = off_ns = hypot(off_ns, asleep.off_ns);
    if (d.ns > 0)
        code = deal_as_seen(g, range, &d, part);
    return code == 0 && ns > d.ns
               ? add_rest(g, range, GN_HOW_UNSEEN, process->with_kernel, ns - d.ns, off_ns, part)
               : code;
}

static struct gn_edge_time time_of(const struct gn_edge_dealer *g, const struct some *seen,
                                   const struct gn_dealt_edge *edge, int64_t location, int64_t ns,
                                   int64_t times)
{
    const struct some asleep =
        samples_of(g->asleep, g->asleep_count, edge->range.from, edge->range.to, location);
    return (struct gn_edge_time){ns, times, seen->samples, seen->time_ns, asleep.samples, asleep.time_ns};
}

/* ---- Python ---- */

/* A function that the interpreter calls, as samples name it. */
struct native {
    char *library, *called, *runtime;
};

static struct native native_of(const struct gn_edge_dealer *g, int place)
{
    const struct gn_sample_place *p = place == GN_SAMPLE_OTHER_PLACES ? NULL : &g->samples.places[place];
    return !p           ? (struct native){NULL, NULL, NULL}
           : p->library ? (struct native){p->library, p->called, p->runtime}
                        : (struct native){p->module, p->function, p->runtime};
}

static bool is_same_native(struct native a, struct native b)
{
    return a.called && b.called && strcmp(a.called, b.called) == 0 &&
           strcmp(a.library ? a.library : "", b.library ? b.library : "") == 0;
}

/* The share of samples in that function; 0: an earlier row of it has told. */
static double share_of(const struct gn_edge_dealer *g, const struct some *samples, size_t row)
{
    const struct native sought = native_of(g, samples->rows[row].place);
    double sum = 0;
    for (size_t i = 0; i < samples->count && sought.called; i++) {
        const bool same = is_same_native(native_of(g, samples->rows[i].place), sought);
        if (same && i < row)
            return 0;
        sum += same ? (double)samples->rows[i].time_ns : 0;
    }
    return sum / (double)samples->time_ns;
}

static int add_line(struct gn_edge_dealer *g, const struct gn_activity_row *row, double ns, double off_ns,
                    int64_t samples, double on_core, struct gn_row_stretch *part)
{
    part->ns = (int64_t)ns;
    part->cpu_ns = (int64_t)(ns * on_core);
    const int code = gn_row_pieces_add(g->rows, row, part);
    part->count = 0;
    gn_row_pieces_add_off(g->rows, row, off_ns, samples);
    return code;
}

/* The share of looks that found Python running. */
static double seen_in_python(const struct seen *seen)
{
    return (double)seen->lines.time_ns / ((double)seen->lines.time_ns + (double)seen->native.time_ns);
}

/* A line's time. Looks do not see which function it calls, and samples not from which line: what share of the
 * time both surely have together is what their shares are beyond 1 in sum. */
static int deal_line(struct gn_edge_dealer *g, const struct gn_activity_row *range, const struct seen *seen,
                     const struct gn_sample_row *line, double ns, double on_core, struct gn_row_stretch *part)
{
    const int64_t looks = seen->lines.samples + seen->native.samples;
    const double share = (double)line->time_ns / (double)seen->lines.time_ns;
    const struct gn_samples_share found = gn_samples_share(line->count, looks, PER_LOOK);
    const double all_ns = ns / seen_in_python(seen);
    const double off_ns = fmax(found.high - found.share, found.share - found.low) * all_ns;
    const struct gn_activity_row row = gn_deal_row(g, range, line->place);
    double left = share;
    int code = 0;
    const bool both_known = seen->native.samples == 0 && seen->samples.time_ns > 0;
    for (size_t i = 0; i < seen->samples.count && both_known && code == 0; i++) {
        static const double least = 0.01;
        const struct native native = native_of(g, seen->samples.rows[i].place);
        const double both = fmin(left, share_of(g, &seen->samples, i) + share - 1);
        if (both < least || line->place == GN_SAMPLE_OTHER_PLACES)
            continue;
        struct gn_activity_row called = row;
        called.library = native.library;
        called.called = native.called;
        called.runtime = native.runtime;
        left -= both;
        code = add_line(g, &called, both * ns, off_ns * both / share, seen->samples.rows[i].count, on_core,
                        part);
    }
    return code == 0 && left > 0 ? add_line(g, &row, left * ns, off_ns * left / share,
                                            left == share ? line->count : 0, on_core, part)
                                 : code;
}

/* What is computed in Python, by its lines. *d: what is left, outside of it. */
static int deal_lines(struct gn_edge_dealer *g, struct gn_dealt_edge *edge, const struct seen *seen,
                      struct dealt *d, struct gn_row_stretch *part)
{
    const int64_t looks = seen->lines.samples + seen->native.samples;
    const struct gn_samples_share found = gn_samples_share(seen->native.samples, looks, PER_LOOK);
    const double ns = (double)d->ns * seen_in_python(seen),
                 on_core = d->ns > 0 ? (double)d->cpu_ns / (double)d->ns : 0;
    const int64_t dealt = (int64_t)ns;
    int code = 0;
    for (size_t i = 0; i < seen->lines.count && code == 0; i++)
        code = deal_line(g, &edge->range, seen, &seen->lines.rows[i], ns, on_core, part);
    if (seen->native.samples > 0)
        d->off_ns = hypot(d->off_ns, fmax(found.high - found.share, found.share - found.low) * (double)d->ns);
    edge->lines_ns += dealt;
    d->cpu_ns -= (int64_t)((double)dealt * on_core);
    d->ns -= dealt;
    return code;
}

/* Samples without those that are in the interpreter itself, if there are others; places come in their order.
 */
static struct some outside_interpreter(struct some some)
{
    if (some.count > 1 && some.rows[0].place == GN_SAMPLE_OTHER_PLACES) {
        some.samples -= some.rows[0].count;
        some.time_ns -= some.rows[0].time_ns;
        some.rows++;
        some.count--;
    }
    return some;
}

/* ---- an edge ---- */

/* A location's time on an edge, divided as its samples there are; as those of all locations where it has
 * none. What no sample is of has a row of its own. */
int gn_deal_time(struct gn_edge_dealer *g, struct gn_dealt_edge *edge, int64_t location,
                 const struct gn_row_stretch *whole, const struct gn_sampled_process *process)
{
    struct seen seen = seen_of(g, &edge->range, location);
    struct dealt d = {.cpu_ns = seen.samples.time_ns};
    const struct gn_edge_time time = time_of(g, &seen.samples, edge, location, whole->ns, whole->count);
    const struct gn_divided unseen = gn_divide(time, process, &edge->sum);
    struct gn_row_stretch part = *whole;
    int code = 0;
    d.ns = whole->ns - unseen.ns;
    d.off_ns = unseen.off_ns;
    if (seen.samples.time_ns == 0 && seen.lines.time_ns == 0)
        seen = seen_of_all(g, &edge->range);
    if (unseen.ns > 0) {
        edge->unseen_ns += unseen.ns;
        code = add_unseen(g, &edge->range, location, unseen.ns, unseen.off_ns, process, &part);
    }
    if (code != 0 || (unseen.ns > 0 && d.ns == 0 && d.cpu_ns == 0))
        return code;
    if (seen.lines.time_ns > 0)
        code = deal_lines(g, edge, &seen, &d, &part);
    if (code != 0 || (seen.lines.time_ns > 0 && d.ns <= 0))
        return code;
    d.some = seen.lines.time_ns > 0 ? outside_interpreter(seen.samples) : seen.samples;
    return d.some.time_ns > 0 ? deal_as_seen(g, &edge->range, &d, &part)
                              : add_rest(g, &edge->range, GN_HOW_RANGE, false, d.ns, unseen.off_ns, &part);
}

void gn_deal_uncertainty(struct gn_edge_dealer *g, const struct gn_dealt_edge *edge, int64_t edge_ns)
{
    const struct some some = samples_of(g->added_up, g->added_up_count, edge->range.from, edge->range.to, 0);
    const double sampled_ns = fmax(0, (double)edge_ns - (double)edge->unseen_ns - (double)edge->lines_ns);
    for (size_t i = 0; i < some.count && sampled_ns > 0; i++) {
        const int64_t count = some.rows[i].count;
        const struct gn_samples_share share = gn_samples_share(count, some.samples, g->per_burst);
        const struct gn_activity_row exact = gn_deal_row(g, &edge->range, some.rows[i].place);
        const double off = fmax(share.high - share.share, share.share - share.low) * sampled_ns;
        gn_row_pieces_add_off(g->rows, &exact, off, count);
    }
}

void gn_deal_count(const struct gn_edge_dealer *g, struct gn_dealt_edge *edge, int64_t location, int64_t ns,
                   int64_t times, const struct gn_sampled_process *process)
{
    const struct some some =
        samples_of(g->samples.rows, g->samples.row_count, edge->range.from, edge->range.to, location);
    gn_edge_sum_add(&edge->sum, time_of(g, &some, edge, location, ns, times), process);
}

int64_t gn_deal_in_call(const struct gn_edge_dealer *g, int64_t activity, int64_t location)
{
    return samples_of(g->in_calls, g->in_call_count, activity, 0, location).time_ns;
}

void gn_deal_clear(struct gn_edge_dealer *g)
{
    free(g->counted);
    free(g->added_up);
    free(g->in_calls);
    free(g->asleep);
    free(g->lines);
    free(g->native);
    free(g->all_lines);
    free(g->all_native);
    gn_samples_clear(&g->samples);
}
