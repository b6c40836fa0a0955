#include "cli/seen.h"

#include "agent/windows.h"
#include "analyse/patterns_seen.h"
#include "analyse/pieces.h"
#include "base/mix.h"
#include "calls.h"
#include "cli/findings.h"
#include "cli/naps.h"
#include "cli/trace_of_run.h"
#include "cli/watched_source.h"
#include "event/activity.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char in_windows[] = "windows";

static bool has_trace(const struct gn_summary *s, const char *profile, char *path, size_t size)
{
    return !s->trace.apart && s->trace.asked && gn_trace_of_run(&s->trace, profile, path, size);
}

static bool has_windows(const struct gn_summary *s)
{
    return s->windows.count > 0 && s->windows.path[0];
}

bool gn_cli_can_see(const struct gn_summary *summary, const char *profile, bool with_trace)
{
    char path[4800];
    if (has_trace(summary, profile, path, sizeof path))
        return with_trace;
    return has_windows(summary);
}

/* From MPI_Init to MPI_Finalize, as measured. */
static double run_ns(const struct gn_summary *s)
{
    double longest = 0;
    for (size_t i = 0; i < s->rank_count; i++)
        longest = fmax(longest, s->ranks_told[i].useful_s + s->ranks_told[i].mpi_s + s->ranks_told[i].cost_s);
    return (longest > 0 ? longest : s->elapsed_s) * 1e9;
}

/* window: that the source's events are of; NULL: they are all of a trace. */
static int add_part(struct gn_cli_seen *o, struct gn_source *source, const struct gn_kept_window *window,
                    struct gn_error *err)
{
    struct gn_seen_part *part = &o->seen.parts[o->seen.count];
    const struct gn_history_settings asked = {
        .bounds = o->bounds, .naps = o->naps, .in_virtual_time = !o->is_raw};
    int code = gn_history_read(&part->history, source, &asked, err);
    if (code < 0)
        return code;
    gn_seen_set_window(part, o->seen.definitions, window);
    code = gn_waits_find(&part->waits, &part->history, window ? &part->counted : NULL, err);
    if (code < 0)
        gn_history_clear(&part->history);
    else
        o->seen.count++;
    for (size_t i = 0; i < 2 && o->seen.count > 1; i++) /* of the first one, too */
        gn_waits_drop_slices(i == 0 ? &o->seen.parts[0].waits : &part->waits);
    return code;
}

/* What of a window is of the run: from when the last one had begun with MPI until the last one ends it. A
 * piece ahead of that does not show that it is none. */
static struct gn_kept_window of_run(struct gn_source *source, struct gn_kept_window window)
{
    const struct gn_definitions *d = source->definitions;
    const struct gn_event *events;
    struct gn_error none;
    uint64_t finalized = 0;
    int64_t count;
    for (uint32_t l = 0; l < d->location_count; l++)
        while ((count = source->pull(source->self, l, &events, &none)) > 0)
            for (int64_t i = 0; i < count; i++) {
                const struct gn_event *e = &events[i];
                if (e->kind != GN_EVENT_ENTER && e->kind != GN_EVENT_LEAVE)
                    continue;
                const uint32_t activity = gn_region_activity(d, e->region);
                if (e->kind == GN_EVENT_LEAVE && gn_activity_starts(activity) &&
                    e->ticks > window.begin_ticks)
                    window.begin_ticks = e->ticks;
                if (e->kind == GN_EVENT_ENTER && activity == GN_CALL_FINALIZE && e->ticks > finalized)
                    finalized = e->ticks;
            }
    if (finalized > window.begin_ticks && finalized < window.end_ticks)
        window.end_ticks = finalized;
    return window;
}

/* *more: so many parts there is room for beside one of each window; a profile may say anything of these. */
static int see_pieces(struct gn_cli_seen *o, size_t window, const struct gn_kept_window *kept, size_t *more,
                      struct gn_error *err)
{
    const struct gn_definitions *d = o->source.definitions;
    const struct gn_kept_window run = {d->first_ticks, d->first_ticks + d->length_ticks}, p = o->seen.period;
    struct gn_kept_window pieces[GN_PIECES_OF_RUN];
    struct gn_source whole;
    gn_windowed_source(o->windowed, window, &whole);
    size_t count = gn_pieces_cut(of_run(&whole, *kept), run,
                                 p.end_ticks > 0 ? p.end_ticks - p.begin_ticks : d->length_ticks,
                                 gn_windowed_events(o->windowed, window),
                                 GN_WINDOWS_LEAST + GN_WINDOWS_EACH * (uint64_t)d->location_count, pieces);
    int code = 0;
    if (count - 1 > *more)
        count = 1;
    *more -= count - 1;
    if (count == 1)
        pieces[0] = *kept;
    for (size_t i = 0; i < count && code == 0; i++) {
        struct gn_windowed *cut = NULL;
        struct gn_source part;
        gn_windowed_source(o->windowed, window, &part);
        if (count > 1) {
            code = gn_windowed_read(&cut, &part, &pieces[i], 1, GN_WINDOWED_CALLS, err);
            if (code == 0)
                gn_windowed_source(cut, 0, &part);
        }
        if (code == 0)
            code = add_part(o, &part, &pieces[i], err);
        gn_windowed_free(cut);
    }
    return code;
}

