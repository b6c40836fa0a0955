/* Every kind of event in the formats of other programs, read back. */
#include "trace/export.h"

#include "perfetto.pb-c.h"
#include "trace_example.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef int open_function(struct gn_output *, FILE *, const struct gn_definitions *, const struct gn_origin *,
                          struct gn_error *);

static struct gn_definitions *definitions;
static const struct gn_origin origin = {true, 1000, 2500000000, NULL};

/* The first message of the example is the one whose send is known. */
static struct gn_place place_of(const struct gn_event *event)
{
    struct gn_place place = {.ticks = event->ticks, .sender = GN_NONE};
    if (event->kind == GN_EVENT_MPI_RECV)
        place = (struct gn_place){event->ticks, 1003, 0, GN_PLACE_CORRELATED, GN_NONE, GN_NONE};
    return place;
}

/* The whole example as bytes, to be freed. */
static char *export_example(open_function *open, size_t *size, size_t *events)
{
    char *bytes = NULL;
    struct gn_output output;
    struct gn_error err;
    FILE *file = open_memstream(&bytes, size);
    assert_int_equal(open(&output, file, definitions, &origin, &err), 0);
    const struct gn_event *event;
    for (*events = 0; (event = example_event(*events)); ++*events) {
        struct gn_place place = place_of(event);
        assert_int_equal(output.put(output.self, *events, event, &place, &err), 0);
    }
    assert_int_equal(output.finish(output.self, &err), 0);
    return bytes;
}

/* Lines, with *commas of those of one line that separate fields; -1: not the same in all lines. */
static int count_lines(const char *text, int *commas)
{
    int lines = 0, here = 0;
    bool quoted = false;
    *commas = -1;
    for (; *text; text++) {
        quoted ^= *text == '"';
        here += *text == ',' && !quoted;
        if (*text != '\n' || quoted)
            continue;
        if (lines++ && here != *commas)
            return -1;
        *commas = here;
        here = 0;
    }
    return lines;
}

static void a_table_has_the_same_columns_everywhere(void **state)
{
    (void)state;
    size_t size, events;
    int commas;
    char *text = export_example(gn_export_csv, &size, &events);
    assert_int_equal(count_lines(text, &commas), events + 1);
    assert_int_equal(commas, 19);
    assert_non_null(strstr(text, ",region_begin,\"a \"\"part\"\", named\n\","));
    assert_non_null(strstr(text, ",mpi_recv,,,,MPI_COMM_WORLD,,0,,5,,,,80,0,1\r\n"));
    free(text);
}

static size_t phases(const json_t *list, const char *phase)
{
    size_t count = 0, i;
    json_t *entry;
    json_array_foreach(list, i, entry) count +=
        strcmp(json_string_value(json_object_get(entry, "ph")), phase) == 0;
    return count;
}

static void a_chrome_trace_is_json(void **state)
{
    (void)state;
    size_t size, events;
    char *text = export_example(gn_export_chrome, &size, &events);
    json_t *trace = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(trace);
    const json_t *list = json_object_get(trace, "traceEvents");
    assert_int_equal(phases(list, "B"), 5);
    assert_int_equal(phases(list, "E"), 5);
    assert_int_equal(phases(list, "s"), 2);
    assert_int_equal(phases(list, "f"), 1);
    assert_int_equal(phases(list, "i"), 3);
    json_decref(trace);
    free(text);
}

static void a_perfetto_trace_has_all_events(void **state)
{
    (void)state;
    size_t size, events;
    char *bytes = export_example(gn_export_perfetto, &size, &events);
    Perfetto__Protos__Trace *trace = perfetto__protos__trace__unpack(NULL, size, (const uint8_t *)bytes);
    assert_non_null(trace);
    uint64_t sent = 0, received = 0;
    size_t found = 0, last = 0;
    for (size_t i = 0; i < trace->n_packet; i++) {
        const Perfetto__Protos__TrackEvent *event = trace->packet[i]->track_event;
        if (!event)
            continue;
        found++;
        sent = event->n_flow_ids && !sent ? event->flow_ids[0] : sent;
        received = event->n_terminating_flow_ids ? event->terminating_flow_ids[0] : received;
        last = i;
    }
    assert_int_equal(found, events);
    assert_true(sent && sent == received);
    assert_int_equal(last, trace->n_packet - 1); /* names and tracks come first */
    assert_int_equal(trace->packet[0]->sequence_flags, 1);
    perfetto__protos__trace__free_unpacked(trace, NULL);
    free(bytes);
}

static void a_full_disk_is_told(void **state)
{
    (void)state;
    open_function *const all[] = {gn_export_csv, gn_export_chrome, gn_export_perfetto};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        FILE *full = fopen("/dev/full", "w");
        struct gn_output output;
        struct gn_error err = {""};
        if (!full)
            skip();
        assert_int_equal(all[i](&output, full, definitions, &origin, &err), 0);
        assert_true(output.finish(output.self, &err) < 0);
        assert_non_null(strstr(err.text, "cannot write"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_has_the_same_columns_everywhere),
        cmocka_unit_test(a_chrome_trace_is_json),
        cmocka_unit_test(a_perfetto_trace_has_all_events),
        cmocka_unit_test(a_full_disk_is_told),
    };
    definitions = example_definitions(true);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    gn_definitions_free(definitions);
    return failed;
}
