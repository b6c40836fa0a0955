/* repair/sync_open — passes of repair/sync before anything is read of the events: what there is, who has
 * what of it, and which clocks the repair starts from. */
#include "repair/sync_inside.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Reading and repairing may take long: what is wrong with the place is said before. The ops go beside it. */
static int look_at_place(struct gn_sync_state *s, struct gn_error *err)
{
    const char *out = s->settings->out;
    size_t length = strlen(out);
    while (length > 1 && out[length - 1] == '/')
        length--;
    while (length > 0 && out[length - 1] != '/')
        length--;
    if (length >= sizeof s->folder)
        return gn_fail(err, -ENAMETOOLONG, "the name of the new archive is too long: %.64s…", out);
    snprintf(s->folder, sizeof s->folder, "%.*s", length ? (int)length : 1, length ? out : ".");
    return gn_retime_check(s->settings->trace, out, err);
}

static int open_trace(struct gn_sync_state *s, struct gn_error *err)
{
    int code = gn_trace_open(&s->report->source, &s->found, s->settings->trace, err);
    if (code == 0)
        code = look_at_place(s, err);
    if (code < 0)
        return code;
    s->definitions = s->report->definitions = s->report->source.definitions;
    return 0;
}

int gn_sync_open(struct gn_sync_state *s, struct gn_error *err)
{
    return gn_sync_settled_input(s, open_trace(s, err), err);
}

int gn_sync_give_out(struct gn_sync_state *s, struct gn_error *err)
{
    return gn_sync_settled_input(s,
                                 gn_sync_split(&s->split, s->settings->trace, s->definitions,
                                               s->transport->size, s->settings->keeps_going, err),
                                 err);
}

int gn_sync_choose_clocks(struct gn_sync_state *s, struct gn_error *err)
{
    const struct gn_sync_settings *set = s->settings;
    return gn_sync_settled_input(
        s, gn_sync_clocks(&s->report->clocks, set->presync, set->trace, &set->bounds, s->definitions, err),
        err);
}