/* is_whole: the only one is all of the run. */
static int see_windows(struct gn_cli_seen *o, struct gn_source *source, const struct gn_kept_window *windows,
                       size_t count, bool is_whole, struct gn_error *err)
{
    static const struct gn_kept_window all = {0, UINT64_MAX};
    int code =
        gn_windowed_read(&o->windowed, source, is_whole ? &all : windows, count, GN_WINDOWED_CALLS, err);
    size_t more = GN_PIECES_OF_RUN;
    o->seen.windows = count;
    for (size_t i = 0; i < count && code == 0; i++) {
        struct gn_source part;
        gn_windowed_source(o->windowed, i, &part);
        code = is_whole ? add_part(o, &part, NULL, err) : see_pieces(o, i, &windows[i], &more, err);
    }
    return code;
}

enum { CHOSEN = 40 };

/* Of a trace that is too large windows are looked at, as many events as of others: one in each of equal parts
 * of that time, in which there are so many, at random. */
static bool choose(struct gn_cli_seen *o, struct gn_kept_window time, uint64_t events)
{
    const double part = (double)(time.end_ticks - time.begin_ticks) / CHOSEN,
                 length = part * GN_FINDINGS_MOST / (double)events;
    o->chosen = calloc(CHOSEN, sizeof *o->chosen);
    for (uint64_t i = 0; o->chosen && i < CHOSEN; i++) {
        const double begin = ((double)i + gn_mix_unit(gn_mix_at(events, 0, i)) * (1 - length / part)) * part;
        o->chosen[i].begin_ticks = time.begin_ticks + (uint64_t)begin;
        o->chosen[i].end_ticks = o->chosen[i].begin_ticks + (uint64_t)length;
    }
    o->chosen_count = CHOSEN;
    return o->chosen != NULL;
}

/* Only what is in the part of the run that is asked for. */
static int narrow(struct gn_cli_seen *o, const struct gn_summary *s, bool traced, struct gn_error *err)
{
    const struct gn_kept_window p = o->seen.period;
    o->chosen = calloc(s->windows.count + 1, sizeof *o->chosen);
    if (!o->chosen)
        return gn_fail(err, -ENOMEM, "no memory for windows of its events");
    if (traced)
        o->chosen[o->chosen_count++] = p;
    for (size_t i = 0; i < s->windows.count && !traced; i++) {
        const struct gn_kept_window *w = &s->windows.kept[i];
        const struct gn_kept_window part = {w->begin_ticks > p.begin_ticks ? w->begin_ticks : p.begin_ticks,
                                            w->end_ticks < p.end_ticks ? w->end_ticks : p.end_ticks};
        if (part.begin_ticks < part.end_ticks)
            o->chosen[o->chosen_count++] = part;
    }
    return o->chosen_count ? 0 : gn_fail(err, -ENODATA, "no window is in that part of the run");
}

static int see_trace(struct gn_cli_seen *o, struct gn_source *source, const char *command,
                     struct gn_error *err)
{
    struct gn_watched_source watched;
    struct gn_source seen = gn_watch_source(&watched, source, command ? command : "explain");
    int code = o->chosen ? see_windows(o, &seen, o->chosen, o->chosen_count, false, err)
                         : add_part(o, &seen, NULL, err);
    gn_progress_end(&watched.progress);
    return code;
}

static int not_whole(struct gn_error *err)
{
    return gn_fail(err, -ENODATA, "they are not whole; gnomon stragglers says of a trace what is missing");
}

/* Windows are as small as they can be, and have to be read for the first screen. Of a large trace not all is
 * looked at, and only by who asks for that: it takes long to read. */
