#include "analyse/site_tally.h"

#include <errno.h>
#include <stdlib.h>

int gn_site_tally_open(struct gn_site_tally *t, const struct gn_seen *seen)
{
    const size_t sites = seen->site_count, processes = seen->definitions->process_count;
    *t = (struct gn_site_tally){.seen = seen,
                                .each = calloc(sites * seen->count + 1, sizeof *t->each),
                                .of_ns = calloc(sites * processes + 1, sizeof *t->of_ns),
                                .for_ns = calloc(sites * processes + 1, sizeof *t->for_ns),
                                .seen_ns = calloc(sites + 1, sizeof *t->seen_ns),
                                .times = calloc(sites + 1, sizeof *t->times)};
    if (t->each && t->of_ns && t->for_ns && t->seen_ns && t->times)
        return 0;
    gn_site_tally_clear(t);
    return -ENOMEM;
}

void gn_site_tally_add(struct gn_site_tally *t, size_t part, const struct gn_call *call, uint32_t partner,
                       struct gn_span span)
{
    const struct gn_definitions *d = t->seen->definitions;
    const int64_t site =
        gn_seen_counts(t->seen, part, call) ? gn_seen_site_of(t->seen, call->region, call->path) : -1;
    if (site < 0 || !(span.hi_ns > 0))
        return;
    const size_t first = (size_t)site * d->process_count;
    const double ns = (span.lo_ns + span.hi_ns) / 2;
    t->each[(size_t)site * t->seen->count + part].lo_ns += span.lo_ns;
    t->each[(size_t)site * t->seen->count + part].hi_ns += span.hi_ns;
    t->of_ns[first + d->locations[call->location].process] += ns;
    if (partner != GN_NONE)
        t->for_ns[first + partner] += ns;
    t->seen_ns[site] += ns;
    t->times[site]++;
}

static uint32_t largest(const double *ns, size_t count)
{
    uint32_t most = GN_NONE;
    for (size_t i = 0; i < count; i++)
        if (ns[i] > 0 && (most == GN_NONE || ns[i] > ns[most]))
            most = (uint32_t)i;
    return most;
}

struct gn_tallied gn_site_tally_of(const struct gn_site_tally *t, size_t site)
{
    const size_t processes = t->seen->definitions->process_count;
    struct gn_tallied told = {.seen_ns = t->seen_ns[site], .times = t->times[site]};
    if (told.times > 0)
        told.span = gn_seen_at_site(t->seen, site, &t->each[site * t->seen->count]);
    told.process = largest(&t->of_ns[site * processes], processes);
    told.partner = largest(&t->for_ns[site * processes], processes);
    told.process_ns = told.process == GN_NONE ? 0 : t->of_ns[site * processes + told.process];
    told.partner_ns = told.partner == GN_NONE ? 0 : t->for_ns[site * processes + told.partner];
    return told;
}

void gn_site_tally_clear(struct gn_site_tally *t)
{
    free(t->each);
    free(t->of_ns);
    free(t->for_ns);
    free(t->seen_ns);
    free(t->times);
    *t = (struct gn_site_tally){.seen = NULL};
}

/* ---- walks ---- */

int gn_walk_open(struct gn_walk *w, const struct gn_history *h)
{
    w->next = malloc((h->call_count + 1) * sizeof *w->next);
    w->computed_ns = malloc((h->call_count + 1) * sizeof *w->computed_ns);
    if (!w->next || !w->computed_ns) {
        gn_walk_close(w);
        return -ENOMEM;
    }
    for (uint32_t c = 0; c < h->call_count; c++)
        w->next[c] = GN_NONE;
    for (uint32_t c = 0; c < h->call_count; c++) { /* those of a location stand in their order */
        const uint32_t before = h->calls[c].before;
        w->computed_ns[c] = gn_computed_before(h, &h->calls[c]);
        if (before == GN_NONE)
            continue;
        w->next[before] = c;
        w->computed_ns[c] += w->computed_ns[before];
    }
    return 0;
}

void gn_walk_close(struct gn_walk *w)
{
    free(w->next);
    free(w->computed_ns);
    *w = (struct gn_walk){NULL, NULL};
}
