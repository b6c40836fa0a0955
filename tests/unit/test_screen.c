/* The first screen of a report: of made profiles to the letter, at each width, in UTF-8 and without; and of
 * profiles made by chance, that its rows add up and its lines fit.
 *
 *     GNOMON_TEST_SCREENS=write test_screen      writes the files of tests/data/screens anew: read what has
 * changed */
#include "answer/fit.h"
#include "answer/report.h"
#include "answer/report_worlds.h"
#include "base/mix.h"
#include "made_profile.h"
#include "profile/statement.h"
#include "profile/summary_tree.h"
#include "repeated.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- the screen of a profile ---- */

static struct gn_report_options options_of(enum gn_by by, int top, int width, bool ascii)
{
    return (struct gn_report_options){.by = by,
                                      .top = top,
                                      .folder = "gnomon-app-1f2e3d-20260102T030405",
                                      .terminal = {.width = width, .ascii = ascii}};
}

/* As the command prints it. */
static char *screen(sqlite3 *db, const struct gn_report_options *o)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct gn_worlds worlds;
    struct gn_summary s;
    struct gn_error err = {""};
    assert_int_equal(gn_worlds_read(db, &worlds, &err), 0);
    const struct gn_world *world = worlds.count > 1 ? gn_worlds_largest(&worlds) : NULL;
    if (world)
        assert_int_equal(gn_world_select(db, world->id, &err), 0);
    if (gn_summarise(db, o->by, o->raw, &s, &err) != 0)
        fail_msg("%s", err.text);
    if (world) {
        gn_report_narrow(&s, &worlds, world);
        gn_report_worlds(&worlds, world, o, out);
    }
    gn_report_text(&s, o, out);
    gn_summary_clear(&s);
    if (world)
        gn_world_select(db, 0, &err);
    gn_worlds_clear(&worlds);
    fclose(out);
    return text;
}

/* ---- what is shown ---- */

/* Calls and the computation between them, the same on each rank but for how long they take. */
struct program {
    sqlite3 *db;
    int64_t start, init, wait, reduce, finalize, end; /* activities */
    int64_t solve, update;                            /* sites between wait and reduce */
};

static struct program make_program(const char *command, const char *exchange, const char *solve)
{
    struct program p = {.db = made_profile(command, "app")};
    sqlite3 *db = p.db;
    p.start = made_activity(db, "start", "start", "", 0);
    p.init = made_activity(db, "mpi", "MPI_Init", "init", made_site(db, "main", "/home/a/src/main.c", 20));
    p.wait = made_activity(db, "mpi", "MPI_Waitall", "completion",
                           made_site(db, exchange, "/home/a/src/halo.c", 61));
    p.reduce = made_activity(db, "mpi", "MPI_Allreduce", "collective",
                             made_site(db, "step", "/home/a/src/main.c", 44));
    p.finalize =
        made_activity(db, "mpi", "MPI_Finalize", "init", made_site(db, "main", "/home/a/src/main.c", 52));
    p.end = made_activity(db, "end", "end", "", 0);
    p.solve = made_site(db, solve, "/home/a/src/solve.c", 102);
    p.update = made_site(db, "update", "/home/a/src/solve.c", 187);
    return p;
}

/* A rank that takes 10 s, `busy_s` of them between wait and reduce. */
static int64_t add_rank(const struct program *p, struct made_rank rank, double busy_s, bool sampled)
{
    sqlite3 *db = p->db;
    const bool ended_well = !rank.ended;
    rank.length_s = 10;
    const int64_t location = made_location(db, made_process(db, &rank), 10);
    made_node(db, location, p->init, 0.25, 1, 0);
    made_node(db, location, p->wait, 1.5, 1000, 0);
    made_messages(db, location, p->wait, (rank.rank + 1) % rank.of, 1000, 12000000);
    made_node(db, location, p->reduce, 8 - busy_s, 1000, 8000);
    made_edge(db, location, p->start, p->init, 0.05, 1);
    made_edge(db, location, p->init, p->wait, 0.1, 1);
    made_edge(db, location, p->wait, p->reduce, busy_s, 1000);
    made_edge(db, location, p->reduce, p->wait, 0.04, 999);
    if (ended_well) {
        made_edge(db, location, p->reduce, p->finalize, 0.0, 1);
        made_node(db, location, p->finalize, 0.05, 1, 0);
        made_edge(db, location, p->finalize, p->end, 0.01, 1);
    } else {
        made_edge(db, location, p->reduce, p->end, 0.06, 1);
    }
    if (sampled) {
        made_samples(db, location, p->wait, p->reduce, p->solve, (int64_t)(busy_s * 80));
        made_samples(db, location, p->wait, p->reduce, p->update, (int64_t)(busy_s * 20));
    }
    return location;
}

