#include "program/structure.h"

#include "base/grow.h"
#include "base/map.h"
#include "program/doubts.h"
#include "program/imports.h"
#include "program/names.h"
#include "program/needed.h"
#include "program/runtime.h"
#include "program/work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MODULES_MAX = 64, PLACES = 32 };

struct procedure {
    uint64_t entry;
    const char *symbol; /* as others call it; NULL: not known */
    size_t first_call, call_count;
    bool communicates;
};

struct call {
    uint64_t target;    /* in the module; 0: elsewhere, or not known */
    const char *callee; /* NULL: not known */
};

/* One module while it is being read. */
struct reading {
    char *path;
    struct gn_program *program;
    struct procedure *procedures;
    size_t procedure_count, procedure_room;
    struct call *calls;
    size_t call_count, call_room;
    size_t unread;
    struct gn_map by_entry; /* index + 1 */
};

struct reader {
    struct reading *modules;
    size_t count;
    struct gn_map by_symbol; /* procedures of all modules; the first of each name, as the loader has it */
    struct gn_error *err;
    bool all;
};

static int no_memory(const struct reader *r)
{
    return gn_fail(r->err, -ENOMEM, "no memory for the structure of %s", r->modules[0].path);
}

/* ---- who calls whom ---- */

static bool add_calls(struct reading *m, const struct gn_code *code, struct procedure *p)
{
    p->first_call = m->call_count;
    for (size_t i = 0; i < code->count; i++) {
        const struct gn_insn *insn = &code->items[i];
        if (!gn_work_is_call(insn))
            continue;
        p->communicates = p->communicates || gn_work_is_recorded(insn);
        if (!gn_grow(&m->calls, &m->call_room, m->call_count, sizeof *m->calls))
            return false;
        m->calls[m->call_count++] = (struct call){insn->target, insn->callee};
    }
    p->call_count = m->call_count - p->first_call;
    return true;
}

static bool add_procedure(struct reading *m, const struct gn_code *code)
{
    struct procedure p = {.entry = code->items[code->entry].address};
    uint64_t from_start = 0;
    const char *symbol = gn_program_symbol(m->program, p.entry, &from_start);
    p.symbol = from_start == 0 ? symbol : NULL;
    const struct gn_key key = {p.entry, 0};
    if (gn_map_find(&m->by_entry, key)) /* another piece of the same */
        return true;
    if (!add_calls(m, code, &p) ||
        !gn_grow(&m->procedures, &m->procedure_room, m->procedure_count, sizeof *m->procedures))
        return false;
    m->procedures[m->procedure_count++] = p;
    return gn_map_add(&m->by_entry, key, (void *)(uintptr_t)m->procedure_count);
}

/* Every procedure that the unwind table knows: also such as have no name. */
static int read_module(struct reader *r, struct reading *m)
{
    uint64_t low, high;
    for (uint64_t at = 0; gn_program_next_extent(m->program, at, &low, &high); at = high) {
        gn_kept_tidy(&m->program->kept);
        if (gn_imports_are_at(m->program->elf, low))
            continue;
        const struct gn_code *code = gn_work_read(m->program, low);
        if (!code)
            m->unread++;
        else if (!add_procedure(m, code))
            return no_memory(r);
    }
    return 0;
}

static const struct procedure *procedure_at(const struct reading *m, uint64_t entry)
{
    const uintptr_t found = (uintptr_t)gn_map_find(&m->by_entry, (struct gn_key){entry, 0});
    return found ? &m->procedures[found - 1] : NULL;
}

static struct gn_key key_of(const char *name)
{
    struct gn_key key = {14695981039346656037u, 0};
    for (; *name; name++, key.b++)
        key.a = (key.a ^ (unsigned char)*name) * 1099511628211u;
    return key;
}

static const struct procedure *procedure_named(const struct reader *r, const char *name)
{
    const struct procedure *p = gn_map_find(&r->by_symbol, key_of(name));
    return p && strcmp(p->symbol, name) == 0 ? p : NULL;
}

/* When all are read, and stay where they are. */
static int index_symbols(struct reader *r)
{
    for (size_t i = 0; i < r->count; i++)
        for (size_t k = 0; k < r->modules[i].procedure_count; k++) {
            struct procedure *p = &r->modules[i].procedures[k];
            const struct gn_key key = key_of(p->symbol ? p->symbol : "");
            if (p->symbol && !gn_map_find(&r->by_symbol, key) && !gn_map_add(&r->by_symbol, key, p))
                return no_memory(r);
        }
    return 0;
}

