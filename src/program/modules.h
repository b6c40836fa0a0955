/*
 * program/modules — executables and libraries, each opened once and kept open: what was found out about one
 * is there for whoever asks next.
 */
#ifndef GNOMON_PROGRAM_MODULES_H
#define GNOMON_PROGRAM_MODULES_H

#include "program/program.h"

enum { GN_MODULE_ID_BYTES = 64 };

struct gn_opened_module {
    char *path;
    uint8_t build_id[GN_MODULE_ID_BYTES];
    size_t build_id_bytes;
    struct gn_program *program; /* NULL: there is no such file (any more), or it is no executable */
};

struct gn_modules; /* for one thread at a time */

/* NULL: no memory. Servers of debug files are asked for modules as long as patience says (NULL: none are). */
struct gn_modules *gn_modules_new(struct gn_debug_patience *patience);
void gn_modules_free(struct gn_modules *modules);

/* The module of that path and build id (longer ones are cut), opened when it is asked for the first time.
 * Stays at its address until all are freed. NULL: no memory. */
const struct gn_opened_module *gn_modules_get(struct gn_modules *modules, const char *path,
                                              const uint8_t *build_id, size_t build_id_bytes);

/* The same, of a build id in hexadecimal digits. */
const struct gn_opened_module *gn_modules_named(struct gn_modules *modules, const char *path,
                                                const char *build_id);

#endif
