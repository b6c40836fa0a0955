/* cli/doctor_limits — what the shell or a resource manager lets a process have. */
#include "cli/doctor.h"

#include "answer/quantities.h"
#include "capture/segment.h"

#include <stdio.h>
#include <sys/resource.h>

enum { DEFAULT_THREADS = 64, LEAST_FILES = 256 }; /* gnomon run --threads; the agent has some of each rank */

void gn_doctor_space(struct gn_finding *f)
{
    const rlim_t all = (gn_tag_bytes(DEFAULT_THREADS) + GN_ADDRESS_OTHER) * GN_ADDRESS_SHARE;
    const rlim_t one = (gn_tag_bytes(1) + GN_ADDRESS_OTHER) * GN_ADDRESS_SHARE;
    struct rlimit space;
    char text[GN_QUANTITY_TEXT];
    getrlimit(RLIMIT_AS, &space);
    if (space.rlim_cur == RLIM_INFINITY)
        gn_found(f, true, "is not limited");
    else if (space.rlim_cur >= all)
        gn_found(f, true, "is limited to %s (ulimit -v)", gn_bytes_text((double)space.rlim_cur, text));
    else if (space.rlim_cur >= one)
        gn_found(f, true, "is limited to %s (ulimit -v): room for the tables of %u of a process's threads",
                 gn_bytes_text((double)space.rlim_cur, text),
                 gn_tag_locations(gn_segment_room(space.rlim_cur)));
    else
        gn_found(f, false, "is limited to %s (ulimit -v), of which gnomon would take too much",
                 gn_bytes_text((double)space.rlim_cur, text));
    snprintf(f->mend, sizeof f->mend, "ulimit -v unlimited, or %llu; %llu for one thread of each process",
             (unsigned long long)all >> 10, (unsigned long long)one >> 10);
}

void gn_doctor_files(struct gn_finding *f)
{
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    gn_found(f, files.rlim_max >= LEAST_FILES, "%llu at most", (unsigned long long)files.rlim_max);
}

void gn_doctor_core_files(struct gn_finding *f)
{
    struct rlimit core;
    char text[GN_QUANTITY_TEXT];
    getrlimit(RLIMIT_CORE, &core);
    if (core.rlim_cur == RLIM_INFINITY)
        gn_found(f, true, "no limit");
    else
        gn_found(f, core.rlim_cur > 0, "%s at most", gn_bytes_text((double)core.rlim_cur, text));
}
