/*
 * profile/row_pieces — rows of a summary, made of pieces: a stretch of one rank's time each.
 *
 *   stretch of what is exactly known ──► gn_row_pieces_add ──► (row of what is asked for, rank, ns)
 *                                                               │ gn_row_pieces_fill
 *                                                               ▼
 *                                         rows, each with its distribution over the ranks
 */
#ifndef GNOMON_PROFILE_ROW_PIECES_H
#define GNOMON_PROFILE_ROW_PIECES_H

#include "base/error.h"
#include "base/lookup.h"
#include "profile/summary.h"

/* Whose a stretch of time is, and how long. */
struct gn_row_stretch {
    int rank;
    const char *host;
    int64_t ns, count, bytes;
    int64_t cpu_ns; /* by samples */
    int64_t open_ns;
    int64_t asleep_ns;
};

struct gn_row_piece {
    uint32_t row;
    int32_t rank;
    int64_t ns, count, bytes, mpi_ns, cpu_ns, asleep_ns;
};

/* Of a computation, between these two activities. */
struct gn_row_part {
    int64_t from, to, ns;
    uint32_t row;
    int32_t rank;
};

/* Begins as zeros but for the first three, and keeps_parts. */
struct gn_row_pieces {
    enum gn_by by;
    struct gn_summary *summary; /* whose rows they are */
    struct gn_error *err;
    struct gn_lookup by_key; /* of rows */
    size_t row_room;
    struct gn_row_piece *pieces;
    size_t piece_count, piece_room;
    bool keeps_parts;
    struct gn_row_part *parts;
    size_t part_count, part_room;
    double *variance; /* of each row's share of the time, from samples: (ns)² */
    size_t variance_room;
};

/* A stretch of what `exact` tells, in the row of what is asked for that it belongs to. Texts of *exact are
 * not kept. 0, or -ENOMEM. */
int gn_row_pieces_add(struct gn_row_pieces *p, const struct gn_activity_row *exact,
                      const struct gn_row_stretch *t);
/* The number of that row; negative: there is none. */
int64_t gn_row_pieces_row(struct gn_row_pieces *p, const struct gn_activity_row *exact);
/* By how much the time of a row that has any may be off, for whatever reason: reasons are independent of each
 * other. */
void gn_row_pieces_add_off(struct gn_row_pieces *p, const struct gn_activity_row *exact, double off_ns,
                           int64_t samples);
/* Once all pieces are there: each row's sums, and how they spread over the ranks. */
void gn_row_pieces_fill(struct gn_row_pieces *p);
/* Not the summary's rows. */
void gn_row_pieces_clear(struct gn_row_pieces *p);

/* For qsort of rows: who takes longest; who computes longest (all ranks take about as long). */
int gn_row_by_total(const void *left, const void *right);
int gn_row_by_computation(const void *left, const void *right);

#endif
