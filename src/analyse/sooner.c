#include "analyse/sooner.h"

#include <errno.h>
#include <stdlib.h>

static void find_ahead(bool *ahead, const struct gn_seen *seen, const struct gn_history *h, size_t site,
                       bool are_receives)
{
    const enum gn_take_kind kind = are_receives ? GN_TAKE_RECEIVER : GN_TAKE_MESSAGE;
    for (size_t c = 0; c < h->call_count; c++) {
        const struct gn_call *call = &h->calls[c];
        if (call->take_count == 0 || gn_seen_site_of(seen, call->region, call->path) != (int64_t)site)
            continue;
        for (uint32_t i = call->first_take; i < call->first_take + call->take_count; i++)
            if (h->takes[i].kind == kind)
                ahead[h->takes[i].from] = true;
    }
}

int gn_sooner_find(struct gn_whatif_result *result, const struct gn_seen *seen, size_t part, size_t site,
                   bool are_receives, struct gn_error *err)
{
    const struct gn_history *h = &seen->parts[part].history;
    bool *ahead = calloc(h->call_count + 1, sizeof *ahead);
    float *none = calloc(h->call_count + 1, sizeof *none);
    struct gn_whatif_pass *pass = gn_whatif_pass_new(h);
    const bool has_memory = ahead && none && pass;
    if (has_memory) {
        find_ahead(ahead, seen, h, site, are_receives);
        *result = gn_whatif(pass, &(struct gn_whatif){.before = none, .ahead = ahead});
    }
    free(ahead);
    free(none);
    gn_whatif_pass_free(pass);
    return has_memory ? 0 : gn_fail(err, -ENOMEM, "no memory for %zu calls", h->call_count);
}
