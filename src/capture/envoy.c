#include "capture/envoy.h"

#include "capture/agreement.h"
#include "capture/channel.h"
#include "capture/flavour.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATIENCE_MS = 2000, TAG = 26478 };

struct envoy {
    struct gn_sheet *sheet;
    size_t bytes;
    char folder[512];
    char why_not[512];
    int rank;
    bool all; /* the hosts that meet have all ranks of the job */
};

/* ---- the agent ---- */

static int ask_agent(const char *agent, struct gn_message *message, struct gn_message *reply, int *descriptor)
{
    int fd = gn_channel_connect(agent, GN_CHANNEL_PATIENCE_MS, NULL);
    if (fd < 0)
        return fd;
    message->magic = GN_PROTOCOL_MAGIC;
    message->version = GN_PROTOCOL_VERSION;
    message->pid = (int32_t)getpid();
    int code = gn_channel_send(fd, message, -1);
    if (code == 0)
        code = gn_channel_receive(fd, reply, descriptor);
    close(fd);
    return code == 0 ? reply->status : code;
}

static bool is_sheet(const struct gn_sheet *sheet, size_t bytes)
{
    return bytes >= sizeof *sheet && sheet->magic == GN_SHEET_MAGIC && sheet->world > 1 &&
           sheet->entry_bytes > 0 && sheet->entry_bytes <= 1u << 16 &&
           bytes >= sizeof *sheet + ((size_t)sheet->world + 1) * sheet->entry_bytes;
}

/* 0: this rank is the envoy of its host, and nobody else is. */
static int take_sheet(const char *agent, int rank, int world, struct envoy *envoy)
{
    struct gn_message ask = {.kind = GN_MEET, .rank = rank, .status = world}, reply;
    struct stat info;
    int file = -1, code = ask_agent(agent, &ask, &reply, &file);
    if (code == 0 && (file < 0 || fstat(file, &info) != 0))
        code = -EPROTO;
    void *memory = MAP_FAILED;
    if (code == 0)
        memory = mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0)
        close(file);
    if (memory == MAP_FAILED)
        return code != 0 ? code : -ENOMEM;
    *envoy = (struct envoy){.sheet = memory, .bytes = (size_t)info.st_size, .rank = rank};
    snprintf(envoy->folder, sizeof envoy->folder, "%s", reply.text);
    if (is_sheet(memory, envoy->bytes) && envoy->sheet->world == world)
        return 0;
    munmap(memory, envoy->bytes);
    return -EPROTO;
}

static void tell_agent(const char *agent, const struct envoy *envoy, int hosts)
{
    struct gn_message met = {.kind = GN_MET, .rank = hosts, .status = envoy->all}, reply;
    int descriptor = -1;
    snprintf(met.text, sizeof met.text, "%s", envoy->why_not);
    ask_agent(agent, &met, &reply, &descriptor);
    if (descriptor >= 0)
        close(descriptor);
}

/* ---- who meets ---- */

static bool makes_sense(const struct gn_mark *marks, int count, const struct envoy *envoy, size_t own)
{
    if (own >= (size_t)count || marks[own].envoy != envoy->rank)
        return false;
    for (int i = 0; i < count; i++) {
        if (marks[i].envoy >= envoy->sheet->world)
            return false;
        for (int j = 0; j < i; j++)
            if (marks[j].envoy == marks[i].envoy)
                return false;
    }
    return true;
}

static int ranks_of(const struct gn_mark *marks, int count)
{
    int64_t ranks = 0;
    for (int i = 0; i < count; i++)
        ranks += marks[i].local;
    return ranks > INT32_MAX ? INT32_MAX : (int)ranks;
}

static void name_absent(struct envoy *envoy, const struct gn_mark *marks, int count)
{
    int ranks = ranks_of(marks, count);
    snprintf(
        envoy->why_not, sizeof envoy->why_not,
        "only %d of %d ranks were seen in %.300s within %d s: the other hosts do not share that folder, or "
        "their ranks run without gnomon",
        ranks, envoy->sheet->world, envoy->folder, PATIENCE_MS / 1000);
}

