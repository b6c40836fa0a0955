#include "answer/report_table.h"

#include "answer/quantities.h"
#include "base/printable.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *const gn_by_names[] = {"activity", "callpath", "region", "function", "line", "rank", "host",
                                   "pair",     "place",    "tree",   "request",  "time", NULL};

enum {
    TIME,
    KIND,
    NAME,
    FUNCTION,
    SOURCE,
    LINE,
    UNTIL_FUNCTION,
    UNTIL_SOURCE,
    UNTIL_LINE,
    LIBRARY,
    CALLED,
    DOING,
    CALLERS,
    HOW,
    SAMPLES,
    PATH,
    COUNT,
    BYTES,
    TOTAL,
    SHARE,
    LOW,
    HIGH,
    MIN,
    MEDIAN,
    MEAN,
    MAX,
    RANK,
    MPI,
    EFFICIENCY,
    BALANCE,
    COMMUNICATION,
    OTHER,
    OFF_CORE,
    PREEMPTED,
    WAITED,
    HELPED,
    COUNTERS,
    PER_CYCLE = COUNTERS + GN_METRICS_AT_A_TIME,
    BAR,
    WHAT,
    WHERE,
    GROUND
};

/* CSV has all of them, whatever the rows are. */
static const struct gn_column all[] = {
    [TIME] = {.flags = GN_COLUMN_RIGHT},
    [KIND] = {.name = "kind"},
    [NAME] = {.name = "name"},
    [FUNCTION] = {.name = "function"},
    [SOURCE] = {.name = "file"},
    [LINE] = {.name = "line", .kind = GN_CELL_NUMBER, .flags = GN_COLUMN_ZERO},
    [UNTIL_FUNCTION] = {.name = "until_function"},
    [UNTIL_SOURCE] = {.name = "until_file"},
    [UNTIL_LINE] = {.name = "until_line", .kind = GN_CELL_NUMBER},
    [LIBRARY] = {.name = "library"},
    [CALLED] = {.name = "called"},
    [DOING] = {.name = "doing"},
    [CALLERS] = {.name = "callers"},
    [HOW] = {.name = "known"},
    [SAMPLES] = {.name = "samples", .kind = GN_CELL_COUNT},
    [PATH] = {.name = "callpath", .flags = GN_COLUMN_EMPTY},
    [COUNT] = {.name = "count", .kind = GN_CELL_COUNT, .goes = 3},
    [BYTES] = {.name = "bytes", .kind = GN_CELL_BYTES},
    [TOTAL] = {.name = "total_s", .kind = GN_CELL_DURATION, .digits = 9},
    [SHARE] = {.name = "share", .kind = GN_CELL_SHARE, .digits = 6},
    [LOW] = {.name = "low", .kind = GN_CELL_SHARE, .digits = 6},
    [HIGH] = {.name = "high", .kind = GN_CELL_SHARE, .digits = 6},
    [MIN] = {.name = "min_s", .kind = GN_CELL_DURATION, .digits = 9},
    [MEDIAN] = {.name = "median_s", .kind = GN_CELL_DURATION, .digits = 9, .goes = 1},
    [MEAN] = {.name = "mean_s", .kind = GN_CELL_DURATION, .digits = 9},
    [MAX] = {.name = "max_s", .kind = GN_CELL_DURATION, .digits = 9},
    [RANK] = {.name = "max_rank", .kind = GN_CELL_RANK, .flags = GN_COLUMN_LEFT},
    [MPI] = {.name = "mpi_s", .kind = GN_CELL_DURATION, .digits = 9},
    [OFF_CORE] = {.name = "off_core_s", .kind = GN_CELL_DURATIONS, .digits = 6},
    [PREEMPTED] = {.name = "preempted_s", .kind = GN_CELL_DURATIONS, .digits = 6},
    [WAITED] = {.name = "waited_s", .kind = GN_CELL_DURATIONS, .digits = 6},
    [HELPED] = {.name = "other_threads_s", .kind = GN_CELL_DURATION, .digits = 9, .goes = 1},
    [PER_CYCLE] = {.kind = GN_CELL_REAL, .digits = 3, .goes = 1},
    [EFFICIENCY] = {.name = "efficiency", .kind = GN_CELL_SHARE, .digits = 6},
    [BALANCE] = {.name = "load_balance", .kind = GN_CELL_SHARE, .digits = 6, .goes = 2},
    [COMMUNICATION] = {.name = "communication", .kind = GN_CELL_SHARE, .digits = 6, .goes = 2},
    [OTHER] = {.kind = GN_CELL_DURATION, .goes = 4},
    [BAR] = {.goes = 2},
    [WHAT] = {.least = 22, .is_middle = true},
    [WHERE] = {.least = 14, .is_middle = true},
    [GROUND] = {.goes = 3},
};

