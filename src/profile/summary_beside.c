/* How the cores of some ranks ran, and where their memory is, beside the others'. */
#include "profile/summary.h"

#include <math.h>

double gn_remote_share(const struct gn_rank_row *r)
{
    return r->resident_bytes > 0 ? r->remote_bytes / r->resident_bytes : NAN;
}

bool gn_runs_slower(double mhz, double others_mhz)
{
    return mhz < 0.9 * others_mhz;
}

static bool is_among(const int *ranks, size_t count, int rank)
{
    for (size_t i = 0; i < count; i++)
        if (ranks[i] == rank)
            return true;
    return false;
}

/* The mean of what is known. */
struct mean {
    double sum, count;
};

static void add(struct mean *m, double value)
{
    if (!isfinite(value))
        return;
    m->sum += value;
    m->count++;
}

static double of(struct mean m)
{
    return m.count > 0 ? m.sum / m.count : NAN;
}

struct gn_cores_beside gn_cores_beside(const struct gn_summary *s, const int *ranks, size_t count)
{
    struct mean mhz[2] = {{0, 0}, {0, 0}}, remote[2] = {{0, 0}, {0, 0}}; /* the others', and theirs */
    for (size_t i = 0; i < s->rank_count; i++) {
        const bool is = is_among(ranks, count, s->ranks_told[i].rank);
        add(&mhz[is], s->ranks_told[i].core_mhz);
        add(&remote[is], gn_remote_share(&s->ranks_told[i]));
    }
    return (struct gn_cores_beside){of(mhz[true]), of(mhz[false]), of(remote[true]), of(remote[false])};
}
