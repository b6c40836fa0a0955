/* cli/doctor_try — trying things that may not come back, or end whoever tries them. */
#include "cli/doctor_try.h"

#include "clock/ticks.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMMAND_MS = 10000, CHECK_MS = 60000 }; /* a check may run some commands */

void gn_found(struct gn_finding *finding, bool fine, const char *format, ...)
{
    va_list words;
    va_start(words, format);
    finding->fine = fine;
    vsnprintf(finding->detail, sizeof finding->detail, format, words);
    va_end(words);
}

static int ms_left(uint64_t until_ns)
{
    uint64_t now_ns = gn_monotonic_ns();
    return now_ns < until_ns ? (int)((until_ns - now_ns) / 1000000) + 1 : 0;
}

/* ---- a command ---- */

static _Noreturn void become_command(char *const *words, int output)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(null, STDERR_FILENO);
    dup2(output, STDOUT_FILENO);
    setpgid(0, 0); /* what it starts ends with it */
    execvp(words[0], words);
    _exit(127);
}

/* Until its end, its time is up, or there is no more room. */
static size_t read_from(int input, char *text, size_t size)
{
    const uint64_t until_ns = gn_monotonic_ns() + COMMAND_MS * 1000000ull;
    size_t used = 0;
    while (used + 1 < size) {
        struct pollfd news = {.fd = input, .events = POLLIN};
        if (poll(&news, 1, ms_left(until_ns)) <= 0)
            break;
        ssize_t bytes = read(input, text + used, size - used - 1);
        if (bytes <= 0)
            break;
        used += (size_t)bytes;
    }
    text[used] = '\0';
    return used;
}

bool gn_first_line(char *const *words, char *line, size_t line_size, char *text, size_t text_size)
{
    char own[1024];
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    pid_t child = fork();
    if (child == 0)
        become_command(words, ends[1]);
    close(ends[1]);
    char *into = text ? text : own;
    size_t bytes = child > 0 ? read_from(ends[0], into, text ? text_size : sizeof own) : 0;
    close(ends[0]);
    if (child > 0) {
        setpgid(child, child); /* it may not have done so yet */
        kill(-child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    snprintf(line, line_size, "%.*s", (int)strcspn(into, "\n"), into);
    return bytes > 0;
}

/* ---- a check ---- */

static bool has_ended(pid_t child, int *status)
{
    const uint64_t until_ns = gn_monotonic_ns() + CHECK_MS * 1000000ull;
    for (useconds_t nap_us = 100; ms_left(until_ns) > 0; nap_us = nap_us < 20000 ? nap_us * 2 : nap_us) {
        if (waitpid(child, status, WNOHANG) == child)
            return true;
        usleep(nap_us);
    }
    kill(child, SIGKILL);
    waitpid(child, status, 0);
    return false;
}

int gn_doctor_try(const struct gn_check *check, struct gn_finding *finding)
{
    struct gn_finding *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return -errno;
    int status = 0;
    gn_found(shared, false, "the check ended before it had found out");
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC); /* libraries that are tried have things to say */
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        check->test(shared);
        _exit(0);
    }
    if (child < 0)
        gn_found(shared, false, "no process can be started: %s", strerror(errno));
    else if (!has_ended(child, &status))
        gn_found(shared, false, "does not come back: given up after %d s", CHECK_MS / 1000);
    else if (WIFSIGNALED(status))
        gn_found(shared, false, "whoever tries it is ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    *finding = *shared;
    munmap(shared, sizeof *shared);
    return 0;
}
