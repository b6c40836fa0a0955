#include "cli/sync.h"

#include "cli/interrupted.h"
#include "cli/sync_split.h"
#include "trace/reader.h"
#include "trace/retime.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct sync {
    const struct gn_sync_settings *settings;
    const struct gn_transport *transport;
    struct gn_sync_report *report;
    const struct gn_definitions *definitions;
    const struct gn_trace_report *found;
    struct gn_sync_split split;
    char folder[PATH_MAX]; /* where the ops are kept: beside the new archive */
    struct gn_op_store store;
    bool has_store;
    struct gn_repair_settings repair_settings;
    struct gn_repair *repair;
    struct gn_retime *retime;
    struct gn_retime_range range;
    bool has_range;
};

/* ---- together ---- */

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool is_first(const struct sync *s)
{
    return s->transport->rank == 0;
}

static int agree(const struct sync *s, enum gn_agreement how, int64_t *values, size_t count,
                 struct gn_error *err)
{
    int code = s->transport->agree(s->transport->self, how, values, count);
    return code < 0
               ? gn_fail(err, code, "the processes that work together lost each other: %s", strerror(-code))
               : 0;
}

/* After a phase that each process does for itself: its own error, or that another one has one; and for all,
 * whether it is one of the input. */
static int settled(const struct sync *s, int code, struct gn_error *err)
{
    int64_t worst[] = {code, code < 0 && s->report->is_bad_input ? -1 : 0};
    int lost = agree(s, GN_AGREE_MIN, worst, 2, code < 0 ? NULL : err);
    s->report->is_bad_input = lost == 0 && worst[0] < 0 && worst[1] < 0;
    if (code < 0 || lost < 0)
        return code < 0 ? code : lost;
    if (worst[0] == 0)
        return 0;
    if (err)
        err->text[0] = '\0';
    return -ECANCELED;
}

/* The same for one in which the trace or what the user named is looked at: errors are theirs, unless there is
 * no room. */
static int settled_input(const struct sync *s, int code, struct gn_error *err)
{
    const bool is_full = code == -ENOMEM || code == -ENOSPC || code == -EDQUOT || code == -EFBIG;
    s->report->is_bad_input = code < 0 && !is_full;
    return settled(s, code, err);
}

/* And for one in which it is read again while the new archive is written, which may fail as well. */
static int settled_output(const struct sync *s, int code, struct gn_error *err)
{
    s->report->is_bad_input = code == -EBADMSG || code == -ENODATA || code == -ERANGE;
    return settled(s, code, err);
}

static int sum_up(const struct sync *s, uint64_t *const *values, size_t count, struct gn_error *err)
{
    int64_t sums[16];
    for (size_t i = 0; i < count; i++)
        sums[i] = (int64_t)*values[i];
    int code = agree(s, GN_AGREE_SUM, sums, count, err);
    for (size_t i = 0; i < count && code == 0; i++)
        *values[i] = (uint64_t)sums[i];
    return code;
}

static void show(const struct sync *s, const char *phase, double share)
{
    gn_interrupted_check();
    gn_progress_show(s->settings->progress, phase, share);
}

/* ---- before anything is done ---- */

/* Reading and repairing may take long: what is wrong with the place is said before. The ops go beside it. */
static int look_at_place(struct sync *s, struct gn_error *err)
{
    const char *out = s->settings->out;
    size_t length = strlen(out);
    while (length > 1 && out[length - 1] == '/')
        length--;
    while (length > 0 && out[length - 1] != '/')
        length--;
    if (length >= sizeof s->folder)
        return gn_fail(err, -ENAMETOOLONG, "the name of the new archive is too long: %.64s…", out);
    snprintf(s->folder, sizeof s->folder, "%.*s", length ? (int)length : 1, length ? out : ".");
    return gn_retime_check(s->settings->trace, out, err);
}

static int open_trace(struct sync *s, struct gn_error *err)
{
    int code = gn_trace_open(&s->report->source, &s->found, s->settings->trace, err);
    if (code == 0)
        code = look_at_place(s, err);
    if (code < 0)
        return code;
    s->definitions = s->report->definitions = s->report->source.definitions;
    return 0;
}

/* ---- who has what ---- */

