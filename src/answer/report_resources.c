#include "answer/report_resources.h"

#include "answer/quantities.h"
#include "answer/report_table.h"

#include <math.h>

void gn_report_cores(const struct gn_summary *s, FILE *out)
{
    const struct gn_resources_told *t = &s->resources;
    if (isfinite(t->cores_busy) && isfinite(t->cores) && t->cores > 0)
        fprintf(out, " · %.*f of %g core%s busy", t->cores_busy < 99.95, t->cores_busy, t->cores,
                t->cores == 1 ? "" : "s");
}

void gn_report_efficiency(const struct gn_efficiency *e, FILE *out)
{
    char parallel[GN_QUANTITY_TEXT], balance[GN_QUANTITY_TEXT], communication[GN_QUANTITY_TEXT];
    fprintf(out, "efficiency %s = load balance %s × communication %s", gn_share_text(e->parallel, parallel),
            gn_share_text(e->load_balance, balance), gn_share_text(e->communication, communication));
}

static const char *between_parts(bool *any)
{
    const char *between = *any ? " · " : "";
    *any = true;
    return between;
}

static void memory(const struct gn_summary *s, bool *any, FILE *out)
{
    const struct gn_resources_told *t = &s->resources;
    char most[GN_QUANTITY_TEXT], median[GN_QUANTITY_TEXT], age[GN_QUANTITY_TEXT];
    if (!t->peak_known)
        return;
    fprintf(out, "%smemory %s", between_parts(any), gn_bytes_text(t->peak_most, most));
    if (s->ranks > 1)
        fprintf(out, " on #%d, median %s", t->peak_rank, gn_bytes_text(t->peak_median, median));
    if (t->peak_age_s > 0.1 * s->measured_s)
        fprintf(out, " (%s before its end)", gn_duration_text(t->peak_age_s * 1e9, age));
}

static void messages(const struct gn_summary *s, bool *any, FILE *out)
{
    const struct gn_resources_told *t = &s->resources;
    char count[GN_QUANTITY_TEXT], bytes[GN_QUANTITY_TEXT], low[GN_QUANTITY_TEXT], high[GN_QUANTITY_TEXT];
    if (s->period.is_set) {
        fprintf(out, "%smemory, files, messages and processor time are known of the whole run only",
                between_parts(any));
        return;
    }
    if (t->messages == 0) {
        if (s->ranks > 1)
            fprintf(out, "%sno messages between ranks", between_parts(any));
        return;
    }
    fprintf(out, "%s%s message%s, %s", between_parts(any), gn_count_text(t->messages, count),
            t->messages == 1 ? "" : "s", gn_bytes_text((double)t->sent_bytes, bytes));
    if (t->sizes_known && t->size_high > 0)
        fprintf(out, ", median %s to %s", gn_bytes_text(t->size_low, low),
                gn_bytes_text(t->size_high + 1, high));
}

static void files(const struct gn_summary *s, bool *any, FILE *out)
{
    const struct gn_resources_told *t = &s->resources;
    char read[GN_QUANTITY_TEXT], written[GN_QUANTITY_TEXT];
    if (isfinite(t->read_bytes) && isfinite(t->written_bytes) && s->rank_count > 0)
        fprintf(out, "%sread %s, wrote %s", between_parts(any), gn_bytes_text(t->read_bytes, read),
                gn_bytes_text(t->written_bytes, written));
}

/* Whose ranks compute least and most: where all have the same to do, that is the fastest and the slowest. */
static void hosts(const struct gn_summary *s, FILE *out)
{
    const struct gn_host_row *least = NULL, *most = NULL;
    char fast[GN_QUANTITY_TEXT], slow[GN_QUANTITY_TEXT];
    for (size_t i = 0; i < s->host_count; i++) {
        const struct gn_host_row *h = &s->hosts_told[i];
        least = !least || h->useful_s / h->ranks < least->useful_s / least->ranks ? h : least;
        most = !most || h->useful_s / h->ranks > most->useful_s / most->ranks ? h : most;
    }
    if (s->host_count > 1)
        fprintf(out, "hosts: a rank computes %s on %s, the least, %s on %s, the most\n",
                gn_duration_text(least->useful_s / least->ranks * 1e9, fast), least->name,
                gn_duration_text(most->useful_s / most->ranks * 1e9, slow), most->name);
}

static bool has_others(const struct gn_summary *s)
{
    return s->other_count > 0 && s->others_s >= 0.01 * s->measured_s * s->ranks;
}

