/*
 * fuzz — what every fuzz target is: one function that takes any bytes and must survive them.
 *
 * With libFuzzer (clang -fsanitize=fuzzer) the engine calls it; without, tests/fuzz/main.c does: with the
 * files named, or with ITERATIONS inputs made by seeded mutations of each other and of the files.
 */
#ifndef GNOMON_TEST_FUZZ_H
#define GNOMON_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* 0; a mistake ends the process (abort). */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
