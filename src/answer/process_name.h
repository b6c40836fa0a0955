/* answer/process_name — processes and ranks as people name them. */
#ifndef GNOMON_ANSWER_PROCESS_NAME_H
#define GNOMON_ANSWER_PROCESS_NAME_H

#include "event/definitions.h"

/* "rank 3"; of a process that has no rank its name in the trace (printable), or
 * "process 3". */
void gn_process_name(const struct gn_definitions *definitions, uint32_t process, char *text, size_t size);
/* "3 ranks, 0 to 2"; of a trace without ranks how many processes. */
void gn_ranks_text(const struct gn_definitions *definitions, char *text, size_t size);

#endif
