#include "trace/write_definitions.h"

#include "trace/otf2_error.h"
#include "trace/vocabulary.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is being written. Numbers of definitions are their indices; strings that only OTF2 needs come behind
 * those of the definitions. The first error stays. */
struct out {
    const struct gn_definitions *d;
    const struct gn_event_summary *summaries;
    const struct gn_trace_local *const *locals;
    OTF2_GlobalDefWriter *writer;
    OTF2_ErrorCode status;
    uint32_t next_string;
    uint32_t *ranks; /* of a process: its place among the locations that take part in MPI */
    uint32_t participants;
};

static void note(struct out *out, OTF2_ErrorCode status)
{
    if (out->status == OTF2_SUCCESS)
        out->status = status;
}

/* ---- strings, clock, vocabulary ---- */

static uint32_t add_string(struct out *out, const char *text)
{
    note(out, OTF2_GlobalDefWriter_WriteString(out->writer, out->next_string, text));
    return out->next_string++;
}

static void write_strings(struct out *out)
{
    size_t count = gn_string_count(out->d);
    while (out->next_string < count)
        add_string(out, gn_string(out->d, out->next_string));
}

/* Whether a location's readings are those of the trace's clock. */
static bool is_on_clock(const struct out *out, size_t location)
{
    return !out->locals || !out->locals[location] || out->locals[location]->offset_count == 0;
}

/* The time that the trace covers: as the definitions say, and in any case what the events take. */
static void write_clock(struct out *out)
{
    const struct gn_definitions *d = out->d;
    bool said = d->length_ticks > 0;
    uint64_t first = said || d->first_ticks ? d->first_ticks : UINT64_MAX;
    uint64_t last = said ? d->first_ticks + d->length_ticks : 0;
    for (size_t i = 0; i < d->location_count; i++) {
        const struct gn_event_summary *summary = &out->summaries[i];
        if (!is_on_clock(out, i))
            continue;
        if (summary->events && summary->first_ticks < first)
            first = summary->first_ticks;
        if (summary->events && summary->last_ticks > last)
            last = summary->last_ticks;
    }
    uint64_t length = last > first ? last - first : 0;
    if (first == UINT64_MAX)
        first = 0;
    uint64_t realtime = d->realtime_ns ? d->realtime_ns : OTF2_UNDEFINED_TIMESTAMP;
    uint64_t rate = d->ticks_per_second ? d->ticks_per_second : 1000000000;
    note(out, OTF2_GlobalDefWriter_WriteClockProperties(out->writer, rate, first, length, realtime));
}

static void write_paradigms(struct out *out)
{
    note(out, OTF2_GlobalDefWriter_WriteParadigm(out->writer, OTF2_PARADIGM_MPI, add_string(out, "MPI"),
                                                 OTF2_PARADIGM_CLASS_PROCESS));
    note(out, OTF2_GlobalDefWriter_WriteParadigm(out->writer, OTF2_PARADIGM_OPENMP, add_string(out, "OpenMP"),
                                                 OTF2_PARADIGM_CLASS_THREAD_FORK_JOIN));
}

