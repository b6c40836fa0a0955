/* meddler — somebody on the way between a child and its parent. */
#include "meddler.h"

#include "base/mix.h"
#include "exchange/datagram.h"

#include <arpa/inet.h>
#include <endian.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 2048, PAST = 1024, SEEN = 1 << 16, LET_THROUGH = 100 };

struct datagram {
    uint8_t bytes[MOST];
    size_t size;
};

/* Of the two directions: THERE comes from the child and goes to the parent. */
enum { THERE, BACK };

struct meddler {
    int sockets[2]; /* where it comes from: the child's side, the parent's side */
    struct sockaddr_in names[2];
    unsigned meddling;
    uint64_t seed;
    struct datagram past[2][PAST], held[2];
    unsigned counts[2];
    uint64_t (*seen)[2];
    size_t seen_count;
    atomic_bool stop;
    pthread_t thread;
};

static uint64_t dice(struct meddler *m, uint64_t sides)
{
    return gn_mix_next(&m->seed) % sides;
}

static void deliver(struct meddler *m, int direction, const void *bytes, size_t size)
{
    int other = !direction;
    if (m->names[other].sin_port)
        (void)!sendto(m->sockets[other], bytes, size, 0, (struct sockaddr *)&m->names[other],
                      sizeof m->names[other]);
}

static void forge(struct meddler *m, int direction, const struct datagram *d)
{
    struct datagram forged = *d;
    if (d->size)
        forged.bytes[dice(m, d->size)] ^= (uint8_t)(1u << dice(m, 8));
    deliver(m, direction, forged.bytes, forged.size);
}

static void send_other_key(struct meddler *m, int direction, const struct datagram *d)
{
    static const uint8_t key[GN_DATAGRAM_KEY_BYTES] = {9};
    uint8_t bytes[MOST];
    if (d->size != GN_DATAGRAM_BYTES)
        return;
    memcpy(bytes, d->bytes, d->size);
    struct gn_datagram lie = {.kind = bytes[4], .heard_ticks = 1, .answered_ticks = UINT64_MAX};
    memcpy(&lie.from, bytes + 8, 4);
    memcpy(&lie.to, bytes + 12, 4);
    memcpy(&lie.session, bytes + 16, 8);
    memcpy(&lie.number, bytes + 24, 8);
    gn_datagram_seal(bytes, &lie, key);
    deliver(m, direction, bytes, d->size);
}

static void send_rubbish(struct meddler *m, int direction)
{
    uint8_t bytes[256];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)dice(m, 256);
    deliver(m, direction, bytes, dice(m, sizeof bytes));
}

/* What comes besides what comes. Before it, so that what is forged could take its place. */
static void add_others(struct meddler *m, int direction, const struct datagram *d)
{
    if (m->meddling & GN_FORGE)
        forge(m, direction, d);
    if (m->meddling & GN_TRUNCATE)
        deliver(m, direction, d->bytes, dice(m, d->size + 40));
    if (m->meddling & GN_OTHER_KEY)
        send_other_key(m, direction, d);
    if (m->meddling & GN_RUBBISH)
        send_rubbish(m, direction);
    if (m->meddling & GN_REFLECT)
        deliver(m, !direction, d->bytes, d->size);
    if (m->meddling & GN_REPLAY)
        for (int side = 0; side < 2; side++)
            if (m->counts[side])
                deliver(m, side, m->past[side][dice(m, PAST) % m->counts[side]].bytes, GN_DATAGRAM_BYTES);
}

/* What the parent said of its clock; the readings are not secret. */
static void note(struct meddler *m, const struct datagram *d)
{
    uint64_t readings[2];
    if (d->size != GN_DATAGRAM_BYTES || d->bytes[4] != GN_READINGS || m->seen_count == SEEN)
        return;
    memcpy(readings, d->bytes + 32, sizeof readings);
    m->seen[m->seen_count][0] = le64toh(readings[0]);
    m->seen[m->seen_count++][1] = le64toh(readings[1]);
}

