#include "profile/clock.h"

#include "base/grow.h"
#include "base/map.h"
#include "profile/profile.h"
#include "profile/statement.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const assumption_names[] = {[GN_RATE_CONSTANT] = "constant",
                                               [GN_RATE_WITHIN] = "within",
                                               [GN_RATE_WANDERS] = "wanders",
                                               [GN_RATE_UNKNOWN] = "unknown"};
enum { ASSUMPTIONS = sizeof assumption_names / sizeof assumption_names[0] };

const char *gn_assumption_name(enum gn_assumption_kind kind)
{
    return assumption_names[kind];
}

/* ---- writing ---- */

struct message_writer {
    sqlite3 *db;
    struct gn_error *err;
    int64_t domain, to_parent;
    int code;
};

/* SQLite has signed integers; a counter that has come that far counts attoseconds or is made up. */
static bool storable(uint64_t ticks)
{
    return ticks <= INT64_MAX;
}

static void write_message(void *context, uint64_t sent_ticks, uint64_t received_ticks)
{
    struct message_writer *w = context;
    if (w->code == 0 && storable(sent_ticks) && storable(received_ticks))
        w->code = gn_sql(w->db, w->err, "INSERT OR IGNORE INTO clock_message VALUES(?, ?, ?, ?)", "iiii",
                         w->domain, w->to_parent, (int64_t)sent_ticks, (int64_t)received_ticks);
}

static int add_row(sqlite3 *db, const struct gn_clock_row *row, struct gn_error *err)
{
    int code = gn_sql(db, err, "INSERT OR IGNORE INTO host(name) VALUES(?)", "s", row->host);
    if (code != 0)
        return code;
    return gn_sql(
        db, err,
        "INSERT INTO clock_domain(name, host, parent, counter, hz, granularity_ticks, epoch_ticks, "
        "last_ticks,"
        " shared, cores, untried, shared_width_ns, asked, answered, narrowed, refused, problem,"
        " mixed)"
        " VALUES(?, (SELECT id FROM host WHERE name = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        "ssssdiiiiiidiiiisi", row->domain, row->host, row->parent, row->counter, row->def.hz,
        (int64_t)row->def.granularity_ticks, (int64_t)row->epoch_ticks, (int64_t)row->last_ticks,
        (int64_t)row->shared, (int64_t)row->cores, (int64_t)row->untried, row->shared_width_ns,
        (int64_t)row->asked, (int64_t)row->answered, (int64_t)row->narrowed, (int64_t)row->refused,
        row->problem, (int64_t)row->mixed);
}

static int64_t id_of(sqlite3 *db, const char *domain)
{
    return gn_sql_value(db, -1, "SELECT id FROM clock_domain WHERE name = ?", "s", domain);
}

int gn_profile_add_clock(sqlite3 *db, const struct gn_clock_row *row, const struct gn_clocks *clocks,
                         struct gn_error *err)
{
    if (!storable(row->epoch_ticks) || !storable(row->last_ticks))
        return gn_fail(err, -ERANGE, "the counter of %s does not fit into 63 bits", row->domain);
    gn_sql(db, NULL, "BEGIN", "");
    struct message_writer w = {.db = db, .err = err};
    w.code = add_row(db, row, err);
    w.domain = id_of(db, row->domain);
    if (clocks) {
        gn_clocks_each_kept(clocks, 0, 1, write_message, &w);
        w.to_parent = 1;
        gn_clocks_each_kept(clocks, 1, 0, write_message, &w);
    }
    gn_sql(db, NULL, w.code ? "ROLLBACK" : "COMMIT", "");
    return w.code;
}

int gn_profile_set_process_clock(sqlite3 *db, const char *host, int pid, const char *domain,
                                 struct gn_error *err)
{
    return gn_sql(db, err,
                  "UPDATE process SET clock_domain = ? WHERE pid = ? AND"
                  " host = (SELECT id FROM host WHERE name = ?)",
                  "sis", domain, (int64_t)pid, host);
}

