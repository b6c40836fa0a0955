#include "repair/sync.h"

#include "repair/sync_inside.h"

#include <assert.h>
#include <time.h>

/* ---- the passes ---- */

/* Needs what it reads, and makes what it writes. One of which all is there already is left out. */
struct pass {
    const char *name;                              /* as it is shown */
    unsigned reads, writes;                        /* gn_sync_part */
    bool (*is_due)(const struct gn_sync_state *s); /* NULL: always */
    int (*run)(struct gn_sync_state *s, struct gn_error *err);
    enum gn_sync_phase phase;
};

static bool is_other_than_seen(const struct gn_sync_state *s);
static bool is_to_be_verified(const struct gn_sync_state *s);
static int look(struct gn_sync_state *s, struct gn_error *err);
static int agree_amortized(struct gn_sync_state *s, struct gn_error *err);

enum { OPEN, SPLIT, CLOCKS, LOOK, READ, REPAIR, WRITE, AMORTIZED, VERIFY, PASSES };
enum {
    TO_READ = GN_SYNC_DEFINITIONS | GN_SYNC_SPLIT | GN_SYNC_CLOCKS,
    TO_REPAIR = TO_READ | GN_SYNC_OPS,
    TO_WRITE = TO_REPAIR | GN_SYNC_TIMES,
    TO_VERIFY = GN_SYNC_TIMES | GN_SYNC_ARCHIVE
};

/* look writes OPS and TIMES, too, but only of a trace that is to stay as it is. */
static const struct pass passes[PASSES] = {
    [OPEN] = {"opening", 0, GN_SYNC_DEFINITIONS, NULL, gn_sync_open, GN_SYNC_UNTIMED},
    [SPLIT] = {"opening", GN_SYNC_DEFINITIONS, GN_SYNC_SPLIT, NULL, gn_sync_give_out, GN_SYNC_UNTIMED},
    [CLOCKS] = {"clocks", GN_SYNC_DEFINITIONS, GN_SYNC_CLOCKS, NULL, gn_sync_choose_clocks, GN_SYNC_UNTIMED},
    [LOOK] = {"looking", TO_READ, 0, is_other_than_seen, look, GN_SYNC_UNTIMED},
    [READ] = {"reading", TO_READ, GN_SYNC_OPS, NULL, gn_sync_read, GN_SYNC_READ},
    [REPAIR] = {"repairing", TO_REPAIR, GN_SYNC_TIMES, NULL, gn_sync_repair, GN_SYNC_REPAIR},
    [WRITE] = {"writing", TO_WRITE, GN_SYNC_ARCHIVE, NULL, gn_sync_write, GN_SYNC_WRITE},
    [AMORTIZED] = {"writing", TO_VERIFY, GN_SYNC_AMORTIZED, NULL, agree_amortized, GN_SYNC_UNTIMED},
    [VERIFY] = {"verifying", TO_VERIFY, GN_SYNC_CONDITION, is_to_be_verified, gn_sync_verify, GN_SYNC_VERIFY},
};

/* ---- one after the other ---- */

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int run(struct gn_sync_state *s, const struct pass *pass, struct gn_error *err)
{
    if ((pass->writes && (s->has & pass->writes) == pass->writes) || (pass->is_due && !pass->is_due(s)))
        return 0;
    assert((s->has & pass->reads) == pass->reads);
    gn_sync_show(s, pass->name, 0);
    const double begin = now_s();
    int code = pass->run(s, err);
    if (pass->phase != GN_SYNC_UNTIMED)
        s->report->seconds[pass->phase] += now_s() - begin;
    s->has |= code == 0 ? pass->writes : 0;
    return code;
}

/* Nobody has asked for those times, and they are not those that any reader of the archive sees. */
static bool is_other_than_seen(const struct gn_sync_state *s)
{
    return s->report->clocks.was_chosen && !s->report->clocks.is_seen;
}

/* A trace in which nothing is wrong stays as it is: it is looked at as it is before. */
static int look(struct gn_sync_state *s, struct gn_error *err)
{
    struct gn_sync_clocks *clocks = &s->report->clocks;
    const struct gn_presync chosen = clocks->presync;
    clocks->presync = clocks->seen;
    clocks->is_seen = true;
    int code = run(s, &passes[READ], err);
    if (code == 0)
        code = run(s, &passes[REPAIR], err);
    if (code < 0 || s->report->repair.pass_count == 0)
        return code;
    gn_sync_forget_times(s);
    clocks->presync = chosen;
    clocks->is_seen = false;
    return 0;
}

static bool is_to_be_verified(const struct gn_sync_state *s)
{
    return s->settings->verify;
}

/* Knots are made while the archive is written: only now it is known what they came to. */
static int agree_amortized(struct gn_sync_state *s, struct gn_error *err)
{
    s->report->seconds[GN_SYNC_WRITE] -= s->report->repair.seconds_backward;
    return gn_repair_agree(s->repair, &s->report->repair, err);
}

/* ---- all ---- */

static void close_all(struct gn_sync_state *s)
{
    if (s->repair)
        gn_repair_close(s->repair); /* the latency stays with the report */
    if (s->has_store)
        gn_op_store_close(&s->store);
    gn_sync_split_clear(&s->split);
}

int gn_sync(const struct gn_sync_settings *settings, struct gn_sync_report *report, struct gn_error *err)
{
    struct gn_sync_state s = {.settings = settings, .transport = settings->transport, .report = report};
    int code = 0;
    *report = (struct gn_sync_report){
        .trace = settings->trace, .out = settings->out, .ranks = settings->transport->size};
    for (size_t i = 0; code == 0 && i < PASSES; i++)
        code = run(&s, &passes[i], err);
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
    if (report->source.close)
        report->source.close(report->source.self);
    *report = (struct gn_sync_report){.source = {0}};
}
