#include "answer/assumptions.h"

#include "answer/quantities.h"

#include <math.h>
#include <stdbool.h>

struct assumption {
    const char *name;
    enum gn_assumes bit;
    bool is_leaned_on;
    int64_t count; /* < 0: it is not of so many things */
    char text[200];
};

enum { ALL = 9 };

static void find(const struct gn_history *h, struct assumption all[ALL])
{
    char number[GN_QUANTITY_TEXT], size[GN_QUANTITY_TEXT], longest[GN_QUANTITY_TEXT];
    /* no message takes longer than the run */
    const bool has_longest = h->longest_ns > 0 && h->longest_ns < (double)h->length.hi_ns;
    const struct assumption found[ALL] = {
        {"same_program", GN_ASSUMES_SAME_PROGRAM, true, -1, "the program does the same"},
        {"cost_stays", GN_ASSUMES_COST_STAYS, true, -1,
         "what a call costs after the last it waited for stays"},
        {"longest", GN_ASSUMES_LONGEST, has_longest, -1, ""},
        {"named", GN_ASSUMES_NAMED, h->unnamed > 0, (int64_t)h->unnamed, ""},
        {"eager", GN_ASSUMES_EAGER, h->eager_sends > 0, (int64_t)h->eager_sends, ""},
        {"progress", GN_ASSUMES_PROGRESS, h->moved > 0, (int64_t)h->moved, ""},
        {"threads", GN_ASSUMES_THREADS, h->handed > 0, (int64_t)h->handed, ""},
        {"polls", GN_ASSUMES_POLLS, h->idle_rows > 0, (int64_t)h->idle_rows, ""},
        {"untold", GN_ASSUMES_UNTOLD, h->untold_ns > 0.01 * (double)h->length.hi_ns, (int64_t)h->untold, ""}};
    for (size_t i = 0; i < ALL; i++)
        all[i] = found[i];
    if (has_longest)
        snprintf(all[2].text, sizeof all[2].text,
                 "no message that was there when it was asked for had taken longer than %s",
                 gn_width_text(h->longest_ns, longest));
    snprintf(all[3].text, sizeof all[3].text,
             "%s receives of which the trace does not tell it are all from one sender, or all from anybody",
             gn_count_text(all[3].count, number));
    snprintf(all[4].text, sizeof all[4].text, "%s sends of up to %s went on without their receivers",
             gn_count_text(all[4].count, number), gn_bytes_text(h->eager_bytes, size));
    snprintf(all[6].text, sizeof all[6].text,
             "what was waited for %s times, a thread's end or a lock, comes as much earlier as who waits",
             gn_count_text(all[6].count, number));
    snprintf(all[7].text, sizeof all[7].text, "%s rows of polls waited: between two of them no work was done",
             gn_count_text(all[7].count, number));
    snprintf(all[8].text, sizeof all[8].text,
             "of %s calls (locks and epochs of windows, files), %s in all, nothing tells whether they "
             "waited, and for whom",
             gn_count_text(all[8].count, number), gn_duration_text(h->untold_ns, longest));
    snprintf(all[5].text, sizeof all[5].text, "%s messages moved on while nobody was in MPI",
             gn_count_text(all[5].count, number));
}

void gn_assumptions_text(const struct gn_history *h, unsigned assumptions, const struct gn_terminal *terminal,
                         FILE *out)
{
    struct assumption all[ALL];
    const char *between = ": ";
    find(h, all);
    for (size_t i = 0; i < ALL; i++) {
        if (!(assumptions & all[i].bit) || !all[i].is_leaned_on)
            continue;
        if (between[0] == ':')
            fprintf(out, "%sassumed%s", gn_shade(terminal, GN_DIM), gn_shade(terminal, GN_PLAIN));
        fprintf(out, "%s%s%s%s%s", between, all[i].text, all[i].count < 0 ? "" : " (",
                all[i].count < 0 ? "" : all[i].name, all[i].count < 0 ? "" : ")");
        between = "; ";
    }
    if (between[0] == ';')
        fputc('\n', out);
}

json_t *gn_assumptions_json(const struct gn_history *h, unsigned assumptions)
{
    struct assumption all[ALL];
    json_t *list = json_array();
    find(h, all);
    for (size_t i = 0; i < ALL && list; i++) {
        if (!(assumptions & all[i].bit) || !all[i].is_leaned_on)
            continue;
        json_t *one = json_pack("{s:s, s:s, s:o?}", "name", all[i].name, "text", all[i].text, "count",
                                all[i].count < 0 ? json_null() : json_integer((json_int_t)all[i].count));
        if (json_array_append_new(list, one) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}
