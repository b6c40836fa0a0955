/*
 * trace/chunk_file — files of chunks (trace/file_record.h), read and written one after the other, many bytes
 * at a time. Files are read and not mapped: one that gets shorter meanwhile is an error and not a signal.
 */
#ifndef GNOMON_TRACE_CHUNK_FILE_H
#define GNOMON_TRACE_CHUNK_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes behind a chunk being read or written that may be touched, too: records are copied with this much at a
 * time. */
enum { GN_CHUNK_SLACK = 32 };

struct gn_chunk_input {
    const char *path; /* the caller's */
    int fd;
    uint64_t size;   /* of the file */
    uint64_t chunk;  /* bytes; GN_CHUNK_LEAST … GN_CHUNK_MOST */
    uint64_t offset; /* of the current chunk */
    uint64_t next;   /* of the chunk after it */
    uint8_t *block;  /* some chunks */
    uint64_t block_size, block_at, block_filled;
    const uint8_t *bytes; /* the current chunk: */
    size_t bytes_size;    /* smaller than chunk: the last one */
    bool is_other_order;
};

/* path stays the caller's. 0 or a negative errno value: nothing is open. */
int gn_chunk_input_open(struct gn_chunk_input *input, const char *path, uint64_t chunk, struct gn_error *err);
void gn_chunk_input_close(struct gn_chunk_input *input);

/* Goes to the next chunk (at first: to the first). 1; 0: there is none, or what is there does not begin like
 * one (bytes is NULL, offset is behind the chunk before); or a negative errno value. */
int gn_chunk_input_next(struct gn_chunk_input *input, struct gn_error *err);

/* Whether the file ends as it should. */
bool gn_chunk_input_is_whole(const struct gn_chunk_input *input, struct gn_error *err);

struct gn_chunk_output {
    char *path; /* owned */
    int fd;
    uint64_t chunk;
    uint64_t offset; /* of the block in the file */
    uint8_t *block;
    uint64_t block_size;
    uint8_t *begin, *at;  /* of the current chunk; NULL: none has begun */
    const uint8_t *limit; /* of its records; at: the next record needs another chunk */
    bool is_other_order;
};

/* Creates the file, which must not be there. path: owned from now on, whatever is returned; NULL: no memory.
 * 0 or a negative errno value. */
int gn_chunk_output_open(struct gn_chunk_output *output, char *path, uint64_t chunk, struct gn_error *err);

/* Begins with the chunks that the input has before its current one. Before any chunk has begun. */
int gn_chunk_output_copy(struct gn_chunk_output *output, const struct gn_chunk_input *input,
                         struct gn_error *err);

/* Ends the chunk, if one has begun: its last event is number `last`. Begins another: the first event in it
 * will be number `first`. */
int gn_chunk_output_next(struct gn_chunk_output *output, bool is_other_order, uint64_t first, uint64_t last,
                         struct gn_error *err);

/* Sets a number of 8 bytes in what was written, at an offset in the file: within a chunk. */
int gn_chunk_output_patch(struct gn_chunk_output *output, uint64_t offset, uint64_t number,
                          bool is_other_order, struct gn_error *err);

static inline uint64_t gn_chunk_output_offset(const struct gn_chunk_output *output)
{
    return output->offset + (uint64_t)(output->at - output->block);
}

/* Ends the file (last: as above), and closes it. 0 or a negative errno value. */
int gn_chunk_output_end(struct gn_chunk_output *output, uint64_t last, struct gn_error *err);

/* Closes what is open, with the file as it is. */
void gn_chunk_output_close(struct gn_chunk_output *output);

#endif
