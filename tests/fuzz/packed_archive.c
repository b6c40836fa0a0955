#include "packed_archive.h"

#include "trace/reader.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The library does not free everything when it refuses an archive. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libopen-trace-format2";
}

/* It asks for as much memory as a file says, and takes it well when it does not get it. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static uint8_t *copy_of(const void *bytes, size_t size)
{
    uint8_t *copy = malloc(size + 16); /* room for what a mutation inserts */
    if (!copy)
        abort();
    if (size)
        memcpy(copy, bytes, size);
    return copy;
}

static void add_file(struct packed_archive *archive, const char *name, const void *bytes, size_t size)
{
    if (archive->count == PACKED_FILES)
        return;
    struct packed_file *file = &archive->files[archive->count++];
    snprintf(file->name, sizeof file->name, "%s", name);
    file->bytes = copy_of(bytes, size);
    file->size = size;
}

static void load_matching(struct packed_archive *archive, const char *folder, const char *pattern)
{
    char path[512];
    glob_t found;
    snprintf(path, sizeof path, "%s/%s", folder, pattern);
    if (glob(path, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        static uint8_t bytes[1 << 20];
        FILE *file = fopen(found.gl_pathv[i], "rb");
        if (file)
            add_file(archive, found.gl_pathv[i] + strlen(folder) + 1, bytes,
                     fread(bytes, 1, sizeof bytes, file));
        if (file)
            fclose(file);
    }
    globfree(&found);
}

void packed_load(struct packed_archive *archive, const char *folder)
{
    archive->count = 0;
    load_matching(archive, folder, "*.otf2");
    load_matching(archive, folder, "*.def");
    load_matching(archive, folder, "*/*.def");
    load_matching(archive, folder, "*.marker");
    load_matching(archive, folder, "*/*.evt");
    if (archive->count == 0) {
        fprintf(stderr, "no archive in %s\n", folder);
        exit(1);
    }
}

void packed_free(struct packed_archive *archive)
{
    for (size_t i = 0; i < archive->count; i++)
        free(archive->files[i].bytes);
    archive->count = 0;
}

static int is_name(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_./");
    const char *slash = strchr(name, '/');
    return length > 0 && name[length] == '\0' && length < 60 && name[0] != '/' && name[0] != '.' &&
           !strstr(name, "..") && name[length - 1] != '/' &&
           (!slash || (slash[1] != '.' && !strchr(slash + 1, '/')));
}

void packed_read(struct packed_archive *archive, const uint8_t *bytes, size_t size)
{
    const uint8_t *end = bytes + size, *zero;
    archive->count = 0;
    while (bytes < end && (zero = memchr(bytes, 0, (size_t)(end - bytes))) && end - zero > 4) {
        const char *name = (const char *)bytes;
        size_t length = zero[1] | zero[2] << 8 | zero[3] << 16 | (size_t)zero[4] << 24;
        bytes = zero + 5;
        if (length > (size_t)(end - bytes))
            length = (size_t)(end - bytes);
        if (is_name(name))
            add_file(archive, name, bytes, length);
        bytes += length;
    }
}

void packed_write(const struct packed_archive *archive, FILE *to)
{
    for (size_t i = 0; i < archive->count; i++) {
        const struct packed_file *file = &archive->files[i];
        fwrite(file->name, 1, strlen(file->name) + 1, to);
        for (int shift = 0; shift < 32; shift += 8)
            fputc((int)(file->size >> shift & 255), to);
        fwrite(file->bytes, 1, file->size, to);
    }
}

void packed_put_file(const struct packed_file *file, const char *folder)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, file->name);
    char *slash = strchr(path + strlen(folder) + 1, '/');
    if (slash) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
    FILE *to = fopen(path, "wb");
    if (!to)
        return; /* a folder of that name: an archive may be as odd as that */
    fwrite(file->bytes, 1, file->size, to);
    fclose(to);
}

void packed_put(const struct packed_archive *archive, const char *folder)
{
    for (size_t i = 0; i < archive->count; i++)
        packed_put_file(&archive->files[i], folder);
}

void packed_remove_file(const struct packed_file *file, const char *folder)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, file->name);
    unlink(path);
}

void packed_remove(const struct packed_archive *archive, const char *folder)
{
    for (size_t i = 0; i < archive->count; i++) {
        char path[512];
        packed_remove_file(&archive->files[i], folder);
        snprintf(path, sizeof path, "%s/%s", folder, archive->files[i].name);
        *strrchr(path, '/') = '\0';
        if (strcmp(path, folder) != 0)
            rmdir(path);
    }
    rmdir(folder);
}

static uint64_t next(uint64_t *random)
{
    *random ^= *random << 13; /* xorshift */
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

static void break_byte(struct packed_file *file, uint64_t *random)
{
    static const uint8_t telling[] = {0, 1, 2, 3, 5, 8, 0x7f, 0x80, 0xfe, 0xff};
    uint8_t *byte = &file->bytes[next(random) % file->size];
    switch (next(random) % 3) {
    case 0:
        *byte ^= (uint8_t)(1u << next(random) % 8);
        break;
    case 1:
        *byte = telling[next(random) % sizeof telling];
        break;
    default:
        *byte = (uint8_t)next(random);
    }
}

static void insert_bytes(struct packed_file *file, uint64_t *random)
{
    size_t at = next(random) % file->size, count = 1 + next(random) % 8;
    memmove(file->bytes + at + count, file->bytes + at, file->size - at);
    for (size_t i = 0; i < count; i++)
        file->bytes[at + i] = (uint8_t)next(random);
    file->size += count;
}

void packed_mutate(struct packed_file *file, uint64_t *random)
{
    if (file->size == 0)
        return;
    uint64_t how = next(random) % 10;
    if (how == 0)
        file->size = next(random) % file->size;
    else if (how == 1)
        insert_bytes(file, random);
    else
        for (uint64_t i = 0; i <= how % 4; i++)
            break_byte(file, random);
}

int packed_check(const char *folder, struct gn_error *err)
{
    struct gn_source source;
    const struct gn_event *events;
    int64_t count = gn_trace_open(&source, NULL, folder, err);
    if (count < 0)
        return (int)count;
    for (uint32_t l = 0; count >= 0 && l < source.definitions->location_count; l++)
        while ((count = source.pull(source.self, l, &events, err)) > 0)
            ;
    source.close(source.self);
    return (int)count;
}