static int add_exchange(sqlite3 *db, int64_t domain, int64_t number, const struct gn_exchange *x,
                        struct gn_error *err)
{
    if ((x->there && (!storable(x->asked_ticks) || !storable(x->heard_ticks))) ||
        (x->back && (!storable(x->answered_ticks) || !storable(x->received_ticks))))
        return 0;
    int code = gn_sql(db, err, "INSERT INTO clock_exchange VALUES(?, ?, NULL, NULL, NULL, NULL, ?)", "iii",
                      domain, number, (int64_t)x->kernel);
    if (code == 0 && x->there)
        code = gn_sql(db, err,
                      "UPDATE clock_exchange SET asked_ticks = ?, heard_ticks = ?"
                      " WHERE domain = ? AND number = ?",
                      "iiii", (int64_t)x->asked_ticks, (int64_t)x->heard_ticks, domain, number);
    if (code == 0 && x->back)
        code = gn_sql(db, err,
                      "UPDATE clock_exchange SET answered_ticks = ?, received_ticks = ?"
                      " WHERE domain = ? AND number = ?",
                      "iiii", (int64_t)x->answered_ticks, (int64_t)x->received_ticks, domain, number);
    return code;
}

int gn_profile_add_exchanges(sqlite3 *db, const char *domain, const struct gn_exchange *exchanges,
                             size_t count, struct gn_error *err)
{
    int64_t id = id_of(db, domain);
    if (id < 0)
        return gn_fail(err, -ENOENT, "the profile has no clock domain %s", domain);
    gn_sql(db, NULL, "BEGIN", "");
    int code = 0;
    for (size_t i = 0; i < count && code == 0; i++)
        code = add_exchange(db, id, (int64_t)i, &exchanges[i], err);
    gn_sql(db, NULL, code ? "ROLLBACK" : "COMMIT", "");
    return code;
}

/* ---- reading ---- */

static bool is_reading(sqlite3_stmt *query, int column)
{
    return sqlite3_column_type(query, column) == SQLITE_INTEGER && sqlite3_column_int64(query, column) >= 0;
}

static struct gn_exchange exchange_of(sqlite3_stmt *query)
{
    struct gn_exchange x = {.there = is_reading(query, 0) && is_reading(query, 1),
                            .back = is_reading(query, 2) && is_reading(query, 3),
                            .kernel = sqlite3_column_int(query, 4) != 0};
    if (x.there) {
        x.asked_ticks = (uint64_t)sqlite3_column_int64(query, 0);
        x.heard_ticks = (uint64_t)sqlite3_column_int64(query, 1);
    }
    if (x.back) {
        x.answered_ticks = (uint64_t)sqlite3_column_int64(query, 2);
        x.received_ticks = (uint64_t)sqlite3_column_int64(query, 3);
    }
    return x;
}

int gn_profile_read_exchanges(sqlite3 *db, const char *domain, struct gn_exchange **exchanges, size_t *count,
                              struct gn_error *err)
{
    size_t capacity = 0;
    sqlite3_stmt *query = gn_sql_query(
        db, err,
        "SELECT asked_ticks, heard_ticks, answered_ticks, received_ticks, kernel FROM clock_exchange"
        " WHERE domain = (SELECT id FROM clock_domain WHERE name = ?) ORDER BY number",
        "s", domain);
    int code = query ? 0 : -EINVAL;
    *exchanges = NULL;
    *count = 0;
    while (code == 0 && sqlite3_step(query) == SQLITE_ROW) {
        if (gn_grow(exchanges, &capacity, *count, sizeof **exchanges))
            (*exchanges)[(*count)++] = exchange_of(query);
        else
            code = gn_fail(err, -ENOMEM, "no memory for the exchanges of %s", domain);
    }
    sqlite3_finalize(query);
    if (code == 0)
        return 0;
    free(*exchanges);
    *exchanges = NULL;
    *count = 0;
    return code;
}

/* From the reference outwards. A domain has one parent and the reference has none, so this ends whatever the
 * file says. */
