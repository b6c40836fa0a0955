#include "clock/core_groups.h"

#include "clock/ticks.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THROWS = 2000, SPINS = 1000, PASSES = 2, GRACE_MS = 20 };

/*
 * Two threads and who waits for them. A thread that gets no processor (a core taken by a real-time process)
 * is not waited for: whoever lets go last frees it.
 */
struct game {
    /* the line that is thrown */
    alignas(64) _Atomic uint32_t throws;
    int64_t reading_ticks;

    alignas(64) atomic_bool stop;
    uint64_t until_ns;
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    int holders, ended_count;
    struct player {
        struct game *game;
        uint32_t side;
        int core;
        int64_t shift_ticks;
        /* results, complete when both have ended */
        int64_t most_ticks; /* sent − received, at most 0 when the counter is one */
        struct gn_core_throw most;
        uint32_t received;
    } players[2];
};

/* ---- playing ---- */

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    __asm__ volatile("" ::: "memory");
#endif
}

static bool wait_for_throw(struct game *g, uint32_t number)
{
    for (uint32_t spins = 1; atomic_load_explicit(&g->throws, memory_order_acquire) != number; spins++) {
        relax();
        if (spins % SPINS)
            continue;
        if (atomic_load_explicit(&g->stop, memory_order_relaxed) || gn_monotonic_ns() > g->until_ns)
            return false;
        sched_yield();
    }
    return true;
}

static int64_t read_counter(const struct player *p)
{
    return (int64_t)gn_ticks_ordered() + p->shift_ticks;
}

static void note_throw(struct player *p, int64_t sent_ticks, int64_t received_ticks)
{
    int64_t ticks = sent_ticks - received_ticks;
    p->received++;
    if (ticks < p->most_ticks)
        return;
    p->most_ticks = ticks;
    p->most = (struct gn_core_throw){(uint64_t)sent_ticks, (uint64_t)received_ticks};
}

static void play(struct player *p)
{
    struct game *g = p->game;
    for (uint32_t number = p->side; number < THROWS && wait_for_throw(g, number); number += 2) {
        int64_t received_ticks = read_counter(p);
        if (number > 0) {
            note_throw(p, g->reading_ticks, received_ticks);
        }
        g->reading_ticks = read_counter(p);
        atomic_store_explicit(&g->throws, number + 1, memory_order_release);
    }
    if (sched_getcpu() != p->core)
        p->received = 0; /* we were moved: nothing is known of this core */
}

static void let_go(struct game *g)
{
    pthread_mutex_lock(&g->mutex);
    int holders = --g->holders;
    pthread_mutex_unlock(&g->mutex);
    if (holders > 0)
        return;
    pthread_cond_destroy(&g->ended);
    pthread_mutex_destroy(&g->mutex);
    free(g);
}

static void *player_main(void *argument)
{
    struct player *p = argument;
    struct game *g = p->game;
    play(p);
    pthread_mutex_lock(&g->mutex);
    g->ended_count++;
    pthread_cond_signal(&g->ended);
    pthread_mutex_unlock(&g->mutex);
    let_go(g);
    return NULL;
}

/* ---- one game ---- */

static struct game *new_game(uint64_t until_ns)
{
    struct game *g = aligned_alloc(alignof(struct game), sizeof *g);
    if (!g)
        return NULL;
    memset(g, 0, sizeof *g);
    g->until_ns = until_ns;
    g->holders = 1;
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&g->mutex, NULL);
    pthread_cond_init(&g->ended, &clock);
    pthread_condattr_destroy(&clock);
    return g;
}

