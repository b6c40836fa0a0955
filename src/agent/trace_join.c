#include "agent/trace_join.h"

#include "base/grow.h"
#include "base/lookup.h"
#include "agent/part_file.h"
#include "agent/trace_part.h"
#include "profile/clock.h"
#include "profile/kept_windows.h"
#include "profile/profile.h"
#include "profile/statement.h"
#include "trace/clock_offsets.h"
#include "trace/copy_file.h"
#include "trace/event_file.h"
#include "trace/vocabulary.h"
#include "trace/writer.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { PATH_BYTES = 4700 };

struct host {
    char name[256]; /* of its folder */
    struct gn_agent_part part;
    uint32_t *regions, *paths, *comms, *windows, *processes, *nodes; /* by number in the part */
    uint32_t *path_map;                                              /* what its events call a path */
    const struct gn_clock_state *clock;                              /* NULL: nothing is known of it */
    bool torn;                                                       /* its processes have several */
    struct gn_clock_offset *offsets;
    size_t offset_count;
    struct gn_trace_local local;
};

struct joiner {
    const char *folder, *name; /* of the archive: "trace" */
    struct host *hosts;
    size_t host_count, host_capacity;
    struct gn_definitions *d;
    uint32_t *comm_instances, *window_instances; /* of the united ones */
    size_t comm_capacity, window_capacity;
    const struct gn_trace_local **locals; /* by united location */
    size_t local_capacity;
    struct gn_lookup regions, paths, comms;
    struct gn_profile_clocks clocks;
    struct host *reference; /* whose counter is the trace's clock */
    struct gn_trace_scale scale;
    uint64_t first_ticks, last_ticks;
};

/* ---- what there is ---- */

/* Of which host a folder NAME-<host> has the part; NULL: it has none. */
static const char *host_of(const char *name, const char *folder)
{
    const size_t length = strlen(name);
    return strncmp(folder, name, length) == 0 && folder[length] == '-' ? folder + length + 1 : NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct host *)a)->name, ((const struct host *)b)->name);
}

static int find_parts(struct joiner *j, struct gn_error *err)
{
    DIR *folder = opendir(j->folder);
    int code = folder ? 0 : gn_fail(err, -errno, "cannot read %s: %s", j->folder, strerror(errno));
    for (struct dirent *entry; code == 0 && (entry = readdir(folder));) {
        char path[PATH_BYTES];
        if (!host_of(j->name, entry->d_name))
            continue;
        if (!gn_grow(&j->hosts, &j->host_capacity, j->host_count, sizeof *j->hosts)) {
            code = gn_fail(err, -ENOMEM, "no memory to join traces");
            break;
        }
        struct host *h = &j->hosts[j->host_count];
        *h = (struct host){.name = ""};
        snprintf(h->name, sizeof h->name, "%s", entry->d_name);
        snprintf(path, sizeof path, "%s/%s", j->folder, h->name);
        code = gn_part_load(&h->part, path, err);
        j->host_count += code == 0;
    }
    if (folder)
        closedir(folder);
    if (j->host_count)
        qsort(j->hosts, j->host_count, sizeof *j->hosts, by_name);
    return code;
}

/* ---- definitions ---- */

static uint32_t string_of(const struct joiner *j, const struct host *h, uint32_t string)
{
    return gn_define_string(j->d, gn_string(h->part.translate->definitions, string));
}

static uint32_t mapped(const uint32_t *map, uint32_t number)
{
    return number == GN_NONE ? GN_NONE : map[number];
}

static void join_nodes(struct joiner *j, struct host *h)
{
    const struct gn_definitions *from = h->part.translate->definitions;
    for (size_t i = 0; i < from->system_node_count; i++) {
        struct gn_system_node node = from->system_nodes[i];
        node.name = string_of(j, h, node.name);
        node.class_name = string_of(j, h, node.class_name);
        node.parent = mapped(h->nodes, node.parent);
        h->nodes[i] = GN_NONE;
        for (uint32_t k = 0; k < j->d->system_node_count && !node.is_domain; k++)
            if (j->d->system_nodes[k].name == node.name && j->d->system_nodes[k].parent == node.parent)
                h->nodes[i] = k;
        if (h->nodes[i] == GN_NONE)
            h->nodes[i] = gn_define_system_node(j->d, &node);
    }
}

