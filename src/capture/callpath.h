/*
 * capture/callpath — which call path are we on, in nanoseconds.
 *
 * Unwinding costs hundreds of nanoseconds; programs make the same calls again and again. So each full
 * unwinding is remembered together with what proves it: key (return address, stack pointer, activity) and the
 * list of (stack slot, value) that the unwinding depended on — every return address and, for frames whose
 * canonical frame address (CFA) is computed from rbp, the saved rbp. When key and slots compare equal, the
 * stack is the same and so is the path: nothing is unwound. Paths are compared in full, never by a hash.
 *
 * Soundness: a frame's CFA is a function of (its return address, its stack pointer) when its unwind rule is
 * rsp-based; of rbp too when rbp-based; of one more stack word when the frame realigns the stack. capture/cfi
 * tells which. A path with a frame of any other kind is unwound every time.
 *
 * Recursion is folded: when a procedure is met again further in, the frames between are dropped and the inner
 * occurrence takes the outer one's place (mutual recursion counts as one procedure; Li & Zhang, section 6).
 * Every procedure thus occurs at most once in a path, and the number of paths does not depend on the depth.
 */
#ifndef GNOMON_CAPTURE_CALLPATH_H
#define GNOMON_CAPTURE_CALLPATH_H

#include "graph/tag.h"

#include <stdbool.h>

enum { GN_MEMO_ENTRIES = 2048, GN_MEMO_SLOTS = 131072, GN_MAX_DEPTH = 256 };

struct gn_memo_slot {
    const uintptr_t *address;
    uintptr_t value;
};

struct gn_memo_entry {
    uintptr_t caller;  /* 0: free */
    const void *frame; /* the wrapper's frame address stands for the stack pointer */
    uint32_t activity;
    uint32_t node;
    uint32_t first_slot;
    uint32_t slot_count;
};

struct gn_callpath_memo {
    uint32_t slots_used;
    unsigned long long modules_era; /* when a library was unloaded, addresses lose their meaning */
    struct gn_memo_entry entries[GN_MEMO_ENTRIES];
    struct gn_memo_slot slots[GN_MEMO_SLOTS];
};

/* The remembered node of this call, or UINT32_MAX when the stack has to be unwound. */
static inline uint32_t gn_memo_find(const struct gn_callpath_memo *memo, uint32_t activity, uintptr_t caller,
                                    const void *frame);

struct gn_stack_frame {
    uintptr_t ip;       /* return address into this frame */
    uintptr_t sp;       /* its stack pointer at the call: the CFA of the frame it called */
    uintptr_t function; /* where its procedure starts */
    uint16_t module;
};

/* What a full unwinding found, with its working space: too large for the stack of a user's thread. */
struct gn_unwound {
    uint32_t path;       /* index into frames[] of the segment */
    uint32_t slot_count; /* what the path depended on */
    bool memorable;      /* false: some frame's rule is not understood, do not remember */
    bool cut;            /* frames[] is full: the path was cut short */
    struct gn_memo_slot slots[3 * GN_MAX_DEPTH];
    uint32_t depth;
    struct gn_stack_frame frames[GN_MAX_DEPTH]; /* innermost first */
    struct gn_stack_frame kept[GN_MAX_DEPTH];   /* outermost first, recursion folded */
    bool folded[GN_MAX_DEPTH];
};

/* Unwinds the calling thread's stack from the frame that `caller` returns into, and finds or adds the path
 * in the segment's trie. Takes the segment's trie lock; not for the hot path. */
void gn_callpath_unwind(struct gn_tag *segment, uintptr_t caller, const void *frame,
                        struct gn_unwound *unwound);

/* Whether the wrapper with this frame address that was called from `caller` is still on the calling thread's
 * stack: whether there is a frame with its caller's stack pointer that waits to be returned to at `caller`.
 */
bool gn_stack_contains(const void *wrapper_frame, uintptr_t caller);

/* _Unwind_Backtrace, whatever happens inside it: see unwind_guard.c. step gets the unwinder's context and
 * answers with a _Unwind_Reason_Code. False: the unwinder gave up. */
bool gn_guarded_backtrace(int (*step)(void *context, void *argument), void *argument);

/* Remembers node for (activity, caller, frame). Forgets everything first when there is no room. */
void gn_memo_store(struct gn_callpath_memo *memo, uint32_t activity, uintptr_t caller, const void *frame,
                   uint32_t node, const struct gn_unwound *unwound);

static inline uint32_t gn_memo_index(uint32_t activity, uintptr_t caller, const void *frame)
{
    uint64_t key = (caller ^ ((uintptr_t)frame << 17)) + activity * 0x9e3779b9u;
    return (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 32) & (GN_MEMO_ENTRIES - 1u);
}

static inline uint32_t gn_memo_find(const struct gn_callpath_memo *memo, uint32_t activity, uintptr_t caller,
                                    const void *frame)
{
    const struct gn_memo_entry *entry = &memo->entries[gn_memo_index(activity, caller, frame)];
    if (entry->caller != caller || entry->frame != frame || entry->activity != activity)
        return UINT32_MAX;
    const struct gn_memo_slot *slot = &memo->slots[entry->first_slot];
    const struct gn_memo_slot *end = slot + entry->slot_count;
    for (; slot < end; slot++)
        if (*slot->address != slot->value)
            return UINT32_MAX;
    return entry->node;
}

#endif
