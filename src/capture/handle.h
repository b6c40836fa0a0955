/* capture/handle — any MPI handle of either flavour as a machine word; see capture/flavour.h. */
#ifndef GNOMON_CAPTURE_HANDLE_H
#define GNOMON_CAPTURE_HANDLE_H

#include <stdint.h>

typedef uintptr_t gn_handle;

#endif
