#include "program/linked.h"

#include "base/grow.h"
#include "program/imports.h"
#include "program/names.h"
#include "program/needed.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MODULES_MAX = 1024, SYMBOLS_MAX = 1 << 22, VERSIONS_MAX = 1 << 15 };

struct module {
    char *path;
    int file;
    Elf *elf;
    Elf_Data *symbols, *versions, *needed; /* NULL: it has none */
    size_t strings, needed_strings;
    uint64_t symbol_count;
    bool symbolic; /* calls its own functions directly */
};

struct gn_linked {
    struct module *modules; /* [0] is the executable */
    size_t count, room;
};

/* ---- reading ---- */

static void read_dynamic(struct module *m, Elf_Data *data)
{
    GElf_Dyn entry;
    for (int i = 0; i < SYMBOLS_MAX && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
        m->symbolic |=
            entry.d_tag == DT_SYMBOLIC || (entry.d_tag == DT_FLAGS && entry.d_un.d_val & DF_SYMBOLIC);
}

static void read_sections(struct module *m)
{
    GElf_Shdr header;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(m->elf, section));) {
        Elf_Data *data = gelf_getshdr(section, &header) ? elf_getdata(section, NULL) : NULL;
        if (!data)
            continue;
        if (header.sh_type == SHT_DYNSYM && header.sh_entsize > 0) {
            m->symbols = data;
            m->strings = header.sh_link;
            m->symbol_count = data->d_size / header.sh_entsize;
        } else if (header.sh_type == SHT_GNU_versym) {
            m->versions = data;
        } else if (header.sh_type == SHT_GNU_verneed) {
            m->needed = data;
            m->needed_strings = header.sh_link;
        } else if (header.sh_type == SHT_DYNAMIC) {
            read_dynamic(m, data);
        }
    }
}

static void close_module(struct module *m)
{
    if (m->elf)
        elf_end(m->elf);
    if (m->file >= 0)
        close(m->file);
    free(m->path);
}

/* True: it is there, once. */
static bool open_module(struct gn_linked *l, const char *path)
{
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->modules[i].path, path) == 0)
            return true;
    if (l->count >= MODULES_MAX || !gn_grow(&l->modules, &l->room, l->count, sizeof *l->modules))
        return false;
    struct module m = {.path = realpath(path, NULL), .file = open(path, O_RDONLY | O_CLOEXEC)};
    m.elf = m.path && m.file >= 0 ? elf_begin(m.file, ELF_C_READ_MMAP, NULL) : NULL;
    if (!m.elf || elf_kind(m.elf) != ELF_K_ELF) {
        close_module(&m);
        return false;
    }
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->modules[i].path, m.path) == 0) {
            close_module(&m);
            return true;
        }
    read_sections(&m);
    l->modules[l->count++] = m;
    return true;
}

static void open_needed(struct gn_linked *l, const char *path)
{
    char **needed = gn_needed_libraries(path);
    for (char **at = needed; at && *at; at++) {
        open_module(l, *at);
        free(*at);
    }
    free(needed);
}

struct gn_linked *gn_linked_open(const char *executable, struct gn_error *err)
{
    struct gn_linked *l = calloc(1, sizeof *l);
    elf_version(EV_CURRENT);
    if (!l || !open_module(l, executable)) {
        gn_fail(err, -EINVAL, "%s is no executable that could be read, or a script", executable);
        if (l)
            gn_linked_close(l);
        return NULL;
    }
    if (!l->modules[0].symbols) {
        gn_fail(err, -EINVAL, "%s is not linked dynamically", executable);
        gn_linked_close(l);
        return NULL;
    }
    for (size_t i = 0; i < l->count; i++)
        open_needed(l, l->modules[i].path);
    return l;
}

void gn_linked_close(struct gn_linked *l)
{
    for (size_t i = 0; i < l->count; i++)
        close_module(&l->modules[i]);
    free(l->modules);
    free(l);
}

/* ---- versions ---- */

static const char *version_named(const struct module *m, GElf_Half wanted)
{
    GElf_Verneed file;
    GElf_Vernaux version;
    int looked = 0; /* a damaged table may go round */
    for (size_t at = 0; m->needed && gelf_getverneed(m->needed, (int)at, &file); at += file.vn_next) {
        size_t inside = at + file.vn_aux;
        for (int i = 0; i < file.vn_cnt && gelf_getvernaux(m->needed, (int)inside, &version); i++) {
            if ((version.vna_other & 0x7fff) == wanted)
                return elf_strptr(m->elf, m->needed_strings, version.vna_name);
            inside += version.vna_next;
            if (version.vna_next == 0 || ++looked == VERSIONS_MAX)
                break;
        }
        if (file.vn_next == 0 || ++looked >= VERSIONS_MAX)
            break;
    }
    return NULL;
}

