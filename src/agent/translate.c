#include "agent/translate.h"

#include "base/grow.h"
#include "base/lookup.h"
#include "calls.h"
#include "image/source_line.h"
#include "agent/expand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { MAX_WORLD = 1 << 20, UNKNOWN = UINT32_MAX - 1 /* not asked for yet */ };
#define BESIDE_WORLD 0x80000000u /* in file ids, where the rank of others is */

struct gn_translate_inside {
    size_t node_capacity, module_capacity;
    struct gn_lookup node_lookup, module_lookup, comm_lookup, window_lookup;
    uint32_t calls[GN_CALL_COUNT]; /* regions of MPI calls */
    uint32_t *comm_instances;      /* by communicator */
    uint32_t *window_instances;
    size_t comm_capacity, window_capacity;
    bool *rank_taken; /* [world] */
    uint32_t world;
    bool goes_on;
};

/* A frame, and the region that is called from it: nearly always the same one. */
struct frame {
    uint32_t node, region, leaf;
};

struct gn_local {
    struct gn_translate *shared;
    struct gn_tag *tag;
    struct gn_ring_segment *rings;
    uint32_t process;
    int rank;
    uint32_t file_rank;   /* low half of its locations' file ids */
    uint64_t start_ticks; /* the process began: no event can be earlier */
    uint64_t garbled;
    uint32_t location_capacity;
    uint32_t *locations; /* definitions, or UNKNOWN */
    struct frame *frames;
    size_t frame_count, frame_capacity;
    uint32_t *comms; /* definitions, GN_NONE for nonsense */
    size_t comm_count, comm_capacity;
    uint32_t windows[GN_RING_WINDOWS];
    uint32_t names[GN_MAX_NAMES];
    uint32_t modules[GN_MAX_MODULES];
    uint32_t *members; /* working space */
    size_t member_capacity;
};

/* ---- the host's ---- */

static void fill(uint32_t *array, size_t count, uint32_t value)
{
    for (size_t i = 0; i < count; i++)
        array[i] = value;
}

struct gn_translate *gn_translate_empty(void)
{
    struct gn_translate *t = calloc(1, sizeof *t);
    if (t)
        t->inside = calloc(1, sizeof *t->inside);
    if (t)
        t->definitions = gn_definitions_new();
    if (!t || !t->inside || !t->definitions) {
        gn_translate_free(t);
        return NULL;
    }
    t->first_ticks = UINT64_MAX;
    fill(t->inside->calls, GN_CALL_COUNT, UNKNOWN);
    return t;
}

struct gn_translate *gn_translate_new(const char *machine, const char *host)
{
    struct gn_translate *t = gn_translate_empty();
    if (!t)
        return NULL;
    struct gn_definitions *d = t->definitions;
    uint32_t top =
        gn_define_system_node(d, &(struct gn_system_node){gn_define_string(d, machine),
                                                          gn_define_string(d, "machine"), GN_NONE, false});
    t->host = gn_define_system_node(
        d, &(struct gn_system_node){gn_define_string(d, host), gn_define_string(d, "node"), top, true});
    return t;
}

const uint32_t *gn_translate_comm_instances(const struct gn_translate *t)
{
    return t->inside->comm_instances;
}

const uint32_t *gn_translate_window_instances(const struct gn_translate *t)
{
    return t->inside->window_instances;
}

void gn_translate_set_instances(struct gn_translate *t, uint32_t *of_comms, uint32_t *of_windows)
{
    free(t->inside->comm_instances);
    free(t->inside->window_instances);
    t->inside->comm_instances = of_comms;
    t->inside->window_instances = of_windows;
}

void gn_translate_free(struct gn_translate *t)
{
    if (!t)
        return;
    if (t->inside) {
        gn_lookup_clear(&t->inside->node_lookup);
        gn_lookup_clear(&t->inside->module_lookup);
        gn_lookup_clear(&t->inside->comm_lookup);
        gn_lookup_clear(&t->inside->window_lookup);
        free(t->inside->comm_instances);
        free(t->inside->window_instances);
        free(t->inside->rank_taken);
    }
    gn_definitions_free(t->definitions);
    free(t->nodes);
    free(t->modules);
    free(t->inside);
    free(t);
}

