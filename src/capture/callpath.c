#include "capture/callpath.h"

#include "capture/cfi.h"
#include "capture/lists.h"
#include "capture/modules.h"

#include <string.h>
#include <unwind.h>

enum { TRIE_SLOTS = 2 * GN_MAX_FRAMES };

struct walk {
    struct gn_unwound *unwound;
    uintptr_t caller;
};

static int collect(void *unwinder, void *argument)
{
    struct _Unwind_Context *context = unwinder;
    struct walk *walk = argument;
    struct gn_unwound *stack = walk->unwound;
    uintptr_t ip = _Unwind_GetIP(context);
    if (stack->depth == 0 && ip != walk->caller)
        return _URC_NO_REASON; /* still our own frames */
    if (ip == 0)
        return _URC_END_OF_STACK;
    stack->frames[stack->depth].ip = ip;
    stack->frames[stack->depth].sp = _Unwind_GetCFA(context);
    stack->depth++;
    return stack->depth < GN_MAX_DEPTH ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static uintptr_t word_at(uintptr_t address)
{
    return *(const uintptr_t *)address;
}

/* What the walk from one frame to its caller depended on. */
struct dependency {
    struct gn_unwound *unwound;
    uintptr_t rbp_slot; /* where the current frame's rbp is saved */
};

static void depend_on(struct dependency *d, uintptr_t address)
{
    d->unwound->slots[d->unwound->slot_count++] =
        (struct gn_memo_slot){(const uintptr_t *)address, word_at(address)};
}

/* Checks our reading of the unwind rule against where the unwinder really went (caller_sp), and notes the
 * words that decided it. False: not understood. */
static bool follow(struct dependency *d, const struct gn_frame_rule *rule, const struct gn_stack_frame *frame,
                   const struct gn_stack_frame *caller)
{
    uintptr_t rbp = word_at(d->rbp_slot), cfa = 0;
    if (rule->cfa == GN_CFA_RSP)
        cfa = frame->sp + (uintptr_t)rule->cfa_offset;
    else if (rule->cfa == GN_CFA_RBP)
        cfa = rbp + (uintptr_t)rule->cfa_offset;
    else if (rule->cfa == GN_CFA_RBP_DEREF && rbp >= frame->sp && rbp < caller->sp)
        cfa = word_at(rbp + (uintptr_t)rule->cfa_offset);
    if (cfa == 0 || cfa != caller->sp || word_at(cfa - sizeof(void *)) != caller->ip)
        return false;
    if (rule->cfa != GN_CFA_RSP)
        depend_on(d, d->rbp_slot);
    if (rule->cfa == GN_CFA_RBP_DEREF)
        depend_on(d, rbp + (uintptr_t)rule->cfa_offset);
    depend_on(d, cfa - sizeof(void *));
    if (rule->rbp_saved)
        d->rbp_slot = (rule->rbp_saved_from_rbp ? rbp : cfa) + (uintptr_t)rule->rbp_offset;
    return true;
}

/* Fills the frames' functions and lists the stack words that the whole walk depended on. */
static void examine(struct gn_unwound *stack, const void *frame)
{
    struct dependency d = {stack, (uintptr_t)frame};
    stack->memorable = stack->depth > 0 && stack->frames[0].sp == (uintptr_t)frame + 2 * sizeof(void *);
    for (uint32_t i = 0; i < stack->depth; i++) {
        struct gn_frame_rule rule = gn_cfi_rule(stack->frames[i].ip - 1);
        stack->frames[i].function = rule.function_start ? rule.function_start : stack->frames[i].ip;
        if (stack->memorable && i + 1 < stack->depth)
            stack->memorable = follow(&d, &rule, &stack->frames[i], &stack->frames[i + 1]);
    }
}

static bool in_module(struct gn_tag *segment, const struct gn_stack_frame *frame,
                      bool (*is)(const struct gn_module *))
{
    return frame->module && is(&segment->modules[frame->module]);
}

/* Leaves out the MPI library's own frames at the inner end and the C library's start-up at the outer. */
static void trim(struct gn_tag *segment, const struct gn_unwound *stack, uint32_t *inner, uint32_t *outer)
{
    *inner = 0;
    *outer = stack->depth;
    while (*inner + 1 < *outer && in_module(segment, &stack->frames[*inner], gn_module_is_mpi))
        ++*inner;
    for (uint32_t back = 1; back <= 4 && back < stack->depth; back++)
        if (stack->depth - back > *inner &&
            in_module(segment, &stack->frames[stack->depth - back], gn_module_is_libc))
            *outer = stack->depth - back;
}

static uint32_t trie_table[TRIE_SLOTS]; /* frame index + 1; shared by all threads under the lock */

static uint32_t trie_child(struct gn_tag *segment, uint32_t parent, const struct gn_stack_frame *frame,
                           bool folded, bool *cut)
{
    const struct gn_module *module = &segment->modules[frame->module];
    uint64_t offset = frame->module ? frame->ip - module->base : frame->ip;
    uint64_t key =
        (offset ^ ((uint64_t)parent << 40) ^ ((uint64_t)frame->module << 24)) * 0x9e3779b97f4a7c15ull;
    uint32_t slot = (uint32_t)(key >> 32) & (TRIE_SLOTS - 1u);
    for (; trie_table[slot]; slot = (slot + 1) & (TRIE_SLOTS - 1u)) {
        struct gn_frame *known = &segment->frames[trie_table[slot] - 1];
        if (known->parent == parent && known->module == frame->module && known->offset == offset) {
            if (folded)
                known->folded = 1;
            return trie_table[slot] - 1;
        }
    }
    uint32_t count = GN_GET(segment->frame_count);
    if (count == GN_MAX_FRAMES) {
        *cut = true;
        return parent;
    }
    segment->frames[count] = (struct gn_frame){parent, frame->module, folded, offset};
    GN_PUBLISH(segment->frame_count, count + 1);
    trie_table[slot] = count + 1;
    return count;
}

/* Keeps each procedure once: a second, inner occurrence drops what lies between and takes its place. */
static uint32_t fold(struct gn_unwound *stack, uint32_t inner, uint32_t outer)
{
    struct gn_stack_frame *kept = stack->kept;
    uint32_t count = 0;
    for (uint32_t i = outer; i-- > inner;) {
        uint32_t same = 0;
        while (same < count && kept[same].function != stack->frames[i].function)
            same++;
        stack->folded[same] = same < count;
        kept[same] = stack->frames[i];
        count = same + 1;
    }
    return count;
}

static uint32_t find_path(struct gn_tag *segment, struct gn_unwound *stack)
{
    if (!gn_lists_lock()) {
        stack->cut = true;
        return 0;
    }
    for (uint32_t i = 0; i < stack->depth; i++)
        stack->frames[i].module = gn_module_at(segment, stack->frames[i].ip);
    uint32_t inner, outer, path = 0;
    trim(segment, stack, &inner, &outer);
    uint32_t count = fold(stack, inner, outer);
    for (uint32_t i = 0; i < count; i++)
        path = trie_child(segment, path, &stack->kept[i], stack->folded[i], &stack->cut);
    gn_lists_unlock();
    return path;
}

void gn_callpath_unwind(struct gn_tag *segment, uintptr_t caller, const void *frame,
                        struct gn_unwound *unwound)
{
    struct walk walk = {unwound, caller};
    unwound->depth = 0;
    unwound->slot_count = 0;
    unwound->cut = false;
    bool understood = gn_guarded_backtrace(collect, &walk);
    if (unwound->depth == 0) { /* no unwind information on our own way out: the caller is all we know */
        unwound->frames[0] =
            (struct gn_stack_frame){.ip = caller, .sp = (uintptr_t)frame + 2 * sizeof(void *)};
        unwound->depth = 1;
    }
    examine(unwound, frame);
    unwound->memorable = unwound->memorable && understood;
    unwound->path = find_path(segment, unwound);
}

struct search {
    uintptr_t caller_sp; /* what the stack pointer of the frame's caller was at the call */
    uintptr_t caller;
    bool found;
};

static int compare_frame(void *unwinder, void *argument)
{
    struct search *search = argument;
    struct _Unwind_Context *context = unwinder;
    uintptr_t sp = _Unwind_GetCFA(context);
    search->found = sp == search->caller_sp && _Unwind_GetIP(context) == search->caller;
    return sp < search->caller_sp ? _URC_NO_REASON : _URC_END_OF_STACK;
}

bool gn_stack_contains(const void *wrapper_frame, uintptr_t caller)
{
    struct search search = {(uintptr_t)wrapper_frame + 2 * sizeof(void *), caller, false};
    gn_guarded_backtrace(compare_frame, &search);
    return search.found;
}

void gn_memo_store(struct gn_callpath_memo *memo, uint32_t activity, uintptr_t caller, const void *frame,
                   uint32_t node, const struct gn_unwound *unwound)
{
    if (!unwound->memorable)
        return;
    unsigned long long era = gn_modules_era();
    if (memo->slots_used + unwound->slot_count > GN_MEMO_SLOTS || era != memo->modules_era) {
        memset(memo->entries, 0, sizeof memo->entries);
        memo->slots_used = 0;
        memo->modules_era = era;
    }
    struct gn_memo_entry *entry = &memo->entries[gn_memo_index(activity, caller, frame)];
    memcpy(&memo->slots[memo->slots_used], unwound->slots, unwound->slot_count * sizeof unwound->slots[0]);
    *entry = (struct gn_memo_entry){caller, frame, activity, node, memo->slots_used, unwound->slot_count};
    memo->slots_used += unwound->slot_count;
}
