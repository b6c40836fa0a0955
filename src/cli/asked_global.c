#include "answer/group_name.h"
#include "answer/process_name.h"
#include "base/grow.h"
#include "cli/asked_states.h"
#include "cli/trace_names.h"
#include "trace/who.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a question takes is so many times some hundred bytes. */
enum { MOST_LOCATIONS = 1 << 20 };

struct resolver {
    const struct gn_history *h;
    const char *trace;
    const struct gn_groups *groups;
    enum gn_scored by;
    const struct gn_asked *asked;
    const char *text;
    struct gn_global *out;
    size_t who_capacity, location_capacity;
    struct gn_whos threads;
    bool *chosen;                     /* [locations] */
    bool *whole;                      /* [groups] of which all locations are chosen */
    uint64_t *of_region, *of_path;    /* [regions], [paths] bits */
    const char *names[GN_STATE_BITS]; /* of regions by their bits */
    unsigned bits;
    uint64_t used;
    struct gn_error *err;
};

/* ---- places ---- */

static int bit_of_region(struct resolver *r, const char *name, uint64_t *bit)
{
    unsigned b = GN_FIRST_REGION_BIT;
    while (b < r->bits && strcmp(r->names[b], name) != 0)
        b++;
    *bit = b < GN_STATE_BITS ? 1ull << b : 0;
    if (b < r->bits)
        return 0;
    if (b == GN_STATE_BITS)
        return gn_fail(r->err, -EINVAL, "more than %d regions are too many for one question",
                       GN_STATE_BITS - GN_FIRST_REGION_BIT);
    struct gn_named named;
    if (!gn_named_open(&named, r->h->definitions))
        return gn_fail(r->err, -ENOMEM, "no memory for the trace's names");
    const int code = gn_trace_name_entered(&named, r->h, r->trace, name, r->err);
    for (size_t i = 0; i < r->h->definitions->region_count; i++)
        r->of_region[i] |= named.regions[i] ? *bit : 0;
    for (size_t i = 0; i < r->h->definitions->path_count; i++)
        r->of_path[i] |= named.paths[i] ? *bit : 0;
    r->names[r->bits++] = name;
    gn_named_clear(&named);
    return code;
}

/* is_thread: threads are asked for, each by itself. */
static int being_of(struct resolver *r, const struct gn_asked_place *place, bool is_thread,
                    struct gn_being_in *in)
{
    static const struct gn_being_in beings[] = {[GN_WHERE_WAITING] = {GN_WAITING, GN_BUSY},
                                                [GN_WHERE_BUSY] = {GN_BUSY, 0},
                                                [GN_WHERE_CALLING] = {GN_CALLING, 0},
                                                [GN_WHERE_RUNNING] = {GN_RUNNING, 0}};
    int code = 0;
    *in = (struct gn_being_in){0, 0};
    if (is_thread && place->where == GN_WHERE_WAITING)
        in->one = GN_WAITING_ALONE;
    else if (is_thread && place->where == GN_WHERE_BUSY)
        in->one = GN_BUSY_ALONE;
    else if (place->where != GN_WHERE_REGION)
        *in = beings[place->where];
    else if (place->region)
        code = bit_of_region(r, place->region, &in->one);
    r->used |= in->one | in->none;
    return code;
}

/* ---- who ---- */

static bool is_one_of(struct resolver *r, const struct gn_asked_who *who, uint32_t location)
{
    const struct gn_definitions *d = r->h->definitions;
    if (who->kind == GN_ASKED_WHO_HOST)
        return strcmp(gn_host_name(d, location), who->host) == 0;
    const struct gn_who is = gn_who_of(&r->threads, location);
    return is.rank >= 0 && (uint32_t)is.rank >= who->first && (uint32_t)is.rank <= who->last &&
           (who->kind == GN_ASKED_WHO_RANKS || is.thread == who->thread);
}

