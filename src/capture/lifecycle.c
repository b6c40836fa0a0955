/*
 * capture/lifecycle — from MPI_Init to the end of the process: taking the segment, leaving the environment as
 * it would have been, stepping aside when anything is missing.
 *
 *   loaded ──MPI_Init──► measuring ──MPI_Finalize──► final ──exit handlers──► closed
 *      └────any failure────► aside: every call passes through, one line on standard error says why
 */
#include "capture/classes.h"
#include "capture/channel.h"
#include "capture/comms.h"
#include "capture/counting.h"
#include "capture/envoy.h"
#include "capture/facts.h"
#include "capture/fatal.h"
#include "capture/interpreter.h"
#include "capture/modules.h"
#include "capture/real.h"
#include "capture/requests.h"
#include "capture/say.h"
#include "capture/segment.h"
#include "capture/sessions.h"
#include "capture/signal_samples.h"
#include "capture/spawn.h"
#include "capture/window_counts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

bool gn_ticks_from_kernel; /* clock/ticks.h: as the segment says */

static struct gn_moment loaded_at; /* on both counters: which one counts is not known yet */
static uint64_t loaded_ticks;
static _Atomic int begun;
static bool traced;
static char agent[108]; /* its socket */
static bool several;    /* hosts, perhaps */
static enum { PCONTROL_SWITCH, PCONTROL_REGIONS, PCONTROL_NOTHING } pcontrol;

__attribute__((constructor)) static void loaded(void)
{
    loaded_at.ns = gn_monotonic_ns();
#ifdef GN_PROCESSOR_COUNTER
    loaded_at.ticks = gn_ticks_of_processor();
#endif
}

