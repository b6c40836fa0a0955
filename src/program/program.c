#include "program/program.h"
#include "program/debugfile.h"
#include "program/names.h"
#include "program/program_inside.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char debug_folders[] = "+:.debug:/usr/lib/debug";
static char *debug_path = debug_folders;

static int find_no_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
                       char **file_name, Elf **elf)
{
    (void)module, (void)userdata, (void)name, (void)base, (void)file_name, (void)elf;
    return -1; /* the module is reported with its file: there is nothing to look for */
}

static const Dwfl_Callbacks callbacks = {
    .find_elf = find_no_elf,
    .find_debuginfo = gn_debugfile_find,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = &debug_path,
};

/* libdwfl would take archives, kernel images and object files, too; only what a loader maps makes sense. */
static bool is_loadable_elf(int fd)
{
    unsigned char head[18];
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    if (pread(fd, head, sizeof head, 0) != (ssize_t)sizeof head || memcmp(head, ELFMAG, SELFMAG) != 0)
        return false;
    bool big = head[EI_DATA] == ELFDATA2MSB;
    int type = big ? head[16] << 8 | head[17] : head[17] << 8 | head[16];
    return type == ET_EXEC || type == ET_DYN;
}

static int open_file(const char *path, struct gn_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return gn_fail(err, -ENOENT, "cannot open %s: %s", path, strerror(errno));
    if (is_loadable_elf(fd))
        return fd;
    close(fd);
    return gn_fail(err, -ENOEXEC, "%s is not an ELF executable or shared library", path);
}

/* Gives the file to libdwfl, which from then on owns fd. */
static int report(struct gn_program *program, const char *path, int fd, struct gn_error *err)
{
    program->dwfl = dwfl_begin(&callbacks);
    if (!program->dwfl) {
        close(fd);
        return gn_fail(err, -ENOMEM, "not enough memory to read %s", path);
    }
    dwfl_report_begin(program->dwfl);
    program->module = dwfl_report_offline(program->dwfl, path, path, fd);
    if (!program->module)
        close(fd);
    dwfl_report_end(program->dwfl, NULL, NULL);
    if (program->module)
        program->elf = dwfl_module_getelf(program->module, &program->elf_bias);
    if (!program->elf)
        return gn_fail(err, -ENOEXEC, "%s cannot be read as an ELF file: %s", path, dwfl_errmsg(-1));
    return 0;
}

static int check_build_id(struct gn_program *program, const char *path, const uint8_t *build_id, size_t bytes,
                          struct gn_error *err)
{
    const void *found;
    if (bytes == 0)
        return 0;
    ssize_t found_bytes = dwelf_elf_gnu_build_id(program->elf, &found);
    if (found_bytes > 0 && (size_t)found_bytes == bytes && memcmp(found, build_id, bytes) == 0)
        return 0;
    return gn_fail(err, -ESTALE,
                   "%s is not the file that ran (another build id): its functions and lines cannot be named; "
                   "run again, or put the old file back",
                   path);
}

static int read_debug_information(struct gn_program *program)
{
    Dwarf_Addr bias;
    Dwarf *dwarf = dwfl_module_getdwarf(program->module, &bias);
    if (!dwarf)
        return 0;
    program->debug_shift = program->elf_bias - bias;
    return gn_units_open(&program->units, dwarf);
}

int gn_program_open(struct gn_program **out, const char *path, const uint8_t *build_id, size_t build_id_bytes,
                    struct gn_error *err)
{
    return gn_program_open_patiently(out, path, build_id, build_id_bytes, NULL, err);
}

int gn_program_open_patiently(struct gn_program **out, const char *path, const uint8_t *build_id,
                              size_t build_id_bytes, struct gn_debug_patience *patience, struct gn_error *err)
{
    *out = NULL;
    int fd = open_file(path, err);
    if (fd < 0)
        return fd;
    struct gn_program *program = calloc(1, sizeof *program);
    if (!program) {
        close(fd);
        return gn_fail(err, -ENOMEM, "not enough memory to read %s", path);
    }
    int rc = report(program, path, fd, err);
    if (rc == 0)
        gn_debugfile_allow(program->module, patience);
    if (rc == 0)
        rc = check_build_id(program, path, build_id, build_id_bytes, err);
    if (rc == 0 && !gn_program_read_library(program, path))
        rc = gn_fail(err, -ENOMEM, "not enough memory to read %s", path);
    if (rc == 0 && (rc = read_debug_information(program)) < 0)
        gn_fail(err, rc, "not enough memory to read the debug information of %s", path);
    if (rc < 0) {
        gn_program_close(program);
        return rc;
    }
    *out = program;
    return 0;
}

void gn_program_close(struct gn_program *program)
{
    if (!program)
        return;
    gn_kept_clear(&program->kept);
    gn_symbols_clear(&program->symbols);
    gn_methods_clear(&program->methods);
    gn_machine_close(program->machine);
    gn_units_close(program->units);
    dwfl_end(program->dwfl);
    tdestroy(program->strings, free);
    free(program);
}

