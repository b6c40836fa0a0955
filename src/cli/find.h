/* cli/find — where things are: programs in PATH, the capture library beside this executable. */
#ifndef GNOMON_CLI_FIND_H
#define GNOMON_CLI_FIND_H

#include <stdbool.h>
#include <stddef.h>

/* Whether execvp would find an executable file for `program`. */
bool gn_find_program(const char *program);

/* Likewise its path; the name itself when it has a slash. */
bool gn_find_in_path(const char *program, char *path, size_t size);

/* Absolute path of this executable. 0, or -ENOENT. */
int gn_find_self(char *path, size_t size);

/* Absolute path of a library of ours ("libgnomon.so"), in the build or installed. 0, or -ENOENT. */
int gn_find_library(const char *name, char *path, size_t size);
int gn_find_capture(char *path, size_t size);  /* libgnomon.so */
int gn_find_commands(char *path, size_t size); /* the program that has all commands */

/* Becomes that program; words[0] "gnomon". Returns when it cannot, and has said so. */
void gn_become_commands(char **words);

#endif
