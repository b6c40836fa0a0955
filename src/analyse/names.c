#include "analyse/names.h"

#include "base/edits.h"
#include "base/map.h"
#include "base/printable.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORM = 1024 };
static const char ELLIPSIS[] = "…", ARROW[] = "→";

static const char *region_name(const struct gn_definitions *d, uint32_t region)
{
    return region < d->region_count ? gn_string(d, d->regions[region].name) : "";
}

static const struct gn_path_def *path_of(const struct gn_definitions *d, uint32_t path)
{
    return path < d->path_count ? &d->paths[path] : NULL;
}

/* ---- texts ---- */

static bool skip(const char **at, const char *words)
{
    const size_t length = strlen(words);
    if (strncmp(*at, words, length) != 0)
        return false;
    *at += length;
    return true;
}

/* "/home/a/app.c:5" is app.c:5, and "f(a/b)" what it was. */
static const char *without_folders(const char *word, size_t length)
{
    size_t digits = 0, slash = 0;
    while (digits < length && isdigit((unsigned char)word[length - 1 - digits]))
        digits++;
    if (digits == 0 || digits == length || word[length - 1 - digits] != ':')
        return word;
    for (size_t i = 0; i + digits + 1 < length; i++)
        slash = word[i] == '/' ? i + 1 : slash;
    return word + slash;
}

struct gn_name gn_name_of(const char *text)
{
    struct gn_name name = {""};
    size_t used = 0;
    const char *arrow = strstr(text, ARROW);
    if (arrow)
        text = arrow + strlen(ARROW);
    while (isspace((unsigned char)*text))
        text++;
    if (!skip(&text, "computation in "))
        skip(&text, "computation ");
    while (*text) {
        const size_t length = strcspn(text, " \t\n");
        const char *word = without_folders(text, length);
        const int bytes = snprintf(name.text + used, sizeof name.text - used, "%s%.*s", used ? " " : "",
                                   (int)(text + length - word), word);
        used += (size_t)bytes;
        if (used >= sizeof name.text)
            break;
        text += length;
        while (isspace((unsigned char)*text))
            text++;
    }
    return name;
}

bool gn_name_is(const struct gn_name *name, const char *form)
{
    const char *at = name->text, *gap = strstr(at, ELLIPSIS);
    if (!gap)
        return form[0] && strcmp(at, form) == 0;
    if (strncmp(at, form, (size_t)(gap - at)) != 0)
        return false;
    form += gap - at;
    for (at = gap + strlen(ELLIPSIS); (gap = strstr(at, ELLIPSIS)); at = gap + strlen(ELLIPSIS)) {
        char part[FORM];
        snprintf(part, sizeof part, "%.*s", (int)(gap - at), at);
        form = strstr(form, part);
        if (!form)
            return false;
        form += strlen(part);
    }
    return strlen(form) >= strlen(at) && strcmp(form + strlen(form) - strlen(at), at) == 0;
}

/* ---- a call at its place ---- */

struct site {
    const char *what, *caller;                    /* region or call, the function that it is called in */
    char place[256], frames[FORM], callers[FORM]; /* app.c:5, main:11 > first:5, first < main */
};

/* Outermost first. */
static size_t put_frames(const struct gn_definitions *d, uint32_t path, char *text, size_t size)
{
    const struct gn_path_def *p = path_of(d, path), *parent = p ? path_of(d, p->parent) : NULL;
    if (!parent)
        return 0;
    const size_t used = put_frames(d, p->parent, text, size);
    const int bytes = used >= size ? 0
                                   : snprintf(text + used, size - used, "%s%s:%u", used ? " > " : "",
                                              region_name(d, parent->region), p->line);
    return used + (size_t)bytes;
}

/* As the report of stragglers says it: at most four. */
static void put_callers(const struct gn_definitions *d, uint32_t path, char *text, size_t size)
{
    const struct gn_path_def *p = path_of(d, path);
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < 4 && p && (p = path_of(d, p->parent)) && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? " < " : "", region_name(d, p->region));
}