/* Every part defines all ranks of the world first, so that the number of a process is its rank; where it ran
 * is known to its own host only. */
static bool is_of_world(const struct gn_definitions *d, uint32_t process)
{
    return d->processes[process].rank >= 0 && (uint32_t)d->processes[process].rank == process;
}

static bool is_here(const struct gn_definitions *d, uint32_t process)
{
    return d->processes[process].system_node != GN_NONE;
}

static void join_world(struct joiner *j, struct host *h)
{
    const struct gn_definitions *from = h->part.translate->definitions;
    for (uint32_t i = 0; i < from->process_count && is_of_world(from, i); i++) {
        struct gn_process process = from->processes[i];
        process.name = string_of(j, h, process.name);
        process.main_location = GN_NONE;
        process.system_node = mapped(h->nodes, process.system_node);
        if (i >= j->d->process_count)
            gn_define_process(j->d, &process);
        else if (process.system_node != GN_NONE)
            j->d->processes[i].system_node = process.system_node;
        h->processes[i] = i;
    }
}

static void join_others(struct joiner *j, struct host *h)
{
    const struct gn_definitions *from = h->part.translate->definitions;
    for (uint32_t i = 0; i < from->process_count; i++) {
        struct gn_process process = from->processes[i];
        if (is_of_world(from, i))
            continue;
        process.name = string_of(j, h, process.name);
        process.main_location = GN_NONE;
        process.system_node = mapped(h->nodes, process.system_node);
        h->processes[i] = gn_define_process(j->d, &process);
    }
}

/* Locations of processes that ran here; those of others are only there to have a name in the part. */
static int join_locations(struct joiner *j, struct host *h, uint32_t domain)
{
    const struct gn_definitions *from = h->part.translate->definitions;
    for (size_t i = 0; i < from->location_count; i++) {
        struct gn_location_def location = from->locations[i];
        if (!is_here(from, location.process))
            continue;
        location.name = string_of(j, h, location.name);
        location.process = h->processes[location.process];
        location.domain = domain;
        location.clock = 0;
        if (!gn_grow(&j->locals, &j->local_capacity, j->d->location_count, sizeof *j->locals) ||
            gn_define_location(j->d, &location) == GN_NONE)
            return -ENOMEM;
        j->locals[j->d->location_count - 1] = &h->local;
    }
    return 0;
}

struct region_key {
    const struct joiner *j;
    struct gn_region_def def;
};

static bool same_region(const void *context, uint32_t value)
{
    const struct region_key *wanted = context;
    const struct gn_region_def *known = &wanted->j->d->regions[value];
    return known->name == wanted->def.name && known->source_file == wanted->def.source_file &&
           known->role == wanted->def.role;
}

static void join_regions(struct joiner *j, struct host *h)
{
    const struct gn_definitions *from = h->part.translate->definitions;
    for (size_t i = 0; i < from->region_count; i++) {
        struct region_key key = {j, from->regions[i]};
        key.def.name = string_of(j, h, key.def.name);
        key.def.source_file = string_of(j, h, key.def.source_file);
        uint64_t hash = XXH3_64bits_withSeed(&key.def.name, sizeof key.def.name, key.def.source_file);
        int64_t known = gn_lookup_find(&j->regions, hash, same_region, &key);
        h->regions[i] = known != GN_LOOKUP_NOTHING ? (uint32_t)known : gn_define_region(j->d, &key.def);
        if (known == GN_LOOKUP_NOTHING)
            gn_lookup_add(&j->regions, hash, h->regions[i]);
    }
}

struct path_key {
    const struct joiner *j;
    struct gn_path_def def;
};

static bool same_path(const void *context, uint32_t value)
{
    const struct path_key *wanted = context;
    return memcmp(&wanted->j->d->paths[value], &wanted->def, sizeof wanted->def) == 0;
}

