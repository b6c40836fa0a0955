#include "program/calls.h"

static bool same(const struct gn_call_address *a, const struct gn_call_address *b)
{
    return a->module == b->module && a->offset == b->offset;
}

size_t gn_calls_parting(const struct gn_calls *from, const struct gn_calls *to)
{
    size_t parting = 0, shorter = from->count < to->count ? from->count : to->count;
    while (parting + 1 < shorter && same(&from->items[parting], &to->items[parting]))
        parting++;
    return parting;
}

bool gn_calls_between(const struct gn_calls *from, const struct gn_calls *to, struct gn_program_place *place)
{
    if (from->count == 0 || to->count == 0)
        return false;
    for (size_t level = gn_calls_parting(from, to) + 1; level-- > 0;) {
        const struct gn_call_address *start = &from->items[level], *end = &to->items[level];
        if (!start->module || !start->module->program || start->module != end->module)
            return false;
        if (gn_program_between(start->module->program, start->offset, end->offset, place) == 1)
            return true;
        if (start->offset < end->offset) /* straight on, and nothing but the line itself is there */
            return false;
    }
    return false;
}
