/*
 * What an MPI call costs by the way on which the program came to it: one call path or many through one call
 * site, procedures that are called through pointers, frames whose size changes, recursion, deep stacks,
 * tables that are full, callers in C, C++ and Fortran.
 *
 *   paths batches N      N pairs of batches of every pattern but the following two
 *   paths first N        paths that are met for the first time
 *   paths full N         paths that find no room: the table of frames is full
 *
 * One rank, MPI_Iprobe on MPI_COMM_SELF: a cheap call that always does the same. Measured in pairs of batches
 * (pairs.h); what the program does to take a path is in both of a pair.
 */
#include "paths.h"

#include "timing.h"

#include <alloca.h>
#include <string.h>

enum { ORDER = 4096, FIRST_ROUTES = 64, FULL_ROUTES = 3000, UNKNOWN = 1 << 11 };

int paths_way;
static paths_call *const calls[PAIRS_WAYS] = {MPI_Iprobe, PMPI_Iprobe};
paths_call *paths_iprobe = MPI_Iprobe;

static void take(enum pairs_way way)
{
    paths_way = way;
    paths_iprobe = calls[way];
}

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state >> 11;
}

/* ---- callers ---- */

static PATHS_NOINLINE void exchange(void)
{
    int flag;
    paths_iprobe(0, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    PATHS_SITE(0);
}

static PATHS_NOINLINE void exchange_at(uint64_t route)
{
    (void)route;
    int flag;
    paths_iprobe(0, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    PATHS_SITE(1);
}

/* Four call sites. Some frames have a frame pointer (an array of variable length makes the compiler keep
 * one). */
#define SITES(next, route, shift)                                                                            \
    switch ((route) >> (shift)&3) {                                                                          \
    case 0:                                                                                                  \
        next(route);                                                                                         \
        PATHS_SITE(0);                                                                                       \
        break;                                                                                               \
    case 1:                                                                                                  \
        next(route);                                                                                         \
        PATHS_SITE(1);                                                                                       \
        break;                                                                                               \
    case 2:                                                                                                  \
        next(route);                                                                                         \
        PATHS_SITE(2);                                                                                       \
        break;                                                                                               \
    default:                                                                                                 \
        next(route);                                                                                         \
        PATHS_SITE(3);                                                                                       \
    }

#define LEVEL(name, next, shift)                                                                             \
    static PATHS_NOINLINE void name(uint64_t route)                                                          \
    {                                                                                                        \
        SITES(next, route, shift)                                                                            \
    }
#define LEVEL_FRAME_POINTER(name, next, shift)                                                               \
    static PATHS_NOINLINE void name(uint64_t route)                                                          \
    {                                                                                                        \
        char room[16 + (size_t)(route >> 63) * 16];                                                          \
        __asm__ volatile("" ::"r"(room) : "memory");                                                         \
        SITES(next, route, shift)                                                                            \
        __asm__ volatile("" ::"r"(room) : "memory");                                                         \
    }

LEVEL(level_6, exchange_at, 10)
LEVEL(level_5, level_6, 8)
LEVEL_FRAME_POINTER(level_4, level_5, 6)
LEVEL(level_3, level_4, 4)
LEVEL(level_2, level_3, 2)
LEVEL_FRAME_POINTER(level_1, level_2, 0)

/* 34 levels of two call sites each. */
#define TWO_SITES(name, next, shift)                                                                         \
    static PATHS_NOINLINE void name(uint64_t route)                                                          \
    {                                                                                                        \
        if (route >> (shift)&1) {                                                                            \
            next(route);                                                                                     \
            PATHS_SITE(1);                                                                                   \
        } else {                                                                                             \
            next(route);                                                                                     \
            PATHS_SITE(0);                                                                                   \
        }                                                                                                    \
    }
#define FOUR_LEVELS(a, b, c, d, next, shift)                                                                 \
    TWO_SITES(d, next, (shift) + 3)                                                                          \
    TWO_SITES(c, d, (shift) + 2)                                                                             \
    TWO_SITES(b, c, (shift) + 1)                                                                             \
    TWO_SITES(a, b, shift)

TWO_SITES(deep_33, exchange_at, 33)
TWO_SITES(deep_32, deep_33, 32)
FOUR_LEVELS(deep_28, deep_29, deep_30, deep_31, deep_32, 28)
FOUR_LEVELS(deep_24, deep_25, deep_26, deep_27, deep_28, 24)
FOUR_LEVELS(deep_20, deep_21, deep_22, deep_23, deep_24, 20)
FOUR_LEVELS(deep_16, deep_17, deep_18, deep_19, deep_20, 16)
FOUR_LEVELS(deep_12, deep_13, deep_14, deep_15, deep_16, 12)
FOUR_LEVELS(deep_08, deep_09, deep_10, deep_11, deep_12, 8)
FOUR_LEVELS(deep_04, deep_05, deep_06, deep_07, deep_08, 4)
FOUR_LEVELS(deep_00, deep_01, deep_02, deep_03, deep_04, 0)

/* Five levels, always the same sites: what is below the patterns that vary at their inner end. */
typedef void innermost(long argument);
static PATHS_NOINLINE void below_5(innermost *f, long argument)
{
    f(argument);
    PATHS_SITE(0);
}
#define BELOW(name, next)                                                                                    \
    static PATHS_NOINLINE void name(innermost *f, long argument)                                             \
    {                                                                                                        \
        next(f, argument);                                                                                   \
        PATHS_SITE(0);                                                                                       \
    }
BELOW(below_4, below_5)
BELOW(below_3, below_4)
BELOW(below_2, below_3)
BELOW(below, below_2)

/* 64 procedures behind one pointer. */
#define POINTED(n)                                                                                           \
    static PATHS_NOINLINE void pointed_##n(void)                                                             \
    {                                                                                                        \
        exchange();                                                                                          \
        PATHS_SITE(pointed_##n);                                                                             \
    }
#define EIGHT(M, n) M(n##0) M(n##1) M(n##2) M(n##3) M(n##4) M(n##5) M(n##6) M(n##7)
#define SIXTY_FOUR(M)                                                                                        \
    EIGHT(M, 0) EIGHT(M, 1) EIGHT(M, 2) EIGHT(M, 3) EIGHT(M, 4) EIGHT(M, 5) EIGHT(M, 6) EIGHT(M, 7)
SIXTY_FOUR(POINTED)
#define NAME_OF(n) pointed_##n,
static void (*const pointed[64])(void) = {SIXTY_FOUR(NAME_OF)};

/* ---- in which order ---- */

static uint16_t random_order[ORDER];

static void shuffle(void)
{
    for (int i = 0; i < ORDER; i++)
        random_order[i] = (uint16_t)(next_random() % ORDER);
}

static uint32_t in_turn(long i)
{
    return (uint32_t)i;
}

static uint32_t at_random(long i)
{
    return random_order[i % ORDER];
}

/* The n-th route of twelve bits; bits are given out so that few routes differ at several levels already. */
static uint64_t route_of(uint32_t n)
{
    static const int places[] = {4, 8, 0, 10, 2, 6, 5, 9, 1, 11, 3, 7};
    uint64_t route = 0;
    for (int bit = 0; bit < 12; bit++)
        route |= (uint64_t)(n >> bit & 1) << places[bit];
    return route;
}

static uint64_t routes[ORDER], deep_routes[ORDER];

static void make_routes(void)
{
    for (uint32_t n = 0; n < ORDER; n++) {
        routes[n] = route_of(n);
        deep_routes[n] = next_random();
    }
    shuffle();
}

/* ---- the patterns: run, walk, six levels, the caller: main and two of pairs.c before them, that is the 12th
 * ---- */

#define ROUTES(name, order, first, count, array)                                                             \
    static PATHS_NOINLINE void walk_##name(void (*const go)(uint64_t), long iterations)                      \
    {                                                                                                        \
        for (long i = 0; i < iterations; i++)                                                                \
            go(array[(first) + order(i) % (count)]);                                                         \
        PATHS_SITE(0);                                                                                       \
    }
#define RUN(name, walk, go)                                                                                  \
    static void name(long iterations)                                                                        \
    {                                                                                                        \
        walk_##walk(go, iterations);                                                                         \
        PATHS_SITE(0);                                                                                       \
    }

ROUTES(turn_1, in_turn, 0, 1, routes)
ROUTES(turn_2, in_turn, 0, 2, routes)
ROUTES(turn_3, in_turn, 0, 3, routes)
ROUTES(turn_4, in_turn, 0, 4, routes)
ROUTES(turn_16, in_turn, 0, 16, routes)
ROUTES(turn_64, in_turn, 0, 64, routes)
ROUTES(turn_1024, in_turn, 0, 1024, routes)
ROUTES(random_2, at_random, 0, 2, routes)
ROUTES(random_3, at_random, 0, 3, routes)
ROUTES(random_16, at_random, 0, 16, routes)
ROUTES(random_64, at_random, 0, 64, routes)
ROUTES(random_1024, at_random, 0, 1024, routes)
ROUTES(deep, at_random, 0, 64, deep_routes)
ROUTES(unknown, at_random, UNKNOWN, 64, routes)

RUN(run_1, turn_1, level_1)
RUN(run_2, turn_2, level_1)
RUN(run_3, turn_3, level_1)
RUN(run_4, turn_4, level_1)
RUN(run_16, turn_16, level_1)
RUN(run_64, turn_64, level_1)
RUN(run_1024, turn_1024, level_1)
RUN(run_random_2, random_2, level_1)
RUN(run_random_3, random_3, level_1)
RUN(run_random_16, random_16, level_1)
RUN(run_random_64, random_64, level_1)
RUN(run_random_1024, random_1024, level_1)
RUN(run_deep, deep, deep_00)
RUN(run_unknown, unknown, level_1)
#ifdef WITH_CXX
RUN(run_cxx_1, turn_1, paths_cxx)
RUN(run_cxx_64, random_64, paths_cxx)
#endif
#ifdef WITH_FORTRAN
RUN(run_f08_1, turn_1, paths_f08)
RUN(run_f08_64, random_64, paths_f08)
#endif

/* run, five of below, the loop, a caller, exchange: the 12th. */
#define BELOW_RUN(name, loop)                                                                                \
    static void name(long iterations)                                                                        \
    {                                                                                                        \
        below(loop, iterations);                                                                             \
        PATHS_SITE(0);                                                                                       \
    }

static PATHS_NOINLINE void three_sites(uint32_t which)
{
    if (which == 0) {
        exchange();
        PATHS_SITE(0);
    } else if (which == 1) {
        exchange();
        PATHS_SITE(1);
    } else {
        exchange();
        PATHS_SITE(2);
    }
}

static void loop_sites(long iterations)
{
    for (long i = 0; i < iterations; i++)
        three_sites((uint32_t)(i % 3));
    PATHS_SITE(0);
}
BELOW_RUN(run_sites, loop_sites)

static void loop_pointers(long iterations)
{
    for (long i = 0; i < iterations; i++)
        pointed[at_random(i) % 64]();
    PATHS_SITE(0);
}
BELOW_RUN(run_pointers, loop_pointers)

static PATHS_NOINLINE void with_alloca(size_t bytes)
{
    char *room = alloca(bytes);
    __asm__ volatile("" ::"r"(room) : "memory");
    exchange();
    PATHS_SITE(0);
}

static void loop_alloca(long iterations)
{
    for (long i = 0; i < iterations; i++)
        with_alloca(16 + 16 * (size_t)(at_random(i) % 1024));
    PATHS_SITE(0);
}
BELOW_RUN(run_alloca, loop_alloca)

static PATHS_NOINLINE void with_array(size_t count)
{
    double room[count];
    __asm__ volatile("" ::"r"(room) : "memory");
    exchange();
    PATHS_SITE(0);
}

static void loop_array(long iterations)
{
    for (long i = 0; i < iterations; i++)
        with_array(1 + (size_t)(at_random(i) % 3000));
    PATHS_SITE(0);
}
BELOW_RUN(run_array, loop_array)

static PATHS_NOINLINE void recurse(uint32_t depth) /* NOLINT(misc-no-recursion) */
{
    if (depth > 1)
        recurse(depth - 1);
    else
        exchange();
    PATHS_SITE(0);
}

static void loop_recursion(long iterations)
{
    for (long i = 0; i < iterations; i++)
        recurse(1 + at_random(i) % 16);
    PATHS_SITE(0);
}
BELOW_RUN(run_recursion, loop_recursion)

/* Each batch through the tool has routes that were never taken; the one past it takes the same ones. */
static void run_first(long iterations)
{
    static uint32_t used[PAIRS_WAYS];
    for (long i = 0; i < iterations; i++)
        level_1(routes[used[paths_way]++ * 1237u % ORDER]);
    PATHS_SITE(0);
}

static struct pairs_pattern patterns[] = {
    {.name = "1 path", .run = run_1, .calls = 1},
    {.name = "2 paths in turn", .run = run_2, .calls = 1},
    {.name = "2 paths at random", .run = run_random_2, .calls = 1},
    {.name = "3 paths in turn", .run = run_3, .calls = 1},
    {.name = "3 paths at random", .run = run_random_3, .calls = 1},
    {.name = "3 call sites of one exchange()", .run = run_sites, .calls = 1},
    {.name = "4 paths in turn", .run = run_4, .calls = 1},
    {.name = "16 paths in turn", .run = run_16, .calls = 1},
    {.name = "16 paths at random", .run = run_random_16, .calls = 1},
    {.name = "64 paths in turn", .run = run_64, .calls = 1},
    {.name = "64 paths at random", .run = run_random_64, .calls = 1},
    {.name = "1024 paths in turn", .run = run_1024, .calls = 1},
    {.name = "1024 paths at random", .run = run_random_1024, .calls = 1},
    {.name = "64 function pointers", .run = run_pointers, .calls = 1},
    {.name = "alloca of 1024 sizes", .run = run_alloca, .calls = 1},
    {.name = "random VLA", .run = run_array, .calls = 1},
    {.name = "recursion, 1 to 16 deep", .run = run_recursion, .calls = 1},
    {.name = "40 frames, 64 paths", .run = run_deep, .calls = 1},
#ifdef WITH_CXX
    {.name = "C++, 1 path", .run = run_cxx_1, .calls = 1},
    {.name = "C++, 64 paths, exceptions", .run = run_cxx_64, .calls = 1},
#endif
#ifdef WITH_FORTRAN
    {.name = "Fortran 2008, 1 path", .run = run_f08_1, .calls = 1},
    {.name = "Fortran 2008, 64 paths", .run = run_f08_64, .calls = 1},
#endif
};
static struct pairs_pattern first_pattern = {
    .name = "first time", .run = run_first, .calls = 1, .iterations = FIRST_ROUTES};
static struct pairs_pattern full_pattern = {.name = "full table, 64 paths", .run = run_unknown, .calls = 1};

/* A random route of 34 levels leaves the known ones after ten or so: 20 frames are new. */
static void fill_table(void)
{
    take(PAIRS_THROUGH_TOOL);
    for (int i = 0; i < FULL_ROUTES; i++)
        deep_00(next_random());
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    make_routes();
    const char *mode = argc > 2 ? argv[1] : "";
    int batches = argc > 2 ? atoi(argv[2]) : 0;
    struct pairs pairs = {MPI_COMM_SELF, take, patterns, sizeof patterns / sizeof patterns[0]};
    if (strcmp(mode, "first") == 0) {
        pairs.patterns = &first_pattern;
        batches = batches < ORDER / FIRST_ROUTES ? batches : ORDER / FIRST_ROUTES - 1;
    } else if (strcmp(mode, "full") == 0) {
        pairs.patterns = &full_pattern;
        fill_table();
    }
    if (pairs.patterns != patterns)
        pairs.count = 1;
    if (*mode && batches > 0 && batches <= TIMING_MAX_BATCHES)
        pairs_measure(&pairs, batches);
    else
        fprintf(stderr, "usage: paths batches|first|full N\n");
    MPI_Finalize();
    return 0;
}
