#include "trace/writer.h"

#include "base/grow.h"
#include "trace/event_file.h"
#include "trace/otf2_error.h"
#include "trace/path_stack.h"
#include "trace/records.h"
#include "trace/write_definitions.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A quarter of the mappings that Linux lets a process have (vm.max_map_count): parked ones between others
 * take some, too. */
enum { MOST_AWAKE = 16384 };

struct location {
    OTF2_EvtWriter *writer;
    struct gn_event_file file;
    struct gn_event_summary summary;
    uint64_t file_id;
    uint64_t kept; /* events of another writer, which come first */
    bool fresh;    /* written to since the last flush */
    struct gn_path_stack entered;
};

struct gn_trace_writer {
    char *folder;
    OTF2_Archive *archive; /* encodes; writes no files: see trace/event_file.h */
    OTF2_AttributeList *attributes;
    struct location **locations; /* by index; NULL: no event yet */
    size_t location_capacity, location_count;
    size_t awake, most_awake; /* locations whose files are mapped: by give_chunk, until take_chunks */
    size_t hand;              /* where to look for the next one to park */
    struct location *opening; /* whose buffer OTF2 is about to allocate */
    struct gn_error trouble;  /* of a file, inside OTF2's calls */
    int trouble_code;         /* negative errno value */
    bool again;               /* in the folder of another writer */
};

/* ---- the memory that OTF2 encodes in ---- */

static void *give_chunk(void *self, OTF2_FileType type, OTF2_LocationRef reference, void **of_buffer,
                        uint64_t size)
{
    struct gn_trace_writer *writer = self;
    (void)reference;
    if (type != OTF2_FILETYPE_EVENTS || size != GN_CHUNK_SIZE)
        return NULL;
    if (!*of_buffer)
        *of_buffer = writer->opening;
    struct location *location = *of_buffer;
    bool is_first = !location->file.chunk;
    writer->trouble_code = gn_event_file_next(&location->file, &writer->trouble);
    writer->awake += is_first && !writer->trouble_code;
    return writer->trouble_code ? NULL : location->file.chunk;
}

static void take_chunks(void *self, OTF2_FileType type, OTF2_LocationRef reference, void **of_buffer,
                        bool final)
{
    struct gn_trace_writer *writer = self;
    (void)type, (void)reference;
    struct location *location = *of_buffer;
    if (final && location) {
        writer->awake -= location->file.chunk != NULL;
        int code = gn_event_file_close(&location->file, &writer->trouble);
        writer->trouble_code = code ? code : writer->trouble_code;
    }
}

/* There is nothing to write: what is encoded is in the file. */
static OTF2_FlushType never_write(void *self, OTF2_FileType type, OTF2_LocationRef reference, void *caller,
                                  bool final)
{
    (void)self, (void)type, (void)reference, (void)caller, (void) final;
    return OTF2_NO_FLUSH;
}

/* Why an OTF2 call failed: a file's trouble if there was one, else what OTF2 says. */
static int fail(struct gn_trace_writer *writer, const char *doing, struct gn_error *err)
{
    if (writer->trouble_code)
        return gn_fail(err, writer->trouble_code, "%s", writer->trouble.text);
    return gn_fail(err, -EIO, "%s: %s", doing, gn_otf2_error_text());
}

/* ---- mappings ---- */

void gn_trace_map_at_most(struct gn_trace_writer *writer, size_t most)
{
    writer->most_awake = most;
}

/* Parks locations in turn until another one may be mapped: nearly always the one mapped the longest ago. */
static int make_room(struct gn_trace_writer *writer, struct gn_error *err)
{
    while (writer->awake >= writer->most_awake) {
        struct location *location = writer->locations[writer->hand];
        writer->hand = (writer->hand + 1) % writer->location_count;
        if (!location || !location->file.chunk || location->file.parked)
            continue;
        int code = gn_event_file_park(&location->file, err);
        if (code < 0)
            return code;
        writer->awake--;
    }
    return 0;
}

