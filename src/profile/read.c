/*
 * profile/read — the tables of a profile, of any format there has been, as a graph.
 *
 * A column that a format does not have is as if nobody had told. Whoever wrote the file may have been wrong:
 * rows that refer to nothing mean nothing, and are left out.
 */
#include "base/map.h"
#include "profile/rows.h"
#include "profile/samples.h"
#include "profile/statement.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct reading {
    sqlite3 *db;
    struct gn_graph *graph;
    bool ids;                              /* the kind at hand has some */
    struct gn_map indices[GN_GRAPH_KINDS]; /* + 1, by id */
};

static struct gn_key key_of(int64_t id)
{
    return (struct gn_key){(uint64_t)id, 0};
}

static uint32_t index_of(const struct reading *r, enum gn_graph_kind kind, sqlite3_stmt *q, int column)
{
    if (sqlite3_column_type(q, column) == SQLITE_NULL)
        return GN_GRAPH_NONE;
    const int64_t id = sqlite3_column_int64(q, column);
    if (kind == GN_GRAPH_PATH && id == 0)
        return GN_GRAPH_ROOT;
    const void *found = gn_map_find(&r->indices[kind], key_of(id));
    return found ? (uint32_t)((uintptr_t)found - 1) : GN_GRAPH_NONE;
}

static struct gn_graph_histogram counts_of(const struct reading *r, sqlite3_stmt *q, int column)
{
    uint64_t counts[UINT8_MAX];
    const void *blob = sqlite3_column_blob(q, column);
    const size_t bytes = (size_t)sqlite3_column_bytes(q, column);
    const size_t all = bytes < sizeof counts ? bytes / sizeof *counts : UINT8_MAX;
    if (blob)
        memcpy(counts, blob, all * sizeof *counts);
    return gn_graph_keep_counts(r->graph, counts, blob ? all : 0);
}

static struct gn_graph_bytes bytes_of(const struct reading *r, sqlite3_stmt *q, int column)
{
    const void *blob = sqlite3_column_blob(q, column); /* ahead of its size: asking may convert it */
    return gn_graph_keep_bytes(r->graph, blob, blob ? (size_t)sqlite3_column_bytes(q, column) : 0);
}

/* False: it refers to nothing, and has to. */
static bool take_field(const struct reading *r, sqlite3_stmt *q, int column,
                       const struct gn_graph_field *field, char *at)
{
    const bool none = sqlite3_column_type(q, column) == SQLITE_NULL;
    int64_t number;
    double real;
    const char *text;
    uint32_t index;
    struct gn_graph_histogram counts;
    struct gn_graph_bytes bytes = {NULL, 0};
    switch (field->type) {
    case GN_GRAPH_INTEGER:
    case GN_GRAPH_NUMBER:
        number = none && field->type == GN_GRAPH_NUMBER ? GN_GRAPH_UNKNOWN : sqlite3_column_int64(q, column);
        memcpy(at, &number, sizeof number);
        break;
    case GN_GRAPH_REAL:
        real = none ? NAN : sqlite3_column_double(q, column);
        memcpy(at, &real, sizeof real);
        break;
    case GN_GRAPH_TEXT:
        text = gn_graph_text(r->graph, (const char *)sqlite3_column_text(q, column));
        memcpy(at, &text, sizeof text);
        break;
    case GN_GRAPH_OF:
    case GN_GRAPH_MAY_BE_OF:
        index = index_of(r, field->of, q, column);
        memcpy(at, &index, sizeof index);
        return index != GN_GRAPH_NONE || field->type == GN_GRAPH_MAY_BE_OF;
    case GN_GRAPH_HISTOGRAM:
        counts = counts_of(r, q, column);
        memcpy(at, &counts, sizeof counts);
        break;
    case GN_GRAPH_BYTES:
        if (!none)
            bytes = bytes_of(r, q, column);
        memcpy(at, &bytes, sizeof bytes);
        break;
    }
    return true;
}

static bool take_row(struct reading *r, sqlite3_stmt *q, enum gn_graph_kind kind)
{
    enum { MOST_BYTES = 512 };
    const struct gn_graph_fields *what = &gn_graph_fields[kind];
    _Alignas(max_align_t) char row[MOST_BYTES] = {0};
    _Static_assert(sizeof(struct gn_graph_process) <= sizeof row, "the largest of them");
    for (size_t i = 0; i < what->count; i++)
        if (!take_field(r, q, (int)i + 1, &what->fields[i], row + what->fields[i].offset))
            return true;
    const uint32_t index = gn_graph_put(r->graph, kind, row);
    const struct gn_key id = key_of(sqlite3_column_int64(q, 0));
    if (index == GN_GRAPH_NONE)
        return false;
    return !r->ids || gn_map_find(&r->indices[kind], id) ||
           gn_map_add(&r->indices[kind], id, (void *)((uintptr_t)index + 1));
}

