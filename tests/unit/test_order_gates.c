/* The sort and what threads and processes do beside messages: teams that are forked, meet and are joined,
 * what threads hand over to each other, epochs on windows; in whichever order events arrive. */
#include "order_scene.h"

/* ---- teams ---- */

static struct gn_event of_team(enum gn_event_kind kind, uint32_t location, uint64_t ticks)
{
    struct gn_event e = gn_event_bare(kind, location, ticks);
    if (kind == GN_EVENT_THREAD_BEGIN || kind == GN_EVENT_THREAD_END)
        e.comm = 1;
    if (kind == GN_EVENT_ENTER || kind == GN_EVENT_LEAVE)
        e.region = 0; /* a barrier */
    return e;
}

static size_t position(const struct scene *s, uint32_t location, uint64_t ticks)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->seen[i].event.location == location && s->seen[i].event.ticks == ticks)
            return i;
    fail_msg("location %u has nothing at %u", location, (unsigned)ticks);
    return 0;
}

#define IS_BEFORE(l1, t1, l2, t2) assert_true(position(&s, l1, t1) < position(&s, l2, t2))

/* The rows' events, each row's in their order: rows[row * width + i]. How many these are. */
static size_t push_in_any_order(struct scene *s, const struct gn_event *rows, size_t width,
                                const size_t *counts, size_t row_count, unsigned seed)
{
    size_t next[8] = {0}, left = 0;
    for (size_t r = 0; r < row_count; r++)
        left += counts[r];
    const size_t all = left;
    for (unsigned random = seed; left > 0;) {
        random = random * 1103515245u + 12345u;
        const size_t row = (random >> 16) % row_count;
        if (next[row] == counts[row])
            continue;
        push(s, rows[row * width + next[row]++]);
        left--;
    }
    return all;
}

/* In whichever order the three locations' events arrive. A waits for a message before it forks, and in the
 * parallel region; B waits for one before it comes to the barrier. */
static void teams_are_forked_meet_and_are_joined(void **state)
{
    (void)state;
    const struct gn_event rows[][8] = {
        {message(GN_EVENT_MPI_RECV, A, 5, 1), of_team(GN_EVENT_THREAD_FORK, A, 10),
         of_team(GN_EVENT_THREAD_BEGIN, A, 11), message(GN_EVENT_MPI_RECV, A, 15, 2),
         of_team(GN_EVENT_ENTER, A, 20), of_team(GN_EVENT_LEAVE, A, 41), of_team(GN_EVENT_THREAD_END, A, 50),
         of_team(GN_EVENT_THREAD_JOIN, A, 62)},
        {message(GN_EVENT_MPI_SEND, OTHER, 1, 1), message(GN_EVENT_MPI_SEND, OTHER, 2, 2),
         message(GN_EVENT_MPI_SEND, OTHER, 3, 3)},
        {of_team(GN_EVENT_THREAD_BEGIN, B, 12), message(GN_EVENT_MPI_RECV, B, 30, 3),
         of_team(GN_EVENT_ENTER, B, 40), of_team(GN_EVENT_LEAVE, B, 42), of_team(GN_EVENT_THREAD_END, B, 60)},
    };
    const size_t counts[] = {8, 3, 5};
    for (unsigned seed = 0; seed < 300; seed++) {
        struct scene s;
        open_scene(&s, NULL);
        gn_define_region(s.d, &(struct gn_region_def){.role = GN_ROLE_BARRIER});
        gn_define_comm(s.d, &(struct gn_comm_def){.member_count = 2, .members = (uint32_t[]){0, 0}});
        push_in_any_order(&s, &rows[0][0], 8, counts, 3, seed);
        finish(&s);
        assert_int_equal(s.count, 16);
        IS_BEFORE(A, 10, B, 12);
        IS_BEFORE(A, 20, B, 42);
        IS_BEFORE(B, 40, A, 41);
        IS_BEFORE(B, 60, A, 62);
        assert_int_equal(gn_order_stats(s.order)->released, 0);
        close_scene(&s);
    }
}

static struct gn_event named(enum gn_event_kind kind, uint32_t location, uint64_t ticks, uint64_t name)
{
    struct gn_event e = gn_event_bare(kind, location, ticks);
    e.request = name;
    return e;
}

/* Each side waits for messages before it hands on what the other one waits for. The lock is acquired twice in
 * itself once. */
