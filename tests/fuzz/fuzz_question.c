/* analyse/question: any text. What is understood is a tree; an error is at a place in the text. */
#include "analyse/question.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static const char *const pieces[] = {
    "all ",     "but ",      "one ",     "in ",      "that ", "those ", "2 ",   ", ",   "A",
    "waiting ", "busy ",     "'a b'",    "\"c,d\"",  " ",     "'",      "\"",   "(",    ")",
    "!",        "and ",      "|| ",      "not ",     "any ",  "of ",    "0-3 ", "1:2 ", "host h ",
    "rank ",    "at least ", "at most ", "exactly ", "none ", "&&"};

/* Every node but the root has one parent, after it; whos are there. */
static void check_tree(const struct gn_asked *a)
{
    size_t children = 0;
    for (uint32_t n = 0; n < a->node_count; n++) {
        const struct gn_asked_node *node = &a->nodes[n];
        if (node->who_count && node->first_who + node->who_count > a->who_count)
            abort();
        for (uint32_t c = node->child; c != GN_ASKED_NO_NODE; c = a->nodes[c].next, children++)
            if (c >= n)
                abort();
    }
    if (!a->node_count || children != a->node_count - 1)
        abort();
    gn_question_form(a);
}

static void check(const char *text)
{
    struct gn_asked asked;
    struct gn_question_error error;
    if (gn_question_parse(&asked, text, &error) != 0) {
        if (error.at > strlen(text) || !error.text[0] || asked.nodes || asked.whos)
            abort();
        return;
    }
    check_tree(&asked);
    gn_question_clear(&asked);
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
