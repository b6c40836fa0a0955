/* Any OTF2 archive as a source of events: one that Score-P wrote, crafted ones, and broken ones. */
#include "trace/reader.h"

#include "archive_maker.h"
#include "packed_archive.h"
#include "scratch.h"
#include "trace/file_record.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- helpers ---- */

struct opened {
    struct gn_source source;
    const struct gn_trace_report *report;
    uint64_t counts[GN_EVENT_KIND_COUNT];
    struct gn_event *events; /* of all locations, one after the other */
    size_t count;
};

static void open_archive(struct opened *o, const char *path)
{
    struct gn_error err = {0};
    memset(o, 0, sizeof *o);
    if (gn_trace_open(&o->source, &o->report, path, &err) != 0)
        fail_msg("%s", err.text);
}

static void keep(struct opened *o, const struct gn_event *events, int64_t count)
{
    o->events = realloc(o->events, (o->count + (size_t)count) * sizeof *events);
    assert_non_null(o->events);
    memcpy(o->events + o->count, events, (size_t)count * sizeof *events);
    o->count += (size_t)count;
    for (int64_t i = 0; i < count; i++)
        o->counts[events[i].kind]++;
}

/* Where every record is an event. */
static void assert_all_records(const struct opened *o)
{
    for (size_t i = 0; i < o->count; i++) {
        bool is_first = i == 0 || o->events[i].location != o->events[i - 1].location;
        assert_int_equal(o->events[i].record, is_first ? 1 : o->events[i - 1].record + 1);
    }
}

static void read_all(struct opened *o, const char *path)
{
    struct gn_error err = {0};
    const struct gn_event *events;
    int64_t count;
    open_archive(o, path);
    for (uint32_t l = 0; l < o->source.definitions->location_count; l++) {
        while ((count = o->source.pull(o->source.self, l, &events, &err)) > 0)
            keep(o, events, count);
        if (count < 0)
            fail_msg("%s", err.text);
    }
    assert_int_equal(o->report->events, o->count);
}

static void close_archive(struct opened *o)
{
    o->source.close(o->source.self);
    free(o->events);
}

static uint64_t faults(const struct gn_trace_report *r)
{
    return r->backward + r->undefined + r->redefined + r->reused_requests + r->unknown_requests +
           r->open_requests + r->open_collectives + r->unbalanced_leaves + r->beyond_end + r->missing_files +
           r->truncated + r->miscounted;
}

static void assert_refused(const char *path, const char *why)
{
    struct gn_error err = {0};
    struct gn_source source;
    assert_true(gn_trace_open(&source, NULL, path, &err) < 0);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

/* ---- an archive of Score-P's ---- */

static void events_are_counted_as_otf2_print_does(void **state)
{
    (void)state;
    static const struct {
        unsigned kind;
        uint64_t count;
    } expected[] = {
        {GN_EVENT_ENTER, 177},
        {GN_EVENT_LEAVE, 177},
        {GN_EVENT_MPI_SEND, 16},
        {GN_EVENT_MPI_ISEND, 12},
        {GN_EVENT_MPI_ISEND_COMPLETE, 12},
        {GN_EVENT_MPI_IRECV_REQUEST, 20},
        {GN_EVENT_MPI_RECV, 8},
        {GN_EVENT_MPI_IRECV, 20},
        {GN_EVENT_COLLECTIVE_BEGIN, 44},
        {GN_EVENT_COLLECTIVE_END, 44},
        {GN_EVENT_NBC_REQUEST, 8},
        {GN_EVENT_NBC_COMPLETE, 8},
        {GN_EVENT_COMM_CREATE, 16},
        {GN_EVENT_COMM_DESTROY, 16},
        {GN_EVENT_RMA_WIN_CREATE, 4},
        {GN_EVENT_RMA_WIN_DESTROY, 4},
        {GN_EVENT_RMA_COLLECTIVE_BEGIN, 16},
        {GN_EVENT_RMA_COLLECTIVE_END, 16},
        {GN_EVENT_RMA_PUT, 4},
        {GN_EVENT_RMA_COMPLETE, 4},
        {GN_EVENT_PROGRAM_BEGIN, 4},
        {GN_EVENT_PROGRAM_END, 4},
    };
    struct opened o;
    uint64_t total = 0;
    read_all(&o, SCOREP);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(o.counts[expected[i].kind], expected[i].count);
        total += expected[i].count;
    }
    assert_int_equal(o.count, total);
    assert_int_equal(o.report->skipped, 0);
    assert_int_equal(faults(o.report), 0);
    assert_string_equal(o.report->creator, "Score-P 8.4");
    assert_all_records(&o);
    close_archive(&o);
}

