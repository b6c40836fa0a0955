/* cli/mpi_calls: the table of calls against the MPI libraries of this machine. */
#include "cli/mpi_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static void forms_are_recorded(void **state)
{
    (void)state;
    const char *const names[] = {
        "MPI_Send",       "MPI_Send_c",          "MPI_Allreduce_init", "MPI_Allreduce_init_c",
        "MPI_Barrier",    "MPIX_Barrier_init",   "MPI_Psend_init",     "MPI_Session_init",
        "MPI_Win_create", "MPI_Win_create_c",    "MPIX_Comm_shrink",   "MPI_File_iread_c",
        "MPI_Start",      "MPIX_Allreduce_init", "MPI_Isendrecv_c",    "MPI_Buffer_detach_c"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_true(gn_mpi_call_is_recorded(names[i]));
        assert_false(gn_mpi_call_is_left_alone(names[i]));
    }
}

/* No such call: a Barrier has no count, a nonblocking collective no persistent form. */
static void others_are_not(void **state)
{
    (void)state;
    const char *const names[] = {"MPI_Barrier_c", "MPI_Iallreduce_init", "MPIX_Send", "MPI_Probe_init",
                                 "MPI_Comm_teleport"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_false(gn_mpi_call_is_recorded(names[i]));
        assert_false(gn_mpi_call_is_left_alone(names[i]));
    }
}

static void questions_are_left_alone(void **state)
{
    (void)state;
    const char *const names[] = {"MPI_Comm_rank", "MPI_Type_size_c", "MPI_T_pvar_read", "MPI_Comm_f2c"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_true(gn_mpi_call_is_left_alone(names[i]));
        assert_false(gn_mpi_call_is_recorded(names[i]));
    }
}

static void all_calls_of_a_library_are_known(const char *flavour)
{
    json_t *calls = gn_mpi_calls_of(flavour);
    if (!calls)
        skip(); /* not installed */
    const json_t *unknown = json_object_get(calls, "unknown");
    for (size_t i = 0; i < json_array_size(unknown); i++)
        print_error("%s is neither recorded nor left alone\n", json_string_value(json_array_get(unknown, i)));
    assert_int_equal(json_array_size(unknown), 0);
    /* all of MPI 3.1, at least */
    assert_true(json_integer_value(json_object_get(calls, "recorded")) >= 190);
    assert_true(json_integer_value(json_object_get(calls, "alone")) >= 200);
    json_decref(calls);
}

static void all_of_open_mpi(void **state)
{
    (void)state;
    all_calls_of_a_library_are_known("openmpi");
}

static void all_of_mpich(void **state)
{
    (void)state;
    all_calls_of_a_library_are_known("mpich");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(forms_are_recorded), cmocka_unit_test(others_are_not),
                                       cmocka_unit_test(questions_are_left_alone),
                                       cmocka_unit_test(all_of_open_mpi), cmocka_unit_test(all_of_mpich)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
