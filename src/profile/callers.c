#include "profile/callers.h"

#include "base/grow.h"
#include "profile/shown.h"
#include "profile/statement.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- telling apart ---- */

static int by_functions(const void *left, const void *right)
{
    const struct gn_caller_path *a = *(struct gn_caller_path *const *)left,
                                *b = *(struct gn_caller_path *const *)right;
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        int order = strcmp(a->functions[i], b->functions[i]);
        if (order)
            return order;
    }
    return (a->count > b->count) - (a->count < b->count);
}

struct group { /* paths[from .. to): with the same function at some depth, or that end there */
    size_t from, to;
    int64_t ns;
};

static struct group next_group(struct gn_caller_path *const *paths, size_t from, size_t end, size_t depth)
{
    struct group g = {from, from, 0};
    const struct gn_caller_path *first = paths[from];
    for (; g.to < end; g.to++) {
        const struct gn_caller_path *path = paths[g.to];
        bool ends = path->count <= depth, first_ends = first->count <= depth;
        if (ends != first_ends || (!ends && strcmp(path->functions[depth], first->functions[depth]) != 0))
            break;
        g.ns += path->ns;
    }
    return g;
}

static size_t count_large(struct gn_caller_path *const *paths, size_t from, size_t end, size_t depth,
                          int64_t least_ns)
{
    size_t count = 0;
    for (struct group g = {.to = from}; g.to < end;) {
        g = next_group(paths, g.to, end, depth);
        count += g.ns >= least_ns;
    }
    return count;
}

/* Paths that are the same up to `depth`. Returns whether any were told apart. */
static bool divide(struct gn_caller_path *const *paths, size_t from, size_t end, size_t depth,
                   int64_t least_ns)
{
    const size_t large = count_large(paths, from, end, depth, least_ns);
    bool divided = large > 1;
    for (struct group g = {.to = from}; g.to < end;) {
        g = next_group(paths, g.to, end, depth);
        if (g.ns < least_ns)
            continue;
        bool ends = paths[g.from]->count <= depth;
        for (size_t i = g.from; i < g.to && large > 1 && !ends; i++)
            paths[i]->shown = depth + 1;
        divided |= !ends && divide(paths, g.from, g.to, depth + 1, least_ns);
    }
    for (struct group g = {.to = from}; g.to < end && divided;) {
        g = next_group(paths, g.to, end, depth);
        for (size_t i = g.from; i < g.to && g.ns < least_ns; i++)
            paths[i]->is_rest = true;
    }
    return divided;
}

bool gn_callers_tell_apart(struct gn_caller_path *paths, size_t count, int64_t least_ns)
{
    struct gn_caller_path **sorted = calloc(count + 1, sizeof *sorted);
    if (!sorted)
        return false;
    for (size_t i = 0; i < count; i++) {
        paths[i].shown = 1;
        paths[i].is_rest = false;
        sorted[i] = &paths[i];
    }
    qsort(sorted, count, sizeof *sorted, by_functions);
    divide(sorted, 0, count, 1, least_ns > 0 ? least_ns : 1);
    free(sorted);
    return true;
}

/* ---- of a profile ---- */

enum { FUNCTIONS_MAX = 512 };

struct gn_callers {
    char **texts; /* number n is texts[n - 1] */
    size_t count, room;
};

/* A call path of the profile: its last call's functions, what is inlined there first. */
struct step {
    int64_t parent, site;
    char **functions;
    size_t count, room;
};

struct call {
    int64_t activity, callpath, site; /* site: that is shown */
    char *place;                      /* name and place: calls that have it in common are told apart */
};

struct finder {
    sqlite3 *db;
    struct gn_error *err;
    struct gn_callers *callers;
    struct step *steps; /* by callpath.id */
    size_t step_count;
    struct call *calls;           /* by place */
    struct gn_caller_path *paths; /* of the calls */
    size_t call_count, call_room, path_room;
};

static int no_memory(struct finder *f)
{
    return gn_fail(f->err, -ENOMEM, "no memory for the callers of MPI calls");
}

