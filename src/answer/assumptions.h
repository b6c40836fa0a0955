/*
 * answer/assumptions — what an answer from a history assumes of the program and its library, by name. Only
 * what it leans on is named: where no send was small enough to go on without its receiver, nothing is assumed
 * of such. What leans on one of these is at most possible.
 */
#ifndef GNOMON_ANSWER_ASSUMPTIONS_H
#define GNOMON_ANSWER_ASSUMPTIONS_H

#include "analyse/history.h"
#include "answer/terminal.h"

#include <jansson.h>
#include <stdio.h>

enum gn_assumes {
    GN_ASSUMES_SAME_PROGRAM = 1, /* with other times it does the same */
    GN_ASSUMES_COST_STAYS = 2,   /* of a call, after the last it waited for */
    GN_ASSUMES_LONGEST = 4,      /* of messages that were there already */
    GN_ASSUMES_NAMED = 8,        /* of receives of which the trace does not tell from whom */
    GN_ASSUMES_EAGER = 16,       /* small sends go on without their receivers */
    GN_ASSUMES_PROGRESS = 32,    /* messages move on while nobody is in MPI */
    GN_ASSUMES_POLLS = 128,      /* between polls that wait no work is done */
    GN_ASSUMES_UNTOLD = 256,     /* whom some calls waited for is not known */
    GN_ASSUMES_THREADS = 64,     /* threads that are waited for, and owners of locks, go along */
};
/* What a question about the run as it was assumes, and one about how it would have been. */
enum {
    GN_ASSUMES_OF_STATES = GN_ASSUMES_EAGER | GN_ASSUMES_POLLS,
    GN_ASSUMES_OF_WAITS = GN_ASSUMES_EAGER | GN_ASSUMES_PROGRESS | GN_ASSUMES_POLLS | GN_ASSUMES_UNTOLD,
    GN_ASSUMES_OF_PATHS = GN_ASSUMES_OF_WAITS | GN_ASSUMES_COST_STAYS | GN_ASSUMES_LONGEST,
    GN_ASSUMES_OF_CHANGES =
        GN_ASSUMES_OF_PATHS | GN_ASSUMES_SAME_PROGRAM | GN_ASSUMES_NAMED | GN_ASSUMES_THREADS
};

/* A sentence, or nothing where none is leaned on. */
void gn_assumptions_text(const struct gn_history *history, unsigned assumptions,
                         const struct gn_terminal *terminal, FILE *out);
/* [{"name", "text", "count"}]: count null where it is not of so many things. A new reference; NULL: no
 * memory. */
json_t *gn_assumptions_json(const struct gn_history *history, unsigned assumptions);

#endif
