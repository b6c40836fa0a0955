/*
 * capture/paths: which path a call is on. Whatever the frames look like, the remembered answer is the one
 * that a full unwinding gives, and different paths are different nodes.
 */
#include "capture.h"
#include "tree.h"

#include <alloca.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifndef CALLS
#define CALLS 100000
#endif

#define NOIPA static __attribute__((noipa))
#define KEEP __asm__ volatile("" ::: "memory")

/* What was not just walked: frames that were new, stacks that only the library's unwinder understands. */
static uint64_t efforts(void)
{
    return GN_GET(test_location()->learned) + GN_GET(test_location()->unwound);
}

static uint32_t path_of(uint32_t node)
{
    return GN_GET(test_location()->nodes[node].path);
}

NOIPA uint32_t leaf(void)
{
    uint32_t node = test_call(1, 1);
    KEEP;
    return node;
}

NOIPA uint32_t caller_a(void)
{
    uint32_t node = leaf();
    KEEP;
    return node;
}

NOIPA uint32_t caller_b(void)
{
    uint32_t node = leaf();
    KEEP;
    return node;
}

static void same_path_is_remembered(void **state)
{
    (void)state;
    uint32_t first = UINT32_MAX;
    uint64_t slow = 0;
#pragma GCC unroll 1
    for (int i = 0; i < 100; i++) {
        uint32_t node = caller_a();
        if (i == 0) {
            first = node;
            slow = efforts();
        }
        assert_int_equal(node, first);
    }
    assert_int_equal(efforts(), slow);
}

static void other_caller_is_another_node(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_not_equal(caller_a(), caller_b());
}

static void other_activity_is_another_node(void **state)
{
    (void)state;
    uint32_t nodes[2];
    volatile uint32_t two = 2; /* one site, not a copy for each turn */
#pragma GCC unroll 1
    for (uint32_t i = 0; i < two; i++)
        nodes[i] = test_call(10 + i, 1);
    assert_int_not_equal(nodes[0], nodes[1]);
    assert_int_equal(path_of(nodes[0]), path_of(nodes[1]));
}

/* ---- frames at the same stack pointer, of different callers ---- */

NOIPA uint32_t moved_leaf(uint32_t bytes)
{
    char *room = alloca(bytes);
    __asm__ volatile("" ::"r"(room) : "memory");
    uint32_t node = test_call(2, 1);
    KEEP;
    return node;
}

NOIPA uint32_t moved_a(uint32_t bytes)
{
    uint32_t node = moved_leaf(bytes);
    KEEP;
    return node;
}

NOIPA uint32_t moved_b(uint32_t bytes)
{
    char room[256];
    __asm__ volatile("" ::"r"(room) : "memory");
    uint32_t node = moved_leaf(bytes);
    KEEP;
    return node;
}

static void alloca_at_the_same_place(void **state)
{
    (void)state;
    for (uint32_t more = 0; more <= 512; more += 16) {
        moved_a(more + 16);
        const void *frame_a = test_last_frame;
        for (uint32_t bytes = 16; bytes <= 1024; bytes += 16) {
            moved_b(bytes);
            if (test_last_frame != frame_a)
                continue;
            for (int i = 0; i < 4; i++)
                assert_int_not_equal(moved_a(more + 16), moved_b(bytes));
            return;
        }
    }
    fail_msg("no two sizes brought the frames to the same place");
}

NOIPA uint32_t aligned_leaf(void)
{
    __attribute__((aligned(64))) char room[64];
    __asm__ volatile("" ::"r"(room) : "memory");
    uint32_t node = test_call(3, 1);
    KEEP;
    return node;
}

NOIPA uint32_t aligned_a(void)
{
    uint32_t node = aligned_leaf();
    KEEP;
    return node;
}

NOIPA uint32_t aligned_b(void)
{
    char room[16];
    __asm__ volatile("" ::"r"(room) : "memory");
    uint32_t node = aligned_leaf();
    KEEP;
    return node;
}

