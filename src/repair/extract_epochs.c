#include "repair/extract_inside.h"

#include "base/grow.h"
#include "calls.h"

#include <errno.h>
#include <stdlib.h>

/*
 * The n-th epoch that a process completes towards a target is the n-th that the target waits for from it.
 * A message begins where complete is entered; what the group is, its record says only later. But it is the
 * group of the start before, known when no other window has an epoch open. Else the message is from where
 * the start says its group, which is true, too, though less. For that there are ops at each start.
 *
 * Whoever completes what it has not started cannot be counted any more. A wait that is not counted makes the
 * numbers of later ones too low, which is harmless; so MPI_Win_test, of which a record does not say whether
 * it has succeeded, is left out.
 */
enum call { NO_CALL, START, COMPLETE, WAIT };

static uint8_t call_of(uint32_t activity)
{
    switch (activity) {
    case GN_CALL_WIN_START:
        return START;
    case GN_CALL_WIN_COMPLETE:
        return COMPLETE;
    case GN_CALL_WIN_WAIT:
        return WAIT;
    default:
        return NO_CALL;
    }
}

bool gn_extract_epochs_open(struct gn_extract *x)
{
    const struct gn_definitions *d = x->definitions;
    if (d->window_count == 0)
        return true;
    x->epochs.calls = calloc(d->region_count + 1, sizeof *x->epochs.calls);
    for (size_t i = 0; x->epochs.calls && i < d->region_count; i++)
        x->epochs.calls[i] = call_of(d->regions[i].activity);
    return x->epochs.calls != NULL;
}

void gn_extract_epochs_close(struct gn_extract *x)
{
    free(x->epochs.calls);
    free(x->epochs.open);
}

static bool is_group(const struct gn_extract *x, uint32_t group)
{
    return group < x->definitions->comm_count && !x->definitions->comms[group].is_self;
}

/* The link of the i-th member's messages, or GN_LINK_… */
static int64_t link_of(struct gn_extract *x, uint32_t window, uint32_t group, uint32_t i, bool sends)
{
    const uint32_t other = x->definitions->comms[group].members[i], here = x->process;
    if (other >= x->definitions->process_count)
        return GN_LINK_UNFIT;
    return gn_extract_channel_between(x, window, sends ? here : other, sends ? other : here, GN_OP_TAG_EPOCH);
}

static void send_by(struct gn_extract *x, struct gn_op *op, uint32_t link)
{
    op->kind = GN_OP_SEND;
    op->link = link;
    op->number = x->store->channels[link].sends++;
    x->stats.sends++;
}

/* To each process of the group: here, or (l NULL) from where the epoch was started. */
static int send_all(struct gn_extract *x, struct gn_extract_location *l, const struct gn_extract_epoch *e)
{
    for (uint32_t i = 0; i < x->definitions->comms[e->group].member_count; i++) {
        const int64_t link = link_of(x, e->window, e->group, i, true);
        if (link == GN_LINK_NO_MEMORY)
            return -ENOMEM;
        if (link < 0)
            continue;
        struct gn_op *op =
            l ? gn_extract_op(x, l, GN_OP_SEND) : gn_op_at(x->store, e->location, e->first + i);
        if (!op)
            return gn_extract_failed();
        send_by(x, op, (uint32_t)link);
    }
    return 0;
}

static int receive_all(struct gn_extract *x, struct gn_extract_location *l)
{
    for (uint32_t i = 0; i < x->definitions->comms[l->epoch_group].member_count; i++) {
        const int64_t link = link_of(x, l->epoch_window, l->epoch_group, i, false);
        if (link == GN_LINK_NO_MEMORY)
            return -ENOMEM;
        if (link < 0)
            continue;
        struct gn_op *op = gn_extract_op(x, l, GN_OP_RECEIVE);
        if (!op)
            return gn_extract_failed();
        op->link = (uint32_t)link;
        op->number = x->channel_states[link].received++;
        x->stats.receives++;
    }
    return 0;
}

static int entered(struct gn_extract *x, struct gn_extract_location *l, uint32_t region)
{
    const uint8_t call = region < x->definitions->region_count ? x->epochs.calls[region] : NO_CALL;
    if (call == NO_CALL)
        return 0;
    l->epoch_call = call;
    l->epoch_region = region;
    l->epoch_group = GN_NONE;
    l->is_sent = call == COMPLETE && x->epochs.count == 1 && !x->epochs.is_broken;
    if (!l->is_sent)
        return 0;
    l->epoch_window = x->epochs.open[0].window;
    return send_all(x, l, &x->epochs.open[0]);
}

static struct gn_extract_epoch *find(struct gn_extract_epochs *e, uint32_t window)
{
    for (size_t i = 0; i < e->count; i++)
        if (e->open[i].window == window)
            return &e->open[i];
    return NULL;
}

static int started(struct gn_extract *x, struct gn_extract_location *l, uint32_t window, uint32_t group)
{
    struct gn_extract_epochs *e = &x->epochs;
    const uint64_t first = x->store->rows[l->index].count;
    e->is_broken |= find(e, window) != NULL; /* it was completed, and nobody has said so */
    if (e->is_broken)
        return 0;
    if (!gn_grow(&e->open, &e->capacity, e->count, sizeof *e->open))
        return -ENOMEM;
    for (uint32_t i = 0; i < x->definitions->comms[group].member_count; i++)
        if (!gn_extract_op(x, l, GN_OP_LOCAL))
            return gn_extract_failed();
    e->open[e->count++] = (struct gn_extract_epoch){window, group, l->index, first};
    return 0;
}

static int completed(struct gn_extract *x, struct gn_extract_location *l, uint32_t window)
{
    struct gn_extract_epochs *e = &x->epochs;
    struct gn_extract_epoch *epoch = find(e, window);
    e->is_broken |= !epoch || (l->is_sent && l->epoch_window != window);
    if (e->is_broken)
        return 0;
    int code = l->is_sent ? 0 : send_all(x, NULL, epoch);
    *epoch = e->open[--e->count];
    return code;
}

static int synchronised(struct gn_extract *x, struct gn_extract_location *l, const struct gn_event *event)
{
    const uint32_t window = event->comm, group = event->tag;
    if (window >= x->definitions->window_count || !is_group(x, group))
        return 0;
    switch (l->epoch_call) {
    case START:
        return started(x, l, window, group);
    case COMPLETE:
        return completed(x, l, window);
    case WAIT:
        l->epoch_window = window;
        l->epoch_group = group;
        return 0;
    default:
        return 0;
    }
}

static int left(struct gn_extract *x, struct gn_extract_location *l, uint32_t region)
{
    if (l->epoch_call == NO_CALL || region != l->epoch_region)
        return 0;
    const bool waited = l->epoch_call == WAIT && l->epoch_group != GN_NONE;
    l->epoch_call = NO_CALL;
    return waited ? receive_all(x, l) : 0;
}

int gn_extract_in_epoch(struct gn_extract *x, struct gn_extract_location *l, const struct gn_event *event)
{
    if (x->is_lost)
        return 0;
    switch (event->kind) {
    case GN_EVENT_ENTER:
        return entered(x, l, event->region);
    case GN_EVENT_LEAVE:
        return left(x, l, event->region);
    default:
        return synchronised(x, l, event);
    }
}
