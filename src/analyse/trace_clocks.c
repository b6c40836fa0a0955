#include "analyse/trace_clocks.h"

#include "profile/clock.h"
#include "profile/profile.h"
#include "trace/archive.h"
#include "trace/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- domains ---- */

static int no_memory(struct gn_error *err)
{
    return gn_fail(err, -ENOMEM, "no memory for the clocks of the trace");
}

static uint32_t rank_zero(const struct gn_definitions *d)
{
    for (size_t i = 0; i < d->process_count; i++)
        if (d->processes[i].rank == 0 && d->processes[i].main_location != GN_NONE)
            return d->processes[i].main_location;
    return 0;
}

/* Numbers the domains that have locations, the reference's first. Returns how many. */
static uint32_t number_domains(const struct gn_definitions *d, uint32_t *number)
{
    const size_t most = d->system_node_count + d->process_count;
    uint32_t count = 0;
    for (size_t i = 0; i < most; i++)
        number[i] = GN_NONE;
    if (d->location_count)
        number[d->locations[rank_zero(d)].domain] = count++;
    for (size_t i = 0; i < d->location_count; i++)
        if (number[d->locations[i].domain] == GN_NONE)
            number[d->locations[i].domain] = count++;
    return count;
}

static int name_domains(struct gn_trace_clocks *c, const struct gn_definitions *d, const uint32_t *number)
{
    c->names = calloc(c->count + 1, sizeof *c->names);
    c->domain_of = calloc(d->location_count + 1, sizeof *c->domain_of);
    if (!c->names || !c->domain_of)
        return -ENOMEM;
    for (size_t i = 0; i < d->location_count; i++) {
        uint32_t domain = number[d->locations[i].domain];
        c->domain_of[i] = domain;
        if (!c->names[domain])
            c->names[domain] = strdup(gn_domain_name(d, d->locations[i].domain));
        if (!c->names[domain])
            return -ENOMEM;
    }
    c->location_count = d->location_count;
    return 0;
}

/* ---- how fine a clock is ---- */

/* Two readings of a clock that differ do so by a step of it at least. In the archive's unit they may have
 * been rounded down from a finer one or a coarser one: the difference can be short by less than one, and the
 * later reading behind its moment by less than another. */
static uint64_t smallest_step(const struct gn_event *events, int64_t count, uint64_t smallest)
{
    for (int64_t i = 1; i < count; i++) {
        uint64_t a = events[i - 1].ticks, b = events[i].ticks, step = a > b ? a - b : b - a;
        if (step > 0 && step < smallest)
            smallest = step;
    }
    return smallest;
}

static const struct gn_clock_row *row_of(const struct gn_profile_clocks *run, const char *host)
{
    for (uint32_t i = 0; i < run->count; i++)
        if (strcmp(run->rows[i].host, host) == 0)
            return &run->rows[i];
    return NULL;
}

/* What the run knows of the host's counter, else what the archive says, and its events show. */
static struct gn_clock_def def_of(const struct gn_trace_clocks *c, const struct gn_definitions *d,
                                  uint32_t domain, uint64_t step)
{
    const struct gn_clock_row *row = row_of(&c->run, c->names[domain]);
    return row ? row->def : (struct gn_clock_def){(double)d->ticks_per_second, step + 2};
}

/* From the first events of each location. Adds the domains. */
static int add_domains(struct gn_trace_clocks *c, struct gn_source *source, struct gn_error *err)
{
    const struct gn_definitions *d = source->definitions;
    uint64_t *steps = malloc((c->count + 1) * sizeof *steps);
    for (uint32_t i = 0; steps && i < c->count; i++)
        steps[i] = d->ticks_per_second ? d->ticks_per_second : 1;
    int64_t count = steps ? 0 : no_memory(err);
    for (uint32_t l = 0; l < d->location_count && count >= 0; l++) {
        const struct gn_event *events;
        count = source->pull(source->self, l, &events, err);
        if (count > 0)
            steps[c->domain_of[l]] = smallest_step(events, count, steps[c->domain_of[l]]);
    }
    for (uint32_t i = 0; i < c->count && count >= 0; i++) {
        const struct gn_clock_def def = def_of(c, d, i, steps[i]);
        if (gn_clocks_add(c->clocks, &def) != i)
            count = no_memory(err);
    }
    free(steps);
    return count < 0 ? (int)count : 0;
}

/* ---- the run's exchanges ---- */

