/*
 * How much a repaired trace is to be believed, of a simulated one whose truth is known:
 *
 *   fidelity ORIGINAL [PRESYNC=REPAIRED ...]      PRESYNC: none, linear or bounds, what it was repaired from
 *
 * One line of JSON for each way to tell times: "raw" timestamps, "offsets" (the archive's own clock offsets,
 * as the OTF2 library applies them) and each repaired archive. Only the part of the trace between the
 * program's two sleeps counts, as in Becker 2009, section 6.2.
 *
 *   error      of times against what the first clock showed at the true time; and the same up to a constant,
 * because the controlled logical clock only moves events forward transfer   of how long messages took,
 * receive less send, against the truth; and messages that go backward distance   table 4: by how much
 * intervals between neighbours were changed, against the times before the repair position   the same for the
 * time since the location's first event
 *
 * Messages are matched here, in posting order; nothing is shared with what repairs but reading and
 * presynchronising.
 */
#include "base/grow.h"
#include "repair/presync.h"
#include "trace/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THRESHOLDS = 6, OPEN = 256 };

static const double thresholds[THRESHOLDS] = {0, 1e-4, 1e-3, 0.01, 0.1, 1};

/* A location's events; all arrays have `count` elements. */
struct row {
    uint64_t *raw;
    uint16_t *kinds;
    double *true_ns;
    size_t count, true_count;
    size_t first, end; /* those between the sleeps */
};

struct end {
    uint32_t from, to, tag, place; /* locations; place among the sends or the posted receives of its own */
    uint32_t event;                /* at its location */
};

struct ends {
    struct end *items;
    size_t count, capacity;
};

struct trace {
    struct gn_source source;
    const struct gn_definitions *d;
    struct row *rows;
    struct ends sends, receives;
    size_t matched; /* sends[i] belongs to receives[i] below this */
};

static void fail(const char *format, const char *what)
{
    fprintf(stderr, "fidelity: ");
    fprintf(stderr, format, what);
    fprintf(stderr, "\n");
    exit(1);
}

static void *must(void *memory)
{
    if (!memory)
        fail("%s", "no memory");
    return memory;
}

/* ---- reading ---- */

static void read_truth(struct trace *trace, const char *folder)
{
    char path[4096], magic[8];
    uint64_t head[2];
    snprintf(path, sizeof path, "%s/true-times", folder);
    FILE *file = fopen(path, "rb");
    if (!file || fread(magic, sizeof magic, 1, file) != 1 || memcmp(magic, "GNTRUTH1", sizeof magic) != 0)
        fail("%s: no true times", path);
    while (fread(head, sizeof head, 1, file) == 1) {
        size_t location = 0;
        while (location < trace->d->location_count && trace->d->locations[location].file_id != head[0])
            location++;
        struct row *row = location < trace->d->location_count ? &trace->rows[location] : NULL;
        if (!row || head[1] > row->count - row->true_count ||
            fread(row->true_ns + row->true_count, sizeof(double), head[1], file) != head[1])
            fail("%s does not belong to the archive", path);
        row->true_count += head[1];
    }
    fclose(file);
    for (size_t i = 0; i < trace->d->location_count; i++)
        if (trace->rows[i].true_count != trace->rows[i].count)
            fail("%s does not belong to the archive", path);
}

/* Receives that are posted and not complete, by request: the places of their ends. */
struct posted {
    uint64_t request;
    size_t receive;
};

static struct end *add_end(struct ends *ends, uint32_t event)
{
    if (!gn_grow(&ends->items, &ends->capacity, ends->count, sizeof *ends->items))
        fail("%s", "no memory");
    ends->items[ends->count] = (struct end){.place = (uint32_t)ends->count, .event = event, .from = GN_NONE};
    return &ends->items[ends->count++];
}

