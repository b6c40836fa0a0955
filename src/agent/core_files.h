/*
 * agent/core_files — what /sys tells of a core: how fast it runs, and next to which memory it is. Many
 * machines do not tell how fast (virtual ones, for example): then nothing is known, which is no error.
 */
#ifndef GNOMON_AGENT_CORE_FILES_H
#define GNOMON_AGENT_CORE_FILES_H

#include <stddef.h>
#include <stdint.h>

/* sys: where the kernel's folder of that name is, "/sys". The frequency at which the core runs now, and the
 * highest that it has, both in MHz (cpufreq); not a number: not told. */
double gn_core_mhz(const char *sys, int core);
double gn_core_most_mhz(const char *sys, int core);

/* The NUMA node of a core; -1: not told. */
int gn_core_node(const char *sys, int core);
/* On how many NUMA nodes there is memory; 0: not told. */
int gn_memory_nodes(const char *sys);

/* Of /proc/PID/numa_maps: bytes of the process that are in memory, and those of them that lie on another node
 * than the one named. */
void gn_memory_apart(const char *numa_maps, int node, int64_t *resident_bytes, int64_t *remote_bytes);

#endif
