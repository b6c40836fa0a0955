/* exchange/exchanges — the agent's exchanges of clock readings: its thread, and what is made of them. */
#include "exchange/exchanges.h"

#include "base/grow.h"
#include "clock/counter.h"
#include "clock/ticks.h"
#include "exchange/addresses.h"
#include "exchange/answering.h"
#include "exchange/asking.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    BRANCHING = 4,
    INTERVAL_MS = 100,
    BURST = 8,
    AT_ONCE = 64,         /* datagrams taken before something else is looked at */
    REFUSED_AT_ONCE = 64, /* then somebody sends rubbish, and is given less attention: */
    REFUSED_PAUSE_NS = 5000000,
    SILENCE_MS = 1000, /* of a child that is not waited for any more */
};

/* The exchanges that are kept: every stride-th, and the last. */
struct kept {
    struct gn_exchange *all;
    size_t count, capacity, most;
    uint64_t seen, stride;
    struct gn_exchange last;
};

struct gn_exchanges {
    struct gn_exchange_settings settings;
    struct gn_endpoint endpoint;
    struct gn_exchange_line line;
    struct gn_endpoint *hosts; /* a copy */
    uint32_t count;
    atomic_ullong common; /* made of the key, and does not tell it; ahead of line.began_ns */
    bool has_parent;
    struct gn_asking asking;
    struct gn_answering answering;
    struct gn_clocks *clocks;
    struct kept kept;

    pthread_t thread;
    bool running;
    pthread_mutex_t mutex; /* what the thread writes: held by it but for its rests */
    int wake;              /* eventfd */
    atomic_int what;       /* GO_ON, END or STOP, from the caller */
    atomic_uint patience_ms;
    uint64_t end_ns;   /* CLOCK_MONOTONIC_RAW: the patience is over; 0: not ending yet */
    uint64_t refusing; /* line.refused when it was last looked at */
    bool no_memory;

    struct gn_exchange_report report;
    char problem[1024];
};

enum { GO_ON, END, STOP };

/* ---- opening ---- */

static void apply_defaults(struct gn_exchange_settings *s, const struct gn_exchange_settings *given)
{
    if (given)
        *s = *given;
    s->branching = s->branching ? s->branching : BRANCHING;
    s->interval_ms = s->interval_ms ? s->interval_ms : INTERVAL_MS;
    s->burst = s->burst ? s->burst : BURST;
}

static int open_endpoint(struct gn_exchanges *x, const char *host, struct gn_error *err)
{
    struct gn_endpoint *e = &x->endpoint;
    struct gn_counter counter;
    gn_counter_measure(&counter);
    snprintf(e->host, sizeof e->host, "%s", host);
    e->hz = counter.hz;
    e->granularity_ticks = counter.granularity_ticks;
    int code = gn_simulated_parse(&x->line.simulated, getenv("GNOMON_TEST_CLOCK"), e->hz, err);
    if (code != 0)
        return code;
    if (x->line.simulated.active && x->line.simulated.grain_ticks > e->granularity_ticks)
        e->granularity_ticks = x->line.simulated.grain_ticks;
    code = gn_stamped_socket_open(&x->line.socket, &counter, !x->settings.no_kernel_stamps, err);
    if (code != 0)
        return code;
    e->port = x->line.socket.port;
    return gn_addresses_find(e, x->line.socket.only_v4, err);
}

int gn_exchanges_open(struct gn_exchanges **exchanges, const char *host,
                      const struct gn_exchange_settings *settings, struct gn_error *err)
{
    struct gn_exchanges *x = calloc(1, sizeof *x);
    *exchanges = NULL;
    if (!x)
        return gn_fail(err, -ENOMEM, "no memory for exchanges of clock readings");
    apply_defaults(&x->settings, settings);
    x->report.parent = UINT32_MAX;
    x->line.socket.fd = -1;
    pthread_mutex_init(&x->mutex, NULL);
    x->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    int code = x->wake < 0 ? gn_fail(err, -errno, "cannot make an eventfd: %s", strerror(errno))
               : sodium_init() < 0
                   ? gn_fail(err, -ENOSYS, "libsodium cannot be used: it finds no random numbers")
                   : open_endpoint(x, host, err);
    if (code != 0) {
        gn_exchanges_free(x);
        return code;
    }
    *exchanges = x;
    return 0;
}

const struct gn_endpoint *gn_exchanges_endpoint(const struct gn_exchanges *x)
{
    return &x->endpoint;
}

/* ---- what comes of exchanges ---- */

static void thin(struct kept *k)
{
    size_t count = 0;
    for (size_t i = 0; i < k->count; i += 2)
        k->all[count++] = k->all[i];
    k->count = count;
    k->stride *= 2;
}

