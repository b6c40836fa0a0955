#include "unwind/cfi.h"

#include <string.h>

enum { MAX_REMEMBERED = 8 };

/* ---- reading ---- */

struct reader {
    const uint8_t *at, *end;
    bool failed; /* read beyond the end */
};

static uint64_t read_fixed(struct reader *r, size_t bytes)
{
    uint64_t value = 0;
    if ((size_t)(r->end - r->at) < bytes) {
        r->failed = true;
        r->at = r->end;
        return 0;
    }
    memcpy(&value, r->at, bytes); /* both machines are little-endian */
    r->at += bytes;
    return value;
}

static uint64_t read_uleb(struct reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = (uint8_t)read_fixed(r, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
}

static int64_t read_sleb(struct reader *r)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = (uint8_t)read_fixed(r, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if ((byte & 0x40) && shift < 64)
        value |= ~(uint64_t)0 << shift;
    return (int64_t)value;
}

/* A block: its length, then so many bytes. */
static struct reader read_block(struct reader *r)
{
    uint64_t bytes = read_uleb(r);
    if (bytes > (uint64_t)(r->end - r->at)) {
        r->failed = true;
        bytes = (uint64_t)(r->end - r->at);
    }
    struct reader block = {r->at, r->at + bytes, r->failed};
    r->at += bytes;
    return block;
}

static size_t encoded_bytes(uint8_t encoding)
{
    switch (encoding & 0x07) {
    case 0x02:
        return 2;
    case 0x03:
        return 4;
    default:
        return 8;
    }
}

/* ---- records ---- */

/* The bytes of the record at an address, without its length. */
static struct reader record_at(const struct gn_cfi_bytes *bytes, uintptr_t address)
{
    struct reader r = {NULL, NULL, true};
    if (address < bytes->address || address - bytes->address >= bytes->count)
        return r;
    r = (struct reader){bytes->at + (address - bytes->address), bytes->at + bytes->count, false};
    uint64_t length = read_fixed(&r, 4); /* the 64-bit format is not emitted for code */
    if (length < 8 || length > (uint64_t)(r.end - r.at))
        r.failed = true;
    else
        r.end = r.at + length;
    return r;
}

struct cie {
    uint64_t code_align;
    int64_t data_align;
    uint64_t ip_register;
    uint8_t pointer_encoding;
    bool augmented, understood;
    struct reader instructions;
};

static void read_augmentation(struct cie *cie, const char *letters, struct reader data)
{
    for (; *letters; letters++) {
        if (*letters == 'R')
            cie->pointer_encoding = (uint8_t)read_fixed(&data, 1);
        else if (*letters == 'L')
            read_fixed(&data, 1);
        else if (*letters == 'P')
            read_fixed(&data, encoded_bytes((uint8_t)read_fixed(&data, 1)));
        else if (*letters !=
                 'B') /* AArch64: addresses are signed with key B. 'S', a signal frame, among others */
            cie->understood = false;
    }
}

static struct cie read_cie(const struct gn_cfi_bytes *bytes, uintptr_t address)
{
    struct cie cie = {.pointer_encoding = 0};
    struct reader r = record_at(bytes, address);
    if (r.failed)
        return cie;
    read_fixed(&r, 4); /* CIE id */
    uint64_t version = read_fixed(&r, 1);
    const char *augmentation = (const char *)r.at;
    size_t length = strnlen(augmentation, (size_t)(r.end - r.at));
    r.failed |= length == (size_t)(r.end - r.at) || (version != 1 && version != 3);
    r.at += r.failed ? 0 : length + 1;
    cie.code_align = read_uleb(&r);
    cie.data_align = read_sleb(&r);
    cie.ip_register = version == 1 ? read_fixed(&r, 1) : read_uleb(&r);
    cie.understood = !r.failed && (augmentation[0] == '\0' || augmentation[0] == 'z');
    if (cie.understood && augmentation[0] == 'z') {
        cie.augmented = true;
        read_augmentation(&cie, augmentation + 1, read_block(&r));
    }
    cie.understood = cie.understood && !r.failed;
    cie.instructions = r;
    return cie;
}

/* ---- the virtual machine ---- */

struct place { /* where a register of the caller is */
    enum { SAME, AT_CFA, AT_FP, UNDEFINED, ELSEWHERE } kind;
    int64_t offset;
};

struct row {
    enum gn_rule_kind cfa; /* GN_RULE_SLOW: of another kind */
    int64_t cfa_offset;
    struct place fp, ip;
};

struct machine {
    const struct cie *cie;
    uint64_t fp_register, sp_register;
    uintptr_t location, target;
    struct row row, initial, remembered[MAX_REMEMBERED];
    unsigned depth;
    bool failed;
};

static struct place *place_of(struct machine *m, uint64_t reg)
{
    return reg == m->fp_register ? &m->row.fp : reg == m->cie->ip_register ? &m->row.ip : NULL;
}

static void put(struct machine *m, uint64_t reg, int kind, int64_t offset)
{
    struct place *place = place_of(m, reg);
    if (place)
        *place = (struct place){kind, offset};
}

static void restore_register(struct machine *m, uint64_t reg)
{
    if (reg == m->fp_register)
        m->row.fp = m->initial.fp;
    else if (reg == m->cie->ip_register)
        m->row.ip = m->initial.ip;
}

static void remember_state(struct machine *m)
{
    if (m->depth == MAX_REMEMBERED)
        m->failed = true;
    else
        m->remembered[m->depth++] = m->row;
}

static void restore_state(struct machine *m)
{
    if (m->depth == 0)
        m->failed = true;
    else
        m->row = m->remembered[--m->depth];
}

static void set_cfa_register(struct machine *m, uint64_t reg)
{
    m->row.cfa = reg == m->sp_register ? GN_RULE_SP : reg == m->fp_register ? GN_RULE_FP : GN_RULE_SLOW;
}

/* DW_OP_breg of the frame pointer, offset, then exactly the operations in `rest`. */
static bool is_fp_expression(const struct machine *m, struct reader expression, const char *rest,
                             int64_t *offset)
{
    if (read_fixed(&expression, 1) != 0x70 + m->fp_register)
        return false;
    *offset = read_sleb(&expression);
    size_t length = strlen(rest);
    return !expression.failed && (size_t)(expression.end - expression.at) == length &&
           memcmp(expression.at, rest, length) == 0;
}

/* Of the stubs through which x86-64 programs call libraries, 16 bytes each, the CFA is sp + 8, and from some
 * byte of each on sp + 16: it has pushed a word then. What linkers write is
 * DW_OP_breg7 8; breg16 0; lit15; and; lit<byte>; ge; lit3; shl; plus. */
static bool is_stub_expression(struct machine *m, const struct reader *expression)
{
    static const uint8_t ahead[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a}, behind[] = {0x2a, 0x33, 0x24, 0x22};
    const uint8_t *at = expression->at;
    enum { LIT0 = 0x30, LIT15 = LIT0 + 15 };
    if (m->sp_register != 7 || (size_t)(expression->end - at) != sizeof ahead + 1 + sizeof behind ||
        memcmp(at, ahead, sizeof ahead) != 0 || memcmp(at + sizeof ahead + 1, behind, sizeof behind) != 0 ||
        at[sizeof ahead] < LIT0 || at[sizeof ahead] > LIT15)
        return false;
    m->row.cfa_offset = (m->target & 15) >= (uintptr_t)(at[sizeof ahead] - LIT0) ? 16 : 8;
    return true;
}

/* A realigned frame's CFA is DW_OP_breg6 offset; DW_OP_deref. */
static void def_cfa_expression(struct machine *m, struct reader expression)
{
    if (is_stub_expression(m, &expression)) {
        m->row.cfa = GN_RULE_SP;
        return;
    }
    bool known = is_fp_expression(m, expression, "\x06", &m->row.cfa_offset);
    m->row.cfa = known ? GN_RULE_REALIGNED : GN_RULE_SLOW;
}

/* Such frames save the frame pointer at DW_OP_breg6 0. */
static void save_expression(struct machine *m, uint64_t reg, struct reader expression)
{
    struct place *place = place_of(m, reg);
    if (!place)
        return;
    bool known = is_fp_expression(m, expression, "", &place->offset);
    place->kind = known ? AT_FP : ELSEWHERE;
}

static void execute_extended(struct machine *m, uint8_t op, struct reader *r)
{
    uint64_t reg;
    switch (op) {
    case 0x00: /* nop */
    case 0x2d: /* AArch64's negate_ra_state: addresses are stripped wherever they come from */
        break;
    case 0x02: /* advance_loc1, 2, 4 */
    case 0x03:
    case 0x04:
        m->location += read_fixed(r, op == 0x02 ? 1 : op == 0x03 ? 2 : 4) * m->cie->code_align;
        break;
    case 0x05: /* offset_extended */
        reg = read_uleb(r);
        put(m, reg, AT_CFA, (int64_t)read_uleb(r) * m->cie->data_align);
        break;
    case 0x11: /* offset_extended_sf */
        reg = read_uleb(r);
        put(m, reg, AT_CFA, read_sleb(r) * m->cie->data_align);
        break;
    case 0x06: /* restore_extended */
        restore_register(m, read_uleb(r));
        break;
    case 0x07: /* undefined */
        put(m, read_uleb(r), UNDEFINED, 0);
        break;
    case 0x08: /* same_value */
        put(m, read_uleb(r), SAME, 0);
        break;
    case 0x09: /* register */
        reg = read_uleb(r);
        read_uleb(r);
        put(m, reg, ELSEWHERE, 0);
        break;
    case 0x0a:
        remember_state(m);
        break;
    case 0x0b:
        restore_state(m);
        break;
    case 0x0c: /* def_cfa */
        set_cfa_register(m, read_uleb(r));
        m->row.cfa_offset = (int64_t)read_uleb(r);
        break;
    case 0x12: /* def_cfa_sf */
        set_cfa_register(m, read_uleb(r));
        m->row.cfa_offset = read_sleb(r) * m->cie->data_align;
        break;
    case 0x0d: /* def_cfa_register */
        set_cfa_register(m, read_uleb(r));
        break;
    case 0x0e: /* def_cfa_offset */
        m->row.cfa_offset = (int64_t)read_uleb(r);
        break;
    case 0x13: /* def_cfa_offset_sf */
        m->row.cfa_offset = read_sleb(r) * m->cie->data_align;
        break;
    case 0x0f: /* def_cfa_expression */
        def_cfa_expression(m, read_block(r));
        break;
    case 0x10: /* expression */
        reg = read_uleb(r);
        save_expression(m, reg, read_block(r));
        break;
    case 0x14: /* val_offset, val_offset_sf: no memory is read */
    case 0x15:
        put(m, read_uleb(r), ELSEWHERE, 0);
        read_uleb(r);
        break;
    case 0x16: /* val_expression */
        put(m, read_uleb(r), ELSEWHERE, 0);
        read_block(r);
        break;
    case 0x2e: /* GNU_args_size */
        read_uleb(r);
        break;
    default:
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
            put(m, op & 0x3fu, AT_CFA, (int64_t)read_uleb(&r) * m->cie->data_align);
        else if (op >> 6 == 3)
            restore_register(m, op & 0x3fu);
        else
            execute_extended(m, op, &r);
        m->failed = m->failed || r.failed;
    }
}

/* ---- from a row to a rule ---- */

enum { FARTHEST = 4096 /* bytes from a frame pointer's CFA to what is saved */ };

/* A saved register is where gn_rule_step may read it without a look: in a frame that is `bytes` long. */
static bool is_inside(int64_t offset, int64_t bytes)
{
    return offset < 0 && offset >= -bytes && offset % 8 == 0 && offset / 8 >= INT16_MIN;
}

static bool is_usual(const struct row *row)
{
    if (row->cfa == GN_RULE_SLOW || row->cfa_offset % 8 || row->cfa_offset > INT32_MAX - 8 ||
        row->cfa_offset < INT32_MIN)
        return false;
    if (row->cfa == GN_RULE_REALIGNED)
        return row->fp.kind == AT_FP && row->fp.offset == 0 && row->ip.kind == AT_CFA && row->ip.offset == -8;
    const int64_t bytes = row->cfa == GN_RULE_SP ? row->cfa_offset : FARTHEST;
    return bytes > 0 && row->ip.kind == AT_CFA && is_inside(row->ip.offset, bytes) &&
           (row->fp.kind == SAME || row->fp.kind == UNDEFINED ||
            (row->fp.kind == AT_CFA && is_inside(row->fp.offset, bytes)));
}

static struct gn_rule compile(const struct row *row, enum gn_cfi_machine machine)
{
    if (row->ip.kind == UNDEFINED)
        return gn_rule_of_kind(GN_RULE_END);
    if (!is_usual(row) || (machine == GN_CFI_X86_64 && row->ip.offset != -8))
        return gn_rule_of_kind(GN_RULE_SLOW);
    return (struct gn_rule){.cfa = (int32_t)(row->cfa_offset + row->cfa),
                            .fp_words = (int16_t)(row->fp.kind == AT_CFA ? row->fp.offset / 8 : 0),
                            .ip_words = (int16_t)(row->ip.offset / 8)};
}

/* Where an entry's code begins: absolute, or relative to where that stands. */
static bool read_range(struct reader *r, const struct gn_cfi_bytes *bytes, uint8_t encoding, uintptr_t *begin,
                       uint64_t *length)
{
    uintptr_t here = bytes->address + (uintptr_t)(r->at - bytes->at);
    size_t count = encoded_bytes(encoding);
    uint64_t value = read_fixed(r, count);
    if ((encoding & 0x08) && count < 8 && value >> (8 * count - 1))
        value |= ~(uint64_t)0 << (8 * count);
    *length = read_fixed(r, count);
    *begin = (encoding & 0x70) == 0x10 ? here + value : value;
    return !r->failed && ((encoding & 0xf0) == 0x10 || (encoding & 0xf0) == 0);
}

bool gn_cfi_range(const struct gn_cfi_bytes *bytes, uintptr_t fde, uintptr_t *begin, uintptr_t *end)
{
    struct reader r = record_at(bytes, fde);
    uint64_t back = read_fixed(&r, 4), length;
    if (r.failed || back == 0)
        return false;
    struct cie cie = read_cie(bytes, fde + 4 - back);
    if (!read_range(&r, bytes, cie.pointer_encoding, begin, &length) || length > UINTPTR_MAX - *begin)
        return false;
    *end = *begin + length;
    return true;
}

struct gn_rule gn_cfi_rule(const struct gn_cfi_bytes *bytes, enum gn_cfi_machine machine, uintptr_t fde,
                           uintptr_t pc, uintptr_t *function)
{
    const struct gn_rule nothing = gn_rule_of_kind(GN_RULE_END), slow = gn_rule_of_kind(GN_RULE_SLOW);
    struct reader r = record_at(bytes, fde);
    uint64_t back = read_fixed(&r, 4), length;
    *function = 0;
    if (r.failed || back == 0)
        return slow;
    struct cie cie = read_cie(bytes, fde + 4 - back);
    uintptr_t begin;
    if (!read_range(&r, bytes, cie.pointer_encoding, &begin, &length))
        return slow;
    if (pc < begin || pc - begin >= length)
        return nothing;
    *function = begin;
    if (!cie.understood)
        return slow;
    if (cie.augmented)
        read_block(&r);
    struct machine m = {.cie = &cie,
                        .fp_register = machine == GN_CFI_X86_64 ? 6 : 29,
                        .sp_register = machine == GN_CFI_X86_64 ? 7 : 31,
                        .location = begin,
                        .target = pc};
    execute(&m, cie.instructions);
    m.initial = m.row;
    execute(&m, r);
    return m.failed ? slow : compile(&m.row, machine);
}
