/* event/fields — which fields of an event mean something, by its kind: the table of event/event.h, for code
 * that prints events or asks about them. */
#ifndef GNOMON_EVENT_FIELDS_H
#define GNOMON_EVENT_FIELDS_H

#include "event/event.h"

enum gn_field {
    GN_FIELD_REGION = 1,
    GN_FIELD_COMM = 2,
    GN_FIELD_WINDOW = 4, /* comm holds a window */
    GN_FIELD_PEER = 8,   /* peer is a partner */
    GN_FIELD_ROOT = 16,  /* peer is a root */
    GN_FIELD_TAG = 32,
    GN_FIELD_REQUEST = 64,
    GN_FIELD_SENT = 128,     /* bytes_sent */
    GN_FIELD_RECEIVED = 256, /* bytes_received */
    GN_FIELD_OP = 512,
    GN_FIELD_COUNT = 1024, /* request is a number of something: lost events, ticks, or on and off */
};

extern const uint16_t gn_event_field_table[GN_EVENT_KIND_COUNT];

/* Bits of enum gn_field; 0 for a number that is no kind. A field that is there may still be unknown in an
 * event: GN_NONE. */
static inline unsigned gn_event_fields(unsigned kind)
{
    return kind < GN_EVENT_KIND_COUNT ? gn_event_field_table[kind] : 0;
}

#endif
