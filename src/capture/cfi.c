#include "capture/cfi.h"

#include <stddef.h>
#include <string.h>

/* libgcc exports these for unwinders; they are not in its installed header. */
struct dwarf_eh_bases {
    void *tbase, *dbase, *func;
};
const void *_Unwind_Find_FDE(void *pc, struct dwarf_eh_bases *bases);

enum { REG_RBP = 6, REG_RSP = 7, MAX_REMEMBERED = 8 };

struct reader {
    const uint8_t *at, *end;
};

static uint64_t read_uleb(struct reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; r->at < r->end; shift += 7) {
        uint8_t byte = *r->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            break;
    }
    return value;
}

static int64_t read_sleb(struct reader *r)
{
    uint64_t value = 0;
    unsigned shift = 0;
    while (r->at < r->end) {
        uint8_t byte = *r->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (!(byte & 0x80)) {
            if ((byte & 0x40) && shift < 64)
                value |= ~(uint64_t)0 << shift;
            break;
        }
    }
    return (int64_t)value;
}

static uint64_t read_fixed(struct reader *r, size_t bytes)
{
    uint64_t value = 0;
    if ((size_t)(r->end - r->at) < bytes) {
        r->at = r->end;
        return 0;
    }
    memcpy(&value, r->at, bytes);
    r->at += bytes;
    return value;
}

struct cie {
    uint64_t code_align;
    int64_t data_align;
    uint8_t pointer_encoding;
    bool augmented, understood;
    struct reader instructions;
};

static size_t encoded_bytes(uint8_t encoding)
{
    switch (encoding & 0x07) {
    case 0x02:
        return 2;
    case 0x03:
        return 4;
    default:
        return sizeof(void *);
    }
}

static struct cie read_cie(const uint8_t *record)
{
    uint32_t length;
    memcpy(&length, record, sizeof length);
    struct cie cie = {.pointer_encoding = 0};
    struct reader r = {record + 4, record + 4 + length};
    r.at += 4; /* CIE id */
    r.at += 1; /* version */
    const char *augmentation = (const char *)r.at;
    r.at += strlen(augmentation) + 1;
    cie.code_align = read_uleb(&r);
    cie.data_align = read_sleb(&r);
    read_uleb(&r); /* return address column */
    cie.understood = augmentation[0] == '\0' || augmentation[0] == 'z';
    if (augmentation[0] == 'z') {
        cie.augmented = true;
        uint64_t bytes = read_uleb(&r);
        struct reader data = {r.at, r.at + bytes};
        r.at += bytes;
        for (const char *c = augmentation + 1; *c; c++) {
            if (*c == 'R')
                cie.pointer_encoding = (uint8_t)read_fixed(&data, 1);
            else if (*c == 'L')
                data.at++;
            else if (*c == 'P')
                data.at += encoded_bytes((uint8_t)read_fixed(&data, 1));
            else
                cie.understood = false; /* 'S' (signal frame) among them */
        }
    }
    cie.instructions = r;
    return cie;
}

/* A realigned frame's expression is exactly DW_OP_breg6 offset; DW_OP_deref. */
static void read_cfa_expression(struct reader *r, struct gn_frame_rule *rule)
{
    uint64_t bytes = read_uleb(r);
    struct reader expression = {r->at, r->at + bytes};
    r->at += bytes;
    rule->cfa = GN_CFA_OTHER;
    if (expression.at < expression.end && *expression.at == 0x70 + REG_RBP) {
        expression.at++;
        int64_t offset = read_sleb(&expression);
        if (expression.end - expression.at == 1 && *expression.at == 0x06) {
            rule->cfa = GN_CFA_RBP_DEREF;
            rule->cfa_offset = offset;
        }
    }
}

/* Where a saved register is: DW_OP_breg6 offset, as realigned frames save rbp at 0(rbp). */
static bool read_save_expression(struct reader *r, uint64_t reg, struct gn_frame_rule *rule)
{
    uint64_t bytes = read_uleb(r);
    struct reader expression = {r->at, r->at + bytes};
    r->at += bytes;
    if (reg != REG_RBP)
        return true;
    if (expression.at >= expression.end || *expression.at++ != 0x70 + REG_RBP)
        return false;
    rule->rbp_saved = rule->rbp_saved_from_rbp = true;
    rule->rbp_offset = read_sleb(&expression);
    return expression.at == expression.end;
}

static void set_cfa_register(struct gn_frame_rule *rule, uint64_t reg)
{
    rule->cfa = reg == REG_RSP ? GN_CFA_RSP : reg == REG_RBP ? GN_CFA_RBP : GN_CFA_OTHER;
}

static void save_at_cfa(struct gn_frame_rule *rule, uint64_t reg, int64_t offset)
{
    if (reg == REG_RBP) {
        rule->rbp_saved = true;
        rule->rbp_saved_from_rbp = false;
        rule->rbp_offset = offset;
    }
}

struct machine {
    const struct cie *cie;
    uintptr_t location, target;
    struct gn_frame_rule rule, initial, remembered[MAX_REMEMBERED];
    unsigned depth;
    bool failed;
};

