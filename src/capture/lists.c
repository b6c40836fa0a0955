#include "capture/lists.h"

#include <sched.h>
#include <stdatomic.h>

enum { SPIN_LIMIT = 1 << 20, BUSY_SPINS = 100 };

static _Atomic int lock;

bool gn_lists_lock(void)
{
    for (int spins = 0; spins < SPIN_LIMIT; spins++) {
        int expected = 0;
        if (atomic_compare_exchange_weak(&lock, &expected, 1))
            return true;
        if (spins > BUSY_SPINS)
            sched_yield();
    }
    return false;
}

void gn_lists_unlock(void)
{
    atomic_store_explicit(&lock, 0, memory_order_release);
}
