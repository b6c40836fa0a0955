#include "event/definitions.h"

#include "base/grow.h"
#include "base/lookup.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* How to find a process's rank: members of most communicators are an arithmetic progression; of others the
 * pairs are sorted at the first question. */
struct inverse {
    struct pair {
        uint32_t process, rank;
    } * pairs;
    bool asked, regular;
    uint32_t step;
};

struct gn_definitions_inside {
    char **strings;
    struct gn_lookup numbers; /* of the strings */
    struct inverse *inverses; /* two per communicator: of the group, of the second group */
    size_t string_count, string_capacity, inverse_capacity;
    size_t system_nodes, processes, locations, regions, paths, comms, windows, clocks; /* capacities */
};

/* ---- strings ---- */

struct text {
    char **strings;
    const char *text;
};

static bool is_text(const void *context, uint32_t string)
{
    const struct text *wanted = context;
    return strcmp(wanted->strings[string], wanted->text) == 0;
}

uint32_t gn_define_string(struct gn_definitions *d, const char *text)
{
    struct gn_definitions_inside *in = d->inside;
    uint64_t hash = XXH3_64bits(text, strlen(text));
    int64_t known = gn_lookup_find(&in->numbers, hash, is_text, &(struct text){in->strings, text});
    if (known != GN_LOOKUP_NOTHING)
        return (uint32_t)known;
    if (!gn_grow(&in->strings, &in->string_capacity, in->string_count, sizeof *in->strings))
        return GN_NONE;
    char *copy = strdup(text);
    if (!copy || !gn_lookup_add(&in->numbers, hash, (uint32_t)in->string_count)) {
        free(copy);
        return GN_NONE;
    }
    in->strings[in->string_count] = copy;
    return (uint32_t)in->string_count++;
}

const char *gn_string(const struct gn_definitions *d, uint32_t string)
{
    return string < d->inside->string_count ? d->inside->strings[string] : "";
}

const char *gn_domain_name(const struct gn_definitions *d, uint32_t domain)
{
    return gn_string(d, domain < d->system_node_count ? d->system_nodes[domain].name
                                                      : d->processes[domain - d->system_node_count].name);
}

size_t gn_string_count(const struct gn_definitions *d)
{
    return d->inside->string_count;
}

/* ---- the set ---- */

struct gn_definitions *gn_definitions_new(void)
{
    struct gn_definitions *d = calloc(1, sizeof *d);
    if (d)
        d->inside = calloc(1, sizeof *d->inside);
    if (!d || !d->inside || gn_define_string(d, "") == GN_NONE ||
        gn_define_clock(d, &(struct gn_offsets_def){NULL, 0}) == GN_NONE) {
        gn_definitions_free(d);
        return NULL;
    }
    return d;
}

static void free_strings(struct gn_definitions_inside *in)
{
    for (size_t i = 0; i < in->string_count; i++)
        free(in->strings[i]);
    free(in->strings);
    gn_lookup_clear(&in->numbers);
}

void gn_definitions_free(struct gn_definitions *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->comm_count; i++) {
        free(d->comms[i].members);
        free(d->inside->inverses[2 * i].pairs);
        free(d->inside->inverses[2 * i + 1].pairs);
    }
    for (size_t i = 0; i < d->clock_count; i++)
        free(d->clocks[i].offsets);
    if (d->inside) {
        free_strings(d->inside);
        free(d->inside->inverses);
    }
    free(d->inside);
    free(d->system_nodes);
    free(d->processes);
    free(d->locations);
    free(d->regions);
    free(d->paths);
    free(d->comms);
    free(d->windows);
    free(d->clocks);
    free(d);
}

/* Appends *what to the array `items` of the set and returns its index. */
#define APPEND(d, items, count, what)                                                                        \
    (gn_grow(&(d)->items, &(d)->inside->items, (d)->count, sizeof *(d)->items)                               \
         ? ((d)->items[(d)->count] = *(what), (uint32_t)(d)->count++)                                        \
         : GN_NONE)

uint32_t gn_define_system_node(struct gn_definitions *d, const struct gn_system_node *what)
{
    return APPEND(d, system_nodes, system_node_count, what);
}

uint32_t gn_define_process(struct gn_definitions *d, const struct gn_process *what)
{
    return APPEND(d, processes, process_count, what);
}

uint32_t gn_define_location(struct gn_definitions *d, const struct gn_location_def *what)
{
    uint32_t index = APPEND(d, locations, location_count, what);
    if (index != GN_NONE && what->process < d->process_count &&
        d->processes[what->process].main_location == GN_NONE)
        d->processes[what->process].main_location = index;
    return index;
}

uint32_t gn_define_region(struct gn_definitions *d, const struct gn_region_def *what)
{
    struct gn_region_def region = *what;
    region.activity =
        region.role == GN_ROLE_MPI ? gn_activity_named(gn_string(d, region.name)) : GN_ACTIVITY_NONE;
    return APPEND(d, regions, region_count, &region);
}

uint32_t gn_define_path(struct gn_definitions *d, const struct gn_path_def *what)
{
    return APPEND(d, paths, path_count, what);
}

uint32_t gn_define_window(struct gn_definitions *d, const struct gn_window_def *what)
{
    return APPEND(d, windows, window_count, what);
}

static bool same_offsets(const struct gn_offsets_def *a, const struct gn_offsets_def *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; i < a->count && same; i++)
        same = a->offsets[i].ticks == b->offsets[i].ticks &&
               a->offsets[i].offset_ticks == b->offsets[i].offset_ticks &&
               a->offsets[i].deviation_ticks == b->offsets[i].deviation_ticks;
    return same;
}

