/* synth/write — a simulated program as an archive with the true times beside it (synth/truth.h), or as an
 * event stream. */
#ifndef GNOMON_SYNTH_WRITE_H
#define GNOMON_SYNTH_WRITE_H

#include "synth/synth.h"

struct gn_synth_written {
    bool begun; /* false, with an error: nothing could be made there */
    uint64_t events, lost;
    double last_ns; /* true time of the last event */
};

/* source: of gn_synth_open. is_measured: the archive has clock offsets. 0, or a negative errno value with err
 * set.
 */
int gn_synth_write_archive(struct gn_synth_written *written, struct gn_source *source, const char *folder,
                           bool is_measured, struct gn_error *err);
/* path "-": standard output. */
int gn_synth_write_stream(struct gn_synth_written *written, struct gn_source *source, const char *path,
                          struct gn_error *err);

#endif
