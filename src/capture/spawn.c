#include "capture/spawn.h"

#include "capture/comms.h"
#include "capture/facts.h"
#include "capture/flavour.h"
#include "capture/real.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct gn_spawn_settings settings;

void gn_spawn_open(const struct gn_spawn_settings *given)
{
    settings = *given;
}

/* ---- whether ---- */

/* The arguments mean something at the root only. Of a communicator that is not known MPI is asked nothing: it
 * may be none, and the error would be another function's. */
static bool is_root(int root, gn_handle comm)
{
    return gn_ring_memory && gn_comm_number(comm) != GN_NONE && gn_comm_rank(comm) == root;
}

static bool is_program(const char *path)
{
    char inside[4200];
    const int bytes = snprintf(inside, sizeof inside, "%s/.", path);
    return bytes > 2 && (size_t)bytes < sizeof inside && access(path, X_OK) == 0 && access(inside, F_OK) != 0;
}

static bool is_in_path(const char *command)
{
    char place[4200];
    const char *path = getenv("PATH");
    while (path && *path) {
        const size_t length = strcspn(path, ":");
        const int bytes = snprintf(place, sizeof place, "%.*s/%s", (int)length, path, command);
        if (length > 0 && (size_t)bytes < sizeof place && is_program(place))
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}

/* What cannot be found must fail in the library's own way. A name without a folder may be looked for where
 * the info says. */
static bool can_run(const char *command, gn_handle info)
{
    if (!command || !*command)
        return false;
    if (strchr(command, '/'))
        return is_program(command);
    return ((info ^ gn_flavour.info_null) & gn_flavour.handle_mask) == 0 && is_in_path(command);
}

/* ---- the words ---- */

static bool add(struct gn_spawn *s, const char *word)
{
    if (s->used == GN_SPAWN_WORDS)
        return false;
    s->words[s->used++] = word;
    return true;
}

/* Arguments for settings.run in s->words; NULL: there is no room for them. */
static const char *const *words_for(struct gn_spawn *s, const char *command, const char *const *argv)
{
    const char *const *first = &s->words[s->used];
    bool room = add(s, "run") && add(s, "--spawned-by") && add(s, s->by);
    if (settings.pcontrol)
        room = room && add(s, "--pcontrol") && add(s, settings.pcontrol);
    if (settings.traced)
        room = room && add(s, "--trace");
    room = room && add(s, "--") && add(s, command);
    for (; room && argv && *argv; argv++)
        room = add(s, *argv);
    return room && add(s, NULL) ? first : NULL;
}

static bool begin(struct gn_spawn *s, int root, gn_handle comm)
{
    s->used = 0;
    if (gn_is_closed() || !settings.run || !settings.run[0] || !is_root(root, comm))
        return false;
    snprintf(s->by, sizeof s->by, "%d:%s", (int)getpid(), settings.agent);
    return true;
}

void gn_spawn_through(struct gn_spawn *s, void **command, void **argv, gn_handle info, int root,
                      gn_handle comm)
{
    if (!begin(s, root, comm) || !can_run(*command, info))
        return;
    const char *const *words = words_for(s, *command, *argv);
    if (!words)
        return;
    *command = (void *)settings.run;
    *argv = (void *)words;
}

static gn_handle info_at(const void *infos, int i)
{
    gn_handle info = 0;
    memcpy(&info, (const char *)infos + (size_t)i * gn_flavour.handle_bytes, gn_flavour.handle_bytes);
    return info;
}

/* All or none: the children are one world. */
void gn_spawn_all_through(struct gn_spawn *s, int count, void **commands, void **argvs, const void *infos,
                          int root, gn_handle comm)
{
    char *const *given = *commands;
    const char *const *const *words = *argvs;
    if (!begin(s, root, comm) || count < 1 || count > GN_SPAWN_COMMANDS || !given || !infos)
        return;
    for (int i = 0; i < count; i++) {
        s->commands[i] = settings.run;
        if (!can_run(given[i], info_at(infos, i)) ||
            !(s->argvs[i] = words_for(s, given[i], words ? words[i] : NULL)))
            return;
    }
    *commands = (void *)s->commands;
    *argvs = (void *)s->argvs;
}

/* ---- how many ---- */

void gn_after_spawn(struct gn_capture_call *call, int maxprocs, int root, gn_handle comm)
{
    (void)call;
    if (is_root(root, comm) && maxprocs > 0)
        atomic_fetch_add(&gn_segment->spawned, (uint32_t)maxprocs);
}

void gn_after_spawn_multiple(struct gn_capture_call *call, int count, const void *maxprocs, int root,
                             gn_handle comm)
{
    const int *each = maxprocs;
    for (int i = 0; i < count && i < GN_SPAWN_COMMANDS; i++)
        gn_after_spawn(call, each[i], root, comm);
}
