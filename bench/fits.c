/*
 * What converting a reading of one clock into the time of another costs, by every method of
 * baselines/comparison.h and by a linear program of GLPK's, which is what the authors of the
 * accuracy-reporting hull used; on the same exchanges, in the same run, against linear regression.
 *
 *   fits [EXCHANGES...]      default 1000 10000 100000
 */
#include "clock/clocks.h"
#include "baselines/corridor.h"
#include "baselines/fits.h"
#include "clock_world.h"
#include "timing.h"

#include <stdbool.h>
#include <string.h>
#ifdef WITH_GLPK
#include <glpk.h>
#endif

enum { READINGS = 10000, ROUNDS = 7, GLPK_MOST = 10000 /* exchanges: 20 ms a reading are enough */ };

/* What a method costs: once for the exchanges, and for each reading. */
struct cost {
    const char *name;
    double build_us, reading_ns;
};

struct bench {
    struct world world;
    struct gn_exchange *exchanges;
    struct gn_fit_pair pair;
    uint64_t readings[READINGS];
    struct gn_interval intervals[READINGS];
    struct cost costs[16];
    int count;
};

static const char *const base = "linear regression in doubles";

typedef void (*converter)(struct bench *bench, void *method, size_t count);

/* Median of the rounds; as many readings as take a while, at most all. */
static double reading_ns(struct bench *bench, converter convert, void *method)
{
    double rounds[ROUNDS];
    size_t count = 1;
    for (double took = 0; took < 2e6 && count<READINGS; count = count * 2> READINGS ? READINGS : count * 2) {
        double begin = timing_now_ns();
        convert(bench, method, count);
        took = timing_now_ns() - begin;
    }
    for (int i = 0; i < ROUNDS; i++) {
        double begin = timing_now_ns();
        convert(bench, method, count);
        rounds[i] = (timing_now_ns() - begin) / (double)count;
    }
    return timing_summarise(rounds, ROUNDS).median;
}

static void add(struct bench *bench, const char *name, double began, converter convert, void *method)
{
    struct cost *cost = &bench->costs[bench->count++];
    cost->name = name;
    cost->build_us = (timing_now_ns() - began) / 1000;
    cost->reading_ns = reading_ns(bench, convert, method);
}

/* ---- gnomon's own and the fits ---- */

static void by_fit(struct bench *bench, void *fit, size_t count)
{
    gn_fit_convert_all(fit, bench->readings, bench->intervals, count);
}

static void measure_fits(struct bench *bench)
{
    for (int kind = 0; kind < GN_FIT_KINDS; kind++) {
        double began = timing_now_ns();
        struct gn_fit *fit = gn_fit_new(kind, &bench->pair, NULL);
        if (fit)
            add(bench, gn_fit_name(kind), began, by_fit, fit);
        gn_fit_free(fit);
    }
}

static void by_bounds(struct bench *bench, void *bounds, size_t count)
{
    gn_bounds_convert_all(bounds, bench->readings, bench->intervals, count);
}

static struct gn_clocks *clocks_of(const struct gn_fit_pair *pair)
{
    struct gn_clocks *clocks = gn_clocks_new(0);
    gn_clocks_add(clocks, &pair->parent);
    gn_clocks_add(clocks, &pair->child);
    gn_clocks_set_epoch(clocks, pair->epoch_ticks);
    for (size_t i = 0; i < pair->count; i++) {
        const struct gn_exchange *e = &pair->exchanges[i];
        gn_clocks_message(clocks, 1, e->asked_ticks, 0, e->heard_ticks);
        gn_clocks_message(clocks, 0, e->answered_ticks, 1, e->received_ticks);
    }
    return clocks;
}

static void measure_models(struct bench *bench)
{
    static const char *const names[] = {[GN_RATE_CONSTANT] = "gnomon, rate constant",
                                        [GN_RATE_WITHIN] = "gnomon, rate within limits",
                                        [GN_RATE_WANDERS] = "gnomon, rate wanders"};
    for (int kind = GN_RATE_CONSTANT; kind <= GN_RATE_WANDERS; kind++) {
        struct gn_assumption assumption = gn_assumption_default();
        assumption.kind = kind;
        double began = timing_now_ns();
        struct gn_clocks *clocks = clocks_of(&bench->pair);
        const struct gn_clock_state *state =
            gn_clocks_solve(clocks, &assumption, NULL) == 0 ? gn_clocks_state(clocks, 1) : NULL;
        if (state && state->bounds)
            add(bench, names[kind], began, by_bounds, (void *)state->bounds);
        gn_clocks_free(clocks);
    }
}

