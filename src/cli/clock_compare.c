#include "cli/clock_compare.h"

#include "base/grow.h"
#include "profile/clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

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

static int compare_one(const struct gn_clock_report *r, struct gn_clock_host *host, const struct kept *k,
                       bool same_counter, struct gn_error *err)
{
    const struct gn_clock_row *parent = r->hosts[host->parent].row;
    struct same same = {parent->epoch_ticks, parent->def.hz};
    struct gn_comparison_input input = {.pair = {.exchanges = k->exchanges,
                                                 .count = k->count,
                                                 .child = host->row->def,
                                                 .parent = parent->def,
                                                 .epoch_ticks = parent->epoch_ticks},
                                        .assumption = r->assumption,
                                        .truth = same_counter ? truth_of_same : NULL,
                                        .truth_context = &same,
                                        .messages = k->messages,
                                        .message_count = k->message_count,
                                        .least_ns = -1};
    host->compared = calloc(GN_COMPARED_METHODS, sizeof *host->compared);
    if (!host->compared)
        return gn_fail(err, -ENOMEM, "no memory to compare methods");
    int code = gn_compare(&input, host->compared, err);
    if (code == 0)
        return 0;
    free(host->compared);
    host->compared = NULL;
    return code;
}

int gn_clock_compare(struct gn_clock_report *r, sqlite3 *db, bool same_counter, struct gn_error *err)
{
    int code = 0;
    bool any = false;
    for (uint32_t i = 0; i < r->count && code == 0; i++) {
        struct kept kept = {.count = 0};
        if (r->hosts[i].parent != UINT32_MAX)
            code = read_kept(&kept, db, r->hosts[i].row->domain, err);
        if (code == 0 && kept.count > 0) {
            any = true;
            code = compare_one(r, &r->hosts[i], &kept, same_counter, err);
        }
        clear_kept(&kept);
    }
    if (code == 0 && !any)
        return gn_fail(
            err, -ENODATA,
            "no exchanges were kept one by one: only `gnomon clock` does that, of a run with several "
            "hosts (mpirun … gnomon clock --compare)");
    return code;
}
