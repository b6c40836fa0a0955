#include "profile/windows.h"

#include "base/grow.h"
#include "profile/clock.h"
#include "profile/profile.h"
#include "profile/statement.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t gn_windows_of_text(struct gn_kept_window **windows, const char *text)
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

char *gn_windows_to_text(const struct gn_kept_window *windows, size_t count)
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

size_t gn_windows_common(struct gn_kept_window *to, const struct gn_kept_window *a, size_t a_count,
                         const struct gn_kept_window *b, size_t b_count)
{
    size_t count = 0;
    for (size_t i = 0, k = 0; i < a_count && k < b_count;) {
        const struct gn_kept_window both = {
            a[i].begin_ticks > b[k].begin_ticks ? a[i].begin_ticks : b[k].begin_ticks,
            a[i].end_ticks < b[k].end_ticks ? a[i].end_ticks : b[k].end_ticks};
        const uint64_t shorter = length_of(&a[i]) < length_of(&b[k]) ? length_of(&a[i]) : length_of(&b[k]);
        if (both.begin_ticks < both.end_ticks && length_of(&both) >= shorter - shorter / 2)
            to[count++] = both;
        if (a[i].end_ticks < b[k].end_ticks)
            i++;
        else
            k++;
    }
    return count;
}

/* ---- of all hosts ---- */

struct uniting {
    sqlite3 *db;
    struct gn_profile_clocks clocks;
    struct gn_kept_window *common; /* NULL: of no host yet */
    size_t count;
};

/* On the reference's counter, by the middle of what is known. */
static uint64_t placed(const struct uniting *u, const struct gn_bounds *bounds, uint64_t ticks)
{
    const struct gn_clock_row *reference = &u->clocks.rows[0];
    const struct gn_interval at = gn_bounds_convert(bounds, ticks);
    const double ns = (double)at.lo_ns + ((double)at.hi_ns - (double)at.lo_ns) / 2;
    const double there = (double)reference->epoch_ticks + ns * reference->def.hz * 1e-9;
    return there > 0 && there < 0x1p63 ? (uint64_t)there : 0;
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
    size_t count = gn_windows_of_text(&own, spans);
    int code = bounds ? 0
                      : gn_fail(err, -ENODATA,
                                "when the windows of %s were is not known: its clock was not compared", host);
    for (size_t i = 0; i < count && code == 0; i++)
        own[i] = (struct gn_kept_window){placed(u, bounds, own[i].begin_ticks),
                                         placed(u, bounds, own[i].end_ticks)};
    if (code == 0 && u->common) {
        struct gn_kept_window *both = calloc(u->count + count + 1, sizeof *both);
        if (both)
            u->count = gn_windows_common(both, u->common, u->count, own, count);
        else
            code = gn_fail(err, -ENOMEM, "no memory for the windows of %s", host);
        free(own);
        free(u->common);
        u->common = both;
    } else if (code == 0 && count > 0) {
        u->common = own;
        u->count = count;
    } else {
        free(own);
        code = code ? code : gn_fail(err, -ENODATA, "%s has kept no events", host);
    }
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
    char *text = code == 0 ? gn_windows_to_text(u.common, u.count) : NULL;
    if (code == 0 && !text)
        code = gn_fail(err, -ENOMEM, "no memory for windows");
    if (code == 0)
        code = gn_sql(db, err, "DELETE FROM run WHERE key GLOB 'windows/*/path'", "");
    if (code == 0)
        code = gn_profile_set(db, "windows/all/spans", text, err);
    if (code == 0)
        code = gn_profile_set(db, "windows/all/path", archive, err);
    free(text);
    free(u.common);
    gn_profile_clocks_clear(&u.clocks);
    return code;
}
