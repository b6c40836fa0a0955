/* synth/synth — the source: settings checked, simulation driven, records turned into events. */
#include "synth/synth.h"

#include "base/mix.h"
#include "synth/patterns.h"
#include "synth/simulation.h"
#include "synth/skew.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_BATCH = 16384 };

/* What the last pull of a location gave; made at the first one. */
struct batch {
    struct gn_event *events;
    double *truth;
    uint32_t capacity; /* a multiple of the simulation's chunk_records */
    uint64_t last_ticks;
    double first_ns, last_ns; /* of all that was pulled */
};

struct synth {
    struct gn_sim sim;
    struct gn_skew *skews; /* [domain] */
    struct batch *batches; /* [location] */
};

struct gn_synth_settings gn_synth_defaults(void)
{
    return (struct gn_synth_settings){.pattern = "ring",
                                      .locations = 4,
                                      .events = 100000,
                                      .seed = 1,
                                      .domains = 1,
                                      .latency_ns = 2000,
                                      .compute_ns = 20000,
                                      .event_ns = 40,
                                      .imbalance = 0.1,
                                      .wander_period_s = 10,
                                      .fast_rank = GN_NONE};
}

/* ---- settings ---- */

static bool within(double value, double low, double high)
{
    return value >= low && value <= high; /* false for NaN */
}

static int check_shares(const struct gn_synth_settings *s, struct gn_error *err)
{
    if (!within(s->imbalance, 0, 1))
        return gn_fail(err, -EINVAL, "imbalance %g: a share between 0 and 1 is expected", s->imbalance);
    if (!within(s->unmatched, 0, 0.5))
        return gn_fail(err, -EINVAL, "unmatched %g: a share between 0 and 0.5 is expected", s->unmatched);
    if (!within(s->lost, 0, 0.9))
        return gn_fail(err, -EINVAL, "lost %g: a share between 0 and 0.9 is expected", s->lost);
    if (!within(s->fast_percent, -10000, 100))
        return gn_fail(err, -EINVAL, "faster by %g %%: -10000 (slower) to 100 is expected", s->fast_percent);
    return 0;
}

static int check_faster(const struct gn_synth_settings *s, struct gn_error *err)
{
    const char *other = gn_pattern_find(s->pattern)->computes, *region = s->fast_region;
    if (s->fast_rank != GN_NONE && s->fast_rank >= s->locations)
        return gn_fail(err, -EINVAL, "faster at rank %u: there are only ranks 0 to %u", s->fast_rank,
                       s->locations - 1);
    if (region && strcmp(region, "compute") != 0 && (!other || strcmp(region, other) != 0))
        return gn_fail(err, -EINVAL, "faster in \"%s\": the regions of %s that compute are compute%s%s",
                       region, s->pattern, other ? " and " : "", other ? other : "");
    return 0;
}

static int check_times(const struct gn_synth_settings *s, struct gn_error *err)
{
    if (!within(s->latency_ns, 0, 1e12) || !within(s->compute_ns, 0, 1e12))
        return gn_fail(err, -EINVAL, "latency %g ns, computation %g ns: 0 to 1000 s are expected",
                       s->latency_ns, s->compute_ns);
    if (!within(s->offset_ns, 0, 1e14))
        return gn_fail(err, -EINVAL, "offset %g ns: 0 to 100000 s are expected", s->offset_ns);
    if (!within(s->rate_ppm, 0, 1e5) || !within(s->wander_ppm, 0, 1e5))
        return gn_fail(err, -EINVAL, "rate %g ppm, wander %g ppm: 0 to 100000 ppm (10 %%) are expected",
                       s->rate_ppm, s->wander_ppm);
    if (!within(s->own_work_ns, 0, 1e9))
        return gn_fail(err, -EINVAL, "measuring costs %g ns: 0 to 1 s are expected", s->own_work_ns);
    if (!within(s->within_latency_ns, 0, 1e12) || !within(s->quiet_ns, 0, 1e14))
        return gn_fail(
            err, -EINVAL,
            "latency within a domain %g ns, quiet for %g ns: 0 to 1000 s and 0 to 100000 s are expected",
            s->within_latency_ns, s->quiet_ns);
    if (!within(s->event_ns, 1, 1e9))
        return gn_fail(err, -EINVAL, "%g ns between events: 1 ns to 1 s are expected", s->event_ns);
    if (!within(s->measure_error_ns, 0, 1e12) ||
        (s->measure_period_s != 0 && !within(s->measure_period_s, 1e-6, 1e9)))
        return gn_fail(err, -EINVAL,
                       "offsets measured to %g ns every %g s: 0 to 1000 s and 1 us to 1e9 s are expected",
                       s->measure_error_ns, s->measure_period_s);
    if (s->wander > GN_WANDER_STEP)
        return gn_fail(err, -EINVAL, "wander %u: there is no such kind", (unsigned)s->wander);
    if (s->wander != GN_WANDER_NONE && !within(s->wander_period_s, 1e-6, 1e9))
        return gn_fail(err, -EINVAL, "wander with a period of %g s: 1 us to 1e9 s are expected",
                       s->wander_period_s);
    return 0;
}

