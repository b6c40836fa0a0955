/*
 * What numbering messages costs (capture/numbers.h): each kind of call alone in a loop, over so many channels
 * in turn. One line each, as bench/parts prints them:
 *
 *   part NAME: iterations I batches B min NS q1 NS median NS q3 NS
 */
#include "timing.h"

#include "capture/numbers.h"

enum { BATCH_NS = 200000, PENDING = 4096, COMM = 0 };

#define KEEP(value) __asm__ volatile("" ::"r"(value) : "memory")

static struct gn_number_tables *single, *threaded, *busy;
static struct gn_receive pending[PENDING];
static uint32_t channels, waiting;
static int32_t tag; /* of the next call; goes on from batch to batch */

static void told(void *context, uint64_t id, uint64_t number)
{
    (void)context;
    (void)id;
    KEEP(number);
}

static int32_t next_tag(void)
{
    return (uint32_t)tag + 1 < channels ? tag + 1 : 0;
}

static void loop(long iterations)
{
    for (long i = 0; i < iterations; i++, tag = next_tag())
        KEEP(tag);
}

static void sends(long iterations)
{
    for (long i = 0; i < iterations; i++, tag = next_tag())
        KEEP(gn_number_send(single, 0, COMM, tag & 31, tag));
}

static void posts(long iterations)
{
    for (long i = 0; i < iterations; i++, tag = next_tag()) {
        struct gn_receive receive;
        gn_number_post(single, 0, &receive, COMM, tag & 31, tag);
        KEEP(gn_number_complete(single, &receive, tag & 31, tag, 0, NULL));
    }
}

static void receives(long iterations)
{
    for (long i = 0; i < iterations; i++, tag = next_tag())
        KEEP(gn_number_receive(single, 0, COMM, tag & 31, tag, 0, NULL));
}

static void wildcards(long iterations)
{
    for (long i = 0; i < iterations; i++, tag = next_tag()) {
        struct gn_receive receive;
        gn_number_post(single, 0, &receive, COMM, GN_NUMBER_ANY, tag);
        KEEP(gn_number_complete(single, &receive, tag & 31, tag, 0, NULL));
    }
}

static void collectives(long iterations)
{
    for (long i = 0; i < iterations; i++)
        KEEP(gn_number_collective(single, COMM));
}

static void threaded_sends(long iterations)
{
    for (long i = 0; i < iterations; i++, tag = next_tag()) {
        uint32_t inside = gn_number_enter(threaded, GN_NUMBER_SEND, COMM, tag & 31, tag);
        KEEP(gn_number_send(threaded, inside, COMM, tag & 31, tag));
    }
}

static void threaded_posts(long iterations)
{
    for (long i = 0; i < iterations; i++, tag = next_tag()) {
        struct gn_receive receive;
        uint32_t inside = gn_number_enter(threaded, GN_NUMBER_RECEIVE, COMM, tag & 31, tag);
        gn_number_post(threaded, inside, &receive, COMM, tag & 31, tag);
        KEEP(gn_number_complete(threaded, &receive, tag & 31, tag, 0, NULL));
    }
}

/* Wildcards that are pending, each completed and posted again, in order. */
static void pending_wildcards(long iterations)
{
    static uint32_t place;
    for (long i = 0; i < iterations; i++) {
        struct gn_receive *receive = &pending[place++ % waiting];
        KEEP(gn_number_complete(busy, receive, (int32_t)(place & 31), 1, 0, NULL));
        gn_number_post(busy, 0, receive, COMM, GN_NUMBER_ANY, 1);
    }
}

static const struct part {
    const char *name;
    void (*run)(long iterations);
    uint32_t channels, waiting;
} parts[] = {
    {"the loop itself", loop, 26, 0},
    {"send, 1 channel", sends, 1, 0},
    {"send, 26 channels", sends, 26, 0},
    {"send, 1000 channels", sends, 1000, 0},
    {"send, 100000 channels", sends, 100000, 0},
    {"blocking receive, 1 channel", receives, 1, 0},
    {"blocking receive, 26 channels", receives, 26, 0},
    {"post and complete, 1 channel", posts, 1, 0},
    {"post and complete, 26 channels", posts, 26, 0},
    {"post and complete, any source", wildcards, 26, 0},
    {"collective", collectives, 1, 0},
    {"threads: send, 26 channels", threaded_sends, 26, 0},
    {"threads: post and complete, 26 channels", threaded_posts, 26, 0},
    {"complete and post, 16 of any source pending", pending_wildcards, 1, 16},
    {"complete and post, 4096 of any source pending", pending_wildcards, 1, PENDING},
};

static double time_batch(const struct part *part, long iterations)
{
    double begin_ns = timing_now_ns();
    part->run(iterations);
    return timing_now_ns() - begin_ns;
}

static void measure(const struct part *part, int batches)
{
    double *batch_ns = calloc((size_t)batches, sizeof *batch_ns);
    long iterations = 64;
    channels = part->channels;
    tag = 0;
    for (waiting = 0; waiting < part->waiting; waiting++)
        gn_number_post(busy, 0, &pending[waiting], COMM, GN_NUMBER_ANY, 1);
    while (time_batch(part, iterations) < BATCH_NS)
        iterations *= 2;
    for (int batch = 0; batch < batches; batch++)
        batch_ns[batch] = time_batch(part, iterations) / (double)iterations;
    struct timing_summary s = timing_summarise(batch_ns, batches);
    printf("part %s: iterations %ld batches %d min %.2f q1 %.2f median %.2f q3 %.2f\n", part->name,
           iterations, batches, s.min, s.q1, s.median, s.q3);
    free(batch_ns);
    for (uint32_t i = 0; i < waiting; i++)
        gn_number_cancelled(busy, &pending[i], NULL);
}

int main(int argc, char **argv)
{
    int batches = argc > 1 ? atoi(argv[1]) : 500;
    single = gn_numbers_open(told);
    threaded = gn_numbers_open(told);
    busy = gn_numbers_open(told);
    if (batches < 1 || !single || !threaded || !busy)
        return 2;
    gn_numbers_threaded(threaded);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        measure(&parts[i], batches);
    return 0;
}