static void join_paths(struct joiner *j, struct host *h)
{
    const struct gn_translate *t = h->part.translate;
    for (size_t i = 0; i < t->definitions->path_count; i++) {
        const struct gn_path_def *path = &t->definitions->paths[i];
        struct path_key key = {j,
                               {mapped(h->paths, path->parent), h->regions[path->region],
                                string_of(j, h, path->source_file), path->line}};
        uint64_t hash = XXH3_64bits(&key.def, sizeof key.def);
        int64_t known = gn_lookup_find(&j->paths, hash, same_path, &key);
        h->paths[i] = known != GN_LOOKUP_NOTHING ? (uint32_t)known : gn_define_path(j->d, &key.def);
        if (known == GN_LOOKUP_NOTHING)
            gn_lookup_add(&j->paths, hash, h->paths[i]);
    }
    for (size_t i = 0; i < t->node_count; i++)
        h->path_map[i] = h->part.paths ? mapped(h->paths, h->part.paths[i]) : GN_NONE;
}

struct comm_key {
    const struct joiner *j;
    const struct gn_comm_def *def; /* with members of the union */
    uint32_t instance;
};

static bool same_comm(const void *context, uint32_t value)
{
    const struct comm_key *wanted = context;
    const struct gn_comm_def *known = &wanted->j->d->comms[value];
    return known->member_count == wanted->def->member_count &&
           known->other_count == wanted->def->other_count &&
           wanted->j->comm_instances[value] == wanted->instance &&
           memcmp(known->members, wanted->def->members,
                  ((size_t)known->member_count + known->other_count) * sizeof *known->members) == 0;
}

static uint32_t join_comm(struct joiner *j, struct host *h, uint32_t index)
{
    const struct gn_translate *t = h->part.translate;
    struct gn_comm_def comm = t->definitions->comms[index];
    size_t members = (size_t)comm.member_count + comm.other_count;
    for (size_t m = 0; m < members; m++) /* the part's own copy: it is needed once */
        comm.members[m] = h->processes[comm.members[m]];
    struct comm_key key = {j, &comm, gn_translate_comm_instances(t)[index]};
    uint64_t hash = XXH3_64bits_withSeed(comm.members, members * sizeof *comm.members, key.instance);
    int64_t known = gn_lookup_find(&j->comms, hash, same_comm, &key);
    if (known != GN_LOOKUP_NOTHING)
        return (uint32_t)known;
    comm.name = string_of(j, h, comm.name);
    comm.parent = mapped(h->comms, comm.parent);
    if (!gn_grow(&j->comm_instances, &j->comm_capacity, j->d->comm_count, sizeof *j->comm_instances))
        return GN_NONE;
    uint32_t fresh = gn_define_comm(j->d, &comm);
    if (fresh == GN_NONE || !gn_lookup_add(&j->comms, hash, fresh))
        return GN_NONE;
    j->comm_instances[fresh] = key.instance;
    return fresh;
}

static uint32_t join_window(struct joiner *j, struct host *h, uint32_t index)
{
    const struct gn_translate *t = h->part.translate;
    struct gn_window_def window = t->definitions->windows[index];
    uint32_t instance = gn_translate_window_instances(t)[index];
    window.comm = h->comms[window.comm];
    window.name = string_of(j, h, window.name);
    for (uint32_t i = 0; i < j->d->window_count; i++)
        if (j->d->windows[i].comm == window.comm && j->window_instances[i] == instance)
            return i;
    if (window.comm == GN_NONE ||
        !gn_grow(&j->window_instances, &j->window_capacity, j->d->window_count, sizeof *j->window_instances))
        return GN_NONE;
    uint32_t fresh = gn_define_window(j->d, &window);
    if (fresh != GN_NONE)
        j->window_instances[fresh] = instance;
    return fresh;
}

static uint32_t *new_map(size_t count)
{
    return calloc(count + 1, sizeof(uint32_t));
}

static int make_maps(struct host *h)
{
    const struct gn_definitions *from = h->part.translate->definitions;
    h->nodes = new_map(from->system_node_count);
    h->processes = new_map(from->process_count);
    h->regions = new_map(from->region_count);
    h->paths = new_map(from->path_count);
    h->path_map = new_map(h->part.translate->node_count);
    h->comms = new_map(from->comm_count);
    h->windows = new_map(from->window_count);
    return h->nodes && h->processes && h->regions && h->paths && h->path_map && h->comms && h->windows
               ? 0
               : -ENOMEM;
}

/* ---- clocks ---- */

static struct host *host_named(const struct joiner *j, const char *name)
{
    for (size_t i = 0; i < j->host_count; i++)
        if (strcmp(host_of(j->name, j->hosts[i].name), name) == 0)
            return &j->hosts[i];
    return NULL;
}