static void find_site(const struct gn_definitions *d, uint32_t region, uint32_t path, struct site *s)
{
    const struct gn_path_def *p = path_of(d, path), *parent = p ? path_of(d, p->parent) : NULL;
    s->what = region_name(d, region);
    s->caller = parent ? region_name(d, parent->region) : "";
    gn_path_place(d, path, s->place, sizeof s->place);
    s->frames[0] = '\0';
    put_frames(d, path, s->frames, sizeof s->frames);
    put_callers(d, path, s->callers, sizeof s->callers);
}

static bool has_form(const struct gn_name *name, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool has_form(const struct gn_name *name, const char *format, ...)
{
    char form[2 * FORM];
    va_list list;
    va_start(list, format);
    vsnprintf(form, sizeof form, format, list);
    va_end(list);
    return gn_name_is(name, form);
}

/* The last `length` bytes of frames are their innermost one, or more of them. */
static bool ends_with(const char *frames, const char *text, size_t length)
{
    const size_t all = strlen(frames);
    return all >= length && strncmp(frames + all - length, text, length) == 0 &&
           (all == length || frames[all - length - 1] == ' ');
}

/* "main:11 > first:5". Of functions that were inlined the report has the innermost one alone: some may be
 * missing, but not the last one. */
static bool are_frames(const char *text, const char *frames)
{
    static const char NEXT[] = " > ";
    const char *last = text;
    for (const char *next; (next = strstr(last, NEXT)); last = next + strlen(NEXT)) {
        char frame[FORM];
        snprintf(frame, sizeof frame, "%.*s%s", (int)(next - last), last, NEXT);
        frames = strstr(frames, frame);
        if (!frames)
            return false;
        frames += strlen(frame);
    }
    return last[0] && strchr(last, ':') && ends_with(frames, last, strlen(last));
}

/* Forms with what is called in them, each behind `before`. */
static bool is_framed(const struct gn_name *name, const struct site *s, const char *before)
{
    const char *at = name->text;
    return skip(&at, before) && skip(&at, s->what) && skip(&at, " ") && are_frames(at, s->frames);
}

static bool is_call(const struct gn_name *name, const struct site *s, const char *before)
{
    const char *w = s->what, *c = s->caller, *p = s->place;
    if (!w[0])
        return false;
    return has_form(name, "%s%s", before, w) ||
           (p[0] &&
            (has_form(name, "%s%s at %s", before, w, p) || has_form(name, "%s%s %s", before, w, p))) ||
           (c[0] && has_form(name, "%s%s in %s", before, w, c)) ||
           (p[0] && c[0] &&
            (has_form(name, "%s%s at %s in %s", before, w, p, c) ||
             has_form(name, "%s%s in %s %s", before, w, c, p) ||
             has_form(name, "%s%s at %s in %s", before, w, p, s->callers))) ||
           (s->frames[0] && is_framed(name, s, before));
}

/* Forms of its place alone. */
static bool is_place(const struct gn_name *name, const struct site *s)
{
    return (s->place[0] &&
            (gn_name_is(name, s->place) || (s->caller[0] && has_form(name, "%s %s", s->caller, s->place)))) ||
           (s->frames[0] && are_frames(name->text, s->frames));
}

/* On the call path, outermost first: any function that it goes through. */
static bool goes_through(const struct gn_definitions *d, uint32_t path, const struct gn_name *name)
{
    for (const struct gn_path_def *p = path_of(d, path); p; p = path_of(d, p->parent))
        if (gn_name_is(name, region_name(d, p->region)))
            return true;
    return false;
}

/* ---- computation ---- */

/* Its place is not in the trace. */
static bool is_the_end(const struct gn_name *name)
{
    static const char LAST[] = "after the last call";
    const char *gap = strstr(name->text, ELLIPSIS);
    const size_t known = gap ? (size_t)(gap - name->text) : strlen(LAST);
    return strcmp(name->text, "before the end") == 0 || strcmp(name->text, "(end)") == 0 ||
           (known > strlen("after") &&
            strncmp(name->text, LAST, known < strlen(LAST) ? known : strlen(LAST)) == 0);
}

static bool is_region(const struct gn_history *h, uint32_t activity, const struct gn_name *name)
{
    char text[FORM], place[256];
    const char *region = region_name(h->definitions, h->activities[activity].region);
    gn_activity_place(h, activity, place, sizeof place);
    gn_activity_text(h, activity, text, sizeof text);
    return gn_name_is(name, region) || gn_name_is(name, text) || gn_name_is(name, place) ||
           has_form(name, "%s %s", region, place) || has_form(name, "%s at %s", region, place);
}

/* is_inside: its enclosing region has the name, or is inside of one that has. */
static bool has_name(const struct gn_history *h, uint32_t activity, bool is_inside,
                     const struct gn_name *name)
{
    const struct gn_computation *a = &h->activities[activity];
    struct site site;
    if (a->region != GN_NONE)
        return is_inside || is_region(h, activity, name);
    if (a->call == GN_NONE)
        return is_the_end(name);
    find_site(h->definitions, a->call, a->path, &site);
    return is_call(name, &site, "") || is_call(name, &site, "before ") || is_place(name, &site) ||
           goes_through(h->definitions, a->path, name);
}

size_t gn_activities_named(const struct gn_history *history, const char *text, bool *chosen)
{
    const struct gn_name name = gn_name_of(text);
    size_t count = 0;
    memset(chosen, false, history->activity_count);
    for (uint32_t i = 0; name.text[0] && i < history->activity_count; i++) { /* enclosing ones come first */
        const uint32_t parent = history->activities[i].parent;
        chosen[i] = has_name(history, i, parent != GN_NONE && chosen[parent], &name);
        count += chosen[i];
    }
    return count;
}

/* ---- what one may be in ---- */

bool gn_named_open(struct gn_named *named, const struct gn_definitions *d)
{
    named->regions = calloc(d->region_count + 1, sizeof *named->regions);
    named->paths = calloc(d->path_count + 1, sizeof *named->paths);
    if (named->regions && named->paths)
        return true;
    gn_named_clear(named);
    return false;
}

void gn_named_clear(struct gn_named *named)
{
    free(named->regions);
    free(named->paths);
    *named = (struct gn_named){NULL, NULL};
}

/* A region or call that was entered, and where; each pair once. */
typedef int entered(void *self, uint32_t region, uint32_t path);

static int once(struct gn_map *seen, uint32_t region, uint32_t path, entered *each, void *self)
{
    const struct gn_key key = {region, path};
    if (gn_map_find(seen, key))
        return 0;
    return gn_map_add(seen, key, seen) ? each(self, region, path) : -ENOMEM;
}

static int each_entered(const struct gn_history *h, entered *each, void *self)
{
    struct gn_map seen = {NULL, 0, 0};
    int code = 0;
    for (size_t l = 0; h->tracks && l < h->definitions->location_count && code == 0; l++)
        for (size_t i = 0; i < h->tracks[l].count && code == 0; i++)
            if (h->tracks[l].changes[i].is_enter)
                code = once(&seen, h->tracks[l].changes[i].region, h->tracks[l].changes[i].path, each, self);
    for (size_t c = 0; !h->tracks && c < h->call_count && code == 0; c++)
        if (h->calls[c].region != GN_NONE)
            code = once(&seen, h->calls[c].region, h->calls[c].path, each, self);
    gn_map_clear(&seen);
    return code;
}

struct adding {
    struct gn_named *named;
    const struct gn_definitions *d;
    struct gn_name name;
    size_t count;
};

static int add_entered(void *self, uint32_t region, uint32_t path)
{
    struct adding *a = self;
    struct site site;
    if (region >= a->d->region_count)
        return 0;
    find_site(a->d, region, path, &site);
    if (gn_name_is(&a->name, site.what)) {
        a->count += !a->named->regions[region];
        a->named->regions[region] = true;
    } else if (path < a->d->path_count && (is_call(&a->name, &site, "") || is_place(&a->name, &site))) {
        a->count += !a->named->paths[path];
        a->named->paths[path] = true;
    }
    return 0;
}

size_t gn_named_add(struct gn_named *named, const struct gn_history *history, const char *text)
{
    struct adding a = {named, history->definitions, gn_name_of(text), 0};
    return each_entered(history, add_entered, &a) == 0 ? a.count : 0;
}

/* ---- all names ---- */

struct listing {
    const struct gn_history *h;
    gn_name_found *found;
    void *self;
    bool *is_told; /* [region_count] as a function */
};

static int list_entered(void *self, uint32_t region, uint32_t path)
{
    const struct listing *l = self;
    const struct gn_definitions *d = l->h->definitions;
    struct site s;
    char name[FORM];
    find_site(d, region, path, &s);
    if (!s.what[0])
        return 0;
    const bool is_call = d->regions[region].role == GN_ROLE_MPI;
    snprintf(name, sizeof name, "%s%s%s%s%s", s.what, s.place[0] && is_call ? " at " : "",
             is_call ? s.place : "", s.caller[0] && is_call ? " in " : "", is_call ? s.caller : "");
    l->found(l->self, is_call ? GN_NAME_CALL : GN_NAME_REGION, name);
    return 0;
}

static void list_functions(const struct listing *l, uint32_t path)
{
    const struct gn_definitions *d = l->h->definitions;
    const struct gn_path_def *p = path_of(d, path);
    for (p = p ? path_of(d, p->parent) : NULL; p; p = path_of(d, p->parent)) {
        if (p->region >= d->region_count || l->is_told[p->region] || !region_name(d, p->region)[0])
            continue;
        l->is_told[p->region] = true;
        l->found(l->self, GN_NAME_FUNCTION, region_name(d, p->region));
    }
}

int gn_names_each(const struct gn_history *h, gn_name_found *found, void *self)
{
    struct listing l = {h, found, self, calloc(h->definitions->region_count + 1, sizeof *l.is_told)};
    char text[FORM];
    if (!l.is_told)
        return -ENOMEM;
    const int code = each_entered(h, list_entered, &l);
    for (uint32_t i = 0; i < h->activity_count && code == 0; i++) {
        gn_activity_text(h, i, text, sizeof text);
        found(self, GN_NAME_COMPUTATION, text);
        if (h->activities[i].region == GN_NONE)
            list_functions(&l, h->activities[i].path);
    }
    free(l.is_told);
    return code;
}

/* ---- the nearest ---- */

void gn_nearest_offer(struct gn_nearest *n, const char *name)
{
    const size_t edits = name[0] ? gn_edits(n->wanted, name) : SIZE_MAX;
    if (n->text[0] && edits >= n->edits)
        return;
    n->edits = edits;
    snprintf(n->text, sizeof n->text, "%s", name);
}

static void offer(void *self, enum gn_name_kind kind, const char *name)
{
    (void)kind;
    gn_nearest_offer(self, name);
}

struct nearing {
    struct gn_nearest *nearest;
    const struct gn_definitions *d;
};

static int offer_entered(void *self, uint32_t region, uint32_t path)
{
    const struct nearing *n = self;
    struct site s;
    find_site(n->d, region, path, &s);
    gn_nearest_offer(n->nearest, s.what);
    gn_nearest_offer(n->nearest, s.place);
    return 0;
}

int gn_nearest_of_trace(struct gn_nearest *nearest, const struct gn_history *history)
{
    struct nearing n = {nearest, history->definitions};
    char place[256];
    for (uint32_t i = 0; i < history->activity_count; i++) {
        gn_activity_place(history, i, place, sizeof place);
        gn_nearest_offer(nearest, region_name(history->definitions, history->activities[i].region));
        gn_nearest_offer(nearest, place);
    }
    const int code = each_entered(history, offer_entered, &n);
    return code ? code : gn_names_each(history, offer, nearest);
}
