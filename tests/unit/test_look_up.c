/* Looking up while the program runs: what was asked of a graph stays known; the graph may hold nonsense; who
 * waits for the end is told what for, and only then. */
#include "agent/late.h"
#include "agent/look_up.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static struct gn_tag *make_segment(void)
{
    struct gn_tag *t = mmap(NULL, gn_tag_bytes(1), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(t, MAP_FAILED);
    t->location_capacity = 1;
    return t;
}

/* A copy of this program, which can be taken away. */
static void make_module(char *path, size_t size)
{
    char command[300];
    snprintf(path, size, "/tmp/gnomon-look-up.%d", (int)getpid());
    snprintf(command, sizeof command, "cp /proc/%d/exe %s", (int)getpid(), path);
    assert_int_equal(system(command), 0);
}

/* elfutils keeps what it reads mapped. */
static bool is_mapped(const char *path)
{
    char line[4096];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (!found && fgets(line, sizeof line, maps))
        found = strstr(line, path) != NULL;
    fclose(maps);
    return found;
}

static void what_was_looked_up_stays(void **state)
{
    (void)state;
    char path[200];
    struct gn_tag *t = make_segment();
    struct gn_look_up *look_up = gn_look_up_begin();
    assert_non_null(look_up);
    make_module(path, sizeof path);
    snprintf(t->modules[1].path, sizeof t->modules[1].path, "%s", path);
    GN_PUBLISH(t->module_count, 2);
    t->frames[1] = (struct gn_tag_frame){0, 1, 0, 0x1000};
    GN_PUBLISH(t->frame_count, 2);
    gn_look_up_watch(look_up, t);
    while (!is_mapped(path)) /* or the test takes too long */
        usleep(10000);
    unlink(path);
    struct gn_modules *modules = gn_look_up_end(look_up);
    assert_non_null(gn_modules_get(modules, path, NULL, 0)->program);
    gn_look_up_free(look_up);
    munmap(t, gn_tag_bytes(1));
}

/* Every count and index as large as can be. */
static void nonsense_does_no_harm(void **state)
{
    (void)state;
    struct gn_tag *t = make_segment();
    memset((char *)t + offsetof(struct gn_tag, state), 0xff,
           gn_tag_bytes(1) - offsetof(struct gn_tag, state));
    struct gn_look_up *look_up = gn_look_up_begin();
    assert_non_null(look_up);
    gn_look_up_watch(look_up, t);
    usleep(300000); /* it has begun by then, as a rule */
    assert_non_null(gn_look_up_end(look_up));
    gn_look_up_free(look_up);
    munmap(t, gn_tag_bytes(1));
}

static void without_a_thread_nothing_is_known(void **state)
{
    (void)state;
    gn_look_up_watch(NULL, NULL);
    assert_null(gn_look_up_end(NULL));
    gn_look_up_free(NULL);
}

static void who_waits_is_told(void **state)
{
    (void)state;
    struct gn_late late;
    char text[300] = "";
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    gn_late_begin(&late, ends[1]);
    gn_late_doing(&late, "looking up source lines", 1, 4);
    assert_true(read(ends[0], text, sizeof text - 1) > 0); /* comes after a second */
    assert_non_null(strstr(text, "(looking up source lines, 25.0 % done)\n"));
    gn_late_end(&late);
    close(ends[0]);
    close(ends[1]);
}

static void who_does_not_wait_is_not_told(void **state)
{
    (void)state;
    struct gn_late late;
    char text[10];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    gn_late_begin(&late, ends[1]);
    gn_late_end(&late);
    gn_late_begin(&late, -1);
    gn_late_doing(&late, "saving", 0, 0);
    gn_late_end(&late);
    close(ends[1]);
    assert_int_equal(read(ends[0], text, sizeof text), 0);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_looked_up_stays),          cmocka_unit_test(nonsense_does_no_harm),
        cmocka_unit_test(without_a_thread_nothing_is_known), cmocka_unit_test(who_waits_is_told),
        cmocka_unit_test(who_does_not_wait_is_not_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
