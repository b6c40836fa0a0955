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

enum {
    END_OF_FILE = 1,
    END_OF_CHUNK = 2,
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
                    read(file, end, sizeof end) == sizeof end && end[0] == END_OF_CHUNK &&
                    end[1] == END_OF_FILE;
    close(file);
    return is_whole ? GN_FILE_WHOLE : GN_FILE_CUT;
}

enum gn_file_state gn_archive_file_state(const char *folder, uint64_t location, const char *extension)
{
    return state_of(open_file(folder, location, extension));
}

enum gn_file_state gn_archive_definitions_state(const char *folder)
{
    char path[PATH_MAX + 8];
    snprintf(path, sizeof path, "%s.def", folder);
    return state_of(open(path, O_RDONLY | O_CLOEXEC));
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
    case END_OF_FILE:
    case END_OF_CHUNK:
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
        if (type != END_OF_CHUNK)
            break;
    }
    return records;
}

uint64_t gn_archive_file_records(const char *folder, uint64_t location, uint64_t chunk)
{
    struct stat is;
    uint64_t records = 0;
    int file = open_file(folder, location, "evt");
    if (file < 0)
        return 0;
    if (fstat(file, &is) == 0 && is.st_size > 0 && chunk > 0) {
        void *bytes = mmap(NULL, (size_t)is.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes != MAP_FAILED) {
            records = count_records(bytes, (uint64_t)is.st_size, chunk);
            munmap(bytes, (size_t)is.st_size);
        }
    }
    close(file);
    return records;
}
