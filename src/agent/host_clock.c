#include "agent/host_clock.h"

#include "answer/quantities.h"
#include "clock/counter.h"
#include "exchange/simulated.h"
#include "clock/ticks.h"
#include "profile/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

enum { PATIENCE_MS = 2000, BEGIN_PATIENCE_MS = 20, CORES_PATIENCE_MS = 50, MAX_HOSTS = 1 << 20 };

_Static_assert((int)GN_SHEET_KEY_BYTES == (int)GN_KEY_BYTES, "the sheet has room for the key");

void gn_host_clock_open(struct gn_host_clock *c, const struct gn_exchange_settings *settings)
{
    if (c->exchanges || c->problem.text[0])
        return;
    if (gn_exchanges_open(&c->exchanges, c->host, settings, &c->problem) != 0)
        c->exchanges = NULL;
    else /* until they have */
        gn_fail(&c->problem, 0, "none of its ranks went through MPI_Init with gnomon");
}

/* ---- the meeting ---- */

static int fill_sheet(struct gn_host_clock *c, int world, int local, int first_rank)
{
    struct gn_sheet *sheet = c->sheet;
    *sheet = (struct gn_sheet){.magic = GN_SHEET_MAGIC,
                               .entry_bytes = sizeof(struct gn_endpoint),
                               .world = world,
                               .local = local,
                               .first_rank = first_rank};
    snprintf(sheet->host, sizeof sheet->host, "%s", c->host);
    memcpy(sheet + 1, gn_exchanges_endpoint(c->exchanges), sizeof(struct gn_endpoint));
    return getrandom(sheet->key, sizeof sheet->key, 0) == (ssize_t)sizeof sheet->key ? 0 : -EIO;
}

int gn_host_clock_sheet(struct gn_host_clock *c, int world, int local, int first_rank)
{
    if (!c->exchanges || world < 2 || world > MAX_HOSTS || first_rank < 0)
        return -ENOTSUP;
    if (c->asked)
        return -EALREADY;
    c->asked = true;
    /* sparse: there are fewer hosts than ranks */
    size_t bytes = sizeof *c->sheet + ((size_t)world + 1) * sizeof(struct gn_endpoint);
    int file = memfd_create("gnomon-sheet", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0)
        return -errno;
    void *memory = MAP_FAILED;
    /* sealed: nobody can cut the file short under our mapping */
    if (ftruncate(file, (off_t)bytes) == 0 &&
        fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) {
        int code = -errno;
        close(file);
        return code;
    }
    c->sheet = memory;
    c->sheet_bytes = bytes;
    int code = fill_sheet(c, world, local, first_rank);
    gn_fail(&c->problem, 0, "its envoy did not come back from the meeting");
    if (code == 0)
        return file;
    close(file);
    return code;
}

/* The sheet is the envoy's memory, too: every value is read once and checked. */
static int take_table(struct gn_host_clock *c, uint32_t count, uint8_t key[GN_KEY_BYTES])
{
    uint32_t own = __atomic_load_n(&c->sheet->own, __ATOMIC_RELAXED);
    size_t room = (c->sheet_bytes - sizeof *c->sheet) / sizeof(struct gn_endpoint) - 1;
    if (count > room || own >= count)
        return gn_fail(&c->problem, -EPROTO, "its envoy came back with a table that makes no sense");
    c->hosts = calloc(count, sizeof *c->hosts);
    if (!c->hosts)
        return gn_fail(&c->problem, -ENOMEM, "no memory for the addresses of %u hosts", count);
    memcpy(c->hosts, (const struct gn_endpoint *)(const void *)(c->sheet + 1) + 1, count * sizeof *c->hosts);
    memcpy(key, c->sheet->key, GN_KEY_BYTES);
    c->count = count;
    c->own = own;
    c->hosts[own] = *gn_exchanges_endpoint(c->exchanges);
    for (uint32_t i = 0; i < count; i++)
        c->hosts[i].host[sizeof c->hosts[i].host - 1] = '\0';
    return 0;
}

static void begin(struct gn_host_clock *c, uint32_t count)
{
    uint8_t key[GN_KEY_BYTES];
    if (take_table(c, count, key) != 0)
        return;
    if (gn_exchanges_begin(c->exchanges, key, c->hosts, c->count, c->own, &c->problem) == 0) {
        c->began = true;
        c->problem.text[0] = '\0';
    }
    explicit_bzero(key, sizeof key);
    explicit_bzero(c->sheet->key, sizeof c->sheet->key);
}

