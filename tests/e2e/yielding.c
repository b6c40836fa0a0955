/*
 * Preloaded into ranks of MPICH by the tests (lib.sh): one that waits gives way. MPICH spins, and its
 * MPIR_CVAR_POLLS_BEFORE_YIELD does nothing in Debian's build (no sched_yield is ever called). With more
 * ranks than idle cores each message then costs the one who waits a time slice: a run of 0.1 s of work
 * takes 1.5 s of processor time. ucp_worker_progress is what its progress loop calls when it looks for
 * messages; a build on another network is not changed.
 */
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>

unsigned ucp_worker_progress(void *worker);

/* The library's own: behind this one, or where whoever has loaded it alone may see it. */
static void *find_next(void)
{
    static const char name[] = "ucp_worker_progress";
    void *next = dlsym(RTLD_NEXT, name),
         *library = next ? NULL : dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
    return library ? dlsym(library, name) : next;
}

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*next)(void *worker);
    unsigned (*found)(void *worker) = __atomic_load_n(&next, __ATOMIC_RELAXED);
    if (!found) {
        *(void **)&found = find_next();
        __atomic_store_n(&next, found, __ATOMIC_RELAXED);
    }
    const unsigned events = found(worker);
    if (events == 0)
        sched_yield();
    return events;
}
