#include "trace/reader.h"

#include "trace/archive_file.h"
#include "trace/otf2_error.h"
#include "trace/reader_location.h"
#include "trace/vocabulary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

/* An open location costs a file descriptor and a chunk of the archive's chunk size (1 MiB with most tools).
 * One that is closed for others costs reading half a chunk in vain when it is asked again: then larger
 * batches pay. */
#define OPEN_BYTES ((uint64_t)1 << 30)
enum { OPEN_MOST = 4096, OPEN_LEAST = 2 };
/* Events of a location that are read at once (256: they stay in the first-level cache), and what all batches
 * together may take. */
#define BATCH_BYTES ((uint64_t)1 << 30)
enum { BATCH_LEAST = 64, BATCH = 256, BATCH_MOST = 4096 };

struct reader {
    struct gn_reader_shared shared;
    struct gn_reader_location *locations;
    struct process {
        struct gn_open_requests requests;
        uint32_t locations_left; /* that are not at their end */
    } * processes;
    uint32_t *open; /* [open_limit] ring of locations; GN_NONE: free */
    uint32_t open_limit, open_next;
};

static void close_reader(void *self)
{
    struct reader *r = self;
    if (!r)
        return;
    size_t locations = r->locations ? r->shared.definitions->location_count : 0;
    size_t processes = r->processes ? r->shared.definitions->process_count : 0;
    for (size_t i = 0; i < locations; i++)
        gn_reader_location_close(&r->locations[i]);
    for (size_t i = 0; i < processes; i++)
        gn_open_requests_free(&r->processes[i].requests);
    OTF2_EvtReaderCallbacks_Delete(r->shared.callbacks);
    if (r->shared.otf2)
        OTF2_Reader_Close(r->shared.otf2);
    gn_reader_maps_free(&r->shared.maps);
    gn_definitions_free(r->shared.definitions);
    free(r->locations);
    free(r->processes);
    free(r->open);
    free(r->shared.report.ends);
    free(r->shared.has_no_numbers);
    free(r);
}

/* Makes the location one of those that are open; the one that has been open longest gives its place. */
static int open_location(struct reader *r, uint32_t location, struct gn_error *err)
{
    struct gn_reader_location *l = &r->locations[location];
    if (l->otf2 || l->at_end)
        return 0;
    uint32_t *place = &r->open[r->open_next];
    r->open_next = (r->open_next + 1) % r->open_limit;
    if (*place != GN_NONE)
        gn_reader_location_park(&r->locations[*place]);
    *place = location;
    return gn_reader_location_open(l, err);
}

/* After the last event of a location. */
static void end_location(struct reader *r, const struct gn_reader_location *l)
{
    struct process *p = &r->processes[r->shared.definitions->locations[l->index].process];
    if (p->locations_left == 0 || --p->locations_left > 0)
        return;
    gn_open_requests_sum(&p->requests, &r->shared.report.open_requests, &r->shared.report.unknown_requests);
    gn_open_requests_free(&p->requests);
}

static int64_t pull(void *self, uint32_t location, const struct gn_event **events, struct gn_error *err)
{
    struct reader *r = self;
    struct gn_reader_location *l = &r->locations[location];
    int status = open_location(r, location, err);
    if (status < 0)
        return status;
    int64_t count = gn_reader_location_pull(l, events, err);
    if (l->at_end && !l->has_ended) {
        l->has_ended = true;
        end_location(r, l);
    }
    return count;
}

static int prepare_locations(struct reader *r, struct gn_error *err)
{
    const struct gn_definitions *d = r->shared.definitions;
    r->locations = calloc(d->location_count + 1, sizeof *r->locations);
    r->processes = calloc(d->process_count + 1, sizeof *r->processes);
    r->shared.report.ends = calloc(d->location_count + 1, sizeof *r->shared.report.ends);
    if (!r->locations || !r->processes || !r->shared.report.ends)
        return gn_fail(err, -ENOMEM, "no memory for the %zu locations of the trace", d->location_count);
    for (size_t i = 0; i < d->location_count; i++) {
        struct process *process = &r->processes[d->locations[i].process];
        process->requests.several = process->locations_left++ > 0;
        r->locations[i] = (struct gn_reader_location){.shared = &r->shared,
                                                      .requests = &process->requests,
                                                      .index = (uint32_t)i,
                                                      .bare = gn_event_bare(0, (uint32_t)i, 0)};
    }
    return 0;
}