/* Realigning swallows small differences of the stack pointer: both callers' leaves stand at one place. */
static void realigned_at_the_same_place(void **state)
{
    (void)state;
    for (uint32_t bytes = 16; bytes <= 64; bytes += 16) {
        char *room = alloca(bytes);
        __asm__ volatile("" ::"r"(room) : "memory");
        for (int i = 0; i < 3; i++)
            assert_int_not_equal(aligned_a(), aligned_b());
    }
    uint64_t slow = 0;
#pragma GCC unroll 1
    for (int i = 0; i < 100; i++) {
        aligned_a();
        slow = i == 0 ? efforts() : slow;
    }
    assert_int_equal(efforts(), slow); /* such frames are remembered too */
}

/* ---- recursion ---- */

NOIPA uint32_t recurse(int depth)
{
    uint32_t node = depth > 1 ? recurse(depth - 1) : test_call(4, 1);
    KEEP;
    return node;
}

static void recursion_is_folded(void **state)
{
    (void)state;
    uint32_t before = GN_GET(test_location()->node_count);
    for (int depth = 1; depth <= 1000; depth++)
        recurse(depth);
    uint32_t added = GN_GET(test_location()->node_count) - before;
    assert_in_range(added, 1, 6); /* not recursing, folded, folded and cut at GN_MAX_DEPTH */
}

NOIPA uint32_t odd(int depth);

NOIPA uint32_t even(int depth)
{
    uint32_t node = depth > 0 ? odd(depth - 1) : test_call(5, 1);
    KEEP;
    return node;
}

NOIPA uint32_t odd(int depth)
{
    uint32_t node = depth > 0 ? even(depth - 1) : test_call(5, 1);
    KEEP;
    return node;
}

static void mutual_recursion_is_folded(void **state)
{
    (void)state;
    uint32_t before = GN_GET(test_location()->node_count);
    for (int depth = 0; depth < 1000; depth++) {
        even(depth);
        odd(depth);
    }
    uint32_t added = GN_GET(test_location()->node_count) - before;
    assert_in_range(added, 2, 16);
}

NOIPA uint32_t g(int which, int more);

NOIPA uint32_t f(int which, int more)
{
    uint32_t node = more ? g(which, more - 1) : test_call(6, 1);
    KEEP;
    return node;
}

NOIPA uint32_t g(int which, int more)
{
    uint32_t node = more ? f(which, more - 1) : test_call(6, 1);
    KEEP;
    return node;
}

static void order_of_procedures_matters(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_not_equal(f(0, 1), g(0, 1));
}

static void folded_frame_says_so(void **state)
{
    (void)state;
    uint32_t path = path_of(recurse(5));
    assert_int_equal(gn_segment->frames[path].folded, 1);
    assert_int_equal(gn_segment->frames[path_of(leaf())].folded, 0);
}

static void frames_have_modules(void **state)
{
    (void)state;
    uint32_t path = path_of(leaf());
    assert_true(path > 0);
    for (; path; path = gn_segment->frames[path].parent)
        assert_int_not_equal(gn_segment->frames[path].module, 0);
    assert_true(gn_segment->modules[1].build_id_bytes > 0);
}

/* ---- random call trees ---- */

static struct {
    int function, site;
} shadow[TREE_MAX_DEPTH + 8];
static int shadow_depth;
static uint64_t tree_state, noise_state;
static uint32_t made;

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 33) % below;
}

uint32_t tree_random(uint32_t below)
{
    return draw(&tree_state, below);
}

uint32_t tree_noise(uint32_t below)
{
    return draw(&noise_state, below);
}

tree_function *tree_any(void)
{
    tree_function *const *const tables[] = {tree_o2, tree_o2_fp, tree_o0};
    return tables[tree_random(3)][tree_random(TREE_FUNCTIONS)];
}

void tree_push(int function)
{
    shadow[shadow_depth].function = function;
    shadow[shadow_depth++].site = -1;
}

void tree_at(int site)
{
    shadow[shadow_depth - 1].site = site;
}

void tree_pop(void)
{
    shadow_depth--;
}

/* What is true of each path: the shadow stack with recursion folded, as the header describes it. */
static void fold_shadow(char *text)
{
    int kept[TREE_MAX_DEPTH + 8][2], count = 0;
    for (int i = 0; i < shadow_depth; i++) {
        int same = 0;
        while (same < count && kept[same][0] != shadow[i].function)
            same++;
        kept[same][0] = shadow[i].function;
        kept[same][1] = shadow[i].site;
        count = same + 1;
    }
    for (int i = 0; i < count; i++)
        text += sprintf(text, "%d.%d ", kept[i][0], kept[i][1]);
}

