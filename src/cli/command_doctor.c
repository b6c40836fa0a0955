/* gnomon doctor — what is missing on this machine, and the command that mends it. */
#include "cli/commands.h"
#include "cli/find.h"
#include "cli/format_option.h"
#include "clock/core_groups.h"
#include "clock/counter.h"
#include "clock/ticks.h"

#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

struct finding {
    const char *what;
    bool fine, needed;
    char detail[512], mend[256];
    json_t *facts; /* what detail says, in numbers; NULL where it has none */
};

enum { FINDINGS = 9, CORES_PATIENCE_MS = 1000 };

static void check_capture(struct finding *f)
{
    char path[4096];
    f->what = "capture library";
    f->needed = true;
    f->fine = gn_find_capture(path, sizeof path) == 0;
    snprintf(f->detail, sizeof f->detail, "%.500s",
             f->fine ? path : "libgnomon.so is not beside this gnomon");
    snprintf(f->mend, sizeof f->mend, "install gnomon whole: cmake --install, or the .deb");
}

static void check_flavour(struct finding *f, const char *what, const char *launcher, const char *other,
                          const char *package)
{
    f->what = what;
    f->fine = gn_find_program(launcher) || gn_find_program(other);
    snprintf(f->detail, sizeof f->detail, f->fine ? "%s found" : "%s not in PATH", launcher);
    snprintf(f->mend, sizeof f->mend, "apt-get install %s", package);
}

/* Not needed: one process of gnomon sync does the same, only later. */
static void check_together(struct finding *f)
{
    static const char *const flavours[] = {"openmpi", "mpich"};
    char path[4096], name[64];
    int used = 0;
    f->what = "gnomon sync by several";
    for (size_t i = 0; i < sizeof flavours / sizeof *flavours; i++) {
        snprintf(name, sizeof name, "libgnomon-transport.%s.so", flavours[i]);
        if (gn_find_library(name, path, sizeof path) == 0)
            used += snprintf(f->detail + used, sizeof f->detail - (size_t)used, "%s%s",
                             used ? " and " : "under mpirun of ", flavours[i]);
    }
    f->fine = used > 0;
    if (!f->fine)
        snprintf(f->detail, sizeof f->detail,
                 "no libgnomon-transport.*.so beside this gnomon: one process only");
    snprintf(f->mend, sizeof f->mend,
             "build gnomon where mpicc.openmpi or mpicc.mpich is, and install it whole");
}

static void check_memory(struct finding *f)
{
    f->what = "shared memory files";
    f->needed = true;
    int file = memfd_create("gnomon-doctor", MFD_CLOEXEC);
    f->fine = file >= 0 && ftruncate(file, 1 << 20) == 0;
    snprintf(f->detail, sizeof f->detail, "memfd_create: %s", f->fine ? "works" : strerror(errno));
    snprintf(f->mend, sizeof f->mend, "a Linux kernel of 3.17 or later");
    if (file >= 0)
        close(file);
}

static void check_watching(struct finding *f)
{
    f->what = "watching processes";
    f->needed = true;
    int handle = (int)syscall(SYS_pidfd_open, getpid(), 0);
    f->fine = handle >= 0;
    snprintf(f->detail, sizeof f->detail, "pidfd_open: %s", f->fine ? "works" : strerror(errno));
    snprintf(f->mend, sizeof f->mend, "a Linux kernel of 5.3 or later");
    if (handle >= 0)
        close(handle);
}

static void check_counter(struct finding *f, struct gn_counter *counter)
{
    char hz[32];
    gn_counter_measure(counter);
    f->what = "tick counter";
    f->fine = !counter->why_not && !gn_ticks_problem();
    snprintf(hz, sizeof hz, counter->hz_error_ppb > 0 ? "%.3f MHz" : "%.0f MHz", counter->hz / 1e6);
    snprintf(f->detail, sizeof f->detail, "%s, %s, granularity %llu tick%s, %.0f ns a reading%s%s%s%s",
             counter->name, hz, (unsigned long long)counter->granularity_ticks,
             counter->granularity_ticks == 1 ? "" : "s", counter->cost_ns,
             counter->why_not ? "; not the processor's: " : "", counter->why_not ? counter->why_not : "",
             gn_ticks_problem() ? "; " : "", gn_ticks_problem() ? gn_ticks_problem() : "");
    snprintf(f->mend, sizeof f->mend,
             gn_ticks_problem() ? "unset GNOMON_COUNTER"
                                : "nothing needs to be done: times are right, readings cost more");
    f->facts =
        json_pack("{s:s, s:s?, s:f, s:f, s:I, s:f}", "name", counter->name, "why_not", counter->why_not, "hz",
                  counter->hz, "hz_error_ppb", counter->hz_error_ppb, "granularity_ticks",
                  (json_int_t)counter->granularity_ticks, "cost_ns", counter->cost_ns);
}

