/* cli/launcher: where the program begins in a launcher's command line. "G" stands for the words put before
 * it. */
#include "agent/launcher.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_WORDS = 64 };

/* Wraps `line` (words separated by single spaces) and compares with `expected`; NULL: no program is found. */
static void check(const char *line, const char *expected)
{
    char text[512], result[600] = "", *words[MAX_WORDS + 1], *rest = text;
    char *prefix[] = {(char *)"G"};
    const char *program;
    int count = 0;
    snprintf(text, sizeof text, "%s", line);
    for (char *word; count < MAX_WORDS && (word = strsep(&rest, " "));)
        words[count++] = word;
    words[count] = NULL;
    char **wrapped = gn_launcher_wrap(words, prefix, 1, &program);
    for (char **w = wrapped; w && *w; w++)
        snprintf(result + strlen(result), sizeof result - strlen(result), "%s%s", w == wrapped ? "" : " ",
                 *w);
    free(wrapped);
    if (!expected)
        assert_null(wrapped);
    else
        assert_string_equal(result, expected);
}

/* Every line's program is "./a": the expected line has G before it. */
static void check_all(const char *const *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char expected[512] = "";
        const char *from = lines[i];
        for (const char *at; (at = strstr(from, "./a")); from = at + 3)
            snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%.*sG ./a",
                     (int)(at - from), from);
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s", from);
        check(lines[i], expected);
    }
}
#define CHECK_ALL(lines) check_all(lines, sizeof(lines) / sizeof((lines)[0]))

static void launchers_are_known(void **state)
{
    (void)state;
    static const char *const known[] = {"mpirun",  "/usr/bin/mpirun.openmpi", "mpiexec",      "mpiexec.hydra",
                                        "orterun", "/opt/x/bin/mpiexec",      "mpirun.mpich", "srun",
                                        "prterun"};
    static const char *const other[] = {"./a", "python3", "mpi", "/usr/mpirun/a.out", "bash", "./srun.sh"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        assert_true(gn_is_launcher(known[i]));
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        assert_false(gn_is_launcher(other[i]));
}

static void open_mpi(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "mpirun ./a",
        "mpirun -n 4 ./a",
        "mpirun -np 4 ./a -n 3 --mca x y",
        "mpirun --np 4 -c 2 ./a",
        "mpirun --mca btl tcp,self -mca a b -n 2 ./a",
        "mpirun --gmca a b ./a",
        "mpirun -x A=B -x C -n 2 ./a",
        "mpirun --map-by ppr:2:node --bind-to none --rank-by core ./a",
        "mpirun -H a:2,b --host c -hostfile f --machinefile g ./a",
        "mpirun --oversubscribe --allow-run-as-root --report-bindings -n 2 ./a",
        "mpirun --tag-output --timestamp-output -q -v --display-map --nolocal ./a",
        "mpirun --use-hwthread-cpus --pernode --bynode ./a",
        "mpirun -npernode 2 -npersocket 1 -N 2 ./a",
        "mpirun --prefix /opt/ompi --path /bin -wdir /tmp --wd /tmp ./a",
        "mpirun --output-filename out --merge-stderr-to-stdout --timeout 60 ./a",
        "mpirun -tune f -am g --personality ompi -rf h --cpu-set 0,1 ./a",
        "mpirun --enable-recovery --max-restarts 3 --debug-daemons ./a",
        "mpirun --launch-agent orted --stdin all --report-uri - --ompi-server file:x ./a",
    };
    CHECK_ALL(lines);
}

/* All options of which `mpirun --help all` of Open MPI 4.1 says that they take a value. */
static void every_open_mpi_option_with_a_value(void **state)
{
    (void)state;
    static const char *const options[] = {"-am",
                                          "--bind-to",
                                          "-c",
                                          "-np",
                                          "--np",
                                          "-cf",
                                          "--cartofile",
                                          "-cpu-list",
                                          "--cpu-set",
                                          "-cpus-per-proc",
                                          "--cpus-per-rank",
                                          "--debugger",
                                          "-default-hostfile",
                                          "--default-hostfile",
                                          "-H",
                                          "-host",
                                          "--host",
                                          "-hnp",
                                          "--hnp",
                                          "-hostfile",
                                          "--launch-agent",
                                          "-machinefile",
                                          "--map-by",
                                          "-max-restarts",
                                          "--max-vm-size",
                                          "-N",
                                          "-n",
                                          "--n",
                                          "-npernode",
                                          "--npersocket",
                                          "--ompi-server",
                                          "-output-filename",
                                          "--path",
                                          "-personality",
                                          "--ppr",
                                          "--prefix",
                                          "--preload-files",
                                          "--rank-by",
                                          "--report-events",
                                          "--report-pid",
                                          "-report-uri",
                                          "-rf",
                                          "--rankfile",
                                          "-stdin",
                                          "--timeout",
                                          "-tune",
                                          "--wd",
                                          "-wdir",
                                          "-x",
                                          "--xml-file",
                                          "-xterm"};
    char wrong[512] = "";
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        char *words[] = {(char *)"mpirun", (char *)options[i], (char *)"value", (char *)"./a", NULL};
        char *prefix[] = {(char *)"G"};
        const char *program;
        char **wrapped = gn_launcher_wrap(words, prefix, 1, &program);
        if (!wrapped || strcmp(program, "./a") != 0)
            snprintf(wrong + strlen(wrong), sizeof wrong - strlen(wrong), " %s", options[i]);
        free(wrapped);
    }
    assert_string_equal(wrong, "");
}

