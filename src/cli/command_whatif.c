/* gnomon whatif — the run with something made faster; and what would help most. */
#include "cli/asked_change.h"
#include "cli/commands.h"
#include "cli/name_list.h"
#include "cli/asked_part.h"
#include "cli/print_analysis.h"
#include "cli/straggler_removed.h"

#include <argp.h>

enum { BAD_INPUT = 2, KEY_REGION = 256, KEY_RANK, KEY_FASTER, KEY_STRAGGLER, KEY_LIST };

struct arguments {
    const char *trace;
    struct gn_asked_change change;
    bool lists;
    size_t top;
    double longest_ns;
    enum gn_format format;
};

static const struct argp_option options[] = {
    {"region", KEY_REGION, "REGION", 0,
     "What is made faster: a region or function with all inside of it, a FILE:LINE, the computation before "
     "calls "
     "of an MPI function, or any name that gnomon prints (--list)",
     0},
    {"list", KEY_LIST, NULL, 0, "Print all names that may be asked for", 0},
    {"rank", KEY_RANK, "RANK", 0, "Only there; may be given again, or as 0,2,5 (default: everywhere)", 0},
    {"faster", KEY_FASTER, "SHARE", 0, "So much of its time goes: 20% or 0.2", 0},
    {"remove-straggler", KEY_STRAGGLER, NULL, 0,
     "What if the rank that holds the others up (gnomon stragglers) did not: what it was busy beyond the "
     "others' mean goes from its computation; with --region, the time for which it was busy there while all "
     "others waited",
     0},
    GN_OPTION_TOP,
    GN_OPTION_LONGEST,
    GN_OPTION_FORMAT,
    {0}};

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case KEY_REGION:
        if (a->change.region)
            argp_error(state, "one region at a time: %s is too much", value);
        a->change.region = value;
        break;
    case KEY_RANK:
        gn_asked_change_ranks(state, &a->change, value);
        break;
    case KEY_FASTER:
        gn_asked_change_faster(state, &a->change, value);
        break;
    case KEY_STRAGGLER:
        a->change.removes_straggler = true;
        break;
    case KEY_LIST:
        a->lists = true;
        break;
    case GN_KEY_TOP:
        a->top = gn_top_option(state, value);
        break;
    case GN_KEY_LONGEST:
        a->longest_ns = gn_quantity_option(state, "longest", value, GN_QUANTITY_TIME_NS);
        break;
    case GN_KEY_FORMAT:
        a->format = gn_format_option(state, value);
        break;
    case ARGP_KEY_ARG:
        gn_one_trace(state, &a->trace, value);
        break;
    case ARGP_KEY_END:
        gn_asked_change_check(state, &a->change);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static int best(const struct arguments *a, const struct gn_cli_history *opened, struct gn_error *err)
{
    struct gn_critical critical;
    struct gn_sweep sweep;
    int code = gn_critical_find(&critical, &opened->history, err);
    if (code < 0)
        return code;
    /* what is among the best of all windows may not be so of some of them */
    const size_t top = gn_spread_is_in_round(opened->spread) && a->top ? 4 * a->top + 10 : a->top;
    code = gn_changes_tried(&sweep, &opened->history, &critical, top, err);
    gn_critical_clear(&critical);
    if (code < 0)
        return code;
    const struct gn_sweep_report report = {opened->path, &opened->history, &sweep, opened->spread};
    code = gn_print_sweep(&report, a->format, err);
    gn_sweep_clear(&sweep);
    return code;
}

static int look(void *self, const struct gn_cli_history *opened, struct gn_error *err)
{
    const struct arguments *a = self;
    if (a->lists)
        return gn_name_list_print(opened, a->format, err);
    if (a->change.region || a->change.removes_straggler)
        return gn_asked_change_answer(&a->change, opened, a->format, err);
    return best(a, opened, err);
}

static int whatif(struct arguments *a, struct gn_error *err)
{
    const struct gn_cli_history_settings settings = {
        .command = "whatif",
        .longest_ns = a->longest_ns,
        .has_spread = !a->lists,
        .has_tracks = a->lists || (a->change.removes_straggler && a->change.region)};
    return gn_look_at_history(a->trace, &settings, look, a, err);
}

int gn_command_whatif(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "[RUN|TRACE]",
        "The run's new length, as an interval, if something that it computes were faster; without --region, "
        "what would help most.\vRUN is a run, of whose events there are all (gnomon run --trace) or windows, "
        "TRACE an OTF2 archive; without it, the newest run here. Exit status 2: there is no trace to look "
        "at, or no such region or "
        "rank in it.",
        gn_asked_part_options,
        NULL,
        NULL};
    static struct arguments a = {.top = GN_TOP, .change = {.faster = -1}};
    struct gn_error err = {""};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (whatif(&a, &err) >= 0)
        return 0;
    fprintf(stderr, "gnomon whatif: %s\n", err.text);
    return BAD_INPUT;
}
