#include "agent/sample_metrics.h"

#include "base/mix.h"

#include <errno.h>
#include <linux/perf_event.h>

enum {
    ORDER = 3,                   /* 32 KiB: some seven samples */
    PER_ROUND = 4,               /* of them, at most */
    FIRST_OF_HARDWARE = 1 << 20, /* until it is known how fast it counts */
    FIRST_OF_SOFTWARE = 16
};

void gn_sample_metrics_choose(struct gn_sample_metrics *metrics, uint32_t bits)
{
    for (uint32_t i = 0; gn_metric(i) && metrics->count < GN_METRICS_AT_A_TIME; i++)
        if (bits >> i & 1)
            metrics->items[metrics->count++].number = i;
}

void gn_sample_metrics_open(struct gn_sample_metrics *metrics, struct gn_sample_metric_event *events, int tid,
                            uint64_t now_ns)
{
    for (uint32_t m = 0; m < metrics->count; m++) {
        const struct gn_metric *metric = gn_metric(metrics->items[m].number);
        const uint64_t first = metric->type == PERF_TYPE_SOFTWARE ? FIRST_OF_SOFTWARE : FIRST_OF_HARDWARE;
        int code = -ENOBUFS;
        events[m] = (struct gn_sample_metric_event){.begun_ns = now_ns, .seen_ns = now_ns};
        for (unsigned order = ORDER + 1; code == -ENOBUFS && order-- > 1;)
            code = gn_sample_event_open(&events[m].event, tid, metric, false, first, order);
        if (code != 0)
            events[m].event.map = NULL;
        if (code != 0 && code != -ESRCH)
            metrics->items[m].refused = code;
    }
}

void gn_sample_metrics_add(struct gn_sample_metrics *metrics, uint32_t metric,
                           const struct gn_sample_metric_event *event, uint64_t *sum)
{
    uint64_t total = 0;
    bool scaled = false;
    if (event->event.map && gn_sample_event_total(&event->event, &total, &scaled))
        *sum += total;
    metrics->items[metric].scaled |= scaled;
}

void gn_sample_metrics_close(struct gn_sample_metrics *metrics, struct gn_sample_metric_event *events)
{
    for (uint32_t m = 0; m < metrics->count; m++) {
        gn_sample_metrics_add(metrics, m, &events[m], &metrics->items[m].total);
        if (events[m].event.map)
            gn_sample_event_close(&events[m].event);
        events[m].event.map = NULL;
    }
}

struct taking {
    struct gn_sample_metric *metric;
    struct gn_sample_metric_event *event;
    gn_sample_taken *taken;
    void *self;
};

static void take(void *self, struct gn_sample *sample)
{
    const struct taking *t = self;
    if (!sample || sample->counted <= t->event->told)
        return;
    sample->amount = sample->counted - t->event->told;
    t->event->told = sample->counted;
    t->metric->samples++;
    t->taken(t->self, sample);
}

void gn_sample_metrics_take(struct gn_sample_metrics *metrics, uint32_t metric,
                            struct gn_sample_metric_event *event, gn_sample_taken *taken, void *self)
{
    struct taking taking = {&metrics->items[metric], event, taken, self};
    if (event->event.map)
        gn_sample_event_take(&event->event, take, &taking);
}

/* As many as give one sample in period_ns at the pace of all the time so far, but for bursts: what was
 * counted since the last round was not to give more samples than there is room for. */
static uint64_t period_for(const struct gn_sample_metric_event *e, uint64_t total, uint64_t now_ns,
                           uint64_t period_ns)
{
    const double all_ns = (double)(now_ns - e->begun_ns);
    const uint64_t mean = (uint64_t)((double)total * (double)period_ns / all_ns),
                   burst = (total - e->seen) / PER_ROUND;
    const uint64_t period = mean > burst ? mean : burst;
    return period > 0 ? period : 1;
}

static void pace(struct gn_sample_metric_event *e, uint64_t now_ns, uint64_t period_ns)
{
    uint64_t total = 0;
    bool scaled;
    if (now_ns <= e->seen_ns || !gn_sample_event_total(&e->event, &total, &scaled) || total < e->seen)
        return;
    const uint64_t wanted = period_for(e, total, now_ns, period_ns), is = e->event.period;
    e->seen = total;
    e->seen_ns = now_ns;
    if (wanted > is + is / 2 || wanted < is / 4) /* somewhat off: nothing is to stay in step with it */
        gn_sample_event_pace(&e->event,
                             wanted + (uint64_t)((double)wanted * 0.2 * gn_mix_unit(gn_mix(now_ns ^ total))));
}

void gn_sample_metrics_pace(const struct gn_sample_metrics *metrics, struct gn_sample_metric_event *events,
                            uint64_t now_ns, uint64_t period_ns)
{
    for (uint32_t m = 0; m < metrics->count; m++)
        if (events[m].event.map)
            pace(&events[m], now_ns, period_ns);
}
