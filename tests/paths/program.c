#include "program.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum {
    MAX_DEPTH = 40,
    FUEL = 60,
    SCRIPTS = 40,
    STACK_BYTES = 1 << 18,
    PLUGINS = 3,
    RARELY = 256,
    LITTLE_FUEL = 6
};

__thread struct state state;
static const char *folder;

/* ---- random numbers ---- */

static unsigned next(uint64_t *from, unsigned below)
{
    *from ^= *from << 13;
    *from ^= *from >> 7;
    *from ^= *from << 17;
    return (unsigned)(*from >> 33) % below;
}

unsigned draw(unsigned below)
{
    return next(&state.script, below);
}

unsigned noise(unsigned below)
{
    return state.still ? 0 : next(&state.noise, below);
}

static int rarely(void)
{
    return next(&state.noise, RARELY) == 0;
}

int go_on(int depth)
{
    return depth < MAX_DEPTH && state.fuel-- > 0;
}

void any(int depth)
{
    functions[draw(function_count)](depth + 1);
    SITE(any);
}

/* ---- boundaries ---- */

struct saved save_state(void)
{
    return (struct saved){state.catchers, state.jump_base, state.jump_count};
}

void restore_state(struct saved saved)
{
    state.catchers = saved.catchers;
    state.jump_base = saved.jump_base;
    state.jump_count = saved.jump_count;
}

struct saved begin_boundary(void)
{
    struct saved saved = save_state();
    state.catchers = 0;
    state.jump_base = state.jump_count;
    return saved;
}

void maybe_jump(void)
{
    if (state.jump_count > state.jump_base && draw(2))
        longjmp(*state.jumps[--state.jump_count], 1);
}

/* ---- signals ---- */

static __thread int signal_depth;
static __thread int in_coroutine;

static void on_signal(int signal)
{
    (void)signal;
    struct saved saved = begin_boundary();
    probe();
    SITE(signal);
    if (go_on(signal_depth))
        any(signal_depth);
    restore_state(saved);
}

/* The instruction that trapped is behind it when it returns: ud2 has two bytes. */
static void on_trap(int signal, siginfo_t *info, void *context)
{
    (void)info;
    on_signal(signal);
    ucontext_t *interrupted = context;
    interrupted->uc_mcontext.gregs[REG_RIP] += 2;
}

static void take_signals(void)
{
    stack_t stack = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_NODEFER | SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    action.sa_flags = SA_NODEFER;
    sigaction(SIGUSR2, &action, NULL);
    action = (struct sigaction){.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGILL, &action, NULL);
}

/* On the alternate stack or not. From a coroutine that was entered there the kernel would begin it anew, over
 * live frames.
 */
NOINLINE void through_signal(int depth)
{
    if (draw(4)) /* or half of all stacks would have a signal's frame, and be walked slowly */
        return;
    signal_depth = depth;
    raise(draw(2) && !in_coroutine ? SIGUSR1 : SIGUSR2);
    SITE(signal);
}

NOINLINE void through_trap(int depth)
{
    volatile int steps = depth;
    if (draw(4))
        return;
    signal_depth = depth;
    __asm__ volatile("ud2" ::: "memory");
    steps++;
}

/* Interrupted at its very first instruction. The byte before belongs to another function. */
__asm__(".text\n.type before_trap, @function\nbefore_trap:\n.cfi_startproc\nnop\nret\n.cfi_endproc\n"
        ".size before_trap, .-before_trap\n"
        ".type trap_at_once, @function\ntrap_at_once:\n.cfi_startproc\nud2\nret\n.cfi_endproc\n"
        ".size trap_at_once, .-trap_at_once\n");
void trap_at_once(void);

NOINLINE void through_first_trap(int depth)
{
    if (draw(4))
        return;
    signal_depth = depth;
    trap_at_once();
    SITE(first_trap);
}

/* ---- threads and coroutines ---- */

