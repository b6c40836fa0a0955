#include "profile/kept_windows.h"

#include "base/grow.h"
#include "profile/clock.h"
#include "profile/profile.h"
#include "profile/statement.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t gn_kept_windows_of_text(struct gn_kept_window **windows, const char *text)
{
    size_t count = 0, capacity = 0;
    uint64_t from = 1;
    *windows = NULL;
    while (count < GN_KEPT_WINDOWS_MOST && *text) {
        char *next, *end;
        const uint64_t begin_ticks = strtoull(text, &next, 10), end_ticks = strtoull(next, &end, 10);
        if (end == next || begin_ticks < from || end_ticks <= begin_ticks ||
            !gn_grow(windows, &capacity, count, sizeof **windows))
            break;
        (*windows)[count++] = (struct gn_kept_window){begin_ticks, end_ticks};
        from = end_ticks;
        text = end;
    }
    return count;
}

char *gn_kept_windows_to_text(const struct gn_kept_window *windows, size_t count)
{
    enum { EACH = 44 };
    char *text = calloc(count + 1, EACH);
    size_t used = 0;
    for (size_t i = 0; text && i < count; i++)
        used += (size_t)snprintf(text + used, EACH, "%s%" PRIu64 " %" PRIu64, i > 0 ? " " : "",
                                 windows[i].begin_ticks, windows[i].end_ticks);
    return text;
}

static uint64_t length_of(const struct gn_kept_window *w)
{
    return w->end_ticks - w->begin_ticks;
}

size_t gn_kept_windows_common(struct gn_common_window *to, const struct gn_common_window *a, size_t a_count,
                              const struct gn_kept_window *b, size_t b_count)
{
    size_t count = 0;
    for (size_t i = 0, k = 0; i < a_count && k < b_count;) {
        const struct gn_kept_window *one = &a[i].window, *other = &b[k];
        const struct gn_kept_window both = {
            one->begin_ticks > other->begin_ticks ? one->begin_ticks : other->begin_ticks,
            one->end_ticks < other->end_ticks ? one->end_ticks : other->end_ticks};
        const uint64_t own = length_of(other),
                       shortest = own < a[i].shortest_ticks ? own : a[i].shortest_ticks;
        if (both.begin_ticks < both.end_ticks)
            to[count++] = (struct gn_common_window){both, shortest};
        if (one->end_ticks < other->end_ticks)
            i++;
        else
            k++;
    }
    return count;
}

size_t gn_kept_windows_of_worth(struct gn_kept_window *to, const struct gn_common_window *common,
                                size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count && kept < GN_KEPT_WINDOWS_MOST; i++)
        if (length_of(&common[i].window) >= common[i].shortest_ticks - common[i].shortest_ticks / 2)
            to[kept++] = common[i].window;
    return kept;
}

/* ---- of all hosts ---- */

struct uniting {
    sqlite3 *db;
    struct gn_profile_clocks clocks;
    struct gn_common_window *common; /* NULL: of no host yet */
    size_t count;
};

/* On the clock of the joined archive, as trace/placed.h places its events. */
static uint64_t placed(const struct uniting *u, const struct gn_bounds *bounds, uint64_t ticks)
{
    const struct gn_clock_row *reference = &u->clocks.rows[0];
    const double hz = floor(reference->def.hz + 0.5);
    return gn_bounds_placed(bounds, ticks, reference->epoch_ticks, hz > 0 ? hz : 1);
}

static const struct gn_bounds *bounds_of(const struct uniting *u, const char *host)
{
    for (uint32_t i = 0; i < u->clocks.count; i++)
        if (strcmp(u->clocks.rows[i].domain, host) == 0 && u->clocks.rows[i].whole)
            return gn_clocks_state(u->clocks.clocks, i)->bounds;
    return NULL;
}

static int unite_host(struct uniting *u, const char *host, const char *spans, struct gn_error *err)
{
    const struct gn_bounds *bounds = bounds_of(u, host);
    struct gn_kept_window *own;
    size_t count = gn_kept_windows_of_text(&own, spans);
    int code = bounds ? 0
                      : gn_fail(err, -ENODATA,
                                "when the windows of %s were is not known: its clock was not compared", host);
    for (size_t i = 0; i < count && code == 0; i++)
        own[i] = (struct gn_kept_window){placed(u, bounds, own[i].begin_ticks),
                                         placed(u, bounds, own[i].end_ticks)};
    const struct gn_kept_window all = {0, UINT64_MAX};
    const struct gn_common_window begin = {all, UINT64_MAX};
    struct gn_common_window *both = code == 0 ? calloc(u->count + count + 1, sizeof *both) : NULL;
    if (code == 0 && count == 0)
        code = gn_fail(err, -ENODATA, "%s has kept no events", host);
    else if (code == 0 && !both)
        code = gn_fail(err, -ENOMEM, "no memory for the windows of %s", host);
    if (code == 0)
        u->count = gn_kept_windows_common(both, u->common ? u->common : &begin, u->common ? u->count : 1, own,
                                          count);
    free(own);
    free(u->common);
    u->common = both;
    return code;
}

static int read_clocks(struct uniting *u, struct gn_error *err)
{
    const struct gn_assumption assumption = gn_assumption_default();
    int code = gn_profile_read_clocks(u->db, &u->clocks, err);
    if (code != 0)
        return code;
    gn_clocks_set_epoch(u->clocks.clocks, u->clocks.rows[0].epoch_ticks);
    return gn_clocks_solve(u->clocks.clocks, &assumption, err);
}

static int unite_all(struct uniting *u, struct gn_error *err)
{
    sqlite3_stmt *q =
        gn_sql_query(u->db, err,
                     "SELECT h.name, coalesce(r.value, '') FROM host h LEFT JOIN run r ON r.key = "
                     "'windows/' || h.name || '/spans' AND typeof(r.value) = 'text' WHERE "
                     "typeof(h.name) = 'text'",
                     "");
    int code = q ? 0 : -EIO;
    while (code == 0 && sqlite3_step(q) == SQLITE_ROW)
        code = unite_host(u, (const char *)sqlite3_column_text(q, 0), (const char *)sqlite3_column_text(q, 1),
                          err);
    sqlite3_finalize(q);
    return code;
}

int gn_profile_unite_windows(sqlite3 *db, const char *archive, struct gn_error *err)
{
    struct uniting u = {.db = db};
    int code = read_clocks(&u, err);
    if (code == 0)
        code = unite_all(&u, err);
    struct gn_kept_window *worth = code == 0 ? calloc(u.count + 1, sizeof *worth) : NULL;
    const size_t count = worth && u.common ? gn_kept_windows_of_worth(worth, u.common, u.count) : 0;
    if (code == 0 && count == 0)
        code = gn_fail(err, -ENODATA, "its hosts have no window of events in common");
    char *text = code == 0 ? gn_kept_windows_to_text(worth, count) : NULL;
    if (code == 0 && !text)
        code = gn_fail(err, -ENOMEM, "no memory for windows");
    if (code == 0)
        code = gn_sql(db, err, "DELETE FROM run WHERE key GLOB 'windows/*/path'", "");
    if (code == 0)
        code = gn_profile_set(db, "windows/all/spans", text, err);
    if (code == 0)
        code = gn_profile_set(db, "windows/all/path", archive, err);
    free(text);
    free(worth);
    free(u.common);
    gn_profile_clocks_clear(&u.clocks);
    return code;
}
