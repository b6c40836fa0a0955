#include "profile/virtual.h"

#include "base/grow.h"
#include "profile/shown.h"
#include "profile/statement.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *last_part(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

static int compare(const void *left, const void *right)
{
    const struct gn_call_gone *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    const int order = strcmp(a->call, b->call);
    return order ? order : strcmp(last_part(a->file), last_part(b->file));
}

static const char *text(sqlite3_stmt *q, int column)
{
    const char *found = (const char *)sqlite3_column_text(q, column);
    return found ? found : "";
}

/* A node of the table; and what it is of. */
struct node {
    int64_t location, activity, total_ns;
    size_t of; /* in the list */
    double gone_ns;
};

struct nodes {
    struct node *items;
    size_t count, capacity;
};

static int read_nodes(sqlite3 *db, const struct gn_call_gone *list, size_t count, struct nodes *nodes,
                      struct gn_error *err)
{
    static const char calls[] =
        "WITH " GN_SHOWN "SELECT n.location, n.activity, n.total_ns, p.rank, a.name,"
        " CASE WHEN coalesce(s.line, 0) > 0 THEN s.file ELSE s.label END, coalesce(s.line, 0)"
        " FROM main.node n JOIN activity a ON a.id = n.activity JOIN location l ON l.id = n.location"
        " JOIN process p ON p.id = l.process LEFT JOIN shown c ON c.callpath = a.callpath"
        " LEFT JOIN site s ON s.id = c.site WHERE a.kind = 'mpi' ORDER BY n.location";
    sqlite3_stmt *q = gn_sql_query(db, err, calls, "");
    if (!q)
        return -EINVAL;
    while (sqlite3_step(q) == SQLITE_ROW) {
        const struct gn_call_gone wanted = {.rank = sqlite3_column_int(q, 3),
                                            .call = text(q, 4),
                                            .file = text(q, 5),
                                            .line = sqlite3_column_int(q, 6)};
        const struct gn_call_gone *found = bsearch(&wanted, list, count, sizeof *list, compare);
        if (!found)
            continue;
        if (!gn_grow(&nodes->items, &nodes->capacity, nodes->count, sizeof *nodes->items)) {
            sqlite3_finalize(q);
            return gn_fail(err, -ENOMEM, "no memory for what is gone of calls");
        }
        nodes->items[nodes->count++] = (struct node){sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
                                                     sqlite3_column_int64(q, 2), (size_t)(found - list), 0};
    }
    sqlite3_finalize(q);
    return 0;
}

/* What lines have lost, dealt to their nodes; none has less than nothing. */
static int deal(struct nodes *nodes, const struct gn_call_gone *list, size_t count)
{
    double *all_ns = calloc(count + 1, sizeof *all_ns);
    if (!all_ns)
        return -ENOMEM;
    for (size_t i = 0; i < nodes->count; i++)
        all_ns[nodes->items[i].of] += (double)nodes->items[i].total_ns;
    for (size_t i = 0; i < nodes->count; i++) {
        struct node *n = &nodes->items[i];
        const double all = all_ns[n->of], total = (double)n->total_ns;
        n->gone_ns = all > 0 ? fmin(list[n->of].gone_ns * total / all, total) : 0;
    }
    free(all_ns);
    return 0;
}

/* Of a location: nodes [first, end), what measuring has taken of it itself, and of its calls. */
struct share {
    size_t first, end;
    double own_ns, gone_ns;
    bool is_main;
};

/* What can still go of a node, or come back to it; of one of which nothing has gone, nothing. */
static double room_of(const struct node *n, bool is_more)
{
    return n->gone_ns == 0 ? 0 : is_more ? (double)n->total_ns - n->gone_ns : (double)n->total_ns;
}

/* The location's calls are shorter by so many ns in all: what is too much, or too little, is dealt to those
 * of which something is gone, or waits longer, by their time. */
static void settle(struct nodes *nodes, const struct share *share, double gone_ns)
{
    const double need = gone_ns - share->gone_ns;
    double room = 0;
    for (size_t i = share->first; i < share->end; i++)
        room += room_of(&nodes->items[i], need > 0);
    for (size_t i = share->first; i < share->end && room > 0; i++)
        nodes->items[i].gone_ns += fmax(fmin(need / room, 1), -1) * room_of(&nodes->items[i], need > 0);
}

