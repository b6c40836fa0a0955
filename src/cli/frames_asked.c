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
    struct gn_asked asked;
    struct gn_groups groups;
    struct gn_states states;
    struct gn_frames frames;
    struct gn_frames aggregated;     /* with --aggregated: as the paper has it */
    uint64_t sizes[GN_FRAMES_SIZES]; /* of its events, by powers of two */
};

static int ask(struct answer *w, struct gn_error *err)
{
    const struct gn_question *question = &w->asked.question;
    int code = gn_frames_ask(&w->frames, w->states.of, w->states.count, question, err);
    if (code == 0 && w->arguments->is_aggregated)
        code = gn_frames_aggregated(&w->aggregated, w->states.of, w->states.count, question, w->sizes,
                                    GN_FRAMES_SIZES, err);
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
                                      .is_all = w->asked.question.others == 0,
                                      .names_one = w->asked.question.others == 1,
                                      .top = w->arguments->top};
    int code = gn_frames_rank(&report, err);
    if (code == 0)
        code = gn_print_frames(&report, w->arguments->format, err);
    free(report.rows);
    return code;
}

static int look(void *self, const struct gn_cli_history *opened, struct gn_error *err)
{
    struct answer *w = self;
    w->path = opened->path;
    w->history = &opened->history;
    int code = gn_groups_make(&w->groups, w->history, w->arguments->by, err);
    if (code < 0)
        return code;
    code = gn_asked_states(&w->states, w->history, &w->groups, &w->asked, err);
    if (code == 0) {
        code = ask(w, err);
        if (code == 0)
            code = rank_and_tell(w, err);
        gn_frames_clear(&w->frames);
        gn_frames_clear(&w->aggregated);
        gn_states_clear(&w->states);
    }
    gn_groups_clear(&w->groups);
    return code;
}

int gn_frames_answer(const struct gn_frames_asked *a, struct gn_error *err)
{
    const struct gn_cli_history_settings settings = {.command = "frames", .has_tracks = true};
    struct answer w = {.arguments = a};
    struct gn_question_error wrong;
    int code = gn_question_parse(&w.asked, a->question, &wrong);
    if (code < 0)
        return gn_fail(err, code, "--where '%s': %s, at \"%s\"", a->question, wrong.text,
                       a->question + wrong.at);
    w.question = strdup(a->question);
    code = w.question && gn_printable(w.question) ? gn_look_at_history(a->trace, &settings, look, &w, err)
                                                  : gn_fail(err, -ENOMEM, "no memory for the question");
    free(w.question);
    gn_question_clear(&w.asked);
    return code;
}
