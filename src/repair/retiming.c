#include "repair/retiming.h"

#include <math.h>

static const double thresholds[GN_DEVIATIONS] = {0, 0.0001, 0.001, 0.01, 0.1, 1};

/* ---- new times ---- */

static bool is_behind(const struct gn_knot *knot, uint64_t record, int64_t ticks)
{
    return knot->record ? knot->record < record : knot->ticks <= ticks;
}

/* Gets more knots, and forgets those before the one before `next`. False: there are no more. */
static bool get_more(struct gn_retiming *r)
{
    if (r->is_over)
        return false;
    const uint64_t done = r->next > 0 ? r->next - 1 : 0, had = r->knots.count - done;
    r->is_over = r->source.more(r->source.self, done, &r->knots) <= 0;
    r->next -= done;
    r->next_op = r->next_op > done ? r->next_op - done : 0;
    for (uint64_t i = r->knots.count; i-- > had;)
        if (r->knots.knots[i].record > 0) {
            r->last_record = r->knots.knots[i].record;
            break;
        }
    return !r->is_over;
}

/* Whether it is there, and all ops of its record. */
static bool has_op(const struct gn_retiming *r)
{
    return r->next_op < r->knots.count && r->knots.knots[r->next_op].record < r->last_record;
}

static void find_op(struct gn_retiming *r)
{
    const struct gn_knot_row *row = &r->knots;
    r->next_op = r->next_op > r->next ? r->next_op : r->next;
    do {
        while (r->next_op < row->count && row->knots[r->next_op].record == 0)
            r->next_op++;
    } while (!has_op(r) && get_more(r));
    if (r->next_op < row->count)
        r->op_new = row->knots[r->next_op].ticks + row->knots[r->next_op].shift;
}

/* From the knot before `next` to it. */
static void find_line(struct gn_retiming *r)
{
    find_op(r);
    r->is_still = true;
    if (r->next == 0 || r->next >= r->knots.count)
        return;
    const struct gn_knot *right = &r->knots.knots[r->next], *left = right - 1;
    r->is_still = (left->shift | right->shift) == 0;
    r->right_ticks = right->ticks;
    /* At one timestamp, what is before an op goes with it; but not over a point that keeps it back. */
    r->right_shift = left->record || left->ticks < right->ticks ? right->shift : left->shift;
    r->line.x = INT64_MAX; /* none */
    if (left->ticks < right->ticks)
        r->line = gn_line(left->ticks, left->shift, right->ticks, right->shift);
}

/* What is later than the op after it is no event here, which that op would have had to come after: whatever a
 * broken record has for a time, it stands still, and pushes nothing. */
static int64_t as_event(const struct gn_retiming *r, uint64_t record, int64_t old)
{
    if (r->next_op >= r->knots.count)
        return old;
    const struct gn_knot *op = &r->knots.knots[r->next_op];
    if (record >= op->record || old <= op->ticks)
        return old;
    return r->any ? r->latest_old : op->ticks;
}

static void look_ahead(struct gn_retiming *r, uint64_t record, int64_t ticks)
{
    bool is_past = false;
    do {
        for (; r->next < r->knots.count && is_behind(&r->knots.knots[r->next], record, ticks); r->next++)
            is_past = true;
    } while (r->next == r->knots.count && get_more(r));
    if (is_past)
        find_line(r);
}

/* The op's own time, when this record is the next one; a record that is several has that of the last. */
static bool is_op(struct gn_retiming *r, uint64_t record, int64_t *new)
{
    const struct gn_knot_row *row = &r->knots;
    bool is = false;
    for (uint64_t i = r->next; i < row->count && row->knots[i].record <= record; i++)
        if (row->knots[i].record == record) {
            *new = row->knots[i].ticks + row->knots[i].shift;
            is = true;
        }
    if (is)
        r->steps = 0;
    return is;
}

/* Bounds are no straight lines between ops, and are rounded by themselves. Where ops could not but leave
 * them, so does what is between. */
static int64_t inside(const struct gn_retiming *r, int64_t new)
{
    if (r->is_outside)
        return new;
    return new > r->high ? r->high : new < r->low ? r->low : new;
}

static int64_t moved(struct gn_retiming *r, uint64_t record, int64_t old, bool goes_on)
{
    const int64_t ticks = old > r->latest_old ? old : r->latest_old;
    int64_t new = old;
    look_ahead(r, record, ticks);
    if (r->next == r->next_op && r->next < r->knots.count && is_op(r, record, &new))
        return new;
    if (!r->is_still) {
        const bool is_line = ticks >= r->line.x && ticks < r->right_ticks;
        new = ticks + (is_line ? gn_line_at(&r->line, ticks) : r->right_shift);
        new = inside(r, new);
    }
    if (r->any && new < r->new_ticks + goes_on)
        new = r->new_ticks + goes_on;
    if (r->next_op < r->knots.count) {
        const uint64_t steps = r->knots.knots[r->next_op].steps;
        const int64_t most = r->op_new - (int64_t)(steps > r->steps ? steps - r->steps : 0);
        new = new < most ? new : most;
    }
    return new;
}

