/* profile/summary_cost — what measuring has cost, in processor time: the program's waiting does not make it
 * smaller. */
#include "profile/statement.h"
#include "profile/summary.h"

static double value(sqlite3 *db, const char *query)
{
    double result = 0;
    sqlite3_stmt *q = gn_sql_query(db, NULL, query, "");
    if (q && sqlite3_step(q) == SQLITE_ROW)
        result = sqlite3_column_double(q, 0);
    sqlite3_finalize(q);
    return result;
}

/* The largest part. That many stacks are unwound in full is worth a word from 1 % of the calls on. */
static enum gn_cost_reason reason(const struct gn_cost *c, double calls_s)
{
    if (c->share <= 0.01)
        return GN_COST_SMALL;
    if (c->regions * 2 > c->calls && c->own_s > 2 * c->startup_s)
        return GN_COST_REGIONS;
    if (c->startup_s >= calls_s && c->startup_s >= c->slow_s)
        return GN_COST_START_UP;
    if (c->slow_s > calls_s)
        return c->unwound * 100 > c->calls ? GN_COST_UNWOUND : GN_COST_FIRST;
    return GN_COST_CALLS;
}

void gn_summarise_cost(sqlite3 *db, struct gn_cost *c)
{
    const double all_s = value(db, "SELECT sum(probe_ns) FROM location") * 1e-9;
    const double calls_s = value(db, "SELECT sum(events * probe_ns_per_event) FROM location") * 1e-9;
    const double sampled = value(db, "SELECT sum(events) FROM location WHERE probe_ns_per_event > 0");
    *c = (struct gn_cost){.calls = (int64_t)value(db, "SELECT sum(events) FROM location"),
                          .unwound = (int64_t)value(db, "SELECT sum(unwound) FROM location"),
                          .startup_s = value(db, "SELECT sum(startup_cpu_ns) FROM process") * 1e-9};
    c->ns_per_call = sampled > 0 ? calls_s / sampled * 1e9 : 0;
    c->slow_s = all_s > calls_s ? all_s - calls_s : 0;
    /* what each begin and end of a region has cost is known, and is in no mean of samples: the ordinary calls
     * are theirs where most are */
    c->regions = (int64_t)value(db, "SELECT 2 * sum(n.count) FROM node n JOIN activity a ON a.id = n.activity"
                                    " WHERE a.kind = 'region'");
    if (c->regions * 2 > c->calls && c->calls > 0) {
        c->ns_per_call = all_s * 1e9 / (double)c->calls;
        c->slow_s = 0;
    }
    c->probe_ns_per_call = c->calls ? all_s * 1e9 / (double)c->calls : 0;
    c->own_s = all_s + c->startup_s;
    /* of all measured processes, or it says nothing */
    if (value(db, "SELECT count(cpu_ns) = count(elapsed_ns) FROM process") > 0)
        c->program_cpu_s = value(db, "SELECT sum(cpu_ns) FROM process") * 1e-9 - c->own_s;
    const double elapsed_s = value(db, "SELECT sum(elapsed_ns) FROM location") * 1e-9;
    if (c->program_cpu_s > 0)
        c->share = c->own_s / c->program_cpu_s;
    else if (elapsed_s > 0)
        c->share = c->own_s / elapsed_s;
    c->reason = reason(c, calls_s);
}
