/* presync: clock offsets give the numbers that OTF2's reader gives, bounds their middle; and time never goes
 * back. */
#include "repair/presync.h"

#include "base/mix.h"
#include "trace/reader.h"

#include "archive_maker.h"
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- as OTF2 has it ---- */

enum { TABLES = 70, READINGS = 3000, MOST_OFFSETS = 12 };

struct table {
    struct maker_offset offsets[MOST_OFFSETS];
    size_t count;
    uint64_t readings[READINGS], seen[READINGS];
    size_t seen_count;
};

static struct table tables[TABLES];

static int by_ticks(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Readings around, before and after all offsets, and at them. */
static void fill_readings(struct table *t, uint64_t *random)
{
    const uint64_t first = t->count ? t->offsets[0].ticks : 1 << 20;
    const uint64_t last = t->count ? t->offsets[t->count - 1].ticks : 2 << 20;
    const uint64_t length = last > first ? last - first : 1 << 20;
    for (size_t i = 0; i < READINGS; i++)
        t->readings[i] = first - (first < length ? first : length) + gn_mix_next(random) % (3 * length);
    for (size_t i = 0; i < t->count; i++)
        for (uint64_t k = 0; k < 3; k++)
            t->readings[3 * i + k] = t->offsets[i].ticks + k - 1;
    qsort(t->readings, READINGS, sizeof *t->readings, by_ticks);
}

/* Clocks that are up to 20 ppm (of table 3: one half) off; lengths from a few ticks to days. */
static void fill_table(uint32_t table, uint64_t *random)
{
    struct table *t = &tables[table];
    const uint64_t step = UINT64_C(3) << table % 48;
    const double rate = table == 3 ? 0.5 : 2e-5;
    t->count = table % (MOST_OFFSETS + 1);
    uint64_t ticks = gn_mix_next(random) % (step * 4) + 1;
    int64_t offset = (int64_t)(gn_mix_next(random) % step);
    for (size_t i = 0; i < t->count; i++) {
        t->offsets[i] = (struct maker_offset){table, ticks, offset, 3};
        const uint64_t length = 1 + gn_mix_next(random) % step;
        ticks += length;
        offset += (int64_t)(((double)(gn_mix_next(random) % 2001) - 1000) / 1000 * rate * (double)length);
    }
    fill_readings(t, random);
}

/* Of two offsets at one reading the second one, and all that follow, are none. */
static void make_double(struct table *t)
{
    assert_true(t->count > 4);
    t->offsets[3].ticks = t->offsets[2].ticks;
}

static void write_archive(const char *path)
{
    static struct maker_offset all[TABLES * MOST_OFFSETS];
    struct maker maker;
    uint64_t ids[TABLES], events[TABLES];
    size_t count = 0;
    maker_open(&maker, path, 1 << 20);
    for (uint32_t t = 0; t < TABLES; t++) {
        OTF2_EvtWriter *writer = maker_begin(&maker, ids[t] = t);
        for (size_t i = 0; i < READINGS; i++)
            OTF2_EvtWriter_Enter(writer, NULL, tables[t].readings[i], 0);
        events[t] = maker_end(&maker, writer);
        for (size_t i = 0; i < tables[t].count; i++)
            all[count++] = tables[t].offsets[i];
    }
    maker.offsets = all;
    maker.offset_count = count;
    maker_definitions(&maker, ids, TABLES, 1000);
    maker_world(&maker, ids, events, TABLES);
    maker_close(&maker);
}

static OTF2_CallbackCode on_enter(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position,
                                  void *user, OTF2_AttributeList *attributes, OTF2_RegionRef region)
{
    (void)position, (void)user, (void)attributes, (void)region;
    tables[location].seen[tables[location].seen_count++] = time;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_ErrorCode on_error(void *user, const char *file, uint64_t line, const char *function,
                               OTF2_ErrorCode code, const char *format, va_list arguments)
{
    (void)user, (void)file, (void)line, (void)function, (void)format, (void)arguments;
    return code;
}

static void read_events(OTF2_Reader *reader, OTF2_EvtReaderCallbacks *callbacks, uint64_t location)
{
    uint64_t count;
    OTF2_EvtReader *events = OTF2_Reader_GetEvtReader(reader, location);
    assert_non_null(events);
    OTF2_EvtReader_ApplyClockOffsets(events, true);
    OTF2_Reader_RegisterEvtCallbacks(reader, events, callbacks, NULL);
    OTF2_Reader_ReadAllLocalEvents(reader, events, &count);
    assert_int_equal(count, READINGS);
    OTF2_Reader_CloseEvtReader(reader, events);
}

/* What the library gives with its offsets applied. */
static void read_archive(const char *anchor)
{
    uint64_t count;
    OTF2_Reader *reader = OTF2_Reader_Open(anchor);
    assert_non_null(reader);
    OTF2_Reader_SetSerialCollectiveCallbacks(reader);
    for (uint64_t t = 0; t < TABLES; t++)
        OTF2_Reader_SelectLocation(reader, t);
    OTF2_Reader_OpenDefFiles(reader);
    for (uint64_t t = 0; t < TABLES; t++) {
        OTF2_DefReader *definitions = OTF2_Reader_GetDefReader(reader, t);
        OTF2_Reader_ReadAllLocalDefinitions(reader, definitions, &count);
        OTF2_Reader_CloseDefReader(reader, definitions);
    }
    OTF2_Reader_CloseDefFiles(reader);
    OTF2_Reader_OpenEvtFiles(reader);
    OTF2_EvtReaderCallbacks *callbacks = OTF2_EvtReaderCallbacks_New();
    OTF2_EvtReaderCallbacks_SetEnterCallback(callbacks, on_enter);
    for (uint64_t t = 0; t < TABLES; t++)
        read_events(reader, callbacks, t);
    OTF2_EvtReaderCallbacks_Delete(callbacks);
    OTF2_Reader_CloseEvtFiles(reader);
    OTF2_Reader_Close(reader);
}

/* Ascending, and once more in any order. A time below 0 has no number in OTF2. */
static void compare(const struct gn_presync *presync, uint32_t location, uint64_t *random)
{
    const struct table *t = &tables[presync->definitions->locations[location].file_id];
    struct gn_presync_map map = gn_presync_map(presync, location), other = map;
    assert_int_equal(t->seen_count, READINGS);
    for (size_t i = 0; i < READINGS; i++) {
        const size_t k = gn_mix_next(random) % READINGS;
        const uint64_t is = (int64_t)t->seen[i] < 0 ? 0 : t->seen[i];
        const uint64_t other_is = (int64_t)t->seen[k] < 0 ? 0 : t->seen[k];
        assert_int_equal(gn_presync_ticks(&map, t->readings[i]), is);
        assert_int_equal(gn_presync_ticks(&other, t->readings[k]), other_is);
    }
    const bool is_moved = memcmp(t->seen, t->readings, sizeof t->seen) != 0;
    assert_true(gn_presync_moves(presync, location) || !is_moved);
}

static void offsets_are_applied_as_otf2_does(void **state)
{
    (void)state;
    uint64_t random = 5;
    char path[96];
    struct gn_error err = {0};
    struct gn_source source;
    for (uint32_t t = 0; t < TABLES; t++)
        fill_table(t, &random);
    make_double(&tables[2 * MOST_OFFSETS]);
    snprintf(path, sizeof path, "%s/offsets", folder);
    write_archive(path);
    assert_int_equal(gn_trace_open(&source, NULL, path, &err), 0);
    OTF2_ErrorCallback before = OTF2_Error_RegisterCallback(on_error, NULL); /* of the double offset */
    strcat(path, "/traces.otf2");
    read_archive(path);
    OTF2_Error_RegisterCallback(before, NULL);
    const struct gn_presync presync = {.kind = GN_PRESYNC_LINEAR, .definitions = source.definitions};
    assert_int_equal(source.definitions->location_count, TABLES);
    for (uint32_t l = 0; l < TABLES; l++)
        compare(&presync, l, &random);
    source.close(source.self);
}

/* ---- what no clock does ---- */

static struct gn_definitions *define(const struct gn_clock_offset *offsets, size_t count)
{
    struct gn_definitions *d = gn_definitions_new();
    const uint32_t process =
        gn_define_process(d, &(struct gn_process){.system_node = GN_NONE, .main_location = GN_NONE});
    d->ticks_per_second = 2500000000;
    d->first_ticks = 5000000;
    const uint32_t clock =
        count ? gn_define_clock(d, &(struct gn_offsets_def){(struct gn_clock_offset *)offsets, count}) : 0;
    assert_int_equal(gn_define_location(d, &(struct gn_location_def){.process = process, .clock = clock}), 0);
    return d;
}

static int64_t at(const struct gn_presync *presync, uint64_t ticks)
{
    struct gn_presync_map map = gn_presync_map(presync, 0);
    return gn_presync_ticks(&map, ticks);
}

static void ascends(const struct gn_presync *presync, uint64_t from, uint64_t to, uint64_t step)
{
    struct gn_presync_map map = gn_presync_map(presync, 0);
    int64_t before = 0;
    for (uint64_t ticks = from; ticks < to; ticks += step) {
        const int64_t now = gn_presync_ticks(&map, ticks);
        assert_true(now >= before && now <= INT64_MAX / 2);
        assert_int_equal(now, at(presync, ticks));
        before = now;
    }
}

static void time_never_goes_back(void **state)
{
    (void)state;
    uint64_t random = 7;
    for (int seed = 0; seed < 300; seed++) {
        struct gn_clock_offset offsets[8];
        for (uint64_t i = 0; i < 8; i++)
            offsets[i] = (struct gn_clock_offset){100 + 100 * i, (int64_t)(gn_mix_next(&random) % 400), 0};
        struct gn_definitions *d = define(offsets, 8);
        const struct gn_presync presync = {.kind = GN_PRESYNC_LINEAR, .definitions = d};
        ascends(&presync, 0, 1200, 1);
        gn_definitions_free(d);
    }
}

/* Where a distance in doubles is coarse. */
static void far_away_it_does_not_go_back(void **state)
{
    (void)state;
    const struct gn_clock_offset offsets[] = {{0, 0, 0}, {1 << 20, -(1 << 18), 0}};
    struct gn_definitions *d = define(offsets, 2);
    const struct gn_presync presync = {.kind = GN_PRESYNC_LINEAR, .definitions = d};
    for (int bits = 40; bits < 62; bits++)
        ascends(&presync, (UINT64_C(1) << bits) - 3000, (UINT64_C(1) << bits) + 3000, 1);
    gn_definitions_free(d);
}

static void nonsense_stays_in_range(void **state)
{
    (void)state;
    const struct gn_clock_offset offsets[] = {
        {10, INT64_MAX, 0}, {20, INT64_MIN, 0}, {30, INT64_MAX, 0}, {UINT64_MAX, 0, 0}};
    struct gn_definitions *d = define(offsets, 4);
    const struct gn_presync presync = {.kind = GN_PRESYNC_LINEAR, .definitions = d};
    ascends(&presync, 0, 100, 1);
    ascends(&presync, 0, INT64_MAX / 2, INT64_MAX / 1000);
    gn_definitions_free(d);
}

static void a_single_offset_moves_nothing(void **state)
{
    (void)state;
    const struct gn_clock_offset offsets[] = {{10, 1000, 0}, {20, 0, 0}};
    struct gn_definitions *d = define(offsets, 1), *e = define(NULL, 0);
    const struct gn_presync one = {.kind = GN_PRESYNC_LINEAR, .definitions = d}, none = {.definitions = e};
    assert_int_equal(at(&one, 5), 5);
    assert_false(gn_presync_moves(&one, 0));
    assert_int_equal(at(&none, 5), 5);
    assert_false(gn_presync_moves(&none, 0));
    gn_definitions_free(d);
    gn_definitions_free(e);
}

static void none_ignores_offsets(void **state)
{
    (void)state;
    const struct gn_clock_offset offsets[] = {{10, 1000, 0}, {20, 1000, 0}};
    struct gn_definitions *d = define(offsets, 2);
    struct gn_presync presync = {.kind = GN_PRESYNC_NONE, .definitions = d};
    assert_int_equal(at(&presync, 5), 5);
    assert_false(gn_presync_moves(&presync, 0));
    presync.kind = GN_PRESYNC_LINEAR;
    assert_int_equal(at(&presync, 5), 1005);
    assert_true(gn_presync_moves(&presync, 0));
    gn_definitions_free(d);
}

/* ---- bounds ---- */

enum { EPOCH = 5000000 };

static struct gn_presync with_bounds(const struct gn_definitions *d, const struct gn_bounds *const *bounds)
{
    return (struct gn_presync){
        .kind = GN_PRESYNC_BOUNDS, .definitions = d, .bounds = bounds, .epoch_ticks = EPOCH};
}

static struct gn_bounds *two_points(int64_t lo_ns, int64_t hi_ns, struct gn_outside outside)
{
    const struct gn_breakpoint points[] = {{1000000, lo_ns, hi_ns},
                                           {3000000, lo_ns + 1000000, hi_ns + 1000000}};
    return gn_bounds_new(points, 2, &outside, NULL);
}

/* 2.5 ticks are a nanosecond. */
static void bounds_are_rounded_outward(void **state)
{
    (void)state;
    struct gn_definitions *d = define(NULL, 0);
    struct gn_bounds *bounds = two_points(-301, 101, (struct gn_outside){0.4, 0.6});
    const struct gn_bounds *of[] = {bounds};
    const struct gn_presync presync = with_bounds(d, of);
    struct gn_presync_map map = gn_presync_map(&presync, 0);
    int64_t low, high;
    assert_true(gn_presync_bounds(&map, 1000000, &low, &high));
    assert_int_equal(low, EPOCH - 753);  /* -752.5 */
    assert_int_equal(high, EPOCH + 253); /* 252.5 */
    assert_int_equal(gn_presync_ticks(&map, 1000000), EPOCH - 250);
    assert_int_equal(gn_presync_ticks(&map, 3000000), EPOCH + 2500000 - 250);
    assert_true(gn_presync_moves(&presync, 0));
    ascends(&presync, 0, 5000000, 1001);
    gn_bounds_free(bounds);
    gn_definitions_free(d);
}

static void the_middle_is_between_the_bounds(void **state)
{
    (void)state;
    struct gn_definitions *d = define(NULL, 0);
    for (uint64_t rate = 1000000000; rate < UINT64_C(1000000000000000); rate = rate * 17 / 3) {
        struct gn_bounds *bounds = two_points(-1, 6, (struct gn_outside){0.4, INFINITY});
        const struct gn_bounds *of[] = {bounds};
        d->ticks_per_second = rate;
        struct gn_presync presync = with_bounds(d, of);
        const int64_t epoch = presync.epoch_ticks = (int64_t)rate; /* a second: nothing is before 0 */
        struct gn_presync_map map = gn_presync_map(&presync, 0);
        for (uint64_t ticks = 500000; ticks < 4000000; ticks += 777) {
            int64_t low, high, middle = gn_presync_ticks(&map, ticks);
            const struct gn_interval ns = gn_bounds_convert(bounds, ticks);
            assert_true(gn_presync_bounds(&map, ticks, &low, &high));
            assert_true(low <= middle && middle <= high);
            const __int128 scale = (__int128)rate;
            if (ns.lo_ns != INT64_MIN) /* exact, times 10^9 */
                assert_true(((__int128)low - epoch) * 1000000000 <= ns.lo_ns * scale &&
                            ((__int128)low + 1 - epoch) * 1000000000 > ns.lo_ns * scale);
            if (ns.hi_ns != INT64_MAX)
                assert_true(((__int128)high - epoch) * 1000000000 >= ns.hi_ns * scale &&
                            ((__int128)high - 1 - epoch) * 1000000000 < ns.hi_ns * scale);
        }
        ascends(&presync, 0, 5000000, 1001);
        gn_bounds_free(bounds);
    }
    gn_definitions_free(d);
}

/* Nothing limits the rate: after the last breakpoint only that the clock does not go back is known. */
static void a_missing_bound_leaves_the_rate(void **state)
{
    (void)state;
    struct gn_definitions *d = define(NULL, 0);
    struct gn_bounds *bounds = two_points(0, 200, (struct gn_outside){0, INFINITY});
    const struct gn_bounds *of[] = {bounds};
    const struct gn_presync presync = with_bounds(d, of);
    struct gn_presync_map map = gn_presync_map(&presync, 0);
    int64_t low, high;
    assert_int_equal(gn_presync_ticks(&map, 3000000), EPOCH + 2500250);
    assert_int_equal(gn_presync_ticks(&map, 3000700), EPOCH + 2500950);
    assert_int_equal(gn_presync_ticks(&map, 999000), EPOCH + 250 - 1000);
    assert_true(gn_presync_bounds(&map, 3000700, &low, &high));
    assert_int_equal(low, EPOCH + 2500000);
    assert_int_equal(high, INT64_MAX);
    ascends(&presync, 0, 5000000, 1001);
    gn_bounds_free(bounds);
    gn_definitions_free(d);
}

static void without_bounds_times_stay(void **state)
{
    (void)state;
    struct gn_definitions *d = define(NULL, 0);
    const struct gn_bounds *of[] = {NULL};
    const struct gn_presync presync = with_bounds(d, of);
    struct gn_presync_map map = gn_presync_map(&presync, 0);
    int64_t low, high;
    assert_int_equal(gn_presync_ticks(&map, 777), 777);
    assert_false(gn_presync_bounds(&map, 777, &low, &high));
    assert_false(gn_presync_moves(&presync, 0));
    gn_definitions_free(d);
}

/* An archive's own bounds are around what its offsets say. */
static void own_bounds_keep_what_a_reader_sees(void **state)
{
    (void)state;
    const struct gn_clock_offset offsets[] = {{1000000, 333, 50}, {3000000, 777, 20}};
    struct gn_definitions *d = define(offsets, 2);
    struct gn_bounds *bounds = two_points(0, 1000000, (struct gn_outside){0, INFINITY});
    const struct gn_bounds *of[] = {bounds};
    struct gn_presync presync = with_bounds(d, of);
    presync.has_offsets = true;
    struct gn_presync_map map = gn_presync_map(&presync, 0);
    int64_t low, high;
    assert_int_equal(gn_presync_ticks(&map, 2000000), 2000555);
    assert_true(gn_presync_bounds(&map, 1000000, &low, &high));
    assert_int_equal(low, EPOCH);
    assert_int_equal(high, EPOCH + 2500000);
    assert_true(gn_presync_moves(&presync, 0));
    gn_bounds_free(bounds);
    gn_definitions_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_are_applied_as_otf2_does),
        cmocka_unit_test(time_never_goes_back),
        cmocka_unit_test(far_away_it_does_not_go_back),
        cmocka_unit_test(nonsense_stays_in_range),
        cmocka_unit_test(a_single_offset_moves_nothing),
        cmocka_unit_test(none_ignores_offsets),
        cmocka_unit_test(bounds_are_rounded_outward),
        cmocka_unit_test(the_middle_is_between_the_bounds),
        cmocka_unit_test(a_missing_bound_leaves_the_rate),
        cmocka_unit_test(without_bounds_times_stay),
        cmocka_unit_test(own_bounds_keep_what_a_reader_sees),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
