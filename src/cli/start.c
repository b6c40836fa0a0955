#include "cli/start.h"

#include "cli/find.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* LD_PRELOAD splits at spaces and colons: a library below such a path is reached through a link without them.
 */
static int without_spaces(char *path, size_t size)
{
    if (!strpbrk(path, " :"))
        return 0;
    char link[128], fresh[160];
    struct stat library;
    if (stat(path, &library) != 0)
        return -errno;
    /* one name for each library: another gnomon may run at the same time */
    snprintf(link, sizeof link, "/tmp/gnomon-%u-%llx-libgnomon.so", (unsigned)getuid(),
             (unsigned long long)library.st_ino ^ ((unsigned long long)library.st_dev << 40));
    snprintf(fresh, sizeof fresh, "%s.%d", link,
             (int)getpid()); /* other ranks do the same at the same time */
    if (symlink(path, fresh) != 0)
        return -errno;
    if (rename(fresh, link) != 0) {
        int code = -errno;
        unlink(fresh);
        return code;
    }
    snprintf(path, size, "%s", link);
    return 0;
}

static int set_environment(const char *agent, const char *pcontrol, bool traced, struct gn_error *err)
{
    char library[4096], preload[8192];
    if (gn_find_capture(library, sizeof library) != 0)
        return gn_fail(err, -ENOENT, "libgnomon.so is not beside this gnomon: it is installed in part only");
    if (without_spaces(library, sizeof library) != 0)
        return gn_fail(err, -EINVAL, "the path of %s has a space in it, and no link to it could be made",
                       library);
    const char *before = getenv("LD_PRELOAD");
    snprintf(preload, sizeof preload, before && *before ? "%s:%s" : "%s", library, before);
    setenv("LD_PRELOAD", preload, 1);
    setenv("GNOMON_AGENT", agent, 1);
    if (pcontrol)
        setenv("GNOMON_PCONTROL", pcontrol, 1);
    if (traced)
        setenv("GNOMON_TRACE", "1", 1);
    return 0;
}

int gn_start_measured(const struct gn_job *job, const struct gn_agent_settings *settings,
                      const char *pcontrol, struct gn_error *err)
{
    char agent[64];
    int code = gn_agent_enlist(job, settings, agent, err);
    return code != 0 ? code : set_environment(agent, pcontrol, settings->trace.ring_records > 0, err);
}
