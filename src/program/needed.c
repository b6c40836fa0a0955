#include "program/needed.h"

#include "base/grow.h"

#include <fcntl.h>
#include <gelf.h>
#include <glob.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NEEDED_MAX = 1024 };

struct list {
    char **items;
    size_t count, room;
};

static bool add(struct list *list, const char *text)
{
    /* one more behind it, for the end */
    if (list->count >= NEEDED_MAX ||
        !gn_grow(&list->items, &list->room, list->count + 1, sizeof *list->items))
        return false;
    list->items[list->count] = strdup(text);
    if (!list->items[list->count])
        return false;
    list->items[++list->count] = NULL;
    return true;
}

static void clear(struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
}

/* "a:b:c", with $ORIGIN in it. */
static void add_folders(struct list *folders, const char *text, const char *origin)
{
    char *copy = text ? strdup(text) : NULL, *rest = copy;
    for (char *part; rest && (part = strsep(&rest, ":"));) {
        char folder[4096];
        const char *behind = strncmp(part, "$ORIGIN", 7) == 0     ? part + 7
                             : strncmp(part, "${ORIGIN}", 9) == 0 ? part + 9
                                                                  : NULL;
        snprintf(folder, sizeof folder, "%s%s", behind ? origin : "", behind ? behind : part);
        if (folder[0])
            add(folders, folder);
    }
    free(copy);
}

static void add_configured(struct list *folders)
{
    glob_t files;
    if (glob("/etc/ld.so.conf.d/*.conf", 0, NULL, &files) != 0)
        return;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        char line[4096];
        FILE *file = fopen(files.gl_pathv[i], "r");
        while (file && fgets(line, sizeof line, file)) {
            line[strcspn(line, " \t\r\n#")] = '\0';
            if (line[0] == '/')
                add(folders, line);
        }
        if (file)
            fclose(file);
    }
    globfree(&files);
}

static void read_dynamic(Elf *elf, struct list *names, struct list *folders, const char *origin)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        GElf_Dyn entry;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNAMIC)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        for (int i = 0; data && i < 1 << 20 && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
            const char *text = elf_strptr(elf, header.sh_link, entry.d_un.d_val);
            if (text && entry.d_tag == DT_NEEDED)
                add(names, text);
            else if (text && (entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH))
                add_folders(folders, text, origin);
        }
    }
}

static bool find_library(const char *name, const struct list *folders, char *path, size_t size)
{
    if (strchr(name, '/')) {
        snprintf(path, size, "%s", name);
        return access(path, R_OK) == 0;
    }
    for (size_t i = 0; i < folders->count; i++) {
        snprintf(path, size, "%s/%s", folders->items[i], name);
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
}

char **gn_needed_libraries(const char *path)
{
    static const char usual[] = "/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib";
    struct list names = {NULL, 0, 0}, folders = {NULL, 0, 0}, found = {NULL, 0, 0};
    char *copy = strdup(path), library[4096];
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = file >= 0 && elf_version(EV_CURRENT) != EV_NONE ? elf_begin(file, ELF_C_READ, NULL) : NULL;
    if (elf && copy && gn_grow(&found.items, &found.room, 0, sizeof *found.items)) {
        found.items[0] = NULL;
        read_dynamic(elf, &names, &folders, dirname(copy));
        add_folders(&folders, getenv("LD_LIBRARY_PATH"), ".");
        add_configured(&folders);
        add_folders(&folders, usual, ".");
        for (size_t i = 0; i < names.count; i++)
            if (find_library(names.items[i], &folders, library, sizeof library))
                add(&found, library);
    }
    if (elf)
        elf_end(elf);
    if (file >= 0)
        close(file);
    free(copy);
    clear(&names);
    clear(&folders);
    return found.items;
}
