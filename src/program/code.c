#include "program/code.h"

#include "base/grow.h"
#include "program/imports.h"
#include "program/jump_tables.h"
#include "program/names.h"

#include <capstone.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    FUNCTION_BYTES_MAX = 2 << 20,
    STUB_INSNS = 5,  /* instructions of one linkage-table entry, landing pads and tags included */
    STUB_BYTES = 64, /* bytes that hold them */
};

struct gn_machine {
    Elf *elf;
    csh handle;
    cs_insn *insn; /* scratch */
    bool arm;
    struct gn_imports imports;
};

static int open_disassembler(struct gn_machine *machine)
{
    GElf_Ehdr header;
    if (!gelf_getehdr(machine->elf, &header) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64))
        return -ENOTSUP;
    machine->arm = header.e_machine == EM_AARCH64;
    cs_arch arch = machine->arm ? CS_ARCH_ARM64 : CS_ARCH_X86;
    cs_mode mode = machine->arm ? CS_MODE_LITTLE_ENDIAN : CS_MODE_64;
    if (cs_open(arch, mode, &machine->handle) != CS_ERR_OK) {
        machine->handle = 0;
        return -ENOTSUP;
    }
    cs_option(machine->handle, CS_OPT_DETAIL, CS_OPT_ON);
    machine->insn = cs_malloc(machine->handle);
    return machine->insn ? 0 : -ENOMEM;
}

int gn_machine_open(struct gn_machine **out, Elf *elf)
{
    struct gn_machine *machine = calloc(1, sizeof *machine);
    if (!machine)
        return -ENOMEM;
    machine->elf = elf;
    int rc = open_disassembler(machine);
    if (rc == 0)
        rc = gn_imports_read(&machine->imports, elf);
    if (rc < 0) {
        gn_machine_close(machine);
        return rc;
    }
    *out = machine;
    return 0;
}

bool gn_machine_imports(const struct gn_machine *machine, const char *const *names)
{
    for (size_t i = 0; i < machine->imports.count; i++)
        for (size_t n = 0; names[n]; n++)
            if (strcmp(machine->imports.items[i].name, names[n]) == 0)
                return true;
    return false;
}

void gn_machine_close(struct gn_machine *machine)
{
    if (!machine)
        return;
    if (machine->insn)
        cs_free(machine->insn, 1);
    if (machine->handle)
        cs_close(&machine->handle);
    gn_imports_clear(&machine->imports);
    free(machine);
}

/* The file's bytes from address on, at most to the end of its segment; *bytes becomes their number. flags:
 * what the segment has to be (PF_X), or 0. */
static const uint8_t *bytes_at(struct gn_machine *machine, uint64_t address, GElf_Word flags, size_t *bytes)
{
    size_t headers, file_bytes;
    const char *file = elf_rawfile(machine->elf, &file_bytes);
    if (!file || elf_getphdrnum(machine->elf, &headers) != 0)
        return NULL;
    for (size_t i = 0; i < headers; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(machine->elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
            (segment.p_flags & flags) != flags || address < segment.p_vaddr ||
            address - segment.p_vaddr >= segment.p_filesz)
            continue;
        uint64_t into = address - segment.p_vaddr;
        if (segment.p_offset > file_bytes || into >= file_bytes - segment.p_offset)
            return NULL;
        uint64_t in_segment = segment.p_filesz - into, in_file = file_bytes - segment.p_offset - into;
        *bytes = (size_t)(in_segment < in_file ? in_segment : in_file);
        return (const uint8_t *)file + segment.p_offset + into;
    }
    return NULL;
}

static void set_import(struct gn_machine *machine, uint64_t slot, struct gn_insn *insn)
{
    const struct gn_import *import = gn_imports_find(&machine->imports, slot);
    if (!import)
        return;
    insn->callee = import->name;
    insn->target = import->address;
}

