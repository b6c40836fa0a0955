#include "trace/reader_location.h"

#include "base/grow.h"
#include "trace/archive_file.h"
#include "trace/otf2_error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { HELD = 4096 };

static const struct gn_location_def *definition(const struct gn_reader_location *l)
{
    return &l->shared->definitions->locations[l->index];
}

/* ---- the library's side ---- */

/* The clock offsets of one location. What finds no memory is not known. */
struct offsets {
    struct gn_clock_offset *offsets;
    size_t count, capacity;
    bool no_memory;
};

static OTF2_CallbackCode on_offset(void *user, OTF2_TimeStamp time, int64_t offset, double deviation)
{
    struct offsets *o = user;
    o->no_memory |= !gn_grow(&o->offsets, &o->capacity, o->count, sizeof *o->offsets);
    if (!o->no_memory)
        o->offsets[o->count++] = (struct gn_clock_offset){time, offset, deviation};
    return OTF2_CALLBACK_SUCCESS;
}

static void define_clock(struct gn_reader_shared *s, size_t location, const struct offsets *offsets)
{
    uint32_t clock =
        gn_define_clock(s->definitions, &(struct gn_offsets_def){offsets->offsets, offsets->count});
    if (clock != GN_NONE)
        s->definitions->locations[location].clock = clock;
}

/* Local definitions say how a location's events are numbered. A file that is not there means that they are
 * numbered like the global ones; of one that was cut off nobody knows, and the location's events are left
 * out. */
static void read_local_definitions(struct gn_reader_shared *s, const OTF2_DefReaderCallbacks *callbacks,
                                   size_t location)
{
    uint64_t count = 0, id = s->definitions->locations[location].file_id;
    enum gn_file_state state = GN_FILE_WHOLE;
    if (s->has_plain_files)
        state = gn_archive_mappings_state(s->archive.folder, id, s->definition_chunk);
    s->has_no_numbers[location] = state == GN_FILE_CUT;
    if (state != GN_FILE_WHOLE)
        return;
    OTF2_DefReader *reader = OTF2_Reader_GetDefReader(s->otf2, id);
    if (!reader)
        return;
    struct offsets offsets = {.offsets = NULL};
    OTF2_Reader_RegisterDefCallbacks(s->otf2, reader, callbacks, &offsets);
    OTF2_Reader_ReadAllLocalDefinitions(s->otf2, reader, &count);
    OTF2_Reader_CloseDefReader(s->otf2, reader);
    if (!offsets.no_memory && offsets.count)
        define_clock(s, location, &offsets);
    free(offsets.offsets);
}

int gn_reader_select(struct gn_reader_shared *s, struct gn_error *err)
{
    const struct gn_definitions *d = s->definitions;
    s->has_no_numbers = calloc(d->location_count + 1, sizeof *s->has_no_numbers);
    if (!s->has_no_numbers)
        return gn_fail(err, -ENOMEM, "no memory for the %zu locations of the trace", d->location_count);
    for (size_t i = 0; i < d->location_count; i++)
        if (OTF2_Reader_SelectLocation(s->otf2, d->locations[i].file_id) != OTF2_SUCCESS)
            return gn_fail(err, -EIO, "cannot read location %" PRIu64 " of the trace %s: %s",
                           d->locations[i].file_id, s->archive.anchor, gn_otf2_error_text());
    OTF2_DefReaderCallbacks *callbacks = OTF2_DefReaderCallbacks_New();
    if (!callbacks)
        return gn_fail(err, -ENOMEM, "no memory to read the trace %s", s->archive.anchor);
    OTF2_DefReaderCallbacks_SetClockOffsetCallback(callbacks, on_offset);
    if (OTF2_Reader_OpenDefFiles(s->otf2) == OTF2_SUCCESS) {
        for (size_t i = 0; i < d->location_count; i++)
            read_local_definitions(s, callbacks, i);
        OTF2_Reader_CloseDefFiles(s->otf2);
    }
    OTF2_DefReaderCallbacks_Delete(callbacks);
    if (OTF2_Reader_OpenEvtFiles(s->otf2) != OTF2_SUCCESS)
        return gn_fail(err, -EIO, "cannot read the events of the trace %s: %s", s->archive.anchor,
                       gn_otf2_error_text());
    return 0;
}

