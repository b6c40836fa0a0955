#include "repair/extract_inside.h"

#include <errno.h>

/* Messages of epochs (causality/epochs): their channels are those with the tag GN_OP_TAG_EPOCH, of which the
 * n-th that either side tells is number n. */

static void *token(void *self, const struct gn_event *event)
{
    struct gn_extract *x = self;
    (void)event;
    return gn_extract_op(x, x->at, GN_OP_LOCAL);
}

static int half(void *self, const struct gn_epoch_half *h)
{
    struct gn_extract *x = self;
    struct gn_op *op = h->token;
    if (!h->is_countable || !op)
        return 0;
    const int64_t link = gn_extract_channel_between(x, h->window, h->from, h->to, GN_OP_TAG_EPOCH);
    if (link < 0)
        return link == GN_LINK_NO_MEMORY ? -ENOMEM : 0;
    op->kind = h->is_send ? GN_OP_SEND : GN_OP_RECEIVE;
    op->link = (uint32_t)link;
    op->number = h->is_send ? x->store->channels[link].sends++ : x->channel_states[link].received++;
    x->stats.sends += h->is_send;
    x->stats.receives += !h->is_send;
    return 0;
}

int gn_extract_epochs_open(struct gn_extract *x, struct gn_error *err)
{
    x->epochs =
        gn_epochs_new(x->definitions, &(struct gn_epochs_sink){.self = x, .token = token, .half = half});
    return x->epochs ? 0 : gn_fail(err, -ENOMEM, "no memory to match the epochs of windows");
}
