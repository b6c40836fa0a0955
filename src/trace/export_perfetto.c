#include "trace/export.h"

#include "event/fields.h"
#include "perfetto.pb-c.h"
#include "base/mix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A Perfetto file is a message with packets and nothing else: messages with one packet each, one behind the
 * other, are the same bytes. A location is a thread track, a region a slice in it, everything else an
 * instant; a message is a flow that begins at the instant of the send and ends at that of the receive. */
struct perfetto {
    FILE *file;
    const struct gn_definitions *definitions;
    const struct gn_origin *origin;
    uint8_t *bytes;
    size_t capacity;
};

typedef Perfetto__Protos__TracePacket Packet;
typedef Perfetto__Protos__TrackEvent TrackEvent;
typedef Perfetto__Protos__DebugAnnotation Annotation;

enum { SEQUENCE = 1 };
enum { STATE_CLEARED = 1, STATE_NEEDED = 2 }; /* SEQ_INCREMENTAL_STATE_CLEARED, SEQ_NEEDS_INCREMENTAL_STATE */
enum { MOST_ANNOTATIONS = 8 };

static int put_packet(struct perfetto *p, Packet *packet, struct gn_error *err)
{
    Perfetto__Protos__Trace trace = PERFETTO__PROTOS__TRACE__INIT;
    trace.n_packet = 1;
    trace.packet = &packet;
    packet->has_trusted_packet_sequence_id = true;
    packet->trusted_packet_sequence_id = SEQUENCE;
    size_t size = perfetto__protos__trace__get_packed_size(&trace);
    if (size > p->capacity) {
        uint8_t *bytes = realloc(p->bytes, 2 * size);
        if (!bytes)
            return gn_fail(err, -ENOMEM, "no memory to write events");
        p->bytes = bytes;
        p->capacity = 2 * size;
    }
    perfetto__protos__trace__pack(&trace, p->bytes);
    fwrite(p->bytes, 1, size, p->file);
    return gn_export_check(p->file, err);
}

/* ---- names and tracks ---- */

/* Numbers of interned names: regions, then kinds of events; 0 is none. */
static uint64_t region_iid(const struct perfetto *p, uint32_t region)
{
    return region < p->definitions->region_count ? (uint64_t)region + 1 : 0;
}

static uint64_t kind_iid(const struct perfetto *p, unsigned kind)
{
    return p->definitions->region_count + 1 + kind;
}

static int put_name(struct perfetto *p, uint64_t iid, const char *name, struct gn_error *err)
{
    Perfetto__Protos__EventName entry = PERFETTO__PROTOS__EVENT_NAME__INIT, *entries = &entry;
    Perfetto__Protos__InternedData data = PERFETTO__PROTOS__INTERNED_DATA__INIT;
    Packet packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
    entry.has_iid = true;
    entry.iid = iid;
    entry.name = (char *)(uintptr_t)name;
    data.n_event_names = 1;
    data.event_names = &entries;
    packet.interned_data = &data;
    packet.has_sequence_flags = true;
    packet.sequence_flags = iid == 1 ? STATE_CLEARED : STATE_NEEDED;
    return put_packet(p, &packet, err);
}

static int put_names(struct perfetto *p, struct gn_error *err)
{
    const struct gn_definitions *d = p->definitions;
    int code = 0;
    for (uint32_t i = 0; i < d->region_count && code == 0; i++)
        code = put_name(p, region_iid(p, i), gn_string(d, d->regions[i].name), err);
    for (unsigned kind = 0; kind < GN_EVENT_KIND_COUNT && code == 0; kind++)
        code = put_name(p, kind_iid(p, kind), gn_event_name(kind), err);
    return code;
}

/* Tracks and numbers that look like those of processes and threads: none is 0, which is the idle process. */
static uint64_t process_track(uint32_t process)
{
    return (uint64_t)process + 1;
}

static uint64_t location_track(const struct perfetto *p, uint32_t location)
{
    return p->definitions->process_count + (uint64_t)location + 1;
}

