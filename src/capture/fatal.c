#include "capture/fatal.h"

#include "capture/classes.h"
#include "capture/facts.h"
#include "capture/real.h"

#include <stdio.h>
#include <string.h>

typedef int invoke_openmpi(void *handler, void *object, int type, int code, const char *message);
typedef int return_mpich(void *object, const char *function, int code);

static invoke_openmpi *openmpi;
static return_mpich *mpich_comm, *mpich_win;

static void *resolve(const char *name)
{
    return gn_real_symbol(name);
}

void gn_fatal_open(void)
{
    openmpi = (invoke_openmpi *)resolve("ompi_errhandler_invoke");
    mpich_comm = (return_mpich *)resolve("MPIR_Err_return_comm");
    mpich_win = (return_mpich *)resolve("MPIR_Err_return_win");
}

/* ---- the note ---- */

static void take_asked(struct gn_fatal *fatal, const struct gn_capture_asked *asked)
{
    const gn_handle comm = asked->binding == GN_C ? asked->comm : gn_f2c_comm((int)asked->comm);
    fatal->asks = asked->asks;
    fatal->peer = asked->peer;
    fatal->tag = asked->tag;
    fatal->in_world = ((comm ^ gn_flavour.comm_world) & gn_flavour.handle_mask) == 0;
}

/* Threads may fail at the same time: the first one keeps the place. A note of this thread's that is still
 * there is of an error handler that did not return. */
static bool begin_note(const struct gn_open_call *open)
{
    struct gn_fatal *fatal = &gn_segment->fatal;
    uint32_t none = 0;
    if (GN_GET(fatal->state) != 0 && fatal->location == open->location) {
        GN_SET(fatal->state, 0);
        atomic_thread_fence(memory_order_seq_cst);
    }
    if (!atomic_compare_exchange_strong(&fatal->state, &none, GN_FATAL_WRITING))
        return false;
    fatal->location = open->location;
    fatal->enter_ticks = open->enter_ticks;
    fatal->asks = GN_ASKS_NOBODY;
    if (open->asked)
        take_asked(fatal, open->asked);
    fatal->class_name[0] = fatal->text[0] = '\0';
    return true;
}

static const char *name_of(int class)
{
    for (const struct gn_error_name *n = gn_flavour.error_names; n && n->name; n++)
        if (n->class == class)
            return n->name;
    return "";
}

/* The first line, without what MPICH announces the next ones with. */
static void take_text(struct gn_fatal *fatal, int code)
{
    static char text[1024]; /* MPI_MAX_ERROR_STRING of either flavour; under the note's lock */
    int bytes = 0;
    text[0] = '\0';
    GN_PMPI(Error_string, (int, char *, int *))(code, text, &bytes);
    text[sizeof text - 1] = '\0';
    text[strcspn(text, "\n")] = '\0';
    char *stack = strstr(text, ", error stack:");
    if (stack)
        *stack = '\0';
    /* Open MPI puts the name of the class in front */
    const size_t name = strlen(fatal->class_name);
    const bool twice =
        name > 0 && strncmp(text, fatal->class_name, name) == 0 && strncmp(text + name, ": ", 2) == 0;
    snprintf(fatal->text, sizeof fatal->text, "%.*s", (int)sizeof fatal->text - 1,
             twice ? text + name + 2 : text);
}

/* MPICH holds its lock here, where it has one: then it cannot be asked. */
static void take_error(struct gn_fatal *fatal, int code)
{
    int class = code;
    const bool ask = gn_segment->thread_level < GN_THREAD_MULTIPLE || !gn_flavour.error_class_mask;
    if (gn_flavour.error_class_mask)
        class = code & gn_flavour.error_class_mask;
    else
        GN_PMPI(Error_class, (int, int *))(code, &class);
    fatal->code = code;
    snprintf(fatal->class_name, sizeof fatal->class_name, "%s", name_of(class));
    if (ask)
        take_text(fatal, code);
}

/* The program may raise errors that do not end it as often as it likes, and read errno after each. */
static bool note_error(int code)
{
    struct gn_open_call open;
    struct gn_fatal *fatal = gn_is_closed() ? NULL : &gn_segment->fatal;
    if (!fatal || code == 0 || gn_segment->rank < 0 || !gn_record_open_call(&open) || !begin_note(&open))
        return false;
    take_error(fatal, code);
    GN_PUBLISH(fatal->state, GN_FATAL_ERROR);
    return true;
}

static int forget(bool noted, int result)
{
    if (noted && !gn_is_closed())
        GN_SET(gn_segment->fatal.state, GN_FATAL_NONE);
    return result;
}

void gn_fatal_abort(int code)
{
    struct gn_open_call open;
    if (gn_is_closed() || !gn_record_open_call(&open) || !begin_note(&open))
        return;
    gn_segment->fatal.code = code;
    GN_PUBLISH(gn_segment->fatal.state, GN_FATAL_ABORT);
}

void gn_fatal_exit(void)
{
    struct gn_open_call open;
    const struct gn_fatal *fatal = &gn_segment->fatal;
    if (!gn_record_open_call(&open) ||
        (GN_GET(fatal->state) != GN_FATAL_NONE && fatal->location == open.location &&
         fatal->enter_ticks == open.enter_ticks) || /* it is known why */
        !begin_note(&open))
        return;
    GN_PUBLISH(gn_segment->fatal.state, GN_FATAL_EXIT);
}

/* ---- the libraries' own functions ---- */

GN_EXPORT int ompi_errhandler_invoke(void *handler, void *object, int type, int code, const char *message)
{
    invoke_openmpi *real = openmpi ? openmpi : (invoke_openmpi *)resolve("ompi_errhandler_invoke");
    bool noted = note_error(code);
    return forget(noted, real(handler, object, type, code, message));
}

GN_EXPORT int MPIR_Err_return_comm(void *comm, const char *function, int code)
{
    return_mpich *real = mpich_comm ? mpich_comm : (return_mpich *)resolve("MPIR_Err_return_comm");
    bool noted = note_error(code);
    return forget(noted, real(comm, function, code));
}

GN_EXPORT int MPIR_Err_return_win(void *win, const char *function, int code)
{
    return_mpich *real = mpich_win ? mpich_win : (return_mpich *)resolve("MPIR_Err_return_win");
    bool noted = note_error(code);
    return forget(noted, real(win, function, code));
}
