/*
 * Broken archives analysed (packed_main.c): what whatif, critical, stragglers and frames rest on. No input
 * may crash that, or make it run for ever; whatever is answered is an interval, and with nothing faster the
 * run is as long as it was (history_checks.h).
 */
#include "history_checks.h"
#include "packed_archive.h"
#include "trace/clock_offsets.h"
#include "trace/reader.h"

#include <stdlib.h>
#include <unistd.h>

enum { LONGEST_S = 60 };

/* As far as the archive says. [location_count], which points into own[clock_count]. */
static const struct gn_bounds **bounds_of(const struct gn_definitions *d, struct gn_bounds **own)
{
    const struct gn_bounds **of = calloc(d->location_count + 1, sizeof *of);
    history_must(of, "memory");
    for (uint32_t i = 1; i < d->clock_count; i++)
        own[i] = gn_clock_offsets_bounds(d, i, NULL);
    for (size_t l = 0; l < d->location_count; l++)
        of[l] = d->locations[l].clock < d->clock_count ? own[d->locations[l].clock] : NULL;
    return of;
}

static void check(const char *folder, bool has_bounds, bool has_tracks)
{
    struct gn_source source;
    struct gn_error err = {""};
    if (gn_trace_open(&source, NULL, folder, &err) != 0)
        return;
    const struct gn_definitions *d = source.definitions;
    struct gn_bounds **own = calloc(d->clock_count + 1, sizeof(struct gn_bounds *));
    history_must(own, "memory");
    const struct gn_bounds **of = bounds_of(d, own);
    if (!has_bounds)
        for (size_t l = 0; l < d->location_count; l++)
            of[l] = NULL;
    const struct gn_history_settings settings = {
        .bounds = of, .has_tracks = has_tracks, .in_virtual_time = !has_tracks};
    alarm(LONGEST_S); /* whatever takes longer hangs */
    history_check(&source, &settings);
    alarm(0);
    for (uint32_t i = 0; i < d->clock_count; i++)
        gn_bounds_free(own[i]);
    free(own);
    free(of);
    source.close(source.self);
}

void packed_target(const char *folder)
{
    check(folder, true, true);
    check(folder, true, false);
    check(folder, false, true);
}