static void find_cut(struct gn_reader_location *l)
{
    l->is_cut = true;
    l->shared->report.truncated++;
}

/* Before the first event: how many there are that can be read. False: none. */
static bool look_at_files(struct gn_reader_location *l)
{
    struct gn_reader_shared *s = l->shared;
    uint64_t id = definition(l)->file_id;
    l->has_begun = true;
    l->limit = UINT64_MAX;
    if (!s->has_plain_files)
        return true;
    enum gn_file_state events = gn_archive_events_end(s->archive.folder, id, s->event_chunk);
    if (events == GN_FILE_MISSING) { /* cut off before its first event, if it has any */
        s->report.missing_files += definition(l)->events != 0;
        return false;
    }
    if (s->has_no_numbers[l->index]) {
        find_cut(l);
        return false;
    }
    if (events == GN_FILE_CUT) {
        find_cut(l);
        l->limit = gn_archive_file_records(s->archive.folder, id, s->event_chunk);
    }
    return l->limit > 0;
}

/* Positions are counted from 1, and one behind the last record is an error: so to the last one that was read,
 * and over it, while there are no callbacks. */
static bool go_back(struct gn_reader_location *l)
{
    uint64_t records = 0;
    return OTF2_EvtReader_Seek(l->otf2, l->records) == OTF2_SUCCESS &&
           OTF2_Reader_ReadLocalEvents(l->shared->otf2, l->otf2, 1, &records) == OTF2_SUCCESS && records == 1;
}

int gn_reader_location_open(struct gn_reader_location *l, struct gn_error *err)
{
    struct gn_reader_shared *s = l->shared;
    if (l->otf2 || l->at_end)
        return 0;
    if (!l->has_begun && !look_at_files(l)) {
        l->at_end = true;
        return 0;
    }
    l->end_ticks = definition(l)->clock ? UINT64_MAX : s->maps.end_ticks;
    gn_otf2_error_forget();
    l->otf2 = OTF2_Reader_GetEvtReader(s->otf2, definition(l)->file_id);
    if (!l->otf2)
        return gn_fail(err, -EIO, "cannot open the events of location %" PRIu64 " in %s: %s",
                       definition(l)->file_id, s->archive.folder, gn_otf2_error_text());
    /* raw readings: putting clocks on one scale is not the reader's business */
    OTF2_EvtReader_ApplyClockOffsets(l->otf2, false);
    if (l->records && !go_back(l))
        return gn_fail(err, -EIO, "cannot go back to event %" PRIu64 " of location %" PRIu64 " in %s: %s",
                       l->records, definition(l)->file_id, s->archive.folder, gn_otf2_error_text());
    OTF2_Reader_RegisterEvtCallbacks(s->otf2, l->otf2, s->callbacks, l);
    return 0;
}

void gn_reader_location_park(struct gn_reader_location *l)
{
    if (l->otf2)
        OTF2_Reader_CloseEvtReader(l->shared->otf2, l->otf2);
    l->otf2 = NULL;
}

/* ---- batches ---- */

static bool make_room(struct gn_reader_location *l)
{
    size_t wanted = l->count + l->shared->batch;
    if (wanted <= l->capacity)
        return true;
    struct gn_event *events = reallocarray(l->events, wanted, sizeof *events);
    if (!events)
        return false;
    l->events = events;
    l->capacity = wanted;
    return true;
}