void gn_host_clock_met(struct gn_host_clock *c, int hosts, const char *why_not)
{
    if (!c->sheet)
        return;
    if (hosts >= 2)
        begin(c, (uint32_t)hosts);
    else
        gn_fail(&c->problem, 0, "%s", why_not[0] ? why_not : "its envoy met nobody");
    munmap(c->sheet, c->sheet_bytes);
    c->sheet = NULL;
}

/* ---- the end ---- */

void gn_host_clock_end(struct gn_host_clock *c)
{
    if (c->began)
        gn_exchanges_end(c->exchanges, PATIENCE_MS);
}

/* On all cores that there are: the launcher may have bound us to those of the rank that started us. Tests of
 * what is found have the time to find it, whatever else runs on the cores. */
static int find_groups(struct gn_core_groups *groups, double hz, unsigned patience_ms)
{
    const char *patient_ms = getenv("GNOMON_TEST_PATIENCE");
    if (patient_ms)
        patience_ms = (unsigned)atoi(patient_ms);
    cpu_set_t before, all;
    bool bound = sched_getaffinity(0, sizeof before, &before) == 0;
    memset(&all, 0xff, sizeof all);
    sched_setaffinity(0, sizeof all, &all);
    int code = gn_core_groups_find(groups, hz, patience_ms, NULL);
    if (bound)
        sched_setaffinity(0, sizeof before, &before);
    return code;
}

/* ---- several counters ---- */

void gn_host_clock_begin(struct gn_host_clock *c)
{
    if (!gn_ticks_why_not() && find_groups(&c->groups, 1e9, BEGIN_PATIENCE_MS) == 0 &&
        c->groups.group_count > 1)
        gn_core_groups_bind(&c->groups, 0);
}

static bool several(const struct gn_host_clock *c)
{
    return c->groups.group_count > 1;
}

void gn_host_clock_watch(const struct gn_host_clock *c, int pid, int *group)
{
    int its = several(c) ? gn_core_groups_of_process(&c->groups, pid) : GN_CORE_NOT_OURS;
    if (its != GN_CORE_NOT_OURS)
        *group = *group == GN_CORE_NOT_OURS || *group == its ? its : GN_CORE_UNTRIED;
}

uint64_t gn_host_clock_now(const struct gn_host_clock *c, int group)
{
    if (group <= 0 || gn_core_groups_bind(&c->groups, group) != 0)
        return gn_ticks();
    uint64_t ticks = gn_ticks();
    gn_core_groups_bind(&c->groups, 0);
    return ticks;
}

/* A setting that makes no sense has been told, when the exchanges were opened. */
static struct gn_simulated_clock simulated_at(double hz)
{
    struct gn_simulated_clock simulated;
    gn_simulated_parse(&simulated, getenv("GNOMON_TEST_CLOCK"), hz, NULL); /* the identity then */
    return simulated;
}

uint64_t gn_host_clock_shown(const struct gn_host_clock *c, uint64_t ticks)
{
    struct gn_counter counter = {.hz = c->exchanges ? gn_exchanges_endpoint(c->exchanges)->hz : 0};
    if (!getenv("GNOMON_TEST_CLOCK"))
        return ticks;
    if (counter.hz <= 0)
        gn_counter_measure(&counter);
    const struct gn_simulated_clock simulated = simulated_at(counter.hz);
    return gn_simulated_reading(&simulated, ticks);
}

const char *gn_host_clock_domain(const struct gn_host_clock *c, int group, char name[GN_DOMAIN_BYTES])
{
    if (c->mixed || (several(c) && group < 0))
        return NULL;
    snprintf(name, GN_DOMAIN_BYTES, several(c) && group > 0 ? "%s/%d" : "%s", c->host, group + 1);
    return name;
}

/* ---- saving ---- */

/* What is written: at the end, or in the middle of the run. */
struct saving {
    struct gn_host_clock *c;
    sqlite3 *db;
    struct gn_error *err;
    bool end;
    struct gn_simulated_clock simulated; /* the readings as they stand in exchanges and traces */
    struct gn_core_groups last;          /* at the end */
    struct gn_clock_row row;             /* of the first counter */
    char problem[512];
};

static uint64_t shown(const struct saving *s, uint64_t ticks)
{
    return s->simulated.active ? gn_simulated_reading(&s->simulated, ticks) : ticks;
}

static int count_cores(const struct gn_core_groups *groups, int group)
{
    int count = 0;
    for (int core = 0; core < groups->cores; core++)
        count += groups->group[core] == group;
    return count;
}

