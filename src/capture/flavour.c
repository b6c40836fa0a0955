#include "capture/flavour.h"

#include "capture/real.h"

struct gn_flavour gn_flavour;
struct gn_sentinels gn_sentinels[GN_BINDINGS];

static void *sentinel(const char *symbol)
{
    void **object = symbol ? gn_real_object(symbol) : NULL;
    return object && gn_flavour.status_symbols_point ? *object : object;
}

static void find_sentinels(void)
{
    gn_sentinels[GN_C] = gn_flavour.c;
    for (int binding = GN_F77; binding < GN_BINDINGS; binding++) {
        gn_sentinels[binding].status_ignore = sentinel(gn_flavour.status_symbols[binding][0]);
        gn_sentinels[binding].statuses_ignore = sentinel(gn_flavour.status_symbols[binding][1]);
        if (gn_flavour.in_place_symbol)
            gn_sentinels[binding].in_place = gn_real_object(gn_flavour.in_place_symbol);
    }
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
            gn_flavour.comm_self = (gn_handle)gn_real_object(gn_flavour.self_symbol);
            gn_flavour.comm_null = (gn_handle)gn_real_object(gn_flavour.null_symbol);
            gn_flavour.byte_type = (gn_handle)gn_real_object(gn_flavour.byte_symbol);
            gn_flavour.request_null = (gn_handle)gn_real_object(gn_flavour.request_null_symbol);
            gn_flavour.errors_return = (gn_handle)gn_real_object(gn_flavour.errors_return_symbol);
        }
        find_sentinels();
        return 0;
    }
    return -1;
}
