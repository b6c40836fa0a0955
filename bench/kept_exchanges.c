#include "kept_exchanges.h"

#include "profile/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_one(struct kept_exchanges *kept, sqlite3 *db, uint32_t number, struct gn_error *err)
{
    const struct gn_clock_row *row = &kept->clocks.rows[number], *reference = &kept->clocks.rows[0];
    if (!row->parent || strcmp(row->parent, reference->domain) != 0)
        return gn_fail(err, -EINVAL, "%s: its exchanges are not with %s (gnomon run --clock-branching)",
                       row->domain, reference->domain);
    struct kept_list *of = &kept->of[number];
    return gn_profile_read_exchanges(db, row->domain, &of->list, &of->count, err);
}

static int read_clocks(struct kept_exchanges *kept, sqlite3 *db, struct gn_error *err)
{
    int code = gn_profile_read_clocks(db, &kept->clocks, err);
    if (code != 0)
        return code;
    kept->of = calloc(kept->clocks.count + 1, sizeof *kept->of);
    code = kept->of ? 0 : gn_fail(err, -ENOMEM, "no memory for %" PRIu32 " clocks", kept->clocks.count);
    for (uint32_t i = 1; i < kept->clocks.count && code == 0; i++)
        code = read_one(kept, db, i, err);
    if (code != 0)
        kept_exchanges_clear(kept);
    return code;
}

int kept_exchanges_read(struct kept_exchanges *kept, const char *run, struct gn_error *err)
{
    char path[4096];
    sqlite3 *db;
    *kept = (struct kept_exchanges){.of = NULL};
    snprintf(path, sizeof path, "%s/profile.db", run);
    int code = gn_profile_open(&db, path, err);
    if (code != 0)
        return code;
    code = read_clocks(kept, db, err);
    gn_profile_close(db);
    return code;
}

void kept_exchanges_clear(struct kept_exchanges *kept)
{
    for (uint32_t i = 0; kept->of && i < kept->clocks.count; i++)
        free(kept->of[i].list);
    free(kept->of);
    gn_profile_clocks_clear(&kept->clocks);
    *kept = (struct kept_exchanges){.of = NULL};
}
