#include "repair/extract_inside.h"

#include <errno.h>

/*
 * Teams of threads (causality/teams): each kind of what is told of them is a group of a process. An END has
 * to know how many BEGINs there are (op.root), so what an op is of is written into it when that is known. All
 * threads are in one process: it is all known here.
 */

static void write_op(struct gn_op *op, const struct gn_team_sync *sync, const struct gn_team_part *part,
                     uint32_t link)
{
    static const uint8_t shapes[GN_TEAM_SYNC_KINDS] = {
        [GN_TEAM_FORK] = GN_SHAPE_ONE_TO_ALL,    [GN_TEAM_JOIN] = GN_SHAPE_ALL_TO_ONE,
        [GN_TEAM_BARRIER] = GN_SHAPE_ALL_TO_ALL, [GN_TEAM_CREATE] = GN_SHAPE_ALL_TO_ALL,
        [GN_TEAM_WAIT] = GN_SHAPE_ALL_TO_ALL,    [GN_TEAM_LOCK] = GN_SHAPE_ALL_TO_ALL};
    const uint32_t getters = (uint32_t)sync->count - sync->givers;
    op->kind = part->gives ? GN_OP_BEGIN : GN_OP_END;
    op->shape = shapes[sync->kind];
    op->flags = sync->givers == 0 ? 0 : part->gives ? GN_OP_GIVES : GN_OP_GETS;
    op->link = link;
    op->number = sync->number;
    op->root = sync->kind == GN_TEAM_FORK && sync->givers ? getters : sync->givers;
}

static void *token(void *self, const struct gn_event *event)
{
    struct gn_extract *x = self;
    (void)event;
    return gn_extract_op(x, x->at, GN_OP_LOCAL);
}

static int synced(void *self, const struct gn_team_sync *sync)
{
    struct gn_extract *x = self;
    const int64_t link = gn_extract_team(x, sync->kind);
    if (link < 0)
        return -ENOMEM;
    for (size_t i = 0; i < sync->count; i++)
        write_op(sync->parts[i].token, sync, &sync->parts[i], (uint32_t)link);
    x->stats.collectives += sync->givers;
    return 0;
}

int gn_extract_teams_open(struct gn_extract *x, struct gn_error *err)
{
    x->teams =
        gn_teams_new(x->definitions, &(struct gn_teams_sink){.self = x, .token = token, .synced = synced});
    return x->teams ? 0 : gn_fail(err, -ENOMEM, "no memory to match the teams of threads");
}