static uint32_t location_of(const struct trace *trace, const struct gn_event *event)
{
    uint32_t process =
        gn_comm_peer(trace->d, event->comm, trace->d->locations[event->location].process, event->peer);
    return process == GN_NONE ? GN_NONE : trace->d->processes[process].main_location;
}

static void received(struct trace *trace, struct end *end, const struct gn_event *event, uint32_t index)
{
    end->from = location_of(trace, event);
    end->to = event->location;
    end->tag = event->tag;
    end->event = index;
}

static void follow(struct trace *trace, const struct gn_event *event, uint32_t index, struct posted *open,
                   size_t *count)
{
    size_t i = 0;
    switch (event->kind) {
    case GN_EVENT_MPI_SEND:
    case GN_EVENT_MPI_ISEND:;
        struct end *send = add_end(&trace->sends, index);
        send->from = event->location;
        send->to = location_of(trace, event);
        send->tag = event->tag;
        break;
    case GN_EVENT_MPI_IRECV_REQUEST:
        if (*count == OPEN)
            fail("%s", "too many open receives");
        open[(*count)++] = (struct posted){event->request, trace->receives.count};
        add_end(&trace->receives, index);
        break;
    case GN_EVENT_MPI_RECV:
        received(trace, add_end(&trace->receives, index), event, index);
        break;
    case GN_EVENT_MPI_IRECV:
    case GN_EVENT_MPI_REQUEST_CANCELLED:
        while (i < *count && open[i].request != event->request)
            i++;
        if (i == *count)
            fail("%s", "a request completes and was not posted");
        if (event->kind == GN_EVENT_MPI_IRECV)
            received(trace, &trace->receives.items[open[i].receive], event, index);
        open[i] = open[--*count];
        break;
    default:
        break;
    }
}

/* Between the leave of the first sleep and the enter of the last one; everything, if the program did not
 * sleep. */
static void find_main_part(const struct gn_definitions *d, struct row *row, const struct gn_event *event,
                           size_t index)
{
    bool frame = event->kind == GN_EVENT_ENTER || event->kind == GN_EVENT_LEAVE;
    if (!frame || strcmp(gn_string(d, d->regions[event->region].name), "sleep") != 0)
        return;
    if (event->kind == GN_EVENT_LEAVE && row->first == 0)
        row->first = index;
    if (event->kind == GN_EVENT_ENTER && row->first > 0)
        row->end = index;
}

static void read_location(struct trace *trace, uint32_t location, bool with_messages)
{
    struct row *row = &trace->rows[location];
    struct posted open[OPEN];
    size_t open_count = 0, raws = 0, kinds = 0;
    const struct gn_event *events;
    struct gn_error err = {""};
    int64_t count;
    while ((count = trace->source.pull(trace->source.self, location, &events, &err)) > 0)
        for (int64_t i = 0; i < count; i++) {
            if (!gn_grow(&row->raw, &raws, row->count, sizeof *row->raw) ||
                !gn_grow(&row->kinds, &kinds, row->count, sizeof *row->kinds))
                fail("%s", "no memory");
            row->raw[row->count] = events[i].ticks;
            row->kinds[row->count] = events[i].kind;
            if (with_messages) {
                find_main_part(trace->d, row, &events[i], row->count);
                follow(trace, &events[i], (uint32_t)row->count, open, &open_count);
            }
            row->count++;
        }
    if (count < 0)
        fail("%s", err.text);
    if (row->end == 0)
        row->end = row->count;
}

static void read_trace(struct trace *trace, const char *folder, bool is_original)
{
    const struct gn_trace_report *report;
    struct gn_error err = {""};
    if (gn_trace_open(&trace->source, &report, folder, &err) != 0)
        fail("%s", err.text);
    trace->d = trace->source.definitions;
    trace->rows = must(calloc(trace->d->location_count, sizeof *trace->rows));
    for (uint32_t i = 0; i < trace->d->location_count; i++)
        read_location(trace, i, is_original);
    for (uint32_t i = 0; i < trace->d->location_count && is_original; i++)
        trace->rows[i].true_ns = must(calloc(trace->rows[i].count + 1, sizeof(double)));
    if (is_original)
        read_truth(trace, folder);
}

