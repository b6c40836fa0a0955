/*
 * capture/unwind_guard — keeps the unwinder that is linked into this library from harming the process.
 *
 * libgcc's unwinder calls abort() on unwind tables it does not understand and malloc() for frames registered
 * by hand (never here: our copy knows of none). The linker sends those calls here (--wrap): abort returns to
 * the walk that began, which then counts as not understood, and malloc gives nothing, which the unwinder
 * accepts.
 */
#include "capture/callpath.h"

#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>
#include <unwind.h>

static __thread jmp_buf *way_out __attribute__((tls_model("initial-exec")));

bool gn_guarded_backtrace(int (*step)(void *context, void *argument), void *argument)
{
    jmp_buf here;
    if (setjmp(here) != 0) {
        way_out = NULL;
        return false;
    }
    way_out = &here;
    _Unwind_Backtrace((_Unwind_Trace_Fn)(void *)step, argument);
    way_out = NULL;
    return true;
}

void __wrap_abort(void);
void *__wrap_malloc(size_t size);
void __wrap_free(void *memory);

void __wrap_abort(void)
{
    if (way_out)
        longjmp(*way_out, 1);
    for (;;) /* not reached: the unwinder only runs inside gn_guarded_backtrace */
        ;
}

void *__wrap_malloc(size_t size)
{
    (void)size;
    return NULL;
}

void __wrap_free(void *memory)
{
    (void)memory;
}
