#include "analyse/question.h"

#include "base/grow.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 1 << 16, MOST_SHOWN = 40, MOST_DEPTH = 100 };

struct parser {
    const char *text;
    size_t at;
    struct gn_question_error *error;
    struct gn_asked *asked;
    unsigned depth;
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

/* Up to a parenthesis that closes what was opened before the word. */
static size_t word_length(const struct parser *p)
{
    size_t length = 0, open = 0;
    for (; is_word(p->text[p->at + length]); length++) {
        const char c = p->text[p->at + length];
        if (c == ')' && open == 0)
            break;
        open += c == '(';
        open -= c == ')';
    }
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

/* The same of a word of the grammar, which a parenthesis ends, too. */
static bool take_key(struct parser *p, const char *key)
{
    skip_spaces(p);
    const size_t length = strlen(key);
    const char next = strncmp(p->text + p->at, key, length) == 0 ? p->text[p->at + length] : 'x';
    if (is_word(next) && next != '(' && next != ')')
        return false;
    p->at += length;
    return true;
}

static bool take_sign(struct parser *p, const char *sign)
{
    skip_spaces(p);
    if (strncmp(p->text + p->at, sign, strlen(sign)) != 0)
        return false;
    p->at += strlen(sign);
    return true;
}

static void need(struct parser *p, const char *token, const char *what)
{
    if (p->code == 0 && !(*token == ',' ? take(p, token) : take_key(p, token)))
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
        if ((is_word(p->text[p->at]) && p->text[p->at] != ')') || p->text[p->at] == '"' ||
            p->text[p->at] == '\'')
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
/* digits, less than 2^32. False: there are none; nothing is said. */
static bool take_digits(struct parser *p, uint32_t *number, const char *too_many)
{
    const size_t begin = p->at;
    uint64_t value = 0;
    for (; p->text[p->at] >= '0' && p->text[p->at] <= '9'; p->at++)
        if (value <= UINT32_MAX)
            value = 10 * value + (uint64_t)(p->text[p->at] - '0');
    if (value > UINT32_MAX)
        wrong(p, -EINVAL, begin, "more than %u %s", UINT32_MAX, too_many);
    *number = (uint32_t)value;
    return p->at > begin;
}

/* one, or a number from `least` on, which nothing else follows without a space. */
static uint32_t read_count(struct parser *p, uint32_t least)
{
    uint32_t count = 1;
    if (p->code || take_key(p, "one"))
        return count;
    const size_t begin = p->at;
    const bool is = take_digits(p, &count, "locations are too many");
    if (p->code == 0 && (!is || count < least || is_word(p->text[p->at]))) {
        p->at = begin;
        expected(p, least ? "how many, one or a number from 1 on," : "how many, one or a number from 0 on,");
    }
    return count;
}

/* ---- who ---- */

static char *read_name(struct parser *p, const char *what)
{
    struct gn_asked_place name = {.region = NULL};
    skip_spaces(p);
    if (p->text[p->at] == '"' || p->text[p->at] == '\'')
        read_string(p, &name);
    else if (word_length(p)) {
        name.region = copy(p, p->at, word_length(p));
        p->at += word_length(p);
    } else
        expected(p, what);
    return name.region;
}

/* Behind a number comes what is no part of it. */
static void end_number(struct parser *p)
{
    if (p->code == 0 && is_word(p->text[p->at]) && p->text[p->at] != ')')
        expected(p, "a space behind the number");
}

static void read_ranks(struct parser *p, struct gn_asked_who *who, bool is_set)
{
    static const char *const too_many = "is no rank or thread";
    if (!take_digits(p, &who->first, too_many))
        expected(p, "a rank");
    who->last = who->first;
    if (p->text[p->at] == ':') {
        p->at++;
        who->kind = GN_ASKED_WHO_THREAD;
        if (!take_digits(p, &who->thread, too_many))
            expected(p, "a thread's number");
    } else if (is_set && p->text[p->at] == '-') {
        const size_t begin = ++p->at;
        if (!take_digits(p, &who->last, too_many))
            expected(p, "the last rank");
        else if (who->last < who->first)
            wrong(p, -EINVAL, begin, "the last rank, %u, is before the first one, %u", who->last, who->first);
    }
    end_number(p);
}

/* is_set: one of several, which may be ranks from … to. False: there is no location here, nothing is said. */
static bool take_who(struct parser *p, bool is_set)
{
    struct gn_asked *a = p->asked;
    skip_spaces(p);
    struct gn_asked_who who = {.at = p->at};
    const bool is_host = take_key(p, "host");
    const bool is_named = !is_host && (take_key(p, "rank") || take_key(p, "thread"));
    skip_spaces(p);
    if (!is_host && !is_named && !(p->text[p->at] >= '0' && p->text[p->at] <= '9'))
        return false;
    if (is_host) {
        who.kind = GN_ASKED_WHO_HOST;
        who.host = read_name(p, "a host's name");
    } else
        read_ranks(p, &who, is_set);
    if (!gn_grow(&a->whos, &a->who_capacity, a->who_count, sizeof *a->whos)) {
        wrong(p, -ENOMEM, who.at, "no memory for the question");
        free(who.host);
        return true;
    }
    a->whos[a->who_count++] = who;
    return true;
}

static void read_set(struct parser *p, struct gn_asked_node *node)
{
    node->first_who = (uint32_t)p->asked->who_count;
    do
        if (!take_who(p, true))
            expected(p, "a rank, ranks such as 0-3, a thread such as 0:1, or a host");
    while (p->code == 0 && take(p, ","));
    node->who_count = (uint32_t)p->asked->who_count - node->first_who;
}

/* ---- atoms ---- */

static void read_state(struct parser *p, struct gn_asked_place *place, const char *what)
{
    static const struct {
        const char *word;
        enum gn_where where;
    } words[] = {{"waiting", GN_WHERE_WAITING},
                 {"busy", GN_WHERE_BUSY},
                 {"computing", GN_WHERE_BUSY},
                 {"calling", GN_WHERE_CALLING},
                 {"running", GN_WHERE_RUNNING}};
    if (p->code)
        return;
    if (take_key(p, "in")) {
        read_place(p, place);
        return;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (take_key(p, words[i].word)) {
            place->where = words[i].where;
            return;
        }
    expected(p, what);
}

static void read_others(struct parser *p, struct gn_asked_node *node)
{
    uint32_t others = read_count(p, 1);
    node->least = node->most = others;
    need(p, "in", "\"in\"");
    read_place(p, &node->a);
    need(p, ",", "a comma and where the others are");
    if (p->code == 0 && others == 1 && take_key(p, "that"))
        need(p, "one", "\"one\"");
    else
        need(p, "those", others == 1 ? "\"that one\"" : "\"those\"");
    need(p, "in", "\"in\"");
    read_place(p, &node->b);
}

/* Behind who is counted. */
static void read_counted(struct parser *p, struct gn_asked_node *node)
{
    if (p->code == 0 && take_key(p, "of")) {
        read_set(p, node);
        read_state(p, &node->a, "a comma, \"in\", waiting, busy, calling or running");
    } else
        read_state(p, &node->a,
                   node->kind == GN_ASKED_ALL_BUT
                       ? "\"in\", \"but\", \"of\", waiting, busy, calling or running"
                       : "\"in\", \"of\", waiting, busy, calling or running");
}

/* False: there is no number here, nothing is said. */
static bool take_number(struct parser *p, struct gn_asked_node *node)
{
    *node = (struct gn_asked_node){.kind = GN_ASKED_COUNT, .most = UINT32_MAX};
    if (take_key(p, "any") || take_key(p, "some"))
        node->least = 1;
    else if (take_key(p, "none"))
        node->most = 0;
    else if (take_key(p, "exactly"))
        node->least = node->most = read_count(p, 0);
    else if (take_key(p, "at")) {
        if (take_key(p, "least"))
            node->least = read_count(p, 0);
        else if (take_key(p, "most"))
            node->most = read_count(p, 0);
        else
            expected(p, "\"least\" or \"most\"");
    } else
        return false;
    return true;
}

static void read_atom(struct parser *p, struct gn_asked_node *node)
{
    if (take_key(p, "all")) {
        *node = (struct gn_asked_node){.kind = GN_ASKED_ALL_BUT};
        if (take_key(p, "but"))
            read_others(p, node);
        else
            read_counted(p, node);
    } else if (take_number(p, node))
        read_counted(p, node);
    else if (take_who(p, false)) {
        *node = (struct gn_asked_node){
            .kind = GN_ASKED_IN, .first_who = (uint32_t)p->asked->who_count - 1, .who_count = 1};
        read_state(p, &node->a, "\"in\", waiting, busy, calling or running");
    } else
        expected(p, "all, any, none, at least, at most, exactly, a rank, thread or host, not or \"(\"");
}

/* ---- and, or, not ---- */

static uint32_t read_either(struct parser *p);
static uint32_t read_one(struct parser *p);

/* The index; NO_NODE: no memory. Takes the node's names. */
static uint32_t add_node(struct parser *p, struct gn_asked_node node)
{
    struct gn_asked *a = p->asked;
    node.next = GN_ASKED_NO_NODE;
    if (!gn_grow(&a->nodes, &a->node_capacity, a->node_count, sizeof *a->nodes)) {
        wrong(p, -ENOMEM, p->at, "no memory for the question");
        free(node.a.region);
        free(node.b.region);
        return GN_ASKED_NO_NODE;
    }
    a->nodes[a->node_count] = node;
    return (uint32_t)a->node_count++;
}

static uint32_t read_inner(struct parser *p)
{
    skip_spaces(p);
    const size_t begin = p->at;
    if (take_sign(p, "!") || take_key(p, "not")) {
        const uint32_t child = read_one(p);
        return add_node(p, (struct gn_asked_node){.kind = GN_ASKED_NOT, .child = child});
    }
    if (take_sign(p, "(")) {
        const uint32_t node = read_either(p);
        if (p->code == 0 && !take_sign(p, ")")) {
            if (p->text[p->at])
                expected(p, "and, or or \")\"");
            else
                wrong(p, -EINVAL, begin, "this parenthesis is not closed");
        }
        return node;
    }
    struct gn_asked_node atom = {.kind = GN_ASKED_IN};
    read_atom(p, &atom);
    atom.child = GN_ASKED_NO_NODE;
    return add_node(p, atom);
}

static uint32_t read_one(struct parser *p)
{
    uint32_t node = GN_ASKED_NO_NODE;
    if (++p->depth > MOST_DEPTH)
        wrong(p, -EINVAL, p->at, "more than %d levels of not and ( are too many", MOST_DEPTH);
    else if (p->code == 0)
        node = read_inner(p);
    p->depth--;
    return node;
}

/* inner { token inner } */
static uint32_t read_many(struct parser *p, uint32_t (*inner)(struct parser *), enum gn_asked_kind kind,
                          const char *key, const char *sign)
{
    const uint32_t first = inner(p);
    uint32_t last = first;
    while (p->code == 0 && (take_key(p, key) || take_sign(p, sign))) {
        const uint32_t node = inner(p);
        if (p->code == 0)
            p->asked->nodes[last].next = node;
        last = node;
    }
    return last == first || p->code ? first
                                    : add_node(p, (struct gn_asked_node){.kind = kind, .child = first});
}

static uint32_t read_both(struct parser *p)
{
    return read_many(p, read_one, GN_ASKED_AND, "and", "&&");
}

static uint32_t read_either(struct parser *p)
{
    return read_many(p, read_both, GN_ASKED_OR, "or", "||");
}

int gn_question_parse(struct gn_asked *asked, const char *text, struct gn_question_error *error)
{
    struct parser p = {.text = text, .error = error, .asked = asked};
    *asked = (struct gn_asked){0};
    *error = (struct gn_question_error){0};
    if (strnlen(text, MOST_TEXT + 1) > MOST_TEXT)
        wrong(&p, -EINVAL, MOST_TEXT, "more than %d characters are too many", MOST_TEXT);
    else
        read_either(&p);
    skip_spaces(&p);
    if (p.code == 0 && p.text[p.at])
        expected(&p, "the end");
    if (p.code)
        gn_question_clear(asked);
    return p.code;
}

void gn_question_clear(struct gn_asked *asked)
{
    for (size_t n = 0; n < asked->node_count; n++) {
        free(asked->nodes[n].a.region);
        free(asked->nodes[n].b.region);
    }
    for (size_t w = 0; w < asked->who_count; w++)
        free(asked->whos[w].host);
    free(asked->nodes);
    free(asked->whos);
    *asked = (struct gn_asked){0};
}

const struct gn_asked_node *gn_question_form(const struct gn_asked *asked)
{
    const struct gn_asked_node *root = &asked->nodes[asked->node_count - 1];
    const bool is = root->kind == GN_ASKED_ALL_BUT && !root->who_count && root->a.where <= GN_WHERE_WAITING &&
                    (root->b.where == GN_WHERE_REGION || root->b.where == GN_WHERE_BUSY);
    return is ? root : NULL;
}
