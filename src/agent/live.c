#include "agent/live.h"

#include "base/grow.h"
#include "event/wire.h"
#include "agent/running.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { PIECE = 1 << 16 };

struct live {
    struct gn_ordering *ordering;
    const struct gn_output *output; /* may be NULL */
    struct gn_live_counts *counts;
    uint32_t *carriers; /* per location: stream + 1; 0: nobody, or it has ended */
    size_t carrier_count, carrier_capacity;
    bool failed; /* in the ordering, not in a stream: everything stops */
    struct stream {
        struct live *live;
        const char *name;
        struct gn_wire_reader *reader;
        uint32_t number;
    } * streams;
    struct pollfd *polls; /* fd -1: ended */
    size_t count, open;
};

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* ---- what a stream says ---- */

static int carry(void *self, uint32_t location, struct gn_error *err)
{
    struct stream *s = self;
    struct live *l = s->live;
    while (l->carrier_count <= location) {
        if (!gn_grow(&l->carriers, &l->carrier_capacity, l->carrier_count, sizeof *l->carriers))
            return gn_fail(err, -ENOMEM, "no memory for location %u", location);
        l->carriers[l->carrier_count++] = 0;
    }
    if (l->carriers[location])
        return gn_fail(err, -EINVAL, "%s: location %u is carried by %s already", s->name, location,
                       l->streams[l->carriers[location] - 1].name);
    l->carriers[location] = s->number + 1;
    return 0;
}

/* An error of the ordering is not the stream's. */
static int of_ordering(struct live *l, int code)
{
    l->failed |= code != 0;
    return code;
}

static int event(void *self, const struct gn_event *e, uint64_t sequence, struct gn_error *err)
{
    struct live *l = ((struct stream *)self)->live;
    int code = gn_ordering_push_numbered(l->ordering, e, sequence, err);
    if (code != -EEXIST)
        return of_ordering(l, code);
    l->counts->duplicates++;
    return 0;
}

static int end(void *self, uint32_t location, struct gn_error *err)
{
    struct live *l = ((struct stream *)self)->live;
    l->carriers[location] = 0;
    return of_ordering(l, gn_ordering_end(l->ordering, location, err));
}

/* ---- streams ---- */

static int connect_to(const char *path, struct gn_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return gn_fail(err, -ENAMETOOLONG, "the name of the socket %s is too long", path);
    memcpy(address.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    int code = gn_fail(err, -errno, "cannot connect to the socket %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return code;
}

/* A FIFO is opened without waiting for its writer: poll waits for all of them. */
static int open_fd(const char *path, struct gn_error *err)
{
    struct stat info;
    if (strcmp(path, "-") == 0)
        return STDIN_FILENO;
    bool exists = stat(path, &info) == 0;
    if (exists && S_ISSOCK(info.st_mode))
        return connect_to(path, err);
    if (exists && S_ISDIR(info.st_mode))
        return gn_running_stream(path, err);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return gn_fail(err, -errno, "cannot read the event stream %s: %s", path, strerror(errno));
    return fd;
}

static int open_stream(struct live *l, const char *name, struct gn_definitions *definitions,
                       struct gn_error *err)
{
    struct stream *s = &l->streams[l->count];
    struct gn_wire_sink sink = {s, carry, event, end};
    *s = (struct stream){.live = l, .name = strcmp(name, "-") == 0 ? "standard input" : name};
    s->number = (uint32_t)l->count;
    int fd = open_fd(name, err);
    if (fd < 0)
        return fd;
    l->polls[l->count++] = (struct pollfd){.fd = fd, .events = POLLIN};
    l->open++;
    return gn_wire_open(&s->reader, s->name, definitions, &sink, err);
}

/* The stream has ended: whatever it still carried has, too. */
static int finish_stream(struct live *l, size_t i, bool broken, struct gn_error *err)
{
    struct stream *s = &l->streams[i];
    int code = 0;
    bool died = broken || !gn_wire_is_complete(s->reader);
    l->counts->died += died;
    l->counts->broken += broken;
    for (uint32_t k = 0; k < l->carrier_count && code == 0; k++)
        if (l->carriers[k] == s->number + 1)
            code = end(s, k, err);
    if (l->polls[i].fd > STDIN_FILENO)
        close(l->polls[i].fd);
    l->polls[i].fd = -1;
    l->open--;
    return code;
}

static int read_stream(struct live *l, size_t i, struct gn_error *err)
{
    static _Alignas(8) char bytes[PIECE];
    struct stream *s = &l->streams[i];
    ssize_t count = read(l->polls[i].fd, bytes, sizeof bytes);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (count == 0)
        return finish_stream(l, i, false, err);
    if (count < 0)
        gn_fail(err, -errno, "cannot read %s: %s", s->name, strerror(errno));
    int code = count < 0 ? -EIO : gn_wire_feed(s->reader, bytes, (size_t)count, err);
    if (code == 0 || l->failed || code == -ENOMEM)
        return code;
    fprintf(stderr, "gnomon order: %s\n", err->text);
    return finish_stream(l, i, true, err);
}

static int read_all(struct live *l, struct gn_error *err)
{
    int code = 0;
    while (code == 0 && l->open && !interrupted) {
        int ready = poll(l->polls, l->count, -1);
        if (ready < 0 && errno != EINTR)
            return gn_fail(err, -errno, "cannot wait for event streams: %s", strerror(errno));
        for (size_t i = 0; ready > 0 && i < l->count && code == 0; i++)
            if (l->polls[i].fd >= 0 && l->polls[i].revents)
                code = read_stream(l, i, err);
        if (code == 0 && l->output)
            code = l->output->flush(l->output->self, err);
    }
    return code;
}

static void close_all(struct live *l)
{
    for (size_t i = 0; i < l->count; i++) {
        l->counts->undefined += l->streams[i].reader ? gn_wire_undefined(l->streams[i].reader) : 0;
        gn_wire_close(l->streams[i].reader);
        if (l->polls[i].fd > STDIN_FILENO)
            close(l->polls[i].fd);
    }
    free(l->streams);
    free(l->polls);
    free(l->carriers);
}

int gn_live_run(char **names, size_t count, struct gn_definitions *definitions, struct gn_ordering *ordering,
                const struct gn_output *output, struct gn_live_counts *counts, struct gn_error *err)
{
    struct live l = {.ordering = ordering, .output = output, .counts = counts};
    struct sigaction stop = {.sa_handler = interrupt}, old_int, old_term;
    *counts = (struct gn_live_counts){.streams = count};
    l.streams = calloc(count, sizeof *l.streams);
    l.polls = calloc(count, sizeof *l.polls);
    int code = l.streams && l.polls ? 0 : gn_fail(err, -ENOMEM, "no memory for %zu streams", count);
    for (size_t i = 0; i < count && code == 0; i++)
        code = open_stream(&l, names[i], definitions, err);
    sigaction(SIGINT, &stop, &old_int);
    sigaction(SIGTERM, &stop, &old_term);
    if (code == 0)
        code = read_all(&l, err);
    sigaction(SIGINT, &old_int, NULL);
    sigaction(SIGTERM, &old_term, NULL);
    counts->interrupted = interrupted;
    if (code == 0)
        code = gn_ordering_finish(ordering, err);
    close_all(&l);
    return code;
}
