/*
 * trace/archive_file — what can be told about a location's files without the library.
 *
 * The library reads a file chunk by chunk into memory that it does not clear, and takes the end of a chunk
 * from what it finds there. Of a file that was cut off (a crash, a full disk) it reads on into what was in
 * that memory before: events of another location, perhaps. Damage to the last chunk sends it there, too, for
 * ever where each new piece of memory has the remains of such a chunk. So it must be told how many records
 * there are; only their outermost form (trace/file_record.h) is needed for that.
 */
#ifndef GNOMON_TRACE_ARCHIVE_FILE_H
#define GNOMON_TRACE_ARCHIVE_FILE_H

#include <stdint.h>

enum gn_file_state { GN_FILE_WHOLE, GN_FILE_CUT, GN_FILE_MISSING };

/* Whether the event file folder/<location>.evt is there, and ends as it should. */
enum gn_file_state gn_archive_events_state(const char *folder, uint64_t location);

/* The same of the location's own definitions, folder/<location>.def. Broken ones count as cut, too: the
 * library takes the length of a mapping table from them as it is, and writes to where there is no memory.
 * chunk: bytes. */
enum gn_file_state gn_archive_mappings_state(const char *folder, uint64_t location, uint64_t chunk);

/* The same of the global definitions, <folder>.def. */
enum gn_file_state gn_archive_definitions_state(const char *folder);

/* How many global definitions there are; 0 if they cannot be read. (The library reads as many as the anchor
 * file says, however much longer than the file that is.) chunk: bytes. */
uint64_t gn_archive_definitions_count(const char *folder, uint64_t chunk);

/* The same, and whether its last chunk has records up to there and nothing that sends the library behind it.
 * chunk: bytes. */
enum gn_file_state gn_archive_events_end(const char *folder, uint64_t location, uint64_t chunk);

/* How many records an event file has that are complete; chunk: its chunks' size in bytes. 0 if it cannot be
 * read. */
uint64_t gn_archive_file_records(const char *folder, uint64_t location, uint64_t chunk);

#endif
