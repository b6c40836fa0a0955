#include "agent/sample_metrics.h"

#include "base/mix.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <unistd.h>

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
            metrics->items[metrics->count++] = (struct gn_sample_metric){.number = i, .is_whole = true};
}

void gn_sample_metrics_change(struct gn_sample_metrics *metrics, uint32_t bits)
{
    uint32_t known = 0;
    for (uint32_t m = 0; m < metrics->count; m++) {
        struct gn_sample_metric *item = &metrics->items[m];
        const bool is_off = !(bits >> item->number & 1);
        known |= 1u << item->number;
        item->is_late |= item->is_off && !is_off; /* again, after a while */
        item->is_whole &= !item->is_late;
        item->is_off = is_off;
    }
    for (uint32_t i = 0; gn_metric(i) && metrics->count < GN_METRICS_AT_A_TIME; i++)
        if ((bits & ~known) >> i & 1)
            metrics->items[metrics->count++] = (struct gn_sample_metric){.number = i, .is_late = true};
}

void gn_sample_metrics_begin(struct gn_sample_metric_event *events)
{
    for (uint32_t m = 0; m < GN_METRICS_AT_A_TIME; m++)
        events[m] = (struct gn_sample_metric_event){.family = -1};
}

static void close_one(struct gn_sample_metrics *metrics, uint32_t m, struct gn_sample_metric_event *event)
{
    if (event->begun_ns == 0)
        return;
    gn_sample_metrics_add(metrics, m, event, &metrics->items[m].total);
    if (event->event.map)
        gn_sample_event_close(&event->event);
    if (event->family >= 0)
        close(event->family);
    *event = (struct gn_sample_metric_event){.family = -1};
}

void gn_sample_metrics_open(struct gn_sample_metrics *metrics, struct gn_sample_metric_event *events, int tid,
                            bool is_first, uint64_t now_ns)
{
    for (uint32_t m = 0; m < metrics->count; m++) {
        if (metrics->items[m].is_off)
            close_one(metrics, m, &events[m]);
        if (metrics->items[m].is_off || events[m].begun_ns > 0)
            continue;
        const struct gn_metric *metric = gn_metric(metrics->items[m].number);
        const uint64_t first = metric->type == PERF_TYPE_SOFTWARE ? FIRST_OF_SOFTWARE : FIRST_OF_HARDWARE;
        int code = -ENOBUFS;
        events[m] = (struct gn_sample_metric_event){.begun_ns = now_ns, .seen_ns = now_ns, .family = -1};
        for (unsigned order = ORDER + 1; code == -ENOBUFS && order-- > 1;)
            code = gn_sample_event_open(&events[m].event, tid, metric, false, first, order);
        if (code != 0)
            events[m].event.map = NULL;
        if (code != 0 && code != -ESRCH)
            metrics->items[m].refused = code;
        if (is_first && code == 0 && !metrics->items[m].is_late)
            events[m].family = gn_sample_event_count(tid, metric);
        metrics->items[m].is_whole &= !is_first || events[m].family >= 0;
    }
}

void gn_sample_metrics_add(struct gn_sample_metrics *metrics, uint32_t metric,
                           const struct gn_sample_metric_event *event, uint64_t *sum)
{
    uint64_t total = 0;
    bool scaled = false;
    const int file = metrics->items[metric].is_whole ? event->family
                     : event->event.map              ? event->event.file
                                                     : -1;
    if (file >= 0 && gn_sample_event_total(file, &total, &scaled))
        *sum += total;
    metrics->items[metric].scaled |= scaled;
}

void gn_sample_metrics_close(struct gn_sample_metrics *metrics, struct gn_sample_metric_event *events)
{
    for (uint32_t m = 0; m < metrics->count; m++)
        close_one(metrics, m, &events[m]);
}

struct taking {
    struct gn_sample_metric *metric;
    struct gn_sample_metric_event *event;
    gn_sample_taken *taken;
    void *self;
    struct gn_sample last; /* that was taken; pid 0: none */
    uint8_t stack[GN_SAMPLE_STACK_BYTES];
};

static void take(void *self, struct gn_sample *sample, enum gn_sample_news news)
{
    struct taking *t = self;
    if (!sample || sample->counted <= t->event->told)
        return;
    sample->amount = sample->counted - t->event->told;
    t->event->told = sample->counted;
    t->metric->samples++;
    t->last = *sample;
    if (t->last.stack.count > sizeof t->stack)
        t->last.stack.count = sizeof t->stack;
    if (t->last.stack.count > 0)
        t->last.stack.at = memcpy(t->stack, sample->stack.at, t->last.stack.count);
    t->taken(t->self, sample, news);
}

/* What the ring had no room for (the kernel says so with the next sample only) was about where the last one
 * was that it had room for. */
static void take_lost(struct taking *t)
{
    uint64_t total;
    bool scaled;
    if (t->last.pid == 0 || !gn_sample_event_total(t->event->event.file, &total, &scaled) || scaled ||
        total <= t->event->told + 2 * t->event->event.period)
        return;
    t->last.amount = total - t->event->told;
    t->event->told = total;
    t->taken(t->self, &t->last, GN_SAMPLE_TAKEN);
}

void gn_sample_metrics_take(struct gn_sample_metrics *metrics, uint32_t metric,
                            struct gn_sample_metric_event *event, gn_sample_taken *taken, void *self)
{
    struct taking taking = {.metric = &metrics->items[metric], .event = event, .taken = taken, .self = self};
    if (!event->event.map)
        return;
    gn_sample_event_take(&event->event, take, &taking);
    take_lost(&taking);
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
    if (now_ns <= e->seen_ns || !gn_sample_event_total(e->event.file, &total, &scaled) || total < e->seen)
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
