/* exchange/kernel_clock — the moments of the kernel's time stamps on our counter. */
#include "exchange/kernel_clock.h"

#include "clock/ticks.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <unistd.h>

enum { AT_ONCE = 6, FAR_NS = 1000000000, NOMINAL_TICK_US = 10000 };

/* How far the rate may be from what the kernel says, beyond what is not known of the counter's frequency: the
 * last unit of the kernel's multiplier comes and goes. */
#define TOLD_SLACK 10e-6

/* When it has just been steered differently, or does not say: NTP may by 500 ppm, adjtime() by another 500.
 */
#define UNTOLD_SLACK 1500e-6

/* What is told takes effect at the kernel's next tick, or its next second. */
#define SETTLED_S 2

/* ---- steering ---- */

/* The part of an offset that is worked off in a second, with what is left of it (kernel/time/ntp.c). */
static double offset_slack(const struct timex *t)
{
    double ns = fabs((double)t->offset) * (t->status & STA_NANO ? 1 : 1000);
    double constant = t->constant < 0 ? 0 : t->constant > 20 ? 20 : (double)t->constant;
    return 2 * ns / exp2(2 + constant) / 1e9;
}

static void lose_faith(struct gn_kernel_clock *clock)
{
    clock->since_ticks = gn_ticks_ordered();
    clock->count = 0;
}

static void set_steering(struct gn_kernel_clock *clock, const struct timex *t)
{
    double rate = (double)t->tick / NOMINAL_TICK_US + ldexp((double)t->freq, -16) * 1e-6;
    clock->freq = t->freq;
    clock->tick = t->tick;
    clock->steering.ticks_per_ns = clock->nominal_ticks_per_ns / (rate > 0 ? rate : 1);
}

static bool long_ago(const struct gn_kernel_clock *clock, uint64_t ticks)
{
    return (double)(int64_t)(gn_ticks() - ticks) > clock->nominal_ticks_per_ns * 1e9 * SETTLED_S;
}

/* The kernel says what is left of an offset; what it took from it goes on for a while after it is gone. */
static void hold_offset(struct gn_kernel_clock *clock, double slack)
{
    if (slack < clock->offset_slack && !long_ago(clock, clock->offset_since_ticks))
        return;
    clock->offset_slack = slack;
    clock->offset_since_ticks = gn_ticks_ordered();
}

static void look_at_steering(struct gn_kernel_clock *clock)
{
    struct timex now = {0}, once = {.modes = ADJ_OFFSET_SS_READ};
    double before = clock->steering.slack;
    clock->steering.slack = UNTOLD_SLACK + clock->nominal_error;
    if (adjtimex(&now) < 0 || adjtimex(&once) < 0)
        return;
    if (now.freq != clock->freq || now.tick != clock->tick) {
        set_steering(clock, &now);
        lose_faith(clock);
        clock->same_since_ticks = clock->since_ticks;
    }
    if (once.offset != 0)
        clock->same_since_ticks = gn_ticks_ordered();
    if (long_ago(clock, clock->same_since_ticks))
        clock->steering.slack = TOLD_SLACK + clock->nominal_error;
    hold_offset(clock, offset_slack(&now));
    clock->steering.slack += clock->offset_slack;
    if (clock->steering.slack > before) /* since when is not known */
        lose_faith(clock);
}

/* ---- whether it was set ---- */

static void watch_for_steps(struct gn_kernel_clock *clock)
{
    const struct itimerspec never = {.it_value = {.tv_sec = (time_t)1 << 32}}; /* in the year 2106 */
    if (clock->timer >= 0 &&
        timerfd_settime(clock->timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) != 0 &&
        errno != ECANCELED) {
        close(clock->timer);
        clock->timer = -1;
    }
}

static void was_set(struct gn_kernel_clock *clock)
{
    clock->steps++;
    lose_faith(clock);
}

void gn_kernel_clock_check(struct gn_kernel_clock *clock)
{
    uint64_t expirations;
    if (clock->timer >= 0 && read(clock->timer, &expirations, sizeof expirations) < 0 && errno == ECANCELED) {
        was_set(clock);
        watch_for_steps(clock);
    }
    look_at_steering(clock);
}

