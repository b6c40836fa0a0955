#include "repair/gatherings_inside.h"

#include "base/grow.h"

#include <errno.h>

/* ---- times ---- */

static struct gn_latest_delay delay_for(const struct gn_replay *replay, uint32_t domain)
{
    if (!replay->settings->latency)
        return (struct gn_latest_delay){0, 0};
    const int64_t within = gn_replay_delay(replay, domain, domain);
    const int64_t between = replay->settings->latency->between_ticks;
    return (struct gn_latest_delay){within < between ? within : between, between};
}

/* What the end of a member depends on, or NULL: nothing. side: the member's, rank: in the communicator, of a
 * prefix reduction. */
static const struct gn_latest *before_end(const struct gn_replay *replay, const struct gn_gathering *g,
                                          uint8_t side, uint32_t rank)
{
    if (g->shape == GN_SHAPE_PREFIX)
        return rank < g->prefix_size ? &g->prefix[rank].lower : NULL;
    return &g->begins[replay->groups[g->group].is_intercomm ? !side : 0];
}

/* When the end of a member may be at the earliest (INT64_MIN: any time), and because of whom: as
 * gn_gatherings_ready says it. */
static int64_t earliest_end(const struct gn_replay *replay, const struct gn_latest *latest, uint32_t member,
                            uint32_t domain, struct gn_latest_entry which[2])
{
    if (!latest)
        return INT64_MIN;
    which[0] = *gn_latest_but(latest, member);
    which[1] = which[0].domain == domain ? latest->other : GN_LATEST_NONE.first;
    return gn_latest_for(latest, member, domain, delay_for(replay, domain));
}

static void measure_end(struct gn_replay *replay, const struct gn_gathering *g, const struct gn_awaiting *end)
{
    struct gn_latest_entry which[2];
    const int64_t after =
        earliest_end(replay, before_end(replay, g, end->side, end->rank), end->member, end->domain, which);
    gn_replay_measure_end(replay, end->domain, end->vague, end->ticks, after, which);
}

/* ---- begins ---- */

/* Ends that were measured too early, and now are not. */
static void measure_awaiting(struct gn_replay *replay, struct gn_gathering *g)
{
    for (size_t i = 0; i < g->awaiting_count; i++)
        measure_end(replay, g, &g->awaiting[i]);
    g->awaiting_count = 0;
}

static void became_known(struct gn_replay *replay, struct gn_gathering *g)
{
    g->known = true;
    measure_awaiting(replay, g);
    gn_tree_post_down(replay, g, GN_MAIL_KNOWN, g->begins);
    gn_replay_wake(replay, &g->waiting);
}

static void consider_begins(struct gn_replay *replay, struct gn_gathering *g)
{
    if (g->known || g->passed_up || (g->shape != GN_SHAPE_ALL_TO_ALL && g->shape != GN_SHAPE_ALL_TO_ONE) ||
        g->begun_count + g->gone < gn_gathering_ours(replay, g, false))
        return;
    const struct gn_tree tree = gn_tree_of(replay, g);
    if (!gn_tree_children_done(replay, g, &tree, g->parts))
        return;
    if (tree.position == 0) {
        if (g->shape == GN_SHAPE_ALL_TO_ALL) {
            became_known(replay, g);
        } else {
            g->known = true; /* only the root, which is here, wants to know */
            measure_awaiting(replay, g);
            gn_replay_wake(replay, &g->waiting);
        }
        return;
    }
    g->passed_up = true;
    gn_tree_post_up(replay, g, &tree, GN_MAIL_BEGINS, g->begins);
}

/* How far the ranks from 0 on have begun a prefix reduction, without a gap. */
static void consider_prefix(struct gn_replay *replay, struct gn_gathering *g)
{
    const struct gn_comm_def *comm = gn_group_comm(replay, &replay->groups[g->group]);
    const uint32_t index = replay->groups[g->group].comm, before = g->prefix_known;
    while (g->prefix_known < g->prefix_size &&
           (g->prefix[g->prefix_known].begun || !gn_group_has(replay, index, g->prefix_known) ||
            replay->left[comm->members[g->prefix_known]])) {
        const struct gn_prefix *at = &g->prefix[g->prefix_known++];
        if (g->prefix_known < g->prefix_size) {
            g->prefix[g->prefix_known].lower = at->lower;
            gn_latest_add(&g->prefix[g->prefix_known].lower, &at->begin);
        }
    }
    if (g->prefix_known > before)
        gn_replay_wake(replay, &g->waiting);
    if (g->prefix_known ==
        g->prefix_size) /* not before: looking at all of them at each step takes too long */
        measure_awaiting(replay, g);
}

