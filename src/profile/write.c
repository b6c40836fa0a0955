/* profile/write — a graph as tables: one for each kind, a column for each field. */
#include "profile/rows.h"
#include "profile/statement.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct writing {
    sqlite3 *db;
    struct gn_error *err;
    const struct gn_graph *graph;
    int64_t *hosts; /* ids: the clocks' tables refer to them, too */
};

bool gn_rows_have_ids(enum gn_graph_kind kind)
{
    for (int k = 0; k < GN_GRAPH_KINDS; k++)
        for (size_t i = 0; i < gn_graph_fields[k].count; i++) {
            const struct gn_graph_field *field = &gn_graph_fields[k].fields[i];
            if ((field->type == GN_GRAPH_OF || field->type == GN_GRAPH_MAY_BE_OF) && field->of == kind)
                return true;
        }
    return false;
}

/* The root of all call paths has no row, and the number 0. */
static int64_t id_of(const struct writing *w, enum gn_graph_kind kind, uint32_t index)
{
    if (kind == GN_GRAPH_HOST)
        return w->hosts[index];
    return kind == GN_GRAPH_PATH ? (int64_t)index : (int64_t)index + 1;
}

static void bind_index(const struct writing *w, sqlite3_stmt *s, int column,
                       const struct gn_graph_field *field, const char *at)
{
    uint32_t index;
    memcpy(&index, at, sizeof index);
    if (index == GN_GRAPH_NONE)
        sqlite3_bind_null(s, column);
    else
        sqlite3_bind_int64(s, column, id_of(w, field->of, index));
}

static void bind_counts(const struct writing *w, sqlite3_stmt *s, int column, const char *at)
{
    struct gn_graph_histogram h;
    uint64_t counts[UINT8_MAX];
    memcpy(&h, at, sizeof h);
    gn_graph_counts(w->graph, &h, counts);
    if (h.all)
        sqlite3_bind_blob(s, column, counts, (int)(h.all * sizeof *counts), SQLITE_TRANSIENT);
    else
        sqlite3_bind_null(s, column);
}

static void bind_bytes(sqlite3_stmt *s, int column, const char *at)
{
    struct gn_graph_bytes bytes;
    memcpy(&bytes, at, sizeof bytes);
    sqlite3_bind_blob64(s, column, bytes.at, bytes.count, SQLITE_STATIC);
}

static void bind_number(sqlite3_stmt *s, int column, const char *at, bool may_be_unknown)
{
    int64_t value;
    memcpy(&value, at, sizeof value);
    if (may_be_unknown && value == GN_GRAPH_UNKNOWN)
        sqlite3_bind_null(s, column);
    else
        sqlite3_bind_int64(s, column, value);
}

static void bind_field(const struct writing *w, sqlite3_stmt *s, int column,
                       const struct gn_graph_field *field, const char *row)
{
    const char *at = row + field->offset, *text;
    double real;
    switch (field->type) {
    case GN_GRAPH_INTEGER:
    case GN_GRAPH_NUMBER:
        bind_number(s, column, at, field->type == GN_GRAPH_NUMBER);
        break;
    case GN_GRAPH_REAL: /* what is not a number is stored as NULL */
        memcpy(&real, at, sizeof real);
        sqlite3_bind_double(s, column, real);
        break;
    case GN_GRAPH_TEXT:
        memcpy(&text, at, sizeof text);
        sqlite3_bind_text(s, column, text, -1, SQLITE_STATIC);
        break;
    case GN_GRAPH_OF:
    case GN_GRAPH_MAY_BE_OF:
        bind_index(w, s, column, field, at);
        break;
    case GN_GRAPH_HISTOGRAM:
        bind_counts(w, s, column, at);
        break;
    case GN_GRAPH_BYTES:
        bind_bytes(s, column, at);
        break;
    }
}