static void write_vocabulary(struct out *out)
{
    static const struct {
        const char *name, *description;
        OTF2_Type type;
    } attributes[] = {
#define X(ID, name, type, description) {name, description, type},
        GN_ATTRIBUTES(X)
#undef X
    };
    for (uint32_t i = 0; i < GN_ATTRIBUTE_COUNT; i++) {
        uint32_t name = add_string(out, attributes[i].name);
        uint32_t description = add_string(out, attributes[i].description);
        note(out, OTF2_GlobalDefWriter_WriteAttribute(out->writer, i, name, description, attributes[i].type));
    }
    static const char *const parameters[] = {[GN_PARAMETER_LOST_ID] = GN_PARAMETER_LOST,
                                             [GN_PARAMETER_NUMBER_ID] = GN_PARAMETER_NUMBER,
                                             [GN_PARAMETER_OWN_WORK_ID] = GN_PARAMETER_OWN_WORK};
    for (uint32_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
        note(out, OTF2_GlobalDefWriter_WriteParameter(out->writer, i, add_string(out, parameters[i]),
                                                      OTF2_PARAMETER_TYPE_UINT64));
}

/* ---- who ran ---- */

static void write_system_tree(struct out *out)
{
    for (uint32_t i = 0; i < out->d->system_node_count; i++) {
        const struct gn_system_node *node = &out->d->system_nodes[i];
        note(out, OTF2_GlobalDefWriter_WriteSystemTreeNode(out->writer, i, node->name, node->class_name,
                                                           node->parent));
        if (node->is_domain)
            note(out, OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(out->writer, i,
                                                                     OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY));
    }
}

/* OTF2 wants every process to be somewhere: one more node for those whose place nobody knows. */
static uint32_t unknown_node(struct out *out)
{
    uint32_t number = (uint32_t)out->d->system_node_count;
    bool needed = false;
    for (size_t i = 0; i < out->d->process_count && !needed; i++)
        needed = out->d->processes[i].system_node == GN_NONE;
    if (needed)
        note(out, OTF2_GlobalDefWriter_WriteSystemTreeNode(out->writer, number, add_string(out, "machine"),
                                                           add_string(out, "machine"), GN_NONE));
    return number;
}

static void write_processes(struct out *out)
{
    uint32_t elsewhere = unknown_node(out);
    for (uint32_t i = 0; i < out->d->process_count; i++) {
        const struct gn_process *process = &out->d->processes[i];
        uint32_t node = process->system_node == GN_NONE ? elsewhere : process->system_node;
        note(out, OTF2_GlobalDefWriter_WriteLocationGroup(out->writer, i, process->name,
                                                          OTF2_LOCATION_GROUP_TYPE_PROCESS, node,
                                                          OTF2_UNDEFINED_LOCATION_GROUP));
    }
}

static void write_locations(struct out *out)
{
    for (size_t i = 0; i < out->d->location_count; i++) {
        const struct gn_location_def *location = &out->d->locations[i];
        note(out, OTF2_GlobalDefWriter_WriteLocation(out->writer, location->file_id, location->name,
                                                     OTF2_LOCATION_TYPE_CPU_THREAD, out->summaries[i].events,
                                                     location->process));
    }
}

/* ---- what was called ---- */

static OTF2_RegionRole role_of_collective(uint8_t op)
{
    static const OTF2_RegionRole roles[] = {
        [GN_SHAPE_ALL_TO_ALL] = OTF2_REGION_ROLE_COLL_ALL2ALL,
        [GN_SHAPE_ONE_TO_ALL] = OTF2_REGION_ROLE_COLL_ONE2ALL,
        [GN_SHAPE_ALL_TO_ONE] = OTF2_REGION_ROLE_COLL_ALL2ONE,
        [GN_SHAPE_PREFIX] = OTF2_REGION_ROLE_COLL_OTHER,
    };
    const struct gn_collective_rule rule = gn_collective_rule(op);
    if (op == GN_COLLECTIVE_UNKNOWN)
        return OTF2_REGION_ROLE_FUNCTION;
    if (rule.lengths == GN_LENGTHS_NONE)
        return rule.holds == GN_HOLDS_ALWAYS ? OTF2_REGION_ROLE_BARRIER : OTF2_REGION_ROLE_COLL_OTHER;
    return roles[rule.shape];
}

static OTF2_RegionRole role_of(const struct gn_region_def *region, OTF2_Paradigm *paradigm)
{
    switch (region->role) {
    case GN_ROLE_MPI:
        *paradigm = OTF2_PARADIGM_MPI;
        return role_of_collective(gn_activity_def(region->activity)->op);
    case GN_ROLE_USER:
        *paradigm = OTF2_PARADIGM_USER;
        return OTF2_REGION_ROLE_CODE;
    case GN_ROLE_BARRIER:
        *paradigm = OTF2_PARADIGM_OPENMP;
        return OTF2_REGION_ROLE_BARRIER;
    case GN_ROLE_FUNCTION:
        *paradigm = OTF2_PARADIGM_COMPILER;
        return OTF2_REGION_ROLE_FUNCTION;
    default:
        *paradigm = OTF2_PARADIGM_UNKNOWN;
        return OTF2_REGION_ROLE_UNKNOWN;
    }
}

static void write_regions(struct out *out)
{
    for (uint32_t i = 0; i < out->d->region_count; i++) {
        const struct gn_region_def *region = &out->d->regions[i];
        OTF2_Paradigm paradigm;
        OTF2_RegionRole role = role_of(region, &paradigm);
        uint32_t file = region->source_file ? region->source_file : OTF2_UNDEFINED_STRING;
        note(out, OTF2_GlobalDefWriter_WriteRegion(out->writer, i, region->name, region->name, 0, role,
                                                   paradigm, OTF2_REGION_FLAG_NONE, file, region->begin_line,
                                                   region->end_line));
    }
}

/* All places come before the first path, numbered without gaps: otf2-print complains otherwise. */
static void write_places(struct out *out)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < out->d->path_count; i++) {
        const struct gn_path_def *path = &out->d->paths[i];
        if (path->source_file)
            note(out, OTF2_GlobalDefWriter_WriteSourceCodeLocation(out->writer, number++, path->source_file,
                                                                   path->line));
    }
}

