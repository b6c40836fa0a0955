/*
 * agent/sample_code — which code a sample's address is in, and who called it.
 *
 *   address ──► mapping of the process (/proc/PID/maps) ──► module, offset      as call sites have them
 *                     │
 *                     └► unwind table of the file ──► the caller, in the sample's copy of the stack, and so
 * on (unwind/, as capture does)     up to the program's own code
 *
 * The program's own is what a user would call so: its executable, whatever does not lie in the system's
 * folders, and what is on the way to an MPI call. A sample in any other library (libm, BLAS, FFTW) is that
 * library's, and its caller's. An interpreter's functions say nothing of the program that it runs: a library
 * that it called is all there is to name.
 *
 * Modules are kept once for all processes of the host; their files are read, never mapped: somebody may cut
 * them short. Not seen: other mount namespaces' files, code that is in no file.
 */
#ifndef GNOMON_AGENT_SAMPLE_CODE_H
#define GNOMON_AGENT_SAMPLE_CODE_H

#include "agent/sample_event.h"
#include "graph/sampled.h"
#include "image/tag.h"

enum { GN_SAMPLE_NOWHERE = 0 }; /* the module of code that is in no file; its path is empty */

struct gn_sample_module {
    char *path;
    uint8_t build_id[GN_BUILD_ID_BYTES];
    uint32_t build_id_bytes;
    bool is_source; /* a file of Python, by its name */
};

struct gn_sample_code;

/* NULL: no memory. */
struct gn_sample_code *gn_sample_code_new(void);
void gn_sample_code_free(struct gn_sample_code *code);
uint32_t gn_sample_code_count(const struct gn_sample_code *code);
const struct gn_sample_module *gn_sample_code_module(const struct gn_sample_code *code, uint32_t index);

/* The module of a source file; GN_SAMPLE_NOWHERE: no memory, or there are too many. */
uint32_t gn_sample_code_source(struct gn_sample_code *code, const char *path);

/* Where the function of a place begins, by the unwind table; 0: not known. */
uint64_t gn_sample_code_function(struct gn_sample_code *code, struct gn_sampled_place place);

/* What a process has mapped. The tag stays where it is until maps are freed; NULL: there is none. */
struct gn_sample_maps;
struct gn_sample_maps *gn_sample_maps_new(struct gn_sample_code *code, int pid, struct gn_tag *tag);
void gn_sample_maps_free(struct gn_sample_maps *maps);
/* It has mapped code since: perhaps where other code was that it has unloaded. */
void gn_sample_maps_changed(struct gn_sample_maps *maps);

/* Offsets are those of return addresses: one more than that of an instruction itself. */
struct gn_sample_where {
    struct gn_sampled_place
        site; /* in the program's own code; where that was not found: where the thread was */
    struct gn_sampled_place called; /* from there, in the library that the thread was in or below */
    struct gn_sampled_place waits;  /* likewise, of what our wrapper around it has called */
    bool in_library;                /* called says something */
    bool in_call;                   /* it came by way of the MPI library or of our wrapper around it */
    bool in_interpreter; /* the thread was in an interpreter itself: site says nothing of the program */
};

void gn_sample_where(struct gn_sample_maps *maps, const struct gn_sample *sample,
                     struct gn_sample_where *where);

#endif