static int split(struct sync *s, struct gn_error *err)
{
    return gn_sync_split(&s->split, s->settings->trace, s->definitions, s->transport->size,
                         s->settings->keeps_going, err);
}

static bool is_mine(const struct sync *s, uint32_t process)
{
    return s->split.owner[process] == s->transport->rank;
}

/* ---- from events to ops ---- */

static int extract_mine(struct sync *s, struct gn_extract *extract, struct gn_error *err)
{
    const size_t count = s->definitions->process_count;
    int code = 0;
    for (uint32_t p = 0; p < count && code == 0; p++) {
        show(s, "reading", (double)p / (double)count);
        if (is_mine(s, p))
            code = gn_extract_process(extract, p, err);
    }
    return code;
}

static int extract(struct sync *s, struct gn_error *err)
{
    struct gn_sync_report *r = s->report;
    struct gn_extract *extract;
    int code = gn_op_store_open(&s->store, s->definitions->location_count, s->folder, err);
    if (code < 0)
        return code;
    s->has_store = true;
    gn_op_store_memory(&s->store, s->settings->memory_bytes);
    code = gn_extract_open(&extract, &r->source, &r->clocks.presync, &s->store, err);
    if (code < 0)
        return code;
    code = extract_mine(s, extract, err);
    r->events = *gn_extract_stats(extract);
    gn_extract_close(extract);
    return code;
}

static int sum_extracted(struct sync *s, struct gn_error *err)
{
    struct gn_extract_stats *e = &s->report->events;
    struct gn_sync_report *r = s->report;
    int64_t first = e->events ? e->first_ticks : INT64_MAX, last = e->events ? e->last_ticks : INT64_MIN;
    r->truncated = s->found->truncated;
    r->missing_files = s->found->missing_files;
    uint64_t *const counts[] = {&e->events,    &e->ops,       &e->sends, &e->receives,  &e->collectives,
                                &e->uncounted, &e->ambiguous, &e->unfit, &r->truncated, &r->missing_files};
    int code = sum_up(s, counts, sizeof counts / sizeof counts[0], err);
    if (code == 0)
        code = agree(s, GN_AGREE_MIN, &first, 1, err);
    if (code == 0)
        code = agree(s, GN_AGREE_MAX, &last, 1, err);
    e->first_ticks = e->events ? first : 0;
    e->last_ticks = e->events ? last : 0;
    return code;
}

/* ---- the clock ---- */

static void on_repair(void *self, const char *phase, double share)
{
    show(self, phase, share);
}

static int64_t ticks_of(const struct sync *s, double ns)
{
    const uint64_t rate = s->definitions->ticks_per_second;
    const double ticks = ns / 1e9 * (double)(rate ? rate : 1000000000);
    return ticks < 0x1p60 ? llround(ticks) : INT64_C(1) << 60;
}

/* Whether some clock is as it is in C: nothing says how it runs. */
static bool has_raw_clock(const struct gn_sync_clocks *clocks)
{
    switch (clocks->presync.kind) {
    case GN_PRESYNC_LINEAR:
        return clocks->seen.kind == GN_PRESYNC_NONE;
    case GN_PRESYNC_BOUNDS:
        return clocks->bounded < clocks->presync.definitions->location_count;
    default:
        return true;
    }
}

/* What clocks may drift from each other: as they are, and with their rates corrected as far as they are
 * known. */
static double apart_ppm(const struct gn_sync_clocks *clocks)
{
    enum { RAW_PPM = 200, CORRECTED_PPM = 20 };
    return has_raw_clock(clocks) ? RAW_PPM : CORRECTED_PPM;
}

static double gamma_of(const struct sync *s)
{
    if (s->settings->gamma > 0)
        return s->settings->gamma;
    return has_raw_clock(&s->report->clocks) ? GN_REPAIR_GAMMA_RAW : GN_REPAIR_GAMMA;
}