/* ---- words ---- */

static bool same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/* "between exchange and solve", of what lies between two calls. */
static void range_text(const struct gn_activity_row *row, char *text, size_t size)
{
    const char *other = row->how == GN_HOW_OTHER_PLACES ? "other places "
                        : row->how == GN_HOW_UNSEEN
                            ? row->on_no_core ? "on no core, " : "in kernel or on no core, "
                            : "";
    const bool plain = strcmp(row->kind, "computation") != 0 || strcmp(row->name, "computation") == 0;
    const char *function = row->function, *until = row->until_function;
    if (!plain)
        snprintf(text, size, "%s%s%s%s", other, row->name, function || until ? " in " : "",
                 function ? function
                 : until  ? until
                          : "");
    else if (function && until && !same(function, until))
        snprintf(text, size, "%sbetween %s and %s", other, function, until);
    else if (function && until)
        snprintf(text, size, "%s%s %s", other, row->how == GN_HOW_UNSEEN ? "in" : "between calls in",
                 function);
    else if (function || until)
        snprintf(text, size, "%s%s a call in %s", other, function ? "after" : "before",
                 function ? function : until);
    else
        snprintf(text, size, "%scomputation", other);
}

/* A function without a name is called by its library: "libfftw3.so.3:0x33e80", of libfftw3.so.3.6.10. */
static bool says_library(const char *called, const char *library)
{
    const size_t length = called ? strcspn(called, ":") : 0;
    return length > 0 && called[length] && strncmp(called, library, length) == 0;
}

static void what(const struct gn_activity_row *row, char *text, size_t size)
{
    const bool named = row->function && !same(row->function, row->name);
    const char *slash = row->library ? gn_base_name(row->library) : "";
    if (row->how == GN_HOW_RANGE || row->how == GN_HOW_OTHER_PLACES || row->how == GN_HOW_UNSEEN)
        range_text(row, text, size);
    else if (row->runtime && !row->library && row->function) /* nobody of the program's has called it */
        snprintf(text, size, "%s (%s)", row->runtime, row->function);
    else if (row->runtime) /* what it does says more than the library's name */
        snprintf(text, size, "%s (%s)%s%s", row->runtime,
                 row->called && !says_library(row->called, slash) ? row->called : slash,
                 row->function ? ", called by " : "", row->function ? row->function : "");
    else if (row->called && !row->library) /* a call at its place */
        snprintf(text, size, "%s%s%s", row->called, row->function ? " in " : "",
                 row->function ? row->function : "");
    else if (row->called || row->library)
        snprintf(text, size, "%s%s%s%s%s", row->called ? row->called : "",
                 row->called && !says_library(row->called, slash) ? " in " : "",
                 says_library(row->called, slash) ? "" : slash, row->function ? ", called by " : "",
                 row->function ? row->function : "");
    else if (row->how == GN_HOW_SAMPLED)
        snprintf(text, size, "%s", row->function ? row->function : row->name);
    else
        snprintf(text, size, "%s%s%s%s%s", row->name, named ? " in " : "", named ? row->function : "",
                 row->callers ? " ← " : "", row->callers ? row->callers : "");
}

