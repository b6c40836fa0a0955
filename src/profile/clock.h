/*
 * profile/clock — what a profile knows of the clocks of a run's hosts: tables clock_domain, clock_message,
 * clock_refuted, clock_bound, and clock_exchange where they were to be kept. docs/profile-format.md has the
 * columns.
 */
#ifndef GNOMON_PROFILE_CLOCK_H
#define GNOMON_PROFILE_CLOCK_H

#include "base/error.h"
#include "clock/clocks.h"
#include "clock/exchange.h"

#include <sqlite3.h>
#include <stdbool.h>

/* One domain: as a rule a host. Strings are the caller's when written, the profile's when read. */
struct gn_clock_row {
    const char *domain, *parent; /* names; parent NULL for the reference */
    const char *host;            /* the name in table host */
    struct gn_clock_def def;
    uint64_t epoch_ticks;   /* reading at the agent's start; the reference's is 0 ns */
    uint64_t last_ticks;    /* reading when this was written: all events lie between the two */
    const char *counter;    /* "tsc", "cntvct", "monotonic_raw"; with " (simulated)" in tests */
    bool shared;            /* the cores were verified to share the counter */
    unsigned cores;         /* how many of them */
    unsigned untried;       /* how many could not be tried in time */
    double shared_width_ns; /* how well */
    uint64_t asked, answered, narrowed, refused;
    const char *problem; /* NULL: none */
    /* Which of several counters was read is not known: what was measured is kept, nothing follows from it. */
    bool mixed;
    bool whole; /* read: all processes of the host that were measured have their times on it */
};

/* Adds a domain with the messages that `clocks` kept between its parent (0) and it (1); clocks may be NULL.
 */
int gn_profile_add_clock(sqlite3 *db, const struct gn_clock_row *row, const struct gn_clocks *clocks,
                         struct gn_error *err);
/* Times of the process are on this domain; NULL: on none that is known. */
int gn_profile_set_process_clock(sqlite3 *db, const char *host, int pid, const char *domain,
                                 struct gn_error *err);
int gn_profile_add_exchanges(sqlite3 *db, const char *domain, const struct gn_exchange *exchanges,
                             size_t count, struct gn_error *err);
/* Exchanges of the domain with its parent that were kept one by one, in the order of asking. *exchanges is
 * the caller's to free; NULL where there are none. */
int gn_profile_read_exchanges(sqlite3 *db, const char *domain, struct gn_exchange **exchanges, size_t *count,
                              struct gn_error *err);

/* Reads all domains and their messages, except those of domains that are mixed. The reference is 0 (the one
 * without a parent; of several, which were never compared, the one of the host with the lowest rank), the
 * others are in order of their distance from it; those that nothing connects with it come last. -ENODATA: the
 * profile has none, or the part with the reference is missing; -EINVAL: it makes no sense, and err says what.
 */
struct gn_profile_clocks {
    struct gn_clocks *clocks; /* not solved */
    struct gn_clock_row *rows;
    uint32_t count;
};
int gn_profile_read_clocks(sqlite3 *db, struct gn_profile_clocks *list, struct gn_error *err);
void gn_profile_clocks_clear(struct gn_profile_clocks *list);

/* Solves under the assumption and writes clock_bound, clock_refuted and the results in clock_domain anew.
 * Nothing to do in a profile without domains. */
int gn_profile_solve_clocks(sqlite3 *db, const struct gn_assumption *assumption, struct gn_error *err);

/* What the bounds in the profile were solved under; the default when they have not been yet. */
struct gn_assumption gn_profile_assumption(sqlite3 *db);

/* The name of an assumption as it stands in the tables: "constant", "within", "wanders", "unknown". */
const char *gn_assumption_name(enum gn_assumption_kind kind);

/* The bounds of one domain as they were written; NULL when it has none. */
struct gn_bounds *gn_profile_bounds(sqlite3 *db, const char *domain, struct gn_error *err);

#endif
