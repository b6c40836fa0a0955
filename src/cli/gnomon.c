/*
 * gnomon — the program that users call, and that every rank executes: `gnomon run` and the guard of a host
 * (agent/guard.h) are done here, with nothing but the C library; all other commands are those of another
 * program, with the libraries they need (main.c).
 *
 * A run of 10,000 ranks starts it 10,000 times, at once, from one parallel file system.
 */
#include "cli/commands.h"
#include "cli/find.h"
#include "agent/guard.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    argp_err_exit_status = 2;
    if (argc > 1 && strcmp(argv[1], "run") == 0) {
        argv[1] = "gnomon run"; /* as messages name it */
        return gn_command_run(argc - 1, argv + 1);
    }
    if (argc == 4 && strcmp(argv[1], "guard") == 0)
        gn_guard_run(argv[2], atoi(argv[3]));
    argv[0] = "gnomon";
    gn_become_commands(argv);
    return 2;
}
