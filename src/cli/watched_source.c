#include "cli/watched_source.h"

static int64_t pull(void *self, uint32_t location, const struct gn_event **events, struct gn_error *err)
{
    struct gn_watched_source *w = self;
    int64_t count = w->source->pull(w->source->self, location, events, err);
    if (count > 0)
        w->events += (uint64_t)count;
    if (w->all)
        gn_progress_show(&w->progress, w->phase, (double)w->events / (double)w->all);
    return count;
}

uint64_t gn_defined_events(const struct gn_definitions *d)
{
    uint64_t all = 0;
    for (size_t i = 0; i < d->location_count; i++)
        all += d->locations[i].events < UINT64_MAX / 2 ? d->locations[i].events : 0;
    return all;
}

struct gn_source gn_watch_source(struct gn_watched_source *watched, const struct gn_source *source,
                                 const char *phase)
{
    *watched = (struct gn_watched_source){.source = source,
                                          .progress = gn_progress_begin(true),
                                          .phase = phase,
                                          .all = gn_defined_events(source->definitions)};
    return (struct gn_source){.self = watched, .definitions = source->definitions, .pull = pull};
}