/* That module m asks for with its symbol i; "" when it does not say. */
static const char *version_asked(const struct module *m, uint64_t i)
{
    GElf_Versym number;
    const char *name = NULL;
    if (m->versions && gelf_getversym(m->versions, (int)i, &number) && (number & 0x7fff) > 1)
        name = version_named(m, number & 0x7fff);
    return name ? name : "";
}

/* ---- looking for a function ---- */

struct finding {
    struct gn_linked_function *found;
    size_t room, count;
    bool asked[32], defined[32]; /* by whom these are, of each */
    const char *name;
    bool exact;
    bool too_long, several, in_executable, is_data;
    const char *where;
};

static bool is_meant(const struct finding *f, const char *symbol)
{
    if (f->exact)
        return strcmp(f->name, symbol) == 0;
    const size_t length = strlen(symbol);
    if (strncmp(symbol, "_Z", 2) != 0 && (length == 0 || symbol[length - 1] != '_'))
        return false;
    /* what is between :: and <, which stands in the symbol as it is: most need not be demangled */
    const size_t plain = strcspn(f->name, "<");
    size_t last = plain;
    while (last > 0 && f->name[last - 1] != ':')
        last--;
    if (symbol[0] == '_' && !memmem(symbol, length, f->name + last, plain - last))
        return false;
    char *name = gn_name_of_symbol(symbol);
    const bool is = name && strcmp(name, f->name) == 0;
    free(name);
    return is;
}

static size_t place_of(struct finding *f, const char *symbol)
{
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->found[i].symbol, symbol) == 0)
            return i;
    if (strlen(symbol) >= sizeof f->found[0].symbol)
        f->too_long = true;
    else if (f->count < f->room && f->count < sizeof f->asked / sizeof f->asked[0]) {
        f->asked[f->count] = f->defined[f->count] = false;
        strcpy(f->found[f->count].symbol, symbol);
        f->found[f->count].version[0] = '\0';
        return f->count++;
    }
    return f->room;
}

static void ask(struct finding *f, size_t place, const char *version)
{
    if (strlen(version) >= GN_LINKED_VERSION ||
        (f->asked[place] && strcmp(f->found[place].version, version) != 0))
        f->several = true;
    else
        strcpy(f->found[place].version, version);
    f->asked[place] = true;
}

/* Through its own linkage table, as libraries do whose functions may be replaced. */
static bool calls_itself(const struct module *m, const char *name)
{
    struct gn_imports imports = {0};
    bool calls = false;
    gn_imports_read(&imports, m->elf);
    for (size_t i = 0; i < imports.count && !calls; i++)
        calls = imports.items[i].address != 0 && strcmp(imports.items[i].name, name) == 0;
    gn_imports_clear(&imports);
    return calls;
}

static void look_at(struct finding *f, const struct gn_linked *l, size_t module, uint64_t i)
{
    const struct module *m = &l->modules[module];
    GElf_Sym symbol;
    if (!gelf_getsym(m->symbols, (int)i, &symbol) || GELF_ST_BIND(symbol.st_info) == STB_LOCAL)
        return;
    const char *name = elf_strptr(m->elf, m->strings, symbol.st_name);
    if (!name || !name[0] || !is_meant(f, name))
        return;
    const int type = GELF_ST_TYPE(symbol.st_info);
    const bool defined = symbol.st_shndx != SHN_UNDEF;
    if (defined && type != STT_FUNC && type != STT_GNU_IFUNC) {
        f->is_data = true;
        return;
    }
    const size_t place = place_of(f, name);
    if (place == f->room)
        return;
    if (!defined) {
        ask(f, place, version_asked(m, i));
        return;
    }
    f->defined[place] = true;
    f->in_executable |= module == 0;
    f->where = f->where ? f->where : m->path;
    if (!m->symbolic && calls_itself(m, name))
        ask(f, place, f->found[place].version);
}

