#include "cli/place.h"

#include "agent/folder.h"

#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *option; /* -d, on the command line */

static error_t parse(int key, char *value, struct argp_state *state)
{
    if (key != 'd')
        return ARGP_ERR_UNKNOWN;
    if (!*value)
        argp_error(state, "--folder: the name of a folder is expected");
    option = value;
    return 0;
}

static const struct argp_option options[] = {
    {"folder", 'd', "FOLDER", 0, "Where run folders are (default $GNOMON_FOLDER, or the working directory)",
     0},
    {0}};

static const struct argp argp = {options, parse, NULL, NULL, NULL, NULL, NULL};

const struct argp_child gn_place_option[] = {{&argp, 0, NULL, 0}, {0}};

static const char *named(void)
{
    const char *variable = getenv("GNOMON_FOLDER");
    return option ? option : variable && *variable ? variable : NULL;
}

const char *gn_place_of_runs(void)
{
    return named() ? named() : ".";
}

static bool is_run(const char *folder)
{
    char part[4200];
    snprintf(part, sizeof part, "%s/profile.db", folder);
    if (access(part, F_OK) == 0)
        return true;
    snprintf(part, sizeof part, "%s/parts", folder);
    return access(part, F_OK) == 0;
}

int gn_place_find(const char *name, char *path, size_t size, struct gn_error *err)
{
    struct gn_error nothing_there;
    if (!name)
        return gn_folder_newest(gn_place_of_runs(), path, size, err);
    if (!is_run(name) && gn_folder_newest(name, path, size, &nothing_there) == 0)
        return 0;
    if (snprintf(path, size, "%s", name) >= (int)size)
        return gn_fail(err, -ENAMETOOLONG, "the name of the run or trace is too long: %.64s…", name);
    return 0;
}

/* Others read the path in other working directories. */
static int make_absolute(const char *name, char *path, size_t size)
{
    char here[4096] = "";
    if (name[0] != '/' && !getcwd(here, sizeof here))
        return -errno;
    int bytes = snprintf(path, size, "%s%s%s", here, here[0] ? "/" : "", name);
    return bytes < 0 || (size_t)bytes >= size ? -ENAMETOOLONG : 0;
}

int gn_place_open(char *path, size_t size, struct gn_error *err)
{
    path[0] = '\0';
    if (!named())
        return 0;
    int code = make_absolute(named(), path, size);
    if (code == 0)
        code = gn_folder_make_all(path);
    if (code == 0 && access(path, W_OK | X_OK) != 0)
        code = -errno;
    return code == 0 ? 0
                     : gn_fail(err, code,
                               "runs cannot be kept in %s (%s): %s; name a folder that can be written with "
                               "-d FOLDER",
                               named(), option ? "-d" : "GNOMON_FOLDER", strerror(-code));
}

/* Whether an agent is at work there: it touches its mark every 2 seconds. */
static bool is_finishing(const char *mark)
{
    enum { SILENCE_S = 5 };
    char line[64];
    struct stat info;
    FILE *file = fopen(mark, "re");
    const bool is = file && fgets(line, sizeof line, file) && strcmp(line, "state finishing\n") == 0 &&
                    fstat(fileno(file), &info) == 0 && time(NULL) - info.st_mtime <= SILENCE_S;
    if (file)
        fclose(file);
    return is;
}

/* An agent that has seen the last process end needs a moment to write the profile, and on several hosts the
 * first one to do so is not the last: a launcher that was killed, or that killed its ranks, does not wait for
 * them. */
void gn_place_wait(const char *run)
{
    char pattern[4200];
    for (int tenths = 0; tenths < 300; tenths++) {
        glob_t marks;
        bool finishing = false;
        snprintf(pattern, sizeof pattern, "%s/parts/*.open", run);
        if (glob(pattern, 0, NULL, &marks) != 0)
            return;
        for (size_t i = 0; i < marks.gl_pathc; i++)
            finishing |= is_finishing(marks.gl_pathv[i]);
        globfree(&marks);
        if (!finishing)
            return;
        usleep(100000);
    }
}
