/*
 * clock/exchange — one question and its answer between two hosts' clocks: the four readings.
 *
 *      child   asked ─────┐                ┌────► received
 *      parent             └─► heard   answered
 *
 * asked and answered are readings from before the packet left, heard and received from after it had arrived,
 * so each half proves one thing (clocks.h) even when the other half was lost.
 */
#ifndef GNOMON_CLOCK_EXCHANGE_H
#define GNOMON_CLOCK_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

struct gn_exchange {
    uint64_t asked_ticks, heard_ticks;       /* child's, parent's */
    uint64_t answered_ticks, received_ticks; /* parent's, child's */
    bool there, back;                        /* which halves are known */
    bool kernel;                             /* the kernel's time stamps have narrowed it */
};

#endif
