#include "capture/facts.h"

#include "capture/comms.h"
#include "capture/real.h"
#include "capture/sessions.h"

#include <string.h>

/* What is rarely done is not inlined here: what mostly is would save registers for it. */
#define RARE __attribute__((noinline))

/* Whether the caches are of this era. */
static inline bool is_of_era(const struct gn_recorder *r)
{
    return r->era == GN_GET(gn_era);
}

static void begin_era(struct gn_recorder *r)
{
    const uint32_t era = GN_GET(gn_era);
    if (r->era == era)
        return;
    r->era = era;
    memset(r->types, 0, sizeof r->types);
    memset(r->ranks, 0, sizeof r->ranks);
    memset(r->comms, 0, sizeof r->comms);
}

static uint32_t slot_of(gn_handle handle, uint32_t salt, uint32_t slots)
{
    return (uint32_t)(((handle ^ ((uint64_t)salt << 32)) * 0x9e3779b97f4a7c15ull) >> 40) & (slots - 1u);
}

static RARE uint64_t learn_size(struct gn_recorder *r, struct gn_type_entry *entry, gn_handle type)
{
    begin_era(r);
    int64_t size = 0; /* MPI_Count */
    if (GN_PMPI(Type_size_x, (gn_handle, int64_t *))(type, &size) != 0 || size < 0)
        size = 0;
    *entry = (struct gn_type_entry){type, (uint64_t)size};
    return (uint64_t)size;
}

uint64_t gn_type_size(struct gn_recorder *r, gn_handle type)
{
    type &= gn_flavour.handle_mask;
    struct gn_type_entry *entry = &r->types[slot_of(type, 0, GN_TYPE_CACHE)];
    if (__builtin_expect(entry->type == type && type != 0 && is_of_era(r), 1))
        return entry->size;
    return learn_size(r, entry, type);
}

static gn_handle group_of_comm(gn_handle comm)
{
    int inter = 0;
    gn_handle group = 0;
    GN_PMPI(Comm_test_inter, (gn_handle, int *))(comm, &inter);
    if (inter)
        GN_PMPI(Comm_remote_group, (gn_handle, gn_handle *))(comm, &group);
    else
        GN_PMPI(Comm_group, (gn_handle, gn_handle *))(comm, &group);
    return group;
}

static uint32_t translate(gn_handle group, int rank)
{
    int result;
    bool inside = gn_translate_to_world(group, 1, &rank, &result);
    GN_PMPI(Group_free, (gn_handle *))(&group);
    return inside ? (uint32_t)result : GN_PEER_OUTSIDE;
}

static RARE uint32_t learn_rank(struct gn_recorder *r, struct gn_rank_entry *entry, gn_handle handle,
                                int rank, gn_handle (*group)(gn_handle))
{
    begin_era(r);
    *entry = (struct gn_rank_entry){handle, rank, translate(group(handle), rank)};
    return entry->world;
}

static inline uint32_t cached_rank(struct gn_recorder *r, gn_handle handle, int rank,
                                   gn_handle (*group)(gn_handle))
{
    struct gn_rank_entry *entry = &r->ranks[slot_of(handle, (uint32_t)rank + 1, GN_RANK_CACHE)];
    if (__builtin_expect(entry->comm == handle && entry->rank == rank && handle != 0 && is_of_era(r), 1))
        return entry->world;
    return learn_rank(r, entry, handle, rank, group);
}

uint32_t gn_world_rank(struct gn_recorder *r, gn_handle comm, int rank)
{
    comm &= gn_flavour.handle_mask;
    if (comm == gn_flavour.comm_world)
        return (uint32_t)rank;
    return cached_rank(r, comm, rank, group_of_comm);
}

static gn_handle group_of_window(gn_handle win)
{
    gn_handle group = 0;
    GN_PMPI(Win_get_group, (gn_handle, gn_handle *))(win, &group);
    return group;
}

uint32_t gn_world_rank_of_window(struct gn_recorder *r, gn_handle win, int rank)
{
    return cached_rank(r, win & gn_flavour.handle_mask, rank, group_of_window);
}

static RARE struct gn_comm_entry *learn_comm(struct gn_recorder *r, struct gn_comm_entry *entry,
                                             gn_handle comm)
{
    begin_era(r);
    *entry = (struct gn_comm_entry){comm, gn_comm_number(comm), -1, false};
    return entry;
}

static inline struct gn_comm_entry *known_comm(struct gn_recorder *r, gn_handle comm)
{
    comm &= gn_flavour.handle_mask;
    struct gn_comm_entry *entry = &r->comms[slot_of(comm, 0, GN_COMM_CACHE)];
    if (__builtin_expect(entry->comm == comm && is_of_era(r), 1))
        return entry;
    return learn_comm(r, entry, comm);
}

