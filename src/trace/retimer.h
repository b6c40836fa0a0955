/* trace/retimer — the new times of an archive: whoever copies a part of it asks here. */
#ifndef GNOMON_TRACE_RETIMER_H
#define GNOMON_TRACE_RETIMER_H

#include <stdint.h>

/* What the new archive says of itself. Times are ticks of the archive's clock. */
struct gn_retime_range {
    uint64_t first_ticks, last_ticks; /* of all events */
};

/* A location's times: called for each record of its event file that is an event, in order (record: from 1),
 * with the old timestamp; returns the new one, which never decreases. */
struct gn_retimer {
    void *self;
    uint64_t (*time)(void *self, uint64_t record, uint64_t ticks);
    uint64_t end; /* this record cannot be understood, and with all behind it is left out; 0: there is none */
};

#endif