static int repair_with(struct sync *s, const struct gn_latency *given, struct gn_error *err)
{
    const struct gn_sync_settings *set = s->settings;
    struct gn_repair_result *result = &s->report->repair;
    s->repair_settings = (struct gn_repair_settings){
        .gamma = gamma_of(s),
        .slope = set->slope,
        .longest_ticks = ticks_of(s, set->longest_ns),
        .threshold_ticks = ticks_of(s, set->threshold_ns),
        .apart_ppm = apart_ppm(&s->report->clocks),
        .latency = given,
        .bounded = s->report->clocks.presync.kind == GN_PRESYNC_BOUNDS,
        .progress = on_repair,
        .self = s,
    };
    int code = gn_repair(&s->repair, s->definitions, &s->store, s->transport, s->split.owner,
                         &s->repair_settings, result, err);
    s->repair_settings.latency = NULL; /* from here on it is in the result */
    if (code < 0)
        *result = (struct gn_repair_result){.pass_count = 0};
    return code;
}

/* The others may be waiting in the middle of it: who fails ends the job. */
static int repair(struct sync *s, struct gn_error *err)
{
    struct gn_latency given;
    const bool is_given = s->settings->latency.kind != GN_LATENCY_AUTO;
    int code = is_given ? gn_latency_given(&given, &s->settings->latency, s->definitions, err) : 0;
    code = settled_input(s, code, err);
    if (code < 0)
        return code;
    code = repair_with(s, is_given ? &given : NULL, err);
    if (is_given)
        gn_latency_close(&given);
    if (code == -ERANGE) /* all have found that together */
        return settled_input(s, is_first(s) ? code : 0, err);
    if (code < 0 && s->transport->size > 1) {
        fprintf(stderr, "gnomon sync: %s\n", err ? err->text : strerror(-code));
        s->transport->give_up(s->transport->self, 1);
    }
    return code;
}

static void forget_repair(struct sync *s)
{
    if (s->repair) {
        gn_repair_close(s->repair);
        gn_latency_close(&s->report->repair.latency);
    }
    s->repair = NULL;
    if (s->has_store)
        gn_op_store_close(&s->store);
    s->has_store = false;
}

static int read_and_repair(struct sync *s, struct gn_error *err)
{
    double *seconds = s->report->seconds, begin = now_s();
    int code = settled_input(s, extract(s, err), err);
    if (code == 0)
        code = sum_extracted(s, err);
    seconds[GN_SYNC_READ] += now_s() - begin;
    begin = now_s();
    if (code == 0)
        code = repair(s, err);
    seconds[GN_SYNC_REPAIR] += now_s() - begin;
    return code;
}

/* A trace in which nothing is wrong stays as it is. Where its times are not those that the repair would start
 * from, and nobody has asked for that, it is looked at as it is before. */
static int repair_trace(struct sync *s, struct gn_error *err)
{
    struct gn_sync_clocks *clocks = &s->report->clocks;
    const struct gn_presync chosen = clocks->presync;
    if (clocks->was_chosen && !clocks->is_seen) {
        clocks->presync = clocks->seen;
        clocks->is_seen = true;
        int code = read_and_repair(s, err);
        if (code < 0 || s->report->repair.pass_count == 0)
            return code;
        forget_repair(s);
        clocks->presync = chosen;
        clocks->is_seen = false;
    }
    return read_and_repair(s, err);
}

/* ---- the new archive ---- */

/* A location while it is written. */
struct writing {
    const struct sync *sync;
    struct gn_retiming retiming;
    uint64_t events, expected;
    double share, weight; /* of the phase: before it, and its own */
};

static uint64_t new_time(void *self, uint64_t record, uint64_t ticks)
{
    enum { OFTEN = 1 << 16 };
    struct writing *w = self;
    if (++w->events % OFTEN == 0) {
        const double part = w->expected ? (double)w->events / (double)w->expected : 0;
        show(w->sync, "writing", w->share + w->weight * (part < 1 ? part : 1));
    }
    return gn_retiming_time(&w->retiming, record, ticks);
}

static void widen(struct sync *s, const struct gn_retiming *retiming)
{
    const uint64_t first = (uint64_t)retiming->first_new, last = (uint64_t)retiming->new_ticks;
    if (!retiming->any)
        return;
    if (!s->has_range || first < s->range.first_ticks)
        s->range.first_ticks = first;
    if (!s->has_range || last > s->range.last_ticks)
        s->range.last_ticks = last;
    s->has_range = true;
}

