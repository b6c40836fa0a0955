/*
 * trace/otf2_error — what the OTF2 library has to say goes into our messages, not to stderr.
 *
 * The library tells its errors through one callback for the whole process. From the first
 * gn_otf2_errors_catch on it keeps silent, and the first text of the thread since its last
 * gn_otf2_error_forget (the cause; what follows are consequences) can be asked for.
 */
#ifndef GNOMON_TRACE_OTF2_ERROR_H
#define GNOMON_TRACE_OTF2_ERROR_H

/* May be called any number of times. */
void gn_otf2_errors_catch(void);

/* The thread's next error is a first one. */
void gn_otf2_error_forget(void);

/* The first error of this thread since it was forgotten: "file can not be opened: …"; never NULL, valid until
 * the next call into the library. */
const char *gn_otf2_error_text(void);

#endif
