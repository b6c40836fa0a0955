#include "agent/sampler.h"

#include "base/grow.h"
#include "base/mix.h"
#include "agent/sample_asleep.h"
#include "agent/sample_code.h"
#include "agent/sample_counts.h"
#include "agent/sample_python.h"
#include "agent/sample_signal.h"
#include "agent/sample_threads.h"
#include "clock/ticks.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    SHARE_PER_MILLE = 10,  /* of one core */
    SAMPLES_PER_ROUND = 5, /* of a thread: its ring has room for six times as many */
    SAMPLES_PER_LOOK = 2,  /* where lines of Python are told by looks, one a round */
    LONGEST_NAP_NS = 1000000000,
    PACE_NS = 1000000000, /* between two looks at what it costs */
    LONGEST_PERIOD_NS = 1000000000,
    BUSY_ROUNDS = 4,
    SETTLED_NS = 2000000000 /* since MPI_Init: by then it is known whether a program runs Python */
};

struct process {
    int pid;
    struct gn_recorded recorded;
    bool again;        /* another agent has sampled it before */
    atomic_bool ended; /* by the agent's main thread */
    bool finished;     /* nothing comes any more */
    bool hidden;       /* where it sleeps, one must not see */
    atomic_bool gaps;  /* it was not sampled for a time */
    struct gn_sample_threads threads;
    struct gn_sample_maps *maps;
    struct gn_sample_counts *counts;
    struct gn_sample_python *python; /* NULL: it has run none yet */
    uint64_t samples, bursts, lost, time_ns;
    struct gn_sample_list list; /* for whoever looks */
    struct gn_sampled_metric metrics[GN_METRICS_AT_A_TIME];
    char reason[2 * GN_SAMPLE_REASON_BYTES + 100];
};

struct gn_sampler {
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    bool ending;
    int asked_hz; /* negative: as it is */
    bool has_asked_metrics;
    uint32_t asked_metrics;
    struct process **processes;
    size_t count, room;
    pthread_mutex_t reading; /* of what is known of processes */
    /* the thread's own */
    struct gn_sample_code *code;
    struct gn_sample_places *places;
    struct gn_sampled_module *modules; /* for whoever looks */
    size_t module_room;
    struct gn_moment before, now;
    bool by_signal, with_kernel, sees_python, is_nice;
    uint32_t metrics; /* a bit for each */
    uint64_t init_ns; /* when the first process was seen that has begun; 0: none has */
    int refused;      /* why none may be opened; 0: they may */
    uint64_t shortest_ns;
    atomic_bool paused;
    _Atomic uint64_t period_ns, all_used_ns;
    uint64_t paced_ns, used_ns, samples; /* at the last look at the costs */
    uint64_t all_samples;
    struct process *process; /* the one at hand, its location, and what a sample of it stands for */
    uint32_t location;
    unsigned how;
    uint64_t stands_ns;
};

/* ---- a sample ---- */

/* Two moments of now and a little while ago are both sides of most samples. */
static uint64_t ticks_of(const struct gn_sampler *s, uint64_t time_ns)
{
    if (gn_ticks_from_kernel || s->now.ns <= s->before.ns)
        return time_ns;
    const double per_ns = (double)(s->now.ticks - s->before.ticks) / (double)(s->now.ns - s->before.ns);
    const int64_t ago_ns = (int64_t)(s->now.ns - time_ns);
    return s->now.ticks - (uint64_t)(int64_t)((double)ago_ns * per_ns);
}

/* Which location of its process a thread has, if it has one. */
static uint32_t location_of(const struct gn_recorded *r, int tid)
{
    uint32_t count = GN_OBSERVE(r->tag->location_count);
    count = count < r->locations ? count : r->locations;
    for (uint32_t i = 0; i < count; i++)
        if (GN_GET(r->tag->locations[i].thread_id) == (uint32_t)tid && GN_GET(r->tag->locations[i].in_use))
            return i;
    return GN_SAMPLE_NO_LOCATION;
}

