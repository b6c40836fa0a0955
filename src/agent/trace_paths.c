#include "agent/trace_paths.h"

#include "base/lookup.h"
#include "image/source_line.h"
#include "profile/statement.h"
#include "program/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Where a frame's code is: the innermost path there, and the line that is being executed in it; without one,
 * in the place of the file, what the site is called. */
struct spot {
    uint32_t path, file, line;
    bool of_python; /* code without lines goes by the line of Python that it was called from (profile/shown.h)
                     */
};

struct builder {
    struct gn_translate *t;
    struct gn_definitions *d;
    sqlite3 *profile;
    struct spot *spots; /* by node */
    struct gn_lookup paths, regions;
};

struct path_key {
    const struct gn_definitions *d;
    struct gn_path_def def;
};

static bool same_path(const void *context, uint32_t value)
{
    const struct path_key *wanted = context;
    return memcmp(&wanted->d->paths[value], &wanted->def, sizeof wanted->def) == 0;
}

static uint32_t path_of(struct builder *b, const struct spot *caller, uint32_t region)
{
    struct path_key wanted = {b->d, {caller->path, region, caller->file, caller->line}};
    uint64_t hash = XXH3_64bits(&wanted.def, sizeof wanted.def);
    int64_t known = gn_lookup_find(&b->paths, hash, same_path, &wanted);
    if (known != GN_LOOKUP_NOTHING)
        return (uint32_t)known;
    uint32_t fresh = gn_define_path(b->d, &wanted.def);
    return fresh != GN_NONE && gn_lookup_add(&b->paths, hash, fresh) ? fresh : GN_NONE;
}

struct region_key {
    const struct gn_definitions *d;
    uint32_t name, file;
};

static bool same_region(const void *context, uint32_t value)
{
    const struct region_key *wanted = context;
    return wanted->d->regions[value].name == wanted->name &&
           wanted->d->regions[value].source_file == wanted->file;
}

static uint32_t region_of(struct builder *b, uint32_t name, uint32_t file)
{
    struct region_key wanted = {b->d, name, file};
    uint64_t hash = XXH3_64bits_withSeed(&name, sizeof name, file);
    int64_t known = gn_lookup_find(&b->regions, hash, same_region, &wanted);
    if (known != GN_LOOKUP_NOTHING)
        return (uint32_t)known;
    struct gn_region_def def = {.name = name, .source_file = file, .role = GN_ROLE_FUNCTION};
    uint32_t fresh = gn_define_region(b->d, &def);
    return fresh != GN_NONE && gn_lookup_add(&b->regions, hash, fresh) ? fresh : GN_NONE;
}

/* A function without a name goes by its module's. */
static uint32_t name_of(struct builder *b, const char *function, const struct gn_trace_module *module)
{
    if (function)
        return gn_define_string(b->d, function);
    const char *slash = strrchr(module->path, '/');
    char text[GN_PATH_BYTES + 2];
    snprintf(text, sizeof text, "[%s]",
             module->path[0] ? (slash ? slash + 1 : module->path) : "generated code");
    return gn_define_string(b->d, text);
}

static void enter(struct builder *b, struct spot *spot, const struct gn_trace_module *module,
                  const char *function, const char *file, uint32_t line, const char *label)
{
    uint32_t source = file ? gn_define_string(b->d, file) : 0;
    uint32_t region = region_of(b, name_of(b, function, module), source);
    if (line == 0)
        source = label && !spot->of_python ? gn_define_string(b->d, label) : 0;
    *spot = (struct spot){path_of(b, spot, region), source, line, spot->of_python};
}

/* The places of a frame, outermost function first. */
static const char places_query[] =
    "SELECT CASE WHEN i.site IS NULL THEN s.function ELSE i.function END,"
    " CASE WHEN i.site IS NULL THEN s.file ELSE i.file END,"
    " CASE WHEN i.site IS NULL THEN s.line ELSE i.line END, s.label"
    " FROM module m JOIN site s ON s.module = m.id LEFT JOIN inlined i ON i.site = s.id"
    " WHERE m.path = ? AND m.build_id = ? AND s.offset = ? ORDER BY i.depth DESC";

static void resolve_frame(struct builder *b, struct spot *spot, const struct gn_path_node *node)
{
    const struct gn_trace_module *module = &b->t->modules[node->module];
    bool found = false;
    sqlite3_stmt *places = b->profile ? gn_sql_query(b->profile, NULL, places_query, "ssi", module->path,
                                                     module->build_id, (int64_t)node->what)
                                      : NULL;
    while (places && sqlite3_step(places) == SQLITE_ROW) {
        const char *function = (const char *)sqlite3_column_text(places, 0);
        if (!gn_name_is_region_mark(function)) /* of gnomon.h: its caller is where a region is begun */
            enter(b, spot, module, function, (const char *)sqlite3_column_text(places, 1),
                  (uint32_t)sqlite3_column_int64(places, 2), (const char *)sqlite3_column_text(places, 3));
        found = true;
    }
    sqlite3_finalize(places);
    if (!found)
        enter(b, spot, module, NULL, NULL, 0, NULL);
    spot->of_python |= strcmp(module->build_id, GN_SOURCE_BUILD_ID) == 0;
}

static const struct spot outside = {.path = GN_NONE};

/* Nodes come after their parents. */
static void build(struct builder *b, uint32_t *map)
{
    for (size_t i = 0; i < b->t->node_count; i++) {
        const struct gn_path_node *node = &b->t->nodes[i];
        b->spots[i] = node->parent == GN_NONE ? outside : b->spots[node->parent];
        if (node->module == GN_NONE)
            b->spots[i].path = path_of(b, &b->spots[i], (uint32_t)node->what);
        else
            resolve_frame(b, &b->spots[i], node);
        map[i] = b->spots[i].path;
    }
}

int gn_trace_paths(struct gn_translate *t, sqlite3 *profile, uint32_t **map, struct gn_error *err)
{
    struct builder b = {.t = t, .d = t->definitions, .profile = profile};
    b.spots = calloc(t->node_count + 1, sizeof *b.spots);
    *map = calloc(t->node_count + 1, sizeof **map);
    if (b.spots && *map)
        build(&b, *map);
    int code = b.spots && *map ? 0 : gn_fail(err, -ENOMEM, "no memory for the call paths of the trace");
    free(b.spots);
    gn_lookup_clear(&b.paths);
    gn_lookup_clear(&b.regions);
    return code;
}
