/*
 * exchange/exchanges — hosts of one process over the loopback, and what somebody on the way can do: bounds
 * may get wider, facts stay true. All hosts share the counter; simulated clocks on it are known exactly.
 */
#include "exchange/exchanges.h"

#include "clock/counter.h"
#include "exchange/simulated.h"
#include "clock/ticks.h"
#include "exchange/addresses.h"
#include "meddler.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { HOSTS = 4, KEPT = 10000, RUN_US = 150000, SOME = 25 };

static const uint8_t key[GN_KEY_BYTES] = {1, 2, 3}, other_key[GN_KEY_BYTES] = {3, 2, 1};

/* A run: hosts, and who meddles between 0 and 1. */
static struct gn_exchange_settings settings;
static struct gn_exchanges *hosts[HOSTS];
static struct gn_simulated_clock clocks[HOSTS];
static struct gn_endpoint endpoints[HOSTS];
static struct meddler *meddler;

static int set_up(void **state)
{
    (void)state;
    settings = (struct gn_exchange_settings){.interval_ms = 4, .keep = KEPT};
    memset(clocks, 0, sizeof clocks);
    meddler = NULL;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < HOSTS; i++)
        gn_exchanges_free(hosts[i]);
    memset(hosts, 0, sizeof hosts);
    if (meddler)
        meddler_free(meddler);
    unsetenv("GNOMON_TEST_CLOCK");
    return 0;
}

static void open_host(int i, const char *clock)
{
    struct gn_error err;
    char name[16];
    snprintf(name, sizeof name, "host%d", i);
    setenv("GNOMON_TEST_CLOCK", clock, 1);
    assert_int_equal(gn_exchanges_open(&hosts[i], name, &settings, &err), 0);
    endpoints[i] = *gn_exchanges_endpoint(hosts[i]);
    assert_int_equal(gn_simulated_parse(&clocks[i], clock, endpoints[i].hz, &err), 0);
}

static void begin_host(int i, uint32_t count, const uint8_t *with_key)
{
    struct gn_error err;
    assert_int_equal(gn_exchanges_begin(hosts[i], with_key, endpoints, count, (uint32_t)i, &err), 0);
}

/* Children first, as they would: they ask, parents wait. */
static void end_hosts_within(uint32_t count, unsigned patience_ms)
{
    for (uint32_t i = count; i-- > 0;)
        gn_exchanges_end(hosts[i], patience_ms);
}

static void end_hosts(uint32_t count)
{
    end_hosts_within(count, 500);
}

/* What a host's report says while it runs. */
static struct gn_exchange_report so_far(int i)
{
    struct gn_exchange_snapshot s;
    assert_int_equal(gn_exchanges_snapshot(hosts[i], &s), 0);
    struct gn_exchange_report report = s.report;
    gn_exchange_snapshot_clear(&s);
    return report;
}

/* Runs for a while, and on a busy machine for as long as the child needs for so many questions that got an
 * answer and so many that got none. A minute is a sign of hanging. */
static void run_until(int child, uint64_t answered, uint64_t unanswered)
{
    usleep(RUN_US);
    for (int waited_ms = 0; waited_ms < 60000; waited_ms += 10) {
        struct gn_exchange_report now = so_far(child);
        if (now.answered >= answered && now.asked >= now.answered + unanswered)
            return;
        usleep(10000);
    }
    fail_msg("host %d: %llu of %llu questions answered", child, (unsigned long long)so_far(child).answered,
             (unsigned long long)so_far(child).asked);
}

/* One child, one parent, and what is on the way. */
static void run_pair(unsigned meddling, const char *parent_clock, const char *child_clock)
{
    open_host(0, parent_clock);
    open_host(1, child_clock);
    begin_host(0, 2, key);
    if (meddling)
        meddler = meddler_begin(&endpoints[0], meddling, 1, &endpoints[0]);
    begin_host(1, 2, key);
    /* Where answers get lost, the last burst is what is sure to get some. */
    run_until(1, meddling & (GN_LOSE | GN_REORDER) ? 0 : SOME, meddling & GN_MUTE_AFTER ? 1 : 0);
    end_hosts_within(2, meddling & (GN_LOSE | GN_REORDER) ? 10000 : 500);
    if (meddling)
        meddler_end(meddler);
}