/* Processor time: what the cost of measuring is compared with. Waiting is not in it. */
static void note_cpu(void)
{
    GN_SET(gn_segment->cpu_ns, gn_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
}

static void say(const char *what, const char *text)
{
    char line[512];
    int bytes = snprintf(line, sizeof line, "gnomon: process %d is not %s: %s\n", (int)getpid(), what, text);
    if (bytes > 0)
        gn_say(line, (size_t)bytes < sizeof line ? (size_t)bytes : sizeof line - 1);
}

/* Agent and guard have died: nobody reads what is written into this memory. It does no harm there. */
static void tell_if_alone(void)
{
    static bool told;
    if (told || gn_channel_is_there(agent))
        return;
    told = true;
    say("measured to its end", "gnomon's agent and guard on this host have died; what was measured since it "
                               "was last saved is lost");
}

__attribute__((destructor)) static void unloaded(void)
{
    if (!GN_GET(gn_gate->open)) /* not measured, or a child process */
        return;
    uint64_t now = gn_ticks();
    gn_fatal_exit();
    gn_record_end(now);
    note_cpu();
    GN_SET(gn_segment->end_ticks, now);
    GN_PUBLISH(gn_segment->state, GN_STATE_EXITED);
    gn_recorder_close();
    tell_if_alone();
}

/* Cuts our entries out of LD_PRELOAD where they stand: setenv would use the program's malloc. */
static void leave_preload(void)
{
    char *value = getenv("LD_PRELOAD"), *ours;
    while (value && (ours = strstr(value, "libgnomon")) != NULL) {
        char *begin = ours, *end = ours + strcspn(ours, ": ");
        while (begin > value && begin[-1] != ':' && begin[-1] != ' ')
            begin--;
        if (*end)
            end++;
        else if (begin > value)
            begin--;
        memmove(begin, end, strlen(end) + 1);
    }
    if (value && !*value)
        unsetenv("LD_PRELOAD");
}

static void read_settings(void)
{
    const char *dialect = getenv("GNOMON_PCONTROL");
    if (dialect && strcmp(dialect, "regions") == 0)
        pcontrol = PCONTROL_REGIONS;
    else if (dialect && strcmp(dialect, "none") == 0)
        pcontrol = PCONTROL_NOTHING;
    const char *trace = getenv("GNOMON_TRACE");
    traced = trace && strcmp(trace, "1") == 0;
}

/* The environment's strings go with the variables. */
static void read_spawn_settings(void)
{
    static const char *const dialects[] = {NULL, "regions", "none"};
    static char run[4096];
    const char *path = getenv("GNOMON_RUN");
    if (path && strlen(path) < sizeof run)
        strcpy(run, path);
    gn_spawn_open(&(struct gn_spawn_settings){run, agent, dialects[pcontrol], traced});
}

static void describe(struct gn_tag *segment)
{
    struct gn_moment moment = gn_moment_now();
    segment->first_moment_ticks = moment.ticks;
    segment->first_moment_ns = moment.ns;
    segment->pid = (uint32_t)getpid();
    segment->rank = -1;
    snprintf(segment->flavour, sizeof segment->flavour, "%s", gn_flavour.name);
    gn_module_executable(segment->exe, sizeof segment->exe);
    GN_SET(segment->start_ticks, loaded_ticks);
    GN_SET(segment->init_ticks, gn_ticks());
}

/* All readings that meet must be of one counter, and the agent has chosen. */
static void take_counter(const struct gn_tag *segment)
{
    gn_ticks_from_kernel = segment->counter != GN_TICKS_PROCESSOR;
    loaded_ticks = gn_ticks_from_kernel ? loaded_at.ns : loaded_at.ticks;
}

/* The agent learns it too: the run is partial, and the report says why. */
static void step_aside(struct gn_tag *segment, const char *reason)
{
    say("measured", reason);
    snprintf(segment->message, sizeof segment->message, "gnomon stepped aside: %s", reason);
    GN_SET(segment->partial, 1);
}

/* Called ahead of the real MPI_Init or MPI_Session_init, whatever the binding. Nested and repeated calls do
 * nothing. */
static void begin(void)
{
    if (atomic_exchange(&begun, 1))
        return;
    char reason[512];
    uint64_t begin_cpu_ns = gn_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    const char *name = getenv("GNOMON_AGENT");
    if (name)
        snprintf(agent, sizeof agent, "%s", name);
    read_settings();
    read_spawn_settings();
    leave_preload();
    unsetenv("GNOMON_AGENT");
    unsetenv("GNOMON_PCONTROL");
    unsetenv("GNOMON_TRACE");
    unsetenv("GNOMON_RUN");
    if (!agent[0])
        return; /* preloaded by hand, or a grandchild: nothing was asked for */
    struct gn_tag *segment;
    if (gn_flavour_find(reason, sizeof reason) != 0) {
        say("measured", reason);
        gn_segment_decline(agent, reason);
        return;
    }
    if (gn_segment_take(agent, &segment, &several, reason, sizeof reason) != 0) {
        say("measured", reason);
        return;
    }
    take_counter(segment);
    describe(segment);
    gn_segment_take_rings(agent, &gn_ring_memory, reason, sizeof reason);
    gn_real_resolve_all();
    gn_fatal_open();
    gn_interpreter_find();
    if (gn_ring_memory && (gn_comms_open() != 0 || gn_window_counts_open() != 0 || gn_counts_open() != 0)) {
        gn_ring_memory = NULL;
        snprintf(reason, sizeof reason, "no memory for its communicators and messages");
    }
    if (traced && reason[0])
        say("traced", reason);
    if (gn_requests_open() != 0 || gn_recorder_open(segment, loaded_ticks) != 0)
        step_aside(segment, "no memory for the recorder");
    else if (gn_ring_memory)
        gn_signal_samples_open(&gn_ring_memory->samples);
    GN_SET(segment->startup_cpu_ns, gn_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_cpu_ns);
    GN_PUBLISH(segment->state, GN_STATE_RUNNING);
}

/* Several ways to begin MPI in one process may differ in their level. */
static void know_level(int level)
{
    static int highest = -1;
    highest = level > highest ? level : highest;
    gn_segment->thread_level = highest;
    gn_requests_serial(highest < GN_THREAD_MULTIPLE);
    if (highest >= GN_THREAD_MULTIPLE)
        gn_counts_threaded();
}

static void know_yourself(int rank, int size)
{
    gn_segment->world = size;
    gn_library_version(gn_segment->library, sizeof gn_segment->library);
    gn_comms_begin(rank, size);
    gn_segment->rank = rank;
    gn_recorder_delay(getenv("GNOMON_TEST_COST"), rank);
}

static void meet_other_hosts(void)
{
    uint64_t begin_ticks = gn_ticks(), begin_cpu_ns = gn_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    gn_envoy_meet(agent, gn_segment->rank, gn_segment->world);
    gn_record_own_work(gn_ticks() - begin_ticks);
    GN_ADD(gn_segment->startup_cpu_ns, gn_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_cpu_ns);
}

/* After the real MPI_Init succeeded. Also in a process that has sessions already. */
static void world_began(void)
{
    int rank = -1, size = -1, level = -1;
    if (!GN_GET(gn_gate->open))
        return;
    gn_world_is_there(true);
    GN_PMPI(Query_thread, (int *))(&level);
    know_level(level);
    if (gn_segment->rank >= 0)
        return;
    GN_PMPI(Comm_rank, (gn_handle, int *))(gn_flavour.comm_world, &rank);
    GN_PMPI(Comm_size, (gn_handle, int *))(gn_flavour.comm_world, &size);
    know_yourself(rank, size);
    if (several)
        meet_other_hosts();
}

/* After the real MPI_Session_init succeeded. One that begins when all was over makes it go on. Hosts do not
 * meet: it is a local call, and nobody knows who else comes. */
static void session_began(unsigned binding, const void *session)
{
    int rank = -1, size = -1;
    if (!GN_GET(gn_gate->open))
        return;
    gn_handle handle = gn_session_handle(binding, session, 0);
    know_level(gn_session_thread_level(handle));
    if (gn_session_began(handle, &rank, &size) && gn_segment->rank < 0)
        know_yourself(rank, size);
    if (GN_GET(gn_segment->finalized_ticks) != 0) {
        GN_SET(gn_segment->finalized_ticks, 0);
        GN_PUBLISH(gn_segment->state, GN_STATE_RUNNING);
    }
}

/* MPI_Finalize, or the end of a session. What is left may go on. */
static void ended(void)
{
    if (!GN_GET(gn_gate->open) || gn_mpi_is_there())
        return;
    note_cpu();
    GN_SET(gn_segment->finalized_ticks, gn_ticks());
    GN_PUBLISH(gn_segment->state, GN_STATE_FINAL);
    tell_if_alone();
}

static void world_ended(void)
{
    gn_world_is_there(false);
    ended();
}

static void session_ends(unsigned binding, const void *session)
{
    if (GN_GET(gn_gate->open) && session)
        gn_session_ends(gn_session_handle(binding, session, 0));
}

/* One recorded call with a hand-written body. CALL must set `result`. */
#define RECORDED(id, bracket, CALL)                                                                          \
    struct gn_capture_call call;                                                                             \
    call.binding = GN_C;                                                                                     \
    bool recorded = (bracket) && gn_enter(&call, id, GN_CALLER, GN_FRAME);                                   \
    int result = 0;                                                                                          \
    CALL;                                                                                                    \
    if (recorded) {                                                                                          \
        call.exit_ticks = gn_ticks();                                                                        \
        gn_leave(&call, result);                                                                             \
    }

/* mpi_f08 lets a program leave it out, which is a null pointer; whether the call has failed is asked all the
 * same. */
#define OWN_ERROR(ierror)                                                                                    \
    int own_error = 0;                                                                                       \
    ierror = ierror ? ierror : &own_error
#define FORTRAN_RESULT(ierror) (result = *(ierror))

GN_EXPORT int MPI_Init(int *argc, char ***argv)
{
    begin();
    RECORDED(GN_CALL_INIT, true, result = ((int (*)(int *, char ***))gn_real(GN_C, GN_CALL_INIT))(argc, argv))
    if (result == 0)
        world_began();
    return result;
}

GN_EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    begin();
    RECORDED(GN_CALL_INIT_THREAD, true,
             result = ((int (*)(int *, char ***, int, int *))gn_real(GN_C, GN_CALL_INIT_THREAD))(
                 argc, argv, required, provided))
    if (result == 0)
        world_began();
    return result;
}

