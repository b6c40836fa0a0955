#include "answer/explain_report.h"

#include "answer/fit.h"
#include "answer/period_text.h"
#include "answer/problem_text.h"
#include "answer/quantities.h"
#include "answer/spans.h"
#include "base/printable.h"
#include "event/activity.h"

#include <math.h>
#include <string.h>

enum { TEXT = 1024 };

static const struct {
    enum gn_problem_assumes bit;
    const char *name, *text;
} assumptions[] = {
    {GN_PROBLEM_STEPS, "ranks meet", "ranks meet often enough that nobody catches up"},
    {GN_PROBLEM_SAME, "others the same", "all else stays as it was"},
    {GN_PROBLEM_SAMPLES, "samples", "samples stand for all of the time"},
    {GN_PROBLEM_ALONE, "this rank", "only what it is about is mended"},
    {GN_PROBLEM_TURNS, "not in turn", "ranks are not late in turn"},
    {GN_PROBLEM_WINDOWS, "windows", "windows of events stand for all of the time"},
    {GN_PROBLEM_REPEATS, "repeats", "runs differ by 1 % at most"},
    {GN_PROBLEM_FIRST_FIFTH, "as at first", "it could stay as it is in the first fifth of the run"},
    {GN_PROBLEM_PROGRESS, "progress", "messages can move while ranks compute"},
    {GN_PROBLEM_OWN_COST, "own cost", "measuring has cost what is known of it"},
    {GN_PROBLEM_APART, "apart", "each message can be worked on by itself"},
    {GN_PROBLEM_POLLS, "polls", "between polls that wait no work is done"},
    {GN_PROBLEM_DIVIDES, "divides", "what is computed can be divided into parts that are alike"},
    {GN_PROBLEM_CORES, "cores", "each rank gets its share of the cores"},
    {GN_PROBLEM_ORDER, "order", "nothing else stands in the way of another order"},
};

/* Where the others are while they wait: the call of MPI in which the rank itself is shortest against them. It
 * is not seen who waits for whom, so it is only likely. NULL: there is none. */
static const struct gn_activity_row *waited_in(const struct gn_summary *s, const struct gn_problem *p)
{
    const struct gn_activity_row *best = NULL;
    for (size_t i = 0; i < s->row_count && p->rank >= 0; i++) {
        const struct gn_activity_row *row = &s->rows[i];
        const bool waits = strcmp(row->kind, "mpi") == 0 && row->max_rank != p->rank &&
                           !gn_activity_starts(gn_activity_named(row->name));
        if (waits && (!best || row->max_ns - row->min_ns > best->max_ns - best->min_ns))
            best = row;
    }
    return best;
}

/* ---- for people ---- */

static const double worth_blame = 0.02; /* of all ranks' time */

/* A call that stands in the chain before. */
static bool is_told_again(const struct gn_problem *p, size_t hop)
{
    for (size_t i = 0; i < hop; i++)
        if (p->hops[i].line == p->hops[hop].line && strcmp(p->hops[i].call, p->hops[hop].call) == 0 &&
            (p->hops[i].line > 0 || strcmp(p->hops[i].function, p->hops[hop].function) == 0))
            return true;
    return false;
}

/* "rank 2 waits for rank 3 in MPI_Recv (couple.c:8) → 3 ranks wait for rank 2 in MPI_Bcast (main.c:26)" */
static void chain_text(const struct gn_problem *p, FILE *out)
{
    char call[500], whom[32], times[GN_QUANTITY_TEXT], of[GN_QUANTITY_TEXT];
    fputs("   ", out);
    for (size_t i = 0; i < p->hop_count; i++) {
        const struct gn_problem_hop *hop = &p->hops[i];
        fputs(i > 0 ? " → " : "", out);
        if (hop->rank >= 0)
            fprintf(out, "rank %d waits", hop->rank);
        else
            fprintf(out, "%d ranks wait", hop->ranks);
        snprintf(whom, sizeof whom,
                 i == 0 && p->rank == hop->waits_for && p->late_count < 2 ? "it" : "rank %d", hop->waits_for);
        fprintf(out, " for %s in %s", whom,
                gn_problem_call(hop->call, hop->function, hop->file, hop->line, call, sizeof call));
    }
    if (p->rank < 0 && !p->is_fixed && p->times > 0 && p->of > 0)
        fprintf(out, ", for one or another %s of %s times", gn_count_text(p->times, times),
                gn_count_text(p->of, of));
    else if (p->times > 0 && p->of > 0 && p->times >= p->of)
        fprintf(out, p->of == 1 ? ", once" : ", all %s times", gn_count_text(p->of, of));
    else if (p->times > 0 && p->of > 0)
        fprintf(out, ", %s of %s times for certain", gn_count_text(p->times, times),
                gn_count_text(p->of, of));
    else if (p->times > 0)
        fprintf(out, ", seen %s time%s", gn_count_text(p->times, times), p->times == 1 ? "" : "s");
    fputc('\n', out);
}

