/*
 * capture/facts — small questions about handles, answered from caches where asking MPI would cost a call.
 * Answers are dropped when any communicator, window or datatype is freed (its handle may come back).
 */
#ifndef GNOMON_CAPTURE_FACTS_H
#define GNOMON_CAPTURE_FACTS_H

#include "capture/flavour.h"
#include "capture/recorder.h"

/* Size of a datatype in bytes; 0 when it cannot be told. */
uint64_t gn_type_size(struct gn_recorder *recorder, gn_handle type);

/* Rank in MPI_COMM_WORLD of a rank of comm (of its remote group when it is an intercommunicator), or
 * GN_PEER_OUTSIDE. */
uint32_t gn_world_rank(struct gn_recorder *recorder, gn_handle comm, int rank);
uint32_t gn_world_rank_of_window(struct gn_recorder *recorder, gn_handle win, int rank);

/* Number of a communicator (capture/comms.h). Never asks MPI. */
uint32_t gn_known_comm(struct gn_recorder *recorder, gn_handle comm);
/* Own rank in a communicator that exists, and whether it is an intercommunicator. */
int gn_known_rank(struct gn_recorder *recorder, gn_handle comm, bool *inter);

int gn_comm_rank(gn_handle comm);
int gn_comm_size(gn_handle comm); /* of the own group */
/* Ranks this one sends to in an all-to-all on comm: its size, or the remote size. */
int gn_comm_partners(gn_handle comm);
/* Neighbours this rank sends to in the process topology of comm; 0 when it has none. */
int gn_comm_neighbours(gn_handle comm);

/* Ranks that this one receives from and sends to in the process topology of comm, MPI_PROC_NULL among them.
 * False when there are more than GN_MAX_NEIGHBOURS of either, or no topology. */
bool gn_neighbours_of(gn_handle comm, struct gn_neighbours *neighbours);

/* The i-th handle of an array as the binding (enum gn_binding) has it; 0 where the array is a null pointer.
 */
gn_handle gn_request_handle(unsigned binding, const void *array, uint32_t i);
gn_handle gn_message_handle(unsigned binding, const void *array, uint32_t i);
gn_handle gn_win_handle(unsigned binding, const void *array, uint32_t i);
gn_handle gn_type_handle(unsigned binding, const void *array, uint32_t i);
gn_handle gn_comm_handle(unsigned binding, const void *array, uint32_t i);
gn_handle gn_session_handle(unsigned binding, const void *array, uint32_t i);

/* Fortran's handles are numbers. */
gn_handle gn_f2c_comm(int fortran);
gn_handle gn_f2c_type(int fortran);
gn_handle gn_f2c_win(int fortran);
gn_handle gn_f2c_group(int fortran);

/*
 * A list of requests as it is before a call that completes some of them, in C's form. Where handles are
 * pointers, Fortran's are numbers that the library translates, and only as long as the request lives; so they
 * have to be translated ahead of the call, all of them, and those we have seen coming are kept in a table.
 */
void gn_requests_copy(unsigned binding, const void *array, uint32_t count, gn_handle *copy);
static inline gn_handle gn_request_copied(const gn_handle *copy, uint32_t i)
{
    return gn_flavour.handle_bytes == sizeof(int) ? ((const uint32_t *)copy)[i] : copy[i];
}
/* The Fortran number of a request that is started, plus 1, to be forgotten when it is over; 0: it has none
 * that would be kept. */
uint32_t gn_fortran_learn(unsigned binding, const void *request, gn_handle handle);
void gn_fortran_forget(uint32_t number);

/* Of a status of either flavour; Fortran's is the same memory. */
static inline int gn_status_source(const void *status)
{
    return *(const int *)((const char *)status + gn_flavour.source_offset);
}
static inline int gn_status_tag(const void *status)
{
    return *(const int *)((const char *)status + gn_flavour.tag_offset);
}
/* Bytes that arrived, or -1. */
int64_t gn_status_bytes(const void *status);
bool gn_status_cancelled(const void *status);
/* From now on statuses may say so. */
void gn_cancel_seen(void);

#endif
