#include "analyse/question.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 1 << 16, MOST_SHOWN = 40 };

struct parser {
    const char *text;
    size_t at;
    struct gn_question_error *error;
    int code; /* of the first thing that went wrong; everything returns quickly from then on */
};

__attribute__((format(printf, 4, 5))) static void wrong(struct parser *p, int code, size_t at,
                                                        const char *format, ...)
{
    va_list args;
    if (p->code)
        return;
    p->code = code;
    p->error->at = at;
    va_start(args, format);
    vsnprintf(p->error->text, sizeof p->error->text, format, args);
    va_end(args);
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_word(char c)
{
    return c && !is_space(c) && !strchr(",\"'", c);
}

static size_t word_length(const struct parser *p)
{
    size_t length = 0;
    while (is_word(p->text[p->at + length]))
        length++;
    return length;
}

static void skip_spaces(struct parser *p)
{
    while (is_space(p->text[p->at]))
        p->at++;
}

static void expected(struct parser *p, const char *what)
{
    skip_spaces(p);
    size_t length = word_length(p);
    if (!p->text[p->at])
        wrong(p, -EINVAL, p->at, "%s is expected, but the text ends here", what);
    else
        wrong(p, -EINVAL, p->at, "%s is expected, not \"%.*s\"", what,
              length == 0           ? 1
              : length < MOST_SHOWN ? (int)length
                                    : MOST_SHOWN,
              p->text + p->at);
}

/* Goes past the word or the comma, when it is what comes next. */
static bool take(struct parser *p, const char *token)
{
    skip_spaces(p);
    size_t length = *token == ',' ? p->text[p->at] == ',' : word_length(p);
    if (length != strlen(token) || strncmp(p->text + p->at, token, length) != 0)
        return false;
    p->at += length;
    return true;
}

static void need(struct parser *p, const char *token, const char *what)
{
    if (p->code == 0 && !take(p, token))
        expected(p, what);
}

static char *copy(struct parser *p, size_t at, size_t length)
{
    char *name = strndup(p->text + at, length);
    if (!name)
        wrong(p, -ENOMEM, at, "no memory for a name");
    return name;
}

static void read_string(struct parser *p, struct gn_asked_place *place)
{
    size_t begin = p->at + 1;
    const char *end = strchr(p->text + begin, p->text[p->at]);
    if (!end)
        wrong(p, -EINVAL, p->at, "the name that begins here does not end: a second %c is missing",
              p->text[p->at]);
    else if (end == p->text + begin)
        wrong(p, -EINVAL, p->at, "a region's name is not empty");
    else {
        place->region = copy(p, begin, (size_t)(end - p->text) - begin);
        p->at = (size_t)(end - p->text) + 1;
        if (is_word(p->text[p->at]) || p->text[p->at] == '"' || p->text[p->at] == '\'')
            wrong(p, -EINVAL, p->at, "after a name in quotation marks comes a space or a comma");
    }
}

static void read_place(struct parser *p, struct gn_asked_place *place)
{
    *place = (struct gn_asked_place){.where = GN_WHERE_REGION};
    if (p->code)
        return;
    if (take(p, "waiting"))
        place->where = GN_WHERE_WAITING;
    else if (take(p, "busy"))
        place->where = GN_WHERE_BUSY;
    else if (p->text[p->at] == '"' || p->text[p->at] == '\'')
        read_string(p, place);
    else if (word_length(p)) {
        place->region = copy(p, p->at, word_length(p));
        p->at += word_length(p);
    } else
        expected(p, "a region's name, waiting or busy");
}

/* After "all but": how many. */
static uint32_t read_count(struct parser *p)
{
    uint64_t count = 0;
    if (take(p, "one"))
        return 1;
    size_t length = word_length(p);
    bool digits = length > 0;
    for (size_t i = 0; i < length; i++) {
        char c = p->text[p->at + i];
        digits = digits && c >= '0' && c <= '9';
        if (digits && count <= UINT32_MAX)
            count = 10 * count + (uint64_t)(c - '0');
    }
    if (!digits || count == 0)
        expected(p, "how many, one or a number from 1 on,");
    else if (count > UINT32_MAX)
        wrong(p, -EINVAL, p->at, "more than %u locations are too many", UINT32_MAX);
    else
        p->at += length;
    return (uint32_t)count;
}

static void read_others(struct parser *p, struct gn_asked *asked)
{
    uint32_t others = read_count(p);
    asked->question.others = others;
    need(p, "in", "\"in\"");
    read_place(p, &asked->a);
    need(p, ",", "a comma and where the others are");
    if (p->code == 0 && others == 1 && take(p, "that"))
        need(p, "one", "\"one\"");
    else
        need(p, "those", others == 1 ? "\"that one\"" : "\"those\"");
    need(p, "in", "\"in\"");
    read_place(p, &asked->b);
}

static void read_question(struct parser *p, struct gn_asked *asked)
{
    need(p, "all", "\"all\"");
    if (p->code == 0 && take(p, "but")) {
        read_others(p, asked);
        return;
    }
    need(p, "in", "\"in\" or \"but\"");
    read_place(p, &asked->a);
}

int gn_question_parse(struct gn_asked *asked, const char *text, struct gn_question_error *error)
{
    struct parser p = {.text = text, .error = error};
    *asked = (struct gn_asked){0};
    *error = (struct gn_question_error){0};
    if (strnlen(text, MOST_TEXT + 1) > MOST_TEXT)
        wrong(&p, -EINVAL, MOST_TEXT, "more than %d characters are too many", MOST_TEXT);
    else
        read_question(&p, asked);
    skip_spaces(&p);
    if (p.code == 0 && p.text[p.at])
        expected(&p, "the end");
    if (p.code)
        gn_question_clear(asked);
    return p.code;
}

void gn_question_clear(struct gn_asked *asked)
{
    free(asked->a.region);
    free(asked->b.region);
    *asked = (struct gn_asked){0};
}