static void close_trace(struct trace *trace)
{
    for (uint32_t i = 0; i < trace->d->location_count; i++) {
        free(trace->rows[i].raw);
        free(trace->rows[i].kinds);
        free(trace->rows[i].true_ns);
    }
    free(trace->rows);
    free(trace->sends.items);
    free(trace->receives.items);
    trace->source.close(trace->source.self);
}

/* ---- messages ---- */

static int compare_channels(const struct end *a, const struct end *b)
{
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    return (a->tag > b->tag) - (a->tag < b->tag);
}

static int by_channel(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    int channel = compare_channels(x, y);
    return channel ? channel : (x->place > y->place) - (x->place < y->place);
}

/* Leaves out what has no partner: a receive that was cancelled, a send that nobody received. */
static void match(struct trace *trace)
{
    struct end *sends = trace->sends.items, *receives = trace->receives.items;
    size_t s = 0, r = 0, matched = 0;
    if (trace->sends.count > 0)
        qsort(sends, trace->sends.count, sizeof *sends, by_channel);
    if (trace->receives.count > 0)
        qsort(receives, trace->receives.count, sizeof *receives, by_channel);
    while (s < trace->sends.count && r < trace->receives.count) {
        int order = compare_channels(&sends[s], &receives[r]);
        if (order == 0) {
            sends[matched] = sends[s++];
            receives[matched++] = receives[r++];
        } else if (order < 0) {
            s++;
        } else {
            r++;
        }
    }
    trace->matched = matched;
}

/* ---- times ---- */

/* One way to tell times: [location][event]. */
struct times {
    double **ticks;
};

static struct times new_times(const struct trace *trace)
{
    struct times times = {must(calloc(trace->d->location_count, sizeof(double *)))};
    for (uint32_t i = 0; i < trace->d->location_count; i++)
        times.ticks[i] = must(calloc(trace->rows[i].count + 1, sizeof(double)));
    return times;
}

static void free_times(const struct trace *trace, struct times *times)
{
    for (uint32_t i = 0; i < trace->d->location_count; i++)
        free(times->ticks[i]);
    free(times->ticks);
}

/* Relative to the trace's begin, so that doubles have them exactly. */
static double since_begin(const struct trace *trace, uint64_t ticks)
{
    return (double)(int64_t)(ticks - trace->d->first_ticks);
}

/* ticks: times of `of`, which has the same events as the trace. */
static struct times presynchronised(const struct trace *trace, const struct trace *of,
                                    enum gn_presync_kind kind)
{
    struct gn_presync presync = {.kind = kind, .definitions = of->d};
    struct times times = new_times(trace);
    for (uint32_t i = 0; i < trace->d->location_count; i++) {
        struct gn_presync_map map = gn_presync_map(&presync, i);
        for (size_t k = 0; k < trace->rows[i].count; k++)
            times.ticks[i][k] = since_begin(trace, (uint64_t)gn_presync_ticks(&map, of->rows[i].raw[k]));
    }
    return times;
}

/* Of a repaired archive, which has the same events, as any reader sees it: where nothing had to be moved, the
 * offsets may still be there. */
static struct times times_of(const struct trace *trace, const char *folder)
{
    struct trace repaired = {.d = NULL};
    read_trace(&repaired, folder, false);
    if (repaired.d->location_count != trace->d->location_count)
        fail("%s has other locations", folder);
    for (uint32_t i = 0; i < trace->d->location_count; i++) {
        const struct row *old = &trace->rows[i], *new = &repaired.rows[i];
        if (new->count != old->count || memcmp(new->kinds, old->kinds, old->count * sizeof *old->kinds) != 0)
            fail("%s has other events", folder);
    }
    struct times times = presynchronised(trace, &repaired, GN_PRESYNC_LINEAR);
    close_trace(&repaired);
    return times;
}

