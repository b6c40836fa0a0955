/*
 * profile/samples — what the sampler saw (tables sample and sampling; docs/profile-format.md), as plain rows.
 *
 * A sample says where a thread was at a moment that has nothing to do with what it does: so of what a
 * location did from one activity to the next, a place takes as large a share as it has of the samples there.
 * How far from it the share may be says gn_samples_share.
 *
 *   gn_samples_read ──► places[] ◄── rows[] (location, from, to, place, count) ──► whoever sums them up
 */
#ifndef GNOMON_PROFILE_SAMPLES_H
#define GNOMON_PROFILE_SAMPLES_H

#include "base/error.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A place is one loop of one function, or what the function does outside of loops. */
struct gn_sample_place {
    char *function; /* or the label of a place without a name; NULL: nothing is known */
    char *file;     /* NULL: not known */
    int line; /* of the innermost loop there; else that line of the function where most time went; 0: not
                 known */
    bool in_loop;
    char *module;  /* the executable or library */
    char *library; /* that was called there, and had not returned: its path; NULL: none */
    char *called;  /* its function that was called, or a label */
    char *runtime; /* what that does, "waiting for a GPU" (program/runtime.h); NULL: not known */
};

enum { GN_SAMPLE_OTHER_PLACES = -1 };

struct gn_sample_row {
    int64_t location, process;
    int rank;
    int64_t from, to;   /* activities; to is 0 inside of `from` itself */
    int place;          /* GN_SAMPLE_OTHER_PLACES: of more than were kept apart */
    bool other_threads; /* of the process: what they did meanwhile */
    int how;            /* enum gn_sampled_how: where it is no sample of processor time, of time */
    int64_t count;
    int64_t time_ns; /* of processor time, that they stand for: when there was much to do, one stood for more;
                        where it was looked at, of time; of a metric: how much of it */
};

struct gn_sampling_row { /* of a process */
    int64_t process;
    int rank;
    char *state;  /* "sampled"; "off", "refused", "failed": then reason says why */
    char *reason; /* NULL: none */
    int64_t time_ns, samples, bursts, by_place, unattributed, lost, helpers;
    bool with_kernel;
};

struct gn_samples {
    struct gn_sample_place *places;
    struct gn_sample_row *rows; /* ordered by from, to, place, location */
    struct gn_sampling_row *processes;
    size_t place_count, row_count, process_count;
};

/* The column of the table that says how (enum gn_sampled_how), also of profiles of before. */
const char *gn_samples_how(sqlite3 *db);

/* What their places are. */
enum gn_samples_of {
    GN_SAMPLES_OF_PLACES,    /* a loop, or the code of a function outside of loops */
    GN_SAMPLES_OF_FUNCTIONS, /* the innermost function, inlined or not, that nobody else wrote */
    GN_SAMPLES_OF_LINES      /* each line of such */
};

/* All of them; nothing of a profile that is older than samples are. Caller clears, after errors too. */
int gn_samples_read(sqlite3 *db, enum gn_samples_of of, struct gn_samples *samples, struct gn_error *err);
void gn_samples_clear(struct gn_samples *samples);

/* Adds: of a profile made of memory that the program has scribbled over sums may have no end. */
void gn_samples_sum(int64_t *sum, int64_t more);

/* What share of a time a place has that got `count` of the `all` samples that were taken in it, and between
 * which limits it lies, at 99 %. bursts: as in the table, of all samples of these processes; they are not
 * independent of each other. */
struct gn_samples_share {
    double share, low, high;
};
struct gn_samples_share gn_samples_share(int64_t count, int64_t all, double samples_per_burst);

#endif