uint32_t gn_known_comm(struct gn_recorder *r, gn_handle comm)
{
    return known_comm(r, comm)->number;
}

int gn_known_rank(struct gn_recorder *r, gn_handle comm, bool *inter)
{
    struct gn_comm_entry *entry = known_comm(r, comm);
    if (__builtin_expect(entry->rank < 0, 0)) {
        int flag = 0;
        GN_PMPI(Comm_test_inter, (gn_handle, int *))(comm, &flag);
        entry->inter = flag != 0;
        entry->rank = gn_comm_rank(comm);
    }
    *inter = entry->inter;
    return entry->rank;
}

int gn_comm_rank(gn_handle comm)
{
    int rank = 0;
    GN_PMPI(Comm_rank, (gn_handle, int *))(comm, &rank);
    return rank;
}

int gn_comm_size(gn_handle comm)
{
    int size = 0;
    GN_PMPI(Comm_size, (gn_handle, int *))(comm, &size);
    return size;
}

int gn_comm_partners(gn_handle comm)
{
    int inter = 0, size = 0;
    GN_PMPI(Comm_test_inter, (gn_handle, int *))(comm, &inter);
    if (!inter)
        return gn_comm_size(comm);
    GN_PMPI(Comm_remote_size, (gn_handle, int *))(comm, &size);
    return size;
}

int gn_comm_neighbours(gn_handle comm)
{
    int topology = gn_flavour.undefined, count = 0, in = 0, weighted = 0;
    GN_PMPI(Topo_test, (gn_handle, int *))(comm, &topology);
    if (topology == gn_flavour.cart) {
        GN_PMPI(Cartdim_get, (gn_handle, int *))(comm, &count);
        return 2 * count;
    }
    if (topology == gn_flavour.graph)
        GN_PMPI(Graph_neighbors_count, (gn_handle, int, int *))(comm, gn_comm_rank(comm), &count);
    else if (topology == gn_flavour.dist_graph)
        GN_PMPI(Dist_graph_neighbors_count, (gn_handle, int *, int *, int *))(comm, &in, &count, &weighted);
    return count;
}

static bool cart_neighbours(gn_handle comm, struct gn_neighbours *n)
{
    int dimensions = 0;
    GN_PMPI(Cartdim_get, (gn_handle, int *))(comm, &dimensions);
    if (dimensions > GN_MAX_NEIGHBOURS / 2)
        return false;
    for (int d = 0; d < dimensions; d++) {
        int *pair = &n->in[2 * d];
        GN_PMPI(Cart_shift, (gn_handle, int, int, int *, int *))(comm, d, 1, &pair[0], &pair[1]);
    }
    n->in_count = n->out_count = 2 * dimensions;
    memcpy(n->out, n->in, (size_t)n->in_count * sizeof *n->in);
    return true;
}

static bool graph_neighbours(gn_handle comm, struct gn_neighbours *n)
{
    int rank = gn_comm_rank(comm), count = 0;
    GN_PMPI(Graph_neighbors_count, (gn_handle, int, int *))(comm, rank, &count);
    if (count > GN_MAX_NEIGHBOURS)
        return false;
    GN_PMPI(Graph_neighbors, (gn_handle, int, int, int *))(comm, rank, count, n->in);
    n->in_count = n->out_count = count;
    memcpy(n->out, n->in, (size_t)count * sizeof *n->in);
    return true;
}

static bool dist_graph_neighbours(gn_handle comm, struct gn_neighbours *n)
{
    int weighted = 0;
    n->in_count = n->out_count = 0;
    GN_PMPI(Dist_graph_neighbors_count, (gn_handle, int *, int *, int *))
    (comm, &n->in_count, &n->out_count, &weighted);
    if (n->in_count > GN_MAX_NEIGHBOURS || n->out_count > GN_MAX_NEIGHBOURS)
        return false;
    GN_PMPI(Dist_graph_neighbors, (gn_handle, int, int *, int *, int, int *, int *))
    (comm, n->in_count, n->in, n->weights, n->out_count, n->out, n->weights);
    return true;
}

bool gn_neighbours_of(gn_handle comm, struct gn_neighbours *neighbours)
{
    int topology = gn_flavour.undefined;
    GN_PMPI(Topo_test, (gn_handle, int *))(comm, &topology);
    neighbours->pairs = topology == gn_flavour.cart;
    return topology == gn_flavour.cart         ? cart_neighbours(comm, neighbours)
           : topology == gn_flavour.graph      ? graph_neighbours(comm, neighbours)
           : topology == gn_flavour.dist_graph ? dist_graph_neighbours(comm, neighbours)
                                               : false;
}

