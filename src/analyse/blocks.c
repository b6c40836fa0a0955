#include "analyse/blocks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Of one replay. */
struct pipe {
    const struct gn_seen *seen;
    const struct gn_history *h;
    const bool *is_of_pipe;
    uint32_t *next;      /* [call_count] at its location; GN_NONE: there is none */
    float *least, *most; /* [call_count] of those that send: gn_whatif's, of all but one part */
    float *none;         /* [call_count] */
    double *messages;    /* [location_count] that it sends and receives there */
    double *sends_ns;    /* how long they took in their calls, which are each */
    size_t send_count;   /* … so many */
};

static bool receives(const struct pipe *p, const struct gn_call *call)
{
    if (call->take_count == 0 || call->region == GN_NONE)
        return false;
    const int64_t site = gn_seen_site_of(p->seen, call->region, call->path);
    return site >= 0 && p->is_of_pipe[site];
}

static void find_next(struct pipe *p)
{
    for (size_t c = 0; c < p->h->call_count; c++)
        p->next[c] = GN_NONE;
    for (size_t c = 0; c < p->h->call_count; c++)
        if (p->h->calls[c].before != GN_NONE)
            p->next[p->h->calls[c].before] = (uint32_t)c;
}

/* What is computed with what a call has received: until the first call that is no other receive of these. */
static double computed_with_ns(const struct pipe *p, uint32_t received)
{
    double ns = 0;
    for (uint32_t c = p->next[received]; c != GN_NONE; c = p->next[c]) {
        ns += gn_computed_before(p->h, &p->h->calls[c]);
        if (!receives(p, &p->h->calls[c]))
            break;
    }
    return ns;
}

/* What one sends and the other one waits for comes at most so much earlier that it is sent after one part of
 * what its sender computes; and surely so much that the receiver still computes its last part when the last
 * one has come: by no more than it computes with it. (It gains more where its sender waits in between.) */
static void find_ahead(struct pipe *p)
{
    const struct gn_history *h = p->h;
    for (size_t c = 0; c < h->call_count; c++) {
        const struct gn_call *call = &h->calls[c];
        if (!receives(p, call))
            continue;
        const double with_ns = computed_with_ns(p, (uint32_t)c);
        for (uint32_t i = call->first_take; i < call->first_take + call->take_count; i++) {
            if (h->takes[i].kind != GN_TAKE_MESSAGE)
                continue;
            const struct gn_call *from = &h->calls[h->takes[i].from];
            const double before_ns = gn_computed_before(h, from);
            p->most[h->takes[i].from] = 1;
            p->least[h->takes[i].from] = before_ns > 0 ? (float)fmin(1, with_ns / before_ns) : 0;
            p->messages[call->location]++;
            p->messages[from->location]++;
            p->sends_ns[p->send_count++] = (double)(from->leave_ticks - from->enter_ticks) * 1e9 /
                                           (double)h->definitions->ticks_per_second;
        }
    }
}

static int by_value(const void *left, const void *right)
{
    const double x = *(const double *)left, y = *(const double *)right;
    return (x > y) - (x < y);
}

/* What the calls of one message more cost one rank: as the least, and twice what most of those that there
 * were have taken. A receive of what has come costs like a send. */
static struct gn_span cost_of_each(struct pipe *p)
{
    if (p->send_count == 0)
        return (struct gn_span){0, 0};
    qsort(p->sends_ns, p->send_count, sizeof *p->sends_ns, by_value);
    return (struct gn_span){p->sends_ns[0], 2 * p->sends_ns[p->send_count / 2]};
}

/* Of those that have any: the run waits for one of them. */
static void count_messages(const struct pipe *p, double *fewest, double *most)
{
    *fewest = *most = 0;
    for (size_t l = 0; l < p->h->definitions->location_count; l++) {
        const double messages = p->messages[l];
        *fewest = messages > 0 && (*fewest == 0 || messages < *fewest) ? messages : *fewest;
        *most = fmax(*most, messages);
    }
}

int gn_blocks_find(struct gn_span *shorter_ns, const struct gn_seen *seen, size_t part,
                   const bool *is_of_pipe, unsigned count, struct gn_error *err)
{
    const struct gn_history *h = &seen->parts[part].history;
    const size_t calls = h->call_count + 1, takes = h->take_count + 1;
    struct pipe p = {.seen = seen,
                     .h = h,
                     .is_of_pipe = is_of_pipe,
                     .next = malloc(calls * sizeof *p.next),
                     .least = calloc(calls, sizeof *p.least),
                     .most = calloc(calls, sizeof *p.most),
                     .none = calloc(calls, sizeof *p.none),
                     .messages = calloc(h->definitions->location_count + 1, sizeof *p.messages),
                     .sends_ns = malloc(takes * sizeof *p.sends_ns)};
    struct gn_whatif_pass *pass = gn_whatif_pass_new(h);
    const bool has_memory = p.next && p.least && p.most && p.none && p.messages && p.sends_ns && pass;
    if (has_memory) {
        find_next(&p);
        find_ahead(&p);
        for (size_t c = 0; c < h->call_count; c++) {
            p.least[c] *= 1 - 1 / (float)count;
            p.most[c] *= 1 - 1 / (float)count;
        }
        const struct gn_whatif_result least = gn_whatif(
                                          pass, &(struct gn_whatif){.before = p.none, .ahead = p.least}),
                                      most = gn_whatif(
                                          pass, &(struct gn_whatif){.before = p.none, .ahead = p.most});
        const struct gn_span each = cost_of_each(&p);
        const double more = count - 1;
        double fewest_messages, most_messages;
        count_messages(&p, &fewest_messages, &most_messages);
        *shorter_ns = (struct gn_span){least.reduction_lo_ns - more * most_messages * each.hi_ns,
                                       most.reduction_hi_ns - more * fewest_messages * each.lo_ns};
    }
    free(p.next);
    free(p.least);
    free(p.most);
    free(p.none);
    free(p.messages);
    free(p.sends_ns);
    gn_whatif_pass_free(pass);
    return has_memory ? 0 : gn_fail(err, -ENOMEM, "no memory for %zu calls", h->call_count);
}