static const char ordered_domains[] =
    "WITH RECURSIVE reference(id) AS ("
    "  SELECT d.id FROM clock_domain d WHERE d.parent IS NULL ORDER BY"
    "  coalesce((SELECT min(p.rank) FROM process p WHERE p.host = d.host AND p.rank >= 0), 1 << 40), d.id"
    "  LIMIT 1),"
    " tree(id, name, depth) AS ("
    "  SELECT d.id, d.name, 0 FROM clock_domain d JOIN reference USING (id)"
    "  UNION SELECT d.id, d.name, tree.depth + 1 FROM tree JOIN clock_domain d ON d.parent = tree.name)"
    " SELECT d.id, d.name, d.parent, h.name, d.counter, d.hz, d.granularity_ticks, d.epoch_ticks,"
    "  d.last_ticks, d.shared, d.cores, d.shared_width_ns, d.asked, d.answered, d.narrowed, d.refused,"
    "  d.problem, d.untried, d.mixed,"
    "  NOT d.mixed AND NOT EXISTS (SELECT 1 FROM process p JOIN location l ON l.process = p.id"
    "   WHERE p.host = d.host AND p.clock_domain IS NOT d.name)"
    " FROM clock_domain d LEFT JOIN host h ON h.id = d.host LEFT JOIN tree t ON t.id = d.id"
    " ORDER BY t.depth IS NULL, t.depth, d.id";

struct reader {
    sqlite3 *db;
    struct gn_profile_clocks *list;
    struct gn_map numbers; /* id in the table to number in the list, plus 1 */
    size_t capacity;
    struct gn_error *err;
};

static char *copy_text(sqlite3_stmt *query, int column)
{
    const char *text = (const char *)sqlite3_column_text(query, column);
    return text ? strdup(text) : NULL;
}

static int damaged(struct gn_error *err, const char *domain, const char *what)
{
    return gn_fail(err, -EINVAL, "the profile is damaged: clock domain %s has %s",
                   domain ? domain : "(without a name)", what);
}

static int check_row(sqlite3_stmt *query, struct gn_error *err)
{
    const char *name = (const char *)sqlite3_column_text(query, 1);
    double hz = sqlite3_column_double(query, 5), width_ns = sqlite3_column_double(query, 11);
    if (!name || !sqlite3_column_text(query, 3) || !sqlite3_column_text(query, 4))
        return damaged(err, name, "no name, host or counter");
    if (!(hz >= 1 && hz <= 1e12))
        return damaged(err, name, "a frequency that no counter has");
    if (sqlite3_column_int64(query, 6) < 1)
        return damaged(err, name, "a granularity below 1");
    if (sqlite3_column_int64(query, 7) < 0 || sqlite3_column_int64(query, 8) < sqlite3_column_int64(query, 7))
        return damaged(err, name, "negative readings, or readings that end before they begin");
    if (!(width_ns >= 0) || isinf(width_ns) || sqlite3_column_int64(query, 10) < 0 ||
        sqlite3_column_int64(query, 17) < 0)
        return damaged(err, name, "cores that make no sense");
    for (int column = 12; column <= 15; column++)
        if (sqlite3_column_int64(query, column) < 0)
            return damaged(err, name, "negative counts");
    return 0;
}

static void take_row(sqlite3_stmt *query, struct gn_clock_row *row)
{
    *row = (struct gn_clock_row){.domain = copy_text(query, 1),
                                 .parent = copy_text(query, 2),
                                 .host = copy_text(query, 3),
                                 .counter = copy_text(query, 4),
                                 .def = {.hz = sqlite3_column_double(query, 5),
                                         .granularity_ticks = (uint64_t)sqlite3_column_int64(query, 6)},
                                 .epoch_ticks = (uint64_t)sqlite3_column_int64(query, 7),
                                 .last_ticks = (uint64_t)sqlite3_column_int64(query, 8),
                                 .shared = sqlite3_column_int(query, 9) != 0,
                                 .cores = (unsigned)sqlite3_column_int(query, 10),
                                 .untried = (unsigned)sqlite3_column_int(query, 17),
                                 .shared_width_ns = sqlite3_column_double(query, 11),
                                 .asked = (uint64_t)sqlite3_column_int64(query, 12),
                                 .answered = (uint64_t)sqlite3_column_int64(query, 13),
                                 .narrowed = (uint64_t)sqlite3_column_int64(query, 14),
                                 .refused = (uint64_t)sqlite3_column_int64(query, 15),
                                 .problem = copy_text(query, 16),
                                 .mixed = sqlite3_column_int(query, 18) != 0,
                                 .whole = sqlite3_column_int(query, 19) != 0};
}

