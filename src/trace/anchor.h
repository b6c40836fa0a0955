/*
 * trace/anchor — what the anchor file (*.otf2) of an OTF2 archive says, without the library.
 *
 *   3, byte order, "OTF2", 0 │ versions: 5 bytes │ chunk sizes: 8 of events, 8 of definitions │ substrate: 1
 *   │ compression: 1 │ locations: 8 │ global definitions: 8 │ machine, 0, description, 0, creator, 0
 *   │ properties: 4 │ name, 0, value, 0 … │ trace's id: 8 │ snapshots: 4 │ thumbnails: 4 │ 2, 1, …
 */
#ifndef GNOMON_TRACE_ANCHOR_H
#define GNOMON_TRACE_ANCHOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gn_anchor {
    uint64_t event_chunk, definition_chunk; /* bytes, as the file says: anything */
    bool is_other_order;                    /* its numbers have not this machine's byte order */
    bool has_plain_files;                   /* one per location, not compressed */
    uint32_t properties;
    size_t properties_at; /* offset of their number */
    size_t properties_end;
};

/* Whether the bytes begin as an anchor does. */
bool gn_anchor_begins(const uint8_t *bytes, size_t size);

/* false: the bytes are none, or say that they have more properties than they have. */
bool gn_anchor_parse(struct gn_anchor *anchor, const uint8_t *bytes, size_t size);

/* Makes the anchor that of an archive whose clocks are corrected (`corrected`: no property says any more what
 * its clock offsets are worth) and that has no snapshots. Returns the new size, which is not larger. */
size_t gn_anchor_edit(uint8_t *bytes, size_t size, bool corrected);

#endif
