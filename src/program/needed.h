/*
 * program/needed — the libraries that an executable asks the dynamic loader for, found where that would look:
 * DT_RPATH or DT_RUNPATH (with $ORIGIN), LD_LIBRARY_PATH, the folders of /etc/ld.so.conf, the usual ones.
 * What is loaded only while it runs (dlopen) is not known.
 */
#ifndef GNOMON_PROGRAM_NEEDED_H
#define GNOMON_PROGRAM_NEEDED_H

#include <stddef.h>

/* Paths of the libraries that the file at `path` names itself, those that are found; with an entry that is
 * NULL behind the last one. The caller frees each and the array. NULL: no memory, or no such file. */
char **gn_needed_libraries(const char *path);

#endif
