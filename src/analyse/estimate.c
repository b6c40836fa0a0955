#include "analyse/estimate.h"

#include <math.h>

void gn_estimate_add(struct gn_estimate *e, double lo, double hi, double weight, double size)
{
    const double x = weight * (lo + hi) / 2;
    e->seen_lo += lo;
    e->seen_hi += hi;
    e->lo += weight * lo;
    e->hi += weight * hi;
    e->squares += x * x;
    e->across += x * weight * size;
}

void gn_sizes_add(struct gn_sizes *s, double weight, double size)
{
    if (!(weight * size > 0))
        return;
    s->count++;
    s->seen += size;
    s->weighted += weight * size;
    s->squares += weight * size * weight * size;
}

double gn_student_t(double freedom)
{
    static const double t[] = {12.71, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26};
    return freedom < 10 ? t[(int)fmax(0, freedom)] : 1.96 + 2.7 / freedom;
}

void gn_estimate_total(const struct gn_estimate *e, const struct gn_sizes *s, double all, double most,
                       double *lo, double *hi)
{
    if (s->count < 2) {
        *lo = e->seen_lo;
        *hi = s->count == 0 ? INFINITY : e->seen_hi + fmax(0, all - s->seen) * most;
        return;
    }
    const double scale = all / s->weighted, ratio = (e->lo + e->hi) / 2 / s->weighted;
    const double squares = fmax(0, e->squares - 2 * ratio * e->across + ratio * ratio * s->squares);
    const double effective = s->weighted * s->weighted / s->squares, left = fmax(0, 1 - s->seen / all);
    /* each part has drawn the ratio to itself: without it, its residual were larger (the jackknife's) */
    const double drawn = fmax(effective, 1.5) / (fmax(effective, 1.5) - 1);
    const double drawn_error =
        gn_student_t(floor(effective + 0.5) - 1) * sqrt(left * squares) * drawn * scale;
    const double error = fmax(drawn_error, GN_LEAST_ERROR * left * ratio * all);
    *lo = fmax(e->seen_lo, e->lo * scale - error);
    *hi = fmax(*lo, e->hi * scale + error);
}

double gn_estimate_middle(const struct gn_estimate *e, const struct gn_sizes *s, double all)
{
    return s->weighted > 0 ? (e->lo + e->hi) / 2 * all / s->weighted : (e->lo + e->hi) / 2;
}