static void define_world(struct gn_translate *t, uint32_t world)
{
    struct gn_translate_inside *in = t->inside;
    bool *taken = world > in->world ? realloc(in->rank_taken, world) : NULL;
    if (!taken)
        return;
    in->rank_taken = taken;
    for (; in->world < world; in->world++) {
        char name[32];
        snprintf(name, sizeof name, "Rank %u", in->world);
        struct gn_process process = {gn_define_string(t->definitions, name), GN_NONE, GN_NONE,
                                     (int32_t)in->world};
        if (gn_define_process(t->definitions, &process) == GN_NONE)
            return;
        in->rank_taken[in->world] = false;
    }
}

struct node_key {
    const struct gn_translate *t;
    struct gn_path_node node;
};

static bool same_node(const void *context, uint32_t value)
{
    const struct node_key *wanted = context;
    const struct gn_path_node *known = &wanted->t->nodes[value];
    return known->parent == wanted->node.parent && known->module == wanted->node.module &&
           known->what == wanted->node.what;
}

static uint32_t node_of(struct gn_translate *t, uint32_t parent, uint32_t module, uint64_t what)
{
    struct gn_translate_inside *in = t->inside;
    struct node_key wanted = {t, {parent, module, what}};
    uint64_t hash = XXH3_64bits(&wanted.node, sizeof wanted.node);
    int64_t known = gn_lookup_find(&in->node_lookup, hash, same_node, &wanted);
    if (known != GN_LOOKUP_NOTHING)
        return (uint32_t)known;
    if (!gn_grow(&t->nodes, &in->node_capacity, t->node_count, sizeof *t->nodes) ||
        !gn_lookup_add(&in->node_lookup, hash, (uint32_t)t->node_count))
        return GN_NONE;
    t->nodes[t->node_count] = wanted.node;
    return (uint32_t)t->node_count++;
}

struct module_key {
    const struct gn_translate *t;
    const struct gn_trace_module *module;
};

static bool same_module(const void *context, uint32_t value)
{
    const struct module_key *wanted = context;
    const struct gn_trace_module *known = &wanted->t->modules[value];
    return strcmp(known->path, wanted->module->path) == 0 &&
           strcmp(known->build_id, wanted->module->build_id) == 0;
}

static uint32_t module_of(struct gn_translate *t, const struct gn_trace_module *module)
{
    struct gn_translate_inside *in = t->inside;
    struct module_key wanted = {t, module};
    uint64_t hash = XXH3_64bits(module, sizeof *module);
    int64_t known = gn_lookup_find(&in->module_lookup, hash, same_module, &wanted);
    if (known != GN_LOOKUP_NOTHING)
        return (uint32_t)known;
    if (!gn_grow(&t->modules, &in->module_capacity, t->module_count, sizeof *t->modules) ||
        !gn_lookup_add(&in->module_lookup, hash, (uint32_t)t->module_count))
        return GN_NONE;
    t->modules[t->module_count] = *module;
    return (uint32_t)t->module_count++;
}

static uint32_t region_of_call(struct gn_translate *t, uint32_t call)
{
    uint32_t *known = &t->inside->calls[call];
    if (*known == UNKNOWN)
        *known = gn_define_region(t->definitions,
                                  &(struct gn_region_def){
                                      .name = gn_define_string(t->definitions, gn_activity_def(call)->name),
                                      .role = GN_ROLE_MPI,
                                  });
    return *known;
}

static uint32_t region_of_name(struct gn_translate *t, const char *name)
{
    struct gn_definitions *d = t->definitions;
    uint32_t string = gn_define_string(d, name);
    for (uint32_t i = 0; i < d->region_count; i++)
        if (d->regions[i].name == string && d->regions[i].role == GN_ROLE_USER)
            return i;
    return gn_define_region(d, &(struct gn_region_def){.name = string, .role = GN_ROLE_USER});
}

/* ---- a process ---- */

static uint32_t process_named(const struct gn_definitions *d, uint32_t name)
{
    for (uint32_t i = 0; i < d->process_count; i++)
        if (d->processes[i].name == name)
            return i;
    return GN_NONE;
}

