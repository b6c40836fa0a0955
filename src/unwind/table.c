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

enum found { FOUND, NOT_FOUND, NOT_UNDERSTOOD };

static enum found find_entries(const struct gn_unwind_table *table, const struct entry **entries,
                               uint32_t *count)
{
    const struct gn_cfi_bytes *bytes = &table->bytes;
    uintptr_t offset = table->header - bytes->address;
    if (!table->header)
        return NOT_FOUND;
    if (table->header < bytes->address || offset > bytes->count || bytes->count - offset < HEADER_BYTES)
        return NOT_UNDERSTOOD;
    const uint8_t *header = bytes->at + offset;
    if ((uintptr_t)header % _Alignof(struct entry))
        return NOT_UNDERSTOOD;
    memcpy(count, header + 8, sizeof *count);
    /* version, form of .eh_frame's address and of the count (4 bytes each), form of the table */
    if (header[0] != 1 || (header[1] & 0x07) != 0x03 || header[2] != 0x03 || header[3] != USUAL_FORM ||
        (bytes->count - offset - HEADER_BYTES) / sizeof(struct entry) < *count)
        return NOT_UNDERSTOOD;
    *entries = (const struct entry *)(header + HEADER_BYTES);
    return FOUND;
}

/* The address of the entry of .eh_frame that may be pc's. */
static enum found find_fde(const struct gn_unwind_table *table, uintptr_t pc, uintptr_t *fde)
{
    const struct entry *entries;
    uint32_t count;
    const enum found found = find_entries(table, &entries, &count);
    if (found != FOUND)
        return found;
    const struct entry *entry = find(entries, count, (int64_t)(pc - table->header));
    if (!entry)
        return NOT_FOUND;
    *fde = table->header + (uintptr_t)(intptr_t)entry->fde;
    return FOUND;
}

struct gn_rule gn_unwind_rule(const struct gn_unwind_table *table, enum gn_cfi_machine machine, uintptr_t pc,
                              uintptr_t *function)
{
    uintptr_t fde;
    *function = 0;
    switch (find_fde(table, pc, &fde)) {
    case FOUND:
        return gn_cfi_rule(&table->bytes, machine, fde, pc, function);
    case NOT_FOUND:
        return gn_rule_of_kind(GN_RULE_END);
    default:
        return gn_rule_of_kind(GN_RULE_SLOW);
    }
}

bool gn_unwind_procedure(const struct gn_unwind_table *table, uintptr_t pc, uintptr_t *begin, uintptr_t *end)
{
    uintptr_t fde;
    return find_fde(table, pc, &fde) == FOUND && gn_cfi_range(&table->bytes, fde, begin, end) &&
           pc >= *begin && pc < *end;
}

bool gn_unwind_next(const struct gn_unwind_table *table, uintptr_t from, uintptr_t *begin, uintptr_t *end)
{
    const struct entry *entries;
    uint32_t count;
    if (find_entries(table, &entries, &count) != FOUND)
        return false;
    const struct entry *before = from > 0 ? find(entries, count, (int64_t)(from - 1 - table->header)) : NULL;
    for (size_t i = before ? (size_t)(before - entries) + 1 : 0; i < count; i++)
        if (gn_cfi_range(&table->bytes, table->header + (uintptr_t)(intptr_t)entries[i].fde, begin, end) &&
            *begin >= from && *end > *begin)
            return true;
    return false;
}
