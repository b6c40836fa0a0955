#include "analyse/sweep.h"

#include "calls.h"

#include "event/activity.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHARES = 10, FIRST_ROUND = 16, LARGEST_ROUND = 4096, MOST_THREADS = 1024 };

static const double SHARE_STEP = 0.05, AS_MUCH_NS = 1;
static const double ROUNDINGS = 1 + 1e-6; /* a share is a float, sums are in another order */

/* A kind of change of an activity at a process. Its shares are those up to the largest. */
struct task {
    struct gn_answer answer;
    double most_lo_ns, most_hi_ns; /* it gains at most */
    uint64_t tried;
    bool is_tried;
};

struct sweep {
    const struct gn_history *history;
    struct gn_sweep *result;
    const struct gn_sweep_settings *settings;
    struct task *tasks; /* by what they could gain */
    size_t task_count;
    bool has_scans;
    /* of a round */
    size_t end;
    atomic_size_t next;
    struct gn_answer worst; /* of the best so far; only when there are as many as wanted */
    bool has_worst;
};

/* ---- what may be tried ---- */

/* ns that each process computes in each activity, in the middle of its bounds: [activity * process_count +
 * process]; NULL: no memory. */
static double *times_of(const struct gn_history *h)
{
    const size_t processes = h->definitions->process_count;
    double *times = calloc(h->activity_count * processes + 1, sizeof *times);
    for (size_t i = 0; i < h->call_count && times; i++) {
        const struct gn_call *c = &h->calls[i];
        const uint32_t process = h->definitions->locations[c->location].process;
        for (uint32_t p = c->first_piece; p < c->first_piece + c->piece_count; p++)
            times[h->pieces[p].activity * processes + process] +=
                h->pieces[p].kind == GN_PIECE_JOIN ? 0 : (h->pieces[p].lo_ns + h->pieces[p].hi_ns) / 2;
    }
    return times;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct middle {
    double mean, median;
    size_t processes; /* that have the activity */
    bool is_known;
};

/* What tasks are made from. */
struct times {
    double *of;             /* times_of */
    double *sorted;         /* [process_count] room */
    struct middle *middles; /* [activity_count] once they have been asked for */
};

static struct middle middle_of(const double *times, size_t processes, double *sorted)
{
    struct middle m = {.is_known = true};
    for (size_t p = 0; p < processes; p++)
        if (times[p] > 0) {
            sorted[m.processes++] = times[p];
            m.mean += times[p];
        }
    if (m.processes == 0)
        return m;
    qsort(sorted, m.processes, sizeof *sorted, ascending);
    m.mean /= (double)m.processes;
    m.median = (sorted[(m.processes - 1) / 2] + sorted[m.processes / 2]) / 2;
    return m;
}

static bool is_start_or_end(const struct gn_history *h, uint32_t activity)
{
    const struct gn_computation *a = &h->activities[activity];
    const uint32_t call = gn_region_activity(h->definitions, a->call);
    return a->region == GN_NONE && (a->call == GN_NONE || gn_activity_starts_or_ends(call));
}

static void add_task(struct sweep *s, const struct gn_critical_row *row, enum gn_sweep_to to, double share)
{
    struct task *task = &s->tasks[s->task_count++];
    const double lo_ns = row->is_followed ? row->lo_ns : row->hi_ns;
    *task = (struct task){.answer = {.activity = row->activity,
                                     .process = row->process,
                                     .to = to,
                                     .share = share,
                                     .is_start_or_end = is_start_or_end(s->history, row->activity)}};
    task->most_lo_ns = share * lo_ns * ROUNDINGS;
    task->most_hi_ns = share * row->hi_ns * ROUNDINGS;
    s->result->candidates += to == GN_SWEEP_FASTER ? SHARES : 1;
}

static void add_row(struct sweep *s, const struct gn_critical_row *row, const struct times *times)
{
    const size_t processes = s->history->definitions->process_count;
    const double *of_activity = times->of + row->activity * processes;
    if (!times->middles[row->activity].is_known) /* a row of each process asks */
        times->middles[row->activity] = middle_of(of_activity, processes, times->sorted);
    const struct middle m = times->middles[row->activity];
    if (row->process == GN_NONE) {
        if (m.processes > 1)
            add_task(s, row, GN_SWEEP_FASTER, SHARES * SHARE_STEP);
        return;
    }
    const double ns = of_activity[row->process];
    add_task(s, row, GN_SWEEP_FASTER, SHARES * SHARE_STEP);
    if (ns > m.mean)
        add_task(s, row, GN_SWEEP_TO_MEAN, 1 - m.mean / ns);
    if (ns > m.median)
        add_task(s, row, GN_SWEEP_TO_MEDIAN, 1 - m.median / ns);
}

static int by_name(const struct gn_answer *x, const struct gn_answer *y)
{
    if (x->activity != y->activity)
        return x->activity < y->activity ? -1 : 1;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

static int by_most(const void *a, const void *b)
{
    const struct task *x = a, *y = b;
    if (x->answer.is_start_or_end != y->answer.is_start_or_end)
        return x->answer.is_start_or_end ? 1 : -1;
    if (x->most_lo_ns != y->most_lo_ns)
        return x->most_lo_ns < y->most_lo_ns ? 1 : -1;
    if (x->most_hi_ns != y->most_hi_ns)
        return x->most_hi_ns < y->most_hi_ns ? 1 : -1;
    return by_name(&x->answer, &y->answer);
}

static int find_tasks(struct sweep *s, const struct gn_critical *critical)
{
    const struct times times = {
        times_of(s->history),
        malloc((s->history->definitions->process_count + 1) * sizeof *times.sorted),
        calloc(s->history->activity_count + 1, sizeof *times.middles),
    };
    s->tasks = malloc((3 * critical->count + 1) * sizeof *s->tasks);
    const bool has_memory = times.of && times.sorted && times.middles && s->tasks;
    for (size_t i = 0; i < critical->count && has_memory; i++)
        if (critical->rows[i].activity != GN_NONE)
            add_row(s, &critical->rows[i], &times);
    free(times.of);
    free(times.sorted);
    free(times.middles);
    if (!has_memory)
        return -ENOMEM;
    qsort(s->tasks, s->task_count, sizeof *s->tasks, by_most);
    for (size_t g = 0; g < s->history->gathering_count; g++)
        s->has_scans |= s->history->gatherings[g].shape == GN_SHAPE_PREFIX;
    s->has_scans |=
        s->history->any_source > 0 || s->history->beside > 0; /* the possible gain is wider there, too */
    return 0;
}

/* ---- trying ---- */

static int by_gain(const void *a, const void *b)
{
    const struct gn_answer *x = a, *y = b;
    if (x->is_start_or_end != y->is_start_or_end)
        return x->is_start_or_end ? 1 : -1;
    if (x->result.reduction_lo_ns != y->result.reduction_lo_ns)
        return x->result.reduction_lo_ns < y->result.reduction_lo_ns ? 1 : -1;
    if (x->result.reduction_hi_ns != y->result.reduction_hi_ns)
        return x->result.reduction_hi_ns < y->result.reduction_hi_ns ? 1 : -1;
    return by_name(x, y);
}

/* Whether nothing that gains at most so much could be among the best. */
static bool is_too_little(const struct sweep *s, bool is_start_or_end, double lo_ns, double hi_ns)
{
    if (s->has_worst && is_start_or_end != s->worst.is_start_or_end)
        return is_start_or_end;
    if (!s->has_worst || lo_ns > s->worst.result.reduction_lo_ns)
        return false;
    return lo_ns < s->worst.result.reduction_lo_ns ||
           (!s->has_scans && hi_ns < s->worst.result.reduction_hi_ns);
}

struct worker {
    struct sweep *sweep;
    struct gn_whatif_pass *pass;
    float *share;      /* [activity_count] */
    bool *at_location; /* [location_count] */
    bool tells;        /* of progress */
};

static struct gn_whatif_result try_share(struct worker *w, struct task *task, double share)
{
    const struct gn_whatif what = {.share = w->share,
                                   .at_location = task->answer.process == GN_NONE ? NULL : w->at_location};
    w->share[task->answer.activity] = (float)share;
    const struct gn_whatif_result result = gn_whatif(w->pass, &what);
    w->share[task->answer.activity] = 0;
    task->tried++;
    return result;
}

static bool gains_as_much(const struct gn_whatif_result *as, const struct gn_whatif_result *result)
{
    if (as->reduction_lo_ns > AS_MUCH_NS)
        return result->reduction_lo_ns >= as->reduction_lo_ns - AS_MUCH_NS;
    return result->reduction_hi_ns >= as->reduction_hi_ns - AS_MUCH_NS;
}

static void find_smallest_share(struct worker *w, struct task *task)
{
    const struct gn_whatif_result largest = task->answer.result;
    int low = 1, high = SHARES;
    while (low < high) {
        const int middle = (low + high) / 2;
        const struct gn_whatif_result result = try_share(w, task, middle * SHARE_STEP);
        if (gains_as_much(&largest, &result)) {
            high = middle;
            task->answer.result = result;
            task->answer.share = middle * SHARE_STEP;
        } else {
            low = middle + 1;
        }
    }
}

static void do_task(struct worker *w, struct task *task)
{
    const struct gn_definitions *d = w->sweep->history->definitions;
    for (size_t l = 0; l < d->location_count; l++)
        w->at_location[l] = d->locations[l].process == task->answer.process;
    task->is_tried = true;
    task->answer.result = try_share(w, task, task->answer.share);
    const struct gn_whatif_result *result = &task->answer.result;
    if (task->answer.to == GN_SWEEP_FASTER &&
        !is_too_little(w->sweep, task->answer.is_start_or_end, result->reduction_lo_ns,
                       result->reduction_hi_ns))
        find_smallest_share(w, task);
}

static void *work(void *self)
{
    struct worker *w = self;
    struct sweep *s = w->sweep;
    for (size_t i; (i = atomic_fetch_add(&s->next, 1)) < s->end;) {
        if (!is_too_little(s, s->tasks[i].answer.is_start_or_end, s->tasks[i].most_lo_ns,
                           s->tasks[i].most_hi_ns))
            do_task(w, &s->tasks[i]);
        if (w->tells && s->settings->progress)
            s->settings->progress(s->settings->self, (double)i / (double)s->task_count);
    }
    return NULL;
}

/* ---- rounds ---- */

/* The first worker is the caller's thread; without threads, it does all. */
static void do_round(struct worker *workers, unsigned count)
{
    pthread_t threads[MOST_THREADS];
    unsigned started = 1;
    while (started < count && pthread_create(&threads[started], NULL, work, &workers[started]) == 0)
        started++;
    work(&workers[0]);
    for (unsigned i = 1; i < started; i++)
        pthread_join(threads[i], NULL);
}

static void keep_best(struct sweep *s, size_t first)
{
    struct gn_sweep *r = s->result;
    for (size_t i = first; i < s->end; i++) {
        r->tried += s->tasks[i].tried;
        if (s->tasks[i].is_tried && s->tasks[i].answer.result.reduction_hi_ns > 0)
            r->answers[r->count++] = s->tasks[i].answer;
    }
    qsort(r->answers, r->count, sizeof *r->answers, by_gain);
    r->count = r->count < s->settings->best ? r->count : s->settings->best;
    s->has_worst = r->count > 0 && r->count == s->settings->best;
    if (s->has_worst)
        s->worst = r->answers[r->count - 1];
}

static void do_rounds(struct sweep *s, struct worker *workers, unsigned count)
{
    size_t size = FIRST_ROUND;
    for (size_t first = 0; first < s->task_count; first = s->end) {
        if (is_too_little(s, s->tasks[first].answer.is_start_or_end, s->tasks[first].most_lo_ns,
                          s->tasks[first].most_hi_ns))
            break;
        s->end = s->task_count - first < size ? s->task_count : first + size;
        atomic_store(&s->next, first);
        do_round(workers, count);
        keep_best(s, first);
        size = 2 * size < LARGEST_ROUND ? 2 * size : LARGEST_ROUND;
    }
    if (s->settings->progress)
        s->settings->progress(s->settings->self, 1);
}

static unsigned core_count(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (unsigned)CPU_COUNT(&set);
    const long online = sysconf(_SC_NPROCESSORS_ONLN); /* more than the set has room for */
    return online > 0 ? (unsigned)online : 1;
}

static unsigned thread_count(const struct sweep *s)
{
    unsigned count = s->settings->threads ? s->settings->threads : core_count();
    count = count < MOST_THREADS ? count : MOST_THREADS;
    return s->task_count < count ? (unsigned)s->task_count : count;
}

static bool open_worker(struct worker *w, struct sweep *s)
{
    const struct gn_history *h = s->history;
    *w = (struct worker){.sweep = s};
    w->pass = gn_whatif_pass_new(h);
    w->share = calloc(h->activity_count + 1, sizeof *w->share);
    w->at_location = calloc(h->definitions->location_count + 1, sizeof *w->at_location);
    return w->pass && w->share && w->at_location;
}

static void close_worker(struct worker *w)
{
    gn_whatif_pass_free(w->pass);
    free(w->share);
    free(w->at_location);
}

/* With memory for fewer threads than wanted, there are fewer. */
static int try_all(struct sweep *s)
{
    const unsigned wanted = thread_count(s);
    struct worker *workers = calloc(wanted + 1, sizeof *workers);
    unsigned count = 0;
    while (workers && count < wanted && open_worker(&workers[count], s))
        count++;
    const int code = workers && (count > 0 || wanted == 0) ? 0 : -ENOMEM;
    if (code == 0 && count > 0) {
        workers[0].tells = true;
        do_rounds(s, workers, count);
    }
    for (unsigned i = 0; workers && i < wanted && i <= count; i++)
        close_worker(&workers[i]);
    free(workers);
    return code;
}

int gn_sweep(struct gn_sweep *sweep, const struct gn_history *history, const struct gn_critical *critical,
             const struct gn_sweep_settings *settings, struct gn_error *err)
{
    struct sweep s = {.history = history, .result = sweep, .settings = settings};
    *sweep = (struct gn_sweep){.answers = NULL};
    int code = find_tasks(&s, critical);
    if (code == 0) {
        sweep->answers = malloc((s.task_count + 1) * sizeof *sweep->answers);
        code = sweep->answers ? try_all(&s) : -ENOMEM;
    }
    free(s.tasks);
    if (code == 0)
        return 0;
    gn_sweep_clear(sweep);
    return gn_fail(err, code, "no memory to try changes of %zu activities", history->activity_count);
}

void gn_sweep_clear(struct gn_sweep *sweep)
{
    free(sweep->answers);
    *sweep = (struct gn_sweep){.answers = NULL};
}
