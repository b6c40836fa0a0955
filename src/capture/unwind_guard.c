/*
 * capture/unwind_guard — keeps the unwinder that is linked into this library from harming the process.
 *
 * libgcc's unwinder calls abort() on unwind tables it does not understand and malloc() for frames registered
 * by hand (never here: our copy knows of none). The linker sends those calls here (--wrap): abort returns to
 * the walk that began, which then counts as not understood, and malloc gives nothing, which the unwinder
 * accepts. _dl_find_object is glibc's from 2.35 on: with an older one the objects are looked through.
 */
#include "capture/callpath.h"
#include "capture/modules.h"

#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
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

#ifdef DLFO_EH_SEGMENT_TYPE /* built with a glibc whose unwinder asks for it */

int __wrap__dl_find_object(void *address, struct dl_find_object *result);

struct object_query {
    uintptr_t address;
    struct dl_find_object *result;
};

static int holds(struct dl_phdr_info *info, size_t size, void *argument)
{
    (void)size;
    struct object_query *query = argument;
    uintptr_t first = UINTPTR_MAX, end = 0, tables = 0;
    bool inside = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == DLFO_EH_SEGMENT_TYPE)
            tables = begin;
        if (part->p_type != PT_LOAD)
            continue;
        first = begin < first ? begin : first;
        end = begin + part->p_memsz > end ? begin + part->p_memsz : end;
        inside = inside || (query->address >= begin && query->address < begin + part->p_memsz);
    }
    if (!inside)
        return 0;
    memset(query->result, 0, sizeof *query->result); /* no link map: libgcc does not look at it */
    query->result->dlfo_map_start = (void *)first;
    query->result->dlfo_map_end = (void *)end;
    query->result->dlfo_eh_frame = (void *)tables;
    return 1;
}

int __wrap__dl_find_object(void *address, struct dl_find_object *result)
{
    int code;
    if (gn_loader_finds(address, result, &code))
        return code;
    struct object_query query = {(uintptr_t)address, result};
    return dl_iterate_phdr(holds, &query) && result->dlfo_eh_frame ? 0
                                                                   : -1; /* libgcc reads its tables unasked */
}

#endif
