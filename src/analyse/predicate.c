#include "analyse/predicate.h"

#include "base/grow.h"
#include "trace/who.h"
#include "event/fields.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 100, MOST_TEXT = 1 << 16 };

/* X(FIELD, name): the fields in the order in which messages list them. */
#define FIELDS(X)                                                                                            \
    X(KIND, kind)                                                                                            \
    X(OP, op)                                                                                                \
    X(RANK, rank)                                                                                            \
    X(LOCATION, location)                                                                                    \
    X(THREAD, thread)                                                                                        \
    X(REGION, region)                                                                                        \
    X(COMM, comm)                                                                                            \
    X(PEER, peer)                                                                                            \
    X(TAG, tag)                                                                                              \
    X(BYTES, bytes)                                                                                          \
    X(BYTES_SENT, bytes_sent)                                                                                \
    X(BYTES_RECEIVED, bytes_received)                                                                        \
    X(TIME, time)                                                                                            \
    X(SENT, sent)                                                                                            \
    X(ROOT, root)                                                                                            \
    X(REQUEST, request)

enum field {
#define X(FIELD, name) FIELD_##FIELD,
    FIELDS(X)
#undef X
        FIELD_COUNT
};

static const char *const field_names[] = {
#define X(FIELD, name) #name,
    FIELDS(X)
#undef X
};

enum relation { EQUAL, UNEQUAL, LESS, AT_MOST, MORE, AT_LEAST, LIKE };

enum code {
    KINDS,      /* kind is in set */
    OPS,        /* op is in set */
    WHOLE,      /* field relation whole */
    REAL,       /* field relation real */
    NAME,       /* name of the field's definition is that of names[target], or is not */
    HAS,        /* the field is there */
    NEGATE,     /* the other truth value */
    JUMP_FALSE, /* to target */
    JUMP_TRUE
};

struct step {
    uint8_t code, field, relation;
    uint32_t target;
    union {
        uint64_t set, whole;
        double real;
    };
};

/* A name or pattern and, for each definition asked about so far, whether it fits. */
struct name {
    char *text;
    bool pattern;
    uint8_t *memo; /* UNASKED, MISFIT, FIT */
    size_t count, capacity;
};

enum { UNASKED, MISFIT, FIT };

struct gn_predicate {
    const struct gn_definitions *definitions;
    const struct gn_origin *origin;
    struct step *steps;
    struct name *names;
    size_t step_count, step_capacity, name_count, name_capacity;
    struct gn_whos whos;
};

_Static_assert(GN_EVENT_KIND_COUNT <= 64 && GN_COLLECTIVE_COUNT <= 64, "sets of them are 64 bits");

/* ---- reading ---- */

struct reader {
    struct gn_predicate *predicate;
    struct gn_predicate_error *error;
    const char *text;
    size_t at;
    unsigned depth;
    int code; /* of the first thing that went wrong; everything returns quickly from then on */
};

__attribute__((format(printf, 4, 5))) static void wrong(struct reader *r, int code, size_t at,
                                                        const char *format, ...)
{
    va_list args;
    if (r->code)
        return;
    r->code = code;
    r->error->at = at;
    va_start(args, format);
    vsnprintf(r->error->text, sizeof r->error->text, format, args);
    va_end(args);
}

static void skip_spaces(struct reader *r)
{
    while (isspace((unsigned char)r->text[r->at]))
        r->at++;
}

static bool take(struct reader *r, const char *token)
{
    skip_spaces(r);
    size_t length = strlen(token);
    if (strncmp(r->text + r->at, token, length) != 0)
        return false;
    r->at += length;
    return true;
}

/* The next step; a dummy when there is no memory. */
static struct step *add(struct reader *r, struct step step)
{
    struct gn_predicate *p = r->predicate;
    static struct step nowhere;
    if (!gn_grow(&p->steps, &p->step_capacity, p->step_count, sizeof *p->steps)) {
        wrong(r, -ENOMEM, r->at, "no memory for the predicate");
        return &nowhere;
    }
    p->steps[p->step_count] = step;
    return &p->steps[p->step_count++];
}