static int start_player(struct game *g, uint32_t side, int core, int64_t shift_ticks)
{
    struct player *p = &g->players[side];
    *p = (struct player){
        .game = g, .side = side, .core = core, .shift_ticks = shift_ticks, .most_ticks = INT64_MIN};
    size_t bytes = CPU_ALLOC_SIZE((size_t)core + 1);
    cpu_set_t *only = CPU_ALLOC((size_t)core + 1);
    if (!only)
        return -ENOMEM;
    CPU_ZERO_S(bytes, only);
    CPU_SET_S((size_t)core, bytes, only);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_mutex_lock(&g->mutex);
    pthread_t thread;
    int code = -pthread_attr_setaffinity_np(&attributes, bytes, only);
    if (code == 0)
        code = -pthread_create(&thread, &attributes, player_main, p);
    g->holders += code == 0;
    pthread_mutex_unlock(&g->mutex);
    pthread_attr_destroy(&attributes);
    CPU_FREE(only);
    return code;
}

/* True when both have ended in time. */
static bool wait_for_end(struct game *g)
{
    uint64_t now_ns = gn_monotonic_ns(), left_ns = g->until_ns > now_ns ? g->until_ns - now_ns : 0;
    uint64_t end_ns = gn_clock_ns(CLOCK_MONOTONIC) + left_ns + GRACE_MS * 1000000u;
    struct timespec end = {(time_t)(end_ns / 1000000000u), (long)(end_ns % 1000000000u)};
    int code = 0;
    pthread_mutex_lock(&g->mutex);
    while (g->ended_count < 2 && code == 0)
        code = pthread_cond_timedwait(&g->ended, &g->mutex, &end);
    bool both = g->ended_count == 2;
    pthread_mutex_unlock(&g->mutex);
    return both;
}

/* Interval of (counter of the first core − counter of the second), and the throws that say so. */
struct offset {
    int64_t lo_ticks, hi_ticks;
    struct gn_core_throw there, back;
};

/* False: nothing is known, there was no time or no way. */
static bool try_pair(const int cores[2], const int64_t shifts_ticks[2], uint64_t until_ns,
                     struct offset *offset)
{
    struct game *g = new_game(until_ns);
    if (!g)
        return false;
    bool known = start_player(g, 0, cores[0], shifts_ticks[0]) == 0 &&
                 start_player(g, 1, cores[1], shifts_ticks[1]) == 0 && wait_for_end(g) &&
                 g->players[0].received && g->players[1].received;
    if (known)
        *offset = (struct offset){g->players[1].most_ticks, -g->players[0].most_ticks, g->players[1].most,
                                  g->players[0].most};
    atomic_store(&g->stop, true);
    let_go(g);
    return known;
}

/* ---- the cores ---- */

struct search {
    struct gn_core_groups *groups;
    int64_t *shift_ticks; /* per core, for tests */
    double ns_per_tick;
    uint64_t until_ns;
};

/* CPU_ALLOC'ed; the kernel wants room for all cores that it might have. */
static int cores_of_thread(int thread, cpu_set_t **set, size_t *bytes)
{
    for (int cores = 1024;; cores *= 2) {
        *set = CPU_ALLOC((size_t)cores);
        *bytes = CPU_ALLOC_SIZE((size_t)cores);
        if (!*set)
            return -ENOMEM;
        if (sched_getaffinity(thread, *bytes, *set) == 0)
            return cores;
        int code = -errno;
        CPU_FREE(*set);
        if (code != -EINVAL || cores >= 1 << 20)
            return code;
    }
}

static int list_cores(struct gn_core_groups *groups)
{
    cpu_set_t *set;
    size_t bytes;
    int room = cores_of_thread(0, &set, &bytes);
    if (room < 0)
        return room;
    groups->group = malloc((size_t)room * sizeof *groups->group);
    for (int core = 0; core < room && groups->group; core++) {
        bool ours = CPU_ISSET_S((size_t)core, bytes, set);
        groups->group[core] = ours ? GN_CORE_UNTRIED : GN_CORE_NOT_OURS;
        groups->untried += ours;
        groups->cores = ours ? core + 1 : groups->cores;
    }
    CPU_FREE(set);
    return groups->group ? 0 : -ENOMEM;
}