static struct made_rank rank_of(int rank, int of, const char *host)
{
    return (struct made_rank){
        .rank = rank, .of = of, .host = host, .cpu_s = 9.8, .peak_mib = 180 + rank, .cores = "0-7"};
}

static sqlite3 *uneven(void)
{
    const struct program p = make_program("/home/a/app -s 30", "exchange", "hourglass");
    for (int i = 0; i < 8; i++)
        add_rank(&p, rank_of(i, 8, i < 4 ? "node17" : "node18"), i == 5 ? 7 : 4, true);
    gn_sql(p.db, NULL,
           "UPDATE resource SET core_mhz = iif(rank = 5, 1300, 2590 + rank), core_most_mhz = 3000, "
           "resident_bytes = 1e9,"
           " remote_bytes = iif(rank = 5, 6e8, 1e7) FROM process p WHERE p.id = resource.process",
           "");
    return p.db;
}

static sqlite3 *crowded(void)
{
    const struct program p = make_program("/home/a/app", "exchange", "hourglass");
    for (int i = 0; i < 8; i++) {
        struct made_rank rank = rank_of(i, 8, "node17");
        rank.cores = "0-1";
        rank.cpu_s = 2.45;
        rank.preempted_s = 6.1;
        add_rank(&p, rank, i == 5 ? 7 : 4, false);
    }
    return p.db;
}

static sqlite3 *two_worlds(void)
{
    const struct program p = make_program("/home/a/app", "exchange", "hourglass");
    const int64_t first = made_world(p.db, "a", 2, 0), second = made_world(p.db, "b", 3, 1000);
    for (int i = 0; i < 5; i++) {
        struct made_rank rank = rank_of(i < 2 ? i : i - 2, i < 2 ? 2 : 3, "node17");
        rank.world = i < 2 ? first : second;
        add_rank(&p, rank, 4 + i / 10.0, false);
    }
    gn_sql(p.db, NULL, "UPDATE process SET spawned = 3 WHERE id = 1", "");
    return p.db;
}

static sqlite3 *partial(void)
{
    const struct program p = make_program("/home/a/app", "exchange", "hourglass");
    for (int i = 0; i < 3; i++) {
        struct made_rank rank = rank_of(i, 4, "node17");
        rank.ended = "signal";
        rank.status = i == 1 ? 11 : 15;
        add_rank(&p, rank, 4, false);
    }
    return p.db;
}

static sqlite3 *one_rank(void)
{
    const struct program p = make_program("/home/a/app", "exchange", "hourglass");
    add_rank(&p, rank_of(0, 1, "node17"), 7, true);
    return p.db;
}

static sqlite3 *ten_thousand(void)
{
    char host[32];
    const struct program p = make_program("/home/a/app", "exchange", "hourglass");
    for (int i = 0; i < 10000; i++) {
        snprintf(host, sizeof host, "node%03d", i / 100);
        struct made_rank rank = rank_of(i, 10000, host);
        rank.cores = "0-127";
        rank.peak_mib = 180 + i % 7;
        add_rank(&p, rank, i == 4711 ? 7 : 4, i < 50);
    }
    return p.db;
}

