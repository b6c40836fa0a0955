/*
 * What a test needs to drive the capture core without an MPI: a segment like the agent's, and a function that
 * does what a generated wrapper does, with a chosen duration instead of a real call.
 */
#ifndef TESTS_CAPTURE_H
#define TESTS_CAPTURE_H

#include "capture/recorder.h"

/* In memory that child processes share; NULL when there is none. */
struct gn_tag *test_segment(uint32_t locations);

/* One recorded call of an MPI function that takes `ticks`, made from the caller's code. Returns its node, or
 * UINT32_MAX when it was not recorded. */
uint32_t test_call(uint32_t activity, uint64_t ticks);

/* The same, and the stack is also unwound by the library: *path is what follows from that. */
uint32_t test_call_unwound(uint32_t activity, uint32_t *path);

/* The same with a size and a peer. */
uint32_t test_send(uint32_t activity, uint64_t ticks, uint32_t peer, uint64_t bytes);

/* Begins a call and does not end it: calls inside(argument) from within. */
uint32_t test_call_around(uint32_t activity, void (*inside)(void *), void *argument);

void test_region(const char *name, bool begin);
void test_switch(bool on);

/* The frame address that the last test_call had: what stands for the stack pointer in the memo. */ /* The
                                                                                                       frame
                                                                                                       address
                                                                                                       that
                                                                                                       the
                                                                                                       last
                                                                                                       test_call
                                                                                                       had. */
extern __thread const void *test_last_frame;

/* Location 0 of gn_segment. */
struct gn_location *test_location(void);

/* Sum of the counts of all edges of a location. */
uint64_t test_edge_count(const struct gn_location *location);

#endif