static uint64_t rate_of(const struct host *h)
{
    return h->part.translate->definitions->ticks_per_second;
}

/* A profile without clocks, or whose reference has no trace, is no error: clocks are bounded by nothing then.
 */
static int read_clocks(struct joiner *j, sqlite3 *profile, struct gn_error *err)
{
    const struct gn_assumption assumption = gn_assumption_default();
    struct gn_profile_clocks *clocks = &j->clocks;
    j->reference = &j->hosts[0];
    int code = profile ? gn_profile_read_clocks(profile, clocks, err) : -ENODATA;
    struct host *reference = code == 0 && clocks->count ? host_named(j, clocks->rows[0].host) : NULL;
    if (!reference)
        return code == -ENODATA ? 0 : code;
    j->reference = reference;
    j->scale = (struct gn_trace_scale){clocks->rows[0].epoch_ticks, (uint64_t)(clocks->rows[0].def.hz + 0.5)};
    gn_clocks_set_epoch(clocks->clocks, clocks->rows[0].epoch_ticks);
    code = gn_clocks_solve(clocks->clocks, &assumption, err);
    for (uint32_t i = 0; i < clocks->count && code == 0; i++) {
        const struct gn_clock_row *row = &clocks->rows[i];
        struct host *h = strcmp(row->domain, row->host) == 0 ? host_named(j, row->host) : NULL;
        const struct gn_clock_state *state = gn_clocks_state(clocks->clocks, i);
        if (h)
            h->torn = !row->whole;
        if (h && row->whole && state->bounds)
            h->clock = state;
    }
    return code;
}

/* What the bounds rest on, in the words of docs/trace-format.md. */
static void describe_clocks(struct joiner *j)
{
    const struct gn_assumption assumption = gn_assumption_default();
    enum gn_assumption_kind kind = GN_RATE_UNKNOWN;
    bool any = false;
    char text[128];
    for (size_t i = 0; i < j->host_count; i++) {
        const struct host *h = &j->hosts[i];
        any |= h->clock != NULL;
        /* the strongest: constant, wanders, within, unknown */
        if (h->clock && h != j->reference && h->clock->rests_on != GN_RATE_UNKNOWN &&
            (kind == GN_RATE_UNKNOWN || kind == GN_RATE_WITHIN || h->clock->rests_on == GN_RATE_CONSTANT))
            kind = h->clock->rests_on;
    }
    snprintf(text, sizeof text, "%s nominal_ppb=%" PRIu32 " wander_ppb=%" PRIu32, gn_assumption_name(kind),
             assumption.nominal_ppb, assumption.wander_ppb);
    j->d->clock_bounds = gn_define_string(j->d, any ? text : GN_CLOCK_BOUNDS_COARSE);
}

/* The reading of the reference's counter at the moment when real time was realtime_ns. */
static uint64_t reference_ticks(const struct joiner *j, uint64_t realtime_ns)
{
    const struct gn_agent_part *part = &j->reference->part;
    double ns = (double)(int64_t)(realtime_ns - part->began.ns);
    return part->began.ticks + (uint64_t)(int64_t)(ns * (double)rate_of(j->reference) * 1e-9);
}

static struct gn_clock_offset coarse_offset(const struct joiner *j, const struct host *h,
                                            const struct gn_moment *moment)
{
    uint64_t there = h == j->reference ? moment->ticks : reference_ticks(j, moment->ns);
    return (struct gn_clock_offset){moment->ticks, (int64_t)(there - moment->ticks), GN_DEVIATION_UNKNOWN};
}

static int place_coarsely(const struct joiner *j, struct host *h)
{
    if (h == j->reference && !h->torn)
        return 0;
    h->offsets = calloc(2, sizeof *h->offsets);
    if (!h->offsets)
        return -ENOMEM;
    h->offsets[0] = coarse_offset(j, h, &h->part.began);
    h->offsets[1] = coarse_offset(j, h, &h->part.ended);
    h->offset_count = 2;
    return 0;
}

static int place_within_bounds(const struct joiner *j, struct host *h)
{
    const struct gn_translate *t = h->part.translate;
    const struct gn_clock_range range = {h->clock->bounds, t->first_ticks, t->last_ticks};
    if (t->first_ticks > t->last_ticks)
        return 0; /* nothing happened here */
    h->offset_count = gn_clock_offsets(&h->offsets, &range, &j->scale, GN_CLOCK_OFFSETS);
    return h->offset_count ? 0 : -ENOMEM;
}

