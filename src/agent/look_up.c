#include "agent/look_up.h"

#include "base/grow.h"
#include "clock/ticks.h"
#include "program/calls.h"
#include "program/names.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    SHARE_PER_MILLE = 15, /* of one core */
    NAP_MS = 100,
    LONGEST_NAP_MS = 2000, /* when nothing new was seen for long */
    PATIENCE_S = 60,       /* for servers of debug files, altogether */
    PLACES = 32,
};

/* A process's graph, and how much of it was looked at. All of it may be nonsense: the program can write
 * there. */
struct followed {
    struct gn_tag *segment;
    uint32_t locations;
    uint32_t frames;                         /* done */
    uint32_t *edges;                         /* done, by location */
    const struct gn_opened_module **modules; /* by the segment's index, NULL: not yet asked for */
};

struct gn_look_up {
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    bool ended;
    struct followed **followed;
    size_t count, room;
    /* the thread's own */
    struct gn_modules *modules;
    uint64_t began_ns;
    struct gn_debug_patience patience;
    struct gn_calls from, to;
};

/* ---- the budget ---- */

static bool is_ended(struct gn_look_up *l)
{
    pthread_mutex_lock(&l->lock);
    bool ended = l->ended;
    pthread_mutex_unlock(&l->lock);
    return ended;
}

static uint64_t used_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Until when the thread has to rest, so that all it has used is its share; 0: it may go on. */
static uint64_t rest_until_ns(const struct gn_look_up *l)
{
    uint64_t earned_at = l->began_ns + used_ns() * 1000u / SHARE_PER_MILLE;
    return earned_at > gn_monotonic_ns() ? earned_at : 0;
}

/* Sleeps until a moment, or until the end. False: the end. */
static bool rest(struct gn_look_up *l, uint64_t until_ns)
{
    struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
    pthread_mutex_lock(&l->lock);
    while (!l->ended && pthread_cond_timedwait(&l->changed, &l->lock, &until) == 0)
        ;
    bool goes_on = !l->ended;
    pthread_mutex_unlock(&l->lock);
    return goes_on;
}

/* Ahead of each question. What was used too much is rested in one piece: waking up costs, too. */
static bool may_ask(struct gn_look_up *l)
{
    uint64_t until_ns = rest_until_ns(l);
    return until_ns ? rest(l, until_ns + NAP_MS * 1000000u) : !is_ended(l);
}

static bool has_patience(void *look_up)
{
    return !is_ended(look_up);
}

/* ---- the questions ---- */

static const struct gn_opened_module *module_of(struct gn_look_up *l, struct followed *f, uint32_t index)
{
    if (index >= GN_MAX_MODULES || index >= GN_OBSERVE(f->segment->module_count))
        index = 0;
    if (!f->modules[index]) {
        struct gn_module module = f->segment->modules[index];
        module.path[sizeof module.path - 1] = '\0';
        size_t bytes = module.build_id_bytes < GN_BUILD_ID_BYTES ? module.build_id_bytes : GN_BUILD_ID_BYTES;
        f->modules[index] = gn_modules_get(l->modules, module.path, module.build_id, bytes);
    }
    return f->modules[index];
}

static struct gn_call_address call_of(struct gn_look_up *l, struct followed *f, uint32_t frame)
{
    const struct gn_tag_frame *in = &f->segment->frames[frame];
    return (struct gn_call_address){module_of(l, f, in->module), in->offset};
}

static size_t ask_places(const struct gn_call_address *call, struct gn_program_place *places)
{
    if (!call->module || !call->module->program)
        return 0;
    return gn_program_places(call->module->program, call->offset - 1, places, PLACES, NULL);
}

static bool is_region_mark(const struct gn_call_address *call)
{
    struct gn_program_place places[PLACES];
    size_t count = ask_places(call, places);
    return count > 0 && gn_name_is_region_mark(places[count - 1].function);
}

/* The calls that lead to an activity, outermost first; those of gnomon.h are not part of a region's. */
static void read_calls(struct gn_look_up *l, struct followed *f, const struct gn_tag_node *node,
                       struct gn_calls *calls)
{
    uint32_t frames[GN_CALLS_MAX], count = 0, known = GN_OBSERVE(f->segment->frame_count);
    known = known < GN_MAX_FRAMES ? known : GN_MAX_FRAMES;
    for (uint32_t at = GN_GET(node->path); at > 0 && at < known && count < GN_CALLS_MAX;) {
        frames[count++] = at;
        uint32_t parent = f->segment->frames[at].parent;
        at = parent < at ? parent : 0;
    }
    calls->count = count;
    for (uint32_t i = 0; i < count; i++)
        calls->items[i] = call_of(l, f, frames[count - 1 - i]);
    uint32_t activity = GN_GET(node->activity);
    if (activity == GN_ACTIVITY_REGION_BEGIN || activity == GN_ACTIVITY_REGION_END)
        for (int i = 0; i < 2 && calls->count > 1 && is_region_mark(&calls->items[calls->count - 1]); i++)
            calls->count--;
}

