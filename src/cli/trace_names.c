#include "cli/trace_names.h"

#include "base/grow.h"
#include "base/printable.h"
#include "profile/summary.h"
#include "trace/run_of_trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gn_trace_name_option(struct argp_state *state, struct gn_trace_names *names, const char *name)
{
    if (names->count == GN_TRACE_NAMES)
        argp_error(state, "%s: at most %d names", name, GN_TRACE_NAMES);
    names->list[names->count++] = name;
}

/* ---- names of computation in the run's profile ---- */

typedef void computed(void *self, const struct gn_activity_row *row);

/* By their places, or the functions or lines that are written there (named). A trace without a run, or a
 * profile that cannot be read, has none. */
static void each_computed(const char *trace, enum gn_by named, computed *each, void *self)
{
    char profile[4200];
    struct gn_summary summary;
    sqlite3 *db;
    if (!gn_run_of_trace(trace, profile, sizeof profile) || gn_profile_open(&db, profile, NULL) != 0)
        return;
    if (gn_summarise_paths(db, named, &summary, NULL) == 0) {
        for (size_t i = 0; i < summary.row_count; i++)
            if (strcmp(summary.rows[i].kind, "computation") == 0 && summary.rows[i].path)
                each(self, &summary.rows[i]);
        gn_summary_clear(&summary);
    }
    gn_profile_close(db);
}

static void text_of(const struct gn_activity_row *row, char *text, size_t size)
{
    char place[256] = "";
    if (row->file)
        gn_place_text(place, sizeof place, row->file, row->line);
    snprintf(text, size, "%s%s%s", row->function ? row->function : "", row->function && place[0] ? " " : "",
             place);
    gn_printable(text);
}

static bool is_row(const struct gn_name *name, const struct gn_activity_row *row)
{
    char text[512], place[256];
    text_of(row, text, sizeof text);
    if (gn_name_is(name, text) || (row->function && gn_name_is(name, row->function)))
        return true;
    if (!row->file)
        return false;
    if (gn_name_is(name, gn_place_text(place, sizeof place, row->file, row->line)))
        return true;
    snprintf(text, sizeof text, "%s %s", row->function ? row->function : "", gn_base_name(row->file));
    return gn_name_is(name, text);
}

struct matching {
    const struct gn_history *h;
    struct gn_name name;
    bool *chosen, *more;
    int count;
    char **paths; /* of rows that it means */
    size_t path_count, path_room;
    struct gn_name_part own, others; /* ns of one rank, at least and at most, up to the same calls */
};

static bool has_path(const struct matching *m, const char *path)
{
    for (size_t i = 0; i < m->path_count; i++)
        if (strcmp(m->paths[i], path) == 0)
            return true;
    return false;
}

static void match(void *self, const struct gn_activity_row *row)
{
    struct matching *m = self;
    if (!is_row(&m->name, row))
        return;
    if (!has_path(m, row->path) && gn_grow(&m->paths, &m->path_room, m->path_count, sizeof *m->paths)) {
        m->paths[m->path_count] = strdup(row->path);
        m->path_count += m->paths[m->path_count] != NULL;
    }
    gn_activities_named(m->h, row->path, m->more);
    for (size_t i = 0; i < m->h->activity_count; i++) {
        m->count += m->more[i] && !m->chosen[i];
        m->chosen[i] |= m->more[i];
    }
}

/* By how much samples may be off. */
static void add_up(void *self, const struct gn_activity_row *row)
{
    struct matching *m = self;
    if (!has_path(m, row->path))
        return;
    const bool is_own = is_row(&m->name, row);
    if (!is_own && row->how == GN_HOW_RANGE) { /* where that is no sample says */
        m->own.high += (double)row->max_ns;
        m->others.high += (double)row->max_ns;
        return;
    }
    struct gn_name_part *sum = is_own ? &m->own : &m->others;
    const double share = row->share > 0 ? row->share : 1;
    sum->low += (double)row->min_ns * (row->share > 0 ? row->low / share : 1);
    sum->high += (double)row->max_ns * (row->share > 0 ? row->high / share : 1);
}

static double part_of(double own, double others)
{
    return own + others > 0 ? own / (own + others) : 1;
}

static int find_named(bool *chosen, struct gn_name_part *part, const struct gn_history *h, const char *trace,
                      enum gn_by named, const char *name)
{
    struct matching m = {.h = h, .name = gn_name_of(name), .chosen = chosen};
    m.more = calloc(h->activity_count + 1, sizeof *m.more);
    if (m.more)
        each_computed(trace, named, match, &m);
    if (m.count > 0 && part) {
        each_computed(trace, named, add_up, &m);
        *part = (struct gn_name_part){part_of(m.own.low, m.others.high), part_of(m.own.high, m.others.low)};
    }
    for (size_t i = 0; i < m.path_count; i++)
        free(m.paths[i]);
    free(m.paths);
    free(m.more);
    return m.count;
}

