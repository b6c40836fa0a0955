#include "kept_exchanges.h"

#include "profile/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int read_clocks(struct kept_exchanges *kept, sqlite3 *db, const char *run, struct gn_error *err)
{
    int code = gn_profile_read_clocks(db, &kept->clocks, err);
    if (code != 0)
        return code;
    if (kept->clocks.count == 2)
        code = gn_profile_read_exchanges(db, kept->clocks.rows[1].domain, &kept->list, &kept->count, err);
    else
        code = gn_fail(err, -EINVAL, "%s: a run on two hosts is needed, not on %" PRIu32, run,
                       kept->clocks.count);
    if (code != 0)
        gn_profile_clocks_clear(&kept->clocks);
    return code;
}

int kept_exchanges_read(struct kept_exchanges *kept, const char *run, struct gn_error *err)
{
    char path[4096];
    sqlite3 *db;
    *kept = (struct kept_exchanges){.list = NULL};
    snprintf(path, sizeof path, "%s/profile.db", run);
    int code = gn_profile_open(&db, path, err);
    if (code != 0)
        return code;
    code = read_clocks(kept, db, run, err);
    gn_profile_close(db);
    return code;
}

void kept_exchanges_clear(struct kept_exchanges *kept)
{
    gn_profile_clocks_clear(&kept->clocks);
    free(kept->list);
    *kept = (struct kept_exchanges){.list = NULL};
}
