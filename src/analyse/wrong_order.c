#include "analyse/wrong_order.h"

#include <errno.h>
#include <math.h>

enum { LONGEST_WALK = 64 /* calls after the one that waits */ };
static const double apart = 0.1; /* of what is computed with a message: so much with another one by itself */

/* The only message that the call received from another process; NULL: none, or more than one. */
static const struct gn_take *message_of(const struct gn_history *h, const struct gn_call *call)
{
    const struct gn_take *message = NULL;
    for (uint32_t i = call->first_take; i < call->first_take + call->take_count; i++) {
        const struct gn_take *t = &h->takes[i];
        if (t->kind == GN_TAKE_BEGUN)
            continue;
        if (message || t->kind != GN_TAKE_MESSAGE || h->calls[t->from].location == call->location)
            return NULL;
        message = t;
    }
    return message;
}

/* What is computed with messages that had come before this one did. */
static double found_later(const struct gn_walk *w, const struct gn_history *h, uint32_t c, double waited_ns)
{
    double ns = 0;
    uint32_t at = w->next[c];
    const double own_ns = at == GN_NONE ? 0 : gn_walk_computed(w, c, at);
    for (int i = 0; i < LONGEST_WALK && at != GN_NONE && h->calls[at].part_count == 0; i++) {
        const struct gn_take *message = message_of(h, &h->calls[at]);
        const uint32_t after = w->next[at];
        if (message && after != GN_NONE && gn_enter_to_enter(h, c, message->from).hi_ns < waited_ns) {
            const double with_it = gn_walk_computed(w, at, after);
            ns += own_ns >= apart * with_it ? with_it : 0;
        }
        at = after;
    }
    return ns;
}

static void look_at(struct gn_site_tally *t, size_t part, const struct gn_walk *walk, uint32_t c)
{
    const struct gn_history *h = &t->seen->parts[part].history;
    const struct gn_take *message = message_of(h, &h->calls[c]);
    if (!message || !message->is_certain)
        return;
    const double waited_ns = gn_enter_to_enter(h, c, message->from).lo_ns;
    if (waited_ns > 0)
        gn_site_tally_add(t, part, &h->calls[c],
                          h->definitions->locations[h->calls[message->from].location].process,
                          (struct gn_span){0, fmin(waited_ns, found_later(walk, h, c, waited_ns))});
}

int gn_wrong_order_find(struct gn_site_tally *t, const struct gn_seen *seen, struct gn_error *err)
{
    int code = gn_site_tally_open(t, seen);
    for (size_t part = 0; part < seen->count && code == 0; part++) {
        struct gn_walk walk;
        code = gn_walk_open(&walk, &seen->parts[part].history);
        for (uint32_t c = 0; c < seen->parts[part].history.call_count && code == 0; c++)
            look_at(t, part, &walk, c);
        if (code == 0)
            gn_walk_close(&walk);
    }
    if (code == 0)
        return 0;
    gn_site_tally_clear(t);
    return gn_fail(err, -ENOMEM, "no memory for the order of messages");
}
