#include "live/host_clock.h"

#include "clock/core_groups.h"
#include "clock/counter.h"
#include "clock/simulated.h"
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

enum { PATIENCE_MS = 2000, CORES_PATIENCE_MS = 50, MAX_HOSTS = 1 << 20 };

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

/* The launcher may have bound us to the cores of the rank that started us. */
static void verify_cores(struct gn_host_clock *c, struct gn_clock_row *row, const struct gn_counter *counter)
{
    struct gn_core_groups groups;
    cpu_set_t before, all;
    bool bound = sched_getaffinity(0, sizeof before, &before) == 0;
    memset(&all, 0xff, sizeof all);
    sched_setaffinity(0, sizeof all, &all);
    if (!counter->why_not && gn_core_groups_find(&groups, row->def.hz, CORES_PATIENCE_MS, NULL) == 0) {
        row->shared = groups.group_count == 1 && groups.tried > 1;
        row->cores = (unsigned)groups.tried;
        row->untried = (unsigned)groups.untried;
        if (groups.group_count > 1 && !c->problem.text[0])
            gn_fail(
                &c->problem, 0,
                "its cores do not share the counter, they are at least %.0f ns apart: gnomon's bounds do not "
                "hold for it; GNOMON_COUNTER=monotonic_raw reads the kernel's clock instead",
                groups.offset_ns);
        row->shared_width_ns = groups.width_ns;
        gn_core_groups_clear(&groups);
    }
    if (bound)
        sched_setaffinity(0, sizeof before, &before);
}

/* The counter's readings as they stand in exchanges and traces: simulated in tests. 1: they are. */
static int simulate(struct gn_clock_row *row, struct gn_error *err)
{
    struct gn_simulated_clock simulated;
    int code = gn_simulated_parse(&simulated, getenv("GNOMON_TEST_CLOCK"), row->def.hz, err);
    if (code != 0 || !simulated.active)
        return code;
    row->epoch_ticks = gn_simulated_reading(&simulated, row->epoch_ticks);
    row->last_ticks = gn_simulated_reading(&simulated, row->last_ticks);
    return 1;
}

/* What the exchanges say of themselves. */
static void compared(const struct gn_host_clock *c, struct gn_clock_row *row)
{
    if (c->problem.text[0])
        row->problem = c->problem.text;
    if (!c->began)
        return;
    const struct gn_exchange_report *report = gn_exchanges_report(c->exchanges);
    if (c->own > 0 && report->parent < c->count)
        row->parent = c->hosts[report->parent].host;
    row->asked = report->asked;
    row->answered = report->answered;
    row->narrowed = report->narrowed;
    row->refused = report->refused;
    if (report->problem)
        row->problem = report->problem;
}

int gn_host_clock_save(struct gn_host_clock *c, sqlite3 *db, struct gn_error *err)
{
    struct gn_counter counter;
    char name[64];
    gn_counter_measure(&counter);
    struct gn_clock_row row = {.domain = c->host,
                               .host = c->host,
                               .def = {counter.hz, counter.granularity_ticks},
                               .epoch_ticks = c->first_ticks,
                               .counter = name};
    if (c->exchanges) { /* the same numbers that the other hosts were told */
        row.def.hz = gn_exchanges_endpoint(c->exchanges)->hz;
        row.def.granularity_ticks = gn_exchanges_endpoint(c->exchanges)->granularity_ticks;
    }
    verify_cores(c, &row, &counter);
    row.last_ticks = gn_ticks();
    int simulated = simulate(&row, err);
    if (simulated < 0)
        return simulated;
    snprintf(name, sizeof name, "%s%s", counter.name, simulated ? " (simulated)" : "");
    compared(c, &row);
    int code = gn_profile_add_clock(db, &row, c->began ? gn_exchanges_clocks(c->exchanges) : NULL, err);
    size_t kept = 0;
    const struct gn_exchange *exchanges = c->began ? gn_exchanges_kept(c->exchanges, &kept) : NULL;
    return code == 0 && kept ? gn_profile_add_exchanges(db, c->host, exchanges, kept, err) : code;
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
}
