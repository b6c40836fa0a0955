#include "answer/process_name.h"

#include "base/printable.h"

#include <inttypes.h>
#include <stdio.h>

void gn_process_name(const struct gn_definitions *d, uint32_t process, char *text, size_t size)
{
    const struct gn_process *p = &d->processes[process];
    if (p->rank >= 0)
        snprintf(text, size, "rank %" PRId32, p->rank);
    else if (gn_string(d, p->name)[0])
        gn_printable_copy(text, size, gn_string(d, p->name));
    else
        snprintf(text, size, "process %" PRIu32, process);
}

void gn_ranks_text(const struct gn_definitions *d, char *text, size_t size)
{
    int32_t most = -1;
    size_t count = 0;
    for (size_t p = 0; p < d->process_count; p++) {
        count += d->processes[p].rank >= 0;
        most = d->processes[p].rank > most ? d->processes[p].rank : most;
    }
    if (count)
        snprintf(text, size, "%zu ranks, up to %" PRId32, count, most);
    else
        snprintf(text, size, "no ranks");
}
