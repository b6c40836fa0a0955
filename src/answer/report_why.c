#include "answer/report_why.h"

#include "answer/fit.h"
#include "answer/quantities.h"
#include "answer/report_table.h"
#include "base/printable.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double preempted_of(const struct gn_summary *s, int rank)
{
    for (size_t i = 0; i < s->rank_count; i++)
        if (s->ranks_told[i].rank == rank)
            return s->ranks_told[i].preempted_s;
    return NAN;
}

static const struct gn_activity_row *most_uneven(const struct gn_summary *s)
{
    const struct gn_activity_row *worst = NULL;
    double most_ns = 0;
    for (size_t i = 0; i < s->row_count; i++) {
        const double ns = gn_report_imbalance_ns(&s->rows[i]);
        worst = ns > most_ns ? &s->rows[i] : worst;
        most_ns = ns > most_ns ? ns : most_ns;
    }
    return worst;
}

static const struct gn_host_row *most_crowded(const struct gn_summary *s)
{
    const struct gn_host_row *most = NULL;
    for (size_t i = 0; i < s->host_count; i++) {
        const struct gn_host_row *h = &s->hosts_told[i];
        if (h->cores > 0 && (!most || h->ranks / h->cores > most->ranks / most->cores))
            most = h;
    }
    return most;
}

struct gn_why gn_report_why(const struct gn_summary *s)
{
    struct gn_why why = {.kind = GN_WHY_NOTHING, .host = most_crowded(s), .preempted_s = NAN};
    if (s->resources.preempted_share >= GN_WHY_PREEMPTED_SHARE) {
        why.kind = GN_WHY_PREEMPTED;
        return why;
    }
    why.row = s->ranks > 1 ? most_uneven(s) : NULL;
    why.cost_s = why.row ? gn_report_imbalance_ns(why.row) * 1e-9 : 0;
    if (!why.row || why.cost_s < 0.01 * s->elapsed_s)
        return why;
    why.kind = GN_WHY_IMBALANCE;
    why.preempted_s = preempted_of(s, why.row->max_rank);
    return why;
}

static void preempted_text(const struct gn_summary *s, const struct gn_why *why, char *text, size_t size)
{
    char share[GN_QUANTITY_TEXT];
    gn_share_text(s->resources.preempted_share, share);
    if (why->host && why->host->ranks > why->host->cores)
        snprintf(text, size,
                 "%d ranks share %g core%s%s%s: %s of the time ranks were ready and waited for a core",
                 why->host->ranks, why->host->cores, why->host->cores == 1 ? "" : "s",
                 s->host_count > 1 ? " of " : "", s->host_count > 1 ? why->host->name : "", share);
    else
        snprintf(text, size, "%s of the time ranks were ready and waited for a core%s", share,
                 why->host
                     ? ", although there is one for each: other programs have them, or ranks' own threads"
                     : "");
}

enum { LONGEST = 60 }; /* of a name in the sentence */

static void imbalance_text(const struct gn_summary *s, const struct gn_why *why,
                           const struct gn_terminal *terminal, char *text, size_t size)
{
    const struct gn_activity_row *row = why->row;
    char max[GN_QUANTITY_TEXT], median[GN_QUANTITY_TEXT], cost[GN_QUANTITY_TEXT], share[GN_QUANTITY_TEXT],
        waited[GN_QUANTITY_TEXT], all[4096], what[300], place[300];
    gn_report_row_text(row, all, sizeof all);
    gn_short_copy(what, sizeof what, gn_printable(all), LONGEST, terminal);
    gn_report_row_place(row, all, sizeof all);
    gn_short_copy(place, sizeof place, gn_printable(all), LONGEST, terminal);
    const int used =
        snprintf(text, size, "rank %d takes %s %s%s%s%s, the median rank %s; ", row->max_rank,
                 gn_duration_text((double)row->max_ns, max), row->how == GN_HOW_SAMPLED ? "in " : "", what,
                 place[0] ? " " : "", place, gn_duration_text((double)row->median_ns, median));
    if (used < 0 || (size_t)used >= size)
        return;
    if (why->preempted_s > why->cost_s / 2) /* as much may be waiting for a core, wherever it was */
        snprintf(text + used, size - (size_t)used,
                 "it was preempted: ready, and without a core, for %s in all",
                 gn_duration_text(why->preempted_s * 1e9, waited));
    else
        snprintf(text + used, size - (size_t)used, "spread evenly, up to %s less (%s of the run)",
                 gn_duration_text(why->cost_s * 1e9, cost), gn_share_text(why->cost_s / s->elapsed_s, share));
}

bool gn_report_why_text(const struct gn_summary *s, const struct gn_why *why,
                        const struct gn_terminal *terminal, char *text, size_t size)
{
    text[0] = '\0';
    if (why->kind == GN_WHY_PREEMPTED)
        preempted_text(s, why, text, size);
    else if (why->kind == GN_WHY_IMBALANCE)
        imbalance_text(s, why, terminal, text, size);
    return why->kind != GN_WHY_NOTHING;
}

static json_t *text_or_null(const char *text)
{
    return text ? json_string_nocheck(text) : json_null();
}

json_t *gn_report_why_json(const struct gn_summary *s, const struct gn_why *why)
{
    char text[1600];
    const struct gn_terminal terminal = {.width = GN_WIDTH_OF_FILES};
    if (!gn_report_why_text(s, why, &terminal, text, sizeof text))
        return json_null();
    if (why->kind == GN_WHY_PREEMPTED)
        return json_pack("{s:s, s:o, s:f, s:s?}", "kind", "preempted", "text", text_or_null(text), "share",
                         s->resources.preempted_share, "host", why->host ? why->host->name : NULL);
    return json_pack("{s:s, s:o, s:i, s:o, s:o, s:i, s:f}", "kind",
                     why->preempted_s > why->cost_s / 2 ? "preempted rank" : "imbalance", "text",
                     text_or_null(text), "rank", why->row->max_rank, "function",
                     text_or_null(why->row->function), "file", text_or_null(why->row->file), "line",
                     why->row->line, "cost_s", why->cost_s);
}