static void prefix_begun(struct gn_replay *replay, struct gn_gathering *g, uint32_t rank,
                         const struct gn_latest_entry *entry, struct gn_op *op)
{
    if (rank >= g->prefix_size)
        return;
    g->prefix[rank].begun = true;
    g->prefix[rank].begin = *entry;
    g->prefix[rank].op = op;
    consider_prefix(replay, g);
}

/* Who an op belongs to, as far as instances are concerned. */
struct member {
    uint32_t id, domain, rank; /* id: process; of a team the location */
    uint8_t side;
};

static struct member member_of(const struct gn_replay *replay, uint32_t location, const struct gn_op *op)
{
    const struct gn_replay_location *at = &replay->locations[location];
    return (struct member){.id = replay->groups[op->link].comm == GN_NONE ? location : at->process,
                           .domain = at->domain,
                           .side = (op->flags & GN_OP_SECOND) != 0};
}

/* The process that a root is; GN_NONE: it is none. */
static uint32_t root_process(const struct gn_replay *replay, const struct gn_replay_group *group,
                             const struct gn_op *op, uint32_t process, uint8_t *side)
{
    const struct gn_comm_def *comm = gn_group_comm(replay, group);
    *side = 0;
    if (!comm)
        return op->root; /* a team: its size */
    if (op->shape != GN_SHAPE_ONE_TO_ALL && op->shape != GN_SHAPE_ALL_TO_ONE)
        return GN_NONE;
    const bool second = op->flags & GN_OP_SECOND;
    if (op->root == GN_ROOT_SELF) {
        *side = second;
        return process;
    }
    if (!group->is_intercomm)
        return op->root < comm->member_count ? comm->members[op->root] : GN_NONE;
    *side = !second;
    const uint32_t first = second ? 0 : comm->member_count;
    const uint32_t count = second ? comm->member_count : comm->other_count;
    return op->root < count ? comm->members[first + op->root] : GN_NONE;
}

/* The instance of an op; NULL as gathering_of, or it takes part in none. */
static struct gn_gathering *gathering_at(struct gn_replay *replay, uint32_t location, const struct gn_op *op)
{
    const struct gn_replay_group *group = &replay->groups[op->link];
    struct gn_which which = {.group = op->link, .number = op->number, .shape = op->shape};
    which.root = root_process(replay, group, op, replay->locations[location].process, &which.root_side);
    const bool rooted = op->shape == GN_SHAPE_ONE_TO_ALL || op->shape == GN_SHAPE_ALL_TO_ONE;
    const bool is_team = group->comm == GN_NONE;
    if (is_team ? which.root == GN_NONE : rooted && which.root >= replay->definitions->process_count)
        return NULL;
    return gn_gathering_of(replay, &which);
}

static void post_prefix(struct gn_replay *replay, const struct gn_gathering *g, enum gn_mail_kind kind,
                        const struct member *member, int64_t time, bool counts)
{
    const struct gn_replay_group *group = &replay->groups[g->group];
    const struct gn_mail mail = {.kind = (uint8_t)kind,
                                 .shape = g->shape,
                                 .flags = (uint8_t)(group->what.is_window | counts << 1),
                                 .link = group->what.comm,
                                 .number = g->number,
                                 .a = member->rank,
                                 .b = member->domain,
                                 .c = member->id,
                                 .time = time};
    for (uint32_t i = 0; i < group->party[2].count; i++)
        if (group->party[2].ranks[i] != replay->transport->rank)
            gn_mail_post(replay, group->party[2].ranks[i], &mail, NULL);
}

static void consider_ends(struct gn_replay *replay, struct gn_gathering *g);
static void set_limits(struct gn_replay *replay, struct gn_gathering *g);

void gn_gatherings_begin(struct gn_replay *replay, uint32_t location, struct gn_op *op, int64_t time)
{
    struct gn_gathering *g = gathering_at(replay, location, op);
    if (!g || replay->failed)
        return;
    struct member member = member_of(replay, location, op);
    const bool gives = op->flags & GN_OP_GIVES;
    const struct gn_latest_entry entry = {gives ? time : INT64_MIN, member.id, member.domain};
    if (!gn_grow(&g->begun, &g->begun_capacity, g->begun_count, sizeof *g->begun)) {
        replay->failed = -ENOMEM;
        return;
    }
    g->begun[g->begun_count++] = (struct gn_begun){op, member.id, member.domain, member.side};
    if (g->shape == GN_SHAPE_PREFIX) {
        member.rank = gn_comm_rank_of(replay->definitions, replay->groups[g->group].comm, member.id, NULL);
        post_prefix(replay, g, GN_MAIL_PREFIX_BEGIN, &member, time, gives);
        prefix_begun(replay, g, member.rank, &entry, op);
        return;
    }
    gn_latest_add(&g->begins[member.side], &entry);
    if (g->limited) /* where nobody waits, the root's end may have come first */
        set_limits(replay, g);
    const bool is_root =
        replay->groups[g->group].comm != GN_NONE && replay->locations[location].process == g->root;
    if (g->shape == GN_SHAPE_ONE_TO_ALL && !g->known && (gives || is_root)) /* it may have nothing to give */
        became_known(replay, g);
    consider_begins(replay, g);
    consider_ends(replay, g);
    gn_gathering_maybe_over(replay, g);
}

