/* Compiled once per MPI flavour with that flavour's mpi.h; see flavour.h. */
#include <mpi.h>

#include "capture/flavour.h"

const struct gn_flavour GN_FLAVOUR_OBJECT = {
#if defined(OPEN_MPI)
    .name = "openmpi",
    .mark = "ompi_mpi_comm_world",
    .world_symbol = "ompi_mpi_comm_world",
    .byte_symbol = "ompi_mpi_byte",
    .self_symbol = "ompi_mpi_comm_self",
    .null_symbol = "ompi_mpi_comm_null",
    .request_null_symbol = "ompi_request_null",
    .errors_return_symbol = "ompi_mpi_errors_return",
    .handle_mask = ~(uintptr_t)0,
    .direct = {true, true, true},
    .first_index = {0, 1, 1},
    .status_symbols = {[GN_F77] = {"MPI_F_STATUS_IGNORE", "MPI_F_STATUSES_IGNORE"},
                       [GN_F08] = {"MPI_F_STATUS_IGNORE", "MPI_F_STATUSES_IGNORE"}},
    .status_symbols_point = true,
    .in_place_symbol = "mpi_fortran_in_place_",
#elif defined(MPICH_VERSION)
    .name = "mpich",
    .mark = "MPII_Version_string",
    .comm_world = (uint32_t)MPI_COMM_WORLD,
    .comm_self = (uint32_t)MPI_COMM_SELF,
    .comm_null = (uint32_t)MPI_COMM_NULL,
    .byte_type = (uint32_t)MPI_BYTE,
    .errors_return = (uint32_t)MPI_ERRORS_RETURN,
    .handle_mask = 0xffffffffu,
    .direct = {[GN_C] = true, [GN_F08] = true},
    .first_index = {0, 1, 0},
    .status_symbols = {[GN_F08] = {"MPIR_F08_MPI_STATUS_IGNORE_OBJ", "MPIR_F08_MPI_STATUSES_IGNORE_OBJ"}},
#else
#error "neither Open MPI nor MPICH"
#endif
    .handle_bytes = sizeof(MPI_Request),
    .proc_null = MPI_PROC_NULL,
    .any_source = MPI_ANY_SOURCE,
    .any_tag = MPI_ANY_TAG,
    .root = MPI_ROOT,
    .undefined = MPI_UNDEFINED,
    .c = {MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE, MPI_IN_PLACE},
    .status_bytes = sizeof(MPI_Status),
    .source_offset = offsetof(MPI_Status, MPI_SOURCE),
    .tag_offset = offsetof(MPI_Status, MPI_TAG),
    .graph = MPI_GRAPH,
    .cart = MPI_CART,
    .dist_graph = MPI_DIST_GRAPH,
};

_Static_assert(sizeof(MPI_Status) <= sizeof(((struct gn_call *)0)->own_status), "own_status holds a status");
_Static_assert(sizeof(MPI_Count) == 8 && sizeof(MPI_Aint) == 8 && sizeof(MPI_Offset) == 8,
               "kind L of mpi_api.txt is 64 bits");
_Static_assert(sizeof(MPI_Fint) == sizeof(int), "Fortran INTEGER is int");
_Static_assert((int)MPI_THREAD_MULTIPLE == (int)GN_THREAD_MULTIPLE, "several threads at a time");
_Static_assert(MPI_SUCCESS == 0, "result 0 is success");
