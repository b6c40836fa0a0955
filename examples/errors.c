/*
 * What MPI answers: error classes of calls that fail, and the status of many kinds of receives.
 *
 * With MPI_ERRORS_RETURN each wrong call must come back to the program with its class, and a tool in between
 * must hand on exactly that. Every rank does everything on a ring (right and left neighbour) and notes one
 * line per fact; rank 0 prints all notes in the order of ranks. Undefined fields are not printed: MPI_ERROR
 * has a meaning only where a call returned MPI_ERR_IN_STATUS.
 */
#include <mpi.h>
#include <stdarg.h>
#include "options.h"

static int rank, size, left, right;
static char notes[8192];
static int notes_length;

/* Printed as one word each, so that the output of all MPIs is the same. */
static const char *class_name(int error)
{
    static const struct {
        int class;
        const char *name;
    } names[] = {{MPI_SUCCESS, "SUCCESS"},           {MPI_ERR_BUFFER, "ERR_BUFFER"},
                 {MPI_ERR_COUNT, "ERR_COUNT"},       {MPI_ERR_TYPE, "ERR_TYPE"},
                 {MPI_ERR_TAG, "ERR_TAG"},           {MPI_ERR_COMM, "ERR_COMM"},
                 {MPI_ERR_RANK, "ERR_RANK"},         {MPI_ERR_ROOT, "ERR_ROOT"},
                 {MPI_ERR_TRUNCATE, "ERR_TRUNCATE"}, {MPI_ERR_IN_STATUS, "ERR_IN_STATUS"},
                 {MPI_ERR_PENDING, "ERR_PENDING"},   {MPI_ERR_OP, "ERR_OP"},
                 {MPI_ERR_ARG, "ERR_ARG"},           {MPI_ERR_REQUEST, "ERR_REQUEST"}};
    int class = error;
    MPI_Error_class(error, &class);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].class == class)
            return names[i].name;
    return "another class";
}

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int room = (int)sizeof notes - notes_length;
    int written = vsnprintf(notes + notes_length, (size_t)room, format, arguments);
    notes_length += written < room ? written : room - 1;
    va_end(arguments);
}

static void note_error(const char *call, int error)
{
    note("  %-28s %s\n", call, class_name(error));
}

/* `special` has a name of its own; which numbers the special values are is up to the MPI. */
static const char *number_name(int number, int special, const char *special_name, char *text,
                               size_t text_size)
{
    snprintf(text, text_size, "%d", number);
    return number == special ? special_name : text;
}

static void note_status(const char *call, const MPI_Status *status, MPI_Datatype type)
{
    char source[16], tag[16], count_text[16];
    int count;
    MPI_Get_count(status, type, &count);
    note("  %-28s source %s tag %s count %s\n", call,
         status->MPI_SOURCE == MPI_PROC_NULL
             ? "PROC_NULL"
             : number_name(status->MPI_SOURCE, MPI_ANY_SOURCE, "ANY", source, sizeof source),
         number_name(status->MPI_TAG, MPI_ANY_TAG, "ANY", tag, sizeof tag),
         number_name(count, MPI_UNDEFINED, "UNDEFINED", count_text, sizeof count_text));
}