static int find_in_profile(bool *chosen, struct gn_name_part *part, const struct gn_history *h,
                           const char *trace, const char *name)
{
    static const enum gn_by ways[] = {GN_BY_PLACE, GN_BY_FUNCTION, GN_BY_LINE};
    int count = 0;
    for (size_t i = 0; count == 0 && i < sizeof ways / sizeof *ways; i++)
        count = find_named(chosen, part, h, trace, ways[i], name);
    return count;
}

/* ---- names that mean nothing ---- */

static void offer_row(void *self, const struct gn_activity_row *row)
{
    char text[512];
    text_of(row, text, sizeof text);
    if (row->function)
        gn_nearest_offer(self, row->function);
    gn_nearest_offer(self, text);
}

static int unknown(const struct gn_history *h, const char *trace, const char *what, const char *name,
                   struct gn_error *err)
{
    struct gn_nearest nearest = {name, 0, ""};
    if (gn_nearest_of_trace(&nearest, h) < 0)
        return gn_fail(err, -ENOMEM, "no memory for the trace's names");
    if (trace) {
        each_computed(trace, GN_BY_PLACE, offer_row, &nearest);
        each_computed(trace, GN_BY_FUNCTION, offer_row, &nearest);
    }
    if (nearest.text[0] == '\0')
        return gn_fail(err, -ENOENT, "%s \"%s\": the trace has no names", what, name);
    return gn_fail(err, -ENOENT, "%s \"%s\"; did you mean \"%s\"? gnomon whatif --list has all names", what,
                   name, nearest.text);
}

/* ---- look-up ---- */

/* A call before which nothing is computed. */
static bool is_entered(const struct gn_history *h, const char *name)
{
    struct gn_named named;
    if (!gn_named_open(&named, h->definitions))
        return false;
    const bool is = gn_named_add(&named, h, name) > 0;
    gn_named_clear(&named);
    return is;
}

int gn_trace_name_computed(bool *chosen, struct gn_name_part *part, const struct gn_history *h,
                           const char *trace, const char *name, struct gn_error *err)
{
    const size_t count = gn_activities_named(h, name, chosen);
    if (part)
        *part = (struct gn_name_part){1, 1};
    if (count > 0)
        return (int)count;
    const int more = find_in_profile(chosen, part, h, trace, name);
    if (more > 0 || is_entered(h, name))
        return more;
    return unknown(h, trace, "nothing is computed in", name, err);
}

int gn_trace_name_entered(struct gn_named *named, const struct gn_history *h, const char *trace,
                          const char *name, struct gn_error *err)
{
    if (gn_named_add(named, h, name) > 0)
        return 0;
    bool *chosen = calloc(h->activity_count + 1, sizeof *chosen);
    const bool is_computed = chosen && (gn_activities_named(h, name, chosen) > 0 ||
                                        find_in_profile(chosen, NULL, h, trace, name) > 0);
    free(chosen);
    if (is_computed)
        return gn_fail(
            err, -ENOENT,
            "\"%s\" names computation, and when somebody is in it is not in the trace: `busy` is whoever "
            "computes, gnomon whatif --region says what that would gain",
            name);
    return unknown(h, trace, "no location is ever in a region", name, err);
}

int gn_trace_names_chosen(struct gn_named *named, const struct gn_named **chosen, const char *trace,
                          const struct gn_history *h, const struct gn_trace_names *names,
                          struct gn_error *err)
{
    int code = 0;
    *chosen = NULL;
    *named = (struct gn_named){NULL, NULL};
    if (names->count && !gn_named_open(named, h->definitions))
        return gn_fail(err, -ENOMEM, "no memory for the trace's names");
    for (size_t i = 0; i < names->count && code == 0; i++)
        code = gn_trace_name_entered(named, h, trace, names->list[i], err);
    *chosen = names->count ? named : NULL;
    if (code < 0)
        gn_named_clear(named);
    return code;
}

/* ---- all ---- */

struct telling {
    gn_name_found *found;
    void *self;
    char (*told)[512];
    size_t count, capacity;
};

static void tell(void *self, const struct gn_activity_row *row)
{
    struct telling *t = self;
    char text[512];
    text_of(row, text, sizeof text);
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->told[i], text) == 0)
            return;
    if (!text[0] || !gn_grow(&t->told, &t->capacity, t->count, sizeof *t->told))
        return;
    strcpy(t->told[t->count++], text);
    t->found(t->self, GN_NAME_COMPUTATION, text);
}

int gn_trace_names_each(const struct gn_history *h, const char *trace, gn_name_found *found, void *self,
                        struct gn_error *err)
{
    struct telling t = {found, self, NULL, 0, 0};
    if (gn_names_each(h, found, self) < 0)
        return gn_fail(err, -ENOMEM, "no memory for the trace's names");
    each_computed(trace, GN_BY_PLACE, tell, &t);
    each_computed(trace, GN_BY_FUNCTION, tell, &t);
    free(t.told);
    return 0;
}
