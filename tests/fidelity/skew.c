/*
 * skew ARCHIVE OUT NANOSECONDS SEED — an archive again as if each process's clock had been up to so many
 * nanoseconds ahead or behind, and beside it the true times (docs/true-times.md): those that it has now. So
 * the trace of a real program, with threads, has a truth, too: once its times contradict nothing, they could
 * be those of a run.
 */
#include "synth/truth.h"
#include "trace/reader.h"
#include "trace/retime.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_PROCESSES = 1024 };

struct skewing {
    struct gn_source source;
    struct gn_retime *retime;
    struct gn_truth *truth;
    double ahead_ns[MOST_PROCESSES]; /* of each process's clock */
    struct gn_retime_range range;
    struct gn_error err;
};

static void must(int code, const struct skewing *s)
{
    if (code >= 0)
        return;
    fprintf(stderr, "skew: %s\n", s->err.text);
    exit(1);
}

static uint64_t ahead(void *self, uint64_t record, uint64_t ticks)
{
    (void)record;
    return ticks + *(const uint64_t *)self;
}

/* Nanoseconds, until the archive's ticks are known. */
static void throw_dice(struct skewing *s, double most_ns, uint64_t seed)
{
    for (size_t p = 0; p < MOST_PROCESSES; p++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        s->ahead_ns[p] = (double)(seed >> 33) / (double)(1u << 31) * 2 * most_ns;
    }
}

static uint64_t ahead_of(const struct skewing *s, uint32_t location)
{
    const struct gn_definitions *d = s->source.definitions;
    const uint32_t process = d->locations[location].process;
    return (uint64_t)(s->ahead_ns[process % MOST_PROCESSES] * 1e-9 * (double)d->ticks_per_second);
}

/* Opens the old archive, and goes through all its events. */
static void read_all(struct skewing *s, const char *archive,
                     void (*see)(struct skewing *, const struct gn_event *, size_t))
{
    const struct gn_trace_report *report;
    must(gn_trace_open(&s->source, &report, archive, &s->err), s);
    for (uint32_t l = 0; l < s->source.definitions->location_count; l++) {
        const struct gn_event *events;
        int64_t count;
        while ((count = s->source.pull(s->source.self, l, &events, &s->err)) > 0)
            see(s, events, (size_t)count);
        must((int)count, s);
    }
}

static void see_range(struct skewing *s, const struct gn_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t ticks = events[i].ticks + ahead_of(s, events[i].location);
        s->range.first_ticks = ticks < s->range.first_ticks ? ticks : s->range.first_ticks;
        s->range.last_ticks = ticks > s->range.last_ticks ? ticks : s->range.last_ticks;
    }
}

/* In nanoseconds since the archive's begin. */
static void tell_truth(struct skewing *s, const struct gn_event *events, size_t count)
{
    const struct gn_definitions *d = s->source.definitions;
    for (size_t i = 0; i < count; i++) {
        const double ns =
            (double)(int64_t)(events[i].ticks - d->first_ticks) * 1e9 / (double)d->ticks_per_second;
        must(gn_truth_write(s->truth, d->locations[events[i].location].file_id, &ns, 1, &s->err), s);
    }
}

static void skew(struct skewing *s, uint32_t location)
{
    uint64_t ticks_ahead = ahead_of(s, location);
    const struct gn_retimer retimer = {.self = &ticks_ahead, .time = ahead};
    uint64_t events;
    must(gn_retime_location(s->retime, s->source.definitions->locations[location].file_id, &retimer, &events,
                            &s->err),
         s);
}

int main(int argc, char **argv)
{
    static struct skewing s = {.range = {UINT64_MAX, 0}};
    if (argc != 5) {
        fprintf(stderr, "usage: skew ARCHIVE OUT NANOSECONDS SEED\n");
        return 2;
    }
    throw_dice(&s, strtod(argv[3], NULL), strtoull(argv[4], NULL, 10));
    read_all(&s, argv[1], see_range);
    must(gn_retime_open(&s.retime, argv[1], argv[2], true, &s.err), &s);
    for (uint32_t l = 0; l < s.source.definitions->location_count; l++)
        skew(&s, l);
    must(gn_retime_rest(s.retime, &s.range, true, &s.err), &s);
    must(gn_retime_finish(s.retime, &s.err), &s);
    gn_retime_close(s.retime);
    s.source.close(s.source.self);
    must(gn_truth_create(&s.truth, argv[2], &s.err), &s);
    read_all(&s, argv[1], tell_truth);
    must(gn_truth_finish(s.truth, &s.err), &s);
    s.source.close(s.source.self);
    return 0;
}
