#include "agent/trace_part.h"

#include "clock/counter.h"
#include "clock/ticks.h"
#include "agent/drain.h"
#include "agent/folder.h"
#include "agent/part_file.h"
#include "agent/trace_paths.h"
#include "profile/profile.h"
#include "profile/kept_windows.h"
#include "trace/event_file.h"
#include "trace/writer.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { MOST_LOCATIONS = 1 << 16, SAVE_MS = 20, SAVE_SHARE = 20 };

/* A point is written into the place that does not count, and then counts: one that is killed leaves either.
 */
struct trace_state {
    struct gn_moment began, began_realtime;
    struct trace_reached {
        uint32_t which;
        struct gn_drain_point point[2];
    } locations[MOST_LOCATIONS]; /* as they are defined */
};

struct gn_trace_part {
    struct gn_trace_settings settings;
    char host[128];
    const char *name; /* "trace" */
    char path[4400];
    bool several_hosts;
    struct gn_exchanges *exchanges; /* NULL: there is one host, or they do not meet */
    size_t known;                   /* definitions that were saved last */
    size_t reserved_for;            /* definitions */
    uint64_t next_save_ns;          /* when more of them may be saved */
    int state_file;
    struct trace_state *state; /* shared with the agent that follows when this one is killed */
    bool *claimed;             /* going on: locations that a process has */
    struct gn_error trouble;   /* likewise: why not all goes on; empty: it does */
    struct gn_moment began, began_realtime;
    pthread_mutex_t lock; /* of what follows */
    char *shown;          /* windows, as they stand in profiles */
    struct gn_translate *translate;
    struct gn_trace_writer *writer;
    struct gn_drain *drain;
    struct gn_readers *readers;
};

static struct gn_moment realtime_of(const struct gn_trace_part *p)
{
    struct gn_moment moment = gn_moment_of(CLOCK_REALTIME);
    moment.ticks = gn_simulated_reading(&p->translate->clock, moment.ticks);
    return moment;
}

/* ---- the archive, as the drain's output ---- */

static int write_event(void *self, const struct gn_event *event, struct gn_error *err)
{
    struct gn_trace_part *p = self;
    return gn_trace_write(p->writer, p->translate->definitions->locations[event->location].file_id, event,
                          err);
}

static void set_clock(void *self)
{
    struct gn_trace_part *p = self;
    struct gn_definitions *d = p->translate->definitions;
    struct gn_moment now = gn_moment_now();
    uint64_t ticks = now.ticks - p->began.ticks, ns = now.ns - p->began.ns;
    double per_second = ns > 0 ? (double)ticks * 1e9 / (double)ns : 1e9;
    bool any = p->translate->first_ticks <= p->translate->last_ticks;
    d->ticks_per_second = (uint64_t)(per_second + 0.5);
    d->first_ticks = any ? p->translate->first_ticks : p->began.ticks;
    d->length_ticks = any ? p->translate->last_ticks - d->first_ticks : 0;
    double since_ns = ((double)d->first_ticks - (double)p->began_realtime.ticks) * 1e9 / per_second;
    d->realtime_ns = (uint64_t)((int64_t)p->began_realtime.ns + (int64_t)since_ns);
}

static size_t known_now(const struct gn_trace_part *p)
{
    const struct gn_definitions *d = p->translate->definitions;
    return d->location_count + d->region_count + d->comm_count + d->window_count + p->translate->node_count +
           gn_string_count(d);
}

/* What remains to say what the events mean, when this process is killed. */
static void save_definitions(struct gn_trace_part *p)
{
    const size_t known = known_now(p);
    if (known == p->known)
        return;
    const uint64_t begin_ns = gn_monotonic_ns();
    struct gn_agent_part part = {p->translate, NULL, p->began_realtime, realtime_of(p)};
    set_clock(p);
    if (gn_part_save(&part, p->path, NULL) == 0)
        p->known = known;
    const uint64_t end_ns = gn_monotonic_ns();
    p->next_save_ns = end_ns + SAVE_MS * 1000000ull + (end_ns - begin_ns) * SAVE_SHARE;
}