/* ---- truth ---- */

/* The first true tick at which the clock shows x or more: readings are monotone here. */
static uint64_t first_showing(const struct gn_simulated_clock *clock, uint64_t x)
{
    uint64_t lo = 0, hi = (uint64_t)1 << 62;
    while (lo < hi) {
        uint64_t middle = lo + (hi - lo) / 2;
        if (gn_simulated_reading(clock, middle) >= x)
            hi = middle;
        else
            lo = middle + 1;
    }
    return lo;
}

/* That a message left `from` at reading s or later and was in `to` when it showed r, or before. */
static void check_fact(int from, uint64_t s, int to, uint64_t r)
{
    assert_true(first_showing(&clocks[from], s) <
                first_showing(&clocks[to], r + endpoints[to].granularity_ticks));
}

static void check_facts(int child, int parent)
{
    size_t count;
    const struct gn_exchange *all = gn_exchanges_kept(hosts[child], &count);
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        if (all[i].there)
            check_fact(child, all[i].asked_ticks, parent, all[i].heard_ticks);
        if (all[i].back)
            check_fact(parent, all[i].answered_ticks, child, all[i].received_ticks);
    }
}

static void check_said_by_parent(int child)
{
    size_t count;
    const struct gn_exchange *all = gn_exchanges_kept(hosts[child], &count);
    for (size_t i = 0; i < count; i++)
        assert_true(meddler_saw(meddler, all[i].heard_ticks, all[i].answered_ticks));
}

static const struct gn_exchange_report *report(int host)
{
    return gn_exchanges_report(hosts[host]);
}

/* ---- hosts that are let alone ---- */

static void facts_are_true(void **state)
{
    (void)state;
    run_pair(0, "", "");
    check_facts(1, 0);
    assert_true(report(1)->answered > 0 && report(0)->served >= report(1)->answered);
    assert_int_equal(report(1)->refused, 0);
    assert_int_equal(report(0)->refused, 0);
}

static void facts_without_kernel_stamps_are_true(void **state)
{
    (void)state;
    settings.no_kernel_stamps = true;
    run_pair(0, "", "");
    check_facts(1, 0);
    assert_int_equal(report(1)->narrowed, 0);
    assert_null(report(1)->problem);
}

static void facts_of_different_clocks_are_true(void **state)
{
    (void)state;
    run_pair(0, "offset=3s,rate=20ppm", "offset=100ms,rate=-50ppm,grain=64");
    check_facts(1, 0);
    assert_true(report(1)->answered > 0);
    assert_true(endpoints[1].granularity_ticks >= 64);
}

static void clocks_get_both_halves(void **state)
{
    (void)state;
    run_pair(0, "", "");
    const struct gn_clocks *both = gn_exchanges_clocks(hosts[1]);
    assert_non_null(both);
    assert_true(gn_clocks_messages(both, 1, 0) == report(1)->answered);
    assert_true(gn_clocks_messages(both, 0, 1) > 0);
    assert_null(gn_exchanges_clocks(hosts[0]));
}

static void check_copied(void *child_sends, uint64_t sent_ticks, uint64_t received_ticks)
{
    int from = child_sends ? 1 : 0;
    check_fact(from, sent_ticks, !from, received_ticks);
}