/* "not because of: MPI_Bcast (0.2 % beside waiting), rank 0 (it only passes the delay on)" */
static void not_because_text(const struct gn_problem *p, FILE *out)
{
    const char *between = "   not because of: ";
    char share[GN_QUANTITY_TEXT], call[128];
    for (size_t i = 0; i < p->hop_count; i++) {
        const struct gn_problem_hop *hop = &p->hops[i];
        if (!is_told_again(p, i) && hop->own_share >= 0 && hop->own_share < worth_blame) {
            gn_printable_copy(call, sizeof call, hop->call);
            fprintf(out, "%s%s (%s of the time beside waiting)", between, call,
                    gn_share_text(hop->own_share, share));
            between = ", ";
        }
        if (i + 1 < p->hop_count && hop->rank >= 0 && hop->passes_on) {
            fprintf(out, "%srank %d (it only passes the delay on)", between, hop->rank);
            between = ", ";
        }
    }
    if (between[0] == ',')
        fputc('\n', out);
}

/* "78.1 % computes after MPI_Barrier (main.c:26)"; says_whose: "33 % rank 2 computes …". */
static void part_text(const struct gn_problem_meanwhile *m, bool says_whose, FILE *out)
{
    char call[500], share[GN_SPAN_TEXT];
    fprintf(out, "%s ", gn_span_share(m->low, m->high, share));
    if (says_whose && m->rank >= 0)
        fprintf(out, "rank %d ", m->rank);
    fputs(m->call || m->region ? m->what : "other", out);
    if (m->region)
        fprintf(out, " in %s", gn_printable_copy(call, sizeof call, m->region));
    if (!m->call)
        return;
    fprintf(out, "%s %s", strcmp(m->what, "computes") == 0 ? " after" : " in",
            gn_problem_call(m->call, m->function, m->file, m->line, call, sizeof call));
    if (m->waits_for >= 0)
        fprintf(out, " for rank %d", m->waits_for);
}

/* Of what others did, to speak of, while the one that is waited for waited itself: "behind its waits: 33 %
 * rank 2 computes after MPI_Barrier (main.c:20)" */
static void roots_text(const struct gn_problem *p, FILE *out)
{
    static const double worth_it = 0.02;
    const char *between = "   behind its waits: ";
    for (size_t i = 0; i < p->root_count; i++) {
        const struct gn_problem_meanwhile *m = &p->roots[i];
        if (m->rank < 0 || m->rank == p->hops[0].waits_for || m->low < worth_it)
            continue;
        fputs(between, out);
        part_text(m, true, out);
        between = ", ";
    }
    if (between[0] == ',')
        fputc('\n', out);
}

/* "meanwhile rank 3: 78.1 % computes after MPI_Barrier (main.c:26), 20 % computes in solve, 1.2 % waits in
 * MPI_Recv (couple.c:8) for rank 2, 0.7 % other" */
static void meanwhile_text(const struct gn_problem *p, FILE *out)
{
    for (size_t i = 0; i < p->meanwhile_count; i++) {
        if (i == 0)
            fprintf(out, "   meanwhile rank %d: ", p->hops[0].waits_for);
        fputs(i > 0 ? ", " : "", out);
        part_text(&p->meanwhile[i], false, out);
    }
    if (p->meanwhile_count > 0)
        fputc('\n', out);
    roots_text(p, out);
}

