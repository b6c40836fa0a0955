/* Names of what is computed, and what a name means. */
#include "analyse/history.h"

#include "base/edits.h"
#include "base/printable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- what a name means ---- */

/* 'file.c:85', with or without folders. */
static bool is_place(const char *where, const char *name)
{
    return where[0] && strcmp(where, gn_base_name(name)) == 0;
}

/* On the call path, outermost first: any function that it goes through. */
static bool goes_through(const struct gn_definitions *d, uint32_t path, const char *name)
{
    for (const struct gn_path_def *p = path_of(d, path); p; p = path_of(d, p->parent))
        if (strcmp(region_name(d, p->region), name) == 0)
            return true;
    return false;
}

/* is_inside: its enclosing region has the name, or is inside of one that has. */
static bool has_name(const struct gn_history *h, const struct gn_computation *a, bool is_inside,
                     const char *name)
{
    const struct gn_definitions *d = h->definitions;
    if (a->region == GN_NONE)
        return strcmp(region_name(d, a->call), name) == 0 || goes_through(d, a->path, name);
    return is_inside || strcmp(region_name(d, a->region), name) == 0;
}

size_t gn_activities_named(const struct gn_history *history, const char *name, bool *chosen)
{
    size_t count = 0;
    char where[128];
    memset(chosen, false, history->activity_count);
    for (uint32_t i = 0; name[0] && i < history->activity_count; i++) { /* enclosing ones come first */
        const struct gn_computation *a = &history->activities[i];
        chosen[i] = has_name(history, a, a->parent != GN_NONE && chosen[a->parent], name);
    }
    for (uint32_t i = 0; name[0] && i < history->activity_count; i++) {
        gn_activity_place(history, i, where, sizeof where);
        chosen[i] = chosen[i] || is_place(where, name);
        count += chosen[i];
    }
    return count;
}

struct nearest {
    const char *wanted;
    char *text;
    size_t size, edits;
};

static void offer(struct nearest *n, const char *name)
{
    size_t edits = name[0] ? gn_edits(n->wanted, name) : SIZE_MAX;
    if (edits >= n->edits)
        return;
    n->edits = edits;
    snprintf(n->text, n->size, "%s", name);
}

void gn_activity_nearest(const struct gn_history *history, const char *name, char *text, size_t size)
{
    const struct gn_definitions *d = history->definitions;
    struct nearest n = {name, text, size, SIZE_MAX};
    text[0] = '\0';
    for (uint32_t i = 0; i < history->activity_count; i++) {
        const struct gn_computation *a = &history->activities[i];
        char where[128];
        gn_activity_place(history, i, where, sizeof where);
        offer(&n, where);
        offer(&n, region_name(d, a->region != GN_NONE ? a->region : a->call));
        for (const struct gn_path_def *p = path_of(d, a->path); p && a->region == GN_NONE;
             p = path_of(d, p->parent))
            offer(&n, region_name(d, p->region));
    }
}