static int write_with(struct sync *s, uint32_t location, struct writing *writing, struct gn_error *err)
{
    const struct gn_location_def *l = &s->definitions->locations[location];
    const struct gn_retimer retimer = {writing, new_time, s->found->ends[location]};
    struct gn_sync_report *r = s->report;
    uint64_t events = 0;
    writing->events = 0;
    writing->expected = l->events == UINT64_MAX ? 0 : l->events;
    int code = gn_retime_location(s->retime, l->file_id, r->is_unchanged ? NULL : &retimer, &events, err);
    widen(s, &writing->retiming);
    r->written += events;
    if (code == 0 && writing->retiming.is_late)
        code = gn_fail(err, -ERANGE,
                       "events of location %" PRIu64 " (%s) would get times above %" PRId64
                       " (2^62), which are none: are timestamps damaged?",
                       l->file_id, gn_string(s->definitions, l->name), INT64_MAX / 2);
    return code;
}

static int write_location(struct sync *s, uint32_t location, struct writing *writing, struct gn_error *err)
{
    struct gn_sync_report *r = s->report;
    struct gn_knots *knots;
    int code = gn_repair_knots(s->repair, location, &knots, err);
    if (code < 0)
        return code;
    const struct gn_knot_source source = knots ? gn_knots_source(knots) : (struct gn_knot_source){0};
    writing->retiming = gn_retiming_begin(&r->clocks.presync, location, &source, &r->deviation);
    code = write_with(s, location, writing, err);
    const int lost = gn_repair_knots_close(s->repair, knots, code < 0 ? NULL : err);
    return code < 0 ? code : lost;
}

static int write_locations(struct sync *s, struct gn_error *err)
{
    struct writing writing = {.sync = s};
    double all = 0;
    int code = 0;
    for (size_t i = 0; i < s->definitions->location_count; i++)
        all += is_mine(s, s->definitions->locations[i].process) ? (double)s->split.bytes[i] : 0;
    for (uint32_t i = 0; i < s->definitions->location_count && code == 0; i++) {
        if (!is_mine(s, s->definitions->locations[i].process))
            continue;
        show(s, "writing", writing.share);
        writing.weight = all > 0 ? (double)s->split.bytes[i] / all : 0;
        code = write_location(s, i, &writing, err);
        writing.share += writing.weight;
    }
    return code;
}

/* After a signal; not by two at a time. */
static void remove_unfinished(void *self)
{
    struct sync *s = self;
    gn_retime_close(s->retime);
    s->retime = NULL;
}

static int open_output(struct sync *s, struct gn_error *err)
{
    int code = 0;
    if (is_first(s))
        code = gn_retime_open(&s->retime, s->settings->trace, s->settings->out, true, err);
    code = settled_input(s, code, err);
    if (code < 0)
        return code;
    if (!is_first(s))
        code = gn_retime_open(&s->retime, s->settings->trace, s->settings->out, false, err);
    return settled_input(s, code, err);
}

/* Each rank's in turn: sums of doubles come out the same everywhere. */
static int share_deviation(struct sync *s, struct gn_error *err)
{
    struct gn_deviation sum = {0};
    for (uint32_t rank = 0; rank < s->transport->size; rank++) {
        struct gn_deviation one = s->report->deviation;
        int code = s->transport->share(s->transport->self, rank, &one, sizeof one);
        if (code < 0)
            return gn_fail(err, code, "the processes that work together lost each other");
        gn_deviation_add(&sum, &one);
    }
    s->report->deviation = sum;
    return 0;
}

static int share_written(struct sync *s, struct gn_error *err)
{
    uint64_t *const counts[] = {&s->report->written};
    int64_t first = s->has_range ? (int64_t)s->range.first_ticks : INT64_MAX;
    int64_t last = s->has_range ? (int64_t)s->range.last_ticks : INT64_MIN;
    int code = share_deviation(s, err);
    if (code == 0)
        code = sum_up(s, counts, 1, err);
    if (code == 0)
        code = agree(s, GN_AGREE_MIN, &first, 1, err);
    if (code == 0)
        code = agree(s, GN_AGREE_MAX, &last, 1, err);
    s->has_range = first <= last;
    if (s->has_range)
        s->range = (struct gn_retime_range){(uint64_t)first, (uint64_t)last};
    return code;
}

