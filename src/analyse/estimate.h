/*
 * analyse/estimate — how much of something there is in a run of which parts were seen, with an error.
 *
 * The parts are a sample of clusters: in part i there is x (an interval), and a size d that is known of the
 * whole run, too. Each stands for a stretch of the run, and so it has a weight w: as much as that is longer
 * than the part. The total is in proportion to the sizes,
 *
 *     all · Σ w x / Σ w d,
 *
 * and its error is the one that the parts' own differences tell: the residuals w (x − R d), with Student's t
 * for as many parts as there effectively are (Kish: (Σ w d)² / Σ (w d)²), and no less than a twentieth of
 * what was not seen. No part is kept, only sums.
 */
#ifndef GNOMON_ANALYSE_ESTIMATE_H
#define GNOMON_ANALYSE_ESTIMATE_H

#include <stddef.h>

/* Of what was not seen, however alike the parts are: what is rare and large (a wait of a hundred times the
 * usual length) is of another proportion than what they have, and in none of them perhaps. Measured: it makes
 * 2 to 3 % where it is a quarter of all. */
#define GN_LEAST_ERROR 0.05

/* Student's t, 97.5 %, by degrees of freedom; from 10 on near enough. */
double gn_student_t(double freedom);

/* Of x, all zero at first. */
struct gn_estimate {
    double seen_lo, seen_hi; /* Σ lo, Σ hi */
    double lo, hi;           /* Σ w lo, Σ w hi */
    double squares, across;  /* Σ (w x)², Σ (w x)(w d), of the middles */
};
void gn_estimate_add(struct gn_estimate *estimate, double lo, double hi, double weight, double size);

/* Of d, all zero at first. */
struct gn_sizes {
    size_t count;                   /* parts in which there is any */
    double seen, weighted, squares; /* Σ d, Σ w d, Σ (w d)² */
};
void gn_sizes_add(struct gn_sizes *sizes, double weight, double size);

/* all: Σ d over the whole run; most: x of one d, at most. Of a single part nobody knows how it differs from
 * the rest: there it may be nothing, or the most. Of none hi has no end. */
void gn_estimate_total(const struct gn_estimate *estimate, const struct gn_sizes *sizes, double all,
                       double most, double *lo, double *hi);
/* What is most likely: in proportion. */
double gn_estimate_middle(const struct gn_estimate *estimate, const struct gn_sizes *sizes, double all);

#endif
