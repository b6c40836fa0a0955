/*
 * gnomon.h — name regions of a program, for the measurement to speak your language.
 *
 *     #include <gnomon.h>
 *     gnomon_region_begin("assemble");
 *     …
 *     gnomon_region_end("assemble");
 *
 * Nothing to link: when the program runs without gnomon, each call is a test of a pointer and nothing else, so
 * they can stay in. Regions nest; begin and end belong to the same thread. A name is at most 63 bytes; at most 1023
 * different ones are kept. C and C++.
 */
#ifndef GNOMON_H
#define GNOMON_H

#ifdef __cplusplus
extern "C" {
#endif

/* Provided by gnomon's capture library when it is there. */
extern void gnomon_hook_region_begin(const char *name) __attribute__((weak));
extern void gnomon_hook_region_end(const char *name) __attribute__((weak));

/* Through a variable, so that an executable linked at a fixed address asks the loader and not the linker. */
static void (*volatile const gnomon_begin_pointer_)(const char *) __attribute__((unused)) = gnomon_hook_region_begin;
static void (*volatile const gnomon_end_pointer_)(const char *) __attribute__((unused)) = gnomon_hook_region_end;

static inline void gnomon_region_begin(const char *name)
{
    if (gnomon_begin_pointer_)
        gnomon_begin_pointer_(name);
}

static inline void gnomon_region_end(const char *name)
{
    if (gnomon_end_pointer_)
        gnomon_end_pointer_(name);
}

#ifdef __cplusplus
}
#endif

#endif