static int nobody(const struct resolver *r, const struct gn_asked_who *who)
{
    char ranks[128];
    if (who->kind == GN_ASKED_WHO_HOST)
        return gn_fail(r->err, -ENOENT, "--where: nothing of the trace ran on a host \"%.*s\", at \"%.*s\"",
                       GN_ASKED_SHOWN, who->host, GN_ASKED_SHOWN, r->text + who->at);
    if (who->kind == GN_ASKED_WHO_THREAD)
        return gn_fail(r->err, -ENOENT, "--where: there is no thread %u:%u in the trace, at \"%.*s\"",
                       who->first, who->thread, GN_ASKED_SHOWN, r->text + who->at);
    const bool has_first = gn_process_of_rank(r->h->definitions, who->first) != GN_NONE;
    gn_ranks_text(r->h->definitions, ranks, sizeof ranks);
    return gn_fail(r->err, -ENOENT, "--where: there is no rank %u in the trace: it has %s, at \"%.*s\"",
                   has_first ? who->last : who->first, ranks, GN_ASKED_SHOWN, r->text + who->at);
}

static bool is_there(const struct resolver *r, const struct gn_asked_who *who)
{
    const struct gn_definitions *d = r->h->definitions;
    return who->kind != GN_ASKED_WHO_RANKS ||
           (gn_process_of_rank(d, who->first) != GN_NONE && gn_process_of_rank(d, who->last) != GN_NONE);
}

/* r->chosen: locations of all of them; of nobody in particular, everybody. */
static int choose(struct resolver *r, const struct gn_asked_node *node)
{
    const size_t count = r->h->definitions->location_count;
    for (size_t l = 0; l < count; l++)
        r->chosen[l] = !node->who_count;
    for (uint32_t w = node->first_who; w < node->first_who + node->who_count; w++) {
        bool any = false;
        for (uint32_t l = 0; l < count; l++)
            if (is_one_of(r, &r->asked->whos[w], l))
                r->chosen[l] = any = true;
        if (!any || !is_there(r, &r->asked->whos[w]))
            return nobody(r, &r->asked->whos[w]);
    }
    return 0;
}

static int add_who(struct resolver *r)
{
    struct gn_global *g = r->out;
    if (!gn_grow(&g->whos, &r->who_capacity, g->who_count, sizeof *g->whos))
        return gn_fail(r->err, -ENOMEM, "no memory for the question");
    g->whos[g->who_count++] = (struct gn_global_who){(uint32_t)g->location_count, 0};
    return 0;
}

static int add_location(struct resolver *r, uint32_t location)
{
    struct gn_global *g = r->out;
    if (g->location_count == MOST_LOCATIONS)
        return gn_fail(
            r->err, -E2BIG,
            "--where: the question names locations %d times, which is as often as it may: ask about fewer "
            "at a time",
            MOST_LOCATIONS);
    if (!gn_grow(&g->locations, &r->location_capacity, g->location_count, sizeof *g->locations))
        return gn_fail(r->err, -ENOMEM, "no memory for the question");
    g->locations[g->location_count++] = location;
    g->whos[g->who_count - 1].count++;
    return 0;
}

static int add_one(struct resolver *r)
{
    int code = add_who(r);
    for (uint32_t l = 0; l < r->h->definitions->location_count && code == 0; l++)
        if (r->chosen[l])
            code = add_location(r, l);
    return code;
}

/* Ranks, threads or hosts, those of which everything was chosen. */
static int add_groups(struct resolver *r, const struct gn_asked_node *node)
{
    const size_t locations = r->h->definitions->location_count, before = r->out->who_count;
    int code = 0;
    for (size_t g = 0; g < r->groups->count; g++)
        r->whole[g] = true;
    for (size_t l = 0; l < locations; l++)
        if (r->groups->of[l] < r->groups->count && !r->chosen[l])
            r->whole[r->groups->of[l]] = false;
    for (uint32_t g = 0; g < r->groups->count && code == 0; g++) {
        if (!r->whole[g])
            continue;
        code = add_who(r);
        for (uint32_t l = r->groups->first[g]; l < locations && code == 0; l++)
            if (r->groups->of[l] == g)
                code = add_location(r, l);
    }
    if (code == 0 && node->who_count && r->out->who_count == before)
        return gn_fail(r->err, -ENOENT,
                       "--where: nobody that --by counts is in this set as a whole, at \"%.*s\"",
                       GN_ASKED_SHOWN, r->text + r->asked->whos[node->first_who].at);
    return code;
}

