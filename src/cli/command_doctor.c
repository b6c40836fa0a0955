/* gnomon doctor — what is missing on this machine, what is lost without it, and what mends it. */
#include "answer/ascii.h"
#include "answer/fit.h"
#include "answer/terminal.h"
#include "cli/commands.h"
#include "cli/doctor_try.h"
#include "cli/format_option.h"
#include "cli/place.h"

#include <argp.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct row {
    const struct gn_check *check;
    struct gn_finding finding;
    bool needed;
};

static const char *lost(const struct row *row)
{
    return row->finding.lost[0] ? row->finding.lost : row->check->lost;
}

static const char *mend(const struct row *row)
{
    return row->finding.mend[0] ? row->finding.mend : row->check->mend;
}

static void print_line(const char *state, const char *what, const char *word, const char *text)
{
    char line[1200];
    const struct gn_terminal terminal = gn_terminal_of(STDOUT_FILENO);
    snprintf(line, sizeof line, "%s%s", word, text);
    printf("%-5s %-24s ", state, what);
    gn_print_folded(terminal.ascii ? gn_ascii(line) : line, 31, terminal.width, NULL, stdout);
    putchar('\n');
}

static void print_row(const struct row *row)
{
    const struct gn_finding *f = &row->finding;
    print_line(f->fine ? "ok" : row->needed ? "BAD" : "note", row->check->what, "", f->detail);
    if (f->fine)
        return;
    print_line("", "", "without it: ", lost(row));
    print_line("", "", "→ ", mend(row));
}

static void print_text(const struct row *rows)
{
    for (size_t i = 0; i < gn_doctor_check_count; i++)
        print_row(&rows[i]);
}

static void print_json(const struct row *rows)
{
    json_t *list = json_array();
    for (size_t i = 0; i < gn_doctor_check_count; i++) {
        const struct row *row = &rows[i];
        const struct gn_finding *f = &row->finding;
        json_t *item =
            json_pack("{s:s, s:b, s:b, s:s, s:s, s:s}", "what", row->check->what, "fine", f->fine, "needed",
                      row->needed, "detail", f->detail, "lost", lost(row), "mend", mend(row));
        json_t *facts = f->facts[0] ? json_loads(f->facts, 0, NULL) : NULL;
        if (facts)
            json_object_set_new(item, "facts", facts);
        json_array_append_new(list, item);
    }
    json_dumpf(list, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(list);
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    bool *json = state->input;
    switch (key) {
    case 'f':
        *json = gn_json_option(state, value);
        return 0;
    case ARGP_KEY_ARG:
        if (gn_doctor_asked)
            argp_error(state, "%s is too much", value);
        gn_doctor_asked = value;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The exit status: 1: something needed is missing; 2: no memory. */
static int try_all(struct row *rows)
{
    bool bad = false, an_mpi = false;
    for (size_t i = 0; i < gn_doctor_check_count; i++) {
        rows[i].check = &gn_doctor_checks[i];
        if (gn_doctor_try(rows[i].check, &rows[i].finding) != 0)
            return 2;
        an_mpi = an_mpi || (rows[i].check->need == GN_ONE_OF_MPIS && rows[i].finding.fine);
    }
    for (size_t i = 0; i < gn_doctor_check_count; i++) {
        const enum gn_need need = rows[i].check->need;
        rows[i].needed = need == GN_NEEDED || (need == GN_ONE_OF_MPIS && !an_mpi);
        bad = bad || (rows[i].needed && !rows[i].finding.fine);
    }
    return bad;
}

int gn_command_doctor(int argc, char **argv)
{
    static const struct argp_option options[] = {{"format", 'f', "FORMAT", 0, "text (default) or json", 0},
                                                 {0}};
    static const struct argp argp = {options,
                                     parse,
                                     "[PROGRAM]",
                                     "Says what gnomon misses on this machine, and to measure PROGRAM; what "
                                     "is lost without it, and what mends it. Exit status 1 when something "
                                     "needed is missing.",
                                     gn_place_option,
                                     NULL,
                                     NULL};
    bool json = false;
    argp_parse(&argp, argc, argv, 0, NULL, &json);
    struct row *rows = calloc(gn_doctor_check_count, sizeof *rows);
    int status = rows ? try_all(rows) : 2;
    if (status == 2)
        fprintf(stderr, "gnomon doctor: no memory\n");
    else if (json)
        print_json(rows);
    else
        print_text(rows);
    free(rows);
    return status;
}