/* Ranks end together, so each is as much earlier as they are in the mean: by its own cost, which is known
 * exactly, and by what is gone of its calls, which windows only estimate. Other threads wait no longer than
 * that leaves room. */
static void settle_all(struct nodes *nodes, const struct share *shares, size_t count)
{
    double earlier = 0, ranks = 0;
    for (size_t i = 0; i < count; i++)
        if (shares[i].is_main) {
            earlier += fmax(shares[i].own_ns + shares[i].gone_ns, 0);
            ranks++;
        }
    earlier /= fmax(ranks, 1);
    for (size_t i = 0; i < count; i++)
        if (shares[i].is_main || shares[i].own_ns + shares[i].gone_ns < 0)
            settle(nodes, &shares[i], shares[i].is_main ? earlier - shares[i].own_ns : -shares[i].own_ns);
}

static struct share share_of(sqlite3 *db, const struct nodes *nodes, size_t first)
{
    const int64_t location = nodes->items[first].location;
    struct share share = {.first = first, .end = first};
    for (; share.end < nodes->count && nodes->items[share.end].location == location; share.end++)
        share.gone_ns += nodes->items[share.end].gone_ns;
    share.own_ns = (double)gn_sql_value(db, 0, "SELECT sum(total_ns - own_ns) FROM edge WHERE location = ?",
                                        "i", location);
    share.is_main = gn_sql_value(db, 1, "SELECT thread FROM location WHERE id = ?", "i", location) == 0;
    return share;
}

static int fill(sqlite3 *db, struct nodes *nodes, struct gn_error *err)
{
    struct share *shares = calloc(nodes->count + 1, sizeof *shares);
    size_t count = 0;
    int code = shares ? 0 : gn_fail(err, -ENOMEM, "no memory for what is gone of calls");
    for (size_t i = 0; i < nodes->count && code == 0; i = shares[count++].end)
        shares[count] = share_of(db, nodes, i);
    if (code == 0)
        settle_all(nodes, shares, count);
    free(shares);
    for (size_t i = 0; i < nodes->count && code == 0; i++) {
        const struct node *n = &nodes->items[i];
        code = gn_sql(db, err, "UPDATE temp.node SET total_ns = ? WHERE location = ? AND activity = ?", "iii",
                      n->total_ns - (int64_t)llround(n->gone_ns), n->location, n->activity);
    }
    return code;
}

/* Lines of one name, of which there may be several in what was seen, are one. Their number. */
static size_t join(struct gn_call_gone *list, size_t count)
{
    size_t used = 0;
    if (count)
        qsort(list, count, sizeof *list, compare);
    for (size_t i = 0; i < count; i++)
        if (used && compare(&list[used - 1], &list[i]) == 0)
            list[used - 1].gone_ns += list[i].gone_ns;
        else
            list[used++] = list[i];
    return used;
}

int gn_profile_go_virtual(sqlite3 *db, struct gn_call_gone *list, size_t count, struct gn_error *err)
{
    static const char made[] = "CREATE TEMP TABLE node AS SELECT *, total_ns AS measured_ns FROM main.node;"
                               "CREATE UNIQUE INDEX temp.node_key ON node(location, activity)";
    struct nodes nodes = {.items = NULL};
    gn_sql_forget(db);
    count = join(list, count);
    if (sqlite3_exec(db, made, NULL, NULL, NULL) != SQLITE_OK)
        return gn_fail(err, gn_sql_errno(db), "cannot look at calls without what measuring has cost: %s",
                       sqlite3_errmsg(db));
    int code = read_nodes(db, list, count, &nodes, err);
    if (code == 0 && deal(&nodes, list, count) != 0)
        code = gn_fail(err, -ENOMEM, "no memory for what is gone of calls");
    if (code == 0)
        code = fill(db, &nodes, err);
    free(nodes.items);
    return code;
}

bool gn_profile_is_virtual(sqlite3 *db)
{
    return gn_sql_value(db, 0,
                        "SELECT count(*) FROM temp.sqlite_master WHERE name = 'node' AND type = 'table'",
                        "") > 0;
}

double gn_profile_own_share(sqlite3 *db)
{
    double share = 0;
    sqlite3_stmt *q = gn_sql_query(
        db, NULL, "SELECT max(probe_ns * 1.0 / elapsed_ns) FROM location WHERE elapsed_ns > 0", "");
    if (q && sqlite3_step(q) == SQLITE_ROW)
        share = sqlite3_column_double(q, 0);
    sqlite3_finalize(q);
    return share;
}