static bool leads_to_communication(const struct reader *r, const struct reading *m, uint64_t target,
                                   const char *callee)
{
    const struct procedure *p = target ? procedure_at(m, target) : NULL;
    if (!p && callee && r->count > 1)
        p = procedure_named(r, callee);
    return p && p->communicates;
}

static bool spread_once(struct reader *r)
{
    bool changed = false;
    for (size_t i = 0; i < r->count; i++) {
        struct reading *m = &r->modules[i];
        for (size_t k = 0; k < m->procedure_count; k++) {
            struct procedure *p = &m->procedures[k];
            for (size_t c = p->first_call; c < p->first_call + p->call_count && !p->communicates; c++)
                if (leads_to_communication(r, m, m->calls[c].target, m->calls[c].callee))
                    changed = p->communicates = true;
        }
    }
    return changed;
}

/* ---- nodes ---- */

static char *copied(const char *text)
{
    return text ? strdup(text) : NULL;
}

static size_t add_node(struct gn_structure_module *m, size_t parent, const struct gn_structure_node *node)
{
    if (!gn_grow(&m->nodes, &m->room, m->count, sizeof *m->nodes))
        return GN_STRUCTURE_NONE;
    m->nodes[m->count] = *node;
    m->nodes[m->count].parent = parent;
    m->nodes[m->count].first = m->nodes[m->count].next = GN_STRUCTURE_NONE;
    size_t *at = parent == GN_STRUCTURE_NONE ? NULL : &m->nodes[parent].first;
    while (at && *at != GN_STRUCTURE_NONE &&
           (m->nodes[*at].line < node->line ||
            (m->nodes[*at].line == node->line && m->nodes[*at].offset <= node->offset)))
        at = &m->nodes[*at].next;
    if (at) {
        m->nodes[m->count].next = *at;
        *at = m->count;
    }
    return m->count++;
}

/* One procedure that is being written out. */
struct writing {
    struct gn_structure_module *out;
    const struct gn_function_shape *shape;
    size_t procedure; /* its node */
    size_t *loops;    /* by loop of its flow: node, or GN_STRUCTURE_NONE */
};

/* The inlined procedure below a node, made when it is not there. */
static size_t inlined_below(struct writing *w, size_t parent, const struct gn_program_place *place,
                            const struct gn_program_place *call, uint64_t offset)
{
    for (size_t i = w->out->nodes[parent].first; i != GN_STRUCTURE_NONE; i = w->out->nodes[i].next) {
        const struct gn_structure_node *node = &w->out->nodes[i];
        if (node->is_inlined && node->line == call->line && place->function &&
            strcmp(node->name, place->function) == 0)
            return i;
    }
    const struct gn_structure_node node = {.kind = GN_STRUCTURE_PROCEDURE,
                                           .name = strdup(place->function ? place->function : "?"),
                                           .file = copied(call->file),
                                           .line = call->line,
                                           .offset = offset,
                                           .is_inlined = true};
    return add_node(w->out, parent, &node);
}

/* Down from a node into the procedures inlined there, as far as one that is already around it is not met:
 * places are innermost first, the last one is the physical procedure. until: how many of the innermost are
 * left out. */
static size_t into_inlined(struct writing *w, size_t parent, const struct gn_program_place *places,
                           size_t count, uint64_t offset)
{
    size_t depth = 0;
    for (size_t at = parent; at != w->procedure && at != GN_STRUCTURE_NONE; at = w->out->nodes[at].parent)
        depth += w->out->nodes[at].is_inlined;
    for (size_t k = count - 1; k-- > 0;) {
        if (depth > 0) {
            depth--;
            continue;
        }
        parent = inlined_below(w, parent, &places[k], &places[k + 1], offset);
        if (parent == GN_STRUCTURE_NONE)
            break;
    }
    return parent;
}

/* How many of the places are inside of the procedure that a loop is in, that one included: the loop stands
 * below the rest. */
static size_t places_of_loop(const struct gn_program_place *places, size_t count,
                             const struct gn_program_place *loop)
{
    for (size_t k = 0; k < count; k++)
        if (places[k].function == loop->function)
            return k;
    return count - 1;
}

