#include "capture/postings.h"

#include "capture/overlaps.h"

#include <stddef.h>

enum verdict { CLEAR, WAIT, LOST };
#define FOR_EVER UINT32_MAX

void gn_postings_init(struct gn_postings *p, struct gn_counts *counts, gn_number_late *late)
{
    p->counts = counts;
    p->late = late;
    p->lost = UINT64_MAX;
    p->most_records = GN_POSTINGS;
    p->most_groups = GN_POSTING_GROUPS;
    p->most_corrections = GN_CORRECTIONS;
    p->epoch = p->settled_epoch = p->floor = GN_EPOCH_FIRST;
}

static uint64_t bare(uint64_t number)
{
    return number & ~GN_NUMBER_UNORDERED;
}

static uint64_t unnumbered(struct gn_postings *p, enum gn_unnumbered reason)
{
    p->unnumbered[reason]++;
    return GN_UNNUMBERED;
}

/* ---- records and lists ---- */

static struct gn_posting *at(struct gn_postings *p, uint32_t index)
{
    return &p->records[index - 1];
}

static uint32_t index_of(const struct gn_postings *p, const struct gn_posting *record)
{
    return (uint32_t)(record - p->records) + 1;
}

static struct gn_posting *new_record(struct gn_postings *p)
{
    if (p->unused) {
        struct gn_posting *record = at(p, p->unused);
        p->unused = record->next;
        return record;
    }
    return p->fresh < p->most_records ? &p->records[p->fresh++] : NULL;
}

static void free_record(struct gn_postings *p, struct gn_posting *record)
{
    record->next = p->unused;
    p->unused = index_of(p, record);
}

static void take_out(struct gn_postings *p, struct gn_posting_list *list, struct gn_posting *record)
{
    *(record->previous ? &at(p, record->previous)->next : &list->first) = record->next;
    *(record->next ? &at(p, record->next)->previous : &list->last) = record->previous;
}

static void put_behind(struct gn_postings *p, struct gn_posting_list *list, uint32_t after,
                       struct gn_posting *record)
{
    record->previous = after;
    record->next = after ? at(p, after)->next : list->first;
    *(after ? &at(p, after)->next : &list->first) = index_of(p, record);
    *(record->next ? &at(p, record->next)->previous : &list->last) = index_of(p, record);
}

/* At its place in posting order, which is mostly the end. */
static void put_in(struct gn_postings *p, struct gn_posting_list *list, struct gn_posting *record)
{
    uint32_t after = list->last;
    while (after && at(p, after)->when > record->when)
        after = at(p, after)->previous;
    put_behind(p, list, after, record);
}

/* ---- groups ---- */

static struct gn_posting_group *find_group(struct gn_postings *p, uint32_t comm, int32_t source, int32_t tag)
{
    for (uint32_t i = 0; i < p->group_count; i++) {
        struct gn_posting_group *group = &p->groups[i];
        if (group->comm == comm && group->source == source && group->tag == tag)
            return group;
    }
    return NULL;
}

/* NULL: no room; from here on nothing is numbered. */
static struct gn_posting_group *make_group(struct gn_postings *p, uint32_t comm, int32_t source, int32_t tag,
                                           uint64_t when)
{
    struct gn_posting_group *group = find_group(p, comm, source, tag);
    if (group)
        return group;
    if (p->group_count == p->most_groups) {
        p->lost = when < p->lost ? when : p->lost;
        p->met = UINT64_MAX;
        return NULL;
    }
    group = &p->groups[p->group_count++];
    *group = (struct gn_posting_group){.comm = comm, .source = source, .tag = tag, .lost = UINT64_MAX};
    p->met |= UINT64_C(1) << comm % 64;
    return group;
}

static void drop_group(struct gn_postings *p, struct gn_posting_group *group)
{
    *group = p->groups[--p->group_count];
    if (p->lost != UINT64_MAX)
        return;
    p->met = 0;
    for (uint32_t i = 0; i < p->group_count; i++)
        p->met |= UINT64_C(1) << p->groups[i].comm % 64;
}