/* A call or jump of x86-64: to a fixed address, through a slot at a fixed address, or anywhere. */
static void classify_x86_transfer(struct gn_machine *machine, const cs_insn *raw, struct gn_insn *insn)
{
    const cs_x86_op *operand = &raw->detail->x86.operands[0];
    bool is_call = raw->id == X86_INS_CALL;
    insn->kind = is_call ? GN_CODE_CALL : GN_CODE_SWITCH;
    if (raw->detail->x86.op_count != 1)
        return;
    if (operand->type == X86_OP_IMM) {
        insn->target = (uint64_t)operand->imm;
        insn->kind = is_call ? GN_CODE_CALL : GN_CODE_JUMP;
    } else if (operand->type == X86_OP_MEM && operand->mem.base == X86_REG_RIP) {
        set_import(machine, raw->address + raw->size + (uint64_t)operand->mem.disp, insn);
        if (!is_call && insn->callee)
            insn->kind = GN_CODE_TAIL_CALL;
    }
}

static void classify_x86(struct gn_machine *machine, const cs_insn *raw, struct gn_insn *insn)
{
    switch (raw->id) {
    case X86_INS_CALL:
    case X86_INS_JMP:
        classify_x86_transfer(machine, raw, insn);
        return;
    case X86_INS_RET:
    case X86_INS_RETF:
    case X86_INS_RETFQ:
        insn->kind = GN_CODE_RETURN;
        return;
    case X86_INS_HLT:
    case X86_INS_UD2:
    case X86_INS_INT3:
        insn->kind = GN_CODE_STOP;
        return;
    default:
        break;
    }
    if (!cs_insn_group(machine->handle, raw, CS_GRP_JUMP))
        return;
    insn->kind = GN_CODE_BRANCH;
    if (raw->detail->x86.op_count > 0 && raw->detail->x86.operands[0].type == X86_OP_IMM)
        insn->target = (uint64_t)raw->detail->x86.operands[0].imm;
}

static uint64_t last_immediate_arm(const cs_insn *raw)
{
    const cs_arm64 *arm = &raw->detail->arm64;
    if (arm->op_count == 0 || arm->operands[arm->op_count - 1].type != ARM64_OP_IMM)
        return 0;
    return (uint64_t)arm->operands[arm->op_count - 1].imm;
}

static void classify_arm(const cs_insn *raw, struct gn_insn *insn)
{
    arm64_cc condition = raw->detail->arm64.cc;
    insn->target = 0;
    switch (raw->id) {
    case ARM64_INS_B:
        insn->kind =
            condition == ARM64_CC_INVALID || condition == ARM64_CC_AL ? GN_CODE_JUMP : GN_CODE_BRANCH;
        break;
    case ARM64_INS_CBZ:
    case ARM64_INS_CBNZ:
    case ARM64_INS_TBZ:
    case ARM64_INS_TBNZ:
        insn->kind = GN_CODE_BRANCH;
        break;
    case ARM64_INS_BL:
    case ARM64_INS_BLR:
        insn->kind = GN_CODE_CALL;
        break;
    case ARM64_INS_BR:
        insn->kind = GN_CODE_SWITCH;
        break;
    case ARM64_INS_RET:
        insn->kind = GN_CODE_RETURN;
        break;
    case ARM64_INS_BRK:
        insn->kind = GN_CODE_STOP;
        break;
    default:
        return;
    }
    insn->target = last_immediate_arm(raw); /* none for BR, BLR and RET, whose operand is a register */
}

/* yield, wfe, and isb, which is said to be the better pause. */
static bool is_yield(const cs_insn *raw)
{
    return raw->id == ARM64_INS_ISB || strcmp(raw->mnemonic, "yield") == 0 ||
           strcmp(raw->mnemonic, "wfe") == 0;
}

/* Compilers keep copies of values on the stack anywhere; what else is written stands in the source. */
static bool writes(const cs_insn *raw, bool arm)
{
    if (arm)
        return strncmp(raw->mnemonic, "st", 2) == 0 && !strstr(raw->op_str, "[sp") &&
               !strstr(raw->op_str, "[x29");
    const cs_x86 *x86 = &raw->detail->x86;
    for (int i = 0; i < x86->op_count; i++)
        if (x86->operands[i].type == X86_OP_MEM && (x86->operands[i].access & CS_AC_WRITE) &&
            x86->operands[i].mem.base != X86_REG_RSP && x86->operands[i].mem.base != X86_REG_RBP)
            return true;
    return false;
}

static uint16_t sort_of(const cs_insn *raw, bool arm)
{
    uint64_t sort = raw->id * 0x9e3779b97f4a7c15ull;
    const cs_x86 *x86 = &raw->detail->x86;
    for (int i = 0; i < x86->op_count && !arm; i++)
        if (x86->operands[i].type == X86_OP_MEM && x86->operands[i].mem.base == X86_REG_RIP)
            sort ^= raw->address + raw->size + (uint64_t)x86->operands[i].mem.disp;
    return (uint16_t)(sort ^ sort >> 16 ^ sort >> 32 ^ sort >> 48);
}

