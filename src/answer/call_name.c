#include "answer/call_name.h"

#include "analyse/history.h"
#include "base/printable.h"

#include <stdio.h>

static const char *region_name(const struct gn_definitions *d, uint32_t region)
{
    return region < d->region_count ? gn_string(d, d->regions[region].name) : "a call";
}

static int add_place(const struct gn_definitions *d, uint32_t path, char *text, size_t size)
{
    char place[256];
    gn_path_place(d, path, place, sizeof place);
    return place[0] ? snprintf(text, size, " at %s", place) : 0;
}

void gn_call_name(const struct gn_definitions *d, uint32_t region, uint32_t path, int callers, char *text,
                  size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s", region_name(d, region));
    if (used < size)
        used += (size_t)add_place(d, path, text + used, size - used);
    uint32_t above = path < d->path_count ? d->paths[path].parent : GN_NONE;
    for (int i = 0; i < callers && above < d->path_count && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? " < " : " in ",
                                 region_name(d, d->paths[above].region));
        above = d->paths[above].parent;
    }
    gn_printable(text);
}
