/* cli/doctor_files — what is installed, what can be read, and where there is room. */
#include "cli/doctor.h"

#include "answer/quantities.h"
#include "cli/find.h"
#include "cli/place.h"
#include "program/program.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

const char *gn_doctor_asked;

void gn_doctor_capture(struct gn_finding *f)
{
    char path[4096];
    if (gn_find_capture(path, sizeof path) != 0)
        gn_found(f, false, "libgnomon.so is not beside this gnomon");
    else if (!dlopen(path, RTLD_NOW | RTLD_LOCAL))
        gn_found(f, false, "%.500s", dlerror());
    else
        gn_found(f, true, "%.500s", path);
}

/* ---- the program ---- */

/* Whether its dynamic loader will look at LD_PRELOAD: 0, or why not. */
static const char *not_preloaded(const char *path)
{
    ElfW(Ehdr) header;
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &info) != 0)
        return strerror(errno);
    const bool is_elf = pread(file, &header, sizeof header, 0) == (ssize_t)sizeof header &&
                        memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
    bool has_loader = !is_elf; /* a script's interpreter may have one */
    for (unsigned i = 0; is_elf && i < header.e_phnum; i++) {
        ElfW(Phdr) part;
        off_t at = (off_t)(header.e_phoff + (uint64_t)i * header.e_phentsize);
        if (pread(file, &part, sizeof part, at) == (ssize_t)sizeof part && part.p_type == PT_INTERP)
            has_loader = true;
    }
    close(file);
    if (!S_ISREG(info.st_mode) || !(info.st_mode & 0111))
        return "not an executable file";
    if (is_elf && (info.st_mode & (S_ISUID | S_ISGID)))
        return "runs as another user or group: libraries cannot be preloaded";
    return has_loader ? NULL : "linked statically: libraries cannot be preloaded";
}

void gn_doctor_program(struct gn_finding *f)
{
    const char *why_not = gn_doctor_asked ? not_preloaded(gn_doctor_asked) : NULL;
    if (!gn_doctor_asked)
        gn_found(f, true, "none was named (gnomon doctor ./app)");
    else
        gn_found(f, !why_not, "%.200s: %s", gn_doctor_asked, why_not ? why_not : "can be measured");
}

/* Of the program, or else of this one: what names and lines come from is the same. */
void gn_doctor_debug(struct gn_finding *f)
{
    char self[4096];
    struct gn_program *program;
    struct gn_error err;
    const char *path = gn_doctor_asked ? gn_doctor_asked : gn_find_self(self, sizeof self) == 0 ? self : "";
    if (gn_program_open(&program, path, NULL, 0, &err) != 0) {
        gn_found(f, false, "%.500s", err.text);
        return;
    }
    Dl_info ours;
    struct gn_program_place place;
    const bool lines = gn_program_has_lines(program);
    const bool named = dladdr((void *)gn_doctor_debug, &ours) != 0 &&
                       gn_program_places(program, (uintptr_t)gn_doctor_debug - (uintptr_t)ours.dli_fbase,
                                         &place, 1, NULL) > 0;
    if (gn_doctor_asked)
        gn_found(f, lines, "%.200s has %s", path, lines ? "source lines" : "no source lines");
    else
        gn_found(f, named, "%s", named ? "can be read" : "not even functions of this program are found");
    gn_program_close(program);
}

/* ---- run folders ---- */

enum { ROOM_BYTES = 1 << 20 };

/* A folder with a file of that size in it: 0, or a negative errno value. Nothing is left of it. */
static int make_folder(const char *place)
{
    static const char zeros[1 << 16];
    char folder[4096], name[4200];
    int code = 0;
    snprintf(folder, sizeof folder, "%s/.gnomon-doctor-XXXXXX", place);
    if (!mkdtemp(folder))
        return -errno;
    snprintf(name, sizeof name, "%s/room", folder);
    int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        code = -errno;
    for (size_t written = 0; code == 0 && written < ROOM_BYTES; written += sizeof zeros)
        if (write(file, zeros, sizeof zeros) != (ssize_t)sizeof zeros)
            code = errno ? -errno : -ENOSPC;
    if (file >= 0 && close(file) != 0 && code == 0) /* file servers tell of a quota only now */
        code = -errno;
    unlink(name);
    rmdir(folder);
    return code;
}

static double free_bytes(const char *place)
{
    struct statvfs space;
    return statvfs(place, &space) == 0 ? (double)space.f_bavail * (double)space.f_frsize : 0;
}

void gn_doctor_place(struct gn_finding *f)
{
    const char *place = gn_place_of_runs();
    char room[GN_QUANTITY_TEXT];
    int code = make_folder(place);
    if (code == 0)
        gn_found(f, true, "%.300s can be written, %s of room", place, gn_bytes_text(free_bytes(place), room));
    else
        gn_found(f, false, "%.300s: %s", place, strerror(-code));
}

void gn_doctor_folder(struct gn_finding *f)
{
    const char *const places[] = {gn_place_of_runs(), getenv("TMPDIR"), "/tmp", getenv("HOME")};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (places[i] && places[i][0] && make_folder(places[i]) == 0) {
            gn_found(f, true, "%.300s", places[i]);
            return;
        }
    gn_found(f, false, "neither here nor in $TMPDIR, /tmp or $HOME can one be made");
}