static int place(struct joiner *j, struct host *h)
{
    const struct gn_translate *t = h->part.translate;
    int code = h->clock ? place_within_bounds(j, h) : place_coarsely(j, h);
    h->local = (struct gn_trace_local){.regions = {h->regions, t->definitions->region_count},
                                       .paths = {h->path_map, t->node_count},
                                       .comms = {h->comms, t->definitions->comm_count},
                                       .windows = {h->windows, t->definitions->window_count},
                                       .offsets = h->offsets,
                                       .offset_count = h->offset_count};
    if (code != 0 || t->first_ticks > t->last_ticks)
        return code;
    const struct gn_clock_offset none = {0, 0, 0}, *offsets = h->offset_count ? h->offsets : &none;
    const size_t last = h->offset_count ? h->offset_count - 1 : 0;
    uint64_t begin = t->first_ticks + (uint64_t)offsets[0].offset_ticks;
    uint64_t end = t->last_ticks + (uint64_t)offsets[last].offset_ticks;
    j->first_ticks = begin < j->first_ticks ? begin : j->first_ticks;
    j->last_ticks = end > j->last_ticks ? end : j->last_ticks;
    return 0;
}

static void set_clock(struct joiner *j)
{
    const struct gn_agent_part *part = &j->reference->part;
    j->d->ticks_per_second = j->scale.ticks_per_second ? j->scale.ticks_per_second : rate_of(j->reference);
    const double rate = (double)j->d->ticks_per_second;
    j->d->first_ticks = j->first_ticks <= j->last_ticks ? j->first_ticks : part->began.ticks;
    j->d->length_ticks = j->first_ticks <= j->last_ticks ? j->last_ticks - j->first_ticks : 0;
    j->d->realtime_ns =
        part->began.ns +
        (uint64_t)(int64_t)((double)(int64_t)(j->d->first_ticks - part->began.ticks) * 1e9 / rate);
}

static int unite(struct joiner *j, struct gn_error *err)
{
    int code = 0;
    j->first_ticks = UINT64_MAX;
    for (size_t i = 0; i < j->host_count && code == 0; i++) {
        code = make_maps(&j->hosts[i]);
        if (code == 0) {
            join_nodes(j, &j->hosts[i]);
            join_world(j, &j->hosts[i]); /* of all hosts ahead of processes beside the world */
        }
    }
    for (size_t i = 0; i < j->host_count && code == 0; i++) {
        struct host *h = &j->hosts[i];
        const struct gn_definitions *from = h->part.translate->definitions;
        join_others(j, h);
        code = join_locations(j, h, (uint32_t)i);
        join_regions(j, h);
        join_paths(j, h);
        for (uint32_t c = 0; c < from->comm_count; c++)
            h->comms[c] = join_comm(j, h, c);
        for (uint32_t w = 0; w < from->window_count; w++)
            h->windows[w] = join_window(j, h, w);
        code = code ? code : place(j, h);
    }
    set_clock(j);
    describe_clocks(j);
    return code == 0 ? 0 : gn_fail(err, code, "no memory to join the traces of %zu hosts", j->host_count);
}

/* ---- files ---- */

static int move_events(const struct joiner *j, const struct host *h, struct gn_error *err)
{
    const struct gn_definitions *from = h->part.translate->definitions;
    for (size_t i = 0; i < from->location_count; i++) {
        char old[PATH_BYTES], new[PATH_BYTES];
        if (!is_here(from, from->locations[i].process))
            continue;
        snprintf(old, sizeof old, "%s/%s/traces/%" PRIu64 ".evt", j->folder, h->name,
                 from->locations[i].file_id);
        snprintf(new, sizeof new, "%s/%s/traces/%" PRIu64 ".evt", j->folder, j->name,
                 from->locations[i].file_id);
        if (rename(old, new) != 0 && errno != ENOENT)
            return gn_fail(err, -errno, "cannot move %s to %s: %s", old, new, strerror(errno));
    }
    return 0;
}

