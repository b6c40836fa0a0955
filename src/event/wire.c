#include "event/wire.h"

#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the format's byte order is the memory's");

#define MAGIC "GNOMONEV"
enum { VERSION = 1, MOST_PAYLOAD = 16 << 20, MOST_BATCH = 256, BUFFERED = 1 << 16, TOUCHED = 1 << 18 };

struct header {
    char magic[8];
    uint32_t version, header_bytes;
    uint64_t ticks_per_second, first_ticks, realtime_ns;
};

struct record {
    uint32_t type, bytes; /* of the payload: a multiple of 8 */
};

enum type {
    TYPE_STRING = 1,
    TYPE_SYSTEM_NODE,
    TYPE_PROCESS,
    TYPE_LOCATION,
    TYPE_REGION,
    TYPE_PATH,
    TYPE_COMM,
    TYPE_WINDOW,
    TYPE_CARRY = 16,
    TYPE_EVENTS,
    TYPE_END,
    TYPE_COMPLETE
};

/* Payload of an events record, in front of the events. */
struct batch {
    uint32_t location, count;
    uint64_t sequence;
};

/* How many definitions of each kind are there. */
struct counts {
    size_t strings, system_nodes, processes, locations, regions, paths, comms, windows;
};

static struct counts counts_of(const struct gn_definitions *d)
{
    return (struct counts){gn_string_count(d), d->system_node_count, d->process_count, d->location_count,
                           d->region_count,    d->path_count,        d->comm_count,    d->window_count};
}

/* ---- writing ---- */

struct gn_wire_writer {
    int fd;
    const struct gn_definitions *definitions;
    uint32_t only;
    struct counts written;
    uint64_t *sequences; /* per location: events so far */
    size_t sequence_count, sequence_capacity;
    size_t batch_at; /* the open batch's record in the buffer; SIZE_MAX: none */
    bool held;
    char *buffer;
    size_t sent, length, capacity; /* buffer[sent, length) waits to be written */
    size_t touched;                /* up to there its pages are there */
};

/* Forgets what was sent where that is a good part of the buffer; records stay aligned. */
static void forget_sent(struct gn_wire_writer *w)
{
    size_t sent = w->sent & ~(size_t)7;
    if (sent < w->capacity / 4)
        return;
    memmove(w->buffer, w->buffer + sent, w->length - sent);
    w->sent -= sent;
    w->length -= sent;
    if (w->batch_at != SIZE_MAX)
        w->batch_at -= sent;
}

/* A fault for each page costs more than what is written to it. Kernels before 5.14 cannot. */
static void touch(struct gn_wire_writer *w, size_t count)
{
#ifdef MADV_POPULATE_WRITE
    if (w->length + count <= w->touched || w->capacity < TOUCHED)
        return;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE),
                    begin = ((uintptr_t)w->buffer + w->length + page - 1) & -page,
                    end = ((uintptr_t)w->buffer + w->capacity) & -page;
    if (begin >= end)
        return;
    madvise((void *)begin, end - begin < TOUCHED ? end - begin : TOUCHED, MADV_POPULATE_WRITE);
    w->touched = w->length + TOUCHED < w->capacity ? w->length + TOUCHED : w->capacity;
#else
    (void)w, (void)count;
#endif
}

/* Room for that many bytes more; may move what is in the buffer, and the open batch with it. */
static bool make_room(struct gn_wire_writer *w, size_t count)
{
    if (w->capacity - w->length < count && w->sent)
        forget_sent(w);
    if (w->capacity - w->length >= count) {
        touch(w, count);
        return true;
    }
    size_t wanted = 2 * w->capacity > w->length + count ? 2 * w->capacity : w->length + count;
    char *larger = realloc(w->buffer, wanted);
    if (!larger)
        return false;
    w->buffer = larger;
    w->capacity = wanted;
    w->touched = w->length;
    touch(w, count);
    return true;
}

static bool append(struct gn_wire_writer *w, const void *bytes, size_t count)
{
    if (!make_room(w, count))
        return false;
    if (count)
        memcpy(w->buffer + w->length, bytes, count);
    w->length += count;
    return true;
}

