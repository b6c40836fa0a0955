/*
 * causality/plot — figure 3 of Kimelman & Zernik: the nodes of the causality graph and those of them that
 * have not been reported, over the pushes, as an SVG picture.
 *
 * Points are the largest values of so many pushes each; when there are GN_PLOT_POINTS, neighbours become one,
 * so memory is constant however long it goes on.
 */
#ifndef GNOMON_CAUSALITY_PLOT_H
#define GNOMON_CAUSALITY_PLOT_H

#include <stdint.h>
#include <stdio.h>

enum { GN_PLOT_POINTS = 2000 };

struct gn_plot {
    uint64_t width;  /* pushes per point; 0: nothing yet */
    uint64_t filled; /* pushes in the last point */
    uint64_t pushes;
    uint32_t count;
    struct gn_plot_point {
        uint64_t total, unreported;
    } points[GN_PLOT_POINTS];
};

/* For a new plot: all zero. */
void gn_plot_add(struct gn_plot *plot, uint64_t total, uint64_t unreported);

/* A whole SVG document. Whether it could be written is for the caller to ask (ferror). */
void gn_plot_write(const struct gn_plot *plot, FILE *out);

#endif
