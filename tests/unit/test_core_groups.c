/* clock/core_groups: cores with other counters are found, and nothing is assumed of those that were not
 * tried. */
#include "clock/core_groups.h"
#include "clock/ticks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATIENCE_MS = 20000, CORES = 1024 };
static const double HZ = 1e9; /* so that a tick is 1 ns */

static cpu_set_t ours;
static atomic_bool quiet;

static int core_number(int index)
{
    int core = 0;
    while (!CPU_ISSET(core, &ours) || index-- > 0)
        core++;
    return core;
}

static int last_core(void)
{
    return core_number(CPU_COUNT(&ours) - 1);
}

static struct gn_core_groups find(unsigned patience_ms)
{
    struct gn_core_groups groups;
    struct gn_error err;
    if (gn_core_groups_find(&groups, HZ, patience_ms, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(groups.tried + groups.untried, CPU_COUNT(&ours));
    return groups;
}

static void force(int core, long long ticks)
{
    char text[64];
    snprintf(text, sizeof text, "%d:%+lld", core, ticks);
    setenv("GNOMON_TEST_DOMAIN", text, 1);
}

/* Of cores 0 … count − 1. */
static struct gn_core_groups made_up(int count, int *group, int groups)
{
    return (struct gn_core_groups){.group = group, .cores = count, .group_count = groups};
}

static void findings_agree(int *left, int lefts, int *right, int rights, int count, bool agree)
{
    struct gn_core_groups a = made_up(count, left, lefts), b = made_up(count, right, rights);
    assert_int_equal(gn_core_groups_agree(&a, &b), agree);
    assert_int_equal(gn_core_groups_agree(&b, &a), agree);
}

static void other_numbers_are_no_contradiction(void **state)
{
    (void)state;
    findings_agree((int[]){0, 1, 1, 2}, 3, (int[]){1, 0, 0, 2}, 3, 4, true);
}

static void cores_that_were_not_tried_twice_contradict_nothing(void **state)
{
    (void)state;
    findings_agree((int[]){0, 1, GN_CORE_UNTRIED}, 2, (int[]){0, GN_CORE_UNTRIED, 0}, 1, 3, true);
}

static void cores_that_part_contradict(void **state)
{
    (void)state;
    findings_agree((int[]){0, 0, 1}, 2, (int[]){0, 1, 2}, 3, 3, false);
}

static int restore(void **state)
{
    (void)state;
    unsetenv("GNOMON_TEST_DOMAIN");
    return sched_setaffinity(0, sizeof ours, &ours);
}

static void need_two_cores(void)
{
    if (CPU_COUNT(&ours) < 2)
        skip();
}

static void cores_share_the_counter(void **state)
{
    (void)state;
    struct gn_core_groups groups = find(PATIENCE_MS);
    assert_int_equal(groups.untried, 0);
    assert_int_equal(groups.group_count, 1);
    assert_true(groups.offset_ns == 0);
    for (int core = 0; core < groups.cores; core++)
        assert_int_equal(groups.group[core], CPU_ISSET(core, &ours) ? 0 : GN_CORE_NOT_OURS);
    gn_core_groups_clear(&groups);
}

static void what_is_known_is_not_nothing(void **state)
{
    (void)state;
    need_two_cores();
    struct gn_core_groups groups = find(PATIENCE_MS);
    assert_true(groups.width_ns > 0); /* a line takes its time */
    gn_core_groups_clear(&groups);
}

static void another_counter_is_found(long long ticks)
{
    need_two_cores();
    int last = last_core();
    force(last, ticks);
    struct gn_core_groups groups = find(PATIENCE_MS);
    assert_int_equal(groups.group_count, 2);
    for (int core = 0; core < last; core++)
        assert_int_equal(groups.group[core], CPU_ISSET(core, &ours) ? 0 : GN_CORE_NOT_OURS);
    assert_int_equal(groups.group[last], 1);
    assert_true(groups.offset_ns > 0 && groups.offset_ns <= 1e9);
    gn_core_groups_clear(&groups);
}

static void a_counter_ahead_is_found(void **state)
{
    (void)state;
    another_counter_is_found(1000000000);
}

static void a_counter_behind_is_found(void **state)
{
    (void)state;
    another_counter_is_found(-1000000000);
}

static void throws_between_groups_come_along(void **state)
{
    (void)state;
    need_two_cores();
    enum { AHEAD = 1000000000 };
    uint64_t before = gn_ticks_ordered();
    force(last_core(), AHEAD);
    struct gn_core_groups groups = find(PATIENCE_MS);
    uint64_t after = gn_ticks_ordered();
    const struct gn_core_throw *to = &groups.groups[1].to_first, *from = &groups.groups[1].from_first;
    assert_int_equal(groups.groups[0].first, core_number(0));
    assert_int_equal(groups.groups[1].first, last_core());
    /* on one counter, which these cores really have: before < sent <= received < after */
    assert_true(before < to->sent_ticks - AHEAD && to->sent_ticks - AHEAD <= to->received_ticks);
    assert_true(before < from->sent_ticks && from->sent_ticks <= from->received_ticks - AHEAD);
    assert_true(to->received_ticks < after && from->received_ticks - AHEAD < after);
    gn_core_groups_clear(&groups);
}

/* Another program, since sanitizers have threads of their own in this one. */
static int group_of_program(const struct gn_core_groups *groups, int bound_to)
{
    int started[2], status;
    char nothing;
    assert_int_equal(pipe2(started, O_CLOEXEC), 0);
    pid_t program = fork();
    if (program == 0) {
        if (bound_to >= 0)
            gn_core_groups_bind(groups, bound_to);
        execlp("sleep", "sleep", "60", NULL);
        _exit(1);
    }
    close(started[1]);
    assert_int_equal(read(started[0], &nothing, 1), 0);
    close(started[0]);
    int group = gn_core_groups_of_process(groups, program);
    kill(program, SIGKILL);
    assert_int_equal(waitpid(program, &status, 0), program);
    return group;
}

static void a_process_has_the_group_of_all_its_cores(void **state)
{
    (void)state;
    need_two_cores();
    force(last_core(), 1000000000);
    struct gn_core_groups groups = find(PATIENCE_MS);
    assert_int_equal(group_of_program(&groups, -1), GN_CORE_UNTRIED);
    assert_int_equal(group_of_program(&groups, 0), 0);
    assert_int_equal(group_of_program(&groups, 1), 1);
    gn_core_groups_clear(&groups);
}

static void *wait_for_quiet(void *argument);

/* Threads that tried the cores are not waited for when they have their result: what is left of one still has
 * its core. */
static void wait_until_alone(void)
{
    int threads = 0;
    do {
        DIR *tasks = opendir("/proc/self/task");
        assert_non_null(tasks);
        threads = 0;
        for (const struct dirent *task; (task = readdir(tasks));)
            threads += task->d_name[0] != '.';
        closedir(tasks);
    } while (threads > 1 && sched_yield() == 0);
}

static void every_thread_counts(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* it has one of its own */
#endif
    need_two_cores();
    pthread_t thread;
    force(last_core(), 1000000000);
    struct gn_core_groups groups = find(PATIENCE_MS);
    assert_int_equal(gn_core_groups_bind(&groups, 1), 0);
    wait_until_alone();
    atomic_store(&quiet, false);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_quiet, NULL), 0);
    assert_int_equal(gn_core_groups_of_process(&groups, getpid()), 1);
    assert_int_equal(gn_core_groups_bind(&groups, 0), 0); /* this thread alone */
    assert_int_equal(gn_core_groups_of_process(&groups, getpid()), GN_CORE_UNTRIED);
    atomic_store(&quiet, true);
    pthread_join(thread, NULL);
    gn_core_groups_clear(&groups);
}

