/* What processes compute after calls, from the profile: for the sites of what was seen. */
#include "analyse/patterns_look.h"
#include "analyse/patterns_seen.h"
#include "base/printable.h"
#include "profile/after_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct named_site {
    struct gn_call_place place;
    size_t site;
    bool is_one; /* no other one has this name */
};

struct telling {
    struct gn_seen *seen;
    struct named_site *sites; /* in order */
    uint32_t *process_of;     /* [rank_count] GN_NONE: none */
    int rank_count;
    bool is_told; /* anything was */
};

static int compare(const void *left, const void *right)
{
    const struct gn_call_place *a = &((const struct named_site *)left)->place,
                               *b = &((const struct named_site *)right)->place;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    const int order = strcmp(a->call, b->call);
    return order ? order : strcmp(gn_base_name(a->file), gn_base_name(b->file));
}

static int take(void *self, const struct gn_after_calls *after)
{
    struct telling *t = self;
    const struct named_site asked = {.place = {after->call, "", after->file, after->line}};
    const struct named_site *found =
        bsearch(&asked, t->sites, t->seen->site_count, sizeof *t->sites, compare);
    const uint32_t process =
        after->rank >= 0 && after->rank < t->rank_count ? t->process_of[after->rank] : GN_NONE;
    if (!found || !found->is_one || process == GN_NONE)
        return 0;
    struct gn_seen_after *to = &t->seen->after[found->site * t->seen->definitions->process_count + process];
    to->ns += after->ns;
    to->times += after->times;
    t->is_told = true;
    return 0;
}

/* False: of several worlds, whose ranks have the same numbers. */
static bool find_ranks(struct telling *t)
{
    const struct gn_definitions *d = t->seen->definitions;
    bool is_one = true;
    for (int i = 0; i < t->rank_count; i++)
        t->process_of[i] = GN_NONE;
    for (uint32_t p = 0; p < d->process_count; p++)
        if (d->processes[p].rank >= 0 && d->processes[p].rank < t->rank_count) {
            is_one = is_one && t->process_of[d->processes[p].rank] == GN_NONE;
            t->process_of[d->processes[p].rank] = p;
        }
    return is_one;
}

static void name_sites(struct telling *t)
{
    const size_t count = t->seen->site_count;
    for (size_t i = 0; i < count; i++) {
        struct gn_call_place place = gn_call_place_of(t->seen, &t->seen->sites[i]);
        if (place.line <= 0) /* as the profile has it */
            place.file = place.function;
        t->sites[i] = (struct named_site){place, i, true};
    }
    qsort(t->sites, count, sizeof *t->sites, compare);
    for (size_t i = 1; i < count; i++)
        if (compare(&t->sites[i - 1], &t->sites[i]) == 0)
            t->sites[i - 1].is_one = t->sites[i].is_one = false;
}

int gn_seen_tell_after(struct gn_seen *seen, sqlite3 *db, struct gn_error *err)
{
    const size_t processes = seen->definitions->process_count;
    struct telling t = {.seen = seen,
                        .sites = calloc(seen->site_count + 1, sizeof *t.sites),
                        .process_of = calloc(processes + 1, sizeof *t.process_of),
                        .rank_count = (int)processes};
    free(seen->after);
    seen->after = calloc(seen->site_count * processes + 1, sizeof *seen->after);
    int code = t.sites && t.process_of && seen->after
                   ? 0
                   : gn_fail(err, -ENOMEM, "no memory for what follows calls");
    if (code == 0 && find_ranks(&t)) {
        name_sites(&t);
        code = gn_profile_after_calls(db, take, &t, err);
    }
    if (!t.is_told) {
        free(seen->after);
        seen->after = NULL;
    }
    free(t.sites);
    free(t.process_of);
    return code;
}