static int wake(struct gn_trace_writer *writer, struct location *location, struct gn_error *err)
{
    if (!location->file.parked)
        return 0;
    int code = make_room(writer, err);
    if (code == 0)
        code = gn_event_file_wake(&location->file, err);
    writer->awake += code == 0;
    return code;
}

/* ---- creating ---- */

static int make_folder(const char *path, struct gn_error *err)
{
    if (mkdir(path, 0777) == 0)
        return 0;
    DIR *dir = errno == EEXIST ? opendir(path) : NULL;
    if (!dir)
        return gn_fail(err, -errno, "creating the folder %s of the trace failed: %s", path, strerror(errno));
    size_t entries = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        entries += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    if (entries)
        return gn_fail(err, -ENOTEMPTY, "the folder %s is not empty: a trace needs one of its own", path);
    return 0;
}

static int make_folders(const char *folder, struct gn_error *err)
{
    int code = make_folder(folder, err);
    if (code < 0)
        return code;
    char *events = NULL;
    if (asprintf(&events, "%s/" GN_ARCHIVE_NAME, folder) < 0)
        return gn_fail(err, -ENOMEM, "no memory to write a trace");
    code = make_folder(events, err);
    free(events);
    return code;
}

static int open_archive(struct gn_trace_writer *writer, struct gn_error *err)
{
    static const OTF2_MemoryCallbacks memory = {give_chunk, take_chunks};
    static const OTF2_FlushCallbacks flush = {.otf2_pre_flush = never_write};
    gn_otf2_errors_catch();
    writer->attributes = OTF2_AttributeList_New();
    writer->archive =
        OTF2_Archive_Open(writer->folder, GN_ARCHIVE_NAME, OTF2_FILEMODE_WRITE, GN_CHUNK_SIZE,
                          OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_NONE, OTF2_COMPRESSION_NONE);
    if (!writer->attributes || !writer->archive ||
        OTF2_Archive_SetFlushCallbacks(writer->archive, &flush, writer) != OTF2_SUCCESS ||
        OTF2_Archive_SetMemoryCallbacks(writer->archive, &memory, writer) != OTF2_SUCCESS ||
        OTF2_Archive_SetSerialCollectiveCallbacks(writer->archive) != OTF2_SUCCESS ||
        OTF2_Archive_OpenEvtFiles(writer->archive) != OTF2_SUCCESS)
        return fail(writer, "opening a trace for writing", err);
    return 0;
}

static int create(struct gn_trace_writer **result, const char *folder, bool again, struct gn_error *err)
{
    struct gn_trace_writer *writer = calloc(1, sizeof *writer);
    if (!writer || !(writer->folder = strdup(folder))) {
        free(writer);
        return gn_fail(err, -ENOMEM, "no memory to write a trace");
    }
    writer->most_awake = MOST_AWAKE;
    writer->again = again;
    int code = again ? 0 : make_folders(folder, err);
    if (code == 0)
        code = open_archive(writer, err);
    if (code < 0)
        gn_trace_abandon(writer);
    else
        *result = writer;
    return code;
}

int gn_trace_create(struct gn_trace_writer **result, const char *folder, struct gn_error *err)
{
    return create(result, folder, false, err);
}

int gn_trace_create_again(struct gn_trace_writer **result, const char *folder, struct gn_error *err)
{
    return create(result, folder, true, err);
}

/* ---- events ---- */

/* kept: events of another writer that it goes on behind. */
static int open_location(struct gn_trace_writer *writer, struct location **result, uint64_t file_id,
                         const uint64_t *kept, struct gn_error *err)
{
    struct location *location = calloc(1, sizeof *location);
    if (!location || !(location->file.path = gn_event_file_path(writer->folder, file_id))) {
        free(location);
        return gn_fail(err, -ENOMEM, "no memory to write a trace");
    }
    const uint64_t nothing = 0;
    location->file_id = file_id;
    if (writer->again && !kept) /* a file without an event of use may be there */
        kept = &nothing;
    int code = kept ? gn_event_file_go_on(&location->file, *kept, &location->summary, err) : 0;
    if (code < 0) {
        free(location->file.path);
        free(location);
        return code;
    }
    location->kept = location->summary.events;
    gn_otf2_error_forget();
    writer->trouble_code = 0;
    writer->opening = location;
    location->writer = OTF2_Archive_GetEvtWriter(writer->archive, file_id);
    if (!location->writer) {
        free(location->file.path);
        free(location);
        return fail(writer, "opening an event file", err);
    }
    *result = location;
    return 0;
}

