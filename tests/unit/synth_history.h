/* synth_history — a synthetic program (synth/synth.h) as analyses see it: through clocks that are wrong, and
 * of which bounds are known. For tests that compare with the program's truth. */
#ifndef SYNTH_HISTORY_H
#define SYNTH_HISTORY_H

#include "analyse/history.h"
#include "synth/synth.h"

/* How long the program takes, ns, told by the reference's clock, that of location 0, which is wrong, too. */
double synth_length(const struct gn_synth_settings *settings);

struct synth_history {
    struct gn_source measured, source; /* the first has the clocks' offsets, the second the events */
    struct gn_bounds **bounds;
    const struct gn_bounds **of;
    struct gn_history h;
};

void synth_history_open(struct synth_history *s, const struct gn_synth_settings *settings,
                        bool in_virtual_time);
void synth_history_close(struct synth_history *s);

#endif
