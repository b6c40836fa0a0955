/* trace_dump [-e] PATH: what the reader makes of an archive: `name count` for each kind of event, each kind
 * of definition and each count of the report; with -e all events, too. For tests and for looking. */
#include "trace/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_event(const struct gn_event *e)
{
    printf("%" PRIu32 " %" PRIu64 " %s op=%s region=%" PRId32 " path=%" PRId32 " comm=%" PRId32
           " peer=%" PRId32 " tag=%" PRId32 " request=%" PRIu64 " sent=%" PRIu64 " received=%" PRIu64 "\n",
           e->location, e->ticks, gn_event_name(e->kind), gn_collective_name(e->op), (int32_t)e->region,
           (int32_t)e->path, (int32_t)e->comm, (int32_t)e->peer, (int32_t)e->tag, e->request, e->bytes_sent,
           e->bytes_received);
}

static int64_t dump(struct gn_source *source, uint64_t counts[GN_EVENT_KIND_COUNT], int all,
                    struct gn_error *err)
{
    for (uint32_t l = 0; l < source->definitions->location_count; l++) {
        const struct gn_event *events;
        int64_t count;
        while ((count = source->pull(source->self, l, &events, err)) > 0)
            for (int64_t i = 0; i < count; i++) {
                counts[events[i].kind]++;
                if (all)
                    print_event(&events[i]);
            }
        if (count < 0)
            return count;
    }
    return 0;
}

static void print_report(const struct gn_trace_report *r)
{
#define COUNT(name) printf("report.%s %" PRIu64 "\n", #name, r->name)
    COUNT(events);
    COUNT(skipped);
    COUNT(backward);
    COUNT(undefined);
    COUNT(redefined);
    COUNT(reused_requests);
    COUNT(unknown_requests);
    COUNT(open_requests);
    COUNT(open_collectives);
    COUNT(unbalanced_leaves);
    COUNT(beyond_end);
    COUNT(missing_files);
    COUNT(truncated);
    COUNT(miscounted);
#undef COUNT
}

static void print_definitions(const struct gn_definitions *d)
{
    printf("definitions: %zu nodes, %zu processes, %zu locations, %zu regions, %zu paths, %zu comms, %zu "
           "windows\n",
           d->system_node_count, d->process_count, d->location_count, d->region_count, d->path_count,
           d->comm_count, d->window_count);
    printf("clock: %" PRIu64 " ticks/s from %" PRIu64 ", length %" PRIu64 "\n", d->ticks_per_second,
           d->first_ticks, d->length_ticks);
    for (size_t i = 0; i < d->location_count; i++) {
        const struct gn_location_def *l = &d->locations[i];
        printf("location %zu: \"%s\", process %" PRIu32 ", rank %" PRId32 ", clock domain %" PRIu32
               ", id %" PRIu64 "\n",
               i, gn_string(d, l->name), l->process, d->processes[l->process].rank, l->domain, l->file_id);
    }
}

int main(int count, char **arguments)
{
    int all = count > 2 && strcmp(arguments[1], "-e") == 0;
    struct gn_error err = {0};
    struct gn_source source;
    const struct gn_trace_report *report;
    uint64_t counts[GN_EVENT_KIND_COUNT] = {0};
    int64_t status = count > 1 ? gn_trace_open(&source, &report, arguments[count - 1], &err) : -EINVAL;
    if (status < 0) {
        fprintf(stderr, "trace_dump: %s\n", err.text);
        return 2;
    }
    printf("creator: %s\n", report->creator);
    print_definitions(source.definitions);
    status = dump(&source, counts, all, &err);
    for (unsigned kind = 0; kind < GN_EVENT_KIND_COUNT; kind++)
        if (counts[kind])
            printf("event.%s %" PRIu64 "\n", gn_event_name(kind), counts[kind]);
    print_report(report);
    source.close(source.self);
    if (status < 0)
        fprintf(stderr, "trace_dump: %s\n", err.text);
    return status < 0;
}
