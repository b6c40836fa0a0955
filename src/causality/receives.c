#include "causality/order_inside.h"

#include <stdlib.h>

/*
 * Messages of a channel are taken by receives in the order in which these were posted, not in which they
 * complete. So a completed receive has its place in its channel only when no receive that was posted before
 * it, and is still open, could have taken a message of the same channel:
 *
 *   posted   r1(any source)   r2(source 3)          r3(source 4)
 *   done                      r2: deferred, r1      r3: r1 could, too: deferred
 *   done     r1(source 4)     …                     now r1 is the first of channel 4, r2 the first of 3, r3
 * the second of 4
 *
 * gnomon's own traces say at the post which messages it can take; other archives do not (OTF2 has no field
 * for it), so there every open receive is in the way. It is so for settings.patience events of the location;
 * then the open ones are no longer considered and what they held up comes out marked ambiguous.
 *
 * Threads of a process post into one list, that of its first location. Which of two was posted first is
 * certain only where the call of one had ended before that of the other began; of a blocking receive the call
 * ends with its completion. All others count in the order in which they are *due*: when they complete, or
 * when one does that was certainly posted after them. That is what a machine does with jobs that have
 * deadlines and precedences: if any order is possible in which nobody is complete before its message was
 * sent, this one is. An open receive of another thread that does not say what it is for is in nobody's way.
 */
enum {
    FRONT = 8,          /* receives of a location that are looked for one by one */
    OPEN_MOST = 1 << 20 /* an archive without completions: the oldest ones are forgotten */
};
#define NEVER UINT64_MAX

struct gn_post {
    struct gn_post *previous, *next; /* at its location, in posting order; next: also among spare ones */
    uint64_t request;
    uint32_t location, process;
    uint32_t comm, tag;        /* GN_NONE, GN_ANY: see struct gn_event */
    uint32_t from;             /* process, or GN_ANY */
    struct gn_vertex *receive; /* completed, not matched yet */
    struct gn_channel_key key; /* of receive */
    bool listed, named;        /* in the list of its location; in the map by its request */
    bool is_guess;             /* its place in the list may be another one */
    bool is_passed; /* others are counted before it although it is open, and may be ahead of them */
    /* of a process of several locations: the moments in which the call began and ended, and its number has to
     * be known, and the step in which it was posted */
    uint64_t began, ended, due, posted;
};

static struct gn_key map_key(uint32_t process, uint64_t request)
{
    return (struct gn_key){request, process};
}

/* In whose list the receives of a location are. */
static struct gn_location_state *home_of(const struct gn_order *order, uint32_t location)
{
    struct gn_location_state *state = &order->locations[location];
    return state->thread ? &order->locations[order->processes[state->process].first_location] : state;
}

/* The open receive with this request. Most complete in about the order in which they were posted, so it is
 * near the front of its location's list. */
static struct gn_post *find(const struct gn_order *order, uint32_t location, uint64_t request)
{
    const struct gn_location_state *here = home_of(order, location);
    struct gn_post *post = here->first_post;
    for (int i = 0; post && i < FRONT; post = post->next, i++)
        if (post->request == request && !post->receive)
            return post;
    return gn_map_find(&order->posts, map_key(here->process, request));
}

static struct gn_post *make(struct gn_order *order, const struct gn_post *what)
{
    struct gn_post *post = order->spare_posts;
    if (post)
        order->spare_posts = post->next;
    else if (!(post = malloc(sizeof *post)))
        return NULL;
    *post = *what;
    return post;
}

static void unmake(struct gn_order *order, struct gn_post *post)
{
    post->next = order->spare_posts;
    order->spare_posts = post;
}

static bool is_at_front(const struct gn_location_state *location)
{
    const struct gn_post *post = location->first_post;
    for (int i = 0; i < FRONT; post = post->next, i++)
        if (!post)
            return true;
    return false;
}

/* Open, and not known to be for one channel only. */
static bool is_vague(const struct gn_post *post)
{
    return !post->receive && (post->comm == GN_NONE || post->from == GN_ANY || post->tag == GN_ANY);
}

static void append(struct gn_location_state *location, struct gn_post *post)
{
    location->vague_receives += is_vague(post);
    location->posts++;
    post->listed = true;
    post->next = NULL;
    post->previous = location->last_post;
    if (location->last_post)
        location->last_post->next = post;
    else
        location->first_post = post;
    location->last_post = post;
}