static void definitions_are_resolved(void **state)
{
    (void)state;
    struct opened o;
    open_archive(&o, SCOREP);
    const struct gn_definitions *d = o.source.definitions;
    assert_int_equal(d->ticks_per_second, 2596149597);
    assert_int_equal(d->first_ticks, 18789280292031);
    assert_int_equal(d->length_ticks, 681400806);
    assert_int_equal(d->realtime_ns, 0);
    assert_int_equal(d->location_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_string_equal(gn_string(d, d->locations[i].name), "Master thread");
        assert_int_equal(d->locations[i].domain, d->locations[0].domain); /* one node */
        assert_int_equal(d->processes[d->locations[i].process].rank, i);
        assert_int_equal(d->processes[d->locations[i].process].main_location, i);
    }
    assert_int_equal(d->comm_count, 6);
    assert_string_equal(gn_string(d, d->comms[1].name), "MPI_COMM_WORLD");
    assert_int_equal(d->comms[1].member_count, 4);
    assert_int_equal(d->comms[5].member_count, 2); /* ranks 1 and 3 of the world */
    assert_int_equal(d->comms[5].members[0], 1);
    assert_int_equal(d->comms[5].members[1], 3);
    assert_int_equal(d->comms[5].parent, 1);
    assert_int_equal(d->windows[0].comm, 1);
    close_archive(&o);
}

static void self_is_each_process_alone(void **state)
{
    (void)state;
    struct opened o;
    open_archive(&o, SCOREP);
    const struct gn_definitions *d = o.source.definitions;
    assert_true(d->comms[4].is_self);
    for (uint32_t process = 0; process < 4; process++) {
        assert_int_equal(gn_comm_rank_of(d, 4, process, NULL), 0);
        assert_int_equal(gn_comm_peer(d, 4, process, 0), process);
        assert_int_equal(gn_comm_peer(d, 4, process, 1), GN_NONE);
    }
    close_archive(&o);
}

static void regions_have_roles_and_operations(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned op;
    } expected[] = {{"MPI_Bcast", GN_COLLECTIVE_BCAST},
                    {"MPI_Ireduce_scatter_block", GN_COLLECTIVE_REDUCE_SCATTER_BLOCK},
                    {"MPI_Ibarrier", GN_COLLECTIVE_BARRIER},
                    {"MPI_Send", GN_COLLECTIVE_UNKNOWN}};
    struct opened o;
    open_archive(&o, SCOREP);
    const struct gn_definitions *d = o.source.definitions;
    size_t found = 0;
    for (size_t i = 0; i < d->region_count; i++)
        for (size_t j = 0; j < sizeof expected / sizeof *expected; j++)
            if (strcmp(gn_string(d, d->regions[i].name), expected[j].name) == 0) {
                assert_int_equal(gn_activity_def(d->regions[i].activity)->op, expected[j].op);
                assert_int_equal(d->regions[i].role, GN_ROLE_MPI);
                found++;
            }
    assert_int_equal(found, 4);
    close_archive(&o);
}

static void a_begin_says_what_its_end_says(void **state)
{
    (void)state;
    struct opened o;
    unsigned bcasts = 0;
    read_all(&o, SCOREP);
    for (size_t i = 0; i < o.count; i++) {
        const struct gn_event *begin = &o.events[i], *end = begin;
        if (begin->kind != GN_EVENT_COLLECTIVE_BEGIN && begin->kind != GN_EVENT_RMA_COLLECTIVE_BEGIN)
            continue;
        while (end->kind != begin->kind + 1)
            end++;
        assert_int_equal(begin->location, end->location);
        assert_int_equal(begin->op, end->op);
        assert_int_equal(begin->comm, end->comm);
        assert_int_equal(begin->peer, end->peer);
        assert_int_equal(begin->bytes_sent, end->bytes_sent);
        assert_int_equal(begin->bytes_received, end->bytes_received);
        bcasts += begin->op == GN_COLLECTIVE_BCAST && begin->peer == 1;
    }
    assert_int_equal(bcasts, 4);
    close_archive(&o);
}

/* ---- crafted archives ---- */

static const uint64_t two[] = {0, 1000000000000ull}; /* sparse, as eztrace's */

/* Events of location two[0] come from write; two[1] has none. */
static void craft(void (*write)(OTF2_EvtWriter *), void (*define)(OTF2_GlobalDefWriter *), uint64_t length)
{
    struct maker maker;
    uint64_t counts[2];
    maker_open(&maker, folder, 256 << 10);
    OTF2_EvtWriter *writer = maker_begin(&maker, two[0]);
    if (write)
        write(writer);
    counts[0] = maker_end(&maker, writer);
    counts[1] = maker_end(&maker, maker_begin(&maker, two[1]));
    maker_definitions(&maker, two, 2, length);
    maker_world(&maker, two, counts, 2);
    if (define)
        define(maker.definitions);
    maker_close(&maker);
}

static void write_begins_without_ends(OTF2_EvtWriter *w)
{
    OTF2_EvtWriter_Enter(w, NULL, 1, 0);
    OTF2_EvtWriter_MpiCollectiveBegin(w, NULL, 2); /* a nonblocking one, as eztrace writes it */
    OTF2_EvtWriter_Leave(w, NULL, 3, 0);
    OTF2_EvtWriter_MpiCollectiveBegin(w, NULL, 4);
    for (uint64_t i = 0; i < 10000; i++)
        OTF2_EvtWriter_MpiSend(w, NULL, 5 + i, 0, 0, 1, 1);
    OTF2_EvtWriter_MpiCollectiveEnd(w, NULL, 20000, OTF2_COLLECTIVE_OP_BCAST, 0, 1, 8, 8);
    OTF2_EvtWriter_MpiCollectiveBegin(w, NULL, 20001);
}

