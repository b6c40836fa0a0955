/*
 * scaling — the parallel replay under SimGrid's SMPI: what a replay takes on a machine that is not there,
 * with a fixed number of ops per process.
 *
 *     replay_alone [processes] [iterations] [rounds]    one process that has all of them: what its work costs
 *     smpirun … replay_smpi iterations ns_per_block     a process per rank, in simulated time
 *
 * SMPI would take the computing between two MPI calls for as long as it takes here, where a thousand ranks
 * share one core and its cache with whatever else runs. So that the result can be had again, computing is
 * counted instead of timed: the replay is compiled with -fsanitize-coverage=trace-pc, which calls a function
 * in each basic block. What a block takes, on average, is measured with one process (its processor time) and
 * without that (replay_alone says nanoseconds per op; the same program with counting, replay_counted, blocks
 * per op). Copying and handling messages inside of MPI is not counted: the platform's overheads per message
 * stand for that (scripts/bench.py).
 */
#include "repair/replay.h"
#include "workload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef GNOMON_SIMULATED_TIME
#include "repair/transport_mpi.h"

#include <smpi/smpi.h>
#endif

/* ---- counting ---- */

/* Of whoever runs: ranks of the simulation take turns, and only in MPI calls. */
static uint64_t blocks;

#ifdef COUNT_BLOCKS
void __sanitizer_cov_trace_pc(void);

void __sanitizer_cov_trace_pc(void)
{
    blocks++;
}
#endif

/* ---- a replay ---- */

enum { PASSES = 2 };
static const char *const pass_names[PASSES] = {"measure", "forward"};

struct bench {
    const struct gn_transport *transport;
    uint32_t processes, first, count;
    struct gn_definitions *definitions;
    struct gn_latency latency;
    struct gn_op_store store;
    uint32_t *owner;
    struct gn_replay *replay;
    struct gn_replay_stats before, after;
    double seconds[PASSES];
    uint64_t blocks[PASSES];
};

static int prepare(struct bench *bench, uint32_t iterations, struct gn_error *err)
{
    bench->definitions = gn_workload_define(bench->processes);
    bench->owner = calloc(bench->processes, sizeof *bench->owner);
    if (!bench->definitions || !bench->owner || gn_workload_latency(&bench->latency, bench->processes) != 0)
        return gn_fail(err, -ENOMEM, "no memory");
    for (uint32_t i = 0; i < bench->processes; i++)
        bench->owner[i] = i / bench->count;
    int code = gn_op_store_open(&bench->store, bench->processes, NULL, err);
    if (code != 0)
        return code;
    code = gn_workload_fill(&bench->store, bench->processes, bench->first, bench->count, iterations);
    if (code != 0)
        return gn_fail(err, code, "no memory for ops");
    return gn_replay_open(&bench->replay, bench->definitions, &bench->store, bench->transport, bench->owner,
                          err);
}

static void put_away(struct bench *bench)
{
    gn_replay_close(bench->replay);
    gn_op_store_close(&bench->store);
    gn_latency_close(&bench->latency);
    free(bench->owner);
    gn_definitions_free(bench->definitions);
}

static double now_s(void)
{
#ifdef GNOMON_SIMULATED_TIME
    return MPI_Wtime();
#else
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* others may want this core, too */
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
#endif
}

static int run_pass(struct bench *bench, int pass, struct gn_error *err)
{
    const struct gn_replay_settings settings = {
        .latency = &bench->latency, .gamma_loss = UINT64_MAX / 100, .measure = pass == 0};
    return gn_replay_forward(bench->replay, &settings, NULL, pass == 0 ? &bench->before : &bench->after, err);
}

static int run(struct bench *bench, struct gn_error *err)
{
    const struct gn_transport *transport = bench->transport;
    int code = 0;
    for (int pass = 0; pass < PASSES && code == 0; pass++) {
        int64_t everybody = 0;
        code = transport->agree(transport->self, GN_AGREE_SUM, &everybody, 1); /* they begin together */
        const double begin = now_s();
        const uint64_t blocks_before = blocks;
        if (code == 0)
            code = run_pass(bench, pass, err);
        if (code == 0)
            code = transport->agree(transport->self, GN_AGREE_SUM, &everybody, 1);
        bench->seconds[pass] = now_s() - begin;
        bench->blocks[pass] = blocks - blocks_before;
    }
    return code;
}

static uint64_t ops_of(const struct bench *bench)
{
    uint64_t ops = 0;
    for (uint32_t i = 0; i < bench->count; i++)
        ops += bench->store.rows[bench->first + i].count;
    return ops;
}

/* One line of name and value, of all ranks together. */
static int tell(const struct bench *bench)
{
    const struct gn_transport *transport = bench->transport;
    int64_t sums[2] = {(int64_t)ops_of(bench),
                       (int64_t)gn_workload_digest(&bench->store, bench->first, bench->count)};
    int code = transport->agree(transport->self, GN_AGREE_SUM, sums, 2);
    if (code != 0 || transport->rank != 0)
        return code;
    const struct gn_replay_count *before = &bench->before.messages, *after = &bench->after.messages;
    printf("processes %u ranks %u ops %lld events_per_op %d digest %016llx", bench->processes,
           transport->size, (long long)sums[0], GN_WORKLOAD_EVENTS_PER_OP, (unsigned long long)sums[1]);
    printf(" messages %llu violating %llu corrected %llu unmatched %llu cut %llu",
           (unsigned long long)before->messages, (unsigned long long)before->violating,
           (unsigned long long)after->corrected,
           (unsigned long long)(bench->after.unmatched_receives + bench->after.unmatched_sends +
                                bench->after.incomplete_collectives),
           (unsigned long long)bench->after.cut);
    for (int pass = 0; pass < PASSES; pass++)
        printf(" %s_s %.9f %s_blocks %llu", pass_names[pass], bench->seconds[pass], pass_names[pass],
               (unsigned long long)bench->blocks[pass]);
    printf("\n");
    return fflush(stdout) == 0 ? 0 : -errno;
}

