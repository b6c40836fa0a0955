#include "repair/condition_teams.h"

#include "base/grow.h"
#include "causality/teams.h"
#include "repair/condition_pairs.h"

#include <errno.h>
#include <stdlib.h>

struct gn_condition_teams {
    const struct gn_definitions *d;
    struct gn_condition *condition;
    struct gn_teams *teams;
    bool *left; /* by process */
    struct gn_pairs pairs;
};

/* ---- counting ---- */

static int by_location(const void *a, const void *b)
{
    const struct gn_pair_side *one = a, *other = b;
    return (one->location > other->location) - (one->location < other->location);
}

static int add_side(const struct gn_condition_teams *c, struct gn_pair_list *list,
                    const struct gn_team_part *part)
{
    const int64_t ticks = (int64_t)part->ticks;
    if (!gn_grow(&list->sides, &list->capacity, list->count, sizeof *list->sides))
        return -ENOMEM;
    list->sides[list->count++] = (struct gn_pair_side){ticks, ticks, part->location, part->location,
                                                       c->d->locations[part->location].domain};
    return 0;
}

static int synced(void *self, const struct gn_team_sync *sync)
{
    struct gn_condition_teams *c = self;
    struct gn_pair_list *givers = &c->pairs.givers, *getters = &c->pairs.getters;
    int code = 0;
    givers->count = getters->count = 0;
    for (size_t i = 0; i < sync->count && code == 0; i++)
        code = add_side(c, sync->parts[i].gives ? givers : getters, &sync->parts[i]);
    if (code != 0 || givers->count == 0 || getters->count == 0)
        return code;
    qsort(givers->sides, givers->count, sizeof *givers->sides, by_location);
    qsort(getters->sides, getters->count, sizeof *getters->sides, by_location);
    return gn_pairs_count(&c->pairs, &c->condition->collectives, c->condition);
}

static int over(void *self, const struct gn_team_end *end)
{
    struct gn_condition_teams *c = self;
    c->condition->coverage[GN_CONDITION_TEAMS].all++;
    c->condition->coverage[GN_CONDITION_TEAMS].checked += end->is_whole;
    c->condition->unmatched += end->is_lost ? end->threads : 0;
    return 0;
}

/* ---- events ---- */

int gn_condition_teams_event(struct gn_condition_teams *c, const struct gn_event *e)
{
    const uint32_t process = c->d->locations[e->location].process;
    if (process >= c->d->process_count)
        return 0;
    if (c->left[process]) {
        c->condition->coverage[GN_CONDITION_TEAMS].all += e->kind == GN_EVENT_THREAD_FORK;
        return 0;
    }
    return gn_teams_event(c->teams, e);
}

int gn_condition_teams_leave(struct gn_condition_teams *c, uint32_t process)
{
    if (process >= c->d->process_count || c->left[process])
        return 0;
    c->left[process] = true;
    return gn_teams_lose(c->teams, process);
}

int gn_condition_teams_finish(struct gn_condition_teams *c)
{
    int code = 0;
    for (uint32_t p = 0; p < c->d->process_count && code == 0; p++)
        code = c->left[p] ? 0 : gn_teams_end(c->teams, p);
    return code;
}

struct gn_condition_teams *gn_condition_teams_new(const struct gn_definitions *definitions,
                                                  const struct gn_latency *latency,
                                                  struct gn_condition *condition)
{
    struct gn_condition_teams *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->d = definitions;
    c->condition = condition;
    c->pairs.latency = latency;
    c->teams = gn_teams_new(definitions, &(struct gn_teams_sink){.self = c, .synced = synced, .over = over});
    c->left = calloc(definitions->process_count + 1, sizeof *c->left);
    if (c->teams && c->left)
        return c;
    gn_condition_teams_free(c);
    return NULL;
}

void gn_condition_teams_free(struct gn_condition_teams *c)
{
    if (!c)
        return;
    gn_teams_free(c->teams);
    gn_pairs_clear(&c->pairs);
    free(c->left);
    free(c);
}
