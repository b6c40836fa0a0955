/* Whether a function can be passed without a call of MPI that is recorded, in it or in what it calls. */
#include "program/work.h"
#include "program/names.h"

#include <dwarf.h>

enum { CALL_LEVELS = 4 }; /* how far called functions are followed */

static struct gn_program_finding study_function(struct gn_work *work, uint64_t entry, int level);

bool gn_work_is_call(const struct gn_insn *insn)
{
    return insn->kind == GN_CODE_CALL || insn->kind == GN_CODE_TAIL_CALL;
}

/* The name of a function called directly. Debug information is asked first, because it is indexed. */
static const char *symbol_of(struct gn_program *program, uint64_t target)
{
    struct gn_function function;
    Dwarf_Attribute attribute;
    if (program->units && gn_units_function(program->units, target + program->debug_shift, &function)) {
        const char *linkage =
            dwarf_formstring(dwarf_attr_integrate(&function.die, DW_AT_linkage_name, &attribute));
        return linkage ? linkage : dwarf_diename(&function.die);
    }
    uint64_t from_start = 0;
    const char *symbol = gn_program_symbol(program, target, &from_start);
    return from_start == 0 ? symbol : NULL;
}

static void name_callees(struct gn_program *program, struct gn_code *code)
{
    for (size_t i = 0; i < code->count; i++) {
        struct gn_insn *insn = &code->items[i];
        if (!gn_work_is_call(insn))
            continue;
        if (!insn->callee && insn->target)
            insn->callee = symbol_of(program, insn->target);
        if (insn->callee && gn_name_is_noreturn(insn->callee))
            insn->kind = GN_CODE_STOP;
    }
}

static bool read_pieces(struct gn_program *program, const struct gn_function *function, struct gn_code *code)
{
    for (size_t i = 0; i < function->range_count; i++) {
        uint64_t low = function->ranges[i].low - program->debug_shift;
        uint64_t high = function->ranges[i].high - program->debug_shift;
        if (gn_code_read(code, program->machine, low, high) < 0)
            return false;
    }
    gn_code_finish(code, program->machine);
    name_callees(program, code);
    const size_t entry = gn_code_at(code, function->entry - program->debug_shift);
    code->entry = entry == GN_CODE_NONE ? 0 : entry;
    return gn_flow_connect(code) == 0;
}

/* By the debug information, else by the unwind table: then one piece, without an entry. */
static bool find_function(struct gn_program *program, uint64_t offset, struct gn_function *function)
{
    uint64_t low, high;
    if (program->units && gn_units_function(program->units, offset + program->debug_shift, function))
        return true;
    if (!gn_program_extent(program, offset, &low, &high))
        return false;
    *function = (struct gn_function){.entry = low + program->debug_shift, .range_count = 1};
    function->ranges[0].low = low + program->debug_shift;
    function->ranges[0].high = high + program->debug_shift;
    return true;
}

const struct gn_code *gn_work_read(struct gn_program *program, uint64_t offset)
{
    struct gn_function function;
    if (!gn_program_machine(program) || !find_function(program, offset, &function))
        return NULL;
    struct gn_key key = {(uintptr_t)function.die.addr, function.die.addr ? 0 : function.ranges[0].low};
    const struct gn_code *known = gn_map_find(&program->kept.codes, key);
    if (!known) {
        struct gn_code code = {0};
        if (!read_pieces(program, &function, &code))
            gn_code_clear(&code); /* is kept, too: it will not be tried again */
        known = gn_kept_add_code(&program->kept, key, &code);
    }
    return known && known->count > 0 ? known : NULL;
}

bool gn_work_is_recorded(const struct gn_insn *insn)
{
    return gn_work_is_call(insn) && insn->callee && gn_name_is_measured(insn->callee);
}

/* Closes the paths through calls that are recorded. */
static void block_recorded(struct gn_flow *flow)
{
    for (size_t i = 0; i < flow->code->count; i++)
        if (flow->roles[i] == GN_FLOW_OPEN && gn_work_is_recorded(&flow->code->items[i]))
            flow->roles[i] = GN_FLOW_BLOCKED;
}

static struct gn_program_finding study_callee(struct gn_work *work, const struct gn_insn *insn, int level)
{
    struct gn_program_finding unknown = {.possible = true};
    if (gn_work_is_recorded(insn))
        return (struct gn_program_finding){.possible = false};
    if (!gn_work_is_call(insn) || !insn->target || level >= CALL_LEVELS)
        return unknown;
    if (insn->callee && gn_name_is_mpi(insn->callee))
        return unknown;
    return study_function(work, insn->target, level + 1);
}

