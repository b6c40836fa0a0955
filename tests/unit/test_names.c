/* analyse/names — each form in which a command prints something is a name of it. */
#include "analyse/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MAIN, FIRST, RECV, SEND, COMPUTE };

/* main calls first at line 11, which receives at app.c:5, and sends at app.c:12; a region that is recorded.
 */
static struct gn_history history(void)
{
    static struct gn_computation activities[4];
    static struct gn_call calls[2];
    static const char *const names[] = {"main", "first", "MPI_Recv", "MPI_Send", "compute"};
    struct gn_definitions *d = gn_definitions_new();
    const uint32_t file = gn_define_string(d, "/home/me/app.c");
    for (uint32_t r = MAIN; r <= COMPUTE; r++)
        gn_define_region(
            d, &(struct gn_region_def){.name = gn_define_string(d, names[r]),
                                       .source_file = file,
                                       .begin_line = r == COMPUTE ? 31 : 0,
                                       .role = r == RECV || r == SEND ? GN_ROLE_MPI : GN_ROLE_FUNCTION});
    const uint32_t top = gn_define_path(d, &(struct gn_path_def){GN_NONE, MAIN, 0, 0});
    const uint32_t in_first = gn_define_path(d, &(struct gn_path_def){top, FIRST, file, 11});
    const uint32_t recv = gn_define_path(d, &(struct gn_path_def){in_first, RECV, file, 5});
    const uint32_t send = gn_define_path(d, &(struct gn_path_def){top, SEND, file, 12});
    activities[0] = (struct gn_computation){GN_NONE, GN_NONE, RECV, recv};
    activities[1] = (struct gn_computation){GN_NONE, GN_NONE, SEND, send};
    activities[2] = (struct gn_computation){GN_NONE, GN_NONE, GN_NONE, GN_NONE};
    activities[3] = (struct gn_computation){GN_NONE, COMPUTE, GN_NONE, GN_NONE};
    calls[0] = (struct gn_call){.region = RECV, .path = recv};
    calls[1] = (struct gn_call){.region = SEND, .path = send};
    return (struct gn_history){
        .definitions = d, .activities = activities, .activity_count = 4, .calls = calls, .call_count = 2};
}

/* Bits of the activities that the name means. */
static unsigned meant(const struct gn_history *h, const char *name)
{
    bool chosen[4];
    unsigned bits = 0;
    gn_activities_named(h, name, chosen);
    for (unsigned i = 0; i < 4; i++)
        bits |= chosen[i] ? 1u << i : 0;
    return bits;
}

static void all_forms_mean_the_same(void **state)
{
    static const char *const forms[] = {"MPI_Recv",
                                        "MPI_Recv at app.c:5",
                                        "MPI_Recv at app.c:5 in first",
                                        "MPI_Recv in first",
                                        "MPI_Recv in first app.c:5",
                                        "MPI_Recv  in first   app.c:5",
                                        "MPI_Recv app.c:5",
                                        "before MPI_Recv at app.c:5 in first",
                                        "before MPI_Recv in first app.c:5",
                                        "first app.c:5",
                                        "computation in first app.c:5",
                                        "app.c:5",
                                        "/home/me/app.c:5",
                                        "main:11 > first:5",
                                        "MPI_Recv main:11 > first:5",
                                        "first:5",
                                        "MPI_Recv first:5",
                                        "main:12 → main:11 > first:5",
                                        "(start) → main:11 > first:5",
                                        "MPI_Recv at app.c:5 in first < main",
                                        "before MPI_R…app.c:5 in first",
                                        "before … in first",
                                        "first"};
    struct gn_history h = history();
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (meant(&h, forms[i]) != 1)
            fail_msg("\"%s\" means %#x", forms[i], meant(&h, forms[i]));
    assert_int_equal(meant(&h, "main"), 3);
    assert_int_equal(meant(&h, "before the end"), 4);
    assert_int_equal(meant(&h, "after the last call in main app.c:15"), 4);
    assert_int_equal(meant(&h, "after the last… main  app.c:15"), 4);
    assert_int_equal(meant(&h, "compute"), 8);
    assert_int_equal(meant(&h, "compute (app.c:31)"), 8);
    assert_int_equal(meant(&h, "app.c:31"), 8);
    assert_int_equal(meant(&h, ""), 0);
    assert_int_equal(meant(&h, "MPI_Recv at app.c:6"), 0);
    assert_int_equal(meant(&h, "MPI_Re"), 0);
    assert_int_equal(meant(&h, "main:11"), 0);
    assert_int_equal(meant(&h, "rst:5"), 0);
    gn_definitions_free((struct gn_definitions *)h.definitions);
}

static void one_is_in_calls_at_their_places(void **state)
{
    struct gn_history h = history();
    struct gn_named named;
    (void)state;
    assert_true(gn_named_open(&named, h.definitions));
    assert_int_equal(gn_named_add(&named, &h, "MPI_Recv in first app.c:5"), 1);
    assert_true(gn_is_named(&named, h.definitions, RECV, h.calls[0].path));
    assert_false(gn_is_named(&named, h.definitions, SEND, h.calls[1].path));
    assert_int_equal(gn_named_add(&named, &h, "MPI_Send"), 1);
    assert_true(gn_is_named(&named, h.definitions, SEND, GN_NONE));
    assert_int_equal(gn_named_add(&named, &h, "before MPI_Send"), 0);
    gn_named_clear(&named);
    gn_definitions_free((struct gn_definitions *)h.definitions);
}

static void found(void *self, enum gn_name_kind kind, const char *name)
{
    const struct gn_history *h = ((void **)self)[0];
    size_t *count = ((void **)self)[1];
    struct gn_named named;
    (void)kind;
    assert_true(gn_named_open(&named, h->definitions));
    if (!meant(h, name) && !gn_named_add(&named, h, name))
        fail_msg("\"%s\" is listed and means nothing", name);
    gn_named_clear(&named);
    ++*count;
}

static void what_is_listed_means_something(void **state)
{
    struct gn_history h = history();
    size_t count = 0;
    void *self[] = {&h, &count};
    (void)state;
    assert_int_equal(gn_names_each(&h, found, self), 0);
    assert_int_equal(count, 2 + 4 + 2); /* calls, computation, functions */
    struct gn_nearest nearest = {"MPI_Rcv", 0, ""};
    assert_int_equal(gn_nearest_of_trace(&nearest, &h), 0);
    assert_string_equal(nearest.text, "MPI_Recv");
    gn_definitions_free((struct gn_definitions *)h.definitions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_forms_mean_the_same),
                                       cmocka_unit_test(one_is_in_calls_at_their_places),
                                       cmocka_unit_test(what_is_listed_means_something)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
