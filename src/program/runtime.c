#include "program/runtime.h"

#include "program/program_inside.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* Libraries that are the same thing, or have the same functions. */
enum family { GNU_OPENMP, LLVM_OPENMP, CUDA, HIP, HSA, LEVEL_ZERO, OPENCL, MPI, C, FAMILIES };

/* Patterns as of a shell, here and below. */
static const struct {
    const char *library;
    enum family family;
} libraries[] = {
    {"libgomp.so*", GNU_OPENMP},
    {"libomp.so*", LLVM_OPENMP},
    {"libomp5.so*", LLVM_OPENMP},
    {"libiomp5*.so*", LLVM_OPENMP}, /* Intel's is the same */
    {"libcuda.so*", CUDA},
    {"libcudart.so*", CUDA},
    {"libamdhip64.so*", HIP},
    {"libhsa-runtime64.so*", HSA},
    {"libze_*.so*", LEVEL_ZERO},
    {"libOpenCL.so*", OPENCL},
    {"libmpi.so*", MPI},
    {"libmpi_*.so*", MPI},
    {"libmpich*.so*", MPI},
    {"libopen-*.so*", MPI}, /* Open MPI's libopen-pal and libopen-rte */
    {"mca_*.so", MPI},
    {"libpmix.so*", MPI},
    {"libuc[mpst].so*", MPI}, /* UCX */
    {"libfabric.so*", MPI},
    {"libpsm*.so*", MPI},
    {"libc.so*", C},
    {"libpthread.so*", C}, /* of a glibc before 2.34 */
};

/* What is left of a family. */
static const enum gn_runtime_kind others[FAMILIES] = {
    [GNU_OPENMP] = GN_RUNTIME_OPENMP,
    [LLVM_OPENMP] = GN_RUNTIME_OPENMP,
    [CUDA] = GN_RUNTIME_GPU,
    [HIP] = GN_RUNTIME_GPU,
    [HSA] = GN_RUNTIME_GPU,
    [LEVEL_ZERO] = GN_RUNTIME_GPU,
    [OPENCL] = GN_RUNTIME_GPU,
    [MPI] = GN_RUNTIME_MPI,
    [C] = GN_RUNTIME_NONE,
};

/* The first that fits holds. */
static const struct {
    enum family family;
    const char *symbol;
    enum gn_runtime_kind kind;
} functions[] = {
    {GNU_OPENMP, "*_wait*", GN_RUNTIME_OPENMP_WAIT}, /* gomp_team_barrier_wait_end, GOMP_doacross_wait, … */
    {GNU_OPENMP, "GOMP_taskwait*", GN_RUNTIME_OPENMP_WAIT},
    {GNU_OPENMP, "do_spin*", GN_RUNTIME_OPENMP_WAIT},
    {GNU_OPENMP, "do_wait*", GN_RUNTIME_OPENMP_WAIT},
    {GNU_OPENMP, "gomp_*_slow*", GN_RUNTIME_OPENMP_WAIT}, /* of locks and semaphores */
    {LLVM_OPENMP, "*__kmp*_wait*", GN_RUNTIME_OPENMP_WAIT},
    {LLVM_OPENMP, "*kmp_*flag*wait*", GN_RUNTIME_OPENMP_WAIT},
    {LLVM_OPENMP, "*__kmp*barrier*", GN_RUNTIME_OPENMP_WAIT},
    {LLVM_OPENMP, "*__kmp*acquire*lock*", GN_RUNTIME_OPENMP_WAIT},
    {LLVM_OPENMP, "*__kmp*suspend*", GN_RUNTIME_OPENMP_WAIT},
    {LLVM_OPENMP, "*__kmp*yield*", GN_RUNTIME_OPENMP_WAIT},
    {LLVM_OPENMP, "*__kmp*execute_tasks*",
     GN_RUNTIME_OPENMP_WAIT}, /* looks for some: tasks have frames of their own */
    {CUDA, "cu*Synchronize*", GN_RUNTIME_GPU_WAIT},
    {HIP, "hip*Synchronize*", GN_RUNTIME_GPU_WAIT},
    {HSA, "hsa_*signal_wait*", GN_RUNTIME_GPU_WAIT},
    {LEVEL_ZERO, "ze*Synchronize*", GN_RUNTIME_GPU_WAIT},
    {OPENCL, "clFinish", GN_RUNTIME_GPU_WAIT},
    {OPENCL, "clWaitForEvents", GN_RUNTIME_GPU_WAIT},
    {C, "*nanosleep*", GN_RUNTIME_SLEEP},
    {C, "usleep", GN_RUNTIME_SLEEP},
    {C, "sleep", GN_RUNTIME_SLEEP},
    {C, "pause", GN_RUNTIME_SLEEP},
    {C, "*sched_yield", GN_RUNTIME_YIELD},
    {C, "*poll", GN_RUNTIME_POLL},
    {C, "*select", GN_RUNTIME_POLL},
    {C, "epoll_*wait*", GN_RUNTIME_POLL},
    {C, "*pthread_cond_*wait*", GN_RUNTIME_THREAD_WAIT},
    {C, "*pthread_mutex_*lock", GN_RUNTIME_THREAD_WAIT},
    {C, "*pthread_rwlock_*lock", GN_RUNTIME_THREAD_WAIT},
    {C, "*pthread_spin_lock", GN_RUNTIME_THREAD_WAIT},
    {C, "*pthread_barrier_wait", GN_RUNTIME_THREAD_WAIT},
    {C, "*pthread_*join*", GN_RUNTIME_THREAD_WAIT},
    {C, "*sem_*wait*", GN_RUNTIME_THREAD_WAIT},
    {C, "*lll_lock_wait*", GN_RUNTIME_THREAD_WAIT},
    {C, "*futex*wait*", GN_RUNTIME_THREAD_WAIT},
    {C, "*read", GN_RUNTIME_IO}, /* fread among them */
    {C, "*read64", GN_RUNTIME_IO},
    {C, "*readv*", GN_RUNTIME_IO},
    {C, "*write", GN_RUNTIME_IO},
    {C, "*write64", GN_RUNTIME_IO},
    {C, "*writev*", GN_RUNTIME_IO},
    {C, "*open", GN_RUNTIME_IO},
    {C, "*open64", GN_RUNTIME_IO},
    {C, "*openat*", GN_RUNTIME_IO},
    {C, "*close", GN_RUNTIME_IO},
    {C, "*sync", GN_RUNTIME_IO},
    {C, "*send*", GN_RUNTIME_IO},
    {C, "*recv*", GN_RUNTIME_IO},
};

