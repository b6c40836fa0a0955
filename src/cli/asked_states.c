#include "cli/asked_states.h"

#include "cli/region_names.h"

#include <errno.h>
#include <stdlib.h>

/* Regions of a place; *chosen NULL: it is none. */
static int regions_of(bool **chosen, const struct gn_history *h, const struct gn_asked_place *place,
                      struct gn_error *err)
{
    const char *name = place->region;
    *chosen = NULL;
    return name ? gn_regions_named(chosen, h, &name, 1, err) : 0;
}

int gn_asked_states(struct gn_states *states, const struct gn_history *h, const struct gn_groups *groups,
                    const struct gn_asked_node *form, struct gn_error *err)
{
    bool *a = NULL, *b = NULL;
    int code = regions_of(&a, h, &form->a, err);
    if (code == 0)
        code = regions_of(&b, h, &form->b, err);
    const struct gn_states_settings settings = {a, b, GN_NONE, GN_NONE};
    if (code == 0)
        code = gn_states_make(states, h, groups->of, groups->count, &settings, err);
    free(a);
    free(b);
    return code;
}
