#include "cli/start.h"

#include "cli/find.h"
#include "cli/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* LD_PRELOAD splits at spaces and colons: a library below such a path is reached through a link without them,
 * of this job and host alone. The agent removes it. */
static int make_link(const char *library, const char *link)
{
    char fresh[160];
    snprintf(fresh, sizeof fresh, "%s.%d", link,
             (int)getpid()); /* other ranks do the same at the same time */
    if (symlink(library, fresh) != 0)
        return -errno;
    int code = rename(fresh, link) == 0 ? 0 : -errno;
    if (code != 0)
        unlink(fresh);
    return code;
}

/* Whoever asked for a trace hears why there is none. */
static bool is_traced(const struct gn_trace_settings *trace)
{
    return trace->ring_records > 0 && trace->windows_rate <= 0;
}

/* Behind what else is preloaded, and ahead of all other libraries, stands the one that meets calls of these
 * functions, if there are any. */
static void add_activities(const struct gn_job *job, const char *program, const char *names)
{
    char library[4096], executable[4096], file[128], preload[8400];
    if (!gn_find_in_path(program, executable, sizeof executable))
        return;
    if (gn_find_library("libgnomon-activities.so", library, sizeof library) != 0) {
        fprintf(
            stderr,
            "gnomon run: --activity: libgnomon-activities.so is not beside this gnomon: it is installed in "
            "part only, or made for another processor than x86-64\n");
        return;
    }
    gn_job_activities(job, executable, names, file);
    const pid_t child = fork();
    if (child == 0) {
        unsetenv("LD_PRELOAD");
        gn_become_commands((char *[]){"gnomon", "activities", library, file, executable, (char *)names,
                                      job->local_rank > 0 ? "quiet" : NULL, NULL});
        _exit(1);
    }
    int status = 1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (child < 0 || status != 0)
        return;
    const char *before = getenv("LD_PRELOAD");
    snprintf(preload, sizeof preload, "%s:%s", before, file);
    setenv("LD_PRELOAD", preload, 1);
}

static int set_environment(const char *library, const char *link, const char *agent, const char *pcontrol,
                           bool traced, struct gn_error *err)
{
    char preload[8192];
    int code = link ? make_link(library, link) : 0;
    if (code != 0)
        return gn_fail(err, code,
                       "the path of %s has a space in it, and the link %s to it cannot be made: %s", library,
                       link, strerror(-code));
    library = link ? link : library;
    const char *before = getenv("LD_PRELOAD");
    snprintf(preload, sizeof preload, before && *before ? "%s:%s" : "%s", library, before);
    setenv("LD_PRELOAD", preload, 1);
    setenv("GNOMON_AGENT", agent, 1);
    if (pcontrol)
        setenv("GNOMON_PCONTROL", pcontrol, 1);
    if (traced)
        setenv("GNOMON_TRACE", "1", 1);
    char self[4096]; /* for what the program spawns */
    if (gn_find_self(self, sizeof self) == 0)
        setenv("GNOMON_RUN", self, 1);
    return 0;
}

/* The capture library; link: by which name it can be preloaded on this host, "" where its own will do. */
static int find_library(const char *agent, char *library, size_t size, char link[96], struct gn_error *err)
{
    link[0] = '\0';
    if (gn_find_capture(library, size) != 0)
        return gn_fail(err, -ENOENT, "libgnomon.so is not beside this gnomon: it is installed in part only");
    if (strpbrk(library, " :"))
        snprintf(link, 96, "/tmp/%s-libgnomon.so", agent);
    return 0;
}

int gn_start_measured(const struct gn_job *job, const struct gn_agent_settings *settings,
                      const char *pcontrol, const char *activities, struct gn_error *err)
{
    char agent[64], link[96], library[4096], executable[4096], self[4096], where[3500] = "";
    struct gn_agent_settings with = *settings;
    if (gn_find_commands(executable, sizeof executable) != 0)
        return gn_fail(err, -ENOENT,
                       "lib/gnomon/gnomon-commands is not beside this gnomon: it is installed in part only");
    gn_job_socket(job, agent);
    int code = find_library(agent, library, sizeof library, link, err);
    if (code != 0)
        return code;
    with.link = link[0] ? link : NULL;
    with.executable = executable;
    with.guard = gn_find_self(self, sizeof self) == 0 ? self : NULL;
    with.where = where;
    code = with.into ? 0 : gn_place_open(where, sizeof where, err);
    if (code == 0)
        code = gn_agent_enlist(job, &with, agent, err);
    code =
        code ? code : set_environment(library, with.link, agent, pcontrol, is_traced(&settings->trace), err);
    if (code == 0 && activities)
        add_activities(job, settings->program, activities);
    return code;
}

int gn_start_spawned(const struct gn_job *job, const struct gn_agent_settings *settings, const char *pcontrol,
                     const char *by, struct gn_error *err)
{
    char *socket_name, link[96], library[4096];
    long spawner = strtol(by, &socket_name, 10);
    if (spawner <= 0 || *socket_name != ':')
        return gn_fail(err, -EINVAL, "%s does not say who spawned it", by);
    int code = find_library(++socket_name, library, sizeof library, link, err);
    if (code == 0)
        code = gn_agent_enlist_spawned(job, settings, socket_name, (int)spawner, err);
    return code != 0 ? code
                     : set_environment(library, link[0] ? link : NULL, socket_name, pcontrol,
                                       is_traced(&settings->trace), err);
}
