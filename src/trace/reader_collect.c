#include "trace/reader_collect.h"

#include "base/grow.h"
#include "trace/otf2_error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Room in a table for the definition of id; NULL: it is there already, or no memory. *items is the table's
 * array. */
static void *add(struct gn_collected *c, struct gn_collected_table *table, void *items, size_t each,
                 uint64_t id)
{
    if (gn_id_map_find(&table->ids, id) != GN_NONE) {
        c->report->redefined++;
        return NULL;
    }
    if (!gn_grow(items, &table->capacity, table->count, each) ||
        !gn_id_map_add(&table->ids, id, (uint32_t)table->count)) {
        c->no_memory = true;
        return NULL;
    }
    char *array;
    memcpy(&array, items, sizeof array); /* a pointer of any type */
    return array + each * table->count++;
}

/* Adds what follows (an initialiser) to table `one`, array `many`. */
#define ADD(one, many, id, ...)                                                                              \
    do {                                                                                                     \
        struct gn_collected *c = user;                                                                       \
        struct gn_collected_##one *room = add(c, &c->one##_table, &c->many, sizeof *room, id);               \
        if (room)                                                                                            \
            *room = (struct gn_collected_##one){__VA_ARGS__};                                                \
        return c->no_memory ? OTF2_CALLBACK_INTERRUPT : OTF2_CALLBACK_SUCCESS;                               \
    } while (0)

static OTF2_CallbackCode on_clock(void *user, uint64_t resolution, uint64_t offset, uint64_t length,
                                  uint64_t realtime)
{
    struct gn_collected *c = user;
    if (c->has_clock) {
        c->report->redefined++;
        return OTF2_CALLBACK_SUCCESS;
    }
    c->has_clock = true;
    c->ticks_per_second = resolution;
    c->first_ticks = offset;
    c->length_ticks = length;
    c->realtime_ns = realtime == OTF2_UNDEFINED_TIMESTAMP ? 0 : realtime;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_string(void *user, OTF2_StringRef id, const char *text)
{
    struct gn_collected *c = user;
    uint32_t *room = add(c, &c->string_table, &c->strings, sizeof *room, id);
    if (room) {
        *room = gn_define_string(c->definitions, text ? text : "");
        c->no_memory |= *room == GN_NONE;
    }
    return c->no_memory ? OTF2_CALLBACK_INTERRUPT : OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_node(void *user, OTF2_SystemTreeNodeRef id, OTF2_StringRef name,
                                 OTF2_StringRef class_name, OTF2_SystemTreeNodeRef parent)
{
    ADD(node, nodes, id, id, name, class_name, parent);
}

static OTF2_CallbackCode on_domain(void *user, OTF2_SystemTreeNodeRef node, OTF2_SystemTreeDomain domain)
{
    struct gn_collected *c = user;
    if (domain != OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY)
        return OTF2_CALLBACK_SUCCESS;
    if (!gn_grow(&c->domains, &c->domain_capacity, c->domain_count, sizeof *c->domains)) {
        c->no_memory = true;
        return OTF2_CALLBACK_INTERRUPT;
    }
    c->domains[c->domain_count++] = node;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_process(void *user, OTF2_LocationGroupRef id, OTF2_StringRef name,
                                    OTF2_LocationGroupType type, OTF2_SystemTreeNodeRef node,
                                    OTF2_LocationGroupRef creator)
{
    (void)type, (void)creator;
    ADD(process, processes, id, name, node);
}

static OTF2_CallbackCode on_location(void *user, OTF2_LocationRef id, OTF2_StringRef name,
                                     OTF2_LocationType type, uint64_t events, OTF2_LocationGroupRef process)
{
    (void)type;
    if (id == OTF2_UNDEFINED_LOCATION) {
        ((struct gn_collected *)user)->report->undefined++;
        return OTF2_CALLBACK_SUCCESS;
    }
    ADD(location, locations, id, id, events, name, process);
}

static OTF2_CallbackCode on_region(void *user, OTF2_RegionRef id, OTF2_StringRef name,
                                   OTF2_StringRef canonical, OTF2_StringRef description, OTF2_RegionRole role,
                                   OTF2_Paradigm paradigm, OTF2_RegionFlag flags, OTF2_StringRef file,
                                   uint32_t begin, uint32_t end)
{
    (void)canonical, (void)description, (void)flags;
    ADD(region, regions, id, name, file, begin, end, paradigm, role);
}

static OTF2_CallbackCode on_source(void *user, OTF2_SourceCodeLocationRef id, OTF2_StringRef file,
                                   uint32_t line)
{
    ADD(source, sources, id, file, line);
}

static OTF2_CallbackCode on_context(void *user, OTF2_CallingContextRef id, OTF2_RegionRef region,
                                    OTF2_SourceCodeLocationRef source, OTF2_CallingContextRef parent)
{
    ADD(context, contexts, id, region, source, parent);
}

/* Their groups are teams: of threads of one process. */
static bool is_of_threads(OTF2_Paradigm paradigm)
{
    switch (paradigm) {
    case OTF2_PARADIGM_OPENMP:
    case OTF2_PARADIGM_OMPSS:
    case OTF2_PARADIGM_PTHREAD:
    case OTF2_PARADIGM_WINTHREAD:
    case OTF2_PARADIGM_QTTHREAD:
    case OTF2_PARADIGM_ACETHREAD:
    case OTF2_PARADIGM_TBBTHREAD:
        return true;
    default:
        return false;
    }
}

/* Where an id means a group of processes and one of threads: the one that was defined last. */
static bool is_team(const struct gn_collected *c, OTF2_GroupRef group)
{
    const uint32_t processes = gn_id_map_find(&c->group_table.ids, group);
    const uint32_t threads = gn_id_map_find(&c->group_table.ids, GN_ID_OF_TEAM(group));
    return threads != GN_NONE &&
           (processes == GN_NONE || c->groups[threads].turn > c->groups[processes].turn);
}

static OTF2_CallbackCode on_group(void *user, OTF2_GroupRef id, OTF2_StringRef name, OTF2_GroupType type,
                                  OTF2_Paradigm paradigm, OTF2_GroupFlag flags, uint32_t count,
                                  const uint64_t *members)
{
    (void)name, (void)flags;
    struct gn_collected *c = user;
    const uint64_t key = is_of_threads(paradigm) ? GN_ID_OF_TEAM(id) : id;
    const uint32_t known = gn_id_map_find(&c->group_table.ids, key);
    struct gn_collected_group *room = add(c, &c->group_table, &c->groups, sizeof *room, key);
    c->group_turns++;
    if (known != GN_NONE)
        c->groups[known].turn = c->group_turns;
    if (room) {
        *room = (struct gn_collected_group){
            .type = type, .paradigm = paradigm, .count = count, .turn = c->group_turns};
        room->members = malloc(count ? count * sizeof *members : 1);
        c->no_memory |= !room->members;
        if (room->members && count)
            memcpy(room->members, members, count * sizeof *members);
    }
    return c->no_memory ? OTF2_CALLBACK_INTERRUPT : OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_comm(void *user, OTF2_CommRef id, OTF2_StringRef name, OTF2_GroupRef group,
                                 OTF2_CommRef parent, OTF2_CommFlag flags)
{
    (void)flags;
    if (is_team(user, group))
        ADD(comm, comms, GN_ID_OF_TEAM(id), GN_ID_OF_TEAM(group), name, GN_NONE, parent);
    ADD(comm, comms, id, group, name, GN_NONE, parent);
}

static OTF2_CallbackCode on_intercomm(void *user, OTF2_CommRef id, OTF2_StringRef name, OTF2_GroupRef group,
                                      OTF2_GroupRef other, OTF2_CommRef parent, OTF2_CommFlag flags)
{
    (void)flags;
    ADD(comm, comms, id, group, name, other, parent);
}

static OTF2_CallbackCode on_window(void *user, OTF2_RmaWinRef id, OTF2_StringRef name, OTF2_CommRef comm,
                                   OTF2_RmaWinFlag flags)
{
    (void)flags;
    ADD(window, windows, id, name, comm);
}

#define gn_collected_attribute gn_collected_named
#define gn_collected_parameter gn_collected_named

static OTF2_CallbackCode on_attribute(void *user, OTF2_AttributeRef id, OTF2_StringRef name,
                                      OTF2_StringRef description, OTF2_Type type)
{
    (void)description, (void)type;
    ADD(attribute, attributes, id, id, name);
}

static OTF2_CallbackCode on_parameter(void *user, OTF2_ParameterRef id, OTF2_StringRef name,
                                      OTF2_ParameterType type)
{
    (void)type;
    ADD(parameter, parameters, id, id, name);
}

static void set_callbacks(OTF2_GlobalDefReaderCallbacks *callbacks)
{
#define SET(Record, callback) OTF2_GlobalDefReaderCallbacks_Set##Record##Callback(callbacks, callback)
    SET(ClockProperties, on_clock);
    SET(String, on_string);
    SET(SystemTreeNode, on_node);
    SET(SystemTreeNodeDomain, on_domain);
    SET(LocationGroup, on_process);
    SET(Location, on_location);
    SET(Region, on_region);
    SET(SourceCodeLocation, on_source);
    SET(CallingContext, on_context);
    SET(Group, on_group);
    SET(Comm, on_comm);
    SET(InterComm, on_intercomm);
    SET(RmaWin, on_window);
    SET(Attribute, on_attribute);
    SET(Parameter, on_parameter);
#undef SET
}

int gn_collect(struct gn_collected *c, OTF2_Reader *otf2, uint64_t limit, struct gn_error *err)
{
    uint64_t count = 0, said = limit;
    OTF2_Reader_GetNumberOfGlobalDefinitions(otf2, &said);
    OTF2_GlobalDefReader *reader = OTF2_Reader_GetGlobalDefReader(otf2);
    OTF2_GlobalDefReaderCallbacks *callbacks = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_ErrorCode status = OTF2_ERROR_MEM_FAULT;
    if (reader && callbacks) {
        set_callbacks(callbacks);
        status = OTF2_Reader_RegisterGlobalDefCallbacks(otf2, reader, callbacks, c);
    }
    if (status == OTF2_SUCCESS)
        status = OTF2_Reader_ReadGlobalDefinitions(otf2, reader, said < limit ? said : limit, &count);
    OTF2_GlobalDefReaderCallbacks_Delete(callbacks);
    if (reader)
        OTF2_Reader_CloseGlobalDefReader(otf2, reader);
    if (c->no_memory)
        return gn_fail(err, -ENOMEM, "no memory for the definitions of the trace (after %llu of them)",
                       (unsigned long long)count);
    if (status != OTF2_SUCCESS)
        return gn_fail(err, -EIO, "cannot read the definitions of the trace: %s", gn_otf2_error_text());
    return 0;
}

void gn_collected_free(struct gn_collected *c)
{
    struct gn_collected_table *tables[] = {&c->string_table,   &c->node_table,      &c->process_table,
                                           &c->location_table, &c->region_table,    &c->source_table,
                                           &c->context_table,  &c->group_table,     &c->comm_table,
                                           &c->window_table,   &c->attribute_table, &c->parameter_table};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        gn_id_map_free(&tables[i]->ids);
    for (size_t i = 0; i < c->group_table.count; i++)
        free(c->groups[i].members);
    void *arrays[] = {c->strings,    c->nodes,      c->processes, c->locations, c->regions,
                      c->sources,    c->contexts,   c->groups,    c->comms,     c->windows,
                      c->attributes, c->parameters, c->domains};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}
