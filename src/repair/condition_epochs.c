#include "repair/condition_epochs.h"

#include "base/grow.h"
#include "base/map.h"
#include "causality/epochs.h"

#include <errno.h>
#include <stdlib.h>

/* Ends without the other that a pair of processes may have: with more, one of the two does not say all it
 * does. */
enum { OPEN_MOST = 1 << 16 };

struct moment {
    int64_t ticks;
    uint32_t location;
};

/* Of a window, from one process to another: completions that nobody has waited for, or the other way round.
 */
struct channel {
    struct moment *open;
    size_t first, count, capacity; /* open[first … first + count) */
    bool are_sends, is_over;       /* is_over: nothing is matched any more */
};

struct gn_condition_epochs {
    const struct gn_definitions *d;
    struct gn_condition_epochs_sink sink;
    struct gn_condition_coverage *coverage;
    struct gn_epochs *epochs;
    struct gn_map channels;
};

/* ---- channels ---- */

static struct channel *find_channel(struct gn_condition_epochs *e, uint32_t window, uint32_t from,
                                    uint32_t to)
{
    const struct gn_key key = {window, (uint64_t)from << 32 | to};
    struct channel *c = gn_map_find(&e->channels, key);
    if (c || !(c = calloc(1, sizeof *c)))
        return c;
    if (gn_map_add(&e->channels, key, c))
        return c;
    free(c);
    return NULL;
}

static void stop(struct channel *c)
{
    free(c->open);
    *c = (struct channel){.is_over = true};
}

static int keep(struct channel *c, const struct moment *m)
{
    if (c->count >= OPEN_MOST) {
        stop(c);
        return 0;
    }
    if (c->first > c->count) { /* so that room is made now and then */
        for (size_t i = 0; i < c->count; i++)
            c->open[i] = c->open[c->first + i];
        c->first = 0;
    }
    if (!gn_grow(&c->open, &c->capacity, c->first + c->count, sizeof *c->open))
        return -ENOMEM;
    c->open[c->first + c->count++] = *m;
    return 0;
}

static void tell(struct gn_condition_epochs *e, const struct moment *sent, const struct moment *received)
{
    e->coverage->all--; /* both ends of it were counted */
    e->coverage->checked++;
    e->sink.message(e->sink.self, &(struct gn_condition_message){sent->location, received->location,
                                                                 sent->ticks, received->ticks, false});
}

static int meet(struct gn_condition_epochs *e, struct channel *c, const struct moment *m, bool sends)
{
    if (c->is_over)
        return 0;
    if (c->count == 0 || c->are_sends == sends) {
        c->are_sends = sends;
        return keep(c, m);
    }
    const struct moment other = c->open[c->first++];
    c->count--;
    if (sends)
        tell(e, m, &other);
    else
        tell(e, &other, m);
    return 0;
}

static int half(void *self, const struct gn_epoch_half *h)
{
    struct gn_condition_epochs *e = self;
    e->coverage->all++;
    if (!h->is_countable)
        return 0;
    struct channel *c = find_channel(e, h->window, h->from, h->to);
    const struct moment moment = {(int64_t)h->ticks, h->location};
    return c ? meet(e, c, &moment, h->is_send) : -ENOMEM;
}

int gn_condition_epochs_event(struct gn_condition_epochs *e, const struct gn_event *event)
{
    return gn_epochs_event(e->epochs, event);
}

void gn_condition_epochs_leave(struct gn_condition_epochs *e, uint32_t process)
{
    gn_epochs_lose(e->epochs, process);
}

/* ---- all ---- */

struct gn_condition_epochs *gn_condition_epochs_new(const struct gn_definitions *definitions,
                                                    const struct gn_condition_epochs_sink *sink,
                                                    struct gn_condition_coverage *coverage)
{
    struct gn_condition_epochs *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    *e = (struct gn_condition_epochs){.d = definitions, .sink = *sink, .coverage = coverage};
    e->epochs = gn_epochs_new(definitions, &(struct gn_epochs_sink){.self = e, .half = half});
    if (e->epochs)
        return e;
    free(e);
    return NULL;
}

static bool drop(void *value, void *with)
{
    (void)with;
    free(((struct channel *)value)->open);
    free(value);
    return true;
}

void gn_condition_epochs_free(struct gn_condition_epochs *e)
{
    if (!e)
        return;
    if (e->channels.count > 0)
        gn_map_sweep(&e->channels, drop, NULL);
    gn_map_clear(&e->channels);
    gn_epochs_free(e->epochs);
    free(e);
}
