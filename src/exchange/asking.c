/* exchange/asking — the child's side. */
#include "exchange/asking.h"

#include "exchange/addresses.h"

#include <math.h>
#include <sodium.h>

enum { MS = 1000000, GOODBYES = 3, UNANSWERED_BURST = 2, GIVEN_UP = 8, ENOUGH = 2 };

static const uint64_t FIRST_GAP_NS = 2 * MS, FIRST_PATIENCE_NS = 20 * MS;
static const uint64_t MIN_PATIENCE_NS = 2 * MS, MAX_PATIENCE_NS = 250 * MS;

void gn_asking_begin(struct gn_asking *a, uint64_t now_ns)
{
    randombytes_buf(&a->session, sizeof a->session);
    a->state = GN_ASKING_SEEKING;
    a->gap_ns = FIRST_GAP_NS;
    a->patience_ns = FIRST_PATIENCE_NS;
    a->best_ticks = a->burst_ticks = INFINITY;
    a->left = 1;
    a->next_ns = now_ns;
}

/* ---- questions ---- */

static struct gn_exchange_question *question_of(struct gn_asking *a, uint64_t number)
{
    struct gn_exchange_question *q = &a->questions[number % GN_QUESTIONS];
    return number && q->number == number ? q : NULL;
}

static struct gn_exchange exchange_of(const struct gn_exchange_line *line,
                                      const struct gn_exchange_question *q)
{
    struct gn_exchange x = {.asked_ticks = gn_line_shown(line, &q->asked), .there = q->readings};
    x.heard_ticks = q->heard_ticks;
    x.answered_ticks = q->answered_ticks;
    x.back = q->answer && q->readings;
    if (q->answer)
        x.received_ticks = gn_line_shown(line, &q->received);
    x.kernel = gn_reading_best(&line->socket, &q->asked) != q->asked.plain_ticks ||
               (q->answer && gn_reading_best(&line->socket, &q->received) != q->received.plain_ticks);
    return x;
}

static void settle(struct gn_asking *a, struct gn_exchange_line *line, struct gn_exchange_question *q)
{
    gn_stamped_socket_check(&line->socket);
    if (q->readings) {
        struct gn_exchange x = exchange_of(line, q);
        a->answered++;
        a->narrowed += x.kernel;
        a->done(a->context, &x);
    }
    q->number = 0;
}

void gn_asking_settle(struct gn_asking *a, struct gn_exchange_line *line)
{
    for (uint64_t back = GN_QUESTIONS; back-- > 0;) {
        struct gn_exchange_question *q = back < a->number ? question_of(a, a->number - back) : NULL;
        if (q)
            settle(a, line, q);
    }
}

/* A place for the next number. */
static struct gn_exchange_question *next_question(struct gn_asking *a, struct gn_exchange_line *line)
{
    struct gn_exchange_question *q = &a->questions[++a->number % GN_QUESTIONS];
    if (q->number)
        settle(a, line, q);
    *q = (struct gn_exchange_question){.number = a->number, .address = a->address};
    return q;
}

static struct gn_datagram datagram_of(const struct gn_asking *a, const struct gn_exchange_line *line,
                                      enum gn_datagram_kind kind)
{
    return (struct gn_datagram){
        .kind = kind, .from = line->own, .to = a->parent_index, .session = a->session, .number = a->number};
}

static void ask(struct gn_asking *a, struct gn_exchange_line *line, uint64_t now_ns)
{
    struct gn_exchange_question *q = next_question(a, line);
    struct gn_datagram d = datagram_of(a, line, GN_QUESTION);
    struct gn_exchange_peer peer;
    int code = gn_addresses_peer(a->parent, a->address, line->socket.only_v4, &peer)
                   ? gn_line_send(line, &peer, &d, &q->asked)
                   : -1;
    a->failed = code < 0 ? -code : 0;
    a->asked++;
    a->in_burst++;
    q->sent_ns = now_ns;
    a->waiting = true;
    a->next_ns = now_ns + (code == 0 ? a->patience_ns : 0);
}

/* ---- when ---- */

