#include "answer/group_name.h"

#include "base/printable.h"
#include "answer/process_name.h"
#include "trace/who.h"

#include <stdio.h>
#include <string.h>

const char *gn_scored_name(enum gn_scored by)
{
    static const char *const names[] = {
        [GN_SCORED_RANK] = "rank", [GN_SCORED_THREAD] = "thread", [GN_SCORED_HOST] = "host"};
    return names[by];
}

bool gn_scored_by(const char *name, enum gn_scored *by)
{
    for (enum gn_scored one = GN_SCORED_RANK; one <= GN_SCORED_HOST; one++)
        if (strcmp(name, gn_scored_name(one)) == 0) {
            *by = one;
            return true;
        }
    return false;
}

const char *gn_host_name(const struct gn_definitions *d, uint32_t location)
{
    const uint32_t process = d->locations[location].process;
    uint32_t node = process < d->process_count ? d->processes[process].system_node : GN_NONE;
    while (node < d->system_node_count && !d->system_nodes[node].is_domain &&
           d->system_nodes[node].parent < d->system_node_count)
        node = d->system_nodes[node].parent;
    return node < d->system_node_count ? gn_string(d, d->system_nodes[node].name) : "";
}

void gn_group_name(const struct gn_history *history, const struct gn_groups *groups, enum gn_scored by,
                   uint32_t group, char *text, size_t size)
{
    const struct gn_definitions *d = history->definitions;
    const uint32_t location = groups->first[group];
    if (by == GN_SCORED_HOST) {
        snprintf(text, size, "host %s", gn_host_name(d, location));
        gn_printable(text);
        return;
    }
    if (d->locations[location].process >= d->process_count) {
        gn_printable_copy(text, size, gn_string(d, d->locations[location].name));
        return;
    }
    gn_process_name(d, d->locations[location].process, text, size);
    if (by == GN_SCORED_RANK)
        return;
    struct gn_whos whos = {.definitions = d};
    const size_t used = strlen(text);
    snprintf(text + used, size - used, " thread %u", gn_who_of(&whos, location).thread);
    gn_whos_clear(&whos);
}