static void lose(struct gn_postings *p, uint32_t comm, int32_t source, int32_t tag, uint64_t when)
{
    struct gn_posting_group *group = make_group(p, comm, source, tag, when);
    if (group && when < group->lost)
        group->lost = when;
}

/* Whether all that was posted before `when`, and may have taken a message of the channel, is settled. */
static enum verdict verdict_at(struct gn_postings *p, uint32_t comm, int32_t source, int32_t tag,
                               uint64_t when)
{
    enum verdict verdict = p->lost < when ? LOST : CLEAR;
    for (uint32_t i = 0; i < p->group_count && verdict != LOST; i++) {
        const struct gn_posting_group *group = &p->groups[i];
        if (group->comm != comm || !gn_peers_meet(group->source, source) || !gn_tags_meet(group->tag, tag))
            continue;
        if (group->lost < when)
            verdict = LOST;
        else if (group->open.first && at(p, group->open.first)->when < when)
            verdict = WAIT;
    }
    return verdict;
}

/* ---- numbers, and what makes them wrong ---- */

static uint64_t next_number(struct gn_postings *p, uint32_t comm, int32_t source, int32_t tag, bool unordered)
{
    struct gn_count *count = gn_count_at(p->counts, gn_count_where(comm, source), tag);
    if (!count)
        return unnumbered(p, GN_UNNUMBERED_ROOM);
    if (count->next == GN_COUNT_SPOILED)
        return unnumbered(p, GN_UNNUMBERED_FAILED);
    p->unnumbered[GN_UNNUMBERED_OVERLAP] += unordered;
    return count->next++ | (unordered ? GN_NUMBER_UNORDERED : 0);
}

static void settle_epoch(struct gn_postings *p)
{
    p->settled_epoch = p->cancelling.first ? GN_EPOCH_NONE : p->epoch;
}

/* No number that was given and not asked for yet is good. The way out where there is no room to know better.
 */
static void void_all(struct gn_postings *p)
{
    p->floor = ++p->epoch;
    p->correction_count = 0;
    settle_epoch(p);
}

/* For the `left` receives whose numbers are above; FOR_EVER: not known how many. */
static void correct(struct gn_postings *p, const struct gn_posting *gone, uint64_t left, bool void_)
{
    if (left == 0)
        return;
    if (p->correction_count == p->most_corrections) {
        void_all(p);
        return;
    }
    p->corrections[p->correction_count++] =
        (struct gn_correction){.number = bare(gone->number),
                               .where = gn_count_where(gone->comm, gone->source),
                               .tag = gone->tag,
                               .epoch = ++p->epoch,
                               .left = left < FOR_EVER ? (uint32_t)left : FOR_EVER,
                               .void_ = void_};
}

static void sweep_corrections(struct gn_postings *p)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->correction_count; i++)
        if (p->corrections[i].left)
            p->corrections[kept++] = p->corrections[i];
    p->correction_count = kept;
}

/* A number as of *epoch becomes one as of now. */
static uint64_t current(struct gn_postings *p, uint64_t number, uint32_t *epoch, uint64_t where, int32_t tag)
{
    bool passed = false;
    if (number == GN_UNNUMBERED || *epoch == p->epoch)
        return number;
    if (*epoch < p->floor)
        number = unnumbered(p, GN_UNNUMBERED_ROOM);
    for (uint32_t i = 0; i < p->correction_count && number != GN_UNNUMBERED; i++) {
        struct gn_correction *correction = &p->corrections[i];
        if (correction->epoch <= *epoch || correction->where != where || correction->tag != tag ||
            bare(number) <= correction->number)
            continue;
        passed |= correction->left != FOR_EVER && --correction->left == 0;
        number = correction->void_ ? unnumbered(p, GN_UNNUMBERED_FAILED) : number - 1;
    }
    *epoch = p->epoch;
    if (passed)
        sweep_corrections(p);
    return number;
}

static void update(struct gn_postings *p, struct gn_posting *record)
{
    record->number =
        current(p, record->number, &record->epoch, gn_count_where(record->comm, record->source), record->tag);
}

