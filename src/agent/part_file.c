#include "agent/part_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "gnomon trace part " GNOMON_VERSION "\n"

enum { ITEMS_MAX = 1 << 28 };

/* ---- writing ---- */

static void put(FILE *file, const void *items, uint64_t count, size_t each)
{
    fwrite(&count, sizeof count, 1, file);
    if (count)
        fwrite(items, each, count, file);
}

static void put_comms(FILE *file, const struct gn_definitions *d)
{
    put(file, d->comms, d->comm_count, sizeof *d->comms); /* the pointers in it mean nothing */
    for (size_t i = 0; i < d->comm_count; i++)
        put(file, d->comms[i].members, (uint64_t)d->comms[i].member_count + d->comms[i].other_count,
            sizeof *d->comms[i].members);
}

static void put_strings(FILE *file, const struct gn_definitions *d)
{
    uint64_t count = gn_string_count(d);
    fwrite(&count, sizeof count, 1, file);
    for (uint64_t i = 0; i < count; i++) {
        const char *text = gn_string(d, (uint32_t)i);
        put(file, text, strlen(text), 1);
    }
}

static void put_all(FILE *file, const struct gn_agent_part *p)
{
    const struct gn_translate *t = p->translate;
    const struct gn_definitions *d = t->definitions;
    fwrite(MAGIC, sizeof MAGIC, 1, file);
    put_strings(file, d);
    put(file, d->system_nodes, d->system_node_count, sizeof *d->system_nodes);
    put(file, d->processes, d->process_count, sizeof *d->processes);
    put(file, d->locations, d->location_count, sizeof *d->locations);
    put(file, d->regions, d->region_count, sizeof *d->regions);
    put(file, d->paths, d->path_count, sizeof *d->paths);
    put_comms(file, d);
    put(file, d->windows, d->window_count, sizeof *d->windows);
    put(file, gn_translate_comm_instances(t), d->comm_count, sizeof(uint32_t));
    put(file, gn_translate_window_instances(t), d->window_count, sizeof(uint32_t));
    put(file, t->nodes, t->node_count, sizeof *t->nodes);
    put(file, t->modules, t->module_count, sizeof *t->modules);
    put(file, p->paths, p->paths ? t->node_count : 0, sizeof *p->paths);
    const uint64_t numbers[] = {d->ticks_per_second, d->first_ticks, d->length_ticks, d->realtime_ns, t->host,
                                t->first_ticks,      t->last_ticks};
    put(file, numbers, sizeof numbers / sizeof *numbers, sizeof *numbers);
    put(file, &p->began, 1, sizeof p->began);
    put(file, &p->ended, 1, sizeof p->ended);
}

int gn_part_save(const struct gn_agent_part *part, const char *folder, struct gn_error *err)
{
    char path[4700], fresh[4800];
    snprintf(path, sizeof path, "%s/" GN_PART_FILE, folder);
    snprintf(fresh, sizeof fresh, "%s.new", path);
    FILE *file = fopen(fresh, "we");
    if (!file)
        return gn_fail(err, -errno, "cannot write %s: %s", fresh, strerror(errno));
    put_all(file, part);
    int code = ferror(file) ? -EIO : 0;
    if (fclose(file) != 0 || code != 0 || rename(fresh, path) != 0) {
        code = errno ? -errno : -EIO;
        remove(fresh);
        return gn_fail(err, code, "cannot write %s: %s", path, strerror(-code));
    }
    return 0;
}

/* ---- reading ---- */

struct input {
    FILE *file;
    bool bad;
};

/* The caller frees; NULL where there are none. */
static void *get(struct input *in, uint64_t *count, size_t each)
{
    *count = 0;
    uint64_t there;
    if (in->bad || fread(&there, sizeof there, 1, in->file) != 1 || there > ITEMS_MAX / each) {
        in->bad = true;
        return NULL;
    }
    char *items = there ? malloc(there * each + 1) : NULL;
    if (there && (!items || fread(items, each, there, in->file) != there)) {
        free(items);
        in->bad = true;
        return NULL;
    }
    if (items)
        items[there * each] = '\0';
    *count = there;
    return items;
}

/* As many as there have to be. */
static void *get_exactly(struct input *in, uint64_t wanted, size_t each)
{
    uint64_t count;
    void *items = get(in, &count, each);
    in->bad = in->bad || count != wanted;
    return items;
}

static void get_strings(struct input *in, struct gn_definitions *d)
{
    uint64_t count = 0, bytes;
    in->bad = in->bad || fread(&count, sizeof count, 1, in->file) != 1;
    for (uint64_t i = 0; i < count && !in->bad; i++) {
        char *text = get(in, &bytes, 1);
        in->bad = in->bad || gn_define_string(d, text ? text : "") != i;
        free(text);
    }
}

static bool below(uint32_t reference, size_t count)
{
    return reference == GN_NONE || reference < count;
}

/* Takes an array of definitions in; `fine` says whether one refers to what is there. */
#define GET_ALL(in, d, type, define, fine)                                                                   \
    do {                                                                                                     \
        uint64_t count;                                                                                      \
        struct type *items = get(in, &count, sizeof *items);                                                 \
        for (uint64_t i = 0; i < count && !(in)->bad; i++) {                                                 \
            const struct type *item = &items[i];                                                             \
            (in)->bad = !(fine) || define(d, item) != i;                                                     \
        }                                                                                                    \
        free(items);                                                                                         \
    } while (0)