static int add_function(struct finder *f, int64_t path, const void *function)
{
    struct step *step = path > 0 && (size_t)path < f->step_count ? &f->steps[path] : NULL;
    if (!step || !function)
        return 0;
    if (!gn_grow(&step->functions, &step->room, step->count, sizeof *step->functions) ||
        !(step->functions[step->count] = strdup(function)))
        return no_memory(f);
    step->count++;
    return 0;
}

/* Numbers of call paths are dense, ascending from 1: gn_graph gives them. A file that says otherwise has
 * none. */
static int read_steps(struct finder *f)
{
    enum { PATHS_MAX = 1 << 24 };
    int64_t most = gn_sql_value(f->db, 0, "SELECT max(id) FROM callpath", "");
    f->step_count = most > 0 && most < PATHS_MAX ? (size_t)most + 1 : 1;
    f->steps = calloc(f->step_count, sizeof *f->steps);
    int code = f->steps ? 0 : no_memory(f);
    sqlite3_stmt *q =
        gn_sql_query(f->db, f->err,
                     "SELECT c.id, c.parent, c.site, coalesce(i.function, s.function, s.label, '?')"
                     " FROM callpath c JOIN site s ON s.id = c.site"
                     " LEFT JOIN inlined i ON i.site = s.id ORDER BY c.id, i.depth",
                     "");
    while (q && code == 0 && sqlite3_step(q) == SQLITE_ROW) {
        int64_t id = sqlite3_column_int64(q, 0);
        if (id > 0 && (size_t)id < f->step_count) {
            f->steps[id].parent = sqlite3_column_int64(q, 1);
            f->steps[id].site = sqlite3_column_int64(q, 2);
        }
        code = add_function(f, id, sqlite3_column_text(q, 3));
    }
    sqlite3_finalize(q);
    return code;
}

/* The functions from the place that is shown upwards; none where that is not on the path. */
static int read_path(struct finder *f, const struct call *call, struct gn_caller_path *path)
{
    const char **functions = calloc(FUNCTIONS_MAX, sizeof *functions);
    bool shown = false;
    if (!functions)
        return no_memory(f);
    for (int64_t at = call->callpath; at > 0 && (size_t)at < f->step_count;) {
        const struct step *step = &f->steps[at];
        shown = shown || step->site == call->site;
        for (size_t i = 0; shown && i < step->count && path->count < FUNCTIONS_MAX; i++)
            functions[path->count++] = step->functions[i];
        at = step->parent < at ? step->parent : 0;
    }
    path->functions = functions;
    return 0;
}

static int add_call(struct finder *f, sqlite3_stmt *q)
{
    const char *place = (const char *)sqlite3_column_text(q, 3);
    struct call call = {sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1), sqlite3_column_int64(q, 2),
                        strdup(place ? place : "")};
    struct gn_caller_path path = {.ns = sqlite3_column_int64(q, 4)};
    if (!call.place || !gn_grow(&f->calls, &f->call_room, f->call_count, sizeof call) ||
        !gn_grow(&f->paths, &f->path_room, f->call_count, sizeof path)) {
        free(call.place);
        return no_memory(f);
    }
    int code = read_path(f, &call, &path);
    f->calls[f->call_count] = call;
    f->paths[f->call_count++] = path;
    return code;
}

static int read_calls(struct finder *f)
{
    int code = 0;
    sqlite3_stmt *q = gn_sql_query(
        f->db, f->err,
        "WITH " GN_SHOWN
        "SELECT a.id, a.callpath, c.site, a.name || char(10) || coalesce(s.label, s.function,"
        " '') || char(10) || coalesce(s.file, '') || char(10) || coalesce(s.line, 0) AS place,"
        " n.ns FROM activity a JOIN shown c ON c.callpath = a.callpath JOIN site s ON s.id = c.site"
        " LEFT JOIN (SELECT activity, sum(total_ns + open_ns) AS ns FROM node GROUP BY activity) n"
        " ON n.activity = a.id WHERE a.kind = 'mpi' ORDER BY place, a.id",
        "");
    while (q && code == 0 && sqlite3_step(q) == SQLITE_ROW)
        code = add_call(f, q);
    sqlite3_finalize(q);
    return code;
}

