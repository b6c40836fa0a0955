#include "base/printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Bytes of a character that begins with this one; 0: none does. */
static size_t length_of(unsigned char first)
{
    return first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
}

/* Bytes of the whole character at text, and which one; 0: there is none. *is_cut: the text ends in it. */
static size_t character(const char *text, uint32_t *code, bool *is_cut)
{
    const unsigned char first = (unsigned char)*text;
    const size_t length = length_of(first);
    *is_cut = false;
    *code = length > 1 ? first & (0x7fu >> length) : first;
    for (size_t i = 1; i < length; i++) {
        const unsigned char byte = (unsigned char)text[i];
        if ((byte & 0xc0) != 0x80) {
            *is_cut = byte == '\0';
            return 0;
        }
        *code = *code << 6 | (byte & 0x3f);
    }
    const bool is_long = (length == 3 && *code < 0x800) || (length == 4 && *code < 0x10000);
    const bool is_none = (*code >= 0xd800 && *code < 0xe000) || *code > 0x10ffff;
    return is_long || is_none ? 0 : length;
}

static bool controls(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200e && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

char *gn_printable(char *text)
{
    char *to = text;
    for (const char *from = text; *from;) {
        uint32_t code;
        bool is_cut;
        const size_t length = character(from, &code, &is_cut);
        if (is_cut)
            break;
        if (length == 0 || controls(code)) {
            *to++ = '?';
            from += length ? length : 1;
            continue;
        }
        memmove(to, from, length);
        to += length;
        from += length;
    }
    *to = '\0';
    return text;
}

char *gn_printable_copy(char *text, size_t size, const char *raw)
{
    snprintf(text, size, "%s", raw);
    return gn_printable(text);
}

const char *gn_base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "";
}

char *gn_place_text(char *text, size_t size, const char *file, long line)
{
    const char *name = gn_base_name(file);
    if (name[0] && line > 0)
        snprintf(text, size, "%s:%ld", name, line);
    else
        snprintf(text, size, "%s", name);
    return gn_printable(text);
}