/* The least that anybody could do: one multiplication and one addition of doubles. */
struct line {
    double ns_per_tick, ns;
    uint64_t ticks;
};

static void by_doubles(struct bench *bench, void *method, size_t count)
{
    const struct line line = *(const struct line *)method;
    for (size_t i = 0; i < count; i++)
        bench->intervals[i].lo_ns =
            (int64_t)((double)(int64_t)(bench->readings[i] - line.ticks) * line.ns_per_tick + line.ns);
}

static void measure_doubles(struct bench *bench)
{
    struct gn_fit *fit = gn_fit_new(GN_FIT_REGRESSION, &bench->pair, NULL);
    if (!fit)
        return;
    const uint64_t *x = bench->readings;
    double first = (double)gn_fit_convert(fit, x[0]).lo_ns,
           last = (double)gn_fit_convert(fit, x[READINGS - 1]).lo_ns;
    struct line line = {(last - first) / (double)(x[READINGS - 1] - x[0]), first, x[0]};
    add(bench, base, timing_now_ns(), by_doubles, &line);
    gn_fit_free(fit);
}

/* ---- linear programs over all messages, and by GLPK ---- */

struct points {
    struct gn_corridor_point *points;
    size_t count;
    uint64_t child_ticks;
};

static struct points points_of(const struct gn_fit_pair *pair)
{
    struct points p = {calloc(2 * pair->count, sizeof *p.points), 0, pair->exchanges->asked_ticks};
    for (size_t i = 0; i < pair->count && p.points; i++) {
        const struct gn_exchange *e = &pair->exchanges[i];
        p.points[p.count++] =
            (struct gn_corridor_point){(int64_t)(e->asked_ticks - p.child_ticks),
                                       (int64_t)(e->heard_ticks - pair->exchanges->heard_ticks) + 1, true};
        p.points[p.count++] =
            (struct gn_corridor_point){(int64_t)(e->received_ticks - p.child_ticks) + 1,
                                       (int64_t)(e->answered_ticks - pair->exchanges->heard_ticks), false};
    }
    return p;
}

static void by_corridor(struct bench *bench, void *method, size_t count)
{
    const struct points *p = method;
    for (size_t i = 0; i < count; i++) {
        int64_t x = (int64_t)(bench->readings[i] - p->child_ticks);
        struct gn_corridor_line low, high;
        gn_corridor_find(p->points, p->count, GN_LOWEST, x, &low);
        gn_corridor_find(p->points, p->count, GN_HIGHEST, x, &high);
        bench->intervals[i] = (struct gn_interval){(int64_t)gn_corridor_line_at(&low, x, false),
                                                   (int64_t)gn_corridor_line_at(&high, x, true)};
    }
}

#ifdef WITH_GLPK
struct program {
    glp_prob *problem;
    uint64_t child_ticks;
};

/* Unknowns: by how much the rate exceeds the nominal one, in 10^-6, and the offset in µs; small numbers suit
 * it. */
static struct program program_of(const struct bench *bench, const struct points *p)
{
    const double tick_us[] = {1e6 / bench->world.child_hz, 1e6 / bench->world.parent_hz};
    struct program program = {glp_create_prob(), p->child_ticks};
    glp_add_rows(program.problem, (int)p->count);
    glp_add_cols(program.problem, 2);
    glp_set_col_bnds(program.problem, 1, GLP_FR, 0, 0);
    glp_set_col_bnds(program.problem, 2, GLP_FR, 0, 0);
    for (size_t i = 0; i < p->count; i++) {
        double x_us = (double)p->points[i].x * tick_us[0];
        double y_us = (double)p->points[i].y * tick_us[1] - x_us;
        const int columns[] = {0, 1, 2};
        const double factors[] = {0, x_us * 1e-6, 1};
        glp_set_row_bnds(program.problem, (int)i + 1, p->points[i].above ? GLP_UP : GLP_LO, y_us, y_us);
        glp_set_mat_row(program.problem, (int)i + 1, 2, columns, factors);
    }
    return program;
}