static struct gn_insn classify(struct gn_machine *machine)
{
    const cs_insn *raw = machine->insn;
    struct gn_insn insn = {.address = raw->address, .size = raw->size, .kind = GN_CODE_PLAIN};
    if (machine->arm)
        classify_arm(raw, &insn);
    else
        classify_x86(machine, raw, &insn);
    insn.waits = machine->arm ? raw->id == ARM64_INS_SVC || is_yield(raw)
                              : raw->id == X86_INS_PAUSE || raw->id == X86_INS_SYSCALL;
    insn.acts = writes(raw, machine->arm);
    insn.sort = insn.acts ? sort_of(raw, machine->arm) : 0;
    insn.fills = machine->arm ? strcmp(raw->mnemonic, "nop") == 0
                              : raw->id == X86_INS_NOP || raw->id == X86_INS_FNOP ||
                                    (raw->id == X86_INS_XCHG && strcmp(raw->op_str, "ax, ax") == 0);
    return insn;
}

static bool append(struct gn_code *code, struct gn_insn insn)
{
    if (code->count == code->room) {
        size_t room = code->room ? code->room * 2 : 256;
        struct gn_insn *items = realloc(code->items, room * sizeof *items);
        if (!items)
            return false;
        code->items = items;
        code->room = room;
    }
    code->items[code->count++] = insn;
    return true;
}

int gn_code_read(struct gn_code *code, struct gn_machine *machine, uint64_t low, uint64_t high)
{
    size_t left = 0;
    const uint8_t *bytes = bytes_at(machine, low, PF_X, &left);
    if (!bytes || high <= low || left < high - low)
        return -ENOEXEC;
    left = high - low;
    if (left > FUNCTION_BYTES_MAX)
        return -E2BIG;
    uint64_t address = low;
    struct gn_jump_pattern pattern = GN_JUMP_PATTERN;
    while (left > 0) {
        struct gn_insn insn;
        if (cs_disasm_iter(machine->handle, &bytes, &left, &address, machine->insn)) {
            insn = classify(machine);
            if (!machine->arm && !gn_jump_tables_follow(&pattern, code, machine->insn, code->count))
                return -ENOMEM;
        } else {
            size_t step = machine->arm && left >= 4 ? 4 : 1;
            insn = (struct gn_insn){.address = address, .size = (uint16_t)step, .kind = GN_CODE_STOP};
            address += step;
            bytes += step;
            left -= step;
        }
        if (!append(code, insn))
            return -ENOMEM;
    }
    return 0;
}

/* ADRP x16, page; LDR x17, [x16, #offset]; ...; BR x17: remembers the page, then adds the offset. */
static bool follow_arm_stub(const cs_insn *raw, uint64_t *slot)
{
    const cs_arm64 *arm = &raw->detail->arm64;
    if (raw->id == ARM64_INS_ADRP)
        *slot = last_immediate_arm(raw);
    else if (raw->id == ARM64_INS_LDR && arm->op_count == 2 && arm->operands[1].type == ARM64_OP_MEM)
        *slot += (uint64_t)(int64_t)arm->operands[1].mem.disp;
    return raw->id == ARM64_INS_BR;
}

/* When target is a linkage-table entry, replaces it by what the entry leads to. */
static void resolve_stub(struct gn_machine *machine, struct gn_insn *insn)
{
    size_t left = 0;
    uint64_t address = insn->target, slot = 0;
    const uint8_t *bytes = bytes_at(machine, address, PF_X, &left);
    if (!bytes)
        return;
    left = left < STUB_BYTES ? left : STUB_BYTES;
    for (int i = 0; i < STUB_INSNS; i++) {
        if (!cs_disasm_iter(machine->handle, &bytes, &left, &address, machine->insn))
            return;
        struct gn_insn step = classify(machine);
        if (step.kind == GN_CODE_TAIL_CALL) {
            insn->callee = step.callee;
            insn->target = step.target;
            return;
        }
        if (machine->arm && follow_arm_stub(machine->insn, &slot)) {
            set_import(machine, slot, insn);
            return;
        }
        if (step.kind != GN_CODE_PLAIN)
            return;
    }
}

