/* profile/world — the worlds of a run (graph/world.h) as they were stored: a report goes over one of them. */
#ifndef GNOMON_PROFILE_WORLD_H
#define GNOMON_PROFILE_WORLD_H

#include "base/error.h"
#include "image/tag.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether of each world, and of all that a launcher started together, every process is there. ended: one that
 * was running when its host saved is not. */
bool gn_worlds_here(sqlite3 *db, bool ended);

struct gn_world {
    int64_t id;
    int number;   /* from 1 on: what users call it */
    int size;     /* ranks */
    int measured; /* of them */
    bool complete;
    double elapsed_s; /* of its longest process */
    double mpi_share; /* of the time of its threads */
    int launcher;     /* enum gn_launcher: who started it */
    char launch[GN_GROUP_BYTES];
    int launched;      /* so many processes at once; 0: not known */
    int launched_rank; /* which of them it is alone, or -1 */
    bool traced;       /* the run's trace has its events */
    int spawned_by;    /* number of the world that spawned it, 0: none */
    char exe[256], flavour[16], library[64];
};

/* In the order in which they began; those that a launcher started together in its order. A profile of a
 * format without worlds, and one without processes, has none here. */
struct gn_worlds {
    struct gn_world *items;
    size_t count;
};

int gn_worlds_read(sqlite3 *db, struct gn_worlds *worlds, struct gn_error *err);
void gn_worlds_clear(struct gn_worlds *worlds);

/* The one with most ranks, the first of those. NULL: there are none. */
const struct gn_world *gn_worlds_largest(const struct gn_worlds *worlds);
/* NULL: there is none of that number. */
const struct gn_world *gn_worlds_find(const struct gn_worlds *worlds, int number);

/* The one that a user asks for by its number, 0: the largest; NULL: the run is one world. 0, or -EINVAL with
 * err set. */
int gn_worlds_asked(const struct gn_worlds *worlds, int asked, const struct gn_world **world,
                    struct gn_error *err);

/* From here on, all that is asked of db is asked of this world: views of the same names hide the tables that
 * have rows of others. id 0: of all again. Nothing can be written in between. */
int gn_world_select(sqlite3 *db, int64_t id, struct gn_error *err);

#endif