/* "ns::name<ns::name<…>>", of 400 letters. */
static sqlite3 *long_names(void)
{
    char name[401] = "";
    while (strlen(name) + strlen("Kokkos::Impl::ParallelFor<") < 400)
        strcat(name, "Kokkos::Impl::ParallelFor<");
    while (strlen(name) < 400)
        strcat(name, ">");
    const struct program p =
        make_program("/home/a/app --input a/rather/long/path/to/some/file/of/the/user.nml -v", name, name);
    for (int i = 0; i < 4; i++)
        add_rank(&p, rank_of(i, 4, "a-host-with-quite-a-long-name.cluster.example.org"), 4 + i / 2.0, i % 2);
    return p.db;
}

static sqlite3 *no_calls(void)
{
    sqlite3 *db = made_profile("/home/a/app", "app");
    const int64_t start = made_activity(db, "start", "start", "", 0),
                  end = made_activity(db, "end", "end", "", 0);
    for (int i = 0; i < 2; i++) {
        struct made_rank rank = rank_of(i, 2, "node17");
        rank.length_s = 10;
        made_edge(db, made_location(db, made_process(db, &rank), 10), start, end, 10, 1);
    }
    return db;
}

static sqlite3 *no_lines(void)
{
    sqlite3 *db = made_profile("/home/a/stripped", "stripped");
    const int64_t start = made_activity(db, "start", "start", "", 0),
                  end = made_activity(db, "end", "end", "", 0),
                  wait = made_activity(db, "mpi", "MPI_Wait", "completion",
                                       made_site(db, "solver+0x1f3", NULL, 0)),
                  send = made_activity(db, "mpi", "MPI_Send", "p2p",
                                       made_site(db, "stripped+0x24b481", NULL, 0));
    for (int i = 0; i < 2; i++) {
        struct made_rank rank = rank_of(i, 2, "node17");
        rank.length_s = 10;
        rank.peak_mib = 0; /* and the kernel told nothing */
        const int64_t location = made_location(db, made_process(db, &rank), 10);
        made_node(db, location, wait, 2, 10, 0);
        made_node(db, location, send, 1, 10, 0);
        made_edge(db, location, start, wait, 0.5, 1);
        made_edge(db, location, wait, send, 5 + i, 10);
        made_edge(db, location, send, wait, 0.5, 9);
        made_edge(db, location, send, end, 1 - i, 1);
    }
    return db;
}

/* ---- to the letter ---- */

static char *read_text(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "r");
    if (!file || getdelim(&text, &size, '\0', file) < 0) {
        free(text);
        text = strdup("");
    }
    if (file)
        fclose(file);
    return text;
}

static bool compare(const char *name, const char *form, const char *text)
{
    char path[400];
    const char *how = getenv("GNOMON_TEST_SCREENS");
    snprintf(path, sizeof path, "%s/%s.%s.txt", SCREENS, name, form);
    if (how && strcmp(how, "write") == 0) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(text, file);
        fclose(file);
    }
    char *golden = read_text(path);
    const bool same = strcmp(golden, text) == 0;
    if (!same)
        print_message("---- not as in %s:\n%s----\n", path, text);
    free(golden);
    return same;
}

static void screens_are_as_they_were(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        sqlite3 *(*make)(void);
    } all[] = {{"uneven", uneven},         {"crowded", crowded},   {"worlds", two_worlds},
               {"partial", partial},       {"one-rank", one_rank}, {"ten-thousand", ten_thousand},
               {"long-names", long_names}, {"no-calls", no_calls}, {"no-lines", no_lines}};
    static const struct {
        const char *name;
        int width;
        bool ascii;
    } forms[] = {
        {"72", 72, false}, {"100", 100, false}, {"140", 140, false}, {"ascii", GN_WIDTH_OF_FILES, true}};
    bool same = true;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        sqlite3 *db = all[i].make();
        for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
            const struct gn_report_options o = options_of(GN_BY_ACTIVITY, 10, forms[f].width, forms[f].ascii);
            char *text = screen(db, &o);
            same &= compare(all[i].name, forms[f].name, text);
            free(text);
        }
        const struct gn_report_options tree = options_of(GN_BY_TREE, 10, GN_WIDTH_OF_FILES, false);
        char *text = screen(db, &tree);
        same &= compare(all[i].name, "tree", text);
        free(text);
        gn_profile_close(db);
    }
    assert_true(same);
}

