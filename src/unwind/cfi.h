/*
 * unwind/cfi — compiles call frame information (DWARF 5, section 6.4; the Linux Standard Base's .eh_frame)
 * into the rule that holds at one address.
 */
#ifndef GNOMON_UNWIND_CFI_H
#define GNOMON_UNWIND_CFI_H

#include "unwind/rule.h"

#include <stddef.h>

/* Whose code it is: register numbers and a few operations differ. */
enum gn_cfi_machine {
    GN_CFI_X86_64,
    GN_CFI_AARCH64,
#if defined(__aarch64__)
    GN_CFI_NATIVE = GN_CFI_AARCH64,
#else
    GN_CFI_NATIVE = GN_CFI_X86_64,
#endif
};

/* Bytes of an executable as they are in memory: at[0] has the address `address`. Its own process's: at ==
 * (void *)address. Contents are not trusted. */
struct gn_cfi_bytes {
    const uint8_t *at;
    size_t count;
    uintptr_t address;
};

/* The code [*begin, *end) that the frame description entry at address `fde` is about. False: the entry makes
 * no sense. */
bool gn_cfi_range(const struct gn_cfi_bytes *bytes, uintptr_t fde, uintptr_t *begin, uintptr_t *end);

/*
 * The rule of the frame description entry at address `fde` for the code at `pc`; *function is where the
 * entry's code begins. An entry that is not for pc: GN_RULE_END and *function 0, as for code that has none.
 * One that makes no sense: GN_RULE_SLOW.
 */
struct gn_rule gn_cfi_rule(const struct gn_cfi_bytes *bytes, enum gn_cfi_machine machine, uintptr_t fde,
                           uintptr_t pc, uintptr_t *function);

#endif
