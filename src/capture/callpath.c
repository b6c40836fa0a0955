#include "capture/callpath.h"

#include "capture/lists.h"
#include "capture/modules.h"

#include <string.h>
#include <unwind.h>

enum { TRIE_SLOTS = 2 * GN_MAX_FRAMES };

/* ---- frames[] ---- */

static uint32_t trie_table[TRIE_SLOTS]; /* frame index + 1 */

static uint32_t trie_child(struct gn_tag *segment, uint32_t parent, const struct gn_stack_frame *frame,
                           bool *cut)
{
    const struct gn_module *module = &segment->modules[frame->module];
    uint64_t offset = frame->module ? (frame->ip & ~GN_PYTHON_FRAME) - module->base : frame->ip;
    uint64_t key =
        (offset + parent * 0xc2b2ae3d27d4eb4full + ((uint64_t)frame->module << 24)) * 0x9e3779b97f4a7c15ull;
    uint32_t slot = (uint32_t)(key >> 40) & (TRIE_SLOTS - 1u);
    for (; trie_table[slot]; slot = (slot + 1) & (TRIE_SLOTS - 1u)) {
        struct gn_tag_frame *known = &segment->frames[trie_table[slot] - 1];
        if (known->parent == parent && known->module == frame->module && known->offset == offset) {
            if (frame->folded)
                known->folded = 1;
            return trie_table[slot] - 1;
        }
    }
    uint32_t count = GN_GET(segment->frame_count);
    if (count == GN_MAX_FRAMES) {
        *cut = true;
        return parent;
    }
    segment->frames[count] = (struct gn_tag_frame){parent, frame->module, frame->folded, offset};
    GN_PUBLISH(segment->frame_count, count + 1);
    trie_table[slot] = count + 1;
    return count;
}

/* ---- from a stack to its path ---- */

static bool in_module(struct gn_tag *segment, const struct gn_stack_frame *frame,
                      bool (*is)(const struct gn_module *))
{
    return frame->module && is(&segment->modules[frame->module]);
}

/* Leaves out the C library's start-up at the outer end, which may have been entered from _start, and the MPI
 * library's own frames at the inner one. */
static void trim(struct gn_tag *segment, const struct gn_stack_frame *frames, uint32_t *first, uint32_t *end)
{
    while (*end > 1 && in_module(segment, &frames[*end - 1], gn_module_is_mpi))
        --*end;
    const bool is_entry = frames[0].function != frames[0].ip; /* not just code of which nothing is known */
    *first = is_entry && *end > 2 && in_module(segment, &frames[1], gn_module_is_libc) ? 1 : 0;
    while (*first + 1 < *end && in_module(segment, &frames[*first], gn_module_is_libc))
        ++*first;
}

/* What stands between a call and a function that the user has named (slots.S); and what runs Python
 * functions: where these are known, it says nothing more. Returns how many frames are left.
 */
static uint32_t leave_out_between(struct gn_tag *segment, struct gn_stack_frame *frames, uint32_t count)
{
    const bool python = frames[0].ip & GN_PYTHON_FRAME;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!(python && segment->modules[frames[i].module].kind == GN_MODULE_INTERPRETER) &&
            !in_module(segment, &frames[i], gn_module_is_slots))
            frames[kept++] = frames[i];
    return kept;
}

/* Keeps each procedure once: a second, inner occurrence drops what lies between and takes its place. */
static uint32_t fold(struct gn_stack_frame *frames, uint32_t first, uint32_t end)
{
    uint32_t kept = 0;
    for (uint32_t i = first; i < end; i++) {
        uint32_t same = 0;
        while (same < kept && frames[same].function != frames[i].function)
            same++;
        bool folded = same < kept;
        frames[same] = frames[i];
        frames[same].folded = folded;
        kept = same + 1;
    }
    return kept;
}

