#include "synth/write.h"

#include "synth/truth.h"
#include "trace/output.h"
#include "trace/writer.h"

#include <errno.h>
#include <stdlib.h>

struct writing {
    struct gn_source *source;
    struct gn_trace_writer *writer; /* of an archive, with its truth */
    struct gn_truth *truth;
    struct gn_output *stream; /* or this */
    struct gn_synth_written *written;
};

static int write_records(struct writing *out, uint32_t location, const struct gn_event *events,
                         const double *truth, int64_t number, struct gn_error *err)
{
    uint64_t file_id = out->source->definitions->locations[location].file_id;
    int code = 0;
    for (int64_t i = 0; i < number && code == 0; i++)
        code = gn_trace_write(out->writer, file_id, &events[i], err);
    return code == 0 ? gn_truth_write(out->truth, file_id, truth, (uint64_t)number, err) : code;
}

static int send(struct writing *out, const struct gn_event *events, int64_t number, struct gn_error *err)
{
    int code = 0;
    for (int64_t i = 0; i < number && code == 0; i++) {
        struct gn_place place = {.ticks = events[i].ticks, .sender = GN_NONE};
        code =
            out->stream->put(out->stream->self, out->written->events + (uint64_t)i, &events[i], &place, err);
    }
    return code;
}

static int write_batch(struct writing *out, uint32_t location, const struct gn_event *events, int64_t number,
                       struct gn_error *err)
{
    const double *truth = gn_synth_truth(out->source, location);
    int code = out->stream ? send(out, events, number, err)
                           : write_records(out, location, events, truth, number, err);
    for (int64_t i = 0; i < number; i++)
        if (events[i].kind == GN_EVENT_LOST)
            out->written->lost += events[i].request;
    out->written->events += (uint64_t)number;
    if (truth[number - 1] > out->written->last_ns)
        out->written->last_ns = truth[number - 1];
    return code;
}

/* Locations in turn: what is waiting stays little. */
static int write_events(struct writing *out, struct gn_error *err)
{
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < out->source->definitions->location_count; i++) {
            const struct gn_event *events;
            int64_t number = out->source->pull(out->source->self, i, &events, err);
            int code = number > 0 ? write_batch(out, i, events, number, err) : (int)number;
            if (code != 0)
                return code;
            more |= number > 0;
        }
    }
    return 0;
}

/* Definitions and, as far as they were measured, clock offsets. */
static int finish_archive(struct writing *out, bool measured, struct gn_error *err)
{
    const struct gn_definitions *d = out->source->definitions;
    int code = measured ? gn_synth_measure(out->source, err) : 0;
    struct gn_trace_local *own = calloc(d->clock_count, sizeof *own);
    const struct gn_trace_local **locals = calloc(d->location_count, sizeof *locals);
    if (code == 0 && (!own || !locals))
        code = gn_fail(err, -ENOMEM, "no memory for the offsets of clocks");
    for (size_t i = 0; i < d->clock_count && code == 0; i++)
        own[i] = (struct gn_trace_local){.offsets = d->clocks[i].offsets, .offset_count = d->clocks[i].count};
    for (size_t i = 0; i < d->location_count && code == 0; i++)
        locals[i] = &own[d->locations[i].clock];
    if (code == 0)
        code = gn_trace_finish_each(out->writer, d, locals, err);
    else
        gn_trace_abandon(out->writer);
    free(own);
    free(locals);
    return code;
}

static int write_trace(struct writing *out, const char *folder, bool measured, struct gn_error *err)
{
    int code = gn_truth_create(&out->truth, folder, err);
    if (code != 0) {
        gn_trace_abandon(out->writer);
        return code;
    }
    code = write_events(out, err);
    if (code != 0) {
        gn_truth_finish(out->truth, NULL);
        gn_trace_abandon(out->writer);
        return code;
    }
    code = gn_truth_finish(out->truth, err);
    int finished = finish_archive(out, measured && code == 0, code == 0 ? err : NULL);
    return code == 0 ? finished : code;
}

int gn_synth_write_archive(struct gn_synth_written *written, struct gn_source *source, const char *folder,
                           bool is_measured, struct gn_error *err)
{
    struct writing out = {.source = source, .written = written};
    *written = (struct gn_synth_written){.begun = false};
    int code = gn_trace_create(&out.writer, folder, err);
    if (code != 0)
        return code;
    written->begun = true;
    return write_trace(&out, folder, is_measured, err);
}

int gn_synth_write_stream(struct gn_synth_written *written, struct gn_source *source, const char *path,
                          struct gn_error *err)
{
    struct gn_output stream;
    struct writing out = {.source = source, .stream = &stream, .written = written};
    *written = (struct gn_synth_written){.begun = false};
    int code = gn_output_stream(&stream, path, source->definitions, err);
    if (code != 0)
        return code;
    written->begun = true;
    code = write_events(&out, err);
    if (code == 0)
        return stream.finish(stream.self, err);
    stream.close(stream.self);
    return code;
}
