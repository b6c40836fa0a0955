/*
 * The sort and threads that share a channel: small simulated programs with MPI_THREAD_MULTIPLE, whose truth
 * (which send each receive got) is known, delivered in many orders. All clocks are one.
 *
 *   - nothing is received before it was sent;
 *   - each send is received once;
 *   - whoever is not marked got the send that the sort says, on channels that are known to be shared; where
 *     calls do not overlap and posts say what they are for nobody is marked.
 *
 * GNOMON_TEST_SEED=n runs one seed, as a failure prints it.
 */
#include "causality/backward.h"
#include "causality/order.h"
#include "order_execution.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 2, THREADS = 4, LOCATIONS = RANKS * THREADS, CALLS = 12, EVENTS = 8 * CALLS, OPEN = 4 };
enum { TAGS = 2, CHANNELS = RANKS * TAGS, MESSAGES = LOCATIONS * CALLS };
enum { SEND, ISEND, RECV, IRECV, WAIT, REGIONS };

struct manner {
    bool apart;   /* calls of a process do not overlap */
    bool unknown; /* a post does not say what it is for, as in archives of other tools */
    bool coarse;  /* several events have the same time */
};

struct receive {
    int send; /* message; -1: none yet */
    uint64_t request;
    bool waits;
};

enum phase { IDLE, ENTERED, DONE };

/* What a thread is doing. */
struct actor {
    enum phase phase;
    int what, channel;
    unsigned sends, receives; /* calls left */
    struct receive *call, open[OPEN], own;
    uint64_t requests;
};

struct world {
    struct manner manner;
    uint64_t dice, now;
    struct gn_definitions *d;
    struct gn_event events[LOCATIONS][EVENTS];
    int truth[LOCATIONS][EVENTS]; /* of a receive: the message */
    size_t counts[LOCATIONS];
    struct actor actors[LOCATIONS];
    struct {
        int sent[MESSAGES], taken, sends; /* messages in the order in which the library got them */
        struct receive *posted[MESSAGES]; /* … receives */
        int posts;
    } channels[CHANNELS];
    struct gn_event sends[MESSAGES]; /* the event of each message */
    int messages;
};

/* ---- a program ---- */

static uint32_t rank_of(uint32_t location)
{
    return location / THREADS;
}

static struct gn_event *say(struct world *w, uint32_t location, enum gn_event_kind kind, uint32_t region)
{
    const size_t at = w->counts[location]++;
    assert_true(at < EVENTS);
    w->events[location][at] = gn_event_bare(kind, location, ++w->now / (w->manner.coarse ? 3 : 1) + 1);
    w->events[location][at].region = region;
    w->truth[location][at] = -1;
    return &w->events[location][at];
}

static struct gn_event *say_message(struct world *w, uint32_t location, enum gn_event_kind kind)
{
    struct gn_event *e = say(w, location, kind, GN_NONE);
    e->comm = 0;
    e->peer = !rank_of(location);
    e->tag = (uint32_t)w->actors[location].channel % TAGS;
    return e;
}

/* Sends and receives of a channel are as many: tags come in turn. */
static void choose(struct world *w, uint32_t location)
{
    struct actor *a = &w->actors[location];
    const bool sends = a->sends > 0 && (a->receives == 0 || dice_chance(&w->dice, 0.5));
    const bool blocks = dice_chance(&w->dice, 0.5);
    const uint32_t to = sends ? !rank_of(location) : rank_of(location);
    a->channel = (int)(to * TAGS + (sends ? a->sends : a->receives) % TAGS);
    a->what = sends ? (blocks ? SEND : ISEND) : (blocks ? RECV : IRECV);
}

static bool is_matched(const struct receive *r)
{
    return r->send >= 0;
}

static void match(struct world *w, int channel)
{
    while (w->channels[channel].taken < w->channels[channel].sends &&
           w->channels[channel].taken < w->channels[channel].posts) {
        const int n = w->channels[channel].taken++;
        w->channels[channel].posted[n]->send = w->channels[channel].sent[n];
    }
}

static bool others_are_in_calls(const struct world *w, uint32_t location)
{
    for (uint32_t l = rank_of(location) * THREADS; l < (rank_of(location) + 1) * THREADS; l++)
        if (l != location && w->actors[l].phase != IDLE)
            return true;
    return false;
}

static struct receive *free_request(struct actor *a)
{
    for (int i = 0; i < OPEN; i++)
        if (!a->open[i].waits)
            return &a->open[i];
    return NULL;
}

