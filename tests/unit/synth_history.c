#include "synth_history.h"

#include "synth/skew.h"
#include "trace/clock_offsets.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Of a whole run, true times. */
struct lengths {
    double first_ns, last_ns;
};

/* Runs the program to its end. */
static struct lengths run(struct gn_source *source)
{
    struct lengths all = {INFINITY, -INFINITY};
    struct gn_error err;
    for (uint32_t l = 0; l < source->definitions->location_count; l++) {
        const struct gn_event *events;
        int64_t count;
        while ((count = source->pull(source->self, l, &events, &err)) > 0) {
            const double *true_ns = gn_synth_truth(source, l);
            all.first_ns = fmin(all.first_ns, true_ns[0]);
            all.last_ns = fmax(all.last_ns, true_ns[count - 1]);
        }
        assert_int_equal(count, 0);
    }
    return all;
}

double synth_length(const struct gn_synth_settings *settings)
{
    const struct gn_skew reference = gn_skew_of(settings, 0);
    struct gn_source source;
    struct gn_error err = {""};
    if (gn_synth_open(&source, settings, &err) != 0)
        fail_msg("%s", err.text);
    struct lengths all = run(&source);
    source.close(source.self);
    return (double)(gn_skew_ticks(&reference, all.last_ns) - gn_skew_ticks(&reference, all.first_ns));
}

void synth_history_open(struct synth_history *s, const struct gn_synth_settings *settings,
                        bool in_virtual_time)
{
    struct gn_error err = {""};
    assert_int_equal(gn_synth_open(&s->measured, settings, &err), 0);
    run(&s->measured);
    assert_int_equal(gn_synth_measure(&s->measured, &err), 0);
    const struct gn_definitions *d = s->measured.definitions;
    s->bounds = calloc(d->clock_count + 1, sizeof *s->bounds);
    s->of = calloc(d->location_count + 1, sizeof *s->of);
    for (uint32_t c = 1; c < d->clock_count; c++)
        s->bounds[c] = gn_clock_offsets_bounds(d, c, &err);
    for (size_t l = 0; l < d->location_count; l++)
        s->of[l] = s->bounds[d->locations[l].clock];
    assert_int_equal(gn_synth_open(&s->source, settings, &err), 0);
    s->source.definitions = d; /* the same, and what was found out about clocks */
    const struct gn_history_settings how = {.bounds = s->of, .in_virtual_time = in_virtual_time};
    if (gn_history_read(&s->h, &s->source, &how, &err) != 0)
        fail_msg("%s", err.text);
}

void synth_history_close(struct synth_history *s)
{
    gn_history_clear(&s->h);
    for (uint32_t c = 0; c < s->measured.definitions->clock_count; c++)
        gn_bounds_free(s->bounds[c]);
    free(s->bounds);
    free(s->of);
    s->source.close(s->source.self);
    s->measured.close(s->measured.self);
}
