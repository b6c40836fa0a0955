/*
 * capture/classes — what each kind of MPI call tells besides its time: bytes, peers, requests.
 *
 * One function per class of event/mpi_api.txt, called by the generated wrappers: gn_before_X ahead of the
 * real call (it may replace an ignored status by one of ours), gn_after_X when it has succeeded. Arguments
 * are only looked at after success and only where the standard makes them significant: asking the library
 * about an invalid datatype would raise an error that the program alone would not have seen.
 *
 * Bytes of a collective are this rank's own contribution: what it sends, or where only the root does what it
 * receives. Of all but those of neighbourhoods they are taken by capture/collectives.
 */
#ifndef GNOMON_CAPTURE_CLASSES_H
#define GNOMON_CAPTURE_CLASSES_H

#include "capture/count_array.h"
#include "capture/facts.h"
#include "capture/flavour.h"
#include "capture/follow.h"
#include "capture/recorder.h"
#include "capture/requests.h"

#define GN_EXPORT __attribute__((visibility("default")))
/* Entry points that an MPI 3.1 library does not have: gn_new_X of ours is X to whoever is linked with it, and
 * nothing to dlsym (gnomon.map). */
#define GN_NEW(symbol) __asm__(".symver gn_new_" #symbol ", " #symbol "@GNOMON_NEW")
#define GN_NEW_ALIAS(name, target)                                                                           \
    GN_ALIAS(gn_new_##name, gn_new_##target);                                                                \
    GN_NEW(name)
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

void gn_after_send(struct gn_capture_call *call, int64_t count, gn_handle type, int dest, int tag,
                   gn_handle comm);
void gn_after_isend(struct gn_capture_call *call, int64_t count, gn_handle type, int dest, int tag,
                    gn_handle comm, void *request);
void gn_after_send_init(struct gn_capture_call *call, int64_t count, gn_handle type, int dest, int tag,
                        gn_handle comm, void *request);
void gn_before_recv(struct gn_capture_call *call, void **status);
void gn_after_recv(struct gn_capture_call *call, int source, int tag, gn_handle comm, void *status);
void gn_after_irecv(struct gn_capture_call *call, int source, int tag, gn_handle comm, void *request);
void gn_after_recv_init(struct gn_capture_call *call, int source, int tag, gn_handle comm, void *request);
void gn_after_mprobe(struct gn_capture_call *call, int source, int tag, gn_handle comm, void *message_handle,
                     void *status);
void gn_after_iprobe(struct gn_capture_call *call, const int *flag);
void gn_after_improbe(struct gn_capture_call *call, int source, int tag, gn_handle comm, const int *flag,
                      void *message_handle, void *status);
void gn_before_mrecv(struct gn_capture_call *call, void *message_handle, void **status);
void gn_before_imrecv(struct gn_capture_call *call, void *message_handle);
void gn_after_mrecv(struct gn_capture_call *call, void *status);
void gn_after_imrecv(struct gn_capture_call *call, void *request);
void gn_after_sendrecv(struct gn_capture_call *call, int64_t count, gn_handle type, int dest, int tag,
                       int source, int recvtag, gn_handle comm, void *status);
void gn_after_isendrecv(struct gn_capture_call *call, int64_t count, gn_handle type, int dest, int sendtag,
                        int source, int recvtag, gn_handle comm, void *request);
/* Partitioned communication: each start is one message of all partitions. gn_made_partitioned: of a call that
 * is not recorded. */
void gn_after_psend_init(struct gn_capture_call *call, int partitions, int64_t count, gn_handle type,
                         int dest, int tag, gn_handle comm, void *request);
void gn_after_precv_init(struct gn_capture_call *call, int partitions, int64_t count, gn_handle type,
                         int source, int tag, gn_handle comm, void *request);
void gn_made_partitioned(gn_handle comm, int peer, int tag, bool receives);
void gn_before_start(struct gn_capture_call *call, void *request);
void gn_before_startall(struct gn_capture_call *call, int count, void *requests);
void gn_failed_start(struct gn_capture_call *call);
void gn_after_start(struct gn_capture_call *call, void *requests);

void gn_before_wait(struct gn_capture_call *call, void *request, void **status);
void gn_after_wait(struct gn_capture_call *call, void *status);
void gn_after_test(struct gn_capture_call *call, const int *flag, void *status);
void gn_before_waitall(struct gn_capture_call *call, int count, void *requests, void **statuses);
void gn_after_waitall(struct gn_capture_call *call, void *statuses);
void gn_after_testall(struct gn_capture_call *call, const int *flag, void *statuses);
void gn_before_waitany(struct gn_capture_call *call, int count, void *requests, void **status);
void gn_after_waitany(struct gn_capture_call *call, const int *index, void *status);
void gn_after_testany(struct gn_capture_call *call, const int *flag, const int *index, void *status);
void gn_after_waitsome(struct gn_capture_call *call, const int *outcount, const int *indices, void *statuses);
void gn_before_request_free(struct gn_capture_call *call, void *request);
void gn_after_request_free(struct gn_capture_call *call);
void gn_before_cancel(struct gn_capture_call *call, const void *request);

void gn_after_neighbor_allgather(struct gn_capture_call *call, int64_t count, gn_handle type);
void gn_after_neighbor_alltoall(struct gn_capture_call *call, int64_t count, gn_handle type, gn_handle comm);
void gn_after_neighbor_alltoallv(struct gn_capture_call *call, struct gn_count_array counts, gn_handle type,
                                 gn_handle comm);
void gn_after_neighbor_alltoallw(struct gn_capture_call *call, struct gn_count_array counts,
                                 const void *types, gn_handle comm);

void gn_after_rma_put(struct gn_capture_call *call, int64_t count, gn_handle type, int target, gn_handle win);
void gn_after_rma_get(struct gn_capture_call *call, int64_t count, gn_handle type, int target, gn_handle win);
void gn_after_rma_op(struct gn_capture_call *call, gn_handle type, int target, gn_handle win);
void gn_before_win_free(struct gn_capture_call *call, const void *window);
void gn_before_comm_free(struct gn_capture_call *call, void *comm);
void gn_after_comm_free(struct gn_capture_call *call);
void gn_after_io(struct gn_capture_call *call, int64_t count, gn_handle type);

#endif