static int replay_once(const struct gn_transport *transport, uint32_t processes, uint32_t iterations,
                       struct gn_error *err)
{
    const uint32_t count = processes / transport->size;
    struct bench bench = {
        .transport = transport, .processes = processes, .first = transport->rank * count, .count = count};
    int code = prepare(&bench, iterations, err);
    if (code == 0)
        code = run(&bench, err);
    if (code == 0)
        code = tell(&bench);
    put_away(&bench);
    return code;
}

static uint32_t number(int argc, char **argv, int which, uint32_t otherwise)
{
    return argc > which ? (uint32_t)strtoul(argv[which], NULL, 10) : otherwise;
}

#ifdef GNOMON_SIMULATED_TIME

/* ---- what has been computed passes simulated time before anything is sent or waited for ---- */

static double ns_per_block;

struct charged {
    struct gn_transport inner;
    uint64_t paid; /* blocks */
    double owed_ns;
};

/* A sleep, as each rank has a host of its own. (SimGrid 3.32 looks through all earlier messages of a rank at
 * the end of each smpi_execute: a run would take the square of its length.) */
static void charge(struct charged *charged)
{
    charged->owed_ns += (double)(blocks - charged->paid) * ns_per_block;
    const long whole = (long)charged->owed_ns;
    if (whole <= 0)
        return;
    charged->owed_ns -= (double)whole;
    smpi_nanosleep(&(struct timespec){.tv_sec = whole / 1000000000, .tv_nsec = whole % 1000000000}, NULL);
}

/* Others have run since charge. */
static void resume(struct charged *charged)
{
    charged->paid = blocks;
}

static int charged_send(void *self, uint32_t to, const void *bytes, size_t size)
{
    struct charged *charged = self;
    charge(charged);
    int code = charged->inner.send(charged->inner.self, to, bytes, size);
    resume(charged);
    return code;
}

static int64_t charged_receive(void *self, uint32_t *from, const void **bytes, int64_t timeout_us)
{
    struct charged *charged = self;
    charge(charged);
    int64_t size = charged->inner.receive(charged->inner.self, from, bytes, timeout_us);
    resume(charged);
    return size;
}

static int charged_settle_begin(void *self, const int64_t values[3])
{
    struct charged *charged = self;
    charge(charged);
    int code = charged->inner.settle_begin(charged->inner.self, values);
    resume(charged);
    return code;
}

static int charged_settle_test(void *self, bool *done, int64_t sums[3])
{
    struct charged *charged = self;
    charge(charged);
    int code = charged->inner.settle_test(charged->inner.self, done, sums);
    resume(charged);
    return code;
}

static int charged_agree(void *self, enum gn_agreement how, int64_t *values, size_t count)
{
    struct charged *charged = self;
    charge(charged);
    int code = charged->inner.agree(charged->inner.self, how, values, count);
    resume(charged);
    return code;
}

static int charged_share(void *self, uint32_t from, void *bytes, size_t size)
{
    struct charged *charged = self;
    charge(charged);
    int code = charged->inner.share(charged->inner.self, from, bytes, size);
    resume(charged);
    return code;
}

static void charged_give_up(void *self, int status)
{
    struct charged *charged = self;
    charged->inner.give_up(charged->inner.self, status);
}

static void charged_close(void *self)
{
    struct charged *charged = self;
    charged->inner.close(charged->inner.self);
}

static struct gn_transport charge_for(struct charged *charged)
{
    struct gn_transport transport = {.self = charged,
                                     .rank = charged->inner.rank,
                                     .size = charged->inner.size,
                                     .send = charged_send,
                                     .receive = charged_receive,
                                     .settle_begin = charged_settle_begin,
                                     .settle_test = charged_settle_test,
                                     .agree = charged_agree,
                                     .share = charged_share,
                                     .give_up = charged_give_up,
                                     .close = charged_close};
    return transport;
}

int main(int argc, char **argv)
{
    struct gn_error err = {""};
    struct charged charged = {0};
    const uint32_t iterations = number(argc, argv, 1, 1000);
    ns_per_block = argc > 2 ? strtod(argv[2], NULL) : 1;
    int code = gn_transport_mpi_open(&charged.inner, &err);
    if (code != 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    resume(&charged);
    struct gn_transport transport = charge_for(&charged);
    code = replay_once(&transport, transport.size, iterations, &err);
    if (code != 0) {
        fprintf(stderr, "rank %u: %s (%s)\n", transport.rank, err.text, strerror(-code));
        transport.give_up(transport.self, 1);
    }
    transport.close(transport.self);
    return code != 0;
}

#else

int main(int argc, char **argv)
{
    struct gn_error err = {""};
    const uint32_t processes = number(argc, argv, 1, 64), iterations = number(argc, argv, 2, 1000);
    struct gn_transport transport = gn_transport_alone();
    int code = transport.self ? 0 : -ENOMEM;
    for (uint32_t rounds = number(argc, argv, 3, 1); rounds > 0 && code == 0; rounds--)
        code = replay_once(&transport, processes, iterations, &err);
    transport.close(transport.self);
    if (code != 0)
        fprintf(stderr, "%s (%s)\n", err.text, strerror(-code));
    return code != 0;
}

#endif
