#include "agent/sample_elf.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { MOST_TABLE_BYTES = 64 << 20, MOST_VDSO_BYTES = 1 << 20 };

static void read_build_id(struct gn_sample_elf *e, Elf *elf)
{
    const void *id = NULL;
    const ssize_t bytes = dwelf_elf_gnu_build_id(elf, &id);
    if (bytes <= 0)
        return;
    e->build_id_bytes = (size_t)bytes < sizeof e->build_id ? (uint32_t)bytes : (uint32_t)sizeof e->build_id;
    memcpy(e->build_id, id, e->build_id_bytes);
}

static void read_segments(struct gn_sample_elf *e, Elf *elf)
{
    size_t count = 0;
    GElf_Phdr p;
    elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &p); i++) {
        if (p.p_type == PT_LOAD && e->segment_count < GN_SAMPLE_ELF_SEGMENTS)
            e->segments[e->segment_count++] = (struct gn_sample_segment){p.p_offset, p.p_vaddr, p.p_filesz};
        if (p.p_type == PT_GNU_EH_FRAME)
            e->table_header = p.p_vaddr;
    }
}

static void read_stubs(struct gn_sample_elf *e, Elf *elf)
{
    size_t names;
    GElf_Shdr s;
    Elf_Scn *section = NULL;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return;
    while ((section = elf_nextscn(elf, section)) && e->stub_count < GN_SAMPLE_ELF_STUBS) {
        const char *name = gelf_getshdr(section, &s) ? elf_strptr(elf, names, s.sh_name) : NULL;
        if (name && strncmp(name, ".plt", 4) == 0 && s.sh_flags & SHF_EXECINSTR)
            e->stubs[e->stub_count++] = (struct gn_sample_stubs){s.sh_addr, s.sh_addr + s.sh_size};
    }
}

static bool read_all(struct gn_sample_elf *e, Elf *elf)
{
    const bool is_elf = elf && elf_kind(elf) == ELF_K_ELF;
    if (is_elf) {
        read_build_id(e, elf);
        read_segments(e, elf);
        read_stubs(e, elf);
    }
    elf_end(elf);
    return is_elf;
}

/* The kernel's own code in all processes, where clocks are read, is in no file; but it is the same in this
 * one. It ends with the table of its sections. */
static const uint8_t *vdso(size_t *bytes)
{
    const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
    const ElfW(Ehdr) *header = (const void *)image;
    if (!image || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return NULL;
    *bytes = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
    return *bytes <= MOST_VDSO_BYTES ? image : NULL;
}

static bool is_vdso(const char *path)
{
    return strcmp(path, "[vdso]") == 0;
}

bool gn_sample_elf_read(struct gn_sample_elf *e, const char *path)
{
    size_t bytes = 0;
    const uint8_t *image = is_vdso(path) ? vdso(&bytes) : NULL;
    *e = (struct gn_sample_elf){0};
    elf_version(EV_CURRENT);
    if (image) /* it is only read */
        return read_all(e, elf_memory((char *)(uintptr_t)image, bytes));
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return false;
    const bool is_elf = read_all(e, elf_begin(file, ELF_C_READ, NULL));
    close(file);
    return is_elf;
}

/* The segment that has the table's header has the table. */
static const struct gn_sample_segment *segment_of_table(const struct gn_sample_elf *e)
{
    for (uint32_t i = 0; i < e->segment_count; i++) {
        const struct gn_sample_segment *s = &e->segments[i];
        if (e->table_header >= s->address && e->table_header - s->address < s->bytes &&
            s->bytes <= MOST_TABLE_BYTES)
            return s;
    }
    return NULL;
}

static bool copy_segment(const struct gn_sample_segment *s, const char *path, uint8_t *copy)
{
    size_t bytes = 0;
    const uint8_t *image = is_vdso(path) ? vdso(&bytes) : NULL;
    if (image) {
        const bool fits = s->offset <= bytes && s->bytes <= bytes - s->offset;
        memcpy(copy, image + (fits ? s->offset : 0), fits ? s->bytes : 0);
        return fits;
    }
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return false;
    const bool is_read = pread(file, copy, s->bytes, (off_t)s->offset) == (ssize_t)s->bytes;
    close(file);
    return is_read;
}

bool gn_sample_elf_table(struct gn_sample_elf *e, const char *path)
{
    const struct gn_sample_segment *s = e->table_header && !e->table_tried ? segment_of_table(e) : NULL;
    e->table_tried = true;
    uint8_t *copy = s ? malloc(s->bytes) : NULL;
    if (copy && copy_segment(s, path, copy))
        e->table = (struct gn_unwind_table){{copy, s->bytes, s->address}, e->table_header};
    else
        free(copy);
    return e->table.header != 0;
}

void gn_sample_elf_clear(struct gn_sample_elf *e)
{
    free((void *)(uintptr_t)e->table.bytes.at);
    *e = (struct gn_sample_elf){0};
}

bool gn_sample_elf_address(const struct gn_sample_elf *e, uint64_t offset, uint64_t *address)
{
    for (uint32_t i = 0; i < e->segment_count; i++) {
        const struct gn_sample_segment *s = &e->segments[i];
        const uint64_t begin = s->offset & ~4095ull; /* mapped from its page on */
        if (offset >= begin && offset < s->offset + s->bytes) {
            *address = s->address + offset - s->offset;
            return true;
        }
    }
    return false;
}

bool gn_sample_elf_is_stub(const struct gn_sample_elf *e, uint64_t address)
{
    for (uint32_t i = 0; i < e->stub_count; i++)
        if (address >= e->stubs[i].begin && address < e->stubs[i].end)
            return true;
    return false;
}
