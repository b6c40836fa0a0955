/* agent/folder — what is left of a run's parts; whose the folder is. */
#include "agent/folder.h"

#include <dirent.h>
#include <fcntl.h>
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

enum { NOBODY = 65534, HASH = 0x5eed };

static const char link_name[] = ".gnomon-0000000000005eed";

static mode_t mode_of(const char *path)
{
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    return info.st_mode & 07777;
}

static void remove_all(const char *where)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", where);
    assert_int_equal(system(command), 0);
}

static void it_is_the_owners_alone(void **state)
{
    static const mode_t masks[] = {0, 022, 0777};
    char where[] = "/tmp/gnomon-folder.XXXXXX", deep[64];
    struct gn_folder folder;
    struct gn_error err;
    (void)state;
    assert_non_null(mkdtemp(where));
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
        mode_t before = umask(masks[i]);
        assert_int_equal(gn_folder_open(&folder, where, "./app", HASH, false, &err), 0);
        snprintf(deep, sizeof deep, "%s/%zu/b/c/", where, i);
        assert_int_equal(gn_folder_make_all(deep), 0);
        assert_int_equal(gn_folder_make_all(deep), 0);
        assert_int_equal(umask(before), masks[i]);
        assert_int_equal(mode_of(folder.path), 0700);
        assert_int_equal(mode_of(deep), 0700);
        assert_int_equal(strncmp(folder.path, where, strlen(where)), 0);
        assert_string_equal(folder.trouble, "");
    }
    remove_all(where);
}

/* Hosts that share a folder; the second one comes with another name for it. */
static void hosts_find_one_folder(void **state)
{
    char where[] = "/tmp/gnomon-folder.XXXXXX";
    struct gn_folder one, two;
    struct gn_error err;
    (void)state;
    assert_non_null(mkdtemp(where));
    assert_int_equal(gn_folder_open(&one, where, "./app", HASH, true, &err), 0);
    assert_int_equal(gn_folder_open(&two, where, "./other", HASH, true, &err), 0);
    assert_string_equal(one.path, two.path);
    assert_true(one.shared && two.shared);
    assert_int_equal(unlink(two.link), 0);
    remove_all(where);
}

static void open_apart(const char *where, const char *why)
{
    struct gn_folder folder;
    struct gn_error err;
    assert_int_equal(gn_folder_open(&folder, where, "./app", HASH, true, &err), 0);
    assert_false(folder.shared);
    assert_string_equal(folder.link, "");
    assert_null(strstr(folder.path, "gnomon-trap"));
    assert_int_equal(mode_of(folder.path), 0700);
    assert_non_null(strstr(folder.trouble, why));
}

/* Another user made the link, or the folder behind it, or led it out of the place where runs are. */
static void another_users_folder_is_left_alone(void **state)
{
    char where[] = "/tmp/gnomon-folder.XXXXXX", link[128], trap[128], away[128];
    (void)state;
    if (getuid() != 0)
        skip();
    assert_non_null(mkdtemp(where));
    snprintf(link, sizeof link, "%s/%s", where, link_name);
    snprintf(trap, sizeof trap, "%s/gnomon-trap", where);
    snprintf(away, sizeof away, "%s/gnomon-away", where);
    assert_int_equal(mkdir(trap, 0777), 0);
    assert_int_equal(symlink("gnomon-trap", link), 0);
    assert_int_equal(lchown(link, NOBODY, NOBODY), 0);
    open_apart(where, "is another user's");
    assert_int_equal(lchown(link, 0, 0), 0);
    assert_int_equal(chown(trap, NOBODY, NOBODY), 0);
    open_apart(where, "is another user's");
    assert_int_equal(rmdir(trap), 0);
    assert_int_equal(mkdir(away, 0777), 0);
    assert_int_equal(symlink(away, trap), 0);
    open_apart(where, "is another user's");
    assert_int_equal(unlink(link), 0);
    assert_int_equal(symlink("../gnomon-trap", link), 0);
    open_apart(where, "is no link to a run's folder");
    assert_int_equal(unlink(link), 0);
    assert_int_equal(mkdir(link, 0777), 0);
    open_apart(where, "is no link to a run's folder");
    assert_int_equal(rmdir(link), 0);
    assert_int_equal(rmdir(away), 0); /* empty */
    remove_all(where);
}

static void *remove_beside(void *folder)
{
    gn_folder_remove_parts(folder);
    return NULL;
}

/* Without the lock a host that still looks would take what is left for the whole. */
static void the_lock_goes_last(void **state)
{
    enum { FILES = 3000 };
    char folder[] = "/tmp/gnomon-parts-XXXXXX", parts[64], name[96], lock[96];
    pthread_t remover;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(parts, sizeof parts, "%s/parts", folder);
    snprintf(lock, sizeof lock, "%s/lock", parts);
    assert_int_equal(mkdir(parts, 0700), 0);
    for (int i = 0; i <= FILES; i++) {
        snprintf(name, sizeof name, "%s/host-%d.db", parts, i);
        int file = open(i == FILES / 2 ? lock : name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        assert_true(file >= 0);
        close(file);
    }
    assert_int_equal(pthread_create(&remover, NULL, remove_beside, folder), 0);
    while (access(lock, F_OK) == 0)
        ;
    DIR *left = opendir(parts);
    int others = 0;
    for (struct dirent *entry; left && (entry = readdir(left));)
        others += entry->d_name[0] != '.';
    if (left)
        closedir(left);
    pthread_join(remover, NULL);
    rmdir(folder);
    assert_int_equal(others, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_left_of_parts), cmocka_unit_test(the_lock_goes_last),
        cmocka_unit_test(it_is_the_owners_alone), cmocka_unit_test(hosts_find_one_folder),
        cmocka_unit_test(another_users_folder_is_left_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
