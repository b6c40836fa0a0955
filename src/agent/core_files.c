#include "agent/core_files.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double mhz_of(const char *sys, int core, const char *name)
{
    char path[512];
    double khz = NAN;
    snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%d/cpufreq/%s", sys, core, name);
    FILE *file = fopen(path, "re");
    if (!file)
        return NAN;
    if (fscanf(file, "%lf", &khz) != 1 || !(khz > 0))
        khz = NAN;
    fclose(file);
    return khz / 1000;
}

double gn_core_mhz(const char *sys, int core)
{
    return mhz_of(sys, core, "scaling_cur_freq");
}

double gn_core_most_mhz(const char *sys, int core)
{
    return mhz_of(sys, core, "cpuinfo_max_freq");
}

int gn_core_node(const char *sys, int core)
{
    char path[512];
    int node = -1;
    snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%d", sys, core);
    DIR *names = opendir(path);
    for (struct dirent *entry; names && node < 0 && (entry = readdir(names));)
        if (sscanf(entry->d_name, "node%d", &node) != 1)
            node = -1;
    if (names)
        closedir(names);
    return node;
}

/* How many numbers "0-3,8" has. */
static int count_of(const char *list)
{
    int count = 0;
    while (*list >= '0' && *list <= '9') {
        char *end;
        const long first = strtol(list, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        count += last >= first ? (int)(last - first) + 1 : 0;
        list = *end == ',' ? end + 1 : end;
    }
    return count;
}

int gn_memory_nodes(const char *sys)
{
    char path[512], list[256] = "";
    snprintf(path, sizeof path, "%s/devices/system/node/has_memory", sys);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    const int count = fgets(list, sizeof list, file) ? count_of(list) : 0;
    fclose(file);
    return count;
}

/* "7f… default anon=12 dirty=12 N0=8 N1=4 kernelpagesize_kB=4" */
static void add_range(const char *line, int node, int64_t *resident_bytes, int64_t *remote_bytes)
{
    static const char size[] = " kernelpagesize_kB=";
    const size_t length = strcspn(line, "\n");
    const char *unit = strstr(line, size);
    if (!unit || unit > line + length)
        return;
    const int64_t page = strtoll(unit + strlen(size), NULL, 10) * 1024;
    for (const char *at = line; (at = strstr(at, " N")) && at < line + length; at++) {
        char *end;
        const long of = strtol(at + 2, &end, 10);
        if (end == at + 2 || *end != '=')
            continue;
        const int64_t bytes = strtoll(end + 1, NULL, 10) * page;
        *resident_bytes += bytes;
        *remote_bytes += of == node ? 0 : bytes;
    }
}

void gn_memory_apart(const char *numa_maps, int node, int64_t *resident_bytes, int64_t *remote_bytes)
{
    *resident_bytes = *remote_bytes = 0;
    for (const char *line = numa_maps; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        add_range(line, node, resident_bytes, remote_bytes);
}
