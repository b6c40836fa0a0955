#include "cli/live_copy.h"

#include "agent/peek.h"
#include "cli/interrupted.h"
#include "profile/profile.h"
#include "trace/copy_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char made[4096]; /* "": none */

static void remove_made(void)
{
    if (made[0])
        gn_remove_tree(made, NULL);
    made[0] = '\0';
}

static void clean(void *unused)
{
    (void)unused;
    remove_made();
}

static int make(struct gn_error *err)
{
    const char *where = getenv("TMPDIR");
    snprintf(made, sizeof made, "%.4000s/gnomon-live-XXXXXX", where && *where ? where : "/tmp");
    gn_interrupted_begin();
    if (!mkdtemp(made)) {
        const int code = gn_fail(err, -errno,
                                 "cannot make a folder for a copy of the run, %s: %s; TMPDIR names "
                                 "another place",
                                 made, strerror(errno));
        made[0] = '\0';
        return code;
    }
    gn_interrupted_clean(clean, NULL);
    atexit(remove_made);
    return 0;
}

int gn_live_copy(sqlite3 **db, const char *folder, char *copy, size_t size, struct gn_error *err)
{
    *db = NULL;
    int code = make(err);
    if (code == 0)
        code = gn_peek_copy(db, folder, made, err);
    gn_interrupted_check();
    snprintf(copy, size, "%s", code > 0 ? folder : made);
    if (code != 0)
        remove_made();
    return code < 0 ? code : 0;
}
