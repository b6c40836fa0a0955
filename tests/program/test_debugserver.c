/* Debug files come from a debuginfod that the user has named, and only when somebody has patience; what it
 * gave is found again without it. The server is elfutils' own. */
#include "program/modules.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/gnomon-debugserver.XXXXXX", port[8];
static pid_t server;
static int questions;

static bool goes_on(void *context)
{
    questions++;
    return *(bool *)context;
}

static void nap(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* A port that nobody listens at now. */
static int choose_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, bytes), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &bytes), 0);
    close(fd);
    return ntohs(address.sin_port);
}

static void start_server(void)
{
    snprintf(port, sizeof port, "%d", choose_port());
    server = fork();
    if (server > 0)
        return;
    if (!freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "w", stdout))
        _exit(1);
    execlp("debuginfod", "debuginfod", "-p", port, "-d", ":memory:", "-F", FIXTURES "/served", NULL);
    _exit(127);
}

static void use_cache(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    setenv("DEBUGINFOD_CACHE_PATH", path, 1);
}

static bool finds_lines(struct gn_debug_patience *patience)
{
    struct gn_modules *modules = gn_modules_new(patience);
    const struct gn_opened_module *module = gn_modules_get(modules, FIXTURES "/fixture_flow_served", NULL, 0);
    assert_non_null(module->program);
    bool found = gn_program_has_lines(module->program);
    gn_modules_free(modules);
    return found;
}

/* The server first looks through its files: asked again, with caches that do not know the last answer. */
static bool finds_lines_in_time(struct gn_debug_patience *patience, int *tries)
{
    char name[32];
    for (*tries = 0; *tries < 300; ++*tries) {
        snprintf(name, sizeof name, "cache.%d", *tries);
        use_cache(name);
        patience->left_ns = 60000000000u;
        if (finds_lines(patience))
            return true;
        if (waitpid(server, NULL, WNOHANG) != 0)
            return false;
        nap(100);
    }
    return false;
}

static void test_asked(void **state)
{
    (void)state;
    bool has_time = true;
    int tries;
    struct gn_debug_patience patience = {goes_on, &has_time, 0};
    assert_true(finds_lines_in_time(&patience, &tries));
    assert_true(patience.left_ns < 60000000000u);
    assert_true(finds_lines(NULL)); /* from the cache */
    has_time = false;
    assert_true(finds_lines(&patience));
}

static void test_not_asked(void **state)
{
    (void)state;
    bool has_time = true;
    struct gn_debug_patience patience = {goes_on, &has_time, 60000000000u};
    use_cache("nobody");
    assert_false(finds_lines(NULL));
    patience.left_ns = 0;
    assert_false(finds_lines(&patience));
    has_time = false;
    patience.left_ns = 60000000000u;
    assert_false(finds_lines(&patience));
    assert_int_equal(patience.left_ns, 60000000000u);
    has_time = true;
    questions = 0;
    unsetenv("DEBUGINFOD_URLS");
    assert_false(finds_lines(&patience));
    assert_int_equal(questions, 0);
    assert_int_equal(patience.left_ns, 60000000000u);
}

int main(void)
{
    char url[64], command[64];
    if (system("command -v debuginfod > /dev/null") != 0) {
        printf("skipped: no debuginfod\n");
        return 77;
    }
    if (!mkdtemp(folder))
        return 1;
    start_server();
    snprintf(url, sizeof url, "http://127.0.0.1:%s", port);
    setenv("DEBUGINFOD_URLS", url, 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_asked), cmocka_unit_test(test_not_asked)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kill(server, SIGTERM);
    waitpid(server, NULL, 0);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) || failed;
}
