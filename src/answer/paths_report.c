#include "answer/paths_report.h"

#include "answer/call_name.h"
#include "answer/fit.h"
#include "answer/process_name.h"
#include "answer/quantities.h"
#include "answer/rests_on.h"
#include "answer/spans.h"

#include <inttypes.h>
#include <string.h>

enum { NAME_BYTES = 512, PEERS_TOLD = 8, FEW_CALLERS = 2 };

static size_t shown(const struct gn_paths_report *r)
{
    const size_t all = r->found->path_count;
    return r->top && all > r->top ? r->top : all;
}

static double share_of(const struct gn_paths_report *r, double ns)
{
    return r->found->total_ns > 0 ? ns / r->found->total_ns : 0;
}

static void ranks_of(const struct gn_paths_report *r, const struct gn_exec_path *p, char *text, size_t size)
{
    char name[96];
    gn_process_name(r->history->definitions, p->first_process, name, sizeof name);
    if (p->processes > 1)
        snprintf(text, size, "%" PRIu32 " ranks, %s first", p->processes, name);
    else
        snprintf(text, size, "%s", name);
}

static void point_of(const struct gn_paths_report *r, const struct gn_exec_path *p, char *text, size_t size)
{
    gn_call_name(r->history->definitions, p->begin_region, p->begin_path, GN_CALL_NAME_CALLERS, text, size);
}

static double each_ns(const struct gn_exec_path *p)
{
    return p->total_ns / (double)p->count;
}

/* ---- rows ---- */

static void fill_row(const void *self, size_t i, struct gn_cell *cells)
{
    const struct gn_paths_report *r = self;
    const struct gn_exec_path *p = &r->found->paths[i];
    point_of(r, p, cells[0].buffer, GN_CELL_BUFFER);
    gn_cell_text(&cells[0], cells[0].buffer);
    gn_cell_number(&cells[1], (int64_t)p->count);
    gn_cell_real(&cells[2], share_of(r, p->total_ns));
    gn_cell_real(&cells[3], p->total_ns);
    gn_cell_real(&cells[4], each_ns(p));
    gn_cell_real(&cells[5], p->least_ns);
    gn_cell_real(&cells[6], p->most_ns);
    gn_cell_real(&cells[7], p->behind_ns);
    gn_cell_number(&cells[8], p->processes);
    gn_cell_number(&cells[9], r->history->definitions->processes[p->first_process].rank);
}

struct gn_table gn_paths_table(const struct gn_paths_report *report)
{
    static const struct gn_column columns[] = {
        {.name = "point"},
        {.name = "count", .kind = GN_CELL_COUNT},
        {.name = "share", .kind = GN_CELL_SHARE},
        {.name = "total_s", .kind = GN_CELL_DURATION},
        {.name = "each_s", .kind = GN_CELL_DURATION},
        {.name = "least_s", .kind = GN_CELL_DURATION},
        {.name = "most_s", .kind = GN_CELL_DURATION},
        {.name = "behind_s", .kind = GN_CELL_DURATION},
        {.name = "ranks", .kind = GN_CELL_NUMBER},
        {.name = "first_rank", .kind = GN_CELL_NUMBER},
    };
    return (struct gn_table){.columns = columns,
                             .column_count = sizeof columns / sizeof *columns,
                             .row_count = shown(report),
                             .left_out = report->found->path_count - shown(report),
                             .fill = fill_row,
                             .self = report};
}

/* ---- text ---- */

/* " from +1, −1 to rank 3": several of one kind are told once. */
static void print_peers(const struct gn_paths_report *r, const struct gn_exec_step *s, bool takes, FILE *out)
{
    unsigned told = 0;
    for (uint32_t i = 0; i < s->peer_count; i++) {
        const struct gn_exec_peer *peer = &r->found->peers[s->first_peer + i];
        if (peer->takes != takes)
            continue;
        if (told++ == PEERS_TOLD) {
            fputs(", …", out);
            return;
        }
        fputs(told > 1 ? ", " : takes ? " from " : " to ", out);
        fprintf(out, r->is_absolute ? "%" PRId32 : "%+" PRId32, peer->rank);
    }
}

static void print_computed(const char *margin, double ns, const char *times, FILE *out)
{
    char text[GN_QUANTITY_TEXT];
    if (ns >= 1)
        fprintf(out, "%s%10s  computed%s\n", margin, gn_duration_text(ns, text), times);
}

