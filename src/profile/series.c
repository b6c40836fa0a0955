#include "profile/series.h"

#include "base/wrapping.h"
#include "graph/graph.h"
#include "graph/packed_steps.h"
#include "graph/series.h"
#include "profile/statement.h"

#include <errno.h>
#include <string.h>

enum { WIDTH = GN_SERIES_OF_SAMPLE };

struct sum {
    int64_t steps[GN_SERIES_MOST][WIDTH];
};

static void add(sqlite3_context *context, int count, sqlite3_value **arguments)
{
    struct sum *sum = sqlite3_aggregate_context(context, sizeof *sum);
    const uint8_t *bytes = sqlite3_value_blob(arguments[0]);
    int64_t values[WIDTH];
    size_t step;
    (void)count;
    if (!sum || !bytes)
        return;
    struct gn_packed left = {bytes, bytes + sqlite3_value_bytes(arguments[0]), 0};
    while (gn_unpack_step(&left, &step, values, WIDTH) && step < GN_SERIES_MOST)
        for (size_t i = 0; i < WIDTH; i++)
            sum->steps[step][i] = gn_plus(sum->steps[step][i], values[i]);
}

static void tell(sqlite3_context *context)
{
    static const int64_t none[WIDTH];
    uint8_t packed[GN_SERIES_MOST * (WIDTH + 1) * GN_PACKED_MOST];
    size_t used = 0, next = 0;
    const struct sum *sum = sqlite3_aggregate_context(context, 0);
    if (!sum) {
        sqlite3_result_null(context);
        return;
    }
    for (size_t step = 0; step < GN_SERIES_MOST; step++) {
        if (memcmp(sum->steps[step], none, sizeof none) == 0)
            continue;
        used += gn_pack_step(packed + used, step - next + 1, sum->steps[step], WIDTH);
        next = step + 1;
    }
    sqlite3_result_blob(context, packed, (int)used, SQLITE_TRANSIENT);
}

int gn_series_define_sum(sqlite3 *db, struct gn_error *err)
{
    if (sqlite3_create_function_v2(db, "series_sum", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, NULL, add,
                                   tell, NULL) == SQLITE_OK)
        return 0;
    return gn_fail(err, gn_sql_errno(db), "cannot add up series: %s", sqlite3_errmsg(db));
}

sqlite3_int64 gn_series_sum(const void *series, size_t bytes, size_t width, size_t value, size_t first,
                            size_t end)
{
    int64_t values[GN_SERIES_VALUES], sum = 0;
    size_t step;
    struct gn_packed left = {series, (const uint8_t *)series + bytes, 0};
    if (!series || width > GN_SERIES_VALUES || value >= width)
        return 0;
    while (gn_unpack_step(&left, &step, values, width) && step < end)
        if (step >= first)
            sum = gn_plus(sum, values[value]);
    return sum;
}
