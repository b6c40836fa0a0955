#include "agent/change.h"

#include "clock/ticks.h"
#include "graph/metrics.h"
#include "profile/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *why_no_windows(const struct gn_changing *a)
{
    const struct gn_trace_settings *t = &a->settings->trace;
    return t->ring_records == 0   ? "the run was started with --windows off"
           : t->windows_rate <= 0 ? "all events are kept, for --trace"
           : a->no_trace[0]       ? a->no_trace
                                  : NULL;
}

static const char *why_no_samples(const struct gn_changing *a)
{
    return a->settings->sample.hz == 0         ? "the run was started with --sample off"
           : gn_sampler_is_refused(a->sampler) ? "the kernel refuses them: gnomon doctor says more"
           : a->settings->sample.by_signal     ? "threads sample themselves, by a signal"
                                               : NULL;
}

static void note(struct gn_changes *c, double now_s, const char *what, double rate)
{
    if (c->count == GN_CHANGES_MOST)
        return;
    struct gn_changed *item = &c->items[c->count++];
    item->at_s = now_s;
    item->ticks = gn_ticks();
    snprintf(item->what, sizeof item->what, rate > 0 ? "%s %.0f" : "%s off", what, rate);
}

static void take(struct gn_changes *c, const struct gn_changing *a, const struct gn_wanted *wanted,
                 double now_s)
{
    const struct gn_wanted *now = &c->wanted;
    const double rate = now->has_windows ? now->windows_rate : a->settings->trace.windows_rate;
    const unsigned hz = now->has_sample ? now->sample_hz : a->settings->sample.hz;
    if (wanted->has_windows && !why_no_windows(a) && wanted->windows_rate != rate) {
        c->wanted.has_windows = c->windows_wait = true;
        c->wanted.windows_rate = wanted->windows_rate;
        note(c, now_s, "windows", wanted->windows_rate);
    }
    if (wanted->has_sample && !why_no_samples(a) && wanted->sample_hz != hz) {
        c->wanted.has_sample = c->sample_waits = true;
        c->wanted.sample_hz = wanted->sample_hz;
        note(c, now_s, "sample", wanted->sample_hz);
    }
    const uint32_t metrics = now->has_metrics ? now->metrics : a->settings->sample.metrics;
    c->counted |= metrics;
    const bool is_too_much = __builtin_popcount(c->counted | wanted->metrics) > GN_METRICS_AT_A_TIME;
    if (wanted->has_metrics && !is_too_much && !why_no_samples(a) && wanted->metrics != metrics) {
        c->wanted.has_metrics = c->metrics_wait = true;
        c->wanted.metrics = wanted->metrics;
        c->counted |= wanted->metrics;
        note(c, now_s, "metric", wanted->metrics);
    }
}

/* Before the first MPI_Init neither has begun. */
static void apply(struct gn_changes *c, const struct gn_changing *a)
{
    if (c->windows_wait && a->trace) {
        gn_trace_part_set_rate(a->trace, c->wanted.windows_rate);
        c->windows_wait = false;
    }
    if (c->sample_waits && a->sampler) {
        gn_sampler_set_rate(a->sampler, c->wanted.sample_hz);
        c->sample_waits = false;
    }
    if (c->metrics_wait && a->sampler) {
        gn_sampler_set_metrics(a->sampler, c->wanted.metrics);
        c->metrics_wait = false;
    }
}

void gn_change_look(struct gn_changes *c, const struct gn_changing *a, const char *folder, double now_s)
{
    struct gn_wanted wanted;
    if (gn_wanted_read(folder, &c->seen, &wanted))
        take(c, a, &wanted, now_s);
    apply(c, a);
}

static void tell(char text[GN_CHANGE_TEXT], const char *why_not, double rate)
{
    if (why_not)
        snprintf(text, GN_CHANGE_TEXT, "never %.140s", why_not);
    else
        snprintf(text, GN_CHANGE_TEXT, rate > 0 ? "%.0f" : "off", rate);
    text[strcspn(text, "\n")] = '\0';
}

void gn_change_state(const struct gn_changes *c, const struct gn_changing *a, struct gn_change_texts *texts)
{
    const struct gn_wanted *w = &c->wanted;
    tell(texts->windows, why_no_windows(a),
         w->has_windows ? w->windows_rate : a->settings->trace.windows_rate);
    tell(texts->sample, why_no_samples(a), w->has_sample ? w->sample_hz : a->settings->sample.hz);
    const uint32_t metrics = w->has_metrics ? w->metrics : a->settings->sample.metrics;
    const char *why_not = why_no_samples(a);
    if (why_not)
        tell(texts->metric, why_not, 0);
    else
        snprintf(texts->metric, sizeof texts->metric, "%u %u", metrics, c->counted | metrics);
}

void gn_change_note(const struct gn_changes *c, const struct gn_host_clock *clock, const char *host,
                    sqlite3 *profile)
{
    for (size_t i = 0; i < c->count; i++) {
        char key[200], value[80];
        snprintf(key, sizeof key, "changed/%s/%zu", host, i + 1);
        snprintf(value, sizeof value, "%.3f %s %" PRIu64, c->items[i].at_s, c->items[i].what,
                 gn_host_clock_shown(clock, c->items[i].ticks));
        gn_profile_set(profile, key, value, NULL);
    }
}
