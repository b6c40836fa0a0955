#include "profile/resolve_passes.h"

#include "base/grow.h"
#include "base/map.h"
#include "image/source_line.h"
#include "profile/statement.h"
#include "program/doubts.h"
#include "program/iterations.h"
#include "program/modules.h"

#include <errno.h>
#include <stdlib.h>

enum {
    DEEPEST = 256,
    LOOPS_AROUND = 24,
    LOOPS_IN = 256,
    BY_JUMP = -1 /* in the place of a site: GN_ITERATIONS_TAIL */
};

struct module {
    struct gn_iterations *iterations; /* NULL: cannot be read */
};

struct site {
    int64_t module;
    uint64_t offset;
    size_t loop_count;
    uint64_t *heads; /* of the loops around it, outermost first */
};

struct step { /* of table callpath */
    int64_t parent, site, depth;
    bool recurs; /* what is called by it, or further in, calls itself: frames were folded there */
};

/* Loops that calls of one function stand in, of those that are called by one path. */
struct loops {
    size_t count;
    uint64_t heads[LOOPS_IN];
};

struct passes {
    bool possible;
    size_t count;
    struct gn_pass items[];
};

struct resolver {
    sqlite3 *db;
    struct gn_error *err;
    struct module *modules;
    int64_t module_count, site_count, step_count, activity_count; /* ids are below these */
    struct site *sites;
    struct step *steps;
    int64_t *paths;       /* by activity */
    struct loops **loops; /* by the step that calls the function; 0: of the outermost one */
    struct gn_map known;  /* two sites and a step: struct passes */
};

/* What was found out for one edge. */
struct finding {
    struct found {
        int64_t step;  /* by which the loop's function was called; of a call that was made: its own */
        uint64_t head; /* 0: a call */
        int64_t module;
        struct gn_pass sum;    /* of the way in hand */
        struct gn_pass bounds; /* likely: of the way that leaves the fewest functions */
    } * items;
    size_t count, room;
    size_t ways; /* taken in */
};

static int no_memory(const struct resolver *r)
{
    return gn_fail(r->err, -ENOMEM, "no memory for the loops of the program");
}

/* ---- reading ---- */

static int read_modules(struct resolver *r, struct gn_modules *modules)
{
    r->module_count = gn_sql_value(r->db, 0, "SELECT max(id) + 1 FROM module", "");
    r->modules = calloc((size_t)r->module_count + 1, sizeof *r->modules);
    if (!r->modules)
        return no_memory(r);
    sqlite3_stmt *q =
        gn_sql_query(r->db, r->err,
                     "SELECT id, path, build_id FROM module WHERE build_id <> '" GN_SOURCE_BUILD_ID
                     "' AND id IN (SELECT s.module FROM site s JOIN callpath c ON c.site = s.id)",
                     "");
    while (q && sqlite3_step(q) == SQLITE_ROW) {
        const int64_t id = sqlite3_column_int64(q, 0);
        const struct gn_opened_module *module = gn_modules_named(
            modules, (const char *)sqlite3_column_text(q, 1), (const char *)sqlite3_column_text(q, 2));
        if (module && module->program && id > 0 && id < r->module_count)
            r->modules[id].iterations = gn_iterations_new(module->program);
    }
    sqlite3_finalize(q);
    return q ? 0 : -EINVAL;
}

