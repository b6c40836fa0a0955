/*
 * fuzz_X [-n ITERATIONS] [-s SEED] [FILE…] — runs a target without a fuzzing engine: each file as it is, then
 * ITERATIONS inputs, each a mutation of one that was there before. The same seed makes the same inputs; when
 * one fails, it is in the file fuzz-failure in the working directory.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POOL = 64, MAX_BYTES = 1 << 16 };

struct input {
    uint8_t bytes[MAX_BYTES];
    size_t size;
};

static struct input pool[POOL]; /* what was tried lately */
static struct input current;
static unsigned pool_count;
static uint64_t state;

static uint64_t dice(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t below(size_t n)
{
    return n ? dice() % n : 0;
}

/* ---- failing ---- */

static void keep_failure(int signal_number)
{
    int fd = open("fuzz-failure", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd >= 0 && write(fd, current.bytes, current.size) == (ssize_t)current.size)
        close(fd);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void run(void)
{
    uint8_t *exact = malloc(current.size ? current.size : 1); /* so that a sanitizer sees its end */
    if (!exact)
        abort();
    memcpy(exact, current.bytes, current.size);
    LLVMFuzzerTestOneInput(exact, current.size);
    free(exact);
}

/* ---- mutations ---- */

static void change_bytes(struct input *in)
{
    static const uint8_t edges[] = {0, 1, 2, 3, 4, 127, 128, 254, 255};
    for (size_t n = 1 + below(8); n > 0 && in->size > 0; n--)
        in->bytes[below(in->size)] = below(2) ? edges[below(sizeof edges)] : (uint8_t)dice();
}

static void add_bytes(struct input *in)
{
    size_t size = 1 + below(64), at = below(in->size + 1);
    if (in->size + size > MAX_BYTES)
        return;
    memmove(in->bytes + at + size, in->bytes + at, in->size - at);
    for (size_t i = 0; i < size; i++)
        in->bytes[at + i] = (uint8_t)dice();
    in->size += size;
}

static void drop_bytes(struct input *in)
{
    size_t at = below(in->size), size = below(in->size - at);
    memmove(in->bytes + at, in->bytes + at + size, in->size - at - size);
    in->size -= size;
}

/* Repeats or swaps in a part of another input. */
static void copy_bytes(struct input *in)
{
    const struct input *other = &pool[below(pool_count)];
    size_t from = below(other->size), size = below(other->size - from), at = below(in->size + 1);
    if (at + size > MAX_BYTES)
        return;
    memmove(in->bytes + at, other->bytes + from, size);
    in->size = at + size > in->size ? at + size : in->size;
}

static void mutate(void)
{
    static void (*const ways[])(struct input *) = {change_bytes, change_bytes, add_bytes, drop_bytes,
                                                   copy_bytes};
    current = pool[below(pool_count)];
    for (size_t n = 1 + below(4); n > 0; n--)
        ways[below(sizeof ways / sizeof *ways)](&current);
    if (below(16) == 0)
        current.size = below(MAX_BYTES / 16);
    pool[pool_count < POOL ? pool_count++ : below(POOL)] = current;
}

static void run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(2);
    }
    current.size = fread(current.bytes, 1, MAX_BYTES, file);
    fclose(file);
    run();
    pool[pool_count < POOL ? pool_count++ : below(POOL)] = current;
}

int main(int argc, char **argv)
{
    unsigned long iterations = 0;
    int option;
    while ((option = getopt(argc, argv, "n:s:")) != -1) {
        if (option == '?')
            return 2;
        *(option == 'n' ? &iterations : &state) = strtoull(optarg, NULL, 10);
    }
    signal(SIGABRT, keep_failure);
    signal(SIGSEGV, keep_failure);
    for (int i = optind; i < argc; i++)
        run_file(argv[i]);
    for (size_t i = 0; i < 512; i++)
        pool[0].bytes[i] = pool_count ? pool[0].bytes[i] : (uint8_t)dice();
    if (pool_count == 0)
        pool[pool_count++].size = 512;
    for (unsigned long i = 0; i < iterations; i++) {
        mutate();
        run();
    }
    printf("%lu inputs\n", iterations);
    return 0;
}
