#include "causality/collective_facts.h"

#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Instances that a communicator has open at a time: beyond that the oldest one says what it knows. Beyond so
 * many domains only messages to and from the first one are told: more would cost more than they bring. */
enum { OPEN_MOST = 1024, ALL_PAIRS_MOST = 16 };

/* Readings of one domain; the latest begin of none is before all, the earliest end of none after all. */
struct span {
    uint64_t begin_ticks, end_ticks;
    bool begun, ended;
};

struct instance {
    bool any;
    uint8_t op;
    uint32_t root, ended;
    struct span first,
        last;            /* of what data comes from, and goes to, alone: the root, or the ends of a chain */
    struct span spans[]; /* by the communicator's domains */
};

struct comm {
    uint32_t size, domain_count;
    uint32_t *domains;      /* [domain_count] */
    uint32_t *slot;         /* [size] of each member; GN_NONE: its domain is not known */
    struct instance **open; /* [OPEN_MOST] by number % OPEN_MOST, from base on */
    uint32_t base, end;
    bool refused;
};

struct gn_collective_facts {
    const struct gn_definitions *d;
    const uint32_t *domain_of;
    struct gn_clocks *clocks;
    struct comm **comms;
    size_t comm_count;
    uint64_t used, refused;
};

/* ---- communicators ---- */

static void free_comm(struct comm *c)
{
    if (!c)
        return;
    for (uint32_t i = 0; c->open && i < OPEN_MOST; i++)
        free(c->open[i]);
    free(c->open);
    free(c->domains);
    free(c->slot);
    free(c);
}

static uint32_t slot_of(struct comm *c, uint32_t domain)
{
    uint32_t i = 0;
    while (i < c->domain_count && c->domains[i] != domain)
        i++;
    if (i == c->domain_count)
        c->domains[c->domain_count++] = domain;
    return i;
}

static uint32_t domain_of_process(const struct gn_collective_facts *f, uint32_t process)
{
    uint32_t location = process < f->d->process_count ? f->d->processes[process].main_location : GN_NONE;
    return location == GN_NONE ? GN_NONE : f->domain_of[location];
}

static struct comm *make_comm(const struct gn_collective_facts *f, const struct gn_comm_def *def)
{
    const uint32_t size = def->is_self || def->other_count ? 0 : def->member_count;
    struct comm *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->size = size;
    c->domains = calloc(size + 1, sizeof *c->domains);
    c->slot = calloc(size + 1, sizeof *c->slot);
    c->open = calloc(OPEN_MOST, sizeof(struct instance *));
    if (!c->domains || !c->slot || !c->open) {
        free_comm(c);
        return NULL;
    }
    for (uint32_t m = 0; m < size; m++) {
        uint32_t domain = domain_of_process(f, def->members[m]);
        c->slot[m] = domain == GN_NONE ? GN_NONE : slot_of(c, domain);
    }
    return c;
}

static struct comm *find_comm(struct gn_collective_facts *f, uint32_t comm)
{
    if (comm >= f->comm_count) {
        struct comm **larger = reallocarray(f->comms, f->d->comm_count, sizeof(struct comm *));
        if (!larger)
            return NULL;
        memset(larger + f->comm_count, 0, (f->d->comm_count - f->comm_count) * sizeof(struct comm *));
        f->comms = larger;
        f->comm_count = f->d->comm_count;
    }
    if (!f->comms[comm])
        f->comms[comm] = make_comm(f, &f->d->comms[comm]);
    return f->comms[comm];
}

/* ---- what an instance proves ---- */

static int tell(struct gn_collective_facts *f, const struct comm *c, uint32_t from, const struct span *begin,
                uint32_t to, const struct span *end, bool *any)
{
    if (from == to || !begin->begun || !end->ended)
        return 0;
    *any = true;
    return gn_clocks_message(f->clocks, c->domains[from], begin->begin_ticks, c->domains[to], end->end_ticks);
}

static int tell_all(struct gn_collective_facts *f, const struct comm *c, const struct instance *i, bool *any)
{
    int code = 0;
    for (uint32_t a = 0; a < c->domain_count; a++)
        for (uint32_t b = a + 1; b < (c->domain_count > ALL_PAIRS_MOST && a > 0 ? 0 : c->domain_count); b++) {
            int there = tell(f, c, a, &i->spans[a], b, &i->spans[b], any);
            int back = tell(f, c, b, &i->spans[b], a, &i->spans[a], any);
            code = there ? there : back ? back : code;
        }
    return code;
}

static int tell_from(struct gn_collective_facts *f, const struct comm *c, const struct instance *i,
                     uint32_t member, bool *any)
{
    int code = 0;
    for (uint32_t b = 0; b < c->domain_count && member < c->size && c->slot[member] != GN_NONE; b++) {
        int told = tell(f, c, c->slot[member], &i->first, b, &i->spans[b], any);
        code = told ? told : code;
    }
    return code;
}

static int tell_to(struct gn_collective_facts *f, const struct comm *c, const struct instance *i,
                   uint32_t member, bool *any)
{
    int code = 0;
    for (uint32_t a = 0; a < c->domain_count && member < c->size && c->slot[member] != GN_NONE; a++) {
        int told = tell(f, c, a, &i->spans[a], c->slot[member], &i->last, any);
        code = told ? told : code;
    }
    return code;
}

static enum gn_shape shape_of(const struct instance *i)
{
    return gn_collective_shape(i->op, false);
}

