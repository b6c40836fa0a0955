#include "synth/simulation.h"

#include "base/grow.h"
#include "base/mix.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BURST = 16,       /* events lost in one go, in the mean */
    LONG_CHUNK = 64,  /* records */
    SHORT_CHUNK = 16, /* … where the many ranks' last chunks, partly empty, would cost more than speed */
    MANY_RANKS = 4096,
};

/* ---- queues ---- */

static bool add_chunk(struct gn_sim *sim, struct gn_sim_rank *rank)
{
    struct gn_sim_chunk *chunk = sim->free;
    if (chunk)
        sim->free = chunk->next;
    else
        chunk = malloc(sizeof *chunk + sim->chunk_records * sizeof *chunk->records);
    if (!chunk)
        return false;
    chunk->next = NULL;
    if (rank->last)
        rank->last->next = chunk;
    else
        rank->first = chunk;
    rank->last = chunk;
    rank->write = chunk->records;
    rank->end = chunk->records + sim->chunk_records;
    return true;
}

uint32_t gn_sim_take(struct gn_sim *sim, uint32_t index, struct gn_sim_chunk **taken)
{
    struct gn_sim_rank *rank = &sim->ranks[index];
    struct gn_sim_chunk *chunk = rank->first;
    uint32_t records = sim->chunk_records;
    if (!chunk)
        return 0;
    rank->first = chunk->next;
    if (chunk == rank->last) {
        records = (uint32_t)(rank->write - chunk->records);
        rank->last = NULL;
        rank->write = rank->end = NULL;
    }
    rank->waiting -= records;
    *taken = chunk;
    return records;
}

void gn_sim_give_back(struct gn_sim *sim, struct gn_sim_chunk *chunk)
{
    chunk->next = sim->free;
    sim->free = chunk;
}

/* Room for one more record; NULL: no memory. */
static inline struct gn_sim_record *next_record(struct gn_sim *sim, struct gn_sim_rank *rank)
{
    if (__builtin_expect(rank->write == rank->end, 0) && !add_chunk(sim, rank)) {
        sim->no_memory = true;
        return NULL;
    }
    rank->waiting++;
    return rank->write++;
}

/* ---- losses: bursts of events, in whose place one event says how many ---- */

static void next_burst(const struct gn_sim *sim, struct gn_sim_rank *rank)
{
    double lost = sim->settings.lost;
    rank->lose = 1 + (uint64_t)gn_mix_exponential(gn_mix_next(&rank->loss_random), BURST - 0.5);
    rank->keep = (uint64_t)gn_mix_exponential(gn_mix_next(&rank->loss_random), BURST * (1 - lost) / lost);
}

static void end_burst(struct gn_sim *sim, struct gn_sim_rank *rank, double true_ns)
{
    struct gn_sim_record *record = next_record(sim, rank);
    if (record)
        *record = (struct gn_sim_record){.true_ns = true_ns,
                                         .request = rank->losses,
                                         .peer = GN_NONE,
                                         .form = GN_EVENT_LOST}; /* of call 0, like any */
    rank->losses = 0;
    next_burst(sim, rank);
}

/* true: the event is lost. The event in a burst's place has the time of the last one lost. */
static bool lose(struct gn_sim *sim, struct gn_sim_rank *rank, double true_ns)
{
    if (rank->keep > 0) {
        rank->keep--;
        return false;
    }
    rank->losses++;
    if (--rank->lose == 0)
        end_burst(sim, rank, true_ns);
    return true;
}

/* ---- events ---- */

/* What an event is about, where it is about anything. */
struct about {
    uint64_t request;
    uint32_t peer, sent, received;
};

/* Inlined, so that the fields go straight into the queue: copied as a whole they would wait for themselves.
 */
