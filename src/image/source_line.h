/*
 * image/source_line — the frame of an interpreter as all processes know it: by its text.
 *
 * Frames of machine code are (module, offset), where the module is known by its path and build id. A source
 * file is a module, too, with GN_SOURCE_BUILD_ID; in the place of the offset stands gn_source_line_key.
 * Frames of two processes are the same when both are.
 */
#ifndef GNOMON_IMAGE_SOURCE_LINE_H
#define GNOMON_IMAGE_SOURCE_LINE_H

#include "base/printable.h"
#include "image/tag.h"

#define GN_SOURCE_BUILD_ID "python"

/* Of a copy from another process's memory: functions' names may be any text. */
static inline void gn_source_line_tidy(struct gn_source_line *source)
{
    source->function[GN_FUNCTION_BYTES - 1] = '\0';
    gn_printable(source->function);
}

/* Of a tidy one: line, and 39 bits of the function's name and first line: several functions may share a line
 * (lambdas), and are taken for one when these bits agree, too, once in 10^11 such pairs. Not negative as a
 * signed number. */
static inline uint64_t gn_source_line_key(const struct gn_source_line *source)
{
    uint64_t hash = 0xcbf29ce484222325ull ^ source->first_line;
    for (size_t i = 0; i < sizeof source->function && source->function[i]; i++)
        hash = (hash ^ (unsigned char)source->function[i]) * 0x100000001b3ull;
    hash *= 0x9e3779b97f4a7c15ull;
    return (uint64_t)(source->line & 0xffffffu) << 39 | hash >> 25;
}

#endif
