#include "trace/retime_records.h"

#include "trace/chunk_file.h"
#include "trace/copy_file.h"
#include "trace/file_record.h"

#include <errno.h>
#include <stdlib.h>

/* Types of records in the files of definitions, of a location's definitions, and of markers. */
enum { CLOCK_PROPERTIES = 5, CLOCK_OFFSET = 6, MARKER = 6 };
enum { NUMBER_MOST = 9 /* bytes of a compressed number */, NUMBERS_MOST = 4 };

/* What becomes of a record. */
struct edited {
    const uint8_t *bytes; /* the record itself, or scratch */
    size_t size;          /* 0: it is left out */
    uint8_t *scratch;     /* has room for a chunk's bytes and some numbers */
};

struct editor {
    const struct gn_retime_range *range;
    /* Called with the record in `edited`; false: it cannot be understood. */
    bool (*edit)(const struct gn_retime_range *range, struct edited *edited, bool other);
};

/* ---- compressed numbers: how many bytes, and the bytes; 255: all bits are set ---- */

static bool is_big_endian(bool other)
{
    return other != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

static bool get_number(const uint8_t **at, const uint8_t *end, bool other, uint64_t *value)
{
    if (*at == end)
        return false;
    size_t count = *(*at)++;
    *value = count == 255 ? UINT64_MAX : 0;
    if (count == 255)
        return true;
    if (count > 8 || count > (size_t)(end - *at))
        return false;
    for (size_t i = 0; i < count; i++)
        *value |= (uint64_t)(*at)[i] << 8 * (is_big_endian(other) ? count - 1 - i : i);
    *at += count;
    return true;
}

static uint8_t *put_number(uint8_t *to, uint64_t value, bool other)
{
    size_t count = 0;
    if (value == UINT64_MAX) {
        *to++ = 255;
        return to;
    }
    while (count < 8 && value >> 8 * count)
        count++;
    *to++ = (uint8_t)count;
    for (size_t i = 0; i < count; i++)
        *to++ = (uint8_t)(value >> 8 * (is_big_endian(other) ? count - 1 - i : i));
    return to;
}

/* The record again with other numbers at its begin: those are `old_end` long, and behind them all stays. */
static void replace_numbers(struct edited *e, const uint8_t *old_end, const uint64_t *numbers, int count,
                            bool other)
{
    uint8_t begin[NUMBERS_MOST * NUMBER_MOST], *at = begin, *to = e->scratch;
    size_t rest = (size_t)(e->bytes + e->size - old_end);
    for (int i = 0; i < count; i++)
        at = put_number(at, numbers[i], other);
    size_t length = (size_t)(at - begin) + rest;
    *to++ = e->bytes[0];
    *to++ = length < 255 ? (uint8_t)length : 255;
    if (length >= 255) {
        gn_file_put_number(to, length, other);
        to += 8;
    }
    memcpy(to, begin, (size_t)(at - begin));
    memcpy(to + (at - begin), old_end, rest);
    e->bytes = e->scratch;
    e->size = (size_t)(to - e->scratch) + length;
}

static const uint8_t *content_of(const uint8_t *record)
{
    return record + (record[1] == 255 ? 10 : 2);
}

/* ---- which records change ---- */

/* Nanoseconds of real time, moved by a distance on the trace's clock. */
static uint64_t real_time(uint64_t real_ns, uint64_t from_ticks, uint64_t to_ticks, uint64_t ticks_per_second)
{
    if (real_ns == UINT64_MAX || ticks_per_second == 0)
        return real_ns;
    __int128 distance = (__int128)to_ticks - from_ticks, half = ticks_per_second / 2;
    __int128 scaled = distance * 1000000000;
    __int128 moved = real_ns + (scaled + (scaled < 0 ? -half : half)) / ticks_per_second;
    return moved < 0 ? 0 : moved >= UINT64_MAX ? UINT64_MAX - 1 : (uint64_t)moved;
}

static bool edit_definition(const struct gn_retime_range *range, struct edited *e, bool other)
{
    uint64_t numbers[NUMBERS_MOST]; /* ticks per second, first, length, real time of the first */
    if (e->bytes[0] != CLOCK_PROPERTIES)
        return true;
    const uint8_t *at = content_of(e->bytes), *end = e->bytes + e->size;
    for (int i = 0; i < 3; i++)
        if (!get_number(&at, end, other, &numbers[i]))
            return false;
    int count = at == end ? 3 : 4; /* real times are younger than the format */
    if (count == 4 && !get_number(&at, end, other, &numbers[3]))
        return false;
    if (count == 4)
        numbers[3] = real_time(numbers[3], numbers[1], range->first_ticks, numbers[0]);
    numbers[1] = range->first_ticks;
    numbers[2] = range->last_ticks > range->first_ticks ? range->last_ticks - range->first_ticks : 0;
    replace_numbers(e, at, numbers, count, other);
    return true;
}

static bool edit_local(const struct gn_retime_range *range, struct edited *e, bool other)
{
    (void)range, (void)other;
    if (e->bytes[0] == CLOCK_OFFSET)
        e->size = 0;
    return true;
}

static uint64_t clamp(uint64_t value, uint64_t least, uint64_t most)
{
    return value > most ? most : value < least ? least : value;
}

static bool edit_marker(const struct gn_retime_range *range, struct edited *e, bool other)
{
    uint64_t time, duration;
    if (e->bytes[0] != MARKER)
        return true;
    const uint8_t *at = content_of(e->bytes), *end = e->bytes + e->size;
    if (!get_number(&at, end, other, &time) || !get_number(&at, end, other, &duration))
        return false;
    uint64_t last = duration > UINT64_MAX - time ? UINT64_MAX : time + duration;
    uint64_t begin = clamp(time, range->first_ticks, range->last_ticks);
    const uint64_t numbers[] = {begin, clamp(last, begin, range->last_ticks) - begin};
    if (numbers[0] != time || numbers[1] != duration)
        replace_numbers(e, at, numbers, 2, other);
    return true;
}

/* ---- a file ---- */

/* What is known of a file before it is written again. */
enum state { UNCLEAR = 0, SAME = 1, CHANGES = 2 };

static bool is_end(const struct gn_chunk_input *in, const uint8_t *at)
{
    const uint8_t *limit = in->bytes + in->bytes_size;
    return limit - at >= GN_END_SIZE && at[0] == GN_RECORD_END_OF_LAST_CHUNK &&
           at[1] == GN_RECORD_END_OF_FILE;
}

static bool goes_on(const struct gn_chunk_input *in, const uint8_t *at)
{
    return in->bytes_size == in->chunk &&
           (at == in->bytes + in->bytes_size || at[0] == GN_RECORD_END_OF_CHUNK);
}

static int put_record(struct gn_chunk_output *out, const struct edited *e, bool other, struct gn_error *err)
{
    int code = 0;
    if ((ptrdiff_t)e->size > out->limit - out->at || out->is_other_order != other)
        code = gn_chunk_output_next(out, other, 1, 0, err);
    if (code < 0)
        return code;
    if ((ptrdiff_t)e->size > out->limit - out->at)
        return gn_fail(err, -EBADMSG, "a record does not fit into a chunk of %s", out->path);
    memcpy(out->at, e->bytes, e->size);
    out->at += e->size;
    return 0;
}

/* Passes the records of a chunk from *at on. out NULL: only to look at them. An enum state, or a negative
 * errno value. */
static int pass_chunk(const struct gn_chunk_input *in, const uint8_t **at, const struct editor *editor,
                      uint8_t *scratch, struct gn_chunk_output *out, struct gn_error *err)
{
    int state = SAME;
    size_t size;
    const uint8_t *limit = in->bytes + in->bytes_size;
    while ((size = gn_definition_size(*at, (size_t)(limit - *at), in->is_other_order))) {
        struct edited edited = {*at, size, scratch};
        if (!editor->edit(editor->range, &edited, in->is_other_order))
            return UNCLEAR;
        if (edited.bytes != *at || edited.size == 0)
            state = CHANGES;
        int code = out && edited.size ? put_record(out, &edited, in->is_other_order, err) : 0;
        if (code < 0)
            return code;
        *at += size;
    }
    return state;
}

static int pass_file(struct gn_chunk_input *in, const struct editor *editor, uint8_t *scratch,
                     struct gn_chunk_output *out, struct gn_error *err)
{
    int state = SAME, code;
    in->next = 0;
    while ((code = gn_chunk_input_next(in, err)) > 0) {
        const uint8_t *at = in->bytes + GN_CHUNK_HEADER_SIZE;
        int more = pass_chunk(in, &at, editor, scratch, out, err);
        if (more <= UNCLEAR)
            return more;
        if (more == CHANGES)
            state = CHANGES;
        if (is_end(in, at))
            return state;
        if (!goes_on(in, at))
            break;
    }
    return code < 0 ? code : UNCLEAR;
}

static int write_file(struct gn_chunk_input *in, const char *to, const struct editor *editor,
                      uint8_t *scratch, struct gn_error *err)
{
    struct gn_chunk_output out;
    int code = gn_chunk_output_open(&out, strdup(to), in->chunk, err);
    if (code < 0)
        return code;
    code = gn_chunk_output_next(&out, in->is_other_order, 1, 0, err);
    if (code == 0)
        code = pass_file(in, editor, scratch, &out, err);
    if (code == UNCLEAR)
        code = gn_fail(err, -EIO, "%s changed while it was read", in->path);
    if (code >= 0)
        code = gn_chunk_output_end(&out, 0, err);
    gn_chunk_output_close(&out);
    return code;
}

/* An enum state: of a file that is SAME or UNCLEAR nothing was written. Or a negative errno value. */
static int edit_file(const char *from, const char *to, uint64_t chunk, const struct editor *editor,
                     struct gn_error *err)
{
    struct gn_chunk_input in;
    int code = gn_chunk_input_open(&in, from, chunk, err);
    if (code < 0)
        return code;
    uint8_t *scratch = malloc(chunk + NUMBERS_MOST * NUMBER_MOST + 10);
    int state = scratch ? pass_file(&in, editor, scratch, NULL, err)
                        : gn_fail(err, -ENOMEM, "no memory to read %s", from);
    if (state == CHANGES) {
        code = write_file(&in, to, editor, scratch, err);
        state = code < 0 ? code : CHANGES;
    }
    free(scratch);
    gn_chunk_input_close(&in);
    return state;
}

static int edit_or_copy(const char *from, const char *to, uint64_t chunk, const struct editor *editor,
                        struct gn_error *err)
{
    int state = edit_file(from, to, chunk, editor, err);
    return state == SAME || state == UNCLEAR ? gn_copy_file(from, to, err) : state < 0 ? state : 0;
}

int gn_retime_definitions(const char *from, const char *to, uint64_t chunk,
                          const struct gn_retime_range *range, struct gn_error *err)
{
    const struct editor editor = {range, edit_definition};
    int state = edit_file(from, to, chunk, &editor, err);
    if (state == UNCLEAR)
        return gn_fail(err, -EBADMSG,
                       "the definitions of the trace are not complete: %s was cut off or is broken", from);
    return state == SAME ? gn_copy_file(from, to, err) : state < 0 ? state : 0;
}

int gn_retime_without_offsets(const char *from, const char *to, uint64_t chunk, struct gn_error *err)
{
    const struct editor editor = {NULL, edit_local};
    return edit_or_copy(from, to, chunk, &editor, err);
}

int gn_retime_markers(const char *from, const char *to, uint64_t chunk, const struct gn_retime_range *range,
                      struct gn_error *err)
{
    const struct editor editor = {range, edit_marker};
    return edit_or_copy(from, to, chunk, &editor, err);
}
