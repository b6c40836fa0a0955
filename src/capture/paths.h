/*
 * capture/paths — which call path is this thread on, in nanoseconds.
 *
 * Programs make the same calls on the same paths again and again, but not always the same one twice in a row:
 * what is remembered of one unwinding alone does not help. So the stack is walked at every call, from the
 * inside, and each thread keeps what it met as a trie of its own, from the innermost frame outwards:
 *
 *     root ──► exchange+40 ──► step+12 ──► main+96 ──► (libc) ■ path 17
 *                     └──────► step+77 ──► main+96 ──► (libc) ■ path 18
 *
 * A node stands for a return address after those below it. It has the rule that leads to the caller's return
 * address (unwind/rule), which is compared with the child that was last taken; another child is found by a
 * hash. Two or three loads a frame, and no library. Where the stack ends stands the path (capture/callpath),
 * and the node of the graph that a call there has.
 *
 * Soundness: the rule follows from the address, the next address from rule and stack, so the same nodes mean
 * that an unwinder would have gone the same way; every address is compared in full. A frame whose rule is not
 * understood (GN_RULE_SLOW) has the whole stack unwound by the library at each call. When a library is
 * unloaded, everything is forgotten. Code outside of all modules (generated code) has no caller that could be
 * known; it is looked at again whenever something has been loaded since.
 *
 * The frames of the C library's start-up (__libc_start_call_main, start_thread) stay on the stack for as long
 * as their thread runs. So a walk that comes to the innermost of them, known by address and stack pointer, is
 * at its end.
 *
 * Where the thread runs Python (capture/python), the walk ends at the interpreter's loop, and the Python
 * frames follow as nodes of their own, from the innermost outwards: ip is GN_PYTHON_FRAME and what the frame
 * shows.
 *
 * A procedure that calls itself at one place is one node more, however deep it is. When there are
 * GN_PATH_NODES nodes, everything is forgotten, too: memory is bounded, and a program with that many stacks
 * learns them anew now and then.
 */
#ifndef GNOMON_CAPTURE_PATHS_H
#define GNOMON_CAPTURE_PATHS_H

#include "capture/callpath.h"
#include "capture/interpreter.h"
#include "capture/modules.h"
#include "capture/python.h"

enum { GN_PATH_NODES = 1 << 15, GN_PATH_ROOTS = 1 << 9, GN_CODE_CACHE = 1 << 12 };

/* Half a cache line. Node 0 stands for none; its ip is no return address. */
struct gn_paths_node {
    uintptr_t ip;
    struct gn_rule rule;
    uint32_t parent;               /* the frame that this one called; 0: the innermost */
    uint32_t child : 31;           /* the caller it had last */
    uint32_t follows : 1;          /* its parent is the node ahead of it */
    uint32_t activity, graph_node; /* when it was last the end of a stack; the recorder's */
};

struct gn_path_end {
    uintptr_t function;
    uint16_t module;
    bool known, cut;
    uint32_t path;
};

/* A thread's. All zero is empty. */
struct gn_paths {
    uint32_t count; /* nodes; 0: not begun */
    uint32_t era;
    uintptr_t stack_end;
    uintptr_t limit;            /* where walks end: stack_end, or the interpreter's loop */
    uintptr_t base_ip, base_sp; /* the innermost frame of the C library's start-up; 0: not known */
    uint64_t learned, slow;     /* nodes that were new, stacks that the library unwound: ever */
    uint64_t paid_since; /* ticks: since when the present walk takes longer than usual; 0: it does not */
    uint32_t roots[GN_PATH_ROOTS];
    struct gn_paths_node nodes[GN_PATH_NODES + 1]; /* the last one stays empty */
    struct gn_path_end ends[GN_PATH_NODES];
    uint32_t table[2 * GN_PATH_NODES]; /* (parent, ip) → node, of those that do not follow their parent */
    struct {                           /* by address: for nodes that are new */
        uintptr_t ip;
        struct gn_ip_facts code;
    } codes[GN_CODE_CACHE];
    struct gn_registers
        walked[GN_MAX_DEPTH]; /* working space of the slow path: too large for a user's stack */
    struct gn_stack_frame stack[GN_MAX_DEPTH + GN_PYTHON_DEPTH];
    struct gn_python python;
};

/* The calling thread takes it over; what is remembered stays. */
void gn_paths_attach(struct gn_paths *paths);

/* The node of the frame at `ip`, with stack pointer sp, that called the one of `parent` (0: the innermost),
 * which is added when it is new. 0: no room, or no lock. */
uint32_t gn_paths_caller(struct gn_paths *paths, struct gn_tag *segment, uint32_t parent, uintptr_t ip,
                         uintptr_t sp);

/* The rest of gn_paths_walk, where something is not as usual. */
uint32_t gn_paths_walk_again(struct gn_paths *paths, struct gn_tag *segment, struct gn_registers at);

