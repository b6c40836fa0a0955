/* trace/records — one event as the OTF2 record it stands for; the table is in docs/trace-format.md. */
#ifndef GNOMON_TRACE_RECORDS_H
#define GNOMON_TRACE_RECORDS_H

#include "event/event.h"

#include <otf2/otf2.h>

/* The path of a leave that need not be written: it is that of its enter. */
#define GN_PATH_OF_ENTER (UINT32_MAX - 4)

/* Writes the event with the given time (ticks); attributes is an empty list to work with, and empty again
 * afterwards. OTF2_ERROR_INVALID_ARGUMENT for a kind that there is none of. */
OTF2_ErrorCode gn_record_write(OTF2_EvtWriter *writer, OTF2_AttributeList *attributes, OTF2_TimeStamp ticks,
                               const struct gn_event *event);

#endif
