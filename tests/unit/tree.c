/* Six kinds of frames; NAME is the table's name, FIRST the number of its first function. */
#include "tree.h"

#include "capture.h"

#include <alloca.h>
#include <string.h>

/* What every function does: makes MPI calls at two sites and calls other functions at two more. The empty asm
 * statements keep the sites apart and the frame alive. */
#define BODY(number)                                                                                         \
    uint32_t path, node;                                                                                     \
    tree_push(FIRST + (number));                                                                             \
    for (uint32_t steps = 1 + tree_random(3); steps > 0; steps--) {                                          \
        tree_function *next = tree_any();                                                                    \
        switch (depth < TREE_MAX_DEPTH ? tree_random(4) : tree_random(2)) {                                  \
        case 0:                                                                                              \
            tree_at(0);                                                                                      \
            node = test_call_unwound(1, &path);                                                              \
            __asm__ volatile("# 0" ::: "memory");                                                            \
            tree_checked_call(node, path);                                                                   \
            break;                                                                                           \
        case 1:                                                                                              \
            tree_at(1);                                                                                      \
            node = test_call_unwound(1, &path);                                                              \
            __asm__ volatile("# 1" ::: "memory");                                                            \
            tree_checked_call(node, path);                                                                   \
            break;                                                                                           \
        case 2:                                                                                              \
            tree_at(2);                                                                                      \
            next(depth + 1);                                                                                 \
            __asm__ volatile("# 2" ::: "memory");                                                            \
            break;                                                                                           \
        default:                                                                                             \
            tree_at(3);                                                                                      \
            next(depth + 1);                                                                                 \
            __asm__ volatile("# 3" ::: "memory");                                                            \
        }                                                                                                    \
    }                                                                                                        \
    tree_pop();

#define FUNCTION static __attribute__((noipa)) void

FUNCTION plain(uint32_t depth){BODY(0)}

FUNCTION with_room(uint32_t depth)
{
    char room[112];
    __asm__ volatile("" ::"r"(room) : "memory");
    BODY(1)
}

/* The size of the frame is not known from the code: other callers may come to stand at the same place. */
FUNCTION with_alloca(uint32_t depth)
{
    char *room = alloca(16 + 16 * tree_noise(2));
    __asm__ volatile("" ::"r"(room) : "memory");
    BODY(2)
}

FUNCTION realigned(uint32_t depth)
{
    __attribute__((aligned(64))) char room[64];
    __asm__ volatile("" ::"r"(room) : "memory");
    BODY(3)
}

FUNCTION realigned_alloca(uint32_t depth)
{
    __attribute__((aligned(128))) char room[128];
    char *more = alloca(16 + 16 * tree_noise(2));
    __asm__ volatile("" ::"r"(room), "r"(more) : "memory");
    BODY(4)
}

FUNCTION with_array(uint32_t depth)
{
    char room[16 + 16 * tree_noise(2)];
    memset(room, 0, sizeof room);
    __asm__ volatile("" ::"r"(room) : "memory");
    BODY(5)
}

tree_function *const NAME[TREE_FUNCTIONS] = {plain,     with_room,        with_alloca,
                                             realigned, realigned_alloca, with_array};
