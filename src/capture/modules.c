#include "capture/modules.h"

#include "capture/interpreter.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

gn_shared32 gn_unload_era;
static struct gn_unwind_table tables[GN_MAX_MODULES];

struct query {
    uintptr_t address;
    struct gn_module *module; /* filled when found */
    struct gn_unwind_table *table;
};

static void read_build_id(const struct dl_phdr_info *info, const ElfW(Phdr) * notes, struct gn_module *module)
{
    const uint8_t *at = (const uint8_t *)(info->dlpi_addr + notes->p_vaddr);
    const uint8_t *end = at + notes->p_memsz;
    while (end - at >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof note);
        size_t name_bytes = (note.n_namesz + 3u) & ~3u, desc_bytes = (note.n_descsz + 3u) & ~3u;
        const uint8_t *name = at + sizeof note, *desc = name + name_bytes;
        if (desc + desc_bytes > end)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
            module->build_id_bytes =
                note.n_descsz < GN_BUILD_ID_BYTES ? note.n_descsz : (uint32_t)GN_BUILD_ID_BYTES;
            memcpy(module->build_id, desc, module->build_id_bytes);
            return;
        }
        at = desc + desc_bytes;
    }
}

static void read_path(const struct dl_phdr_info *info, struct gn_module *module)
{
    if (info->dlpi_name && info->dlpi_name[0]) {
        snprintf(module->path, sizeof module->path, "%s", info->dlpi_name);
        return;
    }
    ssize_t bytes = readlink("/proc/self/exe", module->path, sizeof module->path - 1);
    module->path[bytes > 0 ? bytes : 0] = '\0';
}

/* The unwind information lies in the segment that holds its header, or is not used. */
static void read_table(const struct dl_phdr_info *info, struct gn_unwind_table *table)
{
    memset(table, 0, sizeof *table);
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
            table->header = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && table->header - begin < info->dlpi_phdr[i].p_filesz)
            table->bytes = (struct gn_cfi_bytes){(const uint8_t *)begin, info->dlpi_phdr[i].p_filesz, begin};
    }
}

static int match(struct dl_phdr_info *info, size_t size, void *argument)
{
    (void)size;
    struct query *query = argument;
    uintptr_t first = UINTPTR_MAX, end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        first = begin < first ? begin : first;
        end = begin + info->dlpi_phdr[i].p_memsz > end ? begin + info->dlpi_phdr[i].p_memsz : end;
    }
    if (query->address < first || query->address >= end)
        return 0;
    memset(query->module, 0, sizeof *query->module);
    query->module->kind = gn_interpreter_module(info) ? GN_MODULE_INTERPRETER : GN_MODULE_ELF;
    query->module->base = info->dlpi_addr;
    query->module->first_address = first;
    query->module->end_address = end;
    read_path(info, query->module);
    read_table(info, query->table);
    for (int i = 0; i < info->dlpi_phnum && !query->module->build_id_bytes; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE)
            read_build_id(info, &info->dlpi_phdr[i], query->module);
    return 1;
}

static int copy_info(struct dl_phdr_info *info, size_t size, void *argument)
{
    memcpy(argument, info, size < sizeof *info ? size : sizeof *info);
    return 1;
}

static struct dl_phdr_info loader_state(void)
{
    struct dl_phdr_info info = {.dlpi_adds = 0};
    dl_iterate_phdr(copy_info, &info);
    return info;
}

unsigned long long gn_modules_loaded(void)
{
    return loader_state().dlpi_adds;
}

static void notice_unloads(void)
{
    static _Atomic unsigned long long seen;
    unsigned long long now = loader_state().dlpi_subs;
    if (atomic_exchange(&seen, now) != now)
        atomic_fetch_add(&gn_unload_era, 1);
}

/* What is remembered of addresses has to go when they lose their meaning, and nothing else tells in time that
 * they do. */
__attribute__((visibility("default"))) int dlclose(void *handle)
{
    static int (*_Atomic real)(void *);
    if (!real)
        real = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
    int result = real ? real(handle) : -1;
    notice_unloads();
    return result;
}

const struct gn_unwind_table *gn_module_table(uint16_t module)
{
    return &tables[module];
}

/* A library that was unloaded and loaded again at its place is the same one: plugins come and go. */
static uint32_t same_module(struct gn_tag *segment, uint32_t fresh)
{
    const struct gn_module *m = &segment->modules[fresh];
    for (uint32_t i = 1; i < fresh; i++) {
        const struct gn_module *known = &segment->modules[i];
        if (known->base == m->base && known->end_address == m->end_address &&
            memcmp(known->build_id, m->build_id, sizeof m->build_id) == 0 &&
            strcmp(known->path, m->path) == 0)
            return i;
    }
    return fresh;
}

uint16_t gn_module_at(struct gn_tag *segment, uintptr_t address)
{
    static uint32_t era, first_valid = 1; /* entries below were looked up before a library was unloaded */
    notice_unloads();
    uint32_t now = GN_GET(gn_unload_era), count = GN_GET(segment->module_count);
    if (now != era) {
        era = now;
        first_valid = count;
    }
    for (uint32_t i = first_valid; i < count; i++)
        if (address >= segment->modules[i].first_address && address < segment->modules[i].end_address)
            return (uint16_t)i;
    if (count >= GN_MAX_MODULES)
        return 0;
    struct query query = {address, &segment->modules[count], &tables[count]};
    if (!dl_iterate_phdr(match, &query))
        return 0;
    uint32_t known = same_module(segment, count);
    if (known < count) {
        tables[known] = tables[count];
        return (uint16_t)known;
    }
    if (segment->modules[count].kind == GN_MODULE_INTERPRETER)
        gn_interpreter_find(); /* it may have been loaded since the last time */
    GN_PUBLISH(segment->module_count, count + 1);
    return (uint16_t)count;
}

uint16_t gn_module_of_source(struct gn_tag *segment, const char *file)
{
    static uint32_t last;
    const uint32_t count = GN_GET(segment->module_count);
    if (last && strcmp(segment->modules[last].path, file) == 0)
        return (uint16_t)last;
    for (last = 1; last < count; last++)
        if (segment->modules[last].kind == GN_MODULE_PYTHON && strcmp(segment->modules[last].path, file) == 0)
            return (uint16_t)last;
    last = 0;
    if (count >= GN_MAX_MODULES)
        return 0;
    struct gn_module *module = &segment->modules[count];
    *module = (struct gn_module){.kind = GN_MODULE_PYTHON};
    strncpy(module->path, file, sizeof module->path - 1);
    GN_PUBLISH(segment->module_count, count + 1);
    return (uint16_t)(last = count);
}

static const char *base_name(const struct gn_module *module)
{
    const char *slash = strrchr(module->path, '/');
    return slash ? slash + 1 : module->path;
}

bool gn_module_is_mpi(const struct gn_module *module)
{
    const char *name = base_name(module);
    return module->kind != GN_MODULE_PYTHON &&
           (strncmp(name, "libmpi", 6) == 0 || strncmp(name, "libpmpi", 7) == 0 ||
            strncmp(name, "libgnomon", 9) == 0); /* between MPICH's Fortran and C entry points */
}

bool gn_module_is_libc(const struct gn_module *module)
{
    const char *name = base_name(module);
    return module->kind != GN_MODULE_PYTHON &&
           (strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-", 5) == 0 ||
            strncmp(name, "libpthread", 10) == 0 || strncmp(name, "ld-linux", 8) == 0);
}