static struct gn_key key_of(sqlite3_stmt *query, int column)
{
    return (struct gn_key){(uint64_t)sqlite3_column_int64(query, column), 0};
}

/* UINT32_MAX: not in the list. */
static uint32_t number_of(const struct reader *r, sqlite3_stmt *query, int column)
{
    return (uint32_t)((uintptr_t)gn_map_find(&r->numbers, key_of(query, column)) - 1);
}

static int read_row(struct reader *r, sqlite3_stmt *query)
{
    struct gn_profile_clocks *list = r->list;
    int code = check_row(query, r->err);
    if (code != 0)
        return code;
    if (!gn_grow(&list->rows, &r->capacity, list->count, sizeof *list->rows))
        return gn_fail(r->err, -ENOMEM, "no memory for %u clock domains", list->count);
    struct gn_clock_row *row = &list->rows[list->count];
    take_row(query, row);
    list->count++;
    if (!row->domain || !row->host || !row->counter || gn_clocks_add(list->clocks, &row->def) == UINT32_MAX ||
        !gn_map_add(&r->numbers, key_of(query, 0), (void *)(uintptr_t)list->count))
        return gn_fail(r->err, -ENOMEM, "no memory for %u clock domains", list->count);
    if (list->count == 1 && row->parent)
        return gn_fail(r->err, -ENODATA,
                       "no clock domain of this profile is the reference: the part of %s is missing",
                       row->parent);
    return 0;
}

static int read_rows(struct reader *r)
{
    sqlite3_stmt *query = gn_sql_query(r->db, r->err, ordered_domains, "");
    int code = query ? 0 : -EINVAL, step = SQLITE_DONE;
    while (code == 0 && (step = sqlite3_step(query)) == SQLITE_ROW)
        code = read_row(r, query);
    if (code == 0 && step != SQLITE_DONE)
        code = gn_fail(r->err, -EINVAL, "the profile is damaged: %s", sqlite3_errmsg(r->db));
    sqlite3_finalize(query);
    return code;
}

static int read_message(const struct reader *r, sqlite3_stmt *query)
{
    uint32_t child = number_of(r, query, 0), parent = number_of(r, query, 1);
    int64_t sent = sqlite3_column_int64(query, 3), received = sqlite3_column_int64(query, 4);
    bool up = sqlite3_column_int(query, 2) != 0;
    if (child == UINT32_MAX || parent == UINT32_MAX || child == parent || sent < 0 || received < 0)
        return gn_fail(r->err, -EINVAL, "the profile is damaged: messages between clocks make no sense");
    if (gn_clocks_message(r->list->clocks, up ? child : parent, (uint64_t)sent, up ? parent : child,
                          (uint64_t)received) != 0)
        return gn_fail(r->err, -ENOMEM, "no memory for the messages between %u clocks", r->list->count);
    return 0;
}

static int read_messages(struct reader *r)
{
    sqlite3_stmt *query =
        gn_sql_query(r->db, r->err,
                     "SELECT d.id, p.id, m.to_parent, m.sent_ticks, m.received_ticks FROM clock_message m"
                     " JOIN clock_domain d ON d.id = m.domain JOIN clock_domain p ON p.name = d.parent"
                     " WHERE NOT d.mixed AND NOT p.mixed"
                     " ORDER BY m.domain, m.to_parent, m.received_ticks, m.sent_ticks",
                     "");
    int code = query ? 0 : -EINVAL, step = SQLITE_DONE;
    while (code == 0 && (step = sqlite3_step(query)) == SQLITE_ROW)
        code = read_message(r, query);
    if (code == 0 && step != SQLITE_DONE)
        code = gn_fail(r->err, -EINVAL, "the profile is damaged: %s", sqlite3_errmsg(r->db));
    sqlite3_finalize(query);
    return code;
}

