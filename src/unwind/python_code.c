#include "unwind/python_code.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    HEADER_BYTES = 256, /* of a code object, before its instructions */
    MAX_INSTRUCTIONS = 1 << 26,
    MAX_TEXT = 1 << 16, /* characters of a name that are believed */
    MAX_LINES = 1 << 26,
    INSTRUCTION_BYTES = 2,
};

bool gn_copy_memory(int pid, void *to, uintptr_t from, size_t bytes)
{
    struct iovec local = {to, bytes}, remote = {(void *)from, bytes};
    return process_vm_readv(pid ? pid : getpid(), &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

bool gn_copy_directly(int pid, void *to, uintptr_t from, size_t bytes)
{
    (void)pid;
    memcpy(to, (const void *)from, bytes);
    return true;
}

bool gn_python_layout_fits(const struct gn_python_layout *l)
{
    const uint32_t offsets[] = {l->frame_previous,
                                l->frame_code,
                                l->frame_ip,
                                l->frame_owner,
                                l->code_file,
                                l->code_name,
                                l->code_lines,
                                l->code_first_line,
                                l->code_start,
                                l->code_version,
                                l->code_first_traceable,
                                l->object_type,
                                l->object_size,
                                l->bytes_data,
                                l->text_length,
                                l->text_state,
                                l->text_ascii_data,
                                l->text_wide_data};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++)
        if (offsets[i] > HEADER_BYTES - sizeof(uintptr_t))
            return false;
    return true;
}

static uintptr_t word_in(const uint8_t *bytes, uint32_t offset)
{
    uintptr_t word;
    memcpy(&word, bytes + offset, sizeof word);
    return word;
}

static uint32_t half_in(const uint8_t *bytes, uint32_t offset)
{
    uint32_t half;
    memcpy(&half, bytes + offset, sizeof half);
    return half;
}

bool gn_python_frame_read(const struct gn_python_known *python, struct gn_memory memory, uintptr_t address,
                          struct gn_python_frame *frame)
{
    const struct gn_python_layout *l = &python->layout;
    const uint32_t word = sizeof(uintptr_t), ends[] = {l->frame_previous + word, l->frame_code + word,
                                                       l->frame_ip + word, l->frame_owner + 1};
    uint8_t bytes[HEADER_BYTES];
    size_t count = 0;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        count = ends[i] > count ? ends[i] : count;
    if (count > sizeof bytes || !memory.copy(memory.pid, bytes, address, count))
        return false;
    *frame = (struct gn_python_frame){
        word_in(bytes, l->frame_previous), word_in(bytes, l->frame_code) & ~l->code_tags,
        word_in(bytes, l->frame_ip), bytes[l->frame_owner] < GN_PYTHON_OWNED_BY_C,
        bytes[l->frame_owner] == GN_PYTHON_OWNED_BY_GENERATOR};
    return true;
}

/* struct of state in PyASCIIObject: interned 2 bits, kind 3, compact 1, ascii 1. */
static bool read_text(const struct gn_python_known *python, struct gn_memory memory, uintptr_t address,
                      struct gn_python_object *out)
{
    const struct gn_python_layout *l = &python->layout;
    uint8_t head[HEADER_BYTES] = {0};
    if (!address || !memory.copy(memory.pid, head, address, l->text_state + sizeof(uint32_t)) ||
        word_in(head, l->object_type) != python->text_type)
        return false;
    const uint32_t state = half_in(head, l->text_state), kind = state >> 2 & 7;
    const bool compact = state >> 5 & 1, ascii = state >> 6 & 1;
    const uintptr_t count = word_in(head, l->text_length);
    *out = (struct gn_python_object){.address = address,
                                     .state = state & GN_PYTHON_TEXT_FORM,
                                     .count = (uint32_t)count,
                                     .width = kind,
                                     .data = address + (ascii ? l->text_ascii_data : l->text_wide_data)};
    return compact && (kind == 1 || kind == 2 || kind == 4) && (!ascii || kind == 1) && count <= MAX_TEXT;
}

static bool read_bytes(const struct gn_python_known *python, struct gn_memory memory, uintptr_t address,
                       struct gn_python_object *out)
{
    const struct gn_python_layout *l = &python->layout;
    uint8_t head[HEADER_BYTES] = {0};
    if (!address || !memory.copy(memory.pid, head, address, l->bytes_data) ||
        word_in(head, l->object_type) != python->bytes_type)
        return false;
    const uintptr_t count = word_in(head, l->object_size);
    *out = (struct gn_python_object){
        .address = address, .count = (uint32_t)count, .width = 1, .data = address + l->bytes_data};
    return count <= MAX_LINES;
}

bool gn_python_code_read(const struct gn_python_known *python, struct gn_memory memory, uintptr_t code,
                         uintptr_t ip, struct gn_python_code *out)
{
    const struct gn_python_layout *l = &python->layout;
    uint8_t head[HEADER_BYTES] = {0};
    if (!code || l->code_start > sizeof head || !memory.copy(memory.pid, head, code, l->code_start) ||
        word_in(head, l->object_type) != python->code_type)
        return false;
    const uintptr_t units = word_in(head, l->object_size), start = code + l->code_start;
    const uint32_t traceable = half_in(head, l->code_first_traceable);
    /* a frame that has done nothing yet is one instruction before the first (3.11, 3.12) */
    if (units > MAX_INSTRUCTIONS || ip + INSTRUCTION_BYTES < start || ip >= start + units * INSTRUCTION_BYTES)
        return false;
    *out = (struct gn_python_code){.first_line = half_in(head, l->code_first_line),
                                   .version = l->code_version ? half_in(head, l->code_version) : 0,
                                   .complete = traceable <= units &&
                                               ip >= start + (uintptr_t)traceable * INSTRUCTION_BYTES};
    if (!out->complete)
        return true;
    out->instruction = (uint32_t)(ip - start);
    return (int32_t)out->first_line >= 0 &&
           read_text(python, memory, word_in(head, l->code_file), &out->file) &&
           read_text(python, memory, word_in(head, l->code_name), &out->name) &&
           read_bytes(python, memory, word_in(head, l->code_lines), &out->lines);
}

/* ---- text ---- */

/* As UTF-8; what is no character of Unicode (half of a pair) becomes a question mark. Returns the bytes. */
static uint32_t encode(uint32_t c, char *to)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if ((c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
        return encode('?', to);
    const uint32_t bytes = c < 0x10000 ? 3 : 4;
    to[0] = (char)(bytes == 3 ? 0xe0 | c >> 12 : 0xf0 | c >> 18);
    for (uint32_t i = 1; i < bytes; i++)
        to[i] = (char)(0x80 | (c >> (6 * (bytes - 1 - i)) & 0x3f));
    return bytes;
}

static uint32_t character_at(const uint8_t *data, uint32_t width, uint32_t i)
{
    uint32_t c = 0;
    memcpy(&c, data + (size_t)i * width, width); /* little-endian, as the machine */
    return c;
}

enum { MARK_BYTES = 3, WIDEST = 4, MOST_CHARACTERS = 512 };

/* How many characters from one end fit; what does not fit needs room for the mark. */
static uint32_t fitting(const uint8_t *data, uint32_t count, uint32_t width, bool from_end, uint32_t room)
{
    char bytes[WIDEST];
    uint32_t taken = 0;
    while (taken < count) {
        uint32_t need = encode(character_at(data, width, from_end ? count - 1 - taken : taken), bytes);
        if (need > room)
            break;
        room -= need;
        taken++;
    }
    return taken;
}

bool gn_python_text(const struct gn_python_object *text, struct gn_memory memory, bool keep_end, char *to,
                    size_t size)
{
    uint8_t data[MOST_CHARACTERS * WIDEST];
    const uint32_t count = text->count < MOST_CHARACTERS ? text->count : MOST_CHARACTERS;
    const uintptr_t first = keep_end ? text->count - count : 0;
    if (count > 0 &&
        !memory.copy(memory.pid, data, text->data + first * text->width, (size_t)count * text->width))
        return false;
    uint32_t taken = fitting(data, count, text->width, keep_end, (uint32_t)size - 1);
    const bool shortened = taken < text->count;
    if (shortened)
        taken = fitting(data, count, text->width, keep_end, (uint32_t)size - 1 - MARK_BYTES);
    uint32_t used = 0, from = keep_end ? count - taken : 0;
    if (shortened && keep_end)
        used = MARK_BYTES;
    for (uint32_t i = 0; i < taken; i++)
        used += encode(character_at(data, text->width, from + i), to + used);
    if (shortened)
        memcpy(keep_end ? to : to + used, "...", MARK_BYTES);
    to[used + (shortened && !keep_end ? MARK_BYTES : 0)] = '\0';
    return memchr(to, '\0', size) != NULL;
}

bool gn_python_is_importing(const char *file)
{
    static const char importing[] = "<frozen importlib.";
    return strncmp(file, importing, sizeof importing - 1) == 0;
}

/* ---- lines ---- */

struct reader {
    const uint8_t *at, *end;
};

static uint32_t next_byte(struct reader *r)
{
    return r->at < r->end ? *r->at++ : 0;
}

static uint32_t next_varint(struct reader *r)
{
    uint32_t value = 0, byte;
    unsigned shift = 0;
    do {
        byte = next_byte(r);
        value |= shift < 32 ? (byte & 0x3f) << shift : 0;
        shift += 6;
    } while (byte & 0x40);
    return value;
}

static int32_t next_signed(struct reader *r)
{
    const uint32_t value = next_varint(r);
    return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

enum { FORM_ONE_LINE = 10, FORM_NO_COLUMNS = 13, FORM_LONG = 14, FORM_NONE = 15 };

/* The change of line that an entry of this form brings; skips its columns. */
static int32_t line_change(struct reader *r, uint32_t form)
{
    if (form == FORM_NONE)
        return 0;
    if (form == FORM_NO_COLUMNS)
        return next_signed(r);
    if (form == FORM_LONG) {
        const int32_t change = next_signed(r);
        next_varint(r); /* end line, column, end column */
        next_varint(r);
        next_varint(r);
        return change;
    }
    next_byte(r);
    if (form < FORM_ONE_LINE)
        return 0;
    next_byte(r);
    return (int32_t)(form - FORM_ONE_LINE);
}

uint32_t gn_python_line(const uint8_t *table, uint32_t bytes, uint32_t first_line, uint32_t instruction,
                        uint32_t *used)
{
    struct reader r = {table, table + bytes};
    int64_t line = first_line;
    uint64_t end = 0;
    uint32_t form = FORM_NONE;
    while (r.at < r.end && end <= instruction) {
        const uint32_t head = next_byte(&r);
        form = head >> 3 & 15;
        line += line_change(&r, form);
        end += ((head & 7) + 1) * INSTRUCTION_BYTES;
    }
    *used = (uint32_t)(r.at - table);
    return end > instruction && form != FORM_NONE && line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}
