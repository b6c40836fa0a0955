#include "trace/retime_events.h"

#include "trace/chunk_file.h"
#include "trace/copy_file.h"
#include "trace/file_record.h"

#include <errno.h>
#include <inttypes.h>

struct pass {
    struct gn_chunk_input in;
    struct gn_chunk_output out;
    const char *from, *to;
    uint64_t chunk;
    const struct gn_retimer *retimer;
    struct gn_error *err;
    uint64_t end;    /* as the retimer's */
    bool is_whole;   /* the input ends as it should */
    bool is_writing; /* a timestamp has changed, or will: the output is open */
    uint64_t events;
    uint64_t ticks;        /* the input's time at this place */
    uint64_t old, fresh;   /* times of the last event */
    uint64_t written;      /* the output's time at this place */
    const uint8_t *behind; /* the last event of the current chunk, or its header */
    /* a BufferFlush whose end is not known yet */
    uint64_t stop;    /* its end's old time */
    uint64_t stop_at; /* where in the output its new time belongs; 0: there is none */
    bool stop_is_other_order;
};

/* How the records of a chunk, or of the file, end; CUT: where none can be read, or was to be. */
enum end { GOES_ON, ENDED, CUT };

/* ---- writing ---- */

static inline void put_time(struct pass *p)
{
    p->out.at[0] = GN_RECORD_TIME;
    gn_file_put_number(p->out.at + 1, p->fresh, p->out.is_other_order);
    p->out.at += GN_TIME_RECORD_SIZE;
    p->written = p->fresh;
}

/* A chunk begins with a time, as OTF2's writer does it: its readers look for a time among the chunks. */
static int begin_chunk(struct pass *p, size_t size)
{
    int code = gn_chunk_output_next(&p->out, p->in.is_other_order, p->events, p->events - 1, p->err);
    if (code < 0)
        return code;
    put_time(p);
    if ((ptrdiff_t)size > p->out.limit - p->out.at)
        return gn_fail(p->err, -EBADMSG, "event %" PRIu64 " of %s does not fit into a chunk", p->events,
                       p->from);
    return 0;
}

/* An event with its attributes, at p->fresh. */
static inline int put_event(struct pass *p, const uint8_t *unit, size_t size)
{
    if (__builtin_expect((ptrdiff_t)size + GN_TIME_RECORD_SIZE > p->out.limit - p->out.at, 0)) {
        int code = begin_chunk(p, size);
        if (code < 0)
            return code;
    }
    if (p->fresh != p->written)
        put_time(p);
    memcpy(p->out.at, unit, GN_CHUNK_SLACK); /* most have fewer bytes: no call for each of them */
    if (__builtin_expect(size > GN_CHUNK_SLACK, 0))
        memcpy(p->out.at + GN_CHUNK_SLACK, unit + GN_CHUNK_SLACK, size - GN_CHUNK_SLACK);
    p->out.at += size;
    return 0;
}

static int open_output(struct pass *p)
{
    char *path = strdup(p->to);
    return gn_chunk_output_open(&p->out, path, p->chunk, p->err);
}

/* Begins to write, with all that is there up to the end of the last event, which was at `ticks`. */
static int begin_writing(struct pass *p, uint64_t ticks)
{
    int code = open_output(p);
    if (code == 0)
        code = gn_chunk_output_copy(&p->out, &p->in, p->err);
    p->is_writing = true;
    p->written = ticks;
    p->out.is_other_order = p->in.is_other_order;
    size_t size = p->in.bytes ? (size_t)(p->behind - p->in.bytes) : 0;
    if (code < 0 || size <= GN_CHUNK_HEADER_SIZE) /* the next event begins the chunk */
        return code;
    code = gn_chunk_output_next(&p->out, p->in.is_other_order, 0, 0, p->err);
    memcpy(p->out.begin, p->in.bytes, size);
    p->out.at = p->out.begin + size;
    return code;
}

/* ---- the end of a BufferFlush ---- */