/* Profiles of an older format have no such tables. */
static bool has_domains(sqlite3 *db)
{
    return gn_sql_value(db, 0, "SELECT count(*) FROM sqlite_master WHERE name = 'clock_domain'", "") > 0 &&
           gn_sql_value(db, 0, "SELECT count(*) FROM clock_domain", "") > 0;
}

int gn_profile_read_clocks(sqlite3 *db, struct gn_profile_clocks *list, struct gn_error *err)
{
    *list = (struct gn_profile_clocks){.clocks = NULL};
    if (!has_domains(db))
        return gn_fail(err, -ENODATA, "the profile says nothing of clocks");
    list->clocks = gn_clocks_new(0);
    if (!list->clocks)
        return gn_fail(err, -ENOMEM, "no memory for the clocks of a profile");
    struct reader r = {.db = db, .list = list, .err = err};
    int code = read_rows(&r);
    if (code == 0)
        code = read_messages(&r);
    gn_map_clear(&r.numbers);
    if (code == 0)
        gn_clocks_set_epoch(list->clocks, list->rows[0].epoch_ticks);
    else
        gn_profile_clocks_clear(list);
    return code;
}

void gn_profile_clocks_clear(struct gn_profile_clocks *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        free((char *)list->rows[i].domain);
        free((char *)list->rows[i].parent);
        free((char *)list->rows[i].host);
        free((char *)list->rows[i].counter);
        free((char *)list->rows[i].problem);
    }
    free(list->rows);
    gn_clocks_free(list->clocks);
    *list = (struct gn_profile_clocks){.clocks = NULL};
}

/* ---- solving ---- */

struct width {
    int64_t ns;
    uint64_t at_ticks;
};

static void widen(struct width *worst, struct gn_interval interval, uint64_t at_ticks)
{
    int64_t ns;
    if (__builtin_sub_overflow(interval.hi_ns, interval.lo_ns, &ns))
        ns = INT64_MAX;
    if (ns > worst->ns)
        *worst = (struct width){ns, at_ticks};
}

/* The widest that the bounds get between the agent's first and last moment: between breakpoints they are
 * straight, so it is at one of them or at an end. */
static struct width widest(const struct gn_bounds *bounds, const struct gn_clock_row *row)
{
    const struct gn_breakpoint *points;
    struct gn_outside outside;
    struct width worst = {-1, 0};
    size_t count = gn_bounds_breakpoints(bounds, &points, &outside);
    widen(&worst, gn_bounds_convert(bounds, row->epoch_ticks), row->epoch_ticks);
    widen(&worst, gn_bounds_convert(bounds, row->last_ticks), row->last_ticks);
    for (size_t i = 0; i < count; i++)
        if (points[i].ticks >= row->epoch_ticks && points[i].ticks <= row->last_ticks)
            widen(&worst, (struct gn_interval){points[i].lo_ns, points[i].hi_ns}, points[i].ticks);
    return worst;
}

static int write_bounds(sqlite3 *db, int64_t id, const struct gn_bounds *bounds,
                        const struct gn_clock_row *row, struct gn_error *err)
{
    const struct gn_breakpoint *points;
    struct gn_outside outside;
    size_t count = gn_bounds_breakpoints(bounds, &points, &outside);
    struct width worst = widest(bounds, row);
    int code = gn_sql(
        db, err,
        "UPDATE clock_domain SET outside_lo_ns_per_tick = ?, outside_hi_ns_per_tick = nullif(?, 9e999),"
        " width_ns = ?, width_at_ticks = ? WHERE id = ?",
        "ddiii", outside.rate_lo, outside.rate_hi, worst.ns, (int64_t)worst.at_ticks, id);
    for (size_t i = 0; i < count && code == 0; i++)
        if (storable(points[i].ticks))
            code = gn_sql(db, err, "INSERT INTO clock_bound VALUES(?, ?, ?, ?)", "iiii", id,
                          (int64_t)points[i].ticks, points[i].lo_ns, points[i].hi_ns);
    return code;
}

