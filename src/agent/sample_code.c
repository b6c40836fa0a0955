#include "agent/sample_code.h"

#include "base/grow.h"
#include "agent/process_files.h"
#include "agent/sample_elf.h"
#include "clock/ticks.h"
#include "program/runtime.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    RULES = 1024,
    MOST_FRAMES = 64,
    READ_AGAIN_NS = 1000000000,
    JUST_READ_NS = 20000000,
    MOST_MODULES = 4096 /* programs make files' names, too */
};

struct module {
    struct gn_sample_module known;
    struct gn_sample_elf elf;
    char *file; /* as it is mapped; known.path may be another name for it */
    struct {
        uint64_t address;
        struct gn_rule rule;
    } * rules; /* by address in the file, as far as there was room */
};

struct gn_sample_code {
    struct module *items;
    size_t count, room;
};

struct mapping {
    uint64_t begin, end;
    uint64_t bias; /* in memory minus in the file */
    uint32_t module;
    bool own, mpi, ours, interpreter;
};

struct gn_sample_maps {
    struct gn_sample_code *code;
    struct gn_tag *tag;
    int pid;
    char exe[PATH_MAX];
    struct mapping *items; /* ascending */
    size_t count, room, last;
    uint32_t tag_modules; /* that the list was compared with */
    uint64_t read_ns;
    bool changed; /* since */
};

/* ---- modules ---- */

struct gn_sample_code *gn_sample_code_new(void)
{
    struct gn_sample_code *c = calloc(1, sizeof *c);
    if (c && gn_grow(&c->items, &c->room, 0, sizeof *c->items)) {
        c->items[c->count++] = (struct module){.known.path = strdup(""), .file = strdup("")};
        return c;
    }
    free(c);
    return NULL;
}

void gn_sample_code_free(struct gn_sample_code *c)
{
    for (size_t i = 0; c && i < c->count; i++) {
        gn_sample_elf_clear(&c->items[i].elf);
        free(c->items[i].known.path);
        free(c->items[i].file);
        free(c->items[i].rules);
    }
    if (c)
        free(c->items);
    free(c);
}

uint32_t gn_sample_code_count(const struct gn_sample_code *c)
{
    return (uint32_t)c->count;
}

const struct gn_sample_module *gn_sample_code_module(const struct gn_sample_code *c, uint32_t index)
{
    return &c->items[index].known;
}

uint64_t gn_sample_code_function(struct gn_sample_code *c, struct gn_sampled_place place)
{
    struct module *module = &c->items[place.module];
    uintptr_t function = 0;
    if (place.module != GN_SAMPLE_NOWHERE && gn_sample_elf_table(&module->elf, module->file))
        gn_unwind_rule(&module->elf.table, GN_CFI_NATIVE, place.offset - 1, &function);
    return function;
}

static uint32_t add_module(struct gn_sample_code *c, const char *file, bool is_source)
{
    struct module m = {.known.path = strdup(file), .known.is_source = is_source, .file = strdup(file)};
    if (!m.known.path || !m.file || !gn_grow(&c->items, &c->room, c->count, sizeof *c->items)) {
        free(m.known.path);
        free(m.file);
        return GN_SAMPLE_NOWHERE;
    }
    if (!is_source)
        gn_sample_elf_read(&m.elf, file);
    m.known.build_id_bytes = m.elf.build_id_bytes;
    memcpy(m.known.build_id, m.elf.build_id, sizeof m.known.build_id);
    c->items[c->count++] = m;
    return (uint32_t)c->count - 1;
}

static uint32_t find_module(struct gn_sample_code *c, const char *file, bool is_source)
{
    for (size_t i = 1; i < c->count; i++)
        if (c->items[i].known.is_source == is_source && strcmp(c->items[i].file, file) == 0)
            return (uint32_t)i;
    return is_source && c->count >= MOST_MODULES ? GN_SAMPLE_NOWHERE : add_module(c, file, is_source);
}

uint32_t gn_sample_code_source(struct gn_sample_code *c, const char *path)
{
    return find_module(c, path, true);
}

/* ---- whose code it is ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_system(const char *path)
{
    return begins(path, "/lib/") || begins(path, "/lib64/") || begins(path, "/usr/lib/") ||
           begins(path, "/usr/lib64/") || begins(path, "/usr/local/lib/") || path[0] == '[' || !path[0];
}

static bool is_libc(const char *path)
{
    const char *name = base_name(path);
    return begins(name, "libc.so") || begins(name, "libc-") || begins(name, "libpthread") ||
           begins(name, "ld-linux");
}

static bool is_mpi(const char *path)
{
    const char *name = base_name(path);
    return begins(name, "libmpi") || begins(name, "libpmpi");
}

static bool is_ours(const char *path)
{
    return begins(base_name(path), "libgnomon");
}

/* Wherever it is installed, what everybody knows is nobody's own. */
static bool is_runtime(const char *path)
{
    return gn_runtime_of(base_name(path), NULL) != GN_RUNTIME_NONE;
}