static uint64_t clamp(uint64_t value, uint64_t least, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* How much may be in memory at a time. */
static void tell_limits(struct reader *r)
{
    uint64_t chunk = 1 << 20, definition_chunk = 0, locations = r->shared.definitions->location_count + 1;
    struct rlimit files = {.rlim_cur = 256};
    getrlimit(RLIMIT_NOFILE, &files);
    OTF2_Reader_GetChunkSize(r->shared.otf2, &chunk, &definition_chunk);
    r->shared.event_chunk = chunk;
    r->shared.definition_chunk = definition_chunk;
    uint64_t most = clamp(files.rlim_cur / 2, OPEN_LEAST, OPEN_MOST);
    r->open_limit = (uint32_t)clamp(OPEN_BYTES / (chunk + 1), OPEN_LEAST, most);
    r->shared.batch = BATCH;
    if (locations > r->open_limit)
        r->shared.batch =
            (uint32_t)clamp(BATCH_BYTES / sizeof(struct gn_event) / locations, BATCH_LEAST, BATCH_MOST);
}

static int prepare_limits(struct reader *r, struct gn_error *err)
{
    tell_limits(r);
    r->open = malloc(r->open_limit * sizeof *r->open);
    if (!r->open)
        return gn_fail(err, -ENOMEM, "no memory to open the trace");
    for (uint32_t i = 0; i < r->open_limit; i++)
        r->open[i] = GN_NONE;
    return 0;
}

static void tell_creator(struct reader *r)
{
    char *creator = NULL;
    if (OTF2_Reader_GetCreator(r->shared.otf2, &creator) == OTF2_SUCCESS && creator)
        snprintf(r->shared.report.creator, sizeof r->shared.report.creator, "%s", creator);
    free(creator);
}

static void tell_clocks(struct reader *r)
{
    char *bounds = NULL;
    if (OTF2_Reader_GetProperty(r->shared.otf2, GN_PROPERTY_CLOCK_BOUNDS, &bounds) == OTF2_SUCCESS && bounds)
        r->shared.definitions->clock_bounds = gn_define_string(r->shared.definitions, bounds);
    free(bounds);
    if (r->shared.definitions->clock_bounds == GN_NONE)
        r->shared.definitions->clock_bounds = 0;
    gn_otf2_error_forget(); /* most archives do not have it */
}

static void tell_form(struct reader *r)
{
    OTF2_Compression compression = OTF2_COMPRESSION_UNDEFINED;
    OTF2_FileSubstrate substrate = OTF2_SUBSTRATE_UNDEFINED;
    OTF2_Reader_GetCompression(r->shared.otf2, &compression);
    OTF2_Reader_GetFileSubstrate(r->shared.otf2, &substrate);
    r->shared.has_plain_files = compression == OTF2_COMPRESSION_NONE && substrate == OTF2_SUBSTRATE_POSIX;
}

/* Of definitions that were cut off the library reads what was in memory before. */
static int check_definitions(const struct gn_reader_shared *s, struct gn_error *err)
{
    if (!s->has_plain_files)
        return 0;
    switch (gn_archive_definitions_state(s->archive.folder)) {
    case GN_FILE_MISSING:
        return gn_fail(err, -ENOENT, "the trace %s has no definitions: %s.def is missing", s->archive.anchor,
                       s->archive.folder);
    case GN_FILE_CUT:
        return gn_fail(err, -EINVAL,
                       "the definitions of the trace are not complete: %s.def was cut off; was it still "
                       "being written or copied, or was the disk full?",
                       s->archive.folder);
    case GN_FILE_WHOLE:
        break;
    }
    return 0;
}

static uint64_t definitions_limit(const struct gn_reader_shared *s)
{
    uint64_t events, chunk = 0;
    if (!s->has_plain_files || OTF2_Reader_GetChunkSize(s->otf2, &events, &chunk) != OTF2_SUCCESS)
        return UINT64_MAX;
    return gn_archive_definitions_count(s->archive.folder, chunk);
}

static int open_archive(struct reader *r, struct gn_error *err)
{
    struct gn_reader_shared *s = &r->shared;
    s->definitions = gn_definitions_new();
    s->callbacks = gn_reader_callbacks();
    if (!s->definitions || !s->callbacks)
        return gn_fail(err, -ENOMEM, "no memory to open the trace");
    gn_otf2_errors_catch();
    gn_otf2_error_forget();
    s->otf2 = OTF2_Reader_Open(s->archive.anchor);
    if (!s->otf2 || OTF2_Reader_SetSerialCollectiveCallbacks(s->otf2) != OTF2_SUCCESS)
        return gn_fail(err, -EINVAL, "cannot open the trace %s: %s", s->archive.anchor, gn_otf2_error_text());
    tell_creator(r);
    tell_clocks(r);
    tell_form(r);
    int status = check_definitions(s, err);
    if (status == 0)
        status =
            gn_reader_definitions(s->otf2, definitions_limit(s), s->definitions, &s->maps, &s->report, err);
    if (status == 0)
        status = prepare_limits(r, err);
    if (status == 0)
        status = prepare_locations(r, err);
    return status < 0 ? status : gn_reader_select(s, err);
}

int gn_trace_open(struct gn_source *source, const struct gn_trace_report **report, const char *path,
                  struct gn_error *err)
{
    struct reader *r = calloc(1, sizeof *r);
    if (!r)
        return gn_fail(err, -ENOMEM, "no memory to open the trace");
    int status = gn_archive_find(&r->shared.archive, path, err);
    if (status == 0)
        status = open_archive(r, err);
    if (status < 0) {
        close_reader(r);
        return status;
    }
    *source = (struct gn_source){r, r->shared.definitions, pull, close_reader};
    if (report)
        *report = &r->shared.report;
    return 0;
}