static char *truth_of[GN_MAX_FRAMES]; /* by path */

void tree_checked_call(uint32_t node, uint32_t path)
{
    char truth[16 * (TREE_MAX_DEPTH + 8)];
    made++;
    assert_int_not_equal(node, UINT32_MAX);
    assert_int_equal(path_of(node), path);
    fold_shadow(truth);
    if (!truth_of[path])
        truth_of[path] = strdup(truth);
    assert_string_equal(truth_of[path], truth);
}

static void tree_forget(void)
{
    for (size_t i = 0; i < GN_MAX_FRAMES; i++) {
        free(truth_of[i]);
        truth_of[i] = NULL;
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Every kind of frame's rule is understood: on the same stack nothing is new. */
static void every_kind_is_remembered(void **state)
{
    (void)state;
    uint64_t again = 0;
    tree_function *const *const tables[] = {tree_o2, tree_o2_fp, tree_o0};
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < TREE_FUNCTIONS; i++) {
            volatile int three = 3;
#pragma GCC unroll 1
            for (int turn = 0; turn < three; turn++) {
                uint64_t before = efforts();
                tree_state = noise_state = 4711;
                tables[t][i](TREE_MAX_DEPTH);
                again += turn > 0 ? efforts() - before : 0;
            }
        }
    assert_int_equal(again, 0);
    assert_int_equal(GN_GET(test_location()->unwound), 0);
    tree_forget();
}

/* Few different trees, each grown many times with frames of other sizes, in random order. */
static void random_trees(void **state)
{
    (void)state;
    enum { TREES = CALLS / 1000 };
    const char *given = getenv("SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : 20261121;
    print_message("seed %llu\n", (unsigned long long)seed);
    noise_state = seed;
#pragma GCC unroll 1
    while (made < CALLS) {
        tree_state = (seed + tree_noise(TREES)) * 0x9e3779b97f4a7c15ull;
        tree_any()(TREE_MAX_DEPTH - 6);
        assert_int_equal(shadow_depth, 0);
    }
    print_message("%u calls on %u frames, %u nodes; %llu frames learned\n", made,
                  GN_GET(gn_segment->frame_count), GN_GET(test_location()->node_count),
                  (unsigned long long)efforts());
    assert_int_equal(GN_GET(test_location()->lost_paths), 0);
    assert_int_equal(GN_GET(test_location()->nodes[2].time.count), 0);
    assert_true(efforts() < CALLS * 3 / 4); /* or nothing was remembered, and nothing tested */
    assert_int_equal(GN_GET(test_location()->unwound), 0);
    size_t count = 0;
    for (size_t i = 0; i < GN_MAX_FRAMES; i++)
        if (truth_of[i]) {
            char *text = truth_of[i];
            truth_of[i] = NULL;
            truth_of[count++] = text;
        }
    qsort(truth_of, count, sizeof *truth_of, by_text);
    for (size_t i = 1; i < count; i++) /* and one path has one index */
        assert_string_not_equal(truth_of[i - 1], truth_of[i]);
    tree_forget();
}

static int open_recorder(void **state)
{
    (void)state;
    struct gn_tag *segment = test_segment(2);
    return segment ? gn_recorder_open(segment, gn_ticks()) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_path_is_remembered),        cmocka_unit_test(other_caller_is_another_node),
        cmocka_unit_test(other_activity_is_another_node), cmocka_unit_test(alloca_at_the_same_place),
        cmocka_unit_test(realigned_at_the_same_place),    cmocka_unit_test(recursion_is_folded),
        cmocka_unit_test(mutual_recursion_is_folded),     cmocka_unit_test(order_of_procedures_matters),
        cmocka_unit_test(folded_frame_says_so),           cmocka_unit_test(frames_have_modules),
        cmocka_unit_test(every_kind_is_remembered),       cmocka_unit_test(random_trees),
    };
    return cmocka_run_group_tests(tests, open_recorder, NULL);
}
