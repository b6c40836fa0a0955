#include "repair/extract.h"

#include "base/grow.h"
#include "repair/extract_inside.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What fits the fields of an op; a longer row without ops gets one in between. */
enum { LONG_ROW = INT32_MAX };

int gn_extract_failed(void)
{
    return errno ? -errno : -ENOMEM;
}

/* ---- time and ops ---- */

/* No time is below 0, whatever a clock's bounds say of it. */
static int64_t as_time(int64_t bound, int64_t none)
{
    const int64_t latest = INT64_MAX / 2;
    return bound == none ? none : bound < 0 ? 0 : bound > latest ? latest : bound;
}

static void keep_bounds(struct gn_op *op, struct gn_extract_location *l)
{
    int64_t low, high;
    if (!gn_presync_bounds(&l->map, l->raw_ticks, &low, &high))
        return;
    op->start = as_time(low, INT64_MIN);
    op->high = as_time(high, INT64_MAX);
}

struct gn_op *gn_extract_op(struct gn_extract *x, struct gn_extract_location *l, enum gn_op_kind kind)
{
    errno = 0;
    struct gn_op *op = gn_op_add(x->store, l->index);
    if (!op)
        return NULL;
    op->kind = (uint8_t)kind;
    op->ticks = l->ticks;
    keep_bounds(op, l);
    op->records = (uint32_t)(l->record - l->op_record);
    op->steps = (uint32_t)l->steps;
    op->root = GN_NONE;
    l->op_record = l->record;
    l->steps = 0;
    x->stats.ops++;
    return op;
}

/* Where timestamps go back, time stands still: a corrected time never goes back either. */
static void go_on(struct gn_extract *x, struct gn_extract_location *l, const struct gn_event *event)
{
    struct gn_extract_stats *s = &x->stats;
    const int64_t ticks = l->next_ticks;
    /* sources that are no files do not number their events */
    const uint32_t records = event->record ? (uint32_t)(event->record - (uint32_t)l->record) : 1;
    l->record += records;
    x->store->rows[l->index].has_gaps |= records != 1;
    if (!l->any || ticks > l->ticks) {
        l->steps += l->any;
        l->ticks = ticks;
        l->raw_ticks = event->ticks;
    }
    l->any = true;
    if (s->events++ == 0 || ticks < s->first_ticks)
        s->first_ticks = ticks;
    if (s->events == 1 || ticks > s->last_ticks)
        s->last_ticks = ticks;
}

/* ---- events ---- */

/* From here on nothing that the process does can be counted. */
static int lose(struct gn_extract *x)
{
    if (x->is_lost)
        return 0;
    x->is_lost = true;
    gn_epochs_lose(x->epochs, x->process);
    int code = gn_teams_end(x->teams, x->process);
    return code ? code : gn_numbering_end(x->numbering, x->process);
}

static bool is_communication(unsigned kind)
{
    return kind == GN_EVENT_MPI_SEND || kind == GN_EVENT_MPI_ISEND || kind == GN_EVENT_MPI_RECV ||
           kind == GN_EVENT_MPI_IRECV || gn_event_begins(kind);
}

/* What windows and threads have to do with each other. */
static int synchronised(struct gn_extract *x, struct gn_extract_location *l, const struct gn_event *event)
{
    x->at = l;
    int code = x->definitions->window_count > 0 ? gn_epochs_event(x->epochs, event) : 0;
    const bool has_team = x->location_count > 1; /* else the others are not in the trace */
    return code || !has_team ? code : gn_teams_event(x->teams, event);
}

static int count(struct gn_extract *x, struct gn_extract_location *l, const struct gn_event *event)
{
    const bool is_of_region = event->kind == GN_EVENT_ENTER || event->kind == GN_EVENT_LEAVE;
    if ((is_of_region && x->location_count == 1) || !gn_numbering_wants(x->numbering, event))
        return 0; /* most events */
    if (!x->is_lost)
        return gn_extract_counted(x, l, event);
    x->stats.uncounted += is_communication(event->kind);
    return 0;
}