static uint32_t define_process(struct gn_translate *t, int rank, uint32_t world, int pid, uint32_t *file_rank)
{
    struct gn_translate_inside *in = t->inside;
    define_world(t, world);
    if (rank >= 0 && (uint32_t)rank < in->world && !in->rank_taken[rank]) {
        in->rank_taken[rank] = true;
        t->definitions->processes[rank].system_node = t->host;
        *file_rank = (uint32_t)rank;
        return (uint32_t)rank;
    }
    char name[64];
    if (rank >= 0)
        snprintf(name, sizeof name, "Rank %d, process %d", rank, pid);
    else
        snprintf(name, sizeof name, "Process %d", pid);
    *file_rank = BESIDE_WORLD | (uint32_t)pid;
    const uint32_t string = gn_define_string(t->definitions, name),
                   known = in->goes_on ? process_named(t->definitions, string) : GN_NONE;
    return known != GN_NONE
               ? known
               : gn_define_process(t->definitions, &(struct gn_process){string, t->host, GN_NONE, rank});
}

struct gn_local *gn_local_new(struct gn_translate *translate, struct gn_tag *tag, size_t tag_bytes,
                              struct gn_ring_segment *rings, uint32_t locations, int rank, int world, int pid)
{
    struct gn_local *l = calloc(1, sizeof *l);
    if (!l || tag_bytes < sizeof *tag || !(l->locations = calloc(locations, sizeof *l->locations))) {
        free(l);
        return NULL;
    }
    l->shared = translate;
    l->tag = tag;
    l->rings = rings;
    l->rank = rank;
    l->start_ticks = GN_GET(tag->start_ticks);
    l->location_capacity = locations;
    fill(l->locations, locations, UNKNOWN);
    fill(l->windows, GN_RING_WINDOWS, UNKNOWN);
    fill(l->names, GN_MAX_NAMES, UNKNOWN);
    fill(l->modules, GN_MAX_MODULES, UNKNOWN);
    l->process = define_process(translate, rank, world > 0 && world <= MAX_WORLD ? (uint32_t)world : 0, pid,
                                &l->file_rank);
    if (l->process == GN_NONE || gn_local_location(l, 0) == GN_NONE) { /* 0: the one that messages go to */
        gn_local_free(l);
        return NULL;
    }
    return l;
}

void gn_local_free(struct gn_local *l)
{
    if (!l)
        return;
    free(l->locations);
    free(l->frames);
    free(l->comms);
    free(l->members);
    free(l);
}

uint64_t gn_local_garbled(const struct gn_local *l)
{
    return l->garbled;
}

static uint64_t file_id_of(uint32_t file_rank, uint32_t location)
{
    return file_rank | (uint64_t)location << 32;
}

static uint32_t location_of_file(const struct gn_definitions *d, uint32_t file_rank, uint32_t location)
{
    for (uint32_t i = 0; i < d->location_count; i++)
        if (d->locations[i].file_id == file_id_of(file_rank, location))
            return i;
    return GN_NONE;
}

uint32_t gn_local_location(struct gn_local *l, uint32_t location)
{
    if (location >= l->location_capacity)
        return GN_NONE;
    if (l->locations[location] != UNKNOWN)
        return l->locations[location];
    struct gn_definitions *d = l->shared->definitions;
    const uint32_t known = l->shared->inside->goes_on ? location_of_file(d, l->file_rank, location) : GN_NONE;
    if (known != GN_NONE)
        return l->locations[location] = known;
    char name[32] = "Master thread";
    if (location > 0)
        snprintf(name, sizeof name, "Thread %u", location + 1);
    struct gn_location_def def = {.name = gn_define_string(d, name),
                                  .process = l->process,
                                  .domain = 0,
                                  .file_id = file_id_of(l->file_rank, location)};
    return l->locations[location] = gn_define_location(d, &def);
}

bool gn_local_knows(const struct gn_local *l, uint32_t location)
{
    return location < l->location_capacity && l->locations[location] != UNKNOWN &&
           l->locations[location] != GN_NONE;
}

static uint32_t garbled(struct gn_local *l)
{
    l->garbled++;
    return GN_NONE;
}

/* ---- call paths ---- */

static uint32_t find_module(struct gn_local *l, uint32_t index)
{
    if (index >= GN_MAX_MODULES || index >= GN_OBSERVE(l->tag->module_count))
        return GN_NONE;
    if (l->modules[index] != UNKNOWN)
        return l->modules[index];
    const struct gn_module *from = &l->tag->modules[index];
    struct gn_trace_module module;
    memset(&module, 0, sizeof module); /* compared as a whole by its hash */
    snprintf(module.path, sizeof module.path, "%.*s", GN_PATH_BYTES - 1, from->path);
    uint32_t bytes = from->build_id_bytes;
    for (uint32_t i = 0; i < bytes && i < GN_BUILD_ID_BYTES; i++)
        snprintf(module.build_id + 2 * i, 3, "%02x", from->build_id[i]);
    if (from->kind == GN_MODULE_PYTHON) { /* as in the profile */
        snprintf(module.build_id, sizeof module.build_id, GN_SOURCE_BUILD_ID);
        gn_printable(module.path);
    }
    return l->modules[index] = module_of(l->shared, &module);
}

