#include "repair/latency_spec.h"

#include "base/quantity.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gn_latency_parse(struct gn_latency_spec *spec, const char *text)
{
    *spec = (struct gn_latency_spec){.kind = GN_LATENCY_AUTO};
    if (strcmp(text, "auto") == 0)
        return;
    spec->kind = GN_LATENCY_TIME;
    if (gn_quantity(text, GN_QUANTITY_TIME_NS, &spec->time_ns) == 0)
        return;
    spec->kind = GN_LATENCY_FILE;
    spec->file = text;
}

uint32_t gn_latency_domains(const struct gn_definitions *definitions)
{
    uint32_t domains = 0;
    for (size_t i = 0; i < definitions->location_count; i++)
        if (definitions->locations[i].domain >= domains)
            domains = definitions->locations[i].domain + 1;
    return domains;
}

int64_t gn_latency_ticks(const struct gn_definitions *definitions, double ns)
{
    const uint64_t rate = definitions->ticks_per_second;
    const double ticks = ns / 1e9 * (double)(rate ? rate : 1000000000);
    return ticks < 0x1p60 ? llround(ticks) : INT64_C(1) << 60;
}

static void set(struct gn_latency *latency, uint32_t from, uint32_t to, int64_t ticks)
{
    if (from != to)
        latency->ticks[(size_t)from * latency->domains + to] = ticks;
}

/* ---- a file ---- */

struct lines {
    struct gn_latency *latency;
    const struct gn_definitions *definitions;
    const char *path;
    bool *used; /* [domains] has locations */
    unsigned number;
};

/* Whether a name in the file is this domain's. */
static bool is_named(const struct lines *l, uint32_t domain, const char *name)
{
    return l->used[domain] &&
           (strcmp(name, "*") == 0 || strcmp(name, gn_domain_name(l->definitions, domain)) == 0);
}

static int unknown(const struct lines *l, const char *name, struct gn_error *err)
{
    for (uint32_t i = 0; i < l->latency->domains; i++)
        if (is_named(l, i, name))
            return 0;
    return gn_fail(err, -EINVAL,
                   "%s, line %u: no locations of the trace are on a clock called \"%s\" (gnomon clock TRACE "
                   "shows the names)",
                   l->path, l->number, name);
}

static int take_line(struct lines *l, char *text, struct gn_error *err)
{
    char *rest, *from = strtok_r(text, " \t\r\n", &rest);
    if (!from || *from == '#')
        return 0;
    char *to = strtok_r(NULL, " \t\r\n", &rest), *time = strtok_r(NULL, " \t\r\n", &rest);
    double ns = 0;
    if (!time || strtok_r(NULL, " \t\r\n", &rest) || gn_quantity(time, GN_QUANTITY_TIME_NS, &ns) != 0)
        return gn_fail(err, -EINVAL, "%s, line %u: FROM TO TIME is expected, such as \"node1 node2 1.5us\"",
                       l->path, l->number);
    int code = unknown(l, from, err);
    if (code == 0)
        code = unknown(l, to, err);
    for (uint32_t i = 0; code == 0 && i < l->latency->domains; i++)
        for (uint32_t k = 0; is_named(l, i, from) && k < l->latency->domains; k++)
            if (is_named(l, k, to))
                set(l->latency, i, k, gn_latency_ticks(l->definitions, ns));
    return code;
}

static int read_lines(struct lines *l, struct gn_error *err)
{
    FILE *file = fopen(l->path, "re");
    char text[1024];
    int code = 0;
    if (!file)
        return gn_fail(err, -errno,
                       "cannot read %s: %s (--latency takes auto, a time such as 1.5us, or a file)", l->path,
                       strerror(errno));
    while (code == 0 && fgets(text, sizeof text, file)) {
        l->number++;
        if (!strchr(text, '\n') && !feof(file))
            code = gn_fail(err, -EINVAL, "%s, line %u is too long", l->path, l->number);
        else
            code = take_line(l, text, err);
    }
    if (code == 0 && ferror(file))
        code = gn_fail(err, -EIO, "cannot read %s", l->path);
    fclose(file);
    return code;
}

static int take_file(struct gn_latency *latency, const char *path, const struct gn_definitions *d,
                     struct gn_error *err)
{
    struct lines lines = {.latency = latency, .definitions = d, .path = path};
    lines.used = calloc(latency->domains + 1, sizeof *lines.used);
    if (!lines.used)
        return gn_fail(err, -ENOMEM, "no memory for the clocks of the trace");
    for (size_t i = 0; i < d->location_count; i++)
        lines.used[d->locations[i].domain] = true;
    int code = read_lines(&lines, err);
    free(lines.used);
    return code;
}

/* ---- both ---- */

/* Of domains that have locations; the others' µ is 0 and means nothing. */
static int64_t smallest_between(const struct gn_latency *latency, const struct gn_definitions *d)
{
    int64_t smallest = INT64_MAX;
    bool *used = calloc(latency->domains + 1, sizeof *used);
    for (size_t i = 0; used && i < d->location_count; i++)
        used[d->locations[i].domain] = true;
    for (uint32_t i = 0; used && i < latency->domains; i++)
        for (uint32_t k = 0; used[i] && k < latency->domains; k++)
            if (i != k && used[k] && gn_latency_of(latency, i, k) < smallest)
                smallest = gn_latency_of(latency, i, k);
    free(used);
    return used && smallest < INT64_MAX ? smallest : 0;
}

static void take_time(struct gn_latency *latency, int64_t ticks)
{
    for (uint32_t i = 0; i < latency->domains; i++)
        for (uint32_t k = 0; k < latency->domains; k++)
            set(latency, i, k, ticks);
}

int gn_latency_given(struct gn_latency *latency, const struct gn_latency_spec *spec,
                     const struct gn_definitions *definitions, struct gn_error *err)
{
    int code = gn_latency_open(latency, gn_latency_domains(definitions), err);
    if (code < 0)
        return code;
    if (spec->kind == GN_LATENCY_TIME)
        take_time(latency, gn_latency_ticks(definitions, spec->time_ns));
    else
        code = take_file(latency, spec->file, definitions, err);
    if (code < 0)
        gn_latency_close(latency);
    else
        latency->between_ticks = smallest_between(latency, definitions);
    return code;
}
