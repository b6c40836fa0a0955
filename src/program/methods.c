#include "program/methods.h"

#include "base/grow.h"

#include <ctype.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* PyMethodDef: name, function, flags, documentation */
    METHOD_BYTES = 32,
    METHOD_FLAGS_MAX = 0x3ff,
    /* PyGetSetDef: name, get, set, documentation, closure */
    PROPERTY_BYTES = 40,
    PROPERTY_SET = 16,
    DOCUMENTATION = 24, /* of both */
    /* PyTypeObject */
    TYPE_NAME = 24,
    TYPE_METHODS = 232,
    TYPE_PROPERTIES = 248,

    NAME_MAX_BYTES = 256,
    /* what no honest file reaches */
    POINTERS_MAX = 1 << 20,
    METHODS_MAX = 1 << 16,
    TABLE_MAX = 1 << 12,
    REFERRERS_MAX = 64,
};

struct pointer { /* the loader writes value there */
    uint64_t at, value;
};

struct reader {
    struct gn_methods *methods;
    Elf *elf;
    const char *file;
    size_t bytes;
    size_t segments;
    struct pointer *pointers; /* by at */
    size_t count, room;
    struct pointer *by_value;
};

/* ---- the file ---- */

/* What is loaded at address, up to the end of its segment. executable: only code. */
static const char *bytes_at(const struct reader *r, uint64_t address, bool executable, size_t *left)
{
    GElf_Phdr p;
    for (size_t i = 0; i < r->segments; i++) {
        if (!gelf_getphdr(r->elf, (int)i, &p) || p.p_type != PT_LOAD || address < p.p_vaddr ||
            address - p.p_vaddr >= p.p_filesz || (executable && !(p.p_flags & PF_X)))
            continue;
        if (p.p_offset > r->bytes || p.p_filesz > r->bytes - p.p_offset)
            return NULL;
        *left = p.p_filesz - (address - p.p_vaddr);
        return r->file + p.p_offset + (address - p.p_vaddr);
    }
    return NULL;
}

static bool is_code(const struct reader *r, uint64_t address)
{
    size_t left;
    return bytes_at(r, address, true, &left) != NULL;
}

/* The text at address if it is an identifier, or several with dots between them. */
static const char *name_at(const struct reader *r, uint64_t address, bool dots)
{
    size_t left, length = 0;
    const char *text = bytes_at(r, address, false, &left);
    left = left < NAME_MAX_BYTES ? left : NAME_MAX_BYTES;
    if (!text || isdigit((unsigned char)text[0]))
        return NULL;
    while (length < left && (isalnum((unsigned char)text[length]) || text[length] == '_' ||
                             (dots && length > 0 && text[length] == '.')))
        length++;
    return length > 0 && length < left && text[length] == '\0' ? text : NULL;
}

static int by_place(const void *left, const void *right)
{
    const struct pointer *a = left, *b = right;
    return (a->at > b->at) - (a->at < b->at);
}

static int by_value(const void *left, const void *right)
{
    const struct pointer *a = left, *b = right;
    return a->value != b->value ? (a->value > b->value) - (a->value < b->value) : by_place(left, right);
}

static const struct pointer *pointer_at(const struct reader *r, uint64_t at)
{
    struct pointer key = {at, 0};
    return bsearch(&key, r->pointers, r->count, sizeof key, by_place);
}

static bool add_pointers(struct reader *r, Elf_Scn *section, const GElf_Shdr *header, unsigned relative)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t entries = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
    GElf_Rela rela;
    for (size_t i = 0; i < entries && r->count < POINTERS_MAX; i++) {
        if (!gelf_getrela(data, (int)i, &rela) || GELF_R_TYPE(rela.r_info) != relative)
            continue;
        if (!gn_grow(&r->pointers, &r->room, r->count, sizeof *r->pointers))
            return false;
        r->pointers[r->count++] = (struct pointer){rela.r_offset, (uint64_t)rela.r_addend};
    }
    return true;
}