static int no_memory(struct gn_error *err)
{
    return gn_fail(err, -ENOMEM, "no memory for the event stream");
}

/* A record of words and, behind them, bytes; padded to a multiple of 8. */
static int put(struct gn_wire_writer *w, enum type type, const uint32_t *words, size_t word_count,
               const void *more, size_t more_bytes, struct gn_error *err)
{
    static const char zeros[8];
    size_t bytes = word_count * sizeof *words + more_bytes, padding = -bytes & 7;
    struct record record = {(uint32_t)type, (uint32_t)(bytes + padding)};
    w->batch_at = SIZE_MAX;
    if (bytes + padding > MOST_PAYLOAD)
        return gn_fail(err, -E2BIG, "a definition of %zu bytes does not fit into an event stream", bytes);
    if (!append(w, &record, sizeof record) || !append(w, words, word_count * sizeof *words) ||
        !append(w, more, more_bytes) || !append(w, zeros, padding))
        return no_memory(err);
    return 0;
}

#define PUT(w, type, more, more_bytes, err, ...)                                                             \
    put(w, type, (const uint32_t[]){__VA_ARGS__},                                                            \
        sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), more, more_bytes, err)

static int put_who(struct gn_wire_writer *w, struct counts *n, const struct counts *all, struct gn_error *err)
{
    const struct gn_definitions *d = w->definitions;
    int code = 0;
    for (; code == 0 && n->system_nodes < all->system_nodes; n->system_nodes++) {
        const struct gn_system_node *x = &d->system_nodes[n->system_nodes];
        code = PUT(w, TYPE_SYSTEM_NODE, NULL, 0, err, (uint32_t)n->system_nodes, x->name, x->class_name,
                   x->parent, x->is_domain);
    }
    for (; code == 0 && n->processes < all->processes; n->processes++) {
        const struct gn_process *x = &d->processes[n->processes];
        code = PUT(w, TYPE_PROCESS, NULL, 0, err, (uint32_t)n->processes, x->name, x->system_node,
                   (uint32_t)x->rank);
    }
    for (; code == 0 && n->locations < all->locations; n->locations++) {
        const struct gn_location_def *x = &d->locations[n->locations];
        bool is_main =
            x->process < d->process_count && d->processes[x->process].main_location == n->locations;
        code = PUT(w, TYPE_LOCATION, NULL, 0, err, (uint32_t)n->locations, x->name, x->process, x->domain,
                   (uint32_t)x->file_id, (uint32_t)(x->file_id >> 32), (uint32_t)x->events,
                   (uint32_t)(x->events >> 32), is_main);
        if (code == 0 && (w->only == GN_NONE || w->only == n->locations))
            code = PUT(w, TYPE_CARRY, NULL, 0, err, (uint32_t)n->locations);
    }
    return code;
}

static int put_what(struct gn_wire_writer *w, struct counts *n, const struct counts *all,
                    struct gn_error *err)
{
    const struct gn_definitions *d = w->definitions;
    int code = 0;
    for (; code == 0 && n->regions < all->regions; n->regions++) {
        const struct gn_region_def *x = &d->regions[n->regions];
        code = PUT(w, TYPE_REGION, NULL, 0, err, (uint32_t)n->regions, x->name, x->source_file, x->begin_line,
                   x->end_line, x->role, gn_activity_def(x->activity)->op);
    }
    for (; code == 0 && n->paths < all->paths; n->paths++) {
        const struct gn_path_def *x = &d->paths[n->paths];
        code = PUT(w, TYPE_PATH, NULL, 0, err, (uint32_t)n->paths, x->parent, x->region, x->source_file,
                   x->line);
    }
    for (; code == 0 && n->comms < all->comms; n->comms++) {
        const struct gn_comm_def *x = &d->comms[n->comms];
        code = PUT(w, TYPE_COMM, x->members, ((size_t)x->member_count + x->other_count) * sizeof *x->members,
                   err, (uint32_t)n->comms, x->name, x->parent, x->member_count, x->other_count, x->is_self);
    }
    for (; code == 0 && n->windows < all->windows; n->windows++) {
        const struct gn_window_def *x = &d->windows[n->windows];
        code = PUT(w, TYPE_WINDOW, NULL, 0, err, (uint32_t)n->windows, x->name, x->comm);
    }
    return code;
}

