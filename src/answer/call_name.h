/* answer/call_name — calls as people name them: "MPI_Allreduce at app.c:85 in iterate < main". */
#ifndef GNOMON_ANSWER_CALL_NAME_H
#define GNOMON_ANSWER_CALL_NAME_H

#include "event/definitions.h"

enum { GN_CALL_NAME_CALLERS = 4 };

/* With so many callers at most. Printable; without what is not known. */
void gn_call_name(const struct gn_definitions *definitions, uint32_t region, uint32_t path, int callers,
                  char *text, size_t size);

#endif
