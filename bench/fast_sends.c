/*
 * Table 2 of Benavides et al. 2019 (section 3.5): how many messages of a real program seem to arrive earlier
 * than the network can carry them, by each way to convert clocks. bench/table2.sh runs it on two hosts.
 *
 *   fast_sends answer PORT                               answers until it is told to stop, or nobody asks for
 * a minute fast_sends ask ADDRESS PORT [TRIALS [MESSAGES]]      default 100 trials of 500 messages in each
 * direction
 *
 * The two send each other datagrams in turn; each side reads its clock before it sends and after it has
 * received. These messages are what clocks are fitted to and what is counted. The clock of who asks is made
 * up from the machine's, another one in each trial (exchange/simulated.h), so the true time that each message
 * took is known, too: the shortest of a trial is what the network needs.
 */
#include "baselines/comparison.h"
#include "exchange/simulated.h"
#include "clock/ticks.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TRIALS = 100, MESSAGES = 500, PAUSE_US = 1500, PATIENCE_MS = 200, IDLE_MS = 60000, WARM_UP = 50 };

struct ping {
    uint64_t number; /* UINT64_MAX: stop */
};

struct pong {
    uint64_t number, heard_ns, answered_ns;
};

static int fail(const char *what)
{
    fprintf(stderr, "fast_sends: %s: %s\n", what, strerror(errno));
    return 1;
}

static int open_socket(const char *address, const char *port, bool answers)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    unsigned ms = answers ? IDLE_MS : PATIENCE_MS;
    struct timeval patience = {ms / 1000, ms % 1000 * 1000};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || inet_pton(AF_INET, address, &at.sin_addr) != 1 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0)
        return -1;
    return (answers ? bind : connect)(fd, (struct sockaddr *)&at, sizeof at) == 0 ? fd : -1;
}

static int answer(const char *port)
{
    int fd = open_socket("0.0.0.0", port, true);
    if (fd < 0)
        return fail("answering");
    for (;;) {
        struct ping ping;
        struct sockaddr_in who;
        socklen_t size = sizeof who;
        ssize_t got = recvfrom(fd, &ping, sizeof ping, 0, (struct sockaddr *)&who, &size);
        uint64_t heard_ns = gn_monotonic_ns();
        if (got < 0)
            return fail("nobody asks");
        if (got != sizeof ping)
            continue;
        if (ping.number == UINT64_MAX)
            return 0;
        struct pong pong = {ping.number, heard_ns, gn_monotonic_ns()};
        sendto(fd, &pong, sizeof pong, 0, (struct sockaddr *)&who, size);
    }
}

/* ---- asking ---- */

/* All trials, one after the other, with one clock. */
struct run {
    struct gn_simulated_clock clock;
    size_t trials, messages; /* in each direction, of a trial */
    struct trial {
        size_t first, count; /* exchanges */
        double least_ns;     /* that a message really took */
    } * each;
    struct gn_exchange *exchanges;
    struct gn_compared_message *sent; /* two of each exchange */
    size_t count;
};

/* What was on its way when patience ended may still come: it has another number. */
static bool receive(int fd, uint64_t number, struct pong *pong)
{
    for (;;) {
        ssize_t got = recv(fd, pong, sizeof *pong, 0);
        if (got < 0)
            return false;
        if (got == sizeof *pong && pong->number == number)
            return true;
    }
}

static void exchange(int fd, uint64_t number, struct run *run, struct trial *trial)
{
    struct pong pong;
    struct ping ping = {number};
    uint64_t asked_ns = gn_monotonic_ns();
    if (send(fd, &ping, sizeof ping, 0) != sizeof ping || !receive(fd, number, &pong))
        return;
    uint64_t received_ns = gn_monotonic_ns();
    struct gn_exchange e = {gn_simulated_reading(&run->clock, asked_ns),
                            pong.heard_ns,
                            pong.answered_ns,
                            gn_simulated_reading(&run->clock, received_ns),
                            true,
                            true,
                            false};
    struct gn_compared_message *m = &run->sent[2 * run->count];
    m[0] = (struct gn_compared_message){e.asked_ticks, e.heard_ticks, true};
    m[1] = (struct gn_compared_message){e.answered_ticks, e.received_ticks, false};
    run->exchanges[run->count++] = e;
    trial->count++;
    trial->least_ns = fmin(
        trial->least_ns, fmin((double)(pong.heard_ns - asked_ns), (double)(received_ns - pong.answered_ns)));
}

/* The first messages find out where the other side is, and are late; no method should have to live with that.
 */