static int write_state(sqlite3 *db, const struct gn_clock_row *row, const struct gn_clock_state *state,
                       struct gn_error *err)
{
    int64_t id = id_of(db, row->domain);
    bool reached = state->reached && !row->mixed; /* a reference is reached without a message */
    int code = gn_sql(db, err,
                      "UPDATE clock_domain SET reached = ?, rests_on = ?, rate_lo_ppb = ?, rate_hi_ppb = ?,"
                      " used_there = ?, used_back = ? WHERE id = ?",
                      "isddiii", (int64_t)reached, gn_assumption_name(state->rests_on), state->rate_lo_ppb,
                      state->rate_hi_ppb, (int64_t)state->used_there, (int64_t)state->used_back, id);
    for (int i = 0; i < state->refuted_count && code == 0; i++)
        code = gn_sql(db, err, "INSERT OR IGNORE INTO clock_refuted VALUES(?, ?, ?, ?, ?, ?)", "isiidd", id,
                      gn_assumption_name(state->refuted[i].kind), (int64_t)state->refuted[i].first_ticks,
                      (int64_t)state->refuted[i].last_ticks, state->refuted[i].seen_ppb,
                      state->refuted[i].allowed_ppb);
    if (code == 0 && reached && state->bounds)
        code = write_bounds(db, id, state->bounds, row, err);
    return code;
}

static int write_assumption(sqlite3 *db, const struct gn_assumption *assumption, struct gn_error *err)
{
    char nominal[16], wander[16];
    snprintf(nominal, sizeof nominal, "%u", assumption->nominal_ppb);
    snprintf(wander, sizeof wander, "%u", assumption->wander_ppb);
    int code = gn_profile_set(db, "clock/assumption", gn_assumption_name(assumption->kind), err);
    if (code == 0)
        code = gn_profile_set(db, "clock/nominal_ppb", nominal, err);
    if (code == 0)
        code = gn_profile_set(db, "clock/wander_ppb", wander, err);
    return code;
}

struct gn_assumption gn_profile_assumption(sqlite3 *db)
{
    struct gn_assumption assumption = gn_assumption_default();
    char text[32];
    if (gn_profile_get(db, "clock/assumption", text, sizeof text) == 0)
        return assumption;
    for (int kind = 0; kind < ASSUMPTIONS; kind++)
        if (strcmp(text, assumption_names[kind]) == 0)
            assumption.kind = (enum gn_assumption_kind)kind;
    if (gn_profile_get(db, "clock/nominal_ppb", text, sizeof text))
        assumption.nominal_ppb = (uint32_t)strtoul(text, NULL, 10);
    if (gn_profile_get(db, "clock/wander_ppb", text, sizeof text))
        assumption.wander_ppb = (uint32_t)strtoul(text, NULL, 10);
    return assumption;
}

static int write_results(sqlite3 *db, const struct gn_profile_clocks *list,
                         const struct gn_assumption *assumption, struct gn_error *err)
{
    gn_sql(db, NULL, "BEGIN", "");
    int code = gn_sql(db, err, "DELETE FROM clock_bound", "");
    if (code == 0)
        code = gn_sql(db, err, "DELETE FROM clock_refuted", "");
    if (code == 0)
        code = gn_sql(db, err,
                      "UPDATE clock_domain SET outside_lo_ns_per_tick = NULL, outside_hi_ns_per_tick = NULL,"
                      " width_ns = NULL, width_at_ticks = NULL",
                      "");
    if (code == 0)
        code = write_assumption(db, assumption, err);
    for (uint32_t i = 0; i < list->count && code == 0; i++)
        code = write_state(db, &list->rows[i], gn_clocks_state(list->clocks, i), err);
    gn_sql(db, NULL, code ? "ROLLBACK" : "COMMIT", "");
    return code;
}

