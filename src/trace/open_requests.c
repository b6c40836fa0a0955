#include "trace/open_requests.h"

#include <stdlib.h>

void gn_open_requests_free(struct gn_open_requests *r)
{
    free(r->slots);
    r->slots = NULL;
    r->slot_count = r->count = 0;
}

static size_t home(const struct gn_open_requests *r, uint64_t id)
{
    return (size_t)((id * 0x9e3779b97f4a7c15ull) >> 32) & (r->slot_count - 1);
}

/* The slot of id, or the free one where it would be. */
static size_t find(const struct gn_open_requests *r, uint64_t id)
{
    size_t slot = home(r, id);
    while (r->slots[slot].balance != 0 && r->slots[slot].id != id)
        slot = (slot + 1) & (r->slot_count - 1);
    return slot;
}

static bool make_room(struct gn_open_requests *r)
{
    if (2 * (r->count + 1) <= r->slot_count)
        return true;
    struct gn_open_requests larger = {.slot_count = r->slot_count ? 2 * r->slot_count : 16};
    larger.slots = calloc(larger.slot_count, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < r->slot_count; i++)
        if (r->slots[i].balance != 0)
            larger.slots[find(&larger, r->slots[i].id)] = r->slots[i];
    free(r->slots);
    r->slots = larger.slots;
    r->slot_count = larger.slot_count;
    return true;
}

/* Frees a slot and moves those behind it that are not at home, so that no search ends too early. */
static void take_out(struct gn_open_requests *r, size_t hole)
{
    size_t mask = r->slot_count - 1;
    for (size_t i = (hole + 1) & mask; r->slots[i].balance != 0; i = (i + 1) & mask)
        if (((i - home(r, r->slots[i].id)) & mask) >= ((i - hole) & mask)) {
            r->slots[hole] = r->slots[i];
            hole = i;
        }
    r->slots[hole].balance = 0;
    r->count--;
}

enum gn_request_fault gn_open_requests_change(struct gn_open_requests *r, uint64_t id, int change)
{
    if (!make_room(r))
        return GN_REQUEST_FINE;
    size_t slot = find(r, id);
    int64_t before = r->slots[slot].balance;
    if (!r->several && before > 0 && change > 0)
        return GN_REQUEST_REUSED;
    if (!r->several && before == 0 && change < 0)
        return GN_REQUEST_UNKNOWN;
    r->slots[slot] = (struct gn_open_request){id, before + change};
    if (before == 0)
        r->count++;
    else if (before + change == 0)
        take_out(r, slot);
    return GN_REQUEST_FINE;
}

void gn_open_requests_sum(const struct gn_open_requests *r, uint64_t *open, uint64_t *unknown)
{
    for (size_t i = 0; i < r->slot_count; i++)
        *(r->slots[i].balance > 0 ? open : unknown) += (uint64_t)llabs(r->slots[i].balance);
}
