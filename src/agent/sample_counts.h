/*
 * agent/sample_counts — samples of a process, counted by where they fall in its graph and in its code.
 *
 * Where the recorder does not know any more what a thread did, its place says it: as the samples in the same
 * function are divided of which it did know, so are those. They are counted apart.
 *
 * The memory is bounded: beyond GN_SAMPLE_MOST rows of a process, an edge gets one row for all of its other
 * places. What is computed since a call, and leads nobody knows where to, is kept by location until that is
 * known.
 */
#ifndef GNOMON_AGENT_SAMPLE_COUNTS_H
#define GNOMON_AGENT_SAMPLE_COUNTS_H

#include "agent/sample_code.h"
#include "agent/sample_moment.h"
#include "graph/metrics.h"
#include "graph/sampled.h"

enum {
    GN_SAMPLE_MOST = 8192,
    GN_SAMPLE_MOST_OTHER = 4096,
    GN_SAMPLE_MOST_OF_METRICS = 6144, /* beyond these, rows are for time */
    GN_SAMPLE_MOST_OPEN = 1024
};

/* Places of all processes of the host, each with a number. */
struct gn_sample_places;
struct gn_sample_places *gn_sample_places_new(void);
void gn_sample_places_free(struct gn_sample_places *places);
/* Of its module and offset. GN_SAMPLED_NONE: there is no room for more. */
uint32_t gn_sample_places_number(struct gn_sample_places *places, struct gn_sample_code *code,
                                 struct gn_sampled_place place);
/* Of a line in a module that is a source file. */
uint32_t gn_sample_places_source(struct gn_sample_places *places, uint32_t module,
                                 const struct gn_source_line *source);
const struct gn_sampled_place *gn_sample_places_list(const struct gn_sample_places *places, size_t *count);

struct gn_sample_counts;
struct gn_sample_counts *gn_sample_counts_new(uint32_t locations);
void gn_sample_counts_free(struct gn_sample_counts *counts);

struct gn_sample_counted {
    uint32_t site, called;
    bool other_threads;
    unsigned how; /* enum gn_sampled_how; GN_SAMPLED_METRIC and its number: time_ns is how much of it */
    bool in_call; /* the MPI library is on its stack: where the moment is unknown */
    uint64_t time_ns;
};

/* A sample of a location at that moment (row: as the caller has decided). */
void gn_sample_counts_add(struct gn_sample_counts *counts, const struct gn_recorded *recorded,
                          uint32_t location, const struct gn_sample_moment *moment,
                          const struct gn_sample_counted *sample);

/* Whatever has led on meanwhile. ended: to node 1, the end, if nowhere else. */
void gn_sample_counts_go_on(struct gn_sample_counts *counts, const struct gn_recorded *recorded, bool ended);

/* All rows so far, those by place among them; what is open is not in it. */
struct gn_sample_list {
    struct gn_sampled_count *rows; /* the caller's to free */
    size_t count;
    uint64_t by_place, unattributed;
};
/* False: no memory. */
bool gn_sample_counts_list(const struct gn_sample_counts *counts, const struct gn_sample_places *places,
                           struct gn_sample_list *list);

#endif