/* What the first clock showed at the events' true times: between two events of location 0, which reads it, on
 * a straight line. */
static struct times reference_times(const struct trace *trace)
{
    const struct row *clock = &trace->rows[0];
    struct times times = new_times(trace);
    if (clock->count < 2)
        fail("%s", "the first location has no two events");
    for (uint32_t i = 0; i < trace->d->location_count; i++) {
        size_t at = 0;
        for (size_t k = 0; k < trace->rows[i].count; k++) {
            double ns = trace->rows[i].true_ns[k];
            while (at + 2 < clock->count && clock->true_ns[at + 1] <= ns)
                at++;
            double from = since_begin(trace, clock->raw[at]), to = since_begin(trace, clock->raw[at + 1]);
            double part = (ns - clock->true_ns[at]) / (clock->true_ns[at + 1] - clock->true_ns[at]);
            times.ticks[i][k] = from + part * (to - from);
        }
    }
    return times;
}

/* ---- figures ---- */

struct error {
    double sum, largest, count;
};

static void note(struct error *error, double value)
{
    error->sum += fabs(value);
    error->largest = fmax(error->largest, fabs(value));
    error->count++;
}

static void print_error(const char *name, const struct error *error, double ticks_per_us)
{
    printf(", \"%s_mean_us\": %.4f, \"%s_max_us\": %.4f", name,
           error->count > 0 ? error->sum / error->count / ticks_per_us : 0, name,
           error->largest / ticks_per_us);
}

static bool in_main_part(const struct trace *trace, uint32_t location, size_t event)
{
    return event >= trace->rows[location].first && event < trace->rows[location].end;
}

static double mean_difference(const struct trace *trace, const struct times *times,
                              const struct times *reference)
{
    double sum = 0, count = 0;
    for (uint32_t i = 0; i < trace->d->location_count; i++)
        for (size_t k = trace->rows[i].first; k < trace->rows[i].end; k++) {
            sum += times->ticks[i][k] - reference->ticks[i][k];
            count++;
        }
    return count > 0 ? sum / count : 0;
}

static void print_errors(const struct trace *trace, const struct times *times, const struct times *reference,
                         double ticks_per_us)
{
    struct error absolute = {0}, relative = {0};
    double mean = mean_difference(trace, times, reference);
    for (uint32_t i = 0; i < trace->d->location_count; i++)
        for (size_t k = trace->rows[i].first; k < trace->rows[i].end; k++) {
            double error = times->ticks[i][k] - reference->ticks[i][k];
            note(&absolute, error);
            note(&relative, error - mean);
        }
    printf(", \"events\": %.0f", absolute.count);
    print_error("error", &absolute, ticks_per_us);
    print_error("error_but_constant", &relative, ticks_per_us);
}

static void print_transfers(const struct trace *trace, const struct times *times,
                            const struct times *reference, double ticks_per_us)
{
    struct error error = {0}, backward = {0};
    double reversed = 0;
    for (size_t i = 0; i < trace->matched; i++) {
        const struct end *s = &trace->sends.items[i], *r = &trace->receives.items[i];
        if (!in_main_part(trace, s->from, s->event))
            continue;
        double took = times->ticks[r->to][r->event] - times->ticks[s->from][s->event];
        note(&error, took - (reference->ticks[r->to][r->event] - reference->ticks[s->from][s->event]));
        if (took < 0)
            note(&backward, took);
        reversed += took < 0;
    }
    printf(", \"messages\": %.0f, \"reversed\": %.0f", error.count, reversed);
    print_error("reversed_by", &backward, ticks_per_us);
    print_error("transfer_error", &error, ticks_per_us);
}

struct deviation {
    double intervals, length, change, largest;
    double above[THRESHOLDS], above_length[THRESHOLDS];
    double position, position_ticks;
};

