/* cli/predicate: what questions mean, where bad ones are wrong, and that nothing crashes on garbage. */
#include "analyse/predicate.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct gn_definitions *definitions;
static const struct gn_origin origin = {true, 1000, 1000000000, NULL};

static int set_up(void **state)
{
    (void)state;
    definitions = gn_definitions_new();
    struct gn_definitions *d = definitions;
    struct gn_process process = {.main_location = GN_NONE, .system_node = GN_NONE};
    for (int32_t rank = 0; rank < 4; rank++) {
        process.rank = rank;
        uint32_t p = gn_define_process(d, &process);
        for (int thread = 0; thread < 2; thread++) {
            struct gn_location_def location = {
                .process = p, .name = gn_define_string(d, thread ? "worker" : "Master thread")};
            gn_define_location(d, &location);
        }
    }
    const char *const regions[] = {"MPI_Send", "MPI_Recv", "solve step", "größe"};
    for (int i = 0; i < 4; i++) {
        struct gn_region_def region = {.name = gn_define_string(d, regions[i])};
        gn_define_region(d, &region);
    }
    uint32_t members[] = {0, 1, 2, 3};
    struct gn_comm_def comm = {.name = gn_define_string(d, "MPI_COMM_WORLD"),
                               .parent = GN_NONE,
                               .member_count = 4,
                               .members = members};
    gn_define_comm(d, &comm);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    gn_definitions_free(definitions);
    return 0;
}

/* A receive at rank 3's second thread, of 2·10⁶ bytes from rank 1 with tag 7, sent 1 µs after the begin. */
static struct gn_event receive(void)
{
    struct gn_event e = gn_event_bare(GN_EVENT_MPI_IRECV, 7, 6000);
    e.comm = 0;
    e.peer = 1;
    e.tag = 7;
    e.bytes_received = 2000000;
    e.request = 0xffffffffffffffffu;
    return e;
}

static const struct gn_place place = {6000, 2000, 1, GN_PLACE_CORRELATED, GN_NONE, GN_NONE},
                             unplaced = {6000, 0, 0, 0, GN_NONE, GN_NONE};

static bool holds(const char *text, const struct gn_event *e, const struct gn_place *where)
{
    struct gn_predicate *p;
    struct gn_predicate_error error;
    if (gn_predicate_open(&p, text, definitions, &origin, &error) != 0)
        fail_msg("%s: at %zu: %s", text, error.at, error.text);
    bool truth = gn_predicate_holds(p, e, where);
    assert_int_equal(gn_predicate_holds(p, e, where), truth); /* also when names are known */
    gn_predicate_close(p);
    return truth;
}

static void test_true(void **state)
{
    static const char *const texts[] = {"kind=mpi_irecv",
                                        "kind == mpi_irecv",
                                        "kind!=enter",
                                        "kind~mpi_*recv",
                                        "kind = \"mpi_irecv\"",
                                        "rank==3",
                                        "rank=3.0",
                                        "rank>2.5",
                                        "rank<1e1",
                                        "location=7",
                                        "location=worker",
                                        "location ~ 'w?rk*'",
                                        "thread=1",
                                        "comm=0",
                                        "comm=MPI_COMM_WORLD",
                                        "comm!=other",
                                        "comm~MPI_*",
                                        "peer=1",
                                        "tag>=7",
                                        "tag<=7",
                                        "tag!=8",
                                        "bytes>1e6",
                                        "bytes=2M",
                                        "bytes=2000k",
                                        "bytes>=0.002G",
                                        "bytes_received==2000000",
                                        "request=18446744073709551615",
                                        "request=0xffffffffffffffff",
                                        "time=5e-6",
                                        "time>4.9e-6&&time<5.1e-6",
                                        "sent>=0.99e-6",
                                        "sent",
                                        "peer",
                                        "!op",
                                        "!root",
                                        "!region",
                                        "!bytes_sent",
                                        "!!rank=3",
                                        "kind=mpi_recv || rank==3 && bytes>1e6",
                                        "(kind=mpi_recv||rank=3)&&bytes>1e6",
                                        "!(rank=2||rank=1)",
                                        "rank=2 || rank=1 || rank=3",
                                        "rank=3&&thread=1&&!(tag=8)",
                                        "\trank\n=\r3 ",
                                        "rank!=-1",
                                        "rank>-1"};
    struct gn_event e = receive();
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (!holds(texts[i], &e, &place))
            fail_msg("does not hold: %s", texts[i]);
}