static void a_process_that_is_gone_has_none(void **state)
{
    (void)state;
    struct gn_core_groups groups = find(0);
    assert_int_equal(gn_core_groups_of_process(&groups, INT_MAX), GN_CORE_NOT_OURS);
    gn_core_groups_clear(&groups);
}

static void equal_offsets_are_one_group(void **state)
{
    (void)state;
    char text[CORES * 24] = "";
    for (int i = 0, used = 0; i < CPU_COUNT(&ours); i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%d:-77777777", used ? "," : "",
                         core_number(i));
    setenv("GNOMON_TEST_DOMAIN", text, 1);
    struct gn_core_groups groups = find(PATIENCE_MS);
    assert_int_equal(groups.group_count, 1);
    gn_core_groups_clear(&groups);
}

static void cores_that_are_not_ours_are_left_alone(void **state)
{
    (void)state;
    cpu_set_t all = ours;
    int last = last_core();
    CPU_ZERO(&ours);
    CPU_SET(last, &ours);
    assert_int_equal(sched_setaffinity(0, sizeof ours, &ours), 0);
    struct gn_core_groups groups = find(PATIENCE_MS);
    ours = all;
    assert_int_equal(groups.tried, 1);
    assert_int_equal(groups.group_count, 1);
    assert_int_equal(groups.group[last], 0);
    for (int core = 0; core < last; core++)
        assert_int_equal(groups.group[core], GN_CORE_NOT_OURS);
    gn_core_groups_clear(&groups);
}

