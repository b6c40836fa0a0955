/* base/edits — how far apart two words are: for offering the nearest name that there is. */
#ifndef GNOMON_BASE_EDITS_H
#define GNOMON_BASE_EDITS_H

#include <stddef.h>

/* Letters to be put in, taken out or replaced to make one word the other (Levenshtein); of words that are
 * longer than 127 bytes, of what fits. */
size_t gn_edits(const char *a, const char *b);

#endif
