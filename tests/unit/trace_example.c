#include "trace_example.h"

#include <assert.h>

const uint64_t example_file_ids[EXAMPLE_LOCATIONS] = {0, UINT64_C(1) << 32, 7};

static uint32_t string(struct gn_definitions *d, const char *text)
{
    return gn_define_string(d, text);
}

static void define_who(struct gn_definitions *d)
{
    uint32_t machine = string(d, "machine"), host = string(d, "host");
    gn_define_system_node(d, &(struct gn_system_node){string(d, "the machine"), machine, GN_NONE, false});
    gn_define_system_node(d, &(struct gn_system_node){string(d, "host a"), host, 0, true});
    gn_define_system_node(d, &(struct gn_system_node){string(d, "host \"b\""), host, 0, true});
    gn_define_process(d, &(struct gn_process){string(d, "rank 0"), 1, GN_NONE, 0});
    gn_define_process(d, &(struct gn_process){string(d, "rank 1"), 2, GN_NONE, 1});
    const uint32_t processes[EXAMPLE_LOCATIONS] = {0, 1, 1};
    const char *const names[EXAMPLE_LOCATIONS] = {"main thread 0", "main thread 1", "thread, second"};
    for (uint32_t i = 0; i < EXAMPLE_LOCATIONS; i++)
        gn_define_location(d, &(struct gn_location_def){string(d, names[i]), processes[i], processes[i],
                                                        example_file_ids[i], UINT64_MAX, 0});
}

static void define_what(struct gn_definitions *d)
{
    uint32_t file = string(d, "main.c");
    const uint32_t none = GN_ACTIVITY_NONE;
    gn_define_region(d, &(struct gn_region_def){string(d, "main"), file, 10, 90, GN_ROLE_FUNCTION, none});
    gn_define_region(d, &(struct gn_region_def){string(d, "MPI_Send"), 0, 0, 0, GN_ROLE_MPI, none});
    gn_define_region(d, &(struct gn_region_def){string(d, "MPI_Bcast"), 0, 0, 0, GN_ROLE_MPI, none});
    gn_define_region(d,
                     &(struct gn_region_def){string(d, "a \"part\", named\n"), 0, 0, 0, GN_ROLE_USER, none});
    gn_define_path(d, &(struct gn_path_def){GN_NONE, 0, 0, 0});
    gn_define_path(d, &(struct gn_path_def){0, 1, file, 42});
    gn_define_path(d, &(struct gn_path_def){0, 2, file, 43});
}

static void define_with_whom(struct gn_definitions *d, bool intercomm)
{
    uint32_t both[] = {0, 1};
    const uint32_t world = 0;
    gn_define_comm(
        d, &(struct gn_comm_def){
               .name = string(d, "MPI_COMM_WORLD"), .parent = GN_NONE, .member_count = 2, .members = both});
    gn_define_comm(d,
                   &(struct gn_comm_def){
                       .name = string(d, "half"), .parent = world, .member_count = 1, .members = both + 1});
    gn_define_comm(d, &(struct gn_comm_def){.name = string(d, "between"),
                                            .parent = world,
                                            .member_count = 1,
                                            .other_count = intercomm,
                                            .members = both});
    gn_define_comm(
        d, &(struct gn_comm_def){.name = string(d, "MPI_COMM_SELF"), .parent = GN_NONE, .is_self = true});
    gn_define_window(d, &(struct gn_window_def){string(d, "window"), 0});
}

struct gn_definitions *example_definitions(bool intercomm)
{
    struct gn_definitions *d = gn_definitions_new();
    assert(d);
    define_who(d);
    define_what(d);
    define_with_whom(d, intercomm);
    d->ticks_per_second = 2500000000;
    d->first_ticks = 1000;
    d->length_ticks = 9000;
    d->realtime_ns = UINT64_C(1700000000000000000);
    return d;
}

#define BARE                                                                                                 \
    .op = GN_COLLECTIVE_UNKNOWN, .region = GN_NONE, .path = GN_NONE, .comm = GN_NONE, .peer = GN_NONE,       \
    .tag = GN_NONE
#define AT(time, at, what) .ticks = time, .location = at, .kind = GN_EVENT_##what

/* Later designators replace those of BARE: that is what they are for. */
#pragma GCC diagnostic ignored "-Woverride-init"

