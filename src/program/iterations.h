/*
 * program/iterations — how often loops are entered and gone round between two calls that were recorded.
 *
 * Nothing is instrumented: that control went from the one call to the other without a third in between rules
 * out most ways through the function. Of those left over, the smallest and the largest number of times that
 * a loop was entered and that its body was begun are found. So from a call to itself, around a loop, it is
 * one iteration when every way round passes a recorded call, else at least one (Sikora 2016, 3.1.1, without
 * probes in loops).
 *
 * An iteration is counted when control comes to the loop's head, by entering it or by going round, and taken
 * back where it then leaves through the loop's test, ahead of the body. Where it cannot be told whether a way
 * out is the test or a `break` ahead of every call, both are counted as possible.
 */
#ifndef GNOMON_PROGRAM_ITERATIONS_H
#define GNOMON_PROGRAM_ITERATIONS_H

#include "program/program.h"

enum { GN_PASS_MANY = 2 }; /* of a high end: any number */

/* In the place of a call: the function is left by a jump into another one, which returns in its place. */
#define GN_ITERATIONS_TAIL UINT64_MAX

struct gn_pass {                         /* of one loop, for one way from call to call */
    int entries_low, entries_high;       /* 0 … 2 */
    int iterations_low, iterations_high; /* -1 … 2: a round that was begun ahead of the first call can end */
    /* the fewest, where a way out that may be the test ahead of the body takes back no round but one that was
     * begun on the way */
    int entries_likely, iterations_likely;
};

struct gn_loop_around {
    uint64_t head; /* its first instruction, from the load base: what the loop is known by */
    struct gn_program_place place;
    unsigned doubts; /* bits of enum gn_loop_doubt (program/shape.h); 0: it is what it seems */
};

struct gn_iterations; /* what is known of one program; for one thread at a time */

/* NULL: no memory. The program stays open until it is freed. */
struct gn_iterations *gn_iterations_new(struct gn_program *program);
void gn_iterations_free(struct gn_iterations *iterations);

/* The loops of its function around the call that returns to `offset`, outermost first; at most max. */
size_t gn_iterations_around(struct gn_iterations *iterations, uint64_t offset, struct gn_loop_around *loops,
                            size_t max);

/*
 * The ways from the call that returns to `from` (0: from the begin of the function) to the call that returns
 * to `to` (0: until the function is left; or GN_ITERATIONS_TAIL), without another recorded call. passes[i]:
 * of the loop with heads[i]. True: there are such ways; false: none, or the code is not understood.
 */
bool gn_iterations_between(struct gn_iterations *iterations, uint64_t from, uint64_t to,
                           const uint64_t *heads, size_t count, struct gn_pass *passes);

/* Whether the function of the call that returns to `offset` could be read. */
bool gn_iterations_know(struct gn_iterations *iterations, uint64_t offset);

/* Says that no call of `symbol` that returns to `offset` comes back without one that is recorded. For calls
 * into another program, which gn_iterations_between takes for silent otherwise. Nothing happens when it is
 * not that which is called there. */
void gn_iterations_never_silent(struct gn_iterations *iterations, uint64_t offset, const char *symbol);

/* Whether an exception that leaves the call that returns to `offset` may end in its function. */
bool gn_iterations_catches(struct gn_iterations *iterations, uint64_t offset);

/* The symbol that the function around the call begins with; NULL: it has none. Belongs to the program. */
const char *gn_iterations_symbol(struct gn_iterations *iterations, uint64_t offset);

/* Whether the function of the call that returns to `offset` can be passed without a recorded call after a
 * round of that loop was begun: then rounds may be missing in what is counted. */
bool gn_iterations_go_unseen(struct gn_iterations *iterations, uint64_t offset, uint64_t head);

/* Whether the call that returns to `offset` may come back without one that is recorded. */
bool gn_iterations_may_be_silent(struct gn_iterations *iterations, uint64_t offset);

/* Whether the call that returns to `offset` is, as far as the code says, not itself a recorded one: then what
 * was recorded there was called by a function that had jumped to it, and left no frame. */
bool gn_iterations_hides_function(struct gn_iterations *iterations, uint64_t offset);

/* Whether the function around `offset` can be passed without a call that is recorded, as far as is known. */
bool gn_iterations_is_silent(struct gn_iterations *iterations, uint64_t offset);

#endif