/* What has been defined since the last time. Strings come first: nothing else is referred to before it is
 * defined. */
static int put_definitions(struct gn_wire_writer *w, struct gn_error *err)
{
    struct counts all = counts_of(w->definitions), *n = &w->written;
    int code = 0;
    if (memcmp(&all, n, sizeof all) == 0)
        return 0;
    for (; code == 0 && n->strings < all.strings; n->strings++) {
        const char *text = gn_string(w->definitions, (uint32_t)n->strings);
        code = PUT(w, TYPE_STRING, text, strlen(text), err, (uint32_t)n->strings, (uint32_t)strlen(text));
    }
    if (code == 0)
        code = put_who(w, n, &all, err);
    return code == 0 ? put_what(w, n, &all, err) : code;
}

static struct header header_of(const struct gn_definitions *d)
{
    return (struct header){MAGIC,          VERSION,       sizeof(struct header), d->ticks_per_second,
                           d->first_ticks, d->realtime_ns};
}

int gn_wire_create(struct gn_wire_writer **writer, int fd, const struct gn_definitions *definitions,
                   uint32_t location, struct gn_error *err)
{
    struct header header = header_of(definitions);
    struct gn_wire_writer *w = *writer = calloc(1, sizeof *w);
    if (!w)
        return no_memory(err);
    *w = (struct gn_wire_writer){
        .fd = fd, .definitions = definitions, .only = location, .written.strings = 1, .batch_at = SIZE_MAX};
    if (!append(w, &header, sizeof header)) {
        gn_wire_writer_close(w);
        *writer = NULL;
        return no_memory(err);
    }
    return 0;
}

int gn_wire_copy(struct gn_wire_writer **copy, int fd, const struct gn_wire_writer *from,
                 struct gn_error *err)
{
    struct header header = header_of(from->definitions);
    struct gn_wire_writer *w = *copy = malloc(sizeof *w);
    if (!w)
        return no_memory(err);
    *w = *from;
    w->fd = fd;
    w->sequence_capacity = w->sequence_count;
    w->capacity = w->length;
    w->buffer = malloc(w->capacity);
    w->sequences = malloc(w->sequence_count * sizeof *w->sequences + 1);
    if (!w->buffer || !w->sequences) {
        gn_wire_writer_close(w);
        *copy = NULL;
        return no_memory(err);
    }
    memcpy(w->buffer, from->buffer, w->length);
    memcpy(w->buffer, &header, sizeof header);
    if (w->sequence_count)
        memcpy(w->sequences, from->sequences, w->sequence_count * sizeof *w->sequences);
    return 0;
}

static bool next_sequence(struct gn_wire_writer *w, uint32_t location, uint64_t *sequence)
{
    while (w->sequence_count <= location) {
        if (!gn_grow(&w->sequences, &w->sequence_capacity, w->sequence_count, sizeof *w->sequences))
            return false;
        w->sequences[w->sequence_count++] = 0;
    }
    *sequence = w->sequences[location]++;
    return true;
}

/* The open batch when the event belongs there, else a new one, with room for the event; NULL: no memory. */
static struct batch *batch_for(struct gn_wire_writer *w, uint32_t location, uint64_t sequence)
{
    if (!make_room(w, sizeof(struct record) + sizeof(struct batch) + sizeof(struct gn_event)))
        return NULL;
    if (w->batch_at != SIZE_MAX) {
        struct batch *open = (struct batch *)(w->buffer + w->batch_at + sizeof(struct record));
        if (open->location == location && open->count < MOST_BATCH)
            return open;
    }
    struct record record = {TYPE_EVENTS, sizeof(struct batch)};
    struct batch batch = {location, 0, sequence};
    size_t at = w->length;
    if (!append(w, &record, sizeof record) || !append(w, &batch, sizeof batch))
        return NULL;
    w->batch_at = at;
    return (struct batch *)(w->buffer + at + sizeof record);
}