/* The path at the end `node` of a walk. *cut: as in gn_callpath_find. */
uint32_t gn_paths_path(struct gn_paths *paths, struct gn_tag *segment, uint32_t node, bool *cut);

/* Whether the frame that was at `wanted` when it called a wrapper is still on the calling thread's stack,
 * above `at`, which calls one now. wanted_is_on_base: gn_paths_is_on_base said so of the end of that call's
 * walk. */
enum gn_presence {
    GN_GONE,    /* it would have been met */
    GN_PRESENT, /* it was met */
    GN_UNSEEN   /* the stack could not be followed so far: on another one, beyond code that is not known */
};
enum gn_presence gn_paths_look_for(struct gn_paths *paths, struct gn_tag *segment, struct gn_registers at,
                                   struct gn_registers wanted, bool wanted_is_on_base);

/* Whether the walk to this end came to where the thread began: it was on that stack, not on one of a
 * coroutine. */
bool gn_paths_is_on_base(const struct gn_paths *paths, uint32_t end);

static inline uint32_t gn_paths_root(uintptr_t caller)
{
    return (uint32_t)((caller * 0x9e3779b97f4a7c15ull) >> 40) & (GN_PATH_ROOTS - 1u);
}

/* A walk up the stack of the calling thread. */
enum gn_walk_outcome { GN_WALK_ENDS, GN_WALK_IS_SLOW, GN_WALK_IS_STALE, GN_WALK_NO_ROOM };

/* What a node says whose rule does not lead on. */
static inline enum gn_walk_outcome gn_paths_stop(const struct gn_paths *paths,
                                                 const struct gn_paths_node *node, uintptr_t sp)
{
    switch (gn_rule_kind(node->rule)) {
    case GN_RULE_KEPT:
        return sp == paths->base_sp ? GN_WALK_ENDS : GN_WALK_IS_STALE;
    case GN_RULE_OUTSIDE:
        return gn_is_loaded(node->ip) ? GN_WALK_IS_STALE : GN_WALK_ENDS;
    case GN_RULE_SLOW:
        return GN_WALK_IS_SLOW;
    default:
        return GN_WALK_ENDS;
    }
}

/* From `*node`, whose frame is at `at`, to the node at the stack's end. The frames of a new stack get nodes
 * one behind the other: so the next one is looked at first, whose place does not have to be loaded. */
static inline __attribute__((always_inline)) enum gn_walk_outcome
gn_paths_go(struct gn_paths *paths, struct gn_tag *segment, uint32_t *node, struct gn_registers at)
{
    const struct gn_paths_node *here = &paths->nodes[*node];
    const uintptr_t end = at.sp < paths->limit ? paths->limit : UINTPTR_MAX;
    enum gn_walk_outcome outcome = GN_WALK_ENDS;
    for (uint32_t depth = 1; depth < GN_MAX_DEPTH; depth++) {
        const uintptr_t sp = at.sp;
        if (__builtin_expect(!gn_rule_step(&at, here->rule, end), 0)) {
            outcome = gn_paths_stop(paths, here, sp);
            break;
        }
        if (__builtin_expect(here[1].ip == at.ip && here[1].follows, 1)) {
            here++;
            continue;
        }
        uint32_t caller = here->child;
        if (__builtin_expect(paths->nodes[caller].ip != at.ip, 0)) {
            if (at.ip == 0)
                break;
            caller = gn_paths_caller(paths, segment, (uint32_t)(here - paths->nodes), at.ip, at.sp);
            if (__builtin_expect(caller == 0, 0))
                return GN_WALK_NO_ROOM;
        }
        here = &paths->nodes[caller];
    }
    *node = (uint32_t)(here - paths->nodes);
    return outcome;
}

/* gn_paths_walk, of the C stack as far as paths->limit. */
static inline __attribute__((always_inline)) uint32_t
gn_paths_walk_c(struct gn_paths *paths, struct gn_tag *segment, struct gn_registers at)
{
    uint32_t node = paths->roots[gn_paths_root(at.ip)];
    if (__builtin_expect(paths->nodes[node].ip == at.ip && paths->era == GN_GET(gn_unload_era), 1) &&
        __builtin_expect(gn_paths_go(paths, segment, &node, at) == GN_WALK_ENDS, 1))
        return node;
    return gn_paths_walk_again(paths, segment, at);
}

/* gn_paths_walk, in a process with a Python interpreter. */
uint32_t gn_paths_walk_python(struct gn_paths *paths, struct gn_tag *segment, struct gn_registers at);

/*
 * Walks the calling thread's stack from the frame at `at`, which called a wrapper. Returns the node at its
 * end; 0 when there was no lock to be had (nothing can be said of this call).
 */
static inline __attribute__((always_inline)) uint32_t
gn_paths_walk(struct gn_paths *paths, struct gn_tag *segment, struct gn_registers at)
{
    if (__builtin_expect(gn_interpreter() != NULL, 0))
        return gn_paths_walk_python(paths, segment, at);
    return gn_paths_walk_c(paths, segment, at);
}

#endif
