/*
 * Memory follows the window, not the trace: orders a synthetic stencil as it is generated, and says how much
 * memory that took.
 *
 *   window [EVENTS [LOCATIONS [PATTERN]]]      default 1e9 64 stencil2
 */
#include "causality/order.h"
#include "synth/synth.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static int take(void *self, const struct gn_event *event, const struct gn_place *place)
{
    (void)event;
    (void)place;
    ++*(uint64_t *)self;
    return 0;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The location that is furthest behind is pulled next: as if all delivered what they have at the same moment.
 */
static int order_all(struct gn_source *source, struct gn_order *order, struct gn_error *err)
{
    size_t alive = source->definitions->location_count;
    while (alive > 0)
        for (uint32_t l = 0; l < source->definitions->location_count; l++) {
            const struct gn_event *events;
            int64_t count = source->pull(source->self, l, &events, err);
            for (int64_t i = 0; i < count; i++) {
                int code = gn_order_push(order, &events[i]);
                if (code != 0)
                    return gn_fail(err, code, "the sort takes no more");
            }
            if (count == 0 && gn_order_end(order, l) == 0)
                alive--;
            if (count < 0)
                return (int)count;
        }
    return gn_order_finish(order);
}

int main(int argc, char **argv)
{
    struct gn_synth_settings settings = gn_synth_defaults();
    struct gn_source source;
    struct gn_order *order;
    struct gn_error err;
    uint64_t reported = 0;
    struct gn_order_sink sink = {&reported, take};
    settings.events = (uint64_t)(argc > 1 ? strtod(argv[1], NULL) : 1e9);
    settings.locations = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 64;
    settings.pattern = argc > 3 ? argv[3] : "stencil2";
    if (gn_synth_open(&source, &settings, &err) != 0 ||
        gn_order_open(&order, source.definitions, NULL, &sink, &err) != 0) {
        fprintf(stderr, "window: %s\n", err.text);
        return 1;
    }
    double begin = seconds();
    if (order_all(&source, order, &err) != 0) {
        fprintf(stderr, "window: %s\n", err.text);
        return 1;
    }
    double end = seconds();
    const struct gn_order_stats *s = gn_order_stats(order);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%.0f events of %u locations (%s): %.1f million/s with their generation, %.1f MiB of memory, "
           "window %.1f nodes "
           "in the mean, %lu at most\n",
           (double)reported, settings.locations, settings.pattern, (double)reported * 1e-6 / (end - begin),
           (double)usage.ru_maxrss / 1024, s->nodes_sum / (double)s->pushed, (unsigned long)s->nodes_max);
    gn_order_close(order);
    source.close(source.self);
    return reported == s->pushed ? 0 : 1;
}