static int find_location(struct gn_trace_writer *writer, uint32_t index, uint64_t file_id,
                         const uint64_t *kept, struct location **result, struct gn_error *err)
{
    while (index >= writer->location_count) {
        if (!gn_grow(&writer->locations, &writer->location_capacity, writer->location_count,
                     sizeof *writer->locations))
            return gn_fail(err, -ENOMEM, "no memory to write a trace");
        writer->locations[writer->location_count++] = NULL;
    }
    if (!writer->locations[index]) {
        int code = make_room(writer, err);
        if (code == 0)
            code = open_location(writer, &writer->locations[index], file_id, kept, err);
        if (code < 0)
            return code;
    }
    *result = writer->locations[index];
    return wake(writer, *result, err);
}

/* Leaves mostly have the path of their enter, which then need not be written. */
static OTF2_ErrorCode write_record(struct gn_trace_writer *writer, struct location *location, uint64_t ticks,
                                   const struct gn_event *event)
{
    if (event->kind == GN_EVENT_ENTER || event->kind == GN_EVENT_REGION_BEGIN) {
        gn_path_stack_enter(&location->entered, event->path);
    } else if (event->kind == GN_EVENT_LEAVE || event->kind == GN_EVENT_REGION_END) {
        struct gn_event leave = *event;
        if (gn_path_stack_leave(&location->entered) == leave.path)
            leave.path = GN_PATH_OF_ENTER;
        return gn_record_write(location->writer, writer->attributes, ticks, &leave);
    }
    return gn_record_write(location->writer, writer->attributes, ticks, event);
}

int gn_trace_write(struct gn_trace_writer *writer, uint64_t file_id, const struct gn_event *event,
                   struct gn_error *err)
{
    struct location *location =
        event->location < writer->location_count ? writer->locations[event->location] : NULL;
    if (__builtin_expect(!location || location->file.parked, 0)) {
        int code = find_location(writer, event->location, file_id, NULL, &location, err);
        if (code < 0)
            return code;
    }
    const uint64_t last = location->summary.last_ticks, ticks = event->ticks < last ? last : event->ticks;
    if (__builtin_expect(write_record(writer, location, ticks, event) != OTF2_SUCCESS, 0)) {
        int code = fail(writer, "writing an event", err);
        gn_otf2_error_forget();
        return code;
    }
    if (location->summary.events++ == 0)
        location->summary.first_ticks = ticks;
    location->summary.last_ticks = ticks;
    location->fresh = true;
    gn_event_file_count(&location->file, location->summary.events - location->kept);
    return 0;
}

int gn_trace_go_on(struct gn_trace_writer *writer, uint32_t index, uint64_t file_id, uint64_t events,
                   struct gn_error *err)
{
    struct location *location;
    return find_location(writer, index, file_id, &events, &location, err);
}

int gn_trace_flush(struct gn_trace_writer *writer, struct gn_error *err)
{
    for (size_t i = 0; i < writer->location_count; i++) {
        struct location *location = writer->locations[i];
        if (!location || !location->fresh)
            continue;
        int code = gn_event_file_hand_over(&location->file, err);
        if (code < 0)
            return code;
        location->fresh = false;
    }
    return 0;
}

/* ---- the end ---- */

/* OTF2 writes the end of a chunk: there has to be memory for it, even if it is no longer the file's. false:
 * there is none, and OTF2 must not be asked to close anything. */
static bool prepare_to_close(struct gn_trace_writer *writer, struct location *location)
{
    int code = wake(writer, location, &writer->trouble);
    if (code == 0)
        return true;
    writer->trouble_code = code;
    if (gn_event_file_detach(&location->file))
        writer->awake++;
    else
        writer->archive = NULL;
    return writer->archive != NULL;
}