/* A small message to the right neighbour; completes at once because it is small. */
static void send_right(int count, int tag)
{
    static const int data[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    MPI_Send(data, count, MPI_INT, right, tag, MPI_COMM_WORLD);
}

static __attribute__((noinline)) void wrong_arguments(void)
{
    int x = 0;
    MPI_Request request;
    note(" wrong arguments\n");
    note_error("Send, rank = size", MPI_Send(&x, 1, MPI_INT, size, 0, MPI_COMM_WORLD));
    note_error("Send, rank -77", MPI_Send(&x, 1, MPI_INT, -77, 0, MPI_COMM_WORLD));
    note_error("Send, tag -5", MPI_Send(&x, 1, MPI_INT, right, -5, MPI_COMM_WORLD));
    note_error("Send, count -1", MPI_Send(&x, -1, MPI_INT, right, 0, MPI_COMM_WORLD));
    note_error("Send, no datatype", MPI_Send(&x, 1, MPI_DATATYPE_NULL, right, 0, MPI_COMM_WORLD));
    note_error("Send, no communicator", MPI_Send(&x, 1, MPI_INT, right, 0, MPI_COMM_NULL));
    note_error("Isend, tag -5", MPI_Isend(&x, 1, MPI_INT, right, -5, MPI_COMM_WORLD, &request));
    note_error("Irecv, rank = size", MPI_Irecv(&x, 1, MPI_INT, size, 0, MPI_COMM_WORLD, &request));
    note_error("Recv, count -1", MPI_Recv(&x, -1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    note_error("Bcast, root = size", MPI_Bcast(&x, 1, MPI_INT, size, MPI_COMM_WORLD));
    note_error("Bcast, count -1", MPI_Bcast(&x, -1, MPI_INT, 0, MPI_COMM_WORLD));
    note_error("Allreduce, no datatype",
               MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD));
}

/* Which class it is differs between MPIs; it must come back. */
static void note_refused(const char *call, int error)
{
    note("  %-28s %s\n", call, error == MPI_SUCCESS ? "SUCCESS" : "refused");
}

static __attribute__((noinline)) void null_pointers(void)
{
    int index, count, flag, indices[1];
    MPI_Status status;
    note(" null pointers\n");
    note_refused("Wait", MPI_Wait(NULL, &status));
    note_refused("Test", MPI_Test(NULL, &flag, MPI_STATUS_IGNORE));
    note_refused("Waitall", MPI_Waitall(1, NULL, MPI_STATUSES_IGNORE));
    note_refused("Waitany", MPI_Waitany(1, NULL, &index, &status));
    note_refused("Waitsome", MPI_Waitsome(1, NULL, &count, indices, &status));
    note_refused("Request_free", MPI_Request_free(NULL));
}

static __attribute__((noinline)) void truncations(void)
{
    int small[2], other[4];
    MPI_Status status, statuses[2];
    MPI_Request requests[2];

    note(" truncation\n");
    send_right(4, 10);
    note_error("Recv of 4 into 2", MPI_Recv(small, 2, MPI_INT, left, 10, MPI_COMM_WORLD, &status));
    send_right(4, 11);
    note_error("the same, STATUS_IGNORE",
               MPI_Recv(small, 2, MPI_INT, left, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MPI_Irecv(small, 2, MPI_INT, left, 12, MPI_COMM_WORLD, &requests[0]);
    send_right(4, 12);
    note_error("Wait of 4 into 2", MPI_Wait(&requests[0], &status));

    MPI_Irecv(small, 2, MPI_INT, left, 13, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(other, 4, MPI_INT, left, 14, MPI_COMM_WORLD, &requests[1]);
    send_right(4, 14); /* first the good one, so that both are complete when Waitall looks */
    send_right(4, 13);
    MPI_Barrier(MPI_COMM_WORLD);
    note_error("Waitall, one truncated", MPI_Waitall(2, requests, statuses));
    note("    [0] %s\n", class_name(statuses[0].MPI_ERROR));
    int other_error = statuses[1].MPI_ERROR; /* both are right; Open MPI and MPICH differ */
    note("    [1] %s\n", other_error == MPI_SUCCESS || other_error == MPI_ERR_PENDING
                             ? "SUCCESS or ERR_PENDING"
                             : class_name(other_error));
    if (requests[1] != MPI_REQUEST_NULL)
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
}

static __attribute__((noinline)) void blocking_receives(void)
{
    int data[16];
    double real;
    MPI_Status status;

    note(" blocking receives\n");
    send_right(3, 20);
    MPI_Recv(data, 16, MPI_INT, left, 20, MPI_COMM_WORLD, &status);
    note_status("Recv", &status, MPI_INT);
    note_status("  counted as DOUBLE", &status, MPI_DOUBLE);
    send_right(0, 21);
    MPI_Recv(data, 16, MPI_INT, left, 21, MPI_COMM_WORLD, &status);
    note_status("Recv of nothing", &status, MPI_INT);
    send_right(2, 22);
    MPI_Recv(data, 16, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    note_status("Recv from any, any tag", &status, MPI_INT);
    send_right(2, 23);
    note_error("Recv, STATUS_IGNORE",
               MPI_Recv(data, 2, MPI_INT, left, 23, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MPI_Recv(data, 16, MPI_INT, MPI_PROC_NULL, 24, MPI_COMM_WORLD, &status);
    note_status("Recv from PROC_NULL", &status, MPI_INT);
    MPI_Sendrecv(data, 2, MPI_INT, right, 25, &real, 1, MPI_DOUBLE, left, MPI_ANY_TAG, MPI_COMM_WORLD,
                 &status);
    note_status("Sendrecv", &status, MPI_DOUBLE);
    MPI_Sendrecv_replace(data, 5, MPI_INT, right, 26, left, 26, MPI_COMM_WORLD, &status);
    note_status("Sendrecv_replace", &status, MPI_INT);
    MPI_Sendrecv(data, 1, MPI_INT, MPI_PROC_NULL, 27, data, 1, MPI_INT, MPI_PROC_NULL, 27, MPI_COMM_WORLD,
                 &status);
    note_status("Sendrecv, PROC_NULL", &status, MPI_INT);
}

static __attribute__((noinline)) void probes(void)
{
    int data[16], flag = 0;
    MPI_Status status;
    MPI_Message message;
    MPI_Request request;

    note(" probes\n");
    send_right(4, 30);
    MPI_Probe(MPI_ANY_SOURCE, 30, MPI_COMM_WORLD, &status);
    note_status("Probe", &status, MPI_INT);
    MPI_Recv(data, 16, MPI_INT, left, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    send_right(5, 31);
    while (!flag)
        MPI_Iprobe(left, 31, MPI_COMM_WORLD, &flag, &status);
    note_status("Iprobe", &status, MPI_INT);
    MPI_Recv(data, 16, MPI_INT, left, 31, MPI_COMM_WORLD, &status);
    send_right(6, 32);
    MPI_Mprobe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
    note_status("Mprobe", &status, MPI_INT);
    MPI_Mrecv(data, 16, MPI_INT, &message, &status);
    note_status("Mrecv", &status, MPI_INT);
    send_right(7, 33);
    for (flag = 0; !flag;)
        MPI_Improbe(MPI_ANY_SOURCE, 33, MPI_COMM_WORLD, &flag, &message, &status);
    note_status("Improbe", &status, MPI_INT);
    MPI_Imrecv(data, 16, MPI_INT, &message, &request);
    MPI_Wait(&request, &status);
    note_status("Imrecv, Wait", &status, MPI_INT);
    MPI_Probe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    note_status("Probe of PROC_NULL", &status, MPI_INT);
    MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status);
    note_status("Mprobe of PROC_NULL", &status, MPI_INT);
    note("  %-28s %s\n", "  its message", message == MPI_MESSAGE_NO_PROC ? "NO_PROC" : "not NO_PROC");
    MPI_Mrecv(data, 16, MPI_INT, &message, &status);
    note_status("Mrecv of NO_PROC", &status, MPI_INT);
    MPI_Iprobe(left, 39, MPI_COMM_WORLD, &flag, &status);
    note("  %-28s flag %d\n", "Iprobe, nothing there", flag);
}

/* Four receives from the left with tags tag..tag+3 and i+1 numbers each, and the sends to match. */
static void start_four(int data[4][4], MPI_Request *requests, int tag)
{
    for (int i = 0; i < 4; i++)
        MPI_Irecv(data[i], 4, MPI_INT, left, tag + i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < 4; i++)
        send_right(i + 1, tag + i);
}

static __attribute__((noinline)) void completions(void)
{
    int data[4][4], index, flag = 0, done = 0, outcount, indices[4];
    MPI_Request requests[4];
    MPI_Status statuses[4], by_index[4];

    note(" several requests\n");
    start_four(data, requests, 40);
    MPI_Waitall(4, requests, statuses);
    for (int i = 0; i < 4; i++)
        note_status("Waitall", &statuses[i], MPI_INT);
    start_four(data, requests, 44);
    note_error("Waitall, STATUSES_IGNORE", MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    start_four(data, requests, 48);
    while (!flag)
        MPI_Testall(4, requests, &flag, statuses);
    note_status("Testall, the last", &statuses[3], MPI_INT);

    start_four(data, requests, 52); /* which comes first is open: note them by index */
    for (; done < 4; done += outcount) {
        MPI_Testsome(4, requests, &outcount, indices, statuses);
        for (int i = 0; i < outcount; i++)
            by_index[indices[i]] = statuses[i];
    }
    for (int i = 0; i < 4; i++)
        note_status("Testsome", &by_index[i], MPI_INT);
    MPI_Testsome(4, requests, &outcount, indices, statuses);
    note("  %-28s outcount %s\n", "Testsome, nothing left", outcount == MPI_UNDEFINED ? "UNDEFINED" : "?");

    start_four(data, requests, 56);
    for (int i = 0; i < 4; i++) {
        MPI_Waitany(4, requests, &index, &statuses[0]);
        by_index[index] = statuses[0];
    }
    for (int i = 0; i < 4; i++)
        note_status("Waitany", &by_index[i], MPI_INT);
    MPI_Waitany(4, requests, &index, &statuses[0]);
    note("  %-28s index %s\n", "Waitany, nothing left", index == MPI_UNDEFINED ? "UNDEFINED" : "?");
    note_status("  its status", &statuses[0], MPI_INT);
}

static __attribute__((noinline)) void special_requests(void)
{
    int data = 0, cancelled = 0, flag = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;

    note(" special requests\n");
    MPI_Wait(&request, &status);
    note_status("Wait of REQUEST_NULL", &status, MPI_INT);
    MPI_Irecv(&data, 1, MPI_INT, left, 60, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    note("  %-28s cancelled %d\n", "Irecv, Cancel, Wait", cancelled);
    MPI_Irecv(&data, 1, MPI_INT, MPI_PROC_NULL, 61, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    note_status("Irecv from PROC_NULL", &status, MPI_INT);
    MPI_Recv_init(&data, 1, MPI_INT, left, 62, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    note_status("Wait, not yet started", &status, MPI_INT);
    MPI_Start(&request);
    send_right(1, 62);
    MPI_Wait(&request, &status);
    note_status("Wait, started", &status, MPI_INT);
    note("  %-28s %s\n", "  the request", request == MPI_REQUEST_NULL ? "is null" : "is kept");
    MPI_Request_free(&request);
    MPI_Irecv(&data, 1, MPI_INT, left, 63, MPI_COMM_WORLD, &request);
    send_right(1, 63);
    while (!flag)
        MPI_Request_get_status(request, &flag, &status);
    note_status("Request_get_status", &status, MPI_INT);
    note_error("Test, STATUS_IGNORE", MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
}

/* Rank 0 prints the notes of every rank. */
static void print_notes(void)
{
    if (rank != 0) {
        MPI_Send(notes, notes_length + 1, MPI_CHAR, 0, 99, MPI_COMM_WORLD);
        return;
    }
    printf("rank 0 of %d\n%s", size, notes);
    for (int r = 1; r < size; r++) {
        MPI_Recv(notes, (int)sizeof notes, MPI_CHAR, r, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("rank %d of %d\n%s", r, size, notes);
    }
}

int main(int argc, char **argv)
{
    const struct option_spec specs[] = {{0}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    int stop = options_read(argc, argv, "", "Provokes MPI errors and prints error classes and statuses.",
                            specs, NULL, rank == 0);
    if (stop == OPTIONS_RUN && size < 2) { /* MPICH's blocking send to oneself waits for the receive */
        fprintf(stderr, "errors: needs at least 2 ranks\n");
        stop = 2;
    }
    if (stop == OPTIONS_RUN) {
        stop = 0;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        wrong_arguments();
        null_pointers();
        truncations();
        blocking_receives();
        probes();
        completions();
        special_requests();
        print_notes();
    }
    MPI_Finalize();
    return stop;
}