static size_t loop_node(struct writing *w, size_t loop)
{
    const struct gn_function_shape *s = w->shape;
    if (w->loops[loop] != GN_STRUCTURE_NONE)
        return w->loops[loop];
    struct gn_program_place places[PLACES];
    const size_t outer = s->flow.loops[loop].parent;
    size_t parent = outer == GN_CODE_NONE ? w->procedure : loop_node(w, outer);
    const uint64_t head = s->code->items[s->flow.loops[loop].head].address,
                   branch = s->code->items[s->flow.loops[loop].branch].address;
    const size_t count = gn_program_places(s->program, branch, places, PLACES, NULL);
    if (parent != GN_STRUCTURE_NONE && count > 1) {
        const size_t inner = places_of_loop(places, count, &s->loops[loop].place);
        parent = into_inlined(w, parent, places + inner, count - inner, head);
    }
    if (parent == GN_STRUCTURE_NONE)
        return parent;
    const char *doubt = gn_loop_doubt_text(s->loops[loop].doubts);
    const struct gn_structure_node node = {.kind = GN_STRUCTURE_LOOP,
                                           .file = copied(s->loops[loop].place.file),
                                           .line = s->loops[loop].place.line,
                                           .offset = head,
                                           .doubt = doubt[0] ? doubt : NULL};
    return w->loops[loop] = add_node(w->out, parent, &node);
}

static bool write_call(struct writing *w, size_t insn, bool communicates)
{
    const struct gn_function_shape *s = w->shape;
    const struct gn_insn *call = &s->code->items[insn];
    struct gn_program_place places[PLACES], target = {0};
    size_t parent =
        s->flow.loop_of[insn] == GN_CODE_NONE ? w->procedure : loop_node(w, s->flow.loop_of[insn]);
    const size_t count = gn_program_places(s->program, call->address, places, PLACES, NULL);
    if (parent != GN_STRUCTURE_NONE && count > 1)
        parent = into_inlined(w, parent, places, count, call->address);
    if (parent == GN_STRUCTURE_NONE)
        return false;
    char *name = NULL;
    if (call->target && !s->measured[insn] &&
        gn_program_places(s->program, call->target, &target, 1, NULL) > 0)
        name = copied(target.function);
    else if (call->callee)
        name = gn_name_of_symbol(call->callee);
    const struct gn_structure_node node = {.kind = GN_STRUCTURE_CALL,
                                           .name = name,
                                           .file = count > 0 ? copied(places[0].file) : NULL,
                                           .line = count > 0 ? places[0].line : 0,
                                           .offset = call->address,
                                           .communicates = communicates,
                                           .is_measured = s->measured[insn]};
    const size_t written = add_node(w->out, parent, &node);
    for (size_t at = parent; communicates && at != GN_STRUCTURE_NONE; at = w->out->nodes[at].parent)
        w->out->nodes[at].communicates = true;
    return written != GN_STRUCTURE_NONE;
}

static bool write_body(struct reader *r, const struct reading *m, struct writing *w)
{
    const struct gn_function_shape *s = w->shape;
    for (size_t loop = 0; loop < s->flow.loop_count; loop++)
        w->loops[loop] = GN_STRUCTURE_NONE;
    for (size_t i = 0; i < s->code->count; i++) {
        const struct gn_insn *insn = &s->code->items[i];
        if (!gn_work_is_call(insn))
            continue;
        const bool communicates = s->measured[i] || leads_to_communication(r, m, insn->target, insn->callee);
        if ((communicates || r->all) && !write_call(w, i, communicates))
            return false;
    }
    for (size_t loop = 0; r->all && loop < s->flow.loop_count; loop++)
        if (loop_node(w, loop) == GN_STRUCTURE_NONE)
            return false;
    return true;
}

static int write_procedure(struct reader *r, const struct reading *m, const struct procedure *p,
                           struct gn_structure_module *out)
{
    struct gn_program_place places[PLACES];
    struct gn_function_shape shape;
    gn_kept_tidy(&m->program->kept);
    const size_t count = gn_program_places(m->program, p->entry, places, PLACES, NULL);
    const struct gn_structure_node node = {
        .kind = GN_STRUCTURE_PROCEDURE,
        .name = strdup(count > 0 && places[count - 1].function ? places[count - 1].function : "?"),
        .file = count > 0 ? copied(places[count - 1].file) : NULL,
        .line = count > 0 ? places[count - 1].line : 0,
        .offset = p->entry,
        .communicates = p->communicates};
    const size_t written = add_node(out, GN_STRUCTURE_NONE, &node);
    if (written == GN_STRUCTURE_NONE)
        return no_memory(r);
    if (!gn_doubts_read(&shape, m->program, p->entry))
        return 0;
    struct writing w = {.out = out, .shape = &shape, .procedure = written};
    w.loops = malloc((shape.flow.loop_count + 1) * sizeof *w.loops);
    const bool done = w.loops && write_body(r, m, &w);
    free(w.loops);
    gn_shape_clear(&shape);
    return done ? 0 : no_memory(r);
}

