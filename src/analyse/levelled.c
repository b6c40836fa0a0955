#include "analyse/levelled.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct times { /* of an activity, by process */
    double own, others, least, all;
};

/* ns that each process computes in each activity: [activity * process_count + process]. NULL: no memory. */
static double *sum_up(const struct gn_history *h)
{
    const size_t processes = h->definitions->process_count;
    double *sums = calloc((h->activity_count + 1) * (processes + 1), sizeof *sums);
    for (size_t c = 0; sums && c < h->call_count; c++) {
        const struct gn_call *call = &h->calls[c];
        const uint32_t process = h->definitions->locations[call->location].process;
        for (uint32_t i = call->first_piece; i < call->first_piece + call->piece_count; i++)
            if (!h->is_carried[call->location] && h->pieces[i].kind != GN_PIECE_JOIN)
                sums[h->pieces[i].activity * processes + process] +=
                    (h->pieces[i].lo_ns + h->pieces[i].hi_ns) / 2;
    }
    return sums;
}

/* [process_count] whether anything is known of it. NULL: no memory. */
static bool *those_that_take_part(const struct gn_history *h)
{
    bool *take_part = calloc(h->definitions->process_count + 1, sizeof *take_part);
    for (size_t l = 0; take_part && l < h->definitions->location_count; l++)
        take_part[h->definitions->locations[l].process] |= h->first_call[l] != GN_NONE;
    return take_part;
}

static struct times times_of(const struct gn_history *h, const bool *take_part, const double *sums,
                             size_t activity, uint32_t process)
{
    const size_t processes = h->definitions->process_count;
    struct times t = {.own = sums[activity * processes + process], .least = INFINITY};
    size_t count = 0;
    for (size_t p = 0; p < processes; p++) {
        if (p == process || !take_part[p])
            continue;
        t.others += sums[activity * processes + p];
        t.least = fmin(t.least, sums[activity * processes + p]);
        count++;
    }
    t.all = (t.others + t.own) / (double)(count + 1);
    t.others = count > 0 ? t.others / (double)count : t.own;
    t.least = fmin(t.least, t.others);
    return t;
}

static float share_above(double own, double level)
{
    return own > level && own > 0 ? (float)(1 - level / own) : 0;
}

int gn_levelled_find(struct gn_levelled *levelled, const struct gn_history *h, uint32_t process,
                     struct gn_error *err)
{
    double *sums = sum_up(h);
    float *to_mean = calloc(h->activity_count + 1, sizeof *to_mean);
    float *to_least = calloc(h->activity_count + 1, sizeof *to_least);
    float *to_all = calloc(h->activity_count + 1, sizeof *to_all);
    bool *take_part = those_that_take_part(h);
    bool *at = calloc(h->definitions->location_count + 1, sizeof *at);
    struct gn_whatif_pass *pass = gn_whatif_pass_new(h);
    const bool has_memory = sums && to_mean && to_least && to_all && take_part && at && pass;
    for (size_t a = 0; has_memory && a < h->activity_count; a++) {
        const struct times t = times_of(h, take_part, sums, a, process);
        to_mean[a] = share_above(t.own, t.others);
        to_least[a] = share_above(t.own, t.least);
        to_all[a] = share_above(t.own, t.all);
    }
    for (size_t l = 0; has_memory && l < h->definitions->location_count; l++)
        at[l] = h->definitions->locations[l].process == process;
    if (has_memory) {
        levelled->mean = gn_whatif(pass, &(struct gn_whatif){to_mean, at});
        levelled->fastest = gn_whatif(pass, &(struct gn_whatif){to_least, at});
        levelled->even = gn_whatif(pass, &(struct gn_whatif){to_all, at});
    }
    free(sums);
    free(to_mean);
    free(to_least);
    free(to_all);
    free(take_part);
    free(at);
    gn_whatif_pass_free(pass);
    return has_memory ? 0 : gn_fail(err, -ENOMEM, "no memory for %zu calls", h->call_count);
}
