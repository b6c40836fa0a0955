/* archive_maker — small OTF2 archives for tests, written with the library's own calls. */
#ifndef GNOMON_TEST_ARCHIVE_MAKER_H
#define GNOMON_TEST_ARCHIVE_MAKER_H

#include <otf2/otf2.h>
#include <stdint.h>

/* Strings that every archive has. */
enum { TEXT_EMPTY, TEXT_NODE, TEXT_HOST, TEXT_PROCESS, TEXT_THREAD, TEXT_WORLD, TEXT_ENTERED, TEXTS };

/* A clock offset of a location. */
struct maker_offset {
    uint64_t location, ticks;
    int64_t offset_ticks;
    double deviation_ticks;
};

struct maker {
    OTF2_Archive *archive;
    OTF2_GlobalDefWriter *definitions;
    const struct maker_offset *offsets; /* [offset_count], set before maker_definitions when there are any */
    size_t offset_count;
};

/* Creates folder/traces.otf2; exits the test program when that fails. */
void maker_open(struct maker *maker, const char *folder, uint64_t event_chunk);

/* The events of a location are written between these. Its definition counts them unless `events` is given. */
OTF2_EvtWriter *maker_begin(struct maker *maker, uint64_t location);
uint64_t maker_end(struct maker *maker, OTF2_EvtWriter *writer);

/* Ends the events (locations: of which there are any) and begins the definitions: the strings above and the
 * clock. */
void maker_definitions(struct maker *maker, const uint64_t *locations, uint32_t count, uint64_t length);

/* A node (0), a process for each location, group 0 (their locations), group 1 (all ranks), communicator 0
 * (MPI_COMM_WORLD) and region 0. */
void maker_world(struct maker *maker, const uint64_t *locations, const uint64_t *events, uint32_t count);

void maker_string(struct maker *maker, uint32_t id, const char *text);
void maker_close(struct maker *maker);

#endif
