#include "cli/asked_bounds.h"

#include "trace/run_of_trace.h"
#include "analyse/trace_worlds.h"

#include <limits.h>

static bool has_run(void *self)
{
    const struct gn_asked_bounds *asked = self;
    char profile[PATH_MAX + 24];
    return gn_run_of_trace(asked->trace, profile, sizeof profile);
}

static int find(void *self, const struct gn_definitions *definitions, struct gn_bounds_known *known,
                struct gn_error *err)
{
    struct gn_asked_bounds *asked = self;
    gn_asked_bounds_clear(asked);
    int code = gn_known_bounds(&asked->known, asked->trace, definitions, err);
    if (code < 0)
        return code;
    asked->is_known = true;
    *known = (struct gn_bounds_known){.of = asked->known.events.of,
                                      .is_own = asked->known.own != NULL,
                                      .is_exchanged = asked->known.clocks.exchanged > 0};
    return 0;
}

struct gn_bounds_asker gn_asked_bounds(struct gn_asked_bounds *asked, const char *trace)
{
    *asked = (struct gn_asked_bounds){.trace = trace};
    return (struct gn_bounds_asker){asked, has_run, find};
}

void gn_asked_bounds_clear(struct gn_asked_bounds *asked)
{
    if (asked->is_known)
        gn_known_bounds_clear(&asked->known);
    asked->is_known = false;
}

void gn_asked_bounds_tell(const struct gn_asked_bounds *asked, const struct gn_sync_clocks *clocks,
                          const char *command)
{
    if (clocks->has_bounds)
        gn_known_bounds_tell(&asked->known, command);
    gn_trace_worlds_tell(asked->trace, command);
}
