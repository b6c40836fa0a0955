#include "capture/paths.h"

#include "clock/ticks.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_stack_end __attribute__((weak));

/* ---- the trie ---- */

static void forget(struct gn_paths *p)
{
    if (p->count) { /* else it is all zero, and not in memory yet */
        memset(p->table, 0, sizeof p->table);
        memset(p->roots, 0, sizeof p->roots);
        memset(p->codes, 0, sizeof p->codes);
    }
    p->nodes[0].ip = 1;
    p->count = 1;
    p->era = GN_GET(gn_unload_era);
}

/* The stack of a thread that the C library made has the thread's descriptor at its end. */
void gn_paths_attach(struct gn_paths *p)
{
    bool is_main = getpid() == (pid_t)syscall(SYS_gettid);
    p->stack_end = !is_main            ? (uintptr_t)pthread_self()
                   : &__libc_stack_end ? (uintptr_t)__libc_stack_end
                                       : UINTPTR_MAX;
    p->limit = p->stack_end;
    p->base_ip = p->base_sp = 0;
    if (p->count == 0)
        forget(p);
}

static uint32_t slot_of(uint32_t parent, uintptr_t ip)
{
    uint64_t key = (ip + parent * 0xc2b2ae3d27d4eb4full) * 0x9e3779b97f4a7c15ull;
    return (uint32_t)(key >> 40) & (2 * GN_PATH_NODES - 1u);
}

static uint32_t *find_slot(struct gn_paths *p, uint32_t parent, uintptr_t ip)
{
    uint32_t slot = slot_of(parent, ip);
    for (; p->table[slot]; slot = (slot + 1) & (2 * GN_PATH_NODES - 1u))
        if (p->nodes[p->table[slot]].ip == ip && p->nodes[p->table[slot]].parent == parent)
            break;
    return &p->table[slot];
}

/* Of a Python frame: nothing leads on from it but the list that it came from. */
static const struct gn_ip_facts *python_code(const struct gn_tag *segment, struct gn_ip_facts *code,
                                             uintptr_t ip)
{
    const struct gn_source_line *source = &segment->sources[ip & ~GN_PYTHON_FRAME];
    *code = (struct gn_ip_facts){.function = GN_PYTHON_FRAME | source->function_of,
                                 .rule = gn_rule_of_kind(GN_RULE_END),
                                 .module = (uint16_t)source->module};
    return code;
}

static const struct gn_ip_facts *code_of(struct gn_paths *p, struct gn_tag *segment, uintptr_t ip)
{
    uint32_t slot = (uint32_t)((ip * 0x9e3779b97f4a7c15ull) >> 40) & (GN_CODE_CACHE - 1u);
    if (p->codes[slot].ip != ip) {
        p->codes[slot].ip = 0;
        if (!gn_ip_facts_at(segment, ip, &p->codes[slot].code))
            return NULL;
        p->codes[slot].ip = ip;
    }
    return &p->codes[slot].code;
}

static uint32_t add_node(struct gn_paths *p, struct gn_tag *segment, uint32_t parent, uintptr_t ip,
                         uintptr_t sp)
{
    struct gn_ip_facts of_python;
    const struct gn_ip_facts *code =
        ip & GN_PYTHON_FRAME ? python_code(segment, &of_python, ip) : code_of(p, segment, ip);
    if (!code || p->count == GN_PATH_NODES)
        return 0;
    uint32_t index = p->count++;
    p->nodes[index] = (struct gn_paths_node){
        .ip = ip, .rule = code->rule, .parent = parent, .follows = parent && parent + 1 == index};
    if (ip == p->base_ip && sp == p->base_sp)
        p->nodes[index].rule = gn_rule_of_kind(GN_RULE_KEPT);
    p->nodes[index + 1] = (struct gn_paths_node){.ip = 0}; /* of the time before everything was forgotten */
    p->ends[index] = (struct gn_path_end){.function = code->function, .module = code->module};
    return index;
}

/* A procedure that calls itself at one place is met twice; from then on it is its own caller. */
static bool is_run(const struct gn_paths *p, uint32_t node)
{
    return p->nodes[p->nodes[node].parent].ip == p->nodes[node].ip;
}

static void pay(struct gn_paths *p)
{
    if (!p->paid_since)
        p->paid_since = gn_ticks();
}