/* ---- by chance ---- */

static sqlite3 *by_chance(uint64_t seed)
{
    enum { MOST = 24 };
    static const char *const calls[] = {"MPI_Send", "MPI_Recv", "MPI_Wait", "MPI_Bcast", "MPI_File_write"};
    uint64_t state = seed;
    int64_t activities[MOST + 2], sites[4];
    sqlite3 *db = made_profile("/home/a/app", "app");
    const int count = 1 + (int)(gn_mix_next(&state) % MOST), ranks = 1 + (int)(gn_mix_next(&state) % 9);
    char name[600];
    activities[0] = made_activity(db, "start", "start", "", 0);
    for (int i = 1; i <= count; i++) {
        memset(name, 'a' + i, sizeof name);
        name[gn_mix_next(&state) % (gn_mix_next(&state) % 8 ? 20 : 590)] = '\0';
        activities[i] = made_activity(db, "mpi", calls[gn_mix_next(&state) % 5], "p2p",
                                      made_site(db, name, "/a/b.c", (int)(gn_mix_next(&state) % 3) * 100));
    }
    activities[count + 1] = made_activity(db, "end", "end", "", 0);
    for (int i = 0; i < 4; i++)
        sites[i] = made_site(db, i ? "f" : "g", "/a/c.c", 10 * i + 1);
    for (int rank = 0; rank < ranks; rank++) {
        struct made_rank told = rank_of(rank, ranks, rank % 2 ? "h" : "i");
        told.length_s = 3;
        told.preempted_s = gn_mix_unit(gn_mix_next(&state));
        const int64_t location =
            made_location(db, made_process(db, &told), 3 * gn_mix_unit(gn_mix_next(&state)) + 1e-9);
        for (int i = 1; i <= count; i++) {
            if (gn_mix_next(&state) % 4 == 0)
                continue;
            made_node(db, location, activities[i], gn_mix_exponential(gn_mix_next(&state), 0.1), 3, 7);
            const int64_t next = activities[1 + gn_mix_next(&state) % (uint64_t)(count + 1)];
            made_edge(db, location, activities[i], next, gn_mix_exponential(gn_mix_next(&state), 0.1), 1);
            for (int n = (int)(gn_mix_next(&state) % 4); n > 0; n--)
                made_samples(db, location, activities[i], next, sites[n - 1],
                             (int64_t)(gn_mix_next(&state) % 50));
            for (int n = (int)(gn_mix_next(&state) % 4); n > 0; n--)
                made_asleep(db, location, activities[i], next, sites[n - 1],
                            (int64_t)(gn_mix_next(&state) % 5));
        }
    }
    return db;
}

/* The percentages at the begin of the rows, the last of which is all of them; how far their sum is from that,
 * and how far it may be: each is rounded. */
static void adds_up(const char *text, uint64_t seed)
{
    double sum = 0, may = 0.06, all = 0;
    int rows = 0;
    for (const char *line = strstr(text, "\n\n"); line; line = strchr(line + 1, '\n')) {
        double share;
        int used = 0;
        if (rows && line[1] == '\n')
            break;
        if (sscanf(line + 1, " %lf %%%n", &share, &used) != 1 || used == 0)
            continue;
        sum += all;
        may += all >= 1 ? 0.05 : all * 0.05;
        all = share;
        rows++;
    }
    if (rows < 2 || all != 100 || sum < 100 - may || sum > 100 + may)
        fail_msg("seed %llu: %d rows of %g %%, not of 100:\n%s", (unsigned long long)seed, rows, sum, text);
}