static inline __attribute__((always_inline)) void emit(struct gn_sim *sim, uint32_t index, uint16_t call,
                                                       enum gn_event_kind kind, struct about about)
{
    struct gn_sim_rank *rank = &sim->ranks[index];
    double true_ns = rank->now_ns;
    rank->now_ns += sim->settings.event_ns;
    sim->emitted++;
    if (sim->settings.lost > 0 && lose(sim, rank, true_ns))
        return;
    struct gn_sim_record *record = next_record(sim, rank);
    if (!record)
        return;
    record->true_ns = true_ns;
    record->request = about.request;
    record->peer = about.peer;
    record->sent = about.sent;
    record->received = about.received;
    record->form = (uint16_t)(call * GN_EVENT_KIND_COUNT + kind);
}

void gn_sim_mark(struct gn_sim *sim, uint32_t rank, uint16_t call, enum gn_event_kind kind, uint32_t peer,
                 uint64_t request)
{
    emit(sim, rank, call, kind, (struct about){.peer = peer, .request = request});
}

/* What measuring costs on one side of a call. */
static double own_work(struct gn_sim *sim, uint32_t rank)
{
    const double share = gn_mix_unit(gn_mix_at(sim->settings.seed, 5, rank));
    const double ns =
        gn_mix_unit(gn_mix_next(&sim->ranks[rank].own_random)) * share * sim->settings.own_work_ns;
    sim->ranks[rank].now_ns += ns / 2;
    return ns / 2;
}

void gn_sim_enter(struct gn_sim *sim, uint32_t rank, uint16_t call)
{
    if (sim->settings.own_work_ns > 0 && sim->speed[call].is_mpi)
        sim->ranks[rank].own_ns = own_work(sim, rank);
    gn_sim_mark(sim, rank, call, GN_EVENT_ENTER, GN_NONE, 0);
}

void gn_sim_leave(struct gn_sim *sim, uint32_t rank, uint16_t call)
{
    gn_sim_mark(sim, rank, call, GN_EVENT_LEAVE, GN_NONE, 0);
    if (sim->settings.own_work_ns <= 0 || !sim->speed[call].is_mpi)
        return;
    const double now_ns = sim->ranks[rank].now_ns, behind_ns = own_work(sim, rank);
    emit(sim, rank, call, GN_EVENT_OWN_WORK,
         (struct about){
             .peer = GN_NONE, .request = (uint64_t)sim->ranks[rank].own_ns, .sent = (uint32_t)behind_ns});
    sim->ranks[rank].now_ns = now_ns + behind_ns;
}

void gn_sim_take_part(struct gn_sim *sim, uint32_t rank, uint16_t call, enum gn_event_kind kind,
                      uint32_t root, uint64_t request, uint32_t sent, uint32_t received)
{
    emit(sim, rank, call, kind,
         (struct about){.peer = root, .request = request, .sent = sent, .received = received});
}

/* ---- time ---- */

double gn_sim_uniform(struct gn_sim *sim, uint32_t rank)
{
    return gn_mix_unit(gn_mix_next(&sim->ranks[rank].random));
}

uint64_t gn_sim_hash(const struct gn_sim *sim, uint64_t what, uint64_t which)
{
    return gn_mix_at(sim->settings.seed, what, which);
}

void gn_sim_wait_until(struct gn_sim *sim, uint32_t rank, double ns)
{
    if (sim->ranks[rank].now_ns < ns)
        sim->ranks[rank].now_ns = ns;
}

void gn_sim_compute(struct gn_sim *sim, uint32_t rank, uint16_t call)
{
    struct gn_sim_rank *r = &sim->ranks[rank];
    double mean_ns = sim->settings.compute_ns * r->slowness;
    const bool is_fast = rank == sim->settings.fast_rank || sim->settings.fast_rank == GN_NONE;
    mean_ns *= is_fast ? sim->speed[call].fast : sim->speed[call].share;
    gn_sim_enter(sim, rank, call);
    r->now_ns += mean_ns * (0.8 + 0.4 * gn_sim_uniform(sim, rank));
    gn_sim_leave(sim, rank, call);
}

static bool is_within_domain(const struct gn_sim *sim, uint32_t rank, uint32_t to)
{
    const struct gn_location_def *locations = sim->definitions->locations;
    return to == GN_NONE ? sim->settings.domains == 1 : locations[rank].domain == locations[to].domain;
}