static void pass_on(struct meddler *m, int direction, const struct datagram *d)
{
    if (direction == THERE && (m->meddling & GN_DELAY_THERE))
        usleep(3000);
    deliver(m, direction, d->bytes, d->size);
    if (m->meddling & GN_DOUBLE)
        deliver(m, direction, d->bytes, d->size);
}

static void meddle(struct meddler *m, int direction, const struct datagram *d)
{
    unsigned n = m->counts[direction]++;
    if (direction == BACK)
        note(m, d);
    if ((m->meddling & GN_MUTE_AFTER) && n >= LET_THROUGH)
        return;
    add_others(m, direction, d);
    m->past[direction][n % PAST] = *d;
    if ((m->meddling & GN_LOSE) && dice(m, 3) == 0)
        return;
    struct datagram *held = &m->held[direction];
    if ((m->meddling & GN_REORDER) && held->size == 0 && dice(m, 2)) {
        *held = *d;
        return;
    }
    pass_on(m, direction, d);
    if (held->size)
        pass_on(m, direction, held);
    held->size = 0;
}

static void receive(struct meddler *m, int direction)
{
    struct datagram d;
    struct sockaddr_in from;
    socklen_t size = sizeof from;
    ssize_t got =
        recvfrom(m->sockets[direction], d.bytes, MOST, MSG_DONTWAIT, (struct sockaddr *)&from, &size);
    if (got < 0)
        return;
    d.size = (size_t)got;
    if (direction == THERE)
        m->names[THERE] = from;
    meddle(m, direction, &d);
}

static void *run(void *context)
{
    struct meddler *m = context;
    while (!atomic_load(&m->stop)) {
        struct pollfd fds[2] = {{.fd = m->sockets[0], .events = POLLIN},
                                {.fd = m->sockets[1], .events = POLLIN}};
        if (poll(fds, 2, 20) <= 0)
            continue;
        for (int direction = 0; direction < 2; direction++)
            if (fds[direction].revents)
                receive(m, direction);
    }
    return NULL;
}

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static uint16_t open_socket(int *fd)
{
    struct sockaddr_in name = loopback(0);
    socklen_t size = sizeof name;
    *fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (*fd < 0 || bind(*fd, (struct sockaddr *)&name, sizeof name) != 0 ||
        getsockname(*fd, (struct sockaddr *)&name, &size) != 0)
        abort();
    return ntohs(name.sin_port);
}

struct meddler *meddler_begin(const struct gn_endpoint *parent, unsigned meddling, uint64_t seed,
                              struct gn_endpoint *instead)
{
    struct meddler *m = calloc(1, sizeof *m);
    if (!m || !(m->seen = calloc(SEEN, sizeof *m->seen)))
        abort();
    m->meddling = meddling;
    m->seed = seed;
    m->names[BACK] = loopback(parent->port);
    *instead = *parent;
    instead->port = open_socket(&m->sockets[THERE]);
    instead->address_count = 1;
    instead->addresses[0].family = 4;
    memcpy(instead->addresses[0].bytes, (const uint8_t[]){127, 0, 0, 1}, 4);
    open_socket(&m->sockets[BACK]);
    if (pthread_create(&m->thread, NULL, run, m) != 0)
        abort();
    return m;
}

void meddler_end(struct meddler *m)
{
    atomic_store(&m->stop, true);
    pthread_join(m->thread, NULL);
}

void meddler_free(struct meddler *m)
{
    close(m->sockets[0]);
    close(m->sockets[1]);
    free(m->seen);
    free(m);
}

bool meddler_saw(const struct meddler *m, uint64_t heard_ticks, uint64_t answered_ticks)
{
    for (size_t i = 0; i < m->seen_count; i++)
        if (m->seen[i][0] == heard_ticks && m->seen[i][1] == answered_ticks)
            return true;
    return false;
}
