/* exchange/answering — the parent's side. */
#include "exchange/answering.h"

#include "clock/ticks.h"

#include <errno.h>
#include <stdlib.h>

int gn_answering_init(struct gn_answering *a, uint32_t first, uint32_t count)
{
    *a = (struct gn_answering){.first = first, .count = count};
    a->children = calloc(count ? count : 1, sizeof *a->children);
    return a->children ? 0 : -ENOMEM;
}

void gn_answering_clear(struct gn_answering *a)
{
    free(a->children);
    *a = (struct gn_answering){0};
}

/* The child that this is from and has not said before. */
static struct gn_child *child_of(struct gn_answering *a, const struct gn_datagram *d)
{
    if (d->from < a->first || d->from - a->first >= a->count)
        return NULL;
    struct gn_child *child = &a->children[d->from - a->first];
    if (child->last_ns && child->session != d->session)
        return NULL;
    if (!gn_number_is_new(&child->numbers, d->number))
        return NULL;
    child->session = d->session;
    child->last_ns = gn_monotonic_ns();
    return child;
}

static struct gn_datagram reply(const struct gn_datagram *d, enum gn_datagram_kind kind)
{
    return (struct gn_datagram){
        .kind = kind, .from = d->to, .to = d->from, .session = d->session, .number = d->number};
}

/* The readings follow the answer, since only then it is known when it left. */
static void answer(struct gn_answering *a, struct gn_exchange_line *line, const struct gn_datagram *d,
                   const struct gn_exchange_peer *from, const struct gn_reading *heard)
{
    struct gn_datagram now = reply(d, GN_ANSWER), then = reply(d, GN_READINGS);
    struct gn_reading answered;
    if (gn_line_send(line, from, &now, &answered) != 0)
        return; /* as if it had been lost on the way */
    gn_stamped_socket_check(&line->socket);
    then.heard_ticks = gn_line_shown(line, heard);
    then.answered_ticks = gn_line_shown(line, &answered);
    then.moment_ns = gn_line_moment(line);
    gn_line_send(line, from, &then, NULL);
    a->served++;
}

bool gn_answering_hear(struct gn_answering *a, struct gn_exchange_line *line, const struct gn_datagram *d,
                       const struct gn_exchange_peer *from, const struct gn_reading *heard)
{
    struct gn_datagram farewell = reply(d, GN_FAREWELL);
    struct gn_child *child = child_of(a, d);
    if (!child)
        return false;
    child->gone |= d->kind == GN_GOODBYE; /* a question that was overtaken does not undo it */
    if (d->kind == GN_GOODBYE)
        gn_line_send(line, from, &farewell, NULL);
    else
        answer(a, line, d, from, heard);
    return true;
}

uint64_t gn_answering_until(const struct gn_answering *a, uint64_t silence_ns)
{
    uint64_t until_ns = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        const struct gn_child *child = &a->children[i];
        if (child->last_ns && !child->gone && child->last_ns + silence_ns > until_ns)
            until_ns = child->last_ns + silence_ns;
    }
    return until_ns;
}
