/*
 * What the OTF2 library itself needs to read an archive and write it again:
 *
 *   copy_otf2 ANCHOR FOLDER      makes FOLDER/traces.otf2
 *
 * Each location's events, one after the other, through the library's callbacks and its event writer,
 * attributes included, into an archive of the library's default chunk size. Definitions are not what this is
 * about: they are copied as bytes. Prints the number of events and seconds from opening to the closed
 * archive. An event of a kind that is not copied is an error, so that nobody compares a whole archive with a
 * part of it.
 */
#include "otf2_locations.h"
#include "timing.h"

#include <stdio.h>
#include <string.h>

static void check(OTF2_ErrorCode status, const char *what)
{
    if (status == OTF2_SUCCESS)
        return;
    fprintf(stderr, "copy_otf2: %s: %s\n", what, OTF2_Error_GetDescription(status));
    exit(1);
}

/* ---- definitions ---- */

static void copy_file(const char *from, const char *to)
{
    static char bytes[1 << 16];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    size_t count;
    if (!in || !out) {
        fprintf(stderr, "copy_otf2: %s cannot be copied to %s\n", from, to);
        exit(1);
    }
    while ((count = fread(bytes, 1, sizeof bytes, in)) > 0)
        if (fwrite(bytes, 1, count, out) != count)
            exit(1);
    fclose(in);
    if (fclose(out) != 0)
        exit(1);
}

/* In place of those that the archive would have to be written with. */
static void copy_definitions(const char *anchor, const char *folder, const struct locations *all)
{
    char from[4096], to[4096];
    int stem = (int)(strlen(anchor) - strlen(".otf2"));
    snprintf(from, sizeof from, "%.*s.def", stem, anchor);
    snprintf(to, sizeof to, "%s/traces.def", folder);
    copy_file(from, to);
    for (size_t i = 0; i < all->count; i++) {
        snprintf(from, sizeof from, "%.*s/%llu.def", stem, anchor, (unsigned long long)all->items[i].self);
        snprintf(to, sizeof to, "%s/traces/%llu.def", folder, (unsigned long long)all->items[i].self);
        copy_file(from, to);
    }
}

/* ---- events ---- */

/* X(Kind, arguments as the callback gets them, arguments as the writer takes them) */
#define UNPACK(...) __VA_ARGS__
#define EVENTS(X)                                                                                            \
    X(Enter, (OTF2_RegionRef a), (a))                                                                        \
    X(Leave, (OTF2_RegionRef a), (a))                                                                        \
    X(MpiSend, (uint32_t a, OTF2_CommRef b, uint32_t c, uint64_t d), (a, b, c, d))                           \
    X(MpiRecv, (uint32_t a, OTF2_CommRef b, uint32_t c, uint64_t d), (a, b, c, d))                           \
    X(MpiIsend, (uint32_t a, OTF2_CommRef b, uint32_t c, uint64_t d, uint64_t e), (a, b, c, d, e))           \
    X(MpiIrecv, (uint32_t a, OTF2_CommRef b, uint32_t c, uint64_t d, uint64_t e), (a, b, c, d, e))           \
    X(MpiIsendComplete, (uint64_t a), (a))                                                                   \
    X(MpiIrecvRequest, (uint64_t a), (a))                                                                    \
    X(MpiRequestTest, (uint64_t a), (a))                                                                     \
    X(MpiRequestCancelled, (uint64_t a), (a))                                                                \
    X(MpiCollectiveEnd, (OTF2_CollectiveOp a, OTF2_CommRef b, uint32_t c, uint64_t d, uint64_t e),           \
      (a, b, c, d, e))                                                                                       \
    X(NonBlockingCollectiveRequest, (uint64_t a), (a))                                                       \
    X(NonBlockingCollectiveComplete,                                                                         \
      (OTF2_CollectiveOp a, OTF2_CommRef b, uint32_t c, uint64_t d, uint64_t e, uint64_t f),                 \
      (a, b, c, d, e, f))                                                                                    \
    X(ProgramBegin, (OTF2_StringRef a, uint32_t b, const OTF2_StringRef *c), (a, b, c))                      \
    X(ProgramEnd, (int64_t a), (a))                                                                          \
    X(ParameterUnsignedInt, (OTF2_ParameterRef a, uint64_t b), (a, b))                                       \
    X(CommCreate, (OTF2_CommRef a), (a))                                                                     \
    X(CommDestroy, (OTF2_CommRef a), (a))

/* Parentheses around a list of parameters are no list of parameters: the macro takes them off. */
#define X(kind, parameters, arguments)                                                                       \
    static OTF2_CallbackCode on_##kind(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t place,       \
                                       void *writer, OTF2_AttributeList *list, UNPACK parameters)            \
    {                                                                                                        \
        (void)location, (void)place;                                                                         \
        return OTF2_EvtWriter_##kind(writer, list, time, UNPACK arguments) == OTF2_SUCCESS                   \
                   ? OTF2_CALLBACK_SUCCESS                                                                   \
                   : OTF2_CALLBACK_ERROR;                                                                    \
    }
EVENTS(X)
#undef X

