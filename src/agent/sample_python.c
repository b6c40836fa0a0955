#include "agent/sample_python.h"

#include "base/mix.h"
#include "image/source_line.h"

#include <stdlib.h>
#include <string.h>

enum { TRIES = 6, MOST_FRAMES = 64, MOST_LINE_BYTES = 1 << 16 };

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

/* Whose code it is. */
enum layer { OWN, PACKAGE, STANDARD };

/* As interpreters are installed; a program that is itself such a package has nothing nearer. */
static enum layer layer_of(const char *file)
{
    const char *in_library = strstr(file, "/lib/python");
    in_library = in_library ? in_library : strstr(file, "/lib64/python");
    if (strstr(file, "/site-packages/") || strstr(file, "/dist-packages/") || strncmp(file, "<__", 3) == 0)
        return PACKAGE;
    return in_library || strncmp(file, "<frozen ", 8) == 0 ? STANDARD : OWN;
}

/* place NONE: it cannot be read, or there is no room. */
static void describe(const struct looked_at *t, const struct gn_python_code *code,
                     struct gn_sample_places *places, struct gn_sample_code *modules,
                     struct gn_python_known_line *line)
{
    char file[GN_PATH_BYTES];
    struct gn_source_line source = {.first_line = code->first_line};
    line->place = GN_SAMPLED_NONE;
    if (!read_line(t, code, &source.line) ||
        !gn_python_text(&code->file, t->memory, true, file, sizeof file) ||
        !gn_python_text(&code->name, t->memory, false, source.function, sizeof source.function))
        return;
    line->place = HIDDEN;
    if (gn_python_is_importing(file))
        return;
    gn_source_line_tidy(&source);
    line->layer = layer_of(file);
    line->place =
        gn_sample_places_source(places, gn_sample_code_source(modules, gn_printable(file)), &source);
}

static bool is_same(const struct gn_python_code *a, const struct gn_python_code *b)
{
    return a->file.address == b->file.address && a->name.address == b->name.address &&
           a->lines.address == b->lines.address && a->first_line == b->first_line && a->version == b->version;
}

/* What a code object says does not change, and another one at its address has other parts, nearly always.
 * What was read while one went away is not kept: then NULL. */
static const struct gn_python_known_line *
line_of(struct gn_sample_python *p, const struct looked_at *t, const struct gn_python_frame *frame,
        const struct gn_python_code *code, struct gn_sample_places *places, struct gn_sample_code *modules)
{
    struct gn_python_known_line *known = &p->lines[gn_mix(frame->ip) % GN_PYTHON_LINES];
    struct gn_python_known_line line = {.ip = frame->ip,
                                        .file = code->file.address,
                                        .name = code->name.address,
                                        .lines = code->lines.address,
                                        .first_line = code->first_line,
                                        .version = code->version};
    struct gn_python_code again;
    if (known->ip == line.ip && known->file == line.file && known->name == line.name &&
        known->lines == line.lines && known->first_line == line.first_line && known->version == line.version)
        return known;
    describe(t, code, places, modules, &line);
    if (line.place == GN_SAMPLED_NONE ||
        !gn_python_code_read(t->known, t->memory, frame->code, frame->ip, &again) || !is_same(code, &again))
        return NULL;
    *known = line;
    return known;
}

enum found { AGAIN, NOWHERE, PART, THERE }; /* part: nobody knows who has called that */

/* A frame, and what is inside of it. */
struct at {
    uint32_t place, called;
    enum layer layer;
};

/* From the innermost frame outwards, to the first one that is the program's own. */
static enum found look(struct gn_sample_python *p, const struct looked_at *t, struct gn_sample_places *places,
                       struct gn_sample_code *modules, struct at *at)
{
    struct gn_python_frame frame = {.previous = 0};
    struct gn_python_code code;
    uint64_t address;
    uint32_t inside = GN_SAMPLED_NONE;
    bool any = false;
    if (!innermost(t, &address))
        return NOWHERE;
    for (int depth = 0; address && depth < MOST_FRAMES && !(any && at->layer == OWN);
         depth++, address = frame.previous) {
        if (!gn_python_frame_read(t->known, t->memory, address, &frame))
            return AGAIN;
        if (!frame.is_function)
            continue;
        if (!gn_python_code_read(t->known, t->memory, frame.code, frame.ip, &code))
            return AGAIN;
        if (!code.complete)
            continue;
        const struct gn_python_known_line *line = line_of(p, t, &frame, &code, places, modules);
        if (!line)
            return AGAIN;
        if (line->place == HIDDEN)
            continue;
        if (!any || line->layer < at->layer)
            *at = (struct at){line->place, inside, line->layer};
        inside = line->place;
        any = true;
    }
    /* a generator that has yielded meanwhile, as they do all the time, knows nobody any more */
    return !any ? NOWHERE : at->layer != OWN && !address && frame.is_generator ? PART : THERE;
}

bool gn_sample_python_place(struct gn_sample_python *p, int pid, int tid, struct gn_tag *tag,
                            uint32_t location, struct gn_sample_places *places,
                            struct gn_sample_code *modules, uint32_t *place, uint32_t *called)
{
    const struct looked_at t = {.known = &p->python,
                                .memory = {gn_copy_memory, pid},
                                .tid = tid,
                                .state = GN_GET(tag->locations[location].python_state)};
    enum found found = t.state && is_known(p, tag) ? AGAIN : NOWHERE;
    struct at at = {GN_SAMPLED_NONE, GN_SAMPLED_NONE, OWN};
    for (int i = 0; i < TRIES && (found == AGAIN || found == PART); i++)
        found = look(p, &t, places, modules, &at);
    *place = found >= PART ? at.place : GN_SAMPLED_NONE;
    *called = found >= PART ? at.called : GN_SAMPLED_NONE;
    return found != NOWHERE;
}