static int read_shifts(int64_t *shift_ticks, int cores, struct gn_error *err)
{
    const char *text = getenv("GNOMON_TEST_DOMAIN");
    while (text && *text) {
        char *colon, *end;
        long core = strtol(text, &colon, 10);
        long long ticks = *colon == ':' ? strtoll(colon + 1, &end, 10) : 0;
        if (colon == text || *colon != ':' || end == colon + 1 || (*end && *end != ',') || core < 0)
            return gn_fail(err, -EINVAL, "GNOMON_TEST_DOMAIN=%s: expected is core:ticks, such as 1:+5000",
                           getenv("GNOMON_TEST_DOMAIN"));
        if (core < cores)
            shift_ticks[core] = ticks;
        text = end + (*end == ',');
    }
    return 0;
}

static void join_group(struct search *s, int core, int group)
{
    struct gn_core_groups *groups = s->groups;
    groups->group[core] = group;
    if (group == groups->group_count)
        groups->groups[groups->group_count++].first = core;
    groups->tried++;
    groups->untried--;
}

/* The group's, when D = 0 is possible; else by how much they differ at least. */
static bool shares(struct search *s, const struct offset *offset, double *apart_ns)
{
    if (offset->lo_ticks <= 0 && offset->hi_ticks >= 0) {
        double width_ns = (double)(offset->hi_ticks - offset->lo_ticks) * s->ns_per_tick;
        if (width_ns > s->groups->width_ns)
            s->groups->width_ns = width_ns;
        return true;
    }
    double apart_ticks = offset->lo_ticks > 0 ? (double)offset->lo_ticks : -(double)offset->hi_ticks;
    if (apart_ticks * s->ns_per_tick > *apart_ns)
        *apart_ns = apart_ticks * s->ns_per_tick;
    return false;
}

/* Against one core of each group that there is; a group of its own only when all were seen to be others. */
static void place(struct search *s, int core, uint64_t until_ns)
{
    struct gn_core_groups *groups = s->groups;
    double apart_ns = 0;
    bool all = true;
    struct offset to_first = {.lo_ticks = 0};
    for (int group = 0; group < groups->group_count; group++) {
        int cores[2] = {groups->groups[group].first, core};
        int64_t shifts_ticks[2] = {s->shift_ticks[cores[0]], s->shift_ticks[core]};
        struct offset offset;
        if (!try_pair(cores, shifts_ticks, until_ns, &offset)) {
            all = false;
        } else if (shares(s, &offset, &apart_ns)) {
            join_group(s, core, group);
            return;
        }
        if (group == 0)
            to_first = offset;
    }
    if (!all)
        return;
    struct gn_core_group *fresh = &groups->groups[groups->group_count];
    fresh->from_first = to_first.there;
    fresh->to_first = to_first.back;
    join_group(s, core, groups->group_count);
    if (apart_ns > groups->offset_ns)
        groups->offset_ns = apart_ns;
}

/* Each untried core gets its share of what time is left; what idle cores do not need goes to busy ones. */
static void place_all(struct search *s)
{
    struct gn_core_groups *groups = s->groups;
    for (int pass = 0; pass < PASSES && groups->untried > 0; pass++) {
        int waiting = groups->untried;
        for (int core = 0; core < groups->cores; core++) {
            uint64_t now_ns = gn_monotonic_ns();
            if (now_ns >= s->until_ns)
                return;
            if (groups->group[core] == GN_CORE_UNTRIED)
                place(s, core, now_ns + (s->until_ns - now_ns) / (uint64_t)waiting--);
        }
    }
}

static void place_first(struct search *s)
{
    int core = 0;
    while (s->groups->group[core] != GN_CORE_UNTRIED)
        core++;
    join_group(s, core, 0);
}

