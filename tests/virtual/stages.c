/* stages TRACE — how long rank 0 took from barrier to barrier: as measured, and in virtual time; seconds. */
#include "analyse/history.h"
#include "analyse/known_bounds.h"
#include "calls.h"
#include "trace/reader.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 64 };

/* Their number. */
static int read_stages(const char *path, bool in_virtual_time, double *stages, double *share)
{
    const struct gn_trace_report *report;
    struct gn_source source;
    struct gn_known_bounds known;
    struct gn_history h;
    struct gn_error err = {""};
    int count = 0;
    uint64_t since = 0;
    if (gn_trace_open(&source, &report, path, &err) < 0 ||
        gn_known_bounds(&known, path, source.definitions, &err) < 0) {
        fprintf(stderr, "%s: %s\n", path, err.text);
        exit(2);
    }
    const struct gn_history_settings settings = {.bounds = known.events.of,
                                                 .in_virtual_time = in_virtual_time};
    if (gn_history_read(&h, &source, &settings, &err) < 0) {
        fprintf(stderr, "%s: %s\n", path, err.text);
        exit(2);
    }
    for (uint32_t c = 0; c < h.call_count && count < MOST; c++) {
        const struct gn_call *call = &h.calls[c];
        if (h.definitions->processes[h.definitions->locations[call->location].process].rank != 0 ||
            gn_region_activity(h.definitions, call->region) != GN_CALL_BARRIER)
            continue;
        if (since)
            stages[count++] = (double)(call->leave_ticks - since) / (double)h.definitions->ticks_per_second;
        since = call->leave_ticks;
    }
    *share = h.own_work_share;
    gn_history_clear(&h);
    gn_known_bounds_clear(&known);
    source.close(source.self);
    return count;
}

int main(int argc, char **argv)
{
    double measured[MOST], virtual_[MOST], share;
    if (argc != 2)
        return 2;
    const int count = read_stages(argv[1], false, measured, &share);
    read_stages(argv[1], true, virtual_, &share);
    for (int i = 0; i < count; i++)
        printf("%.6f %.6f\n", measured[i], virtual_[i]);
    return 0;
}