/* One place is left for the last. */
static void keep(struct kept *k, const struct gn_exchange *exchange)
{
    k->last = *exchange;
    if (k->seen % k->stride == 0) {
        if (k->count + 1 >= k->most && k->count > 1)
            thin(k);
        if (k->seen % k->stride == 0 && k->count + 1 < k->most &&
            gn_grow(&k->all, &k->capacity, k->count, sizeof *k->all))
            k->all[k->count++] = *exchange;
    }
    k->seen++;
}

static void keep_last(struct kept *k)
{
    bool there = k->seen == 0 || (k->seen - 1) % k->stride == 0;
    if (!there && k->count < k->most && gn_grow(&k->all, &k->capacity, k->count, sizeof *k->all))
        k->all[k->count++] = k->last;
}

static void exchange_done(void *context, const struct gn_exchange *e)
{
    struct gn_exchanges *x = context;
    if (e->there && gn_clocks_message(x->clocks, 1, e->asked_ticks, 0, e->heard_ticks) == -ENOMEM)
        x->no_memory = true;
    if (e->back && gn_clocks_message(x->clocks, 0, e->answered_ticks, 1, e->received_ticks) == -ENOMEM)
        x->no_memory = true;
    if (x->kept.most)
        keep(&x->kept, e);
}

/* ---- the thread ---- */

static bool hear(struct gn_exchanges *x, const uint8_t *bytes, size_t size,
                 const struct gn_exchange_peer *from, struct gn_reading *arrived)
{
    struct gn_datagram d;
    if (!gn_datagram_open(&d, bytes, size, x->line.key) || d.to != x->line.own)
        return false;
    if (d.kind == GN_QUESTION || d.kind == GN_ANSWER)
        gn_stamped_socket_narrow(&x->line.socket, arrived);
    if (d.kind == GN_QUESTION || d.kind == GN_GOODBYE)
        return gn_answering_hear(&x->answering, &x->line, &d, from, arrived);
    return x->has_parent && gn_asking_hear(&x->asking, &x->line, &d, arrived, gn_monotonic_ns());
}

static void hear_all(struct gn_exchanges *x)
{
    uint8_t bytes[GN_DATAGRAM_BYTES];
    struct gn_reading arrived;
    struct gn_exchange_peer from;
    long size;
    for (int i = 0; i < AT_ONCE; i++) {
        size = gn_stamped_socket_receive(&x->line.socket, &from, bytes, sizeof bytes, &arrived);
        if (size < 0)
            break;
        if (!hear(x, bytes, (size_t)size, &from, &arrived))
            x->line.refused++;
    }
}

static struct timespec until(uint64_t then_ns, uint64_t now_ns)
{
    uint64_t ns = then_ns > now_ns ? then_ns - now_ns : 0;
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
}

/* Sleeps until there is something to hear, the caller wants something, or then. */
static void rest(struct gn_exchanges *x, uint64_t then_ns, bool hearing)
{
    struct pollfd fds[2] = {{.fd = x->wake, .events = POLLIN}, {.fd = x->line.socket.fd, .events = POLLIN}};
    struct timespec timeout = until(then_ns, gn_monotonic_ns());
    uint64_t woken;
    if (ppoll(fds, hearing ? 2 : 1, then_ns == UINT64_MAX ? NULL : &timeout, NULL) <= 0)
        return;
    if (fds[0].revents && read(x->wake, &woken, sizeof woken) < 0 && errno != EAGAIN)
        return;
    if (!hearing)
        return;
    pthread_mutex_lock(&x->mutex);
    if (fds[1].revents & POLLERR)
        gn_stamped_socket_discard(&x->line.socket);
    if (fds[1].revents & POLLIN)
        hear_all(x);
    pthread_mutex_unlock(&x->mutex);
}

/* Whoever sends rubbish gets a bounded share of this thread's time: a hundredth or so. */
static void rest_from_rubbish(struct gn_exchanges *x)
{
    if (x->line.refused - x->refusing < REFUSED_AT_ONCE)
        return;
    x->refusing = x->line.refused;
    rest(x, gn_monotonic_ns() + REFUSED_PAUSE_NS, false);
}

static void begin_end(struct gn_exchanges *x, uint64_t now_ns)
{
    if (x->end_ns || atomic_load(&x->what) != END)
        return;
    x->end_ns = now_ns + (uint64_t)atomic_load(&x->patience_ms) * 1000000;
    if (x->has_parent)
        gn_asking_end(&x->asking, now_ns);
}