GN_EXPORT int MPI_Finalize(void)
{
    RECORDED(GN_CALL_FINALIZE, true, result = ((int (*)(void))gn_real(GN_C, GN_CALL_FINALIZE))())
    if (result == 0)
        world_ended();
    return result;
}

GN_EXPORT int gn_new_MPI_Session_init(gn_handle info, gn_handle errhandler, void *session)
{
    begin();
    RECORDED(GN_CALL_SESSION_INIT, true,
             result = ((int (*)(gn_handle, gn_handle, void *))gn_real(GN_C, GN_CALL_SESSION_INIT))(
                 info, errhandler, session))
    if (result == 0)
        session_began(GN_C, session);
    return result;
}
GN_NEW(MPI_Session_init);

GN_EXPORT int gn_new_MPI_Session_finalize(void *session)
{
    session_ends(GN_C, session);
    RECORDED(GN_CALL_SESSION_FINALIZE, true,
             result = ((int (*)(void *))gn_real(GN_C, GN_CALL_SESSION_FINALIZE))(session))
    if (result == 0)
        ended();
    return result;
}
GN_NEW(MPI_Session_finalize);

/* It does not come back; what remains visible is that this rank is inside MPI_Abort. */
GN_EXPORT int MPI_Abort(gn_handle comm, int errorcode)
{
    RECORDED(GN_CALL_ABORT, true, gn_fatal_abort(errorcode);
             result = ((int (*)(gn_handle, int))gn_real(GN_C, GN_CALL_ABORT))(comm, errorcode))
    return result;
}

