/* trace/quoted — names as JSON strings, quoted once each. */
#ifndef GNOMON_TRACE_QUOTED_H
#define GNOMON_TRACE_QUOTED_H

#include <stddef.h>
#include <stdint.h>

/* All zero at first. */
struct gn_quoted {
    char **texts; /* by number; NULL: not asked for yet */
    size_t count, capacity;
};

/* The text with number `index` (which has the same text each time) as a JSON string with its quotes; text
 * that is not UTF-8 is taken as Latin-1. NULL: no memory. Valid until gn_quoted_clear. */
const char *gn_quoted_get(struct gn_quoted *quoted, uint32_t index, const char *raw);
void gn_quoted_clear(struct gn_quoted *quoted);

/* One such string, to be freed. NULL: no memory. */
char *gn_quote(const char *raw);

#endif
