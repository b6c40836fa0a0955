#include "synth/skew.h"

#include "base/mix.h"

static double spread(const struct gn_synth_settings *settings, uint32_t domain, unsigned what)
{
    return 2 * gn_mix_unit(gn_mix_at(settings->seed, 0x636c6f636bu + what, domain)) - 1;
}

struct gn_skew gn_skew_of(const struct gn_synth_settings *settings, uint32_t domain)
{
    double sign = spread(settings, domain, 3) < 0 ? -1 : 1;
    return (struct gn_skew){.offset_ns = settings->offset_ns * spread(settings, domain, 0),
                            .rate = settings->rate_ppm * 1e-6 * spread(settings, domain, 1),
                            .wander = settings->wander_ppm > 0 ? settings->wander : GN_WANDER_NONE,
                            .amplitude = sign * settings->wander_ppm * 1e-6,
                            .period_ns = settings->wander_period_s * 1e9,
                            .phase = (spread(settings, domain, 2) + 1) / 2};
}

/* The rate rises from its nominal value by the amplitude over the first period, and stays there. */
static double ramp(const struct gn_skew *skew, double ns)
{
    double period = skew->period_ns;
    return ns < period ? skew->amplitude * ns * ns / (2 * period) : skew->amplitude * (ns - period / 2);
}

/* Integral of a square wave, +1 in the first half of each period and −1 in the second: a triangle. */
static double triangle(double periods)
{
    double part = periods - floor(periods);
    return part < 0.5 ? part : 1 - part;
}

double gn_skew_bend(const struct gn_skew *skew, double ns)
{
    double amplitude = fabs(skew->amplitude), period = skew->period_ns;
    switch (skew->wander) {
    case GN_WANDER_SINE: /* by its curvature, but not by more than it moves at all */
        return fmin(amplitude * 2 * M_PI / period * ns * ns / 8, amplitude * period / M_PI);
    case GN_WANDER_RAMP:
        return amplitude / period * ns * ns / 8;
    case GN_WANDER_STEP:
        return fmin(amplitude * ns / 2, amplitude * period / 2);
    default:
        return 0;
    }
}

double gn_skew_wandered(const struct gn_skew *skew, double ns)
{
    double turn = 2 * M_PI;
    double periods = ns / skew->period_ns + skew->phase;
    switch (skew->wander) {
    case GN_WANDER_SINE:
        return skew->amplitude * skew->period_ns / turn *
               (cos(turn * skew->phase) - cos(turn * (periods - floor(periods))));
    case GN_WANDER_RAMP:
        return ramp(skew, ns);
    case GN_WANDER_STEP:
        return skew->amplitude * skew->period_ns * (triangle(periods) - triangle(skew->phase));
    default:
        return 0;
    }
}
