#include "agent/process_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *open_file(int pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    return fopen(path, "re");
}

size_t gn_process_file(int pid, const char *name, char *text, size_t size)
{
    FILE *file = open_file(pid, name);
    const size_t bytes = file ? fread(text, 1, size - 1, file) : 0;
    if (file)
        fclose(file);
    text[bytes] = '\0';
    return bytes;
}

char *gn_process_file_whole(int pid, const char *name, size_t *bytes)
{
    enum { PIECE = 1 << 16 };
    FILE *file = open_file(pid, name);
    char *text = NULL;
    *bytes = 0;
    for (size_t got = 1; file && got > 0; *bytes += got) {
        char *larger = realloc(text, *bytes + PIECE + 1);
        got = larger ? fread(larger + *bytes, 1, PIECE, file) : 0;
        text = larger ? larger : text;
        text[*bytes + got] = '\0';
    }
    if (file)
        fclose(file);
    return text;
}

/* The name may have spaces and brackets in it; nothing behind it has. */
bool gn_process_stat(int pid, struct gn_process_stat *s)
{
    char text[2048];
    *s = (struct gn_process_stat){.core = -1};
    gn_process_file(pid, "stat", text, sizeof text);
    const char *name_end = strrchr(text, ')');
    if (!name_end ||
        sscanf(name_end + 1,
               " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %llu "
               "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d",
               &s->state, &s->parent, &s->flags, &s->user_ticks, &s->system_ticks, &s->start_ticks,
               &s->core) < 6)
        return false;
    s->wait_status = atoi(strrchr(text, ' ') + 1); /* the last of all */
    return true;
}

int gn_parent_of(int pid)
{
    struct gn_process_stat stat;
    return gn_process_stat(pid, &stat) ? stat.parent : 0;
}
