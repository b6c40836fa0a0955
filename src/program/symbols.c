#include "program/symbols.h"

#include <gelf.h>

/* Where several symbols have one range, the stronger binding is wanted, then the one that comes first: the
 * owner with the largest number (program/spans.c). */
static size_t owner_of(const GElf_Sym *symbol, int index)
{
    static const size_t strength[] = {[STB_LOCAL] = 1, [STB_GLOBAL] = 3, [STB_WEAK] = 2};
    const unsigned binding = GELF_ST_BIND(symbol->st_info);
    return (binding < sizeof strength / sizeof *strength ? strength[binding] : 0) << 32 |
           (UINT32_MAX - (uint32_t)index);
}

static int index_of(size_t owner)
{
    return (int)(UINT32_MAX - (uint32_t)owner);
}

static bool names_code_or_data(const GElf_Sym *symbol, const char *name)
{
    const unsigned type = GELF_ST_TYPE(symbol->st_info);
    return name && name[0] && symbol->st_shndx != SHN_UNDEF && type != STT_SECTION && type != STT_FILE &&
           type != STT_TLS;
}

static bool read_symbols(struct gn_symbols *symbols, Dwfl_Module *module)
{
    const int count = dwfl_module_getsymtab(module),
              first_global = dwfl_module_getsymtab_first_global(module);
    for (int i = 1; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr at;
        if (!names_code_or_data(&symbol, dwfl_module_getsym_info(module, i, &symbol, &at, NULL, NULL, NULL)))
            continue;
        struct gn_spans *spans = i < first_global ? &symbols->locals : &symbols->globals;
        const uint64_t bytes = symbol.st_size ? symbol.st_size : 1;
        if (gn_spans_add(symbol.st_size ? spans : &symbols->labels, at, at + bytes, owner_of(&symbol, i)) < 0)
            return false;
    }
    return count >= 0;
}

static bool read_sections(struct gn_symbols *symbols, Dwfl_Module *module)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(module, &bias);
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && header.sh_flags & SHF_ALLOC &&
            gn_spans_add(&symbols->sections, header.sh_addr + bias, header.sh_addr + bias + header.sh_size,
                         elf_ndxscn(section)) < 0)
            return false;
    }
    return true;
}

static void read_all(struct gn_symbols *symbols, Dwfl_Module *module)
{
    symbols->tried = true;
    symbols->complete = read_symbols(symbols, module) && read_sections(symbols, module);
    gn_spans_sort(&symbols->globals);
    gn_spans_sort(&symbols->locals);
    gn_spans_sort(&symbols->labels);
    gn_spans_sort(&symbols->sections);
}

/* Whether a label is nearest below the address, in its section. */
static bool may_be_labelled(const struct gn_symbols *symbols, uint64_t address)
{
    uint64_t label;
    return gn_spans_below(&symbols->labels, address, &label) &&
           gn_spans_find(&symbols->sections, label) == gn_spans_find(&symbols->sections, address);
}

static const char *ask_libdwfl(Dwfl_Module *module, uint64_t address, uint64_t *from_start)
{
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char *name = dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL);
    *from_start = offset;
    return name && name[0] ? name : NULL;
}

const char *gn_symbols_find(struct gn_symbols *symbols, Dwfl_Module *module, Dwarf_Addr address,
                            uint64_t *from_start)
{
    if (!symbols->tried)
        read_all(symbols, module);
    size_t owner = gn_spans_find(&symbols->globals, address);
    if (owner == GN_SPAN_NONE)
        owner = gn_spans_find(&symbols->locals, address);
    if (owner == GN_SPAN_NONE)
        return symbols->complete && !may_be_labelled(symbols, address)
                   ? NULL
                   : ask_libdwfl(module, address, from_start);
    GElf_Sym symbol;
    GElf_Addr at;
    const char *name = dwfl_module_getsym_info(module, index_of(owner), &symbol, &at, NULL, NULL, NULL);
    *from_start = address - at;
    return name;
}

bool gn_symbols_hold(const struct gn_symbols *symbols, Dwarf_Addr address)
{
    return gn_spans_find(&symbols->globals, address) != GN_SPAN_NONE ||
           gn_spans_find(&symbols->locals, address) != GN_SPAN_NONE;
}

void gn_symbols_clear(struct gn_symbols *symbols)
{
    gn_spans_clear(&symbols->globals);
    gn_spans_clear(&symbols->locals);
    gn_spans_clear(&symbols->labels);
    gn_spans_clear(&symbols->sections);
}