static OTF2_CallbackCode on_MpiCollectiveBegin(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t place,
                                               void *writer, OTF2_AttributeList *list)
{
    (void)location, (void)place;
    return OTF2_EvtWriter_MpiCollectiveBegin(writer, list, time) == OTF2_SUCCESS ? OTF2_CALLBACK_SUCCESS
                                                                                 : OTF2_CALLBACK_ERROR;
}

static OTF2_EvtReaderCallbacks *event_callbacks(void)
{
    OTF2_EvtReaderCallbacks *callbacks = OTF2_EvtReaderCallbacks_New();
#define X(kind, parameters, arguments) OTF2_EvtReaderCallbacks_Set##kind##Callback(callbacks, on_##kind);
    EVENTS(X)
#undef X
    OTF2_EvtReaderCallbacks_SetMpiCollectiveBeginCallback(callbacks, on_MpiCollectiveBegin);
    return callbacks;
}

static uint64_t copy_events(OTF2_Reader *reader, OTF2_Archive *archive, struct locations *all)
{
    uint64_t sum = 0, read, written;
    OTF2_EvtReaderCallbacks *callbacks = event_callbacks();
    check(OTF2_Reader_OpenEvtFiles(reader), "event files");
    check(OTF2_Archive_OpenEvtFiles(archive), "event files");
    for (size_t i = 0; i < all->count; i++) {
        OTF2_EvtReader *in = OTF2_Reader_GetEvtReader(reader, all->items[i].self);
        OTF2_EvtWriter *out = OTF2_Archive_GetEvtWriter(archive, all->items[i].self);
        check(OTF2_Reader_RegisterEvtCallbacks(reader, in, callbacks, out), "callbacks");
        check(OTF2_Reader_ReadAllLocalEvents(reader, in, &read), "events");
        check(OTF2_EvtWriter_GetNumberOfEvents(out, &written), "events");
        if (written != read) {
            fprintf(stderr, "copy_otf2: %llu of %llu events are of kinds that are copied\n",
                    (unsigned long long)written, (unsigned long long)read);
            exit(1);
        }
        check(OTF2_Reader_CloseEvtReader(reader, in), "events");
        check(OTF2_Archive_CloseEvtWriter(archive, out), "events");
        sum += read;
    }
    check(OTF2_Archive_CloseEvtFiles(archive), "event files");
    return sum;
}

/* ---- the archive ---- */

static OTF2_FlushType always(void *user, OTF2_FileType type, OTF2_LocationRef location, void *caller,
                             bool final)
{
    (void)user, (void)type, (void)location, (void)caller, (void) final;
    return OTF2_FLUSH;
}

static OTF2_Archive *make_archive(OTF2_Reader *reader, const char *folder)
{
    static const OTF2_FlushCallbacks flush = {.otf2_pre_flush = always};
    uint64_t event_chunk, definition_chunk;
    check(OTF2_Reader_GetChunkSize(reader, &event_chunk, &definition_chunk), "chunk sizes");
    OTF2_Archive *archive =
        OTF2_Archive_Open(folder, "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_EVENTS_DEFAULT,
                          definition_chunk, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (!archive)
        exit(1);
    check(OTF2_Archive_SetSerialCollectiveCallbacks(archive), "an archive");
    check(OTF2_Archive_SetFlushCallbacks(archive, &flush, NULL), "an archive");
    return archive;
}

/* The anchor says how many locations and how many definitions there are, which it has from what was written:
 * as many of them as there will be. */
static void finish_archive(OTF2_Reader *reader, OTF2_Archive *archive, const struct locations *all)
{
    uint64_t definitions;
    OTF2_GlobalDefWriter *writer = OTF2_Archive_GetGlobalDefWriter(archive);
    check(OTF2_Reader_GetNumberOfGlobalDefinitions(reader, &definitions), "definitions");
    for (uint32_t i = 0; i + all->count < definitions; i++)
        check(OTF2_GlobalDefWriter_WriteString(writer, i, ""), "definitions");
    for (size_t i = 0; i < all->count; i++)
        check(OTF2_GlobalDefWriter_WriteLocation(writer, all->items[i].self, all->items[i].name,
                                                 all->items[i].type, all->items[i].events,
                                                 all->items[i].group),
              "a location");
    check(OTF2_Archive_CloseGlobalDefWriter(archive, writer), "definitions");
    check(OTF2_Archive_Close(archive), "an archive");
}

int main(int argc, char **argv)
{
    struct locations all = {0};
    if (argc != 3 || strlen(argv[1]) < strlen(".otf2")) {
        fprintf(stderr, "usage: copy_otf2 ANCHOR FOLDER\n");
        return 2;
    }
    const double begin_ns = timing_now_ns();
    OTF2_Reader *reader = OTF2_Reader_Open(argv[1]);
    if (!reader)
        return 1;
    check(OTF2_Reader_SetSerialCollectiveCallbacks(reader), "an archive");
    check(read_locations(reader, &all), "definitions");
    OTF2_Archive *archive = make_archive(reader, argv[2]);
    uint64_t events = copy_events(reader, archive, &all);
    finish_archive(reader, archive, &all);
    OTF2_Reader_Close(reader);
    copy_definitions(argv[1], argv[2], &all);
    printf("%llu events %.4f s\n", (unsigned long long)events, (timing_now_ns() - begin_ns) * 1e-9);
    return 0;
}
