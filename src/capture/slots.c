/*
 * capture/slots — what stands behind the entry points of slots.S: where the real functions are, and that
 * gnomon's own library hears of their calls. A library of its own, of which a run has a copy
 * (image/activity_slots.h); it depends on the C library only, from glibc 2.28 on, as the other one
 * (old_glibc.c).
 *
 * A function is looked for as the loader would without us: behind us in the order of all, else where its
 * caller's library looks. Calls are passed on unmeasured while one is being noted, within another one of the
 * same function, where the stack has no room for what is copied, and when open calls lie too deep.
 */
#include "image/activity_slots.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

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
struct gn_activity_begun gn_activity_begins(uint32_t slot, uintptr_t *frame, uint64_t entered_ticks);
void gn_activity_ends(const uintptr_t *frame, uint64_t entered_ticks);
void gn_slot_of_nothing(void); /* an entry point that no program knows */

enum { ARGUMENTS_MOST = 2048, ROOM = 65536, DEPTH_MOST = 64 };

/* Of libgnomon.so: whether the begin (or end) has been noted. entered_ticks: when the slot was entered, or
 * the function left; later_ticks: between the hook's end and the program's going on. */
typedef int (*hook)(const char *name, int begins, void *caller, void *frame, uint64_t entered_ticks,
                    uint64_t later_ticks);

static hook note;
static void *functions[GN_SLOTS + 1]; /* the last one is no function of the program: what all of this takes */
static uint64_t later_ticks;

static OWN_TLS bool busy;
static OWN_TLS uintptr_t good_from, good_to; /* of the stack: known to be there */
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
__asm__(".symver gn_old_dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver gn_old_dlsym,dlsym@GLIBC_2.2.5");
__asm__(".symver gn_old_dlvsym,dlvsym@GLIBC_2.2.5");
__asm__(".symver gn_old_dlclose,dlclose@GLIBC_2.2.5");
__asm__(".symver gn_old_dladdr,dladdr@GLIBC_2.2.5");

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
    if (!found && caller && gn_old_dladdr(caller, &info) && info.dli_fname) {
        void *library = gn_old_dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
        found = library ? look_in(library, slot) : NULL;
        if (library)
            gn_old_dlclose(library);
        return found; /* others may mean another one */
    }
    __atomic_store_n(&functions[number], found, __ATOMIC_RELAXED);
    return found;
}

/* Whether the page can be read: the kernel reads the mask of signals there ahead of the question, which it
 * does not know. It lets a main thread's stack grow for that.
 */
static bool is_readable(uintptr_t page)
{
    enum { NO_QUESTION = -1, MASK_BYTES = 8 };
    return syscall(SYS_rt_sigprocmask, NO_QUESTION, page, NULL, MASK_BYTES) == 0 || errno != EFAULT;
}

/* Whether there is room on this stack, whichever it is, for our frame and what the function needs beside, and
 * for as much to be copied; without asking anybody who takes memory or a lock.
 */
static bool has_room(uintptr_t arguments)
{
    enum { PAGE = 4096 };
    const uintptr_t from = (arguments - ROOM) & ~(uintptr_t)(PAGE - 1), to = arguments + ARGUMENTS_MOST;
    if (arguments - ROOM >= good_from && to <= good_to)
        return true;
    const int code = errno;
    bool is_good = from < arguments;
    for (uintptr_t page = from; page < to && is_good; page += PAGE)
        is_good = (page >= good_from && page + PAGE <= good_to) || is_readable(page);
    if (is_good && from <= good_to && to >= good_from) {
        good_from = from < good_from ? from : good_from;
        good_to = to > good_to ? to : good_to;
    } else if (is_good) {
        good_from = from;
        good_to = to;
    }
    errno = code;
    return is_good;
}

static const char *name_of(uint32_t slot)
{
    return slot < GN_SLOTS ? gn_slots[slot].name : "";
}

/* With the frame's call those that an exception or longjmp has left. A frame of ours that is still there has
 * all that it keeps below it.
 */
static void end_down_to(const uintptr_t *frame, uint64_t entered_ticks)
{
    while (depth > 0 && open_calls[depth - 1].frame < frame + GN_SLOT_AREA / sizeof *frame) {
        depth--;
        note(name_of(open_calls[depth].slot), 0, (void *)frame[1], (void *)(uintptr_t)frame, entered_ticks,
             later_ticks / 2);
    }
}

static bool is_open(uint32_t slot)
{
    for (unsigned i = 0; i < depth; i++)
        if (open_calls[i].slot == slot)
            return true;
    return false;
}

/* Of a function that calls itself the outermost call has all of its time. */
static int64_t begin(uint32_t slot, uintptr_t *frame, uint64_t entered_ticks)
{
    if (!note || !has_room((uintptr_t)(frame + 2)))
        return -1;
    end_down_to(frame, entered_ticks);
    if (depth == DEPTH_MOST || is_open(slot) ||
        !note(name_of(slot), 1, (void *)frame[1], frame, entered_ticks, later_ticks))
        return -1;
    open_calls[depth].frame = frame;
    open_calls[depth++].slot = slot;
    return ARGUMENTS_MOST;
}

static uint64_t stamped;

static int stamp(const char *name, int begins, void *caller, void *frame, uint64_t entered_ticks,
                 uint64_t later)
{
    (void)name, (void)caller, (void)frame, (void)later;
    if (!begins && entered_ticks - stamped < later_ticks)
        later_ticks = entered_ticks - stamped;
    stamped = __builtin_ia32_rdtsc();
    return 1;
}

static void nothing(void)
{
}

/* The least that a call takes between the hooks. */
static void measure(void)
{
    enum { TIMES = 100 };
    *(void **)&functions[GN_SLOTS] = (void *)nothing;
    note = stamp;
    later_ticks = UINT64_MAX;
    for (int i = 0; i < TIMES; i++)
        gn_slot_of_nothing();
    note = NULL;
    later_ticks = later_ticks < UINT64_MAX ? later_ticks : 0;
}

/* Nothing is looked up in the middle of the program's calls, where the loader's lock, or a malloc that it
 * calls, might be held: but of calls that come ahead of this.
 */
__attribute__((constructor)) static void look_up(void)
{
    measure();
    *(void **)&note = gn_old_dlsym(RTLD_DEFAULT, "gnomon_hook_activity");
    for (uint32_t i = 0; i < GN_SLOTS; i++)
        if (gn_slots[i].symbol[0])
            function_of(i, NULL);
}

struct gn_activity_begun gn_activity_begins(uint32_t slot, uintptr_t *frame, uint64_t entered_ticks)
{
    const int code = errno;
    const bool within = busy;
    busy = true;
    struct gn_activity_begun begun = {function_of(slot, (void *)frame[1]), -1};
    if (!within && begun.function)
        begun.copied = begin(slot, frame, entered_ticks);
    busy = within;
    errno = code;
    return begun;
}

void gn_activity_ends(const uintptr_t *frame, uint64_t entered_ticks)
{
    const int code = errno;
    busy = true;
    end_down_to(frame, entered_ticks);
    busy = false;
    errno = code;
}