int gn_wire_write(struct gn_wire_writer *w, const struct gn_event *event, struct gn_error *err)
{
    uint64_t sequence;
    int code = put_definitions(w, err);
    if (code != 0)
        return code;
    if (event->location >= w->written.locations)
        return gn_fail(err, -EINVAL, "an event of location %u, which is not defined", event->location);
    if (!next_sequence(w, event->location, &sequence))
        return no_memory(err);
    struct batch *batch = batch_for(w, event->location, sequence);
    if (!batch)
        return no_memory(err);
    batch->count++;
    ((struct record *)(w->buffer + w->batch_at))->bytes += (uint32_t)sizeof *event;
    struct gn_event here = *event;
    here.record = 0; /* of a file that the reader of the stream does not have */
    if (!append(w, &here, sizeof here))
        return no_memory(err);
    return w->length >= BUFFERED && !w->held ? gn_wire_flush(w, err) : 0;
}

int gn_wire_end(struct gn_wire_writer *w, uint32_t location, struct gn_error *err)
{
    int code = put_definitions(w, err);
    return code == 0 ? PUT(w, TYPE_END, NULL, 0, err, location) : code;
}

int gn_wire_flush(struct gn_wire_writer *w, struct gn_error *err)
{
    w->batch_at = SIZE_MAX;
    while (w->sent < w->length) {
        ssize_t count = write(w->fd, w->buffer + w->sent, w->length - w->sent);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return gn_fail(err, -errno, "cannot write the event stream: %s", strerror(errno));
        w->sent += (size_t)count;
    }
    w->sent = w->length = 0;
    return 0;
}

void gn_wire_hold(struct gn_wire_writer *w)
{
    w->held = true;
}

size_t gn_wire_waiting(const struct gn_wire_writer *w)
{
    return w->length - w->sent;
}

int gn_wire_finish(struct gn_wire_writer *w, struct gn_error *err)
{
    int code = put_definitions(w, err);
    if (code == 0)
        code = put(w, TYPE_COMPLETE, NULL, 0, NULL, 0, err);
    return code == 0 ? gn_wire_flush(w, err) : code;
}

void gn_wire_writer_close(struct gn_wire_writer *w)
{
    if (!w)
        return;
    free(w->sequences);
    free(w->buffer);
    free(w);
}

/* ---- reading ---- */

enum { NOT_CARRIED, CARRIED, ENDED };

struct gn_wire_reader {
    const char *name;
    struct gn_definitions *definitions;
    struct gn_wire_sink sink;
    uint64_t position; /* bytes of the stream ahead of the buffer */
    bool has_header, complete, failed;
    uint8_t *carried; /* per location */
    size_t carried_count, carried_capacity;
    uint64_t undefined;
    char *buffer; /* what has come of the next record */
    size_t length, capacity;
};

int gn_wire_open(struct gn_wire_reader **reader, const char *name, struct gn_definitions *definitions,
                 const struct gn_wire_sink *sink, struct gn_error *err)
{
    struct gn_wire_reader *r = *reader = calloc(1, sizeof *r);
    if (!r)
        return no_memory(err);
    r->name = name;
    r->definitions = definitions;
    r->sink = *sink;
    return 0;
}

void gn_wire_close(struct gn_wire_reader *r)
{
    if (!r)
        return;
    free(r->carried);
    free(r->buffer);
    free(r);
}

bool gn_wire_is_complete(const struct gn_wire_reader *r)
{
    return r->complete;
}

uint64_t gn_wire_undefined(const struct gn_wire_reader *r)
{
    return r->undefined;
}

static int bad(struct gn_wire_reader *r, struct gn_error *err, const char *what)
{
    return gn_fail(err, -EINVAL, "%s: byte %llu: %s; this is not a gnomon event stream, or a damaged one",
                   r->name, (unsigned long long)r->position, what);
}

