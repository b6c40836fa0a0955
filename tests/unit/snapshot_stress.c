/*
 * A reader copies the graph of a process that writes as fast as it can; every record of every copy must be
 * consistent in itself (image/tag.h, invariant 3).
 *
 *     snapshot_stress SNAPSHOTS          all records are consistent
 *     snapshot_stress SNAPSHOTS broken   the writer leaves out the sequence lock; the checks must notice
 */
#include "capture.h"
#include "image/snapshot.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the writer ---- */

static uint64_t random_state = 88172645463325252ull;

static uint64_t draw(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void one_call(bool broken)
{
    uint64_t bits = draw(), ticks = bits >> (20 + bits % 40);
    if (!broken) {
        test_send((uint32_t)(bits % 7), ticks, (uint32_t)(bits >> 8) % 5, bits >> 40);
        return;
    }
    /* the same writes, but nothing tells the reader */
    struct gn_tag_node *node = &test_location()->nodes[3 + bits % 4];
    gn_stats_add(&node->time, ticks);
    GN_ADD(node->time_log2[gn_bucket(ticks)], 1);
}

#define PATH(name)                                                                                           \
    static __attribute__((noipa)) void name(bool broken)                                                     \
    {                                                                                                        \
        one_call(broken);                                                                                    \
        __asm__ volatile("");                                                                                \
    }
PATH(path_a)
PATH(path_b)
PATH(path_c)
PATH(path_d)

static _Noreturn void write_for_ever(struct gn_tag *segment, bool broken)
{
    static void (*const paths[])(bool) = {path_a, path_b, path_c, path_d};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (gn_recorder_open(segment, gn_ticks()) != 0)
        _exit(1);
    for (uint32_t i = 0; i < 8; i++) /* for the broken writer: nodes to write into */
        test_call(100 + i, 1);
    GN_PUBLISH(segment->state, GN_STATE_RUNNING);
    for (uint64_t i = 0;; i++) {
        paths[i % 4](broken);
        if (i % 1000 == 0)
            GN_ADD(segment->end_ticks, 1); /* shows the reader that we move */
    }
}

/* ---- the checks ---- */

typedef unsigned __int128 wide;

static uint64_t sum_of(const gn_shared64 *histogram)
{
    uint64_t sum = 0;
    for (int i = 0; i < GN_BUCKETS; i++)
        sum += GN_GET(histogram[i]);
    return sum;
}

static bool stats_are_sane(const struct gn_stats *s)
{
    wide count = GN_GET(s->count), total = GN_GET(s->total_ticks), min = GN_GET(s->min_ticks),
         max = GN_GET(s->max_ticks), squares = (wide)GN_GET(s->squares_high) << 64 | GN_GET(s->squares_low);
    if (count == 0)
        return total == 0 && squares == 0;
    return count * min <= total && total <= count * max && squares >= min * total && squares <= max * total;
}

static bool node_is_sane(const struct gn_tag_node *n)
{
    if (!stats_are_sane(&n->time) || sum_of(n->time_log2) != GN_GET(n->time.count) ||
        sum_of(n->size_log2) != GN_GET(n->messages))
        return false;
    if (GN_GET(n->time.count) == 0)
        return true;
    for (unsigned i = 0; i < GN_BUCKETS; i++)
        if (GN_GET(n->time_log2[i]) &&
            (i < gn_bucket(GN_GET(n->time.min_ticks)) || i > gn_bucket(GN_GET(n->time.max_ticks))))
            return false;
    return true;
}

static bool peer_is_sane(const struct gn_tag_peer *p)
{
    return GN_GET(p->peer) < 5 && GN_GET(p->sent_bytes) <= GN_GET(p->sent_messages) << 24 &&
           GN_GET(p->received_messages) == 0;
}

static uint64_t wrong;

/* Counts what is wrong, and says of the first few what it is. */
static void expect(bool fact, const char *what, uint64_t index)
{
    if (!fact && ++wrong <= 5)
        printf("inconsistent: %s %llu\n", what, (unsigned long long)index);
}

static void check(const struct gn_snapshot *s)
{
    expect(s->dropped == 0, "records with impossible contents:", s->dropped);
    expect(s->torn == 0, "torn records of a running writer:", s->torn);
    for (uint32_t i = 1; i < s->frame_count; i++)
        expect(s->frames[i].parent < i, "parent of frame", i);
    for (uint32_t l = 0; l < s->location_count; l++) {
        const struct gn_location_copy *c = &s->locations[l];
        for (uint32_t i = 0; i < c->node_count; i++)
            expect(node_is_sane(&c->nodes[i]) && GN_GET(c->nodes[i].path) < s->frame_count, "node", i);
        for (uint32_t i = 0; i < c->edge_count; i++)
            expect(stats_are_sane(&c->edges[i].time) && GN_GET(c->edges[i].from) < c->node_count &&
                       GN_GET(c->edges[i].to) < c->node_count,
                   "edge", i);
        for (uint32_t i = 0; i < c->peer_count; i++)
            expect(peer_is_sane(&c->peers[i]), "peer", i);
    }
}

int main(int argc, char **argv)
{
    long snapshots = argc > 1 ? atol(argv[1]) : 1000;
    bool broken = argc > 2 && strcmp(argv[2], "broken") == 0;
    uint64_t retries = 0, taken = 0;
    struct gn_tag *segment = test_segment(2);
    pid_t writer = segment ? fork() : -1;
    if (writer < 0)
        return 1;
    if (writer == 0)
        write_for_ever(segment, broken);
    while (GN_OBSERVE(segment->state) != GN_STATE_RUNNING)
        if (waitpid(writer, NULL, WNOHANG) != 0)
            return 1;
    uint64_t first = GN_GET(segment->end_ticks);
    for (; (long)taken < snapshots; taken++) {
        struct gn_snapshot *s;
        if (gn_snapshot_take(segment, gn_tag_bytes(2), 0, &s, NULL) != 0)
            return 1;
        check(s);
        retries += s->retries;
        gn_snapshot_free(s);
        if (broken && wrong)
            break;
    }
    uint64_t written = (GN_GET(segment->end_ticks) - first) * 1000;
    kill(writer, SIGKILL);
    waitpid(writer, NULL, 0);
    printf("%llu snapshots during %llu calls: %llu records read again, %llu inconsistent\n",
           (unsigned long long)taken, (unsigned long long)written, (unsigned long long)retries,
           (unsigned long long)wrong);
    if (broken)
        return wrong == 0;
    return wrong != 0 || written == 0;
}
