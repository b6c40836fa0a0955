#include "answer/report.h"

#include "answer/report_checks.h"
#include "answer/report_clocks.h"
#include "answer/report_last_calls.h"
#include "answer/fit.h"
#include "answer/period_text.h"
#include "answer/quantities.h"
#include "base/printable.h"
#include "answer/problem_text.h"
#include "answer/report_resources.h"
#include "answer/report_table.h"
#include "answer/report_tree.h"
#include "answer/report_worlds.h"
#include "answer/spans.h"
#include "answer/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct page {
    const struct gn_summary *s;
    const struct gn_report_options *o;
    FILE *out;
};

static const char *shade(const struct page *p, const char *code)
{
    return gn_shade(&p->o->terminal, code);
}

/* The program without its folders, and its arguments. */
static void command_text(const struct gn_summary *s, char *text, size_t size)
{
    const char *arguments = strchr(s->command, ' ');
    snprintf(text, size, "%s%s", gn_base_name(s->exe[0] ? s->exe : "?"), arguments ? arguments : "");
    gn_printable(text);
}

/* What of it was seen to be waiting for other ranks. */
static const char *waiting_text(const struct page *p, char text[GN_SPAN_TEXT + 40])
{
    const struct gn_problems_seen *seen = p->o->problems ? &p->o->problems->seen : NULL;
    const double unmeasured = p->s->measured_s > 0 ? p->s->elapsed_s / p->s->measured_s : 1;
    const double total_s = unmeasured * (double)p->s->total_ns * 1e-9;
    char share[GN_SPAN_TEXT];
    if (!seen || seen->parts == 0 || !(total_s > 0) || !isfinite(seen->waited_high_s))
        return "waiting or transfer";
    const double most = p->s->has_naps ? 1 : p->s->mpi_share,
                 high = fmin(seen->waited_high_s / total_s, most);
    snprintf(text, GN_SPAN_TEXT + 40, "%s waiting%s",
             gn_span_share(fmin(seen->waited_low_s / total_s, high), high, share),
             high > p->s->mpi_share ? ", also between polls" : "");
    return text;
}

/* Measured to its end, it may have failed all the same: a traceback of Python's ends with MPI_Finalize, too.
 */
static void failed_text(const struct gn_summary *s, char text[100])
{
    text[0] = '\0';
    if (!s->complete) /* then the lines of those that ended badly say more */
        return;
    if (s->failed == 1)
        snprintf(text, 100, ", rank %d exited with %d", s->failed_rank, s->failed_status);
    else if (s->failed > 1)
        snprintf(text, 100, ", %d ranks exited with other than 0, rank %d with %d", s->failed, s->failed_rank,
                 s->failed_status);
}

static void header(const struct page *p)
{
    enum { LONGEST_COMMAND = 60 };
    const struct gn_summary *s = p->s;
    char elapsed[GN_QUANTITY_TEXT], share[GN_QUANTITY_TEXT], waiting[GN_SPAN_TEXT + 40], command[1400],
        hosts[400], period[GN_PERIOD_TEXT], failed[100];
    failed_text(s, failed);
    command_text(s, command, sizeof command);
    fprintf(p->out, "%sgnomon%s · %s", shade(p, GN_BOLD), shade(p, GN_PLAIN), shade(p, GN_BOLD));
    gn_print_short(command, LONGEST_COMMAND, true, &p->o->terminal, p->out);
    fprintf(p->out, "%s · %d rank%s on %d host%s (%s) · %s%s%s\n", shade(p, GN_PLAIN), s->ranks,
            s->ranks == 1 ? "" : "s", s->hosts, s->hosts == 1 ? "" : "s",
            gn_short_copy(hosts, sizeof hosts, s->host_names, LONGEST_COMMAND, &p->o->terminal), s->library,
            s->complete ? " · complete" : "", failed);
    if (s->period.is_set)
        fputs(gn_period_text(&s->period, period), p->out);
    else
        fprintf(p->out, "%s elapsed", gn_duration_text(s->elapsed_s * 1e9, elapsed));
    if (gn_summary_is_slowed(s))
        fprintf(p->out, ", %s as measured", gn_duration_text(s->measured_s * 1e9, elapsed));
    fprintf(p->out, " · %s of the time in MPI, %s", gn_share_text(s->mpi_share, share),
            waiting_text(p, waiting));
    gn_report_cores(s, p->out);
    fprintf(p->out, "%s\n", p->o->raw ? " · raw times" : "");
    if (!s->efficiency.is_known || s->ranks < 2)
        return;
    gn_report_efficiency(&s->efficiency, p->out);
    fputc('\n', p->out);
}

