#include "causality/plot.h"

#include <inttypes.h>

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void merge_neighbours(struct gn_plot *p)
{
    for (uint32_t i = 0; i < p->count / 2; i++) {
        const struct gn_plot_point *a = &p->points[2 * i], *b = a + 1;
        p->points[i] =
            (struct gn_plot_point){larger(a->total, b->total), larger(a->unreported, b->unreported)};
    }
    p->count /= 2;
    p->width *= 2;
}

void gn_plot_add(struct gn_plot *p, uint64_t total, uint64_t unreported)
{
    if (p->width == 0)
        p->width = p->filled = 1;
    if (p->filled == p->width || p->count == 0) {
        if (p->count == GN_PLOT_POINTS)
            merge_neighbours(p);
        p->points[p->count++] = (struct gn_plot_point){total, unreported};
        p->filled = 0;
    } else {
        struct gn_plot_point *last = &p->points[p->count - 1];
        last->total = larger(last->total, total);
        last->unreported = larger(last->unreported, unreported);
    }
    p->filled++;
    p->pushes++;
}

/* ---- the picture ---- */

enum { LEFT = 80, RIGHT = 880, TOP = 40, BOTTOM = 340, TICKS = 5 };

/* The step of 1, 2, 5, 10, … with which at most TICKS marks cover the range. */
static uint64_t step_for(uint64_t range)
{
    static const unsigned factors[] = {1, 2, 5};
    for (uint64_t power = 1;; power *= 10)
        for (int i = 0; i < 3; i++)
            if (range / factors[i] / power <= TICKS || power > UINT64_MAX / 100)
                return factors[i] * power;
}

struct scale {
    double pushes, nodes; /* at the right and upper end */
};

static double x_of(const struct scale *s, double pushes)
{
    return LEFT + (RIGHT - LEFT) * pushes / s->pushes;
}

static double y_of(const struct scale *s, double nodes)
{
    return BOTTOM - (BOTTOM - TOP) * nodes / s->nodes;
}

static void axes(const struct gn_plot *p, const struct scale *s, uint64_t most, FILE *out)
{
    uint64_t step = step_for(p->pushes);
    fprintf(out, "<g stroke=\"#888\" stroke-width=\"1\" fill=\"none\"><path d=\"M%d %dV%dH%d\"/></g>\n", LEFT,
            TOP, BOTTOM, RIGHT);
    fprintf(out, "<g font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n");
    for (uint64_t k = 0, at = 0; k <= p->pushes / step; at = ++k * step)
        fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%" PRIu64 "</text>\n",
                x_of(s, (double)at), BOTTOM + 18, at);
    step = step_for(most);
    for (uint64_t k = 0, at = 0; k <= most / step; at = ++k * step)
        fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%" PRIu64 "</text>\n", LEFT - 8,
                y_of(s, (double)at) + 4, at);
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">events pushed</text>\n", (LEFT + RIGHT) / 2,
            BOTTOM + 40);
    fprintf(out,
            "<text transform=\"translate(24 %d) rotate(-90)\" text-anchor=\"middle\">nodes in the causality "
            "graph</text>\n",
            (TOP + BOTTOM) / 2);
    fprintf(out, "<text x=\"%d\" y=\"%d\" fill=\"#1f5fa8\">— Total</text>\n", RIGHT - 200, TOP - 14);
    fprintf(out, "<text x=\"%d\" y=\"%d\" fill=\"#c2461c\">— Unreported</text>\n</g>\n", RIGHT - 110,
            TOP - 14);
}

static void curve(const struct gn_plot *p, const struct scale *s, int unreported, const char *colour,
                  FILE *out)
{
    fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.2\" points=\"", colour);
    for (uint32_t i = 0; i < p->count; i++) {
        uint64_t nodes = unreported ? p->points[i].unreported : p->points[i].total;
        fprintf(out, "%.1f,%.1f ", x_of(s, ((double)i + 0.5) * (double)p->width), y_of(s, (double)nodes));
    }
    fprintf(out, "\"/>\n");
}

void gn_plot_write(const struct gn_plot *p, FILE *out)
{
    uint64_t most = 1;
    for (uint32_t i = 0; i < p->count; i++)
        most = larger(most, larger(p->points[i].total, p->points[i].unreported));
    double covered = (double)p->count * (double)p->width;
    struct scale scale = {covered > 0 ? covered : 1, (double)most};
    fprintf(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 900 400\" width=\"900\" height=\"400\">\n"
        "<title>Size of the causality graph window over time</title>\n"
        "<rect width=\"900\" height=\"400\" fill=\"white\"/>\n");
    axes(p, &scale, most, out);
    curve(p, &scale, 0, "#1f5fa8", out);
    curve(p, &scale, 1, "#c2461c", out);
    fprintf(out, "</svg>\n");
}
