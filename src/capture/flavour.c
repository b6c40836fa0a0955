#include "capture/flavour.h"

#include "capture/real.h"

struct gn_flavour gn_flavour;
void *gn_fortran_status_ignore, *gn_fortran_statuses_ignore, *gn_fortran_in_place;

static void *value_of(const char *symbol)
{
    void **object = gn_real_object(symbol);
    return object ? *object : NULL;
}

int gn_flavour_find(void)
{
    const struct gn_flavour *known[] = {&gn_flavour_openmpi, &gn_flavour_mpich};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (!known[i] || !gn_real_object(known[i]->mark))
            continue;
        gn_flavour = *known[i];
        if (gn_flavour.world_symbol) {
            gn_flavour.comm_world = (gn_handle)gn_real_object(gn_flavour.world_symbol);
            gn_flavour.byte_type = (gn_handle)gn_real_object(gn_flavour.byte_symbol);
        }
        gn_fortran_in_place = gn_real_object("mpi_fortran_in_place_");
        gn_fortran_status_ignore = value_of("MPI_F_STATUS_IGNORE");
        gn_fortran_statuses_ignore = value_of("MPI_F_STATUSES_IGNORE");
        return 0;
    }
    return -1;
}