/* Of Open MPI 5 (prterun). */
static void open_mpi_5(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "mpirun --prtemca a b --pmixmca c d --omca e f ./a",
        "mpirun --display map ./a",
        "mpirun --output tag,timestamp ./a",
        "mpirun --runtime-options report-state-on-timeout ./a",
        "mpirun --with-ft ulfm ./a",
        "mpirun --add-hostfile f ./a",
    };
    CHECK_ALL(lines);
}

static void hydra(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "mpiexec -n 4 ./a",
        "mpiexec.hydra -genv A B -env C D -n 2 ./a",
        "mpiexec -genvlist A,B -envlist C -genvall -envnone ./a",
        "mpiexec -f hosts -ppn 2 -hosts a,b -wdir /tmp ./a",
        "mpiexec -bind-to core:2 -map-by socket -membind none -topolib hwloc ./a",
        "mpiexec -launcher ssh -launcher-exec /x -rmk user -iface eth0 ./a",
        "mpiexec -l -prepend-rank -print-all-exitcodes -verbose -info ./a",
        "mpiexec -prepend-pattern %r -outfile-pattern o -errfile-pattern e ./a",
        "mpiexec -disable-x -enable-x -disable-auto-cleanup -profile -demux poll ./a",
        "mpiexec -usize INFINITE -order-nodes ascending -localhost h -nameserver h:1 -gpus-per-proc 1 ./a",
        "mpiexec -np=4 ./a",
    };
    CHECK_ALL(lines);
}

static void srun(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "srun ./a",
        "srun -n4 --mpi=pmix ./a",
        "srun -n 4 --mpi pmix -N 2 ./a -n 5",
        "srun -N2 -c 4 --exclusive --label ./a",
        "srun -l -u -K ./a",
        "srun --cpu-bind=cores --distribution=block:cyclic -t 10 -p debug -A x ./a",
        "srun --export=ALL,A=B --chdir /tmp -J name -o out -e err ./a",
        "srun --pty --overlap --jobid 7 -w a,b ./a",
        "srun --kill-on-bad-exit=1 --ntasks-per-node 2 --time 1:00 ./a",
    };
    CHECK_ALL(lines);
}

static void several_programs(void **state)
{
    (void)state;
    check("mpirun -n 1 ./a x : -n 2 ./b : ./c -n 1", "mpirun -n 1 G ./a x : -n 2 G ./b : G ./c -n 1");
    check("mpiexec -genv A B -n 1 ./a : -env C D -n 2 ./b y",
          "mpiexec -genv A B -n 1 G ./a : -env C D -n 2 G ./b y");
    check("srun -n1 ./a : -n2 ./b", "srun -n1 G ./a : -n2 G ./b");
}

static void end_of_options(void **state)
{
    (void)state;
    check("mpirun -n 2 -- ./a -n 3", "mpirun -n 2 -- G ./a -n 3");
    check("srun -n 2 env A=B ./a", "srun -n 2 G env A=B ./a");
}

static void no_program(void **state)
{
    (void)state;
    check("mpirun", NULL);
    check("mpirun -n 4", NULL);
    check("mpirun -n", NULL);
    check("mpirun --mca a", NULL);
    check("mpirun -n 2 --", NULL);
    check("mpirun --app file", NULL);
}

static void first_program_is_named(void **state)
{
    (void)state;
    char *words[] = {(char *)"mpirun", (char *)"./first", (char *)":", (char *)"./second", NULL};
    char *prefix[] = {(char *)"G", (char *)"H"};
    const char *program;
    char **wrapped = gn_launcher_wrap(words, prefix, 2, &program);
    assert_string_equal(program, "./first");
    assert_string_equal(wrapped[2], "H");
    free(wrapped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launchers_are_known),
        cmocka_unit_test(open_mpi),
        cmocka_unit_test(every_open_mpi_option_with_a_value),
        cmocka_unit_test(open_mpi_5),
        cmocka_unit_test(hydra),
        cmocka_unit_test(srun),
        cmocka_unit_test(several_programs),
        cmocka_unit_test(end_of_options),
        cmocka_unit_test(no_program),
        cmocka_unit_test(first_program_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
