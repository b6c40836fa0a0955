/*
 * capture/lists — the lock of what the process's threads share in the segment: modules[], frames[],
 * sources[]. Taken where something new is met, never on the hot path.
 */
#ifndef GNOMON_CAPTURE_LISTS_H
#define GNOMON_CAPTURE_LISTS_H

#include <stdbool.h>

/* False: its owner has not let go for long (it may have lost the processor, or be stopped); go without. */
bool gn_lists_lock(void);
void gn_lists_unlock(void);

#endif
