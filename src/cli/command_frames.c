/* gnomon frames — for how long locations were in certain regions at the same time. */
#include "cli/commands.h"
#include "cli/frames_asked.h"
#include "answer/group_name.h"
#include "cli/asked_part.h"

enum { BAD_INPUT = 2, KEY_BY = 256, KEY_AGGREGATED };

static const char *const USUAL = "all but one in waiting, that one in busy";

static const struct argp_option options[] = {
    {"where", 'w', "QUESTION", 0,
     "all in A; all but one in A, that one in B; all but N in A, those in B; or any state: WHO in A, at "
     "least N in "
     "A (at most, exactly, any, none, all; of 0-3, of host H), put together with and, or, not and "
     "parentheses, "
     "such as '0 in MPI_Recv and at least 3 waiting'. WHO is a rank, rank:thread or host H. A and B are "
     "names of "
     "regions (in quotation marks where they have spaces or commas), waiting (in an MPI call that depends on "
     "others) or busy (outside of MPI). Default: all but one in waiting, that one in busy",
     0},
    {"by", KEY_BY, "WHAT", 0, "Who is in a region: rank (default), thread or host", 0},
    {"aggregated", KEY_AGGREGATED, NULL, 0,
     "Also by aggregated events: those whose bounds overlap are one (the published way, never tighter)", 0},
    GN_OPTION_TOP,
    GN_OPTION_FORMAT,
    {0}};

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct gn_frames_asked *a = state->input;
    switch (key) {
    case 'w':
        a->question = value;
        break;
    case KEY_BY:
        if (!gn_scored_by(value, &a->by))
            argp_error(state, "--by %s: rank, thread or host is expected", value);
        break;
    case KEY_AGGREGATED:
        a->is_aggregated = true;
        break;
    case GN_KEY_TOP:
        a->top = gn_top_option(state, value);
        break;
    case GN_KEY_FORMAT:
        a->format = gn_format_option(state, value);
        break;
    case ARGP_KEY_ARG:
        gn_one_trace(state, &a->trace, value);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

int gn_command_frames(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "[RUN|TRACE]",
        "For how long locations were in given regions at the same time, or in any state that is made of "
        "such: "
        "certainly, and at most.\vRUN is a run, of whose events there are all (gnomon run --trace) or "
        "windows, TRACE an OTF2 archive; without it, the newest run here. Exit "
        "status "
        "2: there is no trace to look at, no region of that name, or a question that makes no sense.",
        gn_asked_part_options,
        NULL,
        NULL};
    struct gn_frames_asked a = {.by = GN_SCORED_RANK, .top = GN_TOP, .question = USUAL};
    struct gn_error err = {""};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (gn_frames_answer(&a, &err) >= 0)
        return 0;
    fprintf(stderr, "gnomon frames: %s\n", err.text);
    return BAD_INPUT;
}
