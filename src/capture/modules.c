#include "capture/modules.h"

#include "capture/interpreter.h"
#include "capture/real.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

gn_shared32 gn_unload_era;

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

void gn_module_executable(char *path, size_t size)
{
    ssize_t bytes = readlink("/proc/self/exe", path, size - 1);
    path[bytes > 0 ? bytes : 0] = '\0';
    const char *called = (const char *)getauxval(AT_EXECFN);
    if (bytes > 0 || !called)
        return;
    /* a root folder without /proc: as it was called; build ids tell whether that still is the file */
    size_t used = 0;
    if (called[0] != '/' && getcwd(path, size))
        used = strlen(path);
    snprintf(path + used, size - used, "%s%s", used ? "/" : "", called);
}

static void read_path(const struct dl_phdr_info *info, struct gn_module *module)
{
    if (info->dlpi_name && info->dlpi_name[0]) {
        snprintf(module->path, sizeof module->path, "%s", info->dlpi_name);
        return;
    }
    gn_module_executable(module->path, sizeof module->path);
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

static int copy_unloads(struct dl_phdr_info *info, size_t size, void *argument)
{
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
        *(unsigned long long *)argument = info->dlpi_subs;
    return 1;
}

void gn_modules_notice(void)
{
    static _Atomic unsigned long long seen;
    unsigned long long now = 0;
    dl_iterate_phdr(copy_unloads, &now);
    if (atomic_exchange(&seen, now) != now)
        atomic_fetch_add(&gn_unload_era, 1);
}

#if defined(DLFO_EH_SEGMENT_TYPE) /* glibc 2.35 */
bool gn_loader_finds(void *address, struct dl_find_object *result, int *code)
{
    typedef int find(void *, struct dl_find_object *);
    static _Atomic(find *) known;
    static atomic_bool asked;
    if (!atomic_load_explicit(&asked, memory_order_acquire)) {
        atomic_store_explicit(&known, (find *)dlsym(RTLD_DEFAULT, "_dl_find_object"), memory_order_relaxed);
        atomic_store_explicit(&asked, true, memory_order_release);
    }
    find *glibcs = atomic_load_explicit(&known, memory_order_relaxed);
    if (glibcs)
        *code = glibcs(address, result);
    return glibcs != NULL;
}

bool gn_is_loaded(uintptr_t address)
{
    struct dl_find_object found;
    int code;
    return gn_loader_finds((void *)address, &found, &code) && code == 0;
}
#else
bool gn_is_loaded(uintptr_t address)
{
    (void)address;
    return false;
}
#endif

/* ---- the list ---- */

static struct {
    struct gn_unwind_table table;
    uint32_t era; /* in which it was surely there */
} looked_up[GN_MAX_MODULES];

/* A library that was unloaded and loaded again at its place is the same one: plugins come and go. */
static uint32_t same_module(const struct gn_tag *segment, uint32_t count, const struct gn_module *m)
{
    for (uint32_t i = 1; i < count; i++) {
        const struct gn_module *known = &segment->modules[i];
        if (known->kind == m->kind && known->base == m->base && known->end_address == m->end_address &&
            memcmp(known->build_id, m->build_id, sizeof m->build_id) == 0 &&
            strcmp(known->path, m->path) == 0)
            return i;
    }
    return count;
}

uint16_t gn_module_at(struct gn_tag *segment, uintptr_t address, const struct gn_unwind_table **table)
{
    static struct gn_module found; /* under the lock, and too large for a user's stack */
    static struct gn_unwind_table found_table;
    gn_modules_notice();
    const uint32_t era = GN_GET(gn_unload_era), count = GN_GET(segment->module_count);
    for (uint32_t i = 1; i < count; i++)
        if (looked_up[i].era == era + 1 && address >= segment->modules[i].first_address &&
            address < segment->modules[i].end_address) {
            *table = &looked_up[i].table;
            return (uint16_t)i;
        }
    struct query query = {address, &found, &found_table};
    *table = NULL;
    if (!dl_iterate_phdr(match, &query))
        return 0;
    *table = &found_table;
    uint32_t index = same_module(segment, count, &found);
    if (index == GN_MAX_MODULES) /* no room: it has rules, but no name */
        return 0;
    looked_up[index].table = found_table;
    looked_up[index].era = era + 1;
    if (index < count)
        return (uint16_t)index;
    segment->modules[index] = found;
    if (found.kind == GN_MODULE_INTERPRETER)
        gn_interpreter_find(); /* it may have been loaded since the last time */
    GN_PUBLISH(segment->module_count, count + 1);
    return (uint16_t)index;
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
            strncmp(name, "libgnomon", 9) == 0 /* between MPICH's Fortran and C entry points */
            || gn_real_lies_in(module->first_address, module->end_address));
}

bool gn_module_is_slots(const struct gn_module *module)
{
    static const char begins[] = "libgnomon-activities";
    return strncmp(base_name(module), begins, sizeof begins - 1) == 0;
}

bool gn_module_is_libc(const struct gn_module *module)
{
    const char *name = base_name(module);
    return module->kind != GN_MODULE_PYTHON &&
           (strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-", 5) == 0 ||
            strncmp(name, "libpthread", 10) == 0 || strncmp(name, "ld-linux", 8) == 0);
}
