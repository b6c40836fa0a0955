/* capture/say — a line on the program's standard error, which may be a pipe that is full or that nobody reads
 * any more: then it is left out. The program neither waits for it nor gets a signal. */
#ifndef GNOMON_CAPTURE_SAY_H
#define GNOMON_CAPTURE_SAY_H

#include <stddef.h>

void gn_say(const char *line, size_t bytes);

#endif
