#include "agent/drain.h"

#include "base/grow.h"
#include "clock/ticks.h"
#include "agent/expand.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    BATCH = 512, /* records: 16 KiB, which stay in the nearest cache */
    TURNS = 8,   /* in which a full ring is emptied */
    SHORTEST_US = 100,
    LONGEST_US = 5000, /* of a ring of so many records; of a larger one as much longer */
    LONGEST_RECORDS = 8192,
    MOST_US = 10000,
    BETWEEN_US = 20000, /* two windows, when nothing is taken */
    PRIORITY = -10,
    SHOW_MS = 300
};
#define FLUSH_NS 1000000000ull

struct drained {
    struct gn_rings rings;
    struct gn_tag *tag;
    size_t tag_bytes;
    int launcher_rank, pid;
    struct gn_local *local;   /* NULL until its rank is known */
    struct gn_expand *expand; /* likewise */
    struct gn_drain *drain;
    struct gn_drain_point *points; /* of each location: up to now */
    atomic_bool ended;
    bool told;  /* to the readers */
    bool empty; /* and stays so: what was left when it had ended is taken */
};

struct gn_drain {
    struct gn_translate *translate;
    struct gn_drain_output output;
    pthread_t thread;
    atomic_bool stop, is_asked; /* to show its windows */
    _Atomic double asked_rate;  /* of windows; negative: as it is */
    pthread_mutex_t lock;       /* of processes: the agent adds */
    struct drained **processes;
    size_t process_count, process_capacity;
    bool failed;         /* the output */
    bool unflushed;      /* events since the last flush */
    uint64_t last_flush; /* ns */
    unsigned pause_us;   /* the next sleep */
    double fill;         /* of the fullest ring in this round */
    uint32_t ring_records;
    bool is_read; /* by somebody, while it is written */
    struct gn_drain_stats stats;
    uint64_t now_ticks; /* no event of this batch can be later: read behind it (gn_ticks_ordered) */
    struct gn_windows windows;
    bool takes_all;     /* that is there now: a window ends */
    uint64_t kept;      /* events, by this thread */
    uint64_t cut_ticks; /* of the open window: after that events of a location were lost; UINT64_MAX: none */
    struct gn_record batch[BATCH];
};

/* ---- one process ---- */

/* The others say something of those: how many are missing, what they have cost. */
static bool is_of_the_program(const struct gn_event *event)
{
    return event->kind != GN_EVENT_LOST && event->kind != GN_EVENT_OWN_WORK;
}

static void count_written(struct gn_drain_point *point, const struct gn_event *event)
{
    point->written++;
    if (event->kind == GN_EVENT_LOST)
        point->dropped += event->request;
    point->events += is_of_the_program(event);
}

static void write_event(struct gn_drain *d, struct gn_drain_point *point, const struct gn_event *event)
{
    d->kept++;
    if (event->kind == GN_EVENT_LOST)
        d->stats.dropped += event->request;
    if (d->output.readers && event->kind != GN_EVENT_NUMBER && event->kind != GN_EVENT_OWN_WORK)
        gn_readers_event(d->output.readers, event);
    if (!d->failed && d->output.write(d->output.self, event, &d->stats.error) != 0) {
        d->failed = true;
        d->cut_ticks = event->ticks < d->cut_ticks ? event->ticks : d->cut_ticks; /* a window has no more */
    }
    if (d->failed) {
        d->stats.unwritten += is_of_the_program(event);
    } else {
        d->stats.events += is_of_the_program(event);
        d->translate->definitions->locations[event->location].events++;
        count_written(point, event);
        d->unflushed = true;
    }
}

static void emit(void *self, uint32_t location, struct gn_event *event)
{
    struct drained *p = self;
    if (gn_local_event(p->local, location, event, p->drain->now_ticks))
        write_event(p->drain, &p->points[location], event);
}

static void expand(struct gn_drain *d, struct drained *p, uint32_t location, uint64_t first, size_t count)
{
    struct gn_drain_point reached = {.records = 0};
    if (d->windows.is_open && first > gn_expand_next(p->expand, location)) {
        const uint64_t last = gn_expand_last_ticks(p->expand, location);
        d->cut_ticks = last < d->cut_ticks ? last : d->cut_ticks;
        gn_expand_skip(p->expand, location, first);
    }
    gn_expand_up_to(p->expand, location, first);
    for (size_t i = 0; i < count; i++) {
        gn_expand_record(p->expand, location, first + i, &d->batch[i]);
        if (gn_expand_is_between(p->expand, location)) {
            reached = p->points[location];
            reached.records = first + i + 1;
            reached.ticks = gn_expand_last_ticks(p->expand, location);
        }
    }
    if (reached.records && d->output.reached && !d->failed)
        d->output.reached(d->output.self, gn_local_location(p->local, location), &reached);
}

