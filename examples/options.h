/*
 * Command line of the example programs: one table per program, the same manners in all of them.
 *
 * `--help` explains and ends with 0; anything not understood gets a message on stderr and ends with 2.
 * Values may be written `--name VALUE` or `--name=VALUE`; for OPTION_MAYBE_* only `--name=VALUE`, because
 * there the value may be left out.
 */
#ifndef EXAMPLES_OPTIONS_H
#define EXAMPLES_OPTIONS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum option_kind {
    OPTION_END,
    OPTION_FLAG,         /* --name            long, becomes 1 */
    OPTION_NUMBER,       /* --name VALUE      long */
    OPTION_REAL,         /* --name VALUE      double */
    OPTION_MAYBE_NUMBER, /* --name[=VALUE]    long */
    OPTION_MAYBE_REAL    /* --name[=VALUE]    double */
};

struct option_spec {
    enum option_kind kind;
    const char *name; /* without the dashes */
    void *value;      /* long or double, see kind; holds the default before */
    double min, max;  /* allowed range of a value */
    double implied;   /* OPTION_MAYBE_*: the value when none is written */
    const char *help;
};

#define OPTIONS_RUN (-1) /* nothing to stop for: go on */

static int option_needs_value(const struct option_spec *s)
{
    return s->kind == OPTION_NUMBER || s->kind == OPTION_REAL;
}

static int option_is_real(const struct option_spec *s)
{
    return s->kind == OPTION_REAL || s->kind == OPTION_MAYBE_REAL;
}

static void options_help(const char *program, const char *arguments, const char *what,
                         const struct option_spec *specs)
{
    printf("usage: %s %s\n%s\n\n", program, arguments, what);
    for (const struct option_spec *s = specs; s->kind != OPTION_END; s++) {
        char left[64];
        const char *tail = s->kind == OPTION_FLAG ? "" : option_needs_value(s) ? " N" : "[=N]";
        snprintf(left, sizeof left, "--%s%s", s->name, tail);
        printf("  %-22s %s", left, s->help);
        if (s->kind == OPTION_NUMBER)
            printf(" (%ld)", *(long *)s->value);
        if (s->kind == OPTION_REAL)
            printf(" (%g)", *(double *)s->value);
        printf("\n");
    }
    printf("  %-22s %s\n", "--help", "this text");
}

static int option_set(const struct option_spec *s, const char *text, char *why, size_t why_size)
{
    double value = s->kind == OPTION_FLAG ? 1 : s->implied;
    if (text) {
        char *end;
        value = option_is_real(s) ? strtod(text, &end) : (double)strtol(text, &end, 10);
        if (end == text || *end != '\0') {
            snprintf(why, why_size, "--%s: '%s' is not a number", s->name, text);
            return -1;
        }
        if (!(value >= s->min && value <= s->max)) {
            snprintf(why, why_size, "--%s: %s is not in %.0f..%.0f", s->name, text, s->min, s->max);
            return -1;
        }
    }
    if (option_is_real(s))
        *(double *)s->value = value;
    else
        *(long *)s->value = (long)value;
    return 0;
}

/* Reads the option at argv[*i] and steps *i over a separate value. */
static int option_take(int argc, char **argv, int *i, const struct option_spec *s, char *why, size_t why_size)
{
    const char *name = argv[*i] + 2;
    const char *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    while (s->kind != OPTION_END && (strlen(s->name) != length || strncmp(s->name, name, length) != 0))
        s++;
    if (s->kind == OPTION_END) {
        snprintf(why, why_size, "unknown option '%s'", argv[*i]);
        return -1;
    }
    const char *text = equals ? equals + 1 : NULL;
    if (s->kind == OPTION_FLAG && text) {
        snprintf(why, why_size, "--%s takes no value", s->name);
        return -1;
    }
    if (option_needs_value(s) && !text) {
        if (*i + 1 >= argc) {
            snprintf(why, why_size, "--%s needs a value", s->name);
            return -1;
        }
        text = argv[++*i];
    }
    return option_set(s, text, why, why_size);
}

/*
 * Reads the command line. `word`, if not NULL, receives the one argument without dashes.
 * Only the caller with `speak` set prints. Returns OPTIONS_RUN or the exit status to end with.
 */
static inline int options_read(int argc, char **argv, const char *arguments, const char *what,
                               const struct option_spec *specs, const char **word, int speak)
{
    char why[256] = "";
    const char *slash = strrchr(argv[0], '/');
    const char *program = slash ? slash + 1 : argv[0];
    for (int i = 1; i < argc && !why[0]; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            if (speak)
                options_help(program, arguments, what, specs);
            return 0;
        }
        if (strncmp(argv[i], "--", 2) == 0)
            option_take(argc, argv, &i, specs, why, sizeof why);
        else if (word && !*word)
            *word = argv[i];
        else
            snprintf(why, sizeof why, "unexpected argument '%s'", argv[i]);
    }
    if (!why[0])
        return OPTIONS_RUN;
    if (speak)
        fprintf(stderr, "%s: %s (see --help)\n", program, why);
    return 2;
}

#endif
