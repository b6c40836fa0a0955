/*
 * Which messages might have been taken in place of each other: those of several senders, of which some
 * receive of a process did not say that it wanted none of the others. Whatever the trace saw: that a receive
 * has always got its message from the same sender does not tell that it asked for that one.
 *
 * Where the trace does not tell what a receive was posted for, it may have been for anybody.
 */
#include "analyse/history_inside.h"

#include <stdlib.h>

/* A message, where and for what its receive was posted. */
struct entry {
    uint32_t process, comm, tag; /* of the receiver; of the message */
    uint32_t step;               /* in which the receive was posted */
    uint32_t asked;
    uint32_t from, to; /* calls */
};

#define ORDER(A, B) ((A) > (B)) - ((A) < (B))

static int by_posting(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->comm != y->comm)
        return ORDER(x->comm, y->comm);
    return x->step != y->step ? ORDER(x->step, y->step) : ORDER(x->asked, y->asked);
}

static int by_tag(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return x->tag != y->tag ? ORDER(x->tag, y->tag) : by_posting(a, b);
}

static uint32_t process_of(const struct gn_history_make *m, uint32_t call)
{
    const uint32_t process = m->d->locations[m->h->calls[call].location].process;
    return process < m->d->process_count ? process : (uint32_t)m->d->process_count;
}

static bool is_open(const struct gn_history_make *m, const struct entry *e)
{
    return m->asked[e->asked].from != GN_ASKED_NAMED;
}

/* Which processes send messages to which. */
struct talk {
    struct gn_map pairs;
};

static struct gn_key pair(uint32_t from, uint32_t to)
{
    return (struct gn_key){from, to};
}

static int note_talk(const struct gn_history_make *m, struct talk *talk)
{
    for (size_t i = 0; i < m->matched_count; i++) {
        const struct gn_key key = pair(process_of(m, m->matched[i].from), process_of(m, m->matched[i].to));
        if (!gn_map_find(&talk->pairs, key) && !gn_map_add(&talk->pairs, key, talk))
            return -ENOMEM;
    }
    return 0;
}

static bool said_anybody(const struct gn_history_make *m, const struct entry *e)
{
    return m->asked[e->asked].from == GN_ASKED_ANYBODY;
}

/* All receives were posted alike, and nobody gets an answer: that would go to whoever came. Where the trace
 * does not tell of any receive that it was for anybody, that is assumed. */
static bool is_alike(const struct gn_history_make *m, const struct entry *entries, size_t count,
                     const struct talk *talk)
{
    size_t open = 0;
    bool differ = false;
    for (size_t i = 0; i < count; i++) {
        open += said_anybody(m, &entries[i]);
        differ = differ || m->asked[entries[i].asked].tag != m->asked[entries[0].asked].tag ||
                 gn_map_find(&talk->pairs, pair(entries[i].process, process_of(m, entries[i].from)));
    }
    return open == 0 || (open == count && !differ);
}

static bool may_compete(const struct gn_history_make *m, const struct entry *entries, size_t count)
{
    const struct gn_call *calls = m->h->calls;
    bool several = false, open = false;
    for (size_t i = 0; i < count; i++) {
        several = several || calls[entries[i].from].location != calls[entries[0].from].location;
        open = open || is_open(m, &entries[i]);
    }
    return several && open;
}

static int add_contest(struct gn_history_make *m, const struct entry *entries, size_t count,
                       const struct talk *talk, size_t *capacity)
{
    struct gn_history *h = m->h;
    if (!may_compete(m, entries, count))
        return 0;
    if (!gn_grow(&h->contests, capacity, h->contest_count, sizeof *h->contests))
        return -ENOMEM;
    struct gn_rivals *contest = &h->contests[h->contest_count];
    const uint32_t first =
        h->contest_count ? h->contests[h->contest_count - 1].first + h->contests[h->contest_count - 1].count
                         : 0;
    *contest = (struct gn_rivals){first, (uint32_t)count, is_alike(m, entries, count, talk)};
    h->contest_count++;
    for (size_t i = 0; i < count; i++) {
        h->rivals[first + i] = (struct gn_rival){entries[i].from, entries[i].to, is_open(m, &entries[i])};
        h->any_source += is_open(m, &entries[i]);
        h->unnamed += m->asked[entries[i].asked].from == GN_ASKED_UNKNOWN;
    }
    return 0;
}

