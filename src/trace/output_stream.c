#include "trace/output.h"

#include "event/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One stream for all locations, or one for each. */
struct streams {
    size_t count;
    struct stream {
        int fd;
        struct gn_wire_writer *writer;
    } streams[];
};

static struct gn_wire_writer *writer_of(struct streams *s, uint32_t location)
{
    return s->streams[s->count == 1 ? 0 : location].writer;
}

static int put(void *self, uint64_t number, const struct gn_event *event, const struct gn_place *place,
               struct gn_error *err)
{
    struct streams *s = self;
    struct gn_event placed = *event;
    (void)number;
    placed.ticks = place->ticks;
    if (s->count > 1 && event->location >= s->count)
        return gn_fail(err, -EINVAL, "location %u came too late to have a stream of its own",
                       event->location);
    return gn_wire_write(writer_of(s, event->location), &placed, err);
}

static int end(void *self, uint32_t location, struct gn_error *err)
{
    struct streams *s = self;
    return s->count > 1 && location >= s->count ? 0 : gn_wire_end(writer_of(s, location), location, err);
}

static int flush(void *self, struct gn_error *err)
{
    struct streams *s = self;
    int code = 0;
    for (size_t i = 0; i < s->count && code == 0; i++)
        code = gn_wire_flush(s->streams[i].writer, err);
    return code;
}

static void close_output(void *self)
{
    struct streams *s = self;
    for (size_t i = 0; i < s->count; i++) {
        gn_wire_writer_close(s->streams[i].writer);
        if (s->streams[i].fd > STDOUT_FILENO)
            close(s->streams[i].fd);
    }
    free(s);
}

static int finish(void *self, struct gn_error *err)
{
    struct streams *s = self;
    int code = 0;
    for (size_t i = 0; i < s->count && code == 0; i++)
        code = gn_wire_finish(s->streams[i].writer, err);
    close_output(s);
    return code;
}

static int open_stream(struct stream *stream, const char *path, uint32_t location,
                       const struct gn_definitions *definitions, struct gn_error *err)
{
    stream->fd =
        strcmp(path, "-") == 0 ? STDOUT_FILENO : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (stream->fd < 0)
        return gn_fail(err, -errno, "cannot write the event stream %s: %s", path, strerror(errno));
    return gn_wire_create(&stream->writer, stream->fd, definitions, location, err);
}

int gn_output_stream(struct gn_output *output, const char *path, const struct gn_definitions *definitions,
                     struct gn_error *err)
{
    const char *mark = strchr(path, '%');
    size_t count = mark ? definitions->location_count : 1;
    struct streams *s = calloc(1, sizeof *s + count * sizeof s->streams[0]);
    int code = 0;
    if (!s)
        return gn_fail(err, -ENOMEM, "no memory for %zu event streams", count);
    for (; s->count < count && code == 0; s->count++) {
        char named[4096];
        if (mark && snprintf(named, sizeof named, "%.*s%zu%s", (int)(mark - path), path, s->count,
                             mark + 1) >= (int)sizeof named)
            code = gn_fail(err, -ENAMETOOLONG, "the name of an event stream is too long: %s", path);
        else
            code = open_stream(&s->streams[s->count], mark ? named : path,
                               mark ? (uint32_t)s->count : GN_NONE, definitions, err);
    }
    if (code != 0) {
        close_output(s);
        return code;
    }
    *output = (struct gn_output){
        .self = s, .put = put, .end = end, .flush = flush, .finish = finish, .close = close_output};
    return 0;
}
