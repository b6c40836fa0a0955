/*
 * analyse/question — a question over frames (analyse/frames.h, analyse/global_state.h) as text:
 *
 *   question = both { ( "or" | "||" ) both }
 *   both     = one { ( "and" | "&&" ) one }
 *   one      = ( "not" | "!" ) one | "(" question ")" | atom
 *   atom     = location state
 *            | number [ "of" set ] state
 *            | "all" "but" count "in" place "," ( "those" | "that" "one" ) "in" place
 *   number   = "all" | "any" | "some" | "none" | ( "at" "least" | "at" "most" | "exactly" ) count
 *   location = [ "rank" ] digits | [ "thread" ] digits ":" digits | "host" name
 *   set      = item { "," item }
 *   item     = digits [ "-" digits ] | digits ":" digits | "host" name
 *   state    = "in" place | "waiting" | "busy" | "computing" | "calling" | "running"
 *   place    = "waiting" | "busy" | name
 *   count    = "one" | digits
 *   name     = word | string in ' or "
 *
 * A word ends at a space, a comma or a parenthesis that was not opened in it, and has no quotation marks; a
 * string has everything but the mark that it begins with, and is a region's name whatever it says: 'busy' is
 * a region, busy is a location that waits for nobody. Words of the grammar may be names, too: "all in in".
 */
#ifndef GNOMON_ANALYSE_QUESTION_H
#define GNOMON_ANALYSE_QUESTION_H

#include <stddef.h>
#include <stdint.h>

enum gn_where { GN_WHERE_REGION, GN_WHERE_WAITING, GN_WHERE_BUSY, GN_WHERE_CALLING, GN_WHERE_RUNNING };

struct gn_asked_place {
    enum gn_where where;
    char *region; /* its name; NULL: not a region, or none */
};

enum gn_asked_who_kind { GN_ASKED_WHO_RANKS, GN_ASKED_WHO_THREAD, GN_ASKED_WHO_HOST };

struct gn_asked_who {
    enum gn_asked_who_kind kind;
    uint32_t first, last; /* ranks; of a thread: its rank, twice */
    uint32_t thread;
    char *host; /* its name, or NULL */
    size_t at;  /* byte of the text */
};

enum gn_asked_kind {
    GN_ASKED_IN,      /* the one who, as one, is in a */
    GN_ASKED_COUNT,   /* least … most of them are in a */
    GN_ASKED_ALL_BUT, /* `least` of them are not in a; those are in b, where there is one */
    GN_ASKED_NOT,
    GN_ASKED_AND,
    GN_ASKED_OR
};

#define GN_ASKED_NO_NODE UINT32_MAX

struct gn_asked_node {
    enum gn_asked_kind kind;
    uint32_t child, next; /* its first child, and the next one of its parent: nodes before the parent */
    uint32_t first_who, who_count; /* none of a number: all */
    uint32_t least, most;
    struct gn_asked_place a, b; /* b: none (a region without a name) where the others may be anywhere */
};
struct gn_asked {
    struct gn_asked_node *nodes; /* the last one is the root */
    struct gn_asked_who *whos;
    size_t node_count, node_capacity, who_count, who_capacity;
};

/* Where a text stops making sense: the byte that cannot stand there, counted from 0, and why. */
struct gn_question_error {
    size_t at;
    char text[200];
};

/* 0, and the caller clears; -EINVAL or -ENOMEM with error set, and there is nothing to clear. */
int gn_question_parse(struct gn_asked *asked, const char *text, struct gn_question_error *error);
void gn_question_clear(struct gn_asked *asked);

/* The root, where the question is "all in A", or "all but … in A, those in B", which analyse/frames.h
 * answers: A a region or waiting, B a region or busy. Else NULL. */
const struct gn_asked_node *gn_question_form(const struct gn_asked *asked);

#endif
