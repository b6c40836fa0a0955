#include "trace/archive_file.h"

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

/* A chunk ends with END_OF_CHUNK and zeros or, when it is quite full, with nothing; the last one with the
 * last two of these. */
enum {
    END_OF_CHUNK = 0,
    END_OF_FILE = 1,
    END_OF_LAST_CHUNK = 2,
    CHUNK_HEADER = 3,
    TIME = 5,
    ATTRIBUTES = 6,
    ENTER = 12,
    LEAVE = 13
};

static int open_file(const char *folder, uint64_t location, const char *extension)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%" PRIu64 ".%s", folder, location, extension);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static enum gn_file_state state_of(int file)
{
    uint8_t end[2] = {0};
    if (file < 0) /* why else it cannot be opened, the library will say */
        return errno == ENOENT ? GN_FILE_MISSING : GN_FILE_WHOLE;
    bool is_whole = lseek(file, -(off_t)sizeof end, SEEK_END) >= 0 &&
                    read(file, end, sizeof end) == sizeof end && end[0] == END_OF_LAST_CHUNK &&
                    end[1] == END_OF_FILE;
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
    bool is_big_endian;
};

static bool skip(struct rest *rest, uint64_t bytes)
{
    if (bytes > rest->size)
        return false;
    rest->at += bytes;
    rest->size -= bytes;
    return true;
}

static bool skip_with_length(struct rest *rest)
{
    uint64_t length = 0;
    if (rest->size == 0)
        return false;
    if (rest->at[0] != 255)
        return skip(rest, 1 + (uint64_t)rest->at[0]);
    if (rest->size < 9)
        return false;
    for (int i = 0; i < 8; i++)
        length |= (uint64_t)rest->at[1 + i] << 8 * (rest->is_big_endian ? 7 - i : i);
    return skip(rest, 9) && skip(rest, length);
}

/* Goes over the next record; false: there is none, or not all of it. */
static bool skip_record(struct rest *rest, uint8_t *type)
{
    if (rest->size == 0)
        return false;
    *type = rest->at[0];
    skip(rest, 1);
    switch (*type) {
    case END_OF_CHUNK:
    case END_OF_FILE:
    case END_OF_LAST_CHUNK:
        return false;
    case CHUNK_HEADER:
        rest->is_big_endian = rest->size && rest->at[0] != 'B';
        return skip(rest, 1 + 16);
    case TIME:
        return skip(rest, 8);
    case ENTER: /* a compressed number: how many bytes, and the bytes; 255: undefined */
    case LEAVE:
        return rest->size && skip(rest, 1 + (rest->at[0] == 255 ? 0 : (uint64_t)rest->at[0]));
    default:
        return skip_with_length(rest);
    }
}

static uint64_t count_records(const uint8_t *bytes, uint64_t size, uint64_t chunk)
{
    uint64_t records = 0;
    for (uint64_t begin = 0; begin < size; begin += chunk) {
        struct rest rest = {.at = bytes + begin, .size = size - begin < chunk ? size - begin : chunk};
        uint8_t type = 0;
        while (skip_record(&rest, &type))
            records += type != CHUNK_HEADER && type != TIME && type != ATTRIBUTES;
        if (rest.size && type != END_OF_CHUNK)
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
    for (int i = 0; i < count; i++)
        *value |= (uint64_t)rest->at[1 + i] << 8 * (rest->is_big_endian ? count - 1 - i : i);
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

static bool skip_global_definition(struct rest *rest, uint8_t *type)
{
    if (rest->size == 0)
        return false;
    *type = rest->at[0];
    if (*type <= CHUNK_HEADER)
        return skip_record(rest, type);
    return skip(rest, 1) && skip_with_length(rest);
}

uint64_t gn_archive_definitions_count(const char *folder, uint64_t chunk)
{
    size_t size;
    uint64_t count = 0;
    const uint8_t *bytes = chunk ? map_file(open_definitions(folder), &size) : NULL;
    if (!bytes)
        return 0;
    for (uint64_t begin = 0; begin < size; begin += chunk) {
        struct rest rest = {.at = bytes + begin, .size = size - begin < chunk ? size - begin : chunk};
        uint8_t type = END_OF_CHUNK;
        while (skip_global_definition(&rest, &type))
            count += type != CHUNK_HEADER;
        if (rest.size && type != END_OF_CHUNK)
            break;
    }
    munmap((void *)bytes, size);
    return count;
}

static bool skip_definition(struct rest *rest, uint8_t *type)
{
    enum { MAPPING_TABLE = 5 };
    if (rest->size == 0)
        return false;
    *type = rest->at[0];
    if (*type <= CHUNK_HEADER)
        return skip_record(rest, type);
    skip(rest, 1);
    struct rest record = *rest;
    if (!skip_with_length(rest))
        return false;
    skip(&record, record.at[0] == 255 ? 9 : 1);
    record.size -= rest->size;
    return *type != MAPPING_TABLE || mapping_fits(record);
}

static bool mappings_fit(const uint8_t *bytes, uint64_t size, uint64_t chunk)
{
    for (uint64_t begin = 0; begin < size; begin += chunk) {
        struct rest rest = {.at = bytes + begin, .size = size - begin < chunk ? size - begin : chunk};
        uint8_t type = END_OF_CHUNK;
        bool fits = true;
        while (fits && rest.size)
            fits = skip_definition(&rest, &type);
        if (type == END_OF_FILE || type == END_OF_LAST_CHUNK)
            return type == END_OF_FILE || (rest.size && rest.at[0] == END_OF_FILE);
        if (!fits && type != END_OF_CHUNK)
            return false;
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
