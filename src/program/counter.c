#include "program/counter.h"

#include "program/jump_tables.h"

#include <capstone.h>

/* Of an operand that is written; GN_CODE_BASES: it is none, or not written. */
static uint32_t written(const cs_x86_op *operand)
{
    return operand->type == X86_OP_REG && (operand->access & CS_AC_WRITE) ? gn_saved_register(operand->reg)
                                                                          : GN_CODE_BASES;
}

static bool is_by_one(const cs_insn *raw)
{
    const cs_x86_op *operands = raw->detail->x86.operands;
    const bool is_one = raw->detail->x86.op_count == 2 && operands[1].type == X86_OP_IMM &&
                        (operands[1].imm == 1 || operands[1].imm == -1);
    return raw->id == X86_INS_INC || raw->id == X86_INS_DEC ||
           ((raw->id == X86_INS_ADD || raw->id == X86_INS_SUB) && is_one);
}

/* Whether a register is written in the loop by one more or less only, and no more often than there are tests.
 */
static bool counts(const struct gn_function_shape *shape, size_t loop, uint32_t reg, size_t tests)
{
    size_t writes = 0;
    for (size_t i = 0; i < shape->code->count; i++) {
        if (!gn_shape_is_in(shape, i, loop))
            continue;
        const cs_insn *raw = gn_machine_look(shape->program->machine, gn_shape_insn(shape, i)->address);
        if (!raw)
            return false;
        for (int k = 0; k < raw->detail->x86.op_count; k++) {
            if (written(&raw->detail->x86.operands[k]) != reg)
                continue;
            writes++;
            if (!is_by_one(raw))
                return false;
        }
    }
    return writes > 0 && writes <= tests;
}

bool gn_counter_goes_by_one(const struct gn_function_shape *shape, size_t loop, size_t branch, size_t tests)
{
    enum { NEAR = 3 };
    for (size_t back = 1; back <= NEAR && back <= branch; back++) {
        const cs_insn *raw =
            gn_machine_look(shape->program->machine, gn_shape_insn(shape, branch - back)->address);
        if (raw && raw->id != X86_INS_CMP && raw->detail->x86.eflags == 0)
            continue; /* it leaves the flags as they were */
        if (!raw || raw->id != X86_INS_CMP || raw->detail->x86.op_count != 2)
            return false;
        const cs_x86_op sides[] = {raw->detail->x86.operands[0], raw->detail->x86.operands[1]};
        for (int k = 0; k < 2; k++) {
            const uint32_t reg =
                sides[k].type == X86_OP_REG ? gn_saved_register(sides[k].reg) : GN_CODE_BASES;
            if (reg != GN_CODE_BASES && counts(shape, loop, reg, tests))
                return true;
        }
        return false;
    }
    return false;
}