static void write_paths(struct out *out)
{
    write_places(out);
    uint32_t number = 0;
    for (uint32_t i = 0; i < out->d->path_count; i++) {
        const struct gn_path_def *path = &out->d->paths[i];
        uint32_t place = path->source_file ? number++ : OTF2_UNDEFINED_SOURCE_CODE_LOCATION;
        note(out,
             OTF2_GlobalDefWriter_WriteCallingContext(out->writer, i, path->region, place, path->parent));
    }
}

/* ---- with whom ---- */

struct participant {
    int64_t rank;
    uint32_t process;
};

static int by_rank(const void *a, const void *b)
{
    const struct participant *x = a, *y = b;
    return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1)
                              : (x->process > y->process) - (x->process < y->process);
}

/* The processes of MPI: those with a rank, in that order, and behind them others that are in a communicator
 * (they were spawned). Their order is the meaning of the numbers in groups. */
static size_t find_participants(const struct gn_definitions *d, struct participant *list)
{
    bool *member = calloc(d->process_count + 1, sizeof *member);
    if (!member)
        return SIZE_MAX;
    for (size_t c = 0; c < d->comm_count; c++)
        for (size_t m = 0; m < (size_t)d->comms[c].member_count + d->comms[c].other_count; m++)
            if (d->comms[c].members[m] < d->process_count)
                member[d->comms[c].members[m]] = true;
    size_t count = 0;
    for (uint32_t i = 0; i < d->process_count; i++) {
        const struct gn_process *process = &d->processes[i];
        if (process->main_location < d->location_count && (process->rank >= 0 || member[i]))
            list[count++] = (struct participant){process->rank >= 0 ? process->rank : INT64_MAX, i};
    }
    free(member);
    qsort(list, count, sizeof *list, by_rank);
    return count;
}

static void write_group(struct out *out, uint32_t number, OTF2_GroupType type, const char *name,
                        const uint64_t *members, uint32_t count)
{
    note(out, OTF2_GlobalDefWriter_WriteGroup(out->writer, number, add_string(out, name), type,
                                              OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, count, members));
}

static void write_world(struct out *out)
{
    const struct gn_definitions *d = out->d;
    struct participant *list = calloc(d->process_count + 1, sizeof *list);
    uint64_t *locations = calloc(d->process_count + 1, sizeof *locations);
    out->ranks = malloc((d->process_count + 1) * sizeof *out->ranks);
    size_t count = list && locations && out->ranks ? find_participants(d, list) : SIZE_MAX;
    if (count == SIZE_MAX) {
        note(out, OTF2_ERROR_MEM_ALLOC_FAILED);
    } else {
        for (size_t i = 0; i < d->process_count; i++)
            out->ranks[i] = GN_NONE;
        for (size_t i = 0; i < count; i++) {
            out->ranks[list[i].process] = (uint32_t)i;
            locations[i] = d->locations[d->processes[list[i].process].main_location].file_id;
        }
        write_group(out, GN_OTF2_GROUP_WORLD, OTF2_GROUP_TYPE_COMM_LOCATIONS, "MPI processes", locations,
                    (uint32_t)count);
        write_group(out, GN_OTF2_GROUP_SELF, OTF2_GROUP_TYPE_COMM_SELF, "MPI_COMM_SELF", NULL, 0);
    }
    free(list);
    free(locations);
}

static void write_members(struct out *out, uint32_t group, const uint32_t *members, uint32_t count)
{
    uint64_t *numbers = malloc((count + 1) * sizeof *numbers);
    if (!numbers) {
        note(out, OTF2_ERROR_MEM_ALLOC_FAILED);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rank = members[i] < out->d->process_count ? out->ranks[members[i]] : GN_NONE;
        numbers[i] = rank == GN_NONE ? OTF2_UNDEFINED_UINT64 : rank;
    }
    note(out, OTF2_GlobalDefWriter_WriteGroup(out->writer, group, 0, OTF2_GROUP_TYPE_COMM_GROUP,
                                              OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, count, numbers));
    free(numbers);
}