static void pause(struct gn_asking *a, uint64_t now_ns)
{
    a->left = 0;
    a->next_ns = now_ns + a->gap_ns;
    a->gap_ns = a->gap_ns * 2 < a->interval_ns ? a->gap_ns * 2 : a->interval_ns;
}

static void begin_leaving(struct gn_asking *a, uint64_t now_ns)
{
    a->state = a->heard_ns ? GN_ASKING_LEAVING : GN_ASKING_GONE;
    a->left = GOODBYES;
    a->next_ns = now_ns;
}

static void end_burst(struct gn_asking *a, uint64_t now_ns)
{
    if (a->ending)
        begin_leaving(a, now_ns);
    else
        pause(a, now_ns);
}

static void begin_burst(struct gn_asking *a)
{
    a->left = a->state == GN_ASKING_FOUND ? a->burst : 1;
    a->in_burst = 0;
    a->burst_ticks = INFINITY;
}

static bool good_enough(const struct gn_asking *a)
{
    return !a->ending && a->gap_ns == a->interval_ns && a->in_burst >= ENOUGH &&
           a->burst_ticks <= a->best_ticks * 1.25;
}

static void after_answer(struct gn_asking *a, uint64_t now_ns)
{
    a->waiting = false;
    a->left -= a->left > 0;
    a->next_ns = now_ns;
    if (a->left == 0 || good_enough(a))
        end_burst(a, now_ns);
}

/* One address after the other; after all of them a pause. */
static void seek_on(struct gn_asking *a, uint64_t now_ns)
{
    unsigned addresses = a->parent->address_count ? a->parent->address_count : 1;
    a->address = (a->address + 1) % addresses;
    a->left = 1;
    a->next_ns = now_ns;
    if (++a->tried % addresses)
        return;
    if (a->patience_ns * 2 <= MAX_PATIENCE_NS)
        a->patience_ns *= 2;
    end_burst(a, now_ns);
}

static void after_silence(struct gn_asking *a, uint64_t now_ns)
{
    a->waiting = false;
    a->silent++;
    a->next_ns = now_ns;
    if (a->state == GN_ASKING_FOUND && a->silent >= GIVEN_UP) {
        a->state = GN_ASKING_SEEKING;
        a->tried = 0;
    }
    if (a->state == GN_ASKING_SEEKING)
        seek_on(a, now_ns);
    else if (a->silent >= UNANSWERED_BURST || --a->left == 0)
        end_burst(a, now_ns);
}

static void say_goodbye(struct gn_asking *a, struct gn_exchange_line *line, uint64_t now_ns)
{
    struct gn_exchange_peer peer;
    if (a->left == 0 || !gn_addresses_peer(a->parent, a->address, line->socket.only_v4, &peer)) {
        a->state = GN_ASKING_GONE;
        return;
    }
    next_question(a, line); /* only for the number: nothing will be known of it */
    struct gn_datagram d = datagram_of(a, line, GN_GOODBYE);
    gn_line_send(line, &peer, &d, NULL);
    a->left--;
    a->next_ns = now_ns + a->patience_ns;
}

uint64_t gn_asking_go_on(struct gn_asking *a, struct gn_exchange_line *line, uint64_t now_ns)
{
    if (a->state != GN_ASKING_GONE && now_ns >= a->next_ns) {
        if (a->waiting)
            after_silence(a, now_ns);
        else if (a->state == GN_ASKING_LEAVING)
            say_goodbye(a, line, now_ns);
        else {
            if (a->left == 0)
                begin_burst(a);
            ask(a, line, now_ns);
        }
    }
    return a->state == GN_ASKING_GONE ? UINT64_MAX : a->next_ns;
}

void gn_asking_end(struct gn_asking *a, uint64_t now_ns)
{
    a->ending = true;
    a->waiting = false;
    a->tried = 0;
    a->next_ns = now_ns;
    if (a->state == GN_ASKING_SEEKING)
        a->patience_ns = FIRST_PATIENCE_NS;
    begin_burst(a);
}

/* ---- what comes back ---- */

