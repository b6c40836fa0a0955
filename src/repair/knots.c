#include "repair/knots.h"

#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* So many at a time: asking costs something. */
enum { SOME = 1024 };

struct gn_knots {
    struct gn_amortizer *amortizer;
    struct gn_knot *knots;
    size_t count, capacity;
    struct gn_knots_told told;
    bool is_over;
    int code;
    struct gn_error err;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int take(void *self, const struct gn_knot *knot)
{
    struct gn_knots *k = self;
    if (!gn_grow(&k->knots, &k->capacity, k->count, sizeof *k->knots))
        return -ENOMEM;
    k->knots[k->count++] = *knot;
    return 0;
}

static void amortize_some(struct gn_knots *k)
{
    const double begin_s = now_s();
    const size_t enough = k->count + SOME;
    while (!k->is_over && !k->code && k->count < enough) {
        int code = gn_amortizer_go_on(k->amortizer, &k->err);
        k->code = code < 0 ? code : 0;
        k->is_over = code <= 0;
    }
    if (k->count > k->told.most)
        k->told.most = k->count;
    k->told.seconds += now_s() - begin_s;
}

static int more(void *self, uint64_t done, struct gn_knot_row *row)
{
    struct gn_knots *k = self;
    k->count -= done;
    if (done > 0 && k->count > 0)
        memmove(k->knots, k->knots + done, k->count * sizeof *k->knots);
    const size_t before = k->count;
    if (!k->code)
        amortize_some(k);
    *row = (struct gn_knot_row){k->knots, k->count};
    return k->code ? k->code : k->count > before;
}

int gn_knots_open(struct gn_knots **knots, struct gn_op_store *store, uint32_t location,
                  const struct gn_amortize_settings *settings, struct gn_error *err)
{
    struct gn_knots *k = calloc(1, sizeof *k);
    if (!k)
        return gn_fail(err, -ENOMEM, "no memory for the corrections of location %u", location);
    const struct gn_knot_sink sink = {k, take};
    int code = gn_amortizer_open(&k->amortizer, store, location, settings, &sink, &k->told.stats, err);
    if (code < 0)
        free(k);
    else
        *knots = k;
    return code;
}

struct gn_knot_source gn_knots_source(struct gn_knots *knots)
{
    return (struct gn_knot_source){knots, more};
}

const struct gn_knots_told *gn_knots_told(const struct gn_knots *knots)
{
    return &knots->told;
}

int gn_knots_state(const struct gn_knots *knots, struct gn_error *err)
{
    return knots->code < 0 ? gn_fail(err, knots->code, "%s", knots->err.text) : 0;
}

void gn_knots_close(struct gn_knots *knots)
{
    if (!knots)
        return;
    gn_amortizer_close(knots->amortizer);
    free(knots->knots);
    free(knots);
}