static int take(struct gn_extract *x, struct gn_extract_location *l)
{
    const struct gn_event *event = &l->events[l->next++];
    go_on(x, l, event);
    if (l->record - l->op_record >= LONG_ROW && !gn_extract_op(x, l, GN_OP_LOCAL))
        return gn_extract_failed();
    if (event->kind == GN_EVENT_LOST || (event->kind == GN_EVENT_MEASUREMENT && event->request == 0))
        return lose(x);
    int code = count(x, l, event);
    return code || x->is_lost ? code : synchronised(x, l, event);
}

/* ---- locations ---- */

static int refuse(const struct gn_extract *x, const struct gn_extract_location *l, uint64_t ticks,
                  struct gn_error *err)
{
    const struct gn_location_def *def = &x->definitions->locations[l->index];
    return gn_fail(err, -ERANGE,
                   "location %" PRIu64 " (%s) has the timestamp %" PRIu64 ": times above %" PRId64
                   " (2^62) cannot be repaired; is the archive damaged, or does its "
                   "clock not count from a recent moment? Then subtract a constant from all timestamps",
                   def->file_id, gn_string(x->definitions, def->name), ticks, INT64_MAX / 2);
}

/* The next event is at events[next], and its time in next_ticks. 1; 0: the location is at its end; or a
 * negative errno value. */
static int look(struct gn_extract *x, struct gn_extract_location *l, struct gn_error *err)
{
    if (l->next == l->count) {
        l->next = 0;
        l->count = x->source->pull(x->source->self, l->index, &l->events, err);
        if (l->count == -EAGAIN)
            return gn_fail(err, -EAGAIN, "the trace is still being written: repair it when it is complete");
        if (l->count <= 0)
            return (int)l->count;
    }
    const uint64_t ticks = l->events[l->next].ticks;
    if (ticks > INT64_MAX / 2)
        return refuse(x, l, ticks, err);
    l->next_ticks = gn_presync_ticks(&l->map, ticks);
    return 1;
}

static int fail(const struct gn_extract *x, int code, struct gn_error *err)
{
    return gn_fail(err, code, "cannot keep what process %" PRIu32 " (%s) sent and received: %s", x->process,
                   gn_string(x->definitions, x->definitions->processes[x->process].name), strerror(-code));
}

static int run_alone(struct gn_extract *x, struct gn_error *err)
{
    struct gn_extract_location *l = &x->locations[0];
    int status;
    while ((status = look(x, l, err)) > 0) {
        int code = take(x, l);
        if (code != 0)
            return fail(x, code, err);
    }
    return status;
}

/* ---- several locations: a heap, the earliest first ---- */

/* What has gone back in time has waited for its place. */
static int64_t turn_of(const struct gn_extract_location *l)
{
    return l->any && l->ticks > l->next_ticks ? l->ticks : l->next_ticks;
}

static bool is_before(const struct gn_extract_location *a, const struct gn_extract_location *b)
{
    const int64_t left = turn_of(a), right = turn_of(b);
    return left != right ? left < right : a->index < b->index;
}

static void sift_down(struct gn_extract_location **heap, size_t count, size_t at)
{
    struct gn_extract_location *moved = heap[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_before(heap[child + 1], heap[child]))
            child++;
        if (!is_before(heap[child], moved))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

/* Only those that are not at their end stay in. Returns how many, or a negative errno value. */
static int64_t fill(struct gn_extract *x, struct gn_extract_location **heap, struct gn_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < x->location_count; i++) {
        int status = look(x, &x->locations[i], err);
        if (status < 0)
            return status;
        if (status > 0)
            heap[count++] = &x->locations[i];
    }
    for (size_t i = count / 2; i-- > 0;)
        sift_down(heap, count, i);
    return (int64_t)count;
}

static int run_merged(struct gn_extract *x, struct gn_extract_location **heap, struct gn_error *err)
{
    int64_t count = fill(x, heap, err);
    while (count > 0) {
        int code = take(x, heap[0]);
        if (code != 0)
            return fail(x, code, err);
        int status = look(x, heap[0], err);
        if (status < 0)
            return status;
        if (status == 0)
            heap[0] = heap[--count];
        if (count > 0)
            sift_down(heap, (size_t)count, 0);
    }
    return (int)count;
}