static bool look_at_frames(struct gn_look_up *l, struct followed *f)
{
    uint32_t count = GN_OBSERVE(f->segment->frame_count);
    count = count < GN_MAX_FRAMES ? count : GN_MAX_FRAMES;
    for (; f->frames < count; f->frames++) {
        struct gn_program_place places[PLACES];
        if (!may_ask(l))
            return false;
        if (f->frames > 0) {
            struct gn_call_address call = call_of(l, f, f->frames);
            ask_places(&call, places);
        }
    }
    return true;
}

static bool look_at_edges(struct gn_look_up *l, struct followed *f, uint32_t location)
{
    struct gn_location *in = &f->segment->locations[location];
    uint32_t count = GN_OBSERVE(in->edge_count);
    count = count < GN_MAX_EDGES ? count : GN_MAX_EDGES;
    for (; f->edges[location] < count; f->edges[location]++) {
        const struct gn_tag_edge *edge = &in->edges[f->edges[location]];
        uint32_t from = GN_GET(edge->from), to = GN_GET(edge->to);
        struct gn_program_place place;
        if (!may_ask(l))
            return false;
        if (from >= GN_MAX_NODES || to >= GN_MAX_NODES)
            continue;
        read_calls(l, f, &in->nodes[from], &l->from);
        read_calls(l, f, &in->nodes[to], &l->to);
        gn_calls_between(&l->from, &l->to, &place);
    }
    return true;
}

static bool look_at(struct gn_look_up *l, struct followed *f)
{
    uint32_t count = GN_OBSERVE(f->segment->location_count);
    if (!look_at_frames(l, f))
        return false;
    for (uint32_t i = 0; i < count && i < f->locations; i++)
        if (!look_at_edges(l, f, i))
            return false;
    return true;
}

/* ---- the thread ---- */

static struct followed *nth(struct gn_look_up *l, size_t index)
{
    pthread_mutex_lock(&l->lock);
    struct followed *f = index < l->count ? l->followed[index] : NULL;
    pthread_mutex_unlock(&l->lock);
    return f;
}

/* How much has been looked at, to see whether there was something new. */
static uint64_t looked_at(struct gn_look_up *l)
{
    uint64_t sum = 0;
    struct followed *f;
    for (size_t i = 0; (f = nth(l, i)); i++) {
        sum += f->frames;
        for (uint32_t k = 0; k < f->locations; k++)
            sum += f->edges[k];
    }
    return sum;
}

static void *run(void *argument)
{
    struct gn_look_up *l = argument;
    unsigned nap_ms = NAP_MS;
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
    while (rest(l, gn_monotonic_ns() + nap_ms * 1000000ull)) {
        uint64_t before = looked_at(l);
        struct followed *f;
        for (size_t i = 0; (f = nth(l, i)); i++)
            if (!look_at(l, f))
                return NULL;
        nap_ms = looked_at(l) != before ? NAP_MS : nap_ms * 2 < LONGEST_NAP_MS ? nap_ms * 2 : LONGEST_NAP_MS;
    }
    return NULL;
}

struct gn_look_up *gn_look_up_begin(void)
{
    struct gn_look_up *l = calloc(1, sizeof *l);
    pthread_condattr_t monotonic;
    if (!l || !(l->modules = gn_modules_new(&l->patience))) {
        free(l);
        return NULL;
    }
    l->patience = (struct gn_debug_patience){has_patience, l, PATIENCE_S * 1000000000ull};
    l->began_ns = gn_monotonic_ns();
    pthread_mutex_init(&l->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&l->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigset_t all, before;
    sigfillset(&all); /* signals are for the main thread */
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int code = pthread_create(&l->thread, NULL, run, l);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code == 0)
        return l;
    gn_look_up_free(l);
    return NULL;
}

static void unfollow(struct followed *f)
{
    free(f->edges);
    free(f->modules);
    free(f);
}

static struct followed *follow(struct gn_tag *segment, uint32_t locations)
{
    struct followed *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->segment = segment;
    f->locations = locations;
    f->edges = calloc(locations + 1u, sizeof *f->edges);
    f->modules = calloc(GN_MAX_MODULES, sizeof(const struct gn_opened_module *));
    if (f->edges && f->modules)
        return f;
    unfollow(f);
    return NULL;
}

void gn_look_up_watch(struct gn_look_up *l, struct gn_tag *segment, uint32_t locations)
{
    struct followed *f = l ? follow(segment, locations) : NULL;
    if (!f)
        return;
    pthread_mutex_lock(&l->lock);
    bool room = gn_grow(&l->followed, &l->room, l->count, sizeof(struct followed *));
    if (room)
        l->followed[l->count++] = f;
    pthread_mutex_unlock(&l->lock);
    if (!room)
        unfollow(f);
}

struct gn_modules *gn_look_up_end(struct gn_look_up *l)
{
    if (!l)
        return NULL;
    pthread_mutex_lock(&l->lock);
    l->ended = true;
    pthread_cond_signal(&l->changed);
    pthread_mutex_unlock(&l->lock);
    pthread_join(l->thread, NULL);
    return l->modules;
}

void gn_look_up_free(struct gn_look_up *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->count; i++)
        unfollow(l->followed[i]);
    free(l->followed);
    gn_modules_free(l->modules);
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
    free(l);
}