static void threads_hand_over_what_they_name(void **state)
{
    (void)state;
    enum { LOCK = 7, THREAD = 9 };
    const uint64_t first = (uint64_t)LOCK << 32;
    const struct gn_event rows[][8] = {
        {message(GN_EVENT_MPI_RECV, A, 5, 1), named(GN_EVENT_THREAD_CREATE, A, 10, THREAD),
         named(GN_EVENT_LOCK_ACQUIRE, A, 11, first), message(GN_EVENT_MPI_RECV, A, 30, 3),
         named(GN_EVENT_LOCK_RELEASE, A, 31, first), named(GN_EVENT_LOCK_ACQUIRE, A, 51, first + 2),
         named(GN_EVENT_LOCK_RELEASE, A, 52, first + 2), named(GN_EVENT_THREAD_WAIT, A, 62, THREAD)},
        {message(GN_EVENT_MPI_SEND, OTHER, 1, 1), message(GN_EVENT_MPI_SEND, OTHER, 2, 2),
         message(GN_EVENT_MPI_SEND, OTHER, 3, 3)},
        {named(GN_EVENT_THREAD_BEGIN, B, 12, THREAD), named(GN_EVENT_LOCK_ACQUIRE, B, 32, first + 1),
         named(GN_EVENT_LOCK_ACQUIRE, B, 33, first + 1), message(GN_EVENT_MPI_RECV, B, 40, 2),
         named(GN_EVENT_LOCK_RELEASE, B, 45, first + 1), named(GN_EVENT_LOCK_RELEASE, B, 46, first + 1),
         named(GN_EVENT_THREAD_END, B, 60, THREAD)},
    };
    const size_t counts[] = {8, 3, 7};
    for (unsigned seed = 0; seed < 300; seed++) {
        struct scene s;
        open_scene(&s, NULL);
        push_in_any_order(&s, &rows[0][0], 8, counts, 3, seed);
        finish(&s);
        assert_int_equal(s.count, 18);
        IS_BEFORE(A, 10, B, 12);
        IS_BEFORE(A, 31, B, 32);
        IS_BEFORE(B, 45, A, 51);
        IS_BEFORE(B, 46, A, 51);
        IS_BEFORE(B, 60, A, 62);
        assert_int_equal(gn_order_stats(s.order)->released, 0);
        close_scene(&s);
    }
}

/* A thread of a team that never comes is waited for by nobody. */
static void who_is_missing_in_a_team_holds_nobody_up(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, NULL);
    gn_define_region(s.d, &(struct gn_region_def){.role = GN_ROLE_BARRIER});
    gn_define_comm(s.d, &(struct gn_comm_def){.member_count = 2, .members = (uint32_t[]){0, 0}});
    push(&s, of_team(GN_EVENT_THREAD_FORK, A, 1));
    push(&s, of_team(GN_EVENT_THREAD_FORK, A, 2));
    push(&s, of_team(GN_EVENT_THREAD_BEGIN, A, 3));
    push(&s, of_team(GN_EVENT_ENTER, A, 4));
    push(&s, of_team(GN_EVENT_LEAVE, A, 5));
    push(&s, of_team(GN_EVENT_THREAD_END, A, 6));
    push(&s, of_team(GN_EVENT_THREAD_JOIN, A, 7));
    push(&s, of_team(GN_EVENT_THREAD_BEGIN, B, 8)); /* nobody has ended it */
    push(&s, of_team(GN_EVENT_ENTER, B, 9));
    finish(&s);
    assert_int_equal(s.count, 9);
    assert_int_equal(gn_order_stats(s.order)->released, 0);
    close_scene(&s);
}

/* ---- epochs on windows ---- */

enum { WIN_START, WIN_COMPLETE, WIN_WAIT, WIN_CALLS };

/* The call from `ticks` to two after it, and what it says between. */
static size_t add_call(struct gn_event *row, uint32_t location, unsigned call, uint32_t group, uint64_t ticks)
{
    for (unsigned i = 0; i < 3; i++) {
        static const enum gn_event_kind kinds[] = {GN_EVENT_ENTER, GN_EVENT_RMA_SYNC, GN_EVENT_LEAVE};
        row[i] = gn_event_bare(kinds[i], location, ticks + i);
        if (i == 1) {
            row[i].comm = 0;
            row[i].tag = group;
        } else {
            row[i].region = call;
        }
    }
    return 3;
}

/* Processes 1 and 2 complete epochs towards process 0, which has a second thread in other calls in half of
 * the runs; all of these first get a message that process 3 sends. */