static int check(const struct gn_synth_settings *s, struct gn_error *err)
{
    enum { MOST = 100000 };
    if (!gn_pattern_find(s->pattern))
        return gn_fail(err, -EINVAL, "there is no pattern \"%s\"; `gnomon synth --list` shows them",
                       s->pattern ? s->pattern : "");
    if (s->locations < 1 || s->locations > MOST)
        return gn_fail(err, -EINVAL, "%u locations: 1 to %d are expected", s->locations, MOST);
    if (s->domains < 1 || s->domains > s->locations)
        return gn_fail(err, -EINVAL, "%u clock domains for %u locations: 1 to %u are expected", s->domains,
                       s->locations, s->locations);
    int code = check_times(s, err);
    if (code == 0)
        code = check_shares(s, err);
    return code != 0 ? code : check_faster(s, err);
}

/* ---- events ---- */

/* Makes batches longer where a location has fallen behind the others, so that pulls in turn bound queues. */
static bool make_room(struct synth *synth, struct batch *batch, uint64_t waiting)
{
    uint32_t capacity = batch->capacity ? batch->capacity : synth->sim.chunk_records;
    while (waiting > 4 * (uint64_t)capacity && capacity < LONGEST_BATCH)
        capacity *= 2;
    if (capacity == batch->capacity)
        return true;
    free(batch->events);
    free(batch->truth);
    batch->events = malloc(capacity * sizeof *batch->events);
    batch->truth = malloc(capacity * sizeof *batch->truth);
    batch->capacity = batch->events && batch->truth ? capacity : 0;
    return batch->capacity > 0;
}

/* A clock's reading never goes back: rounding could make it, by one tick between events that are closer. */
static uint64_t reading(struct batch *batch, const struct gn_skew *skew, double true_ns)
{
    uint64_t ticks = gn_skew_ticks(skew, true_ns);
    if (ticks < batch->last_ticks)
        ticks = batch->last_ticks;
    return batch->last_ticks = ticks;
}

static void fill(struct synth *synth, uint32_t location, uint32_t filled, const struct gn_sim_record *records,
                 uint32_t count)
{
    const struct gn_sim *sim = &synth->sim;
    const struct gn_skew *skew = &synth->skews[sim->definitions->locations[location].domain];
    struct batch *batch = &synth->batches[location];
    uint32_t own = sim->split ? 1 + location % sim->split : GN_NONE;
    for (uint32_t i = 0; i < count; i++) {
        const struct gn_sim_record *record = &records[i];
        struct gn_event *event = &batch->events[filled + i];
        *event = sim->forms[record->form];
        event->ticks = reading(batch, skew, record->true_ns);
        event->location = location;
        event->peer = record->peer;
        event->request = record->request;
        if (event->kind != GN_EVENT_NBC_REQUEST) { /* an archive has no place for its bytes */
            event->bytes_sent = record->sent;
            event->bytes_received = record->received;
        }
        if (event->comm == GN_SIM_COMM_OWN)
            event->comm = own;
        batch->truth[filled + i] = record->true_ns;
    }
    if (batch->last_ns < 0)
        batch->first_ns = records[0].true_ns;
    batch->last_ns = records[count - 1].true_ns;
}

