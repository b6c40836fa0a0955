#include "repair/repair.h"

#include "repair/ceilings.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct gn_repair {
    struct gn_op_store *store;
    const struct gn_transport *transport;
    struct gn_replay *replay;
    const struct gn_repair_settings *settings;
    struct gn_repair_result *result;
    struct gn_replay_settings pass; /* of the last forward pass */
    uint32_t domains;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void tell(const struct gn_repair *repair, const char *phase, double share)
{
    if (repair->settings->progress)
        repair->settings->progress(repair->settings->self, phase, share);
}

static uint32_t count_domains(const struct gn_definitions *definitions)
{
    uint32_t most = 0;
    for (size_t i = 0; i < definitions->location_count; i++)
        if (definitions->locations[i].domain >= most)
            most = definitions->locations[i].domain + 1;
    return most;
}

/* ---- µ ---- */

static int collect(const struct gn_transport *t, struct gn_latency_sample *sample)
{
    void *bytes = NULL;
    size_t size = 0;
    int code = 0;
    if (t->rank > 0) {
        code = gn_latency_sample_pack(sample, &bytes, &size);
        code = code ? code : t->send(t->self, 0, bytes, size);
        free(bytes);
        return code;
    }
    for (uint32_t i = 1; i < t->size && code == 0; i++) {
        uint32_t from;
        const void *got;
        int64_t length = t->receive(t->self, &from, &got, -1);
        if (length == -EAGAIN)
            i--;
        else
            code = length < 0 ? (int)length : gn_latency_sample_unpack(sample, got, (size_t)length);
    }
    return code;
}

/* The same µ everywhere, from what all have seen. */
static int estimate(struct gn_repair *repair, struct gn_latency_sample *sample, struct gn_latency *latency)
{
    const struct gn_transport *t = repair->transport;
    int code = collect(t, sample);
    if (code == 0 && t->rank == 0)
        code = gn_latency_estimate(sample, latency);
    /* bounds say more of clocks than a common latency that they would have to be bent for */
    for (uint32_t i = 0; code == 0 && repair->settings->bounded && i < latency->domains * latency->domains;
         i++)
        if (i / latency->domains != i % latency->domains)
            latency->ticks[i] = 0;
    if (repair->settings->bounded)
        latency->between_ticks = 0;
    if (code == 0)
        code = t->share(t->self, 0, latency->ticks,
                        (size_t)latency->domains * latency->domains * sizeof *latency->ticks);
    return code ? code : t->share(t->self, 0, &latency->between_ticks, sizeof latency->between_ticks);
}

static int copy_latency(struct gn_latency *to, const struct gn_latency *from, struct gn_error *err)
{
    if (to->domains != from->domains)
        return gn_fail(err, -EINVAL, "latencies are given for %u clock domains, the trace has %u",
                       from->domains, to->domains);
    memcpy(to->ticks, from->ticks, (size_t)to->domains * to->domains * sizeof *to->ticks);
    to->between_ticks = from->between_ticks;
    return 0;
}

/* ---- passes ---- */

enum { FIRST_WITHOUT_LATENCY = 2 }; /* index of a pass */

static int64_t worst_of(const struct gn_replay_stats *stats)
{
    return stats->messages.worst_ticks > stats->collectives.worst_ticks ? stats->messages.worst_ticks
                                                                        : stats->collectives.worst_ticks;
}

static int measure_once(struct gn_repair *repair, const struct gn_latency *latency,
                        struct gn_latency_sample *sample, struct gn_error *err)
{
    const struct gn_replay_settings settings = {.latency = latency, .measure = true};
    return gn_replay_forward(repair->replay, &settings, sample, &repair->result->before, err);
}

static int measure(struct gn_repair *repair, double ticks_per_second, struct gn_error *err)
{
    struct gn_repair_result *result = repair->result;
    const struct gn_repair_settings *settings = repair->settings;
    if (settings->latency) {
        int code = copy_latency(&result->latency, settings->latency, err);
        return code ? code : measure_once(repair, &result->latency, NULL, err);
    }
    struct gn_latency_sample *sample =
        gn_latency_sample_new(repair->domains, ticks_per_second, settings->apart_ppm);
    if (!sample)
        return gn_fail(err, -ENOMEM, "no memory");
    int code = measure_once(repair, NULL, sample, err);
    if (code == 0 && (code = estimate(repair, sample, &result->latency)) != 0)
        gn_fail(err, code, "estimating the smallest latencies failed: %s", strerror(-code));
    gn_latency_sample_free(sample);
    /* µ is not above any difference of a trace in which nothing is reversed: no need to look again */
    if (code == 0 && result->before.messages.reversed + result->before.collectives.reversed > 0)
        code = measure_once(repair, &result->latency, NULL, err);
    return code;
}

