/* gnomon frames — for how long locations were in certain regions at the same time. */
#include "analyse/question.h"
#include "analyse/scores.h"
#include "analyse/states.h"
#include "base/printable.h"
#include "cli/analysis_options.h"
#include "cli/commands.h"
#include "cli/history.h"
#include "cli/region_names.h"
#include "cli/rests_on.h"
#include "cli/spans.h"
#include "cli/stragglers_report.h"
#include "cli/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BAD_INPUT = 2, KEY_BY = 256, KEY_AGGREGATED, SIZES = 24 };

static const char *const USUAL = "all but one in waiting, that one in busy";

struct arguments {
    const char *trace, *question;
    enum gn_scored by;
    bool is_aggregated, json;
    size_t top;
};

/* One use of the command. */
struct answer {
    const struct arguments *arguments;
    const char *path;
    char *question; /* printable */
    const struct gn_history *history;
    struct gn_asked asked;
    struct gn_groups groups;
    struct gn_states states;
    struct gn_frames frames;
    struct gn_frames aggregated; /* with --aggregated: as the paper has it */
    uint64_t sizes[SIZES];       /* of its events, by powers of two */
};

static const struct argp_option options[] = {
    {"where", 'w', "QUESTION", 0,
     "all in A; all but one in A, that one in B; all but N in A, those in B: A and B are names of regions "
     "(in "
     "quotation marks where they have spaces or commas), waiting (in an MPI call that depends on others) or "
     "busy "
     "(outside of MPI). Default: all but one in waiting, that one in busy",
     0},
    {"by", KEY_BY, "WHAT", 0, "Who is in a region: rank (default), thread or host", 0},
    {"aggregated", KEY_AGGREGATED, NULL, 0,
     "Also by aggregated events: those whose bounds overlap are one (the published way, never tighter)", 0},
    GN_OPTION_TOP,
    GN_OPTION_FORMAT,
    {0}};

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct arguments *a = state->input;
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
        a->json = gn_is_json_option(state, value);
        break;
    case ARGP_KEY_ARG:
        gn_one_trace(state, &a->trace, value);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- asking ---- */

/* Regions of a place; *chosen NULL: those that are meant without names. */
static int regions_of(bool **chosen, const struct answer *w, const struct gn_asked_place *place,
                      enum gn_where unnamed, struct gn_error *err)
{
    const char *name = place->region;
    *chosen = NULL;
    if (place->where == GN_WHERE_REGION && name)
        return gn_regions_named(chosen, w->history, &name, 1, err);
    if (place->where != GN_WHERE_REGION && place->where != unnamed)
        return gn_fail(err, -EINVAL, "%s cannot stand there: ask for waiting first and for busy behind it",
                       place->where == GN_WHERE_BUSY ? "busy" : "waiting");
    return 0;
}

static int make_states(struct answer *w, struct gn_error *err)
{
    bool *a = NULL, *b = NULL;
    int code = regions_of(&a, w, &w->asked.a, GN_WHERE_WAITING, err);
    if (code == 0)
        code = regions_of(&b, w, &w->asked.b, GN_WHERE_BUSY, err);
    const struct gn_states_settings settings = {a, b, GN_NONE, GN_NONE};
    if (code == 0)
        code = gn_states_make(&w->states, w->history, w->groups.of, w->groups.count, &settings, err);
    free(a);
    free(b);
    return code;
}

static int ask(struct answer *w, struct gn_error *err)
{
    const struct gn_question *question = &w->asked.question;
    int code = gn_frames_ask(&w->frames, w->states.of, w->states.count, question, err);
    if (code == 0 && w->arguments->is_aggregated)
        code = gn_frames_aggregated(&w->aggregated, w->states.of, w->states.count, question, w->sizes, SIZES,
                                    err);
    return code;
}

/* ---- telling ---- */

struct row {
    uint32_t group;
    struct gn_frame_time time;
};

static int by_time(const void *a, const void *b)
{
    const struct row *l = a, *r = b;
    if (l->time.lo_ns != r->time.lo_ns)
        return l->time.lo_ns < r->time.lo_ns ? 1 : -1;
    if (l->time.hi_ns != r->time.hi_ns)
        return l->time.hi_ns < r->time.hi_ns ? 1 : -1;
    return (l->group > r->group) - (l->group < r->group);
}