static void unlist(struct gn_location_state *location, struct gn_post *post)
{
    if (!post->listed)
        return;
    location->vague_receives -= is_vague(post);
    location->posts--;
    post->listed = false;
    if (post->previous)
        post->previous->next = post->next;
    else
        location->first_post = post->next;
    if (post->next)
        post->next->previous = post->previous;
    else
        location->last_post = post->previous;
}

/* The channel whose next message an open receive takes that does not lie between several; NULL: no memory. */
static struct gn_channel *channel_of(struct gn_order *order, const struct gn_post *post)
{
    return gn_channel_find(order, &(struct gn_channel_key){post->comm, post->from, post->process, post->tag});
}

static int pass_by(struct gn_order *order, struct gn_post *post)
{
    if (post->from >= order->process_count) /* definitions that do not fit */
        post->from = GN_ANY;
    struct gn_channel *channel = is_vague(post) ? NULL : channel_of(order, post);
    if (!channel && !is_vague(post))
        return -ENOMEM;
    post->is_passed = true;
    if (channel)
        channel->passed++;
    else
        gn_process_of(order, post->process)->passed_receives++;
    return 0;
}

static void take_back(struct gn_order *order, struct gn_post *post)
{
    if (is_vague(post))
        gn_process_of(order, post->process)->passed_receives--;
    else
        channel_of(order, post)->passed--; /* it is there: channels in use are not swept away */
}

static void forget(struct gn_order *order, struct gn_post *post)
{
    if (post->is_passed)
        take_back(order, post);
    unlist(home_of(order, post->location), post);
    if (post->named)
        gn_map_remove(&order->posts, map_key(post->process, post->request));
    if (post->ended == NEVER)
        gn_thread_unposts(order, post->location, post);
    unmake(order, post);
}

/* Whether the earlier receive could have taken a message of the channel before the later one did. */
static bool is_in_the_way(const struct gn_post *earlier, const struct gn_channel_key *key)
{
    if (earlier->receive)
        return earlier->key.comm == key->comm && earlier->key.from == key->from &&
               earlier->key.to == key->to && earlier->key.tag == key->tag;
    return (earlier->comm == GN_NONE || earlier->comm == key->comm) &&
           (earlier->from == GN_ANY || earlier->from == key->from) &&
           (earlier->tag == GN_ANY || earlier->tag == key->tag);
}

static bool is_posted_before(const struct gn_post *one, const struct gn_post *other)
{
    return one->location == other->location ? one->posted < other->posted : one->ended < other->began;
}

/* What another thread has open, and does not say what for, is in nobody's way. */
static bool concerns(const struct gn_post *other, const struct gn_post *post)
{
    return other != post && is_in_the_way(other, &post->key) &&
           (other->receive || other->comm != GN_NONE || other->location == post->location);
}

static bool is_due_before(const struct gn_post *one, const struct gn_post *other)
{
    return one->due != other->due ? one->due < other->due : one->posted < other->posted;
}

static bool is_deferred_by(const struct gn_post *post, const struct gn_post *other)
{
    if (!concerns(other, post))
        return false;
    return is_posted_before(other, post) ||
           (other->receive && is_due_before(other, post) && !is_posted_before(post, other));
}

static bool is_deferred(const struct gn_order *order, const struct gn_post *post)
{
    const struct gn_location_state *home = home_of(order, post->location);
    if (home->thread) {
        for (const struct gn_post *other = home->first_post; other; other = other->next)
            if (is_deferred_by(post, other))
                return true;
        return false;
    }
    for (const struct gn_post *earlier = post->previous; earlier; earlier = earlier->previous)
        if (is_in_the_way(earlier, &post->key))
            return true;
    return false;
}

/* ---- receives of several threads ---- */

/* The receive has completed in this step. */
static int fall_due(struct gn_order *order, struct gn_post *post)
{
    const struct gn_location_state *home = home_of(order, post->location);
    struct gn_channel *channel = home->thread ? gn_channel_find(order, &post->key) : NULL;
    if (!channel)
        return home->thread ? -ENOMEM : 0;
    gn_channel_has_receiver(channel, post->location);
    post->due = order->processes[post->process].moment;
    for (struct gn_post *other = home->first_post; other; other = other->next) {
        if (other == post || !other->receive || !is_in_the_way(other, &post->key))
            continue;
        if (is_posted_before(other, post) && post->due < other->due)
            other->due = post->due;
        if (is_posted_before(post, other) && other->due < post->due)
            post->due = other->due;
    }
    return 0;
}