bool gn_work_is_silent(struct gn_work *work, const struct gn_insn *insn)
{
    return study_callee(work, insn, 0).possible;
}

/* Closes the paths through functions that cannot return without such a call. Returns whether there were any.
 * level: one more for each call below the function asked about. */
static bool block_calls(struct gn_work *work, struct gn_flow *flow, int level)
{
    bool blocked = false;
    for (size_t i = 0; i < flow->code->count; i++) {
        if (!flow->inside[i] || flow->roles[i] == GN_FLOW_BLOCKED)
            continue;
        /* A tail call is the goal of a called function, but one that never returns silently is none. */
        bool ends = flow->roles[i] == GN_FLOW_GOAL && (level == 0 || !gn_work_is_call(&flow->code->items[i]));
        if (ends || study_callee(work, &flow->code->items[i], level).possible)
            continue;
        flow->roles[i] = GN_FLOW_BLOCKED;
        blocked = true;
    }
    return blocked;
}

static struct gn_program_finding study_body(struct gn_work *work, struct gn_flow *flow, int level)
{
    struct gn_program_finding impossible = {.possible = false};
    for (size_t i = 0; i < flow->code->count; i++) {
        enum gn_code_kind kind = flow->code->items[i].kind;
        if (kind == GN_CODE_SWITCH && !gn_code_switch_at(flow->code, i))
            flow->roles[i] = GN_FLOW_GOAL; /* it may leave the function */
        if (kind == GN_CODE_RETURN || kind == GN_CODE_TAIL_CALL)
            flow->roles[i] = gn_work_is_recorded(&flow->code->items[i]) ? GN_FLOW_BLOCKED : GN_FLOW_GOAL;
    }
    block_recorded(flow);
    if (gn_flow_reach(flow) <= 0)
        return impossible;
    if (block_calls(work, flow, level) && gn_flow_reach(flow) <= 0)
        return impossible;
    return (struct gn_program_finding){.possible = true};
}

static struct gn_program_finding read_and_study(struct gn_work *work, uint64_t entry, int level)
{
    struct gn_program_finding finding = {.possible = true};
    struct gn_flow flow;
    const struct gn_code *code = gn_work_read(work->program, entry);
    size_t start = code ? gn_code_at(code, entry) : GN_CODE_NONE;
    if (start != GN_CODE_NONE && gn_flow_init(&flow, code, start) == 0) {
        finding = study_body(work, &flow, level);
        gn_flow_clear(&flow);
    }
    return finding;
}

/* Index of a function among those seen; the number of them when it is none. */
static size_t find_seen(const struct gn_work *work, uint64_t entry)
{
    size_t i = 0;
    while (i < work->seen_count && work->seen[i].entry != entry)
        i++;
    return i;
}

/* Takes over a study made for another question, if it would come out the same for this one: it must not meet
 * a function that was seen already, nor the limit. */
static bool recall(struct gn_work *work, struct gn_key key)
{
    const struct gn_study *study = gn_map_find(&work->program->kept.studies, key);
    if (!study || work->seen_count + study->count > GN_WORK_FUNCTIONS_MAX)
        return false;
    for (size_t i = 0; i < study->count; i++)
        if (find_seen(work, study->items[i].entry) < work->seen_count)
            return false;
    for (size_t i = 0; i < study->count; i++)
        work->seen[work->seen_count++] = study->items[i];
    return true;
}

static void study_anew(struct gn_work *work, struct gn_key key, size_t own)
{
    size_t before = work->leaned_on;
    work->leaned_on = own + 1;
    work->seen[work->seen_count++] = (struct gn_studied){key.a, {.possible = true}};
    work->seen[own].finding = read_and_study(work, key.a, (int)key.b);
    if (work->leaned_on > own)
        gn_kept_add_study(&work->program->kept, key, &work->seen[own], work->seen_count - own);
    if (before < work->leaned_on)
        work->leaned_on = before;
}

/* What a called function contains; each is read once, and a recursive call counts as empty. */
static struct gn_program_finding study_function(struct gn_work *work, uint64_t entry, int level)
{
    struct gn_key key = {entry, (uint64_t)level};
    size_t own = find_seen(work, entry);
    if (own < work->seen_count) {
        if (own + 1 < work->leaned_on)
            work->leaned_on = own + 1;
        return work->seen[own].finding;
    }
    if (own == GN_WORK_FUNCTIONS_MAX) {
        work->leaned_on = 0;
        return (struct gn_program_finding){.possible = true};
    }
    if (!recall(work, key))
        study_anew(work, key, own);
    return work->seen[own].finding;
}
