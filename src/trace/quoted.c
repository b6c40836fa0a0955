#include "trace/quoted.h"

#include "base/grow.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Text that is not UTF-8, byte by byte as Latin-1, which any byte is. NULL: no memory. */
static char *from_latin1(const char *raw)
{
    char *utf8 = malloc(2 * strlen(raw) + 1), *to = utf8;
    for (; utf8 && *raw; raw++) {
        unsigned char byte = (unsigned char)*raw;
        if (byte >= 0x80)
            *to++ = (char)(0xc0 | byte >> 6);
        *to++ = (char)(byte < 0x80 ? byte : 0x80 | (byte & 0x3f));
    }
    if (utf8)
        *to = '\0';
    return utf8;
}

char *gn_quote(const char *raw)
{
    json_t *value = json_string(raw);
    if (!value) {
        char *utf8 = from_latin1(raw);
        value = utf8 ? json_string(utf8) : NULL;
        free(utf8);
    }
    char *quoted = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    json_decref(value);
    return quoted;
}

const char *gn_quoted_get(struct gn_quoted *quoted, uint32_t index, const char *raw)
{
    while (quoted->count <= index) {
        if (!gn_grow(&quoted->texts, &quoted->capacity, quoted->count, sizeof *quoted->texts))
            return NULL;
        quoted->texts[quoted->count++] = NULL;
    }
    if (!quoted->texts[index])
        quoted->texts[index] = gn_quote(raw);
    return quoted->texts[index];
}

void gn_quoted_clear(struct gn_quoted *quoted)
{
    for (size_t i = 0; i < quoted->count; i++)
        free(quoted->texts[i]);
    free(quoted->texts);
    *quoted = (struct gn_quoted){0};
}
