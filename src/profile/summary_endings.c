/* profile/summary_endings — how processes ended that did not end well, and what they did last. */
#include "profile/clock.h"
#include "profile/statement.h"
#include "profile/summary.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- when they ended ---- */

/* Readings are of the counter that the host's agent reads: the domain with the host's name. Without bounds,
 * which an interrupted run may lack, those of one host can still be compared. */
static struct gn_interval moment(const struct gn_bounds *bounds, double tick_ns, int64_t after,
                                 int64_t before)
{
    if (!bounds)
        return (struct gn_interval){(int64_t)floor((double)after * tick_ns),
                                    (int64_t)ceil((double)before * tick_ns)};
    return (struct gn_interval){gn_bounds_convert(bounds, (uint64_t)after).lo_ns,
                                gn_bounds_convert(bounds, (uint64_t)before).hi_ns};
}

static void read_ending(sqlite3 *db, struct gn_trouble_row *t, bool one_host)
{
    sqlite3_stmt *q =
        gn_sql_query(db, NULL,
                     "SELECT e.after_ticks, e.before_ticks, p.tick_ns FROM ending e JOIN process p"
                     " ON p.id = e.process WHERE e.process = ?",
                     "i", t->process);
    if (q && sqlite3_step(q) == SQLITE_ROW) {
        struct gn_bounds *bounds = gn_profile_bounds(db, t->host ? t->host : "", NULL);
        struct gn_interval i = moment(bounds, sqlite3_column_double(q, 2), sqlite3_column_int64(q, 0),
                                      sqlite3_column_int64(q, 1));
        const bool told = i.lo_ns != INT64_MIN && i.hi_ns != INT64_MAX;
        t->ending =
            (struct gn_ending){.known = told && (bounds || one_host), .lo_ns = i.lo_ns, .hi_ns = i.hi_ns};
        gn_bounds_free(bounds);
    }
    sqlite3_finalize(q);
}

/* The first is the one that had ended before any other is known to have; there may be others that ended as
 * early for all that is known. */
static void compare_endings(struct gn_summary *s)
{
    const struct gn_ending *first = NULL;
    for (size_t i = 0; i < s->trouble_count; i++)
        if (s->troubles[i].ending.known && (!first || s->troubles[i].ending.hi_ns < first->hi_ns))
            first = &s->troubles[i].ending;
    for (size_t i = 0; first && i < s->trouble_count; i++) {
        struct gn_ending *e = &s->troubles[i].ending;
        e->first = e->known && e->lo_ns <= first->hi_ns;
        e->later_lo_ns = e->lo_ns > first->hi_ns ? e->lo_ns - first->hi_ns : 0;
        e->later_hi_ns = e->hi_ns > first->lo_ns ? e->hi_ns - first->lo_ns : 0;
    }
}

static bool aborted(const struct gn_trouble_row *t)
{
    return t->last && strncmp(t->last, "MPI_Abort", 9) == 0;
}

/* As launchers and resource managers do, and programs do not to themselves. */
static bool was_taken_down(const struct gn_trouble_row *t)
{
    return t->ended && strcmp(t->ended, "signal") == 0 &&
           (t->exit_status == SIGKILL || t->exit_status == SIGTERM);
}

static int sign(bool a, bool b)
{
    return (int)b - (int)a;
}