double gn_sim_transfer(struct gn_sim *sim, uint32_t rank, uint32_t to)
{
    double latency_ns = sim->settings.latency_ns;
    if (sim->settings.within_latency_ns > 0 && is_within_domain(sim, rank, to))
        latency_ns = sim->settings.within_latency_ns;
    return latency_ns + gn_mix_exponential(gn_mix_next(&sim->ranks[rank].random), latency_ns);
}

/* ---- messages ---- */

double gn_sim_sent(struct gn_sim *sim, uint32_t rank, uint16_t call, uint32_t to, uint32_t bytes,
                   uint64_t request, double not_before)
{
    double arrival = sim->ranks[rank].now_ns + gn_sim_transfer(sim, rank, to);
    emit(sim, rank, call, request ? GN_EVENT_MPI_ISEND : GN_EVENT_MPI_SEND,
         (struct about){.peer = to, .request = request, .sent = bytes});
    return arrival < not_before ? not_before : arrival;
}

void gn_sim_received(struct gn_sim *sim, uint32_t rank, uint16_t call, uint32_t from, uint32_t bytes,
                     uint64_t request)
{
    emit(sim, rank, call, request ? GN_EVENT_MPI_IRECV : GN_EVENT_MPI_RECV,
         (struct about){.peer = from, .request = request, .received = bytes});
}

void gn_sim_stray(struct gn_sim *sim, uint32_t rank, uint32_t to)
{
    double unmatched = sim->settings.unmatched;
    if (unmatched <= 0 || gn_sim_uniform(sim, rank) >= unmatched / (1 - unmatched))
        return;
    gn_sim_enter(sim, rank, sim->stray_call);
    gn_sim_mark(sim, rank, sim->stray_call, GN_EVENT_MPI_SEND, to, 0);
    gn_sim_leave(sim, rank, sim->stray_call);
}

double gn_sim_send(struct gn_sim *sim, uint32_t rank, uint16_t call, uint32_t to, uint32_t bytes)
{
    gn_sim_enter(sim, rank, call);
    double arrival = gn_sim_sent(sim, rank, call, to, bytes, 0, 0);
    gn_sim_leave(sim, rank, call);
    gn_sim_stray(sim, rank, to);
    return arrival;
}

void gn_sim_recv(struct gn_sim *sim, uint32_t rank, uint16_t call, uint32_t from, uint32_t bytes,
                 double arrival)
{
    gn_sim_enter(sim, rank, call);
    gn_sim_wait_until(sim, rank, arrival);
    gn_sim_received(sim, rank, call, from, bytes, 0);
    gn_sim_leave(sim, rank, call);
}

/* ---- definitions ---- */

static uint32_t region_of(struct gn_sim *sim, const struct gn_sim_call *call)
{
    struct gn_definitions *d = sim->definitions;
    bool mpi = strncmp(call->name, "MPI_", 4) == 0;
    uint32_t name = gn_define_string(d, call->name);
    for (uint32_t i = 0; i < d->region_count; i++)
        if (d->regions[i].name == name)
            return i;
    return gn_define_region(d,
                            &(struct gn_region_def){.name = name,
                                                    .source_file = mpi ? 0 : gn_define_string(d, "pattern.c"),
                                                    .begin_line = mpi ? 0 : call->line,
                                                    .end_line = mpi ? 0 : call->line + 9,
                                                    .role = mpi ? GN_ROLE_MPI : GN_ROLE_FUNCTION});
}

/* Kinds whose events name the call's communicator and tag. */
static bool has_tag(unsigned kind)
{
    return kind == GN_EVENT_MPI_SEND || kind == GN_EVENT_MPI_ISEND || kind == GN_EVENT_MPI_RECV ||
           kind == GN_EVENT_MPI_IRECV || kind == GN_EVENT_MPI_IRECV_REQUEST;
}

static bool has_op(unsigned kind)
{
    return kind == GN_EVENT_COLLECTIVE_BEGIN || kind == GN_EVENT_COLLECTIVE_END ||
           kind == GN_EVENT_NBC_REQUEST || kind == GN_EVENT_NBC_COMPLETE;
}