/* Room for the definitions, even if the disk fills up: text, and a file for each location. */
static void reserve_path(const struct gn_trace_part *p, char *path, size_t size)
{
    snprintf(path, size, "%s/reserve", p->path);
}

static void reserve(const struct gn_trace_part *p)
{
    enum { AT_LEAST = 128 * 1024, EACH_LOCATION = 8 * 1024, EACH_DEFINITION = 256 };
    char path[4500];
    reserve_path(p, path, sizeof path);
    gn_folder_reserve(path, AT_LEAST + EACH_LOCATION * (uint64_t)p->translate->definitions->location_count +
                                EACH_DEFINITION * (uint64_t)known_now(p));
}

/* Only as far as what the events refer to is saved. */
static void reached(void *self, uint32_t location, const struct gn_drain_point *point)
{
    struct gn_trace_part *p = self;
    if (known_now(p) != p->known && gn_monotonic_ns() >= p->next_save_ns)
        save_definitions(p);
    if (known_now(p) != p->known || location >= MOST_LOCATIONS)
        return;
    struct trace_reached *at = &p->state->locations[location];
    const uint32_t other = !at->which;
    at->point[other] = *point;
    atomic_signal_fence(memory_order_release); /* a killed process's stores are all seen */
    at->which = other;
}

static int flush(void *self, struct gn_error *err)
{
    struct gn_trace_part *p = self;
    save_definitions(p);
    if (known_now(p) > 2 * p->reserved_for) {
        p->reserved_for = known_now(p);
        reserve(p);
    }
    return gn_trace_flush(p->writer, err);
}

/* ---- life ---- */

