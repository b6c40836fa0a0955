/*
 * squatter MODE LOG: another user who takes the name of the agent of the job that it is started in, ahead of
 * it. Prints its process id when it has it. LOG: a line for each connection, with the bytes that came by it.
 *
 *   accepts   takes connections, and never answers        bound    has the name, and does not listen
 *   full      listens, its queue is full for ever
 *
 * squatter hash: prints the hash by which hosts of the job find its folder.
 */
#include "agent/job.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { NOBODY = 65534, LONGEST_SECONDS = 200 };

static void fill_queue(const struct sockaddr_un *address, socklen_t bytes)
{
    struct timeval moment = {.tv_usec = 100000};
    int fd;
    do {
        fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &moment, sizeof moment);
    } while (connect(fd, (const struct sockaddr *)address, bytes) == 0);
}

static int take(const char *mode, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path + 1, name, strlen(name));
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, bytes) != 0)
        return -1;
    if (strcmp(mode, "bound") != 0 && listen(fd, 0) != 0)
        return -1;
    if (strcmp(mode, "full") == 0)
        fill_queue(&address, bytes);
    return fd;
}

static void take_connections(int listener, FILE *log)
{
    char bytes[4096];
    for (;;) {
        int connection = accept(listener, NULL, NULL);
        fprintf(log, "received %zd\n", recv(connection, bytes, sizeof bytes, 0));
        fflush(log);
    }
}

int main(int argc, char **argv)
{
    struct gn_job job;
    char name[64];
    gn_job_detect(&job);
    if (argc == 2 && strcmp(argv[1], "hash") == 0)
        return printf("%016llx\n", (unsigned long long)job.hash) < 0;
    gn_job_socket(&job, name);            /* before it is somebody else */
    syscall(SYS_close_range, 3u, ~0u, 0); /* a launcher waits for whoever holds what is its */
    setsid();
    FILE *log = argc == 3 ? fopen(argv[2], "we") : NULL;
    if (!log || setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
        return 2;
    int listener = take(argv[1], name);
    if (listener < 0)
        return 1;
    alarm(LONGEST_SECONDS); /* whatever becomes of the test */
    printf("%d\n", (int)getpid());
    fclose(stdout);
    if (strcmp(argv[1], "accepts") == 0)
        take_connections(listener, log);
    pause();
    return 0;
}
