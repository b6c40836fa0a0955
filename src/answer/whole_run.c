#include "answer/whole_run.h"

static int add(void *self, const char *name, double lo, double hi)
{
    return gn_spread_add(self, name, lo, hi);
}

static void find(const void *self, const char *name, bool only_best, double lo, double hi, double *all_lo,
                 double *all_hi)
{
    gn_spread_of_run(self, name, only_best, lo, hi, all_lo, all_hi);
}

struct gn_table_whole gn_whole_run(struct gn_spread *spread, bool only_best)
{
    return (struct gn_table_whole){spread, add, find, only_best};
}