static void fill_forms(struct gn_event *forms, const struct gn_sim_call *call, uint32_t region, uint32_t path)
{
    for (unsigned kind = 0; kind < GN_EVENT_KIND_COUNT; kind++) {
        struct gn_event *form = &forms[kind];
        *form = gn_event_bare((enum gn_event_kind)kind, 0, 0);
        if (kind == GN_EVENT_ENTER || kind == GN_EVENT_LEAVE) {
            form->region = region;
            form->path = path;
        }
        if (has_tag(kind) || has_op(kind))
            form->comm = call->comm;
        if (has_tag(kind))
            form->tag = call->tag;
        if (has_op(kind))
            form->op = call->op;
        if (kind == GN_EVENT_COMM_CREATE || kind == GN_EVENT_COMM_DESTROY)
            form->comm = GN_SIM_COMM_OWN;
    }
}

static bool room_for_call(struct gn_sim *sim)
{
    size_t forms = (size_t)(sim->calls + 1) * GN_EVENT_KIND_COUNT;
    while (sim->form_capacity < forms)
        if (!gn_grow(&sim->forms, &sim->form_capacity, sim->form_capacity, sizeof *sim->forms))
            return false;
    return gn_grow(&sim->speed, &sim->speed_capacity, sim->calls, sizeof *sim->speed);
}

/* Where a call is made from: MPI and computation from step(), step() from main(). */
static uint32_t path_of(struct gn_sim *sim, const struct gn_sim_call *call, uint32_t region)
{
    uint32_t file = gn_define_string(sim->definitions, "pattern.c");
    bool from_main = call->from_main || sim->step_path == GN_NONE;
    uint32_t parent = from_main ? sim->main_path : sim->step_path;
    return gn_define_path(
        sim->definitions,
        &(struct gn_path_def){.parent = parent, .region = region, .source_file = file, .line = call->line});
}

uint16_t gn_sim_call(struct gn_sim *sim, const struct gn_sim_call *what)
{
    const char *fast = sim->settings.fast_region;
    if (!room_for_call(sim)) {
        sim->no_memory = true;
        return 0;
    }
    uint32_t region = region_of(sim, what);
    uint32_t path = path_of(sim, what, region);
    sim->no_memory |= region == GN_NONE || path == GN_NONE;
    fill_forms(&sim->forms[sim->calls * GN_EVENT_KIND_COUNT], what, region, path);
    double share = what->share > 0 ? what->share : 1;
    bool is_fast = fast && strcmp(fast, what->name) == 0;
    sim->speed[sim->calls] =
        (struct gn_sim_speed){share, is_fast ? share * (1 - sim->settings.fast_percent / 100) : share,
                              strncmp(what->name, "MPI_", 4) == 0};
    return (uint16_t)sim->calls++;
}

static uint16_t named(struct gn_sim *sim, const char *name, uint32_t line, uint8_t op, uint32_t comm)
{
    return gn_sim_call(sim, &(struct gn_sim_call){
                                .name = name, .line = line, .comm = comm, .tag = GN_SIM_TAG_STRAY, .op = op});
}

static void define_calls(struct gn_sim *sim)
{
    sim->main_path = sim->step_path = GN_NONE;
    sim->main_call = named(sim, "main", 10, GN_COLLECTIVE_UNKNOWN, GN_SIM_COMM_WORLD);
    sim->main_path = (uint32_t)sim->definitions->path_count - 1;
    sim->init_call = named(sim, "MPI_Init", 12, GN_COLLECTIVE_UNKNOWN, GN_SIM_COMM_WORLD);
    sim->finalize_call = named(sim, "MPI_Finalize", 18, GN_COLLECTIVE_UNKNOWN, GN_SIM_COMM_WORLD);
    if (sim->settings.quiet_ns > 0)
        sim->sleep_call = named(sim, "sleep", 14, GN_COLLECTIVE_UNKNOWN, GN_SIM_COMM_WORLD);
    if (sim->split) {
        sim->split_call = named(sim, "MPI_Comm_split", 13, GN_COLLECTIVE_CREATE_HANDLE, GN_SIM_COMM_WORLD);
        sim->free_call = named(sim, "MPI_Comm_free", 17, GN_COLLECTIVE_DESTROY_HANDLE, GN_SIM_COMM_OWN);
    }
    sim->step_call = named(sim, "step", 15, GN_COLLECTIVE_UNKNOWN, GN_SIM_COMM_WORLD);
    sim->step_path = (uint32_t)sim->definitions->path_count - 1;
    sim->stray_call = named(sim, "MPI_Send", 90, GN_COLLECTIVE_UNKNOWN, GN_SIM_COMM_WORLD);
    sim->pattern->setup(sim);
}

