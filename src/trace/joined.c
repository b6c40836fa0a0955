#include "trace/joined.h"

#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct gn_joined {
    size_t count;
    char **paths;
    struct place {     /* per location */
        uint32_t part; /* that is read */
        uint64_t last_ticks;
    } * places;
    size_t place_count, place_capacity;
    struct part {
        struct gn_source source;
        const struct gn_trace_report *report;
    } parts[];
};

/* ---- are they parts of one run? ---- */

struct pair {
    const struct gn_definitions *a, *b;
};

static bool same_text(const struct pair *p, uint32_t a, uint32_t b)
{
    return strcmp(gn_string(p->a, a), gn_string(p->b, b)) == 0;
}

static bool same_places(const struct pair *p)
{
    const struct gn_definitions *a = p->a, *b = p->b;
    if (a->process_count != b->process_count || a->location_count != b->location_count)
        return false;
    for (size_t i = 0; i < a->process_count; i++)
        if (a->processes[i].rank != b->processes[i].rank ||
            !same_text(p, a->processes[i].name, b->processes[i].name))
            return false;
    for (size_t i = 0; i < a->location_count; i++)
        if (a->locations[i].file_id != b->locations[i].file_id ||
            a->locations[i].process != b->locations[i].process)
            return false;
    return true;
}

static bool same_code(const struct pair *p)
{
    const struct gn_definitions *a = p->a, *b = p->b;
    if (a->region_count != b->region_count || a->path_count != b->path_count)
        return false;
    for (size_t i = 0; i < a->region_count; i++)
        if (!same_text(p, a->regions[i].name, b->regions[i].name))
            return false;
    for (size_t i = 0; i < a->path_count; i++)
        if (a->paths[i].parent != b->paths[i].parent || a->paths[i].region != b->paths[i].region)
            return false;
    return true;
}

static bool same_comms(const struct pair *p)
{
    const struct gn_definitions *a = p->a, *b = p->b;
    if (a->comm_count != b->comm_count || a->window_count != b->window_count)
        return false;
    for (size_t i = 0; i < a->comm_count; i++) {
        const struct gn_comm_def *x = &a->comms[i], *y = &b->comms[i];
        size_t members = (size_t)x->member_count + x->other_count;
        if (x->member_count != y->member_count || x->other_count != y->other_count ||
            (members && memcmp(x->members, y->members, members * sizeof *x->members) != 0))
            return false;
    }
    for (size_t i = 0; i < a->window_count; i++)
        if (a->windows[i].comm != b->windows[i].comm)
            return false;
    return true;
}

static int check_shared(const struct gn_definitions *a, const struct gn_definitions *b, char **paths,
                        size_t i, struct gn_error *err)
{
    struct pair pair = {a, b};
    const char *differ = a->ticks_per_second != b->ticks_per_second ? "clocks"
                         : !same_places(&pair)                      ? "processes or locations"
                         : !same_code(&pair)                        ? "regions or call paths"
                         : !same_comms(&pair)                       ? "communicators"
                                                                    : NULL;
    if (!differ)
        return 0;
    return gn_fail(err, -EINVAL,
                   "%s and %s are not parts of one run: they define different %s; order them one at a time",
                   paths[0], paths[i], differ);
}

/* ---- as one source ---- */

/* The next part has to go on where the one before ended. */
static int check_follows(const struct gn_joined *j, uint32_t location, const struct gn_event *first,
                         struct gn_error *err)
{
    const struct place *place = &j->places[location];
    if (first->ticks >= place->last_ticks)
        return 0;
    return gn_fail(
        err, -EINVAL,
        "%s does not go on where the traces before it end: its location %u begins at an earlier time; "
        "name parts of one run in their order, and each once",
        j->paths[place->part], location);
}

static int64_t pull(void *self, uint32_t location, const struct gn_event **events, struct gn_error *err)
{
    struct gn_joined *j = self;
    while (j->place_count <= location) {
        if (!gn_grow(&j->places, &j->place_capacity, j->place_count, sizeof *j->places))
            return gn_fail(err, -ENOMEM, "no memory for location %u", location);
        j->places[j->place_count++] = (struct place){0};
    }
    struct place *place = &j->places[location];
    for (bool next = false; place->part < j->count; place->part++, next = true) {
        struct gn_source *part = &j->parts[place->part].source;
        int64_t count = part->pull(part->self, location, events, err);
        int code = next && count > 0 ? check_follows(j, location, *events, err) : 0;
        if (code < 0)
            return code;
        if (count > 0)
            place->last_ticks = (*events)[count - 1].ticks;
        if (count != 0)
            return count;
    }
    return 0;
}

static void close_joined(void *self)
{
    struct gn_joined *j = self;
    for (size_t i = 0; i < j->count; i++)
        j->parts[i].source.close(j->parts[i].source.self);
    free(j->places);
    free(j);
}

int gn_joined_open(struct gn_source *source, struct gn_joined **joined, char **paths, size_t count,
                   struct gn_error *err)
{
    struct gn_joined *j = calloc(1, sizeof *j + count * sizeof j->parts[0]);
    int code = j ? 0 : gn_fail(err, -ENOMEM, "no memory for %zu traces", count);
    if (j)
        j->paths = paths;
    for (size_t i = 0; i < count && code == 0; i++) {
        code = gn_trace_open(&j->parts[i].source, &j->parts[i].report, paths[i], err);
        j->count += code == 0;
        if (code == 0 && i > 0)
            code =
                check_shared(j->parts[0].source.definitions, j->parts[i].source.definitions, paths, i, err);
    }
    if (code != 0) {
        if (j)
            close_joined(j);
        return code;
    }
    *joined = j;
    *source = (struct gn_source){
        .self = j, .definitions = j->parts[0].source.definitions, .pull = pull, .close = close_joined};
    return 0;
}

struct gn_trace_report gn_joined_report(const struct gn_joined *j)
{
    struct gn_trace_report sum = *j->parts[0].report;
    uint64_t *to = &sum.events;
    size_t numbers = (sizeof sum - offsetof(struct gn_trace_report, events)) / sizeof *to;
    for (size_t i = 1; i < j->count; i++)
        for (size_t k = 0; k < numbers; k++)
            to[k] += (&j->parts[i].report->events)[k];
    return sum;
}
