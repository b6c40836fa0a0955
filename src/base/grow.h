/* base/grow — room for one more element in an array that doubles. */
#ifndef GNOMON_BASE_GROW_H
#define GNOMON_BASE_GROW_H

#include <stdbool.h>
#include <stddef.h>

/*
 * items: the address of a pointer to an array of *capacity elements of `each` bytes, count of them in use
 * (NULL and 0 at first; the caller frees it). True when there is room for one more; false leaves everything
 * as it was: no memory.
 */
bool gn_grow(void *items, size_t *capacity, size_t count, size_t each);

#endif
