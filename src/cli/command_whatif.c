/* gnomon whatif — the run with something made faster; and what would help most. */
#include "cli/analysis_options.h"
#include "cli/commands.h"
#include "cli/history.h"
#include "cli/process_name.h"
#include "cli/progress.h"
#include "cli/straggler_removed.h"
#include "cli/whatif_report.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BAD_INPUT = 2, KEY_REGION = 256, KEY_RANK, KEY_FASTER, KEY_STRAGGLER, MOST_RANKS = 1024 };

struct arguments {
    const char *trace, *region;
    int64_t ranks[MOST_RANKS];
    size_t rank_count, top;
    double faster; /* share; < 0: not said */
    double longest_ns;
    bool removes_straggler, json;
};

static const struct argp_option options[] = {
    {"region", KEY_REGION, "REGION", 0,
     "What is made faster: a region or function with all inside of it, a FILE:LINE, or the computation "
     "before "
     "calls of an MPI function",
     0},
    {"rank", KEY_RANK, "RANK", 0, "Only there; may be given again, or as 0,2,5 (default: everywhere)", 0},
    {"faster", KEY_FASTER, "SHARE", 0, "So much of its time goes: 20% or 0.2", 0},
    {"remove-straggler", KEY_STRAGGLER, NULL, 0,
     "What if the rank that holds the others up did not: the time for which it was busy while all others "
     "waited goes from its computation, or from --region",
     0},
    GN_OPTION_TOP,
    GN_OPTION_LONGEST,
    GN_OPTION_FORMAT,
    {0}};

/* ---- options ---- */

static void add_ranks(struct argp_state *state, struct arguments *a, const char *value)
{
    for (const char *at = value;; at++) {
        char *end;
        errno = 0;
        const long long rank = strtoll(at, &end, 10);
        if (errno || end == at || rank < 0 || (*end && *end != ','))
            argp_error(state, "--rank %s: ranks are expected, such as 3 or 0,2,5", value);
        if (a->rank_count == MOST_RANKS)
            argp_error(state, "--rank %s: at most %d ranks", value, MOST_RANKS);
        a->ranks[a->rank_count++] = rank;
        at = end;
        if (*at == '\0')
            return;
    }
}

static double faster_of(struct argp_state *state, const char *value)
{
    const double share = gn_quantity_option(state, "faster", value, GN_QUANTITY_SHARE);
    if (share > 1)
        argp_error(state, "--faster %s: between 0%% and 100%% of its time can go", value);
    return share;
}

