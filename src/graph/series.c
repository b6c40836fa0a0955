#include "graph/series.h"

#include "base/grow.h"
#include "base/wrapping.h"
#include "graph/packed_steps.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 4 /* times as many bytes as differences may take */ };
enum { ENTRY_MOST = (GN_SERIES_VALUES + 1) * GN_PACKED_MOST };

struct row {
    int64_t sums[GN_SERIES_VALUES];
    uint8_t *bytes;
    uint32_t used, room;
    uint32_t next; /* behind the last step that has an entry */
};

struct gn_series {
    uint64_t moments[GN_SERIES_MOST];
    size_t count;
    struct row *rows;
    size_t row_count, row_room;
    size_t bytes, most_bytes;
};

struct gn_series *gn_series_new(size_t most_bytes)
{
    struct gn_series *s = calloc(1, sizeof *s);
    if (s)
        s->most_bytes = most_bytes;
    return s;
}

void gn_series_free(struct gn_series *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->row_count; i++)
        free(s->rows[i].bytes);
    free(s->rows);
    free(s);
}

uint32_t gn_series_row(struct gn_series *s)
{
    if ((s->row_count + 1) * sizeof *s->rows > ROWS_MOST * s->most_bytes ||
        !gn_grow(&s->rows, &s->row_room, s->row_count, sizeof *s->rows))
        return GN_SERIES_NONE;
    s->rows[s->row_count] = (struct row){.bytes = NULL};
    return (uint32_t)s->row_count++;
}

/* False: no memory. */
static bool append(struct gn_series *s, struct row *row, uint32_t step,
                   const int64_t values[GN_SERIES_VALUES])
{
    uint8_t entry[ENTRY_MOST];
    const uint32_t used = (uint32_t)gn_pack_step(entry, step - row->next + 1, values, GN_SERIES_VALUES);
    if (row->used + used > row->room) {
        const uint32_t room = row->room * 2 > row->used + used ? row->room * 2 : row->used + used + 16;
        uint8_t *bytes = realloc(row->bytes, room);
        if (!bytes)
            return false;
        row->bytes = bytes;
        row->room = room;
    }
    memcpy(row->bytes + row->used, entry, used);
    row->used += used;
    row->next = step + 1;
    s->bytes += used;
    return true;
}

void gn_series_put(struct gn_series *s, uint32_t number, const int64_t sums[GN_SERIES_VALUES])
{
    int64_t steps[GN_SERIES_VALUES];
    bool any = false;
    if (number >= s->row_count)
        return;
    struct row *row = &s->rows[number];
    for (size_t v = 0; v < GN_SERIES_VALUES; v++) {
        steps[v] = gn_minus(sums[v], row->sums[v]); /* sums may be nonsense */
        any = any || steps[v];
    }
    if (any && append(s, row, (uint32_t)s->count, steps)) /* else it is in the next step */
        memcpy(row->sums, sums, sizeof row->sums);
}

/* ---- half of the moments ---- */

/* Two steps become one. Their entries take no more room than before: a sum has at most as many bytes as the
 * two together. */
static void halve_row(struct gn_series *s, struct row *row)
{
    struct gn_packed left = {row->bytes, row->bytes + row->used, 0};
    int64_t values[GN_SERIES_VALUES], sums[GN_SERIES_VALUES] = {0};
    size_t step, at = 0;
    bool any = false;
    uint8_t *packed = malloc(row->used + ENTRY_MOST);
    struct row halved = {.bytes = packed, .room = row->used + ENTRY_MOST};
    if (!packed) /* then it has no steps, only sums: all is in the last one */
        halved = (struct row){.next = 0};
    s->bytes -= row->used;
    while (packed && gn_unpack_step(&left, &step, values, GN_SERIES_VALUES)) {
        if (any && step / 2 != at) {
            append(s, &halved, (uint32_t)at, sums);
            memset(sums, 0, sizeof sums);
        }
        at = step / 2;
        any = true;
        for (size_t v = 0; v < GN_SERIES_VALUES; v++)
            sums[v] = gn_plus(sums[v], values[v]);
    }
    if (any)
        append(s, &halved, (uint32_t)at, sums);
    free(row->bytes);
    row->bytes = halved.bytes;
    row->used = halved.used;
    row->room = halved.room;
    row->next = halved.next;
    if (!packed)
        memset(row->sums, 0, sizeof row->sums);
}

static void halve(struct gn_series *s)
{
    for (size_t i = 0; i < s->row_count; i++)
        halve_row(s, &s->rows[i]);
    for (size_t i = 0; i < (s->count + 1) / 2; i++)
        s->moments[i] = s->moments[2 * i + 1 < s->count ? 2 * i + 1 : 2 * i];
    s->count = (s->count + 1) / 2;
}

void gn_series_close(struct gn_series *s, uint64_t ticks)
{
    s->moments[s->count++] = ticks;
    if (s->count == GN_SERIES_MOST)
        halve(s);
    while (s->bytes > s->most_bytes && s->count > 2)
        halve(s);
}

const uint64_t *gn_series_moments(const struct gn_series *s, size_t *count)
{
    *count = s->count;
    return s->moments;
}

void gn_series_add(const struct gn_series *s, uint32_t number, int64_t (*steps)[GN_SERIES_VALUES])
{
    int64_t values[GN_SERIES_VALUES];
    size_t step;
    if (number >= s->row_count)
        return;
    struct gn_packed left = {s->rows[number].bytes, s->rows[number].bytes + s->rows[number].used, 0};
    while (gn_unpack_step(&left, &step, values, GN_SERIES_VALUES) && step < s->count)
        for (size_t v = 0; v < GN_SERIES_VALUES; v++)
            steps[step][v] = gn_plus(steps[step][v], values[v]);
}
