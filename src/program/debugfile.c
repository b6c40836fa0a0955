#include "program/debugfile.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The CRC-32 that .gnu_debuglink prescribes (polynomial 0xEDB88320, as in zip). */
static uint32_t checksum(uint32_t crc, const unsigned char *data, size_t bytes)
{
    crc = ~crc;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (0xEDB88320u & -(crc & 1));
    }
    return ~crc;
}

static bool has_checksum(int fd, uint32_t wanted)
{
    unsigned char buffer[16 * 1024];
    uint32_t crc = 0;
    off_t at = 0;
    ssize_t got;
    while ((got = pread(fd, buffer, sizeof buffer, at)) > 0) {
        crc = checksum(crc, buffer, (size_t)got);
        at += got;
    }
    return got == 0 && crc == wanted;
}

/* Opens a regular file (never blocking on anything else) whose checksum is the wanted one; 0: any will do, as
 * for the dwz part, which elfutils compares by build id itself. */
static int open_if_right(const char *path, uint32_t crc)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && (crc == 0 || has_checksum(fd, crc)))
        return fd;
    close(fd);
    return -1;
}

static int try_path(char **found, uint32_t crc, const char *prefix, const char *folder, const char *middle,
                    const char *name)
{
    char path[PATH_MAX];
    int bytes = snprintf(path, sizeof path, "%s%s%s%s", prefix, folder, middle, name);
    if (bytes < 0 || (size_t)bytes >= sizeof path)
        return -1;
    int fd = open_if_right(path, crc);
    if (fd >= 0)
        *found = strdup(path);
    return fd;
}

static int find_by_link(const char *module_path, const char *name, uint32_t crc, char **found)
{
    if (name[0] == '/')
        return try_path(found, crc, "", "", "", name);
    const char *slash = module_path ? strrchr(module_path, '/') : NULL;
    char folder[PATH_MAX];
    int bytes = snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - module_path) : 1,
                         slash ? module_path : ".");
    if (bytes < 0 || (size_t)bytes >= sizeof folder)
        return -1;
    int fd = try_path(found, crc, "", folder, "/", name);
    if (fd < 0)
        fd = try_path(found, crc, "", folder, "/.debug/", name);
    if (fd < 0 && folder[0] == '/')
        fd = try_path(found, crc, "/usr/lib/debug", folder, "/", name);
    return fd;
}

void gn_debugfile_allow(Dwfl_Module *module, struct gn_debug_patience *patience)
{
    void **userdata;
    if (dwfl_module_info(module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL))
        *userdata = (void *)patience;
}

static int find_on_server(Dwfl_Module *module, struct gn_debug_patience *patience, char **found)
{
    const unsigned char *build_id;
    GElf_Addr address;
    int bytes = dwfl_module_build_id(module, &build_id, &address);
    return bytes > 0 ? gn_debugserver_find(build_id, (size_t)bytes, patience, found) : -1;
}

int gn_debugfile_find(Dwfl_Module *module, void **userdata, const char *module_name, Dwarf_Addr base,
                      const char *file_name, const char *debuglink_file, GElf_Word debuglink_crc,
                      char **debuginfo_file_name)
{
    int fd = dwfl_build_id_find_debuginfo(module, userdata, module_name, base, file_name, debuglink_file,
                                          debuglink_crc, debuginfo_file_name);
    bool is_dwz_part = debuglink_file && debuglink_crc == 0;
    if (!file_name)
        dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, &file_name, NULL);
    if (fd < 0 && debuglink_file)
        fd = find_by_link(file_name, debuglink_file, debuglink_crc, debuginfo_file_name);
    if (fd < 0 && !is_dwz_part)
        fd = find_on_server(module, *userdata, debuginfo_file_name);
    return fd;
}