static bool word_byte(char c)
{
    return c && (isalnum((unsigned char)c) || strchr("_:.*?[]$@/-", c) || (unsigned char)c >= 128);
}

/* A piece of the text for a message, as long as a word. */
static int piece_length(const struct reader *r, size_t at)
{
    int length = 0;
    while (length < 40 && word_byte(r->text[at + (size_t)length]))
        length++;
    return length ? length : r->text[at] != '\0';
}

static void expected(struct reader *r, size_t at, const char *what)
{
    if (r->text[at])
        wrong(r, -EINVAL, at, "%s is expected, not \"%.*s\"", what, piece_length(r, at), r->text + at);
    else
        wrong(r, -EINVAL, at, "%s is expected, but the text ends here", what);
}

static enum field read_field(struct reader *r)
{
    skip_spaces(r);
    size_t begin = r->at, length = 0;
    while (isalnum((unsigned char)r->text[begin + length]) || r->text[begin + length] == '_')
        length++;
    for (int f = 0; f < FIELD_COUNT; f++)
        if (length && strlen(field_names[f]) == length &&
            strncmp(field_names[f], r->text + begin, length) == 0) {
            r->at += length;
            return (enum field)f;
        }
    expected(r, begin,
             length ? "one of kind, op, rank, location, thread, region, comm, peer, tag, bytes, bytes_sent, "
                      "bytes_received, time, sent, root, request"
                    : "a field, \"!\" or \"(\"");
    return FIELD_COUNT;
}

static bool read_relation(struct reader *r, enum relation *relation)
{
    static const struct {
        const char *token;
        enum relation relation;
    } relations[] = {{"==", EQUAL}, {"=", EQUAL},     {"!=", UNEQUAL}, {"<=", AT_MOST},
                     {"<", LESS},   {">=", AT_LEAST}, {">", MORE},     {"~", LIKE}};
    for (size_t i = 0; i < sizeof relations / sizeof relations[0]; i++)
        if (take(r, relations[i].token)) {
            *relation = relations[i].relation;
            return true;
        }
    return false;
}

struct value {
    bool is_number, is_whole;
    double real;
    uint64_t whole;
    char *word; /* NULL: a number */
    size_t at;
};

