#include "repair/extract_inside.h"

#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>

/*
 * Messages of a channel are taken by receives in the order in which these were posted. So posts stand in a
 * row in that order, and numbers are given from its front, as far as all are complete. Nobody waits for the
 * numbers, so it does not matter that a receive for another channel holds them up; what matters is a post
 * that stays open while too many others wait behind it. It is passed over:
 *
 *   its post said which channel    it keeps the number that is its own, and is in nobody's way
 *   it did not                     it gets a number when it completes after all; until then the numbers of
 *                                  receives that it could have taken the messages of are guesses
 *
 * (A number that is too low is harmless, as long as it is only a guess: it says that the receive was after an
 * earlier send of the same channel, which is true.)
 */
enum { FRONT = 8, ROW_MOST = 1 << 20 };

/* ---- the row ---- */

static struct gn_extract_post *post_at(const struct gn_extract_receives *r, uint64_t ordinal)
{
    return &r->posts[ordinal & (r->size - 1)];
}

static bool make_room(struct gn_extract_receives *r)
{
    if (r->end - r->first < r->size)
        return true;
    struct gn_extract_receives larger = {.size = r->size ? 2 * r->size : 64};
    larger.posts = malloc(larger.size * sizeof *larger.posts);
    if (!larger.posts)
        return false;
    for (uint64_t i = r->first; i < r->end; i++)
        *post_at(&larger, i) = *post_at(r, i);
    free(r->posts);
    r->posts = larger.posts;
    r->size = larger.size;
    return true;
}

static struct gn_key request_key(uint64_t request)
{
    return (struct gn_key){request, 0};
}

/* The open post with this request. Most complete in about the order of posting: near the front. */
static struct gn_extract_post *find(const struct gn_extract_receives *r, uint64_t request)
{
    for (uint64_t i = r->first; i < r->end && i < r->first + FRONT; i++)
        if (post_at(r, i)->request == request && post_at(r, i)->state == GN_POST_OPEN)
            return post_at(r, i);
    const void *named = gn_map_find(&r->by_request, request_key(request));
    return named ? post_at(r, (uint64_t)(uintptr_t)named - 1) : NULL;
}

static void close_post(struct gn_extract_receives *r, struct gn_extract_post *post, int state)
{
    if (post->named)
        gn_map_remove(&r->by_request, request_key(post->request));
    post->named = false;
    post->state = state;
    r->waiting += state == GN_POST_DONE;
}

/* ---- those that were passed over ---- */

static void list_vague(struct gn_extract_receives *r, const struct gn_extract_passed *passed)
{
    if (r->vague_count++ == r->vague_listed && r->vague_listed < GN_EXTRACT_VAGUE)
        r->vague[r->vague_listed++] = passed;
}

static void forget_passed(struct gn_extract_receives *r, struct gn_extract_passed *passed)
{
    gn_map_remove(&r->passed, request_key(passed->request));
    if (passed->link == GN_NONE) {
        r->vague_count--;
        for (size_t i = 0; i < r->vague_listed; i++)
            if (r->vague[i] == passed)
                r->vague[i--] = r->vague[--r->vague_listed];
    }
    free(passed);
}

/* Whether one that was passed over may have taken a message of the channel. */
static bool is_guess(const struct gn_extract *x, uint32_t link)
{
    const struct gn_extract_receives *r = &x->receives;
    const struct gn_op_channel *channel = &x->store->channels[link];
    if (r->vague_count > r->vague_listed)
        return true;
    for (size_t i = 0; i < r->vague_listed; i++) {
        const struct gn_extract_passed *v = r->vague[i];
        if ((v->comm == GN_NONE || v->comm == channel->comm) &&
            (v->from == GN_ANY || v->from == channel->from) && (v->tag == GN_ANY || v->tag == channel->tag))
            return true;
    }
    return false;
}

static int keep_passed(struct gn_extract_receives *r, const struct gn_extract_passed *what)
{
    struct gn_extract_passed *passed = malloc(sizeof *passed);
    if (!passed || !gn_map_add(&r->passed, request_key(what->request), passed)) {
        free(passed);
        return -ENOMEM;
    }
    *passed = *what;
    if (passed->link == GN_NONE)
        list_vague(r, passed);
    return 0;
}

static int pass_over(struct gn_extract *x, struct gn_extract_post *post)
{
    struct gn_extract_receives *r = &x->receives;
    struct gn_extract_passed passed = {post->request, post->comm, post->tag, post->from, GN_NONE, 0};
    int64_t link = GN_LINK_UNFIT;
    close_post(r, post, GN_POST_VOID);
    if (post->comm != GN_NONE && post->from != GN_ANY && post->tag != GN_ANY)
        link = gn_extract_channel_between(x, post->comm, post->from, x->process, post->tag);
    if (link == GN_LINK_INTERNAL)
        return 0;
    if (link == GN_LINK_NO_MEMORY)
        return -ENOMEM;
    if (link >= 0) {
        passed.link = (uint32_t)link;
        passed.number = x->channel_states[link].received++;
    } else if (r->vague_count >= GN_EXTRACT_PATIENCE) { /* an archive without completions */
        r->vague_count++;
        return 0;
    }
    return keep_passed(r, &passed);
}

/* ---- numbers ---- */

static void number(struct gn_extract *x, struct gn_op *op)
{
    op->number = x->channel_states[op->link].received++;
    x->stats.ambiguous += is_guess(x, op->link);
}

