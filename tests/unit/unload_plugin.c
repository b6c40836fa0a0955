/* A library that comes and goes: compiled under two names, at whose same places the same calls stand. */
#include <stdint.h>

uint32_t plugin_call(uint32_t (*call)(uint32_t activity, uint64_t ticks));

uint32_t plugin_call(uint32_t (*call)(uint32_t activity, uint64_t ticks))
{
    uint32_t node = call(1, 1);
    __asm__ volatile("" ::: "memory"); /* not a jump */
    return node;
}
