#include "trace/who.h"

#include "base/grow.h"

#include <stdlib.h>

/* The number of the next thread of a process. */
static bool next_thread(struct gn_whos *w, uint32_t process, uint32_t *thread)
{
    while (w->thread_count <= process) {
        if (!gn_grow(&w->threads, &w->thread_capacity, w->thread_count, sizeof *w->threads))
            return false;
        w->threads[w->thread_count++] = 0;
    }
    *thread = w->threads[process]++;
    return true;
}

void gn_whos_extend(struct gn_whos *w)
{
    const struct gn_definitions *d = w->definitions;
    while (w->location_count < d->location_count) {
        uint32_t process = d->locations[w->location_count].process;
        struct gn_who who = {-1, 0};
        if (!gn_grow(&w->locations, &w->location_capacity, w->location_count, sizeof *w->locations))
            break;
        if (process < d->process_count) {
            who.rank = d->processes[process].rank;
            if (!next_thread(w, process, &who.thread))
                break;
        }
        w->locations[w->location_count++] = who;
    }
}

void gn_whos_clear(struct gn_whos *w)
{
    free(w->locations);
    free(w->threads);
    *w = (struct gn_whos){.definitions = w->definitions};
}
