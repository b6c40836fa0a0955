/*
 * unwind/: the rule compiled for an address says what libdw, which reads the same tables in a way of its own,
 * says of it. Over all procedures of executables that compilers and people wrote, of both machines:
 *
 *   test_unwind [FILE...]     without any: this program and what it has loaded
 */
#include "unwind/table.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MAX_FILES = 256, PLACES = 24 /* looked at in a procedure, at most */ };

static const char *files[MAX_FILES];
static size_t file_count;

struct image {
    Elf *elf;
    Dwarf_CFI *cfi;
    struct gn_unwind_table table;
    enum gn_cfi_machine machine;
    unsigned fp, sp, ip; /* numbers of registers */
    unsigned long usual, slow, leaves, ends;
    uintptr_t pc;
};

/* The segment with .eh_frame_hdr, as in capture/modules; its bytes are the file's. */
static bool open_image(struct image *image, int file)
{
    size_t count, bytes;
    GElf_Ehdr header;
    *image = (struct image){.elf = elf_begin(file, ELF_C_READ_MMAP, NULL)};
    char *raw = image->elf ? elf_rawfile(image->elf, &bytes) : NULL;
    if (!raw || !gelf_getehdr(image->elf, &header) || elf_getphdrnum(image->elf, &count) != 0 ||
        (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64))
        return false;
    bool x86 = header.e_machine == EM_X86_64;
    image->machine = x86 ? GN_CFI_X86_64 : GN_CFI_AARCH64;
    image->fp = x86 ? 6 : 29;
    image->sp = x86 ? 7 : 31;
    image->ip = x86 ? 16 : 30;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr p;
        if (gelf_getphdr(image->elf, (int)i, &p) && p.p_type == PT_GNU_EH_FRAME)
            image->table.header = p.p_vaddr;
    }
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr p;
        if (gelf_getphdr(image->elf, (int)i, &p) && p.p_type == PT_LOAD &&
            image->table.header - p.p_vaddr < p.p_filesz)
            image->table.bytes = (struct gn_cfi_bytes){(uint8_t *)raw + p.p_offset, p.p_filesz, p.p_vaddr};
    }
    image->cfi = dwarf_getcfi_elf(image->elf);
    return image->table.bytes.at && image->cfi;
}

/* ---- what libdw says ---- */

struct told {
    enum { NOWHERE, IN_REGISTER, CFA_PLUS, FP_PLUS, OTHERWISE } kind;
    int64_t offset;
};

static struct told where_is(Dwarf_Frame *frame, unsigned reg, const struct image *image)
{
    Dwarf_Op memory[3], *ops;
    size_t count;
    if (dwarf_frame_register(frame, (int)reg, memory, &ops, &count) != 0)
        return (struct told){OTHERWISE, 0};
    if (count == 0)
        return (struct told){ops ? NOWHERE : IN_REGISTER, 0};
    if (count == 1 && ops[0].atom == DW_OP_call_frame_cfa)
        return (struct told){CFA_PLUS, 0};
    if (count == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_plus_uconst)
        return (struct told){CFA_PLUS, (int64_t)ops[1].number};
    /* an expression begins with the CFA on its stack */
    if (count == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_breg0 + image->fp)
        return (struct told){FP_PLUS, (int64_t)ops[1].number};
    return (struct told){OTHERWISE, 0};
}

enum told_cfa { CFA_SP, CFA_FP, CFA_DEREF, CFA_OTHER };

/* sp + offset + ((pc & 15) >= from) << 3: what linkers write of the stubs to other libraries, a machine of
 * its own; evaluated at pc. */
static bool is_stub(const Dwarf_Op *ops, size_t count, uintptr_t pc, int64_t *offset)
{
    enum { OPS = 9, PUSHED = 4 };
    static const uint8_t expected[OPS] = {DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, 0,
                                          DW_OP_ge,    DW_OP_lit3,   DW_OP_shl,   DW_OP_plus};
    if (count != OPS)
        return false;
    for (int i = 0; i < OPS; i++)
        if (i != PUSHED && ops[i].atom != expected[i])
            return false;
    *offset = (int64_t)ops[0].number + ((pc & 15) >= (uintptr_t)(ops[PUSHED].atom - DW_OP_lit0) ? 8 : 0);
    return true;
}

