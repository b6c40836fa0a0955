/*
 * capture/agreement — which hosts of a run meet, agreed on through the run's folder before any message passes
 * between them. See docs/clock-meeting.md.
 *
 * A collective call waits for ever for a rank that does not come, and some ranks of a job may well run
 * without gnomon. So one rank of each host, its envoy, first leaves a mark that says: I wait here until it is
 * agreed who meets. When the marks account for all ranks of the job, or when its patience is over, an envoy
 * proposes the list of those marks; the first proposal that gets the agreed name is the agreement, for
 * everybody. An envoy keeps its word: whoever is on the list comes.
 *
 * A run that was killed leaves its marks, and another may be given its folder (a job that is requeued). So a
 * mark has a number of this coming only, by which its envoy finds itself in an agreement, and it is written
 * again and again with a beat: a mark that does not change is nobody's.
 *
 *     parts/<host>.envoy   the mark: envoy, lowest rank, number of ranks of that host, coming, beat, host
 *     parts/meeting        the agreement: those lines, in the order of the lowest ranks
 *                          both end with the line "end": what is cut off is not believed
 */
#ifndef GNOMON_CAPTURE_AGREEMENT_H
#define GNOMON_CAPTURE_AGREEMENT_H

#include "capture/protocol.h"

#include <stdbool.h>
#include <stddef.h>

/* One host, as its envoy says. */
struct gn_mark {
    int32_t envoy; /* the envoy's rank in MPI_COMM_WORLD */
    int32_t first; /* the lowest rank on the host */
    int32_t local; /* ranks on it that are measured */
    char host[GN_SHEET_NAME_BYTES];
    int64_t coming; /* the rest is gn_agree's own: what tells this coming from all others, */
    int32_t beat;   /* how often the mark was written, */
    bool alive;     /* seen to be written again, */
    bool listed;    /* found when the folder was looked at last */
};

/*
 * Leaves the mark and comes back with what was agreed on: the number of hosts in marks[], in their order,
 * lowest rank first; *own is the caller's index among them, or their number when it is not one of them.
 * world: ranks of the job. capacity: room in marks. Takes patience_ms at most unless the file system does not
 * answer (three times that when it cannot be written). Errors: negative errno; nobody has agreed on anything
 * then. Needs no memory but a few KiB of stack.
 */
int gn_agree(const char *folder, const struct gn_mark *mark, int world, unsigned patience_ms,
             struct gn_mark *marks, size_t capacity, size_t *own);

#endif