/* Whoever has sent all may wait for others; alone in its process, only if it need not. */
static bool may_wait(const struct world *w, const struct actor *a)
{
    return a->sends == 0 && !w->manner.apart;
}

static struct receive *open_request(struct world *w, struct actor *a)
{
    const uint32_t first = dice_below(&w->dice, OPEN);
    for (uint32_t i = 0; i < OPEN; i++) {
        struct receive *r = &a->open[(first + i) % OPEN];
        if (r->waits && (is_matched(r) || may_wait(w, a)))
            return r;
    }
    return NULL;
}

static bool may_begin(const struct world *w, struct actor *a)
{
    if (a->what == RECV)
        return may_wait(w, a) || w->channels[a->channel].sends > w->channels[a->channel].posts;
    return a->what != IRECV || free_request(a);
}

static void begin(struct world *w, uint32_t location)
{
    struct actor *a = &w->actors[location];
    if (w->manner.apart && others_are_in_calls(w, location))
        return;
    a->call = NULL;
    if (dice_chance(&w->dice, 0.4) || a->sends + a->receives == 0)
        a->call = open_request(w, a);
    if (a->call) {
        a->what = WAIT;
    } else if (a->sends + a->receives > 0) {
        choose(w, location);
        const bool receives = a->what == RECV || a->what == IRECV;
        if (!may_begin(w, a))
            return;
        a->receives -= receives;
        a->sends -= !receives;
    } else {
        return;
    }
    a->phase = ENTERED;
    say(w, location, GN_EVENT_ENTER, (uint32_t)a->what);
    if (a->what == SEND || a->what == ISEND) {
        struct gn_event *e =
            say_message(w, location, a->what == SEND ? GN_EVENT_MPI_SEND : GN_EVENT_MPI_ISEND);
        e->request = a->what == ISEND ? location + LOCATIONS * (1000 + a->requests++) : 0;
        w->sends[w->messages] = *e;
        a->own.send = w->messages++;
    }
    if (a->what == IRECV) {
        a->call = free_request(a);
        a->call->request = location + LOCATIONS * a->requests++;
        struct gn_event *e = say(w, location, GN_EVENT_MPI_IRECV_REQUEST, GN_NONE);
        e->request = a->call->request;
        if (!w->manner.unknown) {
            e->comm = 0;
            e->peer = !rank_of(location);
            e->tag = (uint32_t)a->channel % TAGS;
        }
    }
}

/* The library does it now. */
static void act(struct world *w, uint32_t location)
{
    struct actor *a = &w->actors[location];
    const int c = a->channel;
    a->phase = DONE;
    if (a->what == SEND || a->what == ISEND) {
        w->channels[c].sent[w->channels[c].sends++] = a->own.send;
    } else if (a->what == RECV || a->what == IRECV) {
        a->call = a->what == RECV ? &a->own : a->call;
        a->call->send = -1;
        a->call->waits = true;
        w->channels[c].posted[w->channels[c].posts++] = a->call;
    }
    match(w, c);
}

static void complete(struct world *w, uint32_t location, struct receive *r)
{
    struct actor *a = &w->actors[location];
    const struct gn_event *send = &w->sends[r->send];
    a->channel = (int)send->tag;
    struct gn_event *e = say_message(w, location, a->what == RECV ? GN_EVENT_MPI_RECV : GN_EVENT_MPI_IRECV);
    e->request = a->what == RECV ? 0 : r->request;
    w->truth[location][w->counts[location] - 1] = r->send;
    r->waits = false;
}

static void finish(struct world *w, uint32_t location)
{
    struct actor *a = &w->actors[location];
    if ((a->what == RECV || a->what == WAIT) && !is_matched(a->call))
        return;
    if (a->what == RECV || a->what == WAIT)
        complete(w, location, a->call);
    say(w, location, GN_EVENT_LEAVE, (uint32_t)a->what);
    a->phase = IDLE;
}

static bool is_over(const struct actor *a)
{
    bool waits = a->phase != IDLE;
    for (int i = 0; i < OPEN; i++)
        waits |= a->open[i].waits;
    return !waits && a->sends + a->receives == 0;
}

static bool all_are_over(const struct world *w)
{
    for (uint32_t l = 0; l < LOCATIONS; l++)
        if (!is_over(&w->actors[l]))
            return false;
    return true;
}

