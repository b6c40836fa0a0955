#include "capture/partitioned.h"

#include "event/event.h"

#include <pthread.h>
#include <stddef.h>

enum { SLOTS = 4096, MOST = SLOTS * 3 / 4, TAG_BITS = 24, MOST_ALIKE = 62 };

struct entry {
    uint32_t comm, made; /* made 0: free */
    int32_t peer, tag;
    bool receives;
};
static struct entry entries[SLOTS];
static uint32_t used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* NULL: no room. */
static struct entry *entry_of(const struct entry *wanted)
{
    uint64_t key = ((uint64_t)wanted->comm << 32 | (uint32_t)wanted->peer) * 0x9e3779b97f4a7c15ull;
    key = (key ^ ((uint32_t)wanted->tag << 1 | wanted->receives)) * 0x9e3779b97f4a7c15ull;
    for (uint32_t slot = (uint32_t)(key >> 40) % SLOTS;; slot = (slot + 1) % SLOTS) {
        struct entry *at = &entries[slot];
        if (at->made == 0 && used == MOST)
            return NULL;
        if (at->made == 0) {
            *at = *wanted;
            used++;
            return at;
        }
        if (at->comm == wanted->comm && at->peer == wanted->peer && at->tag == wanted->tag &&
            at->receives == wanted->receives)
            return at;
    }
}

uint32_t gn_partitioned_tag(uint32_t comm, int peer, int tag, bool receives)
{
    struct entry wanted = {.comm = comm, .peer = peer, .tag = tag, .receives = receives};
    uint32_t channel = GN_NONE;
    if (tag < 0 || tag >> TAG_BITS)
        return GN_NONE;
    pthread_mutex_lock(&lock);
    struct entry *entry = entry_of(&wanted);
    if (entry && entry->made < MOST_ALIKE)
        channel = GN_TAG_PARTITIONED | entry->made++ << TAG_BITS | (uint32_t)tag;
    pthread_mutex_unlock(&lock);
    return channel;
}
