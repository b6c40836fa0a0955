/*
 * program/debugfile — finds the separate debug file of a module.
 *
 * On this machine first; dwfl_standard_find_debuginfo would then ask a debuginfod server, whoever waits. Who
 * may wait is said in program/debugserver.h.
 */
#ifndef GNOMON_PROGRAM_DEBUGFILE_H
#define GNOMON_PROGRAM_DEBUGFILE_H

#include "program/debugserver.h"

#include <elfutils/libdwfl.h>

/* Ahead of the first question about a module: whether servers may be asked for it (NULL: no). */
void gn_debugfile_allow(Dwfl_Module *module, struct gn_debug_patience *patience);

/* A Dwfl_Callbacks.find_debuginfo: by build id below /usr/lib/debug, then by .gnu_debuglink (checksum
 * compared) beside the module, in its .debug folder and below /usr/lib/debug; last what a server has, or
 * has given before. Also finds the shared part that dwz splits off, but not on a server. */
int gn_debugfile_find(Dwfl_Module *module, void **userdata, const char *module_name, Dwarf_Addr base,
                      const char *file_name, const char *debuglink_file, GElf_Word debuglink_crc,
                      char **debuginfo_file_name);

#endif