static void free_part(struct gn_trace_part *p)
{
    gn_drain_free(p->drain);
    gn_readers_free(p->readers);
    gn_translate_free(p->translate);
    if (p->state)
        munmap(p->state, sizeof *p->state);
    if (p->state_file >= 0)
        close(p->state_file);
    free(p->claimed);
    free(p->shown);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* Events, and the moments that they are compared with, by the clock that tests have made up for this host. */
static int simulate(struct gn_trace_part *p, struct gn_error *err)
{
    struct gn_counter counter = {.hz = p->settings.hz};
    const char *spec = getenv("GNOMON_TEST_CLOCK");
    if (!spec)
        return 0;
    if (counter.hz <= 0)
        gn_counter_measure(&counter);
    int code = gn_simulated_parse(&p->translate->clock, spec, counter.hz, err);
    p->began_realtime = realtime_of(p);
    return code;
}

/* From rings to the archive and to readers. */
static int prepare(struct gn_trace_part *p, const char *machine, struct gn_error *err)
{
    const bool again = p->translate;
    if (!again)
        p->translate = gn_translate_new(machine, p->host);
    const bool is_shown = p->settings.windows_rate <= 0; /* windows are no stream */
    if (p->translate && is_shown)
        p->readers = gn_readers_new(&(struct gn_readers_program){p->translate->definitions, p, set_clock});
    if (!p->translate || (is_shown && !p->readers))
        return gn_fail(err, -ENOMEM, "no memory for a trace");
    int code = simulate(p, err);
    if (code == 0)
        code = (again ? gn_trace_create_again : gn_trace_create)(&p->writer, p->path, err);
    return code;
}

static uint64_t moment(void *self, uint64_t *common)
{
    const struct gn_trace_part *p = self;
    const uint64_t now_ns = gn_exchanges_moment(p->exchanges);
    *common = gn_exchanges_common(p->exchanges); /* known when that is */
    return now_ns;
}

/* NULL: no memory. */
static char *windows_text(const struct gn_trace_part *p, const struct gn_kept_window *windows, size_t count)
{
    struct gn_kept_window *shown = calloc(count + 1, sizeof *shown);
    for (size_t i = 0; shown && i < count; i++)
        shown[i] = (struct gn_kept_window){gn_simulated_reading(&p->translate->clock, windows[i].begin_ticks),
                                           gn_simulated_reading(&p->translate->clock, windows[i].end_ticks)};
    char *text = shown ? gn_kept_windows_to_text(shown, count) : NULL;
    free(shown);
    return text;
}

/* What the events refer to, and when the trace ends for now, is in their file. */
static void show(void *self, const struct gn_kept_window *windows, size_t count)
{
    struct gn_trace_part *p = self;
    const size_t known = p->known;
    p->known = 0;
    save_definitions(p);
    char *text = p->known > 0 ? windows_text(p, windows, count) : NULL;
    p->known = p->known > 0 ? p->known : known; /* what was saved before is there */
    if (!text)
        return;
    pthread_mutex_lock(&p->lock);
    free(p->shown);
    p->shown = text;
    pthread_mutex_unlock(&p->lock);
}

static int begin_drain(struct gn_trace_part *p, struct gn_error *err)
{
    struct gn_drain_output output = {.self = p,
                                     .write = write_event,
                                     .flush = flush,
                                     .reached = reached,
                                     .windows_rate = p->settings.windows_rate,
                                     .moment = p->exchanges ? moment : NULL,
                                     .show = show,
                                     .readers = p->readers};
    int code = gn_drain_start(&p->drain, p->translate, &output, err);
    if (code != 0)
        gn_trace_abandon(p->writer);
    return code;
}

static struct gn_trace_part *new_part(const struct gn_trace_place *place,
                                      const struct gn_trace_settings *settings)
{
    struct gn_trace_part *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->state_file = -1;
    pthread_mutex_init(&p->lock, NULL);
    p->settings = *settings;
    snprintf(p->host, sizeof p->host, "%s", place->host);
    p->several_hosts = place->several_hosts;
    p->exchanges = place->exchanges;
    p->name = settings->windows_rate > 0 ? GN_WINDOWS_NAME : GN_TRACE_NAME;
    snprintf(p->path, sizeof p->path, p->several_hosts ? "%s/%s-%s" : "%s/%s", place->folder, p->name,
             p->host);
    return p;
}

static int map_state(struct gn_trace_part *p, int file)
{
    struct stat info;
    p->state_file = file;
    if (file < 0 || fstat(file, &info) != 0)
        return -errno;
    if ((size_t)info.st_size != sizeof *p->state)
        return -EPROTO;
    void *memory = mmap(NULL, sizeof *p->state, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        return -errno;
    p->state = memory;
    return 0;
}

static int make_state(struct gn_trace_part *p)
{
    int file = memfd_create("gnomon-trace", MFD_CLOEXEC);
    if (file >= 0 && ftruncate(file, sizeof *p->state) != 0) {
        close(file);
        file = -1;
    }
    int code = map_state(p, file);
    if (code != 0)
        return code;
    p->state->began = p->began = gn_moment_now();
    p->began_realtime = gn_moment_of(CLOCK_REALTIME);
    return 0;
}

int gn_trace_part_open(struct gn_trace_part **part, const struct gn_trace_place *place,
                       const struct gn_trace_settings *settings, struct gn_error *err)
{
    struct gn_trace_part *p = new_part(place, settings);
    struct utsname machine;
    if (!p)
        return gn_fail(err, -ENOMEM, "no memory for a trace");
    int code = make_state(p);
    code = code != 0 ? gn_fail(err, code, "no memory for a trace: %s", strerror(-code))
                     : prepare(p, uname(&machine) == 0 ? machine.sysname : "machine", err);
    if (code == 0)
        code = begin_drain(p, err);
    if (code != 0) {
        free_part(p);
        return code;
    }
    reserve(p);
    p->state->began_realtime = p->began_realtime; /* on the clock of the events */
    *part = p;
    return 0;
}

int gn_trace_part_state(const struct gn_trace_part *p)
{
    return p->state_file;
}

/* ---- after another agent ---- */

/* One that has its paths was finished, and waits for those of other hosts. */
static int load(struct gn_trace_part *p, struct gn_error *err)
{
    struct gn_agent_part part;
    int code = gn_part_load(&part, p->path, err);
    if (code != 0)
        return code;
    if (part.paths) {
        gn_part_clear(&part);
        return gn_fail(err, -ENOENT, "%s was finished", p->path);
    }
    p->translate = part.translate;
    p->claimed = calloc(MOST_LOCATIONS, sizeof *p->claimed);
    return p->claimed && gn_translate_go_on(p->translate) ? 0
                                                          : gn_fail(err, -ENOMEM, "no memory for a trace");
}

static bool has_definitions(const struct gn_trace_part *p)
{
    char part[4500];
    snprintf(part, sizeof part, "%s/" GN_PART_FILE, p->path);
    return access(part, F_OK) == 0;
}

/* Before the first definitions were saved nothing has been reached: the archive begins again. */
static void remove_events(const struct gn_trace_part *p)
{
    char path[4500];
    snprintf(path, sizeof path, "%s/" GN_ARCHIVE_NAME, p->path);
    DIR *events = opendir(path);
    for (struct dirent *entry; events && (entry = readdir(events));)
        unlinkat(dirfd(events), entry->d_name, 0); /* not . and .., which are no files */
    if (events)
        closedir(events);
}

/* Where a location of a process had got to; nothing where it had not begun. */
static int go_on_in(struct gn_trace_part *p, const struct gn_watched *w, uint32_t location,
                    struct gn_drain_point *point, struct gn_error *err)
{
    const struct gn_definitions *d = p->translate->definitions;
    const int rank = w->segment->rank >= 0 ? w->segment->rank : w->rank;
    const uint32_t index = gn_translate_location(p->translate, rank, w->pid, location);
    if (!p->claimed || index >= MOST_LOCATIONS || p->claimed[index])
        return 0;
    p->claimed[index] = true;
    const struct trace_reached *at = &p->state->locations[index];
    *point = at->point[at->which & 1];
    d->locations[index].events = point->events;
    return gn_trace_go_on(p->writer, index, d->locations[index].file_id, point->written, err);
}

/* Ahead of the drain's thread, which is the one that writes. */
static int find_points(struct gn_trace_part *p, const struct gn_watched *w, struct gn_drain_point **points,
                       struct gn_error *err)
{
    const uint32_t count = gn_tag_locations(w->segment_bytes); /* what it says itself may change */
    *points = calloc(count, sizeof **points);
    int code = *points ? 0 : gn_fail(err, -ENOMEM, "no memory for a trace");
    for (uint32_t i = 0; i < count && code == 0; i++)
        code = go_on_in(p, w, i, &(*points)[i], err);
    return code;
}

static bool has_rings(const struct gn_watched *w)
{
    return w->traced && w->recorded && w->segment;
}

static int add_again(struct gn_trace_part *p, const struct gn_watched *w, const struct gn_drain_point *points)
{
    int code = gn_drain_go_on(p->drain, &w->rings, w->segment, w->segment_bytes, w->rank, w->pid, points,
                              gn_tag_locations(w->segment_bytes));
    if (code == 0 && w->handle < 0)
        gn_drain_ended(p->drain, w->pid);
    return code;
}

static int go_on(struct gn_trace_part *p, const struct gn_watched_list *list, struct gn_error *err)
{
    struct gn_drain_point **points = calloc(list->count + 1, sizeof *points);
    int code = points ? 0 : gn_fail(err, -ENOMEM, "no memory for a trace");
    for (size_t i = 0; i < list->count && code == 0; i++)
        if (has_rings(&list->items[i]))
            code = find_points(p, &list->items[i], &points[i], err);
    if (code == 0)
        code = begin_drain(p, err);
    else
        gn_trace_abandon(p->writer);
    for (size_t i = 0; i < list->count; i++) {
        if (code == 0 && has_rings(&list->items[i]) && add_again(p, &list->items[i], points[i]) != 0)
            gn_fail(&p->trouble, 0, "no memory to go on with the events of rank %d", list->items[i].rank);
        if (points)
            free(points[i]);
    }
    free(points);
    return code;
}

int gn_trace_part_go_on(struct gn_trace_part **part, int state, const struct gn_trace_place *place,
                        const struct gn_trace_settings *settings, const struct gn_watched_list *list,
                        struct gn_error *err)
{
    struct gn_trace_part *p = new_part(place, settings);
    if (!p)
        return gn_fail(err, -ENOMEM, "no memory for a trace");
    int code = map_state(p, state);
    if (code != 0)
        gn_fail(err, code, "no memory for a trace: %s", strerror(-code));
    if (code == 0 && has_definitions(p))
        code = load(p, err);
    else
        remove_events(p);
    if (code == 0)
        code = prepare(p, "machine", err);
    if (code == 0)
        code = go_on(p, list, err);
    if (code != 0) {
        free_part(p);
        return code;
    }
    p->began = p->state->began;
    p->began_realtime = p->state->began_realtime;
    *part = p;
    return 0;
}

/* ---- processes ---- */

int gn_trace_part_add(struct gn_trace_part *p, struct gn_watched *watched)
{
    struct gn_rings rings;
    int file;
    int code = gn_rings_make(&rings, gn_tag_locations(watched->segment_bytes), p->settings.ring_records,
                             p->settings.block, &file);
    if (code != 0)
        return code;
    code =
        gn_drain_add(p->drain, &rings, watched->segment, watched->segment_bytes, watched->rank, watched->pid);
    if (code == 0) {
        watched->recorded = true;
        watched->rings = rings;
        return file;
    }
    close(file);
    gn_rings_close(&rings);
    return code;
}

void gn_trace_part_set_rate(struct gn_trace_part *p, double rate)
{
    gn_drain_set_rate(p->drain, rate);
}

void gn_trace_part_ended(struct gn_trace_part *p, int pid)
{
    gn_drain_ended(p->drain, pid);
}

int gn_trace_part_show(struct gn_trace_part *p, int descriptor)
{
    return p->readers ? gn_readers_add(p->readers, descriptor) : -ENOTSUP;
}

void gn_trace_part_stop(struct gn_trace_part *p)
{
    if (p)
        gn_drain_stop(p->drain);
}

/* ---- the end ---- */

/* Ranks that nothing was received from are members of communicators all the same: they have an empty
 * location. */
static void define_silent(struct gn_definitions *d)
{
    for (uint32_t i = 0; i < d->process_count; i++)
        if (d->processes[i].main_location == GN_NONE)
            gn_define_location(d, &(struct gn_location_def){.name = gn_define_string(d, "Master thread"),
                                                            .process = i,
                                                            .file_id = i});
}

/* Bytes of all files in a folder and one level below. */
static uint64_t size_of(const char *path, int levels)
{
    uint64_t bytes = 0;
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char name[4700];
        struct stat info;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] == '.' || lstat(name, &info) != 0)
            continue;
        if (S_ISDIR(info.st_mode) && levels > 0)
            bytes += size_of(name, levels - 1);
        else if (S_ISREG(info.st_mode))
            bytes += (uint64_t)info.st_size;
    }
    if (folder)
        closedir(folder);
    return bytes;
}

