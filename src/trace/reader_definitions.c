#include "trace/reader_definitions.h"

#include "base/grow.h"
#include "trace/reader_collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A few bytes in an archive make another communicator of all processes: there must be an end to it. (4 GiB)
 */
#define MEMBERS_MOST ((uint64_t)1 << 30)

void gn_reader_maps_free(struct gn_reader_maps *maps)
{
    gn_id_map_free(&maps->regions);
    gn_id_map_free(&maps->paths);
    gn_id_map_free(&maps->comms);
    gn_id_map_free(&maps->groups);
    gn_id_map_free(&maps->windows);
}

/* The index of what an id refers to; GN_NONE, counted unless the archive says "undefined" itself. */
static uint32_t refer(struct gn_collected *c, const struct gn_id_map *ids, uint32_t id)
{
    uint32_t index = gn_id_map_find(ids, id);
    if (index == GN_NONE && id != OTF2_UNDEFINED_UINT32)
        c->report->undefined++;
    return index;
}

/* The same of what may be a team of threads as well; the group that a communicator names may be defined after
 * it. */
static uint32_t refer_either(struct gn_collected *c, const struct gn_id_map *ids, uint64_t id)
{
    const uint32_t index = gn_id_map_find(ids, id);
    if (index != GN_NONE || id >= GN_ID_OF_TEAM(0))
        return index;
    const uint32_t team = gn_id_map_find(ids, GN_ID_OF_TEAM(id));
    return team == GN_NONE ? refer(c, ids, (uint32_t)id) : team;
}

static uint32_t string(struct gn_collected *c, uint32_t id)
{
    uint32_t index = refer(c, &c->string_table.ids, id);
    return index == GN_NONE ? 0 : c->strings[index];
}

static const char *text(struct gn_collected *c, uint32_t id)
{
    return gn_string(c->definitions, string(c, id));
}

/* Remembers that a definition found no memory, and hands its index on. */
static uint32_t defined(struct gn_collected *c, uint32_t index)
{
    c->no_memory |= index == GN_NONE;
    return index;
}

/* ---- trees: parents before children ---- */

/* parents[i] < count or GN_NONE → order: a permutation of 0 … count−1 in which parents come first. Where
 * parents form a circle, the one met first loses its parent (counted). NULL: no memory. */
static uint32_t *parents_first(struct gn_collected *c, uint32_t *parents, size_t count)
{
    enum { NEW, ON_THE_WAY, DONE };
    uint32_t *order = malloc((count + 1) * sizeof *order), *way = malloc((count + 1) * sizeof *way);
    char *state = calloc(count + 1, 1);
    size_t done = 0;
    for (size_t i = 0; order && way && state && i < count; i++) {
        size_t depth = 0;
        for (uint32_t at = (uint32_t)i; at != GN_NONE && state[at] == NEW; at = parents[at]) {
            state[at] = ON_THE_WAY;
            way[depth++] = at;
            if (parents[at] != GN_NONE && state[parents[at]] == ON_THE_WAY) {
                parents[at] = GN_NONE;
                c->report->undefined++;
            }
        }
        while (depth--) {
            state[way[depth]] = DONE;
            order[done++] = way[depth];
        }
    }
    if (!order || !way || !state) {
        c->no_memory = true;
        free(order);
        order = NULL;
    }
    free(way);
    free(state);
    return order;
}

/* ---- who ran ---- */

