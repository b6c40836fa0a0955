/*
 * The other unwinder, and the rule of capture/callpath.h written down once more: slow and plain.
 *
 * libunwind is loaded with a scope of its own: it also defines what C++ exceptions are thrown with, and the
 * program's exceptions are to be its own.
 */
#include "probe.h"

#include <dlfcn.h>
#include <string.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

static struct {
    __typeof__(&unw_init_local) init_local;
    __typeof__(&unw_step) step;
    __typeof__(&unw_get_reg) get_reg;
    __typeof__(&unw_get_proc_info) get_proc_info;
    __typeof__(&unw_flush_cache) flush_cache;
    int (*get_context)(unw_context_t *context);
    unw_addr_space_t *address_space;
} libunwind;

#define TEXT(name) TEXT_OF(name)
#define TEXT_OF(name) #name

int reference_open(void)
{
    void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return -1;
    *(void **)&libunwind.init_local = dlsym(library, TEXT(unw_init_local));
    *(void **)&libunwind.step = dlsym(library, TEXT(unw_step));
    *(void **)&libunwind.get_reg = dlsym(library, TEXT(unw_get_reg));
    *(void **)&libunwind.get_proc_info = dlsym(library, TEXT(unw_get_proc_info));
    *(void **)&libunwind.flush_cache = dlsym(library, TEXT(unw_flush_cache));
    *(void **)&libunwind.get_context = dlsym(library, TEXT(unw_tdep_getcontext));
    libunwind.address_space = dlsym(library, TEXT(unw_local_addr_space));
    return libunwind.init_local && libunwind.step && libunwind.get_reg && libunwind.get_proc_info &&
                   libunwind.flush_cache && libunwind.get_context && libunwind.address_space
               ? 0
               : -1;
}

void reference_forget(void)
{
    libunwind.flush_cache(*libunwind.address_space, 0, 0);
}

/* Whether the frame has an unwind table entry; libunwind makes up one of a byte where there is none, and
 * would go on by guessing that rbp points to a frame. The walk ends there, with that frame. */
static bool describe(unw_cursor_t *cursor, struct reference_frame *frame)
{
    unw_word_t ip;
    unw_proc_info_t about;
    frame->ip = frame->function = 0;
    if (libunwind.get_reg(cursor, UNW_REG_IP, &ip) < 0 || ip == 0)
        return false;
    frame->ip = frame->function = ip;
    if (libunwind.get_proc_info(cursor, &about) < 0 || about.end_ip <= about.start_ip + 1)
        return false;
    frame->function = about.start_ip;
    return true;
}

unsigned reference_walk(uintptr_t caller, struct reference_frame *frames, unsigned max)
{
    unw_context_t context;
    unw_cursor_t cursor;
    unsigned count = 0;
    libunwind.get_context(&context);
    libunwind.init_local(&cursor, &context);
    do {
        bool described = describe(&cursor, &frames[count]);
        if (count > 0 || frames[0].ip == caller)
            count += frames[count].ip != 0;
        if (!described)
            break;
    } while (count < max && libunwind.step(&cursor) > 0);
    return count;
}

void reference_module(uintptr_t ip, const char **path, uint64_t *offset)
{
    Dl_info about;
    if (dladdr((void *)ip, &about) && about.dli_fbase) {
        *path = about.dli_fname;
        *offset = ip - (uintptr_t)about.dli_fbase;
    } else {
        *path = "";
        *offset = ip;
    }
}

static bool lies_in(uintptr_t ip, const char *const *names)
{
    const char *path;
    uint64_t offset;
    reference_module(ip, &path, &offset);
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    for (; *names; names++)
        if (strncmp(base, *names, strlen(*names)) == 0)
            return true;
    return false;
}

/* Frames of the MPI library at the inner end, all but the last frame of all; the C library's at the outer
 * end: from the innermost one among the last four frames on. */
static void trim(const struct reference_frame *frames, unsigned *inner, unsigned *outer)
{
    static const char *const mpi[] = {"libmpi", "libpmpi", "libgnomon", NULL};
    static const char *const libc[] = {"libc.so", "libc-", "libpthread", "ld-linux", NULL};
    unsigned count = *outer;
    *inner = 0;
    while (*inner + 1 < count && lies_in(frames[*inner].ip, mpi))
        ++*inner;
    for (unsigned i = count; i-- > *inner + 1 && i + 4 >= count;)
        if (lies_in(frames[i].ip, libc))
            *outer = i;
}

unsigned reference_fold(const struct reference_frame *frames, unsigned count, unsigned *kept, bool *folded)
{
    unsigned inner, outer = count, length = 0;
    trim(frames, &inner, &outer);
    for (unsigned i = outer; i-- > inner;) {
        unsigned met = 0;
        while (met < length && frames[kept[met]].function != frames[i].function)
            met++;
        folded[met] = met < length;
        kept[met] = i;
        length = met + 1;
    }
    return length;
}