static int check(struct gn_cli_seen *o, const struct gn_summary *s, bool traced, const char *command,
                 struct gn_error *err)
{
    enum { WINDOWS_MOST = 8 * GN_FINDINGS_MOST };
    const struct gn_definitions *d = o->source.definitions;
    struct gn_kept_window time = {d->first_ticks, d->first_ticks + d->length_ticks};
    double events = (double)gn_defined_events(d);
    const int most = traced ? GN_FINDINGS_MOST : WINDOWS_MOST;
    if (d->process_count < (size_t)s->ranks)
        return not_whole(err);
    if (s->period.is_set) {
        if (s->period.to_ticks <= s->period.from_ticks)
            return gn_fail(err, -ENODATA,
                           "the clocks of its hosts were not compared: which are of that part is not known");
        o->seen.is_whole = false;
        time = o->seen.period = (struct gn_kept_window){s->period.from_ticks, s->period.to_ticks};
        if (traced && d->length_ticks > 0)
            events *= (double)(time.end_ticks - time.begin_ticks) / (double)d->length_ticks;
    }
    if (events <= most)
        return s->period.is_set ? narrow(o, s, traced, err) : 0;
    if (!traced || !command)
        return gn_fail(
            err, -EFBIG,
            "there are %.0f of them, more than %d: without --trace, gnomon run keeps windows of them, "
            "which tell as much",
            events, most);
    o->seen.is_whole = false;
    return choose(o, time, (uint64_t)events) ? 0
                                             : gn_fail(err, -ENOMEM, "no memory for windows of its events");
}

/* in_parts: when what is in them began and ended has to be known on one clock. */
static int know_clocks(struct gn_cli_seen *o, struct gn_source *source, const char *path, bool in_parts,
                       struct gn_error *err)
{
    const struct gn_definitions *d = o->source.definitions;
    int code = gn_known_bounds(&o->known, path, d, err);
    o->bounds = o->known.events.of;
    if (code < 0 || !in_parts || !gn_placed_is_needed(d))
        return code;
    code = gn_placed_new(&o->placed, &o->source, o->bounds, err);
    if (code == 0) {
        gn_placed_source(o->placed, source);
        o->bounds = gn_placed_bounds(o->placed);
    }
    return code;
}

int gn_cli_see(struct gn_cli_seen *o, const struct gn_summary *s, const char *profile, bool is_raw,
               const char *command, struct gn_error *err)
{
    char path[4800];
    const struct gn_trace_report *found;
    *o = (struct gn_cli_seen){.is_raw = is_raw};
    const bool traced = has_trace(s, profile, path, sizeof path);
    if (!traced) {
        const char *slash = strrchr(profile, '/');
        snprintf(path, sizeof path, "%.*s%s%s", slash ? (int)(slash - profile) : 0, profile, slash ? "/" : "",
                 s->windows.path);
    }
    int code = gn_trace_open(&o->source, &found, path, err);
    if (code < 0)
        return code;
    o->seen = (struct gn_seen){
        .definitions = o->source.definitions,
        .parts = calloc(s->windows.count + CHOSEN + GN_PIECES_OF_RUN, sizeof *o->seen.parts),
        .measured_ns = run_ns(s),
        .off = s->windows.off,
        .off_count = traced ? 0 : s->windows.off_count,
        .is_whole = traced ? s->trace.dropped == 0 && s->trace.unwritten == 0 : s->windows.is_whole};
    code =
        o->seen.parts ? check(o, s, traced, command, err) : gn_fail(err, -ENOMEM, "no memory for its events");
    struct gn_source source = o->source;
    o->naps = gn_cli_naps(profile, o->source.definitions);
    if (code == 0)
        code = know_clocks(o, &source, path, !traced || o->chosen, err);
    if (code == 0 && traced)
        code = see_trace(o, &source, command, err);
    else if (code == 0)
        code = see_windows(o, &source, o->chosen ? o->chosen : s->windows.kept,
                           o->chosen ? o->chosen_count : s->windows.count, s->windows.is_whole && !o->chosen,
                           err);
    if (code == 0 && (found->truncated || found->missing_files)) /* known when all has been read */
        code = not_whole(err);
    if (code == 0 && o->seen.count == 0)
        code = gn_fail(err, -ENODATA, "there are no events in its %s", traced ? "trace" : in_windows);
    if (code == 0 && gn_seen_measure(&o->seen) != 0)
        code = gn_fail(err, -ENOMEM, "no memory for its calls");
    if (code < 0)
        gn_cli_seen_close(o);
    else
        gn_seen_tell_totals(&o->seen, s);
    return code < 0 ? code : 0;
}

void gn_cli_seen_close(struct gn_cli_seen *o)
{
    gn_seen_clear(&o->seen);
    gn_windowed_free(o->windowed);
    free(o->chosen);
    free(o->naps);
    gn_placed_free(o->placed);
    gn_known_bounds_clear(&o->known);
    o->source.close(o->source.self);
    *o = (struct gn_cli_seen){.windowed = NULL};
}
