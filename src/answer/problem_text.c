#include "answer/problem_text.h"

#include "answer/fit.h"
#include "answer/quantities.h"
#include "answer/report_table.h"
#include "answer/spans.h"
#include "base/printable.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 76 /* of a name in a sentence */ };

const char *gn_problem_sure_name(enum gn_problem_sure sure)
{
    return sure == GN_PROBLEM_CERTAIN ? "certain" : "possible";
}

const char *gn_problem_doubt_text(const struct gn_problems *problems, const struct gn_problem *p,
                                  char text[GN_PROBLEM_DOUBT])
{
    const struct gn_problems_seen *seen = &problems->seen;
    char share[GN_QUANTITY_TEXT];
    const bool is_estimated = seen->parts > 0 && !seen->is_whole && p->assumes & GN_PROBLEM_WINDOWS;
    const char *said = p->sure == GN_PROBLEM_CERTAIN                  ? ""
                       : is_estimated                                 ? NULL
                       : seen->parts == 0 && gn_problem_is_of_rank(p) ? "nobody saw who waited for whom"
                       : p->assumes & GN_PROBLEM_CORES                ? "ranks waited for cores"
                       : p->assumes & GN_PROBLEM_POLLS                ? "between polls there may be work"
                       : p->lost_low_s <= 0                           ? "it may have cost nothing"
                       : p->assumes & GN_PROBLEM_SAMPLES              ? "its place and time are by samples"
                                                                      : "something else may be the cause";
    if (said)
        snprintf(text, GN_PROBLEM_DOUBT, "%s", said);
    else
        snprintf(text, GN_PROBLEM_DOUBT, "%s of the run was seen", gn_share_text(seen->share, share));
    return text;
}

static void names_of(const struct gn_activity_row *row, const struct gn_terminal *terminal, char what[300],
                     char place[300])
{
    char all[4096];
    gn_report_row_text(row, all, sizeof all);
    gn_short_copy(what, 300, gn_printable(all), LONGEST, terminal);
    gn_report_row_place(row, all, sizeof all);
    gn_short_copy(place, 300, gn_printable(all), LONGEST, terminal);
}

