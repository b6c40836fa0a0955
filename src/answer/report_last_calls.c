#include "answer/report_last_calls.h"

#include "answer/fit.h"
#include "answer/quantities.h"
#include "base/printable.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- for people ---- */

static size_t known_endings(const struct gn_summary *s, size_t *first)
{
    size_t known = 0;
    *first = 0;
    for (size_t i = 0; i < s->trouble_count; i++) {
        known += s->troubles[i].ending.known;
        *first += s->troubles[i].ending.known && s->troubles[i].ending.first;
    }
    return known;
}

void gn_report_ending(const struct gn_summary *s, const struct gn_trouble_row *t, FILE *out)
{
    size_t first;
    char from[GN_QUANTITY_TEXT], to[GN_QUANTITY_TEXT];
    if (!t->ending.known || known_endings(s, &first) < 2)
        return;
    if (t->ending.first)
        fprintf(out, first == 1 ? ", first of all" : ", as early as any");
    else
        fprintf(out, ", %s to %s later", gn_duration_text((double)t->ending.later_lo_ns, from),
                gn_duration_text((double)t->ending.later_hi_ns, to));
}

static void print_peer(const struct gn_fatal_row *f, FILE *out)
{
    if (!f->asks)
        return;
    fprintf(out, strcmp(f->asks, "root") == 0 ? ", root " : ", %s ", f->asks);
    if (f->asks[0] == 'f' &&
        f->peer < 0) /* MPI_ANY_SOURCE and MPI_PROC_NULL are negative in both libraries */
        fprintf(out, "any rank or none (%" PRId64 ")", f->peer);
    else
        fprintf(out, "rank %" PRId64, f->peer);
    if (f->tag >= 0)
        fprintf(out, " with tag %" PRId64, f->tag);
    if (!f->in_world)
        fprintf(out, " (of another communicator than MPI_COMM_WORLD, or of a window)");
}

void gn_report_fatal(const struct gn_trouble_row *t, FILE *out)
{
    const struct gn_fatal_row *f = &t->fatal;
    const char *call = f->call ? f->call : "an MPI call";
    if (!f->kind)
        return;
    if (strcmp(f->kind, "abort") == 0)
        fprintf(out, "; it called MPI_Abort with %d", f->code);
    else if (strcmp(f->kind, "exit") == 0)
        fprintf(out, "; it ended the run inside of %s", call);
    else
        fprintf(out, "; it raised %s%s%s%s in %s", f->class_name ? f->class_name : "an MPI error",
                f->text ? " (" : "", f->text ? f->text : "", f->text ? ")" : "", call);
    char place[256];
    if (f->file && f->line > 0)
        fprintf(out, " at %s", gn_place_text(place, sizeof place, f->file, f->line));
    else if (f->function)
        fprintf(out, " at %s", f->function);
    print_peer(f, out);
}

/* A line that is put together piece by piece. */
struct line {
    char text[512];
    size_t used;
    int parts; /* of what it sent and received */
};

static void say(struct line *l, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(l->text + l->used, sizeof l->text - l->used, format, arguments);
    va_end(arguments);
    l->used += length > 0 ? (size_t)length : 0;
    if (l->used >= sizeof l->text)
        l->used = sizeof l->text - 1;
}

static void say_rank(struct line *l, const char *before, int64_t rank)
{
    if (rank >= 0)
        say(l, " %s #%" PRId64, before, rank);
    else if (rank == GN_LAST_ANY)
        say(l, " %s any", before);
    else if (rank == GN_LAST_OUTSIDE)
        say(l, " %s another world", before);
}

static void say_side(struct line *l, const struct gn_last_side *side, const char *verb, const char *peer)
{
    char size[GN_QUANTITY_TEXT];
    if (side->messages == 0 && side->bytes == 0 && side->peer == GN_LAST_UNKNOWN)
        return;
    if (l->parts++ > 0)
        say(l, ",");
    if (side->messages > 1)
        say(l, " %s %" PRId64 " messages", verb, side->messages);
    else if (side->messages == 0 && side->bytes > 0)
        say(l, " %s", verb);
    say_rank(l, peer, side->peer);
    if (side->tag >= 0)
        say(l, " tag %" PRId64, side->tag);
    else if (side->tag == GN_LAST_ANY)
        say(l, " any tag");
    if (side->messages > 0 || side->bytes > 0)
        say(l, " %s", gn_bytes_text((double)side->bytes, size));
}

static void say_call(struct line *l, const struct gn_last_call_row *c)
{
    say(l, "%s", c->name);
    if (c->calls > 1)
        say(l, " × %" PRId64 ", in vain", c->calls);
    say_side(l, &c->sent, "gave", "to");
    say_side(l, &c->received, "got", "from");
    say_rank(l, "root", c->root);
    if (c->completed > 0)
        say(l, " completed %" PRId64, c->completed);
    if (c->comm && strcmp(c->comm, "MPI_COMM_WORLD") != 0)
        say(l, " on %s", c->comm);
    char place[256];
    if (c->file && c->line > 0)
        say(l, "  %s", gn_place_text(place, sizeof place, c->file, c->line));
    else if (c->function)
        say(l, "  %s", c->function);
    if (c->open)
        say(l, ", never left");
}