/* Number of hosts that meet, at least 2, or 0 with the reason. */
static int agree(struct envoy *envoy, struct gn_mark *marks)
{
    struct gn_sheet *sheet = envoy->sheet;
    struct gn_mark mark = {.envoy = envoy->rank, .first = sheet->first_rank, .local = sheet->local};
    size_t own;
    snprintf(mark.host, sizeof mark.host, "%s", sheet->host);
    int count = gn_agree(envoy->folder, &mark, sheet->world, PATIENCE_MS, marks, (size_t)sheet->world, &own);
    if (count < 0)
        snprintf(envoy->why_not, sizeof envoy->why_not, "the hosts could not agree in %.300s: %s",
                 envoy->folder, strerror(-count));
    else if (count < 2)
        name_absent(envoy, marks, count);
    else if (own == (size_t)count)
        snprintf(
            envoy->why_not, sizeof envoy->why_not,
            "this host came %d s later than others, or a run that was killed left its agreement in %.300s",
            PATIENCE_MS / 1000, envoy->folder);
    else if (!makes_sense(marks, count, envoy, own))
        snprintf(envoy->why_not, sizeof envoy->why_not, "the agreement in %.300s makes no sense",
                 envoy->folder);
    if (envoy->why_not[0])
        return 0;
    sheet->own = (uint32_t)own;
    envoy->all = ranks_of(marks, count) == sheet->world;
    return count;
}

/* ---- through MPI ---- */

/* Of the envoys only: ranks without gnomon do not come. An error here must not end the job. */
static int make_communicator(int *ranks, int count, gn_handle *comm)
{
    gn_handle world = gn_flavour.comm_world, all = 0, group = 0, handler = 0;
    int code = GN_PMPI(Comm_get_errhandler, (gn_handle, gn_handle *))(world, &handler);
    if (code == 0)
        code = GN_PMPI(Comm_set_errhandler, (gn_handle, gn_handle))(world, gn_flavour.errors_return);
    if (code != 0)
        return code;
    code = GN_PMPI(Comm_group, (gn_handle, gn_handle *))(world, &all);
    if (code == 0)
        code = GN_PMPI(Group_incl, (gn_handle, int, const int *, gn_handle *))(all, count, ranks, &group);
    if (code == 0)
        code = GN_PMPI(Comm_create_group, (gn_handle, gn_handle, int, gn_handle *))(world, group, TAG, comm);
    if (group)
        GN_PMPI(Group_free, (gn_handle *))(&group);
    if (all)
        GN_PMPI(Group_free, (gn_handle *))(&all);
    GN_PMPI(Comm_set_errhandler, (gn_handle, gn_handle))(world, handler);
    GN_PMPI(Errhandler_free, (gn_handle *))(&handler);
    return code;
}

static int carry(struct gn_sheet *sheet, gn_handle comm)
{
    uint8_t *own = (uint8_t *)(sheet + 1), *table = own + sheet->entry_bytes;
    int bytes = (int)sheet->entry_bytes;
    gn_handle byte = gn_flavour.byte_type;
    int code = GN_PMPI(Comm_set_errhandler, (gn_handle, gn_handle))(comm, gn_flavour.errors_return);
    if (code == 0)
        code = GN_PMPI(Bcast, (void *, int, gn_handle, int, gn_handle))(sheet->key, sizeof sheet->key, byte,
                                                                        0, comm);
    if (code == 0)
        code = GN_PMPI(Allgather, (const void *, int, gn_handle, void *, int, gn_handle, gn_handle))(
            own, bytes, byte, table, bytes, byte, comm);
    GN_PMPI(Comm_free, (gn_handle *))(&comm);
    return code;
}

/* marks: room for the ranks, too, which are smaller. */
static int meet(struct envoy *envoy, struct gn_mark *marks)
{
    int count = agree(envoy, marks);
    if (count == 0)
        return 0;
    int *ranks = (int *)marks;
    for (int i = 0; i < count; i++) {
        int rank = marks[i].envoy;
        memcpy(&ranks[i], &rank, sizeof rank);
    }
    gn_handle comm = 0;
    int code = make_communicator(ranks, count, &comm);
    if (code == 0)
        code = carry(envoy->sheet, comm);
    if (code != 0) {
        snprintf(envoy->why_not, sizeof envoy->why_not,
                 "the MPI library could not connect %d hosts (error %d)", count, code);
        return 0;
    }
    envoy->sheet->count = (uint32_t)count;
    return count;
}

void gn_envoy_meet(const char *agent, int rank, int world)
{
    struct envoy envoy;
    /* an error with anything that was not found would end the job, and a promise would be given before it */
    if (!gn_flavour.comm_world || !gn_flavour.errors_return || !gn_flavour.byte_type)
        return;
    if (take_sheet(agent, rank, world, &envoy) != 0)
        return;
    size_t bytes = (size_t)world * sizeof(struct gn_mark);
    struct gn_mark *marks =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int hosts = 0;
    if (marks != MAP_FAILED) {
        hosts = meet(&envoy, marks);
        munmap(marks, bytes);
    } else {
        snprintf(envoy.why_not, sizeof envoy.why_not, "no memory for the names of the hosts");
    }
    tell_agent(agent, &envoy, hosts);
    munmap(envoy.sheet, envoy.bytes);
}