/* RUN/trace/traces.otf2 has RUN/profile.db beside it. A profile that cannot be read says nothing. */
static void read_run(struct gn_trace_clocks *c, const char *path)
{
    struct gn_archive archive;
    sqlite3 *db;
    char profile[PATH_MAX + 16];
    if (gn_archive_find(&archive, path, NULL) != 0)
        return;
    char *file = strrchr(archive.anchor, '/');
    snprintf(profile, sizeof profile, "%.*s/../profile.db", file ? (int)(file - archive.anchor) : 1,
             file ? archive.anchor : ".");
    if (access(profile, R_OK) != 0 || gn_profile_open(&db, profile, NULL) != 0)
        return;
    if (gn_profile_read_clocks(db, &c->run, NULL) != 0)
        c->run = (struct gn_profile_clocks){NULL, NULL, 0};
    gn_profile_close(db);
}

struct exchanged {
    struct gn_trace_clocks *c;
    uint32_t from, to;
    int code;
};

static void add_exchanged(void *context, uint64_t sent_ticks, uint64_t received_ticks)
{
    struct exchanged *x = context;
    int code = gn_clocks_message(x->c->clocks, x->from, sent_ticks, x->to, received_ticks);
    x->code = x->code ? x->code : code;
    x->c->exchanged++;
}

static uint32_t domain_named(const struct gn_trace_clocks *c, const char *host)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (strcmp(c->names[i], host) == 0)
            return i;
    return GN_NONE;
}

static int add_run(struct gn_trace_clocks *c, struct gn_error *err)
{
    struct exchanged x = {.c = c};
    for (uint32_t from = 0; from < c->run.count; from++)
        for (uint32_t to = 0; to < c->run.count; to++) {
            x.from = domain_named(c, c->run.rows[from].host);
            x.to = domain_named(c, c->run.rows[to].host);
            if (x.from != x.to && x.from != GN_NONE && x.to != GN_NONE)
                gn_clocks_each_kept(c->run.clocks, from, to, add_exchanged, &x);
        }
    return x.code ? no_memory(err) : 0;
}

/* ---- all ---- */

/* The begin of the trace as the reference's clock showed it, as far as the archive knows. */
static uint64_t begin_of(const struct gn_definitions *d)
{
    const uint32_t clock = d->location_count ? d->locations[rank_zero(d)].clock : 0;
    const struct gn_offsets_def *offsets = &d->clocks[clock];
    return d->first_ticks - (offsets->count ? (uint64_t)offsets->offsets[0].offset_ticks : 0);
}

static int prepare(struct gn_trace_clocks *c, struct gn_source *source, struct gn_error *err)
{
    const struct gn_definitions *d = source->definitions;
    uint32_t *number = calloc(d->system_node_count + d->process_count + 1, sizeof *number);
    c->clocks = gn_clocks_new(0);
    if (number)
        c->count = number_domains(d, number);
    int code = number && c->clocks ? name_domains(c, d, number) : -ENOMEM;
    free(number);
    if (code != 0)
        return no_memory(err);
    c->first_ticks = begin_of(d);
    gn_clocks_set_epoch(c->clocks, c->first_ticks);
    return add_domains(c, source, err);
}

static int with_source(const char *path, struct gn_trace_clocks *c,
                       int (*what)(struct gn_trace_clocks *c, struct gn_source *source, struct gn_error *err),
                       struct gn_error *err)
{
    struct gn_source source;
    int code = gn_trace_open(&source, NULL, path, err);
    if (code < 0)
        return code;
    code = what(c, &source, err);
    source.close(source.self);
    return code;
}

/* Archives do not say on which of a host's counters a process was. */
static void forget_torn_hosts(struct gn_trace_clocks *c)
{
    for (size_t i = 0; i < c->location_count; i++) {
        const struct gn_clock_row *row = row_of(&c->run, c->names[c->domain_of[i]]);
        if (row && !row->whole)
            c->domain_of[i] = GN_NONE;
    }
}

static int learn(struct gn_trace_clocks *c, struct gn_source *source, struct gn_error *err)
{
    return gn_clock_facts(source, c->domain_of, c->clocks, &c->facts, err);
}

int gn_trace_clocks(struct gn_trace_clocks *clocks, const char *path, const struct gn_assumption *assumption,
                    struct gn_error *err)
{
    *clocks = (struct gn_trace_clocks){0};
    read_run(clocks, path);
    int code = with_source(path, clocks, prepare, err);
    if (code == 0)
        code = add_run(clocks, err);
    if (code == 0)
        forget_torn_hosts(clocks);
    if (code == 0 && clocks->count > 1)
        code = with_source(path, clocks, learn, err);
    if (code == 0)
        code = gn_clocks_solve(clocks->clocks, assumption, err);
    if (code < 0)
        gn_trace_clocks_clear(clocks);
    return code;
}

void gn_trace_clocks_clear(struct gn_trace_clocks *clocks)
{
    for (uint32_t i = 0; clocks->names && i < clocks->count; i++)
        free(clocks->names[i]);
    free(clocks->names);
    free(clocks->domain_of);
    gn_clocks_free(clocks->clocks);
    gn_profile_clocks_clear(&clocks->run);
    *clocks = (struct gn_trace_clocks){0};
}
