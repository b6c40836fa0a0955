/*
 * gnomon.h — name regions of a program, for the measurement to speak your language.
 *
 *     #include <gnomon.h>
 *     gnomon_region_begin("assemble");
 *     …
 *     gnomon_region_end("assemble");
 *     gnomon_region_begin_id("level", 3);       a region for each number: "level 3"
 *     …
 *     gnomon_region_end_id("level", 3);
 *
 * Nothing of gnomon's to link (before glibc 2.34: -ldl). When the program runs without gnomon, each call is a
 * test of two variables and nothing else, so they can stay in. Regions nest; begin and end belong to the same
 * thread. A name, with its number, is at most 63 bytes; at most 1023 different ones are kept. C and C++.
 */
#ifndef GNOMON_H
#define GNOMON_H

#include <dlfcn.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*gnomon_hook_)(const char *name);

/* Asked of the loader once per source file: a weak reference would be settled by the linker when it makes an
 * executable, before gnomon's library can be there. (void *)0 is RTLD_DEFAULT. */
static inline gnomon_hook_ gnomon_hook_of_(int which)
{
    static gnomon_hook_ hooks[2];
    static int asked;
    if (!__atomic_load_n(&asked, __ATOMIC_ACQUIRE)) {
        *(void **)&hooks[0] = dlsym((void *)0, "gnomon_hook_region_begin");
        *(void **)&hooks[1] = dlsym((void *)0, "gnomon_hook_region_end");
        __atomic_store_n(&asked, 1, __ATOMIC_RELEASE);
    }
    return hooks[which];
}

static inline void gnomon_call_(int which, const char *name)
{
    gnomon_hook_ hook = gnomon_hook_of_(which);
    if (hook) {
        hook(name);
        __asm__ volatile(""); /* or a compiler jumps there, and the caller's caller seems to have called */
    }
}

static inline void gnomon_call_id_(int which, const char *name, long id)
{
    char text[64], number[24];
    gnomon_hook_ hook = gnomon_hook_of_(which);
    if (hook) {
        const int digits = snprintf(number, sizeof number, " %ld", id);
        snprintf(text, sizeof text, "%.*s%s", (int)sizeof text - 1 - digits, name, number);
        hook(text);
        __asm__ volatile("");
    }
}

static inline void gnomon_region_begin(const char *name)
{
    gnomon_call_(0, name);
}

static inline void gnomon_region_end(const char *name)
{
    gnomon_call_(1, name);
}

/* A region for each id (of a level, a block, a class of time steps): "name id". */
static inline void gnomon_region_begin_id(const char *name, long id)
{
    gnomon_call_id_(0, name, id);
}

static inline void gnomon_region_end_id(const char *name, long id)
{
    gnomon_call_id_(1, name, id);
}

#ifdef __cplusplus
}
#endif

#endif
