/*
 * Stack frames below a call, as a program has them: some with a frame pointer (a variable-length array makes
 * the compiler keep one), most without. deep_call(f, x) adds seven of them and calls f(x): with main,
 * measure, time_batch and the pattern before them, f is the 12th.
 */
#ifndef BENCH_DEEP_H
#define BENCH_DEEP_H

#include <stddef.h>

typedef void deep_function(long argument);

/* After a call: keeps it from becoming a jump, which would leave no frame. */
#define DEEP_BARRIER() __asm__ volatile("" ::: "memory")

#define DEEP_FRAME(name, next)                                                                               \
    static __attribute__((noinline)) void name(deep_function *innermost, long argument)                      \
    {                                                                                                        \
        next(innermost, argument);                                                                           \
        DEEP_BARRIER();                                                                                      \
    }
#define DEEP_FRAME_POINTER(name, next)                                                                       \
    static __attribute__((noinline)) void name(deep_function *innermost, long argument)                      \
    {                                                                                                        \
        char room[16 + (size_t)argument % 16];                                                               \
        __asm__ volatile("" ::"r"(room) : "memory");                                                         \
        next(innermost, argument);                                                                           \
        __asm__ volatile("" ::"r"(room) : "memory");                                                         \
    }

static __attribute__((noinline)) void deep11(deep_function *innermost, long argument)
{
    innermost(argument);
    DEEP_BARRIER();
}
DEEP_FRAME(deep10, deep11)
DEEP_FRAME_POINTER(deep09, deep10)
DEEP_FRAME(deep08, deep09)
DEEP_FRAME(deep07, deep08)
DEEP_FRAME_POINTER(deep06, deep07)
DEEP_FRAME(deep_call, deep06)

#endif