static int read_steps(struct resolver *r)
{
    r->step_count = gn_sql_value(r->db, 0, "SELECT max(id) + 1 FROM callpath", "");
    r->site_count = gn_sql_value(r->db, 0, "SELECT max(id) + 1 FROM site", "");
    r->steps = calloc((size_t)r->step_count + 1, sizeof *r->steps);
    r->sites = calloc((size_t)r->site_count + 1, sizeof *r->sites);
    r->loops = calloc((size_t)r->step_count + 1, sizeof *r->loops);
    if (!r->steps || !r->sites || !r->loops)
        return no_memory(r);
    sqlite3_stmt *q =
        gn_sql_query(r->db, r->err,
                     "SELECT c.id, c.parent, c.site, c.depth, s.module, s.offset, c.folded FROM callpath c"
                     " JOIN site s ON s.id = c.site",
                     "");
    while (q && sqlite3_step(q) == SQLITE_ROW) {
        const int64_t id = sqlite3_column_int64(q, 0), site = sqlite3_column_int64(q, 2);
        const int64_t module = sqlite3_column_int64(q, 4);
        if (id <= 0 || id >= r->step_count || site <= 0 || site >= r->site_count || module <= 0 ||
            module >= r->module_count)
            continue;
        const int64_t parent = sqlite3_column_int64(q, 1);
        r->steps[id].parent = parent;
        r->steps[id].site = site;
        r->steps[id].depth = sqlite3_column_int64(q, 3);
        if (sqlite3_column_int64(q, 6) && parent >= 0 && parent < r->step_count)
            r->steps[parent].recurs = true;
        r->sites[site].module = module;
        r->sites[site].offset = (uint64_t)sqlite3_column_int64(q, 5);
    }
    sqlite3_finalize(q);
    return q ? 0 : -EINVAL;
}

static int read_activities(struct resolver *r)
{
    r->activity_count = gn_sql_value(r->db, 0, "SELECT max(id) + 1 FROM activity", "");
    r->paths = calloc((size_t)r->activity_count + 1, sizeof *r->paths);
    if (!r->paths)
        return no_memory(r);
    sqlite3_stmt *q = gn_sql_query(r->db, r->err, "SELECT id, callpath FROM activity", "");
    while (q && sqlite3_step(q) == SQLITE_ROW) {
        const int64_t id = sqlite3_column_int64(q, 0);
        if (id > 0 && id < r->activity_count)
            r->paths[id] = sqlite3_column_int64(q, 1);
    }
    sqlite3_finalize(q);
    return q ? 0 : -EINVAL;
}

static struct gn_iterations *iterations_of(const struct resolver *r, int64_t site)
{
    return r->modules[r->sites[site].module].iterations;
}

/* ---- the loops around calls ---- */

static int store_loop(struct resolver *r, int64_t site, size_t depth, const struct gn_loop_around *loop)
{
    const char *doubt = gn_loop_doubt_text(loop->doubts);
    int code =
        gn_sql(r->db, r->err,
               "INSERT OR IGNORE INTO loop(module, offset, function, file, line, doubt, unseen)"
               " VALUES(?, ?, ?, ?, nullif(?, 0), nullif(?, ''), ?)",
               "iissisi", r->sites[site].module, (int64_t)loop->head, loop->place.function, loop->place.file,
               (int64_t)loop->place.line, doubt,
               (int64_t)gn_iterations_go_unseen(iterations_of(r, site), r->sites[site].offset, loop->head));
    if (code == 0)
        code = gn_sql(
            r->db, r->err,
            "INSERT INTO site_loop VALUES(?, ?, (SELECT id FROM loop WHERE module = ? AND offset = ?))",
            "iiii", site, (int64_t)depth, r->sites[site].module, (int64_t)loop->head);
    return code;
}

static int find_around(struct resolver *r, int64_t id)
{
    struct site *site = &r->sites[id];
    struct gn_iterations *it = site->module ? iterations_of(r, id) : NULL;
    struct gn_loop_around loops[LOOPS_AROUND];
    int code = 0;
    if (!it)
        return 0;
    site->loop_count = gn_iterations_around(it, site->offset, loops, LOOPS_AROUND);
    site->heads = calloc(site->loop_count + 1, sizeof *site->heads);
    if (!site->heads)
        return no_memory(r);
    for (size_t i = 0; i < site->loop_count && code == 0; i++) {
        site->heads[i] = loops[i].head;
        code = store_loop(r, id, i, &loops[i]);
    }
    return code;
}

