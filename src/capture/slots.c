/*
 * capture/slots — what stands behind the entry points of slots.S: where the real functions are, and that
 * gnomon's own library hears of their calls. A library of its own, of which a run has a copy
 * (image/activity_slots.h); it depends on the C library only, from glibc 2.28 on, as the other one
 * (old_glibc.c).
 *
 * A function is looked for as the loader would without us: behind us in the order of all, else where its
 * caller's library looks. Calls are passed on unmeasured while one is being noted, from stacks that are no
 * thread's own (as much of it may not be there to be copied), and when open calls lie too deep.
 */
#include "image/activity_slots.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GN_EXPORT __attribute__((visibility("default")))
#define OWN_TLS __thread __attribute__((tls_model("initial-exec")))

/* In the middle of the library's data: the copy for a run has them filled in. */
GN_EXPORT extern const struct gn_slot gn_slots[GN_SLOTS];
const struct gn_slot gn_slots[GN_SLOTS] __attribute__((section(".data.gn_slots"))) = {{"", "", ""}};

/* The ways out of slots.S. */
struct gn_activity_begun {
    void *function;
    int64_t copied; /* bytes of the stack; < 0: it is not measured */
};
struct gn_activity_begun gn_activity_begins(uint32_t slot, uintptr_t *frame);
void gn_activity_ends(const uintptr_t *frame);

enum { ARGUMENTS_MOST = 2048, DEPTH_MOST = 64 };

/* Of libgnomon.so: whether the begin (or end) has been noted. */
typedef int (*hook)(const char *name, int begins, void *caller, void *frame);

static hook note;
static void *functions[GN_SLOTS];

static OWN_TLS bool busy;
static OWN_TLS uintptr_t stack_from, stack_to; /* 0: not looked for; equal: unknown */
static OWN_TLS unsigned depth;
static OWN_TLS struct {
    uintptr_t *frame;
    uint32_t slot;
} open_calls[DEPTH_MOST];

void *gn_old_dlopen(const char *path, int flags);
void *gn_old_dlsym(void *library, const char *name);
void *gn_old_dlvsym(void *library, const char *name, const char *version);
int gn_old_dlclose(void *library);
int gn_old_dladdr(const void *address, Dl_info *info);
int gn_old_getattr(pthread_t thread, pthread_attr_t *attributes) __attribute__((weak));
__asm__(".symver gn_old_dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver gn_old_dlsym,dlsym@GLIBC_2.2.5");
__asm__(".symver gn_old_dlvsym,dlvsym@GLIBC_2.2.5");
__asm__(".symver gn_old_dlclose,dlclose@GLIBC_2.2.5");
__asm__(".symver gn_old_dladdr,dladdr@GLIBC_2.2.5");
__asm__(".symver gn_old_getattr,pthread_getattr_np@GLIBC_2.2.5");

int gn_old_getstack(const pthread_attr_t *attributes, void **from, size_t *bytes) __attribute__((weak));
__asm__(".symver gn_old_getstack,pthread_attr_getstack@GLIBC_2.2.5");

static void *look_in(void *library, const struct gn_slot *slot)
{
    return slot->version[0] ? gn_old_dlvsym(library, slot->symbol, slot->version)
                            : gn_old_dlsym(library, slot->symbol);
}

static void *function_of(uint32_t number, const void *caller)
{
    const struct gn_slot *slot = &gn_slots[number];
    void *found = __atomic_load_n(&functions[number], __ATOMIC_RELAXED);
    if (found)
        return found;
    Dl_info info;
    found = look_in(RTLD_NEXT, slot);
    if (!found && gn_old_dladdr(caller, &info) && info.dli_fname) {
        void *library = gn_old_dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
        found = library ? look_in(library, slot) : NULL;
        if (library)
            gn_old_dlclose(library);
        return found; /* others may mean another one */
    }
    __atomic_store_n(&functions[number], found, __ATOMIC_RELAXED);
    return found;
}

static void find_stack(void)
{
    pthread_attr_t attributes;
    void *from;
    size_t bytes;
    stack_from = stack_to = 1;
    if (!gn_old_getattr || !gn_old_getstack || gn_old_getattr(pthread_self(), &attributes) != 0)
        return;
    if (gn_old_getstack(&attributes, &from, &bytes) == 0) {
        stack_from = (uintptr_t)from;
        stack_to = stack_from + bytes;
    }
    pthread_attr_destroy(&attributes);
}

/* With the frame's call those that an exception or longjmp has left. A frame of ours that is still there has
 * all that it keeps below it.
 */
static void end_down_to(const uintptr_t *frame)
{
    while (depth > 0 && open_calls[depth - 1].frame < frame + GN_SLOT_AREA / sizeof *frame) {
        depth--;
        note(gn_slots[open_calls[depth].slot].name, 0, (void *)frame[1], (void *)(uintptr_t)frame);
    }
}

static int64_t begin(uint32_t slot, uintptr_t *frame)
{
    const uintptr_t arguments = (uintptr_t)(frame + 2);
    if (!note)
        *(void **)&note = gn_old_dlsym(RTLD_DEFAULT, "gnomon_hook_activity");
    if (!note)
        return -1;
    if (stack_to == 0)
        find_stack();
    if (arguments < stack_from || arguments >= stack_to)
        return -1;
    end_down_to(frame);
    if (depth == DEPTH_MOST || !note(gn_slots[slot].name, 1, (void *)frame[1], frame))
        return -1;
    open_calls[depth].frame = frame;
    open_calls[depth++].slot = slot;
    const uintptr_t there = stack_to - arguments;
    return (int64_t)((there < ARGUMENTS_MOST ? there : ARGUMENTS_MOST) & ~(uintptr_t)15);
}

struct gn_activity_begun gn_activity_begins(uint32_t slot, uintptr_t *frame)
{
    const int code = errno;
    const bool within = busy;
    busy = true;
    struct gn_activity_begun begun = {function_of(slot, (void *)frame[1]), -1};
    if (!within && begun.function)
        begun.copied = begin(slot, frame);
    busy = within;
    errno = code;
    return begun;
}

void gn_activity_ends(const uintptr_t *frame)
{
    const int code = errno;
    busy = true;
    end_down_to(frame);
    busy = false;
    errno = code;
}
