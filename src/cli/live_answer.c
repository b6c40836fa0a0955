#include "cli/live_answer.h"

#include "cli/metric_option.h"
#include "graph/metrics.h"

static void tell(const char *what, const char *unit, const struct gn_live_rate *m, FILE *out)
{
    if (m->never)
        fprintf(out, "  %s: none, and none are to be had: %s\n", what, m->why);
    else if (m->rate > 0)
        fprintf(out, "  %s: up to %.0f a second%s\n", what, m->rate, unit);
    else
        fprintf(out, "  %s: off\n", what);
}

static void tell_metrics(const struct gn_live_rate *m, FILE *out)
{
    char names[512];
    if (m->never)
        fprintf(out, "  metrics: none, and none are to be had: %s\n", m->why);
    else
        fprintf(out, "  metrics: %s\n",
                m->rate > 0 ? gn_metric_names((uint32_t)m->rate, names, sizeof names) : "none");
}

void gn_live_text(const struct gn_running_hosts *h, const char *run, FILE *out)
{
    fprintf(out, "%s goes on on %zu host%s\n", run, h->count, h->count == 1 ? "" : "s");
    for (size_t i = 0; i < h->count; i++) {
        fprintf(out, "%s\n", h->items[i].name);
        tell("events in windows", "", &h->items[i].windows, out);
        tell("samples", " of each thread", &h->items[i].sample, out);
        tell_metrics(&h->items[i].metrics, out);
    }
    fprintf(out, "next: gnomon explain --live %s, gnomon report --live %s\n", run, run);
}

static json_t *measured(const struct gn_live_rate *m)
{
    const char *state = m->never ? "never" : m->rate > 0 ? "on" : "off";
    return json_pack("{s:s, s:f, s:o}", "state", state, "rate", m->rate, "reason",
                     m->never ? json_string(m->why) : json_null());
}

static json_t *counted(const struct gn_live_rate *m)
{
    json_t *names = json_array();
    for (uint32_t i = 0; gn_metric(i); i++)
        if ((uint32_t)m->rate >> i & 1)
            json_array_append_new(names, json_string(gn_metric(i)->name));
    return json_pack("{s:s, s:o, s:o}", "state",
                     m->never      ? "never"
                     : m->rate > 0 ? "on"
                                   : "off",
                     "names", names, "reason", m->never ? json_string(m->why) : json_null());
}

json_t *gn_live_json(const struct gn_running_hosts *h, const char *run)
{
    json_t *list = json_array();
    for (size_t i = 0; i < h->count; i++)
        json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:o}", "host", h->items[i].name, "windows",
                                              measured(&h->items[i].windows), "sample",
                                              measured(&h->items[i].sample), "metrics",
                                              counted(&h->items[i].metrics)));
    return json_pack("{s:i, s:s, s:o}", "version", 1, "run", run, "hosts", list);
}
