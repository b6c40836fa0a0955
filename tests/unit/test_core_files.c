/* agent/core_files — frequencies and nodes as the kernel's documents have them
 * (ABI/testing/sysfs-devices-system-cpu, numa(7)), which this machine may not have, and what it does have. */
#include "agent/core_files.h"
#include "agent/process_files.h"

#include "scratch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* With all folders above it. */
static void put(const char *root, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *end = strchr(path + strlen(root) + 1, '/'); end; end = strchr(end + 1, '/')) {
        *end = '\0';
        mkdir(path, 0700);
        *end = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void what_a_machine_tells(void **state)
{
    const char *root = folder;
    (void)state;
    put(root, "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1300000\n");
    put(root, "devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "2600000\n");
    put(root, "devices/system/cpu/cpu0/node1/cpulist", "0\n");
    put(root, "devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "<unknown>\n");
    put(root, "devices/system/cpu/cpu1/topology/core_id", "1\n");
    put(root, "devices/system/node/has_memory", "0-2,5\n");
    assert_float_equal(gn_core_mhz(root, 0), 1300, 1e-9);
    assert_float_equal(gn_core_most_mhz(root, 0), 2600, 1e-9);
    assert_int_equal(gn_core_node(root, 0), 1);
    assert_true(isnan(gn_core_mhz(root, 1)));
    assert_true(isnan(gn_core_most_mhz(root, 1)));
    assert_int_equal(gn_core_node(root, 1), -1);
    assert_true(isnan(gn_core_mhz(root, 7)));
    assert_int_equal(gn_core_node(root, 7), -1);
    assert_int_equal(gn_memory_nodes(root), 4);
    put(root, "devices/system/node/has_memory", "0\n");
    assert_int_equal(gn_memory_nodes(root), 1);
    put(root, "devices/system/node/has_memory", "\n");
    assert_int_equal(gn_memory_nodes(root), 0);
    assert_int_equal(gn_memory_nodes("/nowhere"), 0);
}

static void memory_of_two_nodes(void **state)
{
    static const char maps[] =
        "00400000 default file=/usr/bin/N0=9/app mapped=2 mapmax=3 N0=2 kernelpagesize_kB=4\n"
        "7f0000000000 default anon=12 dirty=12 active=0 N0=8 N1=4 kernelpagesize_kB=4\n"
        "7f8000000000 bind:1 huge anon=1 dirty=1 N1=1 kernelpagesize_kB=2048\n"
        "7ffd00000000 default\n";
    int64_t resident, remote;
    (void)state;
    gn_memory_apart(maps, 0, &resident, &remote);
    assert_int_equal(resident, (2 + 8 + 4 + 512) * 4096);
    assert_int_equal(remote, (4 + 512) * 4096);
    gn_memory_apart(maps, 1, &resident, &remote);
    assert_int_equal(remote, (2 + 8) * 4096);
    gn_memory_apart("", 1, &resident, &remote);
    assert_int_equal(resident, 0);
}

/* Where all memory is at one node, nothing is at another. */
static void memory_of_this_process(void **state)
{
    size_t bytes;
    int64_t resident, remote;
    (void)state;
    char *maps = gn_process_file_whole((int)getpid(), "numa_maps", &bytes);
    if (!maps || bytes == 0 || gn_memory_nodes("/sys") != 1 || gn_core_node("/sys", 0) != 0) {
        free(maps);
        skip();
    }
    gn_memory_apart(maps, 0, &resident, &remote);
    assert_true(resident > 100000);
    assert_int_equal(remote, 0);
    free(maps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_a_machine_tells, make_folder, remove_folder),
        cmocka_unit_test(memory_of_two_nodes),
        cmocka_unit_test(memory_of_this_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
