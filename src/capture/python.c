#include "capture/python.h"

#include "capture/interpreter.h"
#include "capture/lists.h"
#include "capture/sources.h"
#include "clock/ticks.h"
#include "unwind/python_code.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* In the place of an index into copies[]: too large to be kept; a frame that is not complete. */
enum {
    PROBES = 8,
    LOOP_DEPTH = 4096,
    PROOF_FRAMES = 8,
    PATIENCE = 64,
    WORD = 8,
    LONG_BYTES = 64,
    NO_COPY = GN_PYTHON_CODES,
    INCOMPLETE
};

static const struct gn_memory here = {gn_copy_directly, 0}, by_kernel = {gn_copy_memory, 0};

static inline uintptr_t word_at(uintptr_t address)
{
    return *(const uintptr_t *)address;
}

static inline uint32_t half_at(uintptr_t address)
{
    return *(const uint32_t *)address;
}

static inline uint8_t byte_at(uintptr_t address)
{
    return *(const uint8_t *)address;
}

static inline uint32_t slot_of(uintptr_t address, uint32_t slots)
{
    return (uint32_t)((address * 0x9e3779b97f4a7c15ull) >> 40) & (slots - 1u);
}

static void forget(struct gn_python *p)
{
    memset(p->sites, 0, sizeof p->sites);
    memset(p->copies, 0, sizeof p->copies);
    p->site_count = p->text_used = 0;
    p->seen.file = p->seen.line_bytes = 0;
}

/* ---- whether a code object is the one that was read (3.11: by all that was read) ---- */

/* Objects' data and copies begin at addresses that are multiples of 8, and what is compared beyond their end
 * is in the same word: it is there, and does not count. */
static inline bool same_bytes(uintptr_t data, const uint8_t *copy, uint32_t bytes)
{
    const uint64_t *a = (const uint64_t *)data, *b = (const uint64_t *)(const void *)copy;
    uint64_t differs = 0;
    if (bytes > LONG_BYTES)
        return memcmp(a, b, bytes) == 0;
    uint32_t words = bytes / sizeof *a;
    for (uint32_t i = 0; i < words; i++)
        differs |= a[i] ^ b[i];
    if (bytes % sizeof *a)
        differs |= (a[words] ^ b[words]) << (64 - 8 * (bytes % sizeof *a));
    return differs == 0;
}

static bool same_text(const struct gn_python *p, const struct gn_python_layout *l, uintptr_t text,
                      uint32_t state, uint32_t bytes, uint32_t copy)
{
    const bool ascii = state >> 6 & 1;
    const uint32_t kind = state >> 2 & 7;
    return (half_at(text + l->text_state) & GN_PYTHON_TEXT_FORM) == state &&
           word_at(text + l->text_length) * kind == bytes &&
           same_bytes(text + (ascii ? l->text_ascii_data : l->text_wide_data), p->text + copy, bytes);
}

static bool same_lines(const struct gn_python *p, const struct gn_python_layout *l,
                       const struct gn_python_copy *c, uint32_t bytes)
{
    return word_at(c->lines + l->object_size) == c->line_bytes &&
           same_bytes(c->lines + l->bytes_data, p->text + c->line_text, bytes);
}

/* The functions of a file share its name. */
static inline bool same_file(struct gn_python *p, const struct gn_python_layout *l,
                             const struct gn_python_copy *c)
{
    if (p->seen.file == c->file && p->seen.file_text == c->file_text)
        return true;
    if (!same_text(p, l, c->file, c->file_state, c->file_bytes, c->file_text))
        return false;
    p->seen.file = c->file;
    p->seen.file_text = c->file_text;
    return true;
}

/* The objects are there: code that is running holds them. Recursion meets the same code again at once. */
static bool same_code(struct gn_python *p, const struct gn_python_layout *l, uint32_t copy, uintptr_t code,
                      uint32_t line_bytes)
{
    const struct gn_python_copy *c = &p->copies[copy];
    if (c->code != code)
        return false;
    if (p->seen.line_bytes && p->seen.copy == copy && line_bytes <= p->seen.line_bytes)
        return true;
    if (word_at(code + l->code_file) != c->file || word_at(code + l->code_name) != c->name ||
        word_at(code + l->code_lines) != c->lines || half_at(code + l->code_first_line) != c->first_line ||
        !same_lines(p, l, c, line_bytes) ||
        !same_text(p, l, c->name, c->name_state, c->name_bytes, c->name_text) || !same_file(p, l, c))
        return false;
    p->seen.copy = copy;
    p->seen.line_bytes = line_bytes;
    return true;
}