static const char *const texts[GN_RUNTIME_KINDS] = {
    [GN_RUNTIME_NONE] = "",
    [GN_RUNTIME_OPENMP] = "in the OpenMP runtime",
    [GN_RUNTIME_OPENMP_WAIT] = "waiting in the OpenMP runtime",
    [GN_RUNTIME_GPU] = "in a GPU's runtime",
    [GN_RUNTIME_GPU_WAIT] = "waiting for a GPU",
    [GN_RUNTIME_MPI] = "in the MPI library",
    [GN_RUNTIME_THREAD_WAIT] = "waiting for another thread",
    [GN_RUNTIME_IO] = "reading or writing",
    [GN_RUNTIME_POLL] = "waiting for a file or socket",
    [GN_RUNTIME_SLEEP] = "sleeping",
    [GN_RUNTIME_YIELD] = "giving its core to others",
    [GN_RUNTIME_ASLEEP] = "asleep",
};

static enum family family_of(const char *library)
{
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (fnmatch(libraries[i].library, library, 0) == 0)
            return libraries[i].family;
    return FAMILIES;
}

enum gn_runtime_kind gn_runtime_of(const char *library, const char *symbol)
{
    const enum family family = family_of(library);
    char plain[256]; /* without its version: "pthread_barrier_wait@GLIBC_2.2.5" */
    if (family == FAMILIES)
        return GN_RUNTIME_NONE;
    snprintf(plain, sizeof plain, "%.*s", symbol ? (int)strcspn(symbol, "@") : 0, symbol ? symbol : "");
    for (size_t i = 0; symbol && i < sizeof functions / sizeof *functions; i++)
        if (functions[i].family == family && fnmatch(functions[i].symbol, plain, 0) == 0)
            return functions[i].kind;
    return others[family];
}

static enum gn_runtime_kind find_kind(struct gn_program *program, uint64_t offset)
{
    enum gn_runtime_kind kind =
        gn_runtime_of(gn_program_library(program), gn_program_symbol(program, offset, NULL));
    return kind == GN_RUNTIME_OPENMP && gn_program_spins(program, offset) ? GN_RUNTIME_OPENMP_WAIT : kind;
}

enum gn_runtime_kind gn_runtime_at(struct gn_program *program, uint64_t offset)
{
    const struct gn_key key = {offset, 0};
    const int *known = gn_map_find(&program->kept.kinds, key);
    enum gn_runtime_kind kind = known ? (enum gn_runtime_kind) * known : find_kind(program, offset);
    if (!known)
        gn_kept_add_kind(&program->kept, key, (int)kind);
    return kind;
}

/* What a thread does in a function that was called by another one, of which it is known what that does. */
static enum gn_runtime_kind on_behalf_of(enum gn_runtime_kind callee, enum gn_runtime_kind caller)
{
    if (caller == GN_RUNTIME_OPENMP && gn_runtime_waits(callee))
        return GN_RUNTIME_OPENMP_WAIT;
    if (caller == GN_RUNTIME_GPU && gn_runtime_waits(callee))
        return GN_RUNTIME_GPU_WAIT;
    return caller == GN_RUNTIME_NONE ? callee : caller;
}

enum gn_runtime_kind gn_runtime_of_stack(const struct gn_call_address *frames, size_t count)
{
    enum gn_runtime_kind kind = GN_RUNTIME_NONE;
    enum family within = C;
    for (size_t i = 0; i < count && frames[i].module && frames[i].module->program; i++) {
        struct gn_program *program = frames[i].module->program;
        enum family family = family_of(gn_program_library(program));
        if (within != C && family != within)
            break;
        enum gn_runtime_kind here = gn_runtime_at(program, frames[i].offset - (i > 0));
        if (within == C)
            kind = on_behalf_of(kind, here);
        else if (gn_runtime_waits(here)) /* what a runtime does in its waiting is waiting */
            kind = here;
        if (family == FAMILIES)
            break;
        within = family;
    }
    return kind;
}

const char *gn_runtime_text(enum gn_runtime_kind kind)
{
    return kind < GN_RUNTIME_KINDS ? texts[kind] : "";
}

bool gn_runtime_waits(enum gn_runtime_kind kind)
{
    return kind == GN_RUNTIME_OPENMP_WAIT || kind == GN_RUNTIME_GPU_WAIT || kind == GN_RUNTIME_THREAD_WAIT ||
           kind == GN_RUNTIME_POLL || kind == GN_RUNTIME_SLEEP || kind == GN_RUNTIME_YIELD ||
           kind == GN_RUNTIME_ASLEEP;
}
