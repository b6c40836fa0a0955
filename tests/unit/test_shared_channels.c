/*
 * The sort and threads that share a channel: small simulated programs with MPI_THREAD_MULTIPLE, whose truth
 * (which send each receive got) is known, delivered in many orders. All clocks are one.
 *
 *   - nothing is received before it was sent;
 *   - each send is received once;
 *   - whoever is not marked got the send that the sort says, on channels that are known to be shared; where
 *     calls do not overlap and posts say what they are for nobody is marked, nor, but for those that come
 *     before their turn live, where messages have numbers.
 *
 * The last one also where the sort has to guess (live, or out of patience) and where events were lost; a
 * guess may then join a receive to a later send, marked.
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
enum { ITEMS = 3, TAGS = 2, CHANNELS = RANKS * TAGS, MESSAGES = LOCATIONS * CALLS };
enum { SEND, ISEND, RECV, IRECV, WAIT, STARTALL, REGIONS };

struct manner {
    bool apart;   /* calls of a process do not overlap */
    bool unknown; /* a post does not say what it is for, as in archives of other tools */
    bool coarse;  /* several events have the same time */
    bool several; /* calls that start several messages */
    bool numbers; /* messages have them, as capture writes them */
    bool losses;  /* events of one thread are missing */
    bool live;
    uint32_t patience; /* 0: enough */
};

static bool must_guess(const struct manner *manner)
{
    return manner->live || manner->patience || manner->losses;
}

struct receive {
    int send; /* message; -1: none yet */
    uint64_t request, number;
    bool waits;
};

/* A message that a call sends or is to receive. */
struct item {
    bool sends;
    int channel, send; /* send: of what it sends the message */
    struct receive *receive;
    size_t at; /* its event */
    bool has_no_order;
};

enum phase { IDLE, ENTERED, DONE };

