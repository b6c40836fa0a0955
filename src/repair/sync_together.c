/* repair/sync_together — what the processes that repair one trace agree on between passes (sync_state.h). */
#include "repair/sync_inside.h"

#include <errno.h>
#include <string.h>

int gn_sync_agree(const struct gn_sync_state *s, enum gn_agreement how, int64_t *values, size_t count,
                  struct gn_error *err)
{
    int code = s->transport->agree(s->transport->self, how, values, count);
    return code < 0
               ? gn_fail(err, code, "the processes that work together lost each other: %s", strerror(-code))
               : 0;
}

int gn_sync_sum(const struct gn_sync_state *s, uint64_t *const *values, size_t count, struct gn_error *err)
{
    int64_t sums[16];
    for (size_t i = 0; i < count; i++)
        sums[i] = (int64_t)*values[i];
    int code = gn_sync_agree(s, GN_AGREE_SUM, sums, count, err);
    for (size_t i = 0; i < count && code == 0; i++)
        *values[i] = (uint64_t)sums[i];
    return code;
}

int gn_sync_span(const struct gn_sync_state *s, int64_t *first, int64_t *last, struct gn_error *err)
{
    int code = gn_sync_agree(s, GN_AGREE_MIN, first, 1, err);
    return code == 0 ? gn_sync_agree(s, GN_AGREE_MAX, last, 1, err) : code;
}

int gn_sync_settled(const struct gn_sync_state *s, int code, struct gn_error *err)
{
    int64_t worst[] = {code, code < 0 && s->report->is_bad_input ? -1 : 0};
    int lost = gn_sync_agree(s, GN_AGREE_MIN, worst, 2, code < 0 ? NULL : err);
    s->report->is_bad_input = lost == 0 && worst[0] < 0 && worst[1] < 0;
    if (code < 0 || lost < 0)
        return code < 0 ? code : lost;
    if (worst[0] == 0)
        return 0;
    if (err)
        err->text[0] = '\0';
    return -ECANCELED;
}

int gn_sync_settled_input(const struct gn_sync_state *s, int code, struct gn_error *err)
{
    const bool is_full = code == -ENOMEM || code == -ENOSPC || code == -EDQUOT || code == -EFBIG;
    s->report->is_bad_input = code < 0 && !is_full;
    return gn_sync_settled(s, code, err);
}

int gn_sync_settled_output(const struct gn_sync_state *s, int code, struct gn_error *err)
{
    s->report->is_bad_input = code == -EBADMSG || code == -ENODATA || code == -ERANGE;
    return gn_sync_settled(s, code, err);
}

void gn_sync_show(const struct gn_sync_state *s, const char *phase, double share)
{
    const struct gn_sync_watcher *w = &s->settings->watcher;
    if (w->show)
        w->show(w->self, phase, share);
}