/* Whether another receive may have been posted before it, or it before another one, which is then marked. */
static bool is_open(struct gn_order *order, struct gn_channel *channel, const struct gn_post *post)
{
    const uint64_t now = order->processes[post->process].moment;
    const bool is_late = post->receive->event.number == GN_NUMBER_LATER;
    bool is_open = gn_thread_receives(order, channel, post->location, is_late, post->began,
                                      post->ended == NEVER ? now : post->ended);
    for (struct gn_post *other = home_of(order, post->location)->first_post; other; other = other->next) {
        if (other == post || !is_in_the_way(other, &post->key) || is_posted_before(post, other))
            continue;
        if (!concerns(other, post)) { /* it may be for this channel, if threads use that together */
            is_open |= channel->has_receivers;
        } else if (!is_posted_before(other, post)) {
            is_open = true;
            if (other->receive)
                other->receive->is_open = true;
        }
    }
    return is_open;
}

void gn_post_ended(struct gn_post *post, uint64_t moment, bool is_guess)
{
    post->ended = moment;
    post->is_guess |= is_guess;
}

/* ---- numbers ---- */

/* Gives the receive its place in the channel; the post is gone. The receive still counts one wait for this.
 */
static int match_now(struct gn_order *order, struct gn_post *post)
{
    struct gn_vertex *receive = post->receive;
    struct gn_channel_key key = post->key;
    if (order->locations[post->location].thread) {
        struct gn_channel *channel = gn_channel_find(order, &key);
        if (!channel)
            return -ENOMEM;
        const uint64_t number = receive->event.number;
        const bool is_counted = number != GN_UNNUMBERED && number != GN_NUMBER_LATER;
        const bool is_overlapped = is_open(order, channel, post);
        receive->is_open |= post->is_guess || (is_counted ? number & GN_NUMBER_UNORDERED : is_overlapped);
    }
    forget(order, post);
    int code = gn_channels_receive(order, receive, &key);
    gn_vertex_settled(order, receive);
    return code;
}

/* Something left the list: receives after it may have their place now; of several threads, any. True: some
 * have. */
static bool resolve_once(struct gn_order *order, struct gn_location_state *location, int *code)
{
    bool any = false;
    for (struct gn_post *post = location->first_post, *next; post && location->deferred_receives;
         post = next) {
        next = post->next;
        if (!post->receive || is_deferred(order, post))
            continue;
        any = true;
        location->deferred_receives--;
        location->deferred_since = location->observed;
        int failed = match_now(order, post);
        *code = *code ? *code : failed;
    }
    return any;
}

static int resolve(struct gn_order *order, struct gn_location_state *location)
{
    int code = 0;
    while (resolve_once(order, location, &code) && location->thread && code == 0)
        ;
    return code;
}

/* Its location is told when another one is in the way: then that may be silent. */
static void defer(struct gn_order *order, const struct gn_vertex *receive)
{
    struct gn_location_state *here = &order->locations[receive->event.location];
    struct gn_location_state *location = home_of(order, receive->event.location);
    here->waits_elsewhere |= location != here;
    if (location->deferred_receives++ == 0)
        location->deferred_since = location->observed;
}

/* Its completion was never recorded, and its number has been given out again. */
static int forget_earlier(struct gn_order *order, const struct gn_event *event)
{
    struct gn_post *known = find(order, event->location, event->request);
    if (!known)
        return 0;
    struct gn_location_state *home = home_of(order, known->location);
    forget(order, known);
    return resolve(order, home);
}

static uint32_t source_of(const struct gn_order *order, const struct gn_event *event, uint32_t process)
{
    if (event->comm == GN_NONE || event->peer == GN_ANY)
        return GN_ANY;
    uint32_t from = gn_comm_peer(order->definitions, event->comm, process, event->peer);
    return from == GN_NONE ? GN_ANY : from;
}

/* What its process's other threads have to know of it. */
static int place_in_time(struct gn_order *order, struct gn_post *post)
{
    if (!order->locations[post->location].thread)
        return 0;
    post->began = gn_thread_began(order, post->location);
    post->posted = order->processes[post->process].step;
    post->ended = post->due = NEVER;
    post->is_guess = gn_thread_guesses(order, post->location);
    return gn_thread_posts(order, post->location, post);
}

