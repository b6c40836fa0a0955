/*
 * trace/vocabulary — what gnomon says in an OTF2 archive that OTF2 has no word for: names of attributes and
 * of a parameter. docs/trace-format.md describes them for other readers.
 */
#ifndef GNOMON_TRACE_VOCABULARY_H
#define GNOMON_TRACE_VOCABULARY_H

#include <stdint.h>

/* X(ID, name, OTF2 type, description): the number of an attribute in gnomon's archives is its place here. */
#define GN_ATTRIBUTES(X)                                                                                     \
    X(PATH, "gnomon.path", OTF2_TYPE_CALLING_CONTEXT, "call path of an Enter or Leave")                      \
    X(COMM, "gnomon.comm", OTF2_TYPE_COMM, "communicator of a request")                                      \
    X(PEER, "gnomon.peer", OTF2_TYPE_UINT32, "sender a receive was posted for, or root of a collective")     \
    X(TAG, "gnomon.tag", OTF2_TYPE_UINT32, "tag a receive was posted for")                                   \
    X(OP, "gnomon.op", OTF2_TYPE_UINT32, "collective operation of a request")                                \
    X(POLLS, "gnomon.polls", OTF2_TYPE_UINT64, "calls in a row that found nothing, told as one")             \
    X(POLL_TICKS, "gnomon.poll_ticks", OTF2_TYPE_UINT64, "ticks inside of these calls")                      \
    X(NUMBER, "gnomon.number", OTF2_TYPE_UINT64,                                                             \
      "number of a message on its channel, or of a collective on its communicator")                          \
    X(UNORDERED, "gnomon.unordered", OTF2_TYPE_UINT64,                                                       \
      "the same, of one that may have changed places with others that have it, too")                         \
    X(LATE, "gnomon.late", OTF2_TYPE_UINT64, "under which name the number comes later")                      \
    X(BEHIND, "gnomon.behind", OTF2_TYPE_UINT64, "ticks of gnomon's own work just behind the call")

enum gn_attribute {
#define X(ID, name, type, description) GN_ATTRIBUTE_##ID,
    GN_ATTRIBUTES(X)
#undef X
        GN_ATTRIBUTE_COUNT
};

/* The number of the group that a communicator's members are, of an intercommunicator the first one. Ahead of
 * them are those that every archive has, behind them the other ones of intercommunicators. */
enum { GN_OTF2_GROUP_WORLD, GN_OTF2_GROUP_SELF, GN_OTF2_GROUP_FIRST };
static inline uint32_t gn_otf2_group(uint32_t comm)
{
    return GN_OTF2_GROUP_FIRST + comm;
}

/* The parameter whose value is a number of events that are missing; its number in gnomon's archives. */
#define GN_PARAMETER_LOST "gnomon.lost"
/* The parameter whose value is a number that comes later. */
#define GN_PARAMETER_NUMBER "gnomon.number"
/* The parameter whose value is how many ticks gnomon has worked just before the call that was left before it.
 */
#define GN_PARAMETER_OWN_WORK "gnomon.own_work"
enum { GN_PARAMETER_LOST_ID = 0, GN_PARAMETER_NUMBER_ID = 1, GN_PARAMETER_OWN_WORK_ID = 2 };

/* The archive's property that says what the clock offsets' deviations are worth. */
#define GN_PROPERTY_CLOCK_BOUNDS "GNOMON::CLOCK_BOUNDS"
#define GN_CLOCK_BOUNDS_COARSE "coarse" /* nothing: clocks were compared by their hosts' time of day */

/* The one handle that all MPI file operations are said to be on, as events do not say which file it is. */
#define GN_IO_HANDLE "MPI file"
enum { GN_IO_HANDLE_ID = 0 };

#endif
