#include "cli/asked_change.h"

#include "cli/print_analysis.h"
#include "answer/process_name.h"
#include "cli/straggler_removed.h"
#include "cli/trace_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void gn_asked_change_ranks(struct argp_state *state, struct gn_asked_change *a, const char *value)
{
    for (const char *at = value;; at++) {
        char *end;
        errno = 0;
        const long long rank = strtoll(at, &end, 10);
        if (errno || end == at || rank < 0 || (*end && *end != ','))
            argp_error(state, "--rank %s: ranks are expected, such as 3 or 0,2,5", value);
        if (a->rank_count == GN_ASKED_RANKS)
            argp_error(state, "--rank %s: at most %d ranks", value, GN_ASKED_RANKS);
        a->ranks[a->rank_count++] = rank;
        at = end;
        if (*at == '\0')
            return;
    }
}

void gn_asked_change_faster(struct argp_state *state, struct gn_asked_change *a, const char *value)
{
    const double share = gn_quantity_option(state, "faster", value, GN_QUANTITY_SHARE);
    if (share > 1)
        argp_error(state, "--faster %s: between 0%% and 100%% of its time can go", value);
    a->faster = share;
}

void gn_asked_change_check(struct argp_state *state, const struct gn_asked_change *a)
{
    if (a->removes_straggler && (a->rank_count || a->faster >= 0))
        argp_error(state, "--remove-straggler says itself which rank, and by how much");
    if (a->region && a->faster < 0 && !a->removes_straggler)
        argp_error(state, "by how much is %s faster? --faster 20%%", a->region);
    if (!a->region && (a->faster >= 0 || a->rank_count))
        argp_error(state, "what is faster? --region REGION; without it, all that may help is tried");
}

static int choose_activities(const struct gn_cli_history *opened, const char *region, bool *chosen,
                             struct gn_name_part *part, struct gn_error *err)
{
    *part = (struct gn_name_part){1, 1};
    if (region) {
        const int code = gn_trace_name_computed(chosen, part, &opened->history, opened->path, region, err);
        return code < 0 ? code : 0;
    }
    memset(chosen, true, opened->history.activity_count);
    return 0;
}

static int choose_processes(const struct gn_definitions *d, const struct gn_asked_change *a, bool *processes,
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

static int choose(const struct gn_asked_change *change, const struct gn_cli_history *opened, bool *activities,
                  bool *processes, struct gn_name_part *part, struct gn_error *err)
{
    int code = choose_activities(opened, change->region, activities, part, err);
    return code == 0 ? choose_processes(opened->history.definitions, change, processes, err) : code;
}

/* chosen and processes are all false at first. */
static int answer_one(const struct gn_asked_change *change, const struct gn_cli_history *opened,
                      enum gn_format format, bool *chosen, bool *processes, struct gn_error *err)
{
    const bool is_somewhere = change->rank_count || change->removes_straggler;
    struct gn_whatif_report report = {.path = opened->path,
                                      .history = &opened->history,
                                      .region = change->region,
                                      .chosen = chosen,
                                      .processes = is_somewhere ? processes : NULL,
                                      .share_lo = change->faster,
                                      .share_hi = change->faster,
                                      .part_lo = 1,
                                      .part_hi = 1,
                                      .straggler = GN_NONE,
                                      .spread = opened->spread};
    struct gn_name_part part;
    int code = choose(change, opened, chosen, processes, &part, err);
    if (code == 0 && !change->removes_straggler) {
        report.part_lo = part.low;
        report.part_hi = part.high;
        report.share_lo *= part.low;
        report.share_hi *= part.high;
    }
    if (code == 0 && change->removes_straggler)
        code = gn_straggler_find(&report, change->region, processes, err);
    if (code == 0)
        code = gn_change_try(&report, err);
    return code == 0 ? gn_print_whatif(&report, format, err) : code;
}

int gn_asked_change_answer(const struct gn_asked_change *change, const struct gn_cli_history *opened,
                           enum gn_format format, struct gn_error *err)
{
    bool *chosen = calloc(opened->history.activity_count + 1, sizeof *chosen);
    bool *processes = calloc(opened->history.definitions->process_count + 1, sizeof *processes);
    const int code = chosen && processes ? answer_one(change, opened, format, chosen, processes, err)
                                         : gn_fail(err, -ENOMEM, "no memory for the trace's regions");
    free(chosen);
    free(processes);
    return code;
}