static inline bool same_site(struct gn_python *p, const struct gn_python_layout *l,
                             const struct gn_python_site *s, uintptr_t code)
{
    if (s->code != code)
        return false;
    if (s->copy == INCOMPLETE)
        return s->ip < code + l->code_start + 2ull * half_at(code + l->code_first_traceable);
    if (s->code_version)
        return half_at(code + l->code_version) == s->code_version;
    return same_code(p, l, s->copy, code, s->line_bytes);
}

/* ---- a code object that is new ---- */

static bool add_text(struct gn_python *p, const struct gn_python_object *object, uint32_t *bytes,
                     uint32_t *at)
{
    *bytes = object->count * object->width;
    *at = p->text_used;
    if (*bytes + WORD > sizeof p->text - p->text_used ||
        !gn_copy_directly(0, p->text + *at, object->data, *bytes))
        return false;
    p->text_used += (*bytes + WORD - 1) & ~(WORD - 1u);
    return true;
}

/* Nearly always the last one's: then the copy is the same, too. */
static bool add_file(struct gn_python *p, const struct gn_python_object *file, struct gn_python_copy *c)
{
    if (p->seen.file != file->address)
        return add_text(p, file, &c->file_bytes, &c->file_text);
    c->file_bytes = file->count * file->width;
    c->file_text = p->seen.file_text;
    return true;
}

static bool fill_copy(struct gn_python *p, struct gn_python_copy *c, uintptr_t code,
                      const struct gn_python_code *from)
{
    *c = (struct gn_python_copy){.file = from->file.address,
                                 .name = from->name.address,
                                 .lines = from->lines.address,
                                 .first_line = from->first_line,
                                 .file_state = from->file.state,
                                 .name_state = from->name.state};
    if (!add_file(p, &from->file, c) || !add_text(p, &from->name, &c->name_bytes, &c->name_text) ||
        !add_text(p, &from->lines, &c->line_bytes, &c->line_text))
        return false;
    c->code = code;
    p->seen.file = c->file;
    p->seen.file_text = c->file_text;
    return true;
}

static bool needs_forgetting(const struct gn_python *p, const struct gn_python_code *code)
{
    const size_t need = (size_t)code->file.count * code->file.width +
                        (size_t)code->name.count * code->name.width + code->lines.count + 4 * WORD;
    return p->site_count > GN_PYTHON_SITES / 2 || p->text_used + need > sizeof p->text;
}

/* Index of the copy of a code object; NO_COPY: it is too large to be kept. */
static uint32_t copy_of(struct gn_python *p, const struct gn_python_layout *l, uintptr_t code,
                        const struct gn_python_code *from)
{
    uint32_t free = NO_COPY;
    for (uint32_t i = 0; i < PROBES; i++) {
        const uint32_t slot = (slot_of(code, GN_PYTHON_CODES) + i) & (GN_PYTHON_CODES - 1u);
        if (same_code(p, l, slot, code, from->lines.count))
            return slot;
        if (free == NO_COPY && (p->copies[slot].code == code || !p->copies[slot].code))
            free = slot;
    }
    free = free == NO_COPY ? slot_of(code, GN_PYTHON_CODES) : free;
    p->seen.line_bytes = 0; /* what was compared with it */
    return fill_copy(p, &p->copies[free], code, from) ? free : NO_COPY;
}

/* Sites that rest on a copy which was replaced compare unequal and are looked up again. */
static void keep(struct gn_python *p, const struct gn_python_site *site)
{
    uint32_t slot = slot_of(site->ip, GN_PYTHON_SITES);
    for (uint32_t i = 0; i < PROBES; i++) {
        const uint32_t next = (slot_of(site->ip, GN_PYTHON_SITES) + i) & (GN_PYTHON_SITES - 1u);
        if (!p->sites[next].ip || p->sites[next].ip == site->ip) {
            slot = next;
            break;
        }
    }
    p->site_count += !p->sites[slot].ip;
    p->sites[slot] = *site;
}