static void how_it_ended(const struct gn_trouble_row *t, char *text, size_t size)
{
    if (t->ended && strcmp(t->ended, "signal") == 0)
        snprintf(text, size, "was ended by signal %d (%s)", t->exit_status, strsignal(t->exit_status));
    else if (t->ended && strcmp(t->ended, "exit") == 0 && t->exit_status > 0)
        snprintf(text, size, "ended with exit status %d, without MPI_Finalize", t->exit_status);
    else if (t->ended && strcmp(t->ended, "exit") == 0)
        snprintf(text, size, "ended without MPI_Finalize");
    else if (t->ended && strcmp(t->ended, "running") == 0)
        snprintf(text, size, "was still running when this was saved");
    else
        snprintf(text, size, "ended before MPI_Finalize");
}

static void print_trouble(const struct page *p, const struct gn_trouble_row *t)
{
    char end[160], how_long[GN_QUANTITY_TEXT];
    how_it_ended(t, end, sizeof end);
    fprintf(p->out, "  rank %d on %s %s", t->rank, t->host ? t->host : "?", end);
    gn_report_ending(p->s, t, p->out);
    if (t->message && t->message[0])
        fprintf(p->out, ": %s", t->message);
    gn_report_fatal(t, p->out);
    if (t->last)
        fprintf(p->out, "; %s %s%s%s", t->inside ? "inside" : "after", t->last,
                t->last_s > 0.001 ? " for " : "",
                t->last_s > 0.001 ? gn_duration_text(t->last_s * 1e9, how_long) : "");
    fputc('\n', p->out);
}

/* Those who ended the run come first. */
static bool is_first_victim(const struct gn_summary *s, size_t i)
{
    return i > 0 && s->troubles[i].victim && !s->troubles[i - 1].victim;
}

static void troubles(const struct page *p)
{
    const struct gn_summary *s = p->s;
    char saved[GN_QUANTITY_TEXT];
    if (s->is_live) {
        fprintf(p->out, "%sLIVE%s: the run goes on; this is what it has done until %s after its begin\n",
                shade(p, GN_BOLD), shade(p, GN_PLAIN), gn_duration_text(s->saved_s * 1e9, saved));
        return;
    }
    if (s->complete)
        return;
    fprintf(p->out, "%sPARTIAL%s: the run did not end normally, or not all of it was measured.\n",
            shade(p, GN_RED GN_BOLD), shade(p, GN_PLAIN));
    if (s->refused[0])
        fprintf(p->out, "  what could not be joined is not in it: %s\n", s->refused);
    if (s->saved_hosts[0])
        fprintf(p->out,
                "  gnomon was ended with the run: %s is as it was saved %s after the run's begin, what came "
                "later is lost\n",
                s->saved_hosts, gn_duration_text(s->saved_s * 1e9, saved));
    if (s->missing_ranks[0])
        fprintf(p->out, "  nothing was received from rank%s %s\n", strpbrk(s->missing_ranks, ",-") ? "s" : "",
                s->missing_ranks);
    size_t shown = p->o->top && s->trouble_count > 8 ? 8 : s->trouble_count;
    for (size_t i = 0; i < shown; i++) {
        if (is_first_victim(s, i))
            fprintf(p->out, "  the others, taken down after that:\n");
        print_trouble(p, &s->troubles[i]);
        if (i == 0)
            gn_report_last_calls(&s->troubles[i], &p->o->terminal, p->out);
    }
    if (shown < s->trouble_count)
        fprintf(p->out, "  … and %zu more ranks\n", s->trouble_count - shown);
}

static void activity_table(const struct page *p)
{
    struct gn_report_table rows;
    gn_report_screen(&rows, p->s, p->o);
    if (p->s->row_count == 0)
        fprintf(p->out, "  nothing of this kind was recorded\n");
    else
        gn_table_text(&rows.table, &p->o->terminal, p->out);
}

static void pair_table(const struct page *p)
{
    struct gn_report_table pairs;
    gn_report_pairs(&pairs, p->s, p->o);
    gn_table_text(&pairs.table, &p->o->terminal, p->out);
    if (p->s->pair_count == 0)
        fprintf(p->out, "  no messages between ranks\n");
}

