/* gnomon synth — a trace of a simulated program, seen through wrong clocks, and the truth beside it. */
#include "answer/quantities.h"
#include "cli/commands.h"
#include "cli/synth_options.h"
#include "synth/write.h"

#include <stdio.h>
#include <string.h>

/* Beside events on standard output, to standard error. */
static void report(const struct gn_synth_written *written, const struct gn_synth_options *o)
{
    const bool taken = o->to_stream && strcmp(o->output, "-") == 0;
    FILE *to = taken ? stderr : stdout;
    char events[GN_QUANTITY_TEXT], length[GN_QUANTITY_TEXT];
    fprintf(to, "%s: %s events of %u locations, %s", taken ? "standard output" : o->output,
            gn_count_text((int64_t)written->events, events), o->settings.locations,
            gn_duration_text(written->last_ns, length));
    if (written->lost > 0)
        fprintf(to, ", %s more events lost", gn_count_text((int64_t)written->lost, events));
    fprintf(to, "\n");
}

static int simulate(struct gn_synth_written *written, const struct gn_synth_options *o, struct gn_error *err)
{
    struct gn_source source;
    int code = gn_synth_open(&source, &o->settings, err);
    if (code != 0)
        return code;
    code = o->to_stream ? gn_synth_write_stream(written, &source, o->output, err)
                        : gn_synth_write_archive(written, &source, o->output, o->settings.measured, err);
    source.close(source.self);
    return code;
}

/* Status 2: it could not be begun; 1: not finished. */
int gn_command_synth(int argc, char **argv)
{
    struct gn_synth_options options;
    struct gn_synth_written written = {.begun = false};
    struct gn_error err = {""};
    gn_synth_options(&options, argc, argv);
    if (simulate(&written, &options, &err) == 0) {
        report(&written, &options);
        return 0;
    }
    fprintf(stderr, "gnomon synth: %s\n", err.text);
    return written.begun ? 1 : 2;
}
