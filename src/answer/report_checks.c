#include "answer/report_checks.h"

#include "answer/fit.h"
#include "answer/quantities.h"
#include "answer/report_clocks.h"
#include "analyse/patterns.h"
#include "graph/sampled.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* As few samples leave a place of a tenth of the time unknown to ± 8 points. */
enum { ENOUGH_SAMPLES = 100 };

/* What ranks may wait for a core before it is said: beyond that, times of computation are not what it takes.
 */
static const double much_preempted = 0.05, much_cost = 0.01;

static const char *const verdict_names[] = {"good", "unknown", "failed"};

__attribute__((format(printf, 3, 4))) static void
found(struct gn_report_check *check, enum gn_check_verdict verdict, const char *format, ...)
{
    va_list arguments;
    check->verdict = verdict;
    va_start(arguments, format);
    vsnprintf(check->text, sizeof check->text, format, arguments);
    va_end(arguments);
}

static void check_complete(const struct gn_summary *s, struct gn_report_check *c)
{
    c->is_told = true;
    if (s->complete)
        found(c, GN_CHECK_GOOD, "every rank was measured to its MPI_Finalize");
    else
        found(c, GN_CHECK_FAILED, "the run did not end normally, or not all of it was measured");
}

static void check_lost(const struct gn_summary *s, struct gn_report_check *c)
{
    int64_t all = 0;
    char count[GN_QUANTITY_TEXT];
    c->is_told = true;
    for (size_t i = 0; i < s->lost_count; i++)
        all += s->lost[i].count;
    if (s->lost_count == 0)
        found(c, GN_CHECK_GOOD, "nothing was lost");
    else
        found(c, GN_CHECK_FAILED, "%s lost: %s%s", gn_count_text(all, count), s->lost[0].what,
              s->lost_count > 1 ? ", and more" : "");
}

static void check_trace(const struct gn_summary *s, struct gn_report_check *c)
{
    const struct gn_trace_facts *t = &s->trace;
    c->is_told = true;
    if (!t->asked)
        found(c, GN_CHECK_GOOD, "none was asked for");
    else if (t->archives == 0 || t->dropped || t->unwritten || t->error[0])
        found(c, GN_CHECK_FAILED, "there is none, or it is not whole");
    else
        found(c, GN_CHECK_GOOD, "it has every event");
}

static void check_lines(const struct gn_summary *s, struct gn_report_check *c)
{
    if (s->no_lines_in[0])
        found(c, GN_CHECK_FAILED,
              "no source lines for %s: compile with -g, or install its debug symbols (-dbgsym)",
              s->no_lines_in);
    else
        found(c, GN_CHECK_GOOD, "call sites have source lines");
}

static void check_samples(const struct gn_summary *s, struct gn_report_check *c)
{
    const struct gn_sampling_told *t = &s->sampling;
    char count[GN_QUANTITY_TEXT];
    if (!t->state[0])
        found(c, GN_CHECK_UNKNOWN,
              "no samples were taken: computations are known by the calls that they lie between");
    else if (strcmp(t->state, "sampled") != 0)
        found(c, strcmp(t->state, "off") == 0 ? GN_CHECK_UNKNOWN : GN_CHECK_FAILED,
              "no samples (%s%s%s): computations are known by the calls that they lie between%s", t->state,
              t->reason[0] ? ": " : "", t->reason,
              strcmp(t->state, "refused") == 0
                  ? "; gnomon doctor says what would allow them, and --sample signal does without"
                  : "");
    else if (t->samples < ENOUGH_SAMPLES)
        found(c, GN_CHECK_FAILED,
              "there are only %s samples, each of some 10 ms of processor time: places of computations are "
              "vague",
              gn_count_text(t->samples, count));
    else /* by a signal shares may be wrong by more than is said of them */
        found(c,
              !t->reason[0]                             ? GN_CHECK_GOOD
              : strstr(t->reason, GN_SAMPLED_BY_SIGNAL) ? GN_CHECK_FAILED
                                                        : GN_CHECK_UNKNOWN,
              "%s samples, %.1f %% of them of unknown calls%s%s", gn_count_text(t->samples, count),
              100 * (double)t->unattributed / (double)t->samples, t->reason[0] ? "; " : "", t->reason);
}

/* Then it is why the run took as long. */
static bool is_the_reason(const struct gn_summary *s)
{
    return s->resources.preempted_share >= GN_PROBLEM_PREEMPTED_SHARE;
}