/* ---- how far that is from the old ones ---- */

static void count_change(const struct gn_retiming *r, int64_t length, int64_t change)
{
    struct gn_deviation *d = r->deviation;
    const double size = fabs((double)change), relative = size / (double)length;
    d->deviation_ticks += size;
    for (int i = 0; i < GN_DEVIATIONS && relative > thresholds[i]; i++) {
        d->above[i]++;
        d->above_ticks[i] += (double)length;
    }
    d->largest_distance = fmax(d->largest_distance, relative);
    if (change > 0 && relative > d->steepest && (double)length >= r->microsecond_ticks)
        d->steepest = relative;
}

static void count_position(const struct gn_retiming *r, int64_t elapsed, int64_t change)
{
    struct gn_deviation *d = r->deviation;
    const int64_t size = change < 0 ? -change : change;
    if (size > d->largest_position_ticks)
        d->largest_position_ticks = size;
    if (elapsed > 0 && (double)size > d->largest_position * (double)elapsed)
        d->largest_position = (double)size / (double)elapsed;
}

static void count(const struct gn_retiming *r, int64_t old, int64_t new)
{
    struct gn_deviation *d = r->deviation;
    d->events++;
    d->moved += new != old;
    if (!r->any)
        return;
    const int64_t length = old - r->old_ticks, change = new - r->new_ticks - length;
    if (length > 0) {
        d->intervals++;
        d->interval_ticks += (double)length;
        if (change)
            count_change(r, length, change);
    }
    const int64_t elapsed = old - r->first_old, away = new - r->first_new - elapsed;
    if (away)
        count_position(r, elapsed, away);
}

static void find_bounds(struct gn_retiming *r, uint64_t ticks)
{
    r->low = INT64_MIN;
    r->high = INT64_MAX;
    if (r->is_bounded)
        r->deviation->bounded += gn_presync_bounds(&r->map, ticks, &r->low, &r->high);
}

struct gn_retiming gn_retiming_begin(const struct gn_presync *presync, uint32_t location,
                                     const struct gn_knot_source *knots, struct gn_deviation *deviation)
{
    const uint64_t rate = presync->definitions ? presync->definitions->ticks_per_second : 0;
    struct gn_retiming r = {.map = gn_presync_map(presync, location),
                            .deviation = deviation,
                            .is_raw = !gn_presync_moves(presync, location),
                            .is_bounded = presync->kind == GN_PRESYNC_BOUNDS,
                            .microsecond_ticks = (rate ? (double)rate : 1e9) * 1e-6,
                            .is_over = !knots || !knots->more,
                            .is_still = true};
    if (!r.is_over)
        r.source = *knots;
    if (get_more(&r))
        find_line(&r);
    return r;
}

uint64_t gn_retiming_time(void *retiming, uint64_t record, uint64_t ticks)
{
    struct gn_retiming *r = retiming;
    if (ticks > INT64_MAX / 2)
        return ticks;
    int64_t old = r->is_raw ? (int64_t)ticks : gn_presync_ticks(&r->map, ticks);
    if (r->knots.count > 0) {
        look_ahead(r, record, r->latest_old);
        old = as_event(r, record, old);
    }
    const bool goes_on = r->any && old > r->latest_old;
    find_bounds(r, ticks);
    r->steps += goes_on;
    int64_t new = r->knots.count > 0 ? moved(r, record, old, goes_on) : old;
    if (r->any && new < r->new_ticks)
        new = r->new_ticks;
    r->is_late |= new > INT64_MAX / 2;
    new = new < 0 ? 0 : new < INT64_MAX / 2 ? new : INT64_MAX / 2; /* bounds may be anywhere */
    if (!r->any)
        r->first_old = old, r->first_new = new;
    count(r, old, new);
    r->is_outside = new != old && (new < r->low || new > r->high);
    r->deviation->outside += r->is_outside;
    r->any = true;
    r->old_ticks = old;
    r->new_ticks = new;
    r->latest_old = old > r->latest_old ? old : r->latest_old;
    return (uint64_t) new;
}

void gn_deviation_add(struct gn_deviation *sum, const struct gn_deviation *more)
{
    sum->events += more->events;
    sum->moved += more->moved;
    sum->intervals += more->intervals;
    sum->interval_ticks += more->interval_ticks;
    sum->deviation_ticks += more->deviation_ticks;
    for (int i = 0; i < GN_DEVIATIONS; i++) {
        sum->above[i] += more->above[i];
        sum->above_ticks[i] += more->above_ticks[i];
    }
    sum->largest_distance = fmax(sum->largest_distance, more->largest_distance);
    sum->largest_position = fmax(sum->largest_position, more->largest_position);
    if (more->largest_position_ticks > sum->largest_position_ticks)
        sum->largest_position_ticks = more->largest_position_ticks;
    sum->steepest = fmax(sum->steepest, more->steepest);
    sum->outside += more->outside;
    sum->bounded += more->bounded;
}
