#include "capture/sources.h"

#include "capture/modules.h"

#include <string.h>

enum { SLOTS = 2 * GN_MAX_SOURCES };

static uint32_t table[SLOTS]; /* index */

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
    return hash;
}

static bool is_function(const struct gn_source_line *s, uint32_t module, const char *function,
                        uint32_t first_line)
{
    return s->module == module && s->first_line == first_line && strcmp(s->function, function) == 0;
}

/* Of a line that is new: the first source of its function, itself when there is none. */
static uint32_t function_of(const struct gn_tag *segment, uint32_t count, uint32_t module,
                            const char *function, uint32_t first_line)
{
    for (uint32_t i = 1; i < count; i++)
        if (is_function(&segment->sources[i], module, function, first_line))
            return i;
    return count;
}

static uint32_t add(struct gn_tag *segment, uint32_t module, const char *function, uint32_t first_line,
                    uint32_t line)
{
    uint32_t count = GN_GET(segment->source_count);
    count = count ? count : 1;
    if (count >= GN_MAX_SOURCES)
        return 0;
    struct gn_source_line *s = &segment->sources[count];
    *s = (struct gn_source_line){.module = module, .line = line, .first_line = first_line};
    s->function_of = function_of(segment, count, module, function, first_line);
    strncpy(s->function, function, sizeof s->function - 1);
    GN_PUBLISH(segment->source_count, count + 1);
    return count;
}

uint32_t gn_source_line_find(struct gn_tag *segment, const char *file, const char *function,
                             uint32_t first_line, uint32_t line)
{
    const uint32_t module = gn_module_of_source(segment, file);
    if (!module)
        return 0;
    const uint64_t key =
        mix_text(module * 0x9e3779b97f4a7c15ull + ((uint64_t)first_line << 32 | line), function);
    uint32_t slot = (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 32) & (SLOTS - 1u);
    for (; table[slot]; slot = (slot + 1) & (SLOTS - 1u)) {
        const struct gn_source_line *known = &segment->sources[table[slot]];
        if (known->line == line && is_function(known, module, function, first_line))
            return table[slot];
    }
    return table[slot] = add(segment, module, function, first_line, line);
}