static void add_head(struct loops *loops, uint64_t head)
{
    for (size_t i = 0; i < loops->count; i++)
        if (loops->heads[i] == head)
            return;
    if (loops->count < LOOPS_IN)
        loops->heads[loops->count++] = head;
}

/* The loops of a function, as far as calls of this path stand in them. */
static int gather_loops(struct resolver *r, int64_t step)
{
    const struct site *site = &r->sites[r->steps[step].site];
    const int64_t parent = r->steps[step].parent;
    if (parent < 0 || parent >= r->step_count || site->loop_count == 0)
        return 0;
    if (!r->loops[parent] && !(r->loops[parent] = calloc(1, sizeof **r->loops)))
        return no_memory(r);
    for (size_t i = 0; i < site->loop_count; i++)
        add_head(r->loops[parent], site->heads[i]);
    return 0;
}

/* Frames of recursion are folded: how often a function was entered that is called again from within, nobody
 * knows. */
static int doubt_recursion(struct resolver *r, int64_t step)
{
    int64_t at = r->steps[step].parent;
    while (at > 0 && at < r->step_count && !r->steps[at].recurs)
        at = r->steps[at].parent;
    if (at < 0 || at >= r->step_count || !r->steps[at].recurs)
        return 0;
    return gn_sql(r->db, r->err,
                  "UPDATE loop SET doubt = coalesce(doubt, 'recursion') WHERE id IN (SELECT loop FROM "
                  "site_loop WHERE site = ?)",
                  "i", r->steps[step].site);
}

/* ---- calls from module to module ---- */

/* A call into another module is never silent when what it calls is not; that is known when what was called
 * from there is known, which is further in. */
static void know_silence(struct resolver *r, int64_t depth)
{
    for (int64_t id = 1; id < r->step_count; id++) {
        const struct step *inner = &r->steps[id];
        if (inner->site == 0 || inner->depth != depth || inner->parent <= 0 ||
            inner->parent >= r->step_count || r->steps[inner->parent].site == 0)
            continue;
        const int64_t outer = r->steps[inner->parent].site;
        struct gn_iterations *in = iterations_of(r, inner->site), *out = iterations_of(r, outer);
        if (in && out && in != out && gn_iterations_know(in, r->sites[inner->site].offset) &&
            !gn_iterations_is_silent(in, r->sites[inner->site].offset - 1))
            gn_iterations_never_silent(out, r->sites[outer].offset,
                                       gn_iterations_symbol(in, r->sites[inner->site].offset));
    }
}

/* ---- one edge ---- */

struct chain { /* steps, outermost first */
    int64_t steps[DEEPEST];
    size_t count;
};

/* False: too deep, or damaged. */
static bool chain_of(const struct resolver *r, int64_t activity, struct chain *chain)
{
    chain->count = 0;
    if (activity <= 0 || activity >= r->activity_count)
        return false;
    for (int64_t at = r->paths[activity]; at != 0; at = r->steps[at].parent) {
        if (at < 0 || at >= r->step_count || r->steps[at].site == 0 || chain->count == DEEPEST)
            return false;
        chain->steps[chain->count++] = at;
    }
    for (size_t i = 0; i < chain->count / 2; i++) {
        const int64_t step = chain->steps[i];
        chain->steps[i] = chain->steps[chain->count - 1 - i];
        chain->steps[chain->count - 1 - i] = step;
    }
    return true;
}

static struct found *find(struct finding *f, int64_t step, int64_t module, uint64_t head)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->items[i].step == step && f->items[i].head == head && f->items[i].module == module)
            return &f->items[i];
    if (!gn_grow(&f->items, &f->room, f->count, sizeof *f->items))
        return NULL;
    f->items[f->count] = (struct found){.step = step, .head = head, .module = module};
    return &f->items[f->count++];
}