static void write_comms(struct out *out)
{
    const struct gn_comm_def *comms = out->d->comms;
    const uint32_t count = (uint32_t)out->d->comm_count;
    uint32_t other = gn_otf2_group(count);
    for (uint32_t i = 0; i < count && out->status == OTF2_SUCCESS; i++)
        if (comms[i].is_self)
            /* tools want definitions in their order, without gaps */
            write_group(out, gn_otf2_group(i), OTF2_GROUP_TYPE_LOCATIONS, "(not used)", NULL, 0);
        else
            write_members(out, gn_otf2_group(i), comms[i].members, comms[i].member_count);
    for (uint32_t i = 0; i < count && out->status == OTF2_SUCCESS; i++)
        if (comms[i].other_count)
            write_members(out, other++, comms[i].members + comms[i].member_count, comms[i].other_count);
    other = gn_otf2_group(count);
    for (uint32_t i = 0; i < count && out->status == OTF2_SUCCESS; i++) {
        const struct gn_comm_def *comm = &comms[i];
        const uint32_t group = comm->is_self ? GN_OTF2_GROUP_SELF : gn_otf2_group(i);
        /* One that was made from another one has events that say so, as MPI's own have not. */
        OTF2_CommFlag flags =
            comm->parent == GN_NONE ? OTF2_COMM_FLAG_NONE : OTF2_COMM_FLAG_CREATE_DESTROY_EVENTS;
        if (comm->other_count)
            note(out, OTF2_GlobalDefWriter_WriteInterComm(out->writer, i, comm->name, group, other++,
                                                          comm->parent, flags));
        else
            note(out, OTF2_GlobalDefWriter_WriteComm(out->writer, i, comm->name, group, comm->parent, flags));
    }
    for (uint32_t i = 0; i < out->d->window_count; i++)
        note(out, OTF2_GlobalDefWriter_WriteRmaWin(out->writer, i, out->d->windows[i].name,
                                                   out->d->windows[i].comm,
                                                   OTF2_RMA_WIN_FLAG_CREATE_DESTROY_EVENTS));
}

/* ---- files ---- */

