/* The lines on clocks of a report: how well moments of different ranks can be compared, and what that rests
 * on. */
#include "answer/report_clocks.h"

#include "answer/quantities.h"

#include <stdio.h>
#include <string.h>

static const char *assuming(const struct gn_summary *s, const char *rests_on, char text[96])
{
    if (rests_on && strcmp(rests_on, "wanders") == 0)
        snprintf(text, 96, "assuming that rates wander by at most %g ppm", s->assumption.wander_ppb / 1e3);
    else if (rests_on && strcmp(rests_on, "within") == 0)
        snprintf(text, 96, "assuming rates within %g ppm of nominal", s->assumption.nominal_ppb / 1e3);
    else if (rests_on && strcmp(rests_on, "constant") == 0)
        snprintf(text, 96, "assuming constant rates");
    else
        snprintf(text, 96, "assuming nothing but that they never go back");
    return text;
}

/* " of 96": some could not be tried. */
static const char *of_all(const struct gn_clock_fact *clock, char text[24])
{
    snprintf(text, 24, clock->untried ? " of %d" : "", clock->cores + clock->untried);
    return text;
}

static void one_host(const struct gn_clock_fact *clock, FILE *out)
{
    char width[GN_QUANTITY_TEXT], all[24];
    if (clock->mixed) {
        fprintf(out, "no time is compared between ranks\n");
        return;
    }
    fprintf(out, "one counter (%s)", clock->counter);
    if (clock->shared)
        fprintf(out, ", verified to be shared by %d%s cores to \302\261 %s\n", clock->cores,
                of_all(clock, all), gn_width_text(clock->shared_width_ns / 2, width));
    else if (strncmp(clock->counter, "monotonic_raw", 13) == 0)
        fprintf(out, ", the kernel's\n");
    else if (clock->cores == 1)
        fprintf(out, ", of one core\n");
    else
        fprintf(out, "; that the cores share it could not be verified\n");
}

/* "3 hosts"; "4 counters of 3 hosts" where cores have counters of their own. */
static const char *whose(const struct gn_summary *s, size_t reached, char text[48])
{
    size_t hosts = 0;
    for (size_t i = 0; i < reached; i++)
        hosts += strcmp(s->clocks[i].domain, s->clocks[i].host) == 0;
    if (hosts == reached)
        snprintf(text, 48, "%zu hosts", hosts);
    else
        snprintf(text, 48, "%zu counters of %zu host%s", reached, hosts, hosts == 1 ? "" : "s");
    return text;
}

static void compared(const struct gn_summary *s, size_t reached, FILE *out)
{
    const struct gn_clock_fact *worst = &s->clocks[1];
    int64_t exchanges = 0;
    char width[GN_QUANTITY_TEXT], when[GN_QUANTITY_TEXT], rests_on[96], all[48];
    for (size_t i = 1; i < reached; i++) {
        if (s->clocks[i].width_ns > worst->width_ns)
            worst = &s->clocks[i];
        exchanges += s->clocks[i].answered;
    }
    bool begin = worst->width_at_s < 1e-3;
    fprintf(out,
            "%s compared to \302\261 %s (the worst, %s, at its worst moment, %s%s), %s; %lld exchanges\n",
            whose(s, reached, all), gn_width_text((double)worst->width_ns / 2, width), worst->domain,
            begin ? "its begin" : "after ", begin ? "" : gn_duration_text(worst->width_at_s * 1e9, when),
            assuming(s, worst->rests_on, rests_on), (long long)exchanges);
}

/* What the user should know of a host, on a line of its own. */
static void remark(const struct gn_clock_fact *clock, bool several, FILE *out)
{
    if (several && !clock->reached)
        fprintf(out, "  %s is not compared with the others: %s\n", clock->domain,
                clock->problem ? clock->problem : "no exchange went both ways");
    else if (clock->problem)
        fprintf(out, "  %s: %s\n", clock->domain, clock->problem);
    if (clock->refuted)
        fprintf(
            out,
            "  %s: its rate changed by at least %.2f ppm where %.2f would be allowed: \"%s\" is refuted\n",
            clock->domain, clock->seen_ppb / 1e3, clock->allowed_ppb / 1e3, clock->refuted);
    if (several && clock->reached && !clock->shared && clock->cores > 1)
        fprintf(out, "  %s: that its cores share the counter could not be verified\n", clock->domain);
}

bool gn_report_clocks_trouble(const struct gn_summary *s)
{
    for (size_t i = 0; i < s->clock_count; i++)
        if (s->clocks[i].problem || s->clocks[i].refuted || !s->clocks[i].reached)
            return true;
    return s->ranks_without_clock[0] != '\0';
}

void gn_report_clocks(const struct gn_summary *s, FILE *out)
{
    size_t reached = 0;
    while (reached < s->clock_count && s->clocks[reached].reached)
        reached++;
    bool several = s->clock_count > 1 || s->hosts > 1;
    if (s->clock_count == 0)
        fprintf(out, "durations are each rank's own; no time is compared between %s\n",
                s->hosts > 1 ? "hosts" : "ranks");
    else if (!several)
        one_host(&s->clocks[0], out);
    else if (reached > 1)
        compared(s, reached, out);
    else
        fprintf(out, "no time is compared between hosts\n");
    for (size_t i = 0; i < s->clock_count; i++)
        remark(&s->clocks[i], several && !(reached == 1 && i == 0 && s->clock_count > 1), out);
    if (s->ranks_without_clock[0])
        fprintf(out,
                "  rank%s %s: not comparable with others in time, cores with different counters run them\n",
                strchr(s->ranks_without_clock, ',') ? "s" : "", s->ranks_without_clock);
}
