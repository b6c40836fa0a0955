/*
 * What gn_symbols_find says against libdwfl's own search, on files that nobody here made: addresses all over
 * their sections, and at the edges of their symbols.
 */
#include "program/symbols.h"

#include "base/mix.h"

#include <fcntl.h>
#include <gelf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { ADDRESSES = 3000 };

static int find_nothing(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, char **file,
                        Elf **elf)
{
    (void)module, (void)data, (void)name, (void)base, (void)file, (void)elf;
    return -1;
}

static int find_no_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                              const char *file, const char *link, GElf_Word crc, char **found)
{
    (void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)found;
    return -1;
}

static const Dwfl_Callbacks callbacks = {.find_elf = find_nothing,
                                         .find_debuginfo = find_no_debug_file,
                                         .section_address = dwfl_offline_section_address};

/* Two names of one place, of which either may be told. */
static bool are_aliases(Dwfl_Module *module, const char *name, uint64_t at)
{
    const int count = dwfl_module_getsymtab(module);
    for (int i = 1; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr value;
        const char *other = dwfl_module_getsym_info(module, i, &symbol, &value, NULL, NULL, NULL);
        if (other && value == at && strcmp(other, name) == 0)
            return true;
    }
    return false;
}

/* Between sections nothing runs, and libdwfl takes what is there for the section before. */
static bool is_in_a_section(Dwfl_Module *module, uint64_t address)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(module, &bias);
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && header.sh_flags & SHF_ALLOC &&
            address - bias >= header.sh_addr && address - bias < header.sh_addr + header.sh_size)
            return true;
    }
    return false;
}

static bool compare_at(struct gn_symbols *symbols, Dwfl_Module *module, uint64_t address)
{
    GElf_Off theirs_from = 0;
    GElf_Sym symbol;
    uint64_t from = 0;
    if (!is_in_a_section(module, address))
        return false;
    const char *theirs = dwfl_module_addrinfo(module, address, &theirs_from, &symbol, NULL, NULL, NULL);
    const char *ours = gn_symbols_find(symbols, module, address, &from);
    if ((ours != NULL) != (theirs && theirs[0]))
        fail_msg("%#lx: %s, and libdwfl %s", (unsigned long)address, ours ? ours : "nothing",
                 theirs ? theirs : "nothing");
    if (!ours)
        return false;
    if (from != theirs_from ||
        (strcmp(ours, theirs) != 0 && !are_aliases(module, ours, address - theirs_from)))
        fail_msg("%#lx: %s + %lu, and libdwfl %s + %lu", (unsigned long)address, ours, (unsigned long)from,
                 theirs, (unsigned long)theirs_from);
    return true;
}

/* An address of a section that is loaded, or one at or around the edge of a symbol. */
static uint64_t some_address(Dwfl_Module *module, uint64_t *random)
{
    GElf_Sym symbol;
    GElf_Addr value = 0, low, high;
    if (gn_mix_next(random) % 3 == 0) {
        dwfl_module_info(module, NULL, &low, &high, NULL, NULL, NULL, NULL);
        return low + gn_mix_next(random) % (high - low);
    }
    const int count = dwfl_module_getsymtab(module);
    const int index = count > 1 ? 1 + (int)(gn_mix_next(random) % (uint64_t)(count - 1)) : 0;
    if (index == 0 || !dwfl_module_getsym_info(module, index, &symbol, &value, NULL, NULL, NULL))
        return value;
    const uint64_t inside = symbol.st_size > 1 ? gn_mix_next(random) % symbol.st_size : 0;
    const uint64_t places[] = {value, value - 1, value + symbol.st_size, value + inside};
    return places[gn_mix_next(random) % 4];
}

static unsigned compare_file(const char *path)
{
    struct gn_symbols symbols = {.tried = false};
    uint64_t random = 11;
    unsigned named = 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    Dwfl *dwfl = dwfl_begin(&callbacks);
    Dwfl_Module *module = dwfl_report_offline(dwfl, path, path, fd);
    assert_non_null(module);
    dwfl_report_end(dwfl, NULL, NULL);
    for (int i = 0; i < ADDRESSES; i++)
        named += compare_at(&symbols, module, some_address(module, &random));
    gn_symbols_clear(&symbols);
    dwfl_end(dwfl);
    printf("%s: %u of %d addresses have a name\n", path, named, ADDRESSES);
    return named;
}

static void answers_are_those_of_libdwfl(void **state)
{
    (void)state;
    unsigned named = compare_file("/proc/self/exe");
    assert_true(named > ADDRESSES / 4);
    static const char *const folders[] = {"/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64",
                                          "/usr/lib"};
    static const char *const libraries[] = {"libc.so.6",           "libm.so.6",      "libstdc++.so.6",
                                            "libmpi.so.40",        "libmpich.so.12", "libdw.so.1",
                                            "ld-linux-x86-64.so.2"};
    unsigned in_libraries = 0;
    for (size_t f = 0; f < sizeof folders / sizeof *folders; f++)
        for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
            char path[256];
            snprintf(path, sizeof path, "%s/%s", folders[f], libraries[i]);
            in_libraries += compare_file(path);
        }
    assert_true(in_libraries > 0);
}

int main(int count, char **arguments)
{
    for (int i = 1; i < count; i++)
        compare_file(arguments[i]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers_are_those_of_libdwfl)};
    return count > 1 ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