/* "a""b""c", all columns that the table has. */
static void columns_of(sqlite3 *db, const char *table, char *text, size_t size)
{
    sqlite3_stmt *q = gn_sql_query(
        db, NULL, "SELECT group_concat('\"' || name || '\"', '') FROM pragma_table_info(?, 'main')", "s",
        table);
    text[0] = '\0';
    if (q && sqlite3_step(q) == SQLITE_ROW && sqlite3_column_text(q, 0))
        snprintf(text, size, "%s", (const char *)sqlite3_column_text(q, 0));
    sqlite3_finalize(q);
}

static sqlite3_stmt *ask(const struct reading *r, enum gn_graph_kind kind, struct gn_error *err)
{
    const struct gn_graph_fields *what = &gn_graph_fields[kind];
    char text[1024], there[1024], column[64];
    columns_of(r->db, what->name, there, sizeof there);
    size_t used = (size_t)snprintf(text, sizeof text, "SELECT %s", r->ids ? "id" : "NULL");
    for (size_t i = 0; i < what->count; i++) {
        const bool is_how = kind == GN_GRAPH_SAMPLE && strcmp(what->fields[i].name, "how") == 0;
        snprintf(column, sizeof column, "\"%s\"", is_how ? gn_samples_how(r->db) : what->fields[i].name);
        used += (size_t)snprintf(text + used, sizeof text - used, ", %s",
                                 strstr(there, column) ? column : "NULL");
    }
    /* call paths after those that they go on from */
    snprintf(text + used, sizeof text - used, " FROM main.%s%s", what->name,
             kind == GN_GRAPH_PATH ? " ORDER BY depth, id"
             : r->ids              ? " ORDER BY id"
                                   : "");
    return gn_sql_query(r->db, err, text, "");
}

static bool has_table(sqlite3 *db, const char *table)
{
    return gn_sql_value(db, 0, "SELECT count(*) FROM main.sqlite_master WHERE name = ?", "s", table) > 0;
}

static int read_kind(struct reading *r, enum gn_graph_kind kind, struct gn_error *err)
{
    if (!has_table(r->db, gn_graph_fields[kind].name))
        return 0;
    bool taken = true;
    r->ids = gn_rows_have_ids(kind);
    sqlite3_stmt *q = ask(r, kind, err);
    if (!q)
        return -EINVAL;
    while (taken && sqlite3_step(q) == SQLITE_ROW)
        taken = take_row(r, q, kind);
    if (sqlite3_finalize(q) != SQLITE_OK) /* a damaged file may fail half way */
        return gn_fail(err, -EINVAL, "the profile cannot be read to its end: %s", sqlite3_errmsg(r->db));
    return taken ? gn_graph_check(r->graph, err) : gn_fail(err, -ENOMEM, "no memory for a profile");
}

/* Formats 1 to 4 have no worlds: what there is was taken for one. */
static int make_one_world(struct gn_graph *graph, struct gn_error *err)
{
    struct gn_graph_process *processes = gn_graph_rows(graph, GN_GRAPH_PROCESS);
    const size_t count = gn_graph_count(graph, GN_GRAPH_PROCESS);
    struct gn_graph_world job = {.key = gn_graph_text(graph, "job"),
                                 .launched = GN_GRAPH_UNKNOWN,
                                 .launched_rank = GN_GRAPH_UNKNOWN,
                                 .spawner = GN_GRAPH_UNKNOWN};
    for (size_t i = 0; i < count; i++)
        job.size = processes[i].world > job.size ? processes[i].world : job.size;
    const uint32_t world = gn_graph_put(graph, GN_GRAPH_WORLD, &job);
    for (size_t i = 0; i < count; i++)
        processes[i].world_id = world;
    return gn_graph_check(graph, err);
}

int gn_profile_read(sqlite3 *db, struct gn_graph *graph, struct gn_error *err)
{
    struct reading r = {.db = db, .graph = graph};
    int code = 0;
    for (int kind = 0; kind < GN_GRAPH_KINDS && code == 0; kind++)
        code = read_kind(&r, (enum gn_graph_kind)kind, err);
    if (code == 0 && !has_table(db, "world"))
        code = make_one_world(graph, err);
    for (int kind = 0; kind < GN_GRAPH_KINDS; kind++)
        gn_map_clear(&r.indices[kind]);
    return code;
}
