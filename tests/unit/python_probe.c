/* A library for a Python program (python_frames.py, by ctypes): what capture reads of the frames of the
 * thread that calls it. */
#include "capture/interpreter.h"
#include "capture/modules.h"
#include "capture/python.h"
#include "capture/real.h"
#include "clock/ticks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int probe_open(void);
EXPORT const char *probe_frames(void);
EXPORT const char *probe_through(const char *(*callback)(void));
EXPORT unsigned long probe_learned(void);
EXPORT unsigned probe_sources(void);
EXPORT int probe_boundary(void);
EXPORT double probe_ns(int times);
EXPORT int probe_is_interpreter(const void *address);

static struct gn_tag *segment;

/* There is no MPI library here. */
bool gn_real_lies_in(uintptr_t first_address, uintptr_t end_address)
{
    (void)first_address, (void)end_address;
    return false;
}

static struct gn_python *thread_frames(void)
{
    static __thread struct gn_python *frames;
    if (!frames)
        frames = mmap(NULL, sizeof *frames, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return frames == MAP_FAILED ? NULL : frames;
}

/* The interpreter's version (PY_VERSION_HEX); 0: none that is understood. */
EXPORT int probe_open(void)
{
    if (!segment)
        segment = mmap(NULL, gn_tag_bytes(1), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (segment == MAP_FAILED)
        return 0;
    segment->module_count = segment->module_count ? segment->module_count : 1;
    gn_interpreter_find();
    return gn_interpreter() ? (int)gn_interpreter()->known.version : 0;
}

/* "function<TAB>file<TAB>line<TAB>first line" for each frame, innermost first. */
EXPORT const char *probe_frames(void)
{
    static __thread char text[GN_PYTHON_DEPTH * (GN_PATH_BYTES + GN_FUNCTION_BYTES + 32)];
    size_t used = 0;
    struct gn_python *p = thread_frames();
    text[0] = '\0';
    for (uint32_t i = 0, count = p ? gn_python_read(p, segment) : 0; i < count; i++) {
        const struct gn_source_line *s = &segment->sources[p->sources[i]];
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\t%s\t%u\t%u\n", s->function,
                                 segment->modules[s->module].path, s->line, s->first_line);
    }
    return text;
}

EXPORT const char *probe_through(const char *(*callback)(void))
{
    return callback();
}

EXPORT unsigned long probe_learned(void)
{
    return thread_frames()->learned;
}

EXPORT unsigned probe_sources(void)
{
    return GN_GET(segment->source_count);
}

/* 1: the boundary lies in a frame of the interpreter's own code, further out than we are. */
EXPORT int probe_boundary(void)
{
    struct gn_python *p = thread_frames();
    return gn_python_read(p, segment) > 0 && p->boundary > (uintptr_t)__builtin_frame_address(0) &&
           p->boundary < (uintptr_t)__builtin_frame_address(0) + (1 << 20);
}

EXPORT double probe_ns(int times)
{
    struct gn_python *p = thread_frames();
    uint64_t begin = gn_monotonic_ns();
    for (int i = 0; i < times; i++)
        gn_python_read(p, segment);
    return (double)(gn_monotonic_ns() - begin) / times;
}

EXPORT int probe_is_interpreter(const void *address)
{
    const struct gn_unwind_table *table;
    uint16_t module = gn_module_at(segment, (uintptr_t)address, &table);
    return module ? (int)segment->modules[module].kind : -1;
}