/* "from 310 ms to 631 ms rank 0 computes 300 ms after MPI_Bcast (app.c:19), the other one 116 ms, and is
 * waited for in MPI_Allreduce (app.c:21)" */
static void phases_text(const struct gn_summary *s, const struct gn_problem *p, FILE *out)
{
    char call[500], when[128], own[GN_QUANTITY_TEXT], others[GN_QUANTITY_TEXT];
    const char *about = p->assumes & GN_PROBLEM_WINDOWS ? "about " : "";
    for (size_t i = 0; i < p->phase_count; i++) {
        const struct gn_problem_phase *phase = &p->phases[i];
        const struct gn_problem_difference *d = &phase->differs;
        fprintf(out, "   %s rank %d", gn_problem_phase_time(phase, when, sizeof when), phase->rank);
        if (d->call)
            fprintf(out, " computes %s%s after %s, the other%s %s", about,
                    gn_duration_text(phase->own_s * 1e9, own),
                    gn_problem_call(d->call, d->function, d->file, d->line, call, sizeof call),
                    s->ranks == 2 ? " one" : "s", gn_duration_text(phase->others_s * 1e9, others));
        if (phase->waited.call)
            fprintf(out, "%s waited for in %s", d->call ? ", and is" : " is",
                    gn_problem_call(phase->waited.call, phase->waited.function, phase->waited.file,
                                    phase->waited.line, call, sizeof call));
        fputc('\n', out);
    }
}

/* "the run takes 3.1 to 3.2 s", were so much gained. */
static const char *length_text(const struct gn_summary *s, double low_s, double high_s,
                               char text[GN_SPAN_TEXT])
{
    return gn_span_time((s->elapsed_s - high_s) * 1e9, (s->elapsed_s - low_s) * 1e9, text);
}

static bool is_of_calls(const struct gn_problem *p)
{
    return p->is_of_all || p->is_of_messages;
}

/* In what way, and with how many blocks. */
static const char *how_text(const struct gn_problem *p, const struct gn_problem_gain *gain, char text[128])
{
    const char *who = is_of_calls(p) ? "the calls" : p->late_count > 1 ? "these ranks" : "this rank";
    switch (gain->how) {
    case GN_PROBLEM_LIKE:
        if (p->pattern->replay)
            return p->pattern->replay;
        snprintf(text, 128, "with %s like the others", who);
        break;
    case GN_PROBLEM_HALF:
        snprintf(text, 128, "with %s twice as fast%s", p->phase_count > 0 ? "each" : who,
                 is_of_calls(p)                             ? ""
                 : p->late_count > 1 && p->phase_count == 0 ? " where they take longer"
                                                            : " where it takes longer");
        break;
    case GN_PROBLEM_BLOCKS:
        snprintf(text, 128, "with %u blocks in place of each", gain->count);
    }
    return text;
}

/* Where ranks keep cores from others, it may be anything. */
static bool says_nothing(const struct gn_summary *s, const struct gn_problem *p)
{
    static const double much = 0.5; /* of the run's length */
    return p->assumes & GN_PROBLEM_CORES && -p->gain_low_s > much * s->elapsed_s;
}

/* What the run would take, in each way to mend it that is told; else were it mended somehow. */
static void mended_text(const struct gn_summary *s, const struct gn_problem *p, FILE *out)
{
    char length[GN_SPAN_TEXT], how[128];
    const char *between = "";
    if (says_nothing(s, p)) {
        fputs("   how long the run would take is not known: ranks that wait keep cores from others\n", out);
        return;
    }
    if (p->gain_count > 0)
        fprintf(out, "   %s, the run takes ", is_of_calls(p) ? "were it mended" : "replayed");
    else
        fprintf(out, "   %s%s, the run takes %s", p->is_replayed ? "replayed, " : "were it mended",
                p->is_replayed ? how_text(p, &(struct gn_problem_gain){.how = GN_PROBLEM_LIKE}, how) : "",
                length_text(s, p->gain_low_s, p->gain_high_s, length));
    for (size_t i = 0; i < p->gain_count; i++) {
        fprintf(out, "%s%s %s", between, length_text(s, p->gains[i].low_s, p->gains[i].high_s, length),
                how_text(p, &p->gains[i], how));
        between = ", ";
    }
    if (p->even_high_s > 0)
        fprintf(out, ", %s spread evenly", length_text(s, p->even_low_s, p->even_high_s, length));
    between = "; if ";
    for (size_t k = 0; k < sizeof assumptions / sizeof *assumptions; k++)
        if (p->assumes & assumptions[k].bit) {
            fprintf(out, "%s%s", between, assumptions[k].text);
            between = ", ";
        }
    fputc('\n', out);
}