static void note(sqlite3 *profile, const struct gn_trace_part *p, const char *what, const char *value)
{
    char key[256];
    snprintf(key, sizeof key, "%s/%s/%s", p->name, p->host, what);
    gn_profile_set(profile, key, value, NULL);
}

static void note_number(sqlite3 *profile, const struct gn_trace_part *p, const char *what, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    note(profile, p, what, text);
}

static bool is_archive(const char *path)
{
    char anchor[4600];
    snprintf(anchor, sizeof anchor, "%s/" GN_ARCHIVE_NAME ".otf2", path);
    return access(anchor, F_OK) == 0;
}

static bool is_gone(const struct gn_trace_part *p)
{
    return access(p->path, F_OK) != 0;
}

/* There are events, and no archive of them. */
static bool is_unfinished(const struct gn_trace_part *p, const char *error)
{
    return error[0] && !is_gone(p) && !is_archive(p->path) && gn_drain_stats(p->drain)->events > 0;
}

static void note_windows(sqlite3 *profile, const struct gn_trace_part *p)
{
    const struct gn_windows *w = gn_drain_windows(p->drain);
    if (!w)
        return;
    char *text = windows_text(p, w->spans, w->count);
    if (text)
        note(profile, p, "spans", text);
    note_number(profile, p, "whole", gn_windows_are_whole(w) && !p->claimed);
    free(text);
}

