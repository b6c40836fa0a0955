#include "repair/ceilings.h"

/* A record has one time: none of its ops, of which this is the first, may be above the lowest. */
static uint64_t share(struct gn_op_store *store, uint32_t location, uint64_t first)
{
    const uint64_t count = store->rows[location].count;
    const int64_t high = gn_op_at(store, location, first)->high;
    uint64_t lowered = 0;
    for (uint64_t i = first + 1; i < count && gn_op_at(store, location, i)->records == 0; i++) {
        struct gn_op *op = gn_op_at(store, location, i);
        lowered += high < op->high;
        op->high = high < op->high ? high : op->high;
    }
    return lowered;
}

uint64_t gn_ceilings_lower(struct gn_op_store *store, uint32_t location)
{
    uint64_t lowered = 0;
    const struct gn_op *next = NULL;
    for (uint64_t i = store->rows[location].count; i-- > 0;) {
        struct gn_op *op = gn_op_at(store, location, i);
        int64_t high = op->high;
        const bool is_limited = op->kind == GN_OP_SEND || op->kind == GN_OP_BEGIN;
        if (is_limited && op->limit < high)
            high = op->limit;
        if (next && next->high != INT64_MAX && next->high - next->steps < high)
            high = next->high - next->steps;
        high = high > 0 ? high : 0; /* no time is below */
        lowered += high < op->high;
        op->high = high;
        if (next && next->records == 0 && (op->records > 0 || i == 0))
            lowered += share(store, location, i);
        next = op;
    }
    return lowered;
}

/* How far below its presynchronised time an op has to start (≤ 0), when one `ticks` away is `dip` below. */
static int64_t dip_of(const struct gn_op *op, int64_t dip, int64_t ticks, double slope)
{
    const int64_t own = op->high < op->ticks ? op->high - op->ticks : 0;
    const int64_t left = slope > 0 && dip < 0 ? dip + (int64_t)(slope * (double)ticks) : 0;
    return left < own ? left : own;
}

void gn_ceilings_settle(struct gn_op_store *store, uint32_t location, double slope)
{
    const uint64_t count = store->rows[location].count;
    const struct gn_op *other = NULL;
    int64_t dip = 0;
    for (uint64_t i = count; i-- > 0;) { /* op.shift holds it for now */
        struct gn_op *op = gn_op_at(store, location, i);
        op->shift = dip = dip_of(op, dip, other ? other->ticks - op->ticks : 0, slope);
        other = op;
    }
    other = NULL;
    dip = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct gn_op *op = gn_op_at(store, location, i);
        const int64_t behind = dip_of(op, dip, other ? op->ticks - other->ticks : 0, slope);
        dip = behind < op->shift ? behind : op->shift;
        if (op->start == INT64_MIN || op->ticks + dip > op->start)
            op->start = op->ticks + dip;
        if (op->start < 0) /* no time: ticks are not below it */
            op->start = 0;
        if (op->start > op->ticks) /* the lower bound of an op whose timestamp went back */
            op->start = op->ticks;
        op->shift = 0;
        other = op;
    }
}