/* old and fresh: times of the last event before it. next, limit: those of the event after it. */
static int settle_flush(struct pass *p, uint64_t old, uint64_t fresh, uint64_t next, uint64_t limit)
{
    uint64_t stop = fresh + (p->stop - old), at = p->stop_at;
    if (p->stop < old) /* it ends before it begins */
        stop = fresh > old - p->stop ? fresh - (old - p->stop) : 0;
    else if (p->stop == next || stop < fresh || stop > limit)
        stop = limit;
    p->stop = UINT64_MAX;
    p->stop_at = 0;
    if (!p->is_writing || at == 0)
        return 0;
    return gn_chunk_output_patch(&p->out, at, stop, p->stop_is_other_order, p->err);
}

/* The BufferFlush from event to end has been passed. */
static int begin_flush(struct pass *p, const uint8_t *event, const uint8_t *end)
{
    enum { STOP_SIZE = 8 };
    size_t size = (size_t)(end - event), offset = event[1] == 255 ? 10 : 2;
    int code = settle_flush(p, p->old, p->fresh, UINT64_MAX, UINT64_MAX);
    if (size < offset + STOP_SIZE)
        return code;
    p->stop = gn_file_number(event + offset, p->in.is_other_order);
    p->stop_is_other_order = p->in.is_other_order;
    p->stop_at = offset + (p->is_writing ? gn_chunk_output_offset(&p->out) - size
                                         : p->in.offset + (uint64_t)(event - p->in.bytes));
    return code;
}

/* ---- reading ---- */

/* An event from `event` to `end`, with its attributes from `unit`. */
static inline int pass_event(struct pass *p, const uint8_t *unit, const uint8_t *event, const uint8_t *end)
{
    uint64_t old = p->old, fresh = p->fresh;
    int code = 0;
    p->events++;
    p->old = p->ticks;
    p->fresh = p->retimer ? p->retimer->time(p->retimer->self, p->events, p->ticks) : p->ticks;
    if (!p->is_writing && p->fresh != p->old)
        code = begin_writing(p, old);
    if (p->is_writing && code == 0)
        code = put_event(p, unit, (size_t)(end - unit));
    if (__builtin_expect(p->old >= p->stop && code == 0, 0))
        code = settle_flush(p, old, fresh, p->old, p->fresh);
    if (__builtin_expect(event[0] == GN_RECORD_BUFFER_FLUSH && code == 0, 0))
        code = begin_flush(p, event, end);
    p->behind = end;
    return code;
}

/* at: where there is no whole record. */
static enum end end_of(const struct pass *p, const uint8_t *at)
{
    const uint8_t *limit = p->in.bytes + p->in.bytes_size;
    bool is_full = p->in.bytes_size == p->in.chunk;
    if (at == limit || at[0] == GN_RECORD_END_OF_CHUNK)
        return is_full ? GOES_ON : CUT;
    if (at[0] != GN_RECORD_END_OF_FILE && at[0] != GN_RECORD_END_OF_LAST_CHUNK)
        return CUT;
    /* what looks like an end in the middle of a file that has one is damage: events would be lost */
    const bool has_newline = limit - at == GN_END_SIZE + 1 && at[GN_END_SIZE] == '\n';
    bool is_last =
        (limit - at == GN_END_SIZE || has_newline) && p->in.offset + p->in.bytes_size == p->in.size;
    return !p->is_whole || is_last ? ENDED : CUT;
}

static int pass_chunk(struct pass *p, enum end *end)
{
    const uint8_t *at = p->in.bytes + GN_CHUNK_HEADER_SIZE, *limit = p->in.bytes + p->in.bytes_size;
    const uint8_t *unit = at;
    const bool other = p->in.is_other_order;
    size_t size;
    p->behind = at;
    while ((size = gn_event_record_size(at, (size_t)(limit - at), other))) {
        const uint8_t *record = at;
        at += size;
        if (record[0] == GN_RECORD_TIME) {
            if (unit != record) /* attributes without an event */
                break;
            p->ticks = gn_file_number(record + 1, other);
            unit = at;
        } else if (record[0] != GN_RECORD_ATTRIBUTES && p->events + 1 == p->end) {
            break;
        } else if (record[0] != GN_RECORD_ATTRIBUTES) {
            int code = pass_event(p, unit, record, at);
            if (code < 0)
                return code;
            unit = at;
        }
    }
    *end = unit == at ? end_of(p, at) : CUT;
    return 0;
}