static int put_process(struct perfetto *p, uint32_t process, struct gn_error *err)
{
    Perfetto__Protos__ProcessDescriptor descriptor = PERFETTO__PROTOS__PROCESS_DESCRIPTOR__INIT;
    Perfetto__Protos__TrackDescriptor track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
    Packet packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
    descriptor.has_pid = true;
    descriptor.pid = (int32_t)process_track(process);
    descriptor.process_name =
        (char *)(uintptr_t)gn_string(p->definitions, p->definitions->processes[process].name);
    track.has_uuid = true;
    track.uuid = process_track(process);
    track.process = &descriptor;
    packet.track_descriptor = &track;
    return put_packet(p, &packet, err);
}

static int put_thread(struct perfetto *p, uint32_t location, struct gn_error *err)
{
    const struct gn_location_def *definition = &p->definitions->locations[location];
    Perfetto__Protos__ThreadDescriptor descriptor = PERFETTO__PROTOS__THREAD_DESCRIPTOR__INIT;
    Perfetto__Protos__TrackDescriptor track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
    Packet packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
    descriptor.has_pid = descriptor.has_tid = true;
    descriptor.pid = (int32_t)process_track(definition->process);
    descriptor.tid = (int32_t)location_track(p, location);
    descriptor.thread_name = (char *)(uintptr_t)gn_string(p->definitions, definition->name);
    track.has_uuid = track.has_parent_uuid = true;
    track.uuid = location_track(p, location);
    track.parent_uuid = process_track(definition->process);
    track.thread = &descriptor;
    packet.track_descriptor = &track;
    return put_packet(p, &packet, err);
}

static int put_tracks(struct perfetto *p, struct gn_error *err)
{
    int code = 0;
    for (uint32_t i = 0; i < p->definitions->process_count && code == 0; i++)
        code = put_process(p, i, err);
    for (uint32_t i = 0; i < p->definitions->location_count && code == 0; i++)
        code = put_thread(p, i, err);
    return code;
}

/* ---- events ---- */

struct annotations {
    Annotation values[MOST_ANNOTATIONS];
    Annotation *list[MOST_ANNOTATIONS];
    size_t count;
};

static Annotation *annotate(struct annotations *a, const char *name)
{
    Annotation *value = a->list[a->count] = &a->values[a->count];
    a->count++;
    perfetto__protos__debug_annotation__init(value);
    value->name = (char *)(uintptr_t)name;
    return value;
}

static void annotate_text(struct annotations *a, const char *name, const char *text)
{
    annotate(a, name)->string_value = (char *)(uintptr_t)text;
}

static void annotate_number(struct annotations *a, const char *name, uint64_t number)
{
    Annotation *value = annotate(a, name);
    value->has_uint_value = true;
    value->uint_value = number;
}

static void annotate_partner(struct annotations *a, const char *name, uint32_t partner)
{
    if (partner == GN_ANY)
        annotate_text(a, name, "any");
    else if (partner < GN_ROOT_NONE)
        annotate_number(a, name, partner);
}

/* At most one of each pair of lines, and bytes: no more than MOST_ANNOTATIONS. */
static void annotate_event(const struct perfetto *p, struct annotations *a, const struct gn_event *e)
{
    const struct gn_definitions *d = p->definitions;
    unsigned has = gn_event_fields(e->kind);
    if (has & GN_FIELD_COMM && e->comm < d->comm_count)
        annotate_text(a, "comm", gn_string(d, d->comms[e->comm].name));
    else if (has & GN_FIELD_WINDOW && e->comm < d->window_count)
        annotate_text(a, "window", gn_string(d, d->windows[e->comm].name));
    if (has & GN_FIELD_OP && e->op < GN_COLLECTIVE_COUNT)
        annotate_text(a, "op", gn_collective_name(e->op));
    if (has & (GN_FIELD_PEER | GN_FIELD_ROOT))
        annotate_partner(a, has & GN_FIELD_PEER ? "peer" : "root", e->peer);
    if (has & GN_FIELD_TAG)
        annotate_partner(a, "tag", e->tag);
    if (has & (GN_FIELD_REQUEST | GN_FIELD_COUNT))
        annotate_number(a, has & GN_FIELD_COUNT ? "count" : "request", e->request);
    if (has & GN_FIELD_SENT && e->bytes_sent != GN_BYTES_UNKNOWN)
        annotate_number(a, "bytes_sent", e->bytes_sent);
    if (has & GN_FIELD_RECEIVED && e->bytes_received != GN_BYTES_UNKNOWN)
        annotate_number(a, "bytes_received", e->bytes_received);
}

