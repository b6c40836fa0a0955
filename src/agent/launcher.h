/*
 * agent/launcher — command lines of mpirun, mpiexec and srun: where the launcher's options end and the
 * program begins. Open MPI, MPICH's Hydra and Slurm; several programs in one line (MPMD, separated by ":")
 * too.
 */
#ifndef GNOMON_AGENT_LAUNCHER_H
#define GNOMON_AGENT_LAUNCHER_H

#include <stdbool.h>

bool gn_is_launcher(const char *word);

/*
 * Copies argv with the `count` words of `prefix` put before each program. Returns a NULL-terminated array
 * that the caller frees (the words are argv's and prefix's), or NULL when no program was found. *program is
 * the first one's name.
 */
char **gn_launcher_wrap(char **argv, char *const *prefix, int count, const char **program);

#endif
