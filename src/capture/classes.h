/*
 * capture/classes — what each kind of MPI call tells besides its time: bytes, peers, requests.
 *
 * One function per class of event/mpi_api.txt, called by the generated wrappers: gn_before_X ahead of the
 * real call (it may replace an ignored status by one of ours), gn_after_X when it has succeeded. Arguments
 * are only looked at after success and only where the standard makes them significant: asking the library
 * about an invalid datatype would raise an error that the program alone would not have seen.
 *
 * Bytes of a collective are this rank's own contribution (what it sends; for scatters what it receives).
 */
#ifndef GNOMON_CAPTURE_CLASSES_H
#define GNOMON_CAPTURE_CLASSES_H

#include "capture/flavour.h"
#include "capture/recorder.h"
#include "capture/requests.h"

#define GN_EXPORT __attribute__((visibility("default")))
#define GN_ALIAS(name, target)                                                                               \
    extern __typeof__(target) name __attribute__((alias(#target), visibility("default")))

/* Ahead of calls, recorded or not, that end the life of a handle: it may be given out again for something
 * else. */
void gn_forget_handles(void); /* datatypes: what was learnt about any */
void gn_forget_window(unsigned binding, const void *window);
void gn_forget_comm(unsigned binding,
                    void *comm); /* receives on it go on; their peers can no longer be asked for */
/* Requests that complete or end in a call that is not recorded. count and array as the binding has them. */
void gn_forget_requests(unsigned binding, int count, const void *requests);

gn_handle gn_f2c_comm(int fortran);
gn_handle gn_f2c_type(int fortran);
gn_handle gn_f2c_win(int fortran);

void gn_after_send(struct gn_call *call, int count, gn_handle type, int dest, int tag, gn_handle comm);
void gn_after_isend(struct gn_call *call, int count, gn_handle type, int dest, int tag, gn_handle comm,
                    void *request);
void gn_after_send_init(struct gn_call *call, int count, gn_handle type, int dest, int tag, gn_handle comm,
                        void *request);
void gn_before_recv(struct gn_call *call, void **status);
void gn_after_recv(struct gn_call *call, int source, gn_handle comm, void *status);
void gn_after_irecv(struct gn_call *call, int source, int tag, gn_handle comm, void *request);
void gn_after_recv_init(struct gn_call *call, int source, int tag, gn_handle comm, void *request);
void gn_after_mprobe(struct gn_call *call, int source, int tag, gn_handle comm, void *message_handle);
void gn_after_iprobe(struct gn_call *call, const int *flag);
void gn_after_improbe(struct gn_call *call, int source, int tag, gn_handle comm, const int *flag,
                      void *message_handle);
void gn_before_mrecv(struct gn_call *call, void *message_handle, void **status);
void gn_before_imrecv(struct gn_call *call, void *message_handle);
void gn_after_mrecv(struct gn_call *call, void *status);
void gn_after_imrecv(struct gn_call *call, void *request);
void gn_after_sendrecv(struct gn_call *call, int count, gn_handle type, int dest, int tag, int source,
                       gn_handle comm, void *status);
void gn_after_start(struct gn_call *call, void *request);
void gn_after_startall(struct gn_call *call, int count, void *requests);

void gn_before_wait(struct gn_call *call, void *request, void **status);
void gn_after_wait(struct gn_call *call, void *status);
void gn_after_test(struct gn_call *call, const int *flag, void *status);
void gn_before_waitall(struct gn_call *call, int count, void *requests, void **statuses);
void gn_after_waitall(struct gn_call *call, void *statuses);
void gn_after_testall(struct gn_call *call, const int *flag, void *statuses);
void gn_before_waitany(struct gn_call *call, int count, void *requests, void **status);
void gn_after_waitany(struct gn_call *call, const int *index, void *status);
void gn_after_testany(struct gn_call *call, const int *flag, const int *index, void *status);
void gn_after_waitsome(struct gn_call *call, const int *outcount, const int *indices, void *statuses);
void gn_before_request_free(struct gn_call *call, void *request);
void gn_after_request_free(struct gn_call *call);
void gn_after_cancel(struct gn_call *call);

void gn_after_bcast(struct gn_call *call, int count, gn_handle type, int root);
void gn_after_reduce(struct gn_call *call, int count, gn_handle type, int root);
void gn_after_local(struct gn_call *call, int count, gn_handle type);
void gn_after_gather(struct gn_call *call, const void *sendbuf, int sendcount, gn_handle sendtype,
                     int recvcount, gn_handle recvtype, int root);
void gn_after_gatherv(struct gn_call *call, const void *sendbuf, int sendcount, gn_handle sendtype,
                      const int *recvcounts, gn_handle recvtype, int root, gn_handle comm);
void gn_after_allgather(struct gn_call *call, const void *sendbuf, int sendcount, gn_handle sendtype,
                        int recvcount, gn_handle recvtype);
void gn_after_allgatherv(struct gn_call *call, const void *sendbuf, int sendcount, gn_handle sendtype,
                         const int *recvcounts, gn_handle recvtype, gn_handle comm);
void gn_after_scatter(struct gn_call *call, const void *recvbuf, int recvcount, gn_handle recvtype, int root);
void gn_after_alltoall(struct gn_call *call, const void *sendbuf, int sendcount, gn_handle sendtype,
                       int recvcount, gn_handle recvtype, gn_handle comm);
void gn_after_alltoallv(struct gn_call *call, const void *sendbuf, const int *sendcounts, gn_handle sendtype,
                        const int *recvcounts, gn_handle recvtype, gn_handle comm);
void gn_after_alltoallw(struct gn_call *call, const void *sendbuf, const int *sendcounts,
                        const void *sendtypes, const int *recvcounts, const void *recvtypes, gn_handle comm);
void gn_after_reduce_scatter(struct gn_call *call, const int *recvcounts, gn_handle type, gn_handle comm);
void gn_after_reduce_scatter_block(struct gn_call *call, int recvcount, gn_handle type, gn_handle comm);
void gn_after_neighbor_alltoall(struct gn_call *call, int count, gn_handle type, gn_handle comm);
void gn_after_neighbor_alltoallv(struct gn_call *call, const int *counts, gn_handle type, gn_handle comm);
void gn_after_neighbor_alltoallw(struct gn_call *call, const int *counts, const void *types, gn_handle comm);

void gn_after_rma_put(struct gn_call *call, int count, gn_handle type, int target, gn_handle win);
void gn_after_rma_get(struct gn_call *call, int count, gn_handle type, int target, gn_handle win);
void gn_after_rma_op(struct gn_call *call, gn_handle type, int target, gn_handle win);
void gn_before_win_free(struct gn_call *call, const void *window);
void gn_before_comm_free(struct gn_call *call, void *comm);
void gn_after_comm_free(struct gn_call *call);
void gn_after_io(struct gn_call *call, int count, gn_handle type);

/* The handle of a request that this call has started. */
gn_handle gn_new_request(struct gn_call *call, const void *request);
/* Follows a request that this call has started, to its completion. trace and parts may be NULL. False: it is
 * shared (capture/requests.h), or there is no room, which is counted. */
bool gn_follow(struct gn_call *call, gn_handle handle, struct gn_request request,
               const struct gn_request_trace *trace, const struct gn_part *parts);

#endif