static int read_header(struct gn_wire_reader *r, const struct header *h, struct gn_error *err)
{
    struct gn_definitions *d = r->definitions;
    if (memcmp(h->magic, MAGIC, sizeof h->magic) != 0)
        return bad(r, err, "it does not begin with " MAGIC);
    if (h->version != VERSION || h->header_bytes != sizeof *h)
        return gn_fail(err, -EINVAL, "%s: an event stream of version %u; this gnomon reads version %d",
                       r->name, h->version, VERSION);
    if (h->ticks_per_second == 0)
        return bad(r, err, "its clock stands still");
    if (d->ticks_per_second && d->ticks_per_second != h->ticks_per_second)
        return gn_fail(
            err, -EINVAL,
            "%s: its clock has %llu ticks a second, that of the other streams %llu: they are not of one "
            "program",
            r->name, (unsigned long long)h->ticks_per_second, (unsigned long long)d->ticks_per_second);
    d->ticks_per_second = h->ticks_per_second;
    if (!d->first_ticks)
        d->first_ticks = h->first_ticks;
    if (!d->realtime_ns)
        d->realtime_ns = h->realtime_ns;
    r->has_header = true;
    return 0;
}

/* A definition's payload: its words, and how many there are. */
struct words {
    const uint32_t *at;
    size_t count;
};

/* A definition is new when it has the next number. One that is there already must be the same. */
static const char *const gap = "a definition leaves a gap in the numbers";
static const char *const dangling = "a definition refers to something that is not defined";
static const char *const differs = "a definition differs from one with the same number";

static bool is_string(const struct gn_wire_reader *r, uint32_t string)
{
    return string < gn_string_count(r->definitions);
}

/* What the functions below return: NULL, or what is wrong; `memory` when there is none. */
static const char memory[] = "no memory";

static const char *added(uint32_t index, uint32_t expected_index)
{
    return index == GN_NONE ? memory : index == expected_index ? NULL : differs;
}

static const char *read_string(struct gn_wire_reader *r, struct words w)
{
    uint32_t index = w.at[0], length = w.at[1];
    const char *text = (const char *)(w.at + 2);
    if (length > (w.count - 2) * sizeof *w.at || memchr(text, '\0', length))
        return "a string's length is not that of its text";
    if (index > gn_string_count(r->definitions))
        return gap;
    if (is_string(r, index)) {
        const char *known = gn_string(r->definitions, index);
        return strlen(known) == length && memcmp(known, text, length) == 0 ? NULL : differs;
    }
    char *copy = strndup(text, length);
    const char *wrong = copy ? added(gn_define_string(r->definitions, copy), index) : memory;
    free(copy);
    return wrong;
}

static const char *read_system_node(struct gn_wire_reader *r, struct words w)
{
    struct gn_definitions *d = r->definitions;
    struct gn_system_node x = {w.at[1], w.at[2], w.at[3], w.at[4] != 0};
    if (!is_string(r, x.name) || !is_string(r, x.class_name) || (x.parent != GN_NONE && x.parent >= w.at[0]))
        return dangling;
    if (w.at[0] < d->system_node_count) {
        const struct gn_system_node *k = &d->system_nodes[w.at[0]];
        return k->name == x.name && k->class_name == x.class_name && k->parent == x.parent &&
                       k->is_domain == x.is_domain
                   ? NULL
                   : differs;
    }
    return w.at[0] > d->system_node_count ? gap : added(gn_define_system_node(d, &x), w.at[0]);
}

static const char *read_process(struct gn_wire_reader *r, struct words w)
{
    struct gn_definitions *d = r->definitions;
    struct gn_process x = {w.at[1], w.at[2], GN_NONE, (int32_t)w.at[3]};
    if (!is_string(r, x.name) || (x.system_node != GN_NONE && x.system_node >= d->system_node_count))
        return dangling;
    if (w.at[0] < d->process_count) {
        const struct gn_process *k = &d->processes[w.at[0]];
        return k->name == x.name && k->system_node == x.system_node && k->rank == x.rank ? NULL : differs;
    }
    return w.at[0] > d->process_count ? gap : added(gn_define_process(d, &x), w.at[0]);
}