static void *run_thread(void *from)
{
    state = *(struct state *)from;
    state.fuel = LITTLE_FUEL; /* or there would be more different paths than a process has room for */
    begin_boundary();
    any(0);
    *(struct state *)from = state;
    return NULL;
}

NOINLINE void through_thread(int depth)
{
    pthread_t thread;
    struct state there = state;
    if (rarely() && pthread_create(&thread, NULL, run_thread, &there) == 0)
        pthread_join(thread, NULL);
    probe();
    SITE(thread);
    if (go_on(depth))
        any(depth);
}

static __thread struct coroutine {
    ucontext_t here, caller;
    int depth;
    char *stack;
} coroutine;

static void run_coroutine(void)
{
    struct saved saved = begin_boundary();
    probe();
    SITE(coroutine);
    restore_state(saved);
    swapcontext(&coroutine.here, &coroutine.caller);
    saved = begin_boundary();
    any(coroutine.depth);
    restore_state(saved);
}

/* It gives way once, and is resumed from another place. Not out of itself: there is one. */
NOINLINE void through_coroutine(int depth)
{
    if (in_coroutine || getcontext(&coroutine.here) != 0)
        return;
    if (!coroutine.stack)
        coroutine.stack = malloc(STACK_BYTES);
    in_coroutine = 1;
    coroutine.depth = depth;
    coroutine.here.uc_stack.ss_sp = coroutine.stack;
    coroutine.here.uc_stack.ss_size = STACK_BYTES;
    coroutine.here.uc_link = &coroutine.caller;
    makecontext(&coroutine.here, run_coroutine, 0);
    swapcontext(&coroutine.caller, &coroutine.here);
    struct saved saved = begin_boundary();
    if (go_on(depth))
        any(depth);
    restore_state(saved);
    swapcontext(&coroutine.caller, &coroutine.here);
    in_coroutine = 0;
}

/* ---- libraries that come and go ---- */

/* All have the same layout, so that the next one takes the place of the one before. */
NOINLINE void through_plugin(int depth)
{
    char path[4096];
    static __thread int open;
    if (open || !rarely()) /* one at a time, or they would not be unloaded */
        return;
    open = 1;
    struct state before = state;
    snprintf(path, sizeof path, "%s/libplugin%u.so", folder, next(&state.noise, PLUGINS));
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    node_function *entry = library ? (node_function *)dlsym(library, "plugin_entry") : NULL;
    if (!entry) {
        fprintf(stderr, "%s\n", dlerror());
        _Exit(2);
    }
    begin_boundary(); /* or it would stay open */
    state.fuel = LITTLE_FUEL;
    entry(depth);
    before.noise = state.noise;
    state = before; /* what comes is the same as without */
    dlclose(library);
    probe_unloaded();
    open = 0;
}

/* ---- code that no file has ---- */

/* push %rbp; mov %rsp, %rbp; call *%rsi; pop %rbp; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3};
static void (*generated)(int depth, node_function *function);

static void generate_code(void)
{
    unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, code, sizeof code);
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
    *(void **)&generated = page;
}

NOINLINE void through_generated_code(int depth)
{
    struct saved saved = begin_boundary();
    generated(depth, any);
    restore_state(saved);
}

/* ---- the program ---- */

static uint64_t mix(uint64_t value)
{
    value = (value + 1) * 0x9e3779b97f4a7c15u;
    return (value ^ value >> 29) * 0xbf58476d1ce4e5b9u | 1;
}

int main(int argc, char **argv)
{
    unsigned long wanted = argc > 2 ? strtoul(argv[1], NULL, 0) : 100000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    folder = argc > 3 ? argv[3] : ".";
    take_signals();
    generate_code();
    state.noise = mix(seed);
    while (probe_calls() < wanted) {
        state.script = mix(seed << 16 | next(&state.noise, SCRIPTS));
        state.still = (int)next(&state.noise, 2);
        state.fuel = FUEL;
        any(0);
        SITE(main);
    }
    return probe_report() ? 1 : 0;
}