uint32_t gn_paths_caller(struct gn_paths *p, struct gn_tag *segment, uint32_t parent, uintptr_t ip,
                         uintptr_t sp)
{
    if (parent && ip == p->nodes[parent].ip && is_run(p, parent))
        return parent;
    if (parent && p->nodes[parent + 1].follows && p->nodes[parent + 1].ip == ip)
        return parent + 1;
    const bool is_last = parent && parent + 1 == p->count; /* and has no caller yet: no need to look for it */
    uint32_t *slot = is_last ? NULL : find_slot(p, parent, ip), found = slot ? *slot : 0;
    if (!found) {
        pay(p);
        p->learned++;
        found = add_node(p, segment, parent, ip, sp);
        if (slot)
            *slot = found;
    }
    if (parent == 0)
        p->roots[gn_paths_root(ip)] = found;
    else
        p->nodes[parent].child = found;
    return found;
}

/* ---- walks that are not as usual ---- */

/* The whole stack by the library's unwinder, and down the trie along what it found. */
static enum gn_walk_outcome walk_slowly(struct gn_paths *p, struct gn_tag *segment, uint32_t *node,
                                        struct gn_registers at)
{
    pay(p);
    p->slow++;
    uint32_t count = gn_unwind_slowly(at, p->walked, GN_MAX_DEPTH);
    *node = 0;
    const uintptr_t end = at.sp < p->limit ? p->limit : UINTPTR_MAX;
    for (uint32_t i = 0; i < count && p->walked[i].sp <= end; i++)
        if ((*node = gn_paths_caller(p, segment, *node, p->walked[i].ip, p->walked[i].sp)) == 0)
            return GN_WALK_NO_ROOM;
    return GN_WALK_ENDS;
}

/* Which frame the thread's start-up ends with, found once on a stack that can be walked to its end. */
static void find_base(struct gn_paths *p, struct gn_tag *segment, struct gn_registers at)
{
    const uintptr_t end = at.sp < p->stack_end ? p->stack_end : UINTPTR_MAX;
    struct gn_registers base = {.ip = 0};
    bool outermost = false;
    for (uint32_t depth = 0; depth < GN_MAX_DEPTH && !outermost; depth++) {
        const struct gn_ip_facts *code = code_of(p, segment, at.ip);
        if (!code)
            return;
        if (!gn_ip_is_start_up(segment, code))
            base.ip = gn_rule_kind(code->rule) == GN_RULE_END ? base.ip : 0; /* _start is the program's */
        else if (!base.ip)
            base = at;
        outermost = gn_rule_kind(code->rule) == GN_RULE_END;
        if (!outermost && !gn_rule_step(&at, code->rule, end))
            return;
    }
    if (outermost) {
        p->base_ip = base.ip;
        p->base_sp = base.sp;
    }
}

static enum gn_walk_outcome walk(struct gn_paths *p, struct gn_tag *segment, uint32_t *node,
                                 struct gn_registers at)
{
    *node = gn_paths_caller(p, segment, 0, at.ip, at.sp);
    if (!*node)
        return GN_WALK_NO_ROOM;
    enum gn_walk_outcome outcome = gn_paths_go(p, segment, node, at);
    return outcome == GN_WALK_IS_SLOW ? walk_slowly(p, segment, node, at) : outcome;
}

uint32_t gn_paths_walk_again(struct gn_paths *p, struct gn_tag *segment, struct gn_registers at)
{
    uint32_t node;
    if (p->era != GN_GET(gn_unload_era))
        forget(p);
    if (!p->base_sp)
        find_base(p, segment, at);
    enum gn_walk_outcome outcome = walk(p, segment, &node, at);
    const bool unloaded = p->era != GN_GET(gn_unload_era); /* which the walk has brought to light */
    if (unloaded || outcome == GN_WALK_IS_STALE ||
        (outcome == GN_WALK_NO_ROOM && p->count == GN_PATH_NODES)) {
        forget(p);
        outcome = walk(p, segment, &node, at);
    }
    return outcome == GN_WALK_ENDS ? node : 0;
}

/* ---- Python ---- */

/* The Python frames that were read, after the C frames up to `node`. */
static uint32_t add_python(struct gn_paths *p, struct gn_tag *segment, uint32_t node)
{
    for (uint32_t i = 0; i < p->python.count && node; i++) {
        const uintptr_t ip = GN_PYTHON_FRAME | p->python.sources[i];
        const struct gn_paths_node *here = &p->nodes[node];
        if (here[1].ip == ip && here[1].follows)
            node++;
        else if (p->nodes[here->child].ip == ip)
            node = here->child;
        else
            node = gn_paths_caller(p, segment, node, ip, 0);
    }
    return node;
}