static int finish_output(struct sync *s, struct gn_error *err)
{
    const struct gn_definitions *d = s->definitions;
    const bool is_unchanged = s->report->is_unchanged;
    if (is_unchanged || !s->has_range)
        s->range = (struct gn_retime_range){d->first_ticks, d->first_ticks + d->length_ticks};
    int code = gn_retime_rest(s->retime, &s->range, !is_unchanged, err);
    show(s, "writing", 1);
    return code < 0 ? code : gn_retime_finish(s->retime, err);
}

static int write_trace(struct sync *s, struct gn_error *err)
{
    const double begin = now_s();
    s->report->is_unchanged = s->report->repair.pass_count == 0 && s->report->clocks.is_seen;
    gn_interrupted_clean(remove_unfinished, s); /* before there is anything: it cannot come too late */
    int code = open_output(s, err);
    if (code == 0)
        code = settled_output(s, write_locations(s, err), err);
    if (code == 0)
        code = share_written(s, err);
    if (code == 0)
        code = settled_output(s, is_first(s) ? finish_output(s, err) : 0, err);
    gn_interrupted_clean(NULL, NULL);
    remove_unfinished(s);
    s->report->seconds[GN_SYNC_WRITE] = now_s() - begin - s->report->repair.seconds_backward;
    return code < 0 ? code : gn_repair_agree(s->repair, &s->report->repair, err);
}

/* ---- the verifier ---- */

/* Corrected times have no offsets any more; unchanged ones may. */
static int check(struct sync *s, struct gn_error *err)
{
    struct gn_source source;
    int code = gn_trace_open(&source, NULL, s->settings->out, err);
    if (code < 0)
        return code;
    const struct gn_presync presync = {
        .kind = s->report->is_unchanged ? GN_PRESYNC_LINEAR : GN_PRESYNC_NONE,
        .definitions = source.definitions,
    };
    show(s, "verifying", 0);
    code = gn_condition_check(&source, &presync, &s->report->repair.latency, &s->report->condition, err);
    source.close(source.self);
    return code;
}

static int verify(struct sync *s, struct gn_error *err)
{
    const double begin = now_s();
    if (!s->settings->verify)
        return 0;
    int code = settled(s, is_first(s) ? check(s, err) : 0, err);
    if (code == 0)
        code = s->transport->share(s->transport->self, 0, &s->report->condition, sizeof s->report->condition);
    s->report->was_verified = code == 0;
    s->report->seconds[GN_SYNC_VERIFY] = now_s() - begin;
    return code;
}

/* ---- all ---- */

static int choose_clocks(struct sync *s, struct gn_error *err)
{
    return gn_sync_clocks(&s->report->clocks, s->settings->presync, s->settings->trace, s->definitions, err);
}

static int prepare(struct sync *s, struct gn_error *err)
{
    int code = settled_input(s, open_trace(s, err), err);
    if (code == 0)
        code = settled_input(s, split(s, err), err);
    if (code == 0)
        code = settled_input(s, choose_clocks(s, err), err);
    return code;
}

static int run(struct sync *s, struct gn_error *err)
{
    int code = repair_trace(s, err);
    /* from here on the new times are known */
    if (code == 0)
        code = write_trace(s, err);
    if (code == 0)
        code = verify(s, err);
    return code;
}

static void close_all(struct sync *s)
{
    if (s->repair)
        gn_repair_close(s->repair); /* the latency stays with the report */
    if (s->has_store)
        gn_op_store_close(&s->store);
    gn_sync_split_clear(&s->split);
    gn_progress_end(s->settings->progress);
}

int gn_sync(const struct gn_sync_settings *settings, struct gn_sync_report *report, struct gn_error *err)
{
    struct sync s = {.settings = settings, .transport = settings->transport, .report = report};
    *report = (struct gn_sync_report){
        .trace = settings->trace, .out = settings->out, .ranks = settings->transport->size};
    int code = prepare(&s, err);
    if (code == 0)
        code = run(&s, err);
    close_all(&s);
    const bool is_bad_input = report->is_bad_input;
    if (code < 0)
        gn_sync_report_clear(report);
    report->is_bad_input = is_bad_input;
    return code;
}

void gn_sync_report_clear(struct gn_sync_report *report)
{
    gn_latency_close(&report->repair.latency);
    gn_sync_clocks_clear(&report->clocks);
    if (report->source.close)
        report->source.close(report->source.self);
    *report = (struct gn_sync_report){.source = {0}};
}