static void problem_text(const struct gn_explain_report *r, size_t i, const struct gn_terminal *terminal,
                         FILE *out)
{
    const struct gn_summary *s = r->summary;
    const struct gn_problem *p = &r->problems->items[i];
    const struct gn_activity_row *waits = waited_in(s, p);
    char cause[2 * TEXT], lost[GN_SPAN_TEXT], share[GN_SPAN_TEXT], all[GN_QUANTITY_TEXT], name[TEXT],
        doubt[GN_PROBLEM_DOUBT];
    gn_problem_text(s, p, terminal, cause, sizeof cause);
    gn_problem_doubt_text(r->problems, p, doubt);
    fprintf(out, "%zu. %s%s%s: %s of %s (%s) lost: %s.   %s%s%s\n", i + 1, gn_shade(terminal, GN_BOLD),
            p->pattern->name, gn_shade(terminal, GN_PLAIN),
            gn_span_time(p->lost_low_s * 1e9, p->lost_high_s * 1e9, lost),
            gn_duration_text(s->elapsed_s * 1e9, all),
            gn_span_share(p->lost_low_s / s->elapsed_s, p->lost_high_s / s->elapsed_s, share), cause,
            gn_problem_sure_name(p->sure), doubt[0] ? ": " : "", doubt);
    phases_text(s, p, out);
    if (p->hop_count > 0 && p->phase_count == 0)
        chain_text(p, out);
    else if (waits && p->own_s > 0) {
        gn_problem_place(waits, terminal, name, sizeof name);
        fprintf(out, "   %s, most likely in %s\n", s->ranks == 2 ? "the other one waits" : "the others wait",
                name);
    }
    meanwhile_text(p, out);
    if (gn_problem_difference_text(s, p, name, sizeof name)[0])
        fprintf(out, "   what differs: %s\n", name);
    not_because_text(p, out);
    mended_text(s, p, out);
    fprintf(out, "   try: %s\n", p->pattern->remedy);
}

static void slack_text(const struct gn_problem_slack *slack, const struct gn_terminal *terminal, FILE *out)
{
    char name[TEXT], longer[GN_QUANTITY_TEXT];
    fprintf(out,
            "rank %d takes %s longer than the others in %s; were only that mended, nothing would be gained: "
            "others "
            "are as late, or later\n",
            slack->rank, gn_duration_text(slack->longer_s * 1e9, longer),
            gn_problem_place(slack->row, terminal, name, sizeof name));
}

static void virtual_text(const struct gn_summary *s, FILE *out)
{
    char measured[GN_QUANTITY_TEXT], length[GN_SPAN_TEXT];
    fprintf(out,
            "without gnomon's own work in the ranks, as these times are, the run takes %s; %s as measured "
            "(--raw)\n",
            gn_span_time(s->unmeasured_s.low * 1e9, s->unmeasured_s.high * 1e9, length),
            gn_duration_text(s->measured_s * 1e9, measured));
}

/* Else something is the matter, whatever it is. */
static bool is_efficient(const struct gn_summary *s)
{
    static const double enough = 0.8;
    return !s->efficiency.is_known || s->ranks < 2 || s->efficiency.parallel >= enough;
}