/* Again and again while it runs, so that a copy in the middle of a change would be seen under a sanitizer. */
static void what_is_known_so_far_is_true(void **state)
{
    (void)state;
    struct gn_exchange_snapshot s = {.clocks = NULL};
    open_host(0, "");
    open_host(1, "offset=3s,rate=40ppm");
    begin_host(0, 2, key);
    begin_host(1, 2, key);
    for (uint64_t answered = 0; answered < 100;) {
        gn_exchange_snapshot_clear(&s);
        assert_int_equal(gn_exchanges_snapshot(hosts[1], &s), 0);
        assert_true(s.report.answered >= answered && s.report.answered <= s.report.asked);
        answered = s.report.answered;
        usleep(1000);
    }
    end_hosts(2);
    assert_true(gn_clocks_messages(s.clocks, 1, 0) > 0 && gn_clocks_messages(s.clocks, 0, 1) > 0);
    gn_clocks_each_kept(s.clocks, 1, 0, check_copied, &s);
    gn_clocks_each_kept(s.clocks, 0, 1, check_copied, NULL);
    assert_true(s.kept_count >= 100 && s.kept_count <= report(1)->answered);
    gn_exchange_snapshot_clear(&s);
}

/* What one of its messages implies may be left out of the copy. */
static void the_copy_gives_the_same_bounds(void **state)
{
    (void)state;
    struct gn_exchange_snapshot s;
    const struct gn_assumption assumption = gn_assumption_default();
    run_pair(0, "", "offset=3s,rate=40ppm");
    assert_int_equal(gn_exchanges_snapshot(hosts[1], &s), 0);
    struct gn_clocks *own = (struct gn_clocks *)gn_exchanges_clocks(hosts[1]);
    assert_int_equal(gn_clocks_solve(own, &assumption, NULL), 0);
    assert_int_equal(gn_clocks_solve(s.clocks, &assumption, NULL), 0);
    const struct gn_bounds *a = gn_clocks_state(own, 1)->bounds, *b = gn_clocks_state(s.clocks, 1)->bounds;
    assert_non_null(a);
    assert_non_null(b);
    uint64_t now = gn_simulated_reading(&clocks[1], gn_ticks());
    for (uint64_t before = 0; before < 1000; before++) {
        uint64_t ticks = now - before * (uint64_t)(endpoints[1].hz / 1000);
        struct gn_interval in_a = gn_bounds_convert(a, ticks), in_b = gn_bounds_convert(b, ticks);
        assert_true(in_a.lo_ns == in_b.lo_ns && in_a.hi_ns == in_b.hi_ns);
    }
    gn_exchange_snapshot_clear(&s);
}

static void the_reference_has_nothing_to_copy(void **state)
{
    (void)state;
    struct gn_exchange_snapshot s;
    open_host(0, "");
    open_host(1, "");
    begin_host(0, 2, key);
    assert_int_equal(gn_exchanges_snapshot(hosts[0], &s), 0);
    assert_null(s.clocks);
    assert_int_equal(s.report.parent, UINT32_MAX);
    gn_exchange_snapshot_clear(&s);
}

static void each_host_asks_its_parent(void **state)
{
    (void)state;
    settings.branching = 1;
    for (int i = 0; i < 3; i++)
        open_host(i, "");
    for (int i = 0; i < 3; i++)
        begin_host(i, 3, key);
    run_until(1, SOME, 0);
    run_until(2, SOME, 0);
    end_hosts(3);
    assert_int_equal(report(0)->parent, UINT32_MAX);
    assert_int_equal(report(1)->parent, 0);
    assert_int_equal(report(2)->parent, 1);
    check_facts(1, 0);
    check_facts(2, 1);
}

/* Here all hosts have one clock: what has been under way is behind the first one's, and never ahead. Who of
 * the others is further behind changes, as late answers are believed little by little. */
