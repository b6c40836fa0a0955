/*
 * program/debugfile — finds the separate debug file of a module, on this machine only.
 *
 * dwfl_standard_find_debuginfo asks a debuginfod server when nothing is found locally and DEBUGINFOD_URLS is
 * set. A tool that reads a job's results must not tell other machines what ran, nor wait for them, and
 * changing the process's environment to prevent it would be a side effect of its own.
 */
#ifndef GNOMON_PROGRAM_DEBUGFILE_H
#define GNOMON_PROGRAM_DEBUGFILE_H

#include <elfutils/libdwfl.h>

/* A Dwfl_Callbacks.find_debuginfo: by build id below /usr/lib/debug, then by .gnu_debuglink (checksum
 * compared) beside the module, in its .debug folder and below /usr/lib/debug; also finds the shared part
 * that dwz splits off. */
int gn_debugfile_find(Dwfl_Module *module, void **userdata, const char *module_name, Dwarf_Addr base,
                      const char *file_name, const char *debuglink_file, GElf_Word debuglink_crc,
                      char **debuginfo_file_name);

#endif
