#include "probe.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN = 3 };
#define EXPORT __attribute__((visibility("default"), noinline))

static atomic_ulong calls, cut, wrong_walks, wrong_paths, frames_seen;

__attribute__((constructor)) static void open_probe(void)
{
    if (gn_probe_open() == 0 && reference_open() == 0)
        return;
    fprintf(stderr, "probe: no memory, or no libunwind.so.8\n");
    _exit(77);
}

static void show_frame(const char *what, unsigned i, uintptr_t ip)
{
    Dl_info about = {.dli_fname = "?"};
    dladdr((void *)ip, &about);
    fprintf(stderr, "  %s %2u %#lx %s in %s\n", what, i, (unsigned long)ip,
            about.dli_sname ? about.dli_sname : "?", about.dli_fname);
}

static bool same_walk(const struct reference_frame *truth, unsigned count, const struct probe_frame *found,
                      unsigned found_count)
{
    bool same = count == found_count;
    for (unsigned i = 0; same && i < count; i++)
        same = truth[i].ip == found[i].ip;
    if (same || atomic_fetch_add(&wrong_walks, 1) >= SHOWN)
        return same;
    fprintf(stderr, "call %lu: the stack has %u frames, not %u\n", atomic_load(&calls), count, found_count);
    for (unsigned i = 0; i < count; i++)
        show_frame("is   ", i, truth[i].ip);
    for (unsigned i = 0; i < found_count; i++)
        show_frame("found", i, found[i].ip);
    return same;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool same_frame(uintptr_t ip, bool folded, const struct probe_kept *found)
{
    const char *module;
    uint64_t offset;
    reference_module(ip, &module, &offset);
    return offset == found->offset && strcmp(base_name(module), base_name(found->module)) == 0 &&
           (found->folded || !folded);
}

static bool same_path(const struct reference_frame *frames, unsigned count, const struct probe_kept *found,
                      unsigned found_count)
{
    unsigned kept[PROBE_MAX_FRAMES];
    bool folded[PROBE_MAX_FRAMES];
    unsigned length = reference_fold(frames, count, kept, folded);
    bool same = length == found_count;
    for (unsigned i = 0; same && i < length; i++)
        same = same_frame(frames[kept[i]].ip, folded[i], &found[i]);
    if (same || atomic_fetch_add(&wrong_paths, 1) >= SHOWN)
        return same;
    fprintf(stderr, "call %lu: the path has %u frames, not %u\n", atomic_load(&calls), length, found_count);
    for (unsigned i = 0; i < length; i++)
        show_frame(folded[i] ? "is   *" : "is    ", i, frames[kept[i]].ip);
    for (unsigned i = 0; i < found_count; i++)
        fprintf(stderr, "  found%s %2u %s+%#lx\n", found[i].folded ? " *" : "  ", i,
                base_name(found[i].module), (unsigned long)found[i].offset);
    return same;
}

/* With a frame pointer and not inlined: its frame says where the caller's stack begins, as a wrapper's does.
 */
EXPORT void probe(void)
{
    struct reference_frame truth[PROBE_MAX_FRAMES];
    struct probe_frame frames[PROBE_MAX_FRAMES];
    struct probe_kept kept[PROBE_MAX_FRAMES];
    void *caller = __builtin_return_address(0), *frame = __builtin_frame_address(0);
    atomic_fetch_add(&calls, 1);
    unsigned count = reference_walk((uintptr_t)caller, truth, PROBE_MAX_FRAMES);
    int kept_count = gn_probe_recorded(caller, frame, kept, PROBE_MAX_FRAMES);
    atomic_fetch_add(&frames_seen, count);
    same_walk(truth, count, frames, gn_probe_path(caller, frame, frames, PROBE_MAX_FRAMES));
    if (kept_count < 0)
        atomic_fetch_add(&cut, 1);
    else
        same_path(truth, count, kept, (unsigned)kept_count);
}

EXPORT void probe_unloaded(void)
{
    reference_forget();
}

EXPORT unsigned long probe_calls(void)
{
    return atomic_load(&calls);
}

EXPORT unsigned long probe_report(void)
{
    unsigned long all = atomic_load(&calls), wrong = atomic_load(&wrong_walks) + atomic_load(&wrong_paths);
    printf("calls %lu frames %lu unwound %lu paths %u cut %lu wrong_walks %lu wrong_paths %lu\n", all,
           atomic_load(&frames_seen), gn_probe_unwound(), gn_probe_paths(), atomic_load(&cut),
           atomic_load(&wrong_walks), atomic_load(&wrong_paths));
    return wrong;
}
