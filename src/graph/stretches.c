#include "graph/stretches.h"

#include "base/wrapping.h"

#include <stdlib.h>

struct dividing {
    const struct gn_leaving *l;
    int64_t *open, *part; /* by step: what is open at its end, and what of that is of the step */
    bool *done;           /* of the stretches */
};

/* Of those that were taken in a step the one that has most of it. NULL: none was. */
static gn_step_values *taken(const struct gn_leaving *l, size_t step)
{
    gn_step_values *longest = NULL;
    for (size_t i = 0; i < l->count; i++)
        if (l->edges[i][step][0] > 0 && (!longest || l->edges[i][step][1] > longest[step][1]))
            longest = l->edges[i];
    return longest;
}

static gn_step_values *edge_of(const struct gn_leaving *l, const struct gn_stretch *stretch)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->to[i] == stretch->to)
            return l->edges[i];
    return NULL;
}

/* Where what is open has become less, another stretch began. */
static void read_open(const struct dividing *d)
{
    int64_t sum = 0;
    for (size_t i = 0; i < d->l->steps; i++) {
        const int64_t before = sum;
        sum = gn_plus(sum, d->l->open[i][0]);
        sum = sum > 0 ? sum : 0;
        d->open[i] = sum;
        d->part[i] = sum >= before && !taken(d->l, i) ? sum - before : sum;
    }
}

/* So much of the edge's time in step `from` is of step `to`. */
static void move(const struct gn_leaving *l, gn_step_values *edge, size_t from, size_t to, int64_t ticks)
{
    edge[to][1] = gn_plus(edge[to][1], ticks);
    if (from < l->steps) /* else it has it nowhere yet */
        edge[from][1] = gn_minus(edge[from][1], ticks);
}

/* What was open in steps [first, until) was of the edge, and stands in step `from`. Its sum. */
static int64_t move_parts(const struct dividing *d, gn_step_values *edge, size_t from, size_t first,
                          size_t until)
{
    int64_t sum = 0;
    for (size_t i = first; i < until; i++) {
        move(d->l, edge, from, i, d->part[i]);
        sum = gn_plus(sum, d->part[i]);
    }
    return sum;
}

/* The one whose call was entered and left in these steps. */
static const struct gn_stretch *stretch_of(const struct dividing *d, size_t entered, size_t left)
{
    for (size_t i = 0; i < d->l->stretch_count; i++) {
        const struct gn_stretch *s = &d->l->stretches[i];
        if (s->entered == entered && s->left == left && !d->done[i]) {
            d->done[i] = true;
            return s;
        }
    }
    return NULL;
}

/* open since step `first`; the call was entered in step `entered`, and left in step `left`. */
static void end_call(const struct dividing *d, size_t first, size_t entered, size_t left)
{
    const struct gn_stretch *s = stretch_of(d, entered, left);
    gn_step_values *edge = left == d->l->steps ? d->l->last : s ? edge_of(d->l, s) : taken(d->l, left);
    if (!edge)
        return;
    const int64_t before = move_parts(d, edge, left, first, entered);
    if (s && s->ticks > before)
        move(d->l, edge, left, entered, s->ticks - before);
}

/* Those that were open at a moment. */
static void divide_open(const struct dividing *d)
{
    enum { NOTHING, COMPUTES, IN_CALL } state = NOTHING; /* since step `first`; in the call since `entered` */
    const struct gn_leaving *l = d->l;
    size_t first = 0, entered = 0;
    for (size_t i = 0; i < l->steps; i++) {
        gn_step_values *edge = state == NOTHING ? NULL : taken(l, i);
        if (edge && state == COMPUTES)
            move_parts(d, edge, i, first, i);
        else if (edge)
            end_call(d, first, entered, i);
        const bool is_open = d->open[i] > 0;
        if (is_open && (edge || state != COMPUTES))
            first = i;
        if (!is_open && state == COMPUTES)
            entered = i;
        state = is_open ? COMPUTES : edge || state == NOTHING ? NOTHING : IN_CALL;
    }
    if (state == COMPUTES && l->last)
        move_parts(d, l->last, l->steps, first, l->steps);
    else if (state == IN_CALL)
        end_call(d, first, entered, l->steps);
}

/* Those that began and ended within a step. */
static void divide_others(const struct dividing *d)
{
    const struct gn_leaving *l = d->l;
    for (size_t i = 0; i < l->stretch_count; i++) {
        const struct gn_stretch *s = &l->stretches[i];
        gn_step_values *edge = s->left == l->steps ? l->last : edge_of(l, s);
        if (!d->done[i] && edge)
            move(l, edge, s->left, s->entered, s->ticks);
    }
}

void gn_stretches_divide(const struct gn_leaving *l)
{
    const struct dividing d = {.l = l,
                               .open = calloc(l->steps + 1, sizeof *d.open),
                               .part = calloc(l->steps + 1, sizeof *d.part),
                               .done = calloc(l->stretch_count + 1, sizeof *d.done)};
    if (d.open && d.part && d.done) {
        read_open(&d);
        divide_open(&d);
        divide_others(&d);
    }
    if (l->last && l->steps > 0)
        l->last[l->steps - 1][0] = gn_plus(l->last[l->steps - 1][0], 1);
    free(d.open);
    free(d.part);
    free(d.done);
}
