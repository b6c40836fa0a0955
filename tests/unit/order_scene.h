/* A process with two threads, and another one, of which events are pushed into the sort one by one, and seen
 * as they come out. */
#ifndef ORDER_SCENE_H
#define ORDER_SCENE_H

#include "base/grow.h"
#include "causality/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* Process 0 has the threads A and B; the other one sends to them or receives from them. */
enum { A, OTHER, B, LOCATIONS_MOST };

struct seen {
    struct gn_event event;
    struct gn_place place;
};

struct scene {
    struct gn_definitions *d;
    struct gn_order *order;
    struct seen *seen;
    size_t count, capacity;
};

static inline int take(void *self, const struct gn_event *event, const struct gn_place *place)
{
    struct scene *s = self;
    assert_true(gn_grow(&s->seen, &s->capacity, s->count, sizeof *s->seen));
    s->seen[s->count++] = (struct seen){*event, *place};
    return 0;
}

static inline void add_location(struct scene *s, uint32_t process)
{
    gn_define_location(s->d, &(struct gn_location_def){.process = process, .events = UINT64_MAX});
}

static inline void open_alone(struct scene *s, const struct gn_order_settings *settings)
{
    *s = (struct scene){.d = gn_definitions_new()};
    assert_non_null(s->d);
    for (uint32_t p = 0; p < 2; p++) {
        gn_define_process(s->d, &(struct gn_process){0, GN_NONE, GN_NONE, (int32_t)p});
        add_location(s, p);
    }
    gn_define_comm(s->d, &(struct gn_comm_def){.member_count = 2, .members = (uint32_t[]){0, 1}});
    const struct gn_order_sink sink = {s, take};
    assert_int_equal(gn_order_open(&s->order, s->d, settings, &sink, NULL), 0);
}

static inline void open_scene(struct scene *s, const struct gn_order_settings *settings)
{
    open_alone(s, settings);
    add_location(s, 0);
}

static inline void finish(struct scene *s)
{
    assert_int_equal(gn_order_finish(s->order), 0);
}

static inline void close_scene(struct scene *s)
{
    gn_order_close(s->order);
    gn_definitions_free(s->d);
    free(s->seen);
}

/* ---- events ---- */

static inline void push(struct scene *s, struct gn_event event)
{
    assert_int_equal(gn_order_push(s->order, &event), 0);
}

static inline struct gn_event message(enum gn_event_kind kind, uint32_t location, uint64_t ticks,
                                      uint32_t tag)
{
    struct gn_event e = gn_event_bare(kind, location, ticks);
    e.comm = 0;
    e.peer = location != OTHER;
    e.tag = tag;
    return e;
}

#endif