/* Numbers of nodes change: index in the collection → ours, or NULL: no memory. */
static uint32_t *define_nodes(struct gn_collected *c)
{
    size_t count = c->node_table.count;
    uint32_t *parents = malloc((count + 1) * sizeof *parents), *ours = malloc((count + 1) * sizeof *ours);
    c->no_memory |= !parents || !ours;
    for (size_t i = 0; !c->no_memory && i < count; i++)
        parents[i] = refer(c, &c->node_table.ids, c->nodes[i].parent);
    uint32_t *order = c->no_memory ? NULL : parents_first(c, parents, count);
    for (size_t i = 0; order && i < count; i++) {
        const struct gn_collected_node *node = &c->nodes[order[i]];
        struct gn_system_node what = {.name = string(c, node->name),
                                      .class_name = string(c, node->class_name),
                                      .parent = parents[order[i]]};
        if (what.parent != GN_NONE)
            what.parent = ours[what.parent];
        what.is_domain = strcasecmp(gn_string(c->definitions, what.class_name), "node") == 0;
        ours[order[i]] = defined(c, gn_define_system_node(c->definitions, &what));
    }
    free(order);
    free(parents);
    for (size_t i = 0; !c->no_memory && i < c->domain_count; i++) {
        uint32_t index = refer(c, &c->node_table.ids, c->domains[i]);
        if (index != GN_NONE)
            c->definitions->system_nodes[ours[index]].is_domain = true;
    }
    return ours;
}

static void define_processes(struct gn_collected *c, const uint32_t *nodes)
{
    for (size_t i = 0; !c->no_memory && i < c->process_table.count; i++) {
        uint32_t node = refer(c, &c->node_table.ids, c->processes[i].node);
        struct gn_process what = {.name = string(c, c->processes[i].name),
                                  .system_node = node == GN_NONE ? GN_NONE : nodes[node],
                                  .main_location = GN_NONE,
                                  .rank = -1};
        defined(c, gn_define_process(c->definitions, &what));
    }
}

/* Clock domains are numbered like the nodes, then like the processes. Not all that is called a machine has
 * one clock (Score-P calls a whole cluster so): only nodes and shared memory count. */
static uint32_t domain_of(const struct gn_definitions *d, uint32_t process)
{
    uint32_t node = d->processes[process].system_node;
    while (node != GN_NONE && !d->system_nodes[node].is_domain)
        node = d->system_nodes[node].parent;
    return node != GN_NONE ? node : (uint32_t)d->system_node_count + process;
}

/* A location of an unknown process is a process of its own. */
static uint32_t process_of(struct gn_collected *c, const struct gn_collected_location *location)
{
    uint32_t process = refer(c, &c->process_table.ids, location->process);
    if (process != GN_NONE)
        return process;
    struct gn_process own = {
        .name = string(c, location->name), .system_node = GN_NONE, .main_location = GN_NONE, .rank = -1};
    return defined(c, gn_define_process(c->definitions, &own));
}

static void define_locations(struct gn_collected *c)
{
    for (size_t i = 0; !c->no_memory && i < c->location_table.count; i++) {
        const struct gn_collected_location *location = &c->locations[i];
        struct gn_location_def what = {.name = string(c, location->name),
                                       .process = process_of(c, location),
                                       .file_id = location->id,
                                       .events = location->events};
        if (!c->no_memory) {
            what.domain = domain_of(c->definitions, what.process);
            defined(c, gn_define_location(c->definitions, &what));
        }
    }
}

/* ---- what was called ---- */

/* Names that begin with MPI_ are the standard's, whatever a tool says of the paradigm (eztrace: "user"). */
static void tell_role(struct gn_region_def *region, const struct gn_collected_region *from, const char *name)
{
    if (strncmp(name, "MPI_", 4) == 0 || from->paradigm == OTF2_PARADIGM_MPI) {
        region->role = GN_ROLE_MPI;
    } else if (from->paradigm == OTF2_PARADIGM_USER) {
        region->role = GN_ROLE_USER;
    } else if (from->paradigm == OTF2_PARADIGM_OPENMP &&
               (from->role == OTF2_REGION_ROLE_BARRIER || from->role == OTF2_REGION_ROLE_IMPLICIT_BARRIER)) {
        region->role = GN_ROLE_BARRIER;
    } else {
        region->role = from->role == OTF2_REGION_ROLE_UNKNOWN ? GN_ROLE_UNKNOWN : GN_ROLE_FUNCTION;
    }
}