uint32_t gn_define_clock(struct gn_definitions *d, const struct gn_offsets_def *what)
{
    if (d->clock_count && same_offsets(what, &d->clocks[d->clock_count - 1]))
        return (uint32_t)d->clock_count - 1;
    struct gn_offsets_def copy = {malloc(what->count * sizeof *copy.offsets + 1), what->count};
    if (!copy.offsets)
        return GN_NONE;
    if (what->count)
        memcpy(copy.offsets, what->offsets, what->count * sizeof *copy.offsets);
    uint32_t index = APPEND(d, clocks, clock_count, &copy);
    if (index == GN_NONE)
        free(copy.offsets);
    return index;
}

/* ---- communicators ---- */

uint32_t gn_define_comm(struct gn_definitions *d, const struct gn_comm_def *what)
{
    struct gn_definitions_inside *in = d->inside;
    size_t members = (size_t)what->member_count + what->other_count;
    while (in->inverse_capacity < 2 * d->comm_count + 2)
        if (!gn_grow(&in->inverses, &in->inverse_capacity, in->inverse_capacity, sizeof *in->inverses))
            return GN_NONE;
    struct gn_comm_def copy = *what;
    copy.members = malloc(members ? members * sizeof *copy.members : 1);
    if (!copy.members)
        return GN_NONE;
    if (members)
        memcpy(copy.members, what->members, members * sizeof *copy.members);
    uint32_t index = APPEND(d, comms, comm_count, &copy);
    if (index == GN_NONE)
        free(copy.members);
    else
        memset(&in->inverses[2 * index], 0, 2 * sizeof *in->inverses);
    return index;
}

static int by_process(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    return x->process != y->process ? (x->process < y->process ? -1 : 1)
                                    : (x->rank > y->rank) - (x->rank < y->rank);
}

static void prepare(struct inverse *inverse, const uint32_t *members, uint32_t count)
{
    inverse->asked = true;
    inverse->step = count > 1 && members[1] > members[0] ? members[1] - members[0] : 1;
    inverse->regular = true;
    for (uint32_t i = 1; i < count && inverse->regular; i++)
        inverse->regular = members[i] == members[0] + (uint64_t)i * inverse->step;
    if (inverse->regular)
        return;
    inverse->pairs = malloc(count * sizeof *inverse->pairs);
    if (!inverse->pairs)
        return;
    for (uint32_t i = 0; i < count; i++)
        inverse->pairs[i] = (struct pair){members[i], i};
    qsort(inverse->pairs, count, sizeof *inverse->pairs, by_process);
}

static uint32_t rank_in(struct inverse *inverse, const uint32_t *members, uint32_t count, uint32_t process)
{
    if (count == 0)
        return GN_NONE;
    if (!inverse->asked)
        prepare(inverse, members, count);
    if (inverse->regular && inverse->step == 1) /* MPI_COMM_WORLD, most others too */
        return process - members[0] < count && process >= members[0] ? process - members[0] : GN_NONE;
    if (inverse->regular) {
        uint32_t rank = process >= members[0] ? (process - members[0]) / inverse->step : GN_NONE;
        return rank < count && members[rank] == process ? rank : GN_NONE;
    }
    if (!inverse->pairs) { /* there was no memory for them */
        for (uint32_t i = 0; i < count; i++)
            if (members[i] == process)
                return i;
        return GN_NONE;
    }
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (inverse->pairs[middle].process < process)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && inverse->pairs[low].process == process ? inverse->pairs[low].rank : GN_NONE;
}

uint32_t gn_sourced_path(const struct gn_definitions *d, uint32_t path)
{
    while (path < d->path_count && d->paths[path].source_file == 0 && d->paths[path].parent < path)
        path = d->paths[path].parent;
    return path < d->path_count && d->paths[path].source_file != 0 ? path : GN_NONE;
}

uint32_t gn_process_of_rank(const struct gn_definitions *d, int64_t rank)
{
    for (uint32_t p = 0; p < d->process_count; p++)
        if (d->processes[p].rank >= 0 && d->processes[p].rank == rank)
            return p;
    return GN_NONE;
}

uint32_t gn_comm_rank_of(const struct gn_definitions *d, uint32_t comm, uint32_t process, bool *second)
{
    if (second)
        *second = false;
    if (comm >= d->comm_count)
        return GN_NONE;
    const struct gn_comm_def *c = &d->comms[comm];
    if (c->is_self)
        return 0;
    struct inverse *inverses = &d->inside->inverses[2 * comm];
    uint32_t rank = rank_in(&inverses[0], c->members, c->member_count, process);
    if (rank != GN_NONE || c->other_count == 0)
        return rank;
    if (second)
        *second = true;
    return rank_in(&inverses[1], c->members + c->member_count, c->other_count, process);
}

uint32_t gn_comm_peer(const struct gn_definitions *d, uint32_t comm, uint32_t process, uint32_t peer)
{
    if (comm >= d->comm_count)
        return GN_NONE;
    const struct gn_comm_def *c = &d->comms[comm];
    bool second = false;
    if (c->is_self)
        return peer == 0 ? process : GN_NONE;
    if (c->other_count == 0)
        return peer < c->member_count ? c->members[peer] : GN_NONE;
    if (gn_comm_rank_of(d, comm, process, &second) == GN_NONE)
        return GN_NONE;
    if (second)
        return peer < c->member_count ? c->members[peer] : GN_NONE;
    return peer < c->other_count ? c->members[c->member_count + peer] : GN_NONE;
}
