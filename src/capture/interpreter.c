#include "capture/interpreter.h"

#include <dlfcn.h>
#include <elf.h>
#include <stddef.h>
#include <string.h>

/* ---- symbols of a module, by the hash table that the linker left for the loader ---- */

struct symbols {
    uintptr_t base;
    const ElfW(Sym) * table;
    const char *names;
    const uint32_t *hash;
};

/* The loader has added the base to addresses in here on most machines, but not on all. */
static uintptr_t based(uintptr_t base, uintptr_t address)
{
    return address < base ? base + address : address;
}

static bool find_symbols(const struct dl_phdr_info *module, struct symbols *s)
{
    const ElfW(Dyn) *entry = NULL;
    *s = (struct symbols){.base = module->dlpi_addr};
    for (int i = 0; i < module->dlpi_phnum; i++)
        if (module->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const ElfW(Dyn) *)(module->dlpi_addr + module->dlpi_phdr[i].p_vaddr);
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        const uintptr_t at = based(s->base, entry->d_un.d_ptr);
        if (entry->d_tag == DT_SYMTAB)
            s->table = (const ElfW(Sym) *)at;
        else if (entry->d_tag == DT_STRTAB)
            s->names = (const char *)at;
        else if (entry->d_tag == DT_GNU_HASH)
            s->hash = (const uint32_t *)at;
    }
    return s->table && s->names && s->hash;
}

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

/* Address of a symbol that the module defines; 0: it does not. */
static uintptr_t own_symbol(const struct symbols *s, const char *name)
{
    const uint32_t buckets = s->hash[0], first = s->hash[1], bloom_words = s->hash[2], hash = hash_of(name);
    const uint32_t *bucket = s->hash + 4 + bloom_words * (sizeof(uintptr_t) / sizeof(uint32_t));
    const uint32_t *chain = bucket + buckets;
    uint32_t i = buckets ? bucket[hash % buckets] : 0;
    for (; i >= first && i > 0; i++) {
        const uint32_t known = chain[i - first];
        if ((known | 1) == (hash | 1) && s->table[i].st_shndx != SHN_UNDEF &&
            strcmp(s->names + s->table[i].st_name, name) == 0)
            return s->base + s->table[i].st_value;
        if (known & 1)
            break;
    }
    return 0;
}

/* Data may have been moved into the program itself (a copy relocation): what the loader finds first, counts.
 */
static uintptr_t symbol(const struct symbols *s, const char *name)
{
    void *first = dlsym(RTLD_DEFAULT, name);
    return first ? (uintptr_t)first : own_symbol(s, name);
}

/* ---- layouts ---- */

/* What all versions have in common; the rest by version. */
static void lay_out_objects(struct gn_python_layout *l)
{
    l->object_type = 8;
    l->object_size = 16;
    l->bytes_data = 32;
    l->text_length = 16;
    l->text_state = 32;
    l->text_ascii_data = 40;
    l->text_wide_data = 56;
}

/* Include/cpython/code.h: the last members before the instructions, and the line's neighbours. */
static void lay_out_code(struct gn_python_layout *l, uint32_t start)
{
    l->code_file = 112;
    l->code_name = 128;
    l->code_lines = 136;
    l->code_first_line = 68;
    l->code_version = 92;
    l->code_start = start;
    l->code_first_traceable = start - 16;
}

static void lay_out_3_11(struct gn_python_layout *l)
{
    lay_out_objects(l);
    l->text_ascii_data = 48; /* with the wchar_t form that went away in 3.12 */
    l->text_wide_data = 72;
    lay_out_code(l, 184);
    l->code_first_line = 72;
    l->code_version = 0;
    l->runtime_finalizing = 24;
    l->through_cframe = true;
    l->state_frame = 56;
    l->cframe_frame = 8;
    l->state_thread = 152;
    l->state_native_thread = 160;
    l->frame_code = 32;
    l->frame_previous = 48;
    l->frame_ip = 56;
    l->frame_owner = 69;
}

static void lay_out_3_12(struct gn_python_layout *l)
{
    lay_out_objects(l);
    lay_out_code(l, 192);
    l->runtime_finalizing = 24;
    l->through_cframe = true;
    l->state_frame = 56;
    l->cframe_frame = 0;
    l->state_thread = 136;
    l->state_native_thread = 144;
    l->frame_code = 0;
    l->frame_previous = 8;
    l->frame_ip = 56;
    l->frame_owner = 70;
}

/* Where in _Py_DebugOffsets the groups begin that are of use here, in words. A group's first is its size. */
struct published {
    uint32_t state, frame, code, object, bytes, text;
};

enum { COOKIE_WORD, VERSION_WORD, FREE_THREADED_WORD, RUNTIME_FINALIZING_WORD = 4, PUBLISHED_WORDS = 128 };
static const struct published published_3_13 = {19, 28, 34, 44, 64, 67};
static const struct published published_3_14 = {22, 31, 39, 50, 74, 77};

/* False: an offset is none. */
static bool take_offset(uint32_t *offset, uint64_t word)
{
    *offset = (uint32_t)word;
    return word < 1u << 20;
}