static void balanced_text(const struct gn_summary *s, FILE *out)
{
    char share[GN_QUANTITY_TEXT];
    if (!gn_problems_can_compare(s)) {
        fprintf(out, "nothing above 1 %% but what ranks may wait for each other\n");
        return;
    }
    if (!is_efficient(s)) {
        fprintf(out, "nothing above 1 %% is known to be mended, though it is %s efficient only\n",
                gn_share_text(s->efficiency.parallel, share));
        return;
    }
    fprintf(out, "nothing above 1 %%: balanced");
    if (s->efficiency.is_known)
        fprintf(out, ", %s efficient", gn_share_text(s->efficiency.parallel, share));
    fputc('\n', out);
}

/* In calls that nobody has left ranks were for a hundredth of the run together, or more: a hang, most likely.
 */
static bool is_not_left(const struct gn_summary *s, const struct gn_activity_row *row)
{
    return (double)row->open_ns * 1e-9 >= GN_PROBLEM_LEAST_SHARE * s->elapsed_s;
}

static void not_left_text(const struct gn_summary *s, FILE *out)
{
    const char *between = "not left: ";
    for (size_t i = 0; i < s->row_count; i++) {
        const struct gn_activity_row *row = &s->rows[i];
        char call[500], time[GN_QUANTITY_TEXT];
        if (!is_not_left(s, row))
            continue;
        fprintf(out, "%s%s for %s", between,
                gn_problem_call(row->name, row->function, row->file, row->line, call, sizeof call),
                gn_duration_text((double)row->open_ns, time));
        between = ", ";
    }
    if (between[0] == ',')
        fputs(" (of all ranks): for whom is not known\n", out);
}

void gn_explain_text(const struct gn_explain_report *r, const struct gn_terminal *terminal, FILE *out)
{
    const size_t count = r->top && r->top < r->problems->count ? r->top : r->problems->count;
    char small[GN_QUANTITY_TEXT], period[GN_PERIOD_TEXT];
    struct gn_page folded;
    gn_page_open(&folded, terminal, out);
    if (r->summary->is_live)
        fprintf(folded.out, "%sLIVE%s: the run goes on; this is of its first %s\n",
                gn_shade(terminal, GN_BOLD), gn_shade(terminal, GN_PLAIN),
                gn_duration_text(r->summary->saved_s * 1e9, small));
    else if (!r->summary->complete)
        fprintf(folded.out, "%sPARTIAL%s: not all of the run was measured; this is of what was%s%s%s\n",
                gn_shade(terminal, GN_YELLOW), gn_shade(terminal, GN_PLAIN),
                gn_problems_can_compare(r->summary) ? "" : "; what is known of ",
                gn_problems_can_compare(r->summary) ? "" : r->summary->saved_hosts,
                gn_problems_can_compare(r->summary) ? "" : " ends earlier, and ranks are not compared");
    not_left_text(r->summary, folded.out);
    if (r->summary->period.is_set)
        fprintf(folded.out, "of %s:\n", gn_period_text(&r->summary->period, period));
    if (r->problems->count == 0)
        balanced_text(r->summary, folded.out);
    for (size_t i = 0; i < count; i++)
        problem_text(r, i, terminal, folded.out);
    if (count < r->problems->count)
        fprintf(folded.out, "%zu more (--top 0)\n", r->problems->count - count);
    for (size_t i = 0; i < r->problems->slack_count; i++)
        if (r->problems->slacks[i].is_sure)
            slack_text(&r->problems->slacks[i], terminal, folded.out);
    if (r->problems->seen.parts > 0 && !r->problems->seen.is_whole)
        fprintf(folded.out, "seen: %zu window%s of events, %s of %s%s\n", r->problems->seen.parts,
                r->problems->seen.parts == 1 ? "" : "s", gn_share_text(r->problems->seen.share, small),
                r->summary->period.is_set ? "that" : "the run",
                r->summary->period.is_set ? ""
                : r->summary->trace.asked ? ": the trace is too large to be read as a whole"
                                          : " (gnomon run --windows=RATE for more)");
    if (r->problems->seen.off_s > 0)
        fprintf(folded.out,
                "for %s of the run nobody wanted windows (gnomon live): what was waited then is not known\n",
                gn_duration_text(r->problems->seen.off_s * 1e9, small));
    if (gn_summary_is_slowed(r->summary))
        virtual_text(r->summary, folded.out);
    if (r->problems->small_count > 0)
        fprintf(folded.out, "%zu of less than 1 %% each, %s in all\n", r->problems->small_count,
                gn_duration_text(r->problems->small_s * 1e9, small));
    gn_page_close(&folded);
}