static void request_table(const struct page *p)
{
    struct gn_report_table requests;
    gn_report_requests(&requests, p->s, p->o, true);
    gn_table_text(&requests.table, &p->o->terminal, p->out);
    fprintf(
        p->out,
        p->s->request_count == 0
            ? "  no requests were completed\n"
            : "mean, max: from when the call that starts them is left until the one that completes them is; "
              "ahead: of that, until it is entered\n");
}

static void why(const struct page *p)
{
    char text[1600];
    if (gn_report_why_text(p->s, p->o->problems, &p->o->terminal, text, sizeof text)[0])
        fprintf(p->out, "%swhy%s: %s\n", shade(p, GN_BOLD), shade(p, GN_PLAIN), text);
}

static void findings(const struct page *p)
{
    if (p->o->findings && p->o->findings->text)
        fputs(p->o->findings->text, p->out);
}

static const char *trace_place(const struct page *p, char *text, size_t size)
{
    const char *path = p->s->trace.path;
    if (path[0] == '/' || !p->o->folder)
        snprintf(text, size, "%s", path);
    else
        snprintf(text, size, "%s/%s", p->o->folder, path);
    return text;
}

/* The commands that say more of a trace take the run, where the trace lies in it. */
static void analyse_line(const struct page *p)
{
    const struct gn_trace_facts *t = &p->s->trace;
    const char *where = t->path[0] == '/' ? t->path : p->o->folder;
    if (t->asked && !t->apart && t->archives == 1 && where)
        fprintf(p->out, GN_AS_IT_IS "%sanalyse%s: gnomon stragglers|whatif|critical %s\n", shade(p, GN_DIM),
                shade(p, GN_PLAIN), where);
}

static void trace_line(const struct page *p)
{
    const struct gn_trace_facts *t = &p->s->trace;
    char events[GN_QUANTITY_TEXT], bytes[GN_QUANTITY_TEXT], lost[GN_QUANTITY_TEXT], place[4800];
    int64_t missing = t->dropped + t->unwritten;
    if (!t->asked)
        return;
    fprintf(p->out, "%strace%s: ", shade(p, missing || t->error[0] ? GN_YELLOW : GN_DIM), shade(p, GN_PLAIN));
    if (t->archives == 0) {
        fprintf(p->out, "there is none: %s\n", t->error);
        return;
    }
    fprintf(p->out, "%s events, %s", gn_count_text(t->events, events),
            gn_bytes_text((double)t->bytes, bytes));
    if (!missing)
        fprintf(p->out, ", %s lost", t->error[0] ? "not known how many" : "none");
    if (t->dropped) /* records: what was overwritten is not known to have been one event or five */
        fprintf(p->out, ", %s calls lost because a buffer was full (--trace=SIZE, --trace-full=block)",
                gn_count_text(t->dropped, lost));
    if (t->unwritten)
        fprintf(p->out, ", %s events lost because they could not be written",
                gn_count_text(t->unwritten, lost));
    if (t->archives > 1)
        fprintf(p->out, " · one archive for each of %d hosts, such as %s\n", t->archives,
                trace_place(p, place, sizeof place));
    else
        fprintf(p->out, "\n" GN_AS_IT_IS "  gnomon order %s\n", trace_place(p, place, sizeof place));
    if (t->error[0])
        fprintf(p->out, "  it is not whole: %s\n", t->error);
    if (t->lost_comms)
        fprintf(p->out, "  %s communicators found no room: messages on them are not in it\n",
                gn_count_text(t->lost_comms, lost));
    if (t->garbled)
        fprintf(p->out,
                "  %s references in it made no sense, such as ranks that its communicator does not have\n",
                gn_count_text(t->garbled, lost));
}

static void cost_reason(const struct page *p)
{
    const struct gn_cost *c = &p->s->cost;
    char number[GN_QUANTITY_TEXT], text[GN_QUANTITY_TEXT];
    const double share = c->calls ? (double)c->unwound / (double)c->calls : 0;
    switch (c->reason) {
    case GN_COST_SMALL:
        break;
    case GN_COST_CALLS:
        if (c->program_cpu_s > 0)
            fprintf(p->out, "  that much because the program makes a call every %s of its CPU time\n",
                    gn_duration_text(c->program_cpu_s * 1e9 / (double)c->calls, text));
        break;
    case GN_COST_REGIONS:
        if (c->program_cpu_s > 0)
            fprintf(p->out,
                    "  that much because a region, or a function of --activity, begins or ends every %s of "
                    "its CPU "
                    "time: choose larger ones\n",
                    gn_duration_text(c->program_cpu_s * 1e9 / (double)c->regions, text));
        break;
    case GN_COST_UNWOUND:
        fprintf(p->out,
                "  that much because %s calls (%s) had their stack unwound in full: frames whose unwind "
                "tables are missing or unusual\n",
                gn_count_text(c->unwound, number), gn_share_text(share, text));
        break;
    case GN_COST_FIRST:
        fprintf(p->out, "  most of it is what calls take the first time, and this run was short\n");
        break;
    case GN_COST_START_UP:
        fprintf(p->out, "  most of it is the start-up, and this run was short\n");
    }
}