/* What is computed ahead of all calls, or behind them, may have the place of what is computed in between. */
static bool is_outside_calls(const struct gn_activity_row *row)
{
    return row->how == GN_HOW_SAMPLED && same(row->kind, "computation") && row->name &&
           !same(row->name, "computation");
}

void gn_report_row_text(const struct gn_activity_row *row, char *text, size_t size)
{
    what(row, text, size);
    const size_t used = strlen(text);
    if (is_outside_calls(row))
        snprintf(text + used, size - used, ", %s", row->name);
}

void gn_report_row_place(const struct gn_activity_row *row, char *text, size_t size)
{
    char from[256], until[256];
    gn_place_text(from, sizeof from, row->file, row->line);
    gn_place_text(until, sizeof until, row->until_file, row->until_line);
    if (!from[0] || !until[0])
        snprintf(text, size, "%s%s", from, until);
    else if (!same(row->file, row->until_file))
        snprintf(text, size, "%s to %s", from, until);
    else if (row->line == row->until_line)
        snprintf(text, size, "%s", from);
    else if (row->until_line > 0)
        snprintf(text, size, "%s to %d", from, row->until_line);
    else
        snprintf(text, size, "%s", from);
}

static const char *const how_names[] = {[GN_HOW_CALL] = "call",
                                        [GN_HOW_RANGE] = "range",
                                        [GN_HOW_SAMPLED] = "samples",
                                        [GN_HOW_OTHER_PLACES] = "other places",
                                        [GN_HOW_UNSEEN] = "no samples"};

/* Of a call, as far as it says something: "98 % waiting", "80 to 95 % waiting". */
static void waiting(struct gn_cell *cell, const struct gn_activity_row *row)
{
    static const double vague = 50;
    const double percent = 100 / ((double)row->total_ns * 1e-9), low = row->waited_s.low * percent,
                 high = row->waited_s.high * percent;
    if (row->total_ns > 0 && high - low <= 1)
        gn_cell_print(cell, "%.0f %% waiting", (low + high) / 2);
    else if (row->total_ns > 0 && high - low <= vague)
        gn_cell_print(cell, "%.0f to %.0f %% waiting", floor(low), fmin(ceil(high), 100));
}

static void ground(struct gn_cell *cell, const struct gn_activity_row *row)
{
    char samples[GN_QUANTITY_TEXT];
    const double off = 100 * fmax(row->high - row->share, row->share - row->low);
    if (row->samples)
        gn_cell_print(cell, "± %.1f %% (%s)", off, gn_count_text(row->samples, samples));
    else
        waiting(cell, row);
}

static const char *shade_of(double share)
{
    return share >= 0.25 ? GN_RED : share >= 0.05 ? GN_YELLOW : NULL;
}

/* ---- rows ---- */

/* A bar, the longest one of the longest row: computation, then MPI. */
static void bar(struct gn_cell *cell, const struct gn_activity_row *row, int64_t most_ns)
{
    enum { COLUMNS = 40 };
    char text[COLUMNS * 3 + 1] = "";
    const double scale = most_ns > 0 ? (double)COLUMNS / (double)most_ns : 0;
    const int computing = (int)lround((double)(row->total_ns - row->mpi_ns) * scale),
              full = (int)lround((double)row->total_ns * scale);
    for (int i = 0; i < full && i < COLUMNS; i++)
        strcat(text, i < computing ? "█" : "░");
    gn_cell_print(cell, "%s", text);
}

static int64_t most_of(const struct gn_summary *s)
{
    int64_t most = 0;
    for (size_t i = 0; i < s->row_count; i++)
        most = s->rows[i].total_ns > most ? s->rows[i].total_ns : most;
    return most;
}

/* Its name is that of what it is a part of. */
static bool is_told_by_text(const struct gn_activity_row *row)
{
    return row->how == GN_HOW_SAMPLED || row->how == GN_HOW_UNSEEN;
}