static void fits(const char *text, int width, uint64_t seed)
{
    while (*text) {
        char line[4000];
        const size_t length = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, text);
        /* what is to be copied is as wide as it is */
        if (gn_columns_of(line) > width && !strstr(line, "next: "))
            fail_msg("seed %llu: wider than %d: %s", (unsigned long long)seed, width, line);
        text += length + (text[length] == '\n');
    }
}

static void rows_add_up(void **state)
{
    (void)state;
    static const enum gn_by ways[] = {GN_BY_ACTIVITY, GN_BY_CALLPATH, GN_BY_FUNCTION, GN_BY_LINE,
                                      GN_BY_PLACE,    GN_BY_RANK,     GN_BY_HOST};
    for (uint64_t seed = 1; seed <= REPEATED(200); seed++) {
        sqlite3 *db = by_chance(seed);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            const int width = (int[]){72, 100, 140}[seed % 3];
            struct gn_report_options o = options_of(ways[i], (int)(seed % 7), width, seed % 2);
            o.raw = seed % 5 == 0;
            char *text = screen(db, &o);
            adds_up(text, seed);
            fits(text, width, seed);
            free(text);
        }
        gn_profile_close(db);
    }
}

/* Two samples of four seconds name what they are of, not what was slept; without a core it may all be there.
 */
static void few_samples_name_no_sleep(void **state)
{
    (void)state;
    for (int ready = 0; ready < 2; ready++) {
        struct gn_summary s;
        struct gn_error err = {""};
        const struct program p = make_program("/home/a/app", "exchange", "hourglass");
        for (int i = 0; i < 2; i++) {
            struct made_rank rank = rank_of(i, 2, "node17");
            rank.cpu_s = 1;
            rank.preempted_s = ready ? 3.5 : 0;
            const int64_t location = add_rank(&p, rank, 4, false);
            made_samples(p.db, location, p.wait, p.reduce, p.solve, ready ? 20 : 2);
        }
        assert_int_equal(gn_summarise(p.db, GN_BY_ACTIVITY, false, &s, &err), 0);
        double named_s = 0, unseen_s = 0;
        for (size_t i = 0; i < s.row_count; i++) {
            named_s += s.rows[i].how == GN_HOW_SAMPLED ? (double)s.rows[i].total_ns * 1e-9 : 0;
            unseen_s += s.rows[i].how == GN_HOW_UNSEEN ? (double)s.rows[i].total_ns * 1e-9 : 0;
        }
        assert_true(ready ? named_s > 7.9 : named_s > 0.03 && named_s < 0.06);
        assert_true(ready ? unseen_s < 1 : unseen_s > 7.9);
        gn_summary_clear(&s);
        gn_profile_close(p.db);
    }
}

/* Whose time it is, by rank and host, no sample makes unsure; and all that was found asleep is in the rows.
 */
static void sleep_is_somebodys(void **state)
{
    (void)state;
    static const enum gn_by ways[] = {GN_BY_ACTIVITY, GN_BY_RANK, GN_BY_HOST, GN_BY_PLACE};
    const struct program p = make_program("/home/a/app", "exchange", "hourglass");
    for (int i = 0; i < 2; i++) {
        const int64_t location = add_rank(&p, rank_of(i, 2, "node17"), 4, false);
        made_samples(p.db, location, p.wait, p.reduce, p.solve, 100);
        if (i == 0)
            made_asleep(p.db, location, p.wait, p.reduce, p.update, 60);
        /* of a profile that was written to: no time, and too much of it */
        made_asleep(p.db, location, p.wait, p.reduce, p.solve, 0);
    }
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        struct gn_summary s;
        struct gn_error err = {""};
        double total_s = 0, asleep_s = 0, unseen_s = 0;
        assert_int_equal(gn_summarise(p.db, ways[w], false, &s, &err), 0);
        for (size_t i = 0; i < s.row_count; i++) {
            const struct gn_activity_row *row = &s.rows[i];
            total_s += (double)row->total_ns * 1e-9;
            asleep_s += (double)row->asleep_ns * 1e-9;
            unseen_s += row->how == GN_HOW_UNSEEN ? (double)row->total_ns * 1e-9 : 0;
            assert_non_null(row->name);
            if (ways[w] == GN_BY_RANK || ways[w] == GN_BY_HOST)
                assert_true(fabs(row->high - row->low) < 1e-9 && row->samples == 0);
        }
        assert_true(fabs(total_s - 20) < 0.01);
        assert_true(fabs(asleep_s - 3) < 0.01);
        if (ways[w] == GN_BY_ACTIVITY) /* the other one's 3 s, and 0.1 s of each */
            assert_true(unseen_s > 2.9 && unseen_s < 3.5);
        gn_summary_clear(&s);
    }
    gn_profile_close(p.db);
}

