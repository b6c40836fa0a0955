#include "profile/moments.h"

#include "base/grow.h"
#include "base/wrapping.h"
#include "profile/clock.h"
#include "profile/statement.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

void gn_moments_clear(struct gn_moments *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->items[i].ticks);
        free(all->items[i].at_ns);
    }
    free(all->items);
    *all = (struct gn_moments){.items = NULL};
}

static bool take(struct gn_moments *all, sqlite3_stmt *q)
{
    const int64_t id = sqlite3_column_int64(q, 0);
    if (all->count == 0 || all->items[all->count - 1].id != id) {
        if (!gn_grow(&all->items, &all->room, all->count, sizeof *all->items))
            return false;
        all->items[all->count++] = (struct gn_host_moments){.id = id};
    }
    struct gn_host_moments *h = &all->items[all->count - 1];
    if (!gn_grow(&h->ticks, &h->room, h->count, sizeof *h->ticks) ||
        !gn_grow(&h->at_ns, &h->at_room, h->count, sizeof *h->at_ns))
        return false;
    h->ticks[h->count] = sqlite3_column_int64(q, 1);
    h->at_ns[h->count++] = 0;
    return true;
}

static int read_moments(sqlite3 *db, struct gn_moments *all, struct gn_error *err)
{
    enum { MOST_MOMENTS = 1 << 22 }; /* of all hosts: whatever the file is */
    size_t moments = 0;
    bool taken = true;
    if (gn_sql_value(db, 0, "SELECT count(*) FROM main.sqlite_master WHERE name = 'moment'", "") == 0)
        return gn_fail(err, -ENODATA, "it was measured by an older gnomon, which kept no time series");
    sqlite3_stmt *q =
        gn_sql_query(db, err, "SELECT host, ticks FROM main.moment ORDER BY host, number, ticks", "");
    if (!q)
        return -EINVAL;
    while (taken && moments++ < MOST_MOMENTS && sqlite3_step(q) == SQLITE_ROW)
        taken = take(all, q);
    if (sqlite3_finalize(q) != SQLITE_OK)
        return gn_fail(err, -EINVAL, "the profile cannot be read to its end: %s", sqlite3_errmsg(db));
    if (!taken)
        return gn_fail(err, -ENOMEM, "no memory for the moments of its time series");
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].count < 2)
            return gn_fail(err, -ENODATA, "its time series has no steps");
    return all->count ? 0
                      : gn_fail(err, -ENODATA,
                                "it has no time series: none is kept where cores have counters of their own");
}

double gn_moments_since(const struct gn_host_moments *h, int64_t ticks)
{
    return (double)gn_minus(ticks, h->ticks[0]);
}

static double tick_ns(sqlite3 *db, int64_t host)
{
    double ns = 0;
    sqlite3_stmt *q =
        gn_sql_query(db, NULL, "SELECT max(tick_ns) FROM main.process WHERE host = ?", "i", host);
    if (q && sqlite3_step(q) == SQLITE_ROW)
        ns = sqlite3_column_double(q, 0);
    sqlite3_finalize(q);
    return ns > 0 && isfinite(ns) ? ns : 1;
}

static struct gn_bounds *bounds_of(sqlite3 *db, int64_t host)
{
    struct gn_bounds *bounds = NULL;
    sqlite3_stmt *q = gn_sql_query(db, NULL,
                                   "SELECT d.name FROM main.clock_domain d JOIN main.host h ON h.id = d.host "
                                   "AND h.name = d.name WHERE h.id = ?",
                                   "i", host);
    if (q && sqlite3_step(q) == SQLITE_ROW && sqlite3_column_text(q, 0))
        bounds = gn_profile_bounds(db, (const char *)sqlite3_column_text(q, 0), NULL);
    sqlite3_finalize(q);
    return bounds;
}

/* A file may say anything. */
static int check_moments(const struct gn_moments *all, struct gn_error *err)
{
    static const double longest_ns = 1e18; /* 30 years */
    for (size_t i = 0; i < all->count; i++)
        for (size_t k = 0; k < all->items[i].count; k++) {
            const double *at = &all->items[i].at_ns[k];
            if (!(*at >= 0 && *at <= longest_ns) || (k > 0 && at[0] < at[-1]))
                return gn_fail(err, -EINVAL, "the moments of its time series make no sense");
        }
    return 0;
}

/* Of each host's moments when they were; where its clock is not known against the others', it is as if all
 * hosts had begun together. */
static void place_moments(sqlite3 *db, struct gn_moments *all)
{
    double begin_ns = INFINITY;
    for (size_t i = 0; i < all->count; i++) {
        struct gn_host_moments *h = &all->items[i];
        struct gn_bounds *bounds = all->count > 1 ? bounds_of(db, h->id) : NULL;
        const double each_ns = tick_ns(db, h->id);
        all->are_apart |= all->count > 1 && !bounds;
        for (size_t k = 0; k < h->count; k++) {
            const struct gn_interval at = bounds ? gn_bounds_convert(bounds, (uint64_t)h->ticks[k])
                                                 : (struct gn_interval){INT64_MIN, INT64_MAX};
            h->at_ns[k] = at.lo_ns > INT64_MIN && at.hi_ns < INT64_MAX
                              ? (double)at.lo_ns / 2 + (double)at.hi_ns / 2
                              : gn_moments_since(h, h->ticks[k]) * each_ns;
        }
        gn_bounds_free(bounds);
        begin_ns = fmin(begin_ns, h->at_ns[0]);
    }
    for (size_t i = 0; i < all->count; i++)
        for (size_t k = 0; k < all->items[i].count; k++)
            all->items[i].at_ns[k] -= begin_ns;
}

/* The only host, or the one whose clock the others' were compared with. */
static void find_reference(sqlite3 *db, struct gn_moments *all)
{
    static const char references[] =
        "SELECT CASE WHEN count(*) = 1 THEN max(h.id) ELSE -1 END FROM main.clock_domain d JOIN main.host h "
        "ON h.id = d.host AND h.name = d.name WHERE d.parent IS NULL";
    const int64_t id = all->count > 1 ? gn_sql_value(db, -1, references, "") : all->items[0].id;
    all->reference = SIZE_MAX;
    for (size_t i = 0; i < all->count && id >= 0; i++) {
        const struct gn_host_moments *h = &all->items[i];
        const double before_ticks = h->at_ns[0] / tick_ns(db, h->id);
        if (h->id != id || h->ticks[0] < 0 || before_ticks > (double)h->ticks[0])
            continue;
        all->reference = i;
        all->begin_ticks = (uint64_t)h->ticks[0] - (uint64_t)before_ticks;
    }
}

int gn_moments_read(sqlite3 *db, struct gn_moments *all, struct gn_error *err)
{
    *all = (struct gn_moments){.items = NULL};
    int code = read_moments(db, all, err);
    if (code == 0) {
        place_moments(db, all);
        code = check_moments(all, err);
    }
    if (code == 0)
        find_reference(db, all);
    if (code != 0)
        gn_moments_clear(all);
    return code;
}
