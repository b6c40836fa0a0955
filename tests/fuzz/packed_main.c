/*
 * What takes an archive in a folder (packed_target) against broken ones. An input is a packed archive
 * (packed_archive.h).
 *
 * With libFuzzer (`cmake --preset fuzz`):
 *     fuzz_TARGET CORPUS            where fuzz_replay -p FOLDER FILE makes a first input
 * Without, as a test:
 *     TARGET_replay [-s SEED] [-n COUNT] FILE|FOLDER…   takes each, then COUNT mutations of it
 */
#include "packed_archive.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check(const struct packed_archive *archive)
{
    char folder[64];
    snprintf(folder, sizeof folder, "%s/gnomon-fuzz.XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(folder))
        abort();
    packed_put(archive, folder);
    packed_target(folder);
    packed_remove(archive, folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct packed_archive archive;
    packed_read(&archive, bytes, size);
    check(&archive);
    packed_free(&archive);
    return 0;
}

#ifndef GNOMON_LIBFUZZER

static void load(struct packed_archive *archive, const char *path)
{
    struct stat is;
    static uint8_t bytes[1 << 20];
    if (stat(path, &is) == 0 && S_ISDIR(is.st_mode)) {
        packed_load(archive, path);
        return;
    }
    FILE *file = fopen(path, "rb");
    packed_read(archive, bytes, file ? fread(bytes, 1, sizeof bytes, file) : 0);
    if (file)
        fclose(file);
}

/* Mutations of the archive, each of one file; a crash is found again with -s and the number that was said
 * last. */
static void mutate(const char *path, uint64_t seed, unsigned long count)
{
    for (unsigned long i = 0; i < count; i++) {
        struct packed_archive archive;
        uint64_t random = (seed + i) * 0x9e3779b97f4a7c15ull | 1;
        load(&archive, path);
        if (archive.count) {
            fprintf(stderr, "\r-s %llu -n 1 ", (unsigned long long)(seed + i));
            packed_mutate(&archive.files[(random >> 32) % archive.count], &random);
            check(&archive);
        }
        packed_free(&archive);
    }
    fprintf(stderr, "\n");
}

int main(int count, char **arguments)
{
    uint64_t seed = 1;
    unsigned long mutations = 0;
    struct packed_archive archive;
    int option;
    while ((option = getopt(count, arguments, "s:n:p:")) != -1)
        if (option == 's') {
            seed = strtoull(optarg, NULL, 10);
        } else if (option == 'n') {
            mutations = strtoul(optarg, NULL, 10);
        } else if (option == 'p' && optind < count) {
            FILE *to = fopen(arguments[optind], "wb");
            load(&archive, optarg);
            if (to)
                packed_write(&archive, to);
            return !to || fclose(to) != 0;
        } else {
            return 2;
        }
    for (int i = optind; i < count; i++) {
        load(&archive, arguments[i]);
        check(&archive);
        packed_free(&archive);
        mutate(arguments[i], seed, mutations);
    }
    return 0;
}
#endif