static void hosts_agree_on_the_moment(void **state)
{
    (void)state;
    settings.branching = 1;
    for (int i = 0; i < 3; i++)
        open_host(i, i == 1 ? "offset=3s,rate=40ppm" : "");
    assert_int_equal(gn_exchanges_moment(hosts[0]), 0);
    for (int i = 0; i < 3; i++)
        begin_host(i, 3, key);
    run_until(1, SOME, 0);
    run_until(2, SOME, 0);
    const uint64_t last = gn_exchanges_moment(hosts[2]), middle = gn_exchanges_moment(hosts[1]),
                   first = gn_exchanges_moment(hosts[0]);
    assert_true(0 < last && last <= first);
    assert_true(0 < middle && middle <= first);
    assert_int_equal(gn_exchanges_common(hosts[0]), gn_exchanges_common(hosts[2]));
    assert_int_not_equal(gn_exchanges_common(hosts[0]), 0);
    end_hosts(3);
}

static void a_parent_answers_all_its_children(void **state)
{
    (void)state;
    settings.branching = 3;
    for (int i = 0; i < 4; i++)
        open_host(i, "");
    for (int i = 0; i < 4; i++)
        begin_host(i, 4, key);
    for (int i = 1; i < 4; i++)
        run_until(i, SOME, 0);
    end_hosts(4);
    for (int i = 1; i < 4; i++)
        check_facts(i, 0);
}

static void *end_parent(void *unused)
{
    gn_exchanges_end(hosts[0], 10000);
    return unused;
}

static void a_parent_serves_until_its_children_are_done(void **state)
{
    pthread_t thread;
    size_t count;
    (void)state;
    open_host(0, "");
    open_host(1, "");
    begin_host(0, 2, key);
    begin_host(1, 2, key);
    run_until(1, SOME, 0);
    uint64_t ended_ticks = gn_ticks();
    assert_int_equal(pthread_create(&thread, NULL, end_parent, NULL), 0);
    run_until(1, so_far(1).answered + SOME, 0);
    gn_exchanges_end(hosts[1], 500);
    pthread_join(thread, NULL);
    const struct gn_exchange *all = gn_exchanges_kept(hosts[1], &count);
    assert_true(count > 0 && all[count - 1].heard_ticks > ended_ticks);
}

static void keeping_is_bounded(void **state)
{
    size_t count;
    (void)state;
    settings.keep = 10;
    settings.interval_ms = 1;
    run_pair(0, "", "");
    const struct gn_exchange *all = gn_exchanges_kept(hosts[1], &count);
    assert_true(report(1)->answered > 20);
    assert_in_range(count, 4, 10);
    for (size_t i = 1; i < count; i++)
        assert_true(all[i - 1].asked_ticks < all[i].asked_ticks);
}

/* The kernel may count what it then does not send. */
static void a_failed_send_costs_no_other_stamps(void **state)
{
    struct gn_counter counter;
    struct gn_stamped_socket socket;
    struct gn_error err;
    struct gn_reading left;
    (void)state;
    gn_counter_measure(&counter);
    assert_int_equal(gn_stamped_socket_open(&socket, &counter, true, &err), 0);
    if (!socket.kernel)
        skip();
    struct gn_endpoint self = {.port = socket.port, .address_count = 1, .addresses = {{4, {127, 0, 0, 1}}}};
    struct gn_exchange_peer peer;
    assert_true(gn_addresses_peer(&self, 0, socket.only_v4, &peer));
    socket.next_stamp = (uint32_t)-3; /* as if it had counted three more */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(gn_stamped_socket_send(&socket, &peer, "x", 1, &left), 0);
        assert_int_equal(socket.missing, 0);
    }
    gn_stamped_socket_close(&socket);
}

static void dead_addresses_are_passed_over(void **state)
{
    (void)state;
    open_host(0, "");
    open_host(1, "");
    begin_host(0, 2, key);
    endpoints[0].address_count = 3;
    memset(endpoints[0].addresses, 0, sizeof endpoints[0].addresses);
    endpoints[0].addresses[0].family = 9;
    endpoints[0].addresses[1].family = endpoints[0].addresses[2].family = 4;
    memcpy(endpoints[0].addresses[1].bytes, (const uint8_t[]){192, 0, 2, 1}, 4); /* of nobody: RFC 5737 */
    memcpy(endpoints[0].addresses[2].bytes, (const uint8_t[]){127, 0, 0, 1}, 4);
    begin_host(1, 2, key);
    run_until(1, SOME, 0);
    end_hosts(2);
    check_facts(1, 0);
}