int gn_core_groups_find(struct gn_core_groups *groups, double hz, unsigned patience_ms, struct gn_error *err)
{
    *groups = (struct gn_core_groups){0};
    int code = list_cores(groups);
    if (code != 0)
        return gn_fail(err, code, "cannot list the cores that may be used: %s", strerror(-code));
    struct search s = {.groups = groups,
                       .shift_ticks = calloc((size_t)groups->cores, sizeof *s.shift_ticks),
                       .ns_per_tick = 1e9 / hz,
                       .until_ns = gn_monotonic_ns() + patience_ms * 1000000ull};
    groups->groups = calloc((size_t)groups->cores, sizeof *groups->groups);
    code = s.shift_ticks && groups->groups ? read_shifts(s.shift_ticks, groups->cores, err)
                                           : gn_fail(err, -ENOMEM, "no memory for %d cores", groups->cores);
    if (code == 0) {
        place_first(&s);
        place_all(&s);
    }
    free(s.shift_ticks);
    if (code != 0)
        gn_core_groups_clear(groups);
    return code;
}

/* Each group of `a` has one of `b`, as far as cores say that were tried in both. */
static bool maps(const struct gn_core_groups *a, const struct gn_core_groups *b, int *image)
{
    bool fits = true;
    memset(image, 0xff, (size_t)a->group_count * sizeof *image);
    for (int core = 0; core < a->cores && core < b->cores; core++) {
        int from = a->group[core], to = b->group[core];
        if (from < 0 || to < 0)
            continue;
        fits = fits && (image[from] < 0 || image[from] == to);
        image[from] = to;
    }
    return fits;
}

bool gn_core_groups_agree(const struct gn_core_groups *a, const struct gn_core_groups *b)
{
    int most = a->group_count > b->group_count ? a->group_count : b->group_count;
    int *image = malloc((size_t)(most + 1) * sizeof *image);
    bool agree = image && maps(a, b, image) && maps(b, a, image);
    free(image);
    return agree;
}

/* ---- processes ---- */

static int group_of_thread(const struct gn_core_groups *groups, int thread)
{
    cpu_set_t *set;
    size_t bytes;
    int room = cores_of_thread(thread, &set, &bytes), group = GN_CORE_NOT_OURS;
    if (room < 0)
        return room == -ESRCH ? GN_CORE_NOT_OURS : GN_CORE_UNTRIED;
    for (int core = 0; core < room && group != GN_CORE_UNTRIED; core++) {
        if (!CPU_ISSET_S((size_t)core, bytes, set))
            continue;
        int its = core < groups->cores ? groups->group[core] : GN_CORE_UNTRIED;
        group = its >= 0 && (group < 0 || group == its) ? its : GN_CORE_UNTRIED;
    }
    CPU_FREE(set);
    return group;
}

int gn_core_groups_of_process(const struct gn_core_groups *groups, int pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *threads = opendir(path);
    int group = threads || errno == ENOENT ? GN_CORE_NOT_OURS : GN_CORE_UNTRIED;
    for (struct dirent *entry; threads && (entry = readdir(threads)) && group != GN_CORE_UNTRIED;) {
        int thread = atoi(entry->d_name);
        int its = thread > 0 ? group_of_thread(groups, thread) : GN_CORE_NOT_OURS; /* "." or gone */
        if (its != GN_CORE_NOT_OURS)
            group = group < 0 || group == its ? its : GN_CORE_UNTRIED;
    }
    if (threads)
        closedir(threads);
    return group;
}

int gn_core_groups_bind(const struct gn_core_groups *groups, int group)
{
    size_t bytes = CPU_ALLOC_SIZE((size_t)groups->cores);
    cpu_set_t *set = CPU_ALLOC((size_t)groups->cores);
    if (!set)
        return -ENOMEM;
    CPU_ZERO_S(bytes, set);
    for (int core = 0; core < groups->cores; core++)
        if (groups->group[core] == group)
            CPU_SET_S((size_t)core, bytes, set);
    int code = sched_setaffinity(0, bytes, set) == 0 ? 0 : -errno;
    CPU_FREE(set);
    return code;
}

void gn_core_groups_clear(struct gn_core_groups *groups)
{
    free(groups->group);
    free(groups->groups);
    *groups = (struct gn_core_groups){0};
}