/* Forgets what was handed out. */
static void move_up(struct gn_reader_location *l)
{
    uint32_t gone = (uint32_t)l->handed_out;
    if (gone == 0)
        return;
    l->count -= gone;
    memmove(l->events, l->events + gone, l->count * sizeof *l->events);
    l->mpi.index -= l->mpi.is_open ? gone : 0;
    l->rma.index -= l->rma.is_open ? gone : 0;
    l->handed_out = 0;
}

/* How many of the events may go out. */
static size_t ready(struct gn_reader_location *l)
{
    struct gn_reader_pending *pending[] = {&l->mpi, &l->rma};
    size_t count = l->count;
    for (int i = 0; i < 2; i++) {
        if (pending[i]->is_open && l->count - pending[i]->index > HELD) {
            pending[i]->is_open = false;
            l->shared->report.open_collectives++;
        }
        if (pending[i]->is_open && pending[i]->index < count)
            count = pending[i]->index;
    }
    return count;
}

static void finish(struct gn_reader_location *l)
{
    struct gn_trace_report *report = &l->shared->report;
    const struct gn_location_def *d = definition(l);
    l->at_end = true;
    gn_reader_location_park(l);
    report->open_collectives += (uint64_t)l->mpi.is_open + l->rma.is_open;
    l->mpi.is_open = l->rma.is_open = false;
    report->unbalanced_leaves += l->entered.depth;
    report->miscounted += d->events != UINT64_MAX && d->events != l->records;
}

/* What the library says that it has read is less when it ends with an error. */
static void find_end(struct gn_reader_location *l)
{
    const uint64_t readable = l->position > l->records ? l->position : l->records;
    l->shared->report.ends[l->index] = readable + 1;
    if (!l->is_cut)
        find_cut(l);
}

/* Errors that are the machine's and not the file's. */
static bool is_ours(OTF2_ErrorCode status)
{
    return status == OTF2_ERROR_EMFILE || status == OTF2_ERROR_ENFILE || status == OTF2_ERROR_ENOMEM ||
           status == OTF2_ERROR_EACCES || status == OTF2_ERROR_EIO;
}

/* Reads one batch. What a broken file had until then counts. */
static int read_batch(struct gn_reader_location *l, struct gn_error *err)
{
    uint64_t records = 0, wanted = l->shared->batch;
    size_t before = l->count;
    if (wanted > l->limit - l->records)
        wanted = l->limit - l->records;
    if (!make_room(l))
        return gn_fail(err, -ENOMEM, "no memory for the events of location %" PRIu64, definition(l)->file_id);
    OTF2_ErrorCode status = OTF2_Reader_ReadLocalEvents(l->shared->otf2, l->otf2, wanted, &records);
    if (records < l->count - before)
        records = l->count - before; /* it says less when it ends with an error */
    l->records += records;
    l->shared->report.skipped += records - (l->count - before);
    if (is_ours(status))
        return gn_fail(err, -EIO, "cannot read the events of location %" PRIu64 " in %s: %s",
                       definition(l)->file_id, l->shared->archive.folder, gn_otf2_error_text());
    if (status != OTF2_SUCCESS)
        find_end(l);
    if (status != OTF2_SUCCESS || records < l->shared->batch)
        finish(l);
    return 0;
}

int64_t gn_reader_location_pull(struct gn_reader_location *l, const struct gn_event **events,
                                struct gn_error *err)
{
    size_t count;
    move_up(l);
    while ((count = ready(l)) == 0 && !l->at_end) {
        int status = read_batch(l, err);
        if (status < 0)
            return status;
    }
    l->handed_out = count;
    l->shared->report.events += count;
    *events = l->events;
    if (count == 0) {
        free(l->events);
        l->events = NULL;
        l->capacity = 0;
    }
    return (int64_t)count;
}

void gn_reader_location_close(struct gn_reader_location *l)
{
    gn_reader_location_park(l);
    free(l->events);
    l->events = NULL;
    gn_path_stack_free(&l->entered);
}