bool gn_program_has_lines(const struct gn_program *program)
{
    return program->units && gn_units_have_lines(program->units);
}

static int compare_strings(const void *left, const void *right)
{
    return strcmp(left, right);
}

const char *gn_program_keep(struct gn_program *program, char *text)
{
    if (!text)
        return NULL;
    char **node = tsearch(text, &program->strings, compare_strings);
    if (!node || *node != text)
        free(text);
    return node ? *node : NULL;
}

static const char *absolute_path(struct gn_program *program, const struct gn_frame *frame)
{
    if (!frame->file || frame->file[0] == '/' || !frame->directory)
        return frame->file;
    char *path;
    if (asprintf(&path, "%s/%s", frame->directory, frame->file) < 0)
        return frame->file;
    const char *kept = gn_program_keep(program, path);
    return kept ? kept : frame->file;
}

void gn_program_set_place(struct gn_program *program, struct gn_frame *frame, bool inlined,
                          struct gn_program_place *place)
{
    *place = (struct gn_program_place){
        .function =
            gn_program_keep(program, gn_program_shorten(program, gn_units_name(program->units, &frame->die))),
        .file = absolute_path(program, frame),
        .line = frame->line,
        .column = frame->column,
        .inlined = inlined,
    };
}

struct gn_machine *gn_program_machine(struct gn_program *program)
{
    if (!program->machine_tried)
        gn_machine_open(&program->machine, program->elf);
    program->machine_tried = true;
    return program->machine;
}

const char *gn_program_symbol(struct gn_program *program, uint64_t offset, uint64_t *symbol_offset)
{
    const uint64_t address = offset + program->elf_bias;
    uint64_t from_start = 0, low, high;
    const char *name = gn_symbols_find(&program->symbols, program->module, address, &from_start);
    if (!name)
        return NULL;
    if (!gn_symbols_hold(&program->symbols, address) && gn_program_extent(program, offset, &low, &high) &&
        offset - from_start < low)
        return NULL; /* a label ahead of another function */
    if (symbol_offset)
        *symbol_offset = from_start;
    return name;
}

static size_t places_from_lines(struct gn_program *program, uint64_t pc, struct gn_program_place *places)
{
    struct gn_frame frames[GN_FRAMES_MAX];
    size_t count = gn_units_frames(program->units, pc, frames, GN_FRAMES_MAX);
    for (size_t i = 0; i < count; i++)
        gn_program_set_place(program, &frames[i], i + 1 < count, &places[i]);
    return count;
}

static size_t find_places(struct gn_program *program, uint64_t offset, struct gn_program_place *places,
                          uint64_t *symbol_offset)
{
    size_t count = 0;
    if (program->units)
        count = places_from_lines(program, offset + program->debug_shift, places);
    if (count > 0 && places[count - 1].function)
        return count;
    uint64_t from_start = 0;
    const char *symbol = gn_program_symbol(program, offset, &from_start);
    if (!symbol)
        return count > 0 ? count : gn_program_unnamed(program, offset, &places[0], symbol_offset);
    if (count == 0) {
        places[count++] = (struct gn_program_place){0};
        *symbol_offset = from_start;
    }
    /* An assembler source has lines but no functions: the symbol fills in. */
    places[count - 1].function =
        gn_program_keep(program, gn_program_shorten(program, gn_name_of_symbol(symbol)));
    return count;
}

size_t gn_program_places(struct gn_program *program, uint64_t offset, struct gn_program_place *places,
                         size_t max, uint64_t *symbol_offset)
{
    struct gn_key key = {offset, 0};
    struct gn_program_place found[GN_FRAMES_MAX];
    uint64_t from_start = 0;
    const struct gn_kept_places *known = gn_map_find(&program->kept.places, key);
    const struct gn_program_place *items = known ? known->items : found;
    size_t count = known ? known->count : find_places(program, offset, found, &from_start);
    if (known)
        from_start = known->symbol_offset;
    else
        gn_kept_add_places(&program->kept, key, found, count, from_start);
    count = count < max ? count : max;
    memcpy(places, items, count * sizeof *places);
    if (symbol_offset)
        *symbol_offset = max > 0 ? from_start : 0;
    return count;
}

bool gn_program_line_before(struct gn_program *program, uint64_t offset, struct gn_program_place *place)
{
    enum { MOST_ROWS = 32 };
    struct gn_program_place ahead[GN_FRAMES_MAX];
    uint64_t at = offset + program->debug_shift;
    for (int row = 0; program->units && row < MOST_ROWS; row++) {
        if (!gn_units_row_before(program->units, at, &at))
            return false;
        const size_t count =
            gn_program_places(program, at - program->debug_shift, ahead, GN_FRAMES_MAX, NULL);
        for (size_t i = 0; i < count; i++)
            if (ahead[i].line > 0 && ahead[i].function && ahead[i].function == place->function) {
                place->file = ahead[i].file;
                place->line = ahead[i].line;
                return true;
            }
    }
    return false;
}