static void fill_names(const struct gn_activity_row *row, struct gn_cell *cells)
{
    char text[GN_CELL_BUFFER];
    gn_cell_text(&cells[KIND], row->kind);
    gn_cell_text(&cells[NAME], row->name);
    gn_cell_text(&cells[FUNCTION], row->function);
    gn_cell_text(&cells[SOURCE], row->file);
    if (row->line > 0)
        gn_cell_number(&cells[LINE], row->line);
    gn_cell_text(&cells[UNTIL_FUNCTION], row->until_function);
    gn_cell_text(&cells[UNTIL_SOURCE], row->until_file);
    if (row->until_line > 0)
        gn_cell_number(&cells[UNTIL_LINE], row->until_line);
    gn_cell_text(&cells[LIBRARY], row->library);
    gn_cell_text(&cells[CALLED], row->called);
    gn_cell_text(&cells[DOING], row->runtime);
    gn_cell_text(&cells[CALLERS], row->callers);
    gn_cell_text(&cells[HOW], how_names[row->how]);
    gn_cell_text(&cells[PATH], row->path);
    ground(&cells[GROUND], row);
    gn_report_row_text(row, text, sizeof text);
    if (row->path && row->path[0])
        gn_cell_print(&cells[WHAT], "%s  %s", is_told_by_text(row) ? text : row->name, row->path);
    else
        gn_cell_print(&cells[WHAT], "%s", text);
    gn_report_row_place(row, text, sizeof text);
    gn_cell_print(&cells[WHERE], "%s", row->path ? "" : text);
}

/* An estimate: what samples say nothing of may have a little. */
static void fill_counted(struct gn_cell *cell, double amount)
{
    if (amount > 0)
        gn_cell_number(cell, (int64_t)fmin(amount + 0.5, 9e18));
}

static void fill_row(const void *self, size_t i, struct gn_cell *cells)
{
    const struct gn_report_table *t = self;
    const struct gn_activity_row *row = &t->summary->rows[i];
    char text[GN_QUANTITY_TEXT];
    fill_names(row, cells);
    gn_cell_print(&cells[TIME], "%s", gn_part_text(row->share, text));
    cells[TIME].code = shade_of(row->share);
    gn_cell_number(&cells[COUNT], row->count);
    gn_cell_number(&cells[BYTES], row->bytes);
    gn_cell_real(&cells[TOTAL], (double)row->total_ns);
    gn_cell_real(&cells[SHARE], row->share);
    gn_cell_real(&cells[LOW], row->low);
    gn_cell_real(&cells[HIGH], row->high);
    gn_cell_number(&cells[SAMPLES], row->samples);
    gn_cell_real(&cells[MIN], (double)row->min_ns);
    gn_cell_real(&cells[MEDIAN], (double)row->median_ns);
    gn_cell_real(&cells[MEAN], (double)row->mean_ns);
    gn_cell_real(&cells[MAX], (double)row->max_ns);
    gn_cell_number(&cells[RANK], row->max_rank);
    if (row->mpi_ns != GN_MPI_UNKNOWN) {
        gn_cell_real(&cells[MPI], (double)row->mpi_ns);
        gn_cell_real(&cells[OTHER], (double)(row->total_ns - row->mpi_ns));
    }
    if (row->efficiency.is_known) {
        gn_cell_real(&cells[EFFICIENCY], row->efficiency.parallel);
        gn_cell_real(&cells[BALANCE], row->efficiency.load_balance);
        gn_cell_real(&cells[COMMUNICATION], row->efficiency.communication);
    }
    gn_cell_bounds(&cells[OFF_CORE], row->off_core_s.low * 1e9, row->off_core_s.high * 1e9);
    gn_cell_bounds(&cells[PREEMPTED], row->preempted_s.low * 1e9, row->preempted_s.high * 1e9);
    gn_cell_bounds(&cells[WAITED], row->waited_s.low * 1e9, row->waited_s.high * 1e9);
    if (row->others_ns > 0)
        gn_cell_real(&cells[HELPED], (double)row->others_ns);
    for (size_t c = 0; c < t->summary->counter_count; c++)
        fill_counted(&cells[COUNTERS + c], row->amounts[c]);
    const double per_cycle = gn_summary_instructions_per_cycle(t->summary, row);
    if (isfinite(per_cycle))
        gn_cell_real(&cells[PER_CYCLE], per_cycle);
    if (t->columns[BAR].title)
        bar(&cells[BAR], row, t->most_ns);
}

