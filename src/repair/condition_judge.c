#include "repair/condition_judge.h"

#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>

struct gn_condition_judge {
    const struct gn_presync *bounds; /* NULL: none */
    struct gn_condition_judged *judged;
    struct gn_presync_map *maps; /* by location; NULL: no bounds */
    struct gn_pairs pairs;       /* the same, at other times */
};

enum side { BEGIN, END };

static int add(struct gn_pair_list *list, const struct gn_pair_side *side, int64_t ticks)
{
    if (!gn_grow(&list->sides, &list->capacity, list->count, sizeof *list->sides))
        return -ENOMEM;
    list->sides[list->count] = *side;
    list->sides[list->count++].ticks = ticks;
    return 0;
}

/* The earliest that a begin can have been, the latest of an end; false: that is not known. */
static bool bound_of(const struct gn_condition_judge *j, const struct gn_pair_side *side, enum side which,
                     int64_t *ticks)
{
    int64_t low, high;
    if (!gn_presync_bounds(&j->maps[side->location], (uint64_t)side->raw_ticks, &low, &high))
        return false;
    *ticks = which == BEGIN ? low : high;
    if (*ticks == INT64_MIN || *ticks == INT64_MAX)
        return false;
    *ticks = *ticks < 0 ? 0 : *ticks > INT64_MAX / 2 ? INT64_MAX / 2 : *ticks;
    return true;
}

static int take(struct gn_condition_judge *j, const struct gn_pair_list *from, struct gn_pair_list *to,
                enum side which, bool by_bounds)
{
    int code = 0;
    to->count = 0;
    for (size_t i = 0; i < from->count && code == 0; i++) {
        int64_t ticks = from->sides[i].raw_ticks;
        if (!by_bounds || bound_of(j, &from->sides[i], which, &ticks))
            code = add(to, &from->sides[i], ticks);
    }
    return code;
}

static int split(struct gn_condition_judge *j, const struct gn_pairs *pairs, bool by_bounds,
                 struct gn_pairs_split *into)
{
    j->pairs.prefix = pairs->prefix;
    int code = take(j, &pairs->givers, &j->pairs.givers, BEGIN, by_bounds);
    if (code == 0)
        code = take(j, &pairs->getters, &j->pairs.getters, END, by_bounds);
    return code ? code : gn_pairs_split(&j->pairs, into);
}

int gn_condition_judge(struct gn_condition_judge *j, const struct gn_pairs *pairs)
{
    struct gn_pairs_split shown, bounded = {0};
    int code = split(j, pairs, false, &shown);
    if (code == 0 && j->maps && shown.between > 0)
        code = split(j, pairs, true, &bounded);
    if (code != 0)
        return code;
    j->judged->held += shown.within - shown.within_reversed;
    j->judged->not_held += shown.within_reversed;
    j->judged->possible += bounded.between - bounded.between_reversed;
    j->judged->impossible += bounded.between_reversed;
    j->judged->unknown += shown.between - bounded.between;
    return 0;
}

struct gn_condition_judge *gn_condition_judge_new(const struct gn_definitions *definitions,
                                                  const struct gn_presync *bounds,
                                                  struct gn_condition_judged *judged)
{
    struct gn_condition_judge *j = calloc(1, sizeof *j);
    if (!j)
        return NULL;
    *j = (struct gn_condition_judge){.bounds = bounds, .judged = judged};
    if (!bounds)
        return j;
    j->maps = calloc(definitions->location_count + 1, sizeof *j->maps);
    for (uint32_t l = 0; j->maps && l < definitions->location_count; l++)
        j->maps[l] = gn_presync_map(bounds, l);
    if (j->maps)
        return j;
    gn_condition_judge_free(j);
    return NULL;
}

void gn_condition_judge_free(struct gn_condition_judge *j)
{
    if (!j)
        return;
    gn_pairs_clear(&j->pairs);
    free(j->maps);
    free(j);
}
