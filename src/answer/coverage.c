#include "answer/coverage.h"

#include "answer/quantities.h"

static const struct kind {
    const char *name, *one, *many; /* name: in JSON */
} kinds[GN_CONDITION_KINDS] = {
    [GN_CONDITION_MESSAGES] = {"messages", "message", "messages"},
    [GN_CONDITION_COLLECTIVES] = {"collectives", "collective", "collectives"},
    [GN_CONDITION_WINDOWS] = {"windows", "collective on windows", "collectives on windows"},
    [GN_CONDITION_TEAMS] = {"teams", "team of threads", "teams of threads"},
    [GN_CONDITION_EPOCHS] = {"epochs", "epoch", "epochs"},
};

/* ---- text ---- */

static void print_kind(const struct kind *kind, const struct gn_condition_coverage *c, FILE *out)
{
    char checked[GN_QUANTITY_TEXT], all[GN_QUANTITY_TEXT], share[GN_QUANTITY_TEXT];
    fprintf(out, "%s of %s %s", gn_count_text((int64_t)c->checked, checked),
            gn_count_text((int64_t)c->all, all), c->all == 1 ? kind->one : kind->many);
    if (c->checked < c->all)
        fprintf(out, " (%s)", gn_share_text((double)c->checked / (double)c->all, share));
}

void gn_coverage_text(const struct gn_condition *condition, FILE *out)
{
    const char *separator = "";
    char count[GN_QUANTITY_TEXT];
    fputs("covered: ", out);
    for (int i = 0; i < GN_CONDITION_KINDS; i++) {
        if (condition->coverage[i].all == 0)
            continue;
        fputs(separator, out);
        print_kind(&kinds[i], &condition->coverage[i], out);
        separator = ", ";
    }
    if (!*separator)
        fputs("there are no messages and no collectives", out);
    if (condition->lost)
        fprintf(out, "; %s events are missing", gn_count_text((int64_t)condition->lost, count));
    if (condition->unread_locations)
        fprintf(out, "; %s locations could not be read to their end",
                gn_count_text((int64_t)condition->unread_locations, count));
    if (!gn_condition_covers(condition))
        fputs("; the rest could not be checked", out);
    fputc('\n', out);
}

void gn_judged_text(const struct gn_condition *condition, FILE *out)
{
    const struct gn_condition_judged *j = &condition->judged;
    char first[GN_QUANTITY_TEXT], second[GN_QUANTITY_TEXT];
    if (condition->uncertain.messages == 0)
        return;
    fputs("uncertain (only may hold; by the clocks as they were; nothing is held against the trace or moved "
          "for it):",
          out);
    if (j->held || j->not_held)
        fprintf(out, " on one clock %s held, %s did not;", gn_count_text((int64_t)j->held, first),
                gn_count_text((int64_t)j->not_held, second));
    if (j->possible || j->impossible)
        fprintf(out, " between clocks %s possible, %s impossible;",
                gn_count_text((int64_t)j->possible, first), gn_count_text((int64_t)j->impossible, second));
    fprintf(out, " %s cannot be told\n", gn_count_text((int64_t)j->unknown, first));
}

/* ---- JSON ---- */

json_t *gn_coverage_json(const struct gn_condition *condition)
{
    json_t *json =
        json_pack("{s:b, s:I, s:I}", "complete", gn_condition_covers(condition), "lost",
                  (json_int_t)condition->lost, "unread_locations", (json_int_t)condition->unread_locations);
    for (int i = 0; json && i < GN_CONDITION_KINDS; i++) {
        const struct gn_condition_coverage *c = &condition->coverage[i];
        json_object_set_new(
            json, kinds[i].name,
            json_pack("{s:I, s:I}", "all", (json_int_t)c->all, "checked", (json_int_t)c->checked));
    }
    return json;
}

json_t *gn_judged_json(const struct gn_condition *condition)
{
    const struct gn_condition_judged *j = &condition->judged;
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "held", (json_int_t)j->held, "not_held",
                     (json_int_t)j->not_held, "possible", (json_int_t)j->possible, "impossible",
                     (json_int_t)j->impossible, "unknown", (json_int_t)j->unknown);
}
