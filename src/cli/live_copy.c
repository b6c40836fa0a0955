#include "cli/live_copy.h"

#include "agent/abandoned.h"
#include "agent/peek.h"
#include "cli/interrupted.h"
#include "profile/profile.h"
#include "trace/copy_file.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char made[4096]; /* "": none */

int gn_live_finish(const char *folder, struct gn_error *err)
{
    char path[4200];
    struct gn_error reason;
    snprintf(path, sizeof path, "%.4096s/profile.db", folder);
    if (access(path, F_OK) == 0)
        return 0;
    snprintf(path, sizeof path, "%.4096s/parts", folder);
    if (access(path, F_OK) != 0)
        return 0;
    const int code = gn_abandoned_finish(folder, &reason);
    if (code == -EBUSY)
        return gn_fail(
            err, code,
            "the run %s has no profile.db yet: %s; with --live its commands look at what there is now",
            folder, reason.text);
    if (code < 0)
        return gn_fail(err, code, "%s", reason.text);
    if (code > 0)
        fprintf(stderr, "gnomon: %s was never finished: done now, with what had been saved\n", folder);
    return 0;
}

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
    char folder[sizeof made];
    snprintf(folder, sizeof folder, "%.4000s/gnomon-live-XXXXXX", where && *where ? where : "/tmp");
    gn_interrupted_begin();
    gn_interrupted_clean(clean, NULL);
    atexit(remove_made);
    signal(SIGPIPE, SIG_IGN); /* who reads the answer may have gone: that is an error, and no end */
    if (!mkdtemp(folder))
        return gn_fail(err, -errno,
                       "cannot make a folder for a copy of the run, %s: %s; TMPDIR names another place",
                       folder, strerror(errno));
    memcpy(made, folder, sizeof made);
    return 0;
}

void gn_live_tell_ended(const char *folder)
{
    fprintf(stderr, "gnomon: %s does not go on: what follows is of all of it\n", folder);
}

int gn_live_copy(sqlite3 **db, const char *folder, char *copy, size_t size, struct gn_error *err)
{
    *db = NULL;
    int code = make(err);
    if (code == 0)
        code = gn_peek_copy(db, folder, made, err);
    gn_interrupted_check();
    snprintf(copy, size, "%s", code > 0 ? folder : made);
    if (code > 0)
        gn_live_tell_ended(folder);
    if (code != 0)
        remove_made();
    return code < 0 ? code : 0;
}