static int sum_high(int a, int b)
{
    return a >= GN_PASS_MANY || b >= GN_PASS_MANY ? GN_PASS_MANY : a + b;
}

static void add_pass(struct gn_pass *sum, const struct gn_pass *pass)
{
    sum->entries_low += pass->entries_low;
    sum->iterations_low += pass->iterations_low;
    sum->entries_likely += pass->entries_likely;
    sum->iterations_likely += pass->iterations_likely;
    sum->entries_high = sum_high(sum->entries_high, pass->entries_high);
    sum->iterations_high = sum_high(sum->iterations_high, pass->iterations_high);
}

static uint64_t goal_of(const struct resolver *r, int64_t to)
{
    return to == BY_JUMP ? GN_ITERATIONS_TAIL : to ? r->sites[to].offset : 0;
}

/* Ways inside of one function, from site to site (0: its begin, its end; or BY_JUMP); step: by which it was
 * called. */
static const struct passes *ways_between(struct resolver *r, int64_t from, int64_t to, int64_t step)
{
    const struct gn_key key = {(uint64_t)from << 32 | (uint32_t)to, (uint64_t)step};
    const struct passes *known = gn_map_find(&r->known, key);
    if (known)
        return known;
    static const struct loops none;
    const struct loops *loops = r->loops[step] ? r->loops[step] : &none;
    struct gn_iterations *it = iterations_of(r, from ? from : to);
    struct passes *passes = calloc(1, sizeof *passes + loops->count * sizeof *passes->items);
    if (!passes || !gn_map_add(&r->known, key, passes)) {
        free(passes);
        return NULL;
    }
    passes->count = loops->count;
    passes->possible = true;
    if (it && gn_iterations_know(it, r->sites[from ? from : to].offset))
        passes->possible = gn_iterations_between(it, from ? r->sites[from].offset : 0, goal_of(r, to),
                                                 loops->heads, loops->count, passes->items);
    return passes;
}

/* Adds such ways to the way in hand. 0: there are none; negative: no memory. */
static int go(struct resolver *r, struct finding *f, int64_t from, int64_t to, int64_t step)
{
    const struct passes *passes = ways_between(r, from, to, step);
    if (!passes)
        return no_memory(r);
    for (size_t i = 0; i < passes->count && passes->possible; i++) {
        struct found *found = find(f, step, r->sites[from ? from : to].module, r->loops[step]->heads[i]);
        if (!found)
            return no_memory(r);
        add_pass(&found->sum, &passes->items[i]);
    }
    return passes->possible;
}

static int64_t site_at(const struct resolver *r, const struct chain *chain, size_t level)
{
    return r->steps[chain->steps[level]].site;
}

static int64_t above(const struct chain *chain, size_t level)
{
    return level > 0 ? chain->steps[level - 1] : 0;
}

static int add_call(struct resolver *r, struct finding *f, int64_t step)
{
    struct found *call = find(f, step, 0, 0);
    if (!call)
        return no_memory(r);
    call->sum.entries_low = call->sum.entries_likely = call->sum.entries_high = 1;
    return 1;
}

/* The way that leaves all functions of the first path that are further in than `level`, and enters those of
 * the second one. 1: there is one. */
static int try_way(struct resolver *r, struct finding *f, const struct chain *from, const struct chain *to,
                   size_t level)
{
    int code = go(r, f, site_at(r, from, level), site_at(r, to, level), above(to, level));
    for (size_t i = level + 1; i < from->count && code > 0; i++)
        code = go(r, f, site_at(r, from, i), 0, above(from, i));
    for (size_t i = level + 1; i < to->count && code > 0; i++)
        code = go(r, f, 0, site_at(r, to, i), above(to, i));
    for (size_t i = level + 1; i < to->count && code > 0; i++)
        code = add_call(r, f, above(to, i));
    return code;
}

/* Functions can be left by a jump to the next one, which then stands in their place: from a function of the
 * first path to another one at the same place of the second; or to what was recorded as if called from
 * outside of it. 1: there is such a way. */