static void define(struct world *w)
{
    static const char *const names[REGIONS] = {"MPI_Send", "MPI_Isend", "MPI_Recv", "MPI_Irecv", "MPI_Wait"};
    w->d = gn_definitions_new();
    assert_non_null(w->d);
    for (uint32_t r = 0; r < REGIONS; r++)
        gn_define_region(
            w->d, &(struct gn_region_def){.name = gn_define_string(w->d, names[r]), .role = GN_ROLE_MPI});
    for (uint32_t p = 0; p < RANKS; p++)
        gn_define_process(w->d, &(struct gn_process){0, GN_NONE, GN_NONE, (int32_t)p});
    for (uint32_t l = 0; l < LOCATIONS; l++)
        gn_define_location(w->d, &(struct gn_location_def){0, rank_of(l), 0, 0, UINT64_MAX, 0});
    gn_define_comm(
        w->d, &(struct gn_comm_def){.parent = GN_NONE, .member_count = RANKS, .members = (uint32_t[]){0, 1}});
}

static void run(struct world *w, struct manner manner, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    w->manner = manner;
    w->dice = seed;
    define(w);
    for (uint32_t l = 0; l < LOCATIONS; l++)
        w->actors[l].sends = w->actors[l].receives = CALLS / 2;
    while (!all_are_over(w)) {
        const uint32_t l = dice_below(&w->dice, LOCATIONS);
        struct actor *a = &w->actors[l];
        if (a->phase == IDLE)
            begin(w, l);
        else if (a->phase == ENTERED)
            act(w, l);
        else
            finish(w, l);
    }
}

/* ---- the sort ---- */

enum arrival { IN_TIME, BY_TIME, AT_RANDOM, ONE_BY_ONE, IN_BURSTS, ARRIVALS };

struct verdict {
    const struct world *w;
    struct gn_backward *backward;
    size_t seen[LOCATIONS];
    unsigned taken[MESSAGES]; /* by time of the send: how often it was received */
    unsigned early, wrong, marked, receives, unmatched, out_of_order;
};

static int message_at(const struct world *w, const struct gn_place *place)
{
    for (int m = 0; m < w->messages; m++)
        if (w->sends[m].location == place->sender && w->sends[m].ticks == place->sent_ticks)
            return m;
    return -1;
}

static bool receives(const struct gn_event *e)
{
    return e->kind == GN_EVENT_MPI_RECV || e->kind == GN_EVENT_MPI_IRECV;
}

/* Whether two threads have received on the channel by now: before, nobody knows that they will. */
static bool has_shared(const struct world *w, const struct gn_event *receive)
{
    const uint32_t first = rank_of(receive->location) * THREADS;
    unsigned users = 0;
    for (uint32_t l = first; l < first + THREADS; l++) {
        bool uses = false;
        for (size_t i = 0; i < w->counts[l]; i++)
            uses |= receives(&w->events[l][i]) && w->events[l][i].tag == receive->tag &&
                    w->events[l][i].ticks < receive->ticks;
        users += uses;
    }
    return users > 1;
}

static int take(void *self, const struct gn_event *event, const struct gn_place *place)
{
    struct verdict *v = self;
    const size_t at = v->seen[event->location]++;
    v->out_of_order += memcmp(event, &v->w->events[event->location][at], sizeof *event) != 0;
    gn_backward_see(v->backward, event);
    if (!receives(event))
        return 0;
    v->receives++;
    if (!(place->flags & GN_PLACE_CORRELATED)) {
        v->unmatched++;
        return 0;
    }
    const int send = message_at(v->w, place), truth = v->w->truth[event->location][at];
    v->early += place->sent_ticks > event->ticks;
    v->marked += (place->flags & GN_PLACE_AMBIGUOUS) != 0;
    v->wrong += send != truth && !(place->flags & GN_PLACE_AMBIGUOUS) && has_shared(v->w, event);
    if (send >= 0)
        v->taken[send]++;
    return 0;
}

static uint32_t first_in_time(const struct world *w, const size_t *next)
{
    uint32_t first = GN_NONE;
    for (uint32_t l = 0; l < LOCATIONS; l++)
        if (next[l] < w->counts[l] &&
            (first == GN_NONE || w->events[l][next[l]].ticks < w->events[first][next[first]].ticks))
            first = l;
    return first;
}