/* What says where in its module a frame is, the same in all processes. */
static uint64_t place_of(const struct gn_local *l, const struct gn_tag_frame *frame)
{
    if (l->tag->modules[frame->module].kind != GN_MODULE_PYTHON)
        return frame->offset;
    struct gn_source_line source;
    if (frame->offset >= GN_MAX_SOURCES || frame->offset >= GN_OBSERVE(l->tag->source_count))
        return 0;
    memcpy(&source, &l->tag->sources[frame->offset], sizeof source);
    gn_source_line_tidy(&source);
    return gn_source_line_key(&source);
}

/* Frames are only ever added, each after its parent: those up to `index` are looked at in their order. */
static bool know_frames(struct gn_local *l, uint32_t index)
{
    uint32_t published = GN_OBSERVE(l->tag->frame_count);
    if (index >= GN_MAX_FRAMES || index >= published)
        return false;
    while (l->frame_count <= index) {
        if (!gn_grow(&l->frames, &l->frame_capacity, l->frame_count, sizeof *l->frames))
            return false;
        uint32_t i = (uint32_t)l->frame_count;
        struct gn_tag_frame frame;
        memcpy(&frame, &l->tag->frames[i], sizeof frame);
        uint32_t node = GN_NONE, module = find_module(l, frame.module);
        if (i > 0 && frame.parent < i && module != GN_NONE)
            node = node_of(l->shared, l->frames[frame.parent].node, module, place_of(l, &frame));
        else if (i > 0)
            garbled(l);
        l->frames[l->frame_count++] = (struct frame){node, UNKNOWN, GN_NONE};
    }
    return true;
}

static uint32_t find_path(struct gn_local *l, uint32_t index, uint32_t region)
{
    if (index >= l->frame_count && !know_frames(l, index))
        return garbled(l);
    struct frame *f = &l->frames[index];
    if (region == GN_NONE)
        return f->node;
    if (f->region != region) {
        f->region = region;
        f->leaf = node_of(l->shared, f->node, GN_NONE, region);
    }
    return f->leaf;
}

static uint32_t find_region(struct gn_local *l, uint32_t region)
{
    if (region < GN_CALL_COUNT)
        return region_of_call(l->shared, region);
    uint32_t name = region - GN_REGION_NAME;
    if (region < GN_REGION_NAME || name >= GN_MAX_NAMES || name >= GN_OBSERVE(l->tag->name_count))
        return garbled(l);
    if (l->names[name] == UNKNOWN) {
        char text[GN_NAME_BYTES];
        snprintf(text, sizeof text, "%.*s", GN_NAME_BYTES - 1, l->tag->names[name]);
        l->names[name] = region_of_name(l->shared, text);
    }
    return l->names[name];
}

/* ---- communicators and windows ---- */

/* What tells a communicator from all others. */
struct comm_key {
    const struct gn_translate *t;
    const uint32_t *members;
    uint32_t member_count, other_count, instance;
};

static bool same_comm(const void *context, uint32_t value)
{
    const struct comm_key *wanted = context;
    const struct gn_comm_def *known = &wanted->t->definitions->comms[value];
    return known->member_count == wanted->member_count && known->other_count == wanted->other_count &&
           wanted->t->inside->comm_instances[value] == wanted->instance &&
           memcmp(known->members, wanted->members,
                  ((size_t)known->member_count + known->other_count) * sizeof *known->members) == 0;
}

/* A rank of MPI_COMM_WORLD as a process. */
static uint32_t process_of(const struct gn_local *l, uint32_t rank)
{
    if (l->rank >= 0 && rank == (uint32_t)l->rank)
        return l->process;
    return rank < l->shared->inside->world ? rank : GN_NONE;
}

