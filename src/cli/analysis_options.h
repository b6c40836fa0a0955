/* cli/analysis_options — what the commands that analyse a trace have in common: options, and how they end. */
#ifndef GNOMON_CLI_ANALYSIS_OPTIONS_H
#define GNOMON_CLI_ANALYSIS_OPTIONS_H

#include "base/error.h"
#include "answer/table.h"
#include "cli/format_option.h"
#include "cli/history.h"
#include "cli/quantity_option.h"

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { GN_TOP = 10, GN_KEY_TOP = 't', GN_KEY_FORMAT = 'f', GN_KEY_LONGEST = 1024 };

#define GN_OPTION_TOP                                                                                        \
    {                                                                                                        \
        "top", GN_KEY_TOP, "N", 0, "So many rows (default 10; 0: all)", 0                                    \
    }
#define GN_OPTION_FORMAT                                                                                     \
    {                                                                                                        \
        "format", GN_KEY_FORMAT, "FORMAT", 0, "text (default), json or csv", 0                               \
    }
#define GN_OPTION_LONGEST                                                                                    \
    {                                                                                                        \
        "longest", GN_KEY_LONGEST, "TIME", 0,                                                                \
            "No message that was there when it was asked for had taken longer (default: what follows from "  \
            "those "                                                                                         \
            "that were waited for)",                                                                         \
            0                                                                                                \
    }

/* The value of --top; anything else ends gnomon, as wrong usage. */
size_t gn_top_option(struct argp_state *state, const char *value);
/* Likewise that of --world, from 1 on. */
int gn_world_option(struct argp_state *state, const char *value);
/* The argument; a second one is too much. */
void gn_one_trace(struct argp_state *state, const char **trace, const char *value);

/* The history of a trace (cli/history.h) is opened, what it does without is told, and it is handed to `look`
 * with the trace's name; then it is closed. Returns what `look` does, or a negative errno value with err set.
 */
int gn_look_at_history(const char *trace, const struct gn_cli_history_settings *settings,
                       int (*look)(void *self, const struct gn_cli_history *opened, struct gn_error *err),
                       void *self, struct gn_error *err);

/* To standard output; takes the reference. 0, or a negative errno value with err set. */
int gn_print_json(json_t *json, struct gn_error *err);
int gn_print_csv(const struct gn_table *table, struct gn_error *err);
/* After all has been written. */
int gn_print_end(struct gn_error *err);

#endif
