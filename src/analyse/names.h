/*
 * analyse/names — what a name means in a trace: every name that a command prints means what it stood for
 * there.
 *
 * There is no grammar. What has a name (a region, a call at its place, the computation before it) has it in
 * the forms in which commands print it, and a text means all that has it as one of its forms:
 *
 *   MPI_Recv                                  the call or region everywhere
 *   MPI_Recv at app.c:5 in first              as the analyses say it; "at app.c:5", "in first" may be missing
 *   MPI_Recv in first app.c:5                 as the report says it
 *   app.c:5, first app.c:5                    by line; folders may stand before the file
 *   main:11 > first:5                         by call path; frames that were inlined may be missing
 *   before MPI_Recv at app.c:5 in first       the computation before it, in all forms of the call
 *   main:10 → main:11 > first:5               the same: the computation up to that call
 *   before the end, after the last call       what is computed after the last call
 *   first                                     of computation: before all calls that are made from the
 * function
 *
 * Where a terminal was narrow the text has a "…" in it, which stands for anything. A name that the trace has
 * as it is is never taken apart.
 */
#ifndef GNOMON_ANALYSE_NAMES_H
#define GNOMON_ANALYSE_NAMES_H

#include "analyse/history.h"

/* A text as it was asked for, made ready to be compared. */
struct gn_name {
    char text[1024];
};
/* Spaces, folders of places, and words that say nothing more ("computation in") go. */
struct gn_name gn_name_of(const char *text);
/* Whether that is one of its forms, or would be without what "…" stands for. */
bool gn_name_is(const struct gn_name *name, const char *form);

/* Sets chosen[activity] for all that the name means: computation. "" means nothing. How many. */
size_t gn_activities_named(const struct gn_history *history, const char *name, bool *chosen);

/* What locations may be in: regions wherever, or calls on some call paths only. */
struct gn_named {
    bool *regions; /* [region_count] */
    bool *paths;   /* [path_count] */
};
static inline bool gn_is_named(const struct gn_named *named, const struct gn_definitions *d, uint32_t region,
                               uint32_t path)
{
    return (region < d->region_count && named->regions[region]) ||
           (path < d->path_count && named->paths[path]);
}
/* All false. False: no memory, and there is nothing to clear. */
bool gn_named_open(struct gn_named *named, const struct gn_definitions *definitions);
void gn_named_clear(struct gn_named *named);
/* Adds all that the name means, of what the trace has entered: with tracks the regions there, else calls. How
 * many. */
size_t gn_named_add(struct gn_named *named, const struct gn_history *history, const char *name);

/* Names that mean something, each kind's longest form, once. */
enum gn_name_kind { GN_NAME_REGION, GN_NAME_CALL, GN_NAME_COMPUTATION, GN_NAME_FUNCTION };
typedef void gn_name_found(void *self, enum gn_name_kind kind, const char *name);
/* 0, or -ENOMEM. */
int gn_names_each(const struct gn_history *history, gn_name_found *found, void *self);

/* The nearest of the names that have been offered. */
struct gn_nearest {
    const char *wanted;
    size_t edits;
    char text[256];
};
void gn_nearest_offer(struct gn_nearest *nearest, const char *name);
/* Offers all that gn_names_each finds, and their places and first words. 0, or -ENOMEM. */
int gn_nearest_of_trace(struct gn_nearest *nearest, const struct gn_history *history);

#endif