void gn_kernel_clock_open(struct gn_kernel_clock *clock, double hz, double hz_error_ppb)
{
    memset(clock, 0, sizeof *clock);
    clock->nominal_ticks_per_ns = clock->steering.ticks_per_ns = hz / 1e9;
    clock->nominal_error = hz_error_ppb * 1e-9;
    clock->timer = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    watch_for_steps(clock);
    clock->same_since_ticks = gn_ticks_ordered();
    gn_kernel_clock_check(clock);
}

void gn_kernel_clock_close(struct gn_kernel_clock *clock)
{
    if (clock->timer >= 0)
        close(clock->timer);
    clock->timer = -1;
}

/* ---- brackets ---- */

static struct gn_bracket bracket_now(void)
{
    struct gn_bracket bracket;
    struct timespec now;
    bracket.before_ticks = gn_ticks(); /* what comes next waits for it, whatever it is */
    clock_gettime(CLOCK_REALTIME, &now);
    bracket.after_ticks = gn_ticks_ordered();
    bracket.real_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    return bracket;
}

static const struct gn_bracket *last(const struct gn_kernel_clock *clock)
{
    return clock->count ? &clock->brackets[(clock->count - 1) % GN_BRACKETS] : NULL;
}

void gn_kernel_clock_bracket(struct gn_kernel_clock *clock)
{
    for (int i = 0; i < AT_ONCE; i++) {
        struct gn_bracket next = bracket_now();
        if (last(clock) && !gn_brackets_agree(last(clock), &next, &clock->steering))
            was_set(clock);
        else
            clock->brackets[clock->count++ % GN_BRACKETS] = next;
    }
}

/* The fewest and the most ticks that pass while the clock goes on by ns. */
static double fewest(double ns, const struct gn_steering *s)
{
    return floor(ns * s->ticks_per_ns * (ns >= 0 ? 1 - s->slack : 1 + s->slack));
}

static double most(double ns, const struct gn_steering *s)
{
    return ceil(ns * s->ticks_per_ns * (ns >= 0 ? 1 + s->slack : 1 - s->slack));
}

/* Both are floored to ns: what passed is within one of the difference. */
bool gn_bracket_locate(const struct gn_bracket *bracket, int64_t stamp_ns, const struct gn_steering *steering,
                       struct gn_tick_range *range)
{
    int64_t ns;
    if (__builtin_sub_overflow(stamp_ns, bracket->real_ns, &ns) || ns > FAR_NS || ns < -FAR_NS ||
        steering->slack >= 1)
        return false;
    range->lo_ticks = bracket->before_ticks + (uint64_t)(int64_t)fewest((double)(ns - 1), steering);
    range->hi_ticks = bracket->after_ticks + (uint64_t)(int64_t)most((double)(ns + 1), steering);
    return true;
}

bool gn_brackets_agree(const struct gn_bracket *earlier, const struct gn_bracket *later,
                       const struct gn_steering *steering)
{
    double ns = (double)(later->real_ns - earlier->real_ns);
    double passed_lo = (double)(int64_t)(later->before_ticks - earlier->after_ticks);
    double passed_hi = (double)(int64_t)(later->after_ticks - earlier->before_ticks);
    return fewest(ns - 1, steering) <= passed_hi && most(ns + 1, steering) >= passed_lo;
}

static void intersect(struct gn_tick_range *range, const struct gn_tick_range *other)
{
    if (other->lo_ticks > range->lo_ticks)
        range->lo_ticks = other->lo_ticks;
    if (other->hi_ticks < range->hi_ticks)
        range->hi_ticks = other->hi_ticks;
}

bool gn_kernel_clock_locate(const struct gn_kernel_clock *clock, int64_t stamp_ns,
                            struct gn_tick_range *range)
{
    unsigned count = clock->count < GN_BRACKETS ? clock->count : GN_BRACKETS;
    struct gn_tick_range all = {0, UINT64_MAX}, one;
    for (unsigned i = 0; i < count; i++)
        if (gn_bracket_locate(&clock->brackets[i], stamp_ns, &clock->steering, &one))
            intersect(&all, &one);
    *range = all;
    return last(clock) && all.hi_ticks != UINT64_MAX && all.lo_ticks <= all.hi_ticks &&
           all.lo_ticks >= clock->since_ticks && all.lo_ticks <= last(clock)->after_ticks;
}
