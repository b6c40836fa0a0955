#include "cli/order_use.h"

#include "agent/running.h"
#include "cli/place.h"
#include "event/ahead.h"
#include "trace/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int open_input(struct gn_order_use *u, struct gn_error *err)
{
    const struct gn_order_options *a = u->options;
    if (!a->live && a->input_count > 0)
        return gn_joined_open(&u->source, &u->joined, a->inputs, a->input_count, err);
    if (!a->live) {
        int code = gn_place_find(NULL, u->newest, sizeof u->newest, err);
        u->found = u->newest;
        return code != 0 ? code : gn_joined_open(&u->source, &u->joined, &u->found, 1, err);
    }
    u->own_definitions = gn_definitions_new();
    return u->own_definitions ? 0 : gn_fail(err, -ENOMEM, "no memory for definitions");
}

const struct gn_definitions *gn_order_use_definitions(const struct gn_order_use *u)
{
    return u->own_definitions ? u->own_definitions : u->source.definitions;
}

static int open_ordering(struct gn_order_use *u, struct gn_error *err)
{
    const struct gn_order_options *a = u->options;
    if (a->plot && !(u->plot = calloc(1, sizeof *u->plot)))
        return gn_fail(err, -ENOMEM, "no memory for the plot");
    struct gn_ordering_settings settings = {.unsorted = a->unsorted,
                                            .adjust = a->adjust,
                                            .in_time = !a->live && a->arrival.kind == GN_ARRIVAL_RECORDED,
                                            .is_live = a->live,
                                            .measure = a->stats,
                                            .check = true,
                                            .when = a->when,
                                            .stop_after = a->count,
                                            .plot = u->plot,
                                            .definitions = gn_order_use_definitions(u)};
    return gn_ordering_open(&u->ordering, &settings, err);
}

static int open_jsonl(struct gn_order_use *u, struct gn_error *err)
{
    const char *path = u->options->output;
    bool to_file = path && strcmp(path, "-") != 0;
    int fd = to_file ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : STDOUT_FILENO;
    if (fd < 0)
        return gn_fail(err, -errno, "cannot write %s: %s", path, strerror(errno));
    return gn_output_jsonl(&u->output, fd, gn_order_use_definitions(u), gn_ordering_origin(u->ordering), err);
}

static int open_output(struct gn_order_use *u, struct gn_error *err)
{
    const struct gn_order_options *a = u->options;
    int code = 0;
    if (a->to == GN_ORDER_TO_NONE)
        return 0;
    if (a->to == GN_ORDER_TO_JSONL)
        code = open_jsonl(u, err);
    else if (a->to == GN_ORDER_TO_OTF2)
        code = gn_output_otf2(&u->output, a->output, gn_order_use_definitions(u), err);
    else
        code = gn_output_stream(&u->output, a->output ? a->output : "-", gn_order_use_definitions(u), err);
    u->has_output = code == 0;
    if (u->has_output)
        gn_ordering_send_to(u->ordering, &u->output);
    return code;
}

int gn_order_use_open(struct gn_order_use *u, struct gn_error *err)
{
    int code = open_input(u, err);
    if (code == 0)
        code = open_ordering(u, err);
    return code == 0 ? open_output(u, err) : code;
}

static int push_arrived(struct gn_order_use *u, const struct gn_arrived *arrived, struct gn_error *err)
{
    int code = 0;
    if (arrived->count == 0)
        return gn_ordering_end(u->ordering, arrived->location, err);
    for (uint32_t i = 0; i < arrived->count && code == 0; i++)
        code = gn_ordering_push(u->ordering, &arrived->events[i], err);
    return code;
}

static int order_traces(struct gn_order_use *u, struct gn_error *err)
{
    struct gn_arrival *arrival;
    struct gn_arrived arrived;
    if (!u->options->stop)
        gn_source_ahead(&u->source); /* without it, it only takes longer */
    int code = gn_arrival_open(&arrival, &u->source, &u->options->arrival, err);
    while (code == 0 && (code = gn_arrival_next(arrival, &arrived, err)) == 1)
        code = push_arrived(u, &arrived, err);
    gn_arrival_close(arrival);
    return code == 0 ? gn_ordering_finish(u->ordering, err) : code;
}

int gn_order_use_run(struct gn_order_use *u, struct gn_error *err)
{
    const struct gn_order_options *a = u->options;
    if (!a->live)
        return order_traces(u, err);
    char newest[4096], *found = newest;
    int code = a->input_count == 0 ? gn_running_newest(gn_place_of_runs(), newest, sizeof newest, err) : 0;
    return code != 0 ? code
                     : gn_live_run(a->input_count ? a->inputs : &found, a->input_count ? a->input_count : 1,
                                   u->own_definitions, u->ordering, u->has_output ? &u->output : NULL,
                                   &u->live, err);
}

static int write_plot(const struct gn_order_use *u, struct gn_error *err)
{
    const char *path = u->options->plot;
    FILE *out = fopen(path, "we");
    if (!out)
        return gn_fail(err, -errno, "cannot write the plot %s: %s", path, strerror(errno));
    gn_plot_write(u->plot, out);
    bool failed = ferror(out);
    if (fclose(out) != 0 || failed)
        return gn_fail(err, -EIO, "cannot write the plot %s: %s", path, strerror(errno));
    return 0;
}

static int finish_output(struct gn_order_use *u, struct gn_error *err)
{
    if (!u->has_output)
        return 0;
    u->has_output = false;
    return u->output.finish(u->output.self, err);
}

int gn_order_use_end(struct gn_order_use *u, struct gn_error *err)
{
    int code = finish_output(u, err);
    return code == 0 && u->plot ? write_plot(u, err) : code;
}

void gn_order_use_close(struct gn_order_use *u)
{
    if (u->has_output)
        u->output.close(u->output.self);
    gn_ordering_close(u->ordering);
    if (u->joined)
        u->source.close(u->source.self);
    gn_definitions_free(u->own_definitions);
    free(u->plot);
}