/* As if it had been passed over, but nobody will know it when it completes. */
static int forget_oldest(struct gn_order *order, struct gn_location_state *home)
{
    struct gn_post *post = home->first_post;
    while (post && post->receive)
        post = post->next;
    if (!post)
        return 0;
    gn_process_of(order, post->process)->forgets_receives = true;
    forget(order, post);
    return resolve(order, home);
}

int gn_receive_posted(struct gn_order *order, const struct gn_event *event)
{
    struct gn_location_state *location = home_of(order, event->location);
    uint32_t process = location->process;
    if (process >= order->process_count)
        return 0;
    int code = forget_earlier(order, event);
    struct gn_post *post = make(order, &(struct gn_post){.request = event->request,
                                                         .location = event->location,
                                                         .process = process,
                                                         .comm = event->comm,
                                                         .tag = event->tag == GN_NONE ? GN_ANY : event->tag,
                                                         .from = source_of(order, event, process)});
    if (!post)
        return -ENOMEM;
    /* another thread of the process may complete it */
    post->named = order->processes[process].locations > 1 || !is_at_front(location);
    if (post->named && !gn_map_add(&order->posts, map_key(process, event->request), post)) {
        unmake(order, post);
        return -ENOMEM;
    }
    append(location, post);
    if (code == 0 && location->posts > OPEN_MOST)
        code = forget_oldest(order, location);
    return code ? code : place_in_time(order, post);
}

/* All of them were posted before anything that another location does from here on. */
bool gn_receives_share(struct gn_order *order, uint32_t location)
{
    struct gn_location_state *state = &order->locations[location];
    for (struct gn_post *post = state->first_post; post; post = post->next) {
        post->posted = ++order->processes[state->process].step;
        post->due = post->receive ? 0 : NEVER;
        if (post->named || post->receive)
            continue;
        if (!gn_map_add(&order->posts, map_key(post->process, post->request), post))
            return false;
        post->named = true;
    }
    return true;
}

void gn_receives_doubt(struct gn_order *order, uint32_t location)
{
    for (struct gn_post *post = home_of(order, location)->first_post; post; post = post->next)
        post->is_guess |= post->location != location;
}

/* A receive that was never posted, as far as we know: a blocking one, or one whose post was lost. */
static int complete_unposted(struct gn_order *order, struct gn_vertex *receive,
                             const struct gn_channel_key *key)
{
    struct gn_location_state *location = home_of(order, receive->event.location);
    if (receive->event.kind == GN_EVENT_MPI_IRECV)
        receive->is_open |= order->processes[location->process].forgets_receives;
    if (!location->first_post && !location->thread)
        return gn_channels_receive(order, receive, key);
    struct gn_post *post = make(order, &(struct gn_post){.location = receive->event.location,
                                                         .process = location->process,
                                                         .receive = receive,
                                                         .key = *key});
    if (!post)
        return -ENOMEM;
    append(location, post);
    receive->waits++;
    if (location->thread) { /* a call that completes what it posts ends no later */
        post->began = gn_thread_began(order, post->location);
        post->posted = order->processes[post->process].step;
        post->ended = order->processes[post->process].moment;
        if (fall_due(order, post) != 0)
            return -ENOMEM;
    }
    if (is_deferred(order, post)) {
        defer(order, receive);
        return 0;
    }
    int code = match_now(order, post);
    int failed = location->thread ? resolve(order, location) : 0;
    return code ? code : failed;
}

static int complete_posted(struct gn_order *order, struct gn_post *post, struct gn_vertex *receive,
                           const struct gn_channel_key *key)
{
    struct gn_location_state *location = home_of(order, post->location);
    if (!post->listed) { /* given up: others have passed it */
        receive->is_open = true;
        forget(order, post);
        return gn_channels_receive(order, receive, key);
    }
    if (post->named)
        gn_map_remove(&order->posts, map_key(post->process, post->request));
    post->named = false;
    location->vague_receives -= is_vague(post);
    post->receive = receive;
    post->key = *key;
    receive->waits++;
    if (fall_due(order, post) != 0)
        return -ENOMEM;
    if (is_deferred(order, post)) { /* it still stands in the way of its own channel only */
        order->locations[receive->event.location].waits_elsewhere |=
            post->location != receive->event.location;
        defer(order, receive);
        return location->deferred_receives > 1 ? resolve(order, location) : 0;
    }
    int code = match_now(order, post);
    int failed = resolve(order, location);
    return code ? code : failed;
}

