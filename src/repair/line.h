/* repair/line — the straight line between two points with whole coordinates, rounded down: exactly, and as
 * fast as a product of doubles. */
#ifndef GNOMON_REPAIR_LINE_H
#define GNOMON_REPAIR_LINE_H

#include <stdbool.h>
#include <stdint.h>

struct gn_line {
    int64_t x, y;
    int64_t width, rise;
    double slope;
    bool is_wide; /* a double could be wrong by more than one */
};

/* Through (x0, y0) and (x1, y1), x0 < x1; differences fit 64 bits. */
static inline struct gn_line gn_line(int64_t x0, int64_t y0, int64_t x1, int64_t y1)
{
    const int64_t width = x1 - x0, rise = y1 - y0, most = (int64_t)1 << 48;
    return (struct gn_line){
        x0, y0, width, rise, (double)rise / (double)width, rise > most || rise < -most || width > most << 12};
}

/* y at x0 ≤ x ≤ x1. */
static inline int64_t gn_line_at(const struct gn_line *line, int64_t x)
{
    const int64_t along = x - line->x;
    if (line->is_wide) {
        __int128 product = (__int128)line->rise * along;
        __int128 whole = product / line->width;
        return line->y + (int64_t)(whole - (product % line->width < 0));
    }
    /* The error of the product is below a half: what is left after it tells in which direction, and fits 64
     * bits even where the two numbers that it is the difference of do not. */
    int64_t whole = (int64_t)(line->slope * (double)along);
    int64_t left =
        (int64_t)((uint64_t)line->rise * (uint64_t)along - (uint64_t)whole * (uint64_t)line->width);
    for (; left < 0; left += line->width)
        whole--;
    for (; left >= line->width; left -= line->width)
        whole++;
    return line->y + whole;
}

#endif