/* The comparison is by the latest moment, not by what is certain: an order of intervals would be none. */
static int by_ending(const void *a, const void *b)
{
    const struct gn_trouble_row *x = a, *y = b;
    int order = gn_summary_blame(y) - gn_summary_blame(x);
    if (order == 0)
        order = sign(aborted(x), aborted(y));
    if (order == 0)
        order = sign(x->ending.known, y->ending.known);
    if (order == 0)
        order = sign(x->ending.first, y->ending.first);
    if (order == 0 && x->ending.first)
        order = sign(!was_taken_down(x), !was_taken_down(y));
    if (order == 0 && x->ending.known)
        order = (x->ending.hi_ns > y->ending.hi_ns) - (x->ending.hi_ns < y->ending.hi_ns);
    if (order == 0) /* outside of MPI by itself; inside, as ranks are that the launcher takes down */
        order = sign(!x->inside, !y->inside);
    return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

/* ---- calls ---- */

static char *copy(sqlite3_stmt *q, int column)
{
    const char *text = (const char *)sqlite3_column_text(q, column);
    return text ? strdup(text) : NULL;
}

static int64_t rank_or_none(sqlite3_stmt *q, int column)
{
    return sqlite3_column_type(q, column) == SQLITE_NULL ? GN_LAST_UNKNOWN : sqlite3_column_int64(q, column);
}

static struct gn_last_side side(sqlite3_stmt *q, int column)
{
    return (struct gn_last_side){sqlite3_column_int64(q, column), rank_or_none(q, column + 1),
                                 rank_or_none(q, column + 2), sqlite3_column_int64(q, column + 3)};
}

static struct gn_last_call_row call_row(sqlite3_stmt *q)
{
    return (struct gn_last_call_row){.thread = sqlite3_column_int(q, 0),
                                     .name = copy(q, 1),
                                     .function = copy(q, 2),
                                     .file = copy(q, 3),
                                     .line = sqlite3_column_int(q, 4),
                                     .open = sqlite3_column_int(q, 5) != 0,
                                     .enter_ns = sqlite3_column_int64(q, 6),
                                     .length_ns = sqlite3_column_int64(q, 7),
                                     .calls = sqlite3_column_int64(q, 8),
                                     .sent = side(q, 9),
                                     .received = side(q, 13),
                                     .completed = sqlite3_column_int64(q, 17),
                                     .comm = copy(q, 18),
                                     .root = rank_or_none(q, 19),
                                     .before_end_ns = sqlite3_column_int64(q, 20)};
}

static void read_calls(sqlite3 *db, struct gn_trouble_row *t)
{
    const size_t count =
        (size_t)gn_sql_value(db, 0, "SELECT count(*) FROM last_call WHERE process = ?", "i", t->process);
    t->calls = count ? calloc(count, sizeof *t->calls) : NULL;
    if (!t->calls)
        return;
    sqlite3_stmt *q = gn_sql_query(
        db, NULL,
        "SELECT l.thread, a.name, coalesce(s.label, s.function), s.file, s.line, l.inside, l.enter_ns, "
        "l.length_ns,"
        " l.calls, sent_messages, sent_to, sent_tag, sent_bytes, received_messages, received_from,"
        " received_tag, received_bytes, completed, communicator, root, max(p.elapsed_ns - l.enter_ns, 0)"
        " FROM last_call l JOIN main.process p ON p.id = l.process JOIN activity a ON a.id = l.activity"
        " LEFT JOIN callpath c ON c.id = a.callpath LEFT JOIN site s ON s.id = c.site WHERE l.process = ?"
        " ORDER BY l.thread, l.position DESC",
        "i", t->process);
    while (q && t->call_count < count && sqlite3_step(q) == SQLITE_ROW)
        t->calls[t->call_count++] = call_row(q);
    sqlite3_finalize(q);
}

void gn_summarise_endings(sqlite3 *db, struct gn_summary *s)
{
    /* older formats have none */
    const bool kept =
        gn_sql_value(db, 0, "SELECT count(*) FROM sqlite_master WHERE name = 'last_call'", "") > 0;
    for (size_t i = 0; kept && i < s->trouble_count; i++) {
        read_ending(db, &s->troubles[i], s->hosts == 1);
        read_calls(db, &s->troubles[i]);
    }
    compare_endings(s);
    if (s->trouble_count > 1)
        qsort(s->troubles, s->trouble_count, sizeof *s->troubles, by_ending);
}

void gn_summary_clear_calls(struct gn_trouble_row *t)
{
    for (size_t i = 0; i < t->call_count; i++) {
        free(t->calls[i].name);
        free(t->calls[i].function);
        free(t->calls[i].file);
        free(t->calls[i].comm);
    }
    free(t->calls);
}
