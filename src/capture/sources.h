/* capture/sources — the places in source files that the segment knows: sources[], each once. */
#ifndef GNOMON_CAPTURE_SOURCES_H
#define GNOMON_CAPTURE_SOURCES_H

#include "image/tag.h"

/*
 * The index in sources[] of a line of a function in a file, which is added when it is new: file and function
 * as UTF-8, of at most GN_PATH_BYTES and GN_FUNCTION_BYTES with the 0. 0: there is no room for it. Under the
 * lock of capture/lists.
 */
uint32_t gn_source_line_find(struct gn_tag *segment, const char *file, const char *function,
                             uint32_t first_line, uint32_t line);

#endif