static uint32_t next_location(const struct world *w, enum arrival arrival, const size_t *next,
                              uint64_t *dice_at, uint32_t last)
{
    if (arrival == IN_TIME || arrival == BY_TIME)
        return first_in_time(w, next);
    if (arrival == IN_BURSTS && last != GN_NONE && next[last] < w->counts[last] && !dice_chance(dice_at, 0.1))
        return last;
    uint32_t l = arrival == ONE_BY_ONE ? LOCATIONS - 1 : dice_below(dice_at, LOCATIONS);
    while (next[l] >= w->counts[l])
        l = (l + LOCATIONS - 1) % LOCATIONS;
    return l;
}

static struct verdict sort(const struct world *w, enum arrival arrival, uint64_t seed)
{
    struct verdict v = {.w = w, .backward = gn_backward_open(w->d)};
    const struct gn_order_sink sink = {&v, take};
    const struct gn_order_settings settings = {.in_time = arrival == IN_TIME};
    struct gn_order *order;
    size_t next[LOCATIONS] = {0}, left = 0;
    uint32_t last = GN_NONE;
    assert_int_equal(gn_order_open(&order, w->d, &settings, &sink, NULL), 0);
    for (uint32_t l = 0; l < LOCATIONS; l++)
        left += w->counts[l];
    for (; left > 0; left--) {
        last = next_location(w, arrival, next, &seed, last);
        assert_int_equal(gn_order_push(order, &w->events[last][next[last]++]), 0);
        if (next[last] == w->counts[last] && dice_chance(&seed, 0.5))
            assert_int_equal(gn_order_end(order, last), 0);
    }
    assert_int_equal(gn_order_finish(order), 0);
    gn_order_close(order);
    return v;
}

static void judge(const struct world *w, struct verdict *v, enum arrival arrival, uint64_t seed)
{
    static const char *const names[] = {"in time", "by time", "at random", "one by one", "in bursts"};
    unsigned twice = 0;
    bool all = true;
    for (uint32_t l = 0; l < LOCATIONS; l++)
        all = all && v->seen[l] == w->counts[l];
    for (int m = 0; m < w->messages && !w->manner.coarse; m++)
        twice += v->taken[m] > 1;
    const unsigned marked = w->manner.apart && !w->manner.unknown ? v->marked : 0;
    const uint64_t backward = gn_backward_count(v->backward);
    gn_backward_close(v->backward);
    const unsigned wrong = w->manner.coarse ? 0 : v->wrong; /* which of two at the same time was first? */
    if (!all || v->out_of_order || v->early || wrong || v->unmatched || twice || marked || backward) {
        print_message(
            "seed %llu, arrival %s: of %u receives %u early, %u wrong, %u unmatched, %u marked, %u sends "
            "received twice, %llu backward\n",
            (unsigned long long)seed, names[arrival], v->receives, v->early, v->wrong, v->unmatched,
            v->marked, twice, (unsigned long long)backward);
        fail();
    }
}

static void holds(void **state)
{
    static struct world w;
    const char *only = getenv("GNOMON_TEST_SEED");
    const uint64_t first = only ? strtoull(only, NULL, 10) : 1, last = only ? first : SEEDS;
    uint64_t receives = 0, marked = 0;
    for (uint64_t seed = first; seed <= last; seed++) {
        run(&w, *(const struct manner *)*state, seed);
        for (enum arrival arrival = 0; arrival < ARRIVALS; arrival++) {
            struct verdict v = sort(&w, arrival, ~seed);
            judge(&w, &v, arrival, seed);
            receives += v.receives;
            marked += v.marked;
        }
        gn_definitions_free(w.d);
    }
    print_message("%llu receives, %llu of them marked\n", (unsigned long long)receives,
                  (unsigned long long)marked);
    assert_true(receives > 0);
}

int main(void)
{
    static struct manner apart = {.apart = true}, apart_unknown = {.apart = true, .unknown = true};
    static struct manner together = {.apart = false}, together_unknown = {.unknown = true};
    static struct manner coarse = {.coarse = true};
    const struct CMUnitTest tests[] = {
        {"calls that do not overlap", holds, NULL, NULL, &apart},
        {"… with posts that do not say what they are for", holds, NULL, NULL, &apart_unknown},
        {"calls that overlap", holds, NULL, NULL, &together},
        {"… with posts that do not say what they are for", holds, NULL, NULL, &together_unknown},
        {"a clock that does not tell neighbours apart", holds, NULL, NULL, &coarse},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
