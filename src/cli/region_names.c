#include "cli/region_names.h"

#include "base/edits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Regions that somebody was in: definitions may hold more. */
static bool *entered(const struct gn_history *h)
{
    bool *is = calloc(h->definitions->region_count + 1, sizeof *is);
    for (size_t l = 0; is && l < h->definitions->location_count; l++)
        for (size_t i = 0; i < h->tracks[l].count; i++)
            if (h->tracks[l].changes[i].region < h->definitions->region_count)
                is[h->tracks[l].changes[i].region] = true;
    return is;
}

static int no_such_region(const struct gn_definitions *d, const bool *is_entered, const char *name,
                          struct gn_error *err)
{
    const char *nearest = NULL;
    size_t edits = SIZE_MAX;
    for (size_t i = 0; i < d->region_count; i++) {
        const char *known = gn_string(d, d->regions[i].name);
        if (!is_entered[i] || !known[0] || gn_edits(name, known) >= edits)
            continue;
        edits = gn_edits(name, known);
        nearest = known;
    }
    if (!nearest)
        return gn_fail(err, -ENOENT, "no location is ever in a region \"%s\": the trace has no regions",
                       name);
    return gn_fail(err, -ENOENT, "no location is ever in a region \"%s\"; did you mean \"%s\"?", name,
                   nearest);
}

static int choose(bool *chosen, const struct gn_history *h, const bool *is_entered, const char *name,
                  struct gn_error *err)
{
    const struct gn_definitions *d = h->definitions;
    bool any = false;
    for (size_t i = 0; i < d->region_count; i++)
        if (is_entered[i] && strcmp(gn_string(d, d->regions[i].name), name) == 0)
            chosen[i] = any = true;
    return any ? 0 : no_such_region(d, is_entered, name, err);
}

int gn_regions_named(bool **chosen, const struct gn_history *history, const char *const *names, size_t count,
                     struct gn_error *err)
{
    bool *is_entered = entered(history);
    *chosen = calloc(history->definitions->region_count + 1, sizeof **chosen);
    int code = is_entered && *chosen ? 0 : gn_fail(err, -ENOMEM, "no memory for the trace's regions");
    for (size_t n = 0; n < count && code == 0; n++)
        code = choose(*chosen, history, is_entered, names[n], err);
    free(is_entered);
    if (code < 0) {
        free(*chosen);
        *chosen = NULL;
    }
    return code;
}

void gn_region_name_option(struct argp_state *state, struct gn_region_names *names, const char *name)
{
    if (names->count == GN_REGION_NAMES)
        argp_error(state, "%s: at most %d regions", name, GN_REGION_NAMES);
    names->list[names->count++] = name;
}

int gn_regions_chosen(bool **chosen, const struct gn_history *history, const struct gn_region_names *names,
                      struct gn_error *err)
{
    *chosen = NULL;
    return names->count ? gn_regions_named(chosen, history, names->list, names->count, err) : 0;
}