static void look_through(struct finding *f, const struct gn_linked *l)
{
    for (size_t module = 0; module < l->count; module++)
        for (uint64_t i = 1;
             l->modules[module].symbols && i < l->modules[module].symbol_count && i < SYMBOLS_MAX; i++)
            look_at(f, l, module, i);
}

/* Also of a function that only the symbol table has. */
static bool is_in_executable(const struct finding *f, const struct module *m)
{
    GElf_Shdr header;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(m->elf, section));) {
        Elf_Data *data = gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB
                             ? elf_getdata(section, NULL)
                             : NULL;
        GElf_Sym symbol;
        for (int i = 0; data && i < SYMBOLS_MAX && gelf_getsym(data, i, &symbol); i++) {
            const char *name = elf_strptr(m->elf, header.sh_link, symbol.st_name);
            if (name && GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF &&
                (strcmp(name, f->name) == 0 || is_meant(f, name)))
                return true;
        }
    }
    return false;
}

/* A call that goes another way would do something else: who looks at its caller, or at what is above it on
 * the stack; and what the measuring of a call needs itself. */
static bool is_no_plain_call(const char *name)
{
    static const char *const names[] = {"dlopen",         "dlmopen",
                                        "dlsym",          "dlvsym",
                                        "dlclose",        "dladdr",
                                        "dlinfo",         "malloc",
                                        "calloc",         "realloc",
                                        "free",           "memalign",
                                        "aligned_alloc",  "posix_memalign",
                                        "getcontext",     "setcontext",
                                        "swapcontext",    "makecontext",
                                        "clone",          "vfork",
                                        "fork",           "pthread_getattr_np",
                                        "pthread_create", "pthread_join",
                                        "__tls_get_addr", "__libc_start_main",
                                        "mcount",         "alloca",
                                        "execl",          "execle",
                                        "execlp",         "execv",
                                        "execve",         "execvp",
                                        "execvpe",        "posix_spawn",
                                        "posix_spawnp"};
    static const char *const begins[] = {"_Unwind_", "__cxa_",      "_dl_",   "__cyg_profile",
                                         "_ZGV",     "__sanitizer", "__asan", "__tsan"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return gn_name_returns_twice(name) || gn_name_is_noreturn(name);
}

/* Keeps of them whose calls are met; why the others are not, unless some are. */
static int choose(struct finding *f, const struct gn_linked *l, struct gn_error *err)
{
    const char *const program = l->modules[0].path;
    size_t kept = 0;
    const bool known = f->count > 0;
    for (size_t i = 0; i < f->count && !f->several && !f->in_executable; i++)
        if (f->asked[i] && f->defined[i])
            f->found[kept++] = f->found[i];
    f->count = kept;
    if (kept > 0)
        return 0;
    if (f->in_executable || is_in_executable(f, &l->modules[0]))
        return gn_fail(
            err, -ENOTSUP,
            "it is a part of %s, whose calls within itself cannot be met; gnomon_region_begin (gnomon.h) "
            "can name it",
            program);
    if (f->several)
        return gn_fail(err, -ENOTSUP, "different libraries ask for different versions of it");
    if (f->too_long)
        return gn_fail(err, -ENOTSUP, "its symbol is longer than %d characters", GN_LINKED_SYMBOL - 1);
    if (f->is_data)
        return gn_fail(err, -ENOTSUP, "it is data, not a function");
    if (f->where)
        return gn_fail(err, -ENOTSUP,
                       "%s has it, but neither %s nor another library it is linked with calls it", f->where,
                       program);
    return gn_fail(err, -ENOENT,
                   known ? "%s asks for it, but none of the libraries it is linked with has it"
                         : "neither %s nor a library it is linked with has it",
                   program);
}

size_t gn_linked_find(struct gn_linked *l, const char *name, struct gn_linked_function *found, size_t room,
                      struct gn_error *err)
{
    struct finding f = {.found = found, .room = room, .name = name, .exact = true};
    if (gn_name_is_mpi(name)) {
        gn_fail(err, -ENOTSUP, "it is a call of MPI, and those are activities anyway");
        return 0;
    }
    if (is_no_plain_call(name)) {
        gn_fail(err, -ENOTSUP, "it would do something else if it were called from elsewhere");
        return 0;
    }
    look_through(&f, l);
    if (f.count == 0 && !f.is_data) {
        f.exact = false;
        look_through(&f, l);
    }
    return choose(&f, l, err) == 0 ? f.count : 0;
}