/* The newest first: OTF2 has its writers in a list that begins with that one, and searches it. */
static int close_locations(struct gn_trace_writer *writer, struct gn_error *err)
{
    int code = 0;
    writer->trouble_code = 0;
    for (size_t i = writer->location_count; i-- > 0;) {
        struct location *location = writer->locations[i];
        if (location && !prepare_to_close(writer, location))
            break;
        if (location && OTF2_Archive_CloseEvtWriter(writer->archive, location->writer) != OTF2_SUCCESS)
            code = -EIO;
    }
    return code || writer->trouble_code ? fail(writer, "closing the event files", err) : 0;
}

static void free_writer(struct gn_trace_writer *writer)
{
    if (writer->archive)
        OTF2_Archive_Close(writer->archive);
    if (writer->attributes)
        OTF2_AttributeList_Delete(writer->attributes);
    for (size_t i = 0; i < writer->location_count; i++) {
        if (writer->locations[i])
            gn_path_stack_free(&writer->locations[i]->entered);
        free(writer->locations[i]);
    }
    free(writer->locations);
    free(writer->folder);
    free(writer);
}

/* A location without an event has an empty event file, which readers want to see. */
static int open_silent_locations(struct gn_trace_writer *writer, const struct gn_definitions *definitions,
                                 struct gn_error *err)
{
    int code = 0;
    for (uint32_t i = 0; i < definitions->location_count && code == 0; i++) {
        struct location *location = i < writer->location_count ? writer->locations[i] : NULL;
        if (!location)
            code = find_location(writer, i, definitions->locations[i].file_id, NULL, &location, err);
    }
    return code;
}

static int write_definitions(const struct gn_trace_writer *writer, const struct gn_definitions *definitions,
                             const struct gn_trace_local *const *locals, struct gn_error *err)
{
    size_t count = definitions->location_count;
    struct gn_event_summary *summaries = calloc(count + 1, sizeof *summaries);
    if (!summaries)
        return gn_fail(err, -ENOMEM, "no memory to write a trace");
    for (size_t i = 0; i < count; i++)
        if (i < writer->location_count && writer->locations[i])
            summaries[i] = writer->locations[i]->summary;
    int code = gn_write_definitions(writer->folder, definitions, summaries, locals, err);
    free(summaries);
    return code;
}

int gn_trace_finish(struct gn_trace_writer *writer, const struct gn_definitions *definitions,
                    struct gn_error *err)
{
    return gn_trace_finish_mapped(writer, definitions, NULL, err);
}

int gn_trace_finish_mapped(struct gn_trace_writer *writer, const struct gn_definitions *definitions,
                           const struct gn_trace_local *local, struct gn_error *err)
{
    const struct gn_trace_local **locals = calloc(definitions->location_count + 1, sizeof *locals);
    int missing = locals ? 0 : gn_fail(err, -ENOMEM, "no memory to write a trace");
    for (size_t i = 0; locals && i < definitions->location_count; i++)
        locals[i] = local;
    int code = gn_trace_finish_each(writer, definitions, locals, missing < 0 ? NULL : err);
    free(locals);
    return missing < 0 ? missing : code;
}

int gn_trace_finish_each(struct gn_trace_writer *writer, const struct gn_definitions *definitions,
                         const struct gn_trace_local *const *locals, struct gn_error *err)
{
    int opened = open_silent_locations(writer, definitions, err);
    int closed = close_locations(writer, opened < 0 ? NULL : err);
    /* Even if that failed: definitions make what is there readable. */
    int written = write_definitions(writer, definitions, locals, opened < 0 || closed < 0 ? NULL : err);
    free_writer(writer);
    return opened < 0 ? opened : closed < 0 ? closed : written;
}

void gn_trace_abandon(struct gn_trace_writer *writer)
{
    if (writer->archive)
        close_locations(writer, NULL);
    free_writer(writer);
}