/* ---- ends ---- */

/* Of a member of a prefix reduction; else 0. */
static uint32_t rank_in(const struct gn_replay *replay, const struct gn_gathering *g, uint32_t process)
{
    return g->shape != GN_SHAPE_PREFIX
               ? 0
               : gn_comm_rank_of(replay->definitions, replay->groups[g->group].comm, process, NULL);
}

static bool end_is_known(const struct gn_replay *replay, const struct gn_gathering *g, uint32_t process)
{
    if (g->shape != GN_SHAPE_PREFIX)
        return g->known || (g->shape == GN_SHAPE_ONE_TO_ALL && replay->groups[g->group].comm != GN_NONE &&
                            replay->left[g->root]);
    return g->prefix_known >=
           gn_comm_rank_of(replay->definitions, replay->groups[g->group].comm, process, NULL);
}

bool gn_gatherings_ready(struct gn_replay *replay, uint32_t location, const struct gn_op *op, bool release,
                         int64_t *after, struct gn_latest_entry which[2])
{
    const struct member member = member_of(replay, location, op);
    *after = INT64_MIN;
    if (!(op->flags & GN_OP_GETS) || release)
        return true;
    struct gn_gathering *g = gathering_at(replay, location, op);
    if (!g)
        return true;
    if (!end_is_known(replay, g, replay->locations[location].process)) {
        gn_replay_wait(replay, &g->waiting, location);
        return false;
    }
    *after = earliest_end(replay, before_end(replay, g, member.side, rank_in(replay, g, member.id)),
                          member.id, member.domain, which);
    return true;
}

void gn_gatherings_wake(struct gn_replay *replay, uint32_t location, const struct gn_op *op)
{
    struct gn_gathering *g = gathering_at(replay, location, op);
    if (g)
        gn_replay_wake(replay, &g->waiting);
}

static void lower_limit(const struct gn_replay *replay, const struct gn_latest *ends, struct gn_op *op,
                        uint32_t member, uint32_t domain)
{
    const int64_t after = gn_latest_for(ends, member, domain, delay_for(replay, domain));
    if (op->flags & GN_OP_GIVES && after != INT64_MIN && -after < op->limit)
        op->limit = -after;
}

/* All of our begins get their limits from the ends that are known here. */
static void set_limits(struct gn_replay *replay, struct gn_gathering *g)
{
    const bool crosses = replay->groups[g->group].is_intercomm;
    for (size_t i = 0; i < g->begun_count && g->shape != GN_SHAPE_PREFIX; i++) {
        const struct gn_begun *b = &g->begun[i];
        lower_limit(replay, &g->ends[crosses ? !b->side : 0], b->op, b->member, b->domain);
    }
    struct gn_latest higher = GN_LATEST_NONE;
    for (uint32_t i = g->shape == GN_SHAPE_PREFIX ? g->prefix_size : 0; i-- > 0;) {
        const struct gn_prefix *at = &g->prefix[i];
        if (at->op)
            lower_limit(replay, &higher, at->op, at->begin.member, at->begin.domain);
        gn_latest_add(&higher, &at->end);
    }
}

static void consider_ends(struct gn_replay *replay, struct gn_gathering *g)
{
    if (g->limited || !replay->limits)
        return;
    if (g->shape == GN_SHAPE_PREFIX) {
        if (g->prefix_ended == g->prefix_size) {
            set_limits(replay, g);
            g->limited = true;
        }
        return;
    }
    if (g->shape == GN_SHAPE_ALL_TO_ONE || g->ends_passed_up || !g->known ||
        g->ended + g->gone < gn_gathering_ours(replay, g, false))
        return;
    const struct gn_tree tree = gn_tree_of(replay, g);
    if (!gn_tree_children_done(replay, g, &tree, g->end_parts))
        return;
    g->ends_passed_up = true;
    if (tree.position)
        gn_tree_post_up(replay, g, &tree, GN_MAIL_ENDS, g->ends);
    if (tree.position == 0) {
        if (g->shape == GN_SHAPE_ALL_TO_ALL)
            gn_tree_post_down(replay, g, GN_MAIL_LIMITS, g->ends);
        set_limits(replay, g);
    }
    g->limited = tree.position == 0 || g->shape == GN_SHAPE_ONE_TO_ALL;
}