static sqlite3_stmt *prepare(const struct writing *w, enum gn_graph_kind kind)
{
    const struct gn_graph_fields *what = &gn_graph_fields[kind];
    const bool id = gn_rows_have_ids(kind);
    char text[1024], values[128] = "";
    size_t used = (size_t)snprintf(text, sizeof text, "INSERT INTO main.%s(%s", what->name, id ? "id" : "");
    for (size_t i = 0; i < what->count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\"%s\"", i || id ? ", " : "",
                                 what->fields[i].name);
    for (size_t i = 0; i < what->count + id; i++)
        strcat(values, i ? ", ?" : "?");
    snprintf(text + used, sizeof text - used, ") VALUES(%s)", values);
    return gn_sql_query(w->db, w->err, text, "");
}

static int write_rows(const struct writing *w, enum gn_graph_kind kind)
{
    const struct gn_graph_fields *what = &gn_graph_fields[kind];
    const char *rows = gn_graph_rows(w->graph, kind);
    const int id = gn_rows_have_ids(kind);
    int code = 0;
    sqlite3_stmt *s = prepare(w, kind);
    for (size_t i = kind == GN_GRAPH_PATH; s && i < gn_graph_count(w->graph, kind) && code == 0; i++) {
        if (id)
            sqlite3_bind_int64(s, 1, id_of(w, kind, (uint32_t)i));
        for (size_t f = 0; f < what->count; f++)
            bind_field(w, s, (int)f + 1 + id, &what->fields[f], rows + i * what->row_bytes);
        if (sqlite3_step(s) != SQLITE_DONE)
            code =
                gn_fail(w->err, gn_sql_errno(w->db), "writing the profile failed: %s", sqlite3_errmsg(w->db));
        sqlite3_reset(s);
    }
    sqlite3_finalize(s);
    return s ? code : gn_sql_errno(w->db);
}

/* Those that are there stay. */
static int write_hosts(struct writing *w)
{
    const struct gn_graph_host *hosts = gn_graph_rows(w->graph, GN_GRAPH_HOST);
    const size_t count = gn_graph_count(w->graph, GN_GRAPH_HOST);
    int code = 0;
    w->hosts = calloc(count + 1, sizeof *w->hosts);
    if (!w->hosts)
        return gn_fail(w->err, -ENOMEM, "no memory for %zu hosts", count);
    for (size_t i = 0; i < count && code == 0; i++) {
        code = gn_sql(w->db, w->err, "INSERT OR IGNORE INTO host(name) VALUES(?)", "s", hosts[i].name);
        w->hosts[i] = gn_sql_value(w->db, 0, "SELECT id FROM host WHERE name = ?", "s", hosts[i].name);
    }
    return code;
}

static int write_all(struct writing *w)
{
    static const char *const found_of_it[] = {"pass", "call_pass", "site_loop", "loop"};
    int code = write_hosts(w);
    for (size_t i = 0; i < sizeof found_of_it / sizeof *found_of_it && code == 0; i++) {
        char text[64];
        snprintf(text, sizeof text, "DELETE FROM main.%s", found_of_it[i]);
        code = gn_sql(w->db, w->err, text, "");
    }
    for (int kind = GN_GRAPH_HOST + 1; kind < GN_GRAPH_KINDS && code == 0; kind++) {
        char text[64];
        snprintf(text, sizeof text, "DELETE FROM main.%s", gn_graph_fields[kind].name);
        if (sqlite3_exec(w->db, text, NULL, NULL, NULL) != SQLITE_OK)
            code =
                gn_fail(w->err, gn_sql_errno(w->db), "writing the profile failed: %s", sqlite3_errmsg(w->db));
        if (code == 0)
            code = write_rows(w, (enum gn_graph_kind)kind);
    }
    return code;
}

int gn_profile_write(sqlite3 *db, const struct gn_graph *graph, struct gn_error *err)
{
    struct writing w = {.db = db, .err = err, .graph = graph};
    int code = gn_sql(db, err, "BEGIN", "");
    if (code != 0)
        return code;
    code = write_all(&w);
    const int ended = gn_sql(db, code ? NULL : err, code ? "ROLLBACK" : "COMMIT", "");
    free(w.hosts);
    return code ? code : ended;
}