/* Where it was, as it is counted. computes: it is in no call. */
static struct gn_sample_counted counted_of(struct gn_sampler *s, const struct gn_sample_where *where,
                                           bool computes)
{
    const bool says_nothing = where->in_interpreter && !where->in_call,
               called = where->in_library && computes;
    return (struct gn_sample_counted){
        .site = says_nothing ? GN_SAMPLED_NONE : gn_sample_places_number(s->places, s->code, where->site),
        .called = called ? gn_sample_places_number(s->places, s->code, where->called) : GN_SAMPLED_NONE,
        .in_call = where->in_call};
}

static void take(void *self, struct gn_sample *sample, enum gn_sample_news news)
{
    struct gn_sampler *s = self;
    struct process *p = s->process;
    const bool other = s->location == GN_SAMPLE_NO_LOCATION;
    const uint32_t location = other ? 0 : s->location;
    if (news == GN_SAMPLE_MAPPED)
        gn_sample_maps_changed(p->maps);
    if (news == GN_SAMPLE_THREADS) /* as many may be there as before, and others */
        p->threads.links = 0;
    if (!sample || sample->pid != p->pid)
        return;
    if (s->how == GN_SAMPLED_RUNNING) {
        p->samples++;
        p->time_ns += s->stands_ns;
    }
    s->all_samples++;
    struct gn_sample_moment moment =
        gn_sample_moment_at(&p->recorded, location, ticks_of(s, sample->time_ns));
    struct gn_sample_where where;
    gn_sample_where(p->maps, sample, &where);
    if (moment.kind == GN_MOMENT_ROW) {
        moment.kind = where.in_call ? GN_MOMENT_INSIDE : GN_MOMENT_BETWEEN;
        moment.from = where.in_call ? moment.within : moment.from;
    }
    struct gn_sample_counted counted = counted_of(s, &where, moment.kind != GN_MOMENT_INSIDE);
    counted.other_threads = other;
    counted.how = s->how;
    counted.time_ns = s->how == GN_SAMPLED_RUNNING ? s->stands_ns : sample->amount;
    gn_sample_counts_add(p->counts, &p->recorded, location, &moment, &counted);
}

/* ---- looks ---- */

/* Whether it is in no call, and has been in none since `before`. */
static bool is_still(const struct process *p, uint32_t location, const struct gn_sample_moment *before)
{
    const struct gn_sample_moment now = gn_sample_moment_at(&p->recorded, location, gn_ticks());
    return now.kind == before->kind && now.record == before->record && now.ticks == before->ticks;
}

/* Whether the thread is asleep between two calls, and where. */
static enum gn_asleep look_asleep(struct gn_sampler *s, struct process *p, const struct gn_sample_thread *at,
                                  enum gn_moment_kind kind, struct gn_sample_counted *counted)
{
    uint8_t stack[GN_SAMPLE_STACK_BYTES];
    struct gn_sample sample;
    struct gn_sample_where where;
    const enum gn_asleep found = gn_sample_asleep(p->pid, at->tid, &sample, stack);
    p->hidden = found == GN_ASLEEP_REFUSED;
    if (found != GN_ASLEEP_YES)
        return found;
    gn_sample_where(p->maps, &sample, &where);
    if (kind == GN_MOMENT_ROW && where.in_call)
        return GN_ASLEEP_NO;
    where.called = where.waits;
    *counted = counted_of(s, &where, true);
    counted->how = GN_SAMPLED_ASLEEP;
    return GN_ASLEEP_YES;
}

/* Whether the thread runs Python now, and at which line, of one that has done so. */
static enum gn_sampled_how look_python(struct gn_sampler *s, struct process *p,
                                       const struct gn_sample_thread *at, uint32_t *line, uint32_t *called)
{
    p->python = p->python ? p->python : calloc(1, sizeof *p->python);
    s->sees_python = p->python != NULL;
    const bool in_python =
        p->python && gn_sample_python_place(p->python, p->pid, at->tid, p->recorded.tag, at->location,
                                            s->places, s->code, line, called);
    return in_python ? GN_SAMPLED_INTERPRETED : GN_SAMPLED_NATIVE;
}

static bool runs_python(const struct process *p, const struct gn_sample_thread *at)
{
    return GN_GET(p->recorded.tag->locations[at->location].python_state) != 0;
}

/* Where a thread is between two calls that samples do not tell of: asleep, or in Python. Rounds come at
 * moments that have nothing to do with what it does, so it was found where it was for as long as passed since
 * the one before; of who sleeps, for `rounds`. */