/* Words of the table of lines that name a line of this code, or 0. */
static uint32_t line_of(struct gn_python *p, const struct gn_python_code *code, uint32_t *used)
{
    const uint32_t bytes = code->lines.count < sizeof p->scratch ? code->lines.count : sizeof p->scratch;
    *used = 0;
    if (bytes == 0 || !gn_copy_directly(0, p->scratch, code->lines.data, bytes))
        return 0;
    return gn_python_line(p->scratch, bytes, code->first_line, code->instruction, used);
}

static uint32_t add_source(struct gn_tag *segment, const struct gn_python_code *code, uint32_t line)
{
    char file[GN_PATH_BYTES], function[GN_FUNCTION_BYTES];
    if (!gn_python_text(&code->file, here, true, file, sizeof file) ||
        !gn_python_text(&code->name, here, false, function, sizeof function))
        return GN_PYTHON_UNKNOWN;
    if (gn_python_is_importing(file))
        return GN_PYTHON_HIDDEN;
    if (!gn_lists_lock())
        return GN_PYTHON_UNKNOWN;
    const uint32_t source = gn_source_line_find(segment, file, function, code->first_line, line);
    gn_lists_unlock();
    return source;
}

/* What the site shows, and what it is known again by. */
static bool describe(struct gn_python *p, struct gn_tag *segment, const struct gn_interpreter *python,
                     struct gn_python_site *site)
{
    struct gn_python_code code;
    if (!gn_python_code_read(&python->known, here, site->code, site->ip, &code))
        return false;
    site->source = GN_PYTHON_HIDDEN;
    site->copy = INCOMPLETE;
    if (!code.complete)
        return true;
    site->source = add_source(segment, &code, line_of(p, &code, &site->line_bytes));
    site->code_version = code.version;
    if (site->source == GN_PYTHON_UNKNOWN)
        return false;
    if (needs_forgetting(p, &code))
        forget(p);
    site->copy = code.version ? 0 : copy_of(p, &python->known.layout, site->code, &code);
    return true;
}

static uint32_t learn(struct gn_python *p, struct gn_tag *segment, const struct gn_interpreter *python,
                      uintptr_t code, uintptr_t ip)
{
    struct gn_python_site site = {.ip = ip, .code = code};
    p->learned++;
    if (!p->paid_since)
        p->paid_since = gn_ticks();
    if (!describe(p, segment, python, &site))
        return GN_PYTHON_UNKNOWN;
    if (site.copy != NO_COPY)
        keep(p, &site);
    return site.source;
}

static inline uint32_t source_of(struct gn_python *p, struct gn_tag *segment,
                                 const struct gn_interpreter *python, uintptr_t code, uintptr_t ip)
{
    uint32_t slot = slot_of(ip, GN_PYTHON_SITES);
    for (uint32_t i = 0; i < PROBES; i++) {
        const struct gn_python_site *s = &p->sites[(slot + i) & (GN_PYTHON_SITES - 1u)];
        if (s->ip != ip)
            continue;
        if (same_site(p, &python->known.layout, s, code))
            return s->source;
        break;
    }
    return learn(p, segment, python, code, ip);
}

/* ---- whether all is as it should be ---- */

/* Reads a frame through the kernel. False: it is none. */
static bool is_frame(const struct gn_interpreter *python, uintptr_t address, uint32_t *codes, uintptr_t *next)
{
    struct gn_python_frame frame;
    struct gn_python_code read;
    if (!gn_python_frame_read(&python->known, by_kernel, address, &frame))
        return false;
    *next = frame.previous;
    *codes += frame.is_function;
    return !frame.is_function || gn_python_code_read(&python->known, by_kernel, frame.code, frame.ip, &read);
}

enum proof { REFUTED, PROVED, OPEN };

/* Reads this thread's state and its innermost frames through the kernel. */
static enum proof prove(const struct gn_interpreter *python, uintptr_t state)
{
    const struct gn_python_layout *l = &python->known.layout;
    uintptr_t thread, native, frame;
    uint32_t codes = 0;
    if (!gn_copy_memory(0, &thread, state + l->state_thread, sizeof thread) ||
        !gn_copy_memory(0, &native, state + l->state_native_thread, sizeof native) ||
        !gn_copy_memory(0, &frame, state + l->state_frame, sizeof frame) ||
        thread != (uintptr_t)pthread_self() || native != (uintptr_t)syscall(SYS_gettid) ||
        (l->through_cframe && !gn_copy_memory(0, &frame, frame + l->cframe_frame, sizeof frame)))
        return REFUTED;
    for (uint32_t depth = 0; frame && depth < PROOF_FRAMES; depth++)
        if (!is_frame(python, frame, &codes, &frame))
            return REFUTED;
    return codes ? PROVED : OPEN;
}