#define FORTRAN_INIT(symbol, binding)                                                                        \
    GN_EXPORT void symbol(int *ierror)                                                                       \
    {                                                                                                        \
        OWN_ERROR(ierror);                                                                                   \
        begin();                                                                                             \
        RECORDED(GN_CALL_INIT, gn_flavour.direct[binding],                                                   \
                 ((void (*)(int *))gn_real(binding, GN_CALL_INIT))(ierror);                                  \
                 FORTRAN_RESULT(ierror))                                                                     \
        if (result == 0)                                                                                     \
            world_began();                                                                                   \
    }
#define FORTRAN_INIT_THREAD(symbol, binding)                                                                 \
    GN_EXPORT void symbol(int *required, int *provided, int *ierror)                                         \
    {                                                                                                        \
        OWN_ERROR(ierror);                                                                                   \
        begin();                                                                                             \
        RECORDED(GN_CALL_INIT_THREAD, gn_flavour.direct[binding],                                            \
                 ((void (*)(int *, int *, int *))gn_real(binding, GN_CALL_INIT_THREAD))(required, provided,  \
                                                                                        ierror);             \
                 FORTRAN_RESULT(ierror))                                                                     \
        if (result == 0)                                                                                     \
            world_began();                                                                                   \
    }
#define FORTRAN_FINALIZE(symbol, binding)                                                                    \
    GN_EXPORT void symbol(int *ierror)                                                                       \
    {                                                                                                        \
        OWN_ERROR(ierror);                                                                                   \
        RECORDED(GN_CALL_FINALIZE, gn_flavour.direct[binding],                                               \
                 ((void (*)(int *))gn_real(binding, GN_CALL_FINALIZE))(ierror);                              \
                 FORTRAN_RESULT(ierror))                                                                     \
        if (result == 0)                                                                                     \
            world_ended();                                                                                   \
    }
#define FORTRAN_ABORT(symbol, binding)                                                                       \
    GN_EXPORT void symbol(int *comm, int *errorcode, int *ierror)                                            \
    {                                                                                                        \
        OWN_ERROR(ierror);                                                                                   \
        RECORDED(GN_CALL_ABORT, gn_flavour.direct[binding],                                                  \
                 if (gn_flavour.direct[binding]) gn_fatal_abort(*errorcode);                                 \
                 ((void (*)(int *, int *, int *))gn_real(binding, GN_CALL_ABORT))(comm, errorcode, ierror);  \
                 FORTRAN_RESULT(ierror))                                                                     \
    }

#define FORTRAN_SESSION_INIT(symbol, binding)                                                                \
    GN_EXPORT void gn_new_##symbol(int *info, int *errhandler, int *session, int *ierror)                    \
    {                                                                                                        \
        int code = GN_NO_SUCH_CALL;                                                                          \
        begin();                                                                                             \
        RECORDED(GN_CALL_SESSION_INIT, gn_flavour.direct[binding],                                           \
                 ((void (*)(int *, int *, int *, int *))gn_real(binding, GN_CALL_SESSION_INIT))(             \
                     info, errhandler, session, &code);                                                      \
                 result = code)                                                                              \
        if (ierror)                                                                                          \
            *ierror = code;                                                                                  \
        if (result == 0 && gn_flavour.direct[binding])                                                       \
            session_began(binding, session);                                                                 \
    }                                                                                                        \
    GN_NEW(symbol);
#define FORTRAN_SESSION_FINALIZE(symbol, binding)                                                            \
    GN_EXPORT void gn_new_##symbol(int *session, int *ierror)                                                \
    {                                                                                                        \
        int code = GN_NO_SUCH_CALL;                                                                          \
        if (gn_flavour.direct[binding])                                                                      \
            session_ends(binding, session);                                                                  \
        RECORDED(GN_CALL_SESSION_FINALIZE, gn_flavour.direct[binding],                                       \
                 ((void (*)(int *, int *))gn_real(binding, GN_CALL_SESSION_FINALIZE))(session, &code);       \
                 result = code)                                                                              \
        if (ierror)                                                                                          \
            *ierror = code;                                                                                  \
        if (result == 0 && gn_flavour.direct[binding])                                                       \
            ended();                                                                                         \
    }                                                                                                        \
    GN_NEW(symbol);