static void define_regions(struct gn_collected *c)
{
    for (size_t i = 0; !c->no_memory && i < c->region_table.count; i++) {
        const struct gn_collected_region *region = &c->regions[i];
        struct gn_region_def what = {.name = string(c, region->name),
                                     .source_file = string(c, region->file),
                                     .begin_line = region->begin_line,
                                     .end_line = region->end_line};
        tell_role(&what, region, gn_string(c->definitions, what.name));
        defined(c, gn_define_region(c->definitions, &what));
    }
}

static struct gn_path_def path_of(struct gn_collected *c, const struct gn_collected_context *context)
{
    struct gn_path_def what = {.parent = GN_NONE, .region = refer(c, &c->region_table.ids, context->region)};
    uint32_t source = refer(c, &c->source_table.ids, context->source);
    if (source != GN_NONE) {
        what.source_file = string(c, c->sources[source].file);
        what.line = c->sources[source].line;
    }
    return what;
}

static void define_paths(struct gn_collected *c)
{
    size_t count = c->context_table.count;
    uint32_t *parents = malloc((count + 1) * sizeof *parents), *ours = malloc((count + 1) * sizeof *ours);
    c->no_memory |= !parents || !ours;
    for (size_t i = 0; !c->no_memory && i < count; i++)
        parents[i] = refer(c, &c->context_table.ids, c->contexts[i].parent);
    uint32_t *order = c->no_memory ? NULL : parents_first(c, parents, count);
    for (size_t i = 0; order && i < count; i++) {
        struct gn_path_def what = path_of(c, &c->contexts[order[i]]);
        if (parents[order[i]] != GN_NONE)
            what.parent = ours[parents[order[i]]];
        ours[order[i]] = defined(c, gn_define_path(c->definitions, &what));
    }
    if (order)
        gn_id_map_renumber(&c->context_table.ids, ours);
    free(order);
    free(parents);
    free(ours);
}

/* ---- with whom ---- */

/* The group that says what the members of a paradigm's groups mean. */
static const struct gn_collected_group *locations_of(const struct gn_collected *c, uint8_t paradigm)
{
    for (size_t i = 0; i < c->group_table.count; i++)
        if (c->groups[i].type == OTF2_GROUP_TYPE_COMM_LOCATIONS && c->groups[i].paradigm == paradigm)
            return &c->groups[i];
    return NULL;
}

static uint32_t process_of_location(struct gn_collected *c, uint64_t id)
{
    uint32_t location = gn_id_map_find(&c->location_table.ids, id);
    if (location == GN_NONE)
        c->report->undefined++;
    return location == GN_NONE ? GN_NONE : c->definitions->locations[location].process;
}

/* Members as processes; a member that is none is GN_NONE, so that the others keep their ranks. */
static void fill_members(struct gn_collected *c, const struct gn_collected_group *group, uint32_t *members)
{
    bool direct = group->type != OTF2_GROUP_TYPE_COMM_GROUP;
    const struct gn_collected_group *locations = direct ? NULL : locations_of(c, group->paradigm);
    for (uint32_t i = 0; i < group->count; i++) {
        uint64_t member = group->members[i];
        if (direct)
            members[i] = process_of_location(c, member);
        else if (locations && member < locations->count)
            members[i] = process_of_location(c, locations->members[member]);
        else
            members[i] = GN_NONE, c->report->undefined++;
    }
}

