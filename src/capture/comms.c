#include "capture/comms.h"

#include "capture/flavour.h"
#include "capture/real.h"
#include "capture/recorder.h"
#include "capture/sessions.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

enum { SLOTS = 1 << 17, GONE = 1, SLOT_COMMS = 1 << 16 /* GN_RING_COMMS, rounded up */ };

/* Handles and their numbers: open addressing, with marks where a handle is gone and the search goes on. */
struct handles {
    _Atomic gn_handle keys[SLOTS];
    uint32_t numbers[SLOTS];
    uint32_t used; /* slots that are not empty */
};

/* A list of members, as ranges (image/recorder_ring.h), and how many communicators and windows with these
 * members were made. */
#define NO_ROOM UINT32_MAX
struct members {
    uint32_t first, ranges, others;
    uint32_t comms, windows;
    uint32_t
        group; /* number of what stands for the members alone, + 1; 0: there is none, NO_ROOM: nor will be */
};

struct tables {
    struct handles comms, windows;
    struct members lists[GN_RING_COMMS];
    uint32_t list_count;
    uint32_t list_slots[2 * SLOT_COMMS]; /* by hash of the words, index + 1 */
    uint32_t list_of[GN_RING_COMMS];     /* by number of a communicator */
    int32_t ranks[GN_RING_WORDS];        /* 0, 1, 2, … as far as they were needed */
    uint32_t rank_count;
    int32_t translated[GN_RING_WORDS]; /* working space */
};

