/*
 * repair/latest — the latest of many begins, as far as anybody can be asked for the latest of all *others*,
 * with µ added (Becker 2009, equation 4'): three entries, whatever the number of members. Merging is
 * associative, commutative and idempotent.
 *
 *   first    the latest
 *   second   the latest of another member than first
 *   other    the latest of another clock domain than first's
 *
 * This is enough because µ within a domain is not larger than µ between domains. The earliest of many ends
 * (section 4.2) is the same with negated times.
 */
#ifndef GNOMON_REPAIR_LATEST_H
#define GNOMON_REPAIR_LATEST_H

#include <stdbool.h>
#include <stdint.h>

struct gn_latest_entry {
    int64_t time; /* INT64_MIN: nobody */
    uint32_t member, domain;
};

struct gn_latest {
    struct gn_latest_entry first, second, other;
};

#define GN_LATEST_NONE                                                                                       \
    (struct gn_latest)                                                                                       \
    {                                                                                                        \
        {INT64_MIN, UINT32_MAX, UINT32_MAX}, {INT64_MIN, UINT32_MAX, UINT32_MAX},                            \
        {                                                                                                    \
            INT64_MIN, UINT32_MAX, UINT32_MAX                                                                \
        }                                                                                                    \
    }

/* Equal times: the smaller member, so that the result does not depend on the order. */
static inline bool gn_latest_beats(const struct gn_latest_entry *a, const struct gn_latest_entry *b)
{
    return a->time != b->time ? a->time > b->time : a->member < b->member;
}

static inline void gn_latest_below(struct gn_latest *latest, const struct gn_latest_entry *entry)
{
    if (entry->member != latest->first.member && gn_latest_beats(entry, &latest->second))
        latest->second = *entry;
    if (entry->domain != latest->first.domain && gn_latest_beats(entry, &latest->other))
        latest->other = *entry;
}

static inline void gn_latest_add(struct gn_latest *latest, const struct gn_latest_entry *entry)
{
    if (entry->time == INT64_MIN)
        return;
    if (!gn_latest_beats(entry, &latest->first)) {
        gn_latest_below(latest, entry);
        return;
    }
    struct gn_latest before = *latest;
    *latest = GN_LATEST_NONE;
    latest->first = *entry;
    gn_latest_below(latest, &before.first);
    gn_latest_below(latest, &before.second);
    gn_latest_below(latest, &before.other);
}

static inline void gn_latest_merge(struct gn_latest *latest, const struct gn_latest *more)
{
    gn_latest_add(latest, &more->first);
    gn_latest_add(latest, &more->second);
    gn_latest_add(latest, &more->other);
}

/* µ of collectives, in ticks ≥ 0: within ≤ between. */
struct gn_latest_delay {
    int64_t within, between;
};

/* The latest of all others than the member; of its own domain or another. */
static inline const struct gn_latest_entry *gn_latest_but(const struct gn_latest *latest, uint32_t member)
{
    return latest->first.member == member ? &latest->second : &latest->first;
}

/* The largest time + µ of all others than the member, which is in `domain`; INT64_MIN: there is nobody else.
 */
static inline int64_t gn_latest_for(const struct gn_latest *latest, uint32_t member, uint32_t domain,
                                    struct gn_latest_delay delay)
{
    const struct gn_latest_entry *best = gn_latest_but(latest, member), *other = &latest->other;
    if (best->time == INT64_MIN)
        return INT64_MIN;
    if (best->domain != domain)
        return best->time + delay.between;
    /* then first is of this domain, too, and other the latest of another one */
    const int64_t within = best->time + delay.within;
    return other->time != INT64_MIN && other->time + delay.between > within ? other->time + delay.between
                                                                            : within;
}

#endif
