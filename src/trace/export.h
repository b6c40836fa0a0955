/*
 * trace/export — ordered events in the formats of other programs: outputs like those of trace/output.h, for
 * traces that have ended.
 */
#ifndef GNOMON_TRACE_EXPORT_H
#define GNOMON_TRACE_EXPORT_H

#include "trace/output.h"

#include <stdio.h>

/* A table of comma-separated values (RFC 4180) with a line of titles, one line per event: docs/export.md.
 * Here and below the file is closed with the output unless it is standard output; definitions do not change.
 */
int gn_export_csv(struct gn_output *output, FILE *file, const struct gn_definitions *definitions,
                  const struct gn_origin *origin, struct gn_error *err);
/* The Trace Event Format of Chrome: JSON that about:tracing, Perfetto and Speedscope read. */
int gn_export_chrome(struct gn_output *output, FILE *file, const struct gn_definitions *definitions,
                     const struct gn_origin *origin, struct gn_error *err);
/* Perfetto's own format. */
int gn_export_perfetto(struct gn_output *output, FILE *file, const struct gn_definitions *definitions,
                       const struct gn_origin *origin, struct gn_error *err);

/* After writing to the file: 0, or why it did not take everything. */
int gn_export_check(FILE *file, struct gn_error *err);
/* Writes what is buffered, and closes all but standard output. */
int gn_export_close(FILE *file, struct gn_error *err);

/* The call site of a path, "main.c:42", into text; empty: unknown. */
void gn_export_site(const struct gn_definitions *definitions, uint32_t path, char *text, size_t size);

/* The event was sent: the end of an arrow. */
static inline bool gn_export_is_send(const struct gn_event *event)
{
    return event->kind == GN_EVENT_MPI_SEND || event->kind == GN_EVENT_MPI_ISEND;
}

/* A message has been received here, and the place says who sent it when: the other end of that arrow. */
static inline bool gn_export_is_receive(const struct gn_event *event, const struct gn_place *place)
{
    return (event->kind == GN_EVENT_MPI_RECV || event->kind == GN_EVENT_MPI_IRECV) &&
           place->flags & GN_PLACE_CORRELATED;
}

#endif
