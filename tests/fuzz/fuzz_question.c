/* analyse/question: any text. What is understood and written again means the same; an error is at a place in
 * the text. */
#include "analyse/question.h"
#include "fuzz.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const pieces[] = {"all ", "but ",    "one ", "in ",   "that ",   "those ", "2 ", ", ",
                                     "A",    "waiting", "busy", "'a b'", "\"c,d\"", " ",      "'",  "\""};

static void write_place(char *text, size_t size, const struct gn_asked_place *place)
{
    size_t at = strlen(text);
    if (place->where == GN_WHERE_REGION) {
        char mark = strchr(place->region, '"') ? '\'' : '"';
        snprintf(text + at, size - at, "%c%s%c", mark, place->region, mark);
    } else
        snprintf(text + at, size - at, "%s", place->where == GN_WHERE_BUSY ? "busy" : "waiting");
}

static char *write_again(const struct gn_asked *asked)
{
    size_t size = 100 + (asked->a.region ? strlen(asked->a.region) : 0) +
                  (asked->b.region ? strlen(asked->b.region) : 0);
    char *text = malloc(size);
    if (!text)
        abort();
    snprintf(text, size, "all ");
    if (asked->question.others)
        snprintf(text + 4, size - 4, "but %" PRIu32 " ", asked->question.others);
    strcat(text, "in ");
    write_place(text, size, &asked->a);
    if (asked->question.others) {
        strcat(text, ", those in ");
        write_place(text, size, &asked->b);
    }
    return text;
}

static bool same_place(const struct gn_asked_place *a, const struct gn_asked_place *b)
{
    return a->where == b->where && !a->region == !b->region && (!a->region || !strcmp(a->region, b->region));
}

static void check(const char *text)
{
    struct gn_asked asked, again;
    struct gn_question_error error;
    if (gn_question_parse(&asked, text, &error) != 0) {
        if (error.at > strlen(text) || !error.text[0] || asked.a.region || asked.b.region)
            abort();
        return;
    }
    char *written = write_again(&asked);
    if (gn_question_parse(&again, written, &error) != 0 || again.question.others != asked.question.others ||
        !same_place(&again.a, &asked.a) || !same_place(&again.b, &asked.b))
        abort();
    free(written);
    gn_question_clear(&asked);
    gn_question_clear(&again);
}

/* Mutations of bytes hardly ever make words: here each byte is one. */
static void check_pieces(const uint8_t *data, size_t size)
{
    char text[1024] = "all but one in ";
    if (size % 2)
        text[0] = '\0';
    for (size_t i = 0; i < size && strlen(text) < sizeof text - 16; i++)
        strcat(text, pieces[data[i] % (sizeof pieces / sizeof *pieces)]);
    check(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    check(text);
    free(text);
    check_pieces(data, size);
    return 0;
}
