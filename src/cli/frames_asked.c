#include "cli/frames_asked.h"

#include "base/printable.h"
#include "cli/asked_states.h"
#include "cli/print_analysis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One use of the command. */
struct answer {
    const struct gn_frames_asked *arguments;
    const char *path;
    char *question; /* printable */
    const struct gn_history *history;
    struct gn_spread *spread;
    struct gn_asked asked;
    const struct gn_asked_node *form; /* of the question; NULL: it is about any state */
    struct gn_groups groups;
    struct gn_states states;
    struct gn_frames frames;
    struct gn_frames aggregated; /* with --aggregated: as the paper has it */
    struct gn_global global;     /* any state */
    struct gn_held held, held_aggregated;
    uint64_t sizes[GN_FRAMES_SIZES]; /* of its events, by powers of two */
};

static int ask_form(struct answer *w, struct gn_error *err)
{
    const struct gn_question question = {w->form->least};
    int code = gn_asked_states(&w->states, w->history, w->path, &w->groups, w->form, err);
    if (code < 0)
        return code;
    code = gn_frames_ask(&w->frames, w->states.of, w->states.count, &question, err);
    if (code == 0 && w->arguments->is_aggregated)
        code = gn_frames_aggregated(&w->aggregated, w->states.of, w->states.count, &question, w->sizes,
                                    GN_FRAMES_SIZES, err);
    gn_states_clear(&w->states);
    return code;
}

static int ask_global(struct answer *w, struct gn_error *err)
{
    int code = gn_asked_global(&w->global, &w->states, w->history, w->path, &w->groups, w->arguments->by,
                               &w->asked, w->question, err);
    if (code < 0)
        return code;
    code = gn_global_ask(&w->held, &w->global, w->states.of, w->states.count, err);
    if (code == 0 && w->arguments->is_aggregated)
        code = gn_global_ask_aggregated(&w->held_aggregated, &w->global, w->states.of, w->states.count,
                                        w->sizes, GN_FRAMES_SIZES, err);
    w->frames = (struct gn_frames){.frames = w->held.frames, .all = w->held.time};
    w->aggregated = (struct gn_frames){.frames = w->held_aggregated.frames, .all = w->held_aggregated.time};
    gn_states_clear(&w->states);
    gn_asked_global_clear(&w->global);
    return code;
}

static int rank_and_tell(const struct answer *w, struct gn_error *err)
{
    struct gn_frames_report report = {.path = w->path,
                                      .question = w->question,
                                      .history = w->history,
                                      .groups = &w->groups,
                                      .frames = &w->frames,
                                      .aggregated = w->arguments->is_aggregated ? &w->aggregated : NULL,
                                      .sizes = w->sizes,
                                      .by = w->arguments->by,
                                      .held = w->form ? NULL : &w->held,
                                      .is_all = w->form && w->form->least == 0,
                                      .names_one = w->form && w->form->least == 1,
                                      .top = w->arguments->top,
                                      .spread = w->spread};
    int code = gn_frames_rank(&report, err);
    if (code == 0)
        code = gn_print_frames(&report, w->arguments->format, err);
    free(report.rows);
    free(report.periods);
    return code;
}

static int look(void *self, const struct gn_cli_history *opened, struct gn_error *err)
{
    struct answer *w = self;
    w->path = opened->path;
    w->history = &opened->history;
    w->spread = opened->spread;
    int code = gn_groups_make(&w->groups, w->history, w->arguments->by, err);
    if (code < 0)
        return code;
    code = w->form ? ask_form(w, err) : ask_global(w, err);
    if (code == 0)
        code = rank_and_tell(w, err);
    gn_frames_clear(&w->frames);
    gn_frames_clear(&w->aggregated);
    gn_held_clear(&w->held);
    gn_held_clear(&w->held_aggregated);
    gn_groups_clear(&w->groups);
    return code;
}

int gn_frames_answer(const struct gn_frames_asked *a, struct gn_error *err)
{
    const struct gn_cli_history_settings settings = {
        .command = "frames", .has_tracks = true, .has_spread = true};
    struct answer w = {.arguments = a};
    struct gn_question_error wrong;
    int code = gn_question_parse(&w.asked, a->question, &wrong);
    if (code < 0)
        return gn_fail(err, code, "--where: %s, at \"%.*s\" (character %zu)", wrong.text, GN_ASKED_SHOWN,
                       a->question + wrong.at, wrong.at + 1);
    w.form = gn_question_form(&w.asked);
    w.question = strdup(a->question);
    code = w.question && gn_printable(w.question) ? gn_look_at_history(a->trace, &settings, look, &w, err)
                                                  : gn_fail(err, -ENOMEM, "no memory for the question");
    free(w.question);
    gn_question_clear(&w.asked);
    return code;
}