static void look(struct gn_sampler *s, struct process *p, const struct gn_sample_thread *at, unsigned rounds)
{
    struct gn_sample_counted counted = {.site = GN_SAMPLED_NONE, .called = GN_SAMPLED_NONE};
    struct gn_sample_moment moment = gn_sample_moment_at(&p->recorded, at->location, gn_ticks());
    if (moment.kind != GN_MOMENT_SINCE && moment.kind != GN_MOMENT_ROW)
        return;
    uint32_t line = GN_SAMPLED_NONE, called = GN_SAMPLED_NONE;
    const bool sees = moment.kind == GN_MOMENT_SINCE && runs_python(p, at);
    const enum gn_asleep found = look_asleep(s, p, at, moment.kind, &counted);
    const enum gn_sampled_how how = sees ? look_python(s, p, at, &line, &called) : GN_SAMPLED_RUNNING;
    if ((found != GN_ASLEEP_YES && !(sees && found == GN_ASLEEP_RUNNING)) ||
        !is_still(p, at->location, &moment))
        return;
    if (line != GN_SAMPLED_NONE) {
        counted.called = counted.called == GN_SAMPLED_NONE ? counted.site : counted.called;
        counted.called = counted.called == GN_SAMPLED_NONE ? called : counted.called;
        counted.site = line;
    }
    counted.how = found == GN_ASLEEP_YES ? GN_SAMPLED_ASLEEP : how;
    if (moment.kind == GN_MOMENT_ROW)
        moment.kind = GN_MOMENT_BETWEEN;
    counted.time_ns = (s->now.ns - s->before.ns) * rounds;
    gn_sample_counts_add(p->counts, &p->recorded, at->location, &moment, &counted);
}

/* How many rounds this one stands for, of which it is the only one that looks; 0: another one does. Who
 * computed all of the time since the last round is seldom asleep, and looking costs some microseconds. Who
 * runs Python is looked at anyway. */
static unsigned stands_for(const struct gn_sampler *s, const struct process *p,
                           const struct gn_sample_thread *at, uint64_t samples)
{
    const bool is_busy = (samples + 1) * at->event.period > s->now.ns - s->before.ns;
    const bool is_chosen = gn_mix(s->now.ns ^ (uint64_t)at->tid << 32) % BUSY_ROUNDS == 0;
    return !is_busy || runs_python(p, at) ? 1 : is_chosen ? BUSY_ROUNDS : 0;
}

/* ---- rounds ---- */

static void read_metrics(struct gn_sampler *s, struct process *p, struct gn_sample_thread *at)
{
    struct gn_sample_metrics *metrics = &p->threads.metrics;
    for (uint32_t m = 0; m < metrics->count; m++) {
        s->how = GN_SAMPLED_METRIC + metrics->items[m].number;
        gn_sample_metrics_take(metrics, m, &at->of_metrics[m], take, s);
    }
    s->how = GN_SAMPLED_RUNNING;
    gn_sample_metrics_pace(metrics, at->of_metrics, s->now.ns, s->period_ns);
}

static void read_thread(struct gn_sampler *s, struct process *p, struct gn_sample_thread *at, bool may_look)
{
    const uint64_t before = p->samples;
    if (at->location == GN_SAMPLE_NO_LOCATION ||
        GN_GET(p->recorded.tag->locations[at->location].thread_id) != (uint32_t)at->tid)
        at->location = location_of(&p->recorded, at->tid);
    s->location = at->location;
    s->stands_ns = at->event.period;
    p->lost += gn_sample_event_take(&at->event, take, s);
    at->samples += p->samples - before;
    read_metrics(s, p, at);
    p->bursts += p->samples > before;
    const unsigned rounds =
        may_look && at->location != GN_SAMPLE_NO_LOCATION ? stands_for(s, p, at, p->samples - before) : 0;
    if (rounds > 0)
        look(s, p, at, rounds);
}

static void take_own(void *self, struct gn_sample *sample, enum gn_sample_news news)
{
    struct gn_sampler *s = self;
    s->location = location_of(&s->process->recorded, sample->tid);
    s->stands_ns = sample->stands_ns;
    take(s, sample, news);
}

