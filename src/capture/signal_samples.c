#include "capture/signal_samples.h"

#include "capture/recorder.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { THREADS = 1024, TRIES = 8 };

/* By the timer's signal value. Its thread is the only one that writes it while it is taken. */
static struct timed {
    atomic_int taken;
    int tid, timer; /* the kernel's number of the timer: its C library's type is another one */
    uint64_t period_ns, used_ns;
} timed[THREADS];

static struct gn_signal_samples *memory;
static int number; /* of the signal */
static pthread_key_t thread_end;

/* ---- in the handler ---- */

/* A tenth more or less for each thread, as of events. */
static uint64_t period_of(const struct timed *t)
{
    const uint64_t per_mille = 900 + ((uint32_t)t->tid * 2654435761u >> 16) % 201;
    return GN_GET(memory->period_ns) * per_mille / 1000;
}

static int set_timer(struct timed *t)
{
    const uint64_t ns = period_of(t);
    const struct timespec period = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    const struct itimerspec spec = {period, period};
    t->period_ns = ns;
    return (int)syscall(SYS_timer_settime, t->timer, 0, &spec, NULL);
}

static struct gn_signal_slot *take_slot(void)
{
    const uint64_t from = atomic_fetch_add_explicit(&memory->next, 1, memory_order_relaxed);
    for (unsigned i = 0; i < TRIES; i++) {
        struct gn_signal_slot *slot = &memory->slots[(from + i) % GN_SIGNAL_SLOTS];
        if (GN_GET(slot->state) == GN_SIGNAL_FREE) {
            uint32_t free_slot = GN_SIGNAL_FREE;
            if (atomic_compare_exchange_strong_explicit(&slot->state, &free_slot, GN_SIGNAL_TAKEN,
                                                        memory_order_acquire, memory_order_relaxed))
                return slot;
        }
    }
    GN_ADD(memory->lost, 1);
    return NULL;
}

/* Stacks end where they end: at most to the end of the page where no more is to be had. */
static uint32_t copy_stack(uint8_t *to, uintptr_t sp)
{
    const size_t page = 4096, sizes[] = {GN_SIGNAL_STACK_BYTES, page - sp % page};
    for (int i = 0; i < 2; i++) {
        const struct iovec local = {to, sizes[i]}, remote = {(void *)sp, sizes[i]};
        const long copied = syscall(SYS_process_vm_readv, getpid(), &local, 1ul, &remote, 1ul, 0ul);
        if (copied > 0)
            return (uint32_t)copied;
    }
    return 0;
}

static void write_down(struct timed *t, const ucontext_t *context)
{
    const uint64_t used_ns = gn_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    struct gn_signal_slot *slot = take_slot();
    if (!slot)
        return;
    slot->tid = t->tid;
    slot->time_ns = gn_monotonic_ns();
    slot->used_ns = used_ns - t->used_ns;
#if defined(__x86_64__)
    slot->ip = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    slot->sp = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
    slot->fp = (uint64_t)context->uc_mcontext.gregs[REG_RBP];
#elif defined(__aarch64__)
    slot->ip = context->uc_mcontext.pc;
    slot->sp = context->uc_mcontext.sp;
    slot->fp = context->uc_mcontext.regs[29];
#endif
    slot->stack_bytes = copy_stack(slot->stack, slot->sp);
    t->used_ns = used_ns;
    atomic_store_explicit(&slot->state, GN_SIGNAL_FULL, memory_order_release);
}

/* Whoever else sends this signal means nothing that we know. */
static void on_signal(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    const int error = errno;
    const uintptr_t index = (uintptr_t)info->si_value.sival_int;
    if (info->si_code == SI_TIMER && index < THREADS && !gn_is_closed()) {
        struct timed *t = &timed[index];
        if (GN_GET(t->taken) && t->tid == (int)syscall(SYS_gettid)) {
            write_down(t, context);
            if (period_of(t) != t->period_ns)
                set_timer(t);
        }
    }
    errno = error;
}

/* ---- threads ---- */

static void thread_ends(void *at)
{
    struct timed *t = at;
    if (gn_is_closed()) /* a child that this thread has made: it has no timers */
        return;
    syscall(SYS_timer_delete, t->timer);
    atomic_store_explicit(&t->taken, 0, memory_order_release);
}

static struct timed *take_timed(void)
{
    for (size_t i = 0; i < THREADS; i++)
        if (GN_GET(timed[i].taken) == 0 &&
            atomic_exchange_explicit(&timed[i].taken, 1, memory_order_acquire) == 0)
            return &timed[i];
    return NULL;
}

static int start(struct timed *t)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number};
    event.sigev_value.sival_int = (int)(t - timed);
    t->tid = (int)syscall(SYS_gettid);
    event._sigev_un._tid = t->tid;
    t->used_ns = gn_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &t->timer) != 0)
        return errno;
    const int code = set_timer(t) == 0 ? pthread_setspecific(thread_end, t) : errno;
    if (code != 0)
        syscall(SYS_timer_delete, t->timer);
    return code;
}

static int begin_thread(void)
{
    struct timed *t = take_timed();
    const int code = t ? start(t) : ENOMEM;
    if (t && code != 0)
        atomic_store_explicit(&t->taken, 0, memory_order_release);
    return code;
}

void gn_signal_samples_thread(void)
{
    const int error = errno;
    if (memory && !gn_is_closed())
        begin_thread();
    errno = error;
}

/* 0: every real-time signal has a handler. */
static int free_signal(void)
{
    struct sigaction action;
    for (int n = SIGRTMAX; n >= SIGRTMIN; n--)
        if (sigaction(n, NULL, &action) == 0 && action.sa_handler == SIG_DFL)
            return n;
    return 0;
}

static int open_samples(void)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    number = free_signal();
    if (number == 0)
        return EBUSY;
    const int code = pthread_key_create(&thread_end, thread_ends);
    if (code != 0)
        return code;
    return sigaction(number, &action, NULL) == 0 ? begin_thread() : errno;
}

void gn_signal_samples_open(struct gn_signal_samples *samples)
{
    if (GN_GET(samples->period_ns) == 0)
        return;
    memory = samples;
    const int code = open_samples();
    if (code == 0)
        return;
    memory = NULL;
    GN_PUBLISH(samples->trouble, (uint32_t)code);
}