/* The module of the tag that is mapped there: calls were made from it, and its name is the one that call
 * sites have. */
static const struct gn_module *on_call_paths(const struct gn_sample_maps *m, const struct mapping *at)
{
    const struct module *module = &m->code->items[at->module];
    for (uint32_t i = 1; i < m->tag_modules && i < GN_MAX_MODULES; i++) {
        const struct gn_module *known = &m->tag->modules[i];
        if (known->kind != GN_MODULE_PYTHON && known->base == at->bias &&
            known->build_id_bytes == module->elf.build_id_bytes && at->module != GN_SAMPLE_NOWHERE &&
            memcmp(known->build_id, module->elf.build_id, module->elf.build_id_bytes) == 0)
            return known;
    }
    return NULL;
}

static void take_name(struct module *module, const struct gn_module *known)
{
    char path[GN_PATH_BYTES];
    snprintf(path, sizeof path, "%.*s", (int)sizeof path - 1, known->path);
    if (strcmp(module->known.path, path) == 0)
        return;
    char *copy = strdup(path);
    if (!copy)
        return;
    free(module->known.path);
    module->known.path = copy;
}

static void tell_whose(struct gn_sample_maps *m)
{
    m->tag_modules = m->tag ? GN_OBSERVE(m->tag->module_count) : 0;
    for (size_t i = 0; i < m->count; i++) {
        struct mapping *at = &m->items[i];
        struct module *module = &m->code->items[at->module];
        const struct gn_module *known = on_call_paths(m, at);
        if (known)
            take_name(module, known);
        at->ours = is_ours(module->file);
        at->mpi = at->ours || is_mpi(module->file);
        at->interpreter = known && known->kind == GN_MODULE_INTERPRETER;
        at->own = !at->mpi && !is_runtime(module->file) &&
                  (strcmp(module->file, m->exe) == 0 || !is_system(module->file) ||
                   (known && !is_libc(module->file)));
    }
}

/* ---- mappings ---- */

static void add_mapping(struct gn_sample_maps *m, uint64_t begin, uint64_t end, uint64_t offset,
                        const char *file)
{
    uint64_t address = offset;
    if (!gn_grow(&m->items, &m->room, m->count, sizeof *m->items))
        return;
    const uint32_t module = file[0] ? find_module(m->code, file, false) : GN_SAMPLE_NOWHERE;
    if (!gn_sample_elf_address(&m->code->items[module].elf, offset, &address))
        address = offset;
    m->items[m->count++] =
        (struct mapping){.begin = begin, .end = end, .bias = begin - address, .module = module};
}

/* 55d0-55d4 r-xp 00001000 08:01 1234   /path with spaces */
static void take_line(struct gn_sample_maps *m, const char *line)
{
    unsigned long long begin, end, offset;
    char access[5];
    int path_at = 0;
    if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %n", &begin, &end, access, &offset, &path_at) < 4 ||
        access[2] != 'x' || !path_at)
        return;
    add_mapping(m, begin, end, offset, line + path_at);
}

static void read_maps(struct gn_sample_maps *m)
{
    char name[64];
    size_t bytes;
    char *text = gn_process_file_whole(m->pid, "maps", &bytes), *rest = text;
    m->read_ns = gn_monotonic_ns();
    if (!text)
        return;
    m->changed = false;
    m->count = m->last = 0;
    for (char *line; (line = strsep(&rest, "\n"));)
        take_line(m, line);
    free(text);
    snprintf(name, sizeof name, "/proc/%d/exe", m->pid);
    const ssize_t length = readlink(name, m->exe, sizeof m->exe - 1);
    m->exe[length > 0 ? length : 0] = '\0';
    tell_whose(m);
}

struct gn_sample_maps *gn_sample_maps_new(struct gn_sample_code *code, int pid, struct gn_tag *tag)
{
    struct gn_sample_maps *m = calloc(1, sizeof *m);
    if (m)
        *m = (struct gn_sample_maps){.code = code, .pid = pid, .tag = tag};
    return m;
}

void gn_sample_maps_free(struct gn_sample_maps *m)
{
    if (m)
        free(m->items);
    free(m);
}

