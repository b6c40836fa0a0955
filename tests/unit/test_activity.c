/* event/activity: one identity of each call, and what its name says. */
#include "calls.h"
#include "event/definitions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void a_call_is_found_by_its_name(void **state)
{
    (void)state;
    for (uint32_t call = 0; call < GN_CALL_COUNT; call++) {
        assert_true(gn_activity_is_call(call));
        assert_int_equal(gn_activity_named(gn_activity_def(call)->name), call);
        assert_string_equal(gn_activity_def(call)->kind, "mpi");
    }
    assert_false(gn_activity_is_call(GN_CALL_COUNT));
    assert_int_equal(gn_activity_named("MPI_Bcast"), GN_CALL_BCAST);
    assert_int_equal(gn_activity_named("MPI_BCAST"), GN_CALL_BCAST); /* as Fortran spells it */
    assert_int_equal(gn_activity_named("MPI_Comm_rank"), GN_ACTIVITY_NONE);
    assert_int_equal(gn_activity_named(""), GN_ACTIVITY_NONE);
    assert_string_equal(gn_activity_def(GN_CALL_PROBE)->group, "p2p");
}

static void what_is_no_call_has_a_kind(void **state)
{
    (void)state;
    static const char *const kinds[] = {"start", "end", "other", "region_begin", "region", "off"};
    for (uint32_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        assert_string_equal(gn_activity_def(GN_ACTIVITY_START + i)->kind, kinds[i]);
        assert_string_equal(gn_activity_def(GN_ACTIVITY_START + i)->group, "");
        assert_false(gn_activity_is_call(GN_ACTIVITY_START + i));
    }
    assert_ptr_equal(gn_activity_def(GN_CALL_COUNT), gn_activity_def(GN_ACTIVITY_OTHER));
    assert_ptr_equal(gn_activity_def(GN_ACTIVITY_NONE), gn_activity_def(GN_ACTIVITY_OTHER));
}