static bool read_pointers(struct reader *r)
{
    GElf_Ehdr file;
    if (!gelf_getehdr(r->elf, &file) || file.e_ident[EI_CLASS] != ELFCLASS64 ||
        file.e_ident[EI_DATA] != ELFDATA2LSB)
        return false;
    unsigned relative = file.e_machine == EM_X86_64 ? R_X86_64_RELATIVE : R_AARCH64_RELATIVE;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(r->elf, section));) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA &&
            !add_pointers(r, section, &header, relative))
            return false;
    }
    if (r->count == 0 || !(r->by_value = calloc(r->count, sizeof *r->by_value)))
        return false;
    memcpy(r->by_value, r->pointers, r->count * sizeof *r->by_value);
    qsort(r->pointers, r->count, sizeof *r->pointers, by_place);
    qsort(r->by_value, r->count, sizeof *r->by_value, by_value);
    return true;
}

/* ---- the module ---- */

/* Of several it is the interpreter itself, in which modules are that it has no files for. */
static const char *module_in(Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
    static const char prefix[] = "PyInit_";
    const char *module = NULL;
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Sym symbol;
    for (int i = 1; data && gelf_getsym(data, i, &symbol); i++) {
        const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
        if (symbol.st_shndx == SHN_UNDEF || !name || strncmp(name, prefix, sizeof prefix - 1) != 0)
            continue;
        if (module)
            return NULL;
        module = name + sizeof prefix - 1;
    }
    return module;
}

static char *read_module(Elf *elf)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        const char *name;
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNSYM &&
            (name = module_in(elf, section, &header)) && name[0])
            return strdup(name);
    }
    return NULL;
}

/* ---- its tables ---- */

enum entry { NO_ENTRY, METHOD, PROPERTY };

/* Whether a table's entry begins at a pointer. */
static enum entry entry_at(const struct reader *r, const struct pointer *name)
{
    size_t left;
    int32_t flags;
    const struct pointer *function = pointer_at(r, name->at + 8),
                         *set = pointer_at(r, name->at + PROPERTY_SET);
    const char *word = bytes_at(r, name->at + PROPERTY_SET, false, &left);
    if (!function || !is_code(r, function->value) || !name_at(r, name->value, false) || !word ||
        left < sizeof flags)
        return NO_ENTRY;
    if (set)
        return is_code(r, set->value) ? PROPERTY : NO_ENTRY;
    memcpy(&flags, word, sizeof flags);
    return flags == 0 ? PROPERTY : flags > 0 && flags <= METHOD_FLAGS_MAX ? METHOD : NO_ENTRY;
}

/* Where the table that an entry is in begins. */
static uint64_t table_of(const struct reader *r, uint64_t at, enum entry kind)
{
    const uint64_t bytes = kind == METHOD ? METHOD_BYTES : PROPERTY_BYTES;
    const struct pointer *before;
    for (int i = 0;
         i < TABLE_MAX && at >= bytes && (before = pointer_at(r, at - bytes)) && entry_at(r, before) == kind;
         i++)
        at -= bytes;
    return at;
}

/* "mpi4py.MPI.Comm": of the type that refers to the table; NULL: none does. */
static const char *type_of(const struct reader *r, uint64_t table, enum entry kind)
{
    const uint64_t member = kind == METHOD ? TYPE_METHODS : TYPE_PROPERTIES;
    size_t low = 0, high = r->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->by_value[middle].value < table)
            low = middle + 1;
        else
            high = middle;
    }
    for (int i = 0; i < REFERRERS_MAX && low < r->count && r->by_value[low].value == table; i++, low++) {
        const struct pointer *name = pointer_at(r, r->by_value[low].at - member + TYPE_NAME);
        const char *text = name ? name_at(r, name->value, true) : NULL;
        if (text && strchr(text, '.'))
            return strrchr(text, '.') + 1;
    }
    return NULL;
}