static void get_comms(struct input *in, struct gn_definitions *d)
{
    uint64_t count;
    struct gn_comm_def *comms = get(in, &count, sizeof *comms);
    for (uint64_t i = 0; i < count && !in->bad; i++) {
        uint64_t members = (uint64_t)comms[i].member_count + comms[i].other_count;
        comms[i].members = get_exactly(in, members, sizeof *comms[i].members);
        for (uint64_t m = 0; m < members && !in->bad; m++)
            in->bad = comms[i].members[m] >= d->process_count;
        in->bad = in->bad || !below(comms[i].parent, i) || gn_define_comm(d, &comms[i]) != i;
        free(comms[i].members);
    }
    free(comms);
}

static void get_definitions(struct input *in, struct gn_definitions *d)
{
    get_strings(in, d);
    GET_ALL(in, d, gn_system_node, gn_define_system_node, below(item->parent, i));
    GET_ALL(in, d, gn_process, gn_define_process, below(item->system_node, d->system_node_count));
    GET_ALL(in, d, gn_location_def, gn_define_location, item->process < d->process_count);
    GET_ALL(in, d, gn_region_def, gn_define_region, true);
    GET_ALL(in, d, gn_path_def, gn_define_path, below(item->parent, i) && item->region < d->region_count);
    get_comms(in, d);
    GET_ALL(in, d, gn_window_def, gn_define_window, item->comm < d->comm_count);
    for (size_t i = 0; i < d->process_count; i++)
        in->bad = in->bad || !below(d->processes[i].main_location, d->location_count);
}

static void get_nodes(struct input *in, struct gn_agent_part *p)
{
    struct gn_translate *t = p->translate;
    uint64_t nodes, modules, count;
    t->nodes = get(in, &nodes, sizeof *t->nodes);
    t->modules = get(in, &modules, sizeof *t->modules);
    t->node_count = nodes;
    t->module_count = modules;
    for (uint64_t i = 0; i < nodes && !in->bad; i++) {
        const struct gn_path_node *node = &t->nodes[i];
        in->bad = !below(node->parent, i) || !below(node->module, modules) ||
                  (node->module == GN_NONE && node->what >= t->definitions->region_count);
    }
    for (uint64_t i = 0; i < modules && !in->bad; i++) {
        t->modules[i].path[sizeof t->modules[i].path - 1] = '\0';
        t->modules[i].build_id[sizeof t->modules[i].build_id - 1] = '\0';
    }
    p->paths = get(in, &count, sizeof *p->paths);
    in->bad = in->bad || (count != 0 && count != nodes);
    for (uint64_t i = 0; i < count && !in->bad; i++)
        in->bad = !below(p->paths[i], t->definitions->path_count);
}

static void get_numbers(struct input *in, struct gn_agent_part *p)
{
    struct gn_translate *t = p->translate;
    uint64_t *n = get_exactly(in, 7, sizeof *n);
    struct gn_moment *began = get_exactly(in, 1, sizeof *began), *ended = get_exactly(in, 1, sizeof *ended);
    if (!in->bad) {
        t->definitions->ticks_per_second = n[0];
        t->definitions->first_ticks = n[1];
        t->definitions->length_ticks = n[2];
        t->definitions->realtime_ns = n[3];
        t->host = (uint32_t)n[4];
        t->first_ticks = n[5];
        t->last_ticks = n[6];
        p->began = *began;
        p->ended = *ended;
        in->bad = n[4] >= t->definitions->system_node_count;
    }
    free(n);
    free(began);
    free(ended);
}

static void get_part(struct input *in, struct gn_agent_part *p)
{
    struct gn_definitions *d = p->translate->definitions;
    char magic[sizeof MAGIC];
    in->bad = fread(magic, sizeof magic, 1, in->file) != 1 || memcmp(magic, MAGIC, sizeof magic) != 0;
    get_definitions(in, d);
    uint32_t *of_comms = get_exactly(in, d->comm_count, sizeof *of_comms);
    uint32_t *of_windows = get_exactly(in, d->window_count, sizeof *of_windows);
    gn_translate_set_instances(p->translate, of_comms, of_windows);
    get_nodes(in, p);
    get_numbers(in, p);
}

int gn_part_load(struct gn_agent_part *p, const char *folder, struct gn_error *err)
{
    char path[4700];
    snprintf(path, sizeof path, "%s/" GN_PART_FILE, folder);
    *p = (struct gn_agent_part){.translate = gn_translate_empty()};
    struct input in = {.file = fopen(path, "re")};
    int code = !p->translate ? gn_fail(err, -ENOMEM, "no memory for %s", path)
               : !in.file    ? gn_fail(err, -errno, "cannot read %s: %s", path, strerror(errno))
                             : 0;
    if (code == 0)
        get_part(&in, p);
    if (code == 0 && in.bad)
        code = gn_fail(err, -EPROTO, "%s is cut off, or was not written by gnomon " GNOMON_VERSION, path);
    if (in.file)
        fclose(in.file);
    if (code != 0)
        gn_part_clear(p);
    return code;
}

void gn_part_clear(struct gn_agent_part *p)
{
    gn_translate_free(p->translate);
    free(p->paths);
    *p = (struct gn_agent_part){NULL};
}
