#include "analyse/blocks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { LONGEST_WALK = 4096 };          /* calls */
static const double nothing_ns = 5000; /* between two calls that belong together */
static const double dear = 4;          /* a send and its completion, both ends */

/* Of one replay. */
struct pipe {
    const struct gn_seen *seen;
    const struct gn_history *h;
    const bool *is_of_pipe;
    uint32_t *next;       /* [call_count] at its location; GN_NONE: there is none */
    uint32_t *sends_to;   /* [call_count] process that receives there; GN_NONE: nobody does */
    double *least, *most; /* [call_count] what is computed ahead of those that send, and can be behind them */
    double *sooner;       /* [call_count] of these, all but one part */
    float *none;          /* [call_count] */
    bool is_cut;          /* more may be computed for a message than was looked at */
    double *messages;     /* [location_count] that it sends and receives there */
    double *sends_ns;     /* how long they took in their calls, which are each */
    size_t send_count;    /* … so many */
};

static bool receives(const struct pipe *p, const struct gn_call *call)
{
    if (call->take_count == 0 || call->region == GN_NONE)
        return false;
    const int64_t site = gn_seen_site_of(p->seen, call->region, call->path);
    return site >= 0 && p->is_of_pipe[site];
}

/* Nothing that is computed ahead of it is moved behind it, or the other way. */
static bool is_gathering(const struct pipe *p, const struct gn_call *call)
{
    for (uint32_t i = call->first_take; i < call->first_take + call->take_count; i++)
        if (p->h->takes[i].kind == GN_TAKE_GATHERING)
            return true;
    return call->region == GN_NONE;
}

static void find_calls(struct pipe *p)
{
    const struct gn_history *h = p->h;
    for (size_t c = 0; c < h->call_count; c++)
        p->next[c] = p->sends_to[c] = GN_NONE;
    for (size_t c = 0; c < h->call_count; c++) {
        const struct gn_call *call = &h->calls[c];
        if (call->before != GN_NONE)
            p->next[call->before] = (uint32_t)c;
        for (uint32_t i = call->first_take; i < call->first_take + call->take_count && receives(p, call); i++)
            if (h->takes[i].kind == GN_TAKE_MESSAGE)
                p->sends_to[h->takes[i].from] = h->definitions->locations[call->location].process;
    }
}

/* What is surely computed with what a call has received: until the pipe's next call; other receives of it
 * that follow at once belong to it. */
static double computed_with_ns(const struct pipe *p, uint32_t received)
{
    double ns = 0;
    uint32_t c = p->next[received];
    for (int i = 0; i < LONGEST_WALK && c != GN_NONE; i++, c = p->next[c]) {
        const struct gn_call *call = &p->h->calls[c];
        ns += gn_computed_before(p->h, call);
        if (p->sends_to[c] != GN_NONE || (receives(p, call) && ns > nothing_ns) || is_gathering(p, call))
            break;
    }
    return ns;
}

/* What is computed for what a call sends: since the pipe's call before it; other sends just before it belong
 * to it. At most, since the one before that it sent to the same rank. */
static struct gn_span computed_for(struct pipe *p, uint32_t sends)
{
    struct gn_span ns = {0, 0};
    bool is_sure = true;
    for (int i = 0; i < LONGEST_WALK; i++) {
        const uint32_t before = p->h->calls[sends].before;
        const double here_ns = gn_computed_before(p->h, &p->h->calls[sends]);
        ns.lo_ns += is_sure ? here_ns : 0;
        ns.hi_ns += here_ns;
        if (before == GN_NONE || receives(p, &p->h->calls[before]) || is_gathering(p, &p->h->calls[before]) ||
            (p->sends_to[before] != GN_NONE && p->sends_to[before] == p->sends_to[sends]))
            return ns;
        is_sure = is_sure && (p->sends_to[before] == GN_NONE || ns.lo_ns <= nothing_ns);
        sends = before;
    }
    p->is_cut = true;
    return ns;
}

/* What one sends and the other one waits for comes at most so much earlier that it is sent after one part of
 * what its sender computes for it; and surely so much that the receiver still computes its last part when the
 * last one has come: by no more than it computes with it. (It gains more where its sender waits in between.)
 */
