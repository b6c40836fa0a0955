/* agent/sample_signal — samples that a process's threads have taken of themselves (image/signal_samples.h).
 * The memory is the process's: nothing in it is believed that is not checked. */
#ifndef GNOMON_AGENT_SAMPLE_SIGNAL_H
#define GNOMON_AGENT_SAMPLE_SIGNAL_H

#include "agent/sample_event.h"
#include "image/signal_samples.h"

/* Takes all samples that there are, as the process pid's; each says what it stands for. */
void gn_sample_signal_take(struct gn_signal_samples *memory, int pid, gn_sample_taken *taken, void *self);

#endif