static void read_own_samples(struct gn_sampler *s, struct process *p)
{
    struct gn_signal_samples *samples = &p->recorded.rings->samples;
    const uint64_t before = p->samples;
    const int trouble = (int)GN_OBSERVE(samples->trouble);
    gn_sample_signal_take(samples, p->pid, take_own, s);
    p->bursts += p->samples > before;
    p->lost = GN_GET(samples->lost);
    if (trouble)
        gn_sample_threads_refuse(&p->threads, "no thread could be sampled by a signal", trouble);
}

static void read_process(struct gn_sampler *s, struct process *p)
{
    const bool ended = atomic_load(&p->ended);
    s->process = p;
    gn_sample_counts_go_on(p->counts, &p->recorded, false);
    for (size_t i = 0; i < p->threads.count; i++)
        read_thread(s, p, &p->threads.items[i], !ended && !p->hidden);
    if (s->by_signal)
        read_own_samples(s, p);
    if (!ended) {
        if (!s->by_signal && !s->paused)
            gn_sample_threads_look(&p->threads, s->now.ns, s->period_ns);
        return;
    }
    gn_sample_counts_go_on(p->counts, &p->recorded, true);
    gn_sample_threads_close(&p->threads);
    gn_sample_maps_free(p->maps);
    p->maps = NULL;
    p->finished = true;
}

static struct process *nth(struct gn_sampler *s, size_t index)
{
    pthread_mutex_lock(&s->lock);
    struct process *p = index < s->count ? s->processes[index] : NULL;
    pthread_mutex_unlock(&s->lock);
    return p;
}

static void read_all(struct gn_sampler *s)
{
    struct process *p;
    pthread_mutex_lock(&s->reading);
    s->now = gn_moment_now();
    for (size_t i = 0; (p = nth(s, i)); i++)
        if (!p->finished)
            read_process(s, p);
    s->before = s->now;
    pthread_mutex_unlock(&s->reading);
}

/* ---- the budget ---- */

static uint64_t used_ns(void)
{
    return gn_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void pace_process(struct gn_sampler *s, struct process *p)
{
    gn_sample_threads_pace(&p->threads, s->period_ns);
    if (s->by_signal)
        GN_SET(p->recorded.rings->samples.period_ns, s->period_ns);
}

static void set_period(struct gn_sampler *s, double period_ns)
{
    struct process *p;
    s->period_ns = period_ns < (double)s->shortest_ns      ? s->shortest_ns
                   : period_ns > (double)LONGEST_PERIOD_NS ? (uint64_t)LONGEST_PERIOD_NS
                                                           : (uint64_t)period_ns;
    for (size_t i = 0; (p = nth(s, i)); i++)
        if (!p->finished)
            pace_process(s, p);
}

static void let_go(struct process *p)
{
    atomic_store(&p->gaps, true);
    gn_sample_threads_close(&p->threads);
    p->threads.links = 0; /* they are looked for anew */
}

static void let_go_of_all(struct gn_sampler *s)
{
    struct process *p;
    for (size_t i = 0; (p = nth(s, i)); i++)
        if (!p->finished)
            let_go(p);
}

/* What was asked for since. */
static void take_metrics(struct gn_sampler *s)
{
    pthread_mutex_lock(&s->lock);
    const bool has_asked = s->has_asked_metrics;
    s->has_asked_metrics = false;
    if (has_asked)
        s->metrics = s->asked_metrics;
    pthread_mutex_unlock(&s->lock);
    if (!has_asked)
        return;
    pthread_mutex_lock(&s->reading);
    for (size_t i = 0; i < s->count; i++)
        gn_sample_threads_count(&s->processes[i]->threads, s->metrics, gn_monotonic_ns());
    pthread_mutex_unlock(&s->reading);
}

static void take_rate(struct gn_sampler *s)
{
    pthread_mutex_lock(&s->lock);
    const int hz = s->asked_hz;
    s->asked_hz = -1;
    pthread_mutex_unlock(&s->lock);
    if (hz < 0)
        return;
    pthread_mutex_lock(&s->reading);
    s->paused = hz == 0;
    if (hz == 0)
        let_go_of_all(s);
    else
        s->shortest_ns = 1000000000u / (unsigned)hz;
    if (hz > 0)
        set_period(s, (double)s->shortest_ns);
    pthread_mutex_unlock(&s->reading);
}

/* As many samples as may be looked at, of those that there would be. */
static void pace(struct gn_sampler *s)
{
    const uint64_t now_ns = gn_monotonic_ns(), used = used_ns();
    const double passed_ns = (double)(now_ns - s->paced_ns), taken = (double)(s->all_samples - s->samples);
    if (passed_ns < PACE_NS)
        return;
    const double share = (double)(used - s->used_ns) / passed_ns * 1000 / SHARE_PER_MILLE;
    s->paced_ns = now_ns;
    s->used_ns = used;
    s->samples = s->all_samples;
    if ((taken > 0 || s->sees_python) && (share > 1.1 || (share < 0.5 && s->period_ns > s->shortest_ns)))
        set_period(s, (double)s->period_ns * (share > 0.5 ? share : 0.6));
}

/* ---- the thread ---- */

/* Behind everybody else, but where looks tell lines of Python: when all cores are busy, a thread that waits
 * for one gets it when somebody sleeps or waits, and what looks find then is not what there is. Nobody may
 * take that back. */
static void settle(struct gn_sampler *s)
{
    struct process *p;
    for (size_t i = 0; s->init_ns == 0 && (p = nth(s, i)); i++)
        s->init_ns = GN_GET(p->recorded.tag->init_ticks) ? s->now.ns : 0;
    if (s->is_nice || s->sees_python || s->init_ns == 0 || s->now.ns - s->init_ns < SETTLED_NS)
        return;
    s->is_nice = true;
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
}

/* A thread that wants little at a time gets it soon (Linux 6.12 and later; those before do so by themselves):
 * a look that comes late is not at the moment that was chosen. Where that cannot be, it is as it was. */
static void want_little(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } wanted = {.size = sizeof wanted};
    if (syscall(SYS_sched_getattr, 0, &wanted, sizeof wanted, 0) != 0 || wanted.policy != SCHED_OTHER)
        return;
    wanted.runtime = 100000;
    syscall(SYS_sched_setattr, 0, &wanted, 0);
}