/* What is in no row: threads that made no call. */
static void threads(const struct gn_summary *s, FILE *out)
{
    enum { TOLD = 3 };
    char what[1024], place[600], share[GN_QUANTITY_TEXT];
    if (s->measured_s > 0 && s->unsampled_s > 0)
        fprintf(out,
                "%s of processor time (%.1f cores) are in no sample: perhaps of threads that lived for less "
                "than 0.1 s\n",
                gn_duration_text(s->unsampled_s * 1e9, share), s->unsampled_s / s->measured_s);
    if (!has_others(s) || s->measured_s <= 0)
        return;
    fprintf(out, "other threads of ranks kept %.1f cores busy (%s samples): ", s->others_s / s->measured_s,
            gn_count_text(s->others_samples, share));
    for (size_t i = 0; i < s->other_count && i < TOLD; i++) {
        gn_report_row_text(&s->others[i], what, sizeof what);
        gn_report_row_place(&s->others[i], place, sizeof place);
        gn_share_text(s->others[i].share, share);
        fprintf(out, "%s%s %s%s%s%s", i ? ", " : "", share, what, place[0] ? " (" : "", place,
                place[0] ? ")" : "");
    }
    fputs(s->other_count > TOLD ? ", …\n" : "\n", out);
}

/* Of what was counted, the share that samples found where no time was told. */
static double in_no_row(const struct gn_summary *s, size_t counter)
{
    const double total = (double)s->counters[counter].total;
    double sum = 0;
    for (size_t i = 0; i < s->row_count; i++)
        sum += s->rows[i].amounts[counter];
    return total > 0 ? fmax(0, 1 - sum / total) : 0;
}

/* What the kernel counted besides time. */
static void counters(const struct gn_summary *s, FILE *out)
{
    char total[GN_QUANTITY_TEXT], most[GN_QUANTITY_TEXT], median[GN_QUANTITY_TEXT];
    for (size_t i = 0; i < s->counter_count; i++) {
        const struct gn_counter_told *c = &s->counters[i];
        const bool is_counted = c->total > 0 || !c->reason[0];
        fprintf(out, "%s: %s", c->name, is_counted ? gn_amount_text((double)c->total, total) : "not counted");
        if (is_counted && s->ranks > 1)
            fprintf(out, ", %s on #%d, median %s", gn_amount_text((double)c->most, most), c->most_rank,
                    gn_amount_text((double)c->median, median));
        const double elsewhere = is_counted ? in_no_row(s, i) : 0;
        if (elsewhere >= 0.01)
            fprintf(out, ", %s of it in none of the rows", gn_share_text(elsewhere, most));
        if (c->is_scaled)
            fputs(" (counted part of the time, and scaled)", out);
        fprintf(out, "%s%s\n", c->reason[0] ? is_counted ? "; not all of it: " : ": " : "", c->reason);
    }
}

/* The rank whose core is the slowest, and the one with most of its memory elsewhere, where that may matter.
 */
static void speeds(const struct gn_summary *s, FILE *out)
{
    const struct gn_rank_row *slow = NULL, *remote = NULL;
    char own[GN_QUANTITY_TEXT];
    for (size_t i = 0; i < s->rank_count; i++) {
        const struct gn_rank_row *r = &s->ranks_told[i];
        slow = isfinite(r->core_mhz) && (!slow || r->core_mhz < slow->core_mhz) ? r : slow;
        remote = isfinite(gn_remote_share(r)) && (!remote || gn_remote_share(r) > gn_remote_share(remote))
                     ? r
                     : remote;
    }
    const struct gn_cores_beside b =
        slow ? gn_cores_beside(s, &slow->rank, 1) : (struct gn_cores_beside){.mhz = NAN};
    if (gn_runs_slower(b.mhz, b.others_mhz))
        fprintf(out, "the core of #%d ran at %.0f MHz (of %.0f), those of the others at %.0f\n", slow->rank,
                slow->core_mhz, slow->core_most_mhz, b.others_mhz);
    if (remote && gn_remote_share(remote) >= 0.1)
        fprintf(out, "%s of #%d's memory lies at another NUMA node than it ran on\n",
                gn_share_text(gn_remote_share(remote), own), remote->rank);
}

void gn_report_resources(const struct gn_summary *s, FILE *out)
{
    bool any = false;
    memory(s, &any, out);
    messages(s, &any, out);
    files(s, &any, out);
    if (any)
        fputc('\n', out);
    counters(s, out);
    threads(s, out);
    hosts(s, out);
    speeds(s, out);
}

/* ---- for programs ---- */

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *whole(double value)
{
    return isfinite(value) ? json_integer((json_int_t)value) : json_null();
}

