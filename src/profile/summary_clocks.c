/* profile/summary_clocks — what a report says of the clocks of a run's hosts. */
#include "profile/clock.h"
#include "profile/statement.h"
#include "profile/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *copy(sqlite3_stmt *q, int column)
{
    const char *text = (const char *)sqlite3_column_text(q, column);
    return text ? strdup(text) : NULL;
}

/* The reference first, then the others by name. The moment of the widest bounds is counted from the agent's
 * start by the domain's own counter: near enough for a report. */
static const char domains[] =
    "SELECT d.name, d.parent, d.counter, d.problem, d.rests_on, d.shared, d.cores, d.shared_width_ns, "
    "d.reached,"
    " d.rate_lo_ppb, d.rate_hi_ppb, d.asked, d.answered, d.narrowed, d.refused, d.width_ns,"
    " (d.width_at_ticks - d.epoch_ticks) / d.hz, r.assumption, r.seen_ppb, r.allowed_ppb, d.untried, h.name, "
    "d.mixed"
    " FROM clock_domain d JOIN host h ON h.id = d.host AND typeof(h.name) = 'text' LEFT JOIN (SELECT domain, "
    "assumption, "
    "min(seen_ppb) AS seen_ppb, allowed_ppb"
    " FROM clock_refuted GROUP BY domain) r ON r.domain = d.id"
    " ORDER BY d.reached DESC, d.parent IS NOT NULL, d.name";

static void take(sqlite3_stmt *q, struct gn_clock_fact *fact)
{
    *fact = (struct gn_clock_fact){.domain = copy(q, 0),
                                   .host = copy(q, 21),
                                   .mixed = sqlite3_column_int(q, 22) != 0,
                                   .parent = copy(q, 1),
                                   .counter = copy(q, 2),
                                   .problem = copy(q, 3),
                                   .rests_on = copy(q, 4),
                                   .shared = sqlite3_column_int(q, 5) != 0,
                                   .cores = sqlite3_column_int(q, 6),
                                   .untried = sqlite3_column_int(q, 20),
                                   .shared_width_ns = sqlite3_column_double(q, 7),
                                   .reached = sqlite3_column_int(q, 8) != 0,
                                   .rate_lo_ppb = sqlite3_column_double(q, 9),
                                   .rate_hi_ppb = sqlite3_column_double(q, 10),
                                   .asked = sqlite3_column_int64(q, 11),
                                   .answered = sqlite3_column_int64(q, 12),
                                   .narrowed = sqlite3_column_int64(q, 13),
                                   .refused = sqlite3_column_int64(q, 14),
                                   .width_ns = sqlite3_column_int64(q, 15),
                                   .width_at_s = sqlite3_column_double(q, 16),
                                   .refuted = copy(q, 17),
                                   .seen_ppb = sqlite3_column_double(q, 18),
                                   .allowed_ppb = sqlite3_column_double(q, 19)};
}

/* "1, 3, 5"; no longer than fits. */
static void list_ranks(sqlite3 *db, char *text, size_t size)
{
    size_t used = 0;
    sqlite3_stmt *q =
        gn_sql_query(db, NULL,
                     "SELECT DISTINCT p.rank FROM process p WHERE p.clock_domain IS NULL AND p.rank >= 0"
                     " AND EXISTS (SELECT 1 FROM location l WHERE l.process = p.id)"
                     " AND EXISTS (SELECT 1 FROM clock_domain d WHERE d.host = p.host) ORDER BY p.rank",
                     "");
    text[0] = '\0';
    while (q && sqlite3_step(q) == SQLITE_ROW && used < size - 16)
        used += (size_t)snprintf(text + used, size - used, used ? ", %d" : "%d", sqlite3_column_int(q, 0));
    if (used >= size - 16)
        snprintf(text + used, size - used, ", ...");
    sqlite3_finalize(q);
}

void gn_summarise_clocks(sqlite3 *db, struct gn_summary *s)
{
    s->assumption = gn_profile_assumption(db);
    size_t capacity = (size_t)gn_sql_value(db, 0, "SELECT count(*) FROM clock_domain", "");
    s->clocks = capacity ? calloc(capacity, sizeof *s->clocks) : NULL;
    sqlite3_stmt *q = s->clocks ? gn_sql_query(db, NULL, domains, "") : NULL;
    while (q && s->clock_count < capacity && sqlite3_step(q) == SQLITE_ROW)
        take(q, &s->clocks[s->clock_count++]);
    sqlite3_finalize(q);
    if (s->clock_count)
        list_ranks(db, s->ranks_without_clock, sizeof s->ranks_without_clock);
}

void gn_summary_clear_clocks(struct gn_summary *s)
{
    for (size_t i = 0; i < s->clock_count; i++) {
        free(s->clocks[i].domain);
        free(s->clocks[i].host);
        free(s->clocks[i].parent);
        free(s->clocks[i].counter);
        free(s->clocks[i].problem);
        free(s->clocks[i].rests_on);
        free(s->clocks[i].refuted);
    }
    free(s->clocks);
}
