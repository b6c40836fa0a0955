#include "unwind/table.h"

#include <string.h>

enum { USUAL_FORM = 0x3b /* 4 bytes, signed, relative to the header */, HEADER_BYTES = 12 };

struct entry {
    int32_t begin, fde; /* relative to the header */
};

/* The last entry that begins at or before pc; NULL: there is none. */
static const struct entry *find(const struct entry *entries, size_t count, int64_t pc)
{
    size_t first = 0;
    while (count > 0) {
        size_t half = count / 2;
        if (entries[first + half].begin <= pc) {
            first += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return first > 0 ? &entries[first - 1] : NULL;
}

struct gn_rule gn_unwind_rule(const struct gn_unwind_table *table, enum gn_cfi_machine machine, uintptr_t pc,
                              uintptr_t *function)
{
    const struct gn_cfi_bytes *bytes = &table->bytes;
    const struct gn_rule nothing = gn_rule_of_kind(GN_RULE_END), slow = gn_rule_of_kind(GN_RULE_SLOW);
    uintptr_t offset = table->header - bytes->address;
    *function = 0;
    if (!table->header)
        return nothing;
    if (table->header < bytes->address || offset > bytes->count || bytes->count - offset < HEADER_BYTES)
        return slow;
    const uint8_t *header = bytes->at + offset;
    uint32_t count;
    memcpy(&count, header + 8, sizeof count);
    /* version, form of .eh_frame's address and of the count (4 bytes each), form of the table */
    if (header[0] != 1 || (header[1] & 0x07) != 0x03 || header[2] != 0x03 || header[3] != USUAL_FORM ||
        (bytes->count - offset - HEADER_BYTES) / sizeof(struct entry) < count)
        return slow;
    const struct entry *entries = (const struct entry *)(header + HEADER_BYTES);
    const struct entry *entry = find(entries, count, (int64_t)(pc - table->header));
    return entry ? gn_cfi_rule(bytes, machine, table->header + (uintptr_t)(intptr_t)entry->fde, pc, function)
                 : nothing;
}