json_t *gn_report_efficiency_json(const struct gn_efficiency *e)
{
    if (!e->is_known)
        return json_null();
    return json_pack("{s:f, s:f, s:f, s:f}", "parallel", e->parallel, "load_balance", e->load_balance,
                     "communication", e->communication, "length_s", e->length_s);
}

/* Of a part of the run it is not known. */
static json_t *sent(const struct gn_summary *s, int64_t count)
{
    return s->period.is_set ? json_null() : json_integer((json_int_t)count);
}

json_t *gn_report_resources_json(const struct gn_summary *s)
{
    const struct gn_resources_told *t = &s->resources;
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "peak_bytes",
                     t->peak_known ? whole(t->peak_most) : json_null(), "peak_rank",
                     t->peak_known ? json_integer(t->peak_rank) : json_null(), "peak_median_bytes",
                     t->peak_known ? whole(t->peak_median) : json_null(), "read_bytes", whole(t->read_bytes),
                     "written_bytes", whole(t->written_bytes), "messages", sent(s, t->messages), "sent_bytes",
                     sent(s, t->sent_bytes), "median_message_lo_bytes",
                     t->sizes_known ? whole(t->size_low) : json_null(), "median_message_hi_bytes",
                     t->sizes_known ? whole(t->size_high) : json_null(), "cores", number(t->cores),
                     "cores_busy", number(t->cores_busy), "preempted_s", number(t->preempted_s),
                     "preempted_share", number(t->preempted_share));
}

json_t *gn_report_counters_json(const struct gn_summary *s)
{
    json_t *array = json_array();
    for (size_t i = 0; i < s->counter_count; i++) {
        const struct gn_counter_told *c = &s->counters[i];
        json_array_append_new(array, json_pack("{s:s, s:I, s:I, s:I, s:i, s:I, s:b, s:s?}", "name", c->name,
                                               "total", (json_int_t)c->total, "median", (json_int_t)c->median,
                                               "max", (json_int_t)c->most, "max_rank", c->most_rank,
                                               "samples", (json_int_t)c->samples, "scaled", c->is_scaled,
                                               "reason", c->reason[0] ? c->reason : NULL));
    }
    return array;
}

json_t *gn_report_threads_json(const struct gn_summary *s)
{
    json_t *places = json_array();
    for (size_t i = 0; i < s->other_count; i++) {
        const struct gn_activity_row *r = &s->others[i];
        json_array_append_new(places, json_pack("{s:s?, s:s?, s:i, s:s?, s:s?, s:s?, s:f, s:I}", "function",
                                                r->function, "file", r->file, "line", r->line, "library",
                                                r->library, "called", r->called, "doing", r->runtime, "share",
                                                r->share, "samples", (json_int_t)r->samples));
    }
    return json_pack("{s:f, s:f, s:o}", "cpu_s", s->others_s, "unsampled_s", s->unsampled_s, "places",
                     places);
}

json_t *gn_report_ranks_json(const struct gn_summary *s)
{
    json_t *array = json_array();
    for (size_t i = 0; i < s->rank_count; i++) {
        const struct gn_rank_row *r = &s->ranks_told[i];
        json_array_append_new(
            array,
            json_pack(
                "{s:i, s:s, s:f, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s?, s:o, s:o, s:o, s:o, "
                "s:o}",
                "rank", r->rank, "host", r->host, "elapsed_s", r->elapsed_s, "useful_s", r->useful_s, "mpi_s",
                r->mpi_s, "cpu_s", number(r->cpu_s), "preempted_s", number(r->preempted_s), "rss_bytes",
                whole(r->peak_bytes), "rss_age_s", number(r->peak_age_s), "read_bytes", whole(r->read_bytes),
                "written_bytes", whole(r->written_bytes), "messages", sent(s, r->messages), "sent_bytes",
                sent(s, r->sent_bytes), "cores", r->cores, "cores_quota", number(r->cores_quota), "core_mhz",
                number(r->core_mhz), "core_most_mhz", number(r->core_most_mhz), "resident_bytes",
                whole(r->resident_bytes), "remote_bytes", whole(r->remote_bytes)));
    }
    return array;
}

json_t *gn_report_hosts_json(const struct gn_summary *s)
{
    json_t *array = json_array();
    for (size_t i = 0; i < s->host_count; i++) {
        const struct gn_host_row *h = &s->hosts_told[i];
        json_array_append_new(
            array, json_pack("{s:s, s:i, s:o, s:f, s:o, s:o}", "host", h->name, "ranks", h->ranks, "cores",
                             h->cores > 0 ? number(h->cores) : json_null(), "useful_s", h->useful_s, "cpu_s",
                             number(h->cpu_s), "preempted_s", number(h->preempted_s)));
    }
    return array;
}
