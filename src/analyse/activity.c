/* Names of what is computed. What a name means is in names.h. */
#include "analyse/history.h"

#include "base/printable.h"

#include <stdio.h>

static const char *region_name(const struct gn_definitions *d, uint32_t region)
{
    return region < d->region_count ? gn_string(d, d->regions[region].name) : "";
}

static const struct gn_path_def *path_of(const struct gn_definitions *d, uint32_t path)
{
    return path < d->path_count ? &d->paths[path] : NULL;
}

/* The function that a call path's last call was made in. */
static const char *caller_name(const struct gn_definitions *d, uint32_t path)
{
    const struct gn_path_def *p = path_of(d, path), *parent = p ? path_of(d, p->parent) : NULL;
    return parent ? region_name(d, parent->region) : "";
}

static void place(const struct gn_definitions *d, uint32_t file, uint32_t line, char *text, size_t size)
{
    gn_place_text(text, size, gn_string(d, file), (long)line);
}

void gn_path_place(const struct gn_definitions *d, uint32_t path, char *text, size_t size)
{
    const struct gn_path_def *p = path_of(d, path);
    place(d, p ? p->source_file : 0, p ? p->line : 0, text, size);
}

void gn_activity_place(const struct gn_history *history, uint32_t activity, char *text, size_t size)
{
    const struct gn_definitions *d = history->definitions;
    const struct gn_computation *a = &history->activities[activity];
    text[0] = '\0';
    if (a->region < d->region_count && d->regions[a->region].begin_line)
        place(d, d->regions[a->region].source_file, d->regions[a->region].begin_line, text, size);
    if (text[0] == '\0')
        gn_path_place(d, a->path, text, size);
}

void gn_activity_text(const struct gn_history *history, uint32_t activity, char *text, size_t size)
{
    const struct gn_definitions *d = history->definitions;
    const struct gn_computation *a = &history->activities[activity];
    char where[128];
    gn_activity_place(history, activity, where, sizeof where);
    const char *caller = caller_name(d, a->path);
    if (a->region != GN_NONE)
        snprintf(text, size, where[0] ? "%s (%s)" : "%s", region_name(d, a->region), where);
    else if (a->call == GN_NONE)
        snprintf(text, size, "before the end");
    else
        snprintf(text, size, "before %s%s%s%s%s", region_name(d, a->call), where[0] ? " at " : "", where,
                 caller[0] ? " in " : "", caller);
    gn_printable(text);
}