static void restore_register(struct machine *m, uint64_t reg)
{
    if (reg == REG_RBP) {
        m->rule.rbp_saved = m->initial.rbp_saved;
        m->rule.rbp_offset = m->initial.rbp_offset;
        m->rule.rbp_saved_from_rbp = m->initial.rbp_saved_from_rbp;
    }
}

static void remember_state(struct machine *m)
{
    if (m->depth == MAX_REMEMBERED)
        m->failed = true;
    else
        m->remembered[m->depth++] = m->rule;
}

static void restore_state(struct machine *m)
{
    if (m->depth == 0)
        m->failed = true;
    else
        m->rule = m->remembered[--m->depth];
}

static void execute_extended(struct machine *m, uint8_t op, struct reader *r)
{
    uint64_t reg;
    switch (op) {
    case 0x00: /* nop */
        break;
    case 0x02: /* advance_loc1, 2, 4 */
    case 0x03:
    case 0x04:
        m->location += read_fixed(r, op == 0x02 ? 1 : op == 0x03 ? 2 : 4) * m->cie->code_align;
        break;
    case 0x05: /* offset_extended */
        reg = read_uleb(r);
        save_at_cfa(&m->rule, reg, (int64_t)read_uleb(r) * m->cie->data_align);
        break;
    case 0x11: /* offset_extended_sf */
        reg = read_uleb(r);
        save_at_cfa(&m->rule, reg, read_sleb(r) * m->cie->data_align);
        break;
    case 0x06: /* restore_extended */
        restore_register(m, read_uleb(r));
        break;
    case 0x07: /* undefined */
    case 0x08: /* same_value */
        if (read_uleb(r) == REG_RBP)
            m->rule.rbp_saved = false;
        break;
    case 0x0a:
        remember_state(m);
        break;
    case 0x0b:
        restore_state(m);
        break;
    case 0x0c: /* def_cfa */
        set_cfa_register(&m->rule, read_uleb(r));
        m->rule.cfa_offset = (int64_t)read_uleb(r);
        break;
    case 0x12: /* def_cfa_sf */
        set_cfa_register(&m->rule, read_uleb(r));
        m->rule.cfa_offset = read_sleb(r) * m->cie->data_align;
        break;
    case 0x0d: /* def_cfa_register */
        set_cfa_register(&m->rule, read_uleb(r));
        break;
    case 0x0e: /* def_cfa_offset */
        m->rule.cfa_offset = (int64_t)read_uleb(r);
        break;
    case 0x13: /* def_cfa_offset_sf */
        m->rule.cfa_offset = read_sleb(r) * m->cie->data_align;
        break;
    case 0x0f: /* def_cfa_expression */
        read_cfa_expression(r, &m->rule);
        break;
    case 0x10: /* expression */
        reg = read_uleb(r);
        if (!read_save_expression(r, reg, &m->rule))
            m->failed = true;
        break;
    case 0x2e: /* GNU_args_size */
        read_uleb(r);
        break;
    default: /* register, val_offset, val_expression, unknown */
        m->failed = true;
    }
}

/* Runs until the row that covers the target is complete. */
static void execute(struct machine *m, struct reader r)
{
    while (r.at < r.end && !m->failed && m->location <= m->target) {
        uint8_t op = *r.at++;
        if (op >> 6 == 1)
            m->location += (op & 0x3fu) * m->cie->code_align;
        else if (op >> 6 == 2)
            save_at_cfa(&m->rule, op & 0x3fu, (int64_t)read_uleb(&r) * m->cie->data_align);
        else if (op >> 6 == 3)
            restore_register(m, op & 0x3fu);
        else
            execute_extended(m, op, &r);
    }
}

struct gn_frame_rule gn_cfi_rule(uintptr_t pc)
{
    struct gn_frame_rule unknown = {.cfa = GN_CFA_OTHER};
#if defined(__x86_64__)
    struct dwarf_eh_bases bases = {NULL, NULL, NULL};
    const uint8_t *fde = _Unwind_Find_FDE((void *)pc, &bases);
    if (!fde)
        return unknown;
    uint32_t length;
    int32_t cie_delta;
    memcpy(&length, fde, sizeof length);
    memcpy(&cie_delta, fde + 4, sizeof cie_delta);
    if (length == 0 || length == 0xffffffffu) /* the 64-bit format is not emitted for code */
        return unknown;
    struct cie cie = read_cie(fde + 4 - cie_delta);
    unknown.function_start = (uintptr_t)bases.func;
    if (!cie.understood)
        return unknown;
    struct reader r = {fde + 8 + 2 * encoded_bytes(cie.pointer_encoding), fde + 4 + length};
    if (cie.augmented) {
        uint64_t bytes = read_uleb(&r);
        r.at += bytes;
    }
    struct machine m = {.cie = &cie, .location = (uintptr_t)bases.func, .target = pc};
    execute(&m, cie.instructions);
    m.initial = m.rule;
    execute(&m, r);
    m.rule.function_start = (uintptr_t)bases.func;
    return m.failed ? unknown : m.rule;
#else
    (void)pc;
    return unknown;
#endif
}