const struct cs_insn *gn_machine_look(struct gn_machine *machine, uint64_t address)
{
    size_t left = 0;
    const uint8_t *bytes = machine->arm ? NULL : bytes_at(machine, address, PF_X, &left);
    return bytes && cs_disasm_iter(machine->handle, &bytes, &left, &address, machine->insn) ? machine->insn
                                                                                            : NULL;
}

size_t gn_code_from(const struct gn_code *code, uint64_t address)
{
    size_t low = 0, high = code->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (code->items[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t gn_code_at(const struct gn_code *code, uint64_t address)
{
    size_t at = gn_code_from(code, address);
    return at < code->count && code->items[at].address == address ? at : GN_CODE_NONE;
}

/* Where an entry of a table leads: an index, or GN_CODE_NONE. */
static size_t way_of(const struct gn_code *code, struct gn_machine *machine,
                     const struct gn_code_switch *jump, size_t entry)
{
    size_t left = 0;
    const uint8_t *bytes = bytes_at(machine, jump->table + entry * jump->width, 0, &left);
    int32_t relative;
    uint64_t absolute;
    if (!bytes || left < jump->width)
        return GN_CODE_NONE;
    memcpy(&absolute, bytes, jump->width == 8 ? 8 : 4);
    memcpy(&relative, bytes, sizeof relative);
    return gn_code_at(code, jump->width == 8 ? absolute : jump->table + (uint64_t)(int64_t)relative);
}

/* A table of which an entry leads out of the function is none. */
static bool read_switch(struct gn_code *code, struct gn_machine *machine, struct gn_code_switch *jump)
{
    enum { ENTRIES_MAX = 4096 };
    const size_t count = jump->count;
    jump->first = code->way_count;
    for (size_t entry = 0; entry < count; entry++) {
        const size_t way = count <= ENTRIES_MAX ? way_of(code, machine, jump, entry) : GN_CODE_NONE;
        if (way == GN_CODE_NONE ||
            !gn_grow(&code->ways, &code->way_room, code->way_count, sizeof *code->ways)) {
            code->way_count = jump->first;
            return false;
        }
        code->ways[code->way_count++] = (uint32_t)way;
    }
    return count > 0;
}

static void read_switches(struct gn_code *code, struct gn_machine *machine)
{
    size_t kept = 0;
    for (size_t i = 0; i < code->switch_count; i++) {
        struct gn_code_switch jump = code->switches[i];
        if (gn_jump_tables_settle(code, &jump) && code->items[jump.insn].kind == GN_CODE_SWITCH &&
            read_switch(code, machine, &jump))
            code->switches[kept++] = jump;
    }
    code->switch_count = kept;
}

size_t gn_code_holding(const struct gn_code *code, uint64_t offset)
{
    const size_t i = gn_code_from(code, offset + 1);
    return i > 0 && offset - code->items[i - 1].address < code->items[i - 1].size ? i - 1 : GN_CODE_NONE;
}

const struct gn_code_switch *gn_code_switch_at(const struct gn_code *code, size_t insn)
{
    for (size_t i = 0; i < code->switch_count; i++)
        if (code->switches[i].insn == insn)
            return &code->switches[i];
    return NULL;
}

void gn_code_finish(struct gn_code *code, struct gn_machine *machine)
{
    read_switches(code, machine);
    for (size_t i = 0; i < code->count; i++) {
        struct gn_insn *insn = &code->items[i];
        bool inside = insn->target && gn_code_at(code, insn->target) != GN_CODE_NONE;
        if (insn->kind == GN_CODE_BRANCH && !inside)
            insn->target = 0;
        if (insn->kind == GN_CODE_JUMP && !inside)
            insn->kind = GN_CODE_TAIL_CALL;
        bool calls = insn->kind == GN_CODE_CALL || insn->kind == GN_CODE_TAIL_CALL;
        if (calls && insn->target && !insn->callee)
            resolve_stub(machine, insn);
    }
}

void gn_code_clear(struct gn_code *code)
{
    free(code->items);
    free(code->switches);
    free(code->ways);
    free(code->to.first);
    free(code->to.ends);
    free(code->from.first);
    free(code->from.ends);
    *code = (struct gn_code){0};
}