/* Costs of what is looked up in full are the walk's. */
static void read_python(struct gn_paths *p, struct gn_tag *segment, struct gn_registers at)
{
    p->python.paid_since = 0;
    gn_python_read(&p->python, segment);
    if (p->python.boundary <= at.sp) /* on another stack, a signal's: not to be compared */
        p->python.count = 0;
    if (!p->paid_since)
        p->paid_since = p->python.paid_since;
}

uint32_t gn_paths_walk_python(struct gn_paths *p, struct gn_tag *segment, struct gn_registers at)
{
    read_python(p, segment, at);
    if (p->python.count && p->python.boundary < p->stack_end)
        p->limit = p->python.boundary;
    uint32_t end = gn_paths_walk_c(p, segment, at), node = add_python(p, segment, end);
    if (end && !node && p->count == GN_PATH_NODES) {
        forget(p);
        node = add_python(p, segment, gn_paths_walk_c(p, segment, at));
    }
    p->limit = p->stack_end;
    return node;
}

uint32_t gn_paths_path(struct gn_paths *p, struct gn_tag *segment, uint32_t node, bool *cut)
{
    struct gn_path_end *end = &p->ends[node];
    if (!end->known) {
        uint32_t count = 0;
        for (uint32_t i = node; i; i = p->nodes[i].parent)
            p->stack[count++] = (struct gn_stack_frame){
                .ip = p->nodes[i].ip, .function = p->ends[i].function, .module = p->ends[i].module};
        end->known = gn_callpath_find(segment, p->stack, count, &end->path, &end->cut);
    }
    *cut = end->cut || !end->known;
    return end->path;
}

/* ---- what is on the stack ---- */

/* Where a walk ended that has not met the wanted frame. On the stack that the thread began on there is
 * nothing else, so a frame of that one is gone. */
static enum gn_presence at_end(const struct gn_paths *p, struct gn_registers at, bool wanted_is_on_base)
{
    return wanted_is_on_base && at.ip == p->base_ip && at.sp == p->base_sp ? GN_GONE : GN_UNSEEN;
}

static enum gn_presence look_slowly(struct gn_paths *p, struct gn_registers at, struct gn_registers wanted,
                                    bool wanted_is_on_base)
{
    uint32_t count = gn_unwind_slowly(at, p->walked, GN_MAX_DEPTH);
    for (uint32_t i = 1; i < count; i++) {
        if (p->walked[i].sp == wanted.sp && p->walked[i].ip == wanted.ip)
            return GN_PRESENT;
        if (at_end(p, p->walked[i], wanted_is_on_base) == GN_GONE)
            return GN_GONE;
    }
    return GN_UNSEEN;
}

enum gn_presence gn_paths_look_for(struct gn_paths *p, struct gn_tag *segment, struct gn_registers at,
                                   struct gn_registers wanted, bool wanted_is_on_base)
{
    const struct gn_registers from = at;
    const uintptr_t end = at.sp < p->stack_end ? p->stack_end : UINTPTR_MAX;
    if (p->era != GN_GET(gn_unload_era))
        forget(p);
    if (at.sp == wanted.sp) /* another call is where it was made */
        return GN_GONE;
    for (;;) {
        const uintptr_t sp = at.sp;
        const struct gn_ip_facts *facts = code_of(p, segment, at.ip);
        if (facts && gn_rule_kind(facts->rule) == GN_RULE_SLOW)
            return look_slowly(p, from, wanted, wanted_is_on_base);
        if (!facts || at_end(p, at, wanted_is_on_base) == GN_GONE || !gn_rule_step(&at, facts->rule, end))
            return facts ? at_end(p, at, wanted_is_on_base) : GN_UNSEEN;
        if (at.sp == wanted.sp && at.ip == wanted.ip)
            return GN_PRESENT;
        if (sp < wanted.sp && at.sp >= wanted.sp) /* it would have been here */
            return GN_GONE;
    }
}

bool gn_paths_is_on_base(const struct gn_paths *p, uint32_t end)
{
    return gn_rule_kind(p->nodes[end].rule) == GN_RULE_KEPT;
}