/* ---- for programs ---- */

static json_t *text_or_null(const char *text)
{
    return text && text[0] ? json_string_nocheck(text) : json_null();
}

static json_t *not_left_array(const struct gn_summary *s)
{
    json_t *array = json_array();
    for (size_t i = 0; i < s->row_count; i++) {
        const struct gn_activity_row *row = &s->rows[i];
        if (is_not_left(s, row))
            json_array_append_new(array,
                                  json_pack("{s:s, s:o, s:o, s:o, s:f}", "call", row->name, "function",
                                            text_or_null(row->function), "file", text_or_null(row->file),
                                            "line", row->line > 0 ? json_integer(row->line) : json_null(),
                                            "all_s", (double)row->open_ns * 1e-9));
    }
    return array;
}

static json_t *interval(double low, double high)
{
    return json_pack("{s:f, s:o}", "low", low, "high", isfinite(high) ? json_real(high) : json_null());
}

static json_t *place_object(const struct gn_activity_row *row)
{
    return json_pack("{s:o, s:o, s:o}", "function", text_or_null(row->function), "file",
                     text_or_null(row->file), "line", row->line > 0 ? json_integer(row->line) : json_null());
}

static json_t *hop_object(const struct gn_problem_hop *hop)
{
    return json_pack("{s:o, s:i, s:o, s:s, s:o, s:o, s:o, s:i, s:o, s:I}", "rank",
                     hop->rank >= 0 ? json_integer(hop->rank) : json_null(), "ranks", hop->ranks, "call",
                     text_or_null(hop->call), "kind", hop->kind, "function", text_or_null(hop->function),
                     "file", text_or_null(hop->file), "line",
                     hop->line > 0 ? json_integer(hop->line) : json_null(), "waits_for", hop->waits_for,
                     "waited_s", interval(hop->low_s, hop->high_s), "times", (json_int_t)hop->certain);
}

/* Who is late, and how that reaches the others. */
static json_t *chain_array(const struct gn_summary *s, const struct gn_problem *p)
{
    json_t *chain = json_array();
    const struct gn_activity_row *waits = waited_in(s, p);
    for (size_t i = 0; i < p->phase_count; i++)
        if (p->phases[i].waited.call)
            json_array_append_new(chain, hop_object(&p->phases[i].waited));
    if (p->phase_count > 0)
        return chain;
    if (p->rank < 0 || !p->row || p->own_s <= 0) {
        for (size_t i = 0; i < p->hop_count; i++)
            json_array_append_new(chain, hop_object(&p->hops[i]));
        return chain;
    }
    json_t *first = place_object(p->row);
    json_object_set_new(first, "rank", json_integer(p->rank));
    json_object_set_new(first, "call",
                        strcmp(p->row->kind, "mpi") == 0 ? json_string(p->row->name) : json_null());
    json_object_set_new(first, "waits_for", json_null());
    json_array_append_new(chain, first);
    for (size_t i = 0; i < p->hop_count; i++)
        json_array_append_new(chain, hop_object(&p->hops[i]));
    if (!waits || p->hop_count > 0)
        return chain;
    json_t *second = place_object(waits);
    json_object_set_new(second, "rank", json_null());
    json_object_set_new(second, "call", json_string_nocheck(waits->name));
    json_object_set_new(second, "waits_for", json_integer(p->rank));
    json_array_append_new(chain, second);
    return chain;
}

static json_t *not_because_array(const struct gn_problem *p)
{
    json_t *array = json_array();
    for (size_t i = 0; i < p->hop_count; i++) {
        const struct gn_problem_hop *hop = &p->hops[i];
        if (!is_told_again(p, i) && hop->own_share >= 0 && hop->own_share < worth_blame)
            json_array_append_new(array, json_pack("{s:o, s:n, s:f}", "call", text_or_null(hop->call), "rank",
                                                   "share", hop->own_share));
        if (i + 1 < p->hop_count && hop->rank >= 0 && hop->passes_on)
            json_array_append_new(array, json_pack("{s:n, s:i, s:n}", "call", "rank", hop->rank, "share"));
    }
    return array;
}

