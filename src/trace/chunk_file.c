#include "trace/chunk_file.h"

#include "trace/copy_file.h"
#include "trace/file_record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is read or written at once, where chunks are smaller: it stays in the second-level cache. */
enum { BLOCK = 1 << 20 };

static uint64_t block_size(uint64_t chunk)
{
    return chunk >= BLOCK ? chunk : BLOCK / chunk * chunk;
}

/* ---- reading ---- */

static int cannot_read(const char *path, int code, struct gn_error *err)
{
    return gn_fail(err, -code, "cannot read %s: %s", path, strerror(code));
}

static int prepare_input(struct gn_chunk_input *in, struct gn_error *err)
{
    struct stat is;
    if (fstat(in->fd, &is) != 0)
        return cannot_read(in->path, errno, err);
    if (!S_ISREG(is.st_mode))
        return gn_fail(err, -EINVAL, "%s is not a file", in->path);
    in->size = (uint64_t)is.st_size;
    in->block_size = block_size(in->chunk);
    in->block = malloc(in->block_size + GN_CHUNK_SLACK);
    if (!in->block)
        return gn_fail(err, -ENOMEM, "no memory to read %s", in->path);
    posix_fadvise(in->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return 0;
}

int gn_chunk_input_open(struct gn_chunk_input *input, const char *path, uint64_t chunk, struct gn_error *err)
{
    *input = (struct gn_chunk_input){.path = path, .chunk = chunk, .fd = gn_open_input(path, err)};
    if (input->fd < 0)
        return input->fd;
    int code = prepare_input(input, err);
    if (code < 0)
        gn_chunk_input_close(input);
    return code;
}

void gn_chunk_input_close(struct gn_chunk_input *input)
{
    if (input->fd >= 0)
        close(input->fd);
    free(input->block);
    *input = (struct gn_chunk_input){.fd = -1};
}

static int read_at(const struct gn_chunk_input *in, uint8_t *to, uint64_t size, uint64_t offset,
                   struct gn_error *err)
{
    while (size > 0) {
        ssize_t got = pread(in->fd, to, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cannot_read(in->path, errno, err);
        if (got == 0)
            return gn_fail(err, -EIO, "%s became shorter while it was read", in->path);
        to += got;
        offset += (uint64_t)got;
        size -= (uint64_t)got;
    }
    return 0;
}

static int fill_block(struct gn_chunk_input *in, struct gn_error *err)
{
    uint64_t left = in->size - in->next;
    in->block_at = in->next;
    in->block_filled = left < in->block_size ? left : in->block_size;
    return read_at(in, in->block, in->block_filled, in->next, err);
}

int gn_chunk_input_next(struct gn_chunk_input *input, struct gn_error *err)
{
    input->offset = input->next;
    input->bytes = NULL;
    input->bytes_size = 0;
    if (input->offset >= input->size)
        return 0;
    if (input->next < input->block_at || input->next >= input->block_at + input->block_filled) {
        int code = fill_block(input, err);
        if (code < 0)
            return code;
    }
    uint64_t left = input->size - input->next, size = left < input->chunk ? left : input->chunk;
    const uint8_t *bytes = input->block + (input->offset - input->block_at);
    if (!gn_is_chunk(bytes, size, &input->is_other_order))
        return 0;
    input->bytes = bytes;
    input->bytes_size = size;
    input->next += size;
    return 1;
}

bool gn_chunk_input_is_whole(const struct gn_chunk_input *input, struct gn_error *err)
{
    uint8_t end[GN_END_SIZE];
    return input->size >= GN_CHUNK_HEADER_SIZE + sizeof end &&
           read_at(input, end, sizeof end, input->size - sizeof end, err) == 0 &&
           end[0] == GN_RECORD_END_OF_LAST_CHUNK && end[1] == GN_RECORD_END_OF_FILE;
}

/* ---- writing ---- */

int gn_chunk_output_open(struct gn_chunk_output *output, char *path, uint64_t chunk, struct gn_error *err)
{
    *output = (struct gn_chunk_output){.path = path, .chunk = chunk, .fd = -1};
    output->block_size = block_size(chunk);
    output->block = malloc(output->block_size + GN_CHUNK_SLACK);
    int code = path && output->block ? gn_open_output(path, err) : -ENOMEM;
    output->fd = code;
    if (!path || !output->block)
        gn_fail(err, code, "no memory to write %s", path ? path : "a file");
    if (code >= 0)
        return 0;
    gn_chunk_output_close(output);
    return code;
}

void gn_chunk_output_close(struct gn_chunk_output *output)
{
    if (output->fd >= 0)
        close(output->fd);
    free(output->path);
    free(output->block);
    *output = (struct gn_chunk_output){.fd = -1};
}

int gn_chunk_output_copy(struct gn_chunk_output *output, const struct gn_chunk_input *input,
                         struct gn_error *err)
{
    output->offset = input->offset;
    if (lseek(input->fd, 0, SEEK_SET) < 0)
        return cannot_read(input->path, errno, err);
    return gn_copy_bytes(input->fd, input->path, output->fd, output->path, input->offset, err);
}

/* Writes the chunks of the block; `used` bytes of it. */
static int flush(struct gn_chunk_output *o, uint64_t used, struct gn_error *err)
{
    int code = gn_write_all(o->fd, o->path, o->block, used, err);
    o->offset += used;
    o->begin = o->at = o->block;
    return code;
}

static int end_chunk(struct gn_chunk_output *o, uint64_t last, struct gn_error *err)
{
    uint8_t *end = o->begin + o->chunk;
    gn_file_put_number(o->begin + GN_LAST_EVENT_AT, last, o->is_other_order);
    memset(o->at, GN_RECORD_END_OF_CHUNK, (size_t)(end - o->at));
    o->begin = o->at = end;
    return end == o->block + o->block_size ? flush(o, o->block_size, err) : 0;
}

int gn_chunk_output_next(struct gn_chunk_output *output, bool is_other_order, uint64_t first, uint64_t last,
                         struct gn_error *err)
{
    int code = output->begin ? end_chunk(output, last, err) : 0;
    if (!output->begin)
        output->begin = output->block;
    uint8_t *at = output->begin;
    bool is_little = is_other_order != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    at[0] = GN_RECORD_CHUNK;
    at[1] = is_little ? GN_LITTLE_ENDIAN_MARK : GN_BIG_ENDIAN_MARK;
    gn_file_put_number(at + GN_FIRST_EVENT_AT, first, is_other_order);
    gn_file_put_number(at + GN_LAST_EVENT_AT, 0, is_other_order);
    output->is_other_order = is_other_order;
    output->at = at + GN_CHUNK_HEADER_SIZE;
    output->limit = at + output->chunk - GN_END_SIZE;
    return code;
}

int gn_chunk_output_patch(struct gn_chunk_output *output, uint64_t offset, uint64_t number,
                          bool is_other_order, struct gn_error *err)
{
    uint8_t bytes[8];
    gn_file_put_number(bytes, number, is_other_order);
    if (offset >= output->offset)
        memcpy(output->block + (offset - output->offset), bytes, sizeof bytes);
    else if (pwrite(output->fd, bytes, sizeof bytes, (off_t)offset) != sizeof bytes)
        return gn_fail(err, -EIO, "cannot write %s again at %" PRIu64, output->path, offset);
    return 0;
}

int gn_chunk_output_end(struct gn_chunk_output *output, uint64_t last, struct gn_error *err)
{
    int code = 0;
    if (!output->begin || output->at > output->limit) /* OTF2 fills chunks up to their last byte but one */
        code = gn_chunk_output_next(output, output->is_other_order, last + 1, last, err);
    gn_file_put_number(output->begin + GN_LAST_EVENT_AT, last, output->is_other_order);
    *output->at++ = GN_RECORD_END_OF_LAST_CHUNK;
    *output->at++ = GN_RECORD_END_OF_FILE;
    if (code == 0)
        code = flush(output, (uint64_t)(output->at - output->block), err);
    code = gn_close_output(output->fd, output->path, code, err);
    output->fd = -1;
    gn_chunk_output_close(output);
    return code;
}
