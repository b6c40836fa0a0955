#include "trace/archive_file.h"

#include "trace/file_record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_file(const char *folder, uint64_t location, const char *extension)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%" PRIu64 ".%s", folder, location, extension);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static bool is_end(const uint8_t *at)
{
    return at[0] == GN_RECORD_END_OF_LAST_CHUNK && at[1] == GN_RECORD_END_OF_FILE;
}

/* Some public archives went through what ends each file with a newline. */
static enum gn_file_state state_of(int file)
{
    uint8_t end[GN_END_SIZE + 1] = {0};
    if (file < 0) /* why else it cannot be opened, the library will say */
        return errno == ENOENT ? GN_FILE_MISSING : GN_FILE_WHOLE;
    bool is_whole = lseek(file, -(off_t)sizeof end, SEEK_END) >= 0 &&
                    read(file, end, sizeof end) == sizeof end &&
                    is_end(end[GN_END_SIZE] == '\n' ? end : end + 1);
    close(file);
    return is_whole ? GN_FILE_WHOLE : GN_FILE_CUT;
}

enum gn_file_state gn_archive_events_state(const char *folder, uint64_t location)
{
    return state_of(open_file(folder, location, "evt"));
}

static int open_definitions(const char *folder)
{
    char path[PATH_MAX + 8];
    snprintf(path, sizeof path, "%s.def", folder);
    return open(path, O_RDONLY | O_CLOEXEC);
}

enum gn_file_state gn_archive_definitions_state(const char *folder)
{
    return state_of(open_definitions(folder));
}

/* What is left of a chunk. */
struct rest {
    const uint8_t *at;
    uint64_t size;
    bool is_other_order;
};

static bool skip(struct rest *rest, uint64_t bytes)
{
    if (bytes > rest->size)
        return false;
    rest->at += bytes;
    rest->size -= bytes;
    return true;
}

/* Behind the header of the chunk at `begin`; false: there is none. */
static bool enter_chunk(struct rest *rest, const uint8_t *bytes, uint64_t size, uint64_t begin,
                        uint64_t chunk)
{
    *rest = (struct rest){.at = bytes + begin, .size = size - begin < chunk ? size - begin : chunk};
    return gn_is_chunk(rest->at, rest->size, &rest->is_other_order) && skip(rest, GN_CHUNK_HEADER_SIZE);
}

/* Whether records go on in the next chunk. It is an end, too, when a chunk is quite full. */
static bool goes_on(const struct rest *rest)
{
    return rest->size == 0 || rest->at[0] == GN_RECORD_END_OF_CHUNK;
}

static uint64_t count_records(const uint8_t *bytes, uint64_t size, uint64_t chunk)
{
    uint64_t records = 0, bytes_of;
    struct rest rest;
    for (uint64_t begin = 0; begin < size; begin += chunk) {
        if (!enter_chunk(&rest, bytes, size, begin, chunk))
            break;
        while ((bytes_of = gn_event_record_size(rest.at, rest.size, rest.is_other_order))) {
            records += gn_is_event(rest.at[0]);
            skip(&rest, bytes_of);
        }
        if (!goes_on(&rest))
            break;
    }
    return records;
}