static double unseen_s(sqlite3 *db)
{
    struct gn_summary s;
    struct gn_error err = {""};
    double sum = 0;
    assert_int_equal(gn_summarise(db, GN_BY_ACTIVITY, false, &s, &err), 0);
    for (size_t i = 0; i < s.row_count; i++)
        sum += s.rows[i].how == GN_HOW_UNSEEN ? (double)s.rows[i].total_ns * 1e-9 : 0;
    gn_summary_clear(&s);
    return sum;
}

/* What no sample is of says something only of who was sampled, all of the time. */
static void who_was_not_sampled_did_not_sleep(void **state)
{
    (void)state;
    const struct program p = make_program("/home/a/app", "exchange", "hourglass");
    for (int i = 0; i < 2; i++) {
        const int64_t location = add_rank(&p, rank_of(i, 2, "node17"), 4, false);
        made_samples(p.db, location, p.wait, p.reduce, p.solve, 100);
        made_edge(p.db, location, p.start, p.wait, 3, 1); /* before MPI_Init, where nobody samples */
    }
    const double all_s = unseen_s(p.db);
    assert_true(all_s > 5.5 && all_s < 6.5); /* 3 s of each, and no more */
    gn_sql(p.db, NULL, "UPDATE sampling SET is_whole = 0 WHERE process = 1", "");
    assert_true(unseen_s(p.db) > 2.5 && unseen_s(p.db) < 3.5);
    gn_sql(p.db, NULL, "UPDATE sampling SET is_whole = 0", "");
    assert_true(unseen_s(p.db) == 0);
    gn_sql(p.db, NULL, "UPDATE sampling SET is_whole = 1", "");
    gn_sql(p.db, NULL, "UPDATE resource SET preempted_ns = NULL", "");
    assert_true(unseen_s(p.db) == 0);
    gn_profile_close(p.db);
}

/* What a place's rows take, s; with what is called from there or without. */
static double told_s(const struct gn_summary *s, int line, const char *called)
{
    double sum = 0;
    for (size_t i = 0; i < s->row_count; i++) {
        const struct gn_activity_row *row = &s->rows[i];
        const bool is = row->called && called ? strcmp(row->called, called) == 0 : row->called == called;
        sum += row->how == GN_HOW_SAMPLED && row->line == line && is ? (double)row->total_ns * 1e-9 : 0;
        if (row->how == GN_HOW_SAMPLED && row->line == line) {
            assert_true(row->high > row->share && row->low < row->share && row->samples > 0);
            assert_true(llabs(row->cpu_ns - row->total_ns) < row->total_ns / 50); /* it was on a core */
        }
    }
    return sum;
}

/* Looks tell the lines, samples how much of the time was computed; and what is called, as far as that is
 * sure. */
