#include "cli/report.h"

#include "cli/report_clocks.h"
#include "cli/report_last_calls.h"
#include "cli/report_words.h"
#include "cli/terminal.h"

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
    return p->o->color ? code : "";
}

void gn_report_terminal(struct gn_report_options *o, int descriptor)
{
    const struct gn_terminal terminal = gn_terminal_of(descriptor);
    o->color = terminal.color;
    o->width = terminal.width;
}

static const char *grouped(int64_t number, char text[32])
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%" PRId64, number), out = 0;
    for (int i = 0; i < length && out < 30; i++) {
        if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-')
            text[out++] = ',';
        text[out++] = digits[i];
    }
    text[out] = '\0';
    return text;
}

static void print_place(char *text, size_t size, const struct gn_activity_row *row)
{
    if (row->file && row->line > 0)
        snprintf(text, size, "%s:%d", gn_report_base_name(row->file), row->line);
    else
        snprintf(text, size, "%s", row->file ? gn_report_base_name(row->file) : "");
}

static void header(const struct page *p)
{
    const struct gn_summary *s = p->s;
    char elapsed[16];
    fprintf(p->out, "%sgnomon%s · %s%s%s · %d rank%s on %d host%s (%s) · %s\n", shade(p, GN_BOLD),
            shade(p, GN_PLAIN), shade(p, GN_BOLD), gn_report_base_name(s->exe), shade(p, GN_PLAIN), s->ranks,
            s->ranks == 1 ? "" : "s", s->hosts, s->hosts == 1 ? "" : "s", s->host_names, s->library);
    fprintf(p->out, "%s elapsed · %.1f %% of the time in MPI%s\n",
            gn_report_seconds(s->elapsed_s * 1e9, elapsed), 100 * s->mpi_share,
            p->o->raw ? " · raw times" : "");
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
    char end[160], how_long[16];
    how_it_ended(t, end, sizeof end);
    fprintf(p->out, "  rank %d on %s %s", t->rank, t->host ? t->host : "?", end);
    gn_report_ending(p->s, t, p->out);
    if (t->message && t->message[0])
        fprintf(p->out, ": %s", t->message);
    if (t->last)
        fprintf(p->out, "; %s %s%s%s", t->inside ? "inside" : "after", t->last,
                t->last_s > 0.001 ? " for " : "",
                t->last_s > 0.001 ? gn_report_seconds(t->last_s * 1e9, how_long) : "");
    fputc('\n', p->out);
}

static void troubles(const struct page *p)
{
    const struct gn_summary *s = p->s;
    if (s->complete)
        return;
    fprintf(p->out, "%sPARTIAL%s: the run did not end normally, or not all of it was measured.\n",
            shade(p, GN_RED GN_BOLD), shade(p, GN_PLAIN));
    if (s->missing_ranks[0])
        fprintf(p->out, "  nothing was received from rank%s %s\n", strpbrk(s->missing_ranks, ",-") ? "s" : "",
                s->missing_ranks);
    size_t shown = p->o->top && s->trouble_count > 8 ? 8 : s->trouble_count;
    for (size_t i = 0; i < shown; i++) {
        print_trouble(p, &s->troubles[i]);
        if (i == 0)
            gn_report_last_calls(&s->troubles[i], p->o->width, p->out);
    }
    if (shown < s->trouble_count)
        fprintf(p->out, "  … and %zu more ranks\n", s->trouble_count - shown);
}

static bool is_computation(const struct gn_activity_row *row)
{
    return strcmp(row->kind, "computation") == 0;
}

/* What the slowest rank takes beyond the mean: gone when the work is spread evenly. */
static double imbalance_ns(const struct gn_activity_row *row)
{
    return (double)(row->max_ns - row->mean_ns);
}

static void what_and_where(const struct gn_activity_row *row, char *what, size_t size)
{
    char place[256];
    print_place(place, sizeof place, row);
    if (row->path) {
        snprintf(what, size, "%s  %s", row->name, row->path);
        return;
    }
    bool named = row->function && strcmp(row->function, row->name) != 0;
    snprintf(what, size, "%s%s%s%s%s", row->name, named ? " in " : "", named ? row->function : "",
             place[0] ? "  " : "", place);
}