/* Some receive may have taken a message with any tag. */
static bool mixes_tags(const struct gn_history_make *m, const struct entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t tag = m->asked[entries[i].asked].tag;
        if (is_open(m, &entries[i]) && (tag == GN_ANY || tag == GN_NONE))
            return true;
    }
    return false;
}

/* Of a process on a communicator. */
static int look_at(struct gn_history_make *m, struct entry *entries, size_t count, const struct talk *talk,
                   size_t *capacity)
{
    if (!may_compete(m, entries, count))
        return 0;
    if (mixes_tags(m, entries, count))
        return add_contest(m, entries, count, talk, capacity);
    qsort(entries, count, sizeof *entries, by_tag);
    int code = 0;
    for (size_t first = 0, end; first < count && code == 0; first = end) {
        for (end = first + 1; end < count && entries[end].tag == entries[first].tag;)
            end++;
        code = add_contest(m, entries + first, end - first, talk, capacity);
    }
    return code;
}

/* Of a process. Those that end where they are posted have come in their order. */
static int look_at_process(struct gn_history_make *m, struct entry *entries, size_t count,
                           const struct talk *talk, size_t *capacity)
{
    size_t in_order = 1;
    int code = 0;
    while (in_order < count && by_posting(&entries[in_order - 1], &entries[in_order]) < 0)
        in_order++;
    if (in_order < count)
        qsort(entries, count, sizeof *entries, by_posting);
    for (size_t first = 0, end; first < count && code == 0; first = end) {
        for (end = first + 1; end < count && entries[end].comm == entries[first].comm;)
            end++;
        code = look_at(m, entries + first, end - first, talk, capacity);
    }
    return code;
}

/* A message of a collective neighbour, or of a partitioned request, no receive takes that said MPI_ANY_TAG.
 */
static bool may_be_taken(const struct gn_matched *one)
{
    return one->tag == GN_NONE || one->tag < GN_TAG_PARTITIONED;
}

/* By process, in the order in which they come. ends[process] is where the process's end. */
static void collect(const struct gn_history_make *m, struct entry *entries, size_t *ends)
{
    for (size_t i = 0; i < m->matched_count; i++)
        ends[process_of(m, m->matched[i].to) + 1] += may_be_taken(&m->matched[i]);
    for (size_t p = 0; p < m->d->process_count; p++)
        ends[p + 1] += ends[p];
    for (size_t i = 0; i < m->matched_count; i++) {
        const struct gn_matched *one = &m->matched[i];
        const uint32_t process = process_of(m, one->to);
        if (!may_be_taken(one))
            continue;
        entries[ends[process]++] = (struct entry){process,    one->comm, one->tag, m->entered[one->posted],
                                                  one->asked, one->from, one->to};
    }
}

static int look_at_all(struct gn_history_make *m, struct entry *entries, const struct talk *talk)
{
    size_t *ends = calloc(m->d->process_count + 2, sizeof *ends), capacity = 0;
    int code = ends ? 0 : -ENOMEM;
    if (code == 0)
        collect(m, entries, ends);
    for (size_t p = 0, first = 0; p < m->d->process_count && code == 0; first = ends[p++])
        code = look_at_process(m, entries + first, ends[p] - first, talk, &capacity);
    free(ends);
    return code;
}

int gn_history_rivals(struct gn_history_make *m)
{
    struct talk talk = {{NULL, 0, 0}};
    bool any = false, is_said = false;
    for (size_t i = 0; i < m->asked_count && !is_said; i++) {
        any = any || m->asked[i].from != GN_ASKED_NAMED;
        is_said = m->asked[i].from == GN_ASKED_ANYBODY;
    }
    if (!any || m->matched_count == 0)
        return 0;
    struct entry *entries = malloc(m->matched_count * sizeof *entries);
    m->h->rivals = malloc(m->matched_count * sizeof *m->h->rivals);
    int code = !entries || !m->h->rivals ? -ENOMEM : is_said ? note_talk(m, &talk) : 0;
    if (code == 0)
        code = look_at_all(m, entries, &talk);
    gn_map_clear(&talk.pairs);
    free(entries);
    return code;
}