/* Unix time where it is known; nothing lies before 0. */
static uint64_t time_of(const struct perfetto *p, uint64_t ticks)
{
    int64_t ns = (int64_t)p->definitions->realtime_ns + gn_origin_ns(p->origin, ticks);
    return ns < 0 ? 0 : (uint64_t)ns;
}

static void add_flow(TrackEvent *event, uint64_t *flow, const struct gn_event *e,
                     const struct gn_place *place)
{
    if (gn_export_is_send(e)) {
        *flow = gn_mix_at(0, e->location, e->ticks);
        event->n_flow_ids = 1;
        event->flow_ids = flow;
    } else if (gn_export_is_receive(e, place)) {
        *flow = gn_mix_at(0, place->sender, place->sent_ticks);
        event->n_terminating_flow_ids = 1;
        event->terminating_flow_ids = flow;
    }
}

static Perfetto__Protos__TrackEvent__Type type_of(const struct gn_event *e)
{
    switch (e->kind) {
    case GN_EVENT_ENTER:
    case GN_EVENT_REGION_BEGIN:
        return PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN;
    case GN_EVENT_LEAVE:
    case GN_EVENT_REGION_END:
        return PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END;
    default:
        return PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_INSTANT;
    }
}

static int put(void *self, uint64_t n, const struct gn_event *e, const struct gn_place *place,
               struct gn_error *err)
{
    struct perfetto *p = self;
    TrackEvent event = PERFETTO__PROTOS__TRACK_EVENT__INIT;
    Packet packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
    struct annotations annotations = {.count = 0};
    char site[1024], *category = "mpi";
    uint64_t flow;
    (void)n;
    event.has_type = event.has_track_uuid = true;
    event.type = type_of(e);
    event.track_uuid = location_track(p, e->location);
    if (event.type == PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_INSTANT) {
        event.name_iid = kind_iid(p, e->kind);
        annotate_event(p, &annotations, e);
    } else if (event.type == PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN) {
        event.name_iid = region_iid(p, e->region);
        gn_export_site(p->definitions, e->path, site, sizeof site);
        if (site[0])
            annotate_text(&annotations, "site", site);
    }
    event.has_name_iid = event.name_iid != 0;
    event.n_categories = 1;
    event.categories = &category;
    event.n_debug_annotations = annotations.count;
    event.debug_annotations = annotations.list;
    add_flow(&event, &flow, e, place);
    packet.track_event = &event;
    packet.has_timestamp = packet.has_sequence_flags = true;
    packet.timestamp = time_of(p, place->ticks);
    packet.sequence_flags = STATE_NEEDED;
    return put_packet(p, &packet, err);
}

static int finish(void *self, struct gn_error *err)
{
    struct perfetto *p = self;
    int code = gn_export_close(p->file, err);
    free(p->bytes);
    free(p);
    return code;
}

static void close_output(void *self)
{
    finish(self, NULL);
}

static int flush(void *self, struct gn_error *err)
{
    struct perfetto *p = self;
    fflush(p->file);
    return gn_export_check(p->file, err);
}

int gn_export_perfetto(struct gn_output *output, FILE *file, const struct gn_definitions *definitions,
                       const struct gn_origin *origin, struct gn_error *err)
{
    struct perfetto *p = calloc(1, sizeof *p);
    if (!p)
        return gn_fail(err, -ENOMEM, "no memory to write events");
    *p = (struct perfetto){.file = file, .definitions = definitions, .origin = origin};
    int code = put_names(p, err);
    if (code == 0)
        code = put_tracks(p, err);
    if (code != 0) {
        free(p->bytes);
        free(p);
        return code;
    }
    *output =
        (struct gn_output){.self = p, .put = put, .flush = flush, .finish = finish, .close = close_output};
    return 0;
}