static void activity_line(const struct page *p, const struct gn_activity_row *row)
{
    char min[16], median[16], max[16], rank[16], cost[16] = "", what[2048];
    double run = p->s->elapsed_s > 0 ? (double)row->weight_ns * 1e-9 / p->s->elapsed_s : 0;
    const char *color = run >= 0.25 ? GN_RED : run >= 0.05 ? GN_YELLOW : "";
    if (is_computation(row) && imbalance_ns(row) > 0)
        gn_report_seconds(imbalance_ns(row), cost);
    what_and_where(row, what, sizeof what);
    snprintf(rank, sizeof rank, "#%d", row->max_rank);
    fprintf(p->out, "%s%4.0f %%%s %5.1f %% %8s %8s %8s %-5s %8s  ", shade(p, color), 100 * run,
            shade(p, GN_PLAIN), 100 * row->share, gn_report_seconds((double)row->min_ns, min),
            gn_report_seconds((double)row->median_ns, median), gn_report_seconds((double)row->max_ns, max),
            rank, cost);
    int room = p->o->width - 62;
    if (row->path) /* a call path is shown whole */
        fputs(what, p->out);
    else
        gn_report_cut(p->out, what, room > 30 ? room : 30);
    fputc('\n', p->out);
}

static void activity_table(const struct page *p)
{
    const struct gn_summary *s = p->s;
    fprintf(p->out, "%s   run   share      min   median      max rank   imbal.  %s%s\n", shade(p, GN_DIM),
            p->o->by == GN_BY_REGION ? "region (with all that is nested in it)" : "activity and place",
            shade(p, GN_PLAIN));
    size_t shown = p->o->top > 0 && (size_t)p->o->top < s->row_count ? (size_t)p->o->top : s->row_count;
    double rest = 0;
    for (size_t i = 0; i < s->row_count; i++)
        if (i < shown)
            activity_line(p, &s->rows[i]);
        else
            rest += s->rows[i].share;
    if (shown < s->row_count)
        fprintf(p->out, "%s       %5.1f %% in %zu more (--top 0 shows all)%s\n", shade(p, GN_DIM), 100 * rest,
                s->row_count - shown, shade(p, GN_PLAIN));
    if (s->row_count == 0)
        fprintf(p->out, "  nothing of this kind was recorded\n");
    if (p->o->by == GN_BY_ACTIVITY && s->ranks > 1)
        fprintf(p->out,
                "%srun: of the run's length (a computation's slowest rank; an MPI call's fastest, the rest\n"
                "waits) · share: of all ranks' time · imbal.: the slowest rank over the mean%s\n",
                shade(p, GN_DIM), shade(p, GN_PLAIN));
}

static void total_table(const struct page *p)
{
    char total[16], mpi[16], other[16], count[32];
    fprintf(p->out, "%s  share     total       MPI     other      count%s\n", shade(p, GN_DIM),
            shade(p, GN_PLAIN));
    for (size_t i = 0; i < p->s->row_count; i++) {
        const struct gn_activity_row *row = &p->s->rows[i];
        if (p->o->top > 0 && i >= (size_t)p->o->top)
            break;
        fprintf(p->out, "%5.1f %% %9s %9s %9s %10s  %s\n", 100 * row->share,
                gn_report_seconds((double)row->total_ns, total), gn_report_seconds((double)row->mpi_ns, mpi),
                gn_report_seconds((double)(row->total_ns - row->mpi_ns), other), grouped(row->count, count),
                row->name);
    }
}

static void pair_table(const struct page *p)
{
    char messages[32], bytes[16];
    fprintf(p->out, "%s  from     to     messages        bytes%s\n", shade(p, GN_DIM), shade(p, GN_PLAIN));
    for (size_t i = 0; i < p->s->pair_count; i++) {
        const struct gn_pair_row *pair = &p->s->pairs[i];
        if (p->o->top > 0 && i >= (size_t)p->o->top)
            break;
        fprintf(p->out, "%6d %6d %12s %12s\n", pair->from, pair->to, grouped(pair->messages, messages),
                gn_report_size(pair->bytes, bytes));
    }
    if (p->s->pair_count == 0)
        fprintf(p->out, "  no messages between ranks\n");
}

