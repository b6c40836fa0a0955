#include "program/imports.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { IMPORTS_MAX = 1 << 22 };

static bool is_function_slot(GElf_Half machine, GElf_Xword type)
{
    if (machine == EM_X86_64)
        return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
    return machine == EM_AARCH64 && (type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT);
}

static int add(struct gn_imports *imports, struct gn_import import)
{
    if (imports->count >= IMPORTS_MAX)
        return 0;
    if (imports->count == imports->room) {
        size_t room = imports->room ? imports->room * 2 : 64;
        struct gn_import *items = realloc(imports->items, room * sizeof *items);
        if (!items)
            return -ENOMEM;
        imports->items = items;
        imports->room = room;
    }
    imports->items[imports->count++] = import;
    return 0;
}

static int add_relocation(struct gn_imports *imports, Elf *elf, GElf_Half machine, Elf_Data *symbols,
                          size_t strings, const GElf_Rela *rela)
{
    GElf_Sym symbol;
    if (!is_function_slot(machine, GELF_R_TYPE(rela->r_info)))
        return 0;
    if (!gelf_getsym(symbols, (int)GELF_R_SYM(rela->r_info), &symbol))
        return 0;
    const char *name = elf_strptr(elf, strings, symbol.st_name);
    if (!name || !name[0])
        return 0;
    uint64_t address = symbol.st_shndx == SHN_UNDEF ? 0 : symbol.st_value;
    return add(imports, (struct gn_import){.slot = rela->r_offset, .address = address, .name = name});
}

static int add_section(struct gn_imports *imports, Elf *elf, GElf_Half machine, Elf_Scn *section,
                       const GElf_Shdr *header)
{
    GElf_Shdr symbols_header;
    Elf_Scn *symbols_section = elf_getscn(elf, header->sh_link);
    if (!symbols_section || !gelf_getshdr(symbols_section, &symbols_header))
        return 0;
    Elf_Data *relocations = elf_getdata(section, NULL);
    Elf_Data *symbols = elf_getdata(symbols_section, NULL);
    if (symbols_header.sh_type != SHT_DYNSYM || !relocations || !symbols)
        return 0;
    GElf_Rela rela;
    for (int i = 0; i < IMPORTS_MAX && gelf_getrela(relocations, i, &rela); i++) {
        int rc = add_relocation(imports, elf, machine, symbols, symbols_header.sh_link, &rela);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int compare(const void *left, const void *right)
{
    const struct gn_import *a = left, *b = right;
    return a->slot < b->slot ? -1 : a->slot > b->slot;
}

int gn_imports_read(struct gn_imports *imports, Elf *elf)
{
    GElf_Ehdr file;
    GElf_Shdr header;
    Elf_Scn *section = NULL;
    if (!gelf_getehdr(elf, &file))
        return 0;
    while ((section = elf_nextscn(elf, section))) {
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA)
            continue;
        int rc = add_section(imports, elf, file.e_machine, section, &header);
        if (rc < 0)
            return rc;
    }
    if (imports->count > 1)
        qsort(imports->items, imports->count, sizeof *imports->items, compare);
    return 0;
}

const struct gn_import *gn_imports_find(const struct gn_imports *imports, uint64_t slot)
{
    struct gn_import key = {.slot = slot};
    if (imports->count == 0)
        return NULL;
    return bsearch(&key, imports->items, imports->count, sizeof key, compare);
}

bool gn_imports_are_at(Elf *elf, uint64_t address)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || address < header.sh_addr ||
            address - header.sh_addr >= header.sh_size)
            continue;
        const char *name = elf_strptr(elf, names, header.sh_name);
        if (name && strncmp(name, ".plt", 4) == 0)
            return true;
    }
    return false;
}

void gn_imports_clear(struct gn_imports *imports)
{
    free(imports->items);
    *imports = (struct gn_imports){0};
}