void gn_gatherings_measure(struct gn_replay *replay, uint32_t location, const struct gn_op *op)
{
    const struct member member = member_of(replay, location, op);
    struct gn_gathering *g = gathering_at(replay, location, op);
    if (!g || replay->failed)
        return;
    if (replay->settings->ceilings) {
        const bool counts = op->flags & GN_OP_GETS && !(op->flags & GN_OP_VAGUE) && op->high != INT64_MAX;
        gn_gatherings_end(replay, location, op, op->high, counts);
        return;
    }
    const struct gn_awaiting end = {op->ticks,
                                    location,
                                    member.id,
                                    member.domain,
                                    rank_in(replay, g, replay->locations[location].process),
                                    member.side,
                                    op->flags & GN_OP_VAGUE};
    const bool gets = op->flags & GN_OP_GETS;
    const bool is_early = g->shape == GN_SHAPE_PREFIX ? g->prefix_known < end.rank : !g->known;
    if (gets && !is_early)
        measure_end(replay, g, &end);
    if (gets && is_early && !gn_grow(&g->awaiting, &g->awaiting_capacity, g->awaiting_count, sizeof end)) {
        replay->failed = -ENOMEM;
        return;
    }
    if (gets && is_early)
        g->awaiting[g->awaiting_count++] = end;
    gn_gatherings_end(replay, location, op, op->ticks, false);
}

void gn_gatherings_end(struct gn_replay *replay, uint32_t location, const struct gn_op *op, int64_t time,
                       bool counts)
{
    struct gn_gathering *g = gathering_at(replay, location, op);
    if (!g || replay->failed)
        return;
    struct member member = member_of(replay, location, op);
    const struct gn_latest_entry entry = {counts ? -time : INT64_MIN, member.id, member.domain};
    g->ended++;
    gn_latest_add(&g->ends[member.side], &entry);
    if (g->shape == GN_SHAPE_PREFIX) {
        member.rank = gn_comm_rank_of(replay->definitions, replay->groups[g->group].comm, member.id, NULL);
        if (replay->limits)
            post_prefix(replay, g, GN_MAIL_PREFIX_END, &member, time, counts);
        if (member.rank < g->prefix_size)
            g->prefix[member.rank].end = entry;
        g->prefix_ended++;
    }
    const uint32_t process = replay->locations[location].process;
    const bool is_root =
        replay->groups[g->group].comm == GN_NONE ? op->flags & GN_OP_GETS : process == g->root;
    if (g->shape == GN_SHAPE_ALL_TO_ONE && is_root && replay->limits) {
        gn_tree_post_down(replay, g, GN_MAIL_LIMITS, g->ends);
        set_limits(replay, g);
        g->limited = true;
    }
    consider_ends(replay, g);
    gn_gathering_maybe_over(replay, g);
}

/* ---- what others say ---- */

static void take_prefix(struct gn_replay *replay, struct gn_gathering *g, const struct gn_mail *mail)
{
    const bool is_end = mail->kind == GN_MAIL_PREFIX_END, counts = mail->flags & 2;
    const struct gn_latest_entry entry = {!counts  ? INT64_MIN
                                          : is_end ? -mail->time
                                                   : mail->time,
                                          mail->c, mail->b};
    if (!is_end) {
        prefix_begun(replay, g, mail->a, &entry, NULL);
        return;
    }
    if (mail->a < g->prefix_size)
        g->prefix[mail->a].end = entry;
    g->prefix_ended++;
}

static void merge(struct gn_latest to[2], const struct gn_mail_sides *sides)
{
    gn_latest_merge(&to[0], &sides->side[0]);
    gn_latest_merge(&to[1], &sides->side[1]);
}