/* Times are of one pass. */
static void print_step(const struct gn_paths_report *r, const struct gn_exec_path *p,
                       const struct gn_exec_step *s, bool is_inside, FILE *out)
{
    char name[NAME_BYTES], text[GN_QUANTITY_TEXT], times[64] = "";
    const double passes = (double)p->count, of_pass = (double)s->times / passes;
    const char *margin = is_inside ? "     │" : "      ";
    gn_call_name(r->history->definitions, s->region, s->path, FEW_CALLERS, name, sizeof name);
    if (is_inside)
        snprintf(times, sizeof times, ", %.4g times", of_pass);
    print_computed(margin, s->computed_ns / passes, "", out);
    fprintf(out, "%s%10s  %s", margin, gn_duration_text(s->call_ns / passes, text), name);
    print_peers(r, s, true, out);
    print_peers(r, s, false, out);
    fputs(times, out);
    if (s->waited_ns > 0.01 * s->call_ns)
        fprintf(out, ", waits %s", gn_duration_text(s->waited_ns / passes, text));
    fputc('\n', out);
}

static void print_path(const struct gn_paths_report *r, size_t i, FILE *out)
{
    const struct gn_exec_path *p = &r->found->paths[i];
    char who[160], each[GN_QUANTITY_TEXT], range[GN_SPAN_TEXT], share[GN_QUANTITY_TEXT];
    uint32_t inside = 0;
    ranks_of(r, p, who, sizeof who);
    fprintf(out, "%zu. %" PRIu64 " passes, %s of the time: %s each, %s (%s)\n", i + 1, p->count,
            gn_share_text(share_of(r, p->total_ns), share), gn_duration_text(each_ns(p), each),
            gn_span_time(p->least_ns, p->most_ns, range), who);
    for (uint32_t k = 0; k < p->step_count; k++) {
        const struct gn_exec_step *s = &r->found->steps[p->first_step + k];
        inside = s->block ? s->block : inside;
        print_step(r, p, s, inside > 0, out);
        inside -= inside > 0;
    }
    print_computed("      ", p->behind_ns / (double)p->count, "", out);
}

/* Places one after the other, each with its senders. */
static void print_senders(const struct gn_paths_report *r, FILE *out)
{
    const struct gn_exec_paths *f = r->found;
    for (size_t i = 0; i < f->sender_count;) {
        char name[NAME_BYTES];
        uint64_t all = 0;
        size_t end = i;
        while (end < f->sender_count && f->senders[end].region == f->senders[i].region &&
               f->senders[end].path == f->senders[i].path)
            all += f->senders[end++].count;
        gn_call_name(r->history->definitions, f->senders[i].region, f->senders[i].path, FEW_CALLERS, name,
                     sizeof name);
        fprintf(out, "%s takes from anybody:", name);
        for (size_t k = i; k < end && k < i + PEERS_TOLD; k++) {
            char who[96], share[GN_QUANTITY_TEXT];
            gn_process_name(r->history->definitions, f->senders[k].process, who, sizeof who);
            fprintf(out, "%s %s %s", k > i ? "," : "", who,
                    gn_share_text((double)f->senders[k].count / (double)all, share));
        }
        if (end > i + PEERS_TOLD)
            fprintf(out, ", %zu more", end - i - PEERS_TOLD);
        fprintf(out, " of %" PRIu64 "\n", all);
        i = end;
    }
}

static void print_rest(const struct gn_paths_report *r, FILE *out)
{
    const struct gn_exec_paths *f = r->found;
    char share[GN_QUANTITY_TEXT];
    double left_ns = 0;
    for (size_t i = shown(r); i < f->path_count; i++)
        left_ns += f->paths[i].total_ns;
    if (shown(r) < f->path_count)
        fprintf(out, "%zu more paths, %s of the time (--top 0)\n", f->path_count - shown(r),
                gn_share_text(share_of(r, left_ns), share));
    if (f->rest)
        fprintf(out,
                "%" PRIu64
                " passes of yet other paths, %s of the time: there is room for %d different ones\n",
                f->rest, gn_share_text(share_of(r, f->rest_ns), share), GN_EXEC_PATHS_MOST);
    if (f->cut)
        fprintf(out, "%" PRIu64 " passes between which something was not seen are left out\n", f->cut);
    if (f->without)
        fprintf(out, "%" PRIu32 " of %zu threads pass no such point twice\n", f->without,
                r->history->definitions->location_count);
}