/* Chunk after chunk, as long as another one is sure to fit. */
static uint32_t fill_batch(struct synth *synth, uint32_t location)
{
    struct gn_sim *sim = &synth->sim;
    struct gn_sim_chunk *chunk;
    uint32_t filled = 0, count;
    while (filled + sim->chunk_records <= synth->batches[location].capacity &&
           (count = gn_sim_take(sim, location, &chunk)) > 0) {
        fill(synth, location, filled, chunk->records, count);
        gn_sim_give_back(sim, chunk);
        filled += count;
    }
    return filled;
}

static int64_t pull(void *self, uint32_t location, const struct gn_event **events, struct gn_error *err)
{
    struct synth *synth = self;
    struct gn_sim *sim = &synth->sim;
    while (sim->ranks[location].waiting == 0 && !sim->no_memory)
        if (!gn_sim_advance(sim))
            return 0;
    if (sim->no_memory || !make_room(synth, &synth->batches[location], sim->ranks[location].waiting))
        return gn_fail(err, -ENOMEM, "no memory for more events of the simulation");
    *events = synth->batches[location].events;
    return fill_batch(synth, location);
}

/* ---- measured offsets ---- */

enum { MOST_OFFSETS = 1024 };

/* When a domain's first and last event happened. */
static void domain_span(const struct synth *synth, uint32_t domain, double *first_ns, double *last_ns)
{
    *first_ns = INFINITY;
    *last_ns = 0;
    for (uint32_t i = 0; i < synth->sim.count; i++) {
        if (synth->sim.definitions->locations[i].domain != domain)
            continue;
        *first_ns = fmin(*first_ns, synth->batches[i].first_ns);
        *last_ns = fmax(*last_ns, synth->batches[i].last_ns);
    }
}

/* How many measurements, at equal distances. */
static size_t measurements(const struct gn_synth_settings *s, double span_ns)
{
    double intervals = s->measure_period_s > 0 ? ceil(span_ns / (s->measure_period_s * 1e9)) : 1;
    return 1 + (size_t)fmax(1, fmin(intervals, MOST_OFFSETS - 1));
}

/* Of the first domain's clock minus this one's, at one instant; rounding both readings is an error, too. */
static struct gn_clock_offset measure(const struct synth *synth, uint32_t domain, size_t number, double ns,
                                      double bend_ns)
{
    const struct gn_synth_settings *s = &synth->sim.settings;
    uint64_t ticks = gn_skew_ticks(&synth->skews[domain], ns);
    double error = 2 * gn_mix_unit(gn_mix_at(s->seed, 0x6d656173u + domain, number)) - 1;
    int64_t offset = (int64_t)(gn_skew_ticks(&synth->skews[0], ns) - ticks);
    if (domain == 0)
        return (struct gn_clock_offset){ticks, 0, 0};
    return (struct gn_clock_offset){ticks, offset + llround(error * s->measure_error_ns),
                                    s->measure_error_ns + bend_ns + 2};
}

static int measure_domain(struct synth *synth, uint32_t domain, double first_ns, double last_ns)
{
    const struct gn_synth_settings *s = &synth->sim.settings;
    struct gn_definitions *d = synth->sim.definitions;
    size_t count = measurements(s, last_ns - first_ns);
    double step_ns = (last_ns - first_ns) / (double)(count - 1), bend_ns = 0;
    struct gn_clock_offset *offsets = malloc(count * sizeof *offsets);
    if (!offsets)
        return -ENOMEM;
    if (s->measure_period_s > 0) /* a little more: the line is one over readings and not over true time */
        bend_ns =
            1.01 * (gn_skew_bend(&synth->skews[domain], step_ns) + gn_skew_bend(&synth->skews[0], step_ns));
    for (size_t i = 0; i < count; i++)
        offsets[i] =
            measure(synth, domain, i, i + 1 < count ? first_ns + (double)i * step_ns : last_ns, bend_ns);
    uint32_t clock = gn_define_clock(d, &(struct gn_offsets_def){offsets, count});
    free(offsets);
    for (uint32_t i = 0; i < synth->sim.count; i++)
        if (d->locations[i].domain == domain)
            d->locations[i].clock = clock;
    return clock == GN_NONE ? -ENOMEM : 0;
}