static void describe_cores(struct gn_clock_row *row, const struct gn_core_groups *groups, int group)
{
    row->cores = (unsigned)count_cores(groups, group);
    row->shared = row->cores > 1;
    row->untried = group == 0 ? (unsigned)groups->untried : 0;
    row->shared_width_ns = groups->width_ns * 1e9 / row->def.hz;
}

/* Whoever looked at the counter was bound to a core of one only when several were found at the begin. Now it
 * is too late to know what was read. */
static void verify_cores(struct saving *s)
{
    struct gn_host_clock *c = s->c;
    char apart[GN_QUANTITY_TEXT];
    if (find_groups(&s->last, 1e9, CORES_PATIENCE_MS) != 0)
        return;
    c->mixed = several(c) ? !gn_core_groups_agree(&c->groups, &s->last) : s->last.group_count > 1;
    if (c->mixed)
        snprintf(s->problem, sizeof s->problem,
                 "its cores do not share the counter, they are at least %s apart: its times cannot be "
                 "compared; GNOMON_COUNTER=monotonic_raw reads the kernel's clock instead",
                 gn_ticks_text((several(c) ? c->groups : s->last).offset_ns, s->row.def.hz, apart));
}

/* What the exchanges say of themselves. */
static void compared(struct saving *s, const struct gn_exchange_report *report)
{
    const struct gn_host_clock *c = s->c;
    struct gn_clock_row *row = &s->row;
    if (c->problem.text[0])
        row->problem = c->problem.text;
    if (c->began) {
        if (c->own > 0 && report->parent < c->count)
            row->parent = c->hosts[report->parent].host;
        row->asked = report->asked;
        row->answered = report->answered;
        row->narrowed = report->narrowed;
        row->refused = report->refused;
        if (report->problem)
            row->problem = report->problem;
    }
    if (gn_ticks_problem() && !s->problem[0] && !row->problem)
        snprintf(s->problem, sizeof s->problem, "%s; the setting is ignored", gn_ticks_problem());
    if (s->problem[0])
        row->problem = s->problem;
    row->mixed = c->mixed;
}

/* Throws between the first counter and another, at one end of the run. */
static int add_throws(const struct saving *s, struct gn_clocks *clocks, const struct gn_core_group *group)
{
    int there = gn_clocks_message(clocks, 1, shown(s, group->to_first.sent_ticks), 0,
                                  shown(s, group->to_first.received_ticks));
    int back = gn_clocks_message(clocks, 0, shown(s, group->from_first.sent_ticks), 1,
                                 shown(s, group->from_first.received_ticks));
    return there != 0 ? there : back;
}

/* The same group at the end; NULL: it was not tried again, or against another group than the first. */
static const struct gn_core_group *at_the_end(const struct saving *s, int group)
{
    const struct gn_core_groups *begin = &s->c->groups, *end = &s->last;
    if (end->group_count == 0 || end->groups[0].first >= begin->cores ||
        begin->group[end->groups[0].first] != 0)
        return NULL;
    for (int i = 1; i < end->group_count; i++)
        if (end->groups[i].first < begin->cores && begin->group[end->groups[i].first] == group)
            return &end->groups[i];
    return NULL;
}

/* Its counter's readings when the agent began, and now: not earlier than that, when it was not tried. */
static void find_ends(const struct saving *s, struct gn_clock_row *row, const struct gn_core_group *begin,
                      const struct gn_core_group *end)
{
    uint64_t run_ticks = s->row.last_ticks - s->row.epoch_ticks;
    row->epoch_ticks = shown(s, begin->to_first.sent_ticks);
    row->last_ticks =
        end ? shown(s, end->from_first.received_ticks) : row->epoch_ticks + run_ticks + run_ticks / 1000;
}

static int save_counter(const struct saving *s, int group)
{
    const struct gn_core_groups *groups = &s->c->groups;
    const struct gn_core_group *begin = &groups->groups[group], *end = at_the_end(s, group);
    char name[GN_DOMAIN_BYTES], problem[160];
    struct gn_clock_row row = {.domain = gn_host_clock_domain(s->c, group, name),
                               .parent = s->row.domain,
                               .host = s->row.host,
                               .def = s->row.def,
                               .counter = s->row.counter,
                               .problem = problem};
    describe_cores(&row, groups, group);
    snprintf(problem, sizeof problem, "core %d%s a counter that is not that of core %d", begin->first,
             row.cores > 1 ? " and others have" : " has", groups->groups[0].first);
    find_ends(s, &row, begin, end);
    struct gn_clocks *clocks = gn_clocks_new(0);
    if (!clocks || gn_clocks_add(clocks, &row.def) != 0 || gn_clocks_add(clocks, &row.def) != 1 ||
        add_throws(s, clocks, begin) != 0 || (end && add_throws(s, clocks, end) != 0)) {
        gn_clocks_free(clocks);
        return gn_fail(s->err, -ENOMEM, "no memory for the counters of %s", s->row.host);
    }
    int code = gn_profile_add_clock(s->db, &row, clocks, s->err);
    gn_clocks_free(clocks);
    return code;
}

