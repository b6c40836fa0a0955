/* analyse/history: collectives between the two groups of an intercommunicator. */
#include "analyse/history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Ranks 0 and 1 are the first group, ranks 2 and 3 the second one. */
enum { RANKS = 4, EVENTS = 4 };

struct world {
    struct gn_definitions *d;
    struct gn_event events[RANKS][EVENTS];
    bool is_pulled[RANKS];
};

static int64_t pull(void *self, uint32_t location, const struct gn_event **events, struct gn_error *err)
{
    struct world *w = self;
    (void)err;
    *events = w->events[location];
    return w->is_pulled[location] ? 0 : (w->is_pulled[location] = true, EVENTS);
}

static void take_part(struct world *w, uint32_t rank, uint8_t op, uint32_t root, uint64_t enter_ns,
                      uint64_t leave_ns)
{
    const enum gn_event_kind kinds[EVENTS] = {GN_EVENT_ENTER, GN_EVENT_COLLECTIVE_BEGIN,
                                              GN_EVENT_COLLECTIVE_END, GN_EVENT_LEAVE};
    for (int i = 0; i < EVENTS; i++) {
        struct gn_event *e = &w->events[rank][i];
        *e = gn_event_bare(kinds[i], rank, i < 2 ? enter_ns : leave_ns);
        if (kinds[i] == GN_EVENT_ENTER || kinds[i] == GN_EVENT_LEAVE) {
            e->region = 0;
            continue;
        }
        e->op = op;
        e->comm = 0;
        e->peer = root;
        e->bytes_sent = e->bytes_received = 8;
    }
}

static void open_world(struct world *w, const char *call)
{
    const uint32_t members[] = {0, 1, 2, 3};
    *w = (struct world){.d = gn_definitions_new()};
    w->d->ticks_per_second = 1000000000;
    gn_define_region(w->d,
                     &(struct gn_region_def){.name = gn_define_string(w->d, call), .role = GN_ROLE_MPI});
    for (uint32_t r = 0; r < RANKS; r++) {
        gn_define_process(w->d, &(struct gn_process){.main_location = GN_NONE, .rank = (int32_t)r});
        gn_define_location(w->d, &(struct gn_location_def){.process = r, .events = UINT64_MAX});
    }
    gn_define_comm(
        w->d, &(struct gn_comm_def){
                  .parent = GN_NONE, .member_count = 2, .other_count = 2, .members = (uint32_t *)members});
}

/* One instance, in which these give, and get. */
static void assert_parts(struct world *w, const bool *gives, const bool *gets)
{
    struct gn_error err = {""};
    struct gn_bounds *bounds = gn_bounds_reference(1e9, 1, 0, &err);
    const struct gn_bounds *of[RANKS] = {bounds, bounds, bounds, bounds};
    const struct gn_history_settings how = {.bounds = of};
    struct gn_source source = {.self = w, .definitions = w->d, .pull = pull};
    struct gn_history h;
    if (gn_history_read(&h, &source, &how, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(h.gathering_count, 1);
    assert_int_equal(h.gatherings[0].part_count, RANKS);
    assert_true(h.gatherings[0].is_vague);
    for (uint32_t i = 0; i < RANKS; i++) {
        const struct gn_given_part *part = &h.parts[h.gatherings[0].first_part + i];
        assert_int_equal(part->member, i);
        assert_int_equal(part->gives, gives[i]);
        assert_int_equal(part->gets, gets[i]);
    }
    gn_history_clear(&h);
    gn_definitions_free(w->d);
    gn_bounds_free(bounds);
}

/* The first group names the root's rank in the second one, which is a rank of its own, too. */
static void a_root_is_of_its_own_group(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, "MPI_Bcast");
    take_part(&w, 0, GN_COLLECTIVE_BCAST, 1, 100, 1100);
    take_part(&w, 1, GN_COLLECTIVE_BCAST, 1, 100, 1100);
    take_part(&w, 2, GN_COLLECTIVE_BCAST, GN_ROOT_NONE, 100, 150);
    take_part(&w, 3, GN_COLLECTIVE_BCAST, GN_ROOT_SELF, 1000, 1010);
    assert_parts(&w, (bool[]){false, false, false, true}, (bool[]){true, true, false, false});
}

static void a_root_gets_from_the_other_group(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, "MPI_Reduce");
    take_part(&w, 0, GN_COLLECTIVE_REDUCE, 1, 1000, 1010);
    take_part(&w, 1, GN_COLLECTIVE_REDUCE, 1, 1000, 1010);
    take_part(&w, 2, GN_COLLECTIVE_REDUCE, GN_ROOT_NONE, 100, 150);
    take_part(&w, 3, GN_COLLECTIVE_REDUCE, GN_ROOT_SELF, 100, 1100);
    /* what the root gives itself counts as given */
    assert_parts(&w, (bool[]){true, true, false, true}, (bool[]){false, false, false, true});
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_root_is_of_its_own_group),
                                       cmocka_unit_test(a_root_gets_from_the_other_group)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