static int try_jump(struct resolver *r, struct finding *f, const struct chain *from, const struct chain *to,
                    size_t parting)
{
    const int64_t last = site_at(r, to, to->count - 1);
    struct gn_iterations *it = iterations_of(r, last);
    int code = 0;
    size_t level = parting;
    if (from->steps[parting] == to->steps[parting] && from->count > to->count && it &&
        gn_iterations_hides_function(it, r->sites[last].offset)) {
        level = parting + 1;
        code = go(r, f, site_at(r, from, level), BY_JUMP, above(from, level));
    } else if (from->steps[parting] != to->steps[parting]) {
        code = go(r, f, site_at(r, from, level), BY_JUMP, above(from, level));
        for (size_t i = level; i < to->count && code > 0; i++)
            code = go(r, f, 0, site_at(r, to, i), above(to, i));
    }
    for (size_t i = level + 1; i < from->count && code > 0; i++)
        code = go(r, f, site_at(r, from, i), 0, above(from, i));
    for (size_t i = level + 1; i < to->count && code > 0; i++)
        code = add_call(r, f, above(to, i));
    return code;
}

/* Takes the way in hand into what is known, if it is one. */
static void take_way(struct finding *f, bool is_one, bool is_likely)
{
    for (size_t i = 0; i < f->count; i++) {
        struct found *at = &f->items[i];
        const struct gn_pass *s = &at->sum;
        struct gn_pass *b = &at->bounds;
        if (is_one && is_likely) {
            b->entries_likely = s->entries_likely;
            b->iterations_likely = s->iterations_likely;
        }
        if (is_one && f->ways == 0)
            *b = *s;
        else if (is_one) { /* what is new has been zero until now */
            b->entries_low = s->entries_low < b->entries_low ? s->entries_low : b->entries_low;
            b->entries_high = s->entries_high > b->entries_high ? s->entries_high : b->entries_high;
            b->iterations_low = s->iterations_low < b->iterations_low ? s->iterations_low : b->iterations_low;
            b->iterations_high =
                s->iterations_high > b->iterations_high ? s->iterations_high : b->iterations_high;
        }
        at->sum = (struct gn_pass){0};
    }
    f->ways += is_one;
}

/* Anything may have happened in the loops of a function. */
static int open_bounds(struct resolver *r, struct finding *f, const struct chain *chain, size_t level)
{
    const int64_t step = above(chain, level), module = r->sites[site_at(r, chain, level)].module;
    const struct loops *loops = r->loops[step];
    for (size_t i = 0; loops && i < loops->count; i++) {
        struct found *found = find(f, step, module, loops->heads[i]);
        if (!found)
            return no_memory(r);
        found->bounds = (struct gn_pass){.entries_high = GN_PASS_MANY, .iterations_high = GN_PASS_MANY};
    }
    return 0;
}

/* Without a way that the code knows (recursion, a pointer, an exception), anything may have happened from the
 * innermost function on that both have in common; and in those around it, if control can get from their call
 * back to it. */
static int know_nothing(struct resolver *r, struct finding *f, const struct chain *from,
                        const struct chain *to, size_t parting)
{
    int code = 0;
    for (size_t l = 0; l < parting && code == 0; l++) {
        const int64_t site = site_at(r, to, l);
        const struct passes *around = ways_between(r, site, site, above(to, l));
        if (!around || around->possible)
            code = open_bounds(r, f, to, l);
    }
    for (size_t l = parting; l < from->count && code == 0; l++)
        code = open_bounds(r, f, from, l);
    for (size_t l = parting; l < to->count && code == 0; l++)
        code = open_bounds(r, f, to, l);
    return code;
}

/* An exception ends in a function that the second path goes on from: functions further in on the first one
 * were left in the middle of a round that had begun, perhaps. */
