/* agent/sample_elf — what is needed of a mapped executable or library, read from its file. */
#ifndef GNOMON_AGENT_SAMPLE_ELF_H
#define GNOMON_AGENT_SAMPLE_ELF_H

#include "image/tag.h"
#include "unwind/table.h"

enum { GN_SAMPLE_ELF_SEGMENTS = 16, GN_SAMPLE_ELF_STUBS = 4 };

struct gn_sample_elf {
    uint8_t build_id[GN_BUILD_ID_BYTES];
    uint32_t build_id_bytes;
    struct gn_sample_segment {
        uint64_t offset, address, bytes; /* in the file; as the file has it */
    } segments[GN_SAMPLE_ELF_SEGMENTS];
    uint32_t segment_count, stub_count;
    struct gn_sample_stubs {
        uint64_t begin, end; /* addresses: through which other libraries are called (.plt and the like) */
    } stubs[GN_SAMPLE_ELF_STUBS];
    uint64_t table_header;        /* address of its unwind table; 0: none */
    struct gn_unwind_table table; /* once it was read; addresses as the file has them */
    bool table_tried;
};

/* path: "[vdso]" is not in a file. False: it cannot be read; everything is as of a file without anything
 * then. Caller clears. */
bool gn_sample_elf_read(struct gn_sample_elf *elf, const char *path);
/* Reads the unwind table, when that is asked for the first time. Whether there is one. */
bool gn_sample_elf_table(struct gn_sample_elf *elf, const char *path);
void gn_sample_elf_clear(struct gn_sample_elf *elf);

/* The address that the file has for what is at this offset in it; false: none. */
bool gn_sample_elf_address(const struct gn_sample_elf *elf, uint64_t offset, uint64_t *address);

/* Whether a call of another library is under way at that address: that is its caller's doing. */
bool gn_sample_elf_is_stub(const struct gn_sample_elf *elf, uint64_t address);

#endif