static void begins_without_ends_are_let_go(void **state)
{
    (void)state;
    struct opened o;
    craft(write_begins_without_ends, NULL, 0);
    read_all(&o, folder);
    assert_int_equal(o.count, 10006);
    assert_int_equal(o.report->open_collectives, 3);
    assert_int_equal(o.events[1].op, GN_COLLECTIVE_UNKNOWN);
    assert_int_equal(o.events[3].op, GN_COLLECTIVE_UNKNOWN);
    close_archive(&o);
}

static void write_a_long_collective(OTF2_EvtWriter *w)
{
    for (uint64_t i = 0; i < 500; i++)
        OTF2_EvtWriter_MpiSend(w, NULL, i, 0, 0, 1, 1);
    OTF2_EvtWriter_MpiCollectiveBegin(w, NULL, 600);
    for (uint64_t i = 0; i < 4000; i++)
        OTF2_EvtWriter_MpiSend(w, NULL, 1000 + i, 0, 0, 1, 1);
    OTF2_EvtWriter_MpiCollectiveEnd(w, NULL, 20000, OTF2_COLLECTIVE_OP_BCAST, 0, OTF2_COLLECTIVE_ROOT_SELF, 8,
                                    9);
}

static void a_begin_is_held_over_many_batches(void **state)
{
    (void)state;
    struct opened o;
    craft(write_a_long_collective, NULL, 0);
    read_all(&o, folder);
    assert_int_equal(o.count, 4502);
    assert_int_equal(faults(o.report), 0);
    assert_int_equal(o.events[500].kind, GN_EVENT_COLLECTIVE_BEGIN);
    assert_int_equal(o.events[500].op, GN_COLLECTIVE_BCAST);
    assert_int_equal(o.events[500].comm, 0);
    assert_int_equal(o.events[500].peer, GN_ROOT_SELF);
    assert_int_equal(o.events[500].bytes_received, 9);
    for (size_t i = 0; i + 1 < o.count; i++)
        assert_true(o.events[i].ticks <= o.events[i + 1].ticks);
    assert_all_records(&o);
    close_archive(&o);
}

enum { STRANGE = 0x5a5a, UNKNOWN_RECORD = 240 };

/* Kinds that are no events here, kinds with attributes, a begin that is held: times are numbers of records.
 */
static void write_every_sort(OTF2_EvtWriter *w)
{
    OTF2_AttributeList *list = OTF2_AttributeList_New();
    for (uint64_t t = 0; t < 60000;) {
        OTF2_AttributeList_AddUint32(list, 0, 5);
        OTF2_EvtWriter_Enter(w, list, ++t, 0);
        OTF2_EvtWriter_BufferFlush(w, NULL, ++t, 70000);
        OTF2_EvtWriter_Metric(w, NULL, ++t, 0, 1, (OTF2_Type[]){OTF2_TYPE_UINT64},
                              (OTF2_MetricValue[]){{.unsigned_int = 7}});
        OTF2_EvtWriter_MpiCollectiveBegin(w, NULL, ++t);
        OTF2_EvtWriter_IoSeek(w, NULL, ++t, 0, 1, OTF2_IO_SEEK_FROM_START, 1);
        OTF2_EvtWriter_CallingContextSample(w, NULL, ++t, 0, 1, 0);
        OTF2_EvtWriter_ThreadTaskCreate(w, NULL, ++t, 0, 0, 0);
        OTF2_EvtWriter_MpiCollectiveEnd(w, NULL, ++t, OTF2_COLLECTIVE_OP_BARRIER, 0,
                                        OTF2_COLLECTIVE_ROOT_NONE, 0, 0);
        OTF2_AttributeList_AddUint32(list, 0, 6);
        OTF2_EvtWriter_ParameterString(w, list, ++t, STRANGE, 0);
        OTF2_EvtWriter_Leave(w, NULL, ++t, 0);
    }
    OTF2_AttributeList_Delete(list);
}

/* Some of them become records of a kind that this version of the library does not know either. */
static void make_unknown(void)
{
    static const uint8_t parameter[] = {2, STRANGE & 0xff, STRANGE >> 8};
    struct packed_archive archive;
    size_t made = 0;
    packed_load(&archive, folder);
    for (size_t i = 0; i < archive.count; i++) {
        struct packed_file *file = &archive.files[i];
        for (size_t at = 2; strcmp(file->name, "traces/0.evt") == 0 && at + 3 < file->size; at++)
            if (memcmp(file->bytes + at, parameter, sizeof parameter) == 0 && at % 2) {
                file->bytes[at - 2] = UNKNOWN_RECORD;
                made++;
            }
        packed_put_file(file, folder);
    }
    assert_in_range(made, 100, 60000);
    packed_free(&archive);
}

