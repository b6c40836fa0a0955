/*
 * The choice between the processor's counter and the kernel's clock, for programs of gnomon.
 *
 * That the counter ticks at one rate in all states of the processor is what the processor says of itself;
 * that it has done so until now, on all cores alike, is what the kernel's watchdog knows: a counter that it
 * has found wanting disappears from the list of available clock sources. Where that list cannot be read (a
 * container without /sys) nobody knows, and the kernel's clock is right in any case.
 */
#include "clock/ticks.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#define KERNELS_NAME "tsc"
#elif defined(__aarch64__)
#define KERNELS_NAME "arch_sys_counter"
#endif

#define CLOCK_SOURCES "/sys/devices/system/clocksource/clocksource0/available_clocksource"

bool gn_ticks_from_kernel;
static const char *why_not, *problem;

const char *gn_ticks_why_not(void)
{
    return why_not;
}

const char *gn_ticks_problem(void)
{
    return problem;
}

#ifdef GN_PROCESSOR_COUNTER

static bool invariant(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
#else
    return true; /* by its definition */
#endif
}

static bool has_word(const char *text, const char *word)
{
    size_t bytes = strlen(word);
    for (text += strspn(text, " \n"); *text; text += strspn(text, " \n")) {
        size_t length = strcspn(text, " \n");
        if (length == bytes && strncmp(text, word, bytes) == 0)
            return true;
        text += length;
    }
    return false;
}

static const char *distrust(void)
{
    char text[512];
    int file = open(CLOCK_SOURCES, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (file >= 0)
        close(file);
    if (bytes < 0)
        return "whether the kernel trusts it cannot be known: " CLOCK_SOURCES " cannot be read";
    text[bytes] = '\0';
    return has_word(text, KERNELS_NAME) ? NULL : "the kernel does not trust it (" CLOCK_SOURCES ")";
}

static const char *reason_against(void)
{
    const char *wish = getenv("GNOMON_COUNTER");
    if (wish && strcmp(wish, "monotonic_raw") == 0)
        return "GNOMON_COUNTER=monotonic_raw";
    if (wish && strcmp(wish, GN_PROCESSOR_COUNTER) == 0)
        return NULL;
    if (wish && *wish)
        problem = "GNOMON_COUNTER: " GN_PROCESSOR_COUNTER " or monotonic_raw is expected";
    return invariant() ? distrust() : "the processor does not say that it ticks at one rate in all states";
}

#else

static const char *reason_against(void)
{
    return "gnomon does not know this processor's counter";
}

#endif

/* Before all other constructors: they may take the time. */
__attribute__((constructor(101))) static void choose(void)
{
    why_not = reason_against();
    gn_ticks_from_kernel = why_not != NULL;
}
