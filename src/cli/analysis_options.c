#include "cli/analysis_options.h"

#include "cli/asked_part.h"
#include "cli/watched_source.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t gn_top_option(struct argp_state *state, const char *value)
{
    char *end;
    errno = 0;
    const long top = strtol(value, &end, 10);
    if (errno || *end || end == value || top < 0)
        argp_error(state, "--top %s: a number of rows is expected, 0 for all", value);
    return (size_t)top;
}

int gn_world_option(struct argp_state *state, const char *value)
{
    char *end;
    errno = 0;
    const long world = strtol(value, &end, 10);
    if (errno || *end || end == value || world < 1 || world > INT_MAX)
        argp_error(state, "--world %s: the number of a world is expected, 1 is the first", value);
    return (int)world;
}

void gn_one_trace(struct argp_state *state, const char **trace, const char *value)
{
    if (*trace)
        argp_error(state, "one trace at a time: %s is too much", value);
    *trace = value;
}

/* One round without some of the windows. False: it is not known what it would have told. */
static bool look_without(struct gn_spread *spread, size_t round, const char *files,
                         const struct gn_cli_history_settings *settings,
                         int (*look)(void *self, const struct gn_cli_history *opened, struct gn_error *err),
                         void *self)
{
    const struct gn_cli_again again = {spread, round};
    struct gn_cli_history_settings without = *settings;
    struct gn_error err;
    struct gn_cli_history *opened = malloc(sizeof *opened);
    without.again = &again;
    int code = opened ? gn_cli_history_open(opened, files, &without, &err) : -ENOMEM;
    if (code == 0) {
        opened->spread = spread;
        gn_spread_begin(spread, round);
        code = look(self, opened, &err);
        gn_cli_history_close(opened);
    }
    free(opened);
    return code >= 0;
}

enum { MOST_EVENTS = 400000 };

/* What windows tell of a run is looked at without some of them, again and again; NULL where all was seen.
 * With more events nobody would wait for that: only what was seen bounds the rest then. */
static struct gn_spread *
look_again(const struct gn_cli_history *opened, const struct gn_cli_history_settings *settings,
           int (*look)(void *self, const struct gn_cli_history *opened, struct gn_error *err), void *self)
{
    if (opened->kept_count == 0 || opened->is_whole)
        return NULL;
    const struct gn_spread_settings of = {.windows = opened->chosen,
                                          .count = opened->chosen_count,
                                          .run = opened->part,
                                          .middle = gn_cli_history_middle(opened),
                                          .off = opened->off,
                                          .off_count = opened->off_count};
    struct gn_spread *spread = gn_spread_new(&of);
    bool goes_on = spread != NULL && gn_defined_events(opened->source.definitions) <= MOST_EVENTS;
    for (size_t i = 0; goes_on && i < gn_spread_rounds(spread); i++)
        goes_on = look_without(spread, i, opened->files, settings, look, self);
    if (spread && !goes_on)
        gn_spread_give_up(spread);
    if (spread)
        gn_spread_begin(spread, GN_SPREAD_NO_ROUND);
    return spread;
}

int gn_look_at_history(const char *trace, const struct gn_cli_history_settings *settings,
                       int (*look)(void *self, const struct gn_cli_history *opened, struct gn_error *err),
                       void *self, struct gn_error *err)
{
    struct gn_cli_history *opened = malloc(sizeof *opened);
    int code = opened ? gn_cli_history_open(opened, trace, settings, err)
                      : gn_fail(err, -ENOMEM, "no memory for the trace");
    if (code == 0) {
        gn_cli_history_tell(opened, settings->command);
        if (settings->has_spread)
            opened->spread = look_again(opened, settings, look, self);
        code = look(self, opened, err);
        gn_spread_free(opened->spread);
        gn_cli_history_close(opened);
    }
    free(opened);
    return code;
}

int gn_print_csv(const struct gn_table *table, struct gn_error *err)
{
    if (gn_table_csv(table, stdout) < 0)
        return gn_fail(err, -ENOMEM, "no memory for the report");
    return gn_print_end(err);
}

int gn_print_json(json_t *json, struct gn_error *err)
{
    if (!json)
        return gn_fail(err, -ENOMEM, "no memory for the report");
    gn_asked_part_json(json);
    json_dumpf(json, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    fputc('\n', stdout);
    json_decref(json);
    return gn_print_end(err);
}

int gn_print_end(struct gn_error *err)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        return gn_fail(err, -EIO, "cannot write the report: %s", strerror(errno));
    return 0;
}