static void epochs_are_awaited_when_they_are_complete(void **state)
{
    (void)state;
    enum { ROWS = 5, TARGET = 0, SENDER = 3, THREAD = 4, CALLS = 8 };
    static const char *const names[] = {"MPI_Win_start", "MPI_Win_complete", "MPI_Win_wait"};
    struct gn_event rows[ROWS][40];
    size_t counts[ROWS] = {0};
    for (uint32_t o = 1; o <= 2; o++)
        for (uint64_t n = 0; n < 3; n++) {
            const uint64_t at = 100 * n + 10 * o;
            counts[o] += add_call(rows[o] + counts[o], o, WIN_START, 1, at);
            struct gn_event e = message(GN_EVENT_MPI_RECV, o, at + 4, (uint32_t)n);
            e.peer = SENDER;
            rows[o][counts[o]++] = e;
            e = message(GN_EVENT_MPI_SEND, SENDER, 5 * n + o, (uint32_t)n);
            e.peer = o;
            rows[SENDER][counts[SENDER]++] = e;
            counts[o] += add_call(rows[o] + counts[o], o, WIN_COMPLETE, 1, at + 6);
        }
    for (uint64_t n = 0; n < 3; n++)
        counts[TARGET] += add_call(rows[TARGET] + counts[TARGET], TARGET, WIN_WAIT, 2, 100 * n + 50);
    for (uint64_t n = 0; n < 10; n++)
        rows[THREAD][counts[THREAD]++] = gn_event_bare(GN_EVENT_THREAD_FORK, THREAD, 30 * n);
    for (unsigned seed = 0; seed < 400; seed++) {
        const size_t used = seed % 2 ? ROWS : ROWS - 1;
        struct scene s = {.d = gn_definitions_new()};
        for (uint32_t l = 0; l < used; l++) {
            if (l < 4)
                gn_define_process(s.d, &(struct gn_process){0, GN_NONE, GN_NONE, (int32_t)l});
            add_location(&s, l < 4 ? l : TARGET);
        }
        for (unsigned c = 0; c < WIN_CALLS; c++)
            gn_define_region(
                s.d, &(struct gn_region_def){.name = gn_define_string(s.d, names[c]), .role = GN_ROLE_MPI});
        gn_define_comm(s.d, &(struct gn_comm_def){.member_count = 4, .members = (uint32_t[]){0, 1, 2, 3}});
        gn_define_comm(s.d, &(struct gn_comm_def){.member_count = 1, .members = (uint32_t[]){TARGET}});
        gn_define_comm(s.d, &(struct gn_comm_def){.member_count = 2, .members = (uint32_t[]){1, 2}});
        gn_define_window(s.d, &(struct gn_window_def){.comm = 0});
        const struct gn_order_sink sink = {&s, take};
        assert_int_equal(gn_order_open(&s.order, s.d, NULL, &sink, NULL), 0);
        const size_t all = push_in_any_order(&s, &rows[0][0], 40, counts, used, seed);
        finish(&s);
        assert_int_equal(s.count, all);
        for (uint64_t n = 0; n < 3; n++)
            for (uint32_t o = 1; o <= 2; o++)
                IS_BEFORE(o, 100 * n + 10 * o + 6, TARGET, 100 * n + 52);
        assert_int_equal(gn_order_stats(s.order)->released, 0);
        assert_int_equal(gn_order_stats(s.order)->nodes, 0);
        close_scene(&s);
    }
}

/* Processes 0 and 1, each with a group of itself alone: communicators 1 and 2. */
static void open_windows(struct scene *s)
{
    static const char *const names[] = {"MPI_Win_start", "MPI_Win_complete", "MPI_Win_wait"};
    open_alone(s, NULL);
    for (unsigned c = 0; c < WIN_CALLS; c++)
        gn_define_region(
            s->d, &(struct gn_region_def){.name = gn_define_string(s->d, names[c]), .role = GN_ROLE_MPI});
    gn_define_comm(s->d, &(struct gn_comm_def){.member_count = 1, .members = (uint32_t[]){0}});
    gn_define_comm(s->d, &(struct gn_comm_def){.member_count = 1, .members = (uint32_t[]){1}});
    gn_define_window(s->d, &(struct gn_window_def){.comm = 0});
}

static void push_call(struct scene *s, uint32_t location, unsigned call, uint64_t ticks)
{
    struct gn_event row[3];
    add_call(row, location, call, location == 0 ? 2 : 1, ticks);
    for (size_t i = 0; i < 3; i++)
        push(s, row[i]);
}