/* Of a clock against another when both are within ± ppm of the truth. */
static double against_another_ppb(double ppm)
{
    const double share = ppm * 1e-6;
    return ceil(2 * share / (1 - share) * 1e9);
}

/* What the bounds rest on: rates against the first domain's clock, which is wrong, too. */
static void name_bounds(struct synth *synth)
{
    const struct gn_synth_settings *s = &synth->sim.settings;
    char text[96];
    double wander = s->wander == GN_WANDER_NONE ? 0 : s->wander_ppm;
    snprintf(text, sizeof text, "within nominal_ppb=%.0f wander_ppb=%.0f",
             against_another_ppb(s->rate_ppm + wander), against_another_ppb(wander));
    synth->sim.definitions->clock_bounds = gn_define_string(synth->sim.definitions, text);
}

int gn_synth_measure(struct gn_source *source, struct gn_error *err)
{
    struct synth *synth = source->self;
    struct gn_definitions *d = synth->sim.definitions;
    double first_ns, last_ns, end_ns = 0;
    int code = 0;
    for (uint32_t i = 0; i < synth->sim.settings.domains && code == 0; i++) {
        domain_span(synth, i, &first_ns, &last_ns);
        end_ns = fmax(end_ns, last_ns);
        code = measure_domain(synth, i, first_ns, last_ns);
    }
    d->length_ticks = gn_skew_ticks(&synth->skews[0], end_ns) +
                      (uint64_t)ceil(synth->sim.settings.measure_error_ns) + 1 - d->first_ticks;
    if (code == 0 && synth->sim.settings.measure_period_s > 0)
        name_bounds(synth);
    return code == 0 && d->clock_bounds != GN_NONE ? 0 : gn_fail(err, -ENOMEM, "no memory for clock offsets");
}

/* ---- open and close ---- */

static void synth_close(void *self)
{
    struct synth *synth = self;
    for (uint32_t i = 0; synth->batches && i < synth->sim.count; i++) {
        free(synth->batches[i].events);
        free(synth->batches[i].truth);
    }
    free(synth->batches);
    free(synth->skews);
    gn_sim_close(&synth->sim);
    free(synth);
}

static int set_up(struct synth *synth, const struct gn_synth_settings *settings, struct gn_error *err)
{
    int code = gn_sim_open(&synth->sim, settings, gn_pattern_find(settings->pattern), err);
    if (code != 0)
        return code;
    synth->skews = malloc(settings->domains * sizeof *synth->skews);
    synth->batches = calloc(settings->locations, sizeof *synth->batches);
    if (!synth->skews || !synth->batches)
        return gn_fail(err, -ENOMEM, "no memory for %u simulated locations", settings->locations);
    for (uint32_t i = 0; i < settings->domains; i++)
        synth->skews[i] = gn_skew_of(settings, i);
    for (uint32_t i = 0; i < settings->locations; i++)
        synth->batches[i].last_ns = -1;
    synth->sim.definitions->ticks_per_second = 1000000000;
    synth->sim.definitions->first_ticks =
        GN_SKEW_BASE_TICKS - (uint64_t)ceil(settings->offset_ns + settings->measure_error_ns);
    return 0;
}

int gn_synth_open(struct gn_source *source, const struct gn_synth_settings *settings, struct gn_error *err)
{
    int code = check(settings, err);
    if (code != 0)
        return code;
    struct synth *synth = calloc(1, sizeof *synth);
    if (!synth)
        return gn_fail(err, -ENOMEM, "no memory for a simulation");
    code = set_up(synth, settings, err);
    if (code != 0) {
        synth_close(synth);
        return code;
    }
    *source = (struct gn_source){synth, synth->sim.definitions, pull, synth_close};
    return 0;
}

const double *gn_synth_truth(const struct gn_source *source, uint32_t location)
{
    const struct synth *synth = source->self;
    return synth->batches[location].truth;
}

uint64_t gn_synth_waiting(const struct gn_source *source)
{
    const struct synth *synth = source->self;
    uint64_t waiting = 0;
    for (uint32_t i = 0; i < synth->sim.count; i++)
        waiting += synth->sim.ranks[i].waiting;
    return waiting;
}