static const struct mapping *search(struct gn_sample_maps *m, uint64_t address)
{
    size_t low = 0, high = m->count;
    if (m->last < m->count && address >= m->items[m->last].begin && address < m->items[m->last].end)
        return &m->items[m->last];
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (m->items[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    m->last = low;
    return low < m->count && address >= m->items[low].begin ? &m->items[low] : NULL;
}

void gn_sample_maps_changed(struct gn_sample_maps *m)
{
    if (m)
        m->changed = true;
}

/* Something may have been loaded since; but whoever makes code all the time does not have it looked at all
 * the time. */
static const struct mapping *find(struct gn_sample_maps *m, uint64_t address)
{
    const struct mapping *found = search(m, address);
    const uint64_t least_ns = m->changed ? JUST_READ_NS : READ_AGAIN_NS;
    if ((m->changed || !found) && gn_monotonic_ns() - m->read_ns > least_ns) {
        read_maps(m);
        found = search(m, address);
    }
    return found;
}

/* ---- frames ---- */

static struct gn_rule compile(struct module *module, uint64_t address)
{
    uintptr_t function;
    return gn_sample_elf_table(&module->elf, module->file)
               ? gn_unwind_rule(&module->elf.table, GN_CFI_NATIVE, address, &function)
               : gn_rule_of_kind(GN_RULE_END);
}

static struct gn_rule rule_at(struct module *module, uint64_t address)
{
    const size_t slot = (address * 0x9e3779b97f4a7c15ull) >> 54;
    _Static_assert(1 << (64 - 54) == RULES, "all slots");
    if (!module->rules && !(module->rules = calloc(RULES, sizeof *module->rules)))
        return compile(module, address);
    if (module->rules[slot].address != address) {
        module->rules[slot].rule = compile(module, address);
        module->rules[slot].address = address;
    }
    return module->rules[slot].rule;
}

static struct gn_sampled_place place_of(const struct mapping *at, uint64_t address)
{
    const bool known = at && at->module != GN_SAMPLE_NOWHERE;
    return (struct gn_sampled_place){.module = known ? at->module : GN_SAMPLE_NOWHERE,
                                     .offset = known ? address - at->bias : 1};
}

/* Where it calls another library from. */
static bool is_in_stub(const struct gn_sample_maps *m, const struct gn_sample *sample,
                       const struct mapping *at)
{
    return at && at->module != GN_SAMPLE_NOWHERE &&
           gn_sample_elf_is_stub(&m->code->items[at->module].elf, sample->at.ip - at->bias);
}

/* Up the stack, from the library that the thread was in, or from where it calls one. */
static void find_own(struct gn_sample_maps *m, const struct gn_sample *sample, const struct mapping *at,
                     struct gn_sample_where *where)
{
    struct gn_registers frame = sample->at;
    struct gn_stack_copy stack = sample->stack;
    struct gn_sampled_place called = where->site, waits = where->site;
    const uintptr_t end = stack.address + stack.count;
    const bool is_calling = is_in_stub(m, sample, at);
    for (int depth = 0; depth < MOST_FRAMES && at && at->module != GN_SAMPLE_NOWHERE && frame.sp % 8 == 0;
         depth++) {
        const uint64_t address = frame.ip - at->bias - (depth > 0);
        if (!gn_rule_step_in(&frame, rule_at(&m->code->items[at->module], address), end, &stack) ||
            stack.left)
            return;
        at = search(m, frame.ip - 1);
        where->in_call = where->in_call || (at && at->mpi);
        if (depth == 0 && is_calling) {
            called = waits = where->site = place_of(at, frame.ip);
            if (at && at->own && !at->interpreter)
                return;
        }
        if (at && at->own) {
            where->called = called;
            where->waits = waits;
            where->in_library = !at->interpreter;
            where->site = at->interpreter ? called : place_of(at, frame.ip);
            return;
        }
        called = place_of(at, frame.ip);
        if (at && !at->ours)
            waits = called;
    }
}

void gn_sample_where(struct gn_sample_maps *m, const struct gn_sample *sample, struct gn_sample_where *where)
{
    if (m->read_ns == 0)
        read_maps(m);
    const struct mapping *at = find(m, sample->at.ip);
    if (m->tag && m->tag_modules != GN_OBSERVE(m->tag->module_count))
        tell_whose(m);
    *where = (struct gn_sample_where){.site = place_of(at, sample->at.ip + 1),
                                      .in_call = at && at->mpi,
                                      .in_interpreter = at && at->interpreter};
    if (at && (!at->own || is_in_stub(m, sample, at)))
        find_own(m, sample, at, where);
}