/* The communicator `what`, with the members of a group, and of a second one when there is one. */
static void define_members(struct gn_collected *c, const struct gn_comm_def *comm,
                           const struct gn_collected_group *group, const struct gn_collected_group *other)
{
    struct gn_comm_def what = *comm;
    what.is_self = group->type == OTF2_GROUP_TYPE_COMM_SELF;
    what.member_count = what.is_self ? 0 : group->count;
    what.other_count = what.is_self || !other ? 0 : other->count;
    c->members += (uint64_t)what.member_count + what.other_count;
    c->too_many_members |= c->members > MEMBERS_MOST;
    if (c->too_many_members)
        return;
    what.members = malloc(((size_t)what.member_count + what.other_count + 1) * sizeof *what.members);
    if (!what.members) {
        c->no_memory = true;
        return;
    }
    if (what.member_count)
        fill_members(c, group, what.members);
    if (what.other_count)
        fill_members(c, other, what.members + what.member_count);
    defined(c, gn_define_comm(c->definitions, &what));
    free(what.members);
}

static void define_comm(struct gn_collected *c, const struct gn_collected_comm *comm)
{
    static const struct gn_collected_group nobody;
    uint32_t first = refer_either(c, &c->group_table.ids, comm->group);
    uint32_t second = refer(c, &c->group_table.ids, comm->other_group);
    const struct gn_comm_def what = {.name = string(c, comm->name),
                                     .parent = refer_either(c, &c->comm_table.ids, comm->parent)};
    define_members(c, &what, first == GN_NONE ? &nobody : &c->groups[first],
                   second == GN_NONE ? &nobody : &c->groups[second]);
}

/* The locations that MPI's ranks are addressed by, in the order of the ranks. */
static void tell_ranks(struct gn_collected *c)
{
    const struct gn_collected_group *ranks = locations_of(c, OTF2_PARADIGM_MPI);
    for (uint32_t i = 0; ranks && i < ranks->count && i <= INT32_MAX; i++) {
        uint32_t location = gn_id_map_find(&c->location_table.ids, ranks->members[i]);
        if (location == GN_NONE)
            continue;
        struct gn_process *process = &c->definitions->processes[c->definitions->locations[location].process];
        if (process->rank < 0) {
            process->rank = (int32_t)i;
            process->main_location = location;
        }
    }
}

/* Groups that epochs of windows are between (post, start): events have room for communicators only, so a
 * group that is not one's becomes one without a name. */
static void define_groups(struct gn_collected *c, struct gn_reader_maps *maps)
{
    const size_t count = c->group_table.count;
    uint32_t *comms = malloc((count + 1) * sizeof *comms);
    c->no_memory |= !comms;
    for (size_t i = 0; comms && i < count; i++)
        comms[i] = GN_ANY;
    for (size_t i = c->comm_table.count; comms && i-- > 0;) {
        uint32_t group = gn_id_map_find(&c->group_table.ids, c->comms[i].group);
        if (group != GN_NONE && c->comms[i].other_group == GN_NONE)
            comms[group] = (uint32_t)i;
    }
    for (size_t i = 0; !c->no_memory && c->window_table.count && i < count; i++)
        if (comms[i] == GN_ANY && c->groups[i].type == OTF2_GROUP_TYPE_COMM_GROUP &&
            c->groups[i].paradigm == OTF2_PARADIGM_MPI) {
            comms[i] = (uint32_t)c->definitions->comm_count;
            define_members(c, &(struct gn_comm_def){.parent = GN_NONE}, &c->groups[i], NULL);
        }
    if (comms) {
        gn_id_map_renumber(&c->group_table.ids, comms);
        maps->groups = c->group_table.ids;
        c->group_table.ids = (struct gn_id_map){0};
    }
    free(comms);
}

static void define_comms(struct gn_collected *c)
{
    for (size_t i = 0; !c->no_memory && i < c->comm_table.count; i++)
        define_comm(c, &c->comms[i]);
    for (size_t i = 0; !c->no_memory && i < c->window_table.count; i++) {
        struct gn_window_def what = {.name = string(c, c->windows[i].name),
                                     .comm = refer_either(c, &c->comm_table.ids, c->windows[i].comm)};
        defined(c, gn_define_window(c->definitions, &what));
    }
}

/* ---- the rest ---- */