/* ---- nodes ---- */

static int resolve_node(struct resolver *r, const struct gn_asked_node *from, struct gn_global_node *to)
{
    static const uint8_t kinds[] = {[GN_ASKED_IN] = GN_GLOBAL_IN,         [GN_ASKED_COUNT] = GN_GLOBAL_COUNT,
                                    [GN_ASKED_ALL_BUT] = GN_GLOBAL_COUNT, [GN_ASKED_NOT] = GN_GLOBAL_NOT,
                                    [GN_ASKED_AND] = GN_GLOBAL_AND,       [GN_ASKED_OR] = GN_GLOBAL_OR};
    *to = (struct gn_global_node){.kind = kinds[from->kind],
                                  .child = from->child,
                                  .next = from->next,
                                  .first_who = (uint32_t)r->out->who_count,
                                  .counts_out = from->kind == GN_ASKED_ALL_BUT,
                                  .least = from->least,
                                  .most = from->most};
    if (from->kind > GN_ASKED_ALL_BUT)
        return 0;
    const bool is_thread = from->kind == GN_ASKED_IN
                               ? r->asked->whos[from->first_who].kind == GN_ASKED_WHO_THREAD
                               : r->by == GN_SCORED_THREAD;
    int code = being_of(r, &from->a, is_thread, &to->in);
    if (code == 0)
        code = being_of(r, &from->b, is_thread, &to->rest);
    if (code == 0)
        code = choose(r, from);
    if (code == 0)
        code = from->kind == GN_ASKED_IN ? add_one(r) : add_groups(r, from);
    to->who_count = (uint32_t)r->out->who_count - to->first_who;
    return code;
}

static int resolve(struct resolver *r, struct gn_states *states)
{
    const struct gn_definitions *d = r->h->definitions;
    r->out->nodes = calloc(r->asked->node_count, sizeof *r->out->nodes);
    r->chosen = calloc(d->location_count + 1, sizeof *r->chosen);
    r->whole = calloc(r->groups->count + 1, sizeof *r->whole);
    r->of_region = calloc(d->region_count + 1, sizeof *r->of_region);
    r->of_path = calloc(d->path_count + 1, sizeof *r->of_path);
    if (!r->out->nodes || !r->chosen || !r->whole || !r->of_region || !r->of_path)
        return gn_fail(r->err, -ENOMEM, "no memory for the question");
    int code = 0;
    for (size_t n = 0; n < r->asked->node_count && code == 0; n++)
        code = resolve_node(r, &r->asked->nodes[n], &r->out->nodes[r->out->node_count++]);
    const struct gn_region_bits bits = {r->of_region, r->of_path};
    return code ? code : gn_states_of_each(states, r->h, &bits, r->used, r->err);
}

int gn_asked_global(struct gn_global *global, struct gn_states *states, const struct gn_history *history,
                    const char *trace, const struct gn_groups *groups, enum gn_scored by,
                    const struct gn_asked *asked, const char *text, struct gn_error *err)
{
    struct resolver r = {.h = history,
                         .trace = trace,
                         .groups = groups,
                         .by = by,
                         .asked = asked,
                         .text = text,
                         .out = global,
                         .threads = {.definitions = history->definitions},
                         .bits = GN_FIRST_REGION_BIT,
                         .err = err};
    *global = (struct gn_global){.nodes = NULL};
    const int code = resolve(&r, states);
    gn_whos_clear(&r.threads);
    free(r.chosen);
    free(r.whole);
    free(r.of_region);
    free(r.of_path);
    if (code < 0)
        gn_asked_global_clear(global);
    return code;
}

void gn_asked_global_clear(struct gn_global *global)
{
    free(global->nodes);
    free(global->whos);
    free(global->locations);
    *global = (struct gn_global){.nodes = NULL};
}