static const char *read_location(struct gn_wire_reader *r, struct words w)
{
    struct gn_definitions *d = r->definitions;
    struct gn_location_def x = {
        w.at[1], w.at[2], w.at[3], w.at[4] | (uint64_t)w.at[5] << 32, w.at[6] | (uint64_t)w.at[7] << 32, 0};
    if (!is_string(r, x.name) || x.process >= d->process_count)
        return dangling;
    if (w.at[0] < d->location_count) {
        const struct gn_location_def *k = &d->locations[w.at[0]];
        return k->name == x.name && k->process == x.process && k->domain == x.domain &&
                       k->file_id == x.file_id
                   ? NULL
                   : differs;
    }
    const char *wrong = w.at[0] > d->location_count ? gap : added(gn_define_location(d, &x), w.at[0]);
    if (!wrong && w.at[8])
        d->processes[x.process].main_location = w.at[0];
    return wrong;
}

static const char *read_region(struct gn_wire_reader *r, struct words w)
{
    struct gn_definitions *d = r->definitions;
    struct gn_region_def x = {w.at[1], w.at[2], w.at[3], w.at[4], (uint8_t)w.at[5], GN_ACTIVITY_NONE};
    if (!is_string(r, x.name) || !is_string(r, x.source_file))
        return dangling;
    if (x.role > GN_ROLE_BARRIER)
        x.role = GN_ROLE_UNKNOWN;
    if (w.at[0] < d->region_count) {
        const struct gn_region_def *k = &d->regions[w.at[0]];
        return k->name == x.name && k->source_file == x.source_file && k->begin_line == x.begin_line &&
                       k->end_line == x.end_line
                   ? NULL
                   : differs;
    }
    return w.at[0] > d->region_count ? gap : added(gn_define_region(d, &x), w.at[0]);
}

static const char *read_path(struct gn_wire_reader *r, struct words w)
{
    struct gn_definitions *d = r->definitions;
    struct gn_path_def x = {w.at[1], w.at[2], w.at[3], w.at[4]};
    if ((x.parent != GN_NONE && x.parent >= w.at[0]) ||
        (x.region != GN_NONE && x.region >= d->region_count) || !is_string(r, x.source_file))
        return dangling;
    if (w.at[0] < d->path_count) {
        const struct gn_path_def *k = &d->paths[w.at[0]];
        return memcmp(k, &x, sizeof x) == 0 ? NULL : differs;
    }
    return w.at[0] > d->path_count ? gap : added(gn_define_path(d, &x), w.at[0]);
}

static const char *read_comm(struct gn_wire_reader *r, struct words w)
{
    struct gn_definitions *d = r->definitions;
    uint64_t members = (uint64_t)w.at[3] + w.at[4];
    if (members > w.count - 6)
        return "a communicator has fewer members than it says";
    struct gn_comm_def x = {w.at[1], w.at[2], w.at[3], w.at[4], w.at[5] != 0, (uint32_t *)(w.at + 6)};
    if (!is_string(r, x.name) || (x.parent != GN_NONE && x.parent >= w.at[0]))
        return dangling;
    for (uint64_t i = 0; i < members; i++)
        if (x.members[i] >= d->process_count)
            return dangling;
    if (w.at[0] < d->comm_count) {
        const struct gn_comm_def *k = &d->comms[w.at[0]];
        return k->name == x.name && k->parent == x.parent && k->member_count == x.member_count &&
                       k->other_count == x.other_count && k->is_self == x.is_self &&
                       memcmp(k->members, x.members, members * sizeof *x.members) == 0
                   ? NULL
                   : differs;
    }
    return w.at[0] > d->comm_count ? gap : added(gn_define_comm(d, &x), w.at[0]);
}