static void print_call(const struct gn_last_call_row *c, const struct gn_terminal *terminal, FILE *out)
{
    struct line line = {.used = 0};
    char when[GN_QUANTITY_TEXT], length[GN_QUANTITY_TEXT] = "";
    if (c->thread > 0)
        say(&line, "thread %d: ", c->thread);
    say_call(&line, c);
    if (!c->open)
        gn_duration_text((double)c->length_ns, length);
    fprintf(out, "    %10s %10s  ", gn_duration_text((double)c->before_end_ns, when), length);
    gn_print_short(gn_printable(line.text), terminal->width - 27, false, terminal, out);
    fputc('\n', out);
}

void gn_report_last_calls(const struct gn_trouble_row *t, const struct gn_terminal *terminal, FILE *out)
{
    enum { MOST_THREADS = 5 };
    char known_to[GN_QUANTITY_TEXT];
    int threads = 0;
    if (t->call_count > 0)
        fprintf(out, "    its last calls: how long before its end they began, how long they took\n");
    for (size_t i = 0; i < t->call_count; i++) { /* of other threads than the first the very last one */
        const struct gn_last_call_row *c = &t->calls[i];
        const bool last = i + 1 == t->call_count || t->calls[i + 1].thread != c->thread;
        threads += last;
        if ((c->thread == 0 || last) && threads < MOST_THREADS)
            print_call(c, terminal, out);
    }
    if (threads >= MOST_THREADS)
        fprintf(out, "    … and of %d more threads\n", threads - MOST_THREADS + 1);
    if (t->call_count > 0 && t->ending.known)
        fprintf(out, "    (its end is known to %s)\n",
                gn_duration_text((double)(t->ending.hi_ns - t->ending.lo_ns), known_to));
}

/* ---- for programs ---- */

static json_t *text(const char *value)
{
    return value && *value ? json_string_nocheck(value) : json_null();
}

static json_t *seconds(int64_t ns)
{
    return json_real((double)ns * 1e-9);
}

json_t *gn_report_ending_json(const struct gn_trouble_row *t)
{
    const struct gn_ending *e = &t->ending;
    return e->known ? json_pack("{s:b, s:o, s:o, s:o}", "first", e->first, "known_to_s",
                                seconds(e->hi_ns - e->lo_ns), "later_lo_s", seconds(e->later_lo_ns),
                                "later_hi_s", seconds(e->later_hi_ns))
                    : json_null();
}

json_t *gn_report_fatal_json(const struct gn_trouble_row *t)
{
    const struct gn_fatal_row *f = &t->fatal;
    if (!f->kind)
        return json_null();
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "kind", f->kind,
                     "call", text(f->call), "function", text(f->function), "file", text(f->file), "line",
                     f->line > 0 ? json_integer(f->line) : json_null(), "thread", f->thread, "code",
                     f->has_code ? json_integer(f->code) : json_null(), "class", text(f->class_name), "text",
                     text(f->text), "asks", text(f->asks), "peer",
                     f->asks ? json_integer((json_int_t)f->peer) : json_null(), "tag",
                     f->tag == GN_LAST_UNKNOWN ? json_null() : json_integer((json_int_t)f->tag),
                     "in_comm_world", f->in_world);
}

/* A rank or tag: a number, "any", or null. */
static json_t *number(int64_t value)
{
    return value == GN_LAST_ANY       ? json_string("any")
           : value == GN_LAST_UNKNOWN ? json_null()
                                      : json_integer((json_int_t)value);
}

static json_t *side_json(const struct gn_last_side *side, const char *peer)
{
    return json_pack("{s:I, s:o, s:o, s:I}", "messages", (json_int_t)side->messages, peer, number(side->peer),
                     "tag", number(side->tag), "bytes", (json_int_t)side->bytes);
}

static json_t *call_json(const struct gn_last_call_row *c)
{
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:I, s:o, s:o, s:I, s:o, s:o}", "thread",
                     c->thread, "name", text(c->name), "function", text(c->function), "file", text(c->file),
                     "line", c->line > 0 ? json_integer(c->line) : json_null(), "inside", c->open, "enter_s",
                     seconds(c->enter_ns), "before_end_s", seconds(c->before_end_ns), "length_s",
                     seconds(c->length_ns), "calls", (json_int_t)c->calls, "sent", side_json(&c->sent, "to"),
                     "received", side_json(&c->received, "from"), "completed", (json_int_t)c->completed,
                     "communicator", text(c->comm), "root", number(c->root));
}

json_t *gn_report_last_calls_json(const struct gn_trouble_row *t)
{
    json_t *calls = json_array();
    for (size_t i = 0; i < t->call_count; i++)
        json_array_append_new(calls, call_json(&t->calls[i]));
    return calls;
}
