/* The sort and threads that share a channel: who is marked when their events overlap, come late, or are lost;
 * one fact a test. What holds of many programs is in test_shared_channels. */
#include "causality/order.h"
#include "base/grow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Process 0 has the threads A and B; the other one sends to them or receives from them. */
enum { A, OTHER, B, LOCATIONS_MOST };
enum { AMBIGUOUS = GN_PLACE_AMBIGUOUS };

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

static int take(void *self, const struct gn_event *event, const struct gn_place *place)
{
    struct scene *s = self;
    assert_true(gn_grow(&s->seen, &s->capacity, s->count, sizeof *s->seen));
    s->seen[s->count++] = (struct seen){*event, *place};
    return 0;
}

static void add_location(struct scene *s, uint32_t process)
{
    gn_define_location(s->d, &(struct gn_location_def){.process = process, .events = UINT64_MAX});
}

static void open_alone(struct scene *s, const struct gn_order_settings *settings)
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

static void open_scene(struct scene *s, const struct gn_order_settings *settings)
{
    open_alone(s, settings);
    add_location(s, 0);
}

static void finish(struct scene *s)
{
    assert_int_equal(gn_order_finish(s->order), 0);
}

static void close_scene(struct scene *s)
{
    gn_order_close(s->order);
    gn_definitions_free(s->d);
    free(s->seen);
}

/* ---- events ---- */

static void push(struct scene *s, struct gn_event event)
{
    assert_int_equal(gn_order_push(s->order, &event), 0);
}

static uint32_t region(struct scene *s, const char *name)
{
    const uint32_t text = gn_define_string(s->d, name);
    for (uint32_t r = 0; r < s->d->region_count; r++)
        if (s->d->regions[r].name == text)
            return r;
    return gn_define_region(s->d, &(struct gn_region_def){.name = text, .role = GN_ROLE_MPI});
}

static void call(struct scene *s, enum gn_event_kind kind, uint32_t location, uint64_t ticks,
                 const char *name)
{
    struct gn_event e = gn_event_bare(kind, location, ticks);
    e.region = region(s, name);
    push(s, e);
}

static void enter(struct scene *s, uint32_t location, uint64_t ticks, const char *name)
{
    call(s, GN_EVENT_ENTER, location, ticks, name);
}

static void leave(struct scene *s, uint32_t location, uint64_t ticks, const char *name)
{
    call(s, GN_EVENT_LEAVE, location, ticks, name);
}

static struct gn_event message(enum gn_event_kind kind, uint32_t location, uint64_t ticks, uint32_t tag)
{
    struct gn_event e = gn_event_bare(kind, location, ticks);
    e.comm = 0;
    e.peer = location != OTHER;
    e.tag = tag;
    return e;
}

static void send(struct scene *s, uint32_t location, uint64_t ticks, uint32_t tag)
{
    push(s, message(GN_EVENT_MPI_SEND, location, ticks, tag));
}

static void receive(struct scene *s, uint32_t location, uint64_t ticks, uint32_t tag)
{
    push(s, message(GN_EVENT_MPI_RECV, location, ticks, tag));
}

/* A call in which a message is sent, or received. */
static void call_send(struct scene *s, uint32_t location, uint64_t ticks, uint32_t tag)
{
    enter(s, location, ticks, "MPI_Send");
    send(s, location, ticks + 1, tag);
    leave(s, location, ticks + 2, "MPI_Send");
}

static void call_receive(struct scene *s, uint32_t location, uint64_t ticks, uint32_t tag)
{
    enter(s, location, ticks, "MPI_Recv");
    receive(s, location, ticks + 1, tag);
    leave(s, location, ticks + 2, "MPI_Recv");
}

/* The flags of the receive at this time. */
static uint32_t flags_of(const struct scene *s, uint32_t location, uint64_t ticks)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->seen[i].event.location == location && s->seen[i].event.ticks == ticks &&
            (s->seen[i].event.kind == GN_EVENT_MPI_RECV || s->seen[i].event.kind == GN_EVENT_MPI_IRECV))
            return s->seen[i].place.flags;
    fail_msg("no receive of %u at %llu was reported", location, (unsigned long long)ticks);
    return 0;
}

