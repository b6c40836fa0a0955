/*
 * capture/threads — who made which thread, and who has waited for its end: one record of each, in the ring of
 * the thread that did it (thread_create, thread_wait); the thread's own ring begins and ends with its number,
 * if it ever calls MPI and so has one.
 *
 *   creator   thread_create 7 ─┐                        ┌─► thread_wait 7
 *   thread                     └─► thread_begin 7 … thread_end 7
 *
 * A thread gets its number where it starts: a function of ours runs first, notes number and time in
 * thread-local variables, and jumps to the program's, so that no frame of ours is on the thread's stack. What
 * it needs lies in a slot that it gives back at once. No lock, no allocation, no system call; the program's
 * arguments, results and errors go through as they are.
 *
 * Nothing but the call is passed on: before MPI_Init and in child processes (the gate is closed), from
 * threads that have no ring of their own, inside of MPI calls (those threads are the library's), and where
 * all slots are taken. Not seen: threads made by clone, and by libraries that are bound to the C library's
 * function (RTLD_DEEPBIND, dlmopen). Waiting with a time limit (pthread_timedjoin_np and others) is not
 * recorded.
 *
 * In a glibc before 2.34, where threads are a library of their own, a program without that library could take
 * our functions for a sign that it has threads. No MPI library does without it.
 */
#include "capture/classes.h"
#include "capture/recorder.h"
#include "capture/signal_samples.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <threads.h>

enum { SLOTS = 4096, KNOWN = 4096, TRIES = 64 };

/* ---- the C library's ---- */

enum real { CREATE, JOIN, C11_CREATE, C11_JOIN, REALS };

static void *_Atomic reals[REALS];

static void *look_up(enum real which)
{
    static const char *const names[REALS] = {"pthread_create", "pthread_join", "thrd_create", "thrd_join"};
    void *function = dlsym(RTLD_NEXT, names[which]);
    atomic_store_explicit(&reals[which], function, memory_order_relaxed);
    return function;
}

static void *real_function(enum real which)
{
    void *function = atomic_load_explicit(&reals[which], memory_order_relaxed);
    return __builtin_expect(function != NULL, 1) ? function : look_up(which);
}

/* While nobody minds the loader's lock. */
__attribute__((constructor)) static void loaded(void)
{
    for (enum real which = 0; which < REALS; which++)
        look_up(which);
}

/* ---- numbers ---- */

/* What a thread that is being made will run. */
struct slot {
    atomic_int taken;
    uint32_t number;
    union {
        void *(*posix)(void *);
        int (*c11)(void *);
    } function;
    void *argument;
};

static struct slot slots[SLOTS];
static _Atomic uint32_t last_number;

/* NULL: the thread is made as if we were not there; or all are taken, by threads that have not run yet. */
static struct slot *take_slot(void)
{
    if (!gn_record_threads())
        return NULL;
    uint32_t number = atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed) + 1;
    for (uint32_t i = 0; i < SLOTS; i++) {
        struct slot *slot = &slots[(number + i) % SLOTS];
        if (atomic_load_explicit(&slot->taken, memory_order_relaxed) == 0 &&
            atomic_exchange_explicit(&slot->taken, 1, memory_order_acquire) == 0) {
            slot->number = number;
            return slot;
        }
    }
    return NULL;
}

static void give_back(struct slot *slot)
{
    atomic_store_explicit(&slot->taken, 0, memory_order_release);
}

/* Numbers of threads that may be waited for, by the program's name for them. Each puts itself there, as its
 * creator may not look at that name again: the thread may have freed it. Who waits takes it out; who is never
 * waited for is overwritten by the next thread of that name, or when there is no room. */
static struct known {
    _Atomic unsigned long thread;
    _Atomic uint32_t number; /* 0: free */
} known[KNOWN];
#define BUSY UINT32_MAX /* a number that is being written */

static struct known *nth_place(unsigned long thread, size_t n)
{
    return &known[(((thread * 0x9e3779b97f4a7c15ull) >> 40) + n) % KNOWN];
}

static bool put(struct known *k, unsigned long thread, uint32_t number, bool only_same)
{
    uint32_t old = atomic_load_explicit(&k->number, memory_order_acquire);
    bool same = atomic_load_explicit(&k->thread, memory_order_relaxed) == thread;
    if (old == BUSY || (only_same ? !same : old != 0) ||
        !atomic_compare_exchange_strong_explicit(&k->number, &old, BUSY, memory_order_acquire,
                                                 memory_order_relaxed))
        return false;
    atomic_store_explicit(&k->thread, thread, memory_order_relaxed);
    atomic_store_explicit(&k->number, number, memory_order_release);
    return true;
}