static void ipv6_works(void **state)
{
    (void)state;
    if (access("/proc/sys/net/ipv6/conf/lo", F_OK) != 0)
        skip();
    open_host(0, "");
    open_host(1, "");
    begin_host(0, 2, key);
    endpoints[0].address_count = 1;
    endpoints[0].addresses[0].family = 6;
    memcpy(endpoints[0].addresses[0].bytes, (const uint8_t[16]){[15] = 1}, 16);
    begin_host(1, 2, key);
    run_until(1, SOME, 0);
    end_hosts(2);
    check_facts(1, 0);
}

/* ---- hosts that are not there ---- */

static void an_unreachable_parent_is_named(void **state)
{
    (void)state;
    open_host(0, "");
    open_host(1, "");
    begin_host(1, 2, key); /* nobody answers for 0 */
    usleep(RUN_US);
    gn_exchanges_end(hosts[1], 500);
    assert_int_equal(report(1)->answered, 0);
    assert_non_null(report(1)->problem);
    assert_non_null(strstr(report(1)->problem, "no answer from host host0 at "));
    assert_non_null(strstr(report(1)->problem, "firewall"));
    assert_true(report(1)->asked < 1000); /* it does not spin */
}

static void a_parent_that_takes_no_part_is_named(void **state)
{
    (void)state;
    open_host(1, "");
    endpoints[0] = (struct gn_endpoint){.host = "host0"};
    begin_host(1, 2, key);
    gn_exchanges_end(hosts[1], 500);
    assert_non_null(strstr(report(1)->problem, "host host0 takes no part"));
    assert_null(gn_exchanges_clocks(hosts[1]));
}

static void a_parent_that_dies_leaves_true_facts(void **state)
{
    (void)state;
    open_host(0, "");
    open_host(1, "");
    begin_host(0, 2, key);
    begin_host(1, 2, key);
    run_until(1, SOME, 0);
    gn_exchanges_free(hosts[0]);
    hosts[0] = NULL;
    run_until(1, 0, 1);
    gn_exchanges_end(hosts[1], 500);
    check_facts(1, 0);
    assert_true(report(1)->asked > report(1)->answered);
}

static void a_wrong_key_gets_nothing(void **state)
{
    (void)state;
    open_host(0, "");
    open_host(1, "");
    begin_host(0, 2, key);
    begin_host(1, 2, other_key);
    while (so_far(0).refused == 0)
        usleep(RUN_US);
    end_hosts(2);
    assert_int_equal(report(1)->answered, 0);
    assert_int_equal(report(0)->served, 0);
    assert_true(report(0)->refused > 0);
}

static void nonsense_of_others_is_an_error(void **state)
{
    struct gn_error err;
    (void)state;
    open_host(1, "");
    endpoints[0] = endpoints[1];
    endpoints[0].hz = -1;
    assert_int_equal(gn_exchanges_begin(hosts[1], key, endpoints, 2, 1, &err), -EINVAL);
    assert_non_null(strstr(err.text, "makes no sense"));
    endpoints[0] = endpoints[1];
    assert_int_equal(gn_exchanges_begin(hosts[1], key, endpoints, 2, 2, &err), -EINVAL);
}

/* ---- hosts with somebody in between ---- */

static void check_meddling(unsigned meddling)
{
    run_pair(meddling, "", "offset=2s,rate=100ppm");
    check_facts(1, 0);
    check_said_by_parent(1);
    assert_true(report(1)->answered > 0);
}

static void loss_is_no_lie(void **state)
{
    (void)state;
    check_meddling(GN_LOSE);
}