static void find_sooner(struct pipe *p)
{
    const struct gn_history *h = p->h;
    for (size_t c = 0; c < h->call_count; c++)
        p->least[c] = p->most[c] = INFINITY;
    for (size_t c = 0; c < h->call_count; c++) {
        const struct gn_call *call = &h->calls[c];
        if (!receives(p, call))
            continue;
        const double with_ns = computed_with_ns(p, (uint32_t)c);
        for (uint32_t i = call->first_take; i < call->first_take + call->take_count; i++) {
            if (h->takes[i].kind != GN_TAKE_MESSAGE)
                continue;
            const uint32_t from = h->takes[i].from;
            const struct gn_span for_ns = computed_for(p, from);
            p->most[from] = for_ns.hi_ns;
            p->least[from] = fmin(p->least[from], fmin(with_ns, for_ns.lo_ns));
            p->messages[call->location]++;
            p->messages[h->calls[from].location]++;
            p->sends_ns[p->send_count++] = gn_call_ns(h, &h->calls[from]);
        }
    }
    for (size_t c = 0; c < h->call_count; c++) {
        p->least[c] = isfinite(p->least[c]) ? p->least[c] : 0;
        p->most[c] = isfinite(p->most[c]) ? p->most[c] : 0;
    }
}

static int by_value(const void *left, const void *right)
{
    const double x = *(const double *)left, y = *(const double *)right;
    return (x > y) - (x < y);
}

/* What as many messages more cost the rank that has most of them, at most. (They may be in what is waited
 * for.) A receive of what has come costs like a send. */
static double cost_ns(struct pipe *p)
{
    double most = 0;
    for (size_t l = 0; l < p->h->definitions->location_count; l++)
        most = fmax(most, p->messages[l]);
    qsort(p->sends_ns, p->send_count, sizeof *p->sends_ns, by_value);
    return p->send_count == 0 ? 0 : most * dear * p->sends_ns[p->send_count / 2];
}

/* With all but one of `count` parts behind what is sent. */
static struct gn_whatif_result replay(const struct pipe *p, struct gn_whatif_pass *pass, const double *ahead,
                                      unsigned count)
{
    for (size_t c = 0; c < p->h->call_count; c++)
        p->sooner[c] = ahead[c] * (1 - 1 / (double)count);
    return gn_whatif(pass, &(struct gn_whatif){.before = p->none, .sooner_ns = p->sooner});
}

int gn_blocks_find(struct gn_span shorter_ns[GN_BLOCKS_TIMES], const struct gn_seen *seen, size_t part,
                   const bool *is_of_pipe, struct gn_error *err)
{
    const struct gn_history *h = &seen->parts[part].history;
    const size_t calls = h->call_count + 1;
    struct pipe p = {.seen = seen,
                     .h = h,
                     .is_of_pipe = is_of_pipe,
                     .next = malloc(calls * sizeof *p.next),
                     .sends_to = malloc(calls * sizeof *p.sends_to),
                     .least = malloc(calls * sizeof *p.least),
                     .most = malloc(calls * sizeof *p.most),
                     .sooner = malloc(calls * sizeof *p.sooner),
                     .none = calloc(calls, sizeof *p.none),
                     .messages = calloc(h->definitions->location_count + 1, sizeof *p.messages),
                     .sends_ns = malloc((h->take_count + 1) * sizeof *p.sends_ns)};
    struct gn_whatif_pass *pass = gn_whatif_pass_new(h);
    const bool has_memory =
        p.next && p.sends_to && p.least && p.most && p.sooner && p.none && p.messages && p.sends_ns && pass;
    if (has_memory) {
        find_calls(&p);
        find_sooner(&p);
        const double each_ns = cost_ns(&p);
        for (int times = 0; times < GN_BLOCKS_TIMES; times++) {
            const unsigned count = 2U << times;
            shorter_ns[times] =
                (struct gn_span){replay(&p, pass, p.least, count).reduction_lo_ns - (count - 1) * each_ns,
                                 p.is_cut ? INFINITY : replay(&p, pass, p.most, count).reduction_hi_ns};
        }
    }
    free(p.next);
    free(p.sends_to);
    free(p.least);
    free(p.most);
    free(p.sooner);
    free(p.none);
    free(p.messages);
    free(p.sends_ns);
    gn_whatif_pass_free(pass);
    return has_memory ? 0 : gn_fail(err, -ENOMEM, "no memory for %zu calls", h->call_count);
}