static void without_patience_nothing_is_assumed(void **state)
{
    (void)state;
    struct gn_core_groups groups = find(0);
    assert_int_equal(groups.tried, 1);
    for (int i = 1; i < CPU_COUNT(&ours); i++)
        assert_int_equal(groups.group[core_number(i)], GN_CORE_UNTRIED);
    gn_core_groups_clear(&groups);
}

/* Stacks larger than any address space: no thread can be started. */
static void cores_that_cannot_be_tried_are_counted(void **state)
{
    (void)state;
    pthread_attr_t before, huge;
    assert_int_equal(pthread_getattr_default_np(&before), 0);
    assert_int_equal(pthread_attr_init(&huge), 0);
    assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 56), 0);
    assert_int_equal(pthread_setattr_default_np(&huge), 0);
    struct gn_core_groups groups = find(PATIENCE_MS);
    assert_int_equal(pthread_setattr_default_np(&before), 0);
    assert_int_equal(groups.tried, 1);
    assert_int_equal(groups.group_count, 1);
    for (int i = 1; i < CPU_COUNT(&ours); i++)
        assert_int_equal(groups.group[core_number(i)], GN_CORE_UNTRIED);
    gn_core_groups_clear(&groups);
}

static void our_own_affinity_stays(void **state)
{
    (void)state;
    cpu_set_t after;
    struct gn_core_groups groups = find(PATIENCE_MS);
    gn_core_groups_clear(&groups);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&after, &ours));
}

static void *wait_for_quiet(void *argument)
{
    while (!atomic_load(&quiet))
        usleep(1000);
    return argument;
}

static void *make_noise(void *argument)
{
    while (!atomic_load_explicit(&quiet, memory_order_relaxed))
        ;
    return argument;
}

static void busy_cores_are_not_taken_for_others(void **state)
{
    (void)state;
    enum { NOISES = 4 };
    pthread_t threads[NOISES];
    atomic_store(&quiet, false);
    for (int i = 0; i < NOISES; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_noise, NULL), 0);
    struct gn_core_groups groups = find(500);
    atomic_store(&quiet, true);
    for (int i = 0; i < NOISES; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(groups.group_count, 1);
    gn_core_groups_clear(&groups);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"x",   "1",       "1:",   ":5",    "1:5x",
                                        "1;5", "1:5;2:3", "-1:5", "1:5,x", "one:5"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct gn_core_groups groups;
        struct gn_error err = {""};
        setenv("GNOMON_TEST_DOMAIN", texts[i], 1);
        if (gn_core_groups_find(&groups, HZ, 0, &err) != -EINVAL || !strstr(err.text, "expected"))
            fail_msg("%s was taken", texts[i]);
        assert_null(groups.group);
    }
}

int main(void)
{
    if (sched_getaffinity(0, sizeof ours, &ours) != 0)
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cores_share_the_counter),
        cmocka_unit_test(what_is_known_is_not_nothing),
        cmocka_unit_test_teardown(a_counter_ahead_is_found, restore),
        cmocka_unit_test_teardown(a_counter_behind_is_found, restore),
        cmocka_unit_test_teardown(throws_between_groups_come_along, restore),
        cmocka_unit_test_teardown(a_process_has_the_group_of_all_its_cores, restore),
        cmocka_unit_test_teardown(every_thread_counts, restore),
        cmocka_unit_test(a_process_that_is_gone_has_none),
        cmocka_unit_test(other_numbers_are_no_contradiction),
        cmocka_unit_test(cores_that_were_not_tried_twice_contradict_nothing),
        cmocka_unit_test(cores_that_part_contradict),
        cmocka_unit_test_teardown(equal_offsets_are_one_group, restore),
        cmocka_unit_test_teardown(cores_that_are_not_ours_are_left_alone, restore),
        cmocka_unit_test(without_patience_nothing_is_assumed),
        cmocka_unit_test(cores_that_cannot_be_tried_are_counted),
        cmocka_unit_test(our_own_affinity_stays),
        cmocka_unit_test(busy_cores_are_not_taken_for_others),
        cmocka_unit_test_teardown(nonsense_is_refused, restore),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