static void doubled_datagrams_are_refused(void **state)
{
    (void)state;
    check_meddling(GN_DOUBLE);
    assert_true(report(0)->refused >= report(0)->served);
    assert_true(report(1)->refused >= report(1)->answered);
    assert_true(report(0)->served <= report(1)->asked);
}

static void reordering_is_no_lie(void **state)
{
    (void)state;
    check_meddling(GN_REORDER);
}

static void asymmetry_is_no_lie(void **state)
{
    (void)state;
    check_meddling(GN_DELAY_THERE);
}

static void forged_datagrams_change_nothing(void **state)
{
    (void)state;
    check_meddling(GN_FORGE);
    assert_true(report(0)->refused >= report(0)->served);
    assert_true(report(1)->refused > 0);
}

static void replayed_datagrams_change_nothing(void **state)
{
    (void)state;
    settings.interval_ms = 1; /* so many that numbers meet in the places for questions */
    check_meddling(GN_REPLAY);
    assert_true(report(0)->refused > 0 && report(1)->refused > 0);
    assert_true(report(0)->served <= report(1)->asked);
}

static void truncated_datagrams_change_nothing(void **state)
{
    (void)state;
    check_meddling(GN_TRUNCATE);
    assert_true(report(0)->refused > 0 && report(1)->refused > 0);
}

static void reflected_datagrams_change_nothing(void **state)
{
    (void)state;
    check_meddling(GN_REFLECT);
    assert_true(report(0)->refused > 0 && report(1)->refused > 0);
}

static void rubbish_changes_nothing(void **state)
{
    (void)state;
    check_meddling(GN_RUBBISH);
    assert_true(report(0)->refused > 0 && report(1)->refused > 0);
}

static void another_key_changes_nothing(void **state)
{
    (void)state;
    check_meddling(GN_OTHER_KEY);
    assert_true(report(0)->refused > 0 && report(1)->refused > 0);
}

static void all_at_once_changes_nothing(void **state)
{
    (void)state;
    check_meddling(GN_LOSE | GN_DOUBLE | GN_REORDER | GN_FORGE | GN_REPLAY | GN_TRUNCATE | GN_REFLECT |
                   GN_RUBBISH | GN_OTHER_KEY);
}

static void silence_from_some_time_on_is_no_lie(void **state)
{
    (void)state;
    settings.interval_ms = 1;
    check_meddling(GN_MUTE_AFTER);
    assert_true(report(1)->asked > report(1)->answered);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(facts_are_true),
        TEST(facts_without_kernel_stamps_are_true),
        TEST(facts_of_different_clocks_are_true),
        TEST(clocks_get_both_halves),
        TEST(what_is_known_so_far_is_true),
        TEST(the_copy_gives_the_same_bounds),
        TEST(the_reference_has_nothing_to_copy),
        TEST(each_host_asks_its_parent),
        TEST(hosts_agree_on_the_moment),
        TEST(a_parent_answers_all_its_children),
        TEST(a_parent_serves_until_its_children_are_done),
        TEST(keeping_is_bounded),
        TEST(a_failed_send_costs_no_other_stamps),
        TEST(dead_addresses_are_passed_over),
        TEST(ipv6_works),
        TEST(an_unreachable_parent_is_named),
        TEST(a_parent_that_takes_no_part_is_named),
        TEST(a_parent_that_dies_leaves_true_facts),
        TEST(a_wrong_key_gets_nothing),
        TEST(nonsense_of_others_is_an_error),
        TEST(loss_is_no_lie),
        TEST(doubled_datagrams_are_refused),
        TEST(reordering_is_no_lie),
        TEST(asymmetry_is_no_lie),
        TEST(forged_datagrams_change_nothing),
        TEST(replayed_datagrams_change_nothing),
        TEST(truncated_datagrams_change_nothing),
        TEST(reflected_datagrams_change_nothing),
        TEST(rubbish_changes_nothing),
        TEST(another_key_changes_nothing),
        TEST(all_at_once_changes_nothing),
        TEST(silence_from_some_time_on_is_no_lie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
