/*
 * program/spans — address ranges with an owner, searched by address.
 *
 * Ranges may overlap (a nested procedure, a damaged file); the narrowest of the nearest few wins, which keeps
 * every search short whatever the file says.
 */
#ifndef GNOMON_PROGRAM_SPANS_H
#define GNOMON_PROGRAM_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gn_program_span {
    uint64_t low, high; /* [low, high) */
    size_t owner;
};

struct gn_spans {
    struct gn_program_span *items;
    size_t count, room;
};

#define GN_SPAN_NONE SIZE_MAX

/* Empty ranges are left out silently. Returns 0, -ENOMEM, or -E2BIG at a limit no honest file reaches. */
int gn_spans_add(struct gn_spans *spans, uint64_t low, uint64_t high, size_t owner);
/* Required after the last add and before the first find. */
void gn_spans_sort(struct gn_spans *spans);
/* The owner of the narrowest range that holds `address`, or GN_SPAN_NONE. */
size_t gn_spans_find(const struct gn_spans *spans, uint64_t address);
/* Where the range begins that begins nearest at or below `address`; false: none does. */
bool gn_spans_below(const struct gn_spans *spans, uint64_t address, uint64_t *low);
void gn_spans_clear(struct gn_spans *spans);

#endif