static void events_say_which_record_they_are(void **state)
{
    (void)state;
    for (int unknown = 0; unknown < 2; unknown++) {
        struct opened o;
        craft(write_every_sort, NULL, 0);
        if (unknown)
            make_unknown();
        read_all(&o, folder);
        assert_int_equal(o.count, 4 * 6000);
        assert_int_equal(o.report->skipped, 6 * 6000);
        for (size_t i = 0; i < o.count; i++)
            assert_int_equal(o.events[i].record, o.events[i].ticks);
        close_archive(&o);
        assert_int_equal(remove_folder(NULL), 0);
    }
}

static void write_bad_requests(OTF2_EvtWriter *w)
{
    OTF2_EvtWriter_MpiIrecvRequest(w, NULL, 1, 7);
    OTF2_EvtWriter_MpiIrecvRequest(w, NULL, 2, 7); /* reused */
    OTF2_EvtWriter_MpiIrecv(w, NULL, 3, 1, 0, 1, 1, 7);
    OTF2_EvtWriter_MpiIrecv(w, NULL, 4, 1, 0, 1, 1, 7); /* unknown */
    OTF2_EvtWriter_MpiIsend(w, NULL, 5, 1, 0, 1, 1, 8); /* open */
    OTF2_EvtWriter_NonBlockingCollectiveRequest(w, NULL, 6, 9);
    OTF2_EvtWriter_NonBlockingCollectiveComplete(w, NULL, 7, OTF2_COLLECTIVE_OP_BARRIER, 0,
                                                 OTF2_COLLECTIVE_ROOT_NONE, 0, 0, 9);
}

static void requests_are_counted(void **state)
{
    (void)state;
    struct opened o;
    craft(write_bad_requests, NULL, 0);
    read_all(&o, folder);
    assert_int_equal(o.report->reused_requests, 1);
    assert_int_equal(o.report->unknown_requests, 1);
    assert_int_equal(o.report->open_requests, 1);
    assert_int_equal(faults(o.report), 3);
    close_archive(&o);
}

static void write_oddities(OTF2_EvtWriter *w)
{
    OTF2_EvtWriter_Leave(w, NULL, 10, 0);                         /* without an enter */
    OTF2_EvtWriter_Enter(w, NULL, 20, 12345);                     /* of nothing */
    OTF2_EvtWriter_BufferFlush(w, NULL, 30, 31);                  /* skipped */
    OTF2_EvtWriter_ParameterUnsignedInt(w, NULL, 35, 0, 42);      /* lost */
    OTF2_EvtWriter_ParameterUnsignedInt(w, NULL, 36, 1, 42);      /* any other parameter: skipped */
    OTF2_EvtWriter_MpiSend(w, NULL, 40, UINT32_MAX - 1, 0, 1, 1); /* to nobody (MPI_PROC_NULL) */
    OTF2_EvtWriter_ThreadEnd(w, NULL, 50, OTF2_UNDEFINED_COMM, 0);
    OTF2_EvtWriter_Enter(w, NULL, 60, 0); /* after the end */
    OTF2_EvtWriter_Enter(w, NULL, 200, 0);
}

static void define_parameters(OTF2_GlobalDefWriter *d)
{
    OTF2_GlobalDefWriter_WriteParameter(d, 0, TEXTS, OTF2_PARAMETER_TYPE_UINT64);
    OTF2_GlobalDefWriter_WriteParameter(d, 1, TEXT_WORLD, OTF2_PARAMETER_TYPE_UINT64);
    OTF2_GlobalDefWriter_WriteString(d, TEXTS, "gnomon.lost"); /* after its use */
}

static void oddities_are_repaired_and_counted(void **state)
{
    (void)state;
    struct opened o;
    craft(write_oddities, define_parameters, 100);
    read_all(&o, folder);
    assert_int_equal(o.count, 7);
    assert_int_equal(o.report->skipped, 2);
    assert_int_equal(o.report->undefined, 2);
    assert_int_equal(o.report->beyond_end, 2);
    assert_int_equal(o.report->unbalanced_leaves, 1 + 3);
    assert_int_equal(o.events[1].region, GN_NONE);
    assert_int_equal(o.events[2].kind, GN_EVENT_LOST);
    assert_int_equal(o.events[2].request, 42);
    assert_int_equal(o.events[3].peer, GN_NONE);
    close_archive(&o);
}

static void write_posted(OTF2_EvtWriter *w)
{
    OTF2_AttributeList *list = OTF2_AttributeList_New();
    OTF2_AttributeList_AddCommRef(list, 0, 0);
    OTF2_AttributeList_AddUint32(list, 1, GN_ANY);
    OTF2_AttributeList_AddUint32(list, 2, 77);
    OTF2_EvtWriter_MpiIrecvRequest(w, list, 1, 1);
    OTF2_AttributeList_AddCommRef(list, 0, 0);
    OTF2_AttributeList_AddUint32(list, 1, 1);
    OTF2_AttributeList_AddUint32(list, 3, GN_COLLECTIVE_BCAST);
    OTF2_EvtWriter_NonBlockingCollectiveRequest(w, list, 2, 2);
    OTF2_EvtWriter_MpiIrecvRequest(w, NULL, 3, 3);
    OTF2_AttributeList_Delete(list);
}

