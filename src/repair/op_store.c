#include "repair/op_store.h"

#include "base/grow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Rows take blocks from extents, which are mapped whole: a process has 65530 mappings and no more. */
enum { EXTENT_BLOCKS = 64 }; /* 16 MiB */
static const size_t block_size = GN_OP_BLOCK * sizeof(struct gn_op);

struct gn_op_file {
    int fd; /* -1: in memory */
    uint8_t **extents;
    size_t extent_count, extent_capacity;
    size_t in_memory; /* so many extents, the first ones */
    size_t used;      /* blocks of the last extent */
};

static int open_unnamed(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    char *path = NULL;
    if (fd < 0 && asprintf(&path, "%s/gnomon-ops-XXXXXX", folder) >= 0) { /* file systems without O_TMPFILE */
        fd = mkostemp(path, O_CLOEXEC);
        if (fd >= 0)
            unlink(path);
        free(path);
    }
    return fd;
}

int gn_op_store_open(struct gn_op_store *store, size_t row_count, const char *folder, struct gn_error *err)
{
    *store = (struct gn_op_store){.row_count = row_count};
    int fd = folder ? open_unnamed(folder) : -1;
    if (folder && fd < 0)
        return gn_fail(err, -errno, "cannot make a temporary file in %s: %s", folder, strerror(errno));
    store->file = calloc(1, sizeof *store->file);
    store->rows = calloc(row_count ? row_count : 1, sizeof *store->rows);
    if (store->file)
        store->file->fd = fd;
    else if (fd >= 0)
        close(fd);
    if (store->file && store->rows) {
        gn_op_store_memory(store, GN_OP_MEMORY_BYTES);
        return 0;
    }
    gn_op_store_close(store);
    return gn_fail(err, -ENOMEM, "no memory for %zu locations", row_count);
}

void gn_op_store_close(struct gn_op_store *store)
{
    struct gn_op_file *file = store->file;
    for (size_t i = 0; file && i < file->extent_count; i++)
        munmap(file->extents[i], EXTENT_BLOCKS * block_size);
    if (file && file->fd >= 0)
        close(file->fd);
    if (file)
        free(file->extents);
    free(file);
    for (size_t i = 0; store->rows && i < store->row_count; i++)
        free(store->rows[i].blocks);
    free(store->rows);
    free(store->channels);
    free(store->groups);
    *store = (struct gn_op_store){0};
}

void gn_op_store_memory(struct gn_op_store *store, uint64_t bytes)
{
    store->file->in_memory = bytes / (EXTENT_BLOCKS * block_size);
}

/* Room is allocated before it is mapped, so that a full disk is an error and not a signal. */
static uint8_t *new_extent(struct gn_op_file *file)
{
    const size_t size = EXTENT_BLOCKS * block_size;
    const bool in_memory = file->fd < 0 || file->extent_count < file->in_memory;
    const off_t at = in_memory ? 0 : (off_t)((file->extent_count - file->in_memory) * size);
    int code = in_memory ? 0 : posix_fallocate(file->fd, at, (off_t)size);
    if (code) {
        errno = code;
        return NULL;
    }
    void *extent = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        in_memory ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED,
                        in_memory ? -1 : file->fd, at);
    return extent == MAP_FAILED ? NULL : extent;
}

/* What is memory would be lost. */
static bool may_rest(const struct gn_op_file *file, const struct gn_op *block)
{
    bool in_memory = file->fd < 0;
    for (size_t i = 0; i < file->extent_count && i < file->in_memory; i++)
        in_memory |= (const uint8_t *)block >= file->extents[i] &&
                     (const uint8_t *)block < file->extents[i] + EXTENT_BLOCKS * block_size;
    return !in_memory;
}

static struct gn_op *new_block(struct gn_op_file *file)
{
    if (file->extent_count == 0 || file->used == EXTENT_BLOCKS) {
        if (!gn_grow(&file->extents, &file->extent_capacity, file->extent_count, sizeof *file->extents))
            return NULL;
        uint8_t *extent = new_extent(file);
        if (!extent)
            return NULL;
        file->extents[file->extent_count++] = extent;
        file->used = 0;
    }
    return (struct gn_op *)(file->extents[file->extent_count - 1] + file->used++ * block_size);
}

struct gn_op *gn_op_add(struct gn_op_store *store, uint32_t location)
{
    struct gn_op_row *row = &store->rows[location];
    if (row->count % GN_OP_BLOCK == 0) {
        size_t blocks = row->count / GN_OP_BLOCK;
        if (!gn_grow(&row->blocks, &row->block_capacity, blocks, sizeof(struct gn_op *)))
            return NULL;
        if (!(row->blocks[blocks] = new_block(store->file)))
            return NULL;
    }
    struct gn_op *op = gn_op_at(store, location, row->count++);
    op->limit = op->high = INT64_MAX;
    op->start = INT64_MIN;
    return op;
}

void gn_op_rest(struct gn_op_store *store, uint32_t location, uint64_t index)
{
    struct gn_op_row *row = &store->rows[location];
    if (index == 0)
        row->released = 0;
    for (; row->released + GN_OP_BLOCK <= index; row->released += GN_OP_BLOCK) {
        struct gn_op *block = row->blocks[row->released / GN_OP_BLOCK];
        if (may_rest(store->file, block))
            madvise(block, block_size, MADV_DONTNEED);
    }
}