/* Until the next round, or until something is new. False: the end. */
static bool rest(struct gn_sampler *s)
{
    /* now sooner, now later: out of step with whatever the program does */
    const double length = 0.1 + 1.8 * gn_mix_unit(gn_mix(s->before.ns));
    const uint64_t round_ns = (s->sees_python ? SAMPLES_PER_LOOK : SAMPLES_PER_ROUND) * s->period_ns;
    const uint64_t until_ns =
        gn_clock_ns(CLOCK_MONOTONIC) +
        (uint64_t)(length * (double)(round_ns < LONGEST_NAP_NS ? round_ns : LONGEST_NAP_NS));
    const struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
    pthread_mutex_lock(&s->lock);
    if (!s->ending)
        pthread_cond_timedwait(&s->changed, &s->lock, &until);
    const bool goes_on = !s->ending;
    pthread_mutex_unlock(&s->lock);
    return goes_on;
}

static void *run(void *argument)
{
    struct gn_sampler *s = argument;
    pthread_setname_np(pthread_self(), "sampler");
    want_little();
    s->paced_ns = gn_monotonic_ns();
    while (rest(s)) {
        read_all(s);
        settle(s);
        take_rate(s);
        take_metrics(s);
        pace(s);
        atomic_store(&s->all_used_ns, used_ns());
    }
    read_all(s);
    atomic_store(&s->all_used_ns, used_ns());
    return NULL;
}

