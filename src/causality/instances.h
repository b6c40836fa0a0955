/*
 * causality/instances — instances of collectives: what stands between the begins and the ends of their
 * members.
 *
 * The n-th collective that each member of a communicator starts is the same instance. N begins settle it, N
 * ends ask it, and no pair is ever written down.
 *
 * Which begins an end depends on is in event/collective.h, by the shape of the operation.
 *
 * Where members have lengths of their own, one that received nothing depends on nobody, and one that is known
 * to send nothing is nobody's predecessor. On an intercommunicator data goes from one group to the other: an
 * end depends on begins of the other group only. Its members are numbered through, first one group (side 0),
 * then the other (side 1); a communicator has one side, which is its own other side.
 */
#ifndef GNOMON_CAUSALITY_INSTANCES_H
#define GNOMON_CAUSALITY_INSTANCES_H

#include "causality/order_inside.h"

/* A process's part in a collective, from what its begin or its end says. */
struct gn_part {
    uint32_t comm, root; /* comm: of RMA the window */
    uint8_t op;
    bool rma;
    uint32_t process;
    uint64_t bytes_sent;
    uint32_t number, member; /* set by gn_instance_of */
    struct gn_vertex *begin; /* NULL: nobody will ask for it */
};

/* Whether the part's end waits for nobody, and whether nobody waits for its begin, whichever instance it
 * belongs to. False also when that cannot be told. */
bool gn_part_waits_for_nobody(const struct gn_order *order, const struct gn_part *part,
                              uint64_t bytes_received);
bool gn_part_is_awaited_by_nobody(const struct gn_order *order, const struct gn_part *part);

/* The instance that the process's next collective on the communicator belongs to, which it thereby has begun.
 * NULL: none; *code is then 0 (the part is a local matter) or -ENOMEM. */
struct gn_instance *gn_instance_of(struct gn_order *order, struct gn_part *part, int *code);

/* The same for whoever only counts (numbering.h): the instance's number and the member are set in *part.
 * False: it is of no instance; *code as above. */
bool gn_part_count(struct gn_order *order, struct gn_part *part, int *code);

void gn_instance_begin(struct gn_order *order, struct gn_instance *instance, const struct gn_part *part);
/* The end of a member; NULL: it waits for nobody. The instance may be gone afterwards. */
void gn_instance_end(struct gn_order *order, struct gn_instance *instance, uint32_t member,
                     struct gn_vertex *end);

void gn_instances_close(struct gn_order *order);

#endif