static void define_attributes(OTF2_GlobalDefWriter *d)
{
    static const char *const names[] = {"gnomon.comm", "gnomon.peer", "gnomon.tag", "gnomon.op"};
    for (uint32_t i = 0; i < 4; i++) {
        OTF2_GlobalDefWriter_WriteString(d, TEXTS + i, names[i]);
        OTF2_GlobalDefWriter_WriteAttribute(d, i, TEXTS + i, TEXT_EMPTY,
                                            i == 0 ? OTF2_TYPE_COMM : OTF2_TYPE_UINT32);
    }
}

static void posted_operations_are_known(void **state)
{
    (void)state;
    struct opened o;
    craft(write_posted, define_attributes, 0);
    read_all(&o, folder);
    assert_int_equal(o.events[0].comm, 0);
    assert_int_equal(o.events[0].peer, GN_ANY);
    assert_int_equal(o.events[0].tag, 77);
    assert_int_equal(o.events[1].comm, 0);
    assert_int_equal(o.events[1].peer, 1);
    assert_int_equal(o.events[1].op, GN_COLLECTIVE_BCAST);
    assert_int_equal(o.events[2].comm, GN_NONE);
    assert_int_equal(o.events[2].peer, GN_NONE);
    close_archive(&o);
}

static void write_epochs(OTF2_EvtWriter *w)
{
    OTF2_EvtWriter_RmaGroupSync(w, NULL, 1, OTF2_RMA_SYNC_LEVEL_PROCESS, 0, 1);
    OTF2_EvtWriter_RmaGroupSync(w, NULL, 2, OTF2_RMA_SYNC_LEVEL_PROCESS, 0, 7);
    OTF2_EvtWriter_RmaGroupSync(w, NULL, 3, OTF2_RMA_SYNC_LEVEL_PROCESS, 0, 0); /* of locations */
    OTF2_EvtWriter_RmaGroupSync(w, NULL, 4, OTF2_RMA_SYNC_LEVEL_PROCESS, 0, 8);
}

static void define_epochs(OTF2_GlobalDefWriter *d)
{
    static const uint64_t second[] = {1};
    OTF2_GlobalDefWriter_WriteGroup(d, 7, TEXT_EMPTY, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, 1, second);
    OTF2_GlobalDefWriter_WriteRmaWin(d, 0, TEXT_EMPTY, 0, OTF2_RMA_WIN_FLAG_NONE);
}

static void groups_of_epochs_are_known(void **state)
{
    (void)state;
    struct opened o;
    craft(write_epochs, define_epochs, 0);
    read_all(&o, folder);
    assert_int_equal(o.counts[GN_EVENT_RMA_SYNC], 4);
    assert_int_equal(o.events[0].tag, 0); /* that of MPI_COMM_WORLD */
    assert_int_equal(o.events[1].tag, 1);
    assert_int_equal(o.events[2].tag, GN_NONE);
    assert_int_equal(o.events[3].tag, GN_NONE);
    assert_int_equal(o.report->undefined, 1);
    assert_int_equal(o.source.definitions->comm_count, 2);
    assert_int_equal(o.source.definitions->comms[1].member_count, 1);
    assert_int_equal(o.source.definitions->comms[1].members[0], 1);
    close_archive(&o);
}

static void write_contexts(OTF2_EvtWriter *w)
{
    OTF2_EvtWriter_CallingContextEnter(w, NULL, 1, 5, 1);
    OTF2_EvtWriter_CallingContextLeave(w, NULL, 2, 5);
}

