#include "capture/overlaps.h"

enum { NOWHERE = GN_OVERLAPS + 1 };

/* Marks those that the newcomer meets; whether there are any. */
static bool meet(struct gn_overlaps *overlaps, uint32_t comm, int32_t peer, int32_t tag)
{
    bool met = overlaps->beyond > 0;
    for (uint32_t i = 0; i < overlaps->highest; i++)
        if (overlaps->places[i].busy && overlaps->places[i].comm == comm &&
            gn_peers_meet(overlaps->places[i].peer, peer) && gn_tags_meet(overlaps->places[i].tag, tag))
            overlaps->places[i].unordered = met = true;
    return met;
}

uint32_t gn_overlap_begin(struct gn_overlaps *overlaps, uint32_t comm, int32_t peer, int32_t tag)
{
    bool met = meet(overlaps, comm, peer, tag);
    uint32_t place = 0;
    while (place < overlaps->highest && overlaps->places[place].busy)
        place++;
    if (place == GN_OVERLAPS) {
        overlaps->beyond++;
        return NOWHERE;
    }
    if (place == overlaps->highest)
        overlaps->highest++;
    overlaps->places[place].comm = comm;
    overlaps->places[place].peer = peer;
    overlaps->places[place].tag = tag;
    overlaps->places[place].busy = true;
    overlaps->places[place].unordered = met;
    return place + 1;
}

bool gn_overlap_end(struct gn_overlaps *overlaps, uint32_t place)
{
    if (place == 0)
        return true;
    if (place == NOWHERE) {
        overlaps->beyond--;
        return true;
    }
    overlaps->places[place - 1].busy = false;
    while (overlaps->highest > 0 && !overlaps->places[overlaps->highest - 1].busy)
        overlaps->highest--;
    return overlaps->places[place - 1].unordered;
}
