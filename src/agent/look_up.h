/*
 * agent/look_up — names source places while the program runs, so that little is left when its user waits.
 *
 *   begin ──► watch (each process that is measured) … ──► end ──► what is open and known ──► free
 *
 * A thread of the agent follows the graphs as they grow, and asks of each new call site what the end will
 * ask. Nothing is done with the answers: modules keep them (program/modules.h),
 * each once for all ranks, and what the thread had no time for is found out at the end. It runs at nice 19
 * and takes at most 0.8 % of one core over the run (of the 2 % that all of the agent may take), so a short
 * program gets nothing of it. It alone asks debuginfod servers, where the user has named some
 * (program/debugserver.h): the end waits for none, but for a second at most for one that is being asked.
 */
#ifndef GNOMON_AGENT_LOOK_UP_H
#define GNOMON_AGENT_LOOK_UP_H

#include "image/tag.h"
#include "program/modules.h"

struct gn_look_up;

/* NULL: no memory, or no thread; everything is then left for the end. */
struct gn_look_up *gn_look_up_begin(void);

/* Follows a segment. It stays mapped until gn_look_up_end. look_up may be NULL. */
void gn_look_up_watch(struct gn_look_up *look_up, struct gn_tag *segment);

/* Ends the thread after the question in hand. The modules belong to look_up; NULL when that is NULL. */
struct gn_modules *gn_look_up_end(struct gn_look_up *look_up);

/* Ended, or NULL. */
void gn_look_up_free(struct gn_look_up *look_up);

#endif