/* A module that found no room in the list has no name, and no place that another process could know. */
static bool is_unnamed(const struct gn_tag *segment, const struct gn_stack_frame *frame)
{
    return frame->module == 0 && GN_GET(segment->module_count) == GN_MAX_MODULES;
}

bool gn_callpath_find(struct gn_tag *segment, struct gn_stack_frame *frames, uint32_t count, uint32_t *path,
                      bool *cut)
{
    uint32_t first, end;
    *path = 0;
    *cut = false;
    if (!gn_lists_lock())
        return false;
    end = leave_out_between(segment, frames, count);
    trim(segment, frames, &first, &end);
    uint32_t kept = fold(frames, first, end);
    for (uint32_t i = 0; i < kept; i++) {
        *cut = *cut || is_unnamed(segment, &frames[i]);
        *path = trie_child(segment, *path, &frames[i], cut);
    }
    gn_lists_unlock();
    return true;
}

/* ---- code ---- */

/* Whether the instruction ahead of an address is a call: what no call left on a stack is no return address,
 * and what follows from it is nonsense (the first frame of a coroutine that somebody wrote by hand). */
static bool follows_a_call(uintptr_t ip)
{
#if defined(__x86_64__)
    static const uint8_t lengths[] = {2, 3, 4, 6, 7}; /* of call through a register or memory: ff /2 */
    const uint8_t *code = (const uint8_t *)ip;
    if (code[-5] == 0xe8)
        return true;
    for (unsigned i = 0; i < sizeof lengths; i++)
        if (code[-lengths[i]] == 0xff && ((code[1 - lengths[i]] >> 3) & 7) == 2)
            return true;
    return false;
#else
    const uint32_t before = *(const uint32_t *)(ip - 4);
    return before >> 26 == 0x25 ||
           (before & 0xfefff000u) == 0xd63f0000u; /* bl; blr, signed addresses or not */
#endif
}

bool gn_ip_facts_at(struct gn_tag *segment, uintptr_t ip, struct gn_ip_facts *facts)
{
    const struct gn_unwind_table *table;
    if (!gn_lists_lock())
        return false;
    facts->module = gn_module_at(segment, ip, &table);
    facts->rule = gn_rule_of_kind(GN_RULE_OUTSIDE);
    facts->function = 0;
    if (table) /* ip belongs to what follows the call; the call itself is just before */
        facts->rule = gn_unwind_rule(table, GN_CFI_NATIVE, ip - 1, &facts->function);
    gn_lists_unlock();
    if (gn_rule_kind(facts->rule) < GN_RULE_END && !follows_a_call(ip))
        facts->rule = gn_rule_of_kind(GN_RULE_END);
    if (!facts->function)
        facts->function = ip;
    return true;
}

bool gn_ip_is_start_up(struct gn_tag *segment, const struct gn_ip_facts *facts)
{
    return facts->module && gn_module_is_libc(&segment->modules[facts->module]);
}

/* ---- the slow way ---- */

struct walk {
    uintptr_t ip; /* of the first frame that counts */
    struct gn_registers *frames;
    uint32_t count, most;
};

static int collect(void *unwinder, void *argument)
{
    struct _Unwind_Context *context = unwinder;
    struct walk *walk = argument;
    uintptr_t ip = _Unwind_GetIP(context);
    if (walk->count == 0 && ip != walk->ip)
        return _URC_NO_REASON; /* still our own frames */
    if (ip == 0)
        return _URC_END_OF_STACK;
    walk->frames[walk->count++] = (struct gn_registers){.ip = ip, .sp = _Unwind_GetCFA(context)};
    return walk->count < walk->most ? _URC_NO_REASON : _URC_END_OF_STACK;
}

uint32_t gn_unwind_slowly(struct gn_registers at, struct gn_registers *frames, uint32_t most)
{
    struct walk walk = {at.ip, frames, 0, most};
    gn_guarded_backtrace(collect, &walk);
    if (walk.count == 0) /* no unwind information on our own way out: the caller is all we know */
        walk.frames[walk.count++] = at;
    return walk.count;
}