static const char *read_window(struct gn_wire_reader *r, struct words w)
{
    struct gn_definitions *d = r->definitions;
    struct gn_window_def x = {w.at[1], w.at[2]};
    if (!is_string(r, x.name) || x.comm >= d->comm_count)
        return dangling;
    if (w.at[0] < d->window_count)
        return d->windows[w.at[0]].name == x.name && d->windows[w.at[0]].comm == x.comm ? NULL : differs;
    return w.at[0] > d->window_count ? gap : added(gn_define_window(d, &x), w.at[0]);
}

static int define(struct gn_wire_reader *r, uint32_t type, struct words w, struct gn_error *err)
{
    static const struct {
        const char *(*read)(struct gn_wire_reader *, struct words);
        size_t words; /* at least */
    } definitions[] = {
        [TYPE_STRING] = {read_string, 2},   [TYPE_SYSTEM_NODE] = {read_system_node, 5},
        [TYPE_PROCESS] = {read_process, 4}, [TYPE_LOCATION] = {read_location, 9},
        [TYPE_REGION] = {read_region, 7},   [TYPE_PATH] = {read_path, 5},
        [TYPE_COMM] = {read_comm, 6},       [TYPE_WINDOW] = {read_window, 3},
    };
    if (w.count < definitions[type].words)
        return bad(r, err, "a definition is too short");
    const char *wrong = definitions[type].read(r, w);
    if (wrong == memory)
        return no_memory(err);
    if (wrong == differs)
        return gn_fail(err, -EINVAL,
                       "%s: byte %llu: %s: streams that are read together have to be of one program", r->name,
                       (unsigned long long)r->position, differs);
    return wrong ? bad(r, err, wrong) : 0;
}

/* A reference in an event: what is not defined becomes nothing. */
static void check_reference(struct gn_wire_reader *r, uint32_t *reference, size_t count)
{
    if (*reference >= count && *reference != GN_NONE) {
        *reference = GN_NONE;
        r->undefined++;
    }
}

static bool is_about_window(unsigned kind)
{
    return kind >= GN_EVENT_RMA_WIN_CREATE && kind <= GN_EVENT_RMA_SYNC;
}

static int read_event(struct gn_wire_reader *r, const struct gn_event *raw, const struct batch *batch,
                      uint32_t i, struct gn_error *err)
{
    struct gn_event event = *raw;
    const struct gn_definitions *d = r->definitions;
    if (event.kind >= GN_EVENT_KIND_COUNT || event.location != batch->location)
        return bad(r, err, "an event's kind or location is wrong");
    if (event.op >= GN_COLLECTIVE_COUNT)
        event.op = GN_COLLECTIVE_UNKNOWN;
    event.reserved = 0;
    event.record = 0;
    if (!gn_event_has_number(event.kind)) {
        check_reference(r, &event.region, d->region_count);
        check_reference(r, &event.path, d->path_count);
    }
    if (event.kind == GN_EVENT_RMA_SYNC)
        check_reference(r, &event.tag, d->comm_count);
    check_reference(r, &event.comm, is_about_window(event.kind) ? d->window_count : d->comm_count);
    return r->sink.event(r->sink.self, &event, batch->sequence + i, err);
}

static int read_batch(struct gn_wire_reader *r, const char *payload, size_t bytes, struct gn_error *err)
{
    struct batch batch;
    const struct gn_event *events = (const struct gn_event *)(payload + sizeof batch);
    if (bytes < sizeof batch)
        return bad(r, err, "a batch of events is too short");
    memcpy(&batch, payload, sizeof batch);
    if (bytes - sizeof batch != (uint64_t)batch.count * sizeof *events ||
        batch.sequence > UINT64_MAX - batch.count)
        return bad(r, err, "a batch of events has not the length it says");
    if (batch.location >= r->carried_count || r->carried[batch.location] != CARRIED)
        return bad(r, err, "events of a location that this stream does not carry, or that has ended");
    int code = 0;
    for (uint32_t i = 0; i < batch.count && code == 0; i++)
        code = read_event(r, &events[i], &batch, i, err);
    return code;
}

