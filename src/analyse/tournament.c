#include "analyse/tournament.h"

#include <stdlib.h>
#include <string.h>

/* The winners on the way are needed once: they stand in the upper half of the memory and go. */
bool gn_tournament_new(struct gn_tournament *t, const struct gn_contestant *first, size_t count)
{
    struct gn_contestant *winners = calloc(2 * count, sizeof *winners);
    *t = (struct gn_tournament){calloc(count, sizeof *t->tree), count};
    if (!winners || !t->tree) {
        free(winners);
        gn_tournament_clear(t);
        return false;
    }
    memcpy(winners + count, first, count * sizeof *first);
    for (size_t at = count - 1; at > 0; at--) {
        struct gn_contestant a = winners[2 * at], b = winners[2 * at + 1];
        winners[at] = gn_contestant_wins(a, b) ? a : b;
        t->tree[at] = gn_contestant_wins(a, b) ? b : a;
    }
    t->tree[0] = winners[1];
    free(winners);
    return true;
}

void gn_tournament_clear(struct gn_tournament *t)
{
    free(t->tree);
    *t = (struct gn_tournament){0};
}
