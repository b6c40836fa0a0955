#include "exchange/simulated.h"

#include "base/quantity.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FRACTION = GN_SIMULATED_FRACTION_BITS,
    RATE_BITS = 64,  /* of the fraction of a rate */
    RAMP_BITS = 120, /* of the fraction of a rate per tick */
    RAMP_ERA_BITS = 52
};

static const double MOST = 0.1; /* of a rate: what keeps the clock rising and the products in 128 bits */

/* ---- the clock ---- */

static __int128 fixed(double value, int bits)
{
    return (__int128)ldexp(value, bits);
}

/* How long the ramp lasts on either side of the origin. */
static int64_t ramp_era(double ramp_per_tick)
{
    double ticks = MOST / fabs(ramp_per_tick);
    return ticks < (double)(1LL << RAMP_ERA_BITS) ? (int64_t)ticks : 1LL << RAMP_ERA_BITS;
}

/* An even function: before the origin the clock runs slower by as much as it runs faster behind it. */
static __int128 ramp_drift(const struct gn_simulated_clock *c, int64_t since)
{
    if (c->ramp_ppb_per_tick == 0)
        return 0;
    double ramp = c->ramp_ppb_per_tick * 1e-9;
    int64_t era = ramp_era(ramp), distance = since < 0 ? -since : since;
    int64_t within = distance < era ? distance : era;
    __int128 rate = fixed(ramp, RAMP_BITS) * within >> (RAMP_BITS - RATE_BITS);
    return (rate * within >> (RATE_BITS - FRACTION + 1)) +
           (rate * (distance - within) >> (RATE_BITS - FRACTION));
}

static __int128 sine_drift(const struct gn_simulated_clock *c, int64_t since)
{
    int64_t period = (int64_t)c->sine_ticks;
    if (period == 0)
        return 0;
    double turn = 2 * M_PI * ((double)(since % period) / (double)period);
    double half = sin(turn / 2); /* 1 − cos, without the loss of digits near 0 */
    return fixed(c->sine_ppb * 1e-9 * (double)period / M_PI * half * half, FRACTION);
}

__int128 gn_simulated_exact(const struct gn_simulated_clock *clock, uint64_t ticks)
{
    if (!clock->active)
        return (__int128)ticks << FRACTION;
    int64_t since = (int64_t)(ticks - clock->origin_ticks);
    __int128 drift = fixed(clock->rate_ppb * 1e-9, RATE_BITS) * since >> (RATE_BITS - FRACTION);
    drift += sine_drift(clock, since) + ramp_drift(clock, since) + fixed(clock->offset_ticks, FRACTION);
    if (since >= clock->step_at_ticks)
        drift += fixed(clock->step_ticks, FRACTION);
    return ((__int128)ticks << FRACTION) + drift;
}

uint64_t gn_simulated_reading(const struct gn_simulated_clock *clock, uint64_t ticks)
{
    if (!clock->active)
        return ticks;
    __int128 exact = gn_simulated_exact(clock, ticks);
    uint64_t reading = exact < 0 ? 0 : (uint64_t)(exact >> FRACTION);
    return reading - reading % clock->grain_ticks;
}

/* ---- what it was told ---- */

/* As gn_quantity, with a sign allowed and an end, of which *text is left behind. */
static int signed_quantity(const char **text, const char *ends, enum gn_quantity kind, double *value)
{
    char word[64];
    const char *begin = *text;
    bool negative = *begin == '-';
    begin += negative || *begin == '+';
    size_t bytes = strcspn(begin, ends);
    if (bytes >= sizeof word)
        return -EINVAL;
    memcpy(word, begin, bytes);
    word[bytes] = '\0';
    *text = begin + bytes;
    int code = gn_quantity(word, kind, value);
    if (negative && code == 0)
        *value = -*value;
    return code;
}

/* A whole quantity, in ticks for times and as a share of 1 for rates. */
static bool quantity(const char **text, const char *ends, enum gn_quantity kind, double hz, double *value)
{
    if (signed_quantity(text, ends, kind, value) != 0)
        return false;
    *value *= kind == GN_QUANTITY_TIME_NS ? hz / 1e9 : 1e-6;
    return true;
}

static bool rate(const char **text, const char *ends, double *ppb)
{
    double share;
    if (!quantity(text, ends, GN_QUANTITY_RATE_PPM, 0, &share) || fabs(share) > MOST)
        return false;
    *ppb = share * 1e9;
    return true;
}

static bool literal(const char **text, const char *expected)
{
    size_t bytes = strlen(expected);
    bool same = strncmp(*text, expected, bytes) == 0;
    *text += same ? bytes : 0;
    return same;
}

