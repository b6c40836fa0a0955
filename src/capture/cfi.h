/*
 * capture/cfi — how a frame's size is known, from its DWARF call frame information.
 *
 * The unwinder of libgcc finds the frames; it does not say what a frame's canonical frame address (CFA) was
 * computed from. The memo of capture/callpath must know that, so this reads the one row of the unwind table
 * that holds at a given address. It understands what compilers emit for code on x86-64; anything else is
 * GN_CFA_OTHER, which is a safe answer. DWARF 5, section 6.4.
 */
#ifndef GNOMON_CAPTURE_CFI_H
#define GNOMON_CAPTURE_CFI_H

#include <stdbool.h>
#include <stdint.h>

enum gn_cfa_kind {
    GN_CFA_OTHER,     /* not understood: the frame cannot be remembered */
    GN_CFA_RSP,       /* rsp + offset */
    GN_CFA_RBP,       /* rbp + offset */
    GN_CFA_RBP_DEREF, /* the word at rbp + offset (a realigned stack frame) */
};

struct gn_frame_rule {
    enum gn_cfa_kind cfa;
    int64_t cfa_offset;
    bool rbp_saved;          /* rbp of the caller is in memory … */
    bool rbp_saved_from_rbp; /* … at rbp + offset (else at CFA + offset) */
    int64_t rbp_offset;
    uintptr_t function_start; /* 0 when unknown */
};

/* The rule of the code around `pc` (an address inside the call instruction). */
struct gn_frame_rule gn_cfi_rule(uintptr_t pc);

#endif
