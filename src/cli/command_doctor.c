/* gnomon doctor — what is missing on this machine, and the command that mends it. */
#include "cli/commands.h"
#include "cli/find.h"

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
};

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

static bool invariant_counter(void)
{
#if defined(__x86_64__)
    char line[8192];
    bool constant = false;
    FILE *info = fopen("/proc/cpuinfo", "re");
    while (info && fgets(line, sizeof line, info))
        if (strncmp(line, "flags", 5) == 0) {
            constant = strstr(line, " constant_tsc") && strstr(line, " nonstop_tsc");
            break;
        }
    if (info)
        fclose(info);
    return constant;
#else
    return true;
#endif
}

static void check_counter(struct finding *f)
{
    f->what = "tick counter";
    f->fine = invariant_counter();
    snprintf(f->detail, sizeof f->detail,
             f->fine ? "invariant" : "not known to be invariant: times may drift");
    snprintf(f->mend, sizeof f->mend, "nothing to install; results name the uncertainty");
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
    printf("%-5s %-22s %s\n", f->fine ? "ok" : f->needed ? "BAD" : "note", f->what, f->detail);
    if (!f->fine)
        printf("      %-22s → %s\n", "", f->mend);
}

static int print_json(const struct finding *findings, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_pack("{s:s, s:b, s:b, s:s, s:s}", "what", findings[i].what, "fine",
                                              findings[i].fine, "needed", findings[i].needed, "detail",
                                              findings[i].detail, "mend", findings[i].mend));
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
    if (strcmp(value, "text") && strcmp(value, "json"))
        argp_error(state, "--format %s: text or json is expected", value);
    *format = value;
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
    struct finding findings[7] = {{0}};
    const char *format = "text";
    bool bad = false;
    argp_parse(&argp, argc, argv, 0, NULL, &format);
    check_capture(&findings[0]);
    check_memory(&findings[1]);
    check_watching(&findings[2]);
    check_counter(&findings[3]);
    check_folder(&findings[4]);
    check_flavour(&findings[5], "Open MPI", "mpirun.openmpi", "orterun", "openmpi-bin libopenmpi-dev");
    check_flavour(&findings[6], "MPICH", "mpirun.mpich", "mpiexec.hydra", "mpich libmpich-dev");
    findings[5].needed = findings[6].needed =
        !findings[5].fine && !findings[6].fine; /* one of them is enough */
    for (size_t i = 0; i < 7; i++)
        bad = bad || (findings[i].needed && !findings[i].fine);
    if (strcmp(format, "json") == 0)
        print_json(findings, 7);
    else
        for (size_t i = 0; i < 7; i++)
            print_text(&findings[i]);
    return bad ? 1 : 0;
}