static int move_all(const struct joiner *j, struct gn_error *err)
{
    char path[PATH_BYTES];
    int code = 0;
    snprintf(path, sizeof path, "%s/%s", j->folder, j->name);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        code = gn_fail(err, -errno, "cannot make %s: %s", path, strerror(errno));
    snprintf(path, sizeof path, "%s/%s/traces", j->folder, j->name);
    if (code == 0 && mkdir(path, 0777) != 0 && errno != EEXIST)
        code = gn_fail(err, -errno, "cannot make %s: %s", path, strerror(errno));
    for (size_t i = 0; i < j->host_count && code == 0; i++)
        code = move_events(j, &j->hosts[i], err);
    return code;
}

static int write_joined(const struct joiner *j, struct gn_error *err)
{
    char path[PATH_BYTES];
    int code = move_all(j, err);
    snprintf(path, sizeof path, "%s/%s", j->folder, j->name);
    if (code == 0)
        code = gn_trace_recover_mapped(path, j->d, j->locals, err);
    for (size_t i = 0; i < j->host_count && code == 0; i++) {
        snprintf(path, sizeof path, "%s/%s", j->folder, j->hosts[i].name);
        gn_remove_tree(path, NULL);
    }
    return code;
}

static void clear(struct joiner *j)
{
    for (size_t i = 0; i < j->host_count; i++) {
        struct host *h = &j->hosts[i];
        gn_part_clear(&h->part);
        free(h->regions);
        free(h->paths);
        free(h->path_map);
        free(h->comms);
        free(h->windows);
        free(h->processes);
        free(h->nodes);
        free(h->offsets);
    }
    free(j->hosts);
    free(j->comm_instances);
    free(j->window_instances);
    free(j->locals);
    gn_profile_clocks_clear(&j->clocks);
    gn_lookup_clear(&j->regions);
    gn_lookup_clear(&j->paths);
    gn_lookup_clear(&j->comms);
    gn_definitions_free(j->d);
}

int gn_trace_join(const char *folder, const char *name, sqlite3 *profile, struct gn_error *err)
{
    struct joiner j = {.folder = folder, .name = name, .d = gn_definitions_new()};
    int code = j.d ? find_parts(&j, err) : gn_fail(err, -ENOMEM, "no memory to join traces");
    if (code == 0 && j.host_count > 0)
        code = read_clocks(&j, profile, err);
    if (code == 0 && j.host_count > 0)
        code = unite(&j, err);
    if (code == 0 && j.host_count > 0)
        code = write_joined(&j, err);
    int count = (int)j.host_count;
    clear(&j);
    return code == 0 ? count : code;
}

void gn_trace_join_discard(const char *folder, const char *name)
{
    char path[PATH_BYTES];
    DIR *parts = opendir(folder);
    for (struct dirent *entry; parts && (entry = readdir(parts));)
        if (host_of(name, entry->d_name)) {
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            gn_remove_tree(path, NULL);
        }
    if (parts)
        closedir(parts);
}

static bool is_joined(const char *folder, const char *name)
{
    char anchor[PATH_BYTES];
    snprintf(anchor, sizeof anchor, "%s/%s/" GN_ARCHIVE_NAME ".otf2", folder, name);
    return access(anchor, F_OK) == 0;
}

void gn_windows_forget(sqlite3 *profile, const char *why)
{
    gn_profile_set(profile, GN_WINDOWS_NAME "/all/error", why, NULL);
    gn_sql(profile, NULL, "DELETE FROM run WHERE key GLOB '" GN_WINDOWS_NAME "/*/path'", "");
}

void gn_trace_join_windows(const char *folder, sqlite3 *profile)
{
    static const char name[] = GN_WINDOWS_NAME;
    struct gn_error err = {""};
    if (gn_sql_value(profile, 0, "SELECT count(*) FROM run WHERE key GLOB '" GN_WINDOWS_NAME "/*/spans'",
                     "") == 0)
        return;
    /* those that nobody knows to be of one moment are of no use */
    int code = gn_profile_unite_windows(profile, name, &err);
    if (code == 0)
        code = gn_trace_join(folder, name, profile, &err);
    if (code >= 0 && is_joined(folder, name)) /* by another host, if there was nothing to do */
        return;
    if (code >= 0)
        gn_fail(&err, -EIO, "the hosts' windows of events could not be joined");
    gn_windows_forget(profile, err.text);
    gn_trace_join_discard(folder, name);
}
