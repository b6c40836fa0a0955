/*
 * program/unnamed — what can be said of code that no symbol holds, as in installed software: libraries keep
 * the names of what they export, executables often none.
 *
 * Unwind tables stay in every file, as exceptions need them, and tell where each function begins and ends. So
 * such a function has an identity, if no name: "libfftw3.so.3:0x5a30", library and offset of its beginning.
 * It is never called by the name of an exported function that lies ahead of it: nothing says that it belongs
 * to it.
 *
 * Limits: a function that the compiler has cut into pieces (".cold") is several; code without unwind tables
 * (assembler by hand) is none.
 */
#include "program/flow.h"
#include "program/program_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the library's name ---- */

/* Text of the dynamic section, or NULL. */
static const char *soname_in(Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Dyn entry;
    for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
        if (entry.d_tag == DT_SONAME)
            return elf_strptr(elf, header->sh_link, entry.d_un.d_val);
    return NULL;
}

static const char *soname_of(Elf *elf)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNAMIC)
            return soname_in(elf, section, &header);
    }
    return NULL;
}

bool gn_program_read_library(struct gn_program *program, const char *path)
{
    const char *name = soname_of(program->elf);
    char *library = NULL;
    gn_methods_read(&program->methods, program->elf);
    if (!name || !name[0])
        name = path;
    const char *slash = strrchr(name, '/');
    if (!program->methods.module)
        library = strdup(slash && slash[1] ? slash + 1 : name);
    else if (asprintf(&library, "%s.so", program->methods.module) < 0)
        return false;
    program->library = gn_program_keep(program, library);
    return program->library != NULL;
}

char *gn_program_shorten(const struct gn_program *program, char *name)
{
    const char *module = program->methods.module;
    size_t bytes = module ? strlen(module) : 0;
    for (const char *at = name && module ? strstr(name, module) : NULL; at; at = strstr(at + 1, module))
        if (at > name && at[-1] == '.' && at[bytes] == '.') {
            memmove(name, at, strlen(at) + 1);
            break;
        }
    return name;
}

const char *gn_program_library(const struct gn_program *program)
{
    return program->library;
}

/* ---- where a function is ---- */

/* A file of the form that unwind/ reads. */
static bool is_understood(Elf *elf)
{
    GElf_Ehdr header;
    return gelf_getehdr(elf, &header) && header.e_ident[EI_CLASS] == ELFCLASS64 &&
           header.e_ident[EI_DATA] == ELFDATA2LSB &&
           (header.e_machine == EM_X86_64 || header.e_machine == EM_AARCH64);
}

static void take_segment(struct gn_unwind_table *table, Elf *elf, const GElf_Phdr *p)
{
    size_t bytes;
    const char *file = elf_rawfile(elf, &bytes);
    if (file && p->p_offset <= bytes && p->p_filesz <= bytes - p->p_offset)
        table->bytes =
            (struct gn_cfi_bytes){(const uint8_t *)file + p->p_offset, p->p_filesz, (uintptr_t)p->p_vaddr};
}

static void open_table(struct gn_unwind_table *table, Elf *elf)
{
    size_t count = 0;
    GElf_Phdr p;
    if (!is_understood(elf) || elf_getphdrnum(elf, &count) != 0)
        return;
    for (size_t i = 0; i < count; i++)
        if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_GNU_EH_FRAME)
            table->header = (uintptr_t)p.p_vaddr;
    for (size_t i = 0; i < count && table->header; i++)
        if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && table->header >= p.p_vaddr &&
            table->header - p.p_vaddr < p.p_filesz)
            take_segment(table, elf, &p);
    if (!table->bytes.at)
        table->header = 0;
}

static const struct gn_unwind_table *table_of(struct gn_program *program)
{
    if (!program->unwind_tried)
        open_table(&program->unwind, program->elf);
    program->unwind_tried = true;
    return &program->unwind;
}

bool gn_program_next_extent(struct gn_program *program, uint64_t from, uint64_t *low, uint64_t *high)
{
    uintptr_t begin, end;
    if (!gn_unwind_next(table_of(program), (uintptr_t)from, &begin, &end))
        return false;
    *low = begin;
    *high = end;
    return true;
}

bool gn_program_extent(struct gn_program *program, uint64_t offset, uint64_t *low, uint64_t *high)
{
    uintptr_t begin, end;
    if (!gn_unwind_procedure(table_of(program), (uintptr_t)offset, &begin, &end))
        return false;
    *low = begin;
    *high = end;
    return true;
}

