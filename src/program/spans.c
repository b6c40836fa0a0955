#include "program/spans.h"

#include <errno.h>
#include <stdlib.h>

enum { SPANS_MAX = 1 << 24, LOOK_BACK = 64 };

int gn_spans_add(struct gn_spans *spans, uint64_t low, uint64_t high, size_t owner)
{
    if (low >= high)
        return 0;
    if (spans->count >= SPANS_MAX)
        return -E2BIG;
    if (spans->count == spans->room) {
        size_t room = spans->room ? spans->room * 2 : 64;
        struct gn_program_span *items = realloc(spans->items, room * sizeof *items);
        if (!items)
            return -ENOMEM;
        spans->items = items;
        spans->room = room;
    }
    spans->items[spans->count++] = (struct gn_program_span){.low = low, .high = high, .owner = owner};
    return 0;
}

static int compare(const void *left, const void *right)
{
    const struct gn_program_span *a = left, *b = right;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    if (a->high != b->high)
        return a->high < b->high ? -1 : 1;
    return a->owner < b->owner ? -1 : a->owner > b->owner;
}

void gn_spans_sort(struct gn_spans *spans)
{
    if (spans->count > 1)
        qsort(spans->items, spans->count, sizeof *spans->items, compare);
}

/* The number of ranges that start at or before the address. */
static size_t count_starting_before(const struct gn_spans *spans, uint64_t address)
{
    size_t low = 0, high = spans->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (spans->items[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t gn_spans_find(const struct gn_spans *spans, uint64_t address)
{
    size_t end = count_starting_before(spans, address);
    size_t stop = end > LOOK_BACK ? end - LOOK_BACK : 0;
    const struct gn_program_span *best = NULL;
    for (size_t i = end; i-- > stop;) {
        const struct gn_program_span *span = &spans->items[i];
        if (span->high > address && (!best || span->high - span->low < best->high - best->low))
            best = span;
    }
    return best ? best->owner : GN_SPAN_NONE;
}

bool gn_spans_below(const struct gn_spans *spans, uint64_t address, uint64_t *low)
{
    size_t end = count_starting_before(spans, address);
    if (end > 0)
        *low = spans->items[end - 1].low;
    return end > 0;
}

void gn_spans_clear(struct gn_spans *spans)
{
    free(spans->items);
    *spans = (struct gn_spans){0};
}