static struct tables *tables;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int gn_comms_open(void)
{
    void *memory = mmap(NULL, sizeof *tables, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return -1;
    tables = memory;
    return 0;
}

/* ---- handles ---- */

static uint32_t slot_of(gn_handle handle)
{
    return (uint32_t)((handle * 0x9e3779b97f4a7c15ull) >> 40) & (SLOTS - 1u);
}

static uint32_t find(struct handles *handles, gn_handle handle)
{
    if (handle <= GONE)
        return SLOTS;
    for (uint32_t slot = slot_of(handle);; slot = (slot + 1) & (SLOTS - 1u)) {
        gn_handle key = GN_OBSERVE(handles->keys[slot]);
        if (key == handle)
            return slot;
        if (key == 0)
            return SLOTS;
    }
}

static uint32_t number_of(struct handles *handles, gn_handle handle)
{
    uint32_t slot = find(handles, handle);
    return slot < SLOTS ? handles->numbers[slot] : GN_NONE;
}

/* Under the lock, like all that follows. */
static void remember(struct handles *handles, gn_handle handle, uint32_t number)
{
    if (handle <= GONE || handles->used > SLOTS / 2)
        return;
    uint32_t slot = find(handles, handle); /* there still: its end was not seen */
    if (slot == SLOTS)
        for (slot = slot_of(handle); GN_GET(handles->keys[slot]) > GONE; slot = (slot + 1) & (SLOTS - 1u))
            ;
    handles->used += GN_GET(handles->keys[slot]) == 0;
    handles->numbers[slot] = number;
    GN_PUBLISH(handles->keys[slot], handle);
}

/* Marks behind which nothing follows are taken away: they would pile up. */
static void forget(struct handles *handles, gn_handle handle)
{
    uint32_t slot = find(handles, handle);
    if (slot == SLOTS)
        return;
    GN_PUBLISH(handles->keys[slot], GONE);
    if (GN_GET(handles->keys[(slot + 1) & (SLOTS - 1u)]) != 0)
        return;
    for (; GN_GET(handles->keys[slot]) == GONE; slot = (slot - 1) & (SLOTS - 1u)) {
        GN_PUBLISH(handles->keys[slot], 0);
        handles->used--;
    }
}

/* ---- members ---- */

static uint64_t hash_words(const uint32_t *words, uint32_t ranges, uint32_t others)
{
    uint64_t hash = ((uint64_t)ranges << 32 | others) * 0x9e3779b97f4a7c15ull;
    for (uint32_t i = 0; i < 2 * (ranges + others); i++)
        hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 29;
}

static bool same(const struct members *list, const uint32_t *words, uint32_t ranges, uint32_t others)
{
    return list->ranges == ranges && list->others == others &&
           memcmp(&gn_ring_memory->words[list->first], words, 2 * (ranges + others) * sizeof *words) == 0;
}

/* The list of what stands at the end of words[]; a new one if it is not there yet. GN_NONE: no room. */
static uint32_t list_of_new_words(uint32_t ranges, uint32_t others)
{
    const uint32_t mask = 2 * SLOT_COMMS - 1;
    uint32_t first = GN_GET(gn_ring_memory->word_count);
    const uint32_t *words = &gn_ring_memory->words[first];
    uint32_t slot = (uint32_t)hash_words(words, ranges, others) & mask;
    for (; tables->list_slots[slot]; slot = (slot + 1) & mask)
        if (same(&tables->lists[tables->list_slots[slot] - 1], words, ranges, others))
            return tables->list_slots[slot] - 1;
    if (tables->list_count == GN_RING_COMMS)
        return GN_NONE;
    tables->lists[tables->list_count] = (struct members){.first = first, .ranges = ranges, .others = others};
    GN_PUBLISH(gn_ring_memory->word_count, first + 2 * (ranges + others));
    tables->list_slots[slot] = ++tables->list_count;
    return tables->list_count - 1;
}

static bool room_for(uint64_t words)
{
    return words <= GN_RING_WORDS - GN_GET(gn_ring_memory->word_count);
}

static uint32_t write_ranges(uint32_t *words, const int32_t *ranks, int count)
{
    uint32_t ranges = 0;
    for (int i = 0; i < count; i++)
        if (ranges > 0 && (uint32_t)ranks[i] == words[2 * ranges - 2] + words[2 * ranges - 1]) {
            words[2 * ranges - 1]++;
        } else {
            words[2 * ranges] = (uint32_t)ranks[i];
            words[2 * ranges + 1] = 1;
            ranges++;
        }
    return ranges;
}

/* Appends the world ranks of a group to words[], `after` ranges behind their end. How many ranges, or -1 when
 * a member is not of this world. */
static int64_t append_ranks(gn_handle group, uint32_t after)
{
    int size = 0;
    int64_t result = -1;
    GN_PMPI(Group_size, (gn_handle, int *))(group, &size);
    if (size > 0 && size <= GN_RING_WORDS && room_for(2 * ((uint64_t)size + after))) {
        for (; tables->rank_count < (uint32_t)size; tables->rank_count++)
            tables->ranks[tables->rank_count] = (int32_t)tables->rank_count;
        uint32_t *to = &gn_ring_memory->words[GN_GET(gn_ring_memory->word_count) + 2 * after];
        if (gn_translate_to_world(group, size, tables->ranks, tables->translated))
            result = write_ranges(to, tables->translated, size);
    }
    return result;
}

/* … and frees it. */
static int64_t append_group(gn_handle group, uint32_t after)
{
    const int64_t result = append_ranks(group, after);
    GN_PMPI(Group_free, (gn_handle *))(&group);
    return result;
}

static uint32_t list_of_comm(gn_handle comm)
{
    gn_handle group = 0;
    int inter = 0;
    GN_PMPI(Comm_test_inter, (gn_handle, int *))(comm, &inter);
    GN_PMPI(Comm_group, (gn_handle, gn_handle *))(comm, &group);
    int64_t ranges = append_group(group, 0), others = 0;
    if (inter && ranges > 0) {
        GN_PMPI(Comm_remote_group, (gn_handle, gn_handle *))(comm, &group);
        others = append_group(group, (uint32_t)ranges);
    }
    return ranges < 0 || others < 0 ? GN_NONE : list_of_new_words((uint32_t)ranges, (uint32_t)others);
}

/* ---- communicators and windows ---- */

/* To be published with its instance. NULL: no room. */
static struct gn_ring_comm *new_comm(uint32_t list, uint32_t *number)
{
    *number = GN_GET(gn_ring_memory->comm_count);
    if (list == GN_NONE || *number == GN_RING_COMMS) {
        atomic_fetch_add(&gn_ring_memory->lost_comms, 1);
        return NULL;
    }
    const struct members *members = &tables->lists[list];
    struct gn_ring_comm *comm = &gn_ring_memory->comms[*number];
    comm->first_word = members->first;
    comm->ranges = members->ranges;
    comm->other_ranges = members->others;
    tables->list_of[*number] = list;
    return comm;
}

static uint32_t add_comm(uint32_t list, uint32_t parent, const char *name)
{
    uint32_t number;
    struct gn_ring_comm *comm = new_comm(list, &number);
    if (!comm)
        return GN_NONE;
    comm->instance = tables->lists[list].comms++;
    comm->parent = comm->other_ranges ? GN_NONE : parent; /* the two sides come from different ones */
    strncpy(comm->name, name, sizeof comm->name - 1);
    GN_PUBLISH(gn_ring_memory->comm_count, number + 1);
    return number;
}

void gn_comms_begin(int rank, int size)
{
    if (!gn_ring_memory || size <= 0)
        return;
    pthread_mutex_lock(&lock);
    memcpy(gn_ring_memory->words, (uint32_t[]){0, (uint32_t)size}, 2 * sizeof(uint32_t));
    add_comm(list_of_new_words(1, 0), GN_NONE, "MPI_COMM_WORLD");
    memcpy(&gn_ring_memory->words[GN_GET(gn_ring_memory->word_count)], (uint32_t[]){(uint32_t)rank, 1},
           2 * sizeof(uint32_t));
    add_comm(list_of_new_words(1, 0), GN_NONE, "MPI_COMM_SELF");
    remember(&tables->comms, gn_flavour.comm_world & gn_flavour.handle_mask, 0);
    remember(&tables->comms, gn_flavour.comm_self & gn_flavour.handle_mask, 1);
    atomic_fetch_add_explicit(&gn_era, 1, memory_order_relaxed); /* as in gn_comm_define */
    pthread_mutex_unlock(&lock);
}

uint32_t gn_comm_number(gn_handle comm)
{
    return tables ? number_of(&tables->comms, comm & gn_flavour.handle_mask) : GN_NONE;
}

uint32_t gn_window_number(gn_handle window)
{
    return number_of(&tables->windows, window & gn_flavour.handle_mask);
}

uint32_t gn_comm_define(gn_handle comm, gn_handle parent, gn_handle like)
{
    comm &= gn_flavour.handle_mask;
    if (!gn_ring_memory || comm == (gn_flavour.comm_null & gn_flavour.handle_mask))
        return GN_NONE;
    pthread_mutex_lock(&lock);
    uint32_t same_as = like ? gn_comm_number(like) : GN_NONE;
    uint32_t list = like ? same_as == GN_NONE ? GN_NONE : tables->list_of[same_as] : list_of_comm(comm);
    uint32_t number = add_comm(list, parent ? gn_comm_number(parent) : GN_NONE, "");
    remember(&tables->comms, comm, number);
    atomic_fetch_add_explicit(&gn_era, 1, memory_order_relaxed); /* it may be known as one without a number */
    pthread_mutex_unlock(&lock);
    return number;
}

uint32_t gn_comm_define_again(gn_handle comm)
{
    pthread_mutex_lock(&lock);
    uint32_t of = gn_comm_number(comm);
    uint32_t number = of == GN_NONE ? GN_NONE : add_comm(tables->list_of[of], of, "");
    pthread_mutex_unlock(&lock);
    return number;
}

uint32_t gn_window_define(gn_handle window, gn_handle comm)
{
    if (!gn_ring_memory)
        return GN_NONE;
    pthread_mutex_lock(&lock);
    uint32_t number = GN_GET(gn_ring_memory->window_count), of = gn_comm_number(comm);
    if (of == GN_NONE || number == GN_RING_WINDOWS) {
        number = GN_NONE;
    } else {
        gn_ring_memory->windows[number].comm = of;
        gn_ring_memory->windows[number].instance = tables->lists[tables->list_of[of]].windows++;
        GN_PUBLISH(gn_ring_memory->window_count, number + 1);
    }
    remember(&tables->windows, window & gn_flavour.handle_mask, number);
    pthread_mutex_unlock(&lock);
    return number;
}

uint32_t gn_group_define(gn_handle group)
{
    uint32_t number = GN_NONE;
    if (!gn_ring_memory)
        return GN_NONE;
    pthread_mutex_lock(&lock);
    const int64_t ranges = append_ranks(group, 0);
    const uint32_t list = ranges > 0 ? list_of_new_words((uint32_t)ranges, 0) : GN_NONE;
    struct members *members = list == GN_NONE ? NULL : &tables->lists[list];
    const bool is_new = members && !members->group;
    struct gn_ring_comm *comm = is_new ? new_comm(list, &number) : NULL;
    if (is_new)
        members->group = NO_ROOM;
    if (comm) {
        comm->instance = GN_RING_GROUP;
        comm->parent = GN_NONE;
        members->group = number + 1;
        GN_PUBLISH(gn_ring_memory->comm_count, number + 1);
    }
    number = members && members->group != NO_ROOM ? members->group - 1 : GN_NONE;
    pthread_mutex_unlock(&lock);
    return number;
}

void gn_comm_forget(gn_handle comm)
{
    uint32_t number = gn_ring_memory ? gn_comm_number(comm) : 0;
    if (number <= 1) /* the program may try to free these two, the library refuses */
        return;
    pthread_mutex_lock(&lock);
    forget(&tables->comms, comm & gn_flavour.handle_mask);
    pthread_mutex_unlock(&lock);
}

void gn_window_forget(gn_handle window)
{
    if (!gn_ring_memory)
        return;
    pthread_mutex_lock(&lock);
    forget(&tables->windows, window & gn_flavour.handle_mask);
    pthread_mutex_unlock(&lock);
}