static void check_cores(const struct gn_summary *s, struct gn_report_check *c)
{
    c->is_told = is_the_reason(s);
    for (size_t i = 0; i < s->host_count; i++) {
        const struct gn_host_row *h = &s->hosts_told[i];
        if (h->cores > 0 && h->ranks > h->cores) {
            found(c, GN_CHECK_FAILED, "%d ranks share %g core%s on %s", h->ranks, h->cores,
                  h->cores == 1 ? "" : "s", h->name);
            return;
        }
    }
    if (isfinite(s->resources.cores))
        found(c, GN_CHECK_GOOD, "there is a core for each rank");
    else
        found(c, GN_CHECK_UNKNOWN, "which cores ranks may use is not known");
}

static void check_preempted(const struct gn_summary *s, struct gn_report_check *c)
{
    const double share = s->resources.preempted_share;
    char text[GN_QUANTITY_TEXT];
    c->is_told = is_the_reason(s);
    if (!isfinite(share))
        found(c, GN_CHECK_UNKNOWN, "whether ranks waited for cores is not known");
    else
        found(c, share > much_preempted ? GN_CHECK_FAILED : GN_CHECK_GOOD,
              "ranks were ready and waited for a core %s of the time", gn_share_text(share, text));
}

static void check_cost(const struct gn_summary *s, struct gn_report_check *c)
{
    char text[GN_QUANTITY_TEXT];
    c->is_told = true;
    found(c, s->cost.share > much_cost ? GN_CHECK_FAILED : GN_CHECK_GOOD,
          "measuring cost %s of the program's time", gn_share_text(s->cost.share, text));
}

static void check_clocks(const struct gn_summary *s, struct gn_report_check *c)
{
    c->is_told = true;
    if (s->clock_count == 0 && s->hosts > 1)
        found(c, GN_CHECK_UNKNOWN, "moments of different hosts are not compared");
    else if (gn_report_clocks_trouble(s))
        found(c, GN_CHECK_FAILED, "not all moments of different ranks can be compared");
    else
        found(c, GN_CHECK_GOOD, "moments of all ranks can be compared");
}

static void check_programs(const struct gn_summary *s, struct gn_report_check *c)
{
    if (s->two_builds_of[0])
        found(c, GN_CHECK_FAILED, "ranks run different builds of %s", s->two_builds_of);
    else if (s->programs > 1)
        found(c, GN_CHECK_FAILED, "ranks run %d different programs", s->programs);
    else
        found(c, GN_CHECK_GOOD, "all ranks run the same program and libraries");
}

void gn_report_checks_of(const struct gn_summary *s, struct gn_report_check checks[GN_CHECKS])
{
    static const struct {
        const char *name;
        void (*check)(const struct gn_summary *s, struct gn_report_check *c);
    } all[GN_CHECKS] = {{"complete", check_complete},   {"lost", check_lost},
                        {"programs", check_programs},   {"cores", check_cores},
                        {"preempted", check_preempted}, {"lines", check_lines},
                        {"samples", check_samples},     {"cost", check_cost},
                        {"clocks", check_clocks},       {"trace", check_trace}};
    for (size_t i = 0; i < GN_CHECKS; i++) {
        checks[i] = (struct gn_report_check){.name = all[i].name};
        all[i].check(s, &checks[i]);
    }
}

void gn_report_checks_text(const struct gn_summary *s, const struct gn_report_options *o, FILE *out)
{
    struct gn_report_check checks[GN_CHECKS];
    gn_report_checks_of(s, checks);
    for (size_t i = 0; i < GN_CHECKS; i++) {
        const char *shade = checks[i].verdict == GN_CHECK_FAILED ? GN_YELLOW : "";
        fprintf(out, "%s%-8s%s %s: %s\n", gn_shade(&o->terminal, shade), verdict_names[checks[i].verdict],
                *shade ? gn_shade(&o->terminal, GN_PLAIN) : "", checks[i].name, checks[i].text);
    }
}

void gn_report_failed_checks(const struct gn_summary *s, const struct gn_report_options *o, FILE *out)
{
    struct gn_report_check checks[GN_CHECKS];
    gn_report_checks_of(s, checks);
    for (size_t i = 0; i < GN_CHECKS; i++)
        if (checks[i].verdict == GN_CHECK_FAILED && !checks[i].is_told)
            fprintf(out, "%scheck%s: %s\n", gn_shade(&o->terminal, GN_YELLOW),
                    gn_shade(&o->terminal, GN_PLAIN), checks[i].text);
}

json_t *gn_report_checks_json(const struct gn_summary *s)
{
    struct gn_report_check checks[GN_CHECKS];
    json_t *array = json_array();
    gn_report_checks_of(s, checks);
    for (size_t i = 0; i < GN_CHECKS; i++)
        json_array_append_new(array, json_pack("{s:s, s:s, s:o}", "name", checks[i].name, "verdict",
                                               verdict_names[checks[i].verdict], "text",
                                               json_string_nocheck(checks[i].text)));
    return array;
}