/* What a thread is doing. */
struct actor {
    enum phase phase;
    int what;
    struct item items[ITEMS];
    int item_count, done;
    unsigned sends, receives; /* left */
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
    bool has_no_order[MESSAGES];     /* it was sent in a call that overlapped with others on its channel */
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

static struct gn_event *say_message(struct world *w, uint32_t location, enum gn_event_kind kind, int channel)
{
    struct gn_event *e = say(w, location, kind, GN_NONE);
    e->comm = 0;
    e->peer = !rank_of(location);
    e->tag = (uint32_t)channel % TAGS;
    return e;
}

/* Sends and receives of a channel are as many: tags come in turn. */
static struct item choose(struct world *w, uint32_t location)
{
    const struct actor *a = &w->actors[location];
    const bool sends = a->sends > 0 && (a->receives == 0 || dice_chance(&w->dice, 0.5));
    const uint32_t to = sends ? !rank_of(location) : rank_of(location);
    return (struct item){.sends = sends,
                         .channel = (int)(to * TAGS + (sends ? a->sends : a->receives) % TAGS)};
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

static bool may_receive(const struct world *w, struct actor *a, int channel)
{
    if (a->what == RECV)
        return may_wait(w, a) || w->channels[channel].sends > w->channels[channel].posts;
    return free_request(a);
}

static void say_send(struct world *w, uint32_t location, struct item *item)
{
    struct actor *a = &w->actors[location];
    struct gn_event *e =
        say_message(w, location, a->what == SEND ? GN_EVENT_MPI_SEND : GN_EVENT_MPI_ISEND, item->channel);
    e->request = a->what == SEND ? 0 : location + LOCATIONS * (1000 + a->requests++);
    e->number = GN_UNNUMBERED;
    item->at = w->counts[location] - 1;
    item->send = w->messages;
    w->sends[w->messages++] = *e;
}

static void say_item(struct world *w, uint32_t location)
{
    struct actor *a = &w->actors[location];
    struct item *item = &a->items[a->done];
    if (item->sends)
        say_send(w, location, item);
    if (item->sends || a->what == RECV)
        return;
    struct gn_event *e = say(w, location, GN_EVENT_MPI_IRECV_REQUEST, GN_NONE);
    e->request = item->receive->request;
    if (!w->manner.unknown) {
        e->comm = 0;
        e->peer = !rank_of(location);
        e->tag = (uint32_t)item->channel % TAGS;
    }
}

/* False: it may not be started. */
static bool add_item(struct world *w, uint32_t location)
{
    struct actor *a = &w->actors[location];
    struct item item = choose(w, location);
    if (a->what != STARTALL) {
        const bool blocks = dice_chance(&w->dice, 0.5);
        a->what = item.sends ? (blocks ? SEND : ISEND) : (blocks ? RECV : IRECV);
    }
    if (!item.sends) {
        if (!may_receive(w, a, item.channel))
            return false;
        item.receive = a->what == RECV ? &a->own : free_request(a);
        item.receive->request = location + LOCATIONS * a->requests++;
        item.receive->send = -1;
        item.receive->waits = true;
    }
    a->receives -= !item.sends;
    a->sends -= item.sends;
    a->items[a->item_count++] = item;
    return true;
}

/* What was numbered before the calls were known to overlap. */
static void take_order(struct world *w, uint32_t location, struct item *item, bool is_done)
{
    item->has_no_order = true;
    if (!is_done)
        return;
    if (item->sends && w->manner.numbers) {
        w->events[location][item->at].number |= GN_NUMBER_UNORDERED;
        w->has_no_order[item->send] = true;
    } else if (!item->sends) {
        item->receive->number |= GN_NUMBER_UNORDERED;
    }
}

/* Calls that overlap and use the same channel have no order, which capture knows. */
static void overlap(struct world *w, uint32_t location)
{
    struct actor *a = &w->actors[location];
    for (uint32_t l = rank_of(location) * THREADS; l < (rank_of(location) + 1) * THREADS; l++) {
        struct actor *other = &w->actors[l];
        for (int i = 0; l != location && other->phase != IDLE && i < other->item_count; i++)
            for (int k = 0; k < a->item_count; k++)
                if (other->items[i].sends == a->items[k].sends &&
                    other->items[i].channel == a->items[k].channel) {
                    take_order(w, l, &other->items[i], i < other->done);
                    a->items[k].has_no_order = true;
                }
    }
}

static void begin(struct world *w, uint32_t location)
{
    struct actor *a = &w->actors[location];
    if (w->manner.apart && others_are_in_calls(w, location))
        return;
    a->call = NULL;
    a->item_count = a->done = 0;
    if (dice_chance(&w->dice, 0.4) || a->sends + a->receives == 0)
        a->call = open_request(w, a);
    a->what = a->call ? WAIT : w->manner.several && dice_chance(&w->dice, 0.4) ? STARTALL : SEND;
    for (int i = 0; !a->call && i < (a->what == STARTALL ? ITEMS : 1) && a->sends + a->receives > 0; i++)
        if (!add_item(w, location))
            break;
    if (!a->call && a->item_count == 0)
        return;
    a->phase = ENTERED;
    overlap(w, location);
    say(w, location, GN_EVENT_ENTER, (uint32_t)a->what);
    if (a->item_count > 0)
        say_item(w, location);
}

/* The library sends it, or takes it for a message that is to come. */
static void pass(struct world *w, uint32_t location, struct item *item)
{
    const int c = item->channel;
    const uint64_t flag = item->has_no_order ? GN_NUMBER_UNORDERED : 0;
    if (item->sends) {
        if (w->manner.numbers)
            w->events[location][item->at].number = (uint64_t)w->channels[c].sends | flag;
        w->has_no_order[item->send] = item->has_no_order && w->manner.numbers;
        w->channels[c].sent[w->channels[c].sends++] = item->send;
    } else {
        item->receive->number = (uint64_t)w->channels[c].posts | flag;
        w->channels[c].posted[w->channels[c].posts++] = item->receive;
    }
    match(w, c);
}

/* The library does the next thing of the call now. */
static void act(struct world *w, uint32_t location)
{
    struct actor *a = &w->actors[location];
    if (a->item_count > 0)
        pass(w, location, &a->items[a->done++]);
    if (a->done == a->item_count) {
        a->phase = DONE;
        if (a->what == RECV)
            a->call = &a->own;
    } else {
        say_item(w, location);
    }
}

static void complete(struct world *w, uint32_t location, struct receive *r)
{
    struct actor *a = &w->actors[location];
    const int channel = (int)w->sends[r->send].tag;
    struct gn_event *e =
        say_message(w, location, a->what == RECV ? GN_EVENT_MPI_RECV : GN_EVENT_MPI_IRECV, channel);
    e->request = a->what == RECV ? 0 : r->request;
    e->number = w->manner.numbers ? r->number : GN_UNNUMBERED;
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
    static const char *const names[REGIONS] = {"MPI_Send",  "MPI_Isend", "MPI_Recv",
                                               "MPI_Irecv", "MPI_Wait",  "MPI_Startall"};
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

/* Some events of a thread are missing; when, is known from those beside them. */
static void lose(struct world *w)
{
    const uint32_t l = dice_below(&w->dice, LOCATIONS);
    struct gn_event *events = w->events[l];
    const uint32_t count = (uint32_t)w->counts[l];
    const uint32_t from = dice_below(&w->dice, count), missing = 1 + dice_below(&w->dice, count - from);
    const bool at_begin = from > 0 && dice_chance(&w->dice, 0.5);
    const uint64_t ticks = at_begin ? events[from - 1].ticks : events[from + missing - 1].ticks;
    events[from] = gn_event_bare(GN_EVENT_LOST, l, ticks);
    events[from].request = missing;
    w->truth[l][from] = -1;
    memmove(&events[from + 1], &events[from + missing], (count - from - missing) * sizeof *events);
    memmove(&w->truth[l][from + 1], &w->truth[l][from + missing],
            (count - from - missing) * sizeof **w->truth);
    w->counts[l] -= missing - 1;
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
    if (manner.losses)
        lose(w);
}

/* ---- the sort ---- */

enum arrival { IN_TIME, BY_TIME, AT_RANDOM, ONE_BY_ONE, IN_BURSTS, ARRIVALS };

struct verdict {
    const struct world *w;
    struct gn_backward *backward;
    size_t seen[LOCATIONS];
    unsigned taken[MESSAGES]; /* by time of the send: how often it was received */
    unsigned early, wrong, marked, receives, unmatched, out_of_order, released;
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
    if (!(place->flags & GN_PLACE_RELEASED)) /* whose send comes later, which the mark says */
        gn_backward_see(v->backward, event);
    if (!receives(event))
        return 0;
    v->receives++;
    v->released += (place->flags & GN_PLACE_RELEASED) != 0;
    if (!(place->flags & GN_PLACE_CORRELATED)) {
        v->unmatched++;
        return 0;
    }
    const int send = message_at(v->w, place), truth = v->w->truth[event->location][at];
    const bool is_marked = place->flags & GN_PLACE_AMBIGUOUS;
    v->early += place->sent_ticks > event->ticks && !(is_marked && must_guess(&v->w->manner));
    v->marked += is_marked && !(event->number != GN_UNNUMBERED && event->number & GN_NUMBER_UNORDERED) &&
                 !(send >= 0 && v->w->has_no_order[send]);
    v->wrong += send != truth && !is_marked && has_shared(v->w, event);
    if (send >= 0)
        v->taken[send]++;
    return 0;
}

/* As causality/arrival has it: a loss comes right behind the event before it. */
static uint64_t time_of(const struct gn_event *events, size_t at)
{
    if (events[at].kind != GN_EVENT_LOST)
        return events[at].ticks;
    return at > 0 ? events[at - 1].ticks : 0;
}

static uint32_t first_in_time(const struct world *w, const size_t *next)
{
    uint32_t first = GN_NONE;
    for (uint32_t l = 0; l < LOCATIONS; l++)
        if (next[l] < w->counts[l] &&
            (first == GN_NONE || time_of(w->events[l], next[l]) < time_of(w->events[first], next[first])))
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
    const struct gn_order_settings settings = {
        .in_time = arrival == IN_TIME, .is_live = w->manner.live, .patience = w->manner.patience};
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
    const bool needs_no_mark = (w->manner.numbers && !w->manner.live) ||
                               (w->manner.apart && !w->manner.unknown && !must_guess(&w->manner));
    const unsigned marked = needs_no_mark && !w->manner.losses ? v->marked : 0;
    /* live, a message without which later ones of its channel have come was not recorded, unless its thread
     * was known to communicate */
    const unsigned unmatched = w->manner.losses || (w->manner.live && w->manner.numbers) ? 0 : v->unmatched;
    const uint64_t backward = w->manner.losses ? 0 : gn_backward_count(v->backward);
    assert_true(v->released == 0 || must_guess(&w->manner));
    gn_backward_close(v->backward);
    const unsigned wrong = w->manner.coarse ? 0 : v->wrong; /* which of two at the same time was first? */
    if (!all || v->out_of_order || v->early || wrong || unmatched || twice || marked || backward) {
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
    static struct manner several = {.several = true}, several_apart = {.apart = true, .several = true};
    static struct manner numbers = {.several = true, .numbers = true};
    static struct manner live = {.several = true, .live = true},
                         live_unknown = {.unknown = true, .live = true};
    static struct manner live_numbers = {.several = true, .numbers = true, .live = true};
    static struct manner impatient = {.several = true, .patience = 1};
    static struct manner impatient_live = {.several = true, .live = true, .patience = 5};
    static struct manner losses = {.several = true, .losses = true};
    static struct manner losses_live = {.several = true, .losses = true, .live = true};
    static struct manner losses_numbers = {.several = true, .numbers = true, .losses = true};
    const struct CMUnitTest tests[] = {
        {"calls that do not overlap", holds, NULL, NULL, &apart},
        {"… with posts that do not say what they are for", holds, NULL, NULL, &apart_unknown},
        {"calls that overlap", holds, NULL, NULL, &together},
        {"… with posts that do not say what they are for", holds, NULL, NULL, &together_unknown},
        {"a clock that does not tell neighbours apart", holds, NULL, NULL, &coarse},
        {"calls that start several messages", holds, NULL, NULL, &several},
        {"… and do not overlap", holds, NULL, NULL, &several_apart},
        {"messages with numbers", holds, NULL, NULL, &numbers},
        {"live", holds, NULL, NULL, &live},
        {"live, with posts that do not say what they are for", holds, NULL, NULL, &live_unknown},
        {"live, with numbers", holds, NULL, NULL, &live_numbers},
        {"out of patience", holds, NULL, NULL, &impatient},
        {"live, out of patience", holds, NULL, NULL, &impatient_live},
        {"events were lost", holds, NULL, NULL, &losses},
        {"events were lost live", holds, NULL, NULL, &losses_live},
        {"events were lost, messages have numbers", holds, NULL, NULL, &losses_numbers},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
