#include "repair/sync_clocks.h"

#include "trace/vocabulary.h"

#include <errno.h>
#include <string.h>

const char *gn_sync_presync_name(enum gn_presync_kind kind)
{
    static const char *const names[] = {
        [GN_PRESYNC_NONE] = "none", [GN_PRESYNC_LINEAR] = "linear", [GN_PRESYNC_BOUNDS] = "bounds"};
    return names[kind];
}

enum gn_sync_presync gn_sync_presync_of(const char *name)
{
    static const enum gn_sync_presync asked[] = {[GN_PRESYNC_NONE] = GN_SYNC_NONE,
                                                 [GN_PRESYNC_LINEAR] = GN_SYNC_LINEAR,
                                                 [GN_PRESYNC_BOUNDS] = GN_SYNC_BOUNDS};
    for (enum gn_presync_kind kind = GN_PRESYNC_NONE; kind <= GN_PRESYNC_BOUNDS; kind++)
        if (strcmp(name, gn_sync_presync_name(kind)) == 0)
            return asked[kind];
    return GN_SYNC_AUTO;
}

/* ---- what the trace has ---- */

static bool moves(const struct gn_presync *presync)
{
    for (uint32_t l = 0; l < presync->definitions->location_count; l++)
        if (gn_presync_moves(presync, l))
            return true;
    return false;
}

static bool has_one_clock(const struct gn_definitions *d)
{
    for (size_t l = 1; l < d->location_count; l++)
        if (d->locations[l].domain != d->locations[0].domain)
            return false;
    return true;
}

static bool has_own_bounds(const struct gn_definitions *d)
{
    const char *bounds = gn_string(d, d->clock_bounds);
    return bounds[0] && strcmp(bounds, GN_CLOCK_BOUNDS_COARSE) != 0;
}

/* ---- what is taken ---- */

static void take_seen(struct gn_sync_clocks *c, const char *why)
{
    c->presync = c->seen;
    c->is_seen = true;
    c->why = why;
}

/* Who is asked, and about what. */
struct question {
    const struct gn_bounds_asker *asker;
    const struct gn_definitions *definitions;
    const char *path;
};

static struct gn_presync of_bounds(const struct gn_definitions *d, const struct gn_bounds_known *known)
{
    return (struct gn_presync){.kind = GN_PRESYNC_BOUNDS,
                               .definitions = d,
                               .bounds = known->of,
                               .epoch_ticks = (int64_t)d->first_ticks,
                               .has_offsets = known->is_own};
}

static int take_bounds(struct gn_sync_clocks *c, const struct question *q, struct gn_bounds_known *known,
                       struct gn_error *err)
{
    const struct gn_definitions *d = q->definitions;
    int code = q->asker->find(q->asker->self, d, known, err);
    if (code < 0)
        return code;
    c->has_bounds = true;
    for (size_t l = 0; l < d->location_count; l++)
        c->bounded += known->of[l] != NULL;
    c->presync = of_bounds(d, known);
    c->is_seen = known->is_own;
    return 0;
}

static void drop_bounds(struct gn_sync_clocks *c)
{
    c->has_bounds = false;
    c->bounded = 0;
}

static int ask_bounds(struct gn_sync_clocks *c, const struct question *q, struct gn_error *err)
{
    struct gn_bounds_known known;
    int code = take_bounds(c, q, &known, err);
    if (code < 0)
        return code;
    if (c->bounded == 0)
        return gn_fail(
            err, -ENODATA,
            "nothing bounds the clocks of %s: no messages go both ways between its hosts, and there "
            "is no run beside it; use --presync linear or none",
            q->path);
    c->why = known.is_own         ? "the archive's own"
             : known.is_exchanged ? "from the run's exchanges and the program's messages"
                                  : "from the program's messages";
    return 0;
}

/* Bounds from messages alone are not taken unasked: they are wider than what offsets say. */
static int choose(struct gn_sync_clocks *c, const struct question *q, struct gn_error *err)
{
    const bool own = has_own_bounds(q->definitions), one = has_one_clock(q->definitions);
    struct gn_bounds_known known;
    if (own || (!one && q->asker->has_run(q->asker->self))) {
        int code = take_bounds(c, q, &known, err);
        if (code < 0)
            return code;
        c->why = own ? "the archive has bounds of its clocks" : "the run has exchanges between its hosts";
        if (c->bounded && (own || known.is_exchanged))
            return 0;
        drop_bounds(c);
    }
    take_seen(c, c->seen.kind == GN_PRESYNC_LINEAR ? "the archive has clock offsets"
                 : one                             ? "all locations have the same clock"
                                                   : "the archive has no clock offsets");
    return 0;
}

static int take(struct gn_sync_clocks *c, enum gn_sync_presync asked, const struct question *q,
                struct gn_error *err)
{
    const bool has_offsets = c->seen.kind == GN_PRESYNC_LINEAR;
    switch (asked) {
    case GN_SYNC_NONE:
        c->presync = (struct gn_presync){.kind = GN_PRESYNC_NONE, .definitions = q->definitions};
        c->is_seen = !has_offsets;
        c->why = has_offsets ? "as asked; the archive's clock offsets are not used" : "as asked";
        return 0;
    case GN_SYNC_LINEAR:
        take_seen(c, has_offsets ? "as asked" : "as asked, but the archive has no clock offsets");
        c->presync.kind = GN_PRESYNC_LINEAR;
        return 0;
    case GN_SYNC_BOUNDS:
        return ask_bounds(c, q, err);
    default:
        c->was_chosen = true;
        return choose(c, q, err);
    }
}

int gn_sync_clocks(struct gn_sync_clocks *clocks, enum gn_sync_presync asked, const char *path,
                   const struct gn_bounds_asker *asker, const struct gn_definitions *definitions,
                   struct gn_error *err)
{
    const struct question question = {asker, definitions, path};
    *clocks = (struct gn_sync_clocks){.seen = {.kind = GN_PRESYNC_LINEAR, .definitions = definitions}};
    if (!moves(&clocks->seen))
        clocks->seen.kind = GN_PRESYNC_NONE;
    return take(clocks, asked, &question, err);
}

int gn_sync_bounds_at_hand(const struct gn_sync_clocks *clocks, const struct gn_bounds_asker *asker,
                           const struct gn_definitions *definitions, struct gn_presync *bounds,
                           struct gn_error *err)
{
    struct gn_bounds_known known;
    *bounds = (struct gn_presync){.kind = GN_PRESYNC_NONE, .definitions = definitions};
    if (clocks->presync.kind == GN_PRESYNC_BOUNDS) {
        *bounds = clocks->presync;
        return 0;
    }
    if (!has_own_bounds(definitions))
        return 0;
    int code = asker->find(asker->self, definitions, &known, err);
    if (code == 0)
        *bounds = of_bounds(definitions, &known);
    return code;
}