/* Of a screen there are two rows more: what is left, and all of it. */
static void fill_screen(const void *self, size_t i, struct gn_cell *cells)
{
    const struct gn_report_table *t = self;
    const struct gn_summary *s = t->summary;
    const bool is_sum = i + 1 == t->table.row_count;
    char text[GN_QUANTITY_TEXT];
    double rest = 0;
    int64_t rest_ns = 0;
    if (i < t->shown) {
        fill_row(self, i, cells);
        return;
    }
    for (size_t r = t->shown; r < s->row_count; r++) {
        rest += s->rows[r].share;
        rest_ns += s->rows[r].total_ns;
    }
    gn_cell_print(&cells[TIME], "%s", gn_part_text(is_sum ? 1 : rest, text));
    gn_cell_real(&cells[TOTAL], (double)(is_sum ? s->total_ns : rest_ns));
    if (is_sum && s->ranks > 1)
        gn_cell_print(&cells[WHAT], "all ranks' time, %s", gn_duration_text((double)s->total_ns, text));
    else if (is_sum)
        gn_cell_print(&cells[WHAT], "all of it, %s", gn_duration_text((double)s->total_ns, text));
    else
        gn_cell_print(&cells[WHAT], "%zu more (--top 0)", s->row_count - t->shown);
}

static void titles_of_activities(struct gn_column *columns, const struct gn_summary *s, enum gn_by by)
{
    columns[TIME].title = "time";
    columns[MEDIAN].title = "median";
    columns[MAX].title = "max";
    columns[RANK].title = "rank";
    columns[WHAT].title = by == GN_BY_REGION ? "region (with all that is nested in it)" : "what and where";
    columns[WHERE].title = "";
    columns[GROUND].title = s->sampling.samples ? "time ± (samples)" : NULL;
    if (by == GN_BY_REGION) {
        columns[WHERE].title = columns[GROUND].title = NULL;
        columns[EFFICIENCY].title = "effic.";
        columns[BALANCE].title = "balance";
        columns[COMMUNICATION].title = "comm.";
    }
    if (by == GN_BY_CALLPATH) {
        columns[WHAT].flags |= GN_COLUMN_FOLD; /* a call path is shown whole */
        columns[WHERE].title = columns[GROUND].title = NULL;
    }
}

static void titles_of_totals(struct gn_column *columns, const struct gn_summary *s, enum gn_by by)
{
    columns[TIME].title = "time";
    columns[TOTAL].title = "total";
    columns[OTHER].title = "outside MPI"; /* asleep, or in the kernel, too */
    columns[MPI].title = "MPI";
    columns[WHAT].title = by == GN_BY_HOST ? "host" : by == GN_BY_RANK ? "rank" : "what and where";
    if (by == GN_BY_RANK)
        columns[BAR].title = "outside MPI █ and in it ░";
    if (by == GN_BY_PLACE)
        columns[WHERE].title = "";
    if (by == GN_BY_PLACE && s->other_count > 0)
        columns[HELPED].title = "other threads";
}

/* Of what was counted, and the ratio of two of them, if both were. */
static void titles_of_counters(struct gn_column *columns, const struct gn_summary *s, enum gn_by by)
{
    const bool has_rows = by != GN_BY_RANK && by != GN_BY_HOST && by != GN_BY_REGION;
    const struct gn_activity_row one_each = {.amounts = {1, 1, 1, 1}};
    for (size_t c = 0; c < s->counter_count && has_rows; c++)
        columns[COUNTERS + c] = (struct gn_column){
            .title = s->counters[c].name, .name = s->counters[c].name, .kind = GN_CELL_AMOUNT, .goes = 1};
    if (has_rows && isfinite(gn_summary_instructions_per_cycle(s, &one_each))) {
        columns[PER_CYCLE].title = "instr./cycle";
        columns[PER_CYCLE].name = "instructions_per_cycle";
    }
}

