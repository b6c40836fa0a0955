#include "cli/asked_states.h"

#include "cli/region_names.h"

#include <errno.h>
#include <stdlib.h>

/* Regions of a place; *chosen NULL: those that are meant without names. */
static int regions_of(bool **chosen, const struct gn_history *h, const struct gn_asked_place *place,
                      enum gn_where unnamed, struct gn_error *err)
{
    const char *name = place->region;
    *chosen = NULL;
    if (place->where == GN_WHERE_REGION && name)
        return gn_regions_named(chosen, h, &name, 1, err);
    if (place->where != GN_WHERE_REGION && place->where != unnamed)
        return gn_fail(err, -EINVAL, "%s cannot stand there: ask for waiting first and for busy behind it",
                       place->where == GN_WHERE_BUSY ? "busy" : "waiting");
    return 0;
}

int gn_asked_states(struct gn_states *states, const struct gn_history *h, const struct gn_groups *groups,
                    const struct gn_asked *asked, struct gn_error *err)
{
    bool *a = NULL, *b = NULL;
    int code = regions_of(&a, h, &asked->a, GN_WHERE_WAITING, err);
    if (code == 0)
        code = regions_of(&b, h, &asked->b, GN_WHERE_BUSY, err);
    const struct gn_states_settings settings = {a, b, GN_NONE, GN_NONE};
    if (code == 0)
        code = gn_states_make(states, h, groups->of, groups->count, &settings, err);
    free(a);
    free(b);
    return code;
}
