#include "profile/pace.h"

#include "graph/graph.h"
#include "graph/packed_steps.h"

#include <math.h>

static const double fewest = 10;       /* iterations of a rank, and steps */
static const double most_off = 1. / 3; /* else nothing is told */
static const double ends = 2;          /* of a tenth */

void gn_pace_add(struct gn_pace_counts *counts, const void *series, size_t bytes, double each)
{
    int64_t values[GN_SERIES_OF_EDGE];
    size_t step;
    struct gn_packed left = {series, (const uint8_t *)series + bytes, 0};
    while (series && gn_unpack_step(&left, &step, values, GN_SERIES_OF_EDGE) && step < GN_SERIES_MOST)
        counts->steps[step] += (double)values[0] * each;
}

/* What lies between the first step in which something was counted, and the last one: neither is known to be
 * whole. */
struct span {
    const struct gn_pace_counts *counts;
    const double *at_ns;
    size_t first, end; /* steps */
    double all;        /* iterations in it */
};

static struct span span_of(const struct gn_pace_counts *counts, const struct gn_host_moments *moments)
{
    struct span s = {counts, moments->at_ns, 0, moments->count - 1, 0};
    if (s.end > GN_SERIES_MOST)
        s.end = GN_SERIES_MOST;
    while (s.first < s.end && !(counts->steps[s.first] > 0))
        s.first++;
    while (s.end > s.first && !(counts->steps[s.end - 1] > 0))
        s.end--;
    s.first += s.first < s.end;
    s.end -= s.first < s.end;
    for (size_t i = s.first; i < s.end; i++)
        s.all += counts->steps[i];
    return s;
}

/* When so many iterations were over. */
static double when(const struct span *s, double iterations)
{
    double before = 0;
    if (iterations <= 0)
        return s->at_ns[s->first];
    for (size_t i = s->first; i < s->end; i++) {
        const double here = s->counts->steps[i];
        if (here > 0 && before + here >= iterations)
            return s->at_ns[i] + (s->at_ns[i + 1] - s->at_ns[i]) * (iterations - before) / here;
        before += here;
    }
    return s->at_ns[s->end];
}

/* From one part of the iterations to another, whole ones of a rank. When they began and ended is known to a
 * step, and where there are many in a step, to one of them or two. */
static double each_ns(const struct span *s, double ranks, double from, double to, double widest_ns,
                      double *off)
{
    const double of_rank = s->all / ranks, begin = floor(from * of_rank),
                 end = fmax(begin + 1, floor(to * of_rank));
    const double ns = when(s, end * ranks) - when(s, begin * ranks), each = ns / (end - begin);
    *off = fmax(*off, ns > 0 ? ends * fmin(widest_ns, 2 * each) / ns : INFINITY);
    return each;
}

struct gn_pace gn_pace_of(const struct gn_pace_counts *counts, const struct gn_host_moments *moments,
                          double ranks)
{
    const struct span s = span_of(counts, moments);
    struct gn_pace pace = {.is_known = false};
    double widest_ns = 0;
    if (!(ranks >= 1) || (double)(s.end - s.first) < fewest || !(s.all >= fewest * ranks))
        return pace;
    for (size_t i = s.first; i < s.end; i++)
        widest_ns = fmax(widest_ns, s.at_ns[i + 1] - s.at_ns[i]);
    pace.first_ns = each_ns(&s, ranks, 0, 0.1, widest_ns, &pace.off);
    pace.middle_ns = each_ns(&s, ranks, 0.45, 0.55, widest_ns, &pace.off);
    pace.last_ns = each_ns(&s, ranks, 0.9, 1, widest_ns, &pace.off);
    pace.is_known = pace.off <= most_off;
    return pace;
}
