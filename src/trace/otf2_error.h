/*
 * trace/otf2_error — what the OTF2 library complains about becomes the text of our errors.
 *
 * OTF2 reports through one callback of the process and by default prints to standard error. Here the first
 * complaint of a failing call is kept per thread: the later ones only say who passed it on.
 */
#ifndef GNOMON_TRACE_OTF2_ERROR_H
#define GNOMON_TRACE_OTF2_ERROR_H

#include "base/error.h"

/* From now on OTF2 prints nothing. May be called any number of times. */
void gn_otf2_catch(void);

/* Forgets what this thread's OTF2 calls have complained about so far. */
void gn_otf2_forget(void);

/* Returns code with err saying `doing` (what was being done, to which file), and why it failed in OTF2's
 * words. */
int gn_otf2_fail(struct gn_error *err, int code, const char *doing);

#endif
