/* capture/tracer's rows of calls that found nothing: wherever a process is killed, what it leaves tells each
 * call once. The writer is stopped at each of its stores, and agent/rings and agent/expand read what is
 * there.
 */
#include "image/seqlock.h"

static void stored(void);
#undef atomic_store_explicit
#define atomic_store_explicit(object, value, order)                                                          \
    (__atomic_store_n((__typeof__((void)0, *(object)) *)(object), (value), __ATOMIC_SEQ_CST), stored())
#include "capture/tracer.c"

#include "calls.h"
#include "agent/expand.h"
#include "agent/rings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { RECORDS = GN_RING_MIN_RECORDS, NODES = 8, CALLS = 64, STEP_TICKS = 100, LENGTH_TICKS = 7 };

/* What the calls told so far add up to, by node. */
struct sum {
    uint64_t calls[NODES], inside_ticks[NODES];
};

static struct gn_rings rings;
static struct gn_tag *tag;
static struct gn_tracer tracer;
static struct sum after[CALLS + 1]; /* the first n calls */
static uint64_t exits[CALLS + 1];   /* of the n-th */
static uint64_t now;                /* ticks */
static uint32_t calls;              /* that have begun to be written */
static bool looking, whole;         /* whole: the last one is written, or in a row */
static uint64_t looks;

/* ---- reading ---- */

struct told {
    struct sum sum;
    uint64_t enter_ticks, last_ticks, polls, inside_ticks;
    uint32_t node;
};

static void tell(void *self, uint32_t location, struct gn_event *event)
{
    struct told *told = self;
    (void)location;
    assert_true(event->kind == GN_EVENT_ENTER || event->kind == GN_EVENT_LEAVE);
    assert_true(event->ticks >= told->last_ticks);
    told->last_ticks = event->ticks;
    if (event->kind == GN_EVENT_ENTER) {
        told->node = event->path;
        told->polls = event->request;
        told->inside_ticks = event->bytes_sent;
        told->enter_ticks = event->ticks;
        return;
    }
    assert_in_range(told->node, 0, NODES - 1);
    told->sum.calls[told->node] += told->polls ? told->polls : 1;
    told->sum.inside_ticks[told->node] += told->polls ? told->inside_ticks : event->ticks - told->enter_ticks;
}

static struct told read_all(void)
{
    struct told told = {0};
    struct gn_record records[64];
    uint64_t first;
    size_t count, waiting;
    struct gn_expand *expand = gn_expand_new(tag, rings.segment, 1, RECORDS, tell, &told);
    assert_non_null(expand);
    rings.places[0] = (struct gn_rings_place){0};
    while ((count = gn_rings_take(&rings, 0, records, 64, &first, &waiting)) > 0)
        for (size_t i = 0; i < count; i++)
            gn_expand_record(expand, 0, first + i, &records[i]);
    gn_expand_end(expand, 0);
    assert_int_equal(gn_expand_garbled(expand), 0);
    gn_expand_free(expand);
    return told;
}

static bool is_all_of(const struct told *told, uint32_t count)
{
    return memcmp(&told->sum, &after[count], sizeof after[count]) == 0 && told->last_ticks == exits[count];
}

static void look(void)
{
    struct told told = read_all();
    looks++;
    if (is_all_of(&told, calls) || (!whole && is_all_of(&told, calls - 1)))
        return;
    for (uint32_t node = 0; node < NODES; node++)
        print_error("node %u: %llu calls told, %llu made\n", node, (unsigned long long)told.sum.calls[node],
                    (unsigned long long)after[calls].calls[node]);
    fail_msg("call %u, head %llu: told up to %llu, left at %llu", calls, (unsigned long long)tracer.head,
             (unsigned long long)told.last_ticks, (unsigned long long)exits[calls]);
}

static void stored(void)
{
    if (!looking)
        return;
    looking = false;
    look();
    looking = true;
}

/* ---- writing ---- */

static struct gn_call_span next_call(uint32_t node)
{
    struct gn_call_span span = {now, now + LENGTH_TICKS, node};
    now += STEP_TICKS;
    assert_in_range(calls, 0, CALLS - 1);
    after[calls + 1] = after[calls];
    calls++;
    after[calls].calls[node]++;
    after[calls].inside_ticks[node] += LENGTH_TICKS;
    exits[calls] = span.exit_ticks;
    return span;
}

static void poll_from(uint32_t node)
{
    struct gn_call_span span = next_call(node);
    whole = false;
    looking = true;
    gn_tracer_poll(&tracer, &span);
    looking = false;
    whole = true;
    look();
}

static void call_from(uint32_t node)
{
    struct gn_call_span span = next_call(node);
    whole = false;
    looking = true;
    gn_tracer_call(&tracer, &span);
    looking = false;
    whole = true;
    look();
}

static void end_row(void)
{
    looking = true;
    gn_tracer_end_polls(&tracer);
    looking = false;
}

static int open_ring(void **state)
{
    int file;
    (void)state;
    tag = mmap(NULL, gn_tag_bytes(1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
               0);
    if (tag == MAP_FAILED || gn_rings_make(&rings, 1, RECORDS, false, &file) != 0)
        return -1;
    close(file);
    for (uint32_t node = 0; node < NODES; node++) {
        GN_SET(tag->locations[0].nodes[node].activity, GN_CALL_TEST);
        GN_SET(tag->locations[0].nodes[node].path, node);
    }
    GN_SET(tag->locations[0].node_count, NODES);
    gn_ring_memory = rings.segment;
    tracer = (struct gn_tracer){0};
    gn_tracer_attach(&tracer, 0);
    memset(after, 0, sizeof after);
    now = 1000;
    calls = 0;
    looks = 0;
    return 0;
}

static int close_ring(void **state)
{
    (void)state;
    gn_rings_close(&rings);
    munmap(tag, gn_tag_bytes(1));
    return 0;
}

/* ---- tests ---- */

static void killed_in_a_row_of_one_node(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        poll_from(1);
    end_row();
    call_from(2);
    poll_from(1);
    call_from(2);
    assert_true(looks > 40);
}

/* The row before has told its calls already: it must not come again with the next one's beginning. */
static void killed_where_a_row_follows_a_row(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 5; i++)
            poll_from(1 + (uint32_t)(i & 1));
        end_row();
    }
}

static void killed_where_nodes_take_turns(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 12; i++)
        poll_from(1 + i % GN_RING_POLL_NODES);
    call_from(1);
    for (uint32_t i = 0; i < 12; i++) /* one more than a row has room for */
        poll_from(1 + i % (GN_RING_POLL_NODES + 1));
    end_row();
}

/* Of so many ticks that the row needs a wide record. */
static void killed_in_a_long_row(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        poll_from(1 + i % 3);
        now += UINT32_MAX;
    }
    call_from(1);
    for (uint32_t i = 0; i < 3; i++) {
        poll_from(1);
        now += UINT32_MAX;
    }
    end_row();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_ring, close_ring)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(killed_in_a_row_of_one_node),
        TEST(killed_where_a_row_follows_a_row),
        TEST(killed_where_nodes_take_turns),
        TEST(killed_in_a_long_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