/* Brings the number up to date. False: whether a receive ahead of it on its channel is cancelled is not
 * known. */
static bool is_final(struct gn_postings *p, struct gn_posting *record)
{
    update(p, record);
    if (record->number == GN_UNNUMBERED)
        return true;
    for (uint32_t i = p->cancelling.first; i; i = at(p, i)->next) {
        struct gn_posting *ahead = at(p, i);
        if (ahead->comm != record->comm || ahead->source != record->source || ahead->tag != record->tag)
            continue;
        update(p, ahead);
        if (ahead->number == GN_UNNUMBERED || bare(ahead->number) < bare(record->number))
            return false;
    }
    return true;
}

/* ---- ends ---- */

/* The number of what is complete, or GN_NUMBER_LATER: a cancel ahead of it is not settled. */
static uint64_t end(struct gn_postings *p, struct gn_posting *record)
{
    if (is_final(p, record)) {
        free_record(p, record);
        return record->number;
    }
    record->state = GN_DEFERRED;
    put_in(p, &p->deferred, record);
    return GN_NUMBER_LATER;
}

static void tell(struct gn_postings *p, const struct gn_posting *record, void *context)
{
    if (!record->freed)
        p->late(context, record->id, record->number);
}

static void give_number(struct gn_postings *p, struct gn_posting *record, enum verdict verdict)
{
    record->state = GN_NUMBERED;
    record->number = verdict == LOST
                         ? unnumbered(p, GN_UNNUMBERED_FREED)
                         : next_number(p, record->comm, record->source, record->tag, record->unordered);
    record->epoch = p->epoch;
}

static void end_if_complete(struct gn_postings *p, struct gn_posting *record, void *context)
{
    if ((record->complete || record->freed) && end(p, record) != GN_NUMBER_LATER)
        tell(p, record, context);
}

/* The first that was posted behind place `when`, looked for from the end: those ahead of it may be many that
 * wait for something else. */
static uint32_t known_behind(struct gn_postings *p, uint64_t when)
{
    uint32_t first = 0;
    for (uint32_t i = p->known.last; i && at(p, i)->when > when; i = at(p, i)->previous)
        first = i;
    return first;
}

/* Numbers for those that waited for what was posted at place `from` and is settled now; nobody from place
 * `until` on was waiting for it alone. */
static void release(struct gn_postings *p, uint64_t from, uint64_t until, void *context)
{
    for (uint32_t i = known_behind(p, from), next; i; i = next) {
        struct gn_posting *record = at(p, i);
        next = record->next;
        if (record->when > until)
            return;
        enum verdict verdict = verdict_at(p, record->comm, record->source, record->tag, record->when);
        if (verdict == WAIT)
            continue;
        take_out(p, &p->known, record);
        give_number(p, record, verdict);
        end_if_complete(p, record, context);
    }
}

/* Those behind the first of their group that have been settled before it. */
static void pull_settled(struct gn_postings *p, struct gn_posting_list *open)
{
    uint32_t after = 0;
    while (open->first && at(p, open->first)->state == GN_SETTLED) {
        struct gn_posting *record = at(p, open->first);
        for (uint32_t i = after ? at(p, after)->next : p->known.first; i && at(p, i)->when < record->when;
             i = at(p, i)->next)
            after = i;
        take_out(p, open, record);
        record->state = GN_KNOWN;
        put_behind(p, &p->known, after, record);
        after = index_of(p, record);
    }
}

/* An open one leaves its group. Until which place others may have waited for it; 0: for none. */
static uint64_t leave_group(struct gn_postings *p, struct gn_posting *record)
{
    struct gn_posting_group *group = find_group(p, record->comm, record->source, record->tag);
    bool first = group->open.first == index_of(p, record);
    take_out(p, &group->open, record);
    pull_settled(p, &group->open);
    uint64_t until = group->open.first ? at(p, group->open.first)->when : UINT64_MAX;
    if (!group->open.first && group->lost == UINT64_MAX)
        drop_group(p, group);
    return first ? until : 0;
}

