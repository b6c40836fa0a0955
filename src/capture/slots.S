/*
 * capture/slots — the entry points of functions that the user has named, x86-64 (image/activity_slots.h).
 *
 * Each is a call that has not begun yet: all registers that may hold arguments are kept, whatever their width, while
 * gn_activity_begins looks. A call that is not measured goes on as a jump, as if nobody had been here. Of one that is,
 * so much of the stack as may hold arguments is copied, and the function called in a frame of ours, which any
 * unwinder understands; what it returns is kept while gn_activity_ends looks.
 */
#include "image/activity_slots.h"

/* Three of them make a name as long as a function's may be: 255 characters. */
#define PAD xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx

/* The registers' kinds that are kept, as XSAVE numbers them: x87, SSE, AVX, AVX-512. */
#define KEPT 0xe7

        .text

/* rbx: the area. Changes rax, rdx. */
.macro keep
        xorl    %eax, %eax
.irp    at, 512, 520, 528, 536, 544, 552, 560, 568
        movq    %rax, \at(%rbx)
.endr
        cmpb    $1, gn_slots_xsave(%rip)
        je      1f
        ja      2f
        call    look_at_processor
        cmpb    $1, gn_slots_xsave(%rip)
        jne     2f
1:      movl    $KEPT, %eax
        xorl    %edx, %edx
        xsave64 (%rbx)
        jmp     3f
2:      fxsave64 (%rbx)
3:
.endm

.macro give_back
        cmpb    $1, gn_slots_xsave(%rip)
        jne     1f
        movl    $KEPT, %eax
        xorl    %edx, %edx
        xrstor64 (%rbx)
        jmp     2f
1:      fxrstor64 (%rbx)
2:
.endm

.macro arguments
        movq    -32(%rbp), %rax
        movq    -40(%rbp), %rdi
        movq    -48(%rbp), %rsi
        movq    -56(%rbp), %rdx
        movq    -64(%rbp), %rcx
        movq    -72(%rbp), %r8
        movq    -80(%rbp), %r9
        movq    -88(%rbp), %r10
.endm

.macro callers
        movq    -8(%rbp), %rbx
        movq    -16(%rbp), %r12
        movq    -24(%rbp), %r13
.endm

/* Whether the system lets us use XSAVE: 1, else 2. Changes rax, rdx. */
        .type   look_at_processor, @function
look_at_processor:
        .cfi_startproc
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        pushq   %rcx
        .cfi_def_cfa_offset 24
        movl    $1, %eax
        xorl    %ecx, %ecx
        cpuid
        btl     $27, %ecx
        movb    $2, %al
        jnc     1f
        movb    $1, %al
1:      movb    %al, gn_slots_xsave(%rip)
        popq    %rcx
        .cfi_def_cfa_offset 16
        popq    %rbx
        .cfi_def_cfa_offset 8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size   look_at_processor, .-look_at_processor

/* r11d: which slot. */
        .type   enter_slot, @function
enter_slot:
        .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        pushq   %rbx
        .cfi_offset %rbx, -24
        pushq   %r12
        .cfi_offset %r12, -32
        pushq   %r13
        .cfi_offset %r13, -40
        pushq   %rax
        pushq   %rdi
        pushq   %rsi
        pushq   %rdx
        pushq   %rcx
        pushq   %r8
        pushq   %r9
        pushq   %r10
        movl    %r11d, %r13d
        rdtsc
        shlq    $32, %rdx
        orq     %rdx, %rax
        pushq   %rax
        andq    $-64, %rsp
        subq    $GN_SLOT_AREA, %rsp
        movq    %rsp, %rbx
        keep
        movl    %r13d, %edi
        movq    %rbp, %rsi
        movq    -96(%rbp), %rdx
        call    gn_activity_begins      /* rax: the function; rdx: how much to copy, negative: not measured */
        movq    %rax, %r12
        movq    %rdx, %r11
        give_back
        testq   %r11, %r11
        js      9f
        subq    %r11, %rsp
        movq    %r11, %rcx
        shrq    $3, %rcx
        leaq    16(%rbp), %rsi
        movq    %rsp, %rdi
        rep movsq
        arguments
        call    *%r12
        movq    %rbx, %rsp
        movq    %rax, -32(%rbp)
        movq    %rdx, -56(%rbp)
        rdtsc
        shlq    $32, %rdx
        orq     %rdx, %rax
        movq    %rax, -96(%rbp)
        keep
        movq    %rbp, %rdi
        movq    -96(%rbp), %rsi
        call    gn_activity_ends
        give_back
        movq    -32(%rbp), %rax
        movq    -56(%rbp), %rdx
        callers
        .cfi_remember_state
        leave
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_restore_state
9:      movq    %r12, %r11
        arguments
        callers
        leave
        .cfi_def_cfa %rsp, 8
        jmp     *%r11
        .cfi_endproc
        .size   enter_slot, .-enter_slot

.irp    n, 00,01,02,03,04,05,06,07,08,09,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        .globl  gnomon_activity_slot_\n\()_\()PAD\()PAD\()PAD
        .type   gnomon_activity_slot_\n\()_\()PAD\()PAD\()PAD, @function
gnomon_activity_slot_\n\()_\()PAD\()PAD\()PAD:
        .cfi_startproc
        endbr64
        movl    $1\n - 100, %r11d
        jmp     enter_slot
        .cfi_endproc
        .size   gnomon_activity_slot_\n\()_\()PAD\()PAD\()PAD, .-gnomon_activity_slot_\n\()_\()PAD\()PAD\()PAD
.endr

        .globl  gn_slot_of_nothing
        .hidden gn_slot_of_nothing
        .type   gn_slot_of_nothing, @function
gn_slot_of_nothing:
        .cfi_startproc
        movl    $GN_SLOTS, %r11d
        jmp     enter_slot
        .cfi_endproc
        .size   gn_slot_of_nothing, .-gn_slot_of_nothing

        .local  gn_slots_xsave
        .comm   gn_slots_xsave, 1, 1

        .section .note.GNU-stack, "", @progbits
