/* cli/explained — a run's problems, of its profile and of what was seen of its events. */
#ifndef GNOMON_CLI_EXPLAINED_H
#define GNOMON_CLI_EXPLAINED_H

#include "analyse/patterns_seen.h"
#include "cli/seen.h"

struct gn_cli_explained {
    struct gn_problems problems;
    bool is_open;
    struct gn_cli_seen seen; /* with the texts of the problems */
};

/* summary: by activity; profile: path of the run's. with_trace: a trace may be read, which takes longer the
 * larger it is; windows are small. command: who says on standard error what goes wrong, and draws progress;
 * NULL: nobody. The caller closes. */
void gn_cli_explain(struct gn_cli_explained *explained, const struct gn_summary *summary, const char *profile,
                    bool with_trace, const char *command);
void gn_cli_explained_close(struct gn_cli_explained *explained);

#endif
