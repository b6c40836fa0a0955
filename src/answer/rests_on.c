#include "answer/rests_on.h"

#include "answer/quantities.h"

struct count {
    const char *key, *text;
    uint64_t value;
};

enum { COUNTS = 5 };

static void count_all(const struct gn_history *h, struct count counts[COUNTS])
{
    const struct count all[COUNTS] = {
        {"unmatched", "receives whose send is not in the trace: what they waited for is not known",
         h->unmatched},
        {"ambiguous", "receives or collectives of which it is not certain what belongs together",
         h->ambiguous},
        {"any_source", "receives from anybody: with other times they might take another message",
         h->any_source},
        {"lost", "events are missing: what depends on them is not certain", h->lost},
        {"unbounded", "locations whose clock nothing is known of: anything may have come last there",
         h->unbounded}};
    for (size_t i = 0; i < COUNTS; i++)
        counts[i] = all[i];
}

void gn_rests_on_text(const struct gn_history *history, const struct gn_terminal *terminal, FILE *out)
{
    struct count counts[COUNTS];
    char number[GN_QUANTITY_TEXT];
    const char *plain = gn_shade(terminal, GN_PLAIN);
    count_all(history, counts);
    if (history->is_partial)
        fprintf(out, "%sPARTIAL%s: the run did not end normally, or not all of it was measured\n",
                gn_shade(terminal, GN_RED), plain);
    if (history->refuted)
        fprintf(out,
                "%srefuted%s: what was assumed of the clocks contradicts what was measured; these bounds may "
                "be wrong\n",
                gn_shade(terminal, GN_RED), plain);
    for (size_t i = 0; i < COUNTS; i++)
        if (counts[i].value)
            fprintf(out, "%s%s%s: %s %s\n", gn_shade(terminal, GN_YELLOW), counts[i].key, plain,
                    gn_count_text((int64_t)counts[i].value, number), counts[i].text);
}

json_t *gn_rests_on_json(const struct gn_history *history)
{
    struct count counts[COUNTS];
    json_t *json = json_pack("{s:b, s:b, s:f}", "partial", history->is_partial, "refuted", history->refuted,
                             "longest_s", history->longest_ns * 1e-9);
    count_all(history, counts);
    for (size_t i = 0; i < COUNTS; i++)
        json_object_set_new(json, counts[i].key, json_integer((json_int_t)counts[i].value));
    return json;
}
