#include "cli/order_report.h"

#include "answer/fit.h"
#include "answer/quantities.h"
#include "answer/terminal.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Counts that are only worth a line when there are any. */
struct line {
    size_t offset; /* of a uint64_t in the struct */
    const char *name, *text;
    const char
        *after_losses; /* instead, where events were lost: what is there cannot always be joined then */
};

#define LINE(type, field, ...)                                                                               \
    {                                                                                                        \
        .offset = offsetof(struct type, field), .name = #field, .text = __VA_ARGS__                          \
    }

static const struct line trace_lines[] = {
    LINE(gn_trace_report, skipped, "records of kinds that gnomon does not know, skipped"),
    LINE(gn_trace_report, backward, "timestamps before the one ahead of them at the same location, kept"),
    LINE(gn_trace_report, undefined, "references to nothing, taken as unknown"),
    LINE(gn_trace_report, redefined, "definitions given twice, the first one counts"),
    LINE(gn_trace_report, reused_requests,
         "requests started again while open, the first one never completes"),
    LINE(gn_trace_report, unknown_requests, "requests completed without having been started"),
    LINE(gn_trace_report, open_requests, "requests that never complete"),
    LINE(gn_trace_report, open_collectives, "collectives begun and not ended"),
    LINE(gn_trace_report, unbalanced_leaves, "enters and leaves without their counterpart"),
    LINE(gn_trace_report, beyond_end, "events after the trace's or a thread's end"),
    LINE(gn_trace_report, missing_files, "locations without an event file"),
    LINE(gn_trace_report, truncated, "locations whose file ends in the middle"),
    LINE(gn_trace_report, miscounted, "locations with another number of events than the trace says"),
};

static const struct line sort_lines[] = {
    LINE(gn_order_stats, released, "events reported although a predecessor never came",
         "events reported although a predecessor never came, or cannot be told after losses"),
    LINE(gn_order_stats, unmatched_sends, "sends without a receive",
         "sends without a receive, or without one that can be told after losses"),
    LINE(gn_order_stats, unmatched_receives, "receives without a send",
         "receives without a send, or without one that can be told after losses"),
    LINE(gn_order_stats, incomplete_collectives, "collectives that not all members took part in",
         "collectives without some of their members, or without those that cannot be told after losses"),
    LINE(gn_order_stats, ambiguous, "events whose predecessor could not be told with certainty"),
    LINE(gn_order_stats, lost, "events lost while the program was measured"),
    LINE(gn_order_stats, contradictions, "events that fit no definition or no earlier event, taken as local"),
};

static const struct line live_lines[] = {
    LINE(gn_live_counts, died, "streams that ended without saying so"),
    LINE(gn_live_counts, broken, "of them because something else than events came"),
    LINE(gn_live_counts, duplicates, "events that came twice, taken once"),
    LINE(gn_live_counts, undefined, "references to nothing, taken as unknown"),
};

#define COUNT(lines) (sizeof(lines) / sizeof(lines)[0])

static uint64_t value_of(const void *from, const struct line *line)
{
    return *(const uint64_t *)((const char *)from + line->offset);
}

static double mean(double sum, uint64_t count)
{
    return count ? sum / (double)count : 0;
}

static const char *share(uint64_t part, uint64_t whole, char text[GN_QUANTITY_TEXT])
{
    return gn_share_text(whole ? (double)part / (double)whole : 0, text);
}

static const char *count_text(uint64_t count, char text[GN_QUANTITY_TEXT])
{
    return gn_count_text((int64_t)count, text);
}

/* ---- text ---- */

static void print_section(const char *title, const void *from, const struct line *lines, size_t count,
                          bool any_lost, FILE *out)
{
    char text[GN_QUANTITY_TEXT];
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (!value_of(from, &lines[i]))
            continue;
        if (!any)
            fprintf(out, "%s\n", title);
        any = true;
        fprintf(out, "  %s: %s\n", any_lost && lines[i].after_losses ? lines[i].after_losses : lines[i].text,
                count_text(value_of(from, &lines[i]), text));
    }
}

static void print_backward(const struct gn_order_report *r, FILE *out)
{
    const struct gn_measured *m = &r->measured;
    char count[GN_QUANTITY_TEXT], part[GN_QUANTITY_TEXT];
    fprintf(out, "messages that go backward, of %s\n", count_text(m->receives, count));
    fprintf(out, "  %s (%s) merged by timestamp: received at an earlier time than sent\n",
            count_text(m->backward_timestamps, count), share(m->backward_timestamps, m->receives, part));
    fprintf(out, "  %s (%s) in the order of arrival (%s)\n", count_text(m->backward_arrived, count),
            share(m->backward_arrived, m->receives, part), r->arrival);
    fprintf(out, "  %s in the order that came out\n", count_text(m->backward_reported, count));
}