/* The layout is the same in all threads: once is enough. A thread that runs no Python now and then is asked
 * again, not at each call. */
static bool is_proved(struct gn_python *p, struct gn_tag *segment, const struct gn_interpreter *python,
                      uintptr_t state)
{
    static _Atomic enum proof known = OPEN;
    enum proof proof = atomic_load_explicit(&known, memory_order_relaxed);
    if (proof != OPEN || (p->asked++ > PATIENCE && p->asked % PATIENCE))
        return proof == PROVED;
    proof = prove(python, state);
    if (proof == PROVED && GN_GET(segment->python_known) == 0) {
        segment->python = python->known; /* the same by whichever thread comes first */
        GN_PUBLISH(segment->python_known, 1);
    }
    if (proof != OPEN)
        atomic_store_explicit(&known, proof, memory_order_relaxed);
    return proof == PROVED;
}

/* Frames that the interpreter's loop has on the C stack, from 3.13 on, stand for no code. */
static bool is_loop(const struct gn_interpreter *python, uintptr_t frame)
{
    return (word_at(frame + python->known.layout.frame_code) & ~python->known.layout.code_tags) ==
           python->known.none;
}

/* The innermost loop of the interpreter, when more functions run in it than are shown. */
static uintptr_t find_boundary(const struct gn_interpreter *python, uintptr_t frame)
{
    const struct gn_python_layout *l = &python->known.layout;
    for (uint32_t depth = 0; frame && depth < LOOP_DEPTH; depth++, frame = word_at(frame + l->frame_previous))
        if (byte_at(frame + l->frame_owner) >= GN_PYTHON_OWNED_BY_C && is_loop(python, frame))
            return frame;
    return UINTPTR_MAX;
}

static bool walk(struct gn_python *p, struct gn_tag *segment, const struct gn_interpreter *python,
                 uintptr_t frame)
{
    const struct gn_python_layout *l = &python->known.layout;
    for (; frame && p->count < GN_PYTHON_DEPTH; frame = word_at(frame + l->frame_previous)) {
        if (byte_at(frame + l->frame_owner) >= GN_PYTHON_OWNED_BY_C) {
            if (!p->boundary && is_loop(python, frame))
                p->boundary = frame;
            continue;
        }
        const uint32_t source = source_of(p, segment, python, word_at(frame + l->frame_code) & ~l->code_tags,
                                          word_at(frame + l->frame_ip));
        if (source == GN_PYTHON_UNKNOWN)
            return false;
        p->cut = p->cut || source == 0;
        if (source != GN_PYTHON_HIDDEN && source != 0)
            p->sources[p->count++] = source;
    }
    if (!p->boundary)
        p->boundary = find_boundary(python, frame);
    return true;
}

uint32_t gn_python_read(struct gn_python *p, struct gn_tag *segment)
{
    const struct gn_interpreter *python = gn_interpreter();
    p->count = 0;
    p->cut = false;
    p->seen.file = p->seen.line_bytes = 0;
    if (__builtin_expect(!python, 1))
        return 0;
    const struct gn_python_layout *l = &python->known.layout;
    const uintptr_t state = (uintptr_t)python->this_state();
    if (!state || !is_proved(p, segment, python, state) ||
        word_at(state + l->state_thread) != (uintptr_t)pthread_self())
        return 0;
    const uintptr_t ending = word_at(python->known.runtime + l->runtime_finalizing);
    if (ending && ending != state)
        return 0;
    uintptr_t frame = word_at(state + l->state_frame);
    p->boundary = 0;
    if (l->through_cframe) {
        p->boundary = frame;
        frame = word_at(frame + l->cframe_frame);
    }
    /* an object on this stack, further out than we are */
    if (!walk(p, segment, python, frame) || p->boundary <= (uintptr_t)__builtin_frame_address(0))
        p->count = 0;
    if (p->count && p->state && GN_GET(*p->state) != state)
        GN_SET(*p->state, state);
    return p->count;
}
