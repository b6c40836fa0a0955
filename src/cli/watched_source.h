/* cli/watched_source — a source whose events are counted as they are taken, shown as progress. */
#ifndef GNOMON_CLI_WATCHED_SOURCE_H
#define GNOMON_CLI_WATCHED_SOURCE_H

#include "cli/progress.h"
#include "event/stream.h"

struct gn_watched_source {
    const struct gn_source *source;
    struct gn_progress progress;
    const char *phase;
    uint64_t events, all; /* taken; as the definitions say */
};

/* As many as the definitions say that there are, of locations that say it. */
uint64_t gn_defined_events(const struct gn_definitions *definitions);

/* Gives the events of *source, which outlives it; phase: "reading". Nobody closes what is returned, and
 * *watched stays where it is. When all has been taken, gn_progress_end(&watched->progress). */
struct gn_source gn_watch_source(struct gn_watched_source *watched, const struct gn_source *source,
                                 const char *phase);

#endif