static void print_window(const struct gn_order_report *r, FILE *out)
{
    const struct gn_order_stats *s = r->stats;
    char most[GN_QUANTITY_TEXT], unreported[GN_QUANTITY_TEXT], part[GN_QUANTITY_TEXT];
    fprintf(out, "mean window %.1f (paper 3.6), mean unreported %.1f (paper 0.6)\n",
            mean(s->nodes_sum, s->pushed), mean(s->unreported_sum, s->pushed));
    fprintf(out, "largest window %s, largest unreported %s\n", count_text(s->nodes_max, most),
            count_text(s->unreported_max, unreported));
    fprintf(out, "from observation to report: mean %.2f pushes, largest %s, %s events (%s) waited\n",
            mean(r->measured.delay_sum, s->reported), count_text(r->measured.delay_max, most),
            count_text(r->measured.delayed, unreported), share(r->measured.delayed, s->reported, part));
}

static void print_sort(const struct gn_order_report *r, FILE *out)
{
    const struct gn_order_stats *s = r->stats;
    char events[GN_QUANTITY_TEXT], locations[GN_QUANTITY_TEXT], messages[GN_QUANTITY_TEXT],
        collectives[GN_QUANTITY_TEXT];
    fprintf(out, "%s events of %s locations, %s messages, %s collectives\n", count_text(s->reported, events),
            count_text(r->locations, locations), count_text(s->messages, messages),
            count_text(s->collectives, collectives));
    print_window(r, out);
    print_backward(r, out);
    if (s->adjusted)
        fprintf(out, "%s events (%s) were moved to a later time, behind their predecessors\n",
                count_text(s->adjusted, events), share(s->adjusted, s->reported, messages));
    print_section("not everything was there", s, sort_lines, COUNT(sort_lines), s->lost > 0, out);
}

static void print_all(const struct gn_order_report *r, FILE *out)
{
    char matches[GN_QUANTITY_TEXT];
    if (r->stats)
        print_sort(r, out);
    if (r->asked)
        fprintf(out, "events that match: %s%s\n", count_text(r->matches, matches),
                r->stopped ? "; the rest was not read" : "");
    if (r->trace)
        print_section("what the trace got wrong", r->trace, trace_lines, COUNT(trace_lines), false, out);
    if (r->live)
        print_section("what the streams got wrong", r->live, live_lines, COUNT(live_lines), false, out);
}

void gn_order_report_text(const struct gn_order_report *report, FILE *out)
{
    struct gn_page page;
    const struct gn_terminal terminal = gn_terminal_of(fileno(out));
    gn_page_open(&page, &terminal, out);
    print_all(report, page.out);
    gn_page_close(&page);
}

/* ---- JSON ---- */

static void set(json_t *object, const char *name, uint64_t value)
{
    json_object_set_new(object, name, json_integer((json_int_t)value));
}

static void set_real(json_t *object, const char *name, double value)
{
    json_object_set_new(object, name, json_real(value));
}

static void set_lines(json_t *object, const void *from, const struct line *lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        set(object, lines[i].name, value_of(from, &lines[i]));
}

static json_t *sort_json(const struct gn_order_report *r)
{
    const struct gn_order_stats *s = r->stats;
    const struct gn_measured *m = &r->measured;
    json_t *sort = json_object();
    set(sort, "events", s->reported);
    set(sort, "messages", s->messages);
    set(sort, "collectives", s->collectives);
    set_real(sort, "window_mean", mean(s->nodes_sum, s->pushed));
    set(sort, "window_max", s->nodes_max);
    set_real(sort, "unreported_mean", mean(s->unreported_sum, s->pushed));
    set(sort, "unreported_max", s->unreported_max);
    set_real(sort, "delay_mean_pushes", mean(m->delay_sum, s->reported));
    set(sort, "delay_max_pushes", m->delay_max);
    set(sort, "delayed", m->delayed);
    set(sort, "receives", m->receives);
    set(sort, "backward_by_timestamp", m->backward_timestamps);
    set(sort, "backward_in_arrival", m->backward_arrived);
    set(sort, "backward_in_output", m->backward_reported);
    set(sort, "adjusted", s->adjusted);
    set_lines(sort, s, sort_lines, COUNT(sort_lines));
    return sort;
}

void gn_order_report_json(const struct gn_order_report *r, FILE *out)
{
    json_t *all = json_object();
    json_object_set_new(all, "arrival", json_string(r->arrival));
    set(all, "locations", r->locations);
    if (r->stats)
        json_object_set_new(all, "sort", sort_json(r));
    if (r->asked)
        set(all, "matches", r->matches);
    if (r->trace) {
        json_t *trace = json_object();
        set_lines(trace, r->trace, trace_lines, COUNT(trace_lines));
        json_object_set_new(all, "trace", trace);
    }
    if (r->live) {
        json_t *live = json_object();
        set(live, "streams", r->live->streams);
        set_lines(live, r->live, live_lines, COUNT(live_lines));
        json_object_set_new(all, "live", live);
    }
    json_dumpf(all, out, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    fputc('\n', out);
    json_decref(all);
}