static void end_cancelling(struct gn_postings *p, struct gn_posting *record)
{
    take_out(p, &p->cancelling, record);
    settle_epoch(p);
}

/* A cancel is settled: those that waited for it. */
static void release_deferred(struct gn_postings *p, void *context)
{
    for (uint32_t i = p->deferred.first, next; i; i = next) {
        struct gn_posting *record = at(p, i);
        next = record->next;
        if (!is_final(p, record))
            continue;
        take_out(p, &p->deferred, record);
        free_record(p, record);
        tell(p, record, context);
    }
}

/* ---- what the caller says ---- */

static void wait_in_record(struct gn_receive *receive, const struct gn_postings *p,
                           const struct gn_posting *record)
{
    receive->epoch = GN_EPOCH_WAITING;
    receive->number = index_of(p, record);
}

static void add_exact(struct gn_postings *p, struct gn_receive *receive, bool unordered, uint64_t when)
{
    enum verdict verdict = verdict_at(p, receive->comm, receive->source, receive->tag, when);
    if (verdict == CLEAR) {
        receive->number = next_number(p, receive->comm, receive->source, receive->tag, unordered);
        return;
    }
    struct gn_posting *record = verdict == WAIT ? new_record(p) : NULL;
    if (!record) {
        receive->number = unnumbered(p, verdict == LOST ? GN_UNNUMBERED_FREED : GN_UNNUMBERED_ROOM);
        if (verdict == WAIT)
            gn_count_spoil(p->counts, gn_count_where(receive->comm, receive->source), receive->tag);
        return;
    }
    *record = (struct gn_posting){.when = when,
                                  .comm = receive->comm,
                                  .source = receive->source,
                                  .tag = receive->tag,
                                  .state = GN_KNOWN,
                                  .unordered = unordered};
    put_in(p, &p->known, record);
    wait_in_record(receive, p, record);
}

static void add_wildcard(struct gn_postings *p, struct gn_receive *receive, bool unordered, uint64_t when)
{
    struct gn_posting_group *group = make_group(p, receive->comm, receive->source, receive->tag, when);
    struct gn_posting *record = group ? new_record(p) : NULL;
    if (!record) {
        receive->number = unnumbered(p, GN_UNNUMBERED_ROOM);
        if (group && when < group->lost)
            group->lost = when;
        return;
    }
    *record = (struct gn_posting){.when = when,
                                  .comm = receive->comm,
                                  .source = receive->source,
                                  .tag = receive->tag,
                                  .state = GN_OPEN,
                                  .unordered = unordered};
    put_in(p, &group->open, record);
    wait_in_record(receive, p, record);
}

void gn_posting_add(struct gn_postings *p, struct gn_receive *receive, uint32_t comm, int32_t source,
                    int32_t tag, bool unordered)
{
    *receive = (struct gn_receive){.epoch = p->epoch, .comm = comm, .source = source, .tag = tag};
    if (source == GN_NUMBER_ANY || tag == GN_NUMBER_ANY)
        add_wildcard(p, receive, unordered, ++p->clock);
    else
        add_exact(p, receive, unordered, ++p->clock);
}

/* The record of a receive that counted when it was posted; NULL: no room. */
static struct gn_posting *record_of_counted(struct gn_postings *p, const struct gn_receive *receive)
{
    struct gn_posting *record = new_record(p);
    if (record)
        *record = (struct gn_posting){.when = ++p->clock,
                                      .number = receive->number,
                                      .epoch = receive->epoch,
                                      .comm = receive->comm,
                                      .source = receive->source,
                                      .tag = receive->tag,
                                      .state = GN_NUMBERED};
    return record;
}

static void cancel_known(struct gn_postings *p, struct gn_posting *record)
{
    struct gn_posting_group *group = make_group(p, record->comm, record->source, record->tag, record->when);
    take_out(p, &p->known, record);
    if (!group) { /* and with it all that was posted later is lost */
        give_number(p, record, LOST);
        return;
    }
    record->state = GN_OPEN;
    put_in(p, &group->open, record);
}

