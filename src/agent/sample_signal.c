#include "agent/sample_signal.h"

#include <string.h>

enum { LONGEST_NS = 1000000000 };

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void take(const struct gn_signal_slot *slot, int pid, gn_sample_taken *taken, void *self)
{
    _Alignas(8) uint8_t stack[GN_SIGNAL_STACK_BYTES];
    memcpy(stack, slot->stack, sizeof stack);
    struct gn_sample sample = {.time_ns = slot->time_ns,
                               .stands_ns = least(slot->used_ns, LONGEST_NS),
                               .pid = pid,
                               .tid = slot->tid};
    sample.at = (struct gn_registers){.ip = slot->ip, .sp = slot->sp, .fp = slot->fp};
    sample.stack = (struct gn_stack_copy){stack, sample.at.sp, least(slot->stack_bytes, sizeof stack), false};
    taken(self, &sample, GN_SAMPLE_TAKEN);
}

void gn_sample_signal_take(struct gn_signal_samples *memory, int pid, gn_sample_taken *taken, void *self)
{
    for (size_t i = 0; i < GN_SIGNAL_SLOTS; i++) {
        struct gn_signal_slot *slot = &memory->slots[i];
        if (GN_OBSERVE(slot->state) != GN_SIGNAL_FULL)
            continue;
        take(slot, pid, taken, self);
        GN_PUBLISH(slot->state, (uint32_t)GN_SIGNAL_FREE);
    }
}