static size_t shown(size_t count, const struct gn_report_options *o)
{
    return o->top > 0 && (size_t)o->top < count ? (size_t)o->top : count;
}

void gn_report_rows(struct gn_report_table *rows, const struct gn_summary *s,
                    const struct gn_report_options *o)
{
    _Static_assert(sizeof all == sizeof rows->columns, "each column has its place");
    memcpy(rows->columns, all, sizeof all);
    rows->summary = s;
    rows->shown = shown(s->row_count, o);
    rows->most_ns = most_of(s);
    if (o->by == GN_BY_RANK || o->by == GN_BY_HOST || o->by == GN_BY_PLACE)
        titles_of_totals(rows->columns, s, o->by);
    else
        titles_of_activities(rows->columns, s, o->by);
    titles_of_counters(rows->columns, s, o->by);
    if (o->by != GN_BY_CALLPATH)
        rows->columns[PATH].flags |= GN_COLUMN_NO_JSON;
    for (int c = EFFICIENCY; c <= COMMUNICATION; c++)
        rows->columns[c].flags |= o->by == GN_BY_REGION ? 0 : GN_COLUMN_NO_JSON | GN_COLUMN_NO_CSV;
    rows->table = (struct gn_table){.columns = rows->columns,
                                    .column_count = GN_REPORT_COLUMNS,
                                    .row_count = rows->shown,
                                    .fill = fill_row,
                                    .self = rows};
}

void gn_report_screen(struct gn_report_table *rows, const struct gn_summary *s,
                      const struct gn_report_options *o)
{
    gn_report_rows(rows, s, o);
    if (o->by == GN_BY_REGION || s->row_count == 0) /* regions contain each other: nothing adds up */
        return;
    int64_t rest_ns = 0;
    for (size_t i = rows->shown; i < s->row_count; i++)
        rest_ns += s->rows[i].total_ns;
    rows->table.row_count = rows->shown + (rest_ns > 0) + 1;
    rows->table.fill = fill_screen;
}

/* ---- pairs ---- */

static void fill_pair(const void *self, size_t i, struct gn_cell *cells)
{
    const struct gn_pair_row *pair = &((const struct gn_report_table *)self)->summary->pairs[i];
    gn_cell_number(&cells[0], pair->from);
    gn_cell_number(&cells[1], pair->to);
    gn_cell_number(&cells[2], pair->messages);
    gn_cell_number(&cells[3], pair->bytes);
}

void gn_report_pairs(struct gn_report_table *pairs, const struct gn_summary *s,
                     const struct gn_report_options *o)
{
    static const struct gn_column columns[] = {
        {.title = "from", .name = "from", .kind = GN_CELL_NUMBER},
        {.title = "to", .name = "to", .kind = GN_CELL_NUMBER},
        {.title = "messages", .name = "messages", .kind = GN_CELL_COUNT},
        {.title = "bytes", .name = "bytes", .kind = GN_CELL_BYTES},
    };
    const size_t count = shown(s->pair_count, o);
    pairs->summary = s;
    pairs->table = (struct gn_table){.columns = columns,
                                     .column_count = sizeof columns / sizeof *columns,
                                     .row_count = count,
                                     .left_out = s->pair_count - count,
                                     .fill = fill_pair,
                                     .self = pairs};
}

/* ---- requests ---- */

/* "MPI_Irecv heat.c:53" */
static void print_end(const struct gn_request_end *end, struct gn_cell *cell)
{
    char place[256];
    gn_place_text(place, sizeof place, end->file, end->line);
    if (!end->call)
        gn_cell_print(cell, "another thread");
    else if (place[0] || !end->function)
        gn_cell_print(cell, "%s%s%s", end->call, place[0] ? " " : "", place);
    else
        gn_cell_print(cell, "%s in %s", end->call, end->function);
}