/* The bytes of a file for reading; NULL: none. */
static const uint8_t *map_file(int file, size_t *size)
{
    struct stat is;
    void *bytes = MAP_FAILED;
    if (file >= 0 && fstat(file, &is) == 0 && is.st_size > 0)
        bytes = mmap(NULL, *size = (size_t)is.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (file >= 0)
        close(file);
    return bytes == MAP_FAILED ? NULL : bytes;
}

/* Whether records lead from the begin of the last chunk to the end of the file, and not behind it. */
static bool leads_to_end(const uint8_t *bytes, uint64_t size, uint64_t chunk)
{
    uint64_t bytes_of;
    struct rest rest;
    if (!enter_chunk(&rest, bytes, size, (size - 1) / chunk * chunk, chunk))
        return false;
    while ((bytes_of = gn_event_record_size(rest.at, rest.size, rest.is_other_order)))
        skip(&rest, bytes_of);
    const bool has_newline = rest.size == GN_END_SIZE + 1 && rest.at[GN_END_SIZE] == '\n';
    return (rest.size == GN_END_SIZE || has_newline) && rest.at[0] == GN_RECORD_END_OF_LAST_CHUNK;
}

enum gn_file_state gn_archive_events_end(const char *folder, uint64_t location, uint64_t chunk)
{
    size_t size;
    enum gn_file_state state = gn_archive_events_state(folder, location);
    if (state != GN_FILE_WHOLE)
        return state;
    const uint8_t *bytes = chunk ? map_file(open_file(folder, location, "evt"), &size) : NULL;
    if (!bytes) /* the library will say why */
        return GN_FILE_WHOLE;
    bool leads = leads_to_end(bytes, size, chunk);
    munmap((void *)bytes, size);
    return leads ? GN_FILE_WHOLE : GN_FILE_CUT;
}

uint64_t gn_archive_file_records(const char *folder, uint64_t location, uint64_t chunk)
{
    size_t size;
    const uint8_t *bytes = chunk ? map_file(open_file(folder, location, "evt"), &size) : NULL;
    if (!bytes)
        return 0;
    uint64_t records = count_records(bytes, size, chunk);
    munmap((void *)bytes, size);
    return records;
}

/* ---- local definitions ---- */

static bool read_number(struct rest *rest, uint64_t *value)
{
    *value = 0;
    if (rest->size == 0 || rest->at[0] > 8 || rest->at[0] >= rest->size)
        return false;
    int count = rest->at[0];
    bool is_big_endian = rest->is_other_order != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    for (int i = 0; i < count; i++)
        *value |= (uint64_t)rest->at[1 + i] << 8 * (is_big_endian ? count - 1 - i : i);
    return skip(rest, 1 + (uint64_t)count);
}

/* Whether the table's numbers are there: each takes a byte at least. */
static bool mapping_fits(struct rest table)
{
    uint64_t count;
    if (!skip(&table, 1) || !read_number(&table, &count) || table.size == 0)
        return false;
    uint64_t least = table.at[0] ? 2 : 1;
    return count <= (table.size - 1) / least;
}

static uint64_t count_definitions(const uint8_t *bytes, uint64_t size, uint64_t chunk)
{
    uint64_t count = 0, bytes_of;
    struct rest rest;
    for (uint64_t begin = 0; begin < size; begin += chunk) {
        if (!enter_chunk(&rest, bytes, size, begin, chunk))
            break;
        for (; (bytes_of = gn_definition_size(rest.at, rest.size, rest.is_other_order)); count++)
            skip(&rest, bytes_of);
        if (!goes_on(&rest))
            break;
    }
    return count;
}

uint64_t gn_archive_definitions_count(const char *folder, uint64_t chunk)
{
    size_t size;
    uint64_t count = 0;
    const uint8_t *bytes = chunk ? map_file(open_definitions(folder), &size) : NULL;
    if (!bytes)
        return 0;
    count = count_definitions(bytes, size, chunk);
    munmap((void *)bytes, size);
    return count;
}

static bool definition_fits(const struct rest *rest, uint64_t bytes)
{
    enum { MAPPING_TABLE = 5 };
    struct rest record = {rest->at, bytes, rest->is_other_order};
    if (record.at[0] != MAPPING_TABLE)
        return true;
    skip(&record, record.at[1] == 255 ? 10 : 2);
    return mapping_fits(record);
}

static bool mappings_fit(const uint8_t *bytes, uint64_t size, uint64_t chunk)
{
    struct rest rest;
    uint64_t bytes_of;
    for (uint64_t begin = 0; begin < size; begin += chunk) {
        if (!enter_chunk(&rest, bytes, size, begin, chunk))
            return false;
        while ((bytes_of = gn_definition_size(rest.at, rest.size, rest.is_other_order))) {
            if (!definition_fits(&rest, bytes_of))
                return false;
            skip(&rest, bytes_of);
        }
        if (!goes_on(&rest))
            return rest.size >= GN_END_SIZE && rest.at[0] == GN_RECORD_END_OF_LAST_CHUNK &&
                   rest.at[1] == GN_RECORD_END_OF_FILE;
    }
    return false;
}

enum gn_file_state gn_archive_mappings_state(const char *folder, uint64_t location, uint64_t chunk)
{
    size_t size;
    enum gn_file_state state = state_of(open_file(folder, location, "def"));
    if (state != GN_FILE_WHOLE)
        return state;
    const uint8_t *bytes = chunk ? map_file(open_file(folder, location, "def"), &size) : NULL;
    if (!bytes)
        return GN_FILE_CUT;
    bool fit = mappings_fit(bytes, size, chunk);
    munmap((void *)bytes, size);
    return fit ? GN_FILE_WHOLE : GN_FILE_CUT;
}