static bool handles_are_ints(void)
{
    return gn_flavour.handle_bytes == sizeof(int);
}

static gn_handle from_fortran(int fortran, unsigned helper)
{
    if (handles_are_ints())
        return (uint32_t)fortran;
    return ((gn_handle(*)(int))gn_helper(helper))(fortran);
}

gn_handle gn_f2c_comm(int fortran)
{
    return from_fortran(fortran, GN_HELPER_Comm_f2c);
}

gn_handle gn_f2c_type(int fortran)
{
    return from_fortran(fortran, GN_HELPER_Type_f2c);
}

gn_handle gn_f2c_group(int fortran)
{
    return from_fortran(fortran, GN_HELPER_Group_f2c);
}

gn_handle gn_f2c_win(int fortran)
{
    return from_fortran(fortran, GN_HELPER_Win_f2c);
}

/* Ahead of the real call the array may be a null pointer: MPI has an error for that, and no handle is 0. */
static gn_handle handle_in(unsigned binding, const void *array, uint32_t i, unsigned helper)
{
    if (__builtin_expect(!array, 0))
        return 0;
    if (binding != GN_C)
        return from_fortran(((const int *)array)[i], helper);
    return handles_are_ints() ? ((const uint32_t *)array)[i] : ((const gn_handle *)array)[i];
}

gn_handle gn_request_handle(unsigned binding, const void *array, uint32_t i)
{
    return handle_in(binding, array, i, GN_HELPER_Request_f2c);
}

enum { FORTRAN_REQUESTS = 1 << 16 };
static _Atomic uintptr_t fortran_requests[FORTRAN_REQUESTS]; /* by Fortran's number; 0: ask the library */

static gn_handle fortran_request(const int *array, uint32_t i)
{
    uint32_t number = (uint32_t)array[i];
    gn_handle known = number < FORTRAN_REQUESTS ? GN_GET(fortran_requests[number]) : 0;
    if (__builtin_expect(known != 0, 1))
        return known;
    gn_handle handle = gn_request_handle(GN_F77, array, i);
    if (number < FORTRAN_REQUESTS && handle == gn_flavour.request_null)
        GN_SET(fortran_requests[number], handle);
    return handle;
}

void gn_requests_copy(unsigned binding, const void *array, uint32_t count, gn_handle *copy)
{
    if (binding == GN_C || handles_are_ints()) {
        memcpy(copy, array, count * gn_flavour.handle_bytes);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        copy[i] = fortran_request(array, i);
}

uint32_t gn_fortran_learn(unsigned binding, const void *request, gn_handle handle)
{
    uint32_t number = *(const uint32_t *)request;
    if (binding == GN_C || handles_are_ints() || number >= FORTRAN_REQUESTS)
        return 0;
    GN_SET(fortran_requests[number], handle);
    return number + 1;
}

void gn_fortran_forget(uint32_t number)
{
    GN_SET(fortran_requests[number], 0);
}

gn_handle gn_message_handle(unsigned binding, const void *array, uint32_t i)
{
    return handle_in(binding, array, i, GN_HELPER_Message_f2c);
}

gn_handle gn_win_handle(unsigned binding, const void *array, uint32_t i)
{
    return handle_in(binding, array, i, GN_HELPER_Win_f2c);
}

gn_handle gn_type_handle(unsigned binding, const void *array, uint32_t i)
{
    return handle_in(binding, array, i, GN_HELPER_Type_f2c);
}

gn_handle gn_comm_handle(unsigned binding, const void *array, uint32_t i)
{
    return handle_in(binding, array, i, GN_HELPER_Comm_f2c);
}

gn_handle gn_session_handle(unsigned binding, const void *array, uint32_t i)
{
    return handle_in(binding, array, i, GN_HELPER_Session_f2c);
}

int64_t gn_status_bytes(const void *status)
{
    int64_t bytes = -1; /* MPI_Count: more than an int holds */
    if (GN_PMPI(Get_elements_x, (const void *, gn_handle, int64_t *))(status, gn_flavour.byte_type, &bytes) !=
        0)
        return -1;
    return bytes < 0 ? -1 : bytes;
}

static gn_shared32 ever_cancelled;

void gn_cancel_seen(void)
{
    GN_SET(ever_cancelled, 1);
}

bool gn_status_cancelled(const void *status)
{
    int flag = 0;
    if (GN_GET(ever_cancelled))
        GN_PMPI(Test_cancelled, (const void *, int *))(status, &flag);
    return flag != 0;
}