static int pass_file(struct pass *p, enum end *end)
{
    int code = 1;
    *end = GOES_ON;
    while (*end == GOES_ON && (code = gn_chunk_input_next(&p->in, p->err)) > 0) {
        if (p->is_writing && p->in.is_other_order != p->out.is_other_order)
            p->out.limit = p->out.at; /* a chunk has one byte order */
        code = pass_chunk(p, end);
        if (code < 0)
            return code;
    }
    if (*end == GOES_ON)
        *end = CUT;
    if (code >= 0 && *end == CUT && p->is_whole)
        return gn_fail(p->err, -EBADMSG, "%s is broken: what follows event %" PRIu64 " is not an event",
                       p->from, p->events);
    return code < 0 ? code : 0;
}

static int finish(struct pass *p, enum end end)
{
    int code = 0;
    if (!p->is_writing && end == ENDED && p->is_whole)
        return gn_copy_file(p->from, p->to, p->err);
    if (!p->is_writing)
        code = begin_writing(p, p->old);
    if (code == 0)
        code = settle_flush(p, p->old, p->fresh, UINT64_MAX, UINT64_MAX);
    return code < 0 ? code : gn_chunk_output_end(&p->out, p->events, p->err);
}

/* ---- all of it ---- */

/* Something else must not be taken for a file that was cut off before its first event. (One that got its room
 * and nothing else has zeros.) */
static int check_begin(struct pass *p)
{
    int is_chunk = gn_chunk_input_next(&p->in, p->err);
    if (is_chunk < 0)
        return is_chunk;
    uint8_t first = is_chunk || p->in.size == 0 ? GN_RECORD_CHUNK : p->in.block[0];
    bool may_be_cut = first == 0 || (first == GN_RECORD_CHUNK && p->in.size < GN_CHUNK_HEADER_SIZE);
    p->in.next = 0;
    if (is_chunk || may_be_cut)
        return 0;
    return gn_fail(p->err, -EBADMSG, "%s is not an OTF2 event file: it does not begin like one", p->from);
}

/* The number of events as the last chunk says, if it has as many as it says; 0: it is not known so. */
static uint64_t count_quickly(struct pass *p)
{
    size_t size;
    uint64_t events = 0;
    p->in.next = (p->in.size - 1) / p->in.chunk * p->in.chunk;
    bool is_chunk = gn_chunk_input_next(&p->in, p->err) > 0;
    p->in.next = 0;
    if (!is_chunk)
        return 0;
    const uint8_t *at = p->in.bytes + GN_CHUNK_HEADER_SIZE, *limit = p->in.bytes + p->in.bytes_size;
    for (; (size = gn_event_record_size(at, (size_t)(limit - at), p->in.is_other_order)); at += size)
        events += gn_is_event(at[0]);
    uint64_t first = gn_file_number(p->in.bytes + GN_FIRST_EVENT_AT, p->in.is_other_order);
    uint64_t last = gn_file_number(p->in.bytes + GN_LAST_EVENT_AT, p->in.is_other_order);
    return end_of(p, at) == ENDED && first + events == last + 1 && last <= p->in.size ? last : 0;
}

static int retime(struct pass *p)
{
    enum end end;
    int code = check_begin(p);
    if (code < 0)
        return code;
    p->is_whole = gn_chunk_input_is_whole(&p->in, p->err) && p->end == 0;
    if (p->is_whole && !p->retimer && (p->events = count_quickly(p)) > 0)
        return gn_copy_file(p->from, p->to, p->err);
    code = pass_file(p, &end);
    return code < 0 ? code : finish(p, end);
}

int gn_retime_events(const char *from, const char *to, uint64_t chunk, const struct gn_retimer *retimer,
                     uint64_t *events, struct gn_error *err)
{
    struct pass p = {.from = from,
                     .to = to,
                     .chunk = chunk,
                     .retimer = retimer,
                     .end = retimer ? retimer->end : 0,
                     .err = err};
    p.stop = UINT64_MAX;
    p.out.fd = -1;
    int code = gn_chunk_input_open(&p.in, from, chunk, err);
    if (code < 0)
        return code;
    code = retime(&p);
    *events = p.events;
    gn_chunk_output_close(&p.out);
    gn_chunk_input_close(&p.in);
    return code;
}