static uint32_t text(struct gn_definitions *d, const char *format, uint32_t number)
{
    char name[64];
    snprintf(name, sizeof name, format, number);
    return gn_define_string(d, name);
}

/* Ranks are dealt to the domains in blocks. */
static uint32_t domain_of(const struct gn_synth_settings *settings, uint32_t rank)
{
    return (uint32_t)((uint64_t)rank * settings->domains / settings->locations);
}

static bool define_machine(struct gn_definitions *d, uint32_t domains)
{
    uint32_t root =
        gn_define_system_node(d, &(struct gn_system_node){.name = gn_define_string(d, "simulated"),
                                                          .class_name = gn_define_string(d, "machine"),
                                                          .parent = GN_NONE});
    uint32_t node = gn_define_string(d, "node"), last = root;
    for (uint32_t i = 0; i < domains && last != GN_NONE; i++)
        last = gn_define_system_node(
            d, &(struct gn_system_node){
                   .name = text(d, "node%u", i), .class_name = node, .parent = root, .is_domain = true});
    return last != GN_NONE;
}

static bool define_ranks(struct gn_sim *sim)
{
    struct gn_definitions *d = sim->definitions;
    uint32_t thread = gn_define_string(d, "main thread"), last = 0;
    for (uint32_t i = 0; i < sim->count && last != GN_NONE; i++) {
        uint32_t domain = domain_of(&sim->settings, i);
        uint32_t process = gn_define_process(d, &(struct gn_process){.name = text(d, "rank %u", i),
                                                                     .system_node = 1 + domain,
                                                                     .main_location = GN_NONE,
                                                                     .rank = (int32_t)i});
        if (process == GN_NONE)
            return false;
        last = gn_define_location(
            d, &(struct gn_location_def){
                   .name = thread, .process = process, .domain = domain, .file_id = i, .events = UINT64_MAX});
    }
    return last != GN_NONE;
}

/* The ranks first, first + stride, … */
static bool define_comm(struct gn_sim *sim, uint32_t name, uint32_t parent, uint32_t first, uint32_t stride)
{
    uint32_t *members = malloc(sim->count * sizeof *members), count = 0;
    if (!members)
        return false;
    for (uint32_t rank = first; rank < sim->count; rank += stride)
        members[count++] = rank;
    uint32_t comm = gn_define_comm(
        sim->definitions,
        &(struct gn_comm_def){.name = name, .parent = parent, .member_count = count, .members = members});
    free(members);
    return comm != GN_NONE;
}

static bool define_comms(struct gn_sim *sim)
{
    struct gn_definitions *d = sim->definitions;
    bool made = define_comm(sim, gn_define_string(d, "MPI_COMM_WORLD"), GN_NONE, 0, 1);
    for (uint32_t i = 0; i < sim->split && made; i++)
        made = define_comm(sim, text(d, "split %u", i), 0, i, sim->split);
    return made;
}

/* About as many groups as members of each. */
static uint32_t groups_of(uint32_t count)
{
    uint32_t groups = 1;
    while ((groups + 1) * (groups + 1) <= count)
        groups++;
    return groups;
}

static void place_ranks(struct gn_sim *sim)
{
    const struct gn_synth_settings *settings = &sim->settings;
    for (uint32_t i = 0; i < sim->count; i++) {
        struct gn_sim_rank *rank = &sim->ranks[i];
        rank->random = gn_mix_at(settings->seed, 1, i);
        rank->loss_random = gn_mix_at(settings->seed, 2, i);
        rank->own_random = gn_mix_at(settings->seed, 4, i);
        rank->slowness = 1 + settings->imbalance * (2 * gn_mix_unit(gn_mix_at(settings->seed, 3, i)) - 1);
        if (settings->lost > 0)
            next_burst(sim, rank);
    }
}