static void warm_up(int fd, struct run *run)
{
    struct trial none = {0, 0, INFINITY};
    for (uint64_t i = 0; i < WARM_UP && run->count < run->messages; i++)
        exchange(fd, UINT64_MAX - 1 - i, run, &none);
    run->count = 0;
}

static int run_trials(int fd, struct run *run)
{
    warm_up(fd, run);
    for (size_t t = 0; t < run->trials; t++) {
        run->each[t] = (struct trial){run->count, 0, INFINITY};
        for (size_t i = 0; i < run->messages; i++) {
            exchange(fd, t << 32 | i, run, &run->each[t]);
            usleep(PAUSE_US);
        }
        if (run->each[t].count == 0) {
            fprintf(stderr, "fast_sends: no answer to any of %zu messages\n", run->messages);
            return 1;
        }
    }
    return 0;
}

/* GNOMON_TEST_CLOCK, or 30 ppm fast and 5 s ahead. */
static int make_clock(struct gn_simulated_clock *clock)
{
    char usual[128];
    struct gn_error err;
    const char *spec = getenv("GNOMON_TEST_CLOCK");
    snprintf(usual, sizeof usual, "offset=5s,rate=30ppm,origin=%llu", (unsigned long long)gn_monotonic_ns());
    if (gn_simulated_parse(clock, spec ? spec : usual, 1e9, &err) == 0)
        return 0;
    fprintf(stderr, "fast_sends: %s\n", err.text);
    return 1;
}

/* ---- counting ---- */

enum { LONG_FREEZERS = 2, ROWS = GN_COMPARED_METHODS + LONG_FREEZERS };

struct share {
    const char *method, *scope;
    double min, sum, max, inverted;
    size_t trials;
};

static void count_in(struct share *share, uint64_t fast, uint64_t inverted, size_t messages)
{
    double percent = 100 * (double)fast / (double)messages;
    share->min = share->trials ? fmin(share->min, percent) : percent;
    share->max = fmax(share->max, percent);
    share->sum += percent;
    share->inverted += 100 * (double)inverted / (double)messages;
    share->trials++;
}

static struct gn_fit_pair pair_of(const struct run *run, size_t first, size_t count)
{
    return (struct gn_fit_pair){.exchanges = run->exchanges + first,
                                .count = count,
                                .child = {1e9, 1},
                                .parent = {1e9, 1},
                                .epoch_ticks = run->exchanges->heard_ticks};
}

/* Every method on the messages of one trial alone, as the paper has regression and hull. */
static int count_trial(const struct run *run, const struct trial *trial, struct share shares[ROWS])
{
    struct gn_error err;
    struct gn_comparison rows[GN_COMPARED_METHODS];
    struct gn_comparison_input input = {.pair = pair_of(run, trial->first, trial->count),
                                        .assumption = gn_assumption_default(),
                                        .messages = run->sent + 2 * trial->first,
                                        .message_count = 2 * trial->count,
                                        .least_ns = trial->least_ns};
    int code = gn_compare(&input, rows, &err);
    if (code != 0) {
        fprintf(stderr, "fast_sends: %s\n", err.text);
        return code;
    }
    for (int i = 0; i < GN_COMPARED_METHODS; i++) {
        shares[i].method = rows[i].method;
        shares[i].scope = "";
        if (!rows[i].failed)
            count_in(&shares[i], rows[i].fast, rows[i].inverted, 2 * trial->count);
    }
    return 0;
}

static double took_ns(const struct run *run, const struct gn_fit *fit, const struct gn_compared_message *m)
{
    uint64_t epoch = run->exchanges->heard_ticks;
    struct gn_interval at = gn_fit_convert(fit, m->to_parent ? m->sent_ticks : m->received_ticks);
    double child = 0.5 * (double)at.lo_ns + 0.5 * (double)at.hi_ns;
    return m->to_parent ? (double)(int64_t)(m->received_ticks - epoch) - child
                        : child - (double)(int64_t)(m->sent_ticks - epoch);
}

/* The exchanges of a trial between the first and the last of all: FreeZer's rate comes from these two. */
static struct gn_exchange *between_ends(const struct run *run, const struct trial *trial)
{
    struct gn_exchange *exchanges = calloc(trial->count + 2, sizeof *exchanges);
    if (!exchanges)
        return NULL;
    exchanges[0] = run->exchanges[0];
    memcpy(exchanges + 1, run->exchanges + trial->first, trial->count * sizeof *exchanges);
    exchanges[trial->count + 1] = run->exchanges[run->count - 1];
    return exchanges;
}