static enum told_cfa cfa_of(Dwarf_Frame *frame, const struct image *image, int64_t *offset)
{
    Dwarf_Op *ops;
    size_t count;
    if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count == 0)
        return CFA_OTHER;
    if (image->machine == GN_CFI_X86_64 && is_stub(ops, count, image->pc, offset))
        return CFA_SP;
    unsigned reg =
        ops[0].atom == DW_OP_bregx ? (unsigned)ops[0].number : (unsigned)(ops[0].atom - DW_OP_breg0);
    *offset = (int64_t)(ops[0].atom == DW_OP_bregx ? ops[0].number2 : ops[0].number);
    if (count == 1 && (reg == image->sp || reg == image->fp))
        return reg == image->sp ? CFA_SP : CFA_FP;
    return count == 2 && reg == image->fp && ops[1].atom == DW_OP_deref ? CFA_DEREF : CFA_OTHER;
}

/* ---- both ---- */

static void check_usual(struct gn_rule rule, Dwarf_Frame *frame, const struct image *image)
{
    static const enum told_cfa kinds[] = {
        [GN_RULE_SP] = CFA_SP, [GN_RULE_FP] = CFA_FP, [GN_RULE_REALIGNED] = CFA_DEREF};
    int64_t offset = 0;
    assert_int_equal(cfa_of(frame, image, &offset), kinds[gn_rule_kind(rule)]);
    assert_int_equal(offset, rule.cfa & ~7);
    struct told ip = where_is(frame, image->ip, image), fp = where_is(frame, image->fp, image);
    assert_int_equal(ip.kind, CFA_PLUS);
    assert_int_equal(ip.offset, rule.ip_words * 8);
    if (gn_rule_kind(rule) == GN_RULE_REALIGNED) {
        assert_int_equal(fp.kind, FP_PLUS);
        assert_int_equal(fp.offset, 0);
    } else if (rule.fp_words) {
        assert_int_equal(fp.kind, CFA_PLUS);
        assert_int_equal(fp.offset, rule.fp_words * 8);
    } else {
        assert_true(fp.kind == IN_REGISTER || fp.kind == NOWHERE);
    }
}

/* Whether a rule could have said it. */
static bool is_unusual(Dwarf_Frame *frame, const struct image *image, bool signal_frame)
{
    int64_t offset = 0;
    enum told_cfa cfa = cfa_of(frame, image, &offset);
    struct told ip = where_is(frame, image->ip, image), fp = where_is(frame, image->fp, image);
    return signal_frame || cfa == CFA_OTHER || ip.kind != CFA_PLUS || fp.kind == OTHERWISE ||
           (fp.kind == FP_PLUS) != (cfa == CFA_DEREF) || offset <= 0 || offset % 8 || fp.offset >= 0 ||
           (cfa == CFA_SP && -fp.offset > offset) || -fp.offset > 4096 || -ip.offset > 4096;
}

/* A procedure is where libdw knows a frame: from its begin to its last byte, and not beyond. */
static void check_procedure(struct image *image, uintptr_t pc, bool known)
{
    uintptr_t begin, end, other_begin, other_end;
    assert_int_equal(gn_unwind_procedure(&image->table, pc, &begin, &end), known);
    if (!known)
        return;
    assert_true(begin <= pc && pc < end);
    assert_true(gn_unwind_procedure(&image->table, begin, &other_begin, &other_end));
    assert_true(other_begin == begin && other_end == end);
    assert_true(gn_unwind_procedure(&image->table, end - 1, &other_begin, &other_end));
    assert_true(other_begin == begin && other_end == end);
    if (gn_unwind_procedure(&image->table, end, &other_begin, &other_end))
        assert_true(other_begin == end);
}

static void check_place(struct image *image, uintptr_t pc)
{
    uintptr_t function;
    Dwarf_Frame *frame = NULL;
    image->pc = pc;
    struct gn_rule rule = gn_unwind_rule(&image->table, image->machine, pc, &function);
    bool known = dwarf_cfi_addrframe(image->cfi, pc, &frame) == 0;
    check_procedure(image, pc, known);
    if (!known) {
        assert_int_equal(gn_rule_kind(rule), GN_RULE_END);
        return;
    }
    Dwarf_Addr begin, end;
    bool signal_frame;
    dwarf_frame_info(frame, &begin, &end, &signal_frame);
    if (gn_rule_kind(rule) == GN_RULE_END) {
        image->ends++;
        assert_int_equal(where_is(frame, image->ip, image).kind, NOWHERE);
    } else if (gn_rule_kind(rule) == GN_RULE_SLOW) {
        bool leaf = where_is(frame, image->ip, image).kind == IN_REGISTER; /* nothing is called from there */
        image->leaves += leaf;
        image->slow += !leaf;
        assert_true(is_unusual(frame, image, signal_frame));
    } else {
        image->usual++;
        check_usual(rule, frame, image);
    }
    free(frame);
}

