/* cli/doctor_clock — what times are read from. */
#include "cli/doctor.h"

#include "answer/quantities.h"

#include "clock/core_groups.h"
#include "clock/counter.h"
#include "clock/ticks.h"

#include <stdio.h>

enum { CORES_PATIENCE_MS = 1000 };

void gn_doctor_counter(struct gn_finding *f)
{
    char hz[32], cost[GN_QUANTITY_TEXT];
    struct gn_counter counter;
    gn_counter_measure(&counter);
    const char *why_not = counter.why_not, *problem = gn_ticks_problem();
    snprintf(hz, sizeof hz, counter.hz_error_ppb > 0 ? "%.3f MHz" : "%.0f MHz", counter.hz / 1e6);
    gn_found(f, !why_not && !problem, "%s, %s, granularity %llu tick%s, %s a reading%s%s%s%s", counter.name,
             hz, (unsigned long long)counter.granularity_ticks, counter.granularity_ticks == 1 ? "" : "s",
             gn_duration_text(counter.cost_ns, cost), why_not ? "; not the processor's: " : "",
             why_not ? why_not : "", problem ? "; " : "", problem ? problem : "");
    if (problem)
        snprintf(f->mend, sizeof f->mend, "unset GNOMON_COUNTER");
    snprintf(f->facts, sizeof f->facts,
             "{\"name\": \"%s\", \"why_not\": %s%s%s, \"hz\": %.6f, \"hz_error_ppb\": %.6f, "
             "\"granularity_ticks\": %llu, \"cost_ns\": %.3f}",
             counter.name, why_not ? "\"" : "", why_not ? why_not : "null", why_not ? "\"" : "", counter.hz,
             counter.hz_error_ppb, (unsigned long long)counter.granularity_ticks, counter.cost_ns);
}

static void describe(struct gn_finding *f, const struct gn_core_groups *g)
{
    char rest[64] = "", text[GN_QUANTITY_TEXT];
    const bool fine = g->group_count == 1 && g->untried == 0;
    if (g->untried > 0)
        snprintf(rest, sizeof rest, "; %d could not be tried in time", g->untried);
    if (g->group_count > 1)
        gn_found(f, fine, "%d groups of cores, which differ by %s or more%s", g->group_count,
                 gn_duration_text(g->offset_ns, text), rest);
    else if (g->tried > 1)
        gn_found(f, fine, "%d cores do, as closely as can be seen (%s)%s", g->tried,
                 gn_width_text(g->width_ns, text), rest);
    else
        gn_found(f, fine, "only one core %s%s", g->untried > 0 ? "was tried" : "may be used", rest);
    if (g->group_count > 1)
        snprintf(f->mend, sizeof f->mend,
                 "bind processes to cores of one group; or another clock source for the kernel, and "
                 "GNOMON_COUNTER=monotonic_raw");
}

/* Nothing is assumed of cores that were not tried: not knowing is a finding, too. */
void gn_doctor_cores(struct gn_finding *f)
{
    struct gn_counter counter;
    struct gn_core_groups groups;
    struct gn_error err;
    gn_counter_measure(&counter);
    if (gn_core_groups_find(&groups, counter.hz, CORES_PATIENCE_MS, &err) != 0) {
        gn_found(f, false, "%.500s", err.text);
        snprintf(f->mend, sizeof f->mend, "see sched_setaffinity(2), and unset GNOMON_TEST_DOMAIN");
        return;
    }
    describe(f, &groups);
    snprintf(f->facts, sizeof f->facts,
             "{\"tried\": %d, \"untried\": %d, \"groups\": %d, \"width_ns\": %.3f, \"offset_ns\": %.3f}",
             groups.tried, groups.untried, groups.group_count, groups.width_ns, groups.offset_ns);
    gn_core_groups_clear(&groups);
}
