/* base/quantity — numbers with units as people write them: 20us, 5ppm, 1e9, 1%. */
#ifndef GNOMON_BASE_QUANTITY_H
#define GNOMON_BASE_QUANTITY_H

enum gn_quantity {
    GN_QUANTITY_COUNT,    /* a whole number: 64, 1e9 */
    GN_QUANTITY_TIME_NS,  /* ns, us, ms, s; 0 needs none */
    GN_QUANTITY_RATE_PPM, /* ppb, ppm, % */
    GN_QUANTITY_SHARE,    /* 0.01 or 1% */
    GN_QUANTITY_BYTES,    /* KiB, MiB, GiB; 0 needs none */
};

/* Reads all of text: 0, or -EINVAL and *value as it was. */
int gn_quantity(const char *text, enum gn_quantity kind, double *value);
/* What text should have looked like: "a time is expected, such as 20us or 1.5s". */
const char *gn_quantity_hint(enum gn_quantity kind);

#endif