static void note_interval(struct deviation *d, double before, double after)
{
    double share = fabs(after - before) / before;
    d->intervals++;
    d->length += before;
    d->change += fabs(after - before);
    d->largest = fmax(d->largest, share);
    for (int t = 0; t < THRESHOLDS; t++)
        if (share > thresholds[t]) {
            d->above[t]++;
            d->above_length[t] += before;
        }
}

static void note_position(struct deviation *d, double before, double after)
{
    d->position = fmax(d->position, fabs(after - before) / before);
    d->position_ticks = fmax(d->position_ticks, fabs(after - before));
}

static void print_list(const char *name, const double *values, double whole)
{
    printf(", \"%s\": [", name);
    for (int t = 0; t < THRESHOLDS; t++)
        printf("%s%.6f", t ? ", " : "", whole > 0 ? 100 * values[t] / whole : 0);
    printf("]");
}

static void print_deviation(const struct trace *trace, const struct times *times, const struct times *before,
                            double ticks_per_us)
{
    struct deviation d = {0};
    for (uint32_t i = 0; i < trace->d->location_count; i++) {
        const double *old = before->ticks[i], *new = times->ticks[i];
        for (size_t k = trace->rows[i].first; k < trace->rows[i].end; k++) {
            if (k + 1 < trace->rows[i].end && old[k + 1] > old[k])
                note_interval(&d, old[k + 1] - old[k], new[k + 1] - new[k]);
            if (old[k] > old[0])
                note_position(&d, old[k] - old[0], new[k] - new[0]);
        }
    }
    printf(", \"distance_mean_percent\": %.6f, \"distance_max_percent\": %.4f",
           d.length > 0 ? 100 * d.change / d.length : 0, 100 * d.largest);
    print_list("intervals_above_percent", d.above, d.intervals);
    print_list("time_above_percent", d.above_length, d.length);
    printf(", \"position_max_percent\": %.8f, \"position_max_us\": %.4f", 100 * d.position,
           d.position_ticks / ticks_per_us);
}

/* before: NULL: this is not repaired. */
static void print(const struct trace *trace, const char *name, const struct times *times,
                  const struct times *reference, const struct times *before)
{
    double ticks_per_us = (double)trace->d->ticks_per_second / 1e6;
    printf("{\"times\": \"%s\"", name);
    print_errors(trace, times, reference, ticks_per_us);
    print_transfers(trace, times, reference, ticks_per_us);
    if (before)
        print_deviation(trace, times, before, ticks_per_us);
    printf("}\n");
}

int main(int argc, char **argv)
{
    struct trace trace = {.d = NULL};
    if (argc < 2) {
        fprintf(stderr, "usage: fidelity ORIGINAL [none|linear|bounds=REPAIRED ...]\n");
        return 2;
    }
    read_trace(&trace, argv[1], true);
    match(&trace);
    struct times reference = reference_times(&trace), raw = presynchronised(&trace, &trace, GN_PRESYNC_NONE),
                 offsets = presynchronised(&trace, &trace, GN_PRESYNC_LINEAR);
    print(&trace, "raw", &raw, &reference, NULL);
    print(&trace, "offsets", &offsets, &reference, NULL);
    for (int i = 2; i < argc; i++) {
        const char *folder = strchr(argv[i], '=');
        if (!folder)
            fail("%s: PRESYNC=REPAIRED is expected", argv[i]);
        bool is_raw = strncmp(argv[i], "none=", 5) == 0;
        struct times times = times_of(&trace, folder + 1);
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)(folder - argv[i]), argv[i]);
        print(&trace, name, &times, &reference, is_raw ? &raw : &offsets);
        free_times(&trace, &times);
    }
    free_times(&trace, &reference);
    free_times(&trace, &raw);
    free_times(&trace, &offsets);
    close_trace(&trace);
    return 0;
}