/* Which of the calls in which it was waited for most; null: not known. */
static json_t *steps_object(const struct gn_problem *p)
{
    const bool known = p->of > 0;
    return json_pack("{s:o, s:o, s:I, s:o}", "first", known ? json_integer(p->first) : json_null(), "last",
                     known ? json_integer(p->last) : json_null(), "count", (json_int_t)p->times, "of",
                     known ? json_integer(p->of) : json_null());
}

static json_t *after_object(const struct gn_problem_difference *d)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "call", text_or_null(d->call), "function",
                     text_or_null(d->function), "file", text_or_null(d->file), "line",
                     d->line > 0 ? json_integer(d->line) : json_null());
}

static json_t *differs_object(const struct gn_problem *p)
{
    const struct gn_problem_difference *d = &p->differs;
    if (!d->call)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:o}", "after", after_object(d), "times",
                     isfinite(d->times) ? json_real(d->times) : json_null(), "each",
                     isfinite(d->each) ? json_real(d->each) : json_null(), "grows",
                     p->grows > 0 ? json_real(p->grows) : json_null());
}

static json_t *parts_array(const struct gn_problem_meanwhile *parts, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct gn_problem_meanwhile *m = &parts[i];
        json_array_append_new(
            array,
            json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "rank",
                      m->rank >= 0 ? json_integer(m->rank) : json_null(), "what", m->what, "waits_for",
                      m->waits_for >= 0 ? json_integer(m->waits_for) : json_null(), "region",
                      text_or_null(m->region), "call", text_or_null(m->call), "function",
                      text_or_null(m->function), "file", text_or_null(m->file), "line",
                      m->line > 0 ? json_integer(m->line) : json_null(), "share", interval(m->low, m->high)));
    }
    return array;
}

static json_t *phases_array(const struct gn_problem *p)
{
    json_t *array = json_array();
    for (size_t i = 0; i < p->phase_count; i++) {
        const struct gn_problem_phase *phase = &p->phases[i];
        json_array_append_new(
            array, json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "rank", phase->rank, "from_s",
                             interval(phase->from_s.low, phase->from_s.high), "to_s",
                             interval(phase->to_s.low, phase->to_s.high), "own_s",
                             phase->differs.call ? json_real(phase->own_s) : json_null(), "others_s",
                             phase->differs.call ? json_real(phase->others_s) : json_null(), "after",
                             phase->differs.call ? after_object(&phase->differs) : json_null(), "waited",
                             phase->waited.call ? hop_object(&phase->waited) : json_null()));
    }
    return array;
}

/* null: not told */
static json_t *gain_object(const struct gn_problem *p, enum gn_problem_how how)
{
    const struct gn_problem_gain *gain = gn_problem_gain_by(p, how);
    return gain ? interval(gain->low_s, gain->high_s) : json_null();
}

static json_t *blocks_object(const struct gn_problem *p)
{
    const struct gn_problem_gain *gain = gn_problem_gain_by(p, GN_PROBLEM_BLOCKS);
    return gain ? json_pack("{s:i, s:o}", "count", (int)gain->count, "gain_s",
                            interval(gain->low_s, gain->high_s))
                : json_null();
}

static json_t *slack_array(const struct gn_problems *problems)
{
    json_t *array = json_array();
    for (size_t i = 0; i < problems->slack_count; i++)
        if (problems->slacks[i].is_sure)
            json_array_append_new(array, json_pack("{s:i, s:f, s:o}", "rank", problems->slacks[i].rank,
                                                   "longer_s", problems->slacks[i].longer_s, "place",
                                                   place_object(problems->slacks[i].row)));
    return array;
}