/* FreeZer's zero is measured near what is converted, but its rate for as long as can be (a day, in the
 * paper): here, over all trials. */
static void count_long_freezer(const struct run *run, const struct trial *trial, enum gn_fit_kind kind,
                               struct share *share)
{
    struct gn_exchange *exchanges = between_ends(run, trial);
    struct gn_fit_pair pair = pair_of(run, 0, 0);
    pair.exchanges = exchanges;
    pair.count = exchanges ? trial->count + 2 : 0;
    struct gn_fit *fit = gn_fit_new(kind, &pair, NULL);
    uint64_t fast = 0, inverted = 0;
    share->method = gn_fit_name(kind);
    share->scope = ", rate of all trials";
    for (size_t i = 2 * trial->first; fit && i < 2 * (trial->first + trial->count); i++) {
        double took = took_ns(run, fit, &run->sent[i]);
        fast += took < trial->least_ns;
        inverted += took < 0;
    }
    if (fit)
        count_in(share, fast, inverted, 2 * trial->count);
    gn_fit_free(fit);
    free(exchanges);
}

/* ---- the table ---- */

static const char *in_the_paper(const char *method)
{
    static const struct {
        enum gn_fit_kind kind;
        const char *figures;
    } known[] = {{GN_FIT_FREEZER_AS_PUBLISHED, "   0.000    0.000    0.000"},
                 {GN_FIT_HULL, "  36.855   40.647   49.490"},
                 {GN_FIT_REGRESSION, "   0.075    3.142   30.790"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(method, gn_fit_name(known[i].kind)) == 0)
            return known[i].figures;
    return "";
}

static void print_shares(const struct share shares[ROWS])
{
    printf("%-42s %26s   %26s   %11s %6s\n%-42s %8s %8s %8s   %8s %8s %8s\n",
           "fast sends, % (min, average, max)", "here", "in the paper", "inverted, %", "trials", "", "min",
           "average", "max", "min", "average", "max");
    for (const struct share *s = shares; s < shares + ROWS; s++) {
        char figures[64] = "no result", name[64];
        snprintf(name, sizeof name, "%s%s", s->method, s->scope);
        if (s->trials > 0)
            snprintf(figures, sizeof figures, "%8.3f %8.3f %8.3f", s->min, s->sum / (double)s->trials,
                     s->max);
        printf("%-42s %26s   %26s   %11.3f %6zu\n", name, figures, in_the_paper(s->method),
               s->trials ? s->inverted / (double)s->trials : NAN, s->trials);
    }
}

static int count_all(const struct run *run)
{
    struct share shares[ROWS] = {0};
    for (const struct trial *t = run->each; t < run->each + run->trials; t++) {
        if (count_trial(run, t, shares) != 0)
            return 1;
        count_long_freezer(run, t, GN_FIT_FREEZER_AS_PUBLISHED, &shares[GN_COMPARED_METHODS]);
        count_long_freezer(run, t, GN_FIT_FREEZER, &shares[GN_COMPARED_METHODS + 1]);
    }
    print_shares(shares);
    return 0;
}

static int ask(const char *address, const char *port, size_t trials, size_t messages)
{
    struct run run = {.trials = trials,
                      .messages = messages,
                      .each = calloc(trials, sizeof *run.each),
                      .exchanges = calloc(trials * messages, sizeof *run.exchanges),
                      .sent = calloc(2 * trials * messages, sizeof *run.sent)};
    struct ping stop = {UINT64_MAX};
    int fd = open_socket(address, port, false);
    if (fd < 0 || !run.each || !run.exchanges || !run.sent)
        return fail("asking");
    int status = make_clock(&run.clock) != 0 || run_trials(fd, &run) != 0;
    if (send(fd, &stop, sizeof stop, 0) < 0)
        fail("telling the other side to stop");
    if (status == 0)
        status = count_all(&run);
    free(run.each);
    free(run.exchanges);
    free(run.sent);
    close(fd);
    return status;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "answer") == 0)
        return answer(argv[2]);
    if (argc >= 4 && strcmp(argv[1], "ask") == 0) {
        long trials = argc > 4 ? atol(argv[4]) : TRIALS, messages = argc > 5 ? atol(argv[5]) : MESSAGES;
        return ask(argv[2], argv[3], trials > 0 ? (size_t)trials : 1, messages > 2 ? (size_t)messages : 2);
    }
    fprintf(stderr, "usage: fast_sends answer PORT | fast_sends ask ADDRESS PORT [TRIALS [MESSAGES]]\n");
    return 2;
}
