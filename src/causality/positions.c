#include "causality/positions.h"

#include "base/grow.h"
#include "event/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* More of them are not those of calls that overlap, but of messages that nobody recorded. */
enum { GAPS_MOST = 64 };

static void remove_gap(struct gn_positions *positions, size_t at)
{
    positions->gap_count--;
    memmove(&positions->gaps[at], &positions->gaps[at + 1],
            (positions->gap_count - at) * sizeof *positions->gaps);
}

static bool make_room(struct gn_positions *positions)
{
    return positions->gap_count == GAPS_MOST ||
           gn_grow(&positions->gaps, &positions->gap_capacity, positions->gap_count, sizeof *positions->gaps);
}

/* There is room. Where there are too many the lowest is given up. */
static void insert_gap(struct gn_positions *positions, size_t at, struct gn_gap gap)
{
    if (gap.from == gap.to || (positions->gap_count == GAPS_MOST && at == 0))
        return;
    if (positions->gap_count == GAPS_MOST) {
        remove_gap(positions, 0);
        at--;
    }
    memmove(&positions->gaps[at + 1], &positions->gaps[at],
            (positions->gap_count - at) * sizeof *positions->gaps);
    positions->gaps[at] = gap;
    positions->gap_count++;
}

/* Whoever has a larger number than this certain one is behind it. */
static void bound_gaps(struct gn_positions *positions, uint64_t number)
{
    for (size_t i = 0; i < positions->gap_count && positions->gaps[i].from < number; i++)
        if (positions->gaps[i].before > number && positions->gaps[i].to <= number)
            positions->gaps[i].before = number;
}

/* False: somebody has the position. */
static bool take_own(struct gn_positions *positions, uint64_t number)
{
    for (size_t i = 0; i < positions->gap_count && positions->gaps[i].from <= number; i++) {
        const struct gn_gap gap = positions->gaps[i];
        if (number >= gap.to)
            continue;
        remove_gap(positions, i);
        insert_gap(positions, i, (struct gn_gap){number + 1, gap.to, gap.before});
        insert_gap(positions, i, (struct gn_gap){gap.from, number, number});
        return true;
    }
    return false;
}

static uint64_t take_first(struct gn_positions *positions, uint64_t number)
{
    for (size_t i = 0; i < positions->gap_count; i++) {
        struct gn_gap *gap = &positions->gaps[i];
        if (number != GN_UNNUMBERED && number >= gap->before)
            continue;
        const uint64_t position = gap->from++;
        if (gap->from == gap->to)
            remove_gap(positions, i);
        return position;
    }
    return positions->next++;
}

int gn_position_take(struct gn_positions *positions, uint64_t number, bool is_certain, uint64_t *position)
{
    if (positions->next == GN_UNNUMBERED && !is_certain) {
        *position = GN_UNNUMBERED;
        return 0;
    }
    if (!is_certain) {
        *position = take_first(positions, number);
        return 0;
    }
    *position = number;
    if (number == positions->next) {
        bound_gaps(positions, number);
        positions->next++;
        return 0;
    }
    if (!make_room(positions))
        return -ENOMEM;
    bound_gaps(positions, number);
    if (number < positions->next && positions->next != GN_UNNUMBERED) {
        if (!take_own(positions, number))
            *position = take_first(positions, number);
        return 0;
    }
    if (number > positions->next)
        insert_gap(positions, positions->gap_count, (struct gn_gap){positions->next, number, number});
    positions->next = number + 1;
    return 0;
}

uint64_t gn_position_give_back(struct gn_positions *positions, uint64_t number, uint64_t holder)
{
    bound_gaps(positions, number);
    return take_first(positions, holder);
}

void gn_positions_clear(struct gn_positions *positions)
{
    free(positions->gaps);
    *positions = (struct gn_positions){.next = GN_UNNUMBERED};
}