/* Places in the procedures that the table lists: their begin, and others up to the next one. */
static void check_image(struct image *image)
{
    const uint8_t *header = image->table.bytes.at + (image->table.header - image->table.bytes.address);
    uint32_t count;
    memcpy(&count, header + 8, sizeof count);
    for (uint32_t i = 0; i < count; i++) {
        int32_t here, next;
        memcpy(&here, header + 12 + 8 * (size_t)i, sizeof here);
        next = here + 64;
        if (i + 1 < count)
            memcpy(&next, header + 12 + 8 * (size_t)(i + 1), sizeof next);
        int32_t step = (next - here) / PLACES + 1;
        for (int32_t at = here; at < next; at += step)
            check_place(image, image->table.header + (uintptr_t)(intptr_t)at);
    }
}

static void rules_are_libdws(void **state)
{
    (void)state;
    unsigned long usual = 0, slow = 0;
    elf_version(EV_CURRENT);
    for (size_t i = 0; i < file_count; i++) {
        struct image image;
        int file = open(files[i], O_RDONLY | O_CLOEXEC);
        if (file >= 0 && open_image(&image, file)) {
            check_image(&image);
            usual += image.usual;
            slow += image.slow;
            print_message("%s: %lu rules, %lu slow, %lu leaves, %lu ends\n", files[i], image.usual,
                          image.slow, image.leaves, image.ends);
        }
        if (file >= 0 && image.cfi)
            dwarf_cfi_end(image.cfi);
        if (file >= 0)
            elf_end(image.elf);
        if (file >= 0)
            close(file);
    }
    assert_true(usual > 1000);
    assert_true(slow <= usual / 10); /* most of them in tables of jumps to other libraries */
}

/* Whatever stands in a table, reading it stays inside of its segment: a copy with a page that cannot be read
 * behind it, broken at random. */
static void broken_tables_are_survived(void **state)
{
    (void)state;
    struct image image;
    elf_version(EV_CURRENT);
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0 && open_image(&image, file));
    const struct gn_cfi_bytes *from = &image.table.bytes;
    uint8_t *copy = malloc(from->count); /* AddressSanitizer watches its ends */
    assert_non_null(copy);
    unsigned long kinds[8] = {0};
    uint64_t random = 20261123;
    for (int round = 0; round < 200; round++) {
        memcpy(copy, from->at, from->count);
        struct gn_unwind_table broken = image.table;
        broken.bytes.at = copy;
        size_t header = image.table.header - from->address;
        for (int i = 0; i < 40; i++) {
            random = random * 6364136223846793005ull + 1442695040888963407ull;
            size_t at = header + (random >> 33) % (from->count - header);
            copy[at] = (uint8_t)(random >> 8);
        }
        if (round % 4 == 0)
            broken.bytes.count = header + (random >> 33) % (from->count - header);
        for (int i = 0; i < 200; i++) {
            random = random * 6364136223846793005ull + 1442695040888963407ull;
            uintptr_t function, begin, end, pc = image.table.header - (random >> 33) % 0x40000;
            if (gn_unwind_procedure(&broken, pc, &begin, &end))
                assert_true(begin <= pc && pc < end);
            kinds[gn_rule_kind(gn_unwind_rule(&broken, image.machine, pc, &function))]++;
        }
    }
    free(copy);
    assert_true(kinds[GN_RULE_SP] > 0 && kinds[GN_RULE_END] + kinds[GN_RULE_SLOW] > 0);
    dwarf_cfi_end(image.cfi);
    elf_end(image.elf);
    close(file);
}

static int list_loaded(struct dl_phdr_info *info, size_t size, void *argument)
{
    (void)size, (void)argument;
    if (file_count < MAX_FILES && info->dlpi_name[0] == '/')
        files[file_count++] = info->dlpi_name;
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rules_are_libdws),
                                       cmocka_unit_test(broken_tables_are_survived)};
    for (int i = 1; i < argc && file_count < MAX_FILES; i++)
        files[file_count++] = argv[i];
    if (file_count == 0) {
        files[file_count++] = "/proc/self/exe";
        dl_iterate_phdr(list_loaded, NULL);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
