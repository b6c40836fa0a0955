#include "repair/replay_inside.h"

#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FULL = 32 * 1024 }; /* bytes that are worth a message */

int gn_mail_open(struct gn_replay *replay)
{
    replay->first_outbox = GN_NONE;
    replay->peers = calloc(replay->transport->size, sizeof *replay->peers);
    return replay->peers ? 0 : -ENOMEM;
}

void gn_mail_shut(struct gn_replay *replay)
{
    for (uint32_t i = 0; replay->peers && i < replay->transport->size; i++) {
        free(replay->peers[i].out.bytes);
        free(replay->peers[i].links);
    }
    free(replay->peers);
}

static void send_box(struct gn_replay *replay, uint32_t to)
{
    struct gn_outbox *out = &replay->peers[to].out;
    if (out->size == 0 || replay->failed)
        return;
    replay->failed = replay->transport->send(replay->transport->self, to, out->bytes, out->size);
    replay->mails_out++;
    out->size = 0;
}

/* What was written to last goes out first: of a tree's children that is the one with most below it. */
static void list(struct gn_replay *replay, uint32_t to)
{
    struct gn_outbox *out = &replay->peers[to].out;
    if (out->listed)
        return;
    out->listed = true;
    out->next = replay->first_outbox;
    replay->first_outbox = to;
}

static bool has_sides(const struct gn_mail *mail)
{
    return mail->kind >= GN_MAIL_BEGINS && mail->kind <= GN_MAIL_LIMITS;
}

void gn_mail_post(struct gn_replay *replay, uint32_t to, const struct gn_mail *mail,
                  const struct gn_mail_sides *sides)
{
    struct gn_outbox *out = &replay->peers[to].out;
    const size_t size = sizeof *mail + (sides ? sizeof *sides : 0);
    if (out->capacity < FULL + sizeof *mail + sizeof *sides) {
        out->capacity = FULL + sizeof *mail + sizeof *sides;
        out->bytes = realloc(out->bytes, out->capacity);
        if (!out->bytes) {
            out->capacity = 0;
            replay->failed = -ENOMEM;
        }
    }
    if (replay->failed)
        return;
    memcpy(out->bytes + out->size, mail, sizeof *mail);
    if (sides)
        memcpy(out->bytes + out->size + sizeof *mail, sides, sizeof *sides);
    out->size += size;
    list(replay, to);
    if (out->size >= FULL)
        send_box(replay, to);
}

void gn_mail_flush(struct gn_replay *replay)
{
    while (replay->first_outbox != GN_NONE) {
        const uint32_t to = replay->first_outbox;
        replay->first_outbox = replay->peers[to].out.next;
        replay->peers[to].out.listed = false;
        send_box(replay, to);
    }
}

static void take_channel(struct gn_replay *replay, struct gn_peer *peer, const struct gn_mail *mail)
{
    const size_t before = peer->link_capacity;
    while (mail->link >= peer->link_capacity)
        if (!gn_grow(&peer->links, &peer->link_capacity, peer->link_capacity, sizeof *peer->links)) {
            replay->failed = -ENOMEM;
            return;
        }
    for (size_t i = before; i < peer->link_capacity; i++)
        peer->links[i] = GN_NONE;
    const struct gn_op_channel what = {mail->a, mail->b, mail->c, mail->d, 0};
    const uint32_t link = peer->links[mail->link] = gn_parcels_link(replay, &what);
    if (link != GN_NONE)
        gn_parcels_announced(replay, link, mail->number);
}

static void take_send(struct gn_replay *replay, const struct gn_peer *peer, const struct gn_mail *mail)
{
    const uint32_t link = mail->link < peer->link_capacity ? peer->links[mail->link] : GN_NONE;
    if (link != GN_NONE)
        gn_parcels_put(replay, link, mail->number,
                       &(struct gn_parcel){mail->time, mail->index, mail->a, 1, mail->flags & GN_OP_VAGUE});
}

static void take_one(struct gn_replay *replay, uint32_t from, const struct gn_mail *mail,
                     const struct gn_mail_sides *sides)
{
    switch ((enum gn_mail_kind)mail->kind) {
    case GN_MAIL_CHANNEL:
        take_channel(replay, &replay->peers[from], mail);
        break;
    case GN_MAIL_SEND:
        take_send(replay, &replay->peers[from], mail);
        break;
    case GN_MAIL_LIMIT:
        gn_op_at(replay->store, mail->a, mail->index)->limit = mail->time;
        break;
    default:
        gn_gatherings_mail(replay, mail, sides);
    }
}

void gn_mail_take(struct gn_replay *replay, uint32_t from, const uint8_t *bytes, size_t size)
{
    replay->mails_in++;
    for (size_t at = 0; at + sizeof(struct gn_mail) <= size && !replay->failed;) {
        struct gn_mail mail;
        struct gn_mail_sides sides;
        memcpy(&mail, bytes + at, sizeof mail);
        at += sizeof mail;
        const bool with_sides = has_sides(&mail);
        if (with_sides && at + sizeof sides > size)
            return;
        if (with_sides)
            memcpy(&sides, bytes + at, sizeof sides);
        at += with_sides ? sizeof sides : 0;
        take_one(replay, from, &mail, with_sides ? &sides : NULL);
    }
}