static int save_counters(const struct saving *s)
{
    int code = 0;
    for (int group = 1; group < s->c->groups.group_count && !s->c->mixed && code == 0; group++)
        code = save_counter(s, group);
    return code;
}

static int save_host(struct saving *s, const struct gn_exchange_snapshot *seen)
{
    compared(s, &seen->report);
    int code = gn_profile_add_clock(s->db, &s->row, seen->clocks, s->err);
    if (code == 0 && seen->kept_count)
        code = gn_profile_add_exchanges(s->db, s->row.domain, seen->kept, seen->kept_count, s->err);
    return code == 0 ? save_counters(s) : code;
}

/* After the end nothing has to be copied. */
static int save_seen(struct saving *s)
{
    struct gn_exchange_snapshot seen = {.clocks = NULL};
    const struct gn_host_clock *c = s->c;
    if (!c->began)
        return save_host(s, &seen);
    if (s->end) {
        seen.report = *gn_exchanges_report(c->exchanges);
        seen.clocks = (struct gn_clocks *)gn_exchanges_clocks(c->exchanges);
        seen.kept = (struct gn_exchange *)gn_exchanges_kept(c->exchanges, &seen.kept_count);
        return save_host(s, &seen);
    }
    int code = gn_exchanges_snapshot(c->exchanges, &seen);
    code = code != 0 ? gn_fail(s->err, code, "no memory for the exchanges so far") : save_host(s, &seen);
    gn_exchange_snapshot_clear(&seen);
    return code;
}

void gn_host_clock_measure(struct gn_host_clock *c)
{
    if (!c->counter.name)
        gn_counter_measure(&c->counter);
}

static int save(struct saving *s)
{
    struct gn_host_clock *c = s->c;
    gn_host_clock_measure(c);
    const struct gn_counter counter = c->counter;
    char name[64];
    s->row = (struct gn_clock_row){
        .domain = c->host, .host = c->host, .def = {counter.hz, counter.granularity_ticks}, .counter = name};
    if (c->exchanges) { /* the same numbers that the other hosts were told */
        s->row.def.hz = gn_exchanges_endpoint(c->exchanges)->hz;
        s->row.def.granularity_ticks = gn_exchanges_endpoint(c->exchanges)->granularity_ticks;
    }
    s->simulated = simulated_at(s->row.def.hz);
    snprintf(name, sizeof name, "%s%s", counter.name, s->simulated.active ? " (simulated)" : "");
    if (s->end && !counter.why_not)
        verify_cores(s);
    const struct gn_core_groups *cores = several(c) || !s->last.group_count ? &c->groups : &s->last;
    if (cores->group_count > 0)
        describe_cores(&s->row, cores, 0);
    if (c->mixed) {
        s->row.shared = false;
        s->row.cores = (unsigned)cores->tried;
    }
    s->row.epoch_ticks = shown(s, c->first_ticks);
    s->row.last_ticks = shown(s, gn_ticks());
    int code = save_seen(s);
    gn_core_groups_clear(&s->last);
    return code;
}

int gn_host_clock_save(struct gn_host_clock *c, sqlite3 *db, struct gn_error *err)
{
    struct saving s = {.c = c, .db = db, .err = err, .end = true};
    return save(&s);
}

int gn_host_clock_checkpoint(struct gn_host_clock *c, sqlite3 *db, struct gn_error *err)
{
    struct saving s = {.c = c, .db = db, .err = err};
    snprintf(s.problem, sizeof s.problem,
             "its agent did not live to tell the end: what is known of its clock is from before that");
    return save(&s);
}

void gn_host_clock_clear(struct gn_host_clock *c)
{
    gn_exchanges_free(c->exchanges);
    c->exchanges = NULL;
    if (c->sheet)
        munmap(c->sheet, c->sheet_bytes);
    c->sheet = NULL;
    free(c->hosts);
    c->hosts = NULL;
    gn_core_groups_clear(&c->groups);
}