/* When there is something to do: to ask, or to see whether a child has become silent. 0: all is done. */
static uint64_t next_time(struct gn_exchanges *x, uint64_t now_ns)
{
    uint64_t silence_ms = SILENCE_MS > 4 * (uint64_t)x->settings.interval_ms
                              ? SILENCE_MS
                              : 4 * (uint64_t)x->settings.interval_ms;
    uint64_t asking_ns = x->has_parent ? gn_asking_go_on(&x->asking, &x->line, now_ns) : UINT64_MAX;
    if (!x->end_ns)
        return asking_ns;
    uint64_t children_ns = gn_answering_until(&x->answering, silence_ms * 1000000);
    if (now_ns >= x->end_ns || (asking_ns == UINT64_MAX && now_ns >= children_ns))
        return 0;
    uint64_t next_ns = asking_ns != UINT64_MAX ? asking_ns : children_ns;
    return next_ns < x->end_ns ? next_ns : x->end_ns;
}

static void *run(void *context)
{
    struct gn_exchanges *x = context;
    pthread_setname_np(pthread_self(), "gnomon-clock");
    while (atomic_load(&x->what) != STOP) {
        uint64_t now_ns = gn_monotonic_ns();
        pthread_mutex_lock(&x->mutex);
        begin_end(x, now_ns);
        uint64_t next_ns = next_time(x, now_ns);
        pthread_mutex_unlock(&x->mutex);
        if (next_ns == 0)
            break;
        rest(x, next_ns, true);
        rest_from_rubbish(x);
    }
    return NULL;
}

/* ---- beginning ---- */

static uint32_t parent_of(uint32_t own, unsigned branching)
{
    return (own - 1) / branching;
}

static int check_hosts(const struct gn_endpoint *hosts, uint32_t count, uint32_t own, struct gn_error *err)
{
    if (own >= count)
        return gn_fail(err, -EINVAL, "host %u of %u cannot take part in exchanges of clock readings", own,
                       count);
    for (uint32_t i = 0; i < count; i++)
        if (hosts[i].port && (!(hosts[i].hz > 0) || !isfinite(hosts[i].hz) || !hosts[i].granularity_ticks ||
                              hosts[i].address_count > GN_ENDPOINT_ADDRESSES))
            return gn_fail(err, -EINVAL,
                           "what host %u says of its clock makes no sense (%g Hz, %u addresses)", i,
                           hosts[i].hz, hosts[i].address_count);
    return 0;
}

static int begin_parent(struct gn_exchanges *x)
{
    uint32_t parent = parent_of(x->line.own, x->settings.branching);
    const struct gn_endpoint *theirs = &x->hosts[parent];
    x->report.parent = parent;
    if (theirs->port == 0)
        return 0;
    struct gn_clock_def defs[2] = {{theirs->hz, theirs->granularity_ticks},
                                   {x->endpoint.hz, x->endpoint.granularity_ticks}};
    x->clocks = gn_clocks_new(0);
    if (!x->clocks || gn_clocks_add(x->clocks, &defs[0]) != 0 || gn_clocks_add(x->clocks, &defs[1]) != 1)
        return -ENOMEM;
    x->asking.parent = theirs;
    x->asking.parent_index = parent;
    x->asking.burst = x->settings.burst;
    x->asking.interval_ns = (uint64_t)x->settings.interval_ms * 1000000;
    x->asking.own_per_parent = x->endpoint.hz / theirs->hz;
    x->asking.done = exchange_done;
    x->asking.context = x;
    x->has_parent = true;
    gn_asking_begin(&x->asking, gn_monotonic_ns());
    return 0;
}

static int begin_children(struct gn_exchanges *x)
{
    uint64_t first = (uint64_t)x->line.own * x->settings.branching + 1;
    uint64_t count = first < x->count ? x->count - first : 0;
    if (count > x->settings.branching)
        count = x->settings.branching;
    return gn_answering_init(&x->answering, (uint32_t)first, (uint32_t)count);
}

/* Signals are the business of the agent's other threads. */
static int begin_thread(struct gn_exchanges *x)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&x->thread, NULL, run, x);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    x->running = code == 0;
    return -code;
}

static uint64_t make_common(const uint8_t key[GN_KEY_BYTES])
{
    static const char what[] = "windows";
    uint8_t hash[crypto_generichash_BYTES_MIN];
    uint64_t common;
    crypto_generichash(hash, sizeof hash, (const uint8_t *)what, sizeof what, key, GN_KEY_BYTES);
    memcpy(&common, hash, sizeof common);
    return common;
}