static uint32_t giver(const struct instance *i)
{
    return shape_of(i) == GN_SHAPE_PREFIX ? 0 : i->root;
}

static uint32_t taker(const struct comm *c, const struct instance *i)
{
    return shape_of(i) == GN_SHAPE_PREFIX ? c->size - 1 : i->root;
}

static int tell_instance(struct gn_collective_facts *f, const struct comm *c, const struct instance *i)
{
    const enum gn_shape shape = shape_of(i);
    bool any = false;
    int from = 0, to = 0;
    if (gn_collective_only_may_hold(i->op, false))
        return 0;
    if (shape == GN_SHAPE_ALL_TO_ALL)
        from = tell_all(f, c, i, &any);
    if (shape == GN_SHAPE_ONE_TO_ALL || shape == GN_SHAPE_PREFIX)
        from = tell_from(f, c, i, giver(i), &any);
    if (shape == GN_SHAPE_ALL_TO_ONE || shape == GN_SHAPE_PREFIX)
        to = tell_to(f, c, i, taker(c, i), &any);
    f->used += any;
    return from ? from : to;
}

/* The oldest instance is over. */
static int close_oldest(struct gn_collective_facts *f, struct comm *c)
{
    struct instance **slot = &c->open[c->base++ % OPEN_MOST];
    int code = *slot && !c->refused ? tell_instance(f, c, *slot) : 0;
    free(*slot);
    *slot = NULL;
    return code;
}

/* ---- parts ---- */

struct gn_collective_facts *gn_collective_facts_new(const struct gn_definitions *definitions,
                                                    const uint32_t *domain_of, struct gn_clocks *clocks)
{
    struct gn_collective_facts *f = calloc(1, sizeof *f);
    if (f)
        *f = (struct gn_collective_facts){.d = definitions, .domain_of = domain_of, .clocks = clocks};
    return f;
}

static void refuse(struct gn_collective_facts *f, struct comm *c)
{
    f->refused += !c->refused;
    c->refused = true;
}

/* The instance, or NULL with *code 0 (it is over) or negative. */
static struct instance *instance_of(struct gn_collective_facts *f, struct comm *c, uint32_t number, int *code)
{
    *code = 0;
    if (number < c->base)
        return NULL;
    while (*code == 0 && number - c->base >= OPEN_MOST)
        *code = close_oldest(f, c);
    struct instance **slot = &c->open[number % OPEN_MOST];
    if (*code == 0 && !*slot)
        *slot = calloc(1, sizeof **slot + c->domain_count * sizeof(struct span));
    if (*code == 0 && !*slot)
        *code = -ENOMEM;
    if (number >= c->end)
        c->end = number + 1;
    return *code == 0 ? *slot : NULL;
}

static void began(struct span *span, uint64_t ticks)
{
    if (!span->begun || ticks > span->begin_ticks)
        span->begin_ticks = ticks;
    span->begun = true;
}

static void ended(struct span *span, uint64_t ticks)
{
    if (!span->ended || ticks < span->end_ticks)
        span->end_ticks = ticks;
    span->ended = true;
}

static bool is_proof(const struct gn_fact_part *part, uint64_t bytes)
{
    return gn_collective_rule(part->op).holds == GN_HOLDS_ALWAYS || (bytes > 0 && bytes != GN_BYTES_UNKNOWN);
}

static void take(const struct comm *c, struct instance *i, const struct gn_fact_part *part)
{
    const bool sent = is_proof(part, part->bytes_sent), received = is_proof(part, part->bytes_received);
    struct span *span = &i->spans[c->slot[part->member]];
    if (sent)
        began(span, part->begin_ticks);
    if (received)
        ended(span, part->end_ticks);
    if (sent && part->member == giver(i))
        began(&i->first, part->begin_ticks);
    if (received && part->member == taker(c, i))
        ended(&i->last, part->end_ticks);
}

int gn_collective_facts_end(struct gn_collective_facts *f, const struct gn_fact_part *part)
{
    struct comm *c = part->comm < f->d->comm_count ? find_comm(f, part->comm) : NULL;
    int code;
    if (!c)
        return part->comm < f->d->comm_count ? -ENOMEM : 0;
    if (c->refused || c->domain_count < 2 || part->member >= c->size)
        return 0;
    struct instance *i = instance_of(f, c, part->number, &code);
    if (!i)
        return code;
    const uint32_t root = gn_shape_is_rooted(gn_collective_shape(part->op, false)) ? part->root : GN_NONE;
    if (part->op >= GN_COLLECTIVE_COUNT || (i->any && (i->op != part->op || i->root != root))) {
        refuse(f, c);
        return 0;
    }
    i->any = true;
    i->op = part->op;
    i->root = root;
    if (c->slot[part->member] != GN_NONE)
        take(c, i, part);
    i->ended++;
    while (code == 0 && c->base < c->end && c->open[c->base % OPEN_MOST] &&
           c->open[c->base % OPEN_MOST]->ended >= c->size)
        code = close_oldest(f, c);
    return code;
}

int gn_collective_facts_finish(struct gn_collective_facts *f, uint64_t *used, uint64_t *refused)
{
    int code = 0;
    for (size_t i = 0; i < f->comm_count; i++) {
        while (f->comms[i] && f->comms[i]->base < f->comms[i]->end) {
            int told = close_oldest(f, f->comms[i]);
            code = code ? code : told;
        }
        free_comm(f->comms[i]);
    }
    *used = f->used;
    *refused = f->refused;
    free(f->comms);
    free(f);
    return code;
}
