/*
 * check_run — holds a run's clocks against the truth, which is known because every host's clock was simulated
 * over the one counter of this machine.
 *
 *     check_run PROFILE COUNT KIND WANDER_PPB HOST=SPEC...    KIND: constant, within, wanders
 *     check_run --now                                          the counter's reading, for "origin="
 *
 * Two ways: the messages of the profile solved under the assumption given, and the bounds that are written in
 * it. COUNT random moments of each domain: during the run, before, after and far from it. Prints a line per
 * domain; ends with 1 when a truth is outside of its bounds, unless somebody on its way to the reference was
 * reported as refuted and what it fell back to is not true, either; and when a clock that steps or whose rate
 * runs away was not reported.
 */
#include "base/mix.h"
#include "exchange/simulated.h"
#include "clock/ticks.h"
#include "profile/clock.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct checker {
    struct gn_profile_clocks list;
    struct gn_simulated_clock *clocks; /* by domain */
    uint64_t first, last;              /* true ticks of the run */
    uint64_t count, state;
    int64_t mhz; /* frequency of the reference, in 1024ths of a Hz */
};

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "check_run: %s: %s\n", what, why);
    exit(2);
}

/* The true tick at which a clock first shows this much. */
static uint64_t when(const struct gn_simulated_clock *clock, uint64_t reading)
{
    uint64_t low = 0, high = UINT64_C(1) << 62;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (gn_simulated_reading(clock, middle) < reading)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Time of the reference in ns since its epoch, rounded down; the rest tells whether it was exact. */
static struct gn_interval truth(const struct checker *c, uint64_t t)
{
    __int128 since = gn_simulated_exact(&c->clocks[0], t) -
                     ((__int128)c->list.rows[0].epoch_ticks << GN_SIMULATED_FRACTION_BITS);
    __int128 scaled = since * 1000000000 * 1024, unit = (__int128)c->mhz << GN_SIMULATED_FRACTION_BITS;
    __int128 down = scaled / unit - (scaled % unit < 0);
    return (struct gn_interval){(int64_t)down, (int64_t)(down + (down * unit != scaled))};
}

static uint64_t moment(struct checker *c)
{
    uint64_t span = c->last - c->first, random = gn_mix_next(&c->state);
    switch (random >> 61) {
    case 0:
        return c->first - span / 2 + gn_mix_next(&c->state) % (span / 2);
    case 1:
        return c->last + gn_mix_next(&c->state) % (span / 2);
    case 2:
        return c->first + gn_mix_next(&c->state) % (100 * span) - 50 * span;
    default:
        return c->first + gn_mix_next(&c->state) % span;
    }
}

/* Returns how many are outside. */
static uint64_t try_bounds(struct checker *c, uint32_t domain, const struct gn_bounds *bounds, bool excused,
                           const char *which)
{
    uint64_t wrong = 0, inside = 0;
    double width = 0;
    for (uint64_t i = 0; i < c->count; i++) {
        uint64_t t = moment(c), ticks = gn_simulated_reading(&c->clocks[domain], t);
        struct gn_interval bound = gn_bounds_convert(bounds, ticks), exact = truth(c, t);
        if (t >= c->first && t < c->last) {
            width += (double)bound.hi_ns - (double)bound.lo_ns;
            inside++;
        }
        if (bound.lo_ns <= exact.lo_ns && exact.hi_ns <= bound.hi_ns)
            continue;
        if (wrong++ == 0 && !excused)
            printf("WRONG: %s: reading %" PRIu64 ": truth %" PRIi64 ", bounds %" PRIi64 " to %" PRIi64 "\n",
                   c->list.rows[domain].host, ticks, exact.lo_ns, bound.lo_ns, bound.hi_ns);
    }
    printf("%-10s %-8s %9" PRIu64 " readings %6" PRIu64 " outside%s, width in the run %.0f ns\n",
           c->list.rows[domain].host, which, c->count, wrong, excused ? " (refuted)" : "",
           width / (double)inside);
    return excused ? 0 : wrong;
}

/* Rates and sines are within what is assumed. */
static bool misbehaves(const struct gn_simulated_clock *clock)
{
    return clock->ramp_ppb_per_tick != 0 || clock->step_ticks != 0;
}

static bool holds(const struct checker *c, uint32_t domain, enum gn_assumption_kind kind)
{
    if (kind == GN_RATE_UNKNOWN)
        return c->clocks[domain].step_ticks >= 0 && c->clocks[0].step_ticks >= 0;
    return !misbehaves(&c->clocks[domain]) && !misbehaves(&c->clocks[0]);
}

/* Whether this domain or one that it is known through was reported, and rests on what is not true. */
static bool is_excused(const struct checker *c, uint32_t domain)
{
    const char *parent = c->list.rows[domain].parent;
    const struct gn_clock_state *state = gn_clocks_state(c->list.clocks, domain);
    if (state->refuted_count > 0 && !holds(c, domain, state->rests_on))
        return true;
    for (uint32_t i = 0; parent && i < c->list.count; i++)
        if (strcmp(c->list.rows[i].domain, parent) == 0)
            return is_excused(c, i);
    return false;
}

/* A clock that misbehaves in the middle of the run has to be reported. */
static uint64_t try_refutation(const struct checker *c, uint32_t domain)
{
    const struct gn_simulated_clock *clock = &c->clocks[domain];
    uint64_t margin = (uint64_t)(c->list.rows[0].def.hz / 4);
    uint64_t at = clock->origin_ticks + (uint64_t)clock->step_at_ticks;
    if (!misbehaves(clock))
        return 0;
    if (clock->step_ticks != 0 && (at < c->first + margin || at + margin > c->last)) {
        printf("WRONG: %s steps when no exchanges are made\n", c->list.rows[domain].host);
        return 1;
    }
    if (gn_clocks_state(c->list.clocks, domain)->refuted_count > 0)
        return 0;
    printf("WRONG: %s is not reported\n", c->list.rows[domain].host);
    return 1;
}

static uint64_t try_domains(struct checker *c, const struct gn_assumption *assumption, sqlite3 *db)
{
    struct gn_error err = {""};
    uint64_t wrong = 0;
    if (gn_clocks_solve(c->list.clocks, assumption, &err) != 0)
        fail("cannot solve", err.text);
    for (uint32_t i = 0; i < c->list.count; i++) {
        const struct gn_clock_state *state = gn_clocks_state(c->list.clocks, i);
        wrong += try_refutation(c, i);
        struct gn_bounds *written = db ? gn_profile_bounds(db, c->list.rows[i].domain, &err) : NULL;
        if (!state->reached) {
            printf("WRONG: %s is not reached\n", c->list.rows[i].host);
            wrong++;
            continue;
        }
        if (db && written)
            wrong += try_bounds(c, i, written, is_excused(c, i), "written");
        if (!db)
            wrong += try_bounds(c, i, state->bounds, is_excused(c, i), "solved");
        gn_bounds_free(written);
    }
    return wrong;
}

static void read_specs(struct checker *c, char **specs, int count)
{
    struct gn_error err = {""};
    c->clocks = calloc(c->list.count, sizeof *c->clocks);
    for (uint32_t i = 0; i < c->list.count; i++) {
        const char *host = c->list.rows[i].host, *spec = NULL;
        for (int k = 0; k < count; k++)
            if (strncmp(specs[k], host, strlen(host)) == 0 && specs[k][strlen(host)] == '=')
                spec = specs[k] + strlen(host) + 1;
        if (!spec)
            fail(host, "its clock is not given");
        if (gn_simulated_parse(&c->clocks[i], spec, c->list.rows[i].def.hz, &err) != 0)
            fail(spec, err.text);
    }
}

static struct gn_assumption assumption_of(const char *kind, const char *wander)
{
    struct gn_assumption assumption = gn_assumption_default();
    assumption.wander_ppb = (uint32_t)strtoul(wander, NULL, 10);
    if (!strcmp(kind, "constant"))
        assumption.kind = GN_RATE_CONSTANT;
    else if (!strcmp(kind, "within"))
        assumption.kind = GN_RATE_WITHIN;
    else if (strcmp(kind, "wanders") != 0)
        fail(kind, "expected is constant, within or wanders");
    return assumption;
}

int main(int argc, char **argv)
{
    struct checker c = {.state = 1};
    struct gn_error err = {""};
    sqlite3 *db;
    if (argc == 2 && !strcmp(argv[1], "--now")) {
        printf("%" PRIu64 "\n", gn_ticks());
        return 0;
    }
    if (argc < 6)
        fail("usage", "check_run PROFILE COUNT KIND WANDER_PPB HOST=SPEC... | check_run --now");
    if (sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
        fail(argv[1], sqlite3_errmsg(db));
    if (gn_profile_read_clocks(db, &c.list, &err) != 0)
        fail(argv[1], err.text);
    read_specs(&c, argv + 5, argc - 5);
    c.count = strtoull(argv[2], NULL, 10);
    c.mhz = llround(c.list.rows[0].def.hz * 1024);
    c.first = when(&c.clocks[0], c.list.rows[0].epoch_ticks);
    c.last = when(&c.clocks[0], c.list.rows[0].last_ticks);
    struct gn_assumption given = assumption_of(argv[3], argv[4]), written = gn_profile_assumption(db);
    uint64_t wrong = try_domains(&c, &given, NULL);
    wrong += try_domains(&c, &written, db);
    gn_profile_clocks_clear(&c.list);
    free(c.clocks);
    sqlite3_close(db);
    return wrong ? 1 : 0;
}
