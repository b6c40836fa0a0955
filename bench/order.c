/*
 * How fast the causal sort is, against the same events merged by timestamp with a heap, and copied.
 *
 *   order [LOCATIONS…]      default 4 64 1024 16384
 *
 * The events of a synthetic stencil lie in memory, one array per location. What is compared runs in turn,
 * several rounds; the medians are printed, and the ratio to the merge of the same round. All three hand
 * each event to the same consumer through the same pointer.
 */
#include "causality/order.h"
#include "synth/synth.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 7, EVENTS = 4000000 };

static size_t batch = 16; /* events a location delivers at a time, in the mean */

struct stream {
    struct gn_event *events;
    size_t count, next;
};

static struct stream *streams;
static struct portion {
    uint32_t location, count;
} * portions;
static size_t portion_count;
static uint32_t locations;
static size_t total;
static volatile uint64_t consumed;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int take(void *self, const struct gn_event *event, const struct gn_place *place)
{
    (void)place;
    uint64_t *sum = self;
    *sum += event->ticks;
    return 0;
}

static struct gn_order_sink sink;

static bool load_more(struct gn_source *source, uint32_t l)
{
    const struct gn_event *events;
    struct gn_error err;
    int64_t count = source->pull(source->self, l, &events, &err);
    if (count <= 0)
        return false;
    struct stream *s = &streams[l];
    s->events = realloc(s->events, (s->count + (size_t)count) * sizeof *s->events);
    memcpy(s->events + s->count, events, (size_t)count * sizeof *events);
    s->count += (size_t)count;
    total += (size_t)count;
    return true;
}

/* In which portions events are delivered: each location sends what it has when a slice of time is over. */
static void plan_delivery(void)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (uint32_t l = 0; l < locations; l++) {
        streams[l].next = 0;
        first = streams[l].events[0].ticks < first ? streams[l].events[0].ticks : first;
        uint64_t end = streams[l].events[streams[l].count - 1].ticks;
        last = end > last ? end : last;
    }
    uint64_t slices = total / locations / batch + 1, slice = (last - first) / slices + 1;
    portions = malloc((slices + 1) * locations * sizeof *portions);
    portion_count = 0;
    for (uint64_t until = first + slice;; until += slice) {
        for (uint32_t l = 0; l < locations; l++) {
            struct stream *s = &streams[l];
            size_t from = s->next;
            while (s->next < s->count && s->events[s->next].ticks < until)
                s->next++;
            portions[portion_count++] = (struct portion){l, (uint32_t)(s->next - from)};
        }
        if (until > last)
            break;
    }
}

static void load(struct gn_source *source)
{
    streams = calloc(locations, sizeof *streams);
    for (bool more = true; more;) {
        more = false;
        for (uint32_t l = 0; l < locations; l++)
            more = load_more(source, l) || more;
    }
    plan_delivery();
}

/* ---- (a) the merge ---- */

static void sift_down(uint32_t *heap, uint32_t count, uint32_t at)
{
    uint32_t item = heap[at];
    uint64_t key = streams[item].events[streams[item].next].ticks;
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        uint64_t least = streams[heap[child]].events[streams[heap[child]].next].ticks;
        if (child + 1 < count) {
            uint64_t other = streams[heap[child + 1]].events[streams[heap[child + 1]].next].ticks;
            if (other < least) {
                child++;
                least = other;
            }
        }
        if (least >= key)
            break;
        heap[at] = heap[child];
    }
    heap[at] = item;
}

static double run_merge(void)
{
    uint32_t *heap = malloc(locations * sizeof *heap), count = 0;
    struct gn_place place = {.ticks = 0};
    double begin = now_s();
    for (uint32_t l = 0; l < locations; l++) {
        streams[l].next = 0;
        if (streams[l].count)
            heap[count++] = l;
    }
    for (uint32_t i = count; i-- > 0;)
        sift_down(heap, count, i);
    while (count > 0) {
        struct stream *s = &streams[heap[0]];
        sink.report(sink.self, &s->events[s->next++], &place);
        if (s->next == s->count)
            heap[0] = heap[--count];
        if (count)
            sift_down(heap, count, 0);
    }
    double end = now_s();
    free(heap);
    return end - begin;
}

/* ---- (b) copying ---- */

static double run_copy(void)
{
    static struct gn_event kept;
    struct gn_place place = {.ticks = 0};
    double begin = now_s();
    for (uint32_t l = 0; l < locations; l++)
        for (size_t i = 0; i < streams[l].count; i++) {
            kept = streams[l].events[i];
            sink.report(sink.self, &kept, &place);
        }
    return now_s() - begin;
}

/* ---- the sort ---- */

static struct gn_order_stats stats;

static double run_sort(const struct gn_definitions *definitions)
{
    struct gn_order *order;
    struct gn_error err;
    double begin = now_s();
    if (gn_order_open(&order, definitions, NULL, &sink, &err) != 0)
        exit(1);
    for (uint32_t l = 0; l < locations; l++)
        streams[l].next = 0;
    for (size_t p = 0; p < portion_count; p++) {
        struct stream *s = &streams[portions[p].location];
        for (uint32_t i = 0; i < portions[p].count; i++)
            if (gn_order_push(order, &s->events[s->next++]) != 0)
                exit(1);
    }
    gn_order_finish(order);
    double end = now_s();
    stats = *gn_order_stats(order);
    gn_order_close(order);
    return end - begin;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof *values, by_value);
    return values[ROUNDS / 2];
}

static void compare(uint32_t wanted)
{
    struct gn_synth_settings settings = gn_synth_defaults();
    struct gn_source source;
    struct gn_error err;
    uint64_t sum = 0;
    double sort[ROUNDS], merge[ROUNDS], copy[ROUNDS], ratio[ROUNDS];
    sink = (struct gn_order_sink){&sum, take};
    locations = wanted;
    total = 0;
    settings.pattern = "stencil2";
    settings.locations = wanted;
    settings.events = EVENTS;
    if (gn_synth_open(&source, &settings, &err) != 0) {
        fprintf(stderr, "order: %s\n", err.text);
        exit(1);
    }
    load(&source);
    for (int round = 0; round < ROUNDS; round++) {
        copy[round] = run_copy();
        merge[round] = run_merge();
        sort[round] = run_sort(source.definitions);
        ratio[round] = sort[round] / merge[round];
    }
    consumed = sum;
    double events = (double)total * 1e-6;
    printf("%9u %10.1f %10.1f %10.1f %8.2f %10.1f %10.1f\n", wanted, events / median(copy),
           events / median(merge), events / median(sort), median(ratio),
           stats.nodes_sum / (double)stats.pushed, stats.unreported_sum / (double)stats.pushed);
    fflush(stdout);
    for (uint32_t l = 0; l < locations; l++)
        free(streams[l].events);
    free(streams);
    free(portions);
    source.close(source.self);
}

int main(int argc, char **argv)
{
    static const uint32_t sizes[] = {4, 64, 1024, 16384};
    if (getenv("GNOMON_BENCH_BATCH"))
        batch = strtoull(getenv("GNOMON_BENCH_BATCH"), NULL, 10);
    printf("locations       copy      merge       sort     sort/     window unreported\n");
    printf("             (million events per second)         merge (mean nodes)   (mean)\n");
    if (argc > 1)
        for (int i = 1; i < argc; i++)
            compare((uint32_t)strtoul(argv[i], NULL, 10));
    else
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            compare(sizes[i]);
    return 0;
}
