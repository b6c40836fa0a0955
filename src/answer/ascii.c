#include "answer/ascii.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *sign, *form;
} forms[] = {{"…", "..."}, {"·", "-"},  {"±", "+-"}, {"×", "x"}, {"→", "->"}, {"←", "<-"}, {"–", "-"},
             {"µ", "u"},   {"≤", "<="}, {"≥", ">="}, {"█", "#"}, {"▒", "+"},  {"░", "."}};

static bool continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* The form of the sign there, and how many bytes it has. */
static const char *form_of(const char *sign, size_t *bytes)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        *bytes = strlen(forms[i].sign);
        if (strncmp(sign, forms[i].sign, *bytes) == 0)
            return forms[i].form;
    }
    for (*bytes = 1; continues(sign[*bytes]);)
        ++*bytes;
    return "?";
}

char *gn_ascii(char *text)
{
    char *out = text;
    for (const char *in = text; *in;) {
        if ((unsigned char)*in < 0x80) {
            *out++ = *in++;
            continue;
        }
        size_t bytes;
        const char *form = form_of(in, &bytes);
        for (; *form; form++)
            *out++ = *form;
        in += bytes;
    }
    *out = '\0';
    return text;
}