static void print_all(const struct gn_paths_report *r, const struct gn_terminal *terminal, FILE *out)
{
    const struct gn_exec_paths *f = r->found;
    char name[NAME_BYTES];
    fprintf(out, "%sgnomon paths%s %s: %" PRIu64 " passes, %zu different paths; times are of one pass\n",
            gn_shade(terminal, GN_BOLD), gn_shade(terminal, GN_PLAIN), r->path, f->passes, f->path_count);
    for (size_t i = 0; i < shown(r); i++) {
        char point[NAME_BYTES];
        point_of(r, &f->paths[i], point, sizeof point);
        if (i == 0 || strcmp(point, name) != 0)
            fprintf(out, "\nfrom %s until it comes again\n", point);
        memcpy(name, point, sizeof name);
        print_path(r, i, out);
    }
    fputc('\n', out);
    print_senders(r, out);
    print_rest(r, out);
    gn_rests_on_text(r->history, terminal, out);
}

void gn_paths_text(const struct gn_paths_report *r, const struct gn_terminal *terminal, FILE *out)
{
    struct gn_page page;
    gn_page_open(&page, terminal, out);
    print_all(r, terminal, page.out);
    gn_page_close(&page);
}

/* ---- JSON ---- */

static json_t *peers_of(const struct gn_paths_report *r, const struct gn_exec_step *s, bool takes)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < s->peer_count; i++)
        if (r->found->peers[s->first_peer + i].takes == takes)
            json_array_append_new(list, json_integer(r->found->peers[s->first_peer + i].rank));
    return list;
}

static json_t *step_of(const struct gn_paths_report *r, const struct gn_exec_step *s)
{
    char name[NAME_BYTES], place[256];
    gn_call_name(r->history->definitions, s->region, s->path, FEW_CALLERS, name, sizeof name);
    gn_path_place(r->history->definitions, s->path, place, sizeof place);
    return json_pack("{s:s, s:s, s:o, s:o, s:i, s:I, s:f, s:f, s:f}", "call", name, "place", place, "from",
                     peers_of(r, s, true), "to", peers_of(r, s, false), "block", (int)s->block, "times",
                     (json_int_t)s->times, "computed_s", s->computed_ns * 1e-9, "call_s", s->call_ns * 1e-9,
                     "waited_s", s->waited_ns * 1e-9);
}

static json_t *paths_of(const struct gn_paths_report *r)
{
    const struct gn_table rows = gn_paths_table(r);
    json_t *list = gn_table_json(&rows);
    for (size_t i = 0; list && i < shown(r); i++) {
        const struct gn_exec_path *p = &r->found->paths[i];
        json_t *steps = json_array();
        for (uint32_t k = 0; k < p->step_count; k++)
            json_array_append_new(steps, step_of(r, &r->found->steps[p->first_step + k]));
        json_object_set_new(json_array_get(list, i), "steps", steps);
    }
    return list;
}

static json_t *senders_of(const struct gn_paths_report *r)
{
    json_t *list = json_array();
    for (size_t i = 0; i < r->found->sender_count; i++) {
        const struct gn_exec_sender *s = &r->found->senders[i];
        char name[NAME_BYTES];
        gn_call_name(r->history->definitions, s->region, s->path, FEW_CALLERS, name, sizeof name);
        json_array_append_new(list, json_pack("{s:s, s:i, s:I}", "call", name, "rank",
                                              (int)r->history->definitions->processes[s->process].rank,
                                              "count", (json_int_t)s->count));
    }
    return list;
}

json_t *gn_paths_json(const struct gn_paths_report *r)
{
    const struct gn_exec_paths *f = r->found;
    return json_pack("{s:i, s:s, s:s, s:I, s:f, s:I, s:o, s:I, s:f, s:I, s:i, s:o}", "version", 1, "trace",
                     r->path, "partners", r->is_absolute ? "absolute" : "relative", "passes",
                     (json_int_t)f->passes, "total_s", f->total_ns * 1e-9, "count", (json_int_t)f->path_count,
                     "paths", paths_of(r), "rest", (json_int_t)f->rest, "rest_s", f->rest_ns * 1e-9, "cut",
                     (json_int_t)f->cut, "without", (int)f->without, "senders", senders_of(r));
}