/* "Comm.recv" of "Comm.recv(self, buf=None)"; 0 bytes: the documentation does not begin so. */
static size_t signature_bytes(const char *text, size_t left, const char *method)
{
    size_t length = 0, method_bytes = strlen(method);
    while (length < left && length < NAME_MAX_BYTES &&
           (isalnum((unsigned char)text[length]) || text[length] == '_' || text[length] == '.'))
        length++;
    return length < left && text[length] == '(' && length > method_bytes &&
                   memcmp(text + length - method_bytes, method, method_bytes) == 0 &&
                   text[length - method_bytes - 1] == '.'
               ? length
               : 0;
}

static char *name_of(const struct reader *r, const struct pointer *entry, enum entry kind)
{
    const char *method = name_at(r, entry->value, false), *module = r->methods->module;
    const struct pointer *documentation = pointer_at(r, entry->at + DOCUMENTATION);
    size_t left, bytes = 0;
    const char *text = documentation ? bytes_at(r, documentation->value, false, &left) : NULL, *type;
    char *name;
    int length;
    if (text && kind == METHOD)
        bytes = signature_bytes(text, left, method);
    if (bytes > 0)
        length = asprintf(&name, "%s.%.*s", module, (int)bytes, text);
    else if ((type = type_of(r, table_of(r, entry->at, kind), kind)))
        length = asprintf(&name, "%s.%s.%s", module, type, method);
    else
        length = asprintf(&name, "%s.%s", module, method);
    return length < 0 ? NULL : name;
}

static bool add_method(struct reader *r, uint64_t function, char *name)
{
    struct gn_methods *m = r->methods;
    if (!name || !gn_grow(&m->items, &m->room, m->count, sizeof *m->items)) {
        free(name);
        return false;
    }
    m->items[m->count++] = (struct gn_method){function, name};
    return true;
}

static bool read_tables(struct reader *r)
{
    for (size_t i = 0; i < r->count && r->methods->count < METHODS_MAX; i++) {
        const struct pointer *entry = &r->pointers[i], *set;
        enum entry kind = entry_at(r, entry);
        if (kind == NO_ENTRY)
            continue;
        if (!add_method(r, pointer_at(r, entry->at + 8)->value, name_of(r, entry, kind)))
            return false;
        if (kind == PROPERTY && (set = pointer_at(r, entry->at + PROPERTY_SET)) &&
            !add_method(r, set->value, name_of(r, entry, kind)))
            return false;
    }
    return true;
}

static int by_function(const void *left, const void *right)
{
    const struct gn_method *a = left, *b = right;
    return a->function != b->function ? (a->function > b->function) - (a->function < b->function)
                                      : strcmp(a->name, b->name);
}

void gn_methods_read(struct gn_methods *methods, Elf *elf)
{
    struct reader r = {.methods = methods, .elf = elf};
    *methods = (struct gn_methods){.module = read_module(elf)};
    r.file = elf_rawfile(elf, &r.bytes);
    if (!methods->module || !r.file || elf_getphdrnum(elf, &r.segments) != 0)
        return;
    if (!read_pointers(&r) || !read_tables(&r))
        while (methods->count > 0)
            free(methods->items[--methods->count].name);
    if (methods->count > 0)
        qsort(methods->items, methods->count, sizeof *methods->items, by_function);
    free(r.pointers);
    free(r.by_value);
}

void gn_methods_clear(struct gn_methods *methods)
{
    for (size_t i = 0; i < methods->count; i++)
        free(methods->items[i].name);
    free(methods->items);
    free(methods->module);
    *methods = (struct gn_methods){0};
}

const char *gn_methods_find(const struct gn_methods *methods, uint64_t function)
{
    size_t low = 0, high = methods->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (methods->items[middle].function < function)
            low = middle + 1;
        else
            high = middle;
    }
    return low < methods->count && methods->items[low].function == function ? methods->items[low].name : NULL;
}
