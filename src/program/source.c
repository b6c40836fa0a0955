#include "program/source.h"

#include "program/names.h"

#include <string.h>

enum { SAMPLES_MAX = 512 }; /* instructions asked for the function they come from, for one loop */

static size_t frames_at(struct gn_program *program, uint64_t offset, struct gn_frame *frames)
{
    return gn_units_frames(program->units, offset + program->debug_shift, frames, GN_FRAMES_MAX);
}

/* Code of the standard library names nobody's work: what called it does. */
static bool is_system_file(const char *file)
{
    return file && (strncmp(file, "/usr/include/", 13) == 0 || strncmp(file, "/usr/lib/", 9) == 0 ||
                    strncmp(file, "/usr/lib64/", 11) == 0);
}

/* The frame of a function of gnomon.h. */
static bool is_region_mark(const struct gn_frame *frame)
{
    Dwarf_Die die = frame->die;
    return die.addr && gn_name_is_region_mark(dwarf_diename(&die));
}

static bool is_passed_over(const struct gn_frame *frame)
{
    return is_system_file(frame->file) || is_region_mark(frame);
}

static const struct gn_frame *find_scope(const struct gn_frame *frames, size_t count, const void *scope)
{
    for (size_t i = 0; i < count; i++)
        if (frames[i].die.addr == scope)
            return &frames[i];
    return NULL;
}

/* The instructions of a loop, thinned out when there are very many. */
struct sample {
    size_t items[SAMPLES_MAX];
    size_t count;
};

static void take_sample(const struct gn_flow *flow, size_t loop, struct sample *sample)
{
    size_t members = 0, at = 0;
    for (size_t i = 0; i < flow->code->count; i++)
        members += flow->loop_of[i] == loop;
    size_t stride = (members + SAMPLES_MAX - 1) / SAMPLES_MAX;
    sample->count = 0;
    for (size_t i = 0; i < flow->code->count; i++)
        if (flow->loop_of[i] == loop && at++ % stride == 0)
            sample->items[sample->count++] = i;
}

/* hits[k]: how many of the sample come from chain[k] or a function inlined into it. */
static void count_scopes(struct gn_program *program, const struct gn_code *code, const struct sample *sample,
                         const struct gn_frame *chain, size_t count, size_t *hits)
{
    struct gn_frame frames[GN_FRAMES_MAX];
    for (size_t i = 0; i < sample->count; i++) {
        size_t found = frames_at(program, code->items[sample->items[i]].address, frames);
        for (size_t k = 0; k < count; k++)
            hits[k] += find_scope(frames, found, chain[k].die.addr) != NULL;
    }
}

/* The line in which a function begins: what compilers add of their own is there, in loops, too. 0: not known.
 */
static int opening_line(struct gn_program *program, const struct gn_code *code, const struct gn_frame *scope)
{
    struct gn_frame frames[GN_FRAMES_MAX];
    const uint64_t entry = code->items[code->entry].address;
    int line = 0;
    Dwarf_Die die = scope->die;
    if (die.addr && dwarf_decl_line(&die, &line) != 0)
        line = 0;
    if (!find_scope(frames, frames_at(program, entry, frames), scope->die.addr)) /* inlined */
        return line;
    const int first = gn_units_first_line(program->units, entry + program->debug_shift);
    return first > line ? first : line;
}

/* The smallest line that the sample has in the function of `scope`: that of `for`, above the body, wherever
 * the compiler put the test; that of the function's own begin only if there is no other. Lines of other files
 * (an included body) do not count. */
static int first_line(struct gn_program *program, const struct gn_code *code, const struct sample *sample,
                      const struct gn_frame *scope)
{
    struct gn_frame frames[GN_FRAMES_MAX];
    const int opening = opening_line(program, code, scope);
    int line = scope->line > opening ? scope->line : 0;
    for (size_t i = 0; i < sample->count; i++) {
        size_t found = frames_at(program, code->items[sample->items[i]].address, frames);
        const struct gn_frame *same = find_scope(frames, found, scope->die.addr);
        if (!same || same->line <= opening || !same->file || strcmp(same->file, scope->file) != 0)
            continue;
        if (line == 0 || same->line < line)
            line = same->line;
    }
    return line > 0 ? line : scope->line;
}

/* Where the branch back has no line: the file of what has one in its function. NULL: there is nothing. */
static const char *file_of(struct gn_program *program, const struct gn_code *code,
                           const struct sample *sample, const struct gn_frame *scope)
{
    struct gn_frame frames[GN_FRAMES_MAX];
    for (size_t i = 0; i < sample->count; i++) {
        const size_t found = frames_at(program, code->items[sample->items[i]].address, frames);
        const struct gn_frame *same = find_scope(frames, found, scope->die.addr);
        if (same && same->line > 0 && same->file)
            return same->file;
    }
    return NULL;
}

/*
 * The function a loop belongs to is one that the branch back to its head comes from; of those inlined into
 * each other, the innermost that holds three quarters of the loop: less is a helper called in the loop's
 * condition, and more can never be asked, as optimisers mix in instructions from elsewhere.
 */
bool gn_source_of_loop(struct gn_program *program, const struct gn_flow *flow, const struct gn_loop *loop,
                       struct gn_program_place *place)
{
    struct gn_frame chain[GN_FRAMES_MAX];
    struct sample sample;
    size_t hits[GN_FRAMES_MAX] = {0}, k = 0;
    size_t count = frames_at(program, flow->code->items[loop->branch].address, chain);
    take_sample(flow, (size_t)(loop - flow->loops), &sample);
    count_scopes(program, flow->code, &sample, chain, count, hits);
    while (k + 1 < count && (hits[k] * 4 < sample.count * 3 || is_passed_over(&chain[k])))
        k++;
    if (count > 0 && !chain[k].file)
        chain[k].file = file_of(program, flow->code, &sample, &chain[k]);
    if (count == 0 || !chain[k].file)
        return false;
    chain[k].line = first_line(program, flow->code, &sample, &chain[k]);
    if (chain[k].line == 0)
        return false;
    gn_program_set_place(program, &chain[k], false, place);
    return true;
}

static struct gn_program_place place_in(struct gn_program *program, uint64_t offset,
                                        const struct gn_program_place *place)
{
    enum { LEVELS = 16 };
    struct gn_program_place places[LEVELS];
    const size_t count = gn_program_places(program, offset, places, LEVELS, NULL);
    for (size_t i = 0; i < count; i++)
        if (places[i].function == place->function && places[i].file == place->file)
            return places[i];
    return (struct gn_program_place){0};
}

int gn_source_line_in(struct gn_program *program, uint64_t offset, const struct gn_program_place *place)
{
    return place_in(program, offset, place).line;
}

int gn_source_column_in(struct gn_program *program, uint64_t offset, const struct gn_program_place *place)
{
    return place_in(program, offset, place).column;
}

bool gn_source_begins_at(struct gn_program *program, uint64_t offset, const struct gn_program_place *place)
{
    return gn_units_begins_at(program->units, offset + program->debug_shift, place->line, place->column) &&
           place_in(program, offset, place).line > 0;
}

bool gn_source_tells_statements(struct gn_program *program, uint64_t offset)
{
    return gn_units_tell_statements(program->units, offset + program->debug_shift);
}

bool gn_source_merges_places(struct gn_program *program, uint64_t offset)
{
    return gn_units_merge_places(program->units, offset + program->debug_shift);
}
