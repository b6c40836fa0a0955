#include "program/jump_tables.h"

#include "base/grow.h"

#include <capstone.h>

enum { NEAR = 8 /* instructions between the branch and the jump */ };

static bool is_bound(const cs_insn *raw, uint64_t *most)
{
    const cs_x86 *x86 = &raw->detail->x86;
    if ((raw->id != X86_INS_CMP && raw->id != X86_INS_SUB) || x86->op_count != 2 ||
        x86->operands[1].type != X86_OP_IMM || x86->operands[1].imm < 0)
        return false;
    *most = (uint64_t)x86->operands[1].imm;
    return true;
}

static bool is_table_address(const cs_insn *raw, uint64_t *table)
{
    const cs_x86 *x86 = &raw->detail->x86;
    if (raw->id != X86_INS_LEA || x86->op_count != 2 || x86->operands[1].mem.base != X86_REG_RIP ||
        x86->operands[1].mem.index != X86_REG_INVALID)
        return false;
    *table = raw->address + raw->size + (uint64_t)x86->operands[1].mem.disp;
    return true;
}

uint32_t gn_saved_register(unsigned reg)
{
    /* all names of each, since a write to a part changes it */
    static const x86_reg names[GN_CODE_BASES][5] = {
        {X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH},
        {X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL, X86_REG_BPL},
        {X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B, X86_REG_R12B},
        {X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B, X86_REG_R13B},
        {X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B, X86_REG_R14B},
        {X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B, X86_REG_R15B}};
    for (uint32_t i = 0; i < GN_CODE_BASES; i++)
        for (size_t k = 0; k < sizeof names[i] / sizeof names[i][0]; k++)
            if (names[i][k] == reg)
                return i;
    return GN_CODE_BASES;
}

/* What the function puts into registers that calls leave as they were; `pop` gives them back. */
static void note_bases(struct gn_code *code, const cs_insn *raw)
{
    const cs_x86 *x86 = &raw->detail->x86;
    uint64_t table;
    for (int i = 0; i < x86->op_count && raw->id != X86_INS_POP; i++) {
        const uint32_t base = x86->operands[i].type == X86_OP_REG && (x86->operands[i].access & CS_AC_WRITE)
                                  ? gn_saved_register(x86->operands[i].reg)
                                  : GN_CODE_BASES;
        if (base == GN_CODE_BASES)
            continue;
        struct gn_code_base *b = &code->bases[base];
        if (is_table_address(raw, &table) && (!b->has_table || b->table == table)) {
            b->has_table = true;
            b->table = table;
        } else {
            b->has_other = true;
        }
    }
}

static void note_sum(struct gn_jump_pattern *p, const cs_insn *raw, size_t at)
{
    const cs_x86 *x86 = &raw->detail->x86;
    if (raw->id != X86_INS_ADD || x86->op_count != 2 || x86->operands[0].type != X86_OP_REG ||
        x86->operands[1].type != X86_OP_REG)
        return;
    p->added = at;
    p->sum = x86->operands[0].reg;
    p->base = gn_saved_register(x86->operands[1].reg);
}

/* jmp *jump->… : whether it is by a table. */
static bool is_by_table(const struct gn_jump_pattern *p, const cs_x86_op *operand, size_t at,
                        struct gn_code_switch *jump)
{
    if (operand->type == X86_OP_MEM && operand->mem.base == X86_REG_INVALID && operand->mem.scale == 8 &&
        operand->mem.disp > 0) {
        jump->width = 8;
        jump->table = (uint64_t)operand->mem.disp;
        return true;
    }
    if (operand->type != X86_OP_REG)
        return false;
    if (p->loaded != GN_CODE_NONE && p->loaded > p->bounded)
        return true;
    jump->base = p->base;
    return p->added != GN_CODE_NONE && p->added + 1 == at && p->sum == operand->reg &&
           p->base != GN_CODE_BASES;
}

bool gn_jump_tables_follow(struct gn_jump_pattern *p, struct gn_code *code, const cs_insn *raw, size_t at)
{
    const cs_x86 *x86 = &raw->detail->x86;
    uint64_t value;
    note_bases(code, raw);
    note_sum(p, raw, at);
    if (is_bound(raw, &value)) {
        p->compared = at;
        p->most = value;
    } else if (raw->id == X86_INS_JA && at > 0 && p->compared == at - 1) {
        p->bounded = at;
    } else if (is_table_address(raw, &value)) {
        p->loaded = at;
        p->table = value;
    }
    if (raw->id != X86_INS_JMP || x86->op_count != 1 || p->bounded == GN_CODE_NONE || at - p->bounded > NEAR)
        return true;
    struct gn_code_switch jump = {
        .insn = at, .count = p->most + 1, .width = 4, .table = p->table, .base = GN_CODE_BASES};
    if (!is_by_table(p, &x86->operands[0], at, &jump))
        return true;
    *p = GN_JUMP_PATTERN;
    if (!gn_grow(&code->switches, &code->switch_room, code->switch_count, sizeof *code->switches))
        return false;
    code->switches[code->switch_count++] = jump;
    return true;
}

bool gn_jump_tables_settle(const struct gn_code *code, struct gn_code_switch *jump)
{
    if (jump->base == GN_CODE_BASES)
        return true;
    const struct gn_code_base *base = &code->bases[jump->base];
    jump->table = base->table;
    return base->has_table && !base->has_other;
}
