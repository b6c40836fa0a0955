/* agent/keep — the next agent knows of the processes what the one that died knew. */
#include "agent/keep.h"

#include "capture/channel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

/* As the guard does: the newest of each kind and number. */
static int take_all(int channel)
{
    struct gn_kept items[16], item;
    size_t count = 0;
    int file;
    while (gn_channel_take(channel, &item, sizeof item, &file) == sizeof item) {
        size_t at = 0;
        while (at < count && (items[at].kind != item.kind || items[at].number != item.number))
            at++;
        items[at] = item;
        items[at].file = file;
        count += at == count;
    }
    int written = memfd_create("items", 0);
    assert_int_equal(write(written, items, count * sizeof *items), count * sizeof *items);
    lseek(written, 0, SEEK_SET);
    return written;
}

static struct gn_watched_list another_agents(const struct gn_watched_list *list)
{
    struct gn_watched_list next = {.items = NULL};
    struct gn_kept_state state;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    for (size_t i = 0; i < list->count; i++)
        gn_keep_process(&ends[0], list, &list->items[i]);
    close(ends[0]);
    assert_int_equal(gn_keep_read(take_all(ends[1]), 0, &next, &state), 0);
    close(ends[1]);
    return next;
}

static void clear(struct gn_watched_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].handle >= 0)
            close(list->items[i].handle);
    gn_watched_clear(list);
}

static void add_self(struct gn_watched_list *list)
{
    assert_non_null(gn_watched_again(list, (int)getpid(), (int)syscall(SYS_pidfd_open, (int)getpid(), 0)));
}

static void why_it_is_not_measured(void **state)
{
    (void)state;
    struct gn_watched_list list = {.items = NULL};
    add_self(&list);
    add_self(&list);
    snprintf(list.items[1].unmeasured, sizeof list.items[1].unmeasured, "its library is of another kind");
    struct gn_watched_list next = another_agents(&list);
    assert_int_equal(next.count, 2);
    assert_string_equal(next.items[0].unmeasured, "");
    assert_string_equal(next.items[1].unmeasured, "its library is of another kind");
    clear(&list);
    clear(&next);
}

static void what_it_is(void **state)
{
    (void)state;
    struct gn_watched_list list = {.items = NULL};
    add_self(&list);
    struct gn_watched *w = &list.items[0];
    w->rank = 7;
    w->enlisted = true;
    w->alive_ticks = 11;
    w->seen_ticks = 12;
    w->ended = "signal";
    w->exit_status = 9;
    struct gn_watched_list next = another_agents(&list);
    assert_int_equal(next.count, 1);
    assert_int_equal(next.items[0].rank, 7);
    assert_true(next.items[0].enlisted);
    assert_int_equal(next.items[0].alive_ticks, 11);
    assert_int_equal(next.items[0].seen_ticks, 12);
    assert_string_equal(next.items[0].ended, "signal");
    assert_int_equal(next.items[0].exit_status, 9);
    assert_int_equal(next.items[0].handle, -1);
    clear(&list);
    clear(&next);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(why_it_is_not_measured),
        cmocka_unit_test(what_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