int gn_exchanges_begin(struct gn_exchanges *x, const uint8_t key[GN_KEY_BYTES],
                       const struct gn_endpoint *hosts, uint32_t count, uint32_t own, struct gn_error *err)
{
    int code = check_hosts(hosts, count, own, err);
    if (code != 0)
        return code;
    memcpy(x->line.key, key, GN_KEY_BYTES);
    atomic_store(&x->common, make_common(key));
    if (own == 0)
        atomic_store(&x->line.began_ns, gn_monotonic_ns());
    x->line.own = own;
    x->count = count;
    x->hosts = malloc(count * sizeof *hosts);
    if (x->hosts)
        memcpy(x->hosts, hosts, count * sizeof *hosts);
    x->kept = (struct kept){.most = x->settings.keep, .stride = 1};
    code = x->hosts ? begin_children(x) : -ENOMEM;
    if (code == 0 && own > 0)
        code = begin_parent(x);
    if (code == 0 && (x->has_parent || x->answering.count))
        code = begin_thread(x);
    return code == 0 ? 0
                     : gn_fail(err, code, "cannot begin exchanges of clock readings: %s", strerror(-code));
}

uint64_t gn_exchanges_moment(struct gn_exchanges *x)
{
    return gn_line_moment(&x->line);
}

uint64_t gn_exchanges_common(const struct gn_exchanges *x)
{
    return atomic_load(&x->common);
}

/* ---- the end ---- */