/* (1 − γ) · 2^64 */
static uint64_t loss_of(double gamma)
{
    const double loss = ldexp(1 - gamma, 64);
    return loss >= 0x1p64 ? UINT64_MAX : (uint64_t)loss;
}

static int forward(struct gn_repair *repair, uint32_t index, struct gn_error *err)
{
    struct gn_repair_result *result = repair->result;
    struct gn_repair_pass *pass = &result->passes[index];
    /* the paper: a smaller γ in each further pass; µ is only an estimate, and the next suspect */
    pass->gamma = 1 - fmin((1 - repair->settings->gamma) * pow(10, index), 0.5);
    pass->no_latency = index >= FIRST_WITHOUT_LATENCY && !repair->settings->latency;
    repair->pass = (struct gn_replay_settings){.latency = pass->no_latency ? NULL : &result->latency,
                                               .gamma_loss = loss_of(pass->gamma)};
    int code = gn_replay_forward(repair->replay, &repair->pass, NULL, &result->after, err);
    pass->largest_shift_ticks = result->after.largest_shift_ticks;
    return code;
}

static int64_t threefold(int64_t ticks)
{
    return ticks < INT64_MAX / 3 ? 3 * ticks : INT64_MAX;
}

/* How wrong clocks are for certain: by reversals, where µ is only an estimate. */
static int64_t proven_wrong(const struct gn_repair *repair)
{
    const struct gn_replay_stats *before = &repair->result->before;
    const int64_t messages = before->messages.error_ticks_max,
                  collectives = before->collectives.error_ticks_max;
    const int64_t reversed = messages > collectives ? messages : collectives;
    return reversed > 0 && !repair->settings->latency ? reversed : worst_of(before);
}

/* Whether another pass is not worth it; *converged: because the error is small, or asked for by the clocks.
 */
static bool is_enough(const struct gn_repair *repair, uint32_t index, bool *converged)
{
    const struct gn_repair_pass *pass = &repair->result->passes[index];
    *converged = pass->largest_shift_ticks <= repair->result->threshold_ticks;
    /* before γ is surely small enough, and µ out of suspicion, another pass may yet help */
    if (!*converged && index >= FIRST_WITHOUT_LATENCY && repair->settings->threshold_ticks == 0)
        *converged = (double)pass->largest_shift_ticks > 0.9 * (double)pass[-1].largest_shift_ticks;
    return *converged || index + 1 == GN_REPAIR_PASSES;
}

/* ---- bounds ---- */

/* Lowers what is above all that its successors leave, one step of messages in each pass. */
static int settle_ceilings(struct gn_repair *repair, struct gn_error *err)
{
    const struct gn_replay_settings settings = {.latency = &repair->result->latency, .ceilings = true};
    const struct gn_transport *t = repair->transport;
    struct gn_replay_stats stats;
    int64_t lowered = 1;
    int code = 0;
    for (uint32_t pass = 0; code == 0 && lowered > 0 && pass < GN_REPAIR_CEILINGS; pass++) {
        tell(repair, "bounds", (double)pass / GN_REPAIR_CEILINGS);
        code = gn_replay_forward(repair->replay, &settings, NULL, &stats, err);
        lowered = 0;
        for (uint32_t i = 0; i < repair->store->row_count && code == 0; i++)
            lowered += (int64_t)gn_ceilings_lower(repair->store, i);
        if (code == 0 && (code = t->agree(t->self, GN_AGREE_SUM, &lowered, 1)) != 0)
            gn_fail(err, code, "agreeing on bounds failed: %s", strerror(-code));
    }
    for (uint32_t i = 0; i < repair->store->row_count && code == 0; i++)
        gn_ceilings_settle(repair->store, i, repair->settings->slope);
    return code;
}