static void test_false(void **state)
{
    static const char *const texts[] = {
        "kind=enter", "kind~rma_*", "rank=2", "rank!=3", "location!=7", "location=Master", "thread=0",
        "comm=1", "comm~X*", "bytes<2e6", "bytes>2e6",
        /* what the event does not have: false either way */
        "root=0", "root!=0", "bytes_sent=0", "bytes_sent!=0", "region=MPI_Recv", "region!=MPI_Recv",
        "op=barrier", "op!=barrier", "op", "request=18446744073709551614", "tag=any", "peer=any",
        "rank=3 && (tag=8 || tag=9)", "!(rank=3)", "rank=3&&!kind~mpi*"};
    struct gn_event e = receive();
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (holds(texts[i], &e, &place))
            fail_msg("holds: %s", texts[i]);
    assert_false(holds("sent", &e, &unplaced));
    assert_false(holds("sent<1", &e, &unplaced));
}

static void test_regions(void **state)
{
    struct gn_event e = gn_event_bare(GN_EVENT_ENTER, 0, 0);
    (void)state;
    e.region = 2;
    assert_true(holds("region='solve step'", &e, &unplaced));
    assert_true(holds("region~solve*", &e, &unplaced));
    assert_false(holds("region=solve", &e, &unplaced));
    assert_true(holds("region!=MPI_Send", &e, &unplaced));
    assert_true(holds("time<0", &e, &(struct gn_place){.ticks = 999}));
    e.region = 3;
    assert_true(holds("region=größe", &e, &unplaced));
    e.region = 99; /* not defined */
    assert_false(holds("region!=MPI_Send", &e, &unplaced));
}

static void test_collectives(void **state)
{
    struct gn_event e = gn_event_bare(GN_EVENT_COLLECTIVE_END, 0, 0);
    (void)state;
    e.op = GN_COLLECTIVE_ALLREDUCE;
    e.peer = GN_ROOT_SELF;
    e.bytes_sent = 10;
    e.bytes_received = 30;
    assert_true(holds("op=allreduce && op~all* && op!=barrier", &e, &unplaced));
    assert_true(holds("root=self && root!=none", &e, &unplaced));
    assert_true(holds("bytes=40 && bytes_sent=10", &e, &unplaced));
    e.bytes_sent = GN_BYTES_UNKNOWN;
    assert_false(holds("bytes>0", &e, &unplaced));
}

/* Regions that are defined while events flow are compared, too. */
static void test_definitions_grow(void **state)
{
    struct gn_predicate *p;
    struct gn_predicate_error error;
    struct gn_event e = gn_event_bare(GN_EVENT_ENTER, 0, 0);
    (void)state;
    assert_int_equal(gn_predicate_open(&p, "region=late", definitions, &origin, &error), 0);
    e.region = 0;
    assert_false(gn_predicate_holds(p, &e, &unplaced));
    for (int i = 0; i < 200; i++) {
        struct gn_region_def region = {.name = gn_define_string(definitions, i == 150 ? "late" : "early")};
        e.region = gn_define_region(definitions, &region);
        assert_int_equal(gn_predicate_holds(p, &e, &unplaced), i == 150);
    }
    gn_predicate_close(p);
}

