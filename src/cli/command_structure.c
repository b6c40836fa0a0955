/* gnomon structure — a program's procedures, loops and calls, without running it. */
#include "answer/report.h"
#include "answer/structure_report.h"
#include "cli/commands.h"
#include "cli/find.h"
#include "cli/format_option.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAD_INPUT = 2 };

struct arguments {
    const char *program;
    bool json, all;
};

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case 'a':
        a->all = true;
        break;
    case 'f':
        a->json = gn_json_option(state, value);
        break;
    case ARGP_KEY_ARG:
        if (a->program)
            argp_error(state, "one program at a time: %s is too much", value);
        a->program = value;
        break;
    case ARGP_KEY_END:
        if (!a->program)
            argp_error(state, "a program is expected");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp_option options[] = {{"all", 'a', NULL, 0, "What does not communicate, too", 0},
                                             {"format", 'f', "FORMAT", 0, "text (default) or json", 0},
                                             {0}};

static int print(const struct gn_structure *structure, bool json)
{
    if (json)
        return gn_report_print_json(gn_structure_json(structure), stdout);
    const struct gn_terminal terminal = gn_terminal_of(STDOUT_FILENO);
    return gn_structure_text(structure, &terminal, stdout);
}

int gn_command_structure(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "PROGRAM",
        "A program's procedures, their loops and the calls in these that communicate, "
        "from its executable and the libraries that use MPI; nothing is run.\v"
        "Loops and their counts of a run: gnomon report --by tree.",
        NULL,
        NULL,
        NULL};
    struct arguments a = {.program = NULL};
    struct gn_structure structure;
    struct gn_error err = {""};
    char path[4096];
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    /* here first, then as the shell would find it */
    if (access(a.program, R_OK) == 0 || !gn_find_in_path(a.program, path, sizeof path))
        snprintf(path, sizeof path, "%s", a.program);
    int code = gn_structure_read(&structure, path, a.all, &err);
    if (code == 0)
        code = print(&structure, a.json);
    gn_structure_clear(&structure);
    if (code != 0) {
        fprintf(stderr, "gnomon structure: %s\n", err.text[0] ? err.text : strerror(-code));
        return BAD_INPUT;
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "gnomon structure: cannot write: %s\n", strerror(errno));
        return 1;
    }
    return 0;
}