static int add_thrown(struct resolver *r, struct finding *f, const struct chain *from, size_t parting)
{
    bool caught = false;
    for (size_t l = parting; l < from->count; l++) {
        const int64_t site = site_at(r, from, l), step = above(from, l);
        const struct loops *loops = caught ? r->loops[step] : NULL;
        for (size_t i = 0; loops && i < loops->count; i++) {
            struct found *found = find(f, step, r->sites[site].module, loops->heads[i]);
            if (!found)
                return no_memory(r);
            found->bounds.iterations_high = sum_high(found->bounds.iterations_high, 1);
        }
        caught = caught || (iterations_of(r, site) &&
                            gn_iterations_catches(iterations_of(r, site), r->sites[site].offset));
    }
    return 0;
}

static int find_ways(struct resolver *r, struct finding *f, const struct chain *from, const struct chain *to)
{
    size_t level = 0;
    while (level + 1 < from->count && level + 1 < to->count && from->steps[level] == to->steps[level])
        level++;
    const size_t parting = level;
    int code = try_jump(r, f, from, to, parting);
    if (code < 0)
        return code;
    const bool jumps = code > 0;
    take_way(f, jumps, true);
    /* frames of recursion are folded: what looks like leaving a function and coming back may have been deeper
     */
    for (size_t l = 0; l <= parting; l++)
        if (r->steps[above(to, l)].recurs) {
            take_way(f, true, false);
            break;
        }
    bool is_smallest = true;
    do {
        code = try_way(r, f, from, to, level);
        if (code < 0)
            return code;
        take_way(f, code > 0, is_smallest);
        is_smallest = is_smallest && code == 0 && !jumps;
    } while (level-- > 0);
    code = f->ways == 0 ? know_nothing(r, f, from, to, parting) : 0;
    return code == 0 ? add_thrown(r, f, from, parting) : code;
}

/* The begin of a thread, and whatever has no call path: everything on the way was entered. */
static int enter_all(struct resolver *r, struct finding *f, const struct chain *to)
{
    int code = 1;
    for (size_t i = 0; i < to->count && code > 0; i++)
        code = go(r, f, 0, site_at(r, to, i), above(to, i));
    if (code >= 0)
        take_way(f, code > 0, true);
    return code < 0 ? code : 0;
}

static int store_call(struct resolver *r, int64_t from, int64_t to, const struct found *found)
{
    const int64_t site = r->steps[found->step].site;
    struct gn_iterations *it = iterations_of(r, site);
    /* calls in which nothing was recorded leave no trace */
    const bool all = it && !gn_iterations_may_be_silent(it, r->sites[site].offset);
    return gn_sql(r->db, r->err,
                  "INSERT INTO call_pass(from_activity, to_activity, callpath, low, likely, high)"
                  " VALUES(?, ?, ?, ?, ?, CASE WHEN ? THEN ? END)",
                  "iiiiiii", from, to, found->step, (int64_t)found->bounds.entries_low,
                  (int64_t)found->bounds.entries_likely, (int64_t)all, (int64_t)found->bounds.entries_high);
}

static int store(struct resolver *r, int64_t from, int64_t to, const struct finding *f)
{
    int code = 0;
    for (size_t i = 0; i < f->count && code == 0; i++) {
        const struct found *found = &f->items[i];
        const struct gn_pass *p = &found->bounds;
        if (p->entries_high == 0 && p->iterations_high == 0 && p->iterations_low == 0)
            continue;
        if (found->head == 0)
            code = store_call(r, from, to, found);
        else
            code = gn_sql(r->db, r->err,
                          "INSERT INTO pass(from_activity, to_activity, callpath, loop, entries_low,"
                          " entries_likely, entries_high, iterations_low, iterations_likely, iterations_high)"
                          " SELECT ?, ?, ?, id, ?, ?, nullif(?, 2), ?, ?, nullif(?, 2) FROM loop"
                          " WHERE module = ? AND offset = ?",
                          "iiiiiiiiiii", from, to, found->step, (int64_t)p->entries_low,
                          (int64_t)p->entries_likely, (int64_t)p->entries_high, (int64_t)p->iterations_low,
                          (int64_t)p->iterations_likely, (int64_t)p->iterations_high, found->module,
                          (int64_t)found->head);
    }
    return code;
}

