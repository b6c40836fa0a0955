/* A small trace with every kind of event: two ranks on two hosts, the second one with a second thread. */
#ifndef TRACE_EXAMPLE_H
#define TRACE_EXAMPLE_H

#include "event/definitions.h"

enum { EXAMPLE_LOCATIONS = 3 };
extern const uint64_t example_file_ids[EXAMPLE_LOCATIONS];

/* intercomm: communicator 2 is one; else it is an ordinary one. */
struct gn_definitions *example_definitions(bool intercomm);

/* Event number `number` of the example, or NULL behind the last one. */
const struct gn_event *example_event(size_t number);

#endif