int gn_sim_open(struct gn_sim *sim, const struct gn_synth_settings *settings,
                const struct gn_pattern *pattern, struct gn_error *err)
{
    memset(sim, 0, sizeof *sim);
    sim->settings = *settings;
    sim->pattern = pattern;
    sim->count = settings->locations;
    sim->split = pattern->split ? groups_of(sim->count) : 0;
    sim->chunk_records = sim->count > MANY_RANKS ? SHORT_CHUNK : LONG_CHUNK;
    if (sim->settings.unmatched <= 0)
        sim->settings.unmatched = pattern->unmatched;
    if (sim->settings.lost <= 0)
        sim->settings.lost = pattern->lost;
    sim->definitions = gn_definitions_new();
    sim->ranks = calloc(sim->count, sizeof *sim->ranks);
    if (!sim->definitions || !sim->ranks || !define_machine(sim->definitions, settings->domains) ||
        !define_ranks(sim) || !define_comms(sim))
        return gn_fail(err, -ENOMEM, "no memory for %u simulated locations", settings->locations);
    place_ranks(sim);
    define_calls(sim);
    return sim->no_memory ? gn_fail(err, -ENOMEM, "no memory for the pattern \"%s\"", settings->pattern) : 0;
}

static void free_chunks(struct gn_sim_chunk *chunk)
{
    while (chunk) {
        struct gn_sim_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
}

void gn_sim_close(struct gn_sim *sim)
{
    free_chunks(sim->free);
    for (uint32_t i = 0; sim->ranks && i < sim->count; i++)
        free_chunks(sim->ranks[i].first);
    gn_definitions_free(sim->definitions);
    free(sim->ranks);
    free(sim->forms);
    free(sim->speed);
    free(sim->state);
}

/* ---- the program ---- */

static void whole_call(struct gn_sim *sim, uint32_t rank, uint16_t call)
{
    gn_sim_enter(sim, rank, call);
    gn_sim_leave(sim, rank, call);
}

static void sleep_quietly(struct gn_sim *sim, uint32_t rank)
{
    if (sim->settings.quiet_ns <= 0)
        return;
    gn_sim_enter(sim, rank, sim->sleep_call);
    sim->ranks[rank].now_ns += sim->settings.quiet_ns;
    gn_sim_leave(sim, rank, sim->sleep_call);
}

static void begin_program(struct gn_sim *sim)
{
    for (uint32_t i = 0; i < sim->count; i++) {
        gn_sim_wait_until(sim, i, sim->settings.compute_ns * gn_sim_uniform(sim, i));
        gn_sim_mark(sim, i, 0, GN_EVENT_PROGRAM_BEGIN, GN_NONE, 0);
        gn_sim_enter(sim, i, sim->main_call);
        whole_call(sim, i, sim->init_call);
        sleep_quietly(sim, i);
    }
    if (sim->pattern->begin)
        sim->pattern->begin(sim);
    sim->begun = true;
}

static void end_program(struct gn_sim *sim)
{
    if (sim->pattern->finish)
        sim->pattern->finish(sim);
    for (uint32_t i = 0; i < sim->count; i++) {
        sleep_quietly(sim, i);
        whole_call(sim, i, sim->finalize_call);
        gn_sim_leave(sim, i, sim->main_call);
        gn_sim_mark(sim, i, 0, GN_EVENT_PROGRAM_END, GN_NONE, 0);
        if (sim->ranks[i].losses > 0)
            end_burst(sim, &sim->ranks[i], sim->ranks[i].now_ns);
    }
    sim->ended = true;
}

bool gn_sim_advance(struct gn_sim *sim)
{
    if (sim->ended)
        return false;
    if (!sim->begun)
        begin_program(sim);
    sim->pattern->step(sim);
    sim->iteration++;
    if (sim->settings.iterations ? sim->iteration >= sim->settings.iterations
                                 : sim->emitted >= sim->settings.events)
        end_program(sim);
    return true;
}
