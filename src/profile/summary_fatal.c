/* profile/summary_fatal — which processes ended the run themselves, by an MPI error, MPI_Abort, or an exit
 * inside of a call; the others were taken down after that. */
#include "profile/shown.h"
#include "profile/statement.h"
#include "profile/summary.h"

#include <stdlib.h>
#include <string.h>

static char *copy(sqlite3_stmt *q, int column)
{
    const char *text = (const char *)sqlite3_column_text(q, column);
    return text ? strdup(text) : NULL;
}

static int64_t number(sqlite3_stmt *q, int column)
{
    return sqlite3_column_type(q, column) == SQLITE_NULL ? GN_LAST_UNKNOWN : sqlite3_column_int64(q, column);
}

/* What the thread was inside of is what the error was raised in. */
static void read_fatal(sqlite3 *db, struct gn_trouble_row *t)
{
    sqlite3_stmt *q = gn_sql_query(
        db, NULL,
        "WITH " GN_SHOWN
        "SELECT f.kind, f.thread, f.code, f.class, f.text, f.asks, f.peer, f.tag, f.in_world, a.name,"
        " coalesce(s.label, s.function), s.file, s.line FROM fatal f"
        " LEFT JOIN location l ON l.process = f.process AND l.thread = f.thread"
        " LEFT JOIN activity a ON a.id = l.last_activity LEFT JOIN shown c ON c.callpath = a.callpath"
        " LEFT JOIN site s ON s.id = c.site WHERE f.process = ?",
        "i", t->process);
    if (q && sqlite3_step(q) == SQLITE_ROW)
        t->fatal = (struct gn_fatal_row){.kind = copy(q, 0),
                                         .thread = sqlite3_column_int(q, 1),
                                         .has_code = sqlite3_column_type(q, 2) != SQLITE_NULL,
                                         .code = sqlite3_column_int(q, 2),
                                         .class_name = copy(q, 3),
                                         .text = copy(q, 4),
                                         .asks = copy(q, 5),
                                         .peer = number(q, 6),
                                         .tag = number(q, 7),
                                         .in_world = sqlite3_column_int(q, 8) != 0,
                                         .call = copy(q, 9),
                                         .function = copy(q, 10),
                                         .file = copy(q, 11),
                                         .line = sqlite3_column_int(q, 12)};
    sqlite3_finalize(q);
}

int gn_summary_blame(const struct gn_trouble_row *t)
{
    const char *kind = t->fatal.kind;
    return !kind ? 0 : strcmp(kind, "exit") == 0 ? 1 : 2;
}

void gn_summarise_fatal(sqlite3 *db, struct gn_summary *s)
{
    int most = 0;
    if (gn_sql_value(db, 0, "SELECT count(*) FROM sqlite_master WHERE name = 'fatal'", "") == 0)
        return;
    for (size_t i = 0; i < s->trouble_count; i++) {
        read_fatal(db, &s->troubles[i]);
        const int blame = gn_summary_blame(&s->troubles[i]);
        most = blame > most ? blame : most;
    }
    for (size_t i = 0; i < s->trouble_count; i++)
        s->troubles[i].victim = gn_summary_blame(&s->troubles[i]) < most;
}

void gn_summary_clear_fatal(struct gn_trouble_row *t)
{
    free(t->fatal.kind);
    free(t->fatal.class_name);
    free(t->fatal.text);
    free(t->fatal.asks);
    free(t->fatal.call);
    free(t->fatal.function);
    free(t->fatal.file);
}
