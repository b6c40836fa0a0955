/*
 * gnomon activities LIBRARY FILE PROGRAM NAMES [quiet] — not for users: what `gnomon run --activity NAMES`
 * has done on each host. Makes FILE of LIBRARY (image/activity_slots.h), for the functions of PROGRAM and the
 * libraries it is linked with that are named, and says of which it cannot be done, and why. 0: it is made, of
 * one at least.
 */
#include "cli/activity_library.h"
#include "cli/commands.h"
#include "program/linked.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct named {
    struct gn_slot slots[GN_SLOTS];
    size_t count;
    bool quiet;
};

static void refuse(const struct named *n, const char *name, const char *why)
{
    if (!n->quiet)
        fprintf(stderr, "gnomon run: --activity %s: %s; it is measured without\n", name, why);
}

static bool is_known(const struct named *n, const char *symbol)
{
    for (size_t i = 0; i < n->count; i++)
        if (strcmp(n->slots[i].symbol, symbol) == 0)
            return true;
    return false;
}

/* A long name keeps its end, which differs more. */
static void add(struct named *n, const char *name, const struct gn_linked_function *found)
{
    struct gn_slot *slot = &n->slots[n->count++];
    const size_t length = strlen(name), room = sizeof slot->name - 1;
    _Static_assert(
        sizeof slot->symbol == sizeof found->symbol && sizeof slot->version == sizeof found->version, "");
    memcpy(slot->symbol, found->symbol, sizeof slot->symbol);
    memcpy(slot->version, found->version, sizeof slot->version);
    if (length <= room)
        memcpy(slot->name, name, length + 1);
    else
        snprintf(slot->name, sizeof slot->name, "..%s", name + length - (room - 2));
}

static void find(struct named *n, struct gn_linked *linked, const char *name)
{
    struct gn_linked_function found[GN_SLOTS];
    struct gn_error err;
    const size_t count = gn_linked_find(linked, name, found, GN_SLOTS, &err);
    if (count == 0)
        refuse(n, name, err.text);
    for (size_t i = 0; i < count && n->count < GN_SLOTS; i++)
        if (!is_known(n, found[i].symbol))
            add(n, name, &found[i]);
    if (n->count == GN_SLOTS && count > 0 && !is_known(n, found[count - 1].symbol))
        refuse(n, name, "there is room for 32 functions");
}

static char *trimmed(char *name)
{
    name += strspn(name, " ");
    for (size_t length = strlen(name); length > 0 && name[length - 1] == ' ';)
        name[--length] = '\0';
    return name;
}

/* Commas within brackets are a name's own. */
static char *next_name(char **rest)
{
    char *name = *rest;
    int depth = 0;
    for (char *at = name; at && *at; at++) {
        depth += *at == '<' || *at == '(' ? 1 : *at == '>' || *at == ')' ? -1 : 0;
        if (*at == ',' && depth <= 0) {
            *at = '\0';
            *rest = at + 1;
            return name;
        }
    }
    *rest = NULL;
    return name;
}

int gn_command_activities(int argc, char **argv)
{
    static struct named n;
    struct gn_error err;
    if (argc != 5 && argc != 6) {
        fprintf(stderr, "gnomon activities: this is a part of `gnomon run`, which starts it\n");
        return 2;
    }
    n.quiet = argc == 6;
    struct gn_linked *linked = gn_linked_open(argv[3], &err);
    if (!linked)
        refuse(&n, argv[4], err.text);
    char *rest = linked ? argv[4] : NULL;
    for (char *name; (name = next_name(&rest)) != NULL;)
        if (*(name = trimmed(name)))
            find(&n, linked, name);
    if (linked)
        gn_linked_close(linked);
    if (n.count == 0)
        return 1;
    if (gn_activity_library_write(argv[1], argv[2], n.slots, n.count, &err) == 0)
        return 0;
    refuse(&n, argv[4], err.text);
    return 1;
}
