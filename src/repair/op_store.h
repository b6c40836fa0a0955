/*
 * repair/op_store — the ops of locations, in a file that has no name: what is not being looked at is the
 * kernel's to keep or to write out.
 *
 * Each location has a row of ops that grows at its end; any op may be changed at any time. Nothing is ever
 * moved: the address of an op stays valid until the store is closed.
 */
#ifndef GNOMON_REPAIR_OP_STORE_H
#define GNOMON_REPAIR_OP_STORE_H

#include "base/error.h"
#include "repair/op.h"

#include <stddef.h>

enum { GN_OP_BLOCK = 4096 }; /* ops */

/* The first ops are kept in memory: most traces have no more, and pages of a file cost the kernel as much as
 * all that is done to the ops. */
#define GN_OP_MEMORY_BYTES (UINT64_C(128) << 20)

struct gn_op_row {
    struct gn_op **blocks; /* of GN_OP_BLOCK ops each */
    uint64_t count;
    size_t block_capacity;
    bool has_gaps;     /* the file has records that are no events here: of times that nobody has looked at */
    uint64_t released; /* ops of whole blocks that were given back to the kernel: still there, slower */
};

struct gn_op_store {
    struct gn_op_row
        *rows; /* [row_count] by location of the definitions; those of other processes are empty */
    size_t row_count;
    struct gn_op_channel *channels; /* [channel_count]; links are indices */
    size_t channel_count, channel_capacity;
    struct gn_op_group *groups; /* [group_count] */
    size_t group_count, group_capacity;
    struct gn_op_file *file;
};

/* folder: where the file is made (and has its name removed at once); NULL: in memory, whatever it takes.
 * 0 or a negative errno value; the caller closes in the first case. */
int gn_op_store_open(struct gn_op_store *store, size_t row_count, const char *folder, struct gn_error *err);
void gn_op_store_close(struct gn_op_store *store);

/* How many bytes of ops are memory before the file is used, instead of GN_OP_MEMORY_BYTES; in whole extents
 * of 16 MiB, rounded down. Before the first op. */
void gn_op_store_memory(struct gn_op_store *store, uint64_t bytes);

/* Adds an op that is all zero but for limit and high INT64_MAX, start INT64_MIN, and returns it; NULL: no
 * memory, or no room on the disk (errno says which). */
struct gn_op *gn_op_add(struct gn_op_store *store, uint32_t location);

static inline struct gn_op *gn_op_at(const struct gn_op_store *store, uint32_t location, uint64_t index)
{
    return &store->rows[location].blocks[index / GN_OP_BLOCK][index % GN_OP_BLOCK];
}

/* Ops of the location before `index` are not needed for a while: the kernel may take their memory. 0: from
 * here on they are looked at from the beginning again. */
void gn_op_rest(struct gn_op_store *store, uint32_t location, uint64_t index);

#endif
