#include "capture/sessions.h"

#include "capture/flavour.h"
#include "capture/real.h"

#include <pthread.h>
#include <string.h>

enum { SESSIONS = 64, WORDS = 64 };

static struct {
    gn_handle session, group; /* group 0: unknown */
} sessions[SESSIONS];
static int count;         /* that live */
static int beyond;        /* … and were not kept */
static _Atomic int world; /* MPI_COMM_WORLD is there */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static gn_handle world_group_of(gn_handle session)
{
    gn_handle group = 0;
    if (GN_PMPI(Group_from_session_pset, (gn_handle, const char *, gn_handle *))(session, "mpi://WORLD",
                                                                                 &group) != 0)
        return 0;
    return group;
}

bool gn_session_began(gn_handle session, int *rank, int *size)
{
    gn_handle group = world_group_of(session);
    bool known = group && GN_PMPI(Group_rank, (gn_handle, int *))(group, rank) == 0 &&
                 GN_PMPI(Group_size, (gn_handle, int *))(group, size) == 0 && *rank >= 0;
    pthread_mutex_lock(&lock);
    bool kept = count < SESSIONS;
    if (kept) {
        sessions[count].session = session;
        sessions[count++].group = group;
    } else {
        beyond++;
    }
    pthread_mutex_unlock(&lock);
    if (group && !kept)
        GN_PMPI(Group_free, (gn_handle *))(&group);
    return known;
}

void gn_session_ends(gn_handle session)
{
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < count && sessions[i].session != session)
        i++;
    if (i < count) {
        if (sessions[i].group)
            GN_PMPI(Group_free, (gn_handle *))(&sessions[i].group);
        sessions[i] = sessions[--count];
    } else if (beyond > 0) {
        beyond--;
    }
    pthread_mutex_unlock(&lock);
}

int gn_session_thread_level(gn_handle session)
{
    static const char *const levels[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED"};
    gn_handle info = 0;
    char level[WORDS] = "";
    int found = 0;
    if (GN_PMPI(Session_get_info, (gn_handle, gn_handle *))(session, &info) != 0)
        return GN_THREAD_MULTIPLE;
    GN_PMPI(Info_get, (gn_handle, const char *, int, char *, int *))
    (info, "thread_level", WORDS - 1, level, &found);
    GN_PMPI(Info_free, (gn_handle *))(&info);
    for (int i = 0; found && i < GN_THREAD_MULTIPLE; i++)
        if (strcmp(level, levels[i]) == 0)
            return i;
    return GN_THREAD_MULTIPLE;
}

void gn_world_is_there(bool there)
{
    world = there;
}

bool gn_mpi_is_there(void)
{
    pthread_mutex_lock(&lock);
    bool there = world || count || beyond;
    pthread_mutex_unlock(&lock);
    return there;
}

static void translate(gn_handle group, int n, const int *ranks, gn_handle to, int *world_ranks)
{
    GN_PMPI(Group_translate_ranks, (gn_handle, int, const int *, gn_handle, int *))
    (group, n, ranks, to, world_ranks);
}

static void translate_by_world(gn_handle group, int n, const int *ranks, int *world_ranks)
{
    gn_handle all = 0;
    GN_PMPI(Comm_group, (gn_handle, gn_handle *))(gn_flavour.comm_world, &all);
    translate(group, n, ranks, all, world_ranks);
    GN_PMPI(Group_free, (gn_handle *))(&all);
}

static void translate_by_session(gn_handle group, int n, const int *ranks, int *world_ranks)
{
    pthread_mutex_lock(&lock); /* the session could end meanwhile */
    for (int i = 0; i < count; i++)
        if (sessions[i].group) {
            translate(group, n, ranks, sessions[i].group, world_ranks);
            break;
        }
    pthread_mutex_unlock(&lock);
}

bool gn_translate_to_world(gn_handle group, int n, const int *ranks, int *world_ranks)
{
    for (int i = 0; i < n; i++)
        world_ranks[i] = gn_flavour.undefined;
    (world ? translate_by_world : translate_by_session)(group, n, ranks, world_ranks);
    for (int i = 0; i < n; i++)
        if (world_ranks[i] == gn_flavour.undefined || world_ranks[i] < 0)
            return false;
    return true;
}
