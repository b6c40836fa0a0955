/*
 * unwind/rule — from a frame to its caller's frame, in a few instructions.
 *
 * Read this page first. An executable's unwind tables say, for each address in it, how the registers of the
 * caller are found (DWARF 5, section 6.4). Interpreting them costs hundreds of nanoseconds, and the answer
 * depends on the address alone: so it is compiled once into a rule of eight bytes, and whoever walks stacks
 * keeps rules by return address. unwind/cfi compiles, unwind/table finds what is to be compiled.
 *
 *   CFA   the stack pointer that the caller had at its call     = sp + c, fp + c, or *(fp + c)
 *   ip    the return address                                    = *(CFA + r)
 *   fp    the caller's frame pointer                            unchanged, *(CFA + f), or *fp
 *
 * These forms cover what compilers emit on x86-64 (fp: rbp) and AArch64 (fp: x29); everything else, signal
 * frames among it, is GN_RULE_SLOW, which is a safe answer: somebody else has to unwind that stack.
 *
 * Nothing in this room allocates, locks, or calls a library.
 */
#ifndef GNOMON_UNWIND_RULE_H
#define GNOMON_UNWIND_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gn_rule_kind {
    GN_RULE_SP,        /* CFA = sp + offset; fp unchanged or *(CFA + f) */
    GN_RULE_FP,        /* CFA = fp + offset; likewise */
    GN_RULE_REALIGNED, /* CFA = *(fp + offset), fp = *fp: frames that realign the stack */
    GN_RULE_END,       /* the outermost frame: it has no caller, or nothing is known of one */
    GN_RULE_SLOW,      /* not understood */
    GN_RULE_OUTSIDE,   /* code in no executable that is loaded: nothing is known of its caller now */
    GN_RULE_KEPT,      /* never compiled: a mark of whoever keeps rules */
};

struct gn_rule {
    int32_t cfa;      /* offset in bytes, a multiple of 8, plus the kind */
    int16_t fp_words; /* where the caller's fp is; 0: it is unchanged */
    int16_t ip_words; /* where the return address is, from the CFA; on x86-64 always -1 */
};
_Static_assert(sizeof(struct gn_rule) == 8, "a rule is a word");

static inline enum gn_rule_kind gn_rule_kind(struct gn_rule rule)
{
    return (enum gn_rule_kind)(rule.cfa & 7);
}

static inline struct gn_rule gn_rule_of_kind(enum gn_rule_kind kind)
{
    return (struct gn_rule){.cfa = (int32_t)kind};
}

/* What is known of a frame: where it is called on from, and the registers there. */
struct gn_registers {
    uintptr_t ip; /* a return address into the frame */
    uintptr_t sp; /* its stack pointer at the call: the CFA of the frame that it called */
    uintptr_t fp;
};

/* AArch64 may sign return addresses (the hint is xpaclri, and nothing on processors that do not know it). */
static inline uintptr_t gn_plain_address(uintptr_t address)
{
#if defined(__aarch64__)
    register uintptr_t x30 __asm__("x30") = address;
    __asm__("hint #7" : "+r"(x30));
    return x30;
#else
    return address;
#endif
}

static inline uintptr_t gn_stack_word(uintptr_t address)
{
    return *(const uintptr_t *)address;
}

/* A copy of some of a stack, from `address` on: what a sampler was given of another process. */
struct gn_stack_copy {
    const uint8_t *at;
    uintptr_t address;
    size_t count;
    bool left; /* something was asked for that it does not have */
};

/* copy: NULL where the stack itself is at hand. */
static inline __attribute__((always_inline)) uintptr_t gn_stack_word_in(uintptr_t address,
                                                                        struct gn_stack_copy *copy)
{
    uintptr_t word = 0;
    if (!copy)
        return gn_stack_word(address);
    const uintptr_t offset = address - copy->address;
    if (address < copy->address || copy->count < sizeof word || offset > copy->count - sizeof word)
        copy->left = true;
    else
        __builtin_memcpy(&word, copy->at + offset, sizeof word);
    return word;
}

static inline uintptr_t gn_rule_ip_at(struct gn_rule rule, uintptr_t cfa)
{
#if defined(__x86_64__)
    (void)rule;
    return cfa - 8;
#else
    return cfa + (uintptr_t)(rule.ip_words * 8L);
#endif
}

static inline bool gn_rule_leads_up(uintptr_t sp, uintptr_t cfa, uintptr_t end)
{
    return cfa > sp && cfa <= end && cfa % 8 == 0;
}

/*
 * Goes on to the caller of *frame, which has sp % 8 == 0. Stacks grow downwards and end below `end` (an
 * address; UINTPTR_MAX where it is not known): a rule that leads anywhere else is wrong there. False: it is,
 * or the rule is none of the first three kinds; *frame makes no sense then.
 *
 * What is saved lies between sp and the CFA, or little below sp (unwind/cfi sees to that): reading it is safe
 * when the CFA is on the stack. In a copy, what is not there is read as 0, and noted.
 */
static inline __attribute__((always_inline)) bool
gn_rule_step_in(struct gn_registers *frame, struct gn_rule rule, uintptr_t end, struct gn_stack_copy *copy)
{
    uintptr_t cfa = frame->sp + (uintptr_t)(intptr_t)rule.cfa;
    if (__builtin_expect(gn_rule_kind(rule) != GN_RULE_SP, 0)) {
        if (__builtin_expect(gn_rule_kind(rule) > GN_RULE_REALIGNED, 0))
            return false;
        cfa = frame->fp + (uintptr_t)(intptr_t)(rule.cfa & ~7);
        if (__builtin_expect(gn_rule_kind(rule) == GN_RULE_REALIGNED, 0)) {
            if (!gn_rule_leads_up(frame->sp, cfa, end - 8))
                return false;
            frame->fp = gn_stack_word_in(frame->fp, copy);
            cfa = gn_stack_word_in(cfa, copy);
        }
        if (!gn_rule_leads_up(frame->sp, cfa, end))
            return false;
    }
    if (__builtin_expect(cfa > end, 0))
        return false;
    if (rule.fp_words)
        frame->fp = gn_stack_word_in(cfa + (uintptr_t)(rule.fp_words * 8L), copy);
    frame->ip = gn_plain_address(gn_stack_word_in(gn_rule_ip_at(rule, cfa), copy));
    frame->sp = cfa;
    return true;
}

static inline bool gn_rule_step(struct gn_registers *frame, struct gn_rule rule, uintptr_t end)
{
    return gn_rule_step_in(frame, rule, end, NULL);
}

#endif