static int run_several(struct gn_extract *x, struct gn_error *err)
{
    struct gn_extract_location **heap = malloc(x->location_count * sizeof(struct gn_extract_location *));
    if (!heap)
        return fail(x, -ENOMEM, err);
    int code = run_merged(x, heap, err);
    free(heap);
    return code;
}

/* ---- processes ---- */

static int find_locations(struct gn_extract *x, struct gn_error *err)
{
    x->location_count = 0;
    for (uint32_t l = x->first_location[x->process]; l != GN_NONE; l = x->next_location[l]) {
        if (!gn_grow(&x->locations, &x->location_capacity, x->location_count, sizeof *x->locations))
            return fail(x, -ENOMEM, err);
        x->locations[x->location_count++] =
            (struct gn_extract_location){.index = l, .map = gn_presync_map(x->presync, l)};
    }
    return 0;
}

static int leave(struct gn_extract *x)
{
    const uint32_t main_location = x->definitions->processes[x->process].main_location;
    for (size_t i = 0; i < x->location_count; i++)
        if (x->locations[i].index == main_location && !gn_extract_op(x, &x->locations[i], GN_OP_LEFT))
            return gn_extract_failed();
    return 0;
}

int gn_extract_process(struct gn_extract *x, uint32_t process, struct gn_error *err)
{
    if (process >= x->definitions->process_count)
        return gn_fail(err, -EINVAL, "there is no process %" PRIu32, process);
    x->process = process;
    x->is_lost = false;
    memset(x->memo, 0, sizeof x->memo);
    int code = find_locations(x, err);
    if (code == 0 && x->location_count)
        code = x->location_count == 1 ? run_alone(x, err) : run_several(x, err);
    int failed = x->is_lost ? 0 : gn_numbering_end(x->numbering, process);
    int undone = gn_teams_end(x->teams, x->process);
    failed = failed ? failed : undone;
    x->stats.unfit = x->unfit + gn_numbering_contradictions(x->numbering) + gn_teams_contradictions(x->teams);
    if (code == 0 && failed == 0)
        failed = leave(x);
    return code ? code : failed ? fail(x, failed, err) : 0;
}

/* ---- the extraction ---- */

static bool list_locations(struct gn_extract *x)
{
    const struct gn_definitions *d = x->definitions;
    x->first_location = malloc((d->process_count + 1) * sizeof *x->first_location);
    x->next_location = malloc((d->location_count + 1) * sizeof *x->next_location);
    if (!x->first_location || !x->next_location)
        return false;
    memset(x->first_location, 0xff, (d->process_count + 1) * sizeof *x->first_location);
    for (size_t l = d->location_count; l-- > 0;) {
        if (d->locations[l].process >= d->process_count)
            continue;
        uint32_t *first = &x->first_location[d->locations[l].process];
        x->next_location[l] = *first;
        *first = (uint32_t)l;
    }
    return true;
}

int gn_extract_open(struct gn_extract **extract, struct gn_source *source, const struct gn_presync *presync,
                    struct gn_op_store *store, struct gn_error *err)
{
    struct gn_extract *x = calloc(1, sizeof *x);
    if (!x)
        return gn_fail(err, -ENOMEM, "no memory to match messages");
    x->source = source;
    x->definitions = source->definitions;
    x->presync = presync;
    x->store = store;
    if (!list_locations(x)) {
        gn_extract_close(x);
        return gn_fail(err, -ENOMEM, "no memory to match the messages of %zu locations",
                       source->definitions->location_count);
    }
    int code = gn_extract_numbers_open(x, err);
    if (code == 0)
        code = gn_extract_teams_open(x, err);
    if (code == 0)
        code = gn_extract_epochs_open(x, err);
    if (code != 0) {
        gn_extract_close(x);
        return code;
    }
    *extract = x;
    return 0;
}

const struct gn_extract_stats *gn_extract_stats(const struct gn_extract *extract)
{
    return &extract->stats;
}

void gn_extract_close(struct gn_extract *x)
{
    if (!x)
        return;
    gn_numbering_close(x->numbering);
    gn_teams_free(x->teams);
    gn_epochs_free(x->epochs);
    gn_extract_links_close(x);
    free(x->first_location);
    free(x->next_location);
    free(x->locations);
    free(x);
}
