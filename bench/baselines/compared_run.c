#include "baselines/compared_run.h"

#include "base/grow.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct kept {
    struct gn_exchange *exchanges;
    struct gn_compared_message *messages;
    size_t count, message_count, message_capacity;
};

static bool add_message(struct kept *k, uint64_t sent_ticks, uint64_t received_ticks, bool to_parent)
{
    if (!gn_grow(&k->messages, &k->message_capacity, k->message_count, sizeof *k->messages))
        return false;
    k->messages[k->message_count++] = (struct gn_compared_message){sent_ticks, received_ticks, to_parent};
    return true;
}

static bool add_messages(struct kept *k, const struct gn_exchange *x)
{
    return (!x->there || add_message(k, x->asked_ticks, x->heard_ticks, true)) &&
           (!x->back || add_message(k, x->answered_ticks, x->received_ticks, false));
}

static int read_kept(struct kept *k, sqlite3 *db, const char *domain, struct gn_error *err)
{
    int code = gn_profile_read_exchanges(db, domain, &k->exchanges, &k->count, err);
    for (size_t i = 0; i < k->count && code == 0; i++)
        if (!add_messages(k, &k->exchanges[i]))
            code = gn_fail(err, -ENOMEM, "no memory for the exchanges of %s", domain);
    return code;
}

static void clear_kept(struct kept *k)
{
    free(k->exchanges);
    free(k->messages);
}

struct same {
    uint64_t epoch_ticks;
    double hz;
};

/* Both clocks are one: the parent reads what the child reads. */
static struct gn_interval truth_of_same(void *context, uint64_t ticks)
{
    const struct same *same = context;
    long double since = (long double)ticks - (long double)same->epoch_ticks;
    return (struct gn_interval){(int64_t)floorl(since * 1e9L / same->hz),
                                (int64_t)ceill((since + 1) * 1e9L / same->hz)};
}

static const struct gn_clock_row *parent_of(const struct gn_profile_clocks *profile,
                                            const struct gn_clock_row *row)
{
    for (uint32_t i = 0; row->parent && i < profile->count; i++)
        if (strcmp(profile->rows[i].domain, row->parent) == 0)
            return &profile->rows[i];
    return NULL;
}

static int compare_one(struct gn_compared_clock *clock, const struct gn_clock_row *row,
                       const struct gn_clock_row *parent, const struct kept *k,
                       const struct gn_assumption *assumption, bool same_counter, struct gn_error *err)
{
    struct same same = {parent->epoch_ticks, parent->def.hz};
    struct gn_comparison_input input = {.pair = {.exchanges = k->exchanges,
                                                 .count = k->count,
                                                 .child = row->def,
                                                 .parent = parent->def,
                                                 .epoch_ticks = parent->epoch_ticks},
                                        .assumption = *assumption,
                                        .truth = same_counter ? truth_of_same : NULL,
                                        .truth_context = &same,
                                        .messages = k->messages,
                                        .message_count = k->message_count,
                                        .least_ns = -1};
    clock->clock = row->domain;
    clock->parent = parent->domain;
    return gn_compare(&input, clock->methods, err);
}

static int compare_all(struct gn_compared_run *run, sqlite3 *db, bool same_counter, struct gn_error *err)
{
    const struct gn_assumption assumption = gn_profile_assumption(db);
    int code = 0;
    for (uint32_t i = 0; i < run->profile.count && code == 0; i++) {
        const struct gn_clock_row *row = &run->profile.rows[i], *parent = parent_of(&run->profile, row);
        struct kept kept = {.count = 0};
        if (parent)
            code = read_kept(&kept, db, row->domain, err);
        if (code == 0 && kept.count > 0)
            code =
                compare_one(&run->clocks[run->count++], row, parent, &kept, &assumption, same_counter, err);
        clear_kept(&kept);
    }
    if (code == 0 && run->count == 0)
        return gn_fail(err, -ENODATA,
                       "no exchanges were kept one by one: gnomon run --keep-exchanges N and gnomon clock "
                       "--keep do that, of a run with several hosts");
    return code;
}

int gn_compared_run(struct gn_compared_run *run, sqlite3 *db, bool same_counter, struct gn_error *err)
{
    *run = (struct gn_compared_run){.count = 0};
    int code = gn_profile_read_clocks(db, &run->profile, err);
    if (code != 0)
        return code;
    run->clocks = calloc(run->profile.count + 1, sizeof *run->clocks);
    code = run->clocks ? compare_all(run, db, same_counter, err)
                       : gn_fail(err, -ENOMEM, "no memory to compare methods");
    if (code != 0)
        gn_compared_run_clear(run);
    return code;
}

void gn_compared_run_clear(struct gn_compared_run *run)
{
    free(run->clocks);
    gn_profile_clocks_clear(&run->profile);
    *run = (struct gn_compared_run){.count = 0};
}
