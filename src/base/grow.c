#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST = 64 };

bool gn_grow(void *items, size_t *capacity, size_t count, size_t each)
{
    if (count < *capacity)
        return true;
    void *array;
    memcpy(&array, items, sizeof array); /* a pointer of any type */
    size_t wanted = *capacity ? 2 * *capacity : FIRST;
    array = reallocarray(array, wanted, each);
    if (!array)
        return false;
    memcpy(items, &array, sizeof array);
    *capacity = wanted;
    return true;
}