static void lines_of_python_divide_what_is_computed(void **state)
{
    (void)state;
    struct gn_summary s;
    struct gn_error err = {""};
    const struct program p = make_program("/home/a/app", "exchange", "native");
    const int64_t first = made_site(p.db, "first", "/home/a/app.py", 3),
                  second = made_site(p.db, "second", "/home/a/app.py", 9);
    for (int i = 0; i < 3; i++) {
        const int64_t location = add_rank(&p, rank_of(i, 3, "node17"), 4, false);
        made_samples(p.db, location, p.wait, p.reduce, 0, i == 1 ? 160 : 400);
        if (i == 1) /* of 4 s 2.4 in a library, and 3 at the first line: there 1.4 at least */
            made_samples(p.db, location, p.wait, p.reduce, p.solve, 240);
        if (i == 2) /* says nothing of lines, though others do */
            continue;
        made_lines(p.db, location, p.wait, p.reduce, first, 120);
        made_lines(p.db, location, p.wait, p.reduce, second, 40);
    }
    assert_int_equal(gn_summarise(p.db, GN_BY_ACTIVITY, false, &s, &err), 0);
    assert_true(fabs(told_s(&s, 3, NULL) - 4.6) < 0.05 && fabs(told_s(&s, 3, "native") - 1.4) < 0.05);
    assert_true(fabs(told_s(&s, 9, NULL) - 2) < 0.05 && told_s(&s, 9, "native") == 0);
    assert_true(told_s(&s, 102, NULL) == 0);
    gn_summary_clear(&s);
    gn_profile_close(p.db);
}

/* A program that calls Python now and then is not all of it. */
static void what_is_outside_of_python_stays_there(void **state)
{
    (void)state;
    struct gn_summary s;
    struct gn_error err = {""};
    const struct program p = make_program("/home/a/app", "exchange", "native");
    const int64_t line = made_site(p.db, "callback", "/home/a/app.py", 3);
    const int64_t location = add_rank(&p, rank_of(0, 1, "node17"), 4, false);
    made_samples(p.db, location, p.wait, p.reduce, p.solve, 390);
    made_samples(p.db, location, p.wait, p.reduce, 0, 10);
    made_lines(p.db, location, p.wait, p.reduce, line, 4);
    made_native(p.db, location, p.wait, p.reduce, 156);
    assert_int_equal(gn_summarise(p.db, GN_BY_ACTIVITY, false, &s, &err), 0);
    assert_true(fabs(told_s(&s, 3, NULL) - 0.1) < 0.01 && fabs(told_s(&s, 102, NULL) - 3.9) < 0.05);
    gn_summary_clear(&s);
    gn_profile_close(p.db);
}

/* One is later by a second in all, and by two in the place where the other one does something else. */
static void a_range_names_its_leading_place(void **state)
{
    (void)state;
    struct gn_summary s;
    struct gn_error err = {""};
    const struct program p = make_program("/home/a/app", "exchange", "hourglass");
    const int64_t late = add_rank(&p, rank_of(0, 2, "node17"), 5, false),
                  other = add_rank(&p, rank_of(1, 2, "node17"), 4, false);
    made_samples(p.db, late, p.wait, p.reduce, p.solve, 200);
    made_samples(p.db, late, p.wait, p.reduce, p.update, 300);
    made_samples(p.db, other, p.wait, p.reduce, p.solve, 400);
    assert_int_equal(gn_summarise(p.db, GN_BY_ACTIVITY, false, &s, &err), 0);
    assert_true(s.range_count > 0 && s.ranges[0].max_rank == 0 && s.ranges[0].place >= 0);
    assert_int_equal(s.rows[s.ranges[0].place].line, 187);
    assert_int_equal(s.rows[s.ranges[0].place].in_range, 0);
    assert_true(llabs(s.ranges[0].place_ns - 3000000000) < 50000000);
    for (size_t i = 0; i < s.row_count; i++) {
        assert_true(s.rows[i].in_range >= -1 && s.rows[i].in_range < (int)s.range_count);
        assert_true(strcmp(s.rows[i].kind, "mpi") != 0 || s.rows[i].in_range == -1);
    }
    gn_summary_clear(&s);
    gn_profile_close(p.db);
}