static int read_carry(struct gn_wire_reader *r, uint32_t location, struct gn_error *err)
{
    if (location >= r->definitions->location_count)
        return bad(r, err, "it carries a location that is not defined");
    while (r->carried_count <= location) {
        if (!gn_grow(&r->carried, &r->carried_capacity, r->carried_count, sizeof *r->carried))
            return no_memory(err);
        r->carried[r->carried_count++] = NOT_CARRIED;
    }
    if (r->carried[location] != NOT_CARRIED)
        return bad(r, err, "it carries a location twice");
    r->carried[location] = CARRIED;
    return r->sink.carry(r->sink.self, location, err);
}

static int read_end(struct gn_wire_reader *r, uint32_t location, struct gn_error *err)
{
    if (location >= r->carried_count || r->carried[location] != CARRIED)
        return bad(r, err, "the end of a location that this stream does not carry");
    r->carried[location] = ENDED;
    return r->sink.end(r->sink.self, location, err);
}

static int read_record(struct gn_wire_reader *r, const struct record *record, const char *payload,
                       struct gn_error *err)
{
    struct words words = {(const uint32_t *)payload, record->bytes / sizeof(uint32_t)};
    if (r->complete)
        return bad(r, err, "something follows the mark that it is complete");
    if (record->type >= TYPE_STRING && record->type <= TYPE_WINDOW)
        return define(r, record->type, words, err);
    if (record->type == TYPE_EVENTS)
        return read_batch(r, payload, record->bytes, err);
    if (record->type == TYPE_COMPLETE) {
        r->complete = true;
        return 0;
    }
    if ((record->type != TYPE_CARRY && record->type != TYPE_END) || words.count < 1)
        return bad(r, err, "a record of a type that there is not");
    return record->type == TYPE_CARRY ? read_carry(r, words.at[0], err) : read_end(r, words.at[0], err);
}

/* Reads the first whole thing in *bytes; *used is how long it is, 0 when more has to come. */
static int read_one(struct gn_wire_reader *r, const char *bytes, size_t count, size_t *used,
                    struct gn_error *err)
{
    struct record record;
    *used = 0;
    if (!r->has_header) {
        struct header header;
        size_t known = count < sizeof header.magic ? count : sizeof header.magic;
        if (memcmp(bytes, MAGIC, known) != 0)
            return bad(r, err, "it does not begin with " MAGIC);
        if (count < sizeof header)
            return 0;
        memcpy(&header, bytes, sizeof header);
        *used = sizeof header;
        return read_header(r, &header, err);
    }
    if (count < sizeof record)
        return 0;
    memcpy(&record, bytes, sizeof record);
    if (record.bytes > MOST_PAYLOAD || record.bytes % 8)
        return bad(r, err, "a record's length is impossible");
    if (count - sizeof record < record.bytes)
        return 0;
    *used = sizeof record + record.bytes;
    return read_record(r, &record, bytes + sizeof record, err);
}

static bool keep(struct gn_wire_reader *r, const char *bytes, size_t count)
{
    if (r->capacity - r->length < count) {
        size_t wanted = 2 * r->capacity > r->length + count ? 2 * r->capacity : r->length + count + BUFFERED;
        char *larger = realloc(r->buffer, wanted);
        if (!larger)
            return false;
        r->buffer = larger;
        r->capacity = wanted;
    }
    memcpy(r->buffer + r->length, bytes, count);
    r->length += count;
    return true;
}

int gn_wire_feed(struct gn_wire_reader *r, const void *bytes, size_t count, struct gn_error *err)
{
    size_t done = 0, used = 1;
    int code = 0;
    if (r->failed)
        return gn_fail(err, -EINVAL, "%s: it failed before", r->name);
    if (count && !keep(r, bytes, count))
        code = no_memory(err);
    while (code == 0 && used && done < r->length) {
        code = read_one(r, r->buffer + done, r->length - done, &used, err);
        done += used;
        r->position += used;
    }
    r->length -= done;
    if (done && r->length)
        memmove(r->buffer, r->buffer + done, r->length);
    r->failed = code != 0;
    return code;
}