static int go_forward(struct gn_repair *repair, struct gn_error *err)
{
    struct gn_repair_result *result = repair->result;
    result->threshold_ticks = repair->settings->threshold_ticks;
    if (result->threshold_ticks == 0)
        result->threshold_ticks = threefold(proven_wrong(repair));
    result->converged = true;
    if (result->before.messages.violating + result->before.collectives.violating == 0)
        return 0;
    int code = repair->settings->bounded ? settle_ceilings(repair, err) : 0;
    if (code)
        return code;
    do {
        tell(repair, "forward", (double)result->pass_count / GN_REPAIR_PASSES);
        code = forward(repair, result->pass_count++, err);
    } while (code == 0 && !is_enough(repair, result->pass_count - 1, &result->converged));
    if (code == 0 && result->after.late > 0)
        return gn_fail(err, -ERANGE,
                       "%" PRIu64 " sends, receives and collectives would get times above %" PRId64
                       " (2^62), which are none: are timestamps damaged, or is a latency given that is far "
                       "too large?",
                       result->after.late, INT64_MAX / 2);
    if (code == 0 && result->passes[result->pass_count - 1].no_latency) {
        memset(result->latency.ticks, 0,
               (size_t)result->latency.domains * result->latency.domains * sizeof *result->latency.ticks);
        result->latency.between_ticks = 0;
    }
    return code;
}

int gn_repair(struct gn_repair **repair, const struct gn_definitions *definitions, struct gn_op_store *store,
              const struct gn_transport *transport, const uint32_t *owner,
              const struct gn_repair_settings *settings, struct gn_repair_result *result,
              struct gn_error *err)
{
    struct gn_repair *r = calloc(1, sizeof *r);
    if (!r)
        return gn_fail(err, -ENOMEM, "no memory");
    *result = (struct gn_repair_result){0};
    *r = (struct gn_repair){.store = store,
                            .transport = transport,
                            .settings = settings,
                            .result = result,
                            .domains = count_domains(definitions)};
    double begin_s = now_s();
    tell(r, "measure", 0);
    int code = gn_latency_open(&result->latency, r->domains, err);
    if (code == 0)
        code = gn_replay_open(&r->replay, definitions, store, transport, owner, err);
    if (code == 0)
        code = measure(r, (double)definitions->ticks_per_second, err);
    result->seconds_measure = now_s() - begin_s;
    begin_s = now_s();
    if (code == 0)
        code = go_forward(r, err);
    result->seconds_forward = now_s() - begin_s;
    gn_replay_close(r->replay);
    r->replay = NULL;
    if (code) {
        gn_repair_close(r);
        gn_latency_close(&result->latency);
        return code;
    }
    *repair = r;
    return 0;
}

/* ---- backward ---- */

int gn_repair_knots(struct gn_repair *repair, uint32_t location, struct gn_knots **knots,
                    struct gn_error *err)
{
    *knots = NULL;
    if (repair->result->pass_count == 0 && !repair->store->rows[location].has_gaps)
        return 0;
    const struct gn_amortize_settings settings = {.slope = repair->settings->slope,
                                                  .longest_ticks = repair->settings->longest_ticks,
                                                  .gamma_loss = repair->pass.gamma_loss};
    return gn_knots_open(knots, repair->store, location, &settings, err);
}

int gn_repair_knots_close(struct gn_repair *repair, struct gn_knots *knots, struct gn_error *err)
{
    if (!knots)
        return 0;
    const struct gn_knots_told *told = gn_knots_told(knots);
    gn_amortize_stats_add(&repair->result->amortized, &told->stats);
    repair->result->seconds_backward += told->seconds;
    int code = gn_knots_state(knots, err);
    gn_knots_close(knots);
    return code;
}

int gn_repair_agree(struct gn_repair *repair, struct gn_repair_result *result, struct gn_error *err)
{
    const struct gn_transport *t = repair->transport;
    struct gn_amortize_stats *a = &result->amortized;
    int64_t sums[] = {(int64_t)a->jumps, (int64_t)a->limited};
    /* doubles ≥ 0 compare like their bits */
    int64_t most[] = {a->largest_jump_ticks, a->largest_shift_ticks, 0, 0};
    memcpy(&most[2], &a->steepest, sizeof a->steepest);
    memcpy(&most[3], &result->seconds_backward, sizeof result->seconds_backward);
    int code = t->agree(t->self, GN_AGREE_SUM, sums, sizeof sums / sizeof *sums);
    if (code == 0)
        code = t->agree(t->self, GN_AGREE_MAX, most, sizeof most / sizeof *most);
    if (code)
        return gn_fail(err, code, "adding up what was amortized failed: %s", strerror(-code));
    a->jumps = (uint64_t)sums[0];
    a->limited = (uint64_t)sums[1];
    a->largest_jump_ticks = most[0];
    a->largest_shift_ticks = most[1];
    memcpy(&a->steepest, &most[2], sizeof a->steepest);
    memcpy(&result->seconds_backward, &most[3], sizeof result->seconds_backward);
    return 0;
}

void gn_repair_close(struct gn_repair *repair)
{
    if (!repair)
        return;
    gn_replay_close(repair->replay);
    free(repair);
}