static void know(unsigned long thread, uint32_t number)
{
    for (size_t n = 0; n < TRIES; n++)
        if (put(nth_place(thread, n), thread, number, true))
            return;
    for (size_t n = 0; n < TRIES; n++)
        if (put(nth_place(thread, n), thread, number, false))
            return;
    struct known *k = nth_place(thread, 0);
    uint32_t old = atomic_exchange_explicit(&k->number, BUSY, memory_order_acquire);
    if (old == BUSY) /* whoever is there goes on */
        return;
    atomic_store_explicit(&k->thread, thread, memory_order_relaxed);
    atomic_store_explicit(&k->number, number, memory_order_release);
}

/* Takes a thread out that has been waited for. 0: not known, or above `newest`: the name is another one's by
 * now. */
static uint32_t forget(unsigned long thread, uint32_t newest)
{
    for (size_t n = 0; n < TRIES; n++) {
        struct known *k = nth_place(thread, n);
        uint32_t number = atomic_load_explicit(&k->number, memory_order_acquire);
        if (number == 0 || number > newest ||
            atomic_load_explicit(&k->thread, memory_order_relaxed) != thread)
            continue;
        if (atomic_compare_exchange_strong_explicit(&k->number, &number, 0, memory_order_acq_rel,
                                                    memory_order_relaxed))
            return number;
    }
    return 0;
}

/* ---- making ---- */

static void begin(struct slot *slot)
{
    gn_record_thread_began(slot->number);
    know((unsigned long)pthread_self(), slot->number);
    give_back(slot);
    gn_signal_samples_thread();
}

/* Both end in a jump: the thread's stack is the program's. */
static void *begin_posix(void *argument)
{
    struct slot *slot = argument;
    void *(*function)(void *) = slot->function.posix;
    void *own = slot->argument;
    begin(slot);
    return function(own);
}

static int begin_c11(void *argument)
{
    struct slot *slot = argument;
    int (*function)(void *) = slot->function.c11;
    void *own = slot->argument;
    begin(slot);
    return function(own);
}

/* The thread may have ended by now, and its slot be another's. */
static void created(struct slot *slot, uint32_t number, int code, uint64_t ticks)
{
    if (code == 0)
        gn_record_thread(GN_EVENT_THREAD_CREATE, ticks, number);
    else
        give_back(slot);
}

GN_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                             void *argument)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = real_function(CREATE);
    struct slot *slot;
    if (!real)
        return EAGAIN;
    if (gn_is_closed() || !(slot = take_slot()))
        return real(thread, attributes, function, argument);
    const uint32_t number = slot->number;
    const uint64_t ticks = gn_ticks();
    slot->function.posix = function;
    slot->argument = argument;
    int code = real(thread, attributes, begin_posix, slot);
    created(slot, number, code, ticks);
    return code;
}

GN_EXPORT int thrd_create(thrd_t *thread, thrd_start_t function, void *argument)
{
    int (*real)(thrd_t *, thrd_start_t, void *) = real_function(C11_CREATE);
    struct slot *slot;
    if (!real)
        return thrd_error;
    if (gn_is_closed() || !(slot = take_slot()))
        return real(thread, function, argument);
    const uint32_t number = slot->number;
    const uint64_t ticks = gn_ticks();
    slot->function.c11 = function;
    slot->argument = argument;
    int code = real(thread, begin_c11, slot);
    created(slot, number, code, ticks);
    return code;
}

/* ---- waiting ---- */

static void joined(unsigned long thread, int code, uint32_t newest)
{
    const uint32_t number = code == 0 ? forget(thread, newest) : 0;
    if (number)
        gn_record_thread(GN_EVENT_THREAD_WAIT, gn_ticks(), number);
}

GN_EXPORT int pthread_join(pthread_t thread, void **result)
{
    int (*real)(pthread_t, void **) = real_function(JOIN);
    if (!real)
        return ESRCH;
    if (gn_is_closed())
        return real(thread, result);
    const uint32_t newest = atomic_load_explicit(&last_number, memory_order_relaxed);
    int code = real(thread, result);
    joined((unsigned long)thread, code, newest);
    return code;
}

GN_EXPORT int thrd_join(thrd_t thread, int *result)
{
    int (*real)(thrd_t, int *) = real_function(C11_JOIN);
    if (!real)
        return thrd_error;
    if (gn_is_closed())
        return real(thread, result);
    const uint32_t newest = atomic_load_explicit(&last_number, memory_order_relaxed);
    int code = real(thread, result);
    joined((unsigned long)thread, code, newest);
    return code;
}

_Static_assert((int)thrd_success == 0, "as success is of the others");