static char *text_of(const struct gn_caller_path *path)
{
    static const char arrow[] = " ← ", rest[] = "other callers";
    size_t bytes = sizeof rest;
    for (size_t i = 1; i < path->shown; i++)
        bytes += strlen(path->functions[i]) + sizeof arrow;
    char *text = malloc(bytes), *end = text;
    for (size_t i = 1; text && i < path->shown; i++)
        end += sprintf(end, "%s%s", i > 1 ? arrow : "", path->functions[i]);
    if (text && path->is_rest)
        sprintf(end, "%s%s", end > text ? arrow : "", rest);
    return text;
}

static int64_t number_of(struct gn_callers *callers, char *text)
{
    for (size_t i = 0; text && i < callers->count; i++)
        if (strcmp(callers->texts[i], text) == 0) {
            free(text);
            return (int64_t)i + 1;
        }
    if (!text || !gn_grow(&callers->texts, &callers->room, callers->count, sizeof *callers->texts)) {
        free(text);
        return 0;
    }
    callers->texts[callers->count++] = text;
    return (int64_t)callers->count;
}

static int store(struct finder *f, size_t from, size_t to)
{
    int code = 0;
    for (size_t i = from; i < to && code == 0; i++) {
        if (f->paths[i].shown < 2 && !f->paths[i].is_rest)
            continue;
        int64_t number = number_of(f->callers, text_of(&f->paths[i]));
        code = number ? gn_sql(f->db, f->err, "INSERT INTO caller_of VALUES(?, ?)", "ii",
                               f->calls[i].activity, number)
                      : no_memory(f);
    }
    return code;
}

static int tell_all_apart(struct finder *f, int64_t least_ns)
{
    int code = gn_sql(f->db, f->err, "DROP TABLE IF EXISTS temp.caller_of", "");
    if (code == 0)
        code = gn_sql(f->db, f->err,
                      "CREATE TEMP TABLE caller_of(activity INTEGER PRIMARY KEY, callers INTEGER)", "");
    for (size_t from = 0, to; from < f->call_count && code == 0; from = to) {
        for (to = from + 1; to < f->call_count && strcmp(f->calls[to].place, f->calls[from].place) == 0;)
            to++;
        if (!gn_callers_tell_apart(&f->paths[from], to - from, least_ns))
            code = no_memory(f);
        else
            code = store(f, from, to);
    }
    return code;
}

static void clear(struct finder *f)
{
    for (size_t i = 0; i < f->call_count; i++) {
        free(f->calls[i].place);
        free((void *)f->paths[i].functions);
    }
    for (size_t i = 0; f->steps && i < f->step_count; i++) {
        for (size_t k = 0; k < f->steps[i].count; k++)
            free(f->steps[i].functions[k]);
        free(f->steps[i].functions);
    }
    free(f->calls);
    free(f->paths);
    free(f->steps);
}

int gn_callers_find(struct gn_callers **out, sqlite3 *db, int64_t least_ns, struct gn_error *err)
{
    struct finder f = {.db = db, .err = err, .callers = calloc(1, sizeof *f.callers)};
    *out = NULL;
    int code = f.callers ? read_steps(&f) : no_memory(&f);
    if (code == 0)
        code = read_calls(&f);
    if (code == 0)
        code = tell_all_apart(&f, least_ns);
    clear(&f);
    if (code == 0)
        *out = f.callers;
    else
        gn_callers_free(f.callers);
    return code;
}

const char *gn_callers_text(const struct gn_callers *callers, int64_t number)
{
    return callers && number > 0 && (size_t)number <= callers->count ? callers->texts[number - 1] : NULL;
}

void gn_callers_free(struct gn_callers *callers)
{
    if (!callers)
        return;
    for (size_t i = 0; i < callers->count; i++)
        free(callers->texts[i]);
    free(callers->texts);
    free(callers);
}