/* The computation whose uneven distribution costs most: what the slowest rank takes beyond the mean. */
static const struct gn_activity_row *worst_imbalance(const struct gn_summary *s)
{
    const struct gn_activity_row *worst = NULL;
    for (size_t i = 0; i < s->row_count; i++) {
        const struct gn_activity_row *row = &s->rows[i];
        if (is_computation(row) && (!worst || imbalance_ns(row) > imbalance_ns(worst)))
            worst = row;
    }
    return worst;
}

static void imbalance(const struct page *p)
{
    const struct gn_activity_row *row = worst_imbalance(p->s);
    if (!row || p->s->ranks < 2)
        return;
    double cost_s = (double)(row->max_ns - row->mean_ns) * 1e-9;
    if (cost_s < 0.01 * p->s->elapsed_s)
        return;
    char max[16], median[16], cost[16], place[256];
    print_place(place, sizeof place, row);
    fprintf(
        p->out,
        "%simbalance%s: rank %d takes %s in %s%s%s, the median rank %s; spread evenly it would take %s less"
        " (%.0f %% of the run)\n",
        shade(p, GN_BOLD), shade(p, GN_PLAIN), row->max_rank, gn_report_seconds((double)row->max_ns, max),
        row->function ? row->function : "computation", place[0] ? " " : "", place,
        gn_report_seconds((double)row->median_ns, median), gn_report_seconds(cost_s * 1e9, cost),
        100 * cost_s / p->s->elapsed_s);
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
    if (t->asked && t->archives == 1 && where)
        fprintf(p->out, "%sanalyse%s: gnomon stragglers|whatif|critical %s\n", shade(p, GN_DIM),
                shade(p, GN_PLAIN), where);
}

static void trace_line(const struct page *p)
{
    const struct gn_trace_facts *t = &p->s->trace;
    char events[32], bytes[16], lost[32], place[4800];
    int64_t missing = t->dropped + t->unwritten;
    if (!t->asked)
        return;
    fprintf(p->out, "%strace%s: ", shade(p, missing || t->error[0] ? GN_YELLOW : GN_DIM), shade(p, GN_PLAIN));
    if (t->archives == 0) {
        fprintf(p->out, "there is none: %s\n", t->error);
        return;
    }
    fprintf(p->out, "%s events, %s, %s lost", grouped(t->events, events), gn_report_size(t->bytes, bytes),
            missing ? grouped(missing, lost) : "none");
    if (t->dropped)
        fprintf(p->out, " (%s because a buffer was full: --trace=SIZE, --trace-full=block)",
                t->unwritten ? grouped(t->dropped, lost) : "all");
    if (t->archives > 1)
        fprintf(p->out, " · one archive for each of %d hosts, such as %s\n", t->archives,
                trace_place(p, place, sizeof place));
    else
        fprintf(p->out, " · gnomon order %s\n", trace_place(p, place, sizeof place));
    if (t->error[0])
        fprintf(p->out, "  it is not whole: %s\n", t->error);
    if (t->lost_comms)
        fprintf(p->out, "  %s communicators found no room: messages on them are not in it\n",
                grouped(t->lost_comms, lost));
    if (t->garbled)
        fprintf(p->out,
                "  %s references in it made no sense, such as ranks that its communicator does not have\n",
                grouped(t->garbled, lost));
}