static uint64_t waiting(const struct scene *s)
{
    return gn_order_stats(s->order)->unreported;
}

/* Of a part of a run, where records have numbers: what was begun ahead of it has no other half, and what has
 * one is found, whatever else is missing. */
static void numbers_tell_which_epoch_it_is(void **state)
{
    (void)state;
    static const struct {
        uint32_t location;
        unsigned call;
        uint64_t ticks, number;
    } calls[] = {{0, WIN_COMPLETE, 10, 6}, /* its start is not told */
                 {1, WIN_WAIT, 20, 6},      {1, WIN_WAIT, 30, 7},   {0, WIN_START, 40, 8},
                 {0, WIN_COMPLETE, 50, 8},  {1, WIN_WAIT, 60, 8},   {0, WIN_START, 70, 9},
                 {0, WIN_COMPLETE, 80, 9},  {0, WIN_START, 90, 11}, /* 10 is not told */
                 {0, WIN_COMPLETE, 95, 11}, {1, WIN_WAIT, 97, 10},  {1, WIN_WAIT, 99, 11}};
    struct scene s;
    open_windows(&s);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct gn_event row[3];
        add_call(row, calls[i].location, calls[i].call, calls[i].location == 0 ? 2 : 1, calls[i].ticks);
        row[1].number = calls[i].number;
        for (size_t k = 0; k < 3; k++)
            push(&s, row[k]);
    }
    finish(&s);
    assert_int_equal(s.count, 3 * sizeof calls / sizeof *calls);
    IS_BEFORE(0, 50, 1, 62);
    IS_BEFORE(0, 95, 1, 101);
    assert_int_equal(gn_order_stats(s.order)->released, 0);
    close_scene(&s);
}

/* Whoever completes what it has not started cannot be counted: nobody waits for it, then and later. */
static void who_cannot_be_counted_is_waited_for_by_nobody(void **state)
{
    (void)state;
    struct scene s;
    open_windows(&s);
    push_call(&s, 1, WIN_WAIT, 5);
    assert_true(waiting(&s) > 0);
    push_call(&s, 0, WIN_COMPLETE, 10);
    assert_int_equal(waiting(&s), 0);
    for (uint64_t n = 1; n < 100; n++) {
        push_call(&s, 0, WIN_START, 100 * n);
        push_call(&s, 1, WIN_WAIT, 100 * n + 5);
        assert_int_equal(waiting(&s), 0);
        push_call(&s, 0, WIN_COMPLETE, 100 * n + 10);
    }
    assert_in_range(gn_order_stats(s.order)->nodes, 0, 4);
    finish(&s);
    close_scene(&s);
}

/* What was lost before there was any epoch is lost, too. */
static void epochs_behind_a_loss_are_not_counted(void **state)
{
    (void)state;
    struct scene s;
    open_windows(&s);
    struct gn_event lost = gn_event_bare(GN_EVENT_LOST, 0, 1);
    lost.request = 6;
    push(&s, lost);
    push_call(&s, 1, WIN_WAIT, 20);
    assert_int_equal(waiting(&s), 0);
    finish(&s);
    close_scene(&s);
}

/* Nobody keeps what is completed towards a process that has lost events. */
static void completes_towards_a_loss_are_not_kept(void **state)
{
    (void)state;
    struct scene s;
    open_windows(&s);
    struct gn_event lost = gn_event_bare(GN_EVENT_LOST, 1, 1);
    lost.request = 6;
    push_call(&s, 0, WIN_START, 2);
    push(&s, lost);
    push_call(&s, 0, WIN_COMPLETE, 8);
    for (uint64_t n = 1; n < 1000; n++) {
        push_call(&s, 0, WIN_START, 10 * n + 2);
        push_call(&s, 0, WIN_COMPLETE, 10 * n + 6);
    }
    assert_in_range(gn_order_stats(s.order)->nodes, 0, 4);
    finish(&s);
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(teams_are_forked_meet_and_are_joined),
        cmocka_unit_test(threads_hand_over_what_they_name),
        cmocka_unit_test(who_is_missing_in_a_team_holds_nobody_up),
        cmocka_unit_test(epochs_are_awaited_when_they_are_complete),
        cmocka_unit_test(numbers_tell_which_epoch_it_is),
        cmocka_unit_test(who_cannot_be_counted_is_waited_for_by_nobody),
        cmocka_unit_test(epochs_behind_a_loss_are_not_counted),
        cmocka_unit_test(completes_towards_a_loss_are_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
