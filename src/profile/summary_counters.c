/* What the kernel counted besides time (graph/metrics.h): exact for each process, as far as it was counted;
 * where in the program, samples say. */
#include "base/printable.h"
#include "profile/statement.h"
#include "profile/summary.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct gn_counter_told *counter_of(struct gn_summary *s, sqlite3_stmt *q)
{
    struct gn_counter_told *last = s->counter_count ? &s->counters[s->counter_count - 1] : NULL;
    const int64_t metric = sqlite3_column_int64(q, 0);
    /* names are keys of what is told for programs: none that another version has made up */
    const struct gn_metric *known = metric < 0 || metric > INT32_MAX ? NULL : gn_metric((uint32_t)metric);
    if (last && last->metric == metric)
        return last;
    if (s->counter_count == GN_METRICS_AT_A_TIME || !known || sqlite3_column_int64(q, 1) < 0)
        return NULL;
    last = &s->counters[s->counter_count++];
    *last = (struct gn_counter_told){.metric = (uint32_t)metric, .most = -1};
    snprintf(last->name, sizeof last->name, "%s", known->name);
    return last;
}

/* Rows come by metric, the smallest first: the n-th of `count`. */
static void take(struct gn_counter_told *c, sqlite3_stmt *q, int64_t n, int64_t count)
{
    const int64_t total = sqlite3_column_int64(q, 1);
    const char *reason = (const char *)sqlite3_column_text(q, 4);
    if (__builtin_add_overflow(c->total, total, &c->total))
        c->total = INT64_MAX;
    if (__builtin_add_overflow(c->samples, sqlite3_column_int64(q, 2), &c->samples))
        c->samples = INT64_MAX;
    c->is_scaled |= sqlite3_column_int(q, 3) != 0;
    if (reason && !c->reason[0]) {
        snprintf(c->reason, sizeof c->reason, "%s", reason);
        gn_printable(c->reason);
    }
    if (n == (count - 1) / 2)
        c->median = total;
    if (n == count / 2)
        c->median += (total - c->median) / 2;
    if (total > c->most) {
        c->most = total;
        c->most_rank = sqlite3_column_int(q, 5);
    }
}

int gn_summarise_counters(sqlite3 *db, struct gn_summary *s, struct gn_error *err)
{
    s->counter_count = 0;
    if (gn_sql_value(db, 0, "SELECT count(*) FROM main.sqlite_master WHERE name = 'counter'", "") == 0)
        return 0;
    sqlite3_stmt *q =
        gn_sql_query(db, err,
                     "SELECT c.metric, c.total, c.samples, c.is_scaled, c.reason, p.rank,"
                     " row_number() OVER (PARTITION BY c.metric ORDER BY c.total, p.rank) - 1 AS n,"
                     " count(*) OVER (PARTITION BY c.metric) FROM counter c JOIN process p ON p.id = "
                     "c.process WHERE c.total >= 0"
                     " ORDER BY c.metric, n",
                     "");
    if (!q)
        return -EINVAL;
    while (sqlite3_step(q) == SQLITE_ROW) {
        struct gn_counter_told *c = counter_of(s, q);
        if (c)
            take(c, q, sqlite3_column_int64(q, 6), sqlite3_column_int64(q, 7));
    }
    if (sqlite3_finalize(q) != SQLITE_OK)
        return gn_fail(err, -EINVAL, "the profile cannot be read to its end: %s", sqlite3_errmsg(db));
    return 0;
}

double gn_summary_instructions_per_cycle(const struct gn_summary *s, const struct gn_activity_row *row)
{
    double instructions = NAN, cycles = NAN;
    for (size_t i = 0; i < s->counter_count; i++) {
        if (strcmp(s->counters[i].name, "instructions") == 0)
            instructions = row->amounts[i];
        if (strcmp(s->counters[i].name, "cycles") == 0)
            cycles = row->amounts[i];
    }
    return cycles > 0 ? instructions / cycles : NAN;
}
