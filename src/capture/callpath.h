/*
 * capture/callpath — the call paths of a process: from the frames of a stack to an index of the segment's
 * frames[], which is a trie with the outermost frame at its root, shared by all threads.
 *
 * Recursion is folded: when a procedure is met again further in, the frames between are dropped and the inner
 * occurrence takes the outer one's place (mutual recursion counts as one procedure; Li & Zhang, section 6).
 * Every procedure thus occurs at most once in a path, and the number of paths does not depend on the depth.
 * Whether a frame stays follows from the whole stack only, so this is done once for each stack that is met;
 * capture/paths remembers the answer. Paths are compared in full, never by a hash.
 */
#ifndef GNOMON_CAPTURE_CALLPATH_H
#define GNOMON_CAPTURE_CALLPATH_H

#include "image/tag.h"
#include "unwind/rule.h"

#include <stdbool.h>

enum { GN_MAX_DEPTH = 256 }; /* frames that a stack is looked at for, from the inside */

/* In the place of a return address: a Python frame, by its index in the segment's sources[]. No address of
 * code has this bit. */
#define GN_PYTHON_FRAME (1ull << 63)

/* A frame of a stack. */
struct gn_stack_frame {
    uintptr_t ip;       /* return address into it, or GN_PYTHON_FRAME | source */
    uintptr_t function; /* where its procedure begins, or what stands for it; ip when that is unknown */
    uint16_t module;    /* index into the segment's modules[]; 0: none */
    bool folded;        /* set by gn_callpath_find */
};

/*
 * *path: that of a stack of count frames, at least one, outermost first, which are rearranged. *cut: the
 * lists are full, and it is what there was room for. Where there are Python frames, those of the
 * interpreter's own code are left out. False: the lock could not be had, *path is 0.
 */
bool gn_callpath_find(struct gn_tag *segment, struct gn_stack_frame *frames, uint32_t count, uint32_t *path,
                      bool *cut);

/* What is known of the code at a return address: where its procedure begins (the address itself when
 * unknown), its module, and how to go on from there. False: the lock could not be had, nothing is known now.
 */
struct gn_ip_facts {
    uintptr_t function;
    struct gn_rule rule;
    uint16_t module;
};
bool gn_ip_facts_at(struct gn_tag *segment, uintptr_t ip, struct gn_ip_facts *facts);
/* Whether the code is of the library whose outermost frames are the start-up of a thread. */
bool gn_ip_is_start_up(struct gn_tag *segment, const struct gn_ip_facts *facts);

/* In a wrapper: where it was called from, and what stands for its frame. */
#define GN_CALLER __builtin_return_address(0)
#if defined(__aarch64__)
#define GN_FRAME __builtin_dwarf_cfa()
#else
#define GN_FRAME __builtin_frame_address(0)
#endif

/* The registers where a wrapper was called, from what these two were in it. Only for functions that the
 * wrapper calls itself. */
static inline __attribute__((always_inline)) struct gn_registers gn_registers_of(const void *caller,
                                                                                 const void *frame);

/* Unwinds the calling thread's stack by the library's unwinder, which understands every form: fills up to
 * `most` frames, innermost first, beginning with the one whose registers are `at`. Returns how many, at least
 * one. */
uint32_t gn_unwind_slowly(struct gn_registers at, struct gn_registers *frames, uint32_t most);

/* _Unwind_Backtrace, whatever happens inside it: see unwind_guard.c. step gets the unwinder's context and
 * answers with a _Unwind_Reason_Code. False: the unwinder gave up. */
bool gn_guarded_backtrace(int (*step)(void *context, void *argument), void *argument);

/* Wrappers keep their frame pointer. On x86-64 it points at the caller's one, above which is the return
 * address, which was the last word on the stack; on AArch64 it points at the caller's one, and that lies
 * anywhere in the frame. */
static inline __attribute__((always_inline)) struct gn_registers gn_registers_of(const void *caller,
                                                                                 const void *frame)
{
#if defined(__aarch64__)
    const uintptr_t sp = (uintptr_t)frame, fp_at = gn_stack_word((uintptr_t)__builtin_frame_address(0));
#else
    const uintptr_t sp = (uintptr_t)frame + 16, fp_at = (uintptr_t)frame;
#endif
    return (struct gn_registers){.ip = (uintptr_t)caller, .sp = sp, .fp = gn_stack_word(fp_at)};
}

#endif