/* One ring: all that was there at the end, which is no more than fits into it; before, a part of that, so
 * that no ring overflows while another one is emptied. */
static void drain_ring(struct gn_drain *d, struct drained *p, uint32_t location, bool last)
{
    const bool all = last || d->takes_all;
    size_t taken = 0, waiting, most = all ? p->rings.ring_records : p->rings.ring_records / TURNS;
    do {
        uint64_t first;
        size_t count = gn_rings_take(&p->rings, location, d->batch, BATCH, &first, &waiting);
        double fill = (double)waiting / p->rings.ring_records;
        d->fill = fill > d->fill ? fill : d->fill;
        d->now_ticks = gn_ticks_ordered();
        expand(d, p, location, first, count);
        taken += count;
    } while (waiting > BATCH && taken < most);
    if (last)
        gn_expand_end(p->expand, location);
}

/* Events carry the rank in their location's name: nothing can be written ahead of it. */
static bool know(struct gn_drain *d, struct drained *p, bool last)
{
    if (p->local)
        return true;
    int rank = __atomic_load_n(&p->tag->rank, __ATOMIC_ACQUIRE);
    if (rank < 0 && !last)
        return false;
    if (!p->expand)
        p->expand =
            gn_expand_new(p->tag, p->rings.segment, p->rings.locations, p->rings.ring_records, emit, p);
    for (uint32_t i = 0; p->expand && i < p->rings.locations; i++)
        gn_expand_begin_at(p->expand, i, p->points[i].records, p->points[i].ticks);
    if (p->expand)
        p->local = gn_local_new(d->translate, p->tag, p->tag_bytes, p->rings.segment, p->rings.locations,
                                rank >= 0 ? rank : p->launcher_rank,
                                __atomic_load_n(&p->tag->world, __ATOMIC_RELAXED), p->pid);
    return p->local != NULL;
}

static void drain_process(struct gn_drain *d, struct drained *p, bool last)
{
    if (p->empty || !know(d, p, last))
        return;
    p->empty = last;
    d->ring_records = p->rings.ring_records;
    gn_rings_alive(&p->rings); /* not before: a process must not wait for somebody who takes nothing */
    uint32_t locations = GN_OBSERVE(p->tag->location_count);
    for (uint32_t i = 0; i < locations && i < p->rings.locations; i++)
        drain_ring(d, p, i, last);
}

/* Its rings are not written any more, so what is taken now is the rest. One that never had a rank is left for
 * the end: its place in the world may be another's. */
static void drain_ended(struct gn_drain *d, struct drained *p)
{
    if (know(d, p, false))
        drain_process(d, p, true);
    p->told = true;
    for (uint32_t i = 0; p->local && d->output.readers && i < p->rings.locations; i++)
        if (gn_local_knows(p->local, i))
            gn_readers_end(d->output.readers, gn_local_location(p->local, i));
}

/* ---- the thread ---- */

static void drain_all(struct gn_drain *d, bool last)
{
    d->fill = 0;
    pthread_mutex_lock(&d->lock);
    size_t count = d->process_count;
    pthread_mutex_unlock(&d->lock);
    for (size_t i = 0; i < count; i++) {
        pthread_mutex_lock(&d->lock);
        struct drained *p = d->processes[i];
        pthread_mutex_unlock(&d->lock);
        if (atomic_load(&p->ended) && !p->told)
            drain_ended(d, p);
        else
            drain_process(d, p, last);
    }
}

static void flush(struct gn_drain *d, uint64_t now_ns)
{
    if (!d->unflushed || now_ns - d->last_flush < FLUSH_NS)
        return;
    d->last_flush = now_ns;
    d->unflushed = false;
    if (!d->failed && d->output.flush(d->output.self, &d->stats.error) != 0)
        d->failed = true;
}

/* ---- windows ---- */

static size_t locations_of(const struct gn_drain *d)
{
    return d->translate->definitions->location_count;
}

/* A process that has no rank yet begins with whatever it has in its rings by then. Whether anything was left
 * out. */
static bool skip(struct gn_drain *d)
{
    bool any = false;
    pthread_mutex_lock(&d->lock);
    const size_t count = d->process_count;
    pthread_mutex_unlock(&d->lock);
    for (size_t i = 0; i < count; i++) {
        pthread_mutex_lock(&d->lock);
        struct drained *p = d->processes[i];
        pthread_mutex_unlock(&d->lock);
        /* not the memory of threads that there are none of */
        const uint32_t locations = GN_OBSERVE(p->tag->location_count);
        for (uint32_t k = 0; p->local && !p->empty && k < locations && k < p->rings.locations; k++) {
            const uint64_t next = gn_rings_skip(&p->rings, k);
            any |= next > gn_expand_next(p->expand, k);
            gn_expand_skip(p->expand, k, next);
        }
    }
    return any;
}

