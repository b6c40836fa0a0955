#include "analyse/known_bounds.h"

#include "base/printable.h"
#include "trace/run_of_trace.h"
#include "profile/profile.h"
#include "profile/statement.h"
#include "trace/clock_offsets.h"
#include "trace/vocabulary.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the archive says that its offsets' deviations are bounds. */
static bool has_own(const struct gn_definitions *d)
{
    const char *bounds = gn_string(d, d->clock_bounds);
    return bounds[0] && strcmp(bounds, GN_CLOCK_BOUNDS_COARSE) != 0;
}

static int no_memory(struct gn_error *err)
{
    return gn_fail(err, -ENOMEM, "no memory for the bounds of the trace's clocks");
}

static int take_own(struct gn_known_bounds *k, const struct gn_definitions *d, struct gn_error *err)
{
    k->own = calloc(d->clock_count + 1, sizeof(struct gn_bounds *));
    if (!k->own)
        return no_memory(err);
    k->own_count = d->clock_count;
    for (uint32_t i = 1; i < d->clock_count; i++)
        k->own[i] = gn_clock_offsets_bounds(d, i, NULL); /* NULL: nothing is known of it */
    for (size_t i = 0; i < d->location_count; i++)
        k->events.of[i] = d->locations[i].clock < k->own_count ? k->own[d->locations[i].clock] : NULL;
    return 0;
}

static int solve(struct gn_known_bounds *k, const char *path, const struct gn_definitions *d,
                 struct gn_error *err)
{
    const struct gn_assumption assumption = gn_assumption_default();
    int code = gn_trace_clocks(&k->clocks, path, &assumption, err);
    for (size_t i = 0; code == 0 && i < d->location_count && i < k->clocks.location_count; i++)
        if (k->clocks.domain_of[i] != GN_NONE)
            k->events.of[i] = gn_clocks_state(k->clocks.clocks, k->clocks.domain_of[i])->bounds;
    return code;
}

int gn_known_bounds(struct gn_known_bounds *known, const char *path, const struct gn_definitions *definitions,
                    struct gn_error *err)
{
    *known = (struct gn_known_bounds){.own = NULL};
    known->events.of = calloc(definitions->location_count + 1, sizeof(const struct gn_bounds *));
    if (!known->events.of)
        return no_memory(err);
    known->events.count = definitions->location_count;
    int code =
        has_own(definitions) ? take_own(known, definitions, err) : solve(known, path, definitions, err);
    if (code < 0)
        gn_known_bounds_clear(known);
    return code;
}

/* Bounds that an archive carries were solved when the run ended, and what was refuted then stands in the
 * run's profile, where that lies beside the archive. */
static bool is_refuted_in_run(const char *path)
{
    char profile[PATH_MAX + 24];
    sqlite3 *db;
    if (!gn_run_of_trace(path, profile, sizeof profile) || gn_profile_open(&db, profile, NULL) != 0)
        return false;
    const bool is = gn_sql_value(db, 0, "SELECT count(*) FROM clock_refuted", "") > 0;
    gn_profile_close(db);
    return is;
}

bool gn_known_bounds_refuted(const struct gn_known_bounds *known, const char *path)
{
    if (known->own)
        return is_refuted_in_run(path);
    for (uint32_t i = 0; i < known->clocks.count; i++)
        if (gn_clocks_state(known->clocks.clocks, i)->refuted_count)
            return true;
    return false;
}

static void tell_domain(const struct gn_known_bounds *k, uint32_t domain, const char *command)
{
    const struct gn_clock_state *state = gn_clocks_state(k->clocks.clocks, domain);
    char name[256], reference[256];
    gn_printable_copy(name, sizeof name, k->clocks.names[domain]);
    gn_printable_copy(reference, sizeof reference, k->clocks.names[0]);
    if (!state->bounds)
        fprintf(stderr,
                "gnomon %s: no messages in both directions connect the clock of %s with that of %s: its "
                "events have no bounds\n",
                command, name, reference);
    for (int i = 0; i < state->refuted_count; i++)
        fprintf(stderr,
                "gnomon %s: the messages contradict what was assumed of the clock of %s: its rate changes by "
                "%.3f ppm and not by at most %.3f ppm; a weaker assumption is used for it\n",
                command, name, state->refuted[i].seen_ppb / 1000, state->refuted[i].allowed_ppb / 1000);
}

void gn_known_bounds_tell(const struct gn_known_bounds *known, const char *command)
{
    for (uint32_t i = 0; i < known->clocks.count; i++)
        tell_domain(known, i, command);
    size_t missing = 0;
    for (size_t i = 0; i < known->events.count; i++)
        missing += known->own ? known->events.of[i] == NULL
                              : i < known->clocks.location_count && known->clocks.domain_of[i] == GN_NONE;
    if (missing)
        fprintf(stderr, "gnomon %s: the trace does not bound the clocks of %zu of its %zu locations\n",
                command, missing, known->events.count);
}

void gn_known_bounds_clear(struct gn_known_bounds *known)
{
    for (size_t i = 0; known->own && i < known->own_count; i++)
        gn_bounds_free(known->own[i]);
    free(known->own);
    free(known->events.of);
    gn_trace_clocks_clear(&known->clocks);
    *known = (struct gn_known_bounds){.own = NULL};
}