/* Children before parents, a circle, and everything twice. */
static void define_contradictions(OTF2_GlobalDefWriter *d)
{
    static const uint64_t one[] = {1}, nobody[] = {99};
    for (int i = 0; i < 2; i++) {
        OTF2_GlobalDefWriter_WriteSourceCodeLocation(d, 3, TEXT_HOST, 42 + (uint32_t)i);
        OTF2_GlobalDefWriter_WriteCallingContext(d, 5, 0, 3, 4);
        OTF2_GlobalDefWriter_WriteCallingContext(d, 4, 0, OTF2_UNDEFINED_SOURCE_CODE_LOCATION,
                                                 OTF2_UNDEFINED_CALLING_CONTEXT);
        OTF2_GlobalDefWriter_WriteCallingContext(d, 7, 0, 3, 8);
        OTF2_GlobalDefWriter_WriteCallingContext(d, 8, 0, 3, 7);
        OTF2_GlobalDefWriter_WriteInterComm(d, 1, TEXT_EMPTY, 2, 3, 0, OTF2_COMM_FLAG_NONE);
        OTF2_GlobalDefWriter_WriteComm(d, 2, TEXT_EMPTY, 4, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
        OTF2_GlobalDefWriter_WriteGroup(d, 2, TEXT_EMPTY, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                        OTF2_GROUP_FLAG_NONE, 1, one);
        OTF2_GlobalDefWriter_WriteGroup(d, 3, TEXT_EMPTY, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                        OTF2_GROUP_FLAG_NONE, 1, (const uint64_t[]){0});
        OTF2_GlobalDefWriter_WriteGroup(d, 4, TEXT_EMPTY, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                        OTF2_GROUP_FLAG_NONE, 1, nobody);
    }
}

static void contradictions_are_resolved(void **state)
{
    (void)state;
    struct opened o;
    craft(write_contexts, define_contradictions, 0);
    read_all(&o, folder);
    const struct gn_definitions *d = o.source.definitions;
    assert_int_equal(o.report->redefined, 10);
    assert_int_equal(o.report->undefined, 2); /* the circle, the member that is none */
    assert_int_equal(d->path_count, 4);
    for (uint32_t i = 0; i < d->path_count; i++)
        assert_true(d->paths[i].parent == GN_NONE || d->paths[i].parent < i);
    const struct gn_path_def *path = &d->paths[o.events[0].path];
    assert_int_equal(path->line, 42);
    assert_string_equal(gn_string(d, path->source_file), "host");
    assert_int_equal(d->paths[path->parent].parent, GN_NONE);
    assert_int_equal(o.events[0].region, path->region);
    assert_int_equal(d->comms[1].other_count, 1);
    assert_int_equal(gn_comm_peer(d, 1, 0, 0), 1);
    assert_int_equal(gn_comm_peer(d, 1, 1, 0), 0);
    assert_int_equal(d->comms[2].members[0], GN_NONE);
    close_archive(&o);
}

/* More locations than can be open: each goes on where it was. */
static void many_locations_take_turns(void **state)
{
    (void)state;
    enum { LOCATIONS = 20, STEPS = 40000 };
    uint64_t ids[LOCATIONS], counts[LOCATIONS], next[LOCATIONS] = {0}, total = 0;
    struct rlimit few, before;
    struct maker maker;
    struct opened o;
    struct gn_error err = {0};
    maker_open(&maker, folder, 256 << 10);
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        OTF2_EvtWriter *w = maker_begin(&maker, ids[l] = l);
        for (uint64_t i = 0; i < STEPS; i++) {
            OTF2_EvtWriter_MpiSend(w, NULL, 1000 * i + l, 0, 0, (uint32_t)i, 1);
            if (i % 5 == 4)
                OTF2_EvtWriter_BufferFlush(w, NULL, 1000 * i + l, 1000 * i + l);
        }
        counts[l] = maker_end(&maker, w);
    }
    maker_definitions(&maker, ids, LOCATIONS, 0);
    maker_world(&maker, ids, counts, LOCATIONS);
    maker_close(&maker);
    getrlimit(RLIMIT_NOFILE, &before);
    few = (struct rlimit){32, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    open_archive(&o, folder);
    for (int more = 1; more;) {
        more = 0;
        for (uint32_t l = 0; l < LOCATIONS; l++) {
            const struct gn_event *events;
            int64_t count = o.source.pull(o.source.self, l, &events, &err);
            if (count < 0)
                fail_msg("%s", err.text);
            for (int64_t i = 0; i < count; i++, next[l]++) {
                assert_int_equal(events[i].tag, next[l]);
                assert_int_equal(events[i].ticks, 1000 * next[l] + l);
                assert_int_equal(events[i].record, next[l] + next[l] / 5 + 1);
            }
            more |= count > 0;
        }
    }
    setrlimit(RLIMIT_NOFILE, &before);
    for (uint32_t l = 0; l < LOCATIONS; l++)
        total += next[l];
    assert_int_equal(total, LOCATIONS * STEPS);
    assert_int_equal(faults(o.report), 0);
    close_archive(&o);
}

/* ---- what is no archive, and what is broken ---- */

static void what_is_no_archive_is_refused(void **state)
{
    (void)state;
    char path[128];
    assert_refused("/nowhere/at/all", "/nowhere/at/all");
    assert_refused(folder, "no OTF2 archive");
    snprintf(path, sizeof path, "%s/a.otf2", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("this is no anchor", file);
    fclose(file);
    assert_refused(path, "no OTF2 anchor file");
    assert_refused(folder, "no OTF2 anchor file");
    snprintf(path, sizeof path, "%s/b.otf2", folder);
    file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_refused(folder, "2 OTF2 archives");
}

static void cut_definitions_are_refused(void **state)
{
    (void)state;
    struct packed_archive archive;
    packed_load(&archive, SCOREP);
    packed_put(&archive, folder);
    for (size_t i = 0; i < archive.count; i++)
        if (strcmp(archive.files[i].name, "traces.def") == 0) {
            archive.files[i].size = 5000;
            packed_put_file(&archive.files[i], folder);
            assert_refused(folder, "traces.def was cut off");
            packed_remove_file(&archive.files[i], folder);
        }
    assert_refused(folder, "traces.def is missing");
    packed_free(&archive);
}

/* Who is defined to be without events needs no file. */
static void a_file_of_no_events_is_not_missing(void **state)
{
    (void)state;
    const uint64_t locations[] = {0, 1}, events[] = {1, 0};
    struct maker maker = {.offsets = NULL};
    struct opened o;
    maker_open(&maker, folder, 256 << 10);
    OTF2_EvtWriter *writer = maker_begin(&maker, 0);
    OTF2_EvtWriter_Enter(writer, NULL, 1, 0);
    maker_end(&maker, writer);
    maker_definitions(&maker, locations, 1, 10);
    maker_world(&maker, locations, events, 2);
    maker_close(&maker);
    read_all(&o, folder);
    assert_int_equal(o.count, 1);
    assert_int_equal(o.report->missing_files, 0);
    close_archive(&o);
}

static void missing_event_files_are_counted(void **state)
{
    (void)state;
    struct packed_archive archive;
    struct opened o;
    packed_load(&archive, SCOREP);
    packed_put(&archive, folder);
    for (size_t i = 0; i < archive.count; i++)
        if (strcmp(archive.files[i].name, "traces/2.evt") == 0)
            packed_remove_file(&archive.files[i], folder);
    read_all(&o, folder);
    assert_int_equal(o.report->missing_files, 1);
    assert_int_equal(faults(o.report), 1);
    assert_int_equal(o.count, 634 - 160);
    close_archive(&o);
    packed_free(&archive);
}

static void a_newline_behind_the_end_of_a_file_is_no_damage(void **state)
{
    (void)state;
    struct packed_archive archive;
    struct opened o;
    packed_load(&archive, SCOREP);
    for (size_t i = 0; i < archive.count; i++) {
        struct packed_file *file = &archive.files[i];
        file->bytes = realloc(file->bytes, file->size + 1);
        assert_non_null(file->bytes);
        file->bytes[file->size++] = '\n';
    }
    packed_put(&archive, folder);
    read_all(&o, folder);
    assert_int_equal(faults(o.report), 0);
    assert_int_equal(o.count, 634);
    close_archive(&o);
    packed_remove(&archive, folder);
    packed_free(&archive);
}

/* Reads the archive in the folder in a child: whatever it is, that must not crash, run for ever, take much
 * memory, or fail without a word. */
static void assert_survives(const char *what)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct gn_error err = {0};
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* they reserve more than that */
        setrlimit(RLIMIT_AS, &(struct rlimit){1u << 30, 1u << 30});
#endif
        alarm(20);
        _exit(packed_check(folder, &err) < 0 && err.text[0] == '\0');
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != 0)
        fail_msg("%s: %s %d", what, WIFSIGNALED(status) ? "signal" : "status",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void truncated_files_are_survived(void **state)
{
    (void)state;
    struct packed_archive archive;
    char what[128];
    packed_load(&archive, SCOREP);
    packed_put(&archive, folder);
    for (size_t i = 0; i < archive.count; i++) {
        struct packed_file cut = archive.files[i];
        for (cut.size = 0; cut.size < archive.files[i].size; cut.size += 37) {
            snprintf(what, sizeof what, "the first %zu bytes of %s", cut.size, cut.name);
            packed_put_file(&cut, folder);
            assert_survives(what);
        }
        packed_remove_file(&cut, folder);
        snprintf(what, sizeof what, "without %s", archive.files[i].name);
        assert_survives(what);
        packed_put_file(&archive.files[i], folder);
    }
    packed_free(&archive);
}

/* An event file that was cut off: what is there is read, and it is said. */
static void a_cut_event_file_is_read_to_its_end(void **state)
{
    (void)state;
    struct packed_archive archive;
    struct opened o;
    packed_load(&archive, SCOREP);
    packed_put(&archive, folder);
    for (size_t i = 0; i < archive.count; i++)
        if (strcmp(archive.files[i].name, "traces/2.evt") == 0) {
            archive.files[i].size = 1000;
            packed_put_file(&archive.files[i], folder);
        }
    read_all(&o, folder);
    assert_int_equal(o.report->truncated, 1);
    assert_int_equal(o.report->miscounted, 1);
    assert_int_equal(o.report->undefined, 0);
    assert_int_equal(o.report->backward, 0);
    assert_in_range(o.count, 634 * 3 / 4, 633);
    assert_all_records(&o);
    close_archive(&o);
    packed_free(&archive);
}

/* Where the n-th event of an event file in one chunk, from 1, has its kind. */
static size_t kind_of_event(const struct packed_file *file, unsigned n)
{
    size_t at = GN_CHUNK_HEADER_SIZE;
    while (!gn_is_event(file->bytes[at]) || --n > 0)
        at += gn_event_record_size(file->bytes + at, file->size - at, false);
    return at;
}

/* The library takes a chunk's memory as it comes. Such a piece may have held the same chunk before; here each
 * one has. */
static const struct packed_file *remains;
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* they have their own */
void *__libc_malloc(size_t size);
__attribute__((visibility("default"))) void *malloc(size_t size)
{
    void *memory = __libc_malloc(size);
    if (memory && remains && size >= GN_CHUNK_LEAST)
        memcpy(memory, remains->bytes, remains->size);
    return memory;
}
#endif

static void assert_ends_there(const struct packed_file *file, unsigned events)
{
    struct opened o;
    uint64_t count = 0;
    packed_put_file(file, folder);
    remains = file;
    alarm(60);
    read_all(&o, folder);
    alarm(0);
    remains = NULL;
    for (size_t i = 0; i < o.count; i++)
        count += o.source.definitions->locations[o.events[i].location].file_id == 2;
    assert_int_equal(count, events);
    assert_int_equal(o.report->truncated, 1);
    assert_int_equal(o.report->skipped, 0);
    close_archive(&o);
}

static void no_damage_leads_behind_the_end(void **state)
{
    (void)state;
    enum { EVENTS = 160 };
    struct packed_archive archive;
    packed_load(&archive, SCOREP);
    packed_put(&archive, folder);
    for (size_t i = 0; i < archive.count; i++) {
        struct packed_file *file = &archive.files[i];
        if (strcmp(file->name, "traces/2.evt") != 0)
            continue;
        uint8_t *last = file->bytes + kind_of_event(file, EVENTS);
        last[1] += GN_END_SIZE; /* it takes the file's end with it */
        assert_ends_there(file, EVENTS);
        last[1] -= GN_END_SIZE;
        last[0] = GN_RECORD_END_OF_CHUNK; /* there is no other chunk */
        assert_ends_there(file, EVENTS - 1);
        file->bytes[kind_of_event(file, 100)] = GN_RECORD_END_OF_CHUNK;
        assert_ends_there(file, 99);
    }
    packed_free(&archive);
}

/* Behind a record that cannot be understood, nothing can be read. */
static void an_end_in_the_middle_is_said(void **state)
{
    (void)state;
    struct packed_archive archive;
    struct opened o;
    packed_load(&archive, SCOREP);
    packed_put(&archive, folder);
    for (size_t i = 0; i < archive.count; i++)
        if (strcmp(archive.files[i].name, "traces/2.evt") == 0) {
            archive.files[i].bytes[kind_of_event(&archive.files[i], 101) + 2] =
                0x7f; /* no number is so long */
            packed_put_file(&archive.files[i], folder);
        }
    read_all(&o, folder);
    assert_int_equal(o.report->truncated, 1);
    for (size_t l = 0; l < o.source.definitions->location_count; l++)
        assert_int_equal(o.report->ends[l], o.source.definitions->locations[l].file_id == 2 ? 101 : 0);
    close_archive(&o);
    packed_free(&archive);
}

static void flipped_bytes_are_survived(void **state)
{
    (void)state;
    struct packed_archive archive;
    uint64_t random = 88172645463325252ull;
    char what[128];
    packed_load(&archive, SCOREP);
    packed_put(&archive, folder);
    for (int i = 0; i < CASES; i++) {
        struct packed_file broken = archive.files[(size_t)i % archive.count];
        broken.bytes = malloc(broken.size + 16);
        assert_non_null(broken.bytes);
        memcpy(broken.bytes, archive.files[(size_t)i % archive.count].bytes, broken.size);
        packed_mutate(&broken, &random);
        snprintf(what, sizeof what, "case %d: %s", i, broken.name);
        packed_put_file(&broken, folder);
        assert_survives(what);
        packed_put_file(&archive.files[(size_t)i % archive.count], folder);
        free(broken.bytes);
    }
    packed_free(&archive);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* first: under a sanitizer a process that has read a lot takes long to fork */
        TEST(truncated_files_are_survived),
        TEST(no_damage_leads_behind_the_end),
        TEST(an_end_in_the_middle_is_said),
        TEST(flipped_bytes_are_survived),
        TEST(no_damage_leads_behind_the_end),
        TEST(an_end_in_the_middle_is_said),
        TEST(events_are_counted_as_otf2_print_does),
        TEST(definitions_are_resolved),
        TEST(self_is_each_process_alone),
        TEST(regions_have_roles_and_operations),
        TEST(a_begin_says_what_its_end_says),
        TEST(begins_without_ends_are_let_go),
        TEST(a_begin_is_held_over_many_batches),
        TEST(events_say_which_record_they_are),
        TEST(requests_are_counted),
        TEST(oddities_are_repaired_and_counted),
        TEST(posted_operations_are_known),
        TEST(groups_of_epochs_are_known),
        TEST(contradictions_are_resolved),
        TEST(many_locations_take_turns),
        TEST(what_is_no_archive_is_refused),
        TEST(cut_definitions_are_refused),
        TEST(a_file_of_no_events_is_not_missing),
        TEST(missing_event_files_are_counted),
        TEST(a_newline_behind_the_end_of_a_file_is_no_damage),
        TEST(a_cut_event_file_is_read_to_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