size_t gn_program_unnamed(struct gn_program *program, uint64_t offset, struct gn_program_place *place,
                          uint64_t *from_start)
{
    uint64_t low, high;
    char *name;
    if (!gn_program_extent(program, offset, &low, &high))
        return 0;
    const char *method = gn_methods_find(&program->methods, low);
    if (method)
        *place = (struct gn_program_place){.function = method};
    else if (asprintf(&name, "%s:0x%llx", program->library, (unsigned long long)low) < 0)
        return 0;
    else
        *place = (struct gn_program_place){.function = gn_program_keep(program, name), .unnamed = true};
    *from_start = offset - low;
    return place->function != NULL;
}

/* ---- its code ---- */

/* The function around offset with its loops, and the instruction that offset lies in. */
struct inside {
    struct gn_code code;
    struct gn_flow flow;
    size_t at;
};

static bool find_loops(struct inside *in)
{
    if (gn_flow_init(&in->flow, &in->code, 0) < 0)
        return false;
    memset(in->flow.inside, 1, in->code.count); /* all that can run once the function was entered */
    if (gn_flow_find_loops(&in->flow) == 0)
        return true;
    gn_flow_clear(&in->flow);
    return false;
}

static bool look_inside(struct inside *in, struct gn_program *program, uint64_t offset)
{
    uint64_t low, high;
    struct gn_machine *machine = gn_program_machine(program);
    *in = (struct inside){.at = GN_CODE_NONE};
    if (!machine || !gn_program_extent(program, offset, &low, &high))
        return false;
    if (gn_code_read(&in->code, machine, low, high) == 0) {
        gn_code_finish(&in->code, machine);
        in->at = gn_code_holding(&in->code, offset);
    }
    if (in->at != GN_CODE_NONE && gn_flow_connect(&in->code) == 0 && find_loops(in))
        return true;
    gn_code_clear(&in->code);
    return false;
}

static void leave(struct inside *in)
{
    gn_flow_clear(&in->flow);
    gn_code_clear(&in->code);
}

uint64_t gn_program_loop(struct gn_program *program, uint64_t offset)
{
    struct inside in;
    if (!look_inside(&in, program, offset))
        return 0;
    const size_t loop = in.flow.loop_of[in.at];
    const uint64_t head = loop == GN_CODE_NONE ? 0 : in.code.items[in.flow.loops[loop].head].address;
    leave(&in);
    return head;
}

/* Whether a loop, with those in it, has an instruction that waits: between its own first and last one. */
static bool loop_waits(const struct inside *in, size_t loop)
{
    size_t first = GN_CODE_NONE, last = 0;
    for (size_t i = 0; i < in->code.count; i++)
        if (in->flow.loop_of[i] == loop) {
            first = first == GN_CODE_NONE ? i : first;
            last = i;
        }
    for (size_t i = first; i != GN_CODE_NONE && i <= last; i++)
        if (in->code.items[i].waits)
            return true;
    return false;
}

/* Whether the function waits somewhere, or those that it goes on to instead of returning. */
static bool function_waits(struct gn_program *program, uint64_t address, int depth)
{
    enum { DEEPEST = 3 };
    struct inside in;
    bool waits = false;
    if (address == 0 || depth > DEEPEST || !look_inside(&in, program, address))
        return false;
    for (size_t i = 0; i < in.code.count && !waits; i++)
        waits = in.code.items[i].waits || (in.code.items[i].kind == GN_CODE_TAIL_CALL &&
                                           function_waits(program, in.code.items[i].target, depth + 1));
    leave(&in);
    return waits;
}

bool gn_program_spins(struct gn_program *program, uint64_t offset)
{
    struct inside in;
    if (!look_inside(&in, program, offset))
        return false;
    const size_t loop = in.flow.loop_of[in.at];
    const struct gn_insn *own = &in.code.items[in.at], *before = in.at > 0 ? own - 1 : NULL;
    bool spins = own->waits || (before && before->waits) || (loop != GN_CODE_NONE && loop_waits(&in, loop));
    if (!spins && own->kind == GN_CODE_CALL && offset > own->address) /* what it called has not returned */
        spins = function_waits(program, own->target, 0);
    leave(&in);
    return spins;
}