int gn_receive_completed(struct gn_order *order, struct gn_vertex *receive)
{
    struct gn_channel_key key;
    const struct gn_event *event = &receive->event;
    struct gn_post *post = NULL;
    if (event->kind == GN_EVENT_MPI_IRECV)
        post = find(order, event->location, event->request);
    if (!gn_channel_key_of(order, event, false, &key)) {
        order->stats.contradictions++;
        if (post) /* it will not complete again */
            gn_receive_cancelled(order, event);
        return 0;
    }
    return post ? complete_posted(order, post, receive, &key) : complete_unposted(order, receive, &key);
}

void gn_receive_cancelled(struct gn_order *order, const struct gn_event *event)
{
    struct gn_post *post = find(order, event->location, event->request);
    if (!post)
        return;
    struct gn_location_state *home = home_of(order, post->location);
    forget(order, post);
    resolve(order, home);
}

int gn_receive_heard(struct gn_order *order, const struct gn_event *event)
{
    if (event->kind == GN_EVENT_MPI_IRECV_REQUEST)
        return gn_receive_posted(order, event);
    if (event->kind == GN_EVENT_MPI_REQUEST_CANCELLED)
        gn_receive_cancelled(order, event);
    return 0;
}

/* Out of the list, so that it is in nobody's way, but to be known when it completes after all. */
static void pass_over(struct gn_order *order, struct gn_post *post)
{
    unlist(home_of(order, post->location), post);
    if (pass_by(order, post) != 0)
        order->stopped = -ENOMEM;
    if (!post->named && !gn_map_add(&order->posts, map_key(post->process, post->request), post))
        unmake(order, post);
    else
        post->named = true;
}

static void give_up(struct gn_order *order, struct gn_location_state *location)
{
    for (struct gn_post *post = location->first_post, *next; post; post = next) {
        next = post->next;
        if (post->receive)
            post->receive->is_low = true;
        else
            pass_over(order, post);
    }
    resolve(order, location);
}

void gn_receives_hurry(struct gn_order *order, struct gn_location_state *location)
{
    uint64_t patience = order->settings.patience;
    if (location->vague_receives == 0 &&
        !order->numbers) /* all know what they wait for: only one that never completes is a reason */
        patience *= 100;
    if (location->observed - location->deferred_since > patience)
        give_up(order, location);
}

/* Whether an open receive of the location, none of which will complete, is before this one. */
static bool is_behind_open(const struct gn_location_state *home, uint32_t location,
                           const struct gn_post *done)
{
    for (const struct gn_post *post = home->first_post; post; post = post->next)
        if (post->location == location && !post->receive &&
            (done->location == location || is_in_the_way(post, &done->key)))
            return true;
    return false;
}

void gn_receives_end(struct gn_order *order, uint32_t location)
{
    struct gn_location_state *home = home_of(order, location);
    for (struct gn_post *post = home->first_post; post && home->deferred_receives; post = post->next)
        if (post->receive)
            post->receive->is_low |= is_behind_open(home, location, post);
    for (struct gn_post *post = home->first_post, *next; post; post = next) {
        next = post->next;
        if (post->location == location && !post->receive)
            forget(order, post);
    }
    resolve(order, home);
}

void gn_receives_forget(struct gn_order *order)
{
    for (size_t i = 0; i < order->posts.size; i++)
        free(order->posts.slots[i].value); /* passed over, all others are over */
    gn_map_clear(&order->posts);
}

static void free_list(struct gn_post *post)
{
    for (struct gn_post *next; post; post = next) {
        next = post->next;
        free(post);
    }
}

void gn_receives_close(struct gn_order *order)
{
    for (size_t i = 0; i < order->posts.size; i++) {
        struct gn_post *post = order->posts.slots[i].value;
        if (post && !post->listed)
            free(post);
    }
    gn_map_clear(&order->posts);
    for (size_t i = 0; i < order->location_count; i++)
        free_list(order->locations[i].first_post);
    free_list(order->spare_posts);
}
