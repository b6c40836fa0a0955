#include "event/activity.h"

#include "calls.h"
#include "event/collective.h"

#include <stddef.h>
#include <strings.h>

#define CALL(name, group, op, traits)                                                                        \
    {                                                                                                        \
        name, "mpi", group, GN_COLLECTIVE_##op, traits                                                       \
    }
static const struct gn_activity_def calls[] = {
#include "call_table.h"
};
#undef CALL

enum { CALLS = sizeof calls / sizeof *calls };

#define CONTROL(kind, name)                                                                                  \
    {                                                                                                        \
        name, kind, "", GN_COLLECTIVE_UNKNOWN, 0                                                             \
    }
static const struct gn_activity_def controls[] = {
    [GN_ACTIVITY_START - GN_ACTIVITY_START] = CONTROL("start", "program start"),
    [GN_ACTIVITY_END - GN_ACTIVITY_START] = CONTROL("end", "program end"),
    [GN_ACTIVITY_OTHER - GN_ACTIVITY_START] = CONTROL("other", "activities without room"),
    [GN_ACTIVITY_REGION_BEGIN - GN_ACTIVITY_START] = CONTROL("region_begin", "begin of a named region"),
    [GN_ACTIVITY_REGION_END - GN_ACTIVITY_START] = CONTROL("region", "named region"),
    [GN_ACTIVITY_OFF - GN_ACTIVITY_START] = CONTROL("off", "measurement off"),
};

bool gn_activity_is_call(uint32_t activity)
{
    return activity < CALLS;
}

const struct gn_activity_def *gn_activity_def(uint32_t activity)
{
    if (activity < CALLS)
        return &calls[activity];
    if (activity < GN_ACTIVITY_START || activity > GN_ACTIVITY_OFF)
        activity = GN_ACTIVITY_OTHER;
    return &controls[activity - GN_ACTIVITY_START];
}

uint32_t gn_activity_named(const char *name)
{
    for (uint32_t call = 0; call < CALLS; call++)
        if (strcasecmp(calls[call].name, name) == 0)
            return call;
    return GN_ACTIVITY_NONE;
}

bool gn_activity_may_wait(uint32_t activity)
{
    const struct gn_activity_def *a = gn_activity_def(activity);
    const struct gn_collective_rule rule = gn_collective_rule(a->op);
    const bool may_synchronise = rule.holds == GN_HOLDS_ALWAYS || rule.lengths != GN_LENGTHS_NONE;
    return a->traits & (GN_TRAIT_WAITS | GN_TRAIT_UNTOLD) ||
           (!(a->traits & GN_TRAIT_STARTS) && may_synchronise && rule.shape == GN_SHAPE_ALL_TO_ALL);
}

bool gn_activity_is_untold(uint32_t activity)
{
    return gn_activity_def(activity)->traits & GN_TRAIT_UNTOLD;
}

bool gn_activity_starts(uint32_t activity)
{
    return activity == GN_CALL_INIT || activity == GN_CALL_INIT_THREAD;
}

bool gn_activity_starts_or_ends(uint32_t activity)
{
    return gn_activity_starts(activity) || activity == GN_CALL_FINALIZE;
}