/* As TCP does it (RFC 6298): the usual time and four times the usual deviation. */
static void adapt_patience(struct gn_asking *a, double took_ns)
{
    double off_ns = fabs(took_ns - a->usual_ns);
    a->deviation_ns = a->usual_ns > 0 ? 0.75 * a->deviation_ns + 0.25 * off_ns : took_ns / 2;
    a->usual_ns = a->usual_ns > 0 ? 0.875 * a->usual_ns + 0.125 * took_ns : took_ns;
    double patience_ns = a->usual_ns + 4 * a->deviation_ns + MIN_PATIENCE_NS;
    a->patience_ns = patience_ns < MAX_PATIENCE_NS ? (uint64_t)patience_ns : MAX_PATIENCE_NS;
}

/* Found, or found again: a burst at once. */
static void found(struct gn_asking *a, const struct gn_exchange_question *q, uint64_t now_ns)
{
    a->address = q->address;
    a->silent = 0;
    a->heard_ns = now_ns;
    if (a->state != GN_ASKING_SEEKING)
        return;
    a->state = GN_ASKING_FOUND;
    a->gap_ns = FIRST_GAP_NS;
    a->tried = 0;
    begin_burst(a);
    if (!a->waiting)
        a->next_ns = now_ns;
}

static void judge_width(struct gn_asking *a, const struct gn_exchange_line *line,
                        const struct gn_exchange_question *q)
{
    double own = (double)(int64_t)(gn_reading_best(&line->socket, &q->received) -
                                   gn_reading_best(&line->socket, &q->asked));
    double width = own - (double)(int64_t)(q->answered_ticks - q->heard_ticks) * a->own_per_parent;
    a->best_ticks = fmin(a->best_ticks, width);
    a->burst_ticks = fmin(a->burst_ticks, width);
}

static void complete(struct gn_asking *a, const struct gn_exchange_line *line,
                     const struct gn_exchange_question *q, uint64_t now_ns)
{
    judge_width(a, line, q);
    adapt_patience(a, (double)(now_ns - q->sent_ns));
    found(a, q, now_ns);
    if (a->waiting && q->number == a->number)
        after_answer(a, now_ns);
}

/* The moment was as long ago as the READINGS were under way: what says that the run began earlier is nearer
 * to the truth. Clocks wander, so that later is believed, too, little by little. */
static void take_moment(struct gn_exchange_line *line, uint64_t moment_ns, uint64_t now_ns)
{
    enum { LITTLE = 16 };
    const uint64_t known_ns = atomic_load(&line->began_ns);
    if (moment_ns == 0 || moment_ns >= now_ns)
        return;
    const uint64_t began_ns = now_ns - moment_ns;
    atomic_store(&line->began_ns,
                 known_ns == 0 || began_ns < known_ns ? began_ns : known_ns + (began_ns - known_ns) / LITTLE);
}

static bool hear_question(struct gn_asking *a, struct gn_exchange_line *line, const struct gn_datagram *d,
                          const struct gn_reading *received, uint64_t now_ns)
{
    struct gn_exchange_question *q = question_of(a, d->number);
    if (!q || !q->asked.plain_ticks || (d->kind == GN_ANSWER ? q->answer : q->readings))
        return false;
    if (d->kind == GN_ANSWER) {
        q->answer = true;
        q->received = *received;
    } else {
        q->readings = true;
        q->heard_ticks = d->heard_ticks;
        q->answered_ticks = d->answered_ticks;
        take_moment(line, d->moment_ns, now_ns);
    }
    if (q->answer && q->readings)
        complete(a, line, q, now_ns);
    return true;
}

bool gn_asking_hear(struct gn_asking *a, struct gn_exchange_line *line, const struct gn_datagram *d,
                    const struct gn_reading *received, uint64_t now_ns)
{
    if (d->from != a->parent_index || d->session != a->session)
        return false;
    if (d->kind != GN_FAREWELL)
        return hear_question(a, line, d, received, now_ns);
    if (a->state != GN_ASKING_LEAVING || !question_of(a, d->number))
        return false;
    a->state = GN_ASKING_GONE;
    return true;
}
