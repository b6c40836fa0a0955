#include "trace/anchor.h"

#include "trace/file_record.h"
#include "trace/vocabulary.h"

enum { POSIX = 1, NOT_COMPRESSED = 1 };
enum { FIRST_NUMBERS_AT = 7 + 5, FORM_AT = FIRST_NUMBERS_AT + 2 * 8, STRINGS_AT = FORM_AT + 2 + 2 * 8 };

/* What is left of the file. */
struct rest {
    const uint8_t *at;
    size_t size;
};

static bool skip(struct rest *rest, size_t bytes)
{
    if (bytes > rest->size)
        return false;
    rest->at += bytes;
    rest->size -= bytes;
    return true;
}

static bool skip_strings(struct rest *rest, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *end = rest->size ? memchr(rest->at, 0, rest->size) : NULL;
        if (!end)
            return false;
        skip(rest, (size_t)(end - rest->at) + 1);
    }
    return true;
}

static uint32_t number32(const uint8_t *at, bool other)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return other ? __builtin_bswap32(value) : value;
}

static void put_number32(uint8_t *at, uint32_t value, bool other)
{
    if (other)
        value = __builtin_bswap32(value);
    memcpy(at, &value, sizeof value);
}

bool gn_anchor_begins(const uint8_t *bytes, size_t size)
{
    return size >= 7 && bytes[0] == GN_RECORD_CHUNK &&
           (bytes[1] == GN_LITTLE_ENDIAN_MARK || bytes[1] == GN_BIG_ENDIAN_MARK) &&
           memcmp(bytes + 2, "OTF2", 5) == 0;
}

bool gn_anchor_parse(struct gn_anchor *anchor, const uint8_t *bytes, size_t size)
{
    struct rest rest = {bytes, size};
    *anchor = (struct gn_anchor){.properties = 0};
    if (!gn_anchor_begins(bytes, size) || !skip(&rest, STRINGS_AT) || !skip_strings(&rest, 3) ||
        rest.size < 4)
        return false;
    bool other = anchor->is_other_order = bytes[1] != GN_BYTE_ORDER_MARK;
    anchor->event_chunk = gn_file_number(bytes + FIRST_NUMBERS_AT, other);
    anchor->definition_chunk = gn_file_number(bytes + FIRST_NUMBERS_AT + 8, other);
    anchor->has_plain_files = bytes[FORM_AT] == POSIX && bytes[FORM_AT + 1] == NOT_COMPRESSED;
    anchor->properties_at = (size_t)(rest.at - bytes);
    anchor->properties = number32(rest.at, other);
    skip(&rest, 4);
    /* The library believes the number, and writes them into memory of a size that has wrapped around. */
    if (anchor->properties > rest.size / 2 || !skip_strings(&rest, 2 * (uint64_t)anchor->properties))
        return false;
    anchor->properties_end = (size_t)(rest.at - bytes);
    return true;
}

/* The size of the anchor without the property. */
static size_t remove_property(uint8_t *bytes, size_t size, const char *name)
{
    struct gn_anchor anchor;
    if (!gn_anchor_parse(&anchor, bytes, size))
        return size;
    struct rest rest = {bytes + anchor.properties_at + 4, size - anchor.properties_at - 4};
    for (uint32_t i = 0; i < anchor.properties; i++) {
        uint8_t *from = bytes + (rest.at - bytes);
        skip_strings(&rest, 2);
        if (strcmp((const char *)from, name) != 0)
            continue;
        memmove(from, rest.at, rest.size);
        put_number32(bytes + anchor.properties_at, anchor.properties - 1, anchor.is_other_order);
        return size - (size_t)(rest.at - from);
    }
    return size;
}

size_t gn_anchor_edit(uint8_t *bytes, size_t size, bool corrected)
{
    struct gn_anchor anchor;
    if (corrected)
        size = remove_property(bytes, size, GN_PROPERTY_CLOCK_BOUNDS);
    if (gn_anchor_parse(&anchor, bytes, size) && size - anchor.properties_end >= 8 + 4)
        memset(bytes + anchor.properties_end + 8, 0, 4);
    return size;
}