static json_t *problem_object(const struct gn_explain_report *r, const struct gn_problem *p)
{
    const struct gn_summary *s = r->summary;
    const struct gn_terminal terminal = {.width = GN_WIDTH_OF_FILES};
    char text[2 * TEXT], doubt[GN_PROBLEM_DOUBT];
    json_t *ranks = json_array(), *places = json_array(), *assumed = json_array();
    for (size_t i = 0; i < s->rank_count; i++)
        if ((p->rank < 0 && p->late_count == 0) || gn_problem_has_rank(p, s->ranks_told[i].rank))
            json_array_append_new(ranks, json_integer(s->ranks_told[i].rank));
    if (p->row)
        json_array_append_new(places, place_object(p->row));
    else if (p->differs.call)
        json_array_append_new(places, after_object(&p->differs));
    for (size_t i = 0; i < p->phase_count; i++)
        if (p->phases[i].differs.call)
            json_array_append_new(places, after_object(&p->phases[i].differs));
    for (size_t k = 0; k < sizeof assumptions / sizeof *assumptions; k++)
        if (p->assumes & assumptions[k].bit)
            json_array_append_new(assumed, json_string(assumptions[k].text));
    gn_problem_text(s, p, &terminal, text, sizeof text);
    json_t *object = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:s, s:o}", "kind",
                               p->pattern->name, "ranks", ranks, "threads", json_array(), "places", places,
                               "lost_s", interval(p->lost_low_s, p->lost_high_s), "share",
                               interval(p->lost_low_s / s->elapsed_s, p->lost_high_s / s->elapsed_s), "chain",
                               chain_array(s, p), "gain_s", interval(p->gain_low_s, p->gain_high_s),
                               "certainty", gn_problem_sure_name(p->sure), "doubt",
                               text_or_null(gn_problem_doubt_text(r->problems, p, doubt)), "assumptions",
                               assumed, "remedy", p->pattern->remedy, "text", text_or_null(text));
    if (object)
        json_object_set_new(object, "differs", differs_object(p));
    if (object)
        json_object_set_new(object, "meanwhile", parts_array(p->meanwhile, p->meanwhile_count));
    if (object)
        json_object_set_new(object, "contributions", parts_array(p->roots, p->root_count));
    if (object)
        json_object_set_new(object, "phases", phases_array(p));
    if (object)
        json_object_set_new(object, "not_because_of", not_because_array(p));
    if (object)
        json_object_set_new(object, "even_s",
                            p->even_high_s > 0 ? interval(p->even_low_s, p->even_high_s) : json_null());
    if (object)
        json_object_set_new(object, "like_s", gain_object(p, GN_PROBLEM_LIKE));
    if (object)
        json_object_set_new(object, "half_s", gain_object(p, GN_PROBLEM_HALF));
    if (object)
        json_object_set_new(object, "blocks", blocks_object(p));
    if (object)
        json_object_set_new(object, "steps", p->times > 0 ? steps_object(p) : json_null());
    return object;
}

json_t *gn_explain_json(const struct gn_explain_report *r)
{
    const size_t count = r->top && r->top < r->problems->count ? r->top : r->problems->count;
    json_t *causes = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(causes, problem_object(r, &r->problems->items[i]));
    const struct gn_efficiency *e = &r->summary->efficiency;
    return json_pack(
        "{s:i, s:o, s:b, s:f, s:f, s:o, s:o, s:b, s:I, s:f, s:o, s:o, s:o, s:o}", "version", 1, "causes",
        causes, "balanced",
        (int)(r->problems->count == 0 && gn_problems_can_compare(r->summary) && is_efficient(r->summary)),
        "elapsed_s", r->summary->elapsed_s, "measured_s", r->summary->measured_s, "unmeasured_s",
        interval(r->summary->unmeasured_s.low, r->summary->unmeasured_s.high), "efficiency",
        e->is_known ? json_real(e->parallel) : json_null(), "complete", (int)r->summary->complete,
        "small_count", (json_int_t)r->problems->small_count, "small_s", r->problems->small_s, "seen",
        gn_problems_seen_json(&r->problems->seen), "slack", slack_array(r->problems), "between",
        gn_period_object(&r->summary->period), "not_left", not_left_array(r->summary));
}
