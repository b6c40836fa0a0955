/*
 * repair/transport — how the processes that repair one trace together talk: batches of bytes from one to
 * another, and a few agreements of all. One process talks to nobody (gn_transport_alone); several are ranks
 * of an MPI job (repair/transport_mpi.c, built once per MPI library, loaded by the command).
 */
#ifndef GNOMON_REPAIR_TRANSPORT_H
#define GNOMON_REPAIR_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gn_agreement { GN_AGREE_SUM, GN_AGREE_MAX, GN_AGREE_MIN };

struct gn_transport {
    void *self;
    uint32_t rank, size;
    /* Sends a copy of the bytes (1 … 2^30); batches from one process to another arrive in order. Does not
     * wait for the receiver. 0 or a negative errno value. */
    int (*send)(void *self, uint32_t to, const void *bytes, size_t size);
    /* The next batch that has arrived: returns its size, with *bytes valid until the next call, and *from.
     * Otherwise waits for one, or for a settlement that is under way, timeout_us at most (0: not at all;
     * negative: as long as it takes). -EAGAIN: none. */
    int64_t (*receive)(void *self, uint32_t *from, const void **bytes, int64_t timeout_us);
    /* A sum over all processes that does not hold anybody up: settle_begin starts taking part in the next one
     * with three values; settle_test says whether all others have begun it too, and then gives the sums. */
    int (*settle_begin)(void *self, const int64_t values[3]);
    int (*settle_test)(void *self, bool *done, int64_t sums[3]);
    /* All processes call it, with arrays of one length; each gets the result in place. Blocks. */
    int (*agree)(void *self, enum gn_agreement how, int64_t *values, size_t count);
    /* All processes call it: bytes of `from` reach everybody's buffer. Blocks. */
    int (*share)(void *self, uint32_t from, void *bytes, size_t size);
    /* Ends the whole job: something cannot be mended, and the others would wait. May return. */
    void (*give_up)(void *self, int status);
    void (*close)(void *self); /* leaves the job in order */
};

/* One process: sends to itself do not happen, agreements are with itself. */
struct gn_transport gn_transport_alone(void);

#endif
