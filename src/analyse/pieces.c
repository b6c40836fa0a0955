#include "analyse/pieces.h"

#include "analyse/seen.h"

#include <math.h>
#include <stdbool.h>

/* What is counted of one piece does not touch what is of the next, were it by the rounding of virtual time.
 */
static const double apart = 0.01;

static double ticks_of(struct gn_kept_window window)
{
    return window.end_ticks > window.begin_ticks ? (double)(window.end_ticks - window.begin_ticks) : 0;
}

size_t gn_pieces_cut(struct gn_kept_window window, struct gn_kept_window run, uint64_t ticks, uint64_t events,
                     uint64_t least, struct gn_kept_window *pieces)
{
    const double by_time = floor(GN_PIECES_OF_RUN * ticks_of(window) / fmax(1, (double)ticks));
    const double by_events = least > 0 ? floor((double)events / (double)least) : by_time;
    const double most = fmin(fmin(by_time, by_events), GN_PIECES_OF_RUN);
    if (!(most >= 2)) {
        pieces[0] = window;
        return 1;
    }
    const size_t count = (size_t)most;
    /* at the ends of the run all counts; a piece there has a margin at one end only */
    const double inner = 1. / (GN_SEEN_MARGIN - 2), outer = 1. / (GN_SEEN_MARGIN - 1);
    const double before = window.begin_ticks <= run.begin_ticks ? 0 : inner,
                 behind = window.end_ticks >= run.end_ticks ? 0 : inner;
    const double counted = ticks_of(window) / ((double)count + before + behind), first = before * counted;
    const double own = counted * (1 - apart);
    for (size_t i = 0; i < count; i++) {
        const bool is_first = i == 0, is_last = i + 1 == count;
        const double at = first + (double)i * counted;
        const double begin = is_first ? 0 : is_last && behind == 0 ? at - outer * counted : at - inner * own;
        const double end =
            is_last ? ticks_of(window) : at + own + (is_first && before == 0 ? outer : inner) * own;
        pieces[i] = (struct gn_kept_window){window.begin_ticks + (uint64_t)fmax(0, begin),
                                            window.begin_ticks + (uint64_t)fmin(end, ticks_of(window))};
    }
    return count;
}