/* Members as processes, behind the `count` that stand in l->members. How many there are then, 0: nonsense. */
static size_t read_ranges(struct gn_local *l, const uint32_t *words, uint32_t ranges, size_t count)
{
    for (uint32_t i = 0; i < ranges; i++)
        for (uint32_t rank = words[2 * i], last = rank + words[2 * i + 1]; rank < last; rank++) {
            uint32_t process = process_of(l, rank);
            if (process == GN_NONE || count > 2 * MAX_WORLD ||
                !gn_grow(&l->members, &l->member_capacity, count, sizeof *l->members))
                return 0;
            l->members[count++] = process;
        }
    return count;
}

/* The members as processes in l->members; of an intercommunicator the group with the smaller first process
 * stands first, for both sides to mean the same. */
static bool read_members(struct gn_local *l, const struct gn_ring_comm *comm, struct comm_key *key)
{
    uint64_t ranges = (uint64_t)comm->ranges + comm->other_ranges;
    uint64_t words = GN_OBSERVE(l->rings->word_count);
    if (comm->ranges == 0 || words > GN_RING_WORDS || comm->first_word + 2 * ranges > words)
        return false;
    const uint32_t *own = &l->rings->words[comm->first_word], *other = own + 2 * (size_t)comm->ranges;
    bool swap = comm->other_ranges > 0 && other[0] < own[0];
    size_t first = swap ? read_ranges(l, other, comm->other_ranges, 0) : read_ranges(l, own, comm->ranges, 0);
    size_t all = first;
    if (first > 0 && comm->other_ranges > 0)
        all = swap ? read_ranges(l, own, comm->ranges, first)
                   : read_ranges(l, other, comm->other_ranges, first);
    *key = (struct comm_key){l->shared, l->members, (uint32_t)first, (uint32_t)(all - first), comm->instance};
    return first > 0 && all > 0;
}

static uint64_t hash_of_comm(const uint32_t *members, uint32_t member_count, uint32_t other_count,
                             uint32_t instance)
{
    const uint64_t seed = ((uint64_t)member_count << 32) ^ instance;
    return XXH3_64bits_withSeed(members, ((size_t)member_count + other_count) * sizeof *members, seed);
}

static uint32_t define_comm(struct gn_local *l, const struct comm_key *key, const struct gn_ring_comm *comm,
                            uint64_t hash)
{
    struct gn_translate_inside *in = l->shared->inside;
    struct gn_definitions *d = l->shared->definitions;
    char name[sizeof comm->name];
    snprintf(name, sizeof name, "%.*s", (int)sizeof name - 1, comm->name);
    struct gn_comm_def def = {.name = gn_define_string(d, name),
                              .parent = comm->parent < l->comm_count ? l->comms[comm->parent] : GN_NONE,
                              .member_count = key->member_count,
                              .other_count = key->other_count,
                              .members = l->members};
    if (!gn_grow(&in->comm_instances, &in->comm_capacity, d->comm_count, sizeof *in->comm_instances))
        return GN_NONE;
    uint32_t index = gn_define_comm(d, &def);
    if (index == GN_NONE || !gn_lookup_add(&in->comm_lookup, hash, index))
        return GN_NONE;
    in->comm_instances[index] = key->instance;
    return index;
}

static uint32_t take_comm(struct gn_local *l, uint32_t index)
{
    struct gn_ring_comm comm;
    memcpy(&comm, &l->rings->comms[index], sizeof comm);
    struct comm_key key;
    if (!read_members(l, &comm, &key))
        return garbled(l);
    uint64_t hash = hash_of_comm(l->members, key.member_count, key.other_count, comm.instance);
    int64_t known = gn_lookup_find(&l->shared->inside->comm_lookup, hash, same_comm, &key);
    return known != GN_LOOKUP_NOTHING ? (uint32_t)known : define_comm(l, &key, &comm, hash);
}

/* Communicators are only ever added: those up to `index` are looked at in their order. */
static uint32_t find_comm(struct gn_local *l, uint32_t index)
{
    if (index < l->comm_count)
        return l->comms[index];
    if (index >= GN_RING_COMMS || index >= GN_OBSERVE(l->rings->comm_count))
        return garbled(l);
    while (l->comm_count <= index) {
        if (!gn_grow(&l->comms, &l->comm_capacity, l->comm_count, sizeof *l->comms))
            return GN_NONE;
        uint32_t comm = take_comm(l, (uint32_t)l->comm_count);
        l->comms[l->comm_count++] = comm;
    }
    return l->comms[index];
}

