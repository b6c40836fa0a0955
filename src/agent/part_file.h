/*
 * agent/part_file — what a host's events refer to, in a file beside them: from it the parts of several hosts
 * are joined, and the archive of an agent that was killed is completed.
 *
 * Private to one version of gnomon on one kind of machine. The file may come from another host or be cut off:
 * what is not right is refused as a whole.
 */
#ifndef GNOMON_AGENT_PART_FILE_H
#define GNOMON_AGENT_PART_FILE_H

#include "base/error.h"
#include "clock/ticks.h"
#include "agent/translate.h"

#define GN_PART_FILE "part" /* its name, in the folder of the archive */

struct gn_agent_part {
    struct gn_translate *translate;
    uint32_t *paths;               /* by node: path of the definitions; NULL: they have none yet */
    struct gn_moment began, ended; /* ticks, and CLOCK_REALTIME */
};

/* Writes folder/part, complete or not at all. 0 or a negative errno value. */
int gn_part_save(const struct gn_agent_part *part, const char *folder, struct gn_error *err);

/* Reads it; the caller clears. -EPROTO: it is not what this gnomon writes. */
int gn_part_load(struct gn_agent_part *part, const char *folder, struct gn_error *err);
void gn_part_clear(struct gn_agent_part *part);

#endif