/* Those that it may have been, most first; NULL: no memory. */
static struct row *rows_of(const struct answer *w, size_t *count)
{
    struct row *rows = calloc(w->frames.count + 1, sizeof *rows);
    *count = 0;
    for (uint32_t g = 0; rows && w->asked.question.others == 1 && g < w->frames.count; g++)
        if (w->frames.location[g].hi_ns > 0)
            rows[(*count)++] = (struct row){g, w->frames.location[g]};
    if (*count)
        qsort(rows, *count, sizeof *rows, by_time);
    return rows;
}

/* Of the run: outward, at most all of it. */
static struct gn_score share_of(const struct gn_history *h, const struct gn_frame_time *time)
{
    const double least = (double)h->length.lo_ns, most = (double)h->length.hi_ns;
    const double lo = most > 0 ? time->lo_ns / most : 0,
                 hi = least > 0 ? time->hi_ns / least : time->hi_ns > 0;
    return (struct gn_score){lo < 1 ? lo : 1, hi < 1 ? hi : 1};
}

static void line(const struct answer *w, const struct gn_frame_time *time, const char *who)
{
    char share[GN_SPAN_TEXT], length[GN_SPAN_TEXT];
    const struct gn_score part = share_of(w->history, time);
    printf("  %22s %30s  %s\n", gn_span_share(part.lo, part.hi, share),
           gn_span_time(time->lo_ns, time->hi_ns, length), who);
}

static void sizes_text(const struct answer *w)
{
    uint64_t events = 0, most = 0;
    for (int i = 0; i < SIZES; i++) {
        events += w->sizes[i];
        most = w->sizes[i] ? 1ull << i : most;
    }
    printf("\nby aggregated events (%" PRIu64 ", of which the largest has %" PRIu64 " or more):\n", events,
           most);
    line(w, &w->aggregated.all, "whoever it is");
    const double wide = w->aggregated.all.hi_ns - w->aggregated.all.lo_ns,
                 narrow = w->frames.all.hi_ns - w->frames.all.lo_ns;
    if (narrow > 0)
        printf("  %.2f times as wide\n", wide / narrow);
}

static int tell_text(const struct answer *w, struct gn_error *err)
{
    const struct gn_terminal terminal = gn_terminal_of(STDOUT_FILENO);
    char length[GN_SPAN_TEXT], who[128];
    size_t count;
    struct row *rows = rows_of(w, &count);
    if (!rows)
        return gn_fail(err, -ENOMEM, "no memory for the answer");
    printf("gnomon frames %s: %s\n%zu %ss, %" PRIu64 " frames, %s\n\n", w->path, w->question, w->groups.count,
           gn_scored_name(w->arguments->by), w->frames.frames,
           gn_span_time((double)w->history->length.lo_ns, (double)w->history->length.hi_ns, length));
    line(w, &w->frames.all, w->asked.question.others == 0 ? "all" : "whoever it is");
    for (size_t i = 0; i < count && (w->arguments->top == 0 || i < w->arguments->top); i++) {
        gn_group_name(w->history, &w->groups, w->arguments->by, rows[i].group, who, sizeof who);
        line(w, &rows[i].time, who);
    }
    if (w->arguments->top && count > w->arguments->top)
        printf("  %zu more: --top 0\n", count - w->arguments->top);
    free(rows);
    if (w->arguments->is_aggregated)
        sizes_text(w);
    gn_rests_on_text(w->history, &terminal, stdout);
    return gn_print_end(err);
}

static json_t *time_json(const struct answer *w, const struct gn_frame_time *time)
{
    const struct gn_score share = share_of(w->history, time);
    return json_pack("{s:o?,s:o?}", "seconds", gn_span_json(time->lo_ns, time->hi_ns, 1e-9), "percent",
                     gn_span_json(share.lo, share.hi, 100));
}

