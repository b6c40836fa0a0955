#include "cli/explained.h"

#include <math.h>
#include <stdio.h>

void gn_cli_explain(struct gn_cli_explained *e, const struct gn_summary *summary, const char *profile,
                    bool with_trace, const char *command)
{
    struct gn_error err = {""};
    e->is_open = false;
    gn_problems_find(&e->problems, summary);
    if (!(summary->elapsed_s > 0) || !isfinite(summary->elapsed_s) ||
        !gn_cli_can_see(summary, profile, with_trace))
        return;
    int code = gn_cli_see(&e->seen, summary, profile, command ? command : "explain", &err);
    e->is_open = code == 0;
    if (e->is_open)
        code = gn_problems_see(&e->problems, summary, &e->seen.seen, &err);
    if (code < 0 && command)
        fprintf(stderr, "gnomon %s: without the run's events: %s\n", command, err.text);
    gn_problems_rank(&e->problems, summary);
}

void gn_cli_explained_close(struct gn_cli_explained *e)
{
    if (e->is_open)
        gn_cli_seen_close(&e->seen);
    e->is_open = false;
}