static const struct gn_event events[] = {
    {BARE, AT(1000, 0, PROGRAM_BEGIN)},
    {BARE, AT(1001, 0, ENTER), .region = 0, .path = 0},
    {BARE, AT(1002, 0, ENTER), .region = 1, .path = 1},
    {BARE, AT(1003, 0, MPI_SEND), .comm = 0, .peer = 1, .tag = 5, .bytes_sent = 80},
    {BARE, AT(1004, 0, LEAVE), .region = 1, .path = 1},
    {BARE, AT(1100, 1, ENTER), .region = 0, .path = 0},
    {BARE, AT(1101, 1, MPI_IRECV_REQUEST), .comm = 0, .peer = GN_ANY, .tag = GN_ANY, .request = 9},
    {BARE, AT(1102, 1, MPI_RECV), .comm = 0, .peer = 0, .tag = 5, .bytes_received = 80},
    {BARE, AT(1103, 1, MPI_REQUEST_TEST), .request = 9},
    {BARE, AT(1200, 0, MPI_ISEND), .comm = 0, .peer = 1, .tag = 6, .bytes_sent = 8000, .request = 3},
    {BARE, AT(1201, 0, MPI_ISEND_COMPLETE), .request = 3},
    {BARE, AT(1300, 1, MPI_IRECV), .comm = 0, .peer = 0, .tag = 6, .bytes_received = 8000, .request = 9},
    {BARE, AT(1301, 1, MPI_IRECV_REQUEST), .request = 10},
    {BARE, AT(1302, 1, MPI_REQUEST_CANCELLED), .request = 10},
    {BARE, AT(1400, 0, ENTER), .region = 2, .path = 2},
    {BARE, AT(1401, 0, COLLECTIVE_BEGIN), .op = GN_COLLECTIVE_BCAST, .comm = 0, .peer = 1},
    {BARE, AT(1402, 0, COLLECTIVE_END), .op = GN_COLLECTIVE_BCAST, .comm = 0, .peer = 1,
     .bytes_received = 64},
    {BARE, AT(1403, 0, LEAVE), .region = 2, .path = 2},
    {BARE, AT(1404, 1, COLLECTIVE_BEGIN), .op = GN_COLLECTIVE_BCAST, .comm = 0, .peer = 1},
    {BARE, AT(1405, 1, COLLECTIVE_END), .op = GN_COLLECTIVE_BCAST, .comm = 0, .peer = 1, .bytes_sent = 64},
    {BARE, AT(1500, 1, NBC_REQUEST), .op = GN_COLLECTIVE_REDUCE, .comm = 2, .peer = GN_ROOT_SELF,
     .request = 11},
    {BARE, AT(1501, 1, NBC_COMPLETE), .op = GN_COLLECTIVE_REDUCE, .comm = 2, .peer = GN_ROOT_SELF,
     .request = 11},
    {BARE, AT(1502, 1, NBC_REQUEST), .request = 12},
    {BARE, AT(1503, 1, COMM_CREATE), .comm = 1},
    {BARE, AT(1504, 1, COMM_DESTROY), .comm = 1},
    {BARE, AT(1600, 0, RMA_COLLECTIVE_BEGIN), .op = GN_COLLECTIVE_CREATE_HANDLE, .comm = 0},
    {BARE, AT(1601, 0, RMA_WIN_CREATE), .comm = 0},
    {BARE, AT(1602, 0, RMA_COLLECTIVE_END), .op = GN_COLLECTIVE_CREATE_HANDLE, .comm = 0},
    {BARE, AT(1603, 0, RMA_PUT), .comm = 0, .peer = 1, .bytes_sent = 16, .request = 20},
    {BARE, AT(1604, 0, RMA_GET), .comm = 0, .peer = 1, .bytes_received = 17, .request = 21},
    {BARE, AT(1605, 0, RMA_ATOMIC), .comm = 0, .peer = 1, .bytes_sent = 8, .bytes_received = 8,
     .request = 22},
    {BARE, AT(1606, 0, RMA_COMPLETE), .comm = 0, .request = 20},
    {BARE, AT(1607, 0, RMA_SYNC), .comm = 0, .peer = 1},
    {BARE, AT(1608, 0, RMA_WIN_DESTROY), .comm = 0},
    {BARE, AT(1700, 0, IO_BEGIN), .bytes_sent = 4096, .request = 30},
    {BARE, AT(1701, 0, IO_COMPLETE), .bytes_sent = 4096, .request = 30},
    {BARE, AT(1799, 1, THREAD_CREATE), .request = UINT64_C(0x100000007)},
    {BARE, AT(1800, 1, THREAD_FORK)},
    {BARE, AT(1801, 2, THREAD_BEGIN), .request = UINT64_C(0x100000007)},
    {BARE, AT(1802, 2, REGION_BEGIN), .region = 3},
    {BARE, AT(1803, 2, REGION_END), .region = 3},
    {BARE, AT(1804, 2, THREAD_END), .request = UINT64_C(0x100000007)},
    {BARE, AT(1805, 1, THREAD_JOIN)},
    {BARE, AT(1806, 1, THREAD_WAIT), .request = UINT64_C(0x100000007)},
    {BARE, AT(1807, 1, LOCK_ACQUIRE), .request = UINT64_C(0x300000004)},
    {BARE, AT(1808, 1, LOCK_RELEASE), .request = UINT64_C(0x300000004)},
    {BARE, AT(1900, 1, MEASUREMENT), .request = 0},
    {BARE, AT(1901, 1, MEASUREMENT), .request = 1},
    {BARE, AT(1902, 1, LOST), .request = 12345},
    {BARE, AT(1903, 1, LEAVE), .region = 0, .path = 0},
    {BARE, AT(2000, 0, LEAVE), .region = 0, .path = 0},
    {BARE, AT(2001, 0, PROGRAM_END)},
};

const struct gn_event *example_event(size_t number)
{
    return number < sizeof events / sizeof events[0] ? &events[number] : NULL;
}