static void cost_lines(const struct page *p)
{
    const struct gn_cost *c = &p->s->cost;
    char calls[GN_QUANTITY_TEXT], slow[GN_QUANTITY_TEXT], startup[GN_QUANTITY_TEXT], share[GN_QUANTITY_TEXT];
    if (p->s->period.is_set) /* known of all of the run */
        return;
    fprintf(p->out, "%sgnomon's own cost%s: %s of %s: %s events", shade(p, GN_DIM), shade(p, GN_PLAIN),
            gn_share_text(c->share, share),
            c->program_cpu_s > 0 ? "the program's CPU time" : "all threads' time",
            gn_count_text(c->calls, calls));
    if (c->ns_per_call > 0)
        fprintf(p->out, " at %s", gn_duration_text(round(c->ns_per_call), share));
    fprintf(p->out, ", first calls and new paths %s, start-up %s%s\n",
            gn_duration_text(c->slow_s * 1e9, slow), gn_duration_text(c->startup_s * 1e9, startup),
            p->o->raw ? " (contained in these times)" : " (subtracted, but for start-up; --raw keeps it)");
    cost_reason(p);
}

static void footer(const struct page *p)
{
    const struct gn_summary *s = p->s;
    char calls[GN_QUANTITY_TEXT];
    cost_lines(p);
    fprintf(p->out, "%sclocks%s: ", shade(p, gn_report_clocks_trouble(s) ? GN_YELLOW : GN_DIM),
            shade(p, GN_PLAIN));
    gn_report_clocks(s, p->out);
    for (size_t i = 0; i < s->lost_count; i++)
        fprintf(p->out, "%slost%s: %s: %s\n", shade(p, GN_YELLOW), shade(p, GN_PLAIN), s->lost[i].what,
                gn_count_text(s->lost[i].count, calls));
    trace_line(p);
    gn_report_failed_checks(s, p->o, p->out);
    analyse_line(p);
    if (p->o->folder)
        fprintf(p->out,
                GN_AS_IT_IS "%snext%s: gnomon report %s --by callpath\n"
                            "  or by tree, place, region, function, line, rank, host, pair; --checks\n",
                shade(p, GN_DIM), shade(p, GN_PLAIN), p->o->folder);
    else
        fprintf(p->out, "%sthis run could not be saved anywhere: there is only this report%s\n",
                shade(p, GN_RED), shade(p, GN_PLAIN));
}

void gn_report_text(const struct gn_summary *s, const struct gn_report_options *o, FILE *out)
{
    struct gn_page folded;
    gn_page_open(&folded, &o->terminal, out);
    struct page page = {s, o, folded.out}, *p = &page;
    header(p);
    if (o->checks) {
        gn_report_checks_text(s, o, p->out);
        gn_page_close(&folded);
        return;
    }
    troubles(p);
    fputc('\n', p->out);
    if (o->by == GN_BY_PAIR)
        pair_table(p);
    else if (o->by == GN_BY_REQUEST)
        request_table(p);
    else if (o->by == GN_BY_TREE)
        gn_report_tree_text(s, o, p->out);
    else
        activity_table(p);
    fputc('\n', p->out);
    if (o->by == GN_BY_ACTIVITY)
        why(p);
    findings(p);
    if (o->by == GN_BY_ACTIVITY)
        gn_report_resources(s, p->out);
    footer(p);
    gn_page_close(&folded);
}

void gn_report_to(const struct gn_summary *s, const struct gn_worlds *worlds,
                  const struct gn_report_options *o, int descriptor)
{
    int copy = dup(descriptor);
    FILE *out = copy >= 0 ? fdopen(copy, "w") : NULL;
    if (!out)
        return;
    fputc('\n', out);
    if (worlds->count > 1)
        gn_report_worlds(worlds, gn_worlds_largest(worlds), o, out);
    gn_report_text(s, o, out);
    fclose(out);
}
