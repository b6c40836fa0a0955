#include "live/trace_part.h"

#include "clock/counter.h"
#include "clock/ticks.h"
#include "live/drain.h"
#include "live/part_file.h"
#include "live/trace_paths.h"
#include "profile/profile.h"
#include "trace/writer.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

struct gn_trace_part {
    struct gn_trace_settings settings;
    char host[128];
    char path[4400];
    bool several_hosts;
    size_t known; /* definitions that were saved last */
    struct gn_moment began, began_realtime;
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

/* What remains to say what the events mean, when this process is killed. */
static void save_definitions(struct gn_trace_part *p)
{
    const struct gn_definitions *d = p->translate->definitions;
    size_t known = d->location_count + d->region_count + d->comm_count + d->window_count +
                   p->translate->node_count + gn_string_count(d);
    if (known == p->known)
        return;
    struct gn_part part = {p->translate, NULL, p->began_realtime, realtime_of(p)};
    set_clock(p);
    if (gn_part_save(&part, p->path, NULL) == 0)
        p->known = known;
}

static int flush(void *self, struct gn_error *err)
{
    struct gn_trace_part *p = self;
    save_definitions(p);
    return gn_trace_flush(p->writer, err);
}

/* ---- life ---- */

static void free_part(struct gn_trace_part *p)
{
    gn_drain_free(p->drain);
    gn_readers_free(p->readers);
    gn_translate_free(p->translate);
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
static int start(struct gn_trace_part *p, const char *machine, struct gn_error *err)
{
    p->translate = gn_translate_new(machine, p->host);
    if (p->translate)
        p->readers = gn_readers_new(&(struct gn_readers_program){p->translate->definitions, p, set_clock});
    if (!p->readers)
        return gn_fail(err, -ENOMEM, "no memory for a trace");
    int code = simulate(p, err);
    if (code == 0)
        code = gn_trace_create(&p->writer, p->path, err);
    if (code != 0)
        return code;
    struct gn_drain_output output = {p, write_event, flush, p->readers};
    code = gn_drain_start(&p->drain, p->translate, &output, err);
    if (code != 0)
        gn_trace_abandon(p->writer);
    return code;
}

int gn_trace_part_open(struct gn_trace_part **part, const char *folder, const char *host, bool several_hosts,
                       const struct gn_trace_settings *settings, struct gn_error *err)
{
    struct gn_trace_part *p = calloc(1, sizeof *p);
    struct utsname machine;
    if (!p)
        return gn_fail(err, -ENOMEM, "no memory for a trace");
    p->settings = *settings;
    snprintf(p->host, sizeof p->host, "%s", host);
    p->several_hosts = several_hosts;
    snprintf(p->path, sizeof p->path, several_hosts ? "%s/trace-%s" : "%s/trace", folder, host);
    p->began = gn_moment_now();
    p->began_realtime = gn_moment_of(CLOCK_REALTIME);
    int code = start(p, uname(&machine) == 0 ? machine.sysname : "machine", err);
    if (code != 0) {
        free_part(p);
        return code;
    }
    *part = p;
    return 0;
}

int gn_trace_part_add(struct gn_trace_part *p, struct gn_watched *watched)
{
    struct gn_rings rings;
    int file;
    int code = gn_rings_make(&rings, watched->segment->location_capacity, p->settings.ring_records,
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

void gn_trace_part_ended(struct gn_trace_part *p, int pid)
{
    gn_drain_ended(p->drain, pid);
}

int gn_trace_part_show(struct gn_trace_part *p, int descriptor)
{
    return gn_readers_add(p->readers, descriptor);
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
    snprintf(key, sizeof key, "trace/%s/%s", p->host, what);
    gn_profile_set(profile, key, value, NULL);
}

static void note_number(sqlite3 *profile, const struct gn_trace_part *p, const char *what, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    note(profile, p, what, text);
}

static void note_all(sqlite3 *profile, const struct gn_trace_part *p, const char *error)
{
    const struct gn_drain_stats *s = gn_drain_stats(p->drain);
    note(profile, p, "path", strrchr(p->path, '/') + 1);
    note_number(profile, p, "events", s->events);
    note_number(profile, p, "bytes", size_of(p->path, 1));
    note_number(profile, p, "dropped", s->dropped);
    note_number(profile, p, "unwritten", s->unwritten);
    note_number(profile, p, "garbled", s->garbled);
    note_number(profile, p, "lost_comms", s->lost_comms);
    if (s->error.text[0] || error[0])
        note(profile, p, "error", s->error.text[0] ? s->error.text : error);
}

/* The file is for those who join the hosts' archives. */
static void keep_part(const struct gn_trace_part *p, const struct gn_part *part, struct gn_error *err)
{
    char file[4500];
    snprintf(file, sizeof file, "%s/" GN_PART_FILE, p->path);
    if (p->several_hosts)
        gn_part_save(part, p->path, err);
    else
        unlink(file);
}

struct gn_readers *gn_trace_part_finish(struct gn_trace_part *p, sqlite3 *profile)
{
    if (!p)
        return NULL;
    struct gn_error err = {""};
    uint32_t *map = NULL;
    set_clock(p);
    define_silent(p->translate->definitions);
    if (gn_trace_paths(p->translate, profile, &map, &err) == 0) {
        struct gn_trace_local local = {.paths = {map, p->translate->node_count}};
        gn_trace_finish_mapped(p->writer, p->translate->definitions, &local, &err);
        struct gn_part part = {p->translate, map, p->began_realtime, realtime_of(p)};
        keep_part(p, &part, &err);
    } else {
        gn_trace_abandon(p->writer);
    }
    free(map);
    if (profile)
        note_all(profile, p, err.text);
    struct gn_readers *readers = p->readers;
    p->readers = NULL;
    free_part(p);
    return readers;
}