static void data_end(const struct gn_request_end *end, struct gn_cell *cells)
{
    if (end->call)
        gn_cell_text(&cells[0], end->call);
    if (end->function)
        gn_cell_text(&cells[1], end->function);
    if (end->file)
        gn_cell_text(&cells[2], end->file);
    if (end->line > 0)
        gn_cell_number(&cells[3], end->line);
}

static double mean_ns(const struct gn_request_row *r, int64_t sum_ns)
{
    return r->count > 0 ? (double)sum_ns / (double)r->count : 0;
}

static void fill_request(const void *self, size_t i, struct gn_cell *cells)
{
    char share[GN_QUANTITY_TEXT];
    const struct gn_request_row *r = &((const struct gn_report_table *)self)->summary->requests[i];
    gn_cell_number(&cells[0], r->count);
    gn_cell_real(&cells[1], mean_ns(r, r->total_ns));
    gn_cell_print(&cells[2], "%s",
                  r->total_ns > 0 ? gn_share_text((double)r->ahead_ns / (double)r->total_ns, share) : "");
    if (r->max_ns >= 0) {
        gn_cell_real(&cells[3], (double)r->max_ns);
        gn_cell_print(&cells[4], "#%d", r->max_rank);
    }
    print_end(&r->start, &cells[5]);
    print_end(&r->end, &cells[6]);
}

static void fill_request_data(const void *self, size_t i, struct gn_cell *cells)
{
    const struct gn_request_row *r = &((const struct gn_report_table *)self)->summary->requests[i];
    data_end(&r->start, &cells[0]);
    data_end(&r->end, &cells[4]);
    gn_cell_number(&cells[8], r->count);
    gn_cell_real(&cells[9], (double)r->total_ns);
    gn_cell_real(&cells[10], (double)r->ahead_ns);
    if (r->max_ns >= 0) {
        gn_cell_real(&cells[11], (double)r->max_ns);
        gn_cell_number(&cells[12], r->max_rank);
    }
}

void gn_report_requests(struct gn_report_table *requests, const struct gn_summary *s,
                        const struct gn_report_options *o, bool for_people)
{
    static const struct gn_column screen[] = {
        {.title = "requests", .kind = GN_CELL_COUNT},
        {.title = "mean", .kind = GN_CELL_DURATION},
        {.title = "ahead", .flags = GN_COLUMN_RIGHT},
        {.title = "max", .kind = GN_CELL_DURATION},
        {.title = "rank", .flags = GN_COLUMN_RIGHT},
        {.title = "started by", .least = 16, .is_middle = true},
        {.title = "completed by", .least = 16, .is_middle = true},
    };
    static const struct gn_column data[] = {{.name = "call"},
                                            {.name = "function"},
                                            {.name = "file"},
                                            {.name = "line", .kind = GN_CELL_NUMBER},
                                            {.name = "completed_by"},
                                            {.name = "completed_function"},
                                            {.name = "completed_file"},
                                            {.name = "completed_line", .kind = GN_CELL_NUMBER},
                                            {.name = "count", .kind = GN_CELL_NUMBER},
                                            {.name = "total_s", .kind = GN_CELL_DURATION, .digits = 9},
                                            {.name = "ahead_s", .kind = GN_CELL_DURATION, .digits = 9},
                                            {.name = "max_s", .kind = GN_CELL_DURATION, .digits = 9},
                                            {.name = "max_rank", .kind = GN_CELL_NUMBER}};
    const size_t count = shown(s->request_count, o);
    requests->summary = s;
    requests->table = (struct gn_table){.columns = for_people ? screen : data,
                                        .column_count = for_people ? sizeof screen / sizeof *screen
                                                                   : sizeof data / sizeof *data,
                                        .row_count = count,
                                        .left_out = s->request_count - count,
                                        .fill = for_people ? fill_request : fill_request_data,
                                        .self = requests};
}
