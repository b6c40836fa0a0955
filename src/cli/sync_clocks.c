#include "cli/sync_clocks.h"

#include "trace/archive.h"
#include "trace/vocabulary.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* RUN/trace/traces.otf2 has RUN/profile.db beside it. */
static bool has_run(const char *path)
{
    struct gn_archive archive;
    char profile[PATH_MAX + 24];
    if (gn_archive_find(&archive, path, NULL) != 0)
        return false;
    const char *file = strrchr(archive.anchor, '/');
    snprintf(profile, sizeof profile, "%.*s/../profile.db", file ? (int)(file - archive.anchor) : 1,
             file ? archive.anchor : ".");
    return access(profile, R_OK) == 0;
}

/* ---- what is taken ---- */

static void take_seen(struct gn_sync_clocks *c, const char *why)
{
    c->presync = c->seen;
    c->is_seen = true;
    c->why = why;
}

static int take_bounds(struct gn_sync_clocks *c, const char *path, const struct gn_definitions *d,
                       struct gn_error *err)
{
    int code = gn_known_bounds(&c->known, path, d, err);
    if (code < 0)
        return code;
    c->has_known = true;
    for (size_t l = 0; l < d->location_count; l++)
        c->bounded += c->known.events.of[l] != NULL;
    c->presync = (struct gn_presync){.kind = GN_PRESYNC_BOUNDS,
                                     .definitions = d,
                                     .bounds = c->known.events.of,
                                     .epoch_ticks = (int64_t)d->first_ticks,
                                     .has_offsets = c->known.own != NULL};
    c->is_seen = c->known.own != NULL;
    return 0;
}

static void drop_bounds(struct gn_sync_clocks *c)
{
    if (c->has_known)
        gn_known_bounds_clear(&c->known);
    c->has_known = false;
    c->bounded = 0;
}

static int ask_bounds(struct gn_sync_clocks *c, const char *path, const struct gn_definitions *d,
                      struct gn_error *err)
{
    int code = take_bounds(c, path, d, err);
    if (code < 0)
        return code;
    if (c->bounded == 0)
        return gn_fail(
            err, -ENODATA,
            "nothing bounds the clocks of %s: no messages go both ways between its hosts, and there "
            "is no run beside it; use --presync linear or none",
            path);
    c->why = c->known.own                ? "the archive's own"
             : c->known.clocks.exchanged ? "from the run's exchanges and the program's messages"
                                         : "from the program's messages";
    return 0;
}

/* Bounds from messages alone are not taken unasked: they are wider than what offsets say. */
static int choose(struct gn_sync_clocks *c, const char *path, const struct gn_definitions *d,
                  struct gn_error *err)
{
    const bool own = has_own_bounds(d), one = has_one_clock(d);
    if (own || (!one && has_run(path))) {
        int code = take_bounds(c, path, d, err);
        if (code < 0)
            return code;
        c->why = own ? "the archive has bounds of its clocks" : "the run has exchanges between its hosts";
        if (c->bounded && (own || c->known.clocks.exchanged))
            return 0;
        drop_bounds(c);
    }
    take_seen(c, c->seen.kind == GN_PRESYNC_LINEAR ? "the archive has clock offsets"
                 : one                             ? "all locations have the same clock"
                                                   : "the archive has no clock offsets");
    return 0;
}

static int take(struct gn_sync_clocks *c, enum gn_sync_presync asked, const char *path,
                const struct gn_definitions *d, struct gn_error *err)
{
    const bool has_offsets = c->seen.kind == GN_PRESYNC_LINEAR;
    switch (asked) {
    case GN_SYNC_NONE:
        c->presync = (struct gn_presync){.kind = GN_PRESYNC_NONE, .definitions = d};
        c->is_seen = !has_offsets;
        c->why = has_offsets ? "as asked; the archive's clock offsets are not used" : "as asked";
        return 0;
    case GN_SYNC_LINEAR:
        take_seen(c, has_offsets ? "as asked" : "as asked, but the archive has no clock offsets");
        c->presync.kind = GN_PRESYNC_LINEAR;
        return 0;
    case GN_SYNC_BOUNDS:
        return ask_bounds(c, path, d, err);
    default:
        c->was_chosen = true;
        return choose(c, path, d, err);
    }
}

int gn_sync_clocks(struct gn_sync_clocks *clocks, enum gn_sync_presync asked, const char *path,
                   const struct gn_definitions *definitions, struct gn_error *err)
{
    *clocks = (struct gn_sync_clocks){.seen = {.kind = GN_PRESYNC_LINEAR, .definitions = definitions}};
    if (!moves(&clocks->seen))
        clocks->seen.kind = GN_PRESYNC_NONE;
    int code = take(clocks, asked, path, definitions, err);
    if (code < 0)
        gn_sync_clocks_clear(clocks);
    return code;
}

void gn_sync_clocks_clear(struct gn_sync_clocks *clocks)
{
    drop_bounds(clocks);
    *clocks = (struct gn_sync_clocks){.why = NULL};
}
