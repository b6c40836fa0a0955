/*
 * agent/folder — the run's folder gnomon-<exe>-<job>-<time>/, never overwritten, shared by the hosts of a
 * job.
 *
 *   profile.db   the result            config   the effective settings
 *   parts/       one profile per host while not all have arrived, kept when the run ended badly
 *
 * Where it cannot be made, it goes to $TMPDIR, /tmp or $HOME, and the run says so. Whatever umask says, it is
 * its owner's alone (0700), and so is what is in it; what other users have put in its place is left alone.
 */
#ifndef GNOMON_AGENT_FOLDER_H
#define GNOMON_AGENT_FOLDER_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct gn_folder {
    char path[4096];
    bool elsewhere;     /* not where runs go */
    bool shared;        /* with other hosts */
    char link[4096];    /* the name by which other hosts find it, empty when none */
    char trouble[1024]; /* why it is not where it was to be, or not shared; empty when it is */
};

/*
 * Finds or makes the folder. where: the folder to make it in (NULL or empty: the working directory); exe: the
 * program's name (its base name is used); job_hash: the same on all hosts; shared: whether other hosts take
 * part. Errors: negative errno when no place could be written.
 */
int gn_folder_open(struct gn_folder *folder, const char *where, const char *exe, uint64_t job_hash,
                   bool shared, struct gn_error *err);

/* Makes a folder and those above it, as far as they are not there. 0 or a negative errno value. */
int gn_folder_make_all(const char *path);

/* Tries again in the places for emergencies (the disk is full): the folder then lies there. */
int gn_folder_elsewhere(struct gn_folder *folder, struct gn_error *err);

/* Hosts other than `host` (NULL: all) that announced themselves in the folder (parts/<host>.open) and have
 * not finished: those that are alive (fresh), or those that have been silent for a minute. */
int gn_folder_marks(const char *path, const char *host, bool fresh);

/* Has a file take up so many bytes of the disk, or as many as it took before: room for what is written when
 * it is removed. */
void gn_folder_reserve(const char *file, uint64_t bytes);

/* Removes the parts of a run, with all that hosts left there when they met. Only files: nobody else makes
 * any. */
void gn_folder_remove_parts(const char *path);

/* The newest run folder below `where`, finished or not; -ENOENT when there is none. */
int gn_folder_newest(const char *where, char *path, unsigned long size, struct gn_error *err);

#endif