static void cancel_numbered(struct gn_postings *p, struct gn_posting *record)
{
    if (record->number == GN_UNNUMBERED)
        return;
    record->state = GN_CANCELLING;
    put_in(p, &p->cancelling, record);
    p->settled_epoch = GN_EPOCH_NONE;
}

void gn_posting_cancel(struct gn_postings *p, struct gn_receive *receive)
{
    if (receive->epoch != GN_EPOCH_WAITING) {
        if (receive->number == GN_UNNUMBERED)
            return;
        struct gn_posting *record = record_of_counted(p, receive);
        if (!record) {
            gn_count_spoil(p->counts, gn_count_where(receive->comm, receive->source), receive->tag);
            receive->number = unnumbered(p, GN_UNNUMBERED_ROOM);
            void_all(p);
            return;
        }
        wait_in_record(receive, p, record);
    }
    struct gn_posting *record = at(p, (uint32_t)receive->number);
    if (record->state == GN_KNOWN)
        cancel_known(p, record);
    else if (record->state == GN_NUMBERED)
        cancel_numbered(p, record);
}

static bool is_first(struct gn_postings *p, const struct gn_posting *record)
{
    return find_group(p, record->comm, record->source, record->tag)->open.first == index_of(p, record);
}

/* A wildcard, or one that waits for its cancel and for others, has taken a message. */
static uint64_t complete_open(struct gn_postings *p, struct gn_posting *record, int32_t source, int32_t tag,
                              void *context)
{
    if (!is_first(p, record)) {
        record->state = GN_SETTLED;
        record->source = source;
        record->tag = tag;
        return GN_NUMBER_LATER;
    }
    const uint64_t when = record->when;
    uint64_t until = leave_group(p, record), number = GN_NUMBER_LATER;
    record->source = source;
    record->tag = tag;
    enum verdict verdict = verdict_at(p, record->comm, source, tag, record->when);
    if (verdict == WAIT) {
        record->state = GN_KNOWN;
        put_in(p, &p->known, record);
    } else {
        give_number(p, record, verdict);
        number = end(p, record);
    }
    if (until)
        release(p, when, until, context);
    return number;
}

static uint64_t complete_numbered(struct gn_postings *p, struct gn_posting *record, void *context)
{
    bool cancelling = record->state == GN_CANCELLING;
    if (cancelling)
        end_cancelling(p, record);
    uint64_t number = end(p, record);
    if (cancelling)
        release_deferred(p, context);
    return number;
}

static uint64_t complete_counted(struct gn_postings *p, const struct gn_receive *receive, uint64_t id)
{
    struct gn_posting copy = {.number = receive->number,
                              .epoch = receive->epoch,
                              .comm = receive->comm,
                              .source = receive->source,
                              .tag = receive->tag};
    if (is_final(p, &copy))
        return copy.number;
    struct gn_posting *record = new_record(p);
    if (!record) {
        gn_count_spoil(p->counts, gn_count_where(copy.comm, copy.source), copy.tag);
        void_all(p); /* a correction for it may be under way, which it will not meet */
        return unnumbered(p, GN_UNNUMBERED_ROOM);
    }
    *record = copy;
    record->when = ++p->clock;
    record->id = id;
    record->complete = true;
    record->state = GN_DEFERRED;
    put_in(p, &p->deferred, record);
    return GN_NUMBER_LATER;
}

uint64_t gn_posting_complete(struct gn_postings *p, const struct gn_receive *receive, int32_t source,
                             int32_t tag, uint64_t id, void *context)
{
    if (receive->epoch != GN_EPOCH_WAITING)
        return complete_counted(p, receive, id);
    struct gn_posting *record = at(p, (uint32_t)receive->number);
    record->complete = true;
    record->id = id;
    if (record->state == GN_KNOWN)
        return GN_NUMBER_LATER;
    return record->state == GN_OPEN ? complete_open(p, record, source, tag, context)
                                    : complete_numbered(p, record, context);
}

/* How many receives are behind it on its channel, not asked for yet; of a channel that is not counted any
 * more (its communicator is gone, or it was evicted) nobody knows. */
