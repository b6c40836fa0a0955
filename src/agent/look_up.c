#include "agent/look_up.h"

#include "base/grow.h"
#include "clock/ticks.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    SHARE_PER_MILLE = 8, /* of one core */
    NAP_MS = 100,
    LONGEST_NAP_MS = 2000, /* when nothing new was seen for long */
    PATIENCE_S = 60,       /* for servers of debug files, altogether */
    PLACES = 32,
};

/* A process's graph, and how much of it was looked at. All of it may be nonsense: the program can write
 * there. */
struct followed {
    struct gn_tag *segment;
    uint32_t frames;                         /* done */
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

static void ask_places(struct gn_look_up *l, struct followed *f, uint32_t frame)
{
    const struct gn_tag_frame *in = &f->segment->frames[frame];
    const struct gn_opened_module *module = module_of(l, f, in->module);
    struct gn_program_place places[PLACES];
    if (module && module->program)
        gn_program_places(module->program, in->offset - 1, places, PLACES, NULL);
}

/* False: the end. */
static bool look_at(struct gn_look_up *l, struct followed *f)
{
    uint32_t count = GN_OBSERVE(f->segment->frame_count);
    count = count < GN_MAX_FRAMES ? count : GN_MAX_FRAMES;
    for (; f->frames < count; f->frames++) {
        if (!may_ask(l))
            return false;
        if (f->frames > 0)
            ask_places(l, f, f->frames);
    }
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
    for (size_t i = 0; (f = nth(l, i)); i++)
        sum += f->frames;
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
    free(f->modules);
    free(f);
}

static struct followed *follow(struct gn_tag *segment)
{
    struct followed *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->segment = segment;
    f->modules = calloc(GN_MAX_MODULES, sizeof(const struct gn_opened_module *));
    if (f->modules)
        return f;
    unfollow(f);
    return NULL;
}

void gn_look_up_watch(struct gn_look_up *l, struct gn_tag *segment)
{
    struct followed *f = l ? follow(segment) : NULL;
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