static bool ends_mpi(const struct resolver *r, int64_t activity)
{
    return gn_sql_value(r->db, 0, "SELECT name = 'MPI_Finalize' FROM activity WHERE id = ?", "i", activity) !=
           0;
}

static int resolve_edge(struct resolver *r, int64_t from, int64_t to)
{
    static struct chain before, after; /* large; one thread */
    struct finding f = {.items = NULL};
    int code = 0;
    if (!chain_of(r, to, &after) || !chain_of(r, from, &before))
        return 0;
    if (after.count == 0) { /* the end: rounds may have begun behind the last call */
        for (size_t l = 0; l < before.count && code == 0 && !ends_mpi(r, from); l++)
            code = open_bounds(r, &f, &before, l);
        if (code == 0)
            code = store(r, from, to, &f);
        free(f.items);
        return code;
    }
    code = before.count > 0 ? find_ways(r, &f, &before, &after) : enter_all(r, &f, &after);
    if (code == 0)
        code = store(r, from, to, &f);
    free(f.items);
    return code;
}

static int resolve_edges(struct resolver *r)
{
    int code = 0;
    sqlite3_stmt *q = gn_sql_query(r->db, r->err, "SELECT DISTINCT from_activity, to_activity FROM edge", "");
    while (q && code == 0 && sqlite3_step(q) == SQLITE_ROW)
        code = resolve_edge(r, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1));
    sqlite3_finalize(q);
    return q ? code : -EINVAL;
}

/* ---- all of it ---- */

static int find_loops(struct resolver *r)
{
    int64_t deepest = 0;
    int code = 0;
    for (int64_t i = 1; i < r->site_count && code == 0; i++)
        code = find_around(r, i);
    for (int64_t i = 1; i < r->step_count && code == 0; i++)
        if (r->steps[i].site) {
            code = gather_loops(r, i);
            if (code == 0)
                code = doubt_recursion(r, i);
            deepest = r->steps[i].depth > deepest ? r->steps[i].depth : deepest;
        }
    for (int64_t depth = deepest; depth > 0 && code == 0; depth--)
        know_silence(r, depth);
    return code;
}

static void clear(struct resolver *r)
{
    for (int64_t i = 0; r->modules && i < r->module_count; i++)
        gn_iterations_free(r->modules[i].iterations);
    for (int64_t i = 0; r->sites && i < r->site_count; i++)
        free(r->sites[i].heads);
    for (int64_t i = 0; r->loops && i < r->step_count; i++)
        free(r->loops[i]);
    for (size_t i = 0; i < r->known.size; i++)
        free(r->known.slots[i].value);
    gn_map_clear(&r->known);
    free(r->modules);
    free(r->sites);
    free(r->steps);
    free(r->loops);
    free(r->paths);
}

int gn_resolve_passes(sqlite3 *db, struct gn_modules *modules, struct gn_error *err)
{
    static const char *const empty[] = {"DELETE FROM pass", "DELETE FROM call_pass", "DELETE FROM site_loop",
                                        "DELETE FROM loop"};
    struct resolver r = {.db = db, .err = err};
    int code = 0;
    for (size_t i = 0; i < sizeof empty / sizeof *empty && code == 0; i++)
        code = gn_sql(db, err, empty[i], "");
    if (code == 0)
        code = read_modules(&r, modules);
    if (code == 0)
        code = read_steps(&r);
    if (code == 0)
        code = read_activities(&r);
    if (code == 0)
        code = find_loops(&r);
    if (code == 0)
        code = resolve_edges(&r);
    clear(&r);
    return code;
}
