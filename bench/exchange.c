/*
 * exchange LEFT RIGHT [SECONDS [plain]] — how narrow exchanges of clock readings are, and what they cost:
 * between two network namespaces of this machine (`ip netns`), whose hosts share one counter, so that every
 * interval has to contain 0. "-" is the namespace it is started in; plain: without the kernel's time stamps.
 *
 * Prints the smallest forward and backward delays, the width that they leave, and the processor time of the
 * exchanges' threads. A negative delay would be an unsound fact; it ends with status 1.
 */
#include "clock/ticks.h"
#include "exchange/exchanges.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { KEPT = 1 << 16 };

static void die(const char *what)
{
    fprintf(stderr, "exchange: %s\n", what);
    exit(2);
}

static struct gn_exchanges *open_in(const char *name, const struct gn_exchange_settings *settings)
{
    struct gn_exchanges *x;
    struct gn_error err;
    char path[256];
    snprintf(path, sizeof path, "/var/run/netns/%s", name);
    int space = strcmp(name, "-") ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (strcmp(name, "-") && (space < 0 || setns(space, CLONE_NEWNET) != 0))
        die("cannot enter the network namespace");
    if (gn_exchanges_open(&x, name, settings, &err) != 0)
        die(err.text);
    return x;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double print_delays(const char *name, double *ns, size_t count)
{
    if (count == 0)
        die("no exchange went through");
    qsort(ns, count, sizeof *ns, compare);
    printf("%-10s %8.0f ns smallest, %8.0f ns median, %8.0f ns at 90 %%\n", name, ns[0], ns[count / 2],
           ns[count * 9 / 10]);
    return ns[0];
}

static double cpu_seconds(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static double print_widths(const struct gn_exchanges *child, double hz)
{
    static double there[KEPT], back[KEPT];
    size_t count, kept = 0;
    const struct gn_exchange *all = gn_exchanges_kept(child, &count);
    for (size_t i = 0; i < count; i++) {
        if (!all[i].back)
            continue;
        there[kept] = (double)(int64_t)(all[i].heard_ticks - all[i].asked_ticks) / hz * 1e9;
        back[kept++] = (double)(int64_t)(all[i].received_ticks - all[i].answered_ticks) / hz * 1e9;
    }
    double forward = print_delays("forward", there, kept), backward = print_delays("backward", back, kept);
    printf("width      %8.0f ns\n", forward + backward);
    return forward < backward ? forward : backward;
}

int main(int argc, char **argv)
{
    struct gn_exchange_settings settings = {.keep = KEPT};
    struct gn_endpoint hosts[2];
    static const uint8_t key[GN_KEY_BYTES] = {1, 2, 3};
    struct gn_error err;
    if (argc < 3)
        die("LEFT RIGHT [SECONDS [plain]]");
    double seconds = argc > 3 ? atof(argv[3]) : 2;
    settings.no_kernel_stamps = argc > 4;
    struct gn_exchanges *parent = open_in(argv[1], &settings), *child = open_in(argv[2], &settings);
    hosts[0] = *gn_exchanges_endpoint(parent);
    hosts[1] = *gn_exchanges_endpoint(child);
    if (gn_exchanges_begin(parent, key, hosts, 2, 0, &err) != 0 ||
        gn_exchanges_begin(child, key, hosts, 2, 1, &err) != 0)
        die(err.text);
    usleep(1000000);
    double cpu = cpu_seconds();
    usleep((useconds_t)(seconds * 1e6));
    cpu = cpu_seconds() - cpu;
    gn_exchanges_end(child, 1000);
    gn_exchanges_end(parent, 1000);
    const struct gn_exchange_report *report = gn_exchanges_report(child);
    double least = print_widths(child, hosts[0].hz);
    printf("asked %lu, answered %lu, narrowed %lu, refused %lu%s%s\n", report->asked, report->answered,
           report->narrowed, report->refused, report->problem ? ": " : "",
           report->problem ? report->problem : "");
    printf("processor  %8.4f %% of a core, parent and child together, after the first second\n",
           cpu / seconds * 100);
    gn_exchanges_free(child);
    gn_exchanges_free(parent);
    return least < 0;
}
