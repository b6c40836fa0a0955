#include "base/edits.h"

#include <string.h>

size_t gn_edits(const char *a, const char *b)
{
    enum { LONGEST = 127 };
    size_t row[LONGEST + 1], length = strnlen(b, LONGEST), i = 0;
    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (; a[i] && i < LONGEST; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 1; j <= length; j++) {
            size_t replace = diagonal + (a[i] != b[j - 1]), least = row[j] < row[j - 1] ? row[j] : row[j - 1];
            diagonal = row[j];
            row[j] = replace < least + 1 ? replace : least + 1;
        }
    }
    return row[length];
}
