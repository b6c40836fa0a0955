#include "cli/asked_states.h"

#include "cli/trace_names.h"

/* What a place names; *named NULL: it is none. */
static int named_of(struct gn_named *named, const struct gn_named **chosen, const struct gn_history *h,
                    const char *trace, const struct gn_asked_place *place, struct gn_error *err)
{
    const struct gn_trace_names names = {{place->region}, place->region != NULL};
    return gn_trace_names_chosen(named, chosen, trace, h, &names, err);
}

int gn_asked_states(struct gn_states *states, const struct gn_history *h, const char *trace,
                    const struct gn_groups *groups, const struct gn_asked_node *form, struct gn_error *err)
{
    struct gn_named a = {NULL, NULL}, b = {NULL, NULL};
    const struct gn_named *in = NULL, *rest = NULL;
    int code = named_of(&a, &in, h, trace, &form->a, err);
    if (code == 0)
        code = named_of(&b, &rest, h, trace, &form->b, err);
    const struct gn_states_settings settings = {
        .waiting = in, .busy = rest, .is_asked = true, .comm = GN_NONE, .phase = GN_NONE};
    if (code == 0)
        code = gn_states_make(states, h, groups->of, groups->count, &settings, err);
    gn_named_clear(&a);
    gn_named_clear(&b);
    return code;
}
