/* What threads do inside of libraries: in OpenMP programs that run (fixtures/team.c), whose runtimes are
 * stripped, and by names. */
#include "program/runtime.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { FRAMES_MAX = 16, LINE_BYTES = 16 * 1024 };

static size_t read_frames(struct gn_modules *modules, char *line, struct gn_call_address *frames)
{
    size_t count = 0;
    char *path, *offset;
    for (path = strtok(line, " \n"); path && count < FRAMES_MAX; path = strtok(NULL, " \n")) {
        offset = strtok(NULL, " \n");
        assert_non_null(offset);
        frames[count++] =
            (struct gn_call_address){gn_modules_get(modules, path, NULL, 0), strtoul(offset, NULL, 16)};
    }
    return count;
}

static void check_team(const char *program, const char *policy, int threads)
{
    char command[PATH_MAX + 128], line[LINE_BYTES];
    int work = 0, wait = 0;
    snprintf(command, sizeof command, "OMP_WAIT_POLICY=%s exec %s %d", policy, program, threads);
    struct gn_modules *modules = gn_modules_new(NULL);
    FILE *output = popen(command, "r");
    assert_non_null(output);
    while (fgets(line, sizeof line, output)) {
        struct gn_call_address frames[FRAMES_MAX];
        size_t count = read_frames(modules, line + 5, frames);
        assert_true(count > 0);
        enum gn_runtime_kind kind = gn_runtime_of_stack(frames, count);
        if (strncmp(line, "work", 4) == 0) {
            assert_int_equal(kind, GN_RUNTIME_NONE);
            work++;
        } else if (strcmp(frames[0].module->path, program) !=
                   0) { /* else: had no core yet to come to the barrier */
            if (kind != GN_RUNTIME_OPENMP_WAIT)
                fail_msg("%s %s: %s+0x%lx is '%s'", program, policy, frames[0].module->path,
                         (unsigned long)frames[0].offset, gn_runtime_text(kind));
            wait++;
        }
    }
    assert_int_equal(pclose(output), 0);
    assert_true(work > 0 && wait > 0);
    gn_modules_free(modules);
}

static void check_runtime(const char *program)
{
    if (access(program, X_OK) != 0)
        skip(); /* the compiler or its runtime is not installed */
    check_team(program, "active", 2);
    check_team(program, "active", 4);
    check_team(program, "passive", 3);
}

static void test_gnu_openmp(void **state)
{
    (void)state;
    check_runtime(FIXTURES "/team_gcc");
}

static void test_llvm_openmp(void **state)
{
    (void)state;
    check_runtime(FIXTURES "/team_clang");
}

static void test_names(void **state)
{
    (void)state;
    assert_int_equal(gn_runtime_of("libgomp.so.1", "gomp_team_barrier_wait_end"), GN_RUNTIME_OPENMP_WAIT);
    assert_int_equal(gn_runtime_of("libgomp.so.1", "GOMP_parallel"), GN_RUNTIME_OPENMP);
    assert_int_equal(gn_runtime_of("libgomp.so.1", NULL), GN_RUNTIME_OPENMP);
    assert_int_equal(gn_runtime_of("libiomp5.so", "_ZN11kmp_flag_64ILb0ELb1EE4waitEP8kmp_infoiPv"),
                     GN_RUNTIME_OPENMP_WAIT);
    assert_int_equal(gn_runtime_of("libcuda.so.1", "cuStreamSynchronize"), GN_RUNTIME_GPU_WAIT);
    assert_int_equal(gn_runtime_of("libcuda.so.1", "cuLaunchKernel"), GN_RUNTIME_GPU);
    assert_int_equal(gn_runtime_of("libcudart.so.12", "cudaDeviceSynchronize"), GN_RUNTIME_GPU_WAIT);
    assert_int_equal(gn_runtime_of("libamdhip64.so.5", "hipEventSynchronize"), GN_RUNTIME_GPU_WAIT);
    assert_int_equal(gn_runtime_of("libze_loader.so.1", "zeEventHostSynchronize"), GN_RUNTIME_GPU_WAIT);
    assert_int_equal(gn_runtime_of("libmpi.so.40", NULL), GN_RUNTIME_MPI);
    assert_int_equal(gn_runtime_of("libmpich.so.12", "MPID_Progress_wait"), GN_RUNTIME_MPI);
    assert_int_equal(gn_runtime_of("libc.so.6", "clock_nanosleep"), GN_RUNTIME_SLEEP);
    assert_int_equal(gn_runtime_of("libc.so.6", "__read"), GN_RUNTIME_IO);
    assert_int_equal(gn_runtime_of("libc.so.6", "pread64"), GN_RUNTIME_IO);
    assert_int_equal(gn_runtime_of("libc.so.6", "memcpy"), GN_RUNTIME_NONE);
    assert_int_equal(gn_runtime_of("libc.so.6", "pthread_create"), GN_RUNTIME_NONE);
    assert_int_equal(gn_runtime_of("libfftw3.so.3", "fftw_wait"), GN_RUNTIME_NONE);
    assert_int_equal(gn_runtime_of("libompitrace.so.40", "x"), GN_RUNTIME_NONE);
    for (int kind = 0; kind < GN_RUNTIME_KINDS; kind++)
        assert_int_equal(gn_runtime_text(kind)[0] == '\0', kind == GN_RUNTIME_NONE);
}

/* Of this program's own C library: where a thread sleeps, as the kernel says it. */
static void test_sleeping(void **state)
{
    (void)state;
    char path[64], line[256] = "";
    unsigned long number, pc;
    int child = fork();
    if (child == 0)
        for (;;)
            nanosleep(&(struct timespec){60, 0}, NULL);
    snprintf(path, sizeof path, "/proc/%d/syscall", child);
    for (int i = 0; i < 1000 && line[0] != '2' && line[0] != '3';
         i++) { /* clock_nanosleep is 230, nanosleep 35 */
        FILE *file = fopen(path, "r");
        if (!file || !fgets(line, sizeof line, file))
            line[0] = '\0';
        if (file)
            fclose(file);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    const char *last = strrchr(line, ' ');
    bool known = last && sscanf(line, "%lu", &number) == 1 && sscanf(last, "%lx", &pc) == 1;
    char maps[64], map[PATH_MAX + 128], file[PATH_MAX] = "";
    unsigned long low, high, at, base = 0;
    snprintf(maps, sizeof maps, "/proc/%d/maps", child);
    FILE *list = known ? fopen(maps, "r") : NULL;
    while (list && fgets(map, sizeof map, list))
        if (sscanf(map, "%lx-%lx %*s %lx %*s %*s %4095s", &low, &high, &at, file) == 4 && pc >= low &&
            pc < high) {
            base = low - at;
            break;
        }
    if (list)
        fclose(list);
    kill(child, SIGKILL);
    if (!known || !base)
        skip(); /* a kernel that does not say */
    struct gn_program *program;
    assert_int_equal(gn_program_open(&program, file, NULL, 0, NULL), 0);
    assert_int_equal(gn_runtime_at(program, pc - base), GN_RUNTIME_SLEEP);
    gn_program_close(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_sleeping),
                                       cmocka_unit_test(test_gnu_openmp), cmocka_unit_test(test_llvm_openmp)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
