/*
 * What the generated programs (random_paths.py) share: random numbers, and ways to call a function that make
 * a stack hard to walk. A function does at random what its body offers, as long as there is fuel.
 */
#ifndef TESTS_PATHS_PROGRAM_H
#define TESTS_PATHS_PROGRAM_H

#include "probe.h"

#include <setjmp.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void node_function(int depth);

enum { MAX_JUMPS = 64 };

/* Of a thread. A boundary is what no jump and no exception may cross: signal handlers, the start of a thread
 * or coroutine, frames without unwind tables. */
struct state {
    uint64_t script; /* decides what is called: a script gives the same calls each time */
    uint64_t noise;  /* decides sizes of frames, and whether rare things happen */
    int still;       /* all sizes are the smallest: the same script has the same stacks */
    int fuel;
    int catchers; /* frames since the boundary that catch an exception */
    int jump_base, jump_count;
    jmp_buf *jumps[MAX_JUMPS];
};
extern __thread struct state state;

/* Below `below`, from the script or the noise. */
unsigned draw(unsigned below);
unsigned noise(unsigned below);
/* Whether the function at this depth may go on. */
int go_on(int depth);

extern node_function *const functions[]; /* the generator's */
extern const unsigned function_count;
void any(int depth); /* calls one of them, one deeper */

struct saved {
    int catchers, jump_base, jump_count;
};
struct saved save_state(void);
void restore_state(struct saved saved);
struct saved begin_boundary(void);

/* Each calls functions, some more than one. */
void through_signal(int depth);
void through_trap(int depth);
void through_first_trap(int depth);
void through_thread(int depth);
void through_coroutine(int depth);
void through_plugin(int depth);
void through_generated_code(int depth);
/* Jumps to the innermost frame that waits for it, if there is one. */
void maybe_jump(void);
void maybe_throw(void);

#ifdef __cplusplus
}
#endif

#define NOINLINE __attribute__((noinline))
/* After a call: keeps it from becoming a jump, and from being shared with another branch's. */
#define SITE(number) __asm__ volatile("# site " #number ::: "memory")
#define USED(pointer) __asm__ volatile("" ::"r"(pointer) : "memory")

#endif
