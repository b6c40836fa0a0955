/* live/folder — what is left of a run's parts. */
#include "live/folder.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void leave(const char *folder, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/parts/%s", folder, name);
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    assert_true(file >= 0);
    close(file);
}

/* An envoy that is killed while it writes leaves what begins with a dot. */
static void nothing_is_left_of_parts(void **state)
{
    char folder[] = "/tmp/gnomon-folder.XXXXXX", parts[64];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(parts, sizeof parts, "%s/parts", folder);
    assert_int_equal(mkdir(parts, 0777), 0);
    leave(folder, "h0.db");
    leave(folder, "h0.envoy");
    leave(folder, ".h0.fresh");
    gn_folder_remove_parts(folder);
    assert_int_not_equal(access(parts, F_OK), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_left_of_parts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
