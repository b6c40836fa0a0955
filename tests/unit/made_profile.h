/* Profiles made up row by row, without a run: what a report says of them is known to the letter. */
#ifndef MADE_PROFILE_H
#define MADE_PROFILE_H

#include <sqlite3.h>
#include <stdint.h>

/* A profile in memory, of a run that took place on 2026-01-02. */
sqlite3 *made_profile(const char *command, const char *program);

/* Ids of what is added. */
int64_t made_world(sqlite3 *db, const char *key, int size, int64_t spawner);
struct made_rank {
    int rank, of;  /* world's size */
    int64_t world; /* 0: none */
    const char *host;
    const char *ended; /* NULL: well, with MPI_Finalize */
    int status;        /* of the exit, or the signal's number */
    double length_s;
    double cpu_s, preempted_s, peak_mib; /* of no resources known: peak_mib 0 */
    const char *cores;
};
int64_t made_process(sqlite3 *db, const struct made_rank *rank);
int64_t made_location(sqlite3 *db, int64_t process, double length_s);

/* A place in the code; line 0: there is no debug information, and function is the label. */
int64_t made_site(sqlite3 *db, const char *function, const char *file, int line);
/* What is done there (site 0: nowhere): kind "mpi", group "p2p" and so on. */
int64_t made_activity(sqlite3 *db, const char *kind, const char *name, const char *group, int64_t site);

void made_node(sqlite3 *db, int64_t location, int64_t activity, double s, int64_t count, int64_t bytes);
void made_edge(sqlite3 *db, int64_t location, int64_t from, int64_t to, double s, int64_t count);
void made_messages(sqlite3 *db, int64_t location, int64_t activity, int peer, int64_t messages,
                   int64_t bytes);
/* Site 0: in other places, or in an interpreter. */
void made_samples(sqlite3 *db, int64_t location, int64_t from, int64_t to, int64_t site, int64_t count);
/* Found asleep there, so often. */
void made_asleep(sqlite3 *db, int64_t location, int64_t from, int64_t to, int64_t site, int64_t count);
/* Found computing outside of Python, of who runs that, too. */
void made_native(sqlite3 *db, int64_t location, int64_t from, int64_t to, int64_t count);
/* Found computing there, at a line of Python. */
void made_lines(sqlite3 *db, int64_t location, int64_t from, int64_t to, int64_t site, int64_t count);

#endif
