#include "agent/sample_python.h"

#include "base/mix.h"
#include "image/source_line.h"

#include <stdlib.h>
#include <string.h>

enum { TRIES = 3, MOST_FRAMES = 64, MOST_LINE_BYTES = 1 << 16 };

/* A thread of another process. */
struct looked_at {
    const struct gn_python_known *known;
    struct gn_memory memory;
    int tid;
    uint64_t state;
};

static bool is_known(struct gn_sample_python *p, struct gn_tag *tag)
{
    if (p->known || p->refused || GN_OBSERVE(tag->python_known) == 0)
        return p->known;
    p->python = tag->python; /* our own copy: the program may write there what it likes */
    p->known = gn_python_layout_fits(&p->python.layout);
    p->refused = !p->known;
    return p->known;
}

static bool read_word(const struct looked_at *t, uint64_t address, uint64_t *word)
{
    return t->memory.copy(t->memory.pid, word, address, sizeof *word);
}

/* The state may be another thread's by now, or nobody's. */
static bool innermost(const struct looked_at *t, uint64_t *frame)
{
    const struct gn_python_layout *l = &t->known->layout;
    uint64_t native;
    return read_word(t, t->state + l->state_native_thread, &native) && native == (uint64_t)t->tid &&
           read_word(t, t->state + l->state_frame, frame) && *frame &&
           (!l->through_cframe || read_word(t, *frame + l->cframe_frame, frame));
}

static bool read_line(const struct looked_at *t, const struct gn_python_code *code, uint32_t *line)
{
    const uint32_t bytes = code->lines.count < MOST_LINE_BYTES ? code->lines.count : MOST_LINE_BYTES;
    uint8_t *table = bytes ? malloc(bytes) : NULL;
    uint32_t used;
    const bool read = table && t->memory.copy(t->memory.pid, table, code->lines.data, bytes);
    if (read)
        *line = gn_python_line(table, bytes, code->first_line, code->instruction, &used);
    free(table);
    return read;
}

/* In the place of a number: importing, which is no place of the program's. */
#define HIDDEN (GN_SAMPLED_NONE - 1)

/* NONE: it cannot be read, or there is no room. */
static uint32_t describe(const struct looked_at *t, const struct gn_python_code *code,
                         struct gn_sample_places *places, struct gn_sample_code *modules)
{
    char file[GN_PATH_BYTES];
    struct gn_source_line source = {.first_line = code->first_line};
    if (!read_line(t, code, &source.line) ||
        !gn_python_text(&code->file, t->memory, true, file, sizeof file) ||
        !gn_python_text(&code->name, t->memory, false, source.function, sizeof source.function))
        return GN_SAMPLED_NONE;
    if (gn_python_is_importing(file))
        return HIDDEN;
    gn_source_line_tidy(&source);
    return gn_sample_places_source(places, gn_sample_code_source(modules, gn_printable(file)), &source);
}

static bool is_same(const struct gn_python_code *a, const struct gn_python_code *b)
{
    return a->file.address == b->file.address && a->name.address == b->name.address &&
           a->lines.address == b->lines.address && a->first_line == b->first_line && a->version == b->version;
}

/* What a code object says does not change, and another one at its address has other parts, nearly always.
 * What was read while one went away is not kept. */
static uint32_t place_of(struct gn_sample_python *p, const struct looked_at *t,
                         const struct gn_python_frame *frame, const struct gn_python_code *code,
                         struct gn_sample_places *places, struct gn_sample_code *modules)
{
    struct gn_python_known_line *known = &p->lines[gn_mix(frame->ip) % GN_PYTHON_LINES];
    struct gn_python_code again;
    if (known->ip == frame->ip && known->file == code->file.address && known->name == code->name.address &&
        known->lines == code->lines.address && known->first_line == code->first_line &&
        known->version == code->version)
        return known->place;
    const uint32_t place = describe(t, code, places, modules);
    if (place == GN_SAMPLED_NONE ||
        !gn_python_code_read(t->known, t->memory, frame->code, frame->ip, &again) || !is_same(code, &again))
        return GN_SAMPLED_NONE;
    *known = (struct gn_python_known_line){frame->ip,
                                           code->file.address,
                                           code->name.address,
                                           code->lines.address,
                                           code->first_line,
                                           code->version,
                                           place};
    return place;
}

enum found { AGAIN, NOWHERE, THERE };

/* From the innermost frame outwards, to the first one that is the program's own. */
static enum found look(struct gn_sample_python *p, const struct looked_at *t, struct gn_sample_places *places,
                       struct gn_sample_code *modules, uint32_t *place)
{
    struct gn_python_frame frame;
    struct gn_python_code code;
    uint64_t address;
    if (!innermost(t, &address))
        return NOWHERE;
    for (int depth = 0; address && depth < MOST_FRAMES; depth++, address = frame.previous) {
        if (!gn_python_frame_read(t->known, t->memory, address, &frame))
            return AGAIN;
        if (!frame.is_function)
            continue;
        if (!gn_python_code_read(t->known, t->memory, frame.code, frame.ip, &code))
            return AGAIN;
        if (!code.complete)
            continue;
        const uint32_t found = place_of(p, t, &frame, &code, places, modules);
        if (found == HIDDEN)
            continue;
        *place = found;
        return found == GN_SAMPLED_NONE ? AGAIN : THERE;
    }
    return NOWHERE;
}

bool gn_sample_python_place(struct gn_sample_python *p, int pid, int tid, struct gn_tag *tag,
                            uint32_t location, struct gn_sample_places *places,
                            struct gn_sample_code *modules, uint32_t *place)
{
    const struct looked_at t = {.known = &p->python,
                                .memory = {gn_copy_memory, pid},
                                .tid = tid,
                                .state = GN_GET(tag->locations[location].python_state)};
    enum found found = t.state && is_known(p, tag) ? AGAIN : NOWHERE;
    *place = GN_SAMPLED_NONE;
    for (int i = 0; i < TRIES && found == AGAIN; i++)
        found = look(p, &t, places, modules, place);
    return found != NOWHERE;
}