static void describe_cores(struct finding *f, const struct gn_core_groups *g)
{
    size_t size = sizeof f->detail;
    int used;
    if (g->group_count > 1)
        used = snprintf(f->detail, size, "%d groups of cores, which differ by %.0f ns or more",
                        g->group_count, g->offset_ns);
    else if (g->tried > 1)
        used = snprintf(f->detail, size, "%d cores do, as closely as can be seen (%.0f ns)", g->tried,
                        g->width_ns);
    else
        used = snprintf(f->detail, size, "only one core %s", g->untried > 0 ? "was tried" : "may be used");
    if (g->untried > 0)
        snprintf(f->detail + used, size - (size_t)used, "; %d could not be tried in time", g->untried);
}

/* Nothing is assumed of cores that were not tried: not knowing is a finding, too. */
static void check_cores(struct finding *f, const struct gn_counter *counter)
{
    struct gn_core_groups groups;
    struct gn_error err;
    f->what = "cores share the counter";
    if (gn_core_groups_find(&groups, counter->hz, CORES_PATIENCE_MS, &err) != 0) {
        snprintf(f->detail, sizeof f->detail, "%.500s", err.text);
        snprintf(f->mend, sizeof f->mend, "see sched_setaffinity(2), and unset GNOMON_TEST_DOMAIN");
        return;
    }
    f->fine = groups.group_count == 1 && groups.untried == 0;
    describe_cores(f, &groups);
    snprintf(f->mend, sizeof f->mend,
             groups.group_count > 1
                 ? "bind processes to cores of one group; or another clock source for the kernel, and "
                   "GNOMON_COUNTER=monotonic_raw"
                 : "gnomon doctor, when the cores have less to do");
    f->facts =
        json_pack("{s:i, s:i, s:i, s:f, s:f}", "tried", groups.tried, "untried", groups.untried, "groups",
                  groups.group_count, "width_ns", groups.width_ns, "offset_ns", groups.offset_ns);
    gn_core_groups_clear(&groups);
}

static void check_folder(struct finding *f)
{
    f->what = "working directory";
    f->fine = access(".", W_OK) == 0;
    snprintf(f->detail, sizeof f->detail,
             f->fine ? "writable" : "not writable: run folders go to $TMPDIR or /tmp");
    snprintf(f->mend, sizeof f->mend, "cd to a folder of your own");
}

static void print_text(const struct finding *f)
{
    printf("%-5s %-23s %s\n", f->fine ? "ok" : f->needed ? "BAD" : "note", f->what, f->detail);
    if (!f->fine)
        printf("      %-23s → %s\n", "", f->mend);
}

static int print_json(const struct finding *findings, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct finding *f = &findings[i];
        json_t *item = json_pack("{s:s, s:b, s:b, s:s, s:s}", "what", f->what, "fine", f->fine, "needed",
                                 f->needed, "detail", f->detail, "mend", f->mend);
        if (f->facts)
            json_object_set_new(item, "facts", f->facts);
        json_array_append_new(list, item);
    }
    json_dumpf(list, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(list);
    return 0;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    const char **format = state->input;
    if (key != 'f')
        return key == ARGP_KEY_ARG ? (argp_error(state, "%s is too much", value), 0) : ARGP_ERR_UNKNOWN;
    *format = gn_format_is_json(value, state) ? "json" : "text";
    return 0;
}

int gn_command_doctor(int argc, char **argv)
{
    static const struct argp_option options[] = {{"format", 'f', "FORMAT", 0, "text (default) or json", 0},
                                                 {0}};
    static const struct argp argp = {options,
                                     parse,
                                     NULL,
                                     "Says what gnomon misses on this machine, and the command that "
                                     "mends it. Exit status 1 when something needed is missing.",
                                     NULL,
                                     NULL,
                                     NULL};
    struct finding findings[FINDINGS] = {{0}};
    struct gn_counter counter;
    const char *format = "text";
    bool bad = false;
    argp_parse(&argp, argc, argv, 0, NULL, &format);
    check_capture(&findings[0]);
    check_memory(&findings[1]);
    check_watching(&findings[2]);
    check_counter(&findings[3], &counter);
    check_cores(&findings[4], &counter);
    check_folder(&findings[5]);
    check_flavour(&findings[6], "Open MPI", "mpirun.openmpi", "orterun", "openmpi-bin libopenmpi-dev");
    check_flavour(&findings[7], "MPICH", "mpirun.mpich", "mpiexec.hydra", "mpich libmpich-dev");
    check_together(&findings[8]);
    findings[6].needed = findings[7].needed =
        !findings[6].fine && !findings[7].fine; /* one of them is enough */
    for (size_t i = 0; i < FINDINGS; i++)
        bad = bad || (findings[i].needed && !findings[i].fine);
    if (strcmp(format, "json") == 0)
        print_json(findings, FINDINGS);
    else
        for (size_t i = 0; i < FINDINGS; i++)
            print_text(&findings[i]);
    return bad ? 1 : 0;
}