void gn_local_names(struct gn_local *l)
{
    struct gn_definitions *d = l->shared->definitions;
    for (uint32_t i = 0; i < l->comm_count; i++) {
        char name[sizeof l->rings->comms[i].name];
        snprintf(name, sizeof name, "%.*s", (int)sizeof name - 1, l->rings->comms[i].name);
        if (l->comms[i] != GN_NONE && name[0] && d->comms[l->comms[i]].name == 0)
            d->comms[l->comms[i]].name = gn_define_string(d, name);
    }
}

struct window_key {
    const struct gn_translate *t;
    uint32_t comm, instance;
};

static bool same_window(const void *context, uint32_t value)
{
    const struct window_key *wanted = context;
    return wanted->t->definitions->windows[value].comm == wanted->comm &&
           wanted->t->inside->window_instances[value] == wanted->instance;
}

static uint32_t take_window(struct gn_local *l, uint32_t index)
{
    struct gn_translate_inside *in = l->shared->inside;
    struct gn_definitions *d = l->shared->definitions;
    struct gn_ring_window window;
    memcpy(&window, &l->rings->windows[index], sizeof window);
    struct window_key key = {l->shared, find_comm(l, window.comm), window.instance};
    if (key.comm == GN_NONE)
        return GN_NONE;
    uint64_t hash = XXH3_64bits_withSeed(&key.comm, sizeof key.comm, key.instance);
    int64_t known = gn_lookup_find(&in->window_lookup, hash, same_window, &key);
    if (known != GN_LOOKUP_NOTHING)
        return (uint32_t)known;
    char name[32];
    snprintf(name, sizeof name, "window %zu", d->window_count);
    if (!gn_grow(&in->window_instances, &in->window_capacity, d->window_count, sizeof *in->window_instances))
        return GN_NONE;
    uint32_t fresh = gn_define_window(d, &(struct gn_window_def){gn_define_string(d, name), key.comm});
    if (fresh == GN_NONE || !gn_lookup_add(&in->window_lookup, hash, fresh))
        return GN_NONE;
    in->window_instances[fresh] = key.instance;
    return fresh;
}

static uint32_t find_window(struct gn_local *l, uint32_t index)
{
    if (index >= GN_RING_WINDOWS || index >= GN_OBSERVE(l->rings->window_count))
        return garbled(l);
    if (l->windows[index] == UNKNOWN)
        l->windows[index] = take_window(l, index);
    return l->windows[index];
}

/* ---- an event ---- */

static bool is_rma(unsigned kind)
{
    return kind >= GN_EVENT_RMA_WIN_CREATE && kind <= GN_EVENT_RMA_SYNC;
}

/* A peer or root is a rank of the communicator's other group, where it has one; of its own in a few cases. */
static bool is_rank(const struct gn_definitions *d, uint32_t comm, uint32_t peer)
{
    if (peer >= GN_ROOT_NONE || comm == GN_NONE) /* GN_NONE, GN_ANY, GN_ROOT_SELF, GN_ROOT_NONE */
        return true;
    const struct gn_comm_def *c = &d->comms[comm];
    return peer < c->member_count || peer < c->other_count;
}

static void translate_comm(struct gn_local *l, struct gn_event *e)
{
    const struct gn_definitions *d = l->shared->definitions;
    uint32_t comm;
    if (is_rma(e->kind)) {
        e->comm = find_window(l, e->comm);
        comm = e->comm != GN_NONE ? d->windows[e->comm].comm : GN_NONE;
        if (e->kind == GN_EVENT_RMA_SYNC && e->tag != GN_NONE) /* the group that an epoch is for */
            e->tag = find_comm(l, e->tag);
    } else {
        comm = e->comm = find_comm(l, e->comm);
    }
    if (!is_rank(d, comm, e->peer))
        e->peer = garbled(l);
}

/* The counter of all cores is one and the same: what is later than now was not written by us. */
static void translate_ticks(struct gn_local *l, struct gn_event *e, uint64_t now_ticks)
{
    struct gn_translate *t = l->shared;
    const bool wrong = e->ticks > now_ticks || e->ticks < l->start_ticks;
    if (wrong)
        garbled(l);
    if (wrong && t->last_ticks)
        e->ticks = t->last_ticks;
    else
        e->ticks = gn_simulated_reading(&t->clock, wrong ? now_ticks : e->ticks);
    if (e->ticks < t->first_ticks)
        t->first_ticks = e->ticks;
    if (e->ticks > t->last_ticks)
        t->last_ticks = e->ticks;
}

