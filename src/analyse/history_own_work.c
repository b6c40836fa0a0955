/*
 * What measuring has cost before each call: gnomon's own work behind the call before it and ahead of it,
 * which lies in what seems to be computed there.
 *
 * Of some calls the trace tells it: the first ones, those that were slow, and every 64th. An ordinary one of
 * the others has cost what those of the same kind at its location have in the mean, without the slow ones.
 */
#include "analyse/history_inside.h"

#include <math.h>
#include <stdlib.h>

enum { ENOUGH = 4, SLOW = 10 /* times the median */ };

int gn_history_own_work(struct gn_history_make *m, const struct gn_event *event)
{
    const struct gn_history_place *p = &m->places[event->location];
    if (p->mpi_depth > 0 || p->call == GN_NONE || m->h->calls[p->call].region == GN_NONE)
        return 0;
    if (m->own_work_count > 0 && m->own_work[m->own_work_count - 1].call == p->call)
        return 0;
    if (!gn_grow(&m->own_work, &m->own_work_capacity, m->own_work_count, sizeof *m->own_work))
        return -ENOMEM;
    const double tick_ns = (m->rate_lo[event->location] + m->rate_hi[event->location]) / 2;
    m->own_work[m->own_work_count++] = (struct gn_history_own_work){p->call, (double)event->request * tick_ns,
                                                                    (double)event->bytes_sent * tick_ns};
    return 0;
}

/* ---- what ordinary calls cost ---- */

struct known {
    uint32_t location, region;
    double before_ns, behind_ns;
};

static int by_kind(const void *left, const void *right)
{
    const struct known *a = left, *b = right;
    const double x = a->before_ns + a->behind_ns, y = b->before_ns + b->behind_ns;
    if (a->location != b->location)
        return a->location < b->location ? -1 : 1;
    if (a->region != b->region)
        return a->region < b->region ? -1 : 1;
    return (x > y) - (x < y);
}

/* Of some that are sorted: the mean of those that are not slow. */
static struct known ordinary(const struct known *list, size_t count)
{
    struct known mean = list[0];
    const double most_ns = SLOW * (list[count / 2].before_ns + list[count / 2].behind_ns);
    size_t used = 0;
    mean.before_ns = mean.behind_ns = 0;
    for (; used < count && list[used].before_ns + list[used].behind_ns <= most_ns; used++) {
        mean.before_ns += list[used].before_ns;
        mean.behind_ns += list[used].behind_ns;
    }
    mean.before_ns /= fmax(1, (double)used);
    mean.behind_ns /= fmax(1, (double)used);
    return mean;
}

/* Of each kind at each location; and, region GN_NONE, of all of a location. Their number. */
static size_t find_means(struct known *list, size_t count, struct known *means)
{
    size_t used = 0, next;
    qsort(list, count, sizeof *list, by_kind);
    for (size_t i = 0; i < count; i = next) {
        for (next = i;
             next < count && list[next].location == list[i].location && list[next].region == list[i].region;)
            next++;
        if (next - i >= ENOUGH)
            means[used++] = ordinary(&list[i], next - i);
    }
    for (size_t i = 0; i < count; i++)
        list[i].region = GN_NONE;
    qsort(list, count, sizeof *list, by_kind);
    for (size_t i = 0; i < count; i = next) {
        for (next = i; next < count && list[next].location == list[i].location;)
            next++;
        means[used++] = ordinary(&list[i], next - i);
    }
    qsort(means, used, sizeof *means, by_kind);
    return used;
}

static int by_place(const void *left, const void *right)
{
    const struct known *a = left, *b = right;
    if (a->location != b->location)
        return a->location < b->location ? -1 : 1;
    return (a->region > b->region) - (a->region < b->region);
}

/* NULL: nothing is known of its location. */
static const struct known *mean_of(const struct known *means, size_t count, const struct gn_call *call)
{
    const struct known wanted = {.location = call->location, .region = call->region},
                       any = {.location = call->location, .region = GN_NONE};
    const struct known *found = bsearch(&wanted, means, count, sizeof *means, by_place);
    return found ? found : bsearch(&any, means, count, sizeof *means, by_place);
}

/* ---- of each call ---- */

static void add_up(const struct gn_history_make *m, const struct known *means, size_t count, float *before,
                   float *behind)
{
    const struct gn_history *h = m->h;
    for (size_t c = 0; c < h->call_count; c++) {
        const struct known *mean = h->calls[c].region != GN_NONE ? mean_of(means, count, &h->calls[c]) : NULL;
        before[c] = mean ? (float)mean->before_ns : 0;
        behind[c] = mean ? (float)mean->behind_ns : 0;
    }
    for (size_t i = 0; i < m->own_work_count; i++) {
        before[m->own_work[i].call] = (float)m->own_work[i].before_ns;
        behind[m->own_work[i].call] = (float)m->own_work[i].behind_ns;
    }
    for (size_t c = h->call_count; c-- > 0;) { /* what is behind the one before lies ahead of this one, too */
        const struct gn_call *call = &h->calls[c];
        const double between_ns =
            call->before == GN_NONE
                ? 0
                : gn_history_least_ns(m, call->location,
                                      call->enter_ticks - h->calls[call->before].leave_ticks);
        const double own_ns = before[c] + (call->before == GN_NONE ? 0 : behind[call->before]);
        before[c] = (float)fmin(own_ns, between_ns);
    }
}

int gn_history_own_work_find(struct gn_history_make *m)
{
    struct gn_history *h = m->h;
    if (m->own_work_count == 0)
        return 0;
    struct known *list = malloc(m->own_work_count * sizeof *list);
    struct known *means = malloc(2 * m->own_work_count * sizeof *means);
    float *behind = malloc(h->call_count * sizeof *behind);
    m->own_work_ns = malloc(h->call_count * sizeof *m->own_work_ns);
    const bool has_memory = list && means && behind && m->own_work_ns;
    for (size_t i = 0; i < m->own_work_count && has_memory; i++) {
        const struct gn_call *call = &h->calls[m->own_work[i].call];
        list[i] =
            (struct known){call->location, call->region, m->own_work[i].before_ns, m->own_work[i].behind_ns};
    }
    if (has_memory)
        add_up(m, means, find_means(list, m->own_work_count, means), m->own_work_ns, behind);
    free(list);
    free(means);
    free(behind);
    return has_memory ? 0 : -ENOMEM;
}
