#include "capture/say.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

/* SIGPIPE goes to the thread that writes: one that came of it is taken, one that was there stays. */
void gn_say(const char *line, size_t bytes)
{
    struct pollfd error = {.fd = STDERR_FILENO, .events = POLLOUT};
    sigset_t pipe, before, pending;
    if (poll(&error, 1, 0) != 1 || error.revents != POLLOUT)
        return;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    const bool was_pending = sigismember(&pending, SIGPIPE) == 1;
    if (sigprocmask(SIG_BLOCK, &pipe, &before) != 0)
        return;
    if (write(STDERR_FILENO, line, bytes) < 0 && errno == EPIPE && !was_pending)
        while (sigtimedwait(&pipe, NULL, &(struct timespec){0, 0}) < 0 && errno == EINTR)
            ;
    sigprocmask(SIG_SETMASK, &before, NULL);
}