static bool is_of_thread(unsigned kind)
{
    return kind == GN_EVENT_THREAD_CREATE || kind == GN_EVENT_THREAD_WAIT || kind == GN_EVENT_THREAD_BEGIN ||
           kind == GN_EVENT_THREAD_END;
}

/* Threads are numbered by their process; archives name them among all. */
static void translate_thread(const struct gn_local *l, struct gn_event *e)
{
    if (e->request)
        e->request = (uint64_t)l->file_rank << 32 | (uint32_t)e->request;
}

bool gn_local_event(struct gn_local *l, uint32_t location, struct gn_event *e, uint64_t now_ticks)
{
    e->location = gn_local_location(l, location);
    if (e->kind >= GN_EVENT_KIND_COUNT || e->location == GN_NONE) {
        garbled(l);
        return false;
    }
    translate_ticks(l, e, now_ticks);
    if (e->op >= GN_COLLECTIVE_COUNT && e->op != GN_COLLECTIVE_UNKNOWN) {
        garbled(l);
        e->op = GN_COLLECTIVE_UNKNOWN;
    }
    const bool has_place = !gn_event_has_number(e->kind);
    if (has_place && e->region != GN_NONE)
        e->region = find_region(l, e->region);
    if (has_place && e->path != GN_NONE)
        e->path = find_path(l, e->path, e->region);
    if (e->comm != GN_NONE)
        translate_comm(l, e);
    if (is_of_thread(e->kind))
        translate_thread(l, e);
    return true;
}

/* ---- going on ---- */

static bool find_all_comms(struct gn_translate *t)
{
    struct gn_translate_inside *in = t->inside;
    const struct gn_definitions *d = t->definitions;
    bool fine = true;
    for (uint32_t i = 0; i < d->comm_count && fine; i++) {
        const struct gn_comm_def *c = &d->comms[i];
        fine = gn_lookup_add(&in->comm_lookup,
                             hash_of_comm(c->members, c->member_count, c->other_count, in->comm_instances[i]),
                             i);
    }
    for (uint32_t i = 0; i < d->window_count && fine; i++)
        fine = gn_lookup_add(
            &in->window_lookup,
            XXH3_64bits_withSeed(&d->windows[i].comm, sizeof d->windows[i].comm, in->window_instances[i]), i);
    return fine;
}

static bool find_all_nodes(struct gn_translate *t)
{
    struct gn_translate_inside *in = t->inside;
    bool fine = true;
    for (uint32_t i = 0; i < t->node_count && fine; i++)
        fine = gn_lookup_add(&in->node_lookup, XXH3_64bits(&t->nodes[i], sizeof t->nodes[i]), i);
    for (uint32_t i = 0; i < t->module_count && fine; i++)
        fine = gn_lookup_add(&in->module_lookup, XXH3_64bits(&t->modules[i], sizeof t->modules[i]), i);
    return fine;
}

static void find_calls(struct gn_translate *t)
{
    const struct gn_definitions *d = t->definitions;
    for (uint32_t i = 0; i < d->region_count; i++)
        if (gn_activity_is_call(d->regions[i].activity))
            t->inside->calls[d->regions[i].activity] = i;
}

static bool find_world(struct gn_translate *t)
{
    struct gn_translate_inside *in = t->inside;
    const struct gn_definitions *d = t->definitions;
    while (in->world < d->process_count && d->processes[in->world].rank == (int32_t)in->world)
        in->world++;
    in->rank_taken = calloc(in->world + 1, sizeof *in->rank_taken);
    return in->rank_taken != NULL;
}

bool gn_translate_go_on(struct gn_translate *t)
{
    struct gn_translate_inside *in = t->inside;
    in->goes_on = true;
    in->node_capacity = t->node_count;
    in->module_capacity = t->module_count;
    in->comm_capacity = t->definitions->comm_count;
    in->window_capacity = t->definitions->window_count;
    find_calls(t);
    return find_world(t) && find_all_nodes(t) && find_all_comms(t);
}

uint32_t gn_translate_location(const struct gn_translate *t, int rank, int pid, uint32_t location)
{
    const struct gn_definitions *d = t->definitions;
    const uint32_t beside = location_of_file(d, BESIDE_WORLD | (uint32_t)pid, location);
    return beside != GN_NONE || rank < 0 ? beside : location_of_file(d, (uint32_t)rank, location);
}
