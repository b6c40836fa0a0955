/* Hosts: whether all that runs on one of them takes longer. */
#include "analyse/patterns_inside.h"

#include <math.h>
#include <string.h>

static const double slower = 1.15; /* the fastest rank there than the slowest one elsewhere */
static const double most_of_it = 0.9;

static const struct gn_problem_pattern slow_host = {.name = "slow host",
                                                    .remedy =
                                                        "look at that host (throttled, other jobs, another "
                                                        "kind of processor), leave it out, or give its ranks "
                                                        "less to do"};

static bool is_on(const struct gn_rank_row *rank, const char *host)
{
    return rank->host && strcmp(rank->host, host) == 0;
}

bool gn_problems_on_host(const struct gn_summary *s, int rank, const char *host)
{
    for (size_t i = 0; i < s->rank_count && host; i++)
        if (s->ranks_told[i].rank == rank)
            return is_on(&s->ranks_told[i], host);
    return false;
}

/* What ranks of a host compute, and those of others. */
struct sides {
    double own_s, others_s, least_own_s, most_others_s, most_own_s, least_others_s;
    int own, others;
};

static struct sides sides_of(const struct gn_summary *s, const char *host)
{
    struct sides t = {.least_own_s = INFINITY, .least_others_s = INFINITY};
    for (size_t i = 0; i < s->rank_count; i++) {
        const double useful_s = s->ranks_told[i].useful_s;
        if (is_on(&s->ranks_told[i], host)) {
            t.own_s += useful_s;
            t.least_own_s = fmin(t.least_own_s, useful_s);
            t.most_own_s = fmax(t.most_own_s, useful_s);
            t.own++;
        } else {
            t.others_s += useful_s;
            t.most_others_s = fmax(t.most_others_s, useful_s);
            t.least_others_s = fmin(t.least_others_s, useful_s);
            t.others++;
        }
    }
    t.own_s /= fmax(1, t.own);
    t.others_s /= fmax(1, t.others);
    return t;
}

static const struct gn_activity_row *largest(const struct gn_summary *s)
{
    for (size_t i = 0; i < s->row_count; i++) /* they are sorted */
        if (strcmp(s->rows[i].kind, "computation") == 0)
            return &s->rows[i];
    return NULL;
}

/* In nearly all that takes time, the slowest rank is there: in two places at least, else it is the work. */
static bool is_among(const struct gn_summary *s, const struct gn_activity_row *rows, size_t count,
                     const char *host, int *places)
{
    double all = 0, there = 0;
    *places = 0;
    for (size_t i = 0; i < count; i++) {
        const struct gn_activity_row *row = &rows[i];
        if (!gn_problems_is_between_calls(row) || row->how == GN_HOW_UNSEEN ||
            row->share < 3 * GN_PROBLEM_LEAST_SHARE)
            continue;
        all += row->share;
        there += gn_problems_on_host(s, row->max_rank, host) ? row->share : 0;
        ++*places;
    }
    return *places >= 2 && there >= most_of_it * all;
}

/* One function that is called from several places is one place: then by what lies between calls. */
static bool is_everywhere(const struct gn_summary *s, const char *host)
{
    int places;
    const bool is = is_among(s, s->rows, s->row_count, host, &places);
    return places >= 2 || s->range_count == 0 ? is : is_among(s, s->ranges, s->range_count, host, &places);
}

static void add(const struct gn_problem_search *x, const char *host, const struct sides *t)
{
    const struct gn_summary *s = x->s;
    const double mean_s = (t->own_s * t->own + t->others_s * t->others) / fmax(1, t->own + t->others);
    struct gn_problem p = {.pattern = &slow_host,
                           .host = host,
                           .row = largest(s),
                           .rank = -1,
                           .own_s = t->own_s,
                           .is_everywhere = true,
                           .lost_low_s = fmax(0, t->own_s - mean_s),
                           .lost_high_s = t->most_own_s - t->least_others_s,
                           .gain_low_s = fmax(0, t->own_s - mean_s),
                           .gain_high_s = t->most_own_s - t->least_others_s,
                           .even_s = fmax(0, t->own_s - mean_s),
                           .others_s = t->others_s,
                           .sure = GN_PROBLEM_POSSIBLE,
                           .assumes = GN_PROBLEM_STEPS | GN_PROBLEM_SAME};
    for (size_t i = 0; i < s->rank_count; i++)
        if (is_on(&s->ranks_told[i], host)) {
            if (p.late_count < GN_PROBLEM_LATE)
                p.late[p.late_count] = s->ranks_told[i].rank;
            p.late_count++;
            p.rank = s->ranks_told[i].useful_s == t->most_own_s ? s->ranks_told[i].rank : p.rank;
        }
    gn_problems_add(x->found, s, p);
}

const char *gn_problems_find_slow_host(const struct gn_problem_search *x)
{
    const struct gn_summary *s = x->s;
    for (size_t i = 0; i < s->host_count && s->host_count > 1; i++) {
        const struct sides t = sides_of(s, s->hosts_told[i].name);
        if (t.own > 0 && t.others > 0 && t.least_own_s > slower * t.most_others_s &&
            is_everywhere(s, s->hosts_told[i].name)) {
            add(x, s->hosts_told[i].name, &t);
            return s->hosts_told[i].name;
        }
    }
    return NULL;
}