static bool lay_out_published(struct gn_python_layout *l, const struct published *p, const uint64_t *words)
{
    const uint64_t *state = words + p->state, *frame = words + p->frame, *code = words + p->code;
    lay_out_objects(l);
    bool good = words[FREE_THREADED_WORD] == 0 &&
                take_offset(&l->runtime_finalizing, words[RUNTIME_FINALIZING_WORD]) &&
                take_offset(&l->state_frame, state[4]) && take_offset(&l->state_thread, state[5]) &&
                take_offset(&l->state_native_thread, state[6]) && take_offset(&l->frame_previous, frame[1]) &&
                take_offset(&l->frame_code, frame[2]) && take_offset(&l->frame_ip, frame[3]) &&
                take_offset(&l->frame_owner, frame[5]) && take_offset(&l->code_file, code[1]) &&
                take_offset(&l->code_name, code[3]) && take_offset(&l->code_lines, code[4]) &&
                take_offset(&l->code_first_line, code[5]) && take_offset(&l->code_start, code[9]) &&
                take_offset(&l->object_type, words[p->object + 1]) &&
                take_offset(&l->object_size, words[p->bytes + 1]) &&
                take_offset(&l->bytes_data, words[p->bytes + 2]) &&
                take_offset(&l->text_state, words[p->text + 1]) &&
                take_offset(&l->text_length, words[p->text + 2]) &&
                take_offset(&l->text_ascii_data, words[p->text + 3]);
    l->text_wide_data = l->text_ascii_data + 16;
    l->code_version = l->code_first_line + 24;
    l->code_first_traceable = l->code_start - 16;
    return good && l->code_start >= 64 && l->code_start <= 256;
}

/* Frames' pointers to code carry tags from 3.14 on (_PyStackRef). */
static bool lay_out(struct gn_interpreter *i)
{
    const uint32_t minor = i->known.version >> 16;
    uint64_t words[PUBLISHED_WORDS];
    if (minor == 0x030b || minor == 0x030c) {
        (minor == 0x030b ? lay_out_3_11 : lay_out_3_12)(&i->known.layout);
        return true;
    }
    if ((minor != 0x030d && minor != 0x030e) || !gn_copy_memory(0, words, i->known.runtime, sizeof words) ||
        memcmp(&words[COOKIE_WORD], "xdebugpy", sizeof words[0]) != 0 ||
        words[VERSION_WORD] != i->known.version)
        return false;
    i->known.layout.code_tags = minor == 0x030d ? 0 : 3;
    return lay_out_published(&i->known.layout, minor == 0x030d ? &published_3_13 : &published_3_14, words);
}

/* ---- the interpreter ---- */

const struct gn_interpreter *_Atomic gn_interpreter_found;

static bool understand(struct gn_interpreter *i, const struct symbols *s)
{
    const uintptr_t version = symbol(s, "Py_Version");
    *i = (struct gn_interpreter){.known.runtime = symbol(s, "_PyRuntime"),
                                 .known.code_type = symbol(s, "PyCode_Type"),
                                 .known.text_type = symbol(s, "PyUnicode_Type"),
                                 .known.bytes_type = symbol(s, "PyBytes_Type"),
                                 .known.none = symbol(s, "_Py_NoneStruct")};
    const uintptr_t this_state = symbol(s, "PyGILState_GetThisThreadState");
    unsigned long value;
    if (!version || !this_state || !i->known.code_type || !i->known.text_type || !i->known.bytes_type ||
        !i->known.none || !gn_copy_memory(0, &value, version, sizeof value))
        return false;
    i->known.version = (uint32_t)value;
    i->this_state = (void *(*)(void))this_state;
    return lay_out(i);
}

/* A library that was loaded later may be unloaded, and what we know of it must not go away. */
static void keep_loaded(const struct dl_phdr_info *module)
{
    if (module->dlpi_name && module->dlpi_name[0])
        dlopen(module->dlpi_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

bool gn_interpreter_module(const struct dl_phdr_info *module)
{
    struct symbols symbols;
    return find_symbols(module, &symbols) && own_symbol(&symbols, "_PyRuntime");
}

static int copy_interpreter(struct dl_phdr_info *module, size_t size, void *argument)
{
    if (!gn_interpreter_module(module))
        return 0;
    memcpy(argument, module, size < sizeof *module ? size : sizeof *module);
    return 1;
}

/* The loader's functions are called when it no longer goes through its list: another thread that loads a
 * library holds the lock that they want, and waits for the list. */
void gn_interpreter_find(void)
{
    static struct gn_interpreter interpreter;
    static _Atomic int taken;
    struct dl_phdr_info module = {.dlpi_addr = 0};
    struct symbols symbols;
    int nobody = 0;
    if (gn_interpreter() || dl_iterate_phdr(copy_interpreter, &module) == 0 ||
        !find_symbols(&module, &symbols) || !atomic_compare_exchange_strong(&taken, &nobody, 1))
        return;
    if (understand(&interpreter, &symbols)) {
        keep_loaded(&module);
        atomic_store_explicit(&gn_interpreter_found, &interpreter, memory_order_release);
    }
    atomic_store_explicit(&taken, 0, memory_order_release);
}