static void tell(struct gn_exchanges *x, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void tell(struct gn_exchanges *x, const char *format, ...)
{
    size_t used = strlen(x->problem);
    va_list arguments;
    if (used)
        used += (size_t)snprintf(x->problem + used, sizeof x->problem - used, "; ");
    if (used >= sizeof x->problem)
        return;
    va_start(arguments, format);
    vsnprintf(x->problem + used, sizeof x->problem - used, format, arguments);
    va_end(arguments);
    x->report.problem = x->problem;
}

static void tell_unreachable(struct gn_exchanges *x)
{
    const struct gn_endpoint *parent = &x->hosts[x->report.parent];
    char address[GN_ADDRESS_TEXT], others[32] = "", cause[128];
    if (parent->address_count > 1)
        snprintf(others, sizeof others, " or %u other address%s", parent->address_count - 1u,
                 parent->address_count > 2 ? "es" : "");
    if (x->asking.failed)
        snprintf(cause, sizeof cause, "it cannot be sent to (%s)", strerror(x->asking.failed));
    else
        snprintf(cause, sizeof cause, "a firewall may be in the way");
    tell(x,
         "no answer from host %.*s at %s%s (UDP): %s; times of this host are not comparable with those of "
         "others",
         (int)sizeof parent->host, parent->host, gn_addresses_text(parent, 0, address), others, cause);
}

static void tell_silent(struct gn_exchanges *x)
{
    const struct gn_endpoint *parent = &x->hosts[x->report.parent];
    double s = (double)(gn_monotonic_ns() - x->asking.heard_ns) / 1e9;
    char address[GN_ADDRESS_TEXT];
    tell(x, "host %.*s at %s has not answered in the last %.1f s: bounds are wider for these",
         (int)sizeof parent->host, parent->host, gn_addresses_text(parent, x->asking.address, address), s);
}

static void tell_parent(struct gn_exchanges *x)
{
    uint64_t silence_ns = 2000000000 + 4 * x->asking.interval_ns;
    const struct gn_endpoint *parent = &x->hosts[x->report.parent];
    if (parent->port == 0)
        tell(x,
             "host %.*s takes no part in exchanges: times of this host are not comparable with those of "
             "others",
             (int)sizeof parent->host, parent->host);
    else if (x->report.asked && !x->asking.heard_ns)
        tell_unreachable(x);
    else if (x->asking.heard_ns && gn_monotonic_ns() - x->asking.heard_ns > silence_ns)
        tell_silent(x);
}

static void tell_stamps(struct gn_exchanges *x)
{
    const struct gn_stamped_socket *s = &x->line.socket;
    if (s->why_not)
        tell(x, "the kernel's time stamps of datagrams cannot be used (%s): bounds are wider", s->why_not);
    else if (s->kernel && s->missing >= 16)
        tell(x, "the kernel gives no time stamps of sent datagrams (a matter of the network driver): bounds "
                "are wider");
    if (s->kernel && s->clock.steps)
        tell(x,
             "this host's time of day was set %u time%s: time stamps of datagrams around that were not used",
             s->clock.steps, s->clock.steps == 1 ? "" : "s");
}

static void count_all(const struct gn_exchanges *x, struct gn_exchange_report *r)
{
    r->asked = x->asking.asked;
    r->answered = x->asking.answered;
    r->narrowed = x->asking.narrowed;
    r->served = x->answering.served;
    r->refused = x->line.refused;
}

static void finish(struct gn_exchanges *x)
{
    struct gn_exchange_report *r = &x->report;
    if (x->has_parent)
        gn_asking_settle(&x->asking, &x->line);
    keep_last(&x->kept);
    count_all(x, r);
    if (r->parent != UINT32_MAX)
        tell_parent(x);
    if (r->asked || r->served)
        tell_stamps(x);
    if (x->no_memory)
        tell(x, "no memory for all exchanges: bounds are wider");
}

static void join(struct gn_exchanges *x, int what)
{
    uint64_t one = 1;
    atomic_store(&x->what, what);
    if (!x->running)
        return;
    if (write(x->wake, &one, sizeof one) < 0)
        errno = 0; /* it is full: the thread is awake anyway */
    pthread_join(x->thread, NULL);
    x->running = false;
}

void gn_exchanges_end(struct gn_exchanges *x, unsigned patience_ms)
{
    if (x->end_ns == UINT64_MAX)
        return;
    atomic_store(&x->patience_ms, patience_ms);
    join(x, END);
    if (x->hosts)
        finish(x);
    x->end_ns = UINT64_MAX;
}

const struct gn_exchange_report *gn_exchanges_report(const struct gn_exchanges *x)
{
    return &x->report;
}

const struct gn_clocks *gn_exchanges_clocks(const struct gn_exchanges *x)
{
    return x->clocks;
}

const struct gn_exchange *gn_exchanges_kept(const struct gn_exchanges *x, size_t *count)
{
    *count = x->kept.count;
    return x->kept.all;
}

/* ---- in the middle ---- */

struct copying {
    struct gn_clocks *to;
    uint32_t sender;
    int code;
};

static void copy_message(void *context, uint64_t sent_ticks, uint64_t received_ticks)
{
    struct copying *c = context;
    if (c->code == 0)
        c->code = gn_clocks_message(c->to, c->sender, sent_ticks, !c->sender, received_ticks);
}

static int copy_clocks(const struct gn_exchanges *x, struct gn_clocks **copy)
{
    const struct gn_endpoint *theirs = &x->hosts[x->report.parent];
    struct gn_clock_def defs[2] = {{theirs->hz, theirs->granularity_ticks},
                                   {x->endpoint.hz, x->endpoint.granularity_ticks}};
    *copy = gn_clocks_new(0);
    if (!*copy || gn_clocks_add(*copy, &defs[0]) != 0 || gn_clocks_add(*copy, &defs[1]) != 1)
        return -ENOMEM;
    struct copying c = {.to = *copy};
    for (; c.sender < 2; c.sender++)
        gn_clocks_each_kept(x->clocks, c.sender, !c.sender, copy_message, &c);
    return c.code;
}

static int copy_kept(const struct kept *from, struct gn_exchange_snapshot *s)
{
    if (from->count == 0)
        return 0;
    s->kept = malloc(from->count * sizeof *s->kept);
    if (!s->kept)
        return -ENOMEM;
    memcpy(s->kept, from->all, from->count * sizeof *s->kept);
    s->kept_count = from->count;
    return 0;
}

int gn_exchanges_snapshot(struct gn_exchanges *x, struct gn_exchange_snapshot *s)
{
    *s = (struct gn_exchange_snapshot){.clocks = NULL};
    pthread_mutex_lock(&x->mutex);
    s->report = x->report;
    s->report.problem = NULL;
    count_all(x, &s->report);
    int code = x->clocks ? copy_clocks(x, &s->clocks) : 0;
    if (code == 0)
        code = copy_kept(&x->kept, s);
    pthread_mutex_unlock(&x->mutex);
    if (code != 0)
        gn_exchange_snapshot_clear(s);
    return code;
}

void gn_exchange_snapshot_clear(struct gn_exchange_snapshot *s)
{
    gn_clocks_free(s->clocks);
    free(s->kept);
    *s = (struct gn_exchange_snapshot){.clocks = NULL};
}

void gn_exchanges_free(struct gn_exchanges *x)
{
    if (!x)
        return;
    join(x, STOP);
    if (x->line.socket.fd >= 0)
        gn_stamped_socket_close(&x->line.socket);
    if (x->wake >= 0)
        close(x->wake);
    gn_answering_clear(&x->answering);
    gn_clocks_free(x->clocks);
    sodium_memzero(x->line.key, sizeof x->line.key);
    free(x->kept.all);
    free(x->hosts);
    pthread_mutex_destroy(&x->mutex);
    free(x);
}