/* Each function takes what is done in it, and all of it is what there is. */
static void trees_add_up(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= REPEATED(100); seed++) {
        struct gn_summary s;
        struct gn_error err = {""};
        sqlite3 *db = by_chance(seed);
        assert_int_equal(gn_summarise(db, GN_BY_TREE, false, &s, &err), 0);
        const struct gn_call_node *nodes = s.tree->nodes;
        assert_true(nodes[0].total_ns == s.total_ns);
        for (size_t i = 0; i < s.tree->count; i++) {
            int64_t sum = 0, before = INT64_MAX;
            for (uint32_t child = nodes[i].first; child; child = nodes[child].next) {
                assert_true(nodes[child].total_ns <= before);
                before = nodes[child].total_ns;
                sum += before;
            }
            assert_true(nodes[i].row ? sum == 0 : sum == nodes[i].total_ns);
        }
        gn_summary_clear(&s);
        gn_profile_close(db);
    }
}

/* ---- regions ---- */

/* Rank i computes for 1 + 2 i s in solve, ahead of a call of 4 - 2 i s there, and 5 s outside. shared: it
 * makes the same call outside, too. */
static struct gn_efficiency of_solve(bool shared, bool nested)
{
    struct gn_summary s;
    struct gn_error err = {""};
    sqlite3 *db = made_profile("/home/a/app", "app");
    const int64_t start = made_activity(db, "start", "start", "", 0),
                  end = made_activity(db, "end", "end", "", 0),
                  init = made_activity(db, "mpi", "MPI_Init", "init", made_site(db, "main", "/a/b.c", 1)),
                  begin = made_activity(db, "region_begin", "solve", "", made_site(db, "main", "/a/b.c", 2)),
                  wait =
                      made_activity(db, "mpi", "MPI_Wait", "completion", made_site(db, "main", "/a/b.c", 3)),
                  finish = made_activity(db, "region", "solve", "", made_site(db, "main", "/a/b.c", 4));
    for (int i = 0; i < 2; i++) {
        struct made_rank rank = rank_of(i, 2, "h");
        rank.length_s = 12;
        const int64_t location = made_location(db, made_process(db, &rank), 12);
        made_node(db, location, init, 1, 1, 0);
        made_node(db, location, wait, 4 - 2 * i, 1, 0);
        made_node(db, location, finish, 5, 1, 0);
        made_edge(db, location, start, init, 1, 1);
        made_edge(db, location, init, begin, 5, 1);
        made_edge(db, location, begin, wait, 1 + 2 * i, 1);
        made_edge(db, location, wait, finish, 0, 1);
        made_edge(db, location, finish, end, 0, 1);
        if (shared)
            made_edge(db, location, finish, wait, 0, 1);
        if (nested)
            made_edge(db, location, wait, begin, 0, 1);
    }
    assert_int_equal(gn_summarise(db, GN_BY_REGION, true, &s, &err), 0);
    assert_int_equal(s.row_count, 1);
    const struct gn_efficiency found = s.rows[0].efficiency;
    gn_summary_clear(&s);
    gn_profile_close(db);
    return found;
}

static void a_region_has_an_efficiency(void **state)
{
    (void)state;
    const struct gn_efficiency e = of_solve(false, false);
    assert_true(e.is_known);
    assert_float_equal(e.parallel, 2 / 5.0, 1e-9);
    assert_float_equal(e.load_balance, 2 / 3.0, 1e-9);
    assert_float_equal(e.communication, 3 / 5.0, 1e-9);
    assert_float_equal(e.length_s, 5, 1e-9);
}

static void what_may_be_outside_says_nothing_of_a_region(void **state)
{
    (void)state;
    assert_false(of_solve(true, false).is_known);
    assert_false(of_solve(false, true).is_known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_region_has_an_efficiency),
        cmocka_unit_test(what_may_be_outside_says_nothing_of_a_region),
        cmocka_unit_test(trees_add_up),
        cmocka_unit_test(sleep_is_somebodys),
        cmocka_unit_test(few_samples_name_no_sleep),
        cmocka_unit_test(who_was_not_sampled_did_not_sleep),
        cmocka_unit_test(lines_of_python_divide_what_is_computed),
        cmocka_unit_test(what_is_outside_of_python_stays_there),
        cmocka_unit_test(a_range_names_its_leading_place),
        cmocka_unit_test(screens_are_as_they_were),
        cmocka_unit_test(rows_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