/* Numbers what has nothing open before it; what is in the way of too many is passed over. */
static int drain(struct gn_extract *x, bool is_over)
{
    struct gn_extract_receives *r = &x->receives;
    for (; r->first < r->end; r->first++) {
        struct gn_extract_post *post = post_at(r, r->first);
        if (post->state == GN_POST_OPEN) {
            bool is_patient = r->waiting <= GN_EXTRACT_PATIENCE && r->end - r->first <= ROW_MOST;
            if (is_patient && !is_over)
                return 0;
            int code = pass_over(x, post);
            if (code != 0)
                return code;
        } else if (post->state == GN_POST_DONE) {
            r->waiting--;
            number(x, post->op);
        }
    }
    return 0;
}

/* ---- events ---- */

/* Its completion was never recorded, and its number has been given out again; or it was cancelled. */
static int forget(struct gn_extract *x, uint64_t request)
{
    struct gn_extract_receives *r = &x->receives;
    struct gn_extract_post *post = find(r, request);
    struct gn_extract_passed *passed = post ? NULL : gn_map_find(&r->passed, request_key(request));
    if (post)
        close_post(r, post, GN_POST_VOID);
    if (passed) {
        if (passed->link != GN_NONE && x->channel_states[passed->link].received == passed->number + 1)
            x->channel_states[passed->link].received--; /* nobody has a later one: it is free again */
        forget_passed(r, passed);
    }
    return post ? drain(x, false) : 0;
}

static uint32_t source_of(const struct gn_extract *x, const struct gn_event *event)
{
    if (event->comm == GN_NONE || event->peer == GN_ANY)
        return GN_ANY;
    uint32_t from = gn_comm_peer(x->definitions, event->comm, x->process, event->peer);
    return from == GN_NONE ? GN_ANY : from;
}

int gn_extract_posted(struct gn_extract *x, const struct gn_event *event)
{
    struct gn_extract_receives *r = &x->receives;
    if (x->is_lost)
        return 0;
    int code = forget(x, event->request);
    if (code != 0 || !make_room(r))
        return code ? code : -ENOMEM;
    struct gn_extract_post post = {.request = event->request,
                                   .comm = event->comm,
                                   .tag = event->tag == GN_NONE ? GN_ANY : event->tag,
                                   .from = source_of(x, event),
                                   .state = GN_POST_OPEN,
                                   .named = r->end - r->first >= FRONT};
    if (post.named &&
        !gn_map_add(&r->by_request, request_key(event->request), (void *)(uintptr_t)(r->end + 1)))
        return -ENOMEM;
    *post_at(r, r->end++) = post;
    return r->end - r->first > ROW_MOST ? drain(x, false) : 0;
}

/* A receive that was never posted, as far as we know: a blocking one, or one whose post was lost. */
static int complete_unposted(struct gn_extract *x, struct gn_op *op)
{
    struct gn_extract_receives *r = &x->receives;
    if (r->first == r->end) {
        number(x, op);
        return 0;
    }
    if (!make_room(r))
        return -ENOMEM;
    *post_at(r, r->end++) = (struct gn_extract_post){.op = op, .state = GN_POST_DONE};
    return ++r->waiting > GN_EXTRACT_PATIENCE ? drain(x, false) : 0;
}

static int complete_passed(struct gn_extract *x, struct gn_extract_passed *passed, struct gn_op *op)
{
    if (passed->link == op->link) {
        op->number = passed->number;
    } else { /* others have been numbered without it */
        op->number = x->channel_states[op->link].received++;
        x->stats.ambiguous++;
    }
    forget_passed(&x->receives, passed);
    return 0;
}

int gn_extract_received(struct gn_extract *x, struct gn_extract_location *l, const struct gn_event *event)
{
    struct gn_extract_receives *r = &x->receives;
    if (x->is_lost) {
        x->stats.uncounted++;
        return 0;
    }
    const int64_t link = gn_extract_channel(x, event->comm, event->peer, event->tag, false);
    if (link == GN_LINK_NO_MEMORY)
        return -ENOMEM;
    x->stats.unfit += link == GN_LINK_UNFIT;
    const bool was_posted = event->kind == GN_EVENT_MPI_IRECV;
    if (link < 0)
        return was_posted ? forget(x, event->request) : 0; /* it will not complete again */
    struct gn_op *op = gn_extract_op(x, l, GN_OP_RECEIVE);
    if (!op)
        return gn_extract_failed();
    x->stats.receives++;
    op->link = (uint32_t)link;
    struct gn_extract_post *post = was_posted ? find(r, event->request) : NULL;
    struct gn_extract_passed *passed =
        was_posted && !post ? gn_map_find(&r->passed, request_key(event->request)) : NULL;
    if (!post)
        return passed ? complete_passed(x, passed, op) : complete_unposted(x, op);
    post->op = op;
    close_post(r, post, GN_POST_DONE);
    return post == post_at(r, r->first) || r->waiting > GN_EXTRACT_PATIENCE ? drain(x, false) : 0;
}

int gn_extract_cancelled(struct gn_extract *x, const struct gn_event *event)
{
    return forget(x, event->request);
}

int gn_extract_receives_end(struct gn_extract *x)
{
    struct gn_extract_receives *r = &x->receives;
    int code = drain(x, true);
    for (size_t i = 0; i < r->passed.size; i++)
        free(r->passed.slots[i].value);
    gn_map_clear(&r->passed);
    gn_map_clear(&r->by_request);
    free(r->posts);
    *r = (struct gn_extract_receives){.posts = NULL};
    return code;
}