static void test_errors(void **state)
{
    static const struct {
        const char *text;
        size_t at;
        const char *says;
    } bad[] = {
        {"", 0, "ends here"},
        {"   ", 3, "ends here"},
        {"rnk==3", 0, "rnk"},
        {"rank==", 6, "value"},
        {"rank==x", 6, "number"},
        {"rank~3", 5, "rank is a number"},
        {"rank=3 &&", 9, "ends here"},
        {"rank=3 & thread=1", 7, "&&"},
        {"rank=3 thread=1", 7, "&&"},
        {"(rank=3", 0, "not closed"},
        {"rank=1||((rank=3)", 8, "not closed"},
        {"(rank=3 foo)", 8, "foo"},
        {"rank=3)", 6, ")"},
        {"kind=mpi_recieve", 5, "mpi_recieve"},
        {"kind=3", 5, "name"},
        {"kind<enter", 5, "name"},
        {"op=sum", 3, "sum"},
        {"region=3", 7, "name"},
        {"region<a", 7, "names"},
        {"region='a", 7, "no end"},
        {"bytes>1e999", 6, "number"},
        {"bytes>10x", 8, "x"},
        {"bytes>10kB", 9, "B"},
        {"== 3", 0, "field"},
        {"!", 1, "ends here"},
        {"rank=(3)", 5, "value"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct gn_predicate *p;
        struct gn_predicate_error error;
        assert_int_equal(gn_predicate_open(&p, bad[i].text, definitions, &origin, &error), -EINVAL);
        assert_null(p);
        if (error.at != bad[i].at || !strstr(error.text, bad[i].says))
            fail_msg("%s: at %zu (%zu is expected): %s", bad[i].text, error.at, bad[i].at, error.text);
    }
}

static void test_depth(void **state)
{
    char text[400];
    struct gn_predicate *p;
    struct gn_predicate_error error;
    (void)state;
    memset(text, '(', 150);
    strcpy(text + 150, "rank");
    assert_int_equal(gn_predicate_open(&p, text, definitions, &origin, &error), -EINVAL);
    assert_non_null(strstr(error.text, "levels"));
    memset(text, '!', 150);
    assert_int_equal(gn_predicate_open(&p, text, definitions, &origin, &error), -EINVAL);
    struct gn_event e = receive();
    memset(text, '!', 90);
    strcpy(text + 90, "(rank=3)");
    assert_true(holds(text, &e, &place));
}

static void test_caret(void **state)
{
    static const struct gn_predicate_error error = {11, "what is wrong"};
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    (void)state;
    gn_predicate_explain(out, "region=ö\t&& !", &error);
    fclose(out);
    assert_string_equal(text, "what is wrong\n  region=ö && !\n            ^\n");
    free(text);
}

/* Pieces of the language and random bytes, in random order: an error or an answer, never a crash. */
static void test_garbage(void **state)
{
    static const char *const pieces[] = {
        "rank",  "kind",  "region", "comm", "time", "=", "==",    "!=",  "<",       "~",
        "&&",    "||",    "!",      "(",    ")",    " ", "3",     "1e6", "k",       "'",
        "\"a\"", "mpi_*", "[",      "]",    "-",    ".", "bytes", "0x",  "\x80\xff"};
    unsigned seed = 12345;
    struct gn_event e = receive();
    (void)state;
    for (int round = 0; round < 20000; round++) {
        char text[512] = "";
        struct gn_predicate *p;
        struct gn_predicate_error error;
        for (int i = rand_r(&seed) % 14; i >= 0; i--) {
            char byte[2] = {(char)(rand_r(&seed) % 255 + 1), '\0'};
            bool raw = rand_r(&seed) % 20 == 0;
            strcat(text, raw ? byte : pieces[(size_t)rand_r(&seed) % (sizeof pieces / sizeof pieces[0])]);
        }
        if (gn_predicate_open(&p, text, definitions, &origin, &error) == 0)
            gn_predicate_holds(p, &e, &place);
        else
            assert_true(error.at <= strlen(text) && error.text[0]);
        gn_predicate_close(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_true),
        cmocka_unit_test(test_false),
        cmocka_unit_test(test_regions),
        cmocka_unit_test(test_collectives),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_caret),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_definitions_grow),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
