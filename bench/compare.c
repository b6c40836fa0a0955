/*
 * What other methods make of the exchanges of a run, beside gnomon's own bounds (baselines/comparison.h): how
 * wide theirs are, how far off their middles, which messages would arrive too early (fast sends) or before
 * they were sent (inversions), and what a conversion costs.
 *
 *   compare RUN [--same-counter] [--json]      RUN: the folder, of gnomon run --keep-exchanges N or gnomon
 * clock
 *                                              --keep
 *
 * --same-counter: all clocks are known to be one and the same, as those of network namespaces of one machine
 * are, so the truth is known. Exit status 2: the run has no such exchanges, or cannot be read.
 */
#include "baselines/compared_run.h"
#include "profile/profile.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- text ---- */

/* In ns, with as many digits as say something. */
static const char *ns(bool known, double value, char text[24])
{
    if (known && isfinite(value))
        snprintf(text, 24, value < 10 ? "%.2f" : value < 1000 ? "%.1f" : "%.0f", value);
    else
        snprintf(text, 24, "%s", known ? "unknown" : "-");
    return text;
}

static void print_method(const struct gn_comparison *c)
{
    char width[24], error[24], most[24];
    printf("  %-28s", c->method);
    if (c->failed) {
        printf("  no result: %s\n", c->problem.text);
        return;
    }
    printf("%12s%12s%12s%11" PRIu64 "%12" PRIu64 "%10.1f%s%s\n", ns(c->bounded, c->width_ns, width),
           ns(c->truth_known, c->error_ns, error), ns(c->truth_known, c->error_max_ns, most), c->fast,
           c->inverted, c->ns_per_reading, c->problem.text[0] ? "  " : "", c->problem.text);
}

static void print_text(const struct gn_compared_run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        const struct gn_compared_clock *clock = &run->clocks[i];
        printf("%s%s against %s, by the same exchanges; ns:\n", i ? "\n" : "", clock->clock, clock->parent);
        printf("  %-28s%12s%12s%12s%11s%12s%10s\n", "method", "width", "error", "most", "fast sends",
               "inversions", "ns each");
        for (int m = 0; m < GN_COMPARED_METHODS; m++)
            print_method(&clock->methods[m]);
    }
}

/* ---- JSON ---- */

/* JSON has no infinity. */
static json_t *number(bool known, double value)
{
    return known && isfinite(value) ? json_real(value) : json_null();
}

static json_t *method_json(const struct gn_comparison *c)
{
    const char *problem = c->problem.text[0] ? c->problem.text : NULL;
    if (c->failed)
        return json_pack("{s:s, s:b, s:s?}", "method", c->method, "failed", 1, "problem", problem);
    return json_pack(
        "{s:s, s:b, s:s?, s:b, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o}", "method", c->method, "failed", 0,
        "problem", problem, "bounded", c->bounded, "width_ns", number(c->bounded, c->width_ns),
        "exchange_width_ns", number(c->bounded, c->exchange_width_ns), "error_ns",
        number(c->truth_known, c->error_ns), "error_most_ns", number(c->truth_known, c->error_max_ns),
        "outside", number(c->truth_known, c->outside), "fast_sends", (json_int_t)c->fast, "inversions",
        (json_int_t)c->inverted, "ns_per_reading", number(true, c->ns_per_reading));
}

static void print_json(const struct gn_compared_run *run)
{
    json_t *clocks = json_array();
    for (size_t i = 0; i < run->count; i++) {
        json_t *methods = json_array();
        for (int m = 0; m < GN_COMPARED_METHODS; m++)
            json_array_append_new(methods, method_json(&run->clocks[i].methods[m]));
        json_array_append_new(clocks, json_pack("{s:s, s:s, s:o}", "clock", run->clocks[i].clock, "parent",
                                                run->clocks[i].parent, "methods", methods));
    }
    json_dumpf(clocks, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(clocks);
}

/* ---- all ---- */

static int compare(const char *folder, bool same_counter, bool json, struct gn_error *err)
{
    char path[4096];
    sqlite3 *db;
    struct gn_compared_run run;
    snprintf(path, sizeof path, "%s/profile.db", folder);
    int code = gn_profile_open(&db, path, err);
    if (code != 0)
        return code;
    code = gn_compared_run(&run, db, same_counter, err);
    if (code == 0) {
        (json ? print_json : print_text)(&run);
        gn_compared_run_clear(&run);
    }
    gn_profile_close(db);
    return code;
}

int main(int argc, char **argv)
{
    const char *folder = NULL;
    bool same_counter = false, json = false, is_wrong = false;
    struct gn_error err = {""};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--same-counter") == 0)
            same_counter = true;
        else if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (argv[i][0] == '-' || folder)
            is_wrong = true;
        else
            folder = argv[i];
    }
    if (is_wrong || !folder) {
        fprintf(stderr, "usage: compare RUN [--same-counter] [--json]\n");
        return 2;
    }
    if (compare(folder, same_counter, json, &err) == 0)
        return 0;
    fprintf(stderr, "compare: %s\n", err.text);
    return 2;
}