static bool read_offset(struct gn_simulated_clock *c, const char *text, double hz)
{
    return quantity(&text, "", GN_QUANTITY_TIME_NS, hz, &c->offset_ticks) && fabs(c->offset_ticks) < 0x1p61;
}

static bool read_rate(struct gn_simulated_clock *c, const char *text, double hz)
{
    (void)hz;
    return rate(&text, "", &c->rate_ppb);
}

static bool read_sine(struct gn_simulated_clock *c, const char *text, double hz)
{
    if (!rate(&text, "/", &c->sine_ppb) || !literal(&text, "/") ||
        !quantity(&text, "", GN_QUANTITY_TIME_NS, hz, &c->sine_ticks))
        return false;
    c->sine_ticks = nearbyint(c->sine_ticks);
    return c->sine_ticks >= 1 && c->sine_ticks < 0x1p52;
}

static bool read_ramp(struct gn_simulated_clock *c, const char *text, double hz)
{
    double ppb_per_s;
    if (!rate(&text, "/", &ppb_per_s) || strcmp(text, "/s") != 0)
        return false;
    c->ramp_ppb_per_tick = ppb_per_s / hz;
    return true;
}

static bool read_step(struct gn_simulated_clock *c, const char *text, double hz)
{
    double at;
    if (!quantity(&text, "@", GN_QUANTITY_TIME_NS, hz, &c->step_ticks) || !literal(&text, "@") ||
        !quantity(&text, "", GN_QUANTITY_TIME_NS, hz, &at) || fabs(c->step_ticks) >= 0x1p61 ||
        fabs(at) >= 0x1p61)
        return false;
    c->step_at_ticks = (int64_t)at;
    return true;
}

static bool whole(const char *text, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

static bool read_grain(struct gn_simulated_clock *c, const char *text, double hz)
{
    (void)hz;
    return whole(text, &c->grain_ticks) && c->grain_ticks >= 1;
}

static bool read_origin(struct gn_simulated_clock *c, const char *text, double hz)
{
    (void)hz;
    return whole(text, &c->origin_ticks) && c->origin_ticks <= INT64_MAX;
}

static const struct setting {
    const char *name, *expected;
    bool (*read)(struct gn_simulated_clock *clock, const char *text, double hz);
} settings[] = {
    {"offset", "a time, such as offset=-5s", read_offset},
    {"rate", "a rate of at most 10%, such as rate=20ppm", read_rate},
    {"sine", "a rate of at most 10% and a period, such as sine=1ppm/30s", read_sine},
    {"ramp", "a rate of at most 10% per second, such as ramp=0.1ppm/s", read_ramp},
    {"step", "a time and when, such as step=1ms@2s", read_step},
    {"grain", "ticks, at least 1, such as grain=8", read_grain},
    {"origin", "ticks of the true counter, such as origin=123456", read_origin},
};

enum { SETTINGS = sizeof settings / sizeof *settings };

static int read_setting(struct gn_simulated_clock *clock, const char *word, double hz, struct gn_error *err)
{
    size_t length = strcspn(word, "=");
    for (int i = 0; i < SETTINGS; i++) {
        if (strlen(settings[i].name) != length || strncmp(word, settings[i].name, length) != 0)
            continue;
        if (word[length] == '=' && settings[i].read(clock, word + length + 1, hz))
            return 0;
        return gn_fail(err, -EINVAL, "simulated clock (GNOMON_TEST_CLOCK): %s: expected is %s", word,
                       settings[i].expected);
    }
    return gn_fail(err, -EINVAL,
                   "simulated clock (GNOMON_TEST_CLOCK): %s: one of offset, rate, sine, ramp, step, grain, "
                   "origin is expected",
                   word);
}

int gn_simulated_parse(struct gn_simulated_clock *clock, const char *spec, double hz, struct gn_error *err)
{
    struct gn_simulated_clock fresh = {.active = true, .grain_ticks = 1};
    *clock = (struct gn_simulated_clock){.grain_ticks = 1};
    if (!spec || !*spec)
        return 0;
    char words[512], *rest = words, *word;
    if (strlen(spec) >= sizeof words)
        return gn_fail(err, -EINVAL, "simulated clock (GNOMON_TEST_CLOCK): more than %zu characters",
                       sizeof words - 1);
    strcpy(words, spec);
    while ((word = strsep(&rest, ",")))
        if (read_setting(&fresh, word, hz, err) != 0)
            return -EINVAL;
    *clock = fresh;
    return 0;
}