static bool start_thread(struct gn_sampler *s)
{
    pthread_condattr_t monotonic;
    sigset_t all, before;
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->reading, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&s->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigfillset(&all); /* signals are for the main thread */
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const int code = pthread_create(&s->thread, NULL, run, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code == 0;
}

struct gn_sampler *gn_sampler_begin(const struct gn_sample_settings *settings)
{
    struct gn_sampler *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->shortest_ns = 1000000000u / settings->hz;
    s->by_signal = settings->by_signal;
    s->metrics = settings->metrics;
    s->asked_hz = -1;
    atomic_store(&s->period_ns, s->shortest_ns);
    s->refused = s->by_signal ? 0 : gn_sample_event_try(&s->with_kernel);
    s->before = gn_moment_now();
    s->code = gn_sample_code_new();
    s->places = gn_sample_places_new();
    if (s->code && s->places && start_thread(s))
        return s;
    gn_sampler_free(s);
    return NULL;
}

/* ---- for the agent ---- */

static void free_process(struct process *p)
{
    gn_sample_threads_close(&p->threads);
    gn_sample_maps_free(p->maps);
    gn_sample_counts_free(p->counts);
    free(p->python);
    free(p->list.rows);
    free(p);
}

static struct process *new_process(struct gn_sampler *s, int pid, const struct gn_recorded *recorded)
{
    struct process *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->pid = p->threads.pid = pid;
    p->recorded = *recorded;
    gn_sample_metrics_choose(&p->threads.metrics, s->metrics);
    p->threads.with_kernel = s->with_kernel;
    p->maps = gn_sample_maps_new(s->code, pid, recorded->tag);
    p->counts = gn_sample_counts_new(recorded->locations);
    if (s->by_signal)
        GN_PUBLISH(p->recorded.rings->samples.period_ns, atomic_load(&s->period_ns));
    if (s->refused)
        gn_sample_threads_refuse_event(&p->threads, s->refused);
    if (p->maps && p->counts) { /* here, at once: the sampler's thread may have to wait for a core */
        if (!s->by_signal && !atomic_load(&s->paused))
            gn_sample_threads_look(&p->threads, gn_monotonic_ns(), atomic_load(&s->period_ns));
        return p;
    }
    free_process(p);
    return NULL;
}

void gn_sampler_watch(struct gn_sampler *s, int pid, const struct gn_recorded *recorded, bool again)
{
    struct process *p = s ? new_process(s, pid, recorded) : NULL;
    if (!p)
        return;
    p->again = again;
    pthread_mutex_lock(&s->lock);
    const bool room = gn_grow(&s->processes, &s->room, s->count, sizeof(struct process *));
    if (room)
        s->processes[s->count++] = p;
    if (room && atomic_load(&s->paused)) /* since it was opened */
        let_go(p);
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
    if (!room)
        free_process(p);
}

/* The last one of that number. */
static struct process *find(struct gn_sampler *s, int pid)
{
    struct process *found = NULL;
    pthread_mutex_lock(&s->lock);
    for (size_t i = s->count; i-- > 0 && !found;)
        found = s->processes[i]->pid == pid ? s->processes[i] : NULL;
    pthread_mutex_unlock(&s->lock);
    return found;
}

void gn_sampler_set_rate(struct gn_sampler *s, unsigned hz)
{
    if (!s || s->by_signal)
        return;
    pthread_mutex_lock(&s->lock);
    s->asked_hz = (int)hz;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

void gn_sampler_set_metrics(struct gn_sampler *s, uint32_t metrics)
{
    if (!s || s->by_signal)
        return;
    pthread_mutex_lock(&s->lock);
    s->has_asked_metrics = true;
    s->asked_metrics = metrics;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

bool gn_sampler_is_refused(const struct gn_sampler *s)
{
    return s && s->refused;
}

void gn_sampler_ended(struct gn_sampler *s, int pid)
{
    struct process *p = s ? find(s, pid) : NULL;
    if (p)
        atomic_store(&p->ended, true);
}

static const char *reason_of(struct process *p, bool by_signal)
{
    const char *const texts[] = {
        p->threads.reason,
        p->again ? "its agent was ended; samples are of the time since another one went on" : "",
        atomic_load(&p->gaps) ? "it was not sampled all of the time" : "",
        p->hidden ? "where it sleeps the kernel does not tell (kernel.yama.ptrace_scope)" : "",
        by_signal && !p->threads.refused ? GN_SAMPLED_BY_SIGNAL
            " are taken at the kernel's ticks: where ranks take "
            "turns on a core, what a turn begins with may be seen too seldom"
                                         : ""};
    size_t used = 0;
    p->reason[0] = '\0';
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i][0] && used < sizeof p->reason)
            used += (size_t)snprintf(p->reason + used, sizeof p->reason - used, "%s%s", used ? "; " : "",
                                     texts[i]);
    return p->reason[0] ? p->reason : NULL;
}

static void list_modules(struct gn_sampler *s)
{
    const uint32_t count = gn_sample_code_count(s->code);
    while (s->module_room < count)
        if (!gn_grow(&s->modules, &s->module_room, s->module_room, sizeof *s->modules))
            return;
    for (uint32_t i = 0; i < count; i++) {
        const struct gn_sample_module *m = gn_sample_code_module(s->code, i);
        s->modules[i] = (struct gn_sampled_module){m->path, m->build_id, m->build_id_bytes, m->is_source};
    }
}

/* Why a metric is not, or not wholly, counted; NULL: it is. */
static const char *why_not_counted(struct process *p, const struct gn_sample_metric *of)
{
    return of->refused             ? gn_sample_event_why(of->refused)
           : p->threads.reason[0]  ? p->threads.reason
           : p->again              ? "its agent was ended; it is of the time since another one went on"
           : atomic_load(&p->gaps) ? "it was not sampled all of the time"
           : of->is_late           ? "it was not counted from the beginning"
           : of->is_off            ? "it was not counted to the end"
           : !of->is_whole         ? "threads that lived shortly may be missing"
                                   : NULL;
}

static void tell_metrics(struct process *p, struct gn_sampled *sampled)
{
    for (uint32_t m = 0; m < p->threads.metrics.count; m++) {
        const struct gn_sample_metric *of = &p->threads.metrics.items[m];
        p->metrics[m] = (struct gn_sampled_metric){.number = of->number,
                                                   .total = gn_sample_threads_total(&p->threads, m),
                                                   .samples = of->samples,
                                                   .is_scaled = of->scaled,
                                                   .reason = why_not_counted(p, of)};
    }
    sampled->metrics = p->metrics;
    sampled->metric_count = p->threads.metrics.count;
}

static void tell(struct gn_sampler *s, struct process *p, struct gn_sampled *sampled)
{
    list_modules(s);
    free(p->list.rows);
    if (!gn_sample_counts_list(p->counts, s->places, &p->list))
        p->list.count = 0;
    *sampled = (struct gn_sampled){.state = p->threads.refused && p->samples == 0 ? "refused" : "sampled",
                                   .reason = reason_of(p, s->by_signal),
                                   .samples = p->samples,
                                   .bursts = p->bursts,
                                   .by_place = p->list.by_place,
                                   .unattributed = p->list.unattributed,
                                   .lost = p->lost,
                                   .helpers = p->threads.helpers,
                                   .is_whole = !s->by_signal && !p->again && !atomic_load(&p->gaps) &&
                                               !p->threads.reason[0],
                                   .with_kernel = s->with_kernel,
                                   .time_ns = p->time_ns,
                                   .modules = s->modules,
                                   .module_count = gn_sample_code_count(s->code)};
    if (s->module_room < sampled->module_count)
        sampled->module_count = 0;
    tell_metrics(p, sampled);
    sampled->places = gn_sample_places_list(s->places, &sampled->place_count);
    sampled->counts = p->list.rows;
    sampled->count = p->list.count;
}

bool gn_sampler_look(struct gn_sampler *s, int pid, struct gn_sampled *sampled)
{
    struct process *p = s ? find(s, pid) : NULL;
    if (!p)
        return false;
    pthread_mutex_lock(&s->reading);
    tell(s, p, sampled);
    return true;
}

bool gn_sampler_try(struct gn_sampler *s, int pid, struct gn_sampled *sampled)
{
    struct process *p = s ? find(s, pid) : NULL;
    if (!p || pthread_mutex_trylock(&s->reading) != 0)
        return false;
    tell(s, p, sampled);
    return true;
}

void gn_sampler_go_on(struct gn_sampler *s)
{
    pthread_mutex_unlock(&s->reading);
}

uint64_t gn_sampler_used_ns(struct gn_sampler *s)
{
    return s ? atomic_load(&s->all_used_ns) : 0;
}

void gn_sampler_end(struct gn_sampler *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->ending = true;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
}

void gn_sampler_free(struct gn_sampler *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        free_process(s->processes[i]);
    free(s->processes);
    free(s->modules);
    gn_sample_places_free(s->places);
    gn_sample_code_free(s->code);
    free(s);
}
