#include "analyse/contributions.h"

#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>

enum { BETWEEN = 4096 /* items that are added before all are merged */ };

static int compare_numbers(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

static int by_what(const void *left, const void *right)
{
    const struct gn_contribution *a = left, *b = right;
    int order = compare_numbers(a->process, b->process);
    order = order ? order : compare_numbers(a->doing, b->doing);
    order = order ? order : compare_numbers(a->region, b->region);
    return order ? order : compare_numbers(a->site, b->site);
}

static int by_most(const void *left, const void *right)
{
    const struct gn_contribution *a = left, *b = right;
    const int order = (a->hi_ns < b->hi_ns) - (a->hi_ns > b->hi_ns);
    return order ? order : by_what(left, right);
}

static void merge(struct gn_contributions *all)
{
    size_t kept = 0;
    if (all->count > 0)
        qsort(all->items, all->count, sizeof *all->items, by_what);
    for (size_t i = 0; i < all->count; i++) {
        if (kept > 0 && by_what(&all->items[kept - 1], &all->items[i]) == 0) {
            all->items[kept - 1].lo_ns += all->items[i].lo_ns;
            all->items[kept - 1].hi_ns += all->items[i].hi_ns;
        } else {
            all->items[kept++] = all->items[i];
        }
    }
    all->count = all->merged = kept;
}

int gn_contributions_add(struct gn_contributions *all, const struct gn_contribution *one)
{
    if (all->count >= 2 * all->merged + BETWEEN)
        merge(all);
    if (!gn_grow(&all->items, &all->capacity, all->count, sizeof *all->items))
        return -ENOMEM;
    all->items[all->count++] = *one;
    return 0;
}

void gn_contributions_sort(struct gn_contributions *all)
{
    merge(all);
    if (all->count > 0)
        qsort(all->items, all->count, sizeof *all->items, by_most);
}

void gn_contributions_clear(struct gn_contributions *all)
{
    free(all->items);
    *all = (struct gn_contributions){.items = NULL};
}