static uint64_t sent_of(const struct scene *s, uint32_t location, uint64_t ticks)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->seen[i].event.location == location && s->seen[i].event.ticks == ticks)
            return s->seen[i].place.sent_ticks;
    return 0;
}

#define IS_MARKED(location, ticks) assert_true(flags_of(&s, location, ticks) & AMBIGUOUS)
#define IS_CERTAIN(location, ticks) assert_int_equal(flags_of(&s, location, ticks), GN_PLACE_CORRELATED)

static const struct gn_order_settings in_time = {.in_time = true};

/* ---- what calls may do ---- */

static void a_call_that_only_prepares_sends_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"MPI_Send_init", "MPI_Psend_init", "MPI_Neighbor_alltoall_init"};
    for (size_t i = 0; i < 3; i++) {
        struct scene s;
        open_scene(&s, &in_time);
        enter(&s, B, 10, names[i]);
        call_send(&s, A, 20, 1);
        leave(&s, B, 30, names[i]);
        call_receive(&s, OTHER, 40, 1);
        finish(&s);
        IS_CERTAIN(OTHER, 41);
        close_scene(&s);
    }
}

/* Both threads have received on the channel. */
static void share(struct scene *s, uint32_t tag)
{
    call_send(s, OTHER, 1, tag);
    call_send(s, OTHER, 2, tag);
    call_receive(s, A, 4, tag);
    call_receive(s, B, 7, tag);
}

static void a_matched_probe_may_have_taken_the_message_before(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &in_time);
    share(&s, 1);
    enter(&s, B, 10, "MPI_Mprobe");
    call_send(&s, OTHER, 11, 1);
    call_receive(&s, A, 20, 1);
    leave(&s, B, 30, "MPI_Mprobe");
    finish(&s);
    IS_MARKED(A, 21);
    close_scene(&s);
}

/* ---- calls with several messages ---- */

/* B's message may be before A's second one, or behind it. */
static void several_sends_in_one_call(void **state)
{
    (void)state;
    static const char *const names[] = {"MPI_Startall", "MPI_Neighbor_alltoall", "MPI_Ineighbor_allgather_c"};
    for (size_t i = 0; i < 3; i++) {
        struct scene s;
        open_scene(&s, &in_time);
        enter(&s, A, 10, names[i]);
        send(&s, A, 11, 1);
        call_send(&s, B, 12, 2);
        send(&s, A, 16, 2);
        leave(&s, A, 17, names[i]);
        call_receive(&s, OTHER, 20, 1);
        call_receive(&s, OTHER, 30, 2);
        call_receive(&s, OTHER, 40, 2);
        finish(&s);
        IS_CERTAIN(OTHER, 21);
        IS_MARKED(OTHER, 31);
        IS_MARKED(OTHER, 41);
        assert_int_equal(sent_of(&s, OTHER, 31), 13);
        assert_int_equal(sent_of(&s, OTHER, 41), 16);
        close_scene(&s);
    }
}

static void several_receives_in_one_call(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &in_time);
    share(&s, 2);
    for (uint64_t ticks = 10; ticks < 16; ticks += 2)
        send(&s, OTHER, ticks, ticks == 10 ? 1 : 2);
    enter(&s, A, 20, "MPI_Neighbor_alltoall");
    receive(&s, A, 21, 1);
    call_receive(&s, B, 22, 2);
    receive(&s, A, 26, 2);
    leave(&s, A, 27, "MPI_Neighbor_alltoall");
    finish(&s);
    IS_CERTAIN(A, 21);
    IS_MARKED(B, 23);
    IS_MARKED(A, 26);
    close_scene(&s);
}

static void a_call_with_one_message_has_had_it(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &in_time);
    enter(&s, A, 10, "MPI_Send");
    send(&s, A, 11, 1);
    call_send(&s, B, 12, 2);
    leave(&s, A, 17, "MPI_Send");
    call_receive(&s, OTHER, 30, 2);
    finish(&s);
    IS_CERTAIN(OTHER, 31);
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_only_prepares_sends_nothing),
        cmocka_unit_test(a_matched_probe_may_have_taken_the_message_before),
        cmocka_unit_test(several_sends_in_one_call),
        cmocka_unit_test(several_receives_in_one_call),
        cmocka_unit_test(a_call_with_one_message_has_had_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
