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
        struct gn_frame *known = &segment->frames[trie_table[slot] - 1];
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
    segment->frames[count] = (struct gn_frame){parent, frame->module, frame->folded, offset};
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
    *first = *end > 2 && in_module(segment, &frames[1], gn_module_is_libc) ? 1 : 0;
    while (*first + 1 < *end && in_module(segment, &frames[*first], gn_module_is_libc))
        ++*first;
}

/* What runs Python functions: where these are known, it says nothing more. Returns how many frames are left.
 */
static uint32_t leave_out_interpreter(const struct gn_tag *segment, struct gn_stack_frame *frames,
                                      uint32_t count)
{
    uint32_t kept = 0;
    if (!(frames[0].ip & GN_PYTHON_FRAME))
        return count;
    for (uint32_t i = 0; i < count; i++)
        if (segment->modules[frames[i].module].kind != GN_MODULE_INTERPRETER)
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

uint32_t gn_callpath_find(struct gn_tag *segment, struct gn_stack_frame *frames, uint32_t count, bool *cut)
{
    uint32_t first, end, path = 0;
    *cut = false;
    if (!gn_lists_lock()) {
        *cut = true;
        return 0;
    }
    end = leave_out_interpreter(segment, frames, count);
    trim(segment, frames, &first, &end);
    uint32_t kept = fold(frames, first, end);
    for (uint32_t i = 0; i < kept; i++)
        path = trie_child(segment, path, &frames[i], cut);
    gn_lists_unlock();
    return path;
}

/* ---- code ---- */

bool gn_code_at(struct gn_tag *segment, uintptr_t ip, struct gn_code *code)
{
    if (!gn_lists_lock())
        return false;
    code->module = gn_module_at(segment, ip);
    const bool more = GN_GET(segment->module_count) < GN_MAX_MODULES;
    code->rule = gn_rule_of_kind(more ? GN_RULE_OUTSIDE : GN_RULE_SLOW);
    code->function = 0;
    if (code->module) /* ip belongs to what follows the call; the call itself is just before */
        code->rule = gn_unwind_rule(gn_module_table(code->module), GN_CFI_NATIVE, ip - 1, &code->function);
    gn_lists_unlock();
    if (!code->function)
        code->function = ip;
    return true;
}

bool gn_code_is_start_up(struct gn_tag *segment, const struct gn_code *code)
{
    return code->module && gn_module_is_libc(&segment->modules[code->module]);
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
