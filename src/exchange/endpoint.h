/* exchange/endpoint — how the agents of a run's hosts find and trust each other. */
#ifndef GNOMON_EXCHANGE_ENDPOINT_H
#define GNOMON_EXCHANGE_ENDPOINT_H

#include <stdint.h>

enum { GN_KEY_BYTES = 32, GN_ENDPOINT_ADDRESSES = 8 };

/* Where a host's agent can be asked, and by which clock it answers. Fixed size, no pointers: MPI carries it.
 */
struct gn_endpoint {
    char host[64];
    double hz;
    uint64_t granularity_ticks;
    uint16_t port; /* host byte order; 0: this host takes no part, and why is in its own report */
    uint8_t address_count, reserved[5];
    struct {
        uint8_t family; /* 4 or 6; 0 unused */
        uint8_t bytes[16];
    } addresses[GN_ENDPOINT_ADDRESSES];
};

#endif