#define FORTRAN_NAMES(name, NAME, MACRO)                                                                     \
    MACRO(mpi_##name##_, GN_F77)                                                                             \
    MACRO(mpi_##name##_f08_, GN_F08)                                                                         \
    GN_ALIAS(mpi_##name, mpi_##name##_);                                                                     \
    GN_ALIAS(mpi_##name##__, mpi_##name##_);                                                                 \
    GN_ALIAS(MPI_##NAME, mpi_##name##_);

FORTRAN_NAMES(init, INIT, FORTRAN_INIT)
FORTRAN_NAMES(init_thread, INIT_THREAD, FORTRAN_INIT_THREAD)
FORTRAN_NAMES(finalize, FINALIZE, FORTRAN_FINALIZE)
FORTRAN_NAMES(abort, ABORT, FORTRAN_ABORT)

#define FORTRAN_NEW_NAMES(name, NAME, MACRO)                                                                 \
    MACRO(mpi_##name##_, GN_F77)                                                                             \
    MACRO(mpi_##name##_f08_, GN_F08)                                                                         \
    GN_NEW_ALIAS(mpi_##name, mpi_##name##_);                                                                 \
    GN_NEW_ALIAS(mpi_##name##__, mpi_##name##_);                                                             \
    GN_NEW_ALIAS(MPI_##NAME, mpi_##name##_);

FORTRAN_NEW_NAMES(session_init, SESSION_INIT, FORTRAN_SESSION_INIT)
FORTRAN_NEW_NAMES(session_finalize, SESSION_FINALIZE, FORTRAN_SESSION_FINALIZE)

/* ---- regions ---- */

GN_EXPORT void gnomon_hook_region_begin(const char *name)
{
    gn_record_region(name, true, GN_CALLER, GN_FRAME, 0, 0);
}

GN_EXPORT void gnomon_hook_region_end(const char *name)
{
    gn_record_region(name, false, GN_CALLER, GN_FRAME, 0, 0);
}

/* A function that the user has named (capture/slots.c). 0: it is not noted: what gnomon calls itself, or MPI
 * does, and in threads that have called neither MPI nor regions, which may be the MPI library's own.
 */
GN_EXPORT int gnomon_hook_activity(const char *name, int begins, void *caller, void *frame,
                                   uint64_t entered_ticks, uint64_t later_ticks)
{
    extern const char __ehdr_start[], _end[];
    if (!gn_recorder_here() || ((const char *)caller >= __ehdr_start && (const char *)caller < _end))
        return 0;
    return gn_ticks_from_kernel ? gn_record_region(name, begins, caller, frame, 0, 0)
                                : gn_record_region(name, begins, caller, frame, entered_ticks, later_ticks);
}

/* The name in MPI_Pcontrol's variable arguments is there by convention only. Read it through the kernel,
 * which answers an invalid address with an error; page by page, for what follows the name may not be there.
 */
static bool copy_name(const char *from, char *to, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), here = page - ((uintptr_t)from & (page - 1));
    here = here < size - 1 ? here : size - 1;
    struct iovec local = {to, size - 1},
                 remote[] = {{(void *)from, here}, {(void *)(from + here), size - 1 - here}};
    memset(to, 0, size);
    return process_vm_readv(getpid(), &local, 1, remote, here < size - 1 ? 2 : 1, 0) > 0 && to[0] != '\0';
}

GN_EXPORT int MPI_Pcontrol(const int level, ...)
{
    if (GN_GET(gn_gate->open) && pcontrol == PCONTROL_SWITCH) {
        gn_record_switch(level != 0, GN_CALLER, GN_FRAME);
    } else if (GN_GET(gn_gate->open) && pcontrol == PCONTROL_REGIONS && (level == 1 || level == -1)) {
        va_list arguments;
        va_start(arguments, level);
        const char *name = va_arg(arguments, const char *);
        va_end(arguments);
        char copy[GN_NAME_BYTES];
        if (copy_name(name, copy, sizeof copy))
            gn_record_region(copy, level == 1, GN_CALLER, GN_FRAME, 0, 0);
    }
    return ((int (*)(int, ...))gn_helper(GN_HELPER_Pcontrol))(level);
}

GN_EXPORT void mpi_pcontrol_(int *level)
{
    if (pcontrol == PCONTROL_SWITCH)
        gn_record_switch(*level != 0, GN_CALLER, GN_FRAME);
}
GN_EXPORT void mpi_pcontrol_f08_(int *level)
{
    if (pcontrol == PCONTROL_SWITCH)
        gn_record_switch(*level != 0, GN_CALLER, GN_FRAME);
}
