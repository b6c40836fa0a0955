/*
 * packed_archive — the files of a small OTF2 archive in one string of bytes, to break them.
 *
 *   ┌ name, 0 │ size: 4 bytes, little endian │ that many bytes ┐ …
 *
 * Names are like traces.otf2 and traces/0.evt: one folder at most, nothing that leads elsewhere.
 */
#ifndef GNOMON_TEST_PACKED_ARCHIVE_H
#define GNOMON_TEST_PACKED_ARCHIVE_H

#include "base/error.h"

#include <stdint.h>
#include <stdio.h>

enum { PACKED_FILES = 64 };

struct packed_archive {
    struct packed_file {
        char name[64];
        uint8_t *bytes;
        size_t size;
    } files[PACKED_FILES];
    size_t count;
};

/* The files of an archive in a folder; exits the program when there is none. Freed by packed_free. */
void packed_load(struct packed_archive *archive, const char *folder);
void packed_free(struct packed_archive *archive);

/* Reads what packed_write wrote; sizes that are too large and files with bad names are cut short and left
 * out. */
void packed_read(struct packed_archive *archive, const uint8_t *bytes, size_t size);
void packed_write(const struct packed_archive *archive, FILE *to);

/* Writes one file, or all, below an existing folder. */
void packed_put_file(const struct packed_file *file, const char *folder);
void packed_put(const struct packed_archive *archive, const char *folder);
void packed_remove_file(const struct packed_file *file, const char *folder);
void packed_remove(const struct packed_archive *archive, const char *folder);

/* Breaks some of the bytes of a file, or its length; the same for the same state of the generator. */
void packed_mutate(struct packed_file *file, uint64_t *random);

/* Of packed_main.c: does what is tested with the archive in a folder, and leaves the folder as it was. */
void packed_target(const char *folder);

/* Opens the archive in a folder, and reads all of it: 0, or the negative errno value of the first error. */
int packed_check(const char *folder, struct gn_error *err);

#endif
