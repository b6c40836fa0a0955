#include "cli/activity_library.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file in memory; what is changed keeps its place and size. */
struct copy {
    char *bytes;
    size_t size;
    Elf *elf;
    Elf_Data *symbols;
    GElf_Shdr names; /* of the symbols */
    uint32_t *hash;
    size_t hash_words;
    uint64_t slots_at; /* offset in the file */
};

static const char slot_prefix[] = "gnomon_activity_slot_";

static int read_whole(const char *path, struct copy *c)
{
    struct stat info;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -errno;
    int code = fstat(file, &info) == 0 ? 0 : -errno;
    c->size = code == 0 ? (size_t)info.st_size : 0;
    c->bytes = code == 0 ? malloc(c->size + 1) : NULL;
    if (code == 0)
        code = !c->bytes ? -ENOMEM : read(file, c->bytes, c->size) == (ssize_t)c->size ? 0 : -EIO;
    close(file);
    return code;
}

static bool is_inside(const struct copy *c, const GElf_Shdr *header)
{
    return header->sh_offset <= c->size && header->sh_size <= c->size - header->sh_offset;
}

static char *name_at(const struct copy *c, const GElf_Sym *symbol)
{
    return symbol->st_name < c->names.sh_size ? c->bytes + c->names.sh_offset + symbol->st_name : NULL;
}

static void find_slots(struct copy *c)
{
    GElf_Sym symbol;
    GElf_Shdr header;
    for (int i = 1; gelf_getsym(c->symbols, i, &symbol); i++) {
        Elf_Scn *section = elf_getscn(c->elf, symbol.st_shndx);
        const char *name = name_at(c, &symbol);
        if (!name || strcmp(name, "gn_slots") != 0 || !section || !gelf_getshdr(section, &header) ||
            header.sh_type != SHT_PROGBITS || !is_inside(c, &header) || symbol.st_value < header.sh_addr)
            continue;
        const uint64_t from = symbol.st_value - header.sh_addr;
        if (from <= header.sh_size && GN_SLOTS * sizeof(struct gn_slot) <= header.sh_size - from)
            c->slots_at = header.sh_offset + from;
    }
}

static int find_parts(struct copy *c)
{
    GElf_Shdr header;
    elf_version(EV_CURRENT);
    c->elf = elf_memory(c->bytes, c->size);
    for (Elf_Scn *section = NULL; c->elf && (section = elf_nextscn(c->elf, section));) {
        if (!gelf_getshdr(section, &header) || !is_inside(c, &header))
            continue;
        if (header.sh_type == SHT_DYNSYM) {
            Elf_Scn *names = elf_getscn(c->elf, header.sh_link);
            c->symbols = names && gelf_getshdr(names, &c->names) && is_inside(c, &c->names)
                             ? elf_getdata(section, NULL)
                             : NULL;
        } else if (header.sh_type == SHT_HASH && header.sh_offset % sizeof *c->hash == 0) {
            c->hash = (uint32_t *)(void *)(c->bytes + header.sh_offset);
            c->hash_words = header.sh_size / sizeof *c->hash;
        }
    }
    if (c->symbols)
        find_slots(c);
    return c->symbols && c->hash && c->hash_words > 2 && c->slots_at ? 0 : -EPROTO;
}

/* The entry point with that number is a function's name from now on: both are as long. */
static int rename_slot(struct copy *c, size_t number, const char *symbol_name)
{
    char wanted[40];
    GElf_Sym symbol;
    snprintf(wanted, sizeof wanted, "%s%02zu_", slot_prefix, number);
    for (int i = 1; gelf_getsym(c->symbols, i, &symbol); i++) {
        char *name = name_at(c, &symbol);
        if (!name || strncmp(name, wanted, strlen(wanted)) != 0)
            continue;
        if (strlen(name) + 1 != GN_SLOT_SYMBOL_BYTES || strlen(symbol_name) >= GN_SLOT_SYMBOL_BYTES)
            return -EPROTO;
        memset(name, 0, GN_SLOT_SYMBOL_BYTES);
        memcpy(name, symbol_name, strlen(symbol_name));
        return 0;
    }
    return -EPROTO;
}

/* The table by which the loader looks names up (System V ABI, chapter 5). */
static int hash_anew(struct copy *c)
{
    const uint32_t buckets = c->hash[0], chains = c->hash[1];
    if (buckets == 0 || c->hash_words < 2 + (size_t)buckets + chains)
        return -EPROTO;
    uint32_t *first = c->hash + 2, *next = first + buckets;
    memset(first, 0, (size_t)buckets * sizeof *first);
    memset(next, 0, (size_t)chains * sizeof *next);
    for (uint32_t i = chains; i-- > 1;) {
        GElf_Sym symbol;
        const char *name = gelf_getsym(c->symbols, (int)i, &symbol) ? name_at(c, &symbol) : NULL;
        if (!name || symbol.st_shndx == SHN_UNDEF)
            continue;
        const uint32_t bucket = (uint32_t)(elf_hash(name) % buckets);
        next[i] = first[bucket];
        first[bucket] = i;
    }
    return 0;
}

static int write_copy(const struct copy *c, const char *path)
{
    char fresh[4200];
    if ((size_t)snprintf(fresh, sizeof fresh, "%s.XXXXXX", path) >= sizeof fresh)
        return -ENAMETOOLONG;
    const int file = mkostemp(fresh, O_CLOEXEC);
    if (file < 0)
        return -errno;
    size_t done = 0;
    int code = fchmod(file, 0500) == 0 ? 0 : -errno;
    while (code == 0 && done < c->size) {
        const ssize_t bytes = write(file, c->bytes + done, c->size - done);
        if (bytes < 0 && errno != EINTR)
            code = -errno;
        done += bytes > 0 ? (size_t)bytes : 0;
    }
    close(file);
    if (code == 0 && rename(fresh, path) != 0)
        code = -errno;
    if (code != 0)
        unlink(fresh);
    return code;
}

int gn_activity_library_write(const char *library, const char *path, const struct gn_slot *slots,
                              size_t count, struct gn_error *err)
{
    struct copy c = {.elf = NULL};
    int code = read_whole(library, &c);
    if (code != 0)
        gn_fail(err, code, "%s cannot be read: %s", library, strerror(-code));
    else if ((code = find_parts(&c)) != 0)
        gn_fail(err, code, "%s is another library than it should be", library);
    for (size_t i = 0; i < count && i < GN_SLOTS && code == 0; i++) {
        code = rename_slot(&c, i, slots[i].symbol);
        if (code != 0)
            gn_fail(err, code, "%s has no room for %s", library, slots[i].symbol);
    }
    if (code == 0 && (code = hash_anew(&c)) != 0)
        gn_fail(err, code, "%s is another library than it should be", library);
    if (code == 0) {
        memcpy(c.bytes + c.slots_at, slots, count * sizeof *slots);
        code = write_copy(&c, path);
        if (code != 0)
            gn_fail(err, code, "%s cannot be written: %s", path, strerror(-code));
    }
    elf_end(c.elf);
    free(c.bytes);
    return code;
}
