#include "program/modules.h"

#include "base/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gn_modules {
    struct gn_opened_module **items;
    size_t count, room;
    struct gn_debug_patience *patience;
};

struct gn_modules *gn_modules_new(struct gn_debug_patience *patience)
{
    struct gn_modules *modules = calloc(1, sizeof *modules);
    if (modules)
        modules->patience = patience;
    return modules;
}

static void close_module(struct gn_opened_module *module)
{
    gn_program_close(module->program);
    free(module->path);
    free(module);
}

void gn_modules_free(struct gn_modules *modules)
{
    if (!modules)
        return;
    for (size_t i = 0; i < modules->count; i++)
        close_module(modules->items[i]);
    free(modules->items);
    free(modules);
}

static struct gn_opened_module *open_module(const struct gn_modules *modules, const char *path,
                                            const uint8_t *build_id, size_t bytes)
{
    struct gn_opened_module *module = calloc(1, sizeof *module);
    if (!module || !(module->path = strdup(path))) {
        free(module);
        return NULL;
    }
    if (bytes > 0)
        memcpy(module->build_id, build_id, bytes);
    module->build_id_bytes = bytes;
    if (!path[0] ||
        gn_program_open_patiently(&module->program, path, build_id, bytes, modules->patience, NULL) != 0)
        module->program = NULL;
    return module;
}

const struct gn_opened_module *gn_modules_get(struct gn_modules *modules, const char *path,
                                              const uint8_t *build_id, size_t build_id_bytes)
{
    size_t bytes = build_id_bytes < GN_MODULE_ID_BYTES ? build_id_bytes : GN_MODULE_ID_BYTES;
    for (size_t i = 0; i < modules->count; i++) {
        const struct gn_opened_module *m = modules->items[i];
        if (m->build_id_bytes == bytes && (bytes == 0 || memcmp(m->build_id, build_id, bytes) == 0) &&
            strcmp(m->path, path) == 0)
            return m;
    }
    if (!gn_grow(&modules->items, &modules->room, modules->count, sizeof(struct gn_opened_module *)))
        return NULL;
    struct gn_opened_module *fresh = open_module(modules, path, build_id, bytes);
    if (fresh)
        modules->items[modules->count++] = fresh;
    return fresh;
}

const struct gn_opened_module *gn_modules_named(struct gn_modules *modules, const char *path,
                                                const char *build_id)
{
    uint8_t bytes[GN_MODULE_ID_BYTES];
    size_t count = 0;
    unsigned value;
    while (count < sizeof bytes && sscanf(build_id + 2 * count, "%2x", &value) == 1)
        bytes[count++] = (uint8_t)value;
    return gn_modules_get(modules, path, bytes, count);
}