int gn_profile_solve_clocks(sqlite3 *db, const struct gn_assumption *assumption, struct gn_error *err)
{
    struct gn_profile_clocks list;
    int code = gn_profile_read_clocks(db, &list, err);
    if (code == -ENODATA)
        return 0;
    if (code != 0)
        return code;
    code = gn_clocks_solve(list.clocks, assumption, err);
    if (code == 0)
        code = write_results(db, &list, assumption, err);
    gn_profile_clocks_clear(&list);
    return code;
}

/* ---- the bounds of one domain ---- */

static int read_points(sqlite3 *db, const char *domain, struct gn_breakpoint **points, size_t *count,
                       struct gn_error *err)
{
    size_t capacity = 0;
    sqlite3_stmt *query = gn_sql_query(db, err,
                                       "SELECT b.ticks, b.lo_ns, b.hi_ns FROM clock_bound b JOIN"
                                       " clock_domain d ON d.id = b.domain WHERE d.name = ? ORDER BY b.ticks",
                                       "s", domain);
    int code = query ? 0 : -EINVAL, step = SQLITE_DONE;
    while (code == 0 && (step = sqlite3_step(query)) == SQLITE_ROW) {
        if (sqlite3_column_int64(query, 0) < 0)
            code = damaged(err, domain, "bounds of negative readings");
        else if (!gn_grow(points, &capacity, *count, sizeof **points))
            code = gn_fail(err, -ENOMEM, "no memory for the bounds of %s", domain);
        else
            (*points)[(*count)++] =
                (struct gn_breakpoint){(uint64_t)sqlite3_column_int64(query, 0),
                                       sqlite3_column_int64(query, 1), sqlite3_column_int64(query, 2)};
    }
    if (code == 0 && step != SQLITE_DONE)
        code = gn_fail(err, -EINVAL, "the profile is damaged: %s", sqlite3_errmsg(db));
    sqlite3_finalize(query);
    return code;
}

static int read_outside(sqlite3 *db, const char *domain, struct gn_outside *outside, struct gn_error *err)
{
    sqlite3_stmt *query = gn_sql_query(db, err,
                                       "SELECT outside_lo_ns_per_tick, outside_hi_ns_per_tick"
                                       " FROM clock_domain WHERE name = ?",
                                       "s", domain);
    if (!query)
        return -EINVAL;
    int code = 0;
    if (sqlite3_step(query) == SQLITE_ROW) {
        bool unlimited = sqlite3_column_type(query, 1) == SQLITE_NULL;
        outside->rate_lo = sqlite3_column_double(query, 0);
        outside->rate_hi = unlimited ? INFINITY : sqlite3_column_double(query, 1);
        if (!(outside->rate_lo >= 0 && outside->rate_lo <= outside->rate_hi))
            code = damaged(err, domain, "rates that no clock has");
    }
    sqlite3_finalize(query);
    return code;
}

struct gn_bounds *gn_profile_bounds(sqlite3 *db, const char *domain, struct gn_error *err)
{
    struct gn_breakpoint *points = NULL;
    struct gn_outside outside = {0, INFINITY};
    size_t count = 0;
    struct gn_bounds *bounds = NULL;
    if (!has_domains(db)) {
        gn_fail(err, -ENODATA, "the profile says nothing of clocks");
        return NULL;
    }
    int code = read_points(db, domain, &points, &count, err);
    if (code == 0 && count == 0)
        code = gn_fail(err, -ENODATA, "nothing is known of the clock of %s against the others", domain);
    if (code == 0)
        code = read_outside(db, domain, &outside, err);
    if (code == 0)
        bounds = gn_bounds_new(points, count, &outside, err);
    free(points);
    return bounds;
}