static void open_window(struct gn_drain *d)
{
    const bool is_late = skip(d);
    d->cut_ticks = UINT64_MAX;
    gn_windows_open(&d->windows, gn_ticks(), d->kept, is_late);
}

/* All that was written by now is taken, as long as nothing is lost. */
static void take_all(struct gn_drain *d, bool last)
{
    d->takes_all = true;
    drain_all(d, last);
    d->takes_all = false;
}

static void close_window(struct gn_drain *d, bool last)
{
    const uint64_t end = gn_ticks();
    take_all(d, last);
    if (last && d->cut_ticks > end)
        gn_windows_end(&d->windows, end);
    else
        gn_windows_close(&d->windows, d->cut_ticks < end ? d->cut_ticks : end, d->kept, locations_of(d));
}

static uint64_t now_of(struct gn_drain *d)
{
    return d->output.moment ? d->output.moment(d->output.self, &d->windows.common) : gn_monotonic_ns();
}

/* Empties the rings, where that is wanted. */
static void drain_wanted(struct gn_drain *d, bool last)
{
    struct gn_windows *w = &d->windows;
    d->fill = 0;
    if (d->output.windows_rate <= 0) {
        drain_all(d, last);
        return;
    }
    const uint64_t now_ns = now_of(d);
    const double rate = atomic_exchange(&d->asked_rate, -1);
    if (rate >= 0)
        gn_windows_set_rate(w, rate, now_ns);
    const bool wanted = gn_windows_wanted(w, now_ns, d->kept, locations_of(d));
    if (wanted && !w->is_open && !last && !d->failed)
        open_window(d);
    if (w->is_open && (last || !wanted))
        close_window(d, last);
    else if (w->is_open)
        drain_all(d, false);
    if (w->is_open && d->cut_ticks != UINT64_MAX)
        gn_windows_cut(w, d->cut_ticks, d->kept, locations_of(d));
}

/* What has ended of them, and of an open one what there is now. */
static void show(struct gn_drain *d)
{
    struct gn_windows *w = &d->windows;
    size_t count = w->count;
    if (w->is_open) {
        const uint64_t end = gn_ticks();
        take_all(d, false);
        w->spans[count].end_ticks = d->cut_ticks < end ? d->cut_ticks : end;
        count += w->spans[count].end_ticks > w->spans[count].begin_ticks;
    }
    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < d->process_count; i++)
        if (d->processes[i]->local)
            gn_local_names(d->processes[i]->local);
    pthread_mutex_unlock(&d->lock);
    if (!d->failed)
        d->output.show(d->output.self, w->spans, count);
    atomic_store(&d->is_asked, false);
}

void gn_drain_set_rate(struct gn_drain *d, double rate)
{
    atomic_store(&d->asked_rate, rate);
}

bool gn_drain_show(struct gn_drain *d)
{
    if (d->output.windows_rate <= 0 || !d->output.show)
        return false;
    atomic_store(&d->is_asked, true);
    for (int ms = 0; ms < SHOW_MS && atomic_load(&d->is_asked); ms++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return !atomic_load(&d->is_asked);
}

const struct gn_windows *gn_drain_windows(const struct gn_drain *d)
{
    return d->output.windows_rate > 0 ? &d->windows : NULL;
}

/* Other hosts' windows begin at the same moment. */
static unsigned longest_pause_us(const struct gn_drain *d)
{
    const struct gn_windows *w = &d->windows;
    if (d->output.windows_rate <= 0 || w->is_open) {
        const unsigned times = d->is_read ? 1 : d->ring_records / LONGEST_RECORDS;
        return times <= 1 ? LONGEST_US : times < MOST_US / LONGEST_US ? times * LONGEST_US : MOST_US;
    }
    const bool is_soon =
        w->common && w->next_ns > w->now_ns && w->next_ns - w->now_ns < BETWEEN_US * (uint64_t)1000;
    return is_soon ? (unsigned)((w->next_ns - w->now_ns) / 1000) : BETWEEN_US;
}

/* As long as it takes to fill a small part of the fullest ring, going by this round. */
static void rest(struct gn_drain *d)
{
    if (d->fill > 0.5) /* no time to lose */
        return;
    if (d->fill < 0.02)
        d->pause_us *= 2;
    else if (d->fill > 0.1)
        d->pause_us /= 2;
    const unsigned longest = longest_pause_us(d);
    if (d->pause_us > longest)
        d->pause_us = longest;
    if (d->pause_us < SHORTEST_US)
        d->pause_us = SHORTEST_US;
    nanosleep(&(struct timespec){.tv_nsec = d->pause_us * 1000L}, NULL);
}

static void *run(void *self)
{
    struct gn_drain *d = self;
    pthread_setname_np(pthread_self(), "gnomon-drain");
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), PRIORITY); /* where it may */
    while (!atomic_load(&d->stop)) {
        drain_wanted(d, false);
        flush(d, gn_monotonic_ns());
        if (atomic_load(&d->is_asked))
            show(d);
        d->is_read = d->output.readers && gn_readers_round(d->output.readers);
        rest(d);
    }
    drain_wanted(d, true);
    if (d->output.readers)
        gn_readers_finish(d->output.readers);
    return NULL;
}