/* Some of the run is still to come: they are not all of it. */
void gn_trace_part_show_windows(struct gn_trace_part *p, sqlite3 *profile)
{
    if (!p || is_gone(p))
        return;
    gn_drain_show(p->drain); /* where it takes too long: what was there before */
    pthread_mutex_lock(&p->lock);
    if (p->shown) {
        note(profile, p, "path", strrchr(p->path, '/') + 1);
        note(profile, p, "spans", p->shown);
        note_number(profile, p, "whole", 0);
    }
    pthread_mutex_unlock(&p->lock);
}

/* A place is told where there is something that can be read. */
static void note_all(sqlite3 *profile, const struct gn_trace_part *p, const char *error)
{
    const struct gn_drain_stats *s = gn_drain_stats(p->drain);
    const bool gone = is_gone(p), unfinished = is_unfinished(p, error);
    if (is_archive(p->path))
        note(profile, p, "path", strrchr(p->path, '/') + 1);
    note_windows(profile, p);
    note_number(profile, p, "events", gone ? 0 : s->events);
    note_number(profile, p, "bytes", size_of(p->path, 1));
    note_number(profile, p, "dropped", s->dropped);
    note_number(profile, p, "unwritten", gone ? s->events + s->unwritten : s->unwritten);
    note_number(profile, p, "garbled", s->garbled);
    note_number(profile, p, "lost_comms", s->lost_comms);
    const char *stopped = s->error.text[0] ? s->error.text : p->trouble.text;
    if (error[0] || stopped[0])
        note(profile, p, "error", gone || unfinished || !stopped[0] ? error : stopped);
    if (unfinished && stopped[0])
        note(profile, p, "stopped", stopped);
}