static void cost_reason(const struct page *p)
{
    const struct gn_cost *c = &p->s->cost;
    char number[32], text[16];
    const double percent = c->calls ? 100 * (double)c->unwound / (double)c->calls : 0;
    switch (c->reason) {
    case GN_COST_SMALL:
        break;
    case GN_COST_CALLS:
        if (c->program_cpu_s > 0)
            fprintf(p->out, "  that much because the program makes a call every %s of its CPU time\n",
                    gn_report_seconds(c->program_cpu_s * 1e9 / (double)c->calls, text));
        break;
    case GN_COST_UNWOUND:
        fprintf(p->out,
                "  that much because %s calls (%.0f %%) had their stack unwound in full: frames whose unwind "
                "tables are missing or unusual\n",
                grouped(c->unwound, number), percent);
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
    char calls[32], slow[16], startup[16];
    fprintf(p->out, "%sgnomon's own cost%s: %.2f %% of %s: %s events", shade(p, GN_DIM), shade(p, GN_PLAIN),
            100 * c->share, c->program_cpu_s > 0 ? "the program's CPU time" : "all threads' time",
            grouped(c->calls, calls));
    if (c->ns_per_call > 0)
        fprintf(p->out, " at %.0f ns", c->ns_per_call);
    fprintf(p->out, ", first calls and new paths %s, start-up %s%s\n",
            gn_report_seconds(c->slow_s * 1e9, slow), gn_report_seconds(c->startup_s * 1e9, startup),
            p->o->raw ? " (contained in these times)" : " (subtracted, but for start-up; --raw keeps it)");
    cost_reason(p);
}

static void footer(const struct page *p)
{
    const struct gn_summary *s = p->s;
    char calls[32];
    cost_lines(p);
    fprintf(p->out, "%sclocks%s: ", shade(p, gn_report_clocks_trouble(s) ? GN_YELLOW : GN_DIM),
            shade(p, GN_PLAIN));
    gn_report_clocks(s, p->out);
    for (size_t i = 0; i < s->lost_count; i++)
        fprintf(p->out, "%slost%s: %s: %s\n", shade(p, GN_YELLOW), shade(p, GN_PLAIN), s->lost[i].what,
                grouped(s->lost[i].count, calls));
    trace_line(p);
    if (s->no_lines_in[0])
        fprintf(p->out, "no source lines for %s: compile with -g, or install its debug symbols (-dbgsym)\n",
                s->no_lines_in);
    analyse_line(p);
    if (p->o->folder)
        fprintf(p->out, "%snext%s: gnomon report %s --by callpath|region|function|line|rank|host|pair\n",
                shade(p, GN_DIM), shade(p, GN_PLAIN), p->o->folder);
    else
        fprintf(p->out, "%sthis run could not be saved anywhere: there is only this report%s\n",
                shade(p, GN_RED), shade(p, GN_PLAIN));
}

void gn_report_text(const struct gn_summary *s, const struct gn_report_options *o, FILE *out)
{
    struct page page = {s, o, out}, *p = &page;
    header(p);
    troubles(p);
    fputc('\n', out);
    if (o->by == GN_BY_PAIR)
        pair_table(p);
    else if (o->by == GN_BY_RANK || o->by == GN_BY_HOST)
        total_table(p);
    else
        activity_table(p);
    fputc('\n', out);
    if (o->by == GN_BY_ACTIVITY)
        imbalance(p);
    findings(p);
    footer(p);
}

void gn_report_after_run(sqlite3 *profile, const char *folder, int descriptor)
{
    struct gn_report_options options = {.by = GN_BY_ACTIVITY, .top = 10};
    struct gn_summary summary;
    struct gn_error err;
    const char *cwd = getcwd((char[4096]){0}, 4096);
    size_t length = cwd ? strlen(cwd) : 0;
    /* a folder below the working directory is named as a person would type it */
    options.folder = folder && cwd && strncmp(folder, cwd, length) == 0 && folder[length] == '/'
                         ? folder + length + 1
                         : folder;
    if (descriptor < 0 || gn_summarise(profile, options.by, false, &summary, &err) != 0)
        return;
    gn_report_terminal(&options, descriptor);
    int copy = dup(descriptor);
    FILE *out = copy >= 0 ? fdopen(copy, "w") : NULL;
    if (out) {
        fputc('\n', out);
        gn_report_text(&summary, &options, out);
        fclose(out);
    }
    gn_summary_clear(&summary);
}