static json_t *rows_json(const struct answer *w)
{
    char who[128];
    size_t count;
    struct row *rows = rows_of(w, &count);
    json_t *list = rows ? json_array() : NULL;
    for (size_t i = 0; i < count && list; i++) {
        gn_group_name(w->history, &w->groups, w->arguments->by, rows[i].group, who, sizeof who);
        json_t *row = json_pack("{s:s,s:o?}", "who", who, "time", time_json(w, &rows[i].time));
        if (json_array_append_new(list, row) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    free(rows);
    return list;
}

static json_t *aggregated_json(const struct answer *w)
{
    if (!w->arguments->is_aggregated)
        return json_null();
    json_t *sizes = json_array();
    for (int i = 0; i < SIZES; i++)
        json_array_append_new(sizes, json_integer((json_int_t)w->sizes[i]));
    return json_pack("{s:o?,s:o?}", "all", time_json(w, &w->aggregated.all), "sizes_log2", sizes);
}

static int tell_json(const struct answer *w, struct gn_error *err)
{
    const struct gn_history *h = w->history;
    return gn_print_json(json_pack("{s:s,s:s,s:s,s:I,s:o?,s:o?,s:o?,s:o?,s:o?}", "trace", w->path, "question",
                                   w->question, "by", gn_scored_name(w->arguments->by), "frames",
                                   (json_int_t)w->frames.frames, "length_s",
                                   gn_span_json((double)h->length.lo_ns, (double)h->length.hi_ns, 1e-9),
                                   "all", time_json(w, &w->frames.all), "rows", rows_json(w), "aggregated",
                                   aggregated_json(w), "rests_on", gn_rests_on_json(h)),
                         err);
}

/* ---- all ---- */

static int answer(struct answer *w, struct gn_error *err)
{
    int code = gn_groups_make(&w->groups, w->history, w->arguments->by, err);
    if (code < 0)
        return code;
    code = make_states(w, err);
    if (code == 0) {
        code = ask(w, err);
        if (code == 0)
            code = w->arguments->json ? tell_json(w, err) : tell_text(w, err);
        gn_frames_clear(&w->frames);
        gn_frames_clear(&w->aggregated);
        gn_states_clear(&w->states);
    }
    gn_groups_clear(&w->groups);
    return code;
}

static int look(struct answer *w, struct gn_error *err)
{
    const struct gn_cli_history_settings settings = {.command = "frames", .has_tracks = true};
    struct gn_cli_history *opened = malloc(sizeof *opened);
    if (!opened)
        return gn_fail(err, -ENOMEM, "no memory for the trace");
    int code = gn_cli_history_open(opened, w->arguments->trace, &settings, err);
    if (code == 0) {
        gn_cli_history_tell(opened, "frames");
        w->path = opened->path;
        w->history = &opened->history;
        code = answer(w, err);
        gn_cli_history_close(opened);
    }
    free(opened);
    return code;
}

static int frames(const struct arguments *a, struct gn_error *err)
{
    struct answer w = {.arguments = a};
    struct gn_question_error wrong;
    int code = gn_question_parse(&w.asked, a->question, &wrong);
    if (code < 0)
        return gn_fail(err, code, "--where '%s': %s, at \"%s\"", a->question, wrong.text,
                       a->question + wrong.at);
    w.question = strdup(a->question);
    code = w.question && gn_printable(w.question) ? look(&w, err)
                                                  : gn_fail(err, -ENOMEM, "no memory for the question");
    free(w.question);
    gn_question_clear(&w.asked);
    return code;
}

int gn_command_frames(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "[RUN|TRACE]",
        "For how long all were in one region, or all but some, at the same time: certainly, and at "
        "most.\vRUN is a "
        "run with a trace (gnomon run --trace), TRACE an OTF2 archive; without it, the newest run here. Exit "
        "status "
        "2: there is no trace to look at, no region of that name, or a question that makes no sense.",
        NULL,
        NULL,
        NULL};
    struct arguments a = {.by = GN_SCORED_RANK, .top = GN_TOP, .question = USUAL};
    struct gn_error err = {""};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (frames(&a, &err) >= 0)
        return 0;
    fprintf(stderr, "gnomon frames: %s\n", err.text);
    return BAD_INPUT;
}
