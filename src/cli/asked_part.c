#include "cli/asked_part.h"

#include "answer/period_text.h"
#include "cli/period_option.h"
#include "cli/place.h"
#include "profile/moments.h"
#include "profile/profile.h"
#include "trace/run_of_trace.h"

#include <errno.h>
#include <math.h>

static struct gn_period asked;
static bool asked_live, goes_on;
static struct gn_period_told told;
static size_t seen_windows; /* of events, that stand for the rest; 0: nothing is left out */
static double seen_share;

static error_t parse(int key, char *value, struct argp_state *state)
{
    if (key == GN_KEY_BETWEEN)
        asked = gn_period_option(state, value);
    else if (key == GN_KEY_LIVE)
        asked_live = true;
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

static const struct argp_option options[] = {GN_OPTION_BETWEEN, GN_OPTION_LIVE, {0}};
static const struct argp argp = {options, parse, NULL, NULL, gn_place_option, NULL, NULL};

const struct argp_child gn_asked_part_options[] = {{&argp, 0, NULL, 0}, {0}};

bool gn_asked_part_is_set(void)
{
    return asked.to_s > 0;
}

bool gn_asked_part_is_live(void)
{
    return asked_live;
}

/* When the run began, on the counter that the events are on; 0: that is not known. */
static uint64_t begin_of_run(const char *trace)
{
    char profile[4200];
    sqlite3 *db;
    struct gn_moments moments;
    uint64_t ticks = 0;
    if (!gn_run_of_trace(trace, profile, sizeof profile) || gn_profile_open(&db, profile, NULL) != 0)
        return 0;
    if (gn_moments_read(db, &moments, NULL) == 0) {
        ticks = moments.reference < moments.count ? moments.begin_ticks : 0;
        gn_moments_clear(&moments);
    }
    gn_profile_close(db);
    return ticks;
}

int gn_asked_part_find(struct gn_kept_window *part, const struct gn_definitions *d, const char *trace,
                       struct gn_error *err)
{
    const double hz = (double)(d->ticks_per_second ? d->ticks_per_second : 1);
    const uint64_t begin = begin_of_run(trace), end = d->first_ticks + d->length_ticks;
    const uint64_t zero = begin > 0 && begin <= d->first_ticks ? begin : d->first_ticks;
    const double run_s = (double)(end - zero) / hz;
    if (asked.from_s >= run_s)
        return gn_fail(err, -ERANGE, "the run's events end at %.3f s: there is nothing of it behind %.3f s",
                       run_s, asked.from_s);
    told = (struct gn_period_told){
        .is_set = true, .from_s = asked.from_s, .to_s = fmin(asked.to_s, run_s), .run_s = run_s};
    told.from_ticks = part->begin_ticks = zero + (uint64_t)(told.from_s * hz);
    told.to_ticks = part->end_ticks = zero + (uint64_t)(told.to_s * hz);
    return 0;
}

void gn_asked_part_goes_on(void)
{
    goes_on = true;
}

bool gn_asked_part_does_go_on(void)
{
    return goes_on;
}

void gn_asked_part_seen(size_t windows, double share)
{
    seen_windows = windows;
    seen_share = share;
}

void gn_asked_part_text(FILE *out)
{
    char text[GN_PERIOD_TEXT];
    if (goes_on)
        fputs("LIVE: the run goes on; this is what it had done when it was asked\n", out);
    if (told.is_set)
        fprintf(out, "a part of the run: %s\n", gn_period_text(&told, text));
    if (seen_windows)
        fprintf(
            out,
            "seen: %zu window%s of events%s, %.*f %% of that time; lengths and shares are of what was seen\n",
            seen_windows, seen_windows == 1 ? "" : "s", seen_windows == 1 ? "" : ", one after the other",
            seen_share < 0.1 ? 1 : 0, seen_share * 100);
}

void gn_asked_part_json(json_t *report)
{
    if (goes_on)
        json_object_set_new(report, "live", json_true());
    if (told.is_set)
        json_object_set_new(report, "between", gn_period_object(&told));
    if (seen_windows)
        json_object_set_new(
            report, "seen",
            json_pack("{s:I, s:f}", "windows", (json_int_t)seen_windows, "share", seen_share));
}