static void define_clock(struct gn_collected *c, struct gn_reader_maps *maps)
{
    struct gn_definitions *d = c->definitions;
    d->ticks_per_second = c->ticks_per_second ? c->ticks_per_second : 1000000000;
    d->first_ticks = c->first_ticks;
    d->length_ticks = c->length_ticks;
    d->realtime_ns = c->realtime_ns;
    c->report->undefined += c->ticks_per_second == 0;
    if (c->length_ticks == 0 || c->first_ticks > UINT64_MAX - c->length_ticks)
        maps->end_ticks = UINT64_MAX;
    else
        maps->end_ticks = c->first_ticks + c->length_ticks;
}

static uint32_t id_of(struct gn_collected *c, const struct gn_collected_named *items, size_t count,
                      const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(text(c, items[i].name), name) == 0)
            return items[i].id;
    return GN_NONE;
}

static void find_own(struct gn_collected *c, struct gn_reader_maps *maps)
{
    size_t count = c->attribute_table.count;
    maps->attribute_comm = id_of(c, c->attributes, count, "gnomon.comm");
    maps->attribute_peer = id_of(c, c->attributes, count, "gnomon.peer");
    maps->attribute_tag = id_of(c, c->attributes, count, "gnomon.tag");
    maps->attribute_path = id_of(c, c->attributes, count, "gnomon.path");
    maps->attribute_op = id_of(c, c->attributes, count, "gnomon.op");
    maps->attribute_number = id_of(c, c->attributes, count, "gnomon.number");
    maps->attribute_unordered = id_of(c, c->attributes, count, "gnomon.unordered");
    maps->attribute_late = id_of(c, c->attributes, count, "gnomon.late");
    maps->attribute_polls = id_of(c, c->attributes, count, "gnomon.polls");
    maps->attribute_poll_ticks = id_of(c, c->attributes, count, "gnomon.poll_ticks");
    maps->attribute_behind = id_of(c, c->attributes, count, "gnomon.behind");
    maps->parameter_number = id_of(c, c->parameters, c->parameter_table.count, "gnomon.number");
    maps->parameter_own_work = id_of(c, c->parameters, c->parameter_table.count, "gnomon.own_work");
    maps->parameter_lost = id_of(c, c->parameters, c->parameter_table.count, "gnomon.lost");
}

/* From here on the maps belong to the reader. */
static void hand_over(struct gn_collected *c, struct gn_reader_maps *maps)
{
    struct gn_id_map *from[] = {&c->region_table.ids, &c->context_table.ids, &c->comm_table.ids,
                                &c->window_table.ids};
    struct gn_id_map *to[] = {&maps->regions, &maps->paths, &maps->comms, &maps->windows};
    for (size_t i = 0; i < sizeof to / sizeof *to; i++) {
        *to[i] = *from[i];
        *from[i] = (struct gn_id_map){0};
    }
}

int gn_reader_definitions(OTF2_Reader *otf2, uint64_t limit, struct gn_definitions *definitions,
                          struct gn_reader_maps *maps, struct gn_trace_report *report, struct gn_error *err)
{
    struct gn_collected c = {.definitions = definitions, .report = report};
    int status = gn_collect(&c, otf2, limit, err);
    if (status == 0) {
        define_clock(&c, maps);
        uint32_t *nodes = define_nodes(&c);
        define_processes(&c, nodes);
        free(nodes);
        define_locations(&c);
        define_regions(&c);
        define_paths(&c);
        define_comms(&c);
        if (!c.too_many_members)
            define_groups(&c, maps);
        if (c.too_many_members) {
            status =
                gn_fail(err, -E2BIG, "the communicators of the trace have more than %llu members together",
                        (unsigned long long)MEMBERS_MOST);
        } else if (c.no_memory) {
            status = gn_fail(err, -ENOMEM, "no memory for the definitions of the trace");
        } else {
            tell_ranks(&c);
            find_own(&c, maps);
            hand_over(&c, maps);
        }
    }
    gn_collected_free(&c);
    return status;
}