char *gn_problem_place(const struct gn_activity_row *row, const struct gn_terminal *terminal, char *text,
                       size_t size)
{
    char what[300], place[300];
    names_of(row, terminal, what, place);
    snprintf(text, size, "%s%s%s%s", what, place[0] ? " (" : "", place, place[0] ? ")" : "");
    return text;
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

static void preempted_text(const struct gn_summary *s, char *text, size_t size)
{
    char share[GN_QUANTITY_TEXT];
    const struct gn_host_row *host = most_crowded(s);
    gn_share_text(s->resources.preempted_share, share);
    if (host && host->ranks > host->cores)
        snprintf(text, size,
                 "%d ranks share %g core%s%s%s: %s of the time ranks were ready and waited for a core",
                 host->ranks, host->cores, host->cores == 1 ? "" : "s", s->host_count > 1 ? " of " : "",
                 s->host_count > 1 ? host->name : "", share);
    else
        snprintf(text, size, "%s of the time ranks were ready and waited for a core%s", share,
                 host ? ", although there is one for each: other programs have them, or ranks' own threads"
                      : "");
}

/* "rank 3", "ranks 2, 3 and 11 more" */
static void late_text(const struct gn_problem *p, char *text, size_t size)
{
    enum { TOLD = 4 };
    if (p->late_count < 2) {
        snprintf(text, size, "rank %d", p->rank);
        return;
    }
    const size_t told = p->late_count > TOLD + 1 ? TOLD : p->late_count;
    int used = snprintf(text, size, "ranks ");
    for (size_t i = 0; i < told; i++)
        used += snprintf(text + used, size - (size_t)used, "%s%d",
                         i == 0                                   ? ""
                         : i + 1 == told && told == p->late_count ? " and "
                                                                  : ", ",
                         p->late[i]);
    if (told < p->late_count)
        snprintf(text + used, size - (size_t)used, " and %zu more", p->late_count - told);
}

static void call_text(const struct gn_problem_difference *d, char *text, size_t size)
{
    gn_problem_call(d->call, d->function, d->file, d->line, text, size);
}

/* "after MPI_Bcast (app.c:19)", or between which calls. */
static void range_text(const struct gn_problem *p, const struct gn_terminal *terminal, char *text,
                       size_t size)
{
    char what[300], place[300];
    if (p->differs.call) {
        const int used = snprintf(text, size, "after ");
        call_text(&p->differs, text + used, size - (size_t)used);
        return;
    }
    names_of(p->range, terminal, what, place);
    snprintf(text, size, "%s%s%s", what, place[0] ? " " : "", place);
}

/* "the median rank 2.00 s", where that is what it is; else it is the others' mean (of all places together, a
 * sum of one or the other). */
static void others_text(const struct gn_summary *s, const struct gn_problem *p, double others_s, char *text,
                        size_t size)
{
    char time[GN_QUANTITY_TEXT];
    const struct gn_activity_row *row = p->range ? p->range : p->row;
    const bool is_median = p->late_count <= 1 && fabs(others_s * 1e9 - (double)row->median_ns) < 1;
    gn_duration_text(others_s * 1e9, time);
    if (s->ranks == 2)
        snprintf(text, size, "the other one %s", time);
    else if (is_median)
        snprintf(text, size, "the median rank %s", time);
    else
        snprintf(text, size, "the others %s%s", time, p->is_everywhere ? "" : " on average");
}

static void rank_text(const struct gn_summary *s, const struct gn_problem *p,
                      const struct gn_terminal *terminal, char *text, size_t size)
{
    char own[GN_QUANTITY_TEXT], others[GN_QUANTITY_TEXT + 32], what[300], place[300], more[64] = "", who[128];
    names_of(p->row, terminal, what, place);
    late_text(p, who, sizeof who);
    if (p->more_places > 0)
        snprintf(more, sizeof more, "; longer in %d other place%s, too", p->more_places,
                 p->more_places == 1 ? "" : "s");
    /* a place is a part of what it computes there */
    const bool is_section = !p->range && p->differs.own_s > 0;
    const double own_s = is_section ? p->differs.own_s : p->own_s,
                 others_s = is_section ? p->differs.others_s : p->others_s;
    const double part_ns = fmin((double)(p->range ? p->range->place_ns : p->row->max_ns), own_s * 1e9);
    /* and what it does there may be done elsewhere, too, by others */
    const bool is_elsewhere = is_section && own_s - others_s > 1.5 * (p->own_s - p->others_s);
    const bool is_longer = is_elsewhere || (!(p->is_group && !is_section) && (p->range || p->differs.call) &&
                                            own_s * 1e9 > 1.2 * part_ns);
    const bool is_unseen = p->row->how == GN_HOW_UNSEEN;
    if ((p->row->how == GN_HOW_SAMPLED || (is_unseen && p->range)) && is_longer) {
        char after[1100], part[GN_QUANTITY_TEXT];
        range_text(p, terminal, after, sizeof after);
        others_text(s, p, others_s, others, sizeof others);
        snprintf(text, size, "%s take%s %s %s, %s; of that up to %s %s%s%s%s%s", who,
                 p->late_count > 1 ? "" : "s", gn_duration_text(own_s * 1e9, own), after, others,
                 gn_duration_text(part_ns, part), p->row->runtime || is_unseen ? "" : "in ", what,
                 place[0] ? " " : "", place, more);
        return;
    }
    others_text(s, p, p->others_s, others, sizeof others);
    snprintf(text, size, "%s take%s %s %s%s%s%s%s, %s%s", who,
             p->late_count > 1 ? s->ranks == (int)p->late_count ? "" : " up to" : "s",
             gn_duration_text(p->own_s * 1e9, own),
             p->row->how == GN_HOW_SAMPLED && !p->row->runtime ? "in " : "", what, place[0] ? " " : "", place,
             !p->is_everywhere ? ""
             : p->is_group     ? " and all else that they compute"
                               : " and all else that it computes",
             others, more);
}

/* What no rank's totals explain: who waits in which call, and for whom. */
static void waits_text(const struct gn_problem *p, const struct gn_terminal *terminal, char *text,
                       size_t size)
{
    char name[700], share[GN_QUANTITY_TEXT];
    const char *where = p->row ? gn_problem_place(p->row, terminal, name, sizeof name) : "MPI";
    gn_share_text(p->share_of_rank, share);
    if (p->rank >= 0)
        snprintf(text, size, "ranks wait in %s, %s of it for rank %d", where, share, p->rank);
    else
        snprintf(text, size,
                 p->is_fixed
                     ? "some ranks wait in %s, each for another one; for rank %d most, %s of it"
                     : "ranks wait in %s, now for this one, now for that one; for rank %d most, %s of it",
                 where, p->most_rank, share);
}

const char *gn_problem_call(const char *call, const char *function, const char *file, int line, char *text,
                            size_t size)
{
    char place[300], name[128], in[300];
    gn_place_text(place, sizeof place, file, line);
    gn_printable_copy(name, sizeof name, call ? call : "");
    gn_printable_copy(in, sizeof in, function ? function : "");
    if (place[0])
        snprintf(text, size, "%s (%s)", name, place);
    else
        snprintf(text, size, "%s%s%s", name, in[0] ? " in " : "", in);
    return text;
}

/* "from 310 ms to 631 ms": as far as it is known when it begins and ends, in the middle. */
char *gn_problem_phase_time(const struct gn_problem_phase *phase, char *text, size_t size)
{
    char from[GN_QUANTITY_TEXT], to[GN_QUANTITY_TEXT];
    const double begin_s = (phase->from_s.low + phase->from_s.high) / 2;
    gn_duration_text(begin_s * 1e9, from);
    gn_duration_text((phase->to_s.low + phase->to_s.high) / 2 * 1e9, to);
    snprintf(text, size, "from %s to %s", begin_s > 0 ? from : "the begin", to);
    return text;
}

/* "who is late changes: rank 0 from 310 ms to 631 ms, rank 1 from 756 ms to 1.07 s; others wait most in …" */
static void phases_text(const struct gn_problem *p, const struct gn_terminal *terminal, char *text,
                        size_t size)
{
    char name[700], when[128];
    size_t used = (size_t)snprintf(text, size, "who is late changes:");
    for (size_t i = 0; i < p->phase_count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s rank %d %s", i > 0 ? "," : "",
                                 p->phases[i].rank, gn_problem_phase_time(&p->phases[i], when, sizeof when));
    if (p->row && used < size)
        snprintf(text + used, size - used, "; others wait most in %s",
                 gn_problem_place(p->row, terminal, name, sizeof name));
}

/* "what is computed after MPI_Barrier (app.c:30), most of it in work app.c:12, takes 3.9 times as long in the
 * last fifth of the run as in the first" */
static void growth_text(const struct gn_problem *p, const struct gn_terminal *terminal, char *text,
                        size_t size)
{
    char after[500], name[700] = "";
    call_text(&p->differs, after, sizeof after);
    if (p->row && p->row->how == GN_HOW_SAMPLED)
        gn_problem_place(p->row, terminal, name, sizeof name);
    snprintf(text, size,
             "what is computed after %s%s%s takes %.1f times as long in the last fifth of the run as in the "
             "first",
             after, name[0] ? ", most of it in " : "", name, p->grows);
}

static const double next_to_nothing = 50; /* times as long */
static const double alike = 0.1;          /* factors that differ by less are one */

/* "1.6 times "; "" where it is alike. */
static const char *times_text(double factor, char text[32])
{
    text[0] = '\0';
    if (fabs(factor - 1) > alike)
        snprintf(text, 32, "%.*f times ", factor < 10 ? 1 : 0, factor);
    return text;
}

/* Of what all ranks take there, on no core, and not for want of one. */
static double asleep_share(const struct gn_activity_row *row)
{
    const double off_s = row ? row->off_core_s.low - fmax(0, row->preempted_s.high) : 0;
    return row && row->total_ns > 0 && off_s > 0 ? fmin(1, off_s * 1e9 / (double)row->total_ns) : 0;
}

/* "its core ran at 1300 MHz, those of the others at 2600; 60 % of its memory lies at another NUMA node (of
 * the others' 1 %)"; nothing where that is no difference, or not known. */
static void cores_text(const struct gn_summary *s, const struct gn_problem *p, char *text, size_t size)
{
    char own[GN_QUANTITY_TEXT], others[GN_QUANTITY_TEXT];
    const size_t late = p->late_count < GN_PROBLEM_LATE ? (size_t)p->late_count : GN_PROBLEM_LATE;
    const struct gn_cores_beside b =
        late > 0 ? gn_cores_beside(s, p->late, late) : gn_cores_beside(s, &p->rank, 1);
    const char *whose = late > 1 ? "their" : "its";
    size_t used = strlen(text);
    if (gn_runs_slower(b.mhz, b.others_mhz))
        snprintf(text + used, size - used, "%s%s core%s ran at %.0f MHz, those of the others at %.0f",
                 used > 0 ? "; " : "", whose, late > 1 ? "s" : "", b.mhz, b.others_mhz);
    used = strlen(text);
    if (b.remote >= b.others_remote + 0.1)
        snprintf(text + used, size - used, "%s%s of %s memory lies at another NUMA node (of the others' %s)",
                 used > 0 ? "; " : "", gn_share_text(b.remote, own), whose,
                 gn_share_text(b.others_remote, others));
}

char *gn_problem_difference_text(const struct gn_summary *s, const struct gn_problem *p, char *text,
                                 size_t size)
{
    const struct gn_problem_difference *d = &p->differs;
    const char *others = s->ranks == 2 ? "the other one" : "the others";
    char after[500], often[GN_QUANTITY_TEXT + 32], length[32];
    int used = 0;
    text[0] = '\0';
    if (!(p->own_s > 0))
        return text;
    call_text(d, after, sizeof after);
    const char *they = p->late_count > 1 ? "they compute" : "it computes";
    if (d->call && d->each > next_to_nothing)
        used = snprintf(text, size, "after %s %s, and %s next to nothing", after, they, others);
    else if (d->call && d->times > 0 && d->each > 0 && (d->times > 1 + alike || d->each > 1 + alike))
        used = snprintf(text, size, "after %s %s %sas often as %s, and %sas long each time", after, they,
                        times_text(d->times, often), others, times_text(d->each, length));
    if (used > 0 && p->grows > 0)
        snprintf(text + used, size - (size_t)used,
                 "; that grows, %.1f times from the first fifth of the run to the last", p->grows);
    cores_text(s, p, text, size);
    used = (int)strlen(text);
    if (p->row && (p->row->how == GN_HOW_UNSEEN || p->row->asleep_ns > p->row->total_ns / 2))
        return text; /* its name says so */
    if (p->row && gn_row_is_asleep(p->row) && asleep_share(p->row) <= 0.5)
        snprintf(
            text + used, size - (size_t)used,
            "%smost of what it takes longer is on no core, or in the kernel: asleep, blocked, %sin I/O or "
            "system calls, and nobody knows where",
            used > 0 ? "; " : "", isfinite(s->resources.preempted_s) ? "" : "without one to be had, ");
    else if (asleep_share(p->row) > 0.5)
        snprintf(text + used, size - (size_t)used, "%s%s of the time there is on no core: asleep, or blocked",
                 used > 0 ? "; " : "", gn_share_text(asleep_share(p->row), often));
    return text;
}

static void says_text(const struct gn_problem *p, const struct gn_terminal *terminal, char *text, size_t size)
{
    char name[700], who[32] = "";
    if (p->rank >= 0)
        snprintf(who, sizeof who, "rank %d: ", p->rank);
    if (p->row)
        snprintf(text, size, "%s%s, most of it in %s", who, p->pattern->says,
                 gn_problem_place(p->row, terminal, name, sizeof name));
    else
        snprintf(text, size, "%s%s", who, p->pattern->says);
}

static void host_text(const struct gn_problem *p, char *text, size_t size)
{
    char name[256], own[GN_QUANTITY_TEXT], others[GN_QUANTITY_TEXT], who[128];
    late_text(p, who, sizeof who);
    gn_printable_copy(name, sizeof name, p->host);
    snprintf(text, size,
             "on host %s %s compute%s for %s, those of other hosts for %s, and longer in all places", name,
             who, p->late_count == 1 ? "s" : "", gn_duration_text(p->own_s * 1e9, own),
             gn_duration_text(p->others_s * 1e9, others));
}

char *gn_problem_text(const struct gn_summary *s, const struct gn_problem *p,
                      const struct gn_terminal *terminal, char *text, size_t size)
{
    char count[GN_QUANTITY_TEXT], own[GN_QUANTITY_TEXT], name[700];
    if (p->host)
        host_text(p, text, size);
    else if (p->row && p->rank >= 0 && p->own_s > 0)
        rank_text(s, p, terminal, text, size);
    else if (p->phase_count > 0)
        phases_text(p, terminal, text, size);
    else if (p->pattern->says)
        says_text(p, terminal, text, size);
    else if (p->grows > 0)
        growth_text(p, terminal, text, size);
    else if (p->is_in_call)
        snprintf(text, size, "rank %d takes %s in %s, and others wait for it", p->rank,
                 gn_duration_text((double)p->row->max_ns, own),
                 gn_problem_place(p->row, terminal, name, sizeof name));
    else if (p->share_of_rank > 0)
        waits_text(p, terminal, text, size);
    else if (p->row && p->is_of_all && !(p->assumes & GN_PROBLEM_TURNS)) /* waiting is taken off */
        snprintf(text, size, "%s takes each rank %s beside waiting for others, in %s %s",
                 gn_problem_place(p->row, terminal, name, sizeof name),
                 gn_span_time(p->lost_low_s * 1e9, p->lost_high_s * 1e9, own), gn_count_text(p->count, count),
                 p->counted);
    else if (p->row && p->is_of_all)
        snprintf(text, size, "every rank takes %s in %s or more, in %s %s",
                 gn_duration_text(p->lost_high_s * 1e9, own),
                 gn_problem_place(p->row, terminal, name, sizeof name), gn_count_text(p->count, count),
                 p->counted);
    else if (p->row)
        snprintf(text, size, "%s %s, most of it in %s", gn_count_text(p->count, count), p->counted,
                 gn_problem_place(p->row, terminal, name, sizeof name));
    else if (p->is_startup)
        snprintf(text, size, "MPI_Init and MPI_Finalize take %s",
                 gn_duration_text(p->lost_high_s * 1e9, own));
    else if (p->is_of_cores)
        preempted_text(s, text, size);
    else
        snprintf(text, size, "%s", p->pattern->name);
    return text;
}

/* ---- the report's line ---- */

static bool find_first(const struct gn_summary *s, const struct gn_problems *problems,
                       struct gn_problem *first)
{
    struct gn_problems own;
    if (!problems) {
        gn_problems_find(&own, s);
        gn_problems_share_cores(&own, s);
    }
    problems = problems ? problems : &own;
    for (size_t i = 0; i < problems->count; i++) {
        const struct gn_problem *p = &problems->items[i];
        if (p->even_s > 0 || p->share_of_rank > 0 || p->is_replayed || p->is_of_cores ||
            p->sure == GN_PROBLEM_CERTAIN) {
            *first = *p;
            return !first->is_startup;
        }
    }
    return false;
}

static char *why_of(const struct gn_summary *s, const struct gn_problem *p,
                    const struct gn_terminal *terminal, char *text, size_t size)
{
    char cost[GN_SPAN_TEXT], share[GN_SPAN_TEXT];
    const char *whole = s->period.is_set ? "that time" : "the run";
    gn_problem_text(s, p, terminal, text, size);
    const size_t used = strlen(text);
    if (p->even_s > 0 && p->is_preempted)
        snprintf(text + used, size - used, "; it was preempted: ready, and without a core, for %s in all",
                 gn_duration_text(p->preempted_s * 1e9, cost));
    else if (p->is_replayed || p->share_of_rank > 0)
        snprintf(text + used, size - used, "; that costs %s (%s of %s)",
                 gn_span_time(p->lost_low_s * 1e9, p->lost_high_s * 1e9, cost),
                 gn_span_share(p->lost_low_s / s->elapsed_s, p->lost_high_s / s->elapsed_s, share), whole);
    else if (p->even_s > 0)
        snprintf(text + used, size - used, "; spread evenly, up to %s less (%s of %s)",
                 gn_duration_text(p->even_s * 1e9, cost), gn_share_text(p->even_s / s->elapsed_s, share),
                 whole);
    return text;
}

char *gn_report_why_text(const struct gn_summary *s, const struct gn_problems *problems,
                         const struct gn_terminal *terminal, char *text, size_t size)
{
    struct gn_problem p;
    text[0] = '\0';
    return find_first(s, problems, &p) ? why_of(s, &p, terminal, text, size) : text;
}

static json_t *text_or_null(const char *text)
{
    return text && text[0] ? json_string_nocheck(text) : json_null();
}

json_t *gn_problems_seen_json(const struct gn_problems_seen *seen)
{
    if (seen->parts == 0)
        return json_null();
    json_t *high = isfinite(seen->waited_high_s) ? json_real(seen->waited_high_s) : json_null();
    return json_pack("{s:I, s:b, s:f, s:f, s:{s:f, s:f, s:o}}", "parts", (json_int_t)seen->parts, "whole",
                     (int)seen->is_whole, "share", seen->share, "off_s", seen->off_s, "waited_s", "low",
                     seen->waited_low_s, "estimate", seen->waited_s, "high", high);
}

json_t *gn_report_why_json(const struct gn_summary *s, const struct gn_problems *problems)
{
    const struct gn_terminal terminal = {.width = GN_WIDTH_OF_FILES};
    const struct gn_host_row *host = most_crowded(s);
    struct gn_problem p;
    char text[1600];
    if (!find_first(s, problems, &p))
        return json_null();
    why_of(s, &p, &terminal, text, sizeof text);
    json_t *object = json_pack("{s:s, s:o, s:o, s:f}", "kind", p.pattern->name, "text", text_or_null(text),
                               "rank", p.rank >= 0 ? json_integer(p.rank) : json_null(), "cost_s",
                               p.even_s > 0 ? p.even_s : p.lost_high_s);
    if (object && p.row) {
        json_object_set_new(object, "function", text_or_null(p.row->function));
        json_object_set_new(object, "file", text_or_null(p.row->file));
        json_object_set_new(object, "line", json_integer(p.row->line));
    } else if (object) {
        json_object_set_new(object, "share", json_real(s->resources.preempted_share));
        json_object_set_new(object, "host", host ? json_string_nocheck(host->name) : json_null());
    }
    return object;
}