static double solved(glp_prob *problem, int direction)
{
    glp_smcp settings;
    glp_init_smcp(&settings);
    settings.msg_lev = GLP_MSG_OFF;
    glp_set_obj_dir(problem, direction);
    if (glp_simplex(problem, &settings) != 0 || glp_get_status(problem) != GLP_OPT) {
        fprintf(stderr, "fits: GLPK finds no optimum\n");
        exit(1);
    }
    return glp_get_obj_val(problem);
}

static void by_program(struct bench *bench, void *method, size_t count)
{
    const struct program *program = method;
    for (size_t i = 0; i < count; i++) {
        double x_us =
            (double)(int64_t)(bench->readings[i] - program->child_ticks) * 1e6 / bench->world.child_hz;
        glp_set_obj_coef(program->problem, 1, x_us * 1e-6);
        glp_set_obj_coef(program->problem, 2, 1);
        bench->intervals[i].lo_ns = (int64_t)((solved(program->problem, GLP_MIN) + x_us) * 1000);
        bench->intervals[i].hi_ns = (int64_t)((solved(program->problem, GLP_MAX) + x_us) * 1000);
    }
}

static void measure_program(struct bench *bench, const char *name, const struct points *p)
{
    double began = timing_now_ns(); /* without the hull, which GN_FIT_HULL_LP's row has */
    struct program program = program_of(bench, p);
    add(bench, name, began, by_program, &program);
    glp_delete_prob(program.problem);
}
#endif

static void measure_programs(struct bench *bench)
{
    double began = timing_now_ns();
    struct points p = points_of(&bench->pair);
    gn_corridor_shuffle(p.points, p.count);
    add(bench, "all messages, LP per reading", began, by_corridor, &p);
#ifdef WITH_GLPK
    if (bench->pair.count <= GLPK_MOST)
        measure_program(bench, "all messages, GLPK per reading", &p);
    p.count = gn_corridor_hulls(p.points, p.count);
    measure_program(bench, "hull, GLPK per reading", &p);
#endif
    free(p.points);
}

/* ---- the table ---- */

static double cost_of(const struct bench *bench, const char *name)
{
    for (int i = 0; i < bench->count; i++)
        if (strcmp(bench->costs[i].name, name) == 0)
            return bench->costs[i].reading_ns;
    return NAN;
}

static void print_costs(const struct bench *bench)
{
    double regression = cost_of(bench, base);
    double freezer = cost_of(bench, gn_fit_name(GN_FIT_FREEZER_AS_PUBLISHED));
    double own = cost_of(bench, "gnomon, rate wanders");
    printf("%-32s %12s %12s %12s %12s %12s\n", "", "build, us", "ns/reading", "/regression", "/FreeZer",
           "/gnomon");
    for (int i = 0; i < bench->count; i++) {
        const struct cost *c = &bench->costs[i];
        printf("%-32s %12.0f %12.2f %12.2f %12.2f %12.2f\n", c->name, c->build_us, c->reading_ns,
               c->reading_ns / regression, c->reading_ns / freezer, c->reading_ns / own);
    }
}

static int measure(struct bench *bench, size_t count)
{
    const int64_t minute = 60000000000;
    bench->world =
        (struct world){2.1e9, 2.9e9, 1000000000000000, 7000000000, 20000, 0, 0, 20000, 25000, 8000, 1};
    bench->count = 0;
    bench->exchanges = exchanges_between(&bench->world, minute, 11 * minute, count);
    if (!bench->exchanges) {
        fprintf(stderr, "fits: no memory for %zu exchanges\n", count);
        return 1;
    }
    bench->pair = pair_of(&bench->world, bench->exchanges, count);
    for (int i = 0; i < READINGS; i++)
        bench->readings[i] = child_reading(&bench->world, minute + i * (10 * minute / READINGS));
    measure_doubles(bench);
    measure_models(bench);
    measure_fits(bench);
    measure_programs(bench);
    printf("%zu exchanges, %d readings in ascending order\n", count, READINGS);
    print_costs(bench);
    free(bench->exchanges);
    return 0;
}

int main(int argc, char **argv)
{
    static struct bench bench;
    static const size_t usual[] = {1000, 10000, 100000};
    int status = 0;
    for (int i = 1; i < argc; i++)
        status |= measure(&bench, strtoull(argv[i], NULL, 10) > 2 ? strtoull(argv[i], NULL, 10) : 2);
    for (size_t i = 0; argc < 2 && i < sizeof usual / sizeof *usual; i++)
        status |= measure(&bench, usual[i]);
    return status;
}