/* Options that need each other. */
static void check(struct argp_state *state, const struct arguments *a)
{
    if (a->removes_straggler && (a->rank_count || a->faster >= 0))
        argp_error(state, "--remove-straggler says itself which rank, and by how much");
    if (a->region && a->faster < 0 && !a->removes_straggler)
        argp_error(state, "by how much is %s faster? --faster 20%%", a->region);
    if (!a->region && (a->faster >= 0 || a->rank_count))
        argp_error(state, "what is faster? --region REGION; without it, all that may help is tried");
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case KEY_REGION:
        if (a->region)
            argp_error(state, "one region at a time: %s is too much", value);
        a->region = value;
        break;
    case KEY_RANK:
        add_ranks(state, a, value);
        break;
    case KEY_FASTER:
        a->faster = faster_of(state, value);
        break;
    case KEY_STRAGGLER:
        a->removes_straggler = true;
        break;
    case GN_KEY_TOP:
        a->top = gn_top_option(state, value);
        break;
    case GN_KEY_LONGEST:
        a->longest_ns = gn_quantity_option(state, "longest", value, GN_QUANTITY_TIME_NS);
        break;
    case GN_KEY_FORMAT:
        a->json = gn_is_json_option(state, value);
        break;
    case ARGP_KEY_ARG:
        gn_one_trace(state, &a->trace, value);
        break;
    case ARGP_KEY_END:
        check(state, a);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- one change ---- */

static int choose_activities(const struct gn_history *h, const char *region, bool *chosen,
                             struct gn_error *err)
{
    char nearest[256];
    if (!region) {
        memset(chosen, true, h->activity_count);
        return 0;
    }
    if (gn_activities_named(h, region, chosen) > 0)
        return 0;
    gn_activity_nearest(h, region, nearest, sizeof nearest);
    if (nearest[0] == '\0')
        return gn_fail(err, -ENOENT, "nothing is computed in a region \"%s\": the trace has no regions",
                       region);
    return gn_fail(err, -ENOENT, "nothing is computed in a region \"%s\"; did you mean \"%s\"?", region,
                   nearest);
}

static int choose_processes(const struct gn_definitions *d, const struct arguments *a, bool *processes,
                            struct gn_error *err)
{
    char ranks[128];
    for (size_t i = 0; i < a->rank_count; i++) {
        const uint32_t process = gn_process_of_rank(d, a->ranks[i]);
        if (process == GN_NONE) {
            gn_ranks_text(d, ranks, sizeof ranks);
            return gn_fail(err, -ENOENT, "there is no rank %lld in the trace: it has %s",
                           (long long)a->ranks[i], ranks);
        }
        processes[process] = true;
    }
    return 0;
}

static int tell(const struct arguments *a, const struct gn_whatif_report *report, struct gn_error *err)
{
    if (a->json)
        return gn_print_json(gn_whatif_json(report), err);
    const struct gn_terminal terminal = gn_terminal_of(STDOUT_FILENO);
    gn_whatif_text(report, &terminal, stdout);
    return gn_print_end(err);
}

/* chosen and processes are all false at first. */
static int answer_one(const struct arguments *a, const struct gn_cli_history *opened, bool *chosen,
                      bool *processes, struct gn_error *err)
{
    const struct gn_history *h = &opened->history;
    struct gn_whatif_report report = {.path = opened->path,
                                      .history = h,
                                      .chosen = chosen,
                                      .processes = a->rank_count || a->removes_straggler ? processes : NULL,
                                      .share_lo = a->faster,
                                      .share_hi = a->faster,
                                      .straggler = GN_NONE};
    int code = choose_activities(h, a->region, chosen, err);
    if (code == 0)
        code = choose_processes(h->definitions, a, processes, err);
    if (code == 0 && a->removes_straggler)
        code = gn_straggler_find(&report, a->region, processes, err);
    if (code == 0)
        code = gn_change_try(&report, err);
    return code == 0 ? tell(a, &report, err) : code;
}

static int one(const struct arguments *a, const struct gn_cli_history *opened, struct gn_error *err)
{
    bool *chosen = calloc(opened->history.activity_count + 1, sizeof *chosen);
    bool *processes = calloc(opened->history.definitions->process_count + 1, sizeof *processes);
    const int code = chosen && processes ? answer_one(a, opened, chosen, processes, err)
                                         : gn_fail(err, -ENOMEM, "no memory for the trace's regions");
    free(chosen);
    free(processes);
    return code;
}

/* ---- what would help most ---- */

static void show_progress(void *self, double share)
{
    gn_progress_show(self, "trying changes", share);
}

static int tell_best(const struct arguments *a, const struct gn_sweep_report *report, struct gn_error *err)
{
    if (a->json)
        return gn_print_json(gn_sweep_json(report), err);
    const struct gn_terminal terminal = gn_terminal_of(STDOUT_FILENO);
    gn_sweep_text(report, &terminal, stdout);
    return gn_print_end(err);
}

static int best(const struct arguments *a, const struct gn_cli_history *opened, struct gn_error *err)
{
    struct gn_progress progress = gn_progress_begin(true);
    const struct gn_sweep_settings settings = {
        .best = a->top ? a->top : SIZE_MAX, .progress = show_progress, .self = &progress};
    struct gn_critical critical;
    struct gn_sweep sweep;
    int code = gn_critical_find(&critical, &opened->history, err);
    if (code < 0)
        return code;
    code = gn_sweep(&sweep, &opened->history, &critical, &settings, err);
    gn_progress_end(&progress);
    gn_critical_clear(&critical);
    if (code < 0)
        return code;
    const struct gn_sweep_report report = {opened->path, &opened->history, &sweep};
    code = tell_best(a, &report, err);
    gn_sweep_clear(&sweep);
    return code;
}

/* ---- all ---- */

static int whatif(const struct arguments *a, struct gn_error *err)
{
    struct gn_cli_history *opened = malloc(sizeof *opened);
    const struct gn_cli_history_settings settings = {
        .command = "whatif", .longest_ns = a->longest_ns, .has_tracks = a->removes_straggler && a->region};
    int code = opened ? gn_cli_history_open(opened, a->trace, &settings, err)
                      : gn_fail(err, -ENOMEM, "no memory for the trace");
    if (code == 0) {
        gn_cli_history_tell(opened, "whatif");
        code = (a->region || a->removes_straggler ? one : best)(a, opened, err);
        gn_cli_history_close(opened);
    }
    free(opened);
    return code;
}

int gn_command_whatif(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "[RUN|TRACE]",
        "The run's new length, as an interval, if something that it computes were faster; without --region, "
        "what would help most.\vRUN is a run with a trace (gnomon run --trace), TRACE an OTF2 archive; "
        "without it, the newest run here. Exit status 2: there is no trace to look at, or no such region or "
        "rank in it.",
        NULL,
        NULL,
        NULL};
    static struct arguments a = {.top = GN_TOP, .faster = -1};
    struct gn_error err = {""};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (whatif(&a, &err) >= 0)
        return 0;
    fprintf(stderr, "gnomon whatif: %s\n", err.text);
    return BAD_INPUT;
}