static void write_io(struct out *out)
{
    uint32_t name = add_string(out, GN_IO_HANDLE), paradigm = add_string(out, "MPI-IO");
    note(out, OTF2_GlobalDefWriter_WriteIoParadigm(out->writer, 0, paradigm, paradigm,
                                                   OTF2_IO_PARADIGM_CLASS_PARALLEL,
                                                   OTF2_IO_PARADIGM_FLAG_NONE, 0, NULL, NULL, NULL));
    note(out, OTF2_GlobalDefWriter_WriteIoRegularFile(out->writer, 0, name, OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    note(out, OTF2_GlobalDefWriter_WriteIoHandle(out->writer, GN_IO_HANDLE_ID, name, 0, 0,
                                                 OTF2_IO_HANDLE_FLAG_PRE_CREATED, OTF2_UNDEFINED_COMM,
                                                 OTF2_UNDEFINED_IO_HANDLE));
    note(out, OTF2_GlobalDefWriter_WriteIoPreCreatedHandleState(
                  out->writer, GN_IO_HANDLE_ID, OTF2_IO_ACCESS_MODE_READ_WRITE, OTF2_IO_STATUS_FLAG_NONE));
}

/* ---- the archive ---- */

static void write_global(struct out *out)
{
    write_strings(out);
    write_clock(out);
    write_paradigms(out);
    write_vocabulary(out);
    write_system_tree(out);
    write_processes(out);
    write_locations(out);
    write_regions(out);
    write_paths(out);
    write_world(out);
    if (out->status == OTF2_SUCCESS)
        write_comms(out);
    write_io(out);
    free(out->ranks);
}

/* ---- what is a location's own ---- */

static OTF2_ErrorCode write_map(OTF2_DefWriter *writer, OTF2_MappingType type, const struct gn_trace_map *map)
{
    if (!map->to || map->count == 0)
        return OTF2_SUCCESS;
    OTF2_IdMap *ids = OTF2_IdMap_CreateFromUint32Array(map->count, map->to, false);
    OTF2_ErrorCode status =
        ids ? OTF2_DefWriter_WriteMappingTable(writer, type, ids) : OTF2_ERROR_MEM_ALLOC_FAILED;
    OTF2_IdMap_Free(ids);
    return status;
}

/* Groups go with their communicators. */
static OTF2_ErrorCode write_groups(OTF2_DefWriter *writer, const struct gn_trace_map *comms)
{
    if (!comms->to || comms->count == 0)
        return OTF2_SUCCESS;
    const uint32_t count = gn_otf2_group((uint32_t)comms->count);
    uint32_t *to = malloc(count * sizeof *to);
    for (uint32_t i = 0; to && i < count; i++)
        to[i] = i < GN_OTF2_GROUP_FIRST ? i : gn_otf2_group(comms->to[i - GN_OTF2_GROUP_FIRST]);
    const struct gn_trace_map groups = {.to = to, .count = count};
    OTF2_ErrorCode status = to ? write_map(writer, OTF2_MAPPING_GROUP, &groups) : OTF2_ERROR_MEM_ALLOC_FAILED;
    free(to);
    return status;
}

static OTF2_ErrorCode write_own(OTF2_DefWriter *writer, const struct gn_trace_local *local)
{
    OTF2_ErrorCode status = write_map(writer, OTF2_MAPPING_REGION, &local->regions);
    if (status == OTF2_SUCCESS)
        status = write_map(writer, OTF2_MAPPING_CALLING_CONTEXT, &local->paths);
    if (status == OTF2_SUCCESS)
        status = write_map(writer, OTF2_MAPPING_COMM, &local->comms);
    if (status == OTF2_SUCCESS)
        status = write_groups(writer, &local->comms);
    if (status == OTF2_SUCCESS)
        status = write_map(writer, OTF2_MAPPING_RMA_WIN, &local->windows);
    for (size_t i = 0; i < local->offset_count && status == OTF2_SUCCESS; i++)
        status =
            OTF2_DefWriter_WriteClockOffset(writer, local->offsets[i].ticks, local->offsets[i].offset_ticks,
                                            local->offsets[i].deviation_ticks);
    return status;
}

/* Readers ask for the definitions of each location, also where all of them are global. */
static OTF2_ErrorCode write_local(OTF2_Archive *archive, const struct gn_definitions *d,
                                  const struct gn_trace_local *const *locals)
{
    OTF2_ErrorCode status = OTF2_Archive_OpenDefFiles(archive);
    for (size_t i = 0; i < d->location_count && status == OTF2_SUCCESS; i++) {
        OTF2_DefWriter *writer = OTF2_Archive_GetDefWriter(archive, d->locations[i].file_id);
        if (!writer)
            return OTF2_ERROR_MEM_ALLOC_FAILED;
        if (locals && locals[i])
            status = write_own(writer, locals[i]);
        OTF2_ErrorCode closed = OTF2_Archive_CloseDefWriter(archive, writer);
        status = status == OTF2_SUCCESS ? closed : status;
    }
    return status == OTF2_SUCCESS ? OTF2_Archive_CloseDefFiles(archive) : status;
}

static OTF2_ErrorCode write_all(OTF2_Archive *archive, const struct gn_definitions *d,
                                const struct gn_event_summary *summaries,
                                const struct gn_trace_local *const *locals)
{
    OTF2_Archive_SetCreator(archive, "gnomon " GNOMON_VERSION);
    if (d->system_node_count)
        OTF2_Archive_SetMachineName(archive, gn_string(d, d->system_nodes[0].name));
    OTF2_ErrorCode status = OTF2_SUCCESS;
    if (locals && d->clock_bounds)
        status =
            OTF2_Archive_SetProperty(archive, GN_PROPERTY_CLOCK_BOUNDS, gn_string(d, d->clock_bounds), true);
    if (status == OTF2_SUCCESS)
        status = write_local(archive, d, locals);
    if (status != OTF2_SUCCESS)
        return status;
    struct out out = {.d = d, .summaries = summaries, .locals = locals};
    out.writer = OTF2_Archive_GetGlobalDefWriter(archive);
    if (!out.writer)
        return OTF2_ERROR_MEM_ALLOC_FAILED;
    write_global(&out);
    note(&out, OTF2_Archive_CloseGlobalDefWriter(archive, out.writer));
    return out.status;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The largest definition, a group of all locations, a map or a text, must fit into one chunk. No larger than
 * that: OTF2 clears a chunk for each location. */
static uint64_t definition_chunk_size(const struct gn_definitions *d,
                                      const struct gn_trace_local *const *locals)
{
    uint64_t size = OTF2_CHUNK_SIZE_MIN, largest = d->location_count;
    for (size_t i = 0; locals && i < d->location_count; i++)
        if (locals[i])
            largest = larger(largest, larger(larger(locals[i]->regions.count, locals[i]->paths.count),
                                             larger(locals[i]->comms.count, locals[i]->windows.count)));
    largest *= 10; /* bytes */
    for (size_t i = 0; i < gn_string_count(d); i++)
        largest = larger(largest, strlen(gn_string(d, (uint32_t)i)));
    while (size < largest + 4096 && size < OTF2_CHUNK_SIZE_MAX)
        size *= 2;
    return size;
}

static OTF2_FlushType always_write(void *self, OTF2_FileType type, OTF2_LocationRef reference, void *caller,
                                   bool final)
{
    (void)self, (void)type, (void)reference, (void)caller, (void) final;
    return OTF2_FLUSH;
}

static int write_archive(const char *folder, const struct gn_definitions *definitions,
                         const struct gn_event_summary *summaries, const struct gn_trace_local *const *locals,
                         struct gn_error *err)
{
    gn_otf2_errors_catch();
    gn_otf2_error_forget();
    OTF2_Archive *archive = OTF2_Archive_Open(folder, GN_ARCHIVE_NAME, OTF2_FILEMODE_WRITE, GN_CHUNK_SIZE,
                                              definition_chunk_size(definitions, locals),
                                              OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    OTF2_ErrorCode status = archive ? OTF2_Archive_SetSerialCollectiveCallbacks(archive) : OTF2_ERROR_INVALID;
    static const OTF2_FlushCallbacks flush = {.otf2_pre_flush = always_write};
    if (status == OTF2_SUCCESS)
        status = OTF2_Archive_SetFlushCallbacks(archive, &flush, NULL);
    if (status == OTF2_SUCCESS)
        status = write_all(archive, definitions, summaries, locals);
    OTF2_ErrorCode closed = archive ? OTF2_Archive_Close(archive) : status;
    if (status != OTF2_SUCCESS || closed != OTF2_SUCCESS)
        return gn_fail(err, -EIO, "writing the definitions of the trace to %s: %s", folder,
                       gn_otf2_error_text());
    return 0;
}

/* ---- to its place ---- */

/* OTF2 writes archives into new folders only. Ours has the events already: the definitions are written beside
 * them and moved, the anchor last, so that there is no archive until everything is there. */
#define FRESH "definitions.new"

static int move(const char *folder, const char *name, struct gn_error *err)
{
    char *from = NULL, *to = NULL;
    int code =
        asprintf(&from, "%s/" FRESH "/%s", folder, name) < 0 || asprintf(&to, "%s/%s", folder, name) < 0
            ? gn_fail(err, -ENOMEM, "no memory to write a trace")
            : 0;
    if (code == 0 && rename(from, to) < 0)
        code = gn_fail(err, -errno, "moving %s to its place failed: %s", from, strerror(errno));
    free(from);
    free(to);
    return code;
}

static int move_all(const char *folder, const struct gn_definitions *d, struct gn_error *err)
{
    int code = 0;
    for (size_t i = 0; i < d->location_count && code == 0; i++) {
        char name[64];
        snprintf(name, sizeof name, GN_ARCHIVE_NAME "/%" PRIu64 ".def", d->locations[i].file_id);
        code = move(folder, name, err);
    }
    if (code == 0)
        code = move(folder, GN_ARCHIVE_NAME ".def", err);
    return code ? code : move(folder, GN_ARCHIVE_NAME ".otf2", err);
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info, (void)type, (void)where;
    return remove(path);
}

int gn_write_definitions(const char *folder, const struct gn_definitions *definitions,
                         const struct gn_event_summary *summaries, const struct gn_trace_local *const *locals,
                         struct gn_error *err)
{
    enum { OPEN_FOLDERS = 4 };
    char *fresh = NULL;
    if (asprintf(&fresh, "%s/" FRESH, folder) < 0)
        return gn_fail(err, -ENOMEM, "no memory to write a trace");
    nftw(fresh, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS); /* of somebody who was killed here */
    int code = write_archive(fresh, definitions, summaries, locals, err);
    if (code == 0)
        code = move_all(folder, definitions, err);
    nftw(fresh, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
    free(fresh);
    return code;
}