int gn_drain_start(struct gn_drain **drain, struct gn_translate *translate,
                   const struct gn_drain_output *output, struct gn_error *err)
{
    struct gn_drain *d = calloc(1, sizeof *d);
    if (!d)
        return gn_fail(err, -ENOMEM, "no memory to take events in");
    d->translate = translate;
    d->output = *output;
    d->pause_us = SHORTEST_US;
    atomic_store(&d->asked_rate, -1);
    gn_windows_begin(&d->windows, output->windows_rate, gn_ticks());
    pthread_mutex_init(&d->lock, NULL);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the agent's */
    int code = pthread_create(&d->thread, NULL, run, d);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0) {
        pthread_mutex_destroy(&d->lock);
        free(d);
        return gn_fail(err, -code, "cannot start a thread for the trace: %s", strerror(code));
    }
    *drain = d;
    return 0;
}

int gn_drain_add(struct gn_drain *d, const struct gn_rings *rings, struct gn_tag *tag, size_t tag_bytes,
                 int launcher_rank, int pid)
{
    return gn_drain_go_on(d, rings, tag, tag_bytes, launcher_rank, pid, NULL, 0);
}

static void begin_at(struct gn_drain *d, struct drained *p, const struct gn_drain_point *points,
                     uint32_t count)
{
    for (uint32_t i = 0; i < count && i < p->rings.locations; i++) {
        p->points[i] = points[i];
        p->rings.places[i].tail = points[i].records;
        d->stats.events += points[i].events;
        d->stats.dropped += points[i].dropped;
    }
}

int gn_drain_go_on(struct gn_drain *d, const struct gn_rings *rings, struct gn_tag *tag, size_t tag_bytes,
                   int launcher_rank, int pid, const struct gn_drain_point *points, uint32_t count)
{
    struct drained *p = malloc(sizeof *p);
    struct gn_drain_point *own = calloc(rings->locations, sizeof *own);
    if (!p || !own) {
        free(p);
        free(own);
        return -ENOMEM;
    }
    *p = (struct drained){.rings = *rings,
                          .tag = tag,
                          .tag_bytes = tag_bytes,
                          .launcher_rank = launcher_rank,
                          .pid = pid,
                          .points = own,
                          .drain = d};
    pthread_mutex_lock(&d->lock);
    begin_at(d, p, points, count);
    bool room = gn_grow(&d->processes, &d->process_capacity, d->process_count, sizeof *d->processes);
    if (room)
        d->processes[d->process_count++] = p;
    pthread_mutex_unlock(&d->lock);
    if (!room) {
        free(own);
        free(p);
    }
    return room ? 0 : -ENOMEM;
}

void gn_drain_ended(struct gn_drain *d, int pid)
{
    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < d->process_count; i++)
        if (d->processes[i]->pid == pid)
            atomic_store(&d->processes[i]->ended, true);
    pthread_mutex_unlock(&d->lock);
}

static void count_lost(struct gn_drain *d, const struct drained *p)
{
    for (uint32_t i = 0; i < p->rings.locations; i++)
        d->stats.garbled += p->rings.places[i].skipped;
    d->stats.lost_comms += GN_GET(p->rings.segment->lost_comms);
    d->stats.garbled += p->local ? gn_local_garbled(p->local) : 0;
    d->stats.garbled += p->expand ? gn_expand_garbled(p->expand) : 0;
}

void gn_drain_stop(struct gn_drain *d)
{
    atomic_store(&d->stop, true);
    pthread_join(d->thread, NULL);
    for (size_t i = 0; i < d->process_count; i++) {
        count_lost(d, d->processes[i]);
        if (d->processes[i]->local)
            gn_local_names(d->processes[i]->local);
    }
}

const struct gn_drain_stats *gn_drain_stats(const struct gn_drain *d)
{
    return &d->stats;
}

void gn_drain_free(struct gn_drain *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->process_count; i++) {
        gn_local_free(d->processes[i]->local);
        gn_expand_free(d->processes[i]->expand);
        gn_rings_close(&d->processes[i]->rings);
        free(d->processes[i]->points);
        free(d->processes[i]);
    }
    free(d->processes);
    pthread_mutex_destroy(&d->lock);
    free(d);
}