static void forms_of_a_collective_are_one_operation(void **state)
{
    (void)state;
    static const char *const names[] = {"MPI_Allreduce", "MPI_Iallreduce", "MPI_Allreduce_c",
                                        "MPI_Iallreduce_c"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(gn_activity_def(gn_activity_named(names[i]))->op, GN_COLLECTIVE_ALLREDUCE);
    /* what only prepares one; messages; what is no collective */
    static const char *const others[] = {"MPI_Allreduce_init",
                                         "MPIX_Allreduce_init",
                                         "MPI_Neighbor_alltoall",
                                         "MPI_Ineighbor_alltoall",
                                         "MPI_Send",
                                         "MPI_Probe"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_not_equal(gn_activity_named(others[i]), GN_ACTIVITY_NONE);
        assert_int_equal(gn_activity_def(gn_activity_named(others[i]))->op, GN_COLLECTIVE_UNKNOWN);
    }
    assert_int_equal(gn_activity_def(GN_CALL_COMM_DUP)->op, GN_COLLECTIVE_CREATE_HANDLE);
    assert_int_equal(gn_activity_def(GN_CALL_COMM_FREE)->op, GN_COLLECTIVE_DESTROY_HANDLE);
}

static void each_operation_with_data_has_a_call(void **state)
{
    (void)state;
    for (unsigned op = 0; op < GN_COLLECTIVE_COUNT; op++) {
        bool found = gn_collective_rule(op).holds != GN_HOLDS_ALWAYS &&
                     gn_collective_rule(op).lengths == GN_LENGTHS_NONE; /* not all of these have */
        for (uint32_t call = 0; call < GN_CALL_COUNT; call++)
            found |= gn_activity_def(call)->op == op;
        assert_true(found);
    }
}

static void some_calls_may_wait(void **state)
{
    (void)state;
    static const char *const wait[] = {"MPI_Recv",
                                       "MPI_Mrecv",
                                       "MPI_Sendrecv_replace",
                                       "MPI_Waitsome",
                                       "MPI_Probe",
                                       "MPI_Mprobe",
                                       "MPI_Ssend",
                                       "MPI_Ssend_c",
                                       "MPI_Finalize",
                                       "MPI_Barrier",
                                       "MPI_Alltoallw",
                                       "MPI_Allreduce",
                                       "MPI_Reduce_scatter",
                                       "MPI_Win_fence",
                                       "MPI_Testany",
                                       "MPI_Iprobe",
                                       "MPI_Improbe",
                                       "MPI_Neighbor_alltoall",
                                       "MPI_Allgatherv_c",
                                       "MPI_RECV",
                                       "MPI_Win_start",
                                       "MPI_Win_lock",
                                       "MPI_File_write_at_all",
                                       "MPI_File_write_at_all_c",
                                       "MPI_File_open"};
    static const char *const others[] = {
        "MPI_Send",       "MPI_Isend",           "MPI_Issend",      "MPI_Ssend_init",
        "MPI_Irecv",      "MPI_Iallreduce",      "MPI_Bcast",       "MPI_Reduce",
        "MPI_Scan",       "MPI_Barrier_init",    "MPI_Start",       "MPI_Ineighbor_alltoall",
        "MPI_Put",        "MPI_Test_cancelled",  "MPI_Alloc_mem",   "MPI_Comm_dup",
        "MPI_Win_post",   "MPI_Win_test",        "MPI_Win_sync",    "MPI_File_write_at",
        "MPI_File_write", "MPI_File_iwrite_all", "MPI_File_delete", "compute"};
    for (size_t i = 0; i < sizeof wait / sizeof *wait; i++)
        if (!gn_activity_may_wait(gn_activity_named(wait[i])))
            fail_msg("%s", wait[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (gn_activity_may_wait(gn_activity_named(others[i])))
            fail_msg("%s", others[i]);
}

static void sends_have_their_modes(void **state)
{
    (void)state;
    assert_int_equal(gn_activity_def(GN_CALL_SSEND)->traits & GN_TRAIT_SYNCHRONOUS, GN_TRAIT_SYNCHRONOUS);
    assert_int_equal(gn_activity_def(GN_CALL_SSEND)->traits & GN_TRAIT_STARTS, 0);
    assert_int_equal(gn_activity_def(GN_CALL_ISSEND_C)->traits,
                     GN_TRAIT_SYNCHRONOUS | GN_TRAIT_STARTS | GN_TRAIT_SENDS);
    assert_int_equal(gn_activity_def(GN_CALL_BSEND)->traits, GN_TRAIT_BUFFERED | GN_TRAIT_SENDS);
    assert_int_equal(gn_activity_def(GN_CALL_SEND)->traits, GN_TRAIT_SENDS);
}

static unsigned messages_of(const char *name)
{
    const uint32_t call = gn_activity_named(name);
    assert_int_not_equal(call, GN_ACTIVITY_NONE);
    return gn_activity_def(call)->traits & (GN_TRAIT_SENDS | GN_TRAIT_RECEIVES | GN_TRAIT_SEVERAL);
}

static void some_calls_have_messages(void **state)
{
    (void)state;
    static const char *const none[] = {"MPI_Send_init",   "MPI_Recv_init_c",
                                       "MPI_Psend_init",  "MPI_Alltoallv",
                                       "MPI_Waitall",     "MPI_Probe",
                                       "MPI_Cart_create", "MPI_Request_free",
                                       "MPI_Win_start",   "MPI_Neighbor_alltoall_init"};
    static const char *const one_of_each[] = {"MPI_Sendrecv", "MPI_Sendrecv_replace_c", "MPI_Isendrecv"};
    static const char *const any[] = {"MPI_Start", "MPI_Startall", "MPI_Neighbor_alltoallw",
                                      "MPI_Ineighbor_allgather_c"};
    static const char *const receive[] = {"MPI_Recv",    "MPI_Irecv_c", "MPI_Mprobe",
                                          "MPI_Improbe", "MPI_Mrecv",   "MPI_Imrecv"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(messages_of(none[i]), 0);
    for (size_t i = 0; i < sizeof one_of_each / sizeof *one_of_each; i++)
        assert_int_equal(messages_of(one_of_each[i]), GN_TRAIT_SENDS | GN_TRAIT_RECEIVES);
    for (size_t i = 0; i < sizeof any / sizeof *any; i++)
        assert_int_equal(messages_of(any[i]), GN_TRAIT_SENDS | GN_TRAIT_RECEIVES | GN_TRAIT_SEVERAL);
    for (size_t i = 0; i < sizeof receive / sizeof *receive; i++)
        assert_int_equal(messages_of(receive[i]), GN_TRAIT_RECEIVES);
    assert_int_equal(messages_of("MPI_Ibsend"), GN_TRAIT_SENDS);
}

/* A user may give a part of the program any name. */
static void regions_get_theirs_from_name_and_role(void **state)
{
    (void)state;
    struct gn_definitions *d = gn_definitions_new();
    const uint32_t name = gn_define_string(d, "mpi_send");
    const uint32_t call = gn_define_region(d, &(struct gn_region_def){.name = name, .role = GN_ROLE_MPI});
    const uint32_t part = gn_define_region(d, &(struct gn_region_def){.name = name, .role = GN_ROLE_USER});
    assert_int_equal(gn_region_activity(d, call), GN_CALL_SEND);
    assert_int_equal(gn_region_activity(d, part), GN_ACTIVITY_NONE);
    assert_int_equal(gn_region_activity(d, GN_NONE), GN_ACTIVITY_NONE);
    gn_definitions_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_call_is_found_by_its_name),
                                       cmocka_unit_test(what_is_no_call_has_a_kind),
                                       cmocka_unit_test(forms_of_a_collective_are_one_operation),
                                       cmocka_unit_test(each_operation_with_data_has_a_call),
                                       cmocka_unit_test(some_calls_may_wait),
                                       cmocka_unit_test(sends_have_their_modes),
                                       cmocka_unit_test(some_calls_have_messages),
                                       cmocka_unit_test(regions_get_theirs_from_name_and_role)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