static double unit(struct reader *r)
{
    static const struct {
        char name;
        double factor;
    } units[] = {{'k', 1e3}, {'K', 1e3}, {'M', 1e6}, {'G', 1e9}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (r->text[r->at] == units[i].name) {
            r->at++;
            return units[i].factor;
        }
    return 1;
}

/* Numbers in the way people write them: 12, -1, 1.5e6, 10k, 0x1f. */
static void read_number(struct reader *r, struct value *v)
{
    const char *begin = r->text + r->at;
    char *end, *whole_end;
    v->is_number = true;
    v->real = strtod(begin, &end);
    errno = 0;
    v->whole = strtoull(begin, &whole_end, strncmp(begin, "0x", 2) == 0 ? 16 : 10);
    v->is_whole = *begin != '-' && whole_end == end && errno == 0;
    r->at += (size_t)(end - begin);
    double factor = unit(r);
    if (factor > 1) {
        v->real *= factor;
        v->is_whole = v->real >= 0 && v->real < 0x1p53 && v->real == floor(v->real);
        v->whole = v->is_whole ? (uint64_t)v->real : 0;
    } else if (!v->is_whole && v->real >= 0 && v->real < 0x1p53 && v->real == floor(v->real)) {
        v->is_whole = true; /* 1e6 */
        v->whole = (uint64_t)v->real;
    }
    if (end == begin || !isfinite(v->real))
        expected(r, v->at, "a number");
    else if (word_byte(r->text[r->at]))
        expected(r, r->at, "k, M, G or the end of the number");
}

static void read_quoted(struct reader *r, struct value *v)
{
    char quote = r->text[r->at++];
    const char *end = strchr(r->text + r->at, quote);
    if (!end) {
        wrong(r, -EINVAL, v->at, "the string that begins here has no end");
        return;
    }
    v->word = strndup(r->text + r->at, (size_t)(end - r->text) - r->at);
    r->at = (size_t)(end - r->text) + 1;
}

/* The caller frees v->word. */
static struct value read_value(struct reader *r)
{
    skip_spaces(r);
    struct value v = {.at = r->at};
    char c = r->text[r->at], next = c ? r->text[r->at + 1] : '\0';
    bool digits = isdigit((unsigned char)c) || ((c == '-' || c == '.') && isdigit((unsigned char)next)) ||
                  (c == '-' && next == '.');
    if (digits) {
        read_number(r, &v);
    } else if (c == '"' || c == '\'') {
        read_quoted(r, &v);
    } else if (word_byte(c)) {
        while (word_byte(r->text[r->at]))
            r->at++;
        v.word = strndup(r->text + v.at, r->at - v.at);
    } else {
        expected(r, v.at, "a value");
    }
    if (!v.is_number && !v.word)
        wrong(r, -ENOMEM, v.at, "no memory for the predicate");
    return v;
}

/* ---- comparisons ---- */

static bool fits(const struct value *v, bool pattern, const char *name)
{
    return pattern ? fnmatch(v->word, name, 0) == 0 : strcmp(v->word, name) == 0;
}

/* kind and op are sets of numbers. */
static void compare_set(struct reader *r, enum field field, enum relation relation, const struct value *v)
{
    unsigned count = field == FIELD_KIND ? GN_EVENT_KIND_COUNT : GN_COLLECTIVE_COUNT;
    uint64_t set = 0;
    if (v->is_number || (relation != EQUAL && relation != UNEQUAL && relation != LIKE)) {
        wrong(r, -EINVAL, v->at, "%s is a name: compare with =, != or ~ and a name",
              field == FIELD_KIND ? "kind" : "op");
        return;
    }
    for (unsigned i = 0; i < count; i++)
        if (fits(v, relation == LIKE, field == FIELD_KIND ? gn_event_name(i) : gn_collective_name(i)))
            set |= (uint64_t)1 << i;
    if (!set) {
        expected(r, v->at,
                 field == FIELD_KIND ? "a kind of event (enter, leave, mpi_send, …)"
                                     : "a collective operation (barrier, bcast, allreduce, …)");
        return;
    }
    if (relation == UNEQUAL)
        set = ~set & (((uint64_t)1 << count) - 1);
    add(r, (struct step){.code = field == FIELD_KIND ? KINDS : OPS, .set = set});
}

static void compare_name(struct reader *r, enum field field, enum relation relation, struct value *v)
{
    struct gn_predicate *p = r->predicate;
    if (relation != EQUAL && relation != UNEQUAL && relation != LIKE) {
        wrong(r, -EINVAL, v->at, "names are compared with =, != or ~");
        return;
    }
    if (!gn_grow(&p->names, &p->name_capacity, p->name_count, sizeof *p->names)) {
        wrong(r, -ENOMEM, v->at, "no memory for the predicate");
        return;
    }
    p->names[p->name_count] = (struct name){.text = v->word, .pattern = relation == LIKE};
    v->word = NULL;
    add(r, (struct step){.code = NAME,
                         .field = (uint8_t)field,
                         .relation = (uint8_t)(relation == UNEQUAL ? UNEQUAL : EQUAL),
                         .target = (uint32_t)p->name_count++});
}

static bool is_named(enum field field)
{
    return field == FIELD_REGION || field == FIELD_COMM || field == FIELD_LOCATION;
}

/* Words that stand for a number; false: this is none. */
static bool numbered_word(enum field field, struct value *v)
{
    static const struct {
        enum field field;
        const char *word;
        uint32_t number;
    } words[] = {{FIELD_PEER, "any", GN_ANY},
                 {FIELD_TAG, "any", GN_ANY},
                 {FIELD_TAG, "neighbour", GN_TAG_NEIGHBOUR},
                 {FIELD_ROOT, "self", GN_ROOT_SELF},
                 {FIELD_ROOT, "none", GN_ROOT_NONE}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (words[i].field == field && strcmp(words[i].word, v->word) == 0) {
            v->whole = words[i].number;
            v->is_whole = true;
            return true;
        }
    return false;
}

static void compare_number(struct reader *r, enum field field, enum relation relation, struct value *v)
{
    if (v->word && !numbered_word(field, v)) {
        expected(r, v->at, "a number");
        return;
    }
    if (relation == LIKE) {
        wrong(r, -EINVAL, v->at, "~ compares names; %s is a number", field_names[field]);
        return;
    }
    struct step step = {.field = (uint8_t)field, .relation = (uint8_t)relation};
    if (v->is_whole && field != FIELD_TIME && field != FIELD_SENT) {
        step.code = WHOLE;
        step.whole = v->whole;
    } else {
        step.code = REAL;
        step.real = v->real;
    }
    add(r, step);
}

static void read_comparison(struct reader *r)
{
    enum relation relation;
    enum field field = read_field(r);
    if (r->code)
        return;
    if (!read_relation(r, &relation)) {
        add(r, (struct step){.code = HAS, .field = (uint8_t)field});
        return;
    }
    struct value v = read_value(r);
    if (r->code == 0) {
        if (field == FIELD_KIND || field == FIELD_OP)
            compare_set(r, field, relation, &v);
        else if (v.word && is_named(field))
            compare_name(r, field, relation, &v);
        else if (field == FIELD_REGION)
            wrong(r, -EINVAL, v.at, "region is compared with a name; quote it if it looks like a number");
        else
            compare_number(r, field, relation, &v);
    }
    free(v.word);
}

/* ---- structure ---- */

static void read_either(struct reader *r);

static void read_one(struct reader *r)
{
    skip_spaces(r);
    if (++r->depth > MOST_DEPTH) {
        wrong(r, -EINVAL, r->at, "more than %d levels of ! and ( are too many", MOST_DEPTH);
    } else if (r->text[r->at] == '!') {
        r->at++;
        read_one(r);
        add(r, (struct step){.code = NEGATE});
    } else if (take(r, "(")) {
        size_t begin = r->at - 1;
        read_either(r);
        if (r->code == 0 && !take(r, ")")) {
            if (r->text[r->at])
                expected(r, r->at, "a relation (= != < <= > >= ~), &&, || or \")\"");
            else
                wrong(r, -EINVAL, begin, "this parenthesis is not closed");
        }
    } else {
        read_comparison(r);
    }
    r->depth--;
}

/* inner { token inner }: each token jumps behind the last of them as soon as the truth value is settled. */
static void read_chain(struct reader *r, void (*inner)(struct reader *), const char *token, enum code jump)
{
    uint32_t last = UINT32_MAX; /* the jumps so far are chained through their targets */
    inner(r);
    while (r->code == 0 && take(r, token)) {
        add(r, (struct step){.code = (uint8_t)jump, .target = last});
        last = (uint32_t)r->predicate->step_count - 1;
        inner(r);
    }
    if (r->code)
        return;
    while (last != UINT32_MAX) {
        struct step *step = &r->predicate->steps[last];
        last = step->target;
        step->target = (uint32_t)r->predicate->step_count;
    }
}

static void read_both(struct reader *r)
{
    read_chain(r, read_one, "&&", JUMP_FALSE);
}

static void read_either(struct reader *r)
{
    read_chain(r, read_both, "||", JUMP_TRUE);
}

int gn_predicate_open(struct gn_predicate **predicate, const char *text,
                      const struct gn_definitions *definitions, const struct gn_origin *origin,
                      struct gn_predicate_error *error)
{
    *error = (struct gn_predicate_error){0};
    *predicate = calloc(1, sizeof **predicate);
    struct reader r = {.predicate = *predicate, .error = error, .text = text};
    if (!*predicate) {
        wrong(&r, -ENOMEM, 0, "no memory for the predicate");
        return r.code;
    }
    (*predicate)->definitions = definitions;
    (*predicate)->whos.definitions = definitions;
    (*predicate)->origin = origin;
    if (strlen(text) > MOST_TEXT)
        wrong(&r, -EINVAL, 0, "more than %d characters are too many", MOST_TEXT);
    else
        read_either(&r);
    skip_spaces(&r);
    if (r.code == 0 && text[r.at])
        expected(&r, r.at, "a relation (= != < <= > >= ~), && or ||");
    if (r.code) {
        gn_predicate_close(*predicate);
        *predicate = NULL;
    }
    return r.code;
}

void gn_predicate_close(struct gn_predicate *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->name_count; i++) {
        free(p->names[i].text);
        free(p->names[i].memo);
    }
    free(p->names);
    free(p->steps);
    gn_whos_clear(&p->whos);
    free(p);
}

/* ---- asking ---- */

static bool find_comm(const struct gn_definitions *d, const struct gn_event *e, unsigned has, uint64_t *comm)
{
    uint32_t index = has & GN_FIELD_COMM ? e->comm : GN_NONE;
    if (has & GN_FIELD_WINDOW && e->comm < d->window_count)
        index = d->windows[e->comm].comm;
    *comm = index;
    return index < d->comm_count;
}

static bool find_bytes(const struct gn_event *e, unsigned has, uint64_t *bytes)
{
    uint64_t sent = has & GN_FIELD_SENT ? e->bytes_sent : 0;
    uint64_t received = has & GN_FIELD_RECEIVED ? e->bytes_received : 0;
    *bytes = sent + received;
    return has & (GN_FIELD_SENT | GN_FIELD_RECEIVED) && sent != GN_BYTES_UNKNOWN &&
           received != GN_BYTES_UNKNOWN;
}

/* The value of a field that is a whole number; false: the event has none. */
static bool whole_of(struct gn_predicate *p, enum field field, const struct gn_event *e, uint64_t *value)
{
    unsigned has = gn_event_fields(e->kind);
    switch (field) {
    case FIELD_RANK:
        *value = (uint64_t)gn_who_of(&p->whos, e->location).rank;
        return *value <= INT32_MAX;
    case FIELD_LOCATION:
        *value = e->location;
        return true;
    case FIELD_THREAD:
        *value = gn_who_of(&p->whos, e->location).thread;
        return true;
    case FIELD_REGION:
        *value = e->region;
        return has & GN_FIELD_REGION && e->region < p->definitions->region_count;
    case FIELD_COMM:
        return find_comm(p->definitions, e, has, value);
    case FIELD_PEER:
        *value = e->peer;
        return has & GN_FIELD_PEER && e->peer != GN_NONE;
    case FIELD_ROOT:
        *value = e->peer;
        return has & GN_FIELD_ROOT && e->peer != GN_NONE;
    case FIELD_TAG:
        *value = e->tag;
        return has & GN_FIELD_TAG && e->tag != GN_NONE;
    case FIELD_BYTES:
        return find_bytes(e, has, value);
    case FIELD_BYTES_SENT:
        *value = e->bytes_sent;
        return has & GN_FIELD_SENT && e->bytes_sent != GN_BYTES_UNKNOWN;
    case FIELD_BYTES_RECEIVED:
        *value = e->bytes_received;
        return has & GN_FIELD_RECEIVED && e->bytes_received != GN_BYTES_UNKNOWN;
    case FIELD_REQUEST:
        *value = e->request;
        return has & GN_FIELD_REQUEST;
    default:
        return false;
    }
}

static bool real_of(struct gn_predicate *p, enum field field, const struct gn_event *e,
                    const struct gn_place *place, double *value)
{
    uint64_t whole;
    if (field == FIELD_TIME) {
        *value = gn_origin_seconds(p->origin, place->ticks);
        return true;
    }
    if (field == FIELD_SENT) {
        *value = gn_origin_seconds(p->origin, place->sent_ticks);
        return place->flags & GN_PLACE_CORRELATED;
    }
    if (!whole_of(p, field, e, &whole))
        return false;
    *value = (double)whole;
    return true;
}

static bool has_field(struct gn_predicate *p, enum field field, const struct gn_event *e,
                      const struct gn_place *place)
{
    double value;
    if (field == FIELD_KIND)
        return true;
    if (field == FIELD_OP)
        return gn_event_fields(e->kind) & GN_FIELD_OP && e->op < GN_COLLECTIVE_COUNT;
    return real_of(p, field, e, place, &value);
}

#define RELATE(relation, a, b)                                                                               \
    ((relation) == EQUAL     ? (a) == (b)                                                                    \
     : (relation) == UNEQUAL ? (a) != (b)                                                                    \
     : (relation) == LESS    ? (a) < (b)                                                                     \
     : (relation) == AT_MOST ? (a) <= (b)                                                                    \
     : (relation) == MORE    ? (a) > (b)                                                                     \
                             : (a) >= (b))

static const char *name_of(const struct gn_definitions *d, enum field field, size_t index)
{
    return gn_string(d, field == FIELD_REGION ? d->regions[index].name
                        : field == FIELD_COMM ? d->comms[index].name
                                              : d->locations[index].name);
}

static bool name_fits(struct gn_predicate *p, enum field field, struct name *name, size_t index)
{
    const struct gn_definitions *d = p->definitions;
    size_t count = field == FIELD_REGION ? d->region_count
                   : field == FIELD_COMM ? d->comm_count
                                         : d->location_count;
    if (index >= count)
        return false;
    if (index < name->count && name->memo[index] != UNASKED)
        return name->memo[index] == FIT;
    const char *text = name_of(d, field, index);
    bool fit = name->pattern ? fnmatch(name->text, text, 0) == 0 : strcmp(name->text, text) == 0;
    while (name->count < count && gn_grow(&name->memo, &name->capacity, name->count, sizeof *name->memo))
        name->memo[name->count++] = UNASKED;
    if (index < name->count)
        name->memo[index] = fit ? FIT : MISFIT;
    return fit;
}

static bool holds(struct gn_predicate *p, const struct step *step, const struct gn_event *e,
                  const struct gn_place *place)
{
    uint64_t whole;
    double real;
    switch ((enum code)step->code) {
    case KINDS:
        return e->kind < 64 && step->set >> e->kind & 1;
    case OPS:
        return has_field(p, FIELD_OP, e, place) && step->set >> e->op & 1;
    case WHOLE:
        return whole_of(p, step->field, e, &whole) && RELATE(step->relation, whole, step->whole);
    case REAL:
        return real_of(p, step->field, e, place, &real) && RELATE(step->relation, real, step->real);
    case NAME:
        return whole_of(p, step->field, e, &whole) &&
               name_fits(p, step->field, &p->names[step->target], whole) == (step->relation == EQUAL);
    default: /* HAS */
        return has_field(p, step->field, e, place);
    }
}

bool gn_predicate_holds(struct gn_predicate *p, const struct gn_event *event, const struct gn_place *place)
{
    bool truth = false;
    for (size_t i = 0; i < p->step_count;) {
        const struct step *step = &p->steps[i++];
        if (step->code == NEGATE)
            truth = !truth;
        else if (step->code == JUMP_FALSE || step->code == JUMP_TRUE)
            i = truth == (step->code == JUMP_TRUE) ? step->target : i;
        else
            truth = holds(p, step, event, place);
    }
    return truth;
}

void gn_predicate_explain(FILE *out, const char *text, const struct gn_predicate_error *error)
{
    size_t columns = 0;
    fprintf(out, "%s\n  ", error->text);
    for (size_t i = 0; text[i]; i++) {
        fputc(iscntrl((unsigned char)text[i]) ? ' ' : text[i], out);
        columns += i < error->at && ((unsigned char)text[i] & 0xc0) != 0x80; /* UTF-8: characters */
    }
    fprintf(out, "\n  %*s^\n", (int)columns, "");
}