static uint64_t behind(const struct gn_count *count, const struct gn_posting *record)
{
    return count && count->next != GN_COUNT_SPOILED ? count->next - bare(record->number) - 1 : FOR_EVER;
}

/* It is settled: it has given its message back, and who is behind it on its channel moves up; or, when it was
 * freed, whether it took one will never be known. */
static void settle_cancel(struct gn_postings *p, struct gn_posting *record)
{
    uint64_t where = gn_count_where(record->comm, record->source);
    struct gn_count *count = gn_count_find(p->counts, where, record->tag);
    update(p, record);
    if (record->number == GN_UNNUMBERED)
        void_all(p);
    else
        correct(p, record, behind(count, record), record->freed);
    if (record->freed)
        gn_count_spoil(p->counts, where, record->tag);
    else if (count && count->next != GN_COUNT_SPOILED)
        count->next--;
}

static void end_cancel(struct gn_postings *p, struct gn_posting *record, void *context)
{
    end_cancelling(p, record);
    settle_cancel(p, record);
    settle_epoch(p);
    free_record(p, record);
    release_deferred(p, context);
}

void gn_posting_cancelled(struct gn_postings *p, struct gn_receive *receive, void *context)
{
    gn_posting_cancel(p, receive); /* its caller has said so already; the library may cancel, too */
    if (receive->epoch != GN_EPOCH_WAITING)
        return; /* never counted */
    struct gn_posting *record = at(p, (uint32_t)receive->number);
    if (record->state == GN_CANCELLING) {
        end_cancel(p, record, context);
        return;
    }
    uint64_t until = 0;
    if (record->state == GN_OPEN)
        until = leave_group(p, record);
    else if (record->state == GN_KNOWN)
        take_out(p, &p->known, record);
    const uint64_t when = record->when;
    free_record(p, record);
    if (until)
        release(p, when, until, context);
}

static void free_open(struct gn_postings *p, struct gn_posting *record, void *context)
{
    lose(p, record->comm, record->source, record->tag, record->when);
    const uint64_t when = record->when;
    leave_group(p, record);
    free_record(p, record);
    release(p, when, UINT64_MAX, context);
}

void gn_posting_freed(struct gn_postings *p, const struct gn_receive *receive, void *context)
{
    struct gn_posting *record;
    if (receive->epoch == GN_EPOCH_WAITING)
        record = at(p, (uint32_t)receive->number);
    else if (receive->number == GN_UNNUMBERED || !(record = record_of_counted(p, receive)))
        return;
    record->freed = true;
    if (record->state == GN_OPEN)
        free_open(p, record, context);
    else if (record->state == GN_CANCELLING)
        end_cancel(p, record, context);
    else if (record->state == GN_NUMBERED)
        end_if_complete(p, record, context);
}

void gn_posting_lose(struct gn_postings *p, uint32_t comm, int32_t source, int32_t tag)
{
    lose(p, comm, source, tag, ++p->clock);
}

void gn_postings_void(struct gn_postings *p)
{
    p->lost = 0;
    p->met = UINT64_MAX;
    void_all(p);
}

/* ---- communicators ---- */

static void give_up(struct gn_postings *p, struct gn_posting *record, void *context)
{
    record->state = GN_NUMBERED;
    record->number = unnumbered(p, GN_UNNUMBERED_COMM);
    end_if_complete(p, record, context);
}

void gn_postings_drop_comm(struct gn_postings *p, uint32_t comm, void *context)
{
    for (uint32_t i = p->group_count; i > 0; i--) {
        struct gn_posting_group *group = &p->groups[i - 1];
        if (group->comm != comm)
            continue;
        for (uint32_t open = group->open.first, next; open; open = next) {
            next = at(p, open)->next;
            give_up(p, at(p, open), context);
        }
        drop_group(p, group);
    }
    for (uint32_t i = p->known.first, next; i; i = next) {
        next = at(p, i)->next;
        if (at(p, i)->comm != comm)
            continue;
        take_out(p, &p->known, at(p, i));
        give_up(p, at(p, i), context);
    }
}