void gn_gatherings_mail(struct gn_replay *replay, const struct gn_mail *mail,
                        const struct gn_mail_sides *sides)
{
    const bool is_prefix = mail->kind == GN_MAIL_PREFIX_BEGIN || mail->kind == GN_MAIL_PREFIX_END;
    const struct gn_op_group what = {.comm = mail->link, .is_window = mail->flags & 1};
    struct gn_which which = {.group = gn_group_named(replay, &what),
                             .number = mail->number,
                             .shape = mail->shape,
                             .root_side = mail->root_side,
                             .root = is_prefix ? GN_NONE : mail->a,
                             .is_late = mail->kind == GN_MAIL_BEGINS || mail->kind == GN_MAIL_KNOWN ||
                                        mail->kind == GN_MAIL_ENDS || mail->kind == GN_MAIL_ASK};
    struct gn_gathering *g = which.group == GN_NONE ? NULL : gn_gathering_of(replay, &which);
    if (!g || replay->failed)
        return;
    switch ((enum gn_mail_kind)mail->kind) {
    case GN_MAIL_BEGINS:
        merge(g->begins, sides);
        g->parts |= mail->b;
        break;
    case GN_MAIL_KNOWN:
        merge(g->begins, sides);
        became_known(replay, g);
        break;
    case GN_MAIL_ENDS:
        merge(g->ends, sides);
        g->end_parts |= mail->b;
        break;
    case GN_MAIL_LIMITS:
        merge(g->ends, sides);
        set_limits(replay, g);
        if (!g->limited)
            gn_tree_post_down(replay, g, GN_MAIL_LIMITS, g->ends);
        g->limited = true;
        break;
    case GN_MAIL_ASK: /* being there is enough */
        break;
    default:
        take_prefix(replay, g, mail);
    }
    consider_begins(replay, g);
    consider_ends(replay, g);
    gn_gathering_maybe_over(replay, g);
}

/* ---- those who leave ---- */

/* Processes leave in about the order in which they began, or the other way round: so it is near the last one
 * that was looked for. */
static bool has_begun(struct gn_gathering *g, uint32_t process)
{
    const size_t count = g->begun_count, middle = g->begun_hint < count ? g->begun_hint : count;
    for (size_t away = 0; away <= count; away++) {
        const size_t above = middle + away, below = middle - away;
        const bool is_above = above < count && g->begun[above].member == process;
        const bool is_below = away <= middle && below < count && g->begun[below].member == process;
        if (is_above || is_below) {
            g->begun_hint = is_above ? above : below;
            return true;
        }
    }
    return false;
}

static void missed_by(struct gn_replay *replay, struct gn_gathering *g, uint32_t process)
{
    g->gone += gn_gathering_takes_part(replay, g, process) && !has_begun(g, process);
}

/* Looks at all open instances again; left: the process that has just left, GN_NONE: none of ours. */
static void reconsider(struct gn_replay *replay, struct gn_replay_group *group, uint32_t left)
{
    for (uint32_t n = group->first, end = group->first + group->capacity; n != end; n++) {
        for (struct gn_gathering *g = gn_gatherings_numbered(group, n), *next; g; g = next) {
            next = g->variant;
            if (left != GN_NONE)
                missed_by(replay, g, left);
            if (g->shape == GN_SHAPE_PREFIX)
                consider_prefix(replay, g);
            consider_begins(replay, g);
            consider_ends(replay, g);
            if (end_is_known(replay, g, g->root))
                gn_replay_wake(replay, &g->waiting);
            gn_gathering_maybe_over(replay, g);
        }
    }
}

void gn_gatherings_leave(struct gn_replay *replay, uint32_t process)
{
    for (size_t i = 0; i < replay->group_count; i++) {
        struct gn_replay_group *group = &replay->groups[i];
        bool second = false;
        if (group->comm == GN_NONE ||
            gn_comm_rank_of(replay->definitions, group->comm, process, &second) == GN_NONE)
            continue;
        group->left[second]++;
        reconsider(replay, group, process);
    }
}

void gn_gatherings_reconsider(struct gn_replay *replay)
{
    for (size_t i = 0; i < replay->group_count; i++)
        reconsider(replay, &replay->groups[i], GN_NONE);
}

void gn_gatherings_flush(struct gn_replay *replay)
{
    replay->flushed = true;
    for (size_t i = 0; i < replay->group_count; i++) {
        struct gn_replay_group *group = &replay->groups[i];
        for (uint32_t n = group->first, end = group->first + group->capacity; n != end; n++)
            for (struct gn_gathering *g = gn_gatherings_numbered(group, n); g; g = g->variant) {
                if (g->limited)
                    continue;
                set_limits(replay, g);
                g->limited = true;
                for (uint32_t to = 0; to < group->party[2].count && g->shape != GN_SHAPE_PREFIX; to++)
                    if (group->party[2].ranks[to] != replay->transport->rank)
                        gn_gathering_post(replay, g, group->party[2].ranks[to], GN_MAIL_LIMITS, 0, g->ends);
            }
    }
}
