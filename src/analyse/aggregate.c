/*
 * The aggregated event view (Benavides 2019, 5.1): events whose intervals overlap are one event, from the
 * least lower to the largest upper bound; what comes out is totally ordered.
 *
 *      B ──────         ───────
 *      C     ──────       ─────────            ═════════════ BCD: 7 to 20, three events
 *
 * The paper says no more than that, and that score bounds follow by propagating the bounds. Decided here:
 *
 *   - Intervals that have a point in common overlap: they do not tell which event was first.
 *   - Overlap is transitive, and it does not matter whose events they are: of other locations, of the same
 *     one, of locations that share a clock. An event alone is an aggregated one of size 1.
 *   - Between aggregated events each location's state is certain. The lower bound has those of these gaps in
 *     which the answer is yes.
 *   - Inside, nothing is certain, and a location may be in any state that it was in before, or enters in one
 *     of the underlying events. The upper bound adds the whole of an aggregated event where the answer may be
 *     yes for one choice of such states. (Adding those only that a gap with that answer touches would be
 *     narrower, and wrong: what is short may lie inside altogether.)
 */
#include "analyse/frames.h"
#include "analyse/lanes.h"
#include "analyse/tournament.h"

#include <errno.h>
#include <stdlib.h>

static struct gn_contestant next_of(const struct gn_stages *stages, const size_t *next, size_t location)
{
    if (next[location] == stages[location].count)
        return gn_contestant_ended(location);
    return gn_contestant(location, stages[location].stages[next[location]].at.lo_ns, 0);
}

static void count_size(size_t count, uint64_t *sizes, size_t sizes_count)
{
    size_t size = 63 - (size_t)__builtin_clzll(count);
    if (sizes && sizes_count)
        sizes[size < sizes_count ? size : sizes_count - 1]++;
}

/* All steps in the order of their lower bounds. How many. */
static size_t merge(struct gn_lanes *lanes, struct gn_tournament *t, const struct gn_stages *stages,
                    size_t *next)
{
    size_t filled = 0;
    while (!t->tree[0].ended) {
        uint32_t location = t->tree[0].number;
        lanes->steps[filled++] = gn_step_of(location, &stages[location].stages[next[location]++]);
        gn_tournament_replace(t, next_of(stages, next, location));
    }
    return filled;
}

/* One lane with all locations. False: no memory. */
static bool fill(struct gn_lanes *lanes, const struct gn_stages *stages, size_t count, uint64_t *sizes,
                 size_t sizes_count)
{
    struct gn_tournament t = {0};
    struct gn_contestant *first = calloc(count + 1, sizeof *first);
    size_t *next = calloc(count + 1, sizeof *next);
    bool done = first && next && count;
    for (size_t l = 0; done && l < count; l++) {
        lanes->lane_of[l] = stages[l].count ? 0 : UINT32_MAX;
        first[l] = next_of(stages, next, l);
    }
    done = done && gn_tournament_new(&t, first, count);
    if (done)
        lanes->first[1] = merge(lanes, &t, stages, next);
    for (size_t begin = 0, size; done && begin < lanes->first[1]; begin += size) {
        size = gn_steps_overlapping(lanes->steps + begin, lanes->first[1] - begin);
        gn_steps_join(lanes->steps + begin, size);
        count_size(size, sizes, sizes_count);
    }
    lanes->is_blind = true;
    lanes->count = done && lanes->first[1] > 0;
    gn_tournament_clear(&t);
    free(first);
    free(next);
    return done || !count;
}

int gn_lanes_aggregated(struct gn_lanes *lanes, const struct gn_stages *stages, size_t count, uint64_t *sizes,
                        size_t sizes_count, struct gn_error *err)
{
    for (size_t i = 0; sizes && i < sizes_count; i++)
        sizes[i] = 0;
    int code = gn_lanes_new(lanes, stages, count, err);
    if (code)
        return code;
    if (fill(lanes, stages, count, sizes, sizes_count))
        return 0;
    gn_lanes_clear(lanes);
    return gn_fail(err, -ENOMEM, "no memory for the aggregated events of %zu locations", count);
}

int gn_frames_aggregated(struct gn_frames *frames, const struct gn_stages *stages, size_t count,
                         const struct gn_question *question, uint64_t *sizes, size_t sizes_count,
                         struct gn_error *err)
{
    struct gn_lanes lanes;
    int code = gn_lanes_aggregated(&lanes, stages, count, sizes, sizes_count, err);
    if (code)
        return code;
    code = gn_frames_of_lanes(frames, &lanes, count, question, err);
    gn_lanes_clear(&lanes);
    return code;
}