/* For those who join the hosts' archives. Of one host it stays until the profile is saved: an agent that goes
 * on after this one needs it. */
static void keep_part(const struct gn_trace_part *p, const struct gn_agent_part *part, struct gn_error *err)
{
    if (p->several_hosts)
        gn_part_save(part, p->path, err);
}

void gn_trace_part_saved(const char *folder)
{
    static const char *const names[] = {GN_TRACE_NAME, GN_WINDOWS_NAME};
    char file[4500];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(file, sizeof file, "%.4200s/%s", folder, names[i]);
        if (!is_archive(file)) /* then it is what an archive can still be made of */
            continue;
        snprintf(file, sizeof file, "%.4200s/%s/" GN_PART_FILE, folder, names[i]);
        unlink(file);
    }
}

/* Of a trace that nothing could be written of. */
static void remove_nothing(const struct gn_trace_part *p)
{
    char path[4500];
    if (is_archive(p->path) || gn_drain_stats(p->drain)->events > 0)
        return;
    remove_events(p);
    snprintf(path, sizeof path, "%s/" GN_ARCHIVE_NAME, p->path);
    rmdir(path);
    snprintf(path, sizeof path, "%s/" GN_PART_FILE, p->path);
    unlink(path);
    rmdir(p->path);
}

/* What can be done where there is no archive. */
static void add_advice(const struct gn_trace_part *p, struct gn_error *err)
{
    const struct gn_error why = *err;
    if (is_unfinished(p, why.text))
        gn_fail(err, 0,
                "%.500s; `gnomon merge` with the run's folder makes an archive of the events once there is "
                "room",
                why.text);
}

struct gn_readers *gn_trace_part_finish(struct gn_trace_part *p, sqlite3 *profile)
{
    if (!p)
        return NULL;
    struct gn_error err = {""};
    char reserve[4500];
    uint32_t *map = NULL;
    set_clock(p);
    define_silent(p->translate->definitions);
    save_definitions(p); /* the least that is needed, if there is no room for the rest */
    int code = is_gone(p) ? gn_fail(&err, -ENOENT, "the folder that it was written into was removed")
                          : gn_trace_paths(p->translate, profile, &map, &err);
    reserve_path(p, reserve, sizeof reserve);
    unlink(reserve); /* at once before it is needed: others wait for room, too */
    if (code == 0) {
        struct gn_trace_local local = {.paths = {map, p->translate->node_count}};
        gn_trace_finish_mapped(p->writer, p->translate->definitions, &local, &err);
        struct gn_agent_part part = {p->translate, map, p->began_realtime, realtime_of(p)};
        keep_part(p, &part, &err);
    } else {
        gn_trace_abandon(p->writer);
    }
    free(map);
    add_advice(p, &err);
    if (profile)
        note_all(profile, p, err.text);
    remove_nothing(p);
    struct gn_readers *readers = p->readers;
    p->readers = NULL;
    free_part(p);
    return readers;
}