static int write_module(struct reader *r, const struct reading *m, struct gn_structure_module *out)
{
    int code = 0;
    *out = (struct gn_structure_module){.path = strdup(m->path),
                                        .has_lines = gn_program_has_lines(m->program),
                                        .procedures = m->procedure_count,
                                        .unread = m->unread};
    for (size_t i = 0; i < m->procedure_count && code == 0; i++) {
        out->communicating += m->procedures[i].communicates;
        if (m->procedures[i].communicates || r->all)
            code = write_procedure(r, m, &m->procedures[i], out);
    }
    return code;
}

/* ---- modules ---- */

/* MPI itself, and what it is made of, is no part of a program. */
static bool is_of_mpi(const char *path)
{
    const char *slash = strrchr(path, '/');
    return gn_runtime_of(slash ? slash + 1 : path, NULL) == GN_RUNTIME_MPI;
}

static bool needs_mpi(char *const *libraries)
{
    for (size_t i = 0; libraries && libraries[i]; i++)
        if (is_of_mpi(libraries[i]))
            return true;
    return false;
}

static bool is_there(const struct reader *r, const char *path)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->modules[i].path, path) == 0)
            return true;
    return false;
}

static int open_module(struct reader *r, const char *path)
{
    struct reading *m = &r->modules[r->count];
    *m = (struct reading){.path = strdup(path)};
    if (!m->path)
        return -ENOMEM;
    const int code = gn_program_open(&m->program, path, NULL, 0, r->err);
    if (code != 0)
        free(m->path);
    else
        r->count++;
    return code;
}

static int open_all(struct reader *r, const char *path)
{
    int code = open_module(r, path);
    for (size_t i = 0; i < r->count && code == 0; i++) {
        char **libraries = gn_needed_libraries(r->modules[i].path);
        for (size_t k = 0; libraries && libraries[k]; k++) {
            char **theirs = is_of_mpi(libraries[k]) ? NULL : gn_needed_libraries(libraries[k]);
            if (needs_mpi(theirs) && !is_there(r, libraries[k]) && r->count < MODULES_MAX)
                open_module(r, libraries[k]); /* one that cannot be read is left out */
            for (size_t n = 0; theirs && theirs[n]; n++)
                free(theirs[n]);
            free(theirs);
        }
        for (size_t k = 0; libraries && libraries[k]; k++)
            free(libraries[k]);
        free(libraries);
    }
    return code;
}

static void close_all(struct reader *r)
{
    for (size_t i = 0; i < r->count; i++) {
        gn_program_close(r->modules[i].program);
        free(r->modules[i].path);
        free(r->modules[i].procedures);
        free(r->modules[i].calls);
        gn_map_clear(&r->modules[i].by_entry);
    }
    free(r->modules);
    gn_map_clear(&r->by_symbol);
}

int gn_structure_read(struct gn_structure *structure, const char *path, bool all, struct gn_error *err)
{
    struct reader r = {.err = err, .all = all, .modules = calloc(MODULES_MAX, sizeof *r.modules)};
    *structure = (struct gn_structure){.modules = calloc(MODULES_MAX, sizeof *structure->modules)};
    if (!r.modules || !structure->modules) {
        free(r.modules);
        return gn_fail(err, -ENOMEM, "no memory for the structure of %s", path);
    }
    int code = open_all(&r, path);
    for (size_t i = 0; i < r.count && code == 0; i++)
        code = read_module(&r, &r.modules[i]);
    if (code == 0)
        code = index_symbols(&r);
    while (code == 0 && spread_once(&r))
        ;
    for (size_t i = 0; i < r.count && code == 0; i++) {
        structure->count++;
        code = write_module(&r, &r.modules[i], &structure->modules[i]);
    }
    close_all(&r);
    return code;
}

void gn_structure_clear(struct gn_structure *structure)
{
    for (size_t i = 0; i < structure->count; i++) {
        struct gn_structure_module *m = &structure->modules[i];
        for (size_t k = 0; k < m->count; k++) {
            free(m->nodes[k].name);
            free(m->nodes[k].file);
        }
        free(m->nodes);
        free(m->path);
    }
    free(structure->modules);
    *structure = (struct gn_structure){.modules = NULL};
}
