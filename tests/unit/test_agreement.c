/* Who meets: every host comes to the same conclusion, whoever is missing or late. */
#include "capture/agreement.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { HOSTS = 6, WORLD = 12, LONG_MS = 60000, SHORT_MS = 3 };

static char folder[64], parts[80];

struct host {
    struct gn_mark mark;
    unsigned patience_ms, late_us;
    struct gn_mark marks[WORLD];
    int count;
    size_t own;
    pthread_t thread;
};

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/gnomon-agreement.XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(parts, sizeof parts, "%s/parts", folder);
    return mkdir(parts, 0777);
}

static int remove_folder(void **state)
{
    (void)state;
    char command[200];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void *come(void *argument)
{
    struct host *h = argument;
    usleep(h->late_us);
    h->count = gn_agree(folder, &h->mark, WORLD, h->patience_ms, h->marks, WORLD, &h->own);
    return NULL;
}

/* Host i has the ranks WORLD - 2 i - 2 and the next; the envoy is the second of them. */
static void prepare(struct host *hosts, int count, unsigned patience_ms)
{
    memset(hosts, 0, (size_t)count * sizeof *hosts);
    for (int i = 0; i < count; i++) {
        int first = WORLD - 2 * i - 2;
        hosts[i].mark = (struct gn_mark){.envoy = first + 1, .first = first, .local = 2};
        snprintf(hosts[i].mark.host, sizeof hosts[i].mark.host, "host%d", i);
        hosts[i].patience_ms = patience_ms;
    }
}

static void all_come(struct host *hosts, int count)
{
    for (int i = 0; i < count; i++)
        pthread_create(&hosts[i].thread, NULL, come, &hosts[i]);
    for (int i = 0; i < count; i++)
        pthread_join(hosts[i].thread, NULL);
}

static void everybody_meets_lowest_rank_first(void **state)
{
    (void)state;
    struct host hosts[HOSTS];
    prepare(hosts, HOSTS, LONG_MS);
    all_come(hosts, HOSTS);
    for (int i = 0; i < HOSTS; i++) {
        assert_int_equal(hosts[i].count, HOSTS);
        assert_int_equal(hosts[i].own, HOSTS - 1 - i);
        for (int j = 0; j < HOSTS; j++) {
            assert_int_equal(hosts[i].marks[j].first, 2 * j);
            assert_int_equal(hosts[i].marks[j].envoy, 2 * j + 1);
        }
    }
}

static void a_missing_host_is_not_waited_for(void **state)
{
    (void)state;
    struct host hosts[HOSTS];
    prepare(hosts, HOSTS, 300);
    all_come(hosts, HOSTS - 1);
    for (int i = 0; i < HOSTS - 1; i++) {
        assert_int_equal(hosts[i].count, HOSTS - 1);
        assert_int_equal(hosts[i].marks[0].first, 2);
    }
}

static void who_comes_later_is_not_one_of_them(void **state)
{
    (void)state;
    struct host hosts[HOSTS];
    prepare(hosts, HOSTS, 300);
    all_come(hosts, HOSTS - 1);
    come(&hosts[HOSTS - 1]);
    assert_int_equal(hosts[HOSTS - 1].count, HOSTS - 1);
    assert_int_equal(hosts[HOSTS - 1].own, HOSTS - 1);
}

/* Some come when the patience of others is just over: what they agree on is one list all the same, and
 * whoever is on it has come. */
static void never_two_lists(void **state)
{
    struct host hosts[HOSTS];
    for (unsigned round = 0; round < 60; round++) {
        prepare(hosts, HOSTS, SHORT_MS);
        for (unsigned i = 0; i < HOSTS; i++)
            hosts[i].late_us = (round * 7919 + i * 104729) % (3 * SHORT_MS * 1000);
        all_come(hosts, HOSTS);
        for (int i = 0; i < HOSTS; i++) {
            assert_true(hosts[i].count > 0);
            assert_int_equal(hosts[i].count, hosts[0].count);
            for (int j = 0; j < hosts[0].count; j++)
                assert_string_equal(hosts[i].marks[j].host, hosts[0].marks[j].host);
        }
        remove_folder(state);
        make_folder(state);
    }
}

static void leave(const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", parts, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void refused(const char *agreement)
{
    struct host host;
    prepare(&host, 1, SHORT_MS);
    leave("meeting", agreement);
    come(&host);
    assert_int_equal(host.count, -EPROTO);
}

static void an_agreement_of_nonsense_is_refused(void **state)
{
    (void)state;
    refused("hello\nend\n");
    refused("1 0 2 7 1 host0");
    refused("1 0 2 7 1 host0\n"); /* may be cut off */
    refused("1 0 2 7 1 host0\nen");
    refused("1 0 2 7 1 host0\nend\n1 0 2 7 1 host1\n");
    refused("1 0 2 7 1\nend\n");
    refused("1 -1 2 7 1 host0\nend\n");
    refused("1 0 99999999999 7 1 host0\nend\n");
    refused("1 0 2 99999999999999999999 1 host0\nend\n");
    refused("1 0 2 7 1 0123456789012345678901234567890123456789012345678901234567890123456789\nend\n");
    char many[WORLD * 20 + 64] = "";
    for (int i = 0; i <= WORLD; i++)
        strcat(many, "1 0 2 7 1 host0\n");
    refused(strcat(many, "end\n"));
}

static void marks_of_nonsense_are_not_seen(void **state)
{
    (void)state;
    struct host host;
    prepare(&host, 1, SHORT_MS);
    leave("bad.envoy", "1 0");
    leave(".hidden.envoy", "1 0 2 7 1 hidden\nend\n");
    leave("other.envoy", "1 0 2 7 1 name\nend\n");
    leave("empty.envoy", "");
    come(&host);
    assert_int_equal(host.count, 1);
    assert_string_equal(host.marks[0].host, "host0");
}

/* A run that was killed left them, and a requeued job has its folder: nobody would come. */
static void old_marks_are_nobodys(void **state)
{
    (void)state;
    struct host hosts[HOSTS];
    prepare(hosts, HOSTS, 300);
    leave("host4.envoy", "3 2 2 7 1 host4\nend\n");
    leave("host5.envoy", "1 0 2 7 1 host5\nend\n");
    all_come(hosts, HOSTS - 2);
    for (int i = 0; i < HOSTS - 2; i++) {
        assert_int_equal(hosts[i].count, HOSTS - 2);
        assert_true(hosts[i].own < HOSTS - 2);
        assert_int_equal(hosts[i].marks[0].first, 4);
    }
}

static void nobody_is_in_an_old_agreement(void **state)
{
    (void)state;
    struct host hosts[2];
    prepare(hosts, 2, SHORT_MS);
    leave("meeting", "9 8 2 7 1 host1\n11 10 2 8 1 host0\nend\n");
    all_come(hosts, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hosts[i].count, 2);
        assert_int_equal(hosts[i].own, 2);
    }
}

/* So that nobody counts on one who has gone already. */
static void who_comes_too_late_leaves_no_mark(void **state)
{
    (void)state;
    struct host host;
    prepare(&host, 1, SHORT_MS);
    leave("meeting", "1 0 2 7 1 host9\nend\n");
    come(&host);
    assert_int_equal(host.own, host.count);
    char path[200];
    snprintf(path, sizeof path, "%s/host0.envoy", parts);
    assert_int_not_equal(access(path, F_OK), 0);
}

/* No proposal can be written, as on a full disk: others that saw the mark do not wait for its envoy. */
static void who_cannot_propose_is_alone(void **state)
{
    (void)state;
    struct host hosts[2];
    char path[200];
    prepare(hosts, 2, SHORT_MS);
    snprintf(path, sizeof path, "%s/.host0.proposal", parts);
    assert_int_equal(mkdir(path, 0777), 0);
    come(&hosts[0]);
    assert_int_equal(hosts[0].count, 1);
    assert_int_equal(hosts[0].own, 0);
    come(&hosts[1]);
    assert_int_equal(hosts[1].count, 1);
    assert_int_equal(hosts[1].own, 1);
}

static void without_a_folder_nobody_agrees(void **state)
{
    remove_folder(state);
    struct host host;
    prepare(&host, 1, LONG_MS);
    come(&host);
    assert_int_equal(host.count, -ENOENT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(everybody_meets_lowest_rank_first),
        TEST(a_missing_host_is_not_waited_for),
        TEST(who_comes_later_is_not_one_of_them),
        TEST(never_two_lists),
        TEST(an_agreement_of_nonsense_is_refused),
        TEST(marks_of_nonsense_are_not_seen),
        TEST(old_marks_are_nobodys),
        TEST(nobody_is_in_an_old_agreement),
        TEST(who_comes_too_late_leaves_no_mark),
        TEST(who_cannot_propose_is_alone),
        TEST(without_a_folder_nobody_agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
