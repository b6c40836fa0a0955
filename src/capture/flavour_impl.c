/* Compiled once per MPI flavour with that flavour's mpi.h; see flavour.h. */
#include <mpi.h>

#include "capture/flavour.h"
#include "capture/recorder.h"

#define NAMED(class)                                                                                         \
    {                                                                                                        \
        class, #class                                                                                        \
    }
static const struct gn_error_name error_names[] = {
    NAMED(MPI_ERR_BUFFER),       NAMED(MPI_ERR_COUNT),    NAMED(MPI_ERR_TYPE),
    NAMED(MPI_ERR_TAG),          NAMED(MPI_ERR_COMM),     NAMED(MPI_ERR_RANK),
    NAMED(MPI_ERR_REQUEST),      NAMED(MPI_ERR_ROOT),     NAMED(MPI_ERR_GROUP),
    NAMED(MPI_ERR_OP),           NAMED(MPI_ERR_TOPOLOGY), NAMED(MPI_ERR_DIMS),
    NAMED(MPI_ERR_ARG),          NAMED(MPI_ERR_UNKNOWN),  NAMED(MPI_ERR_TRUNCATE),
    NAMED(MPI_ERR_OTHER),        NAMED(MPI_ERR_INTERN),   NAMED(MPI_ERR_PENDING),
    NAMED(MPI_ERR_IN_STATUS),    NAMED(MPI_ERR_ACCESS),   NAMED(MPI_ERR_AMODE),
    NAMED(MPI_ERR_ASSERT),       NAMED(MPI_ERR_BAD_FILE), NAMED(MPI_ERR_BASE),
    NAMED(MPI_ERR_CONVERSION),   NAMED(MPI_ERR_DISP),     NAMED(MPI_ERR_FILE),
    NAMED(MPI_ERR_INFO),         NAMED(MPI_ERR_INFO_KEY), NAMED(MPI_ERR_IO),
    NAMED(MPI_ERR_KEYVAL),       NAMED(MPI_ERR_LOCKTYPE), NAMED(MPI_ERR_NAME),
    NAMED(MPI_ERR_NO_MEM),       NAMED(MPI_ERR_NO_SPACE), NAMED(MPI_ERR_NO_SUCH_FILE),
    NAMED(MPI_ERR_PORT),         NAMED(MPI_ERR_QUOTA),    NAMED(MPI_ERR_READ_ONLY),
    NAMED(MPI_ERR_RMA_CONFLICT), NAMED(MPI_ERR_RMA_SYNC), NAMED(MPI_ERR_RMA_RANGE),
    NAMED(MPI_ERR_RMA_SHARED),   NAMED(MPI_ERR_SERVICE),  NAMED(MPI_ERR_SIZE),
    NAMED(MPI_ERR_SPAWN),        NAMED(MPI_ERR_WIN),      {0, NULL}};

const struct gn_flavour GN_FLAVOUR_OBJECT = {
#if defined(OPEN_MPI)
    .name = "openmpi",
    .marks = {"ompi_mpi_comm_world"},
    .world_symbol = "ompi_mpi_comm_world",
    .byte_symbol = "ompi_mpi_byte",
    .self_symbol = "ompi_mpi_comm_self",
    .null_symbol = "ompi_mpi_comm_null",
    .request_null_symbol = "ompi_request_null",
    .info_null_symbol = "ompi_mpi_info_null",
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
    .marks = {"MPII_Version_string", "MPIR_Version_string", "MPIR_Process", "MPIR_F08_MPI_STATUS_IGNORE_OBJ"},
    /* members of the MPICH ABI initiative: MPI_COMM_WORLD and the layout of a status are the same in all */
    .speaks = {"MPICH", "Intel(R) MPI", "MVAPICH", "CRAY MPICH", "HPE MPICH", "ParaStation"},
    .comm_world = (uint32_t)MPI_COMM_WORLD,
    .comm_self = (uint32_t)MPI_COMM_SELF,
    .comm_null = (uint32_t)MPI_COMM_NULL,
    .byte_type = (uint32_t)MPI_BYTE,
    .info_null = (uint32_t)MPI_INFO_NULL,
    .error_class_mask = 0x7f, /* part of its binary interface: what code means is in its other bits */
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
    .error_names = error_names,
};

_Static_assert(sizeof(MPI_Status) <= sizeof(((struct gn_capture_call *)0)->own_status),
               "own_status holds a status");
_Static_assert(sizeof(MPI_Count) == 8 && sizeof(MPI_Aint) == 8 && sizeof(MPI_Offset) == 8,
               "kind L of mpi_api.txt is 64 bits");
_Static_assert(sizeof(MPI_Fint) == sizeof(int), "Fortran INTEGER is int");
_Static_assert((int)MPI_THREAD_MULTIPLE == (int)GN_THREAD_MULTIPLE, "several threads at a time");
_Static_assert(MPI_SUCCESS == 0, "result 0 is success");
