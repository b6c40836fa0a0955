/*
 * analyse/patterns — the knowledge base: what is known to make MPI programs slow, and how each of these looks
 * in a run (Sikora 2016, section 3.4 and 5).
 *
 * A pattern is a name, a predicate over the facts of a run, and a remedy; docs/patterns.md describes each.
 * All are asked, and what they find is ranked by what the run would gain, not by what waits. The facts are a
 * profile's: totals of each rank, samples, what the kernel says of cores; what needs the order of events
 * (chains over ranks) is not here.
 *
 * Adding one touches the table in patterns.c, its page in docs/patterns, which docs/patterns.md lists, and
 * tests/patterns.
 */
#ifndef GNOMON_ANALYSE_PATTERNS_H
#define GNOMON_ANALYSE_PATTERNS_H

#include "profile/summary.h"

enum gn_problem_sure {
    GN_PROBLEM_CERTAIN,  /* what was, follows from what was observed */
    GN_PROBLEM_POSSIBLE, /* it may have been something else */
};

/* What an answer leans on; bits. */
enum gn_problem_assumes {
    GN_PROBLEM_STEPS = 1,       /* ranks meet often enough that none can catch up what it is late */
    GN_PROBLEM_SAME = 2,        /* the others do the same when it is mended */
    GN_PROBLEM_SAMPLES = 4,     /* samples stand for all of the time */
    GN_PROBLEM_ALONE = 8,       /* only this rank is mended */
    GN_PROBLEM_TURNS = 16,      /* no rank is late in turn with others */
    GN_PROBLEM_WINDOWS = 32,    /* windows of events stand for all of the time */
    GN_PROBLEM_ORDER = 64,      /* nothing else stands in the way of another order */
    GN_PROBLEM_REPEATS = 128,   /* a run differs from another one by so little (patterns_look.h) */
    GN_PROBLEM_PROGRESS = 512,  /* the library can move messages while ranks compute */
    GN_PROBLEM_APART = 1024,    /* messages have nothing to do with each other */
    GN_PROBLEM_OWN_COST = 2048, /* measuring has cost what is known of it, and nothing else */
    GN_PROBLEM_CORES = 8192,    /* where ranks that wait keep cores from others: each has its share of them */
    GN_PROBLEM_DIVIDES = 16384, /* what is computed can be divided into parts that are alike */
    GN_PROBLEM_POLLS = 4096,    /* between polls that wait no work is done */
    GN_PROBLEM_FIRST_FIFTH = 256, /* as at the beginning it could stay */
};

/* For program and analyses alike: "kind" in JSON. */
struct gn_problem_pattern {
    const char *name;   /* "static imbalance" */
    const char *remedy; /* a sentence without its end */
    const char *replay; /* what is replayed, "with …"; NULL: one rank, or several, like the others */
    const char *says;   /* the matter, before ", most of it in MPI_Recv"; NULL: numbers tell it */
};

enum { GN_PROBLEMS_MAX = 64, GN_PROBLEM_HOPS = 5, GN_PROBLEM_LATE = 256, GN_PROBLEM_SLACKS = 5 };

/* Who was seen waiting, in which call, and for whom. Texts are of the events' definitions. */
struct gn_problem_hop {
    int rank;      /* -1: several do */
    int ranks;     /* so many */
    int waits_for; /* rank */
    const char *call, *kind, *function, *file;
    int line;
    double low_s, high_s;  /* of all of them */
    int64_t certain;       /* as often for certain, as it was seen */
    uint32_t region, path; /* of the events */
    bool passes_on;        /* the one that waits: what is waited for it afterwards is not of its own making */
    double own_share; /* of all ranks' time: in that call, by whoever, and not waiting; below 0: not known */
};

/* How what is late differs from its peers, in what it computes after one call. Texts as of a hop. */
struct gn_problem_difference {
    const char *call, *function, *file; /* that it follows; call NULL: not known */
    int line;
    double times, each;     /* as often, and each time as long, as the others: 1. Not a number: not known */
    double own_s, others_s; /* so long there, the rank and the others in the mean; 0: not told */
};

/* What was done while others waited; all parts of it together are all. Texts as of a hop. */
struct gn_problem_meanwhile {
    int rank;         /* whose; -1: of other */
    const char *what; /* "computes", after the call or in the region; "waits", "calls", in it; "other" */
    const char *call, *function, *file; /* NULL: of other, and of a region */
    const char *region;                 /* NULL: none */
    int line;
    int waits_for;    /* of "waits": the rank that is most waited for there; -1: not known */
    double low, high; /* share of what is waited */
};

enum { GN_PROBLEM_PARTS = 7, GN_PROBLEM_PHASES = 6, GN_PROBLEM_GAINS = 3 };

/* One way to mend it, and what the run gains so: by replay, but for calls that are twice as fast. */
enum gn_problem_how {
    GN_PROBLEM_LIKE,   /* who is late does as much as the others in the mean */
    GN_PROBLEM_HALF,   /* who is late is twice as fast where it takes longer; of all: their calls */
    GN_PROBLEM_BLOCKS, /* `count` blocks in place of each */
};
struct gn_problem_gain {
    enum gn_problem_how how;
    unsigned count;       /* of blocks */
    double low_s, high_s; /* 0 ≤ low ≤ high */
};

/* A part of the run in which one rank is late. */
struct gn_problem_phase {
    int rank;
    struct gn_between from_s, to_s;       /* when it begins and ends, from the run's begin */
    double own_s, others_s;               /* what it computes there, and the others; 0: not known */
    struct gn_problem_difference differs; /* … after which call */
    struct gn_problem_hop waited;         /* in which call they wait for it most; call NULL: not known */
};

struct gn_problem {
    const struct gn_problem_pattern *pattern;
    const struct gn_activity_row *row; /* where; NULL: everywhere. Of the summary */
    const struct gn_activity_row
        *range; /* of which the row is a part, and own_s and others_s are of all; NULL: none */
    int rank;   /* whose; -1: of all */
    double lost_low_s, lost_high_s; /* of the run's length */
    double gain_low_s, gain_high_s; /* were it mended */
    double own_s, others_s;         /* what the rank takes there and what the others do; of one rank */
    double even_s;                  /* what spreading it evenly would spare; 0: says nothing */
    double preempted_s;             /* for how long the rank was ready and had no core */
    bool is_preempted;              /* … and that is half of it, or more */
    bool is_everywhere;             /* in all that the rank computes, the row being the most of it */
    bool is_group;                  /* … of several, which do other things than the others */
    bool is_of_cores;               /* ranks had none */
    bool is_of_all;                 /* every rank takes so long there */
    bool is_in_call;                /* the row is a call that `rank` is in while the others wait for it */
    const char *host;               /* whose ranks are late; NULL: it is not about one */
    int more_places;                /* of the same rank, which are in these numbers, too */
    bool is_startup;                /* how MPI starts and ends */
    double worth;                   /* by which they are ranked */
    bool is_before_all;             /* nothing else is sure while this is so */
    const char *counted;            /* what count is of: "calls", "messages" */
    bool is_of_messages;            /* what calls for messages take, of which waiting is a part */
    /* of a run whose events were seen (analyse/patterns_seen.h) */
    int late[GN_PROBLEM_LATE]; /* ranks that are as late as `rank`, itself among them, ascending */
    size_t late_count;         /* 0: not known; there may be more than there is room for */
    struct gn_problem_difference differs;
    struct gn_problem_meanwhile meanwhile[GN_PROBLEM_PARTS], /* by the one that the first hop waits for */
        roots[GN_PROBLEM_PARTS]; /* … and by those that it waited for itself, in place of its waits */
    double
        answers; /* share of it that is for answers to what the waiting rank has sent (analyse/meanwhile.h) */
    size_t meanwhile_count, root_count;
    struct gn_problem_phase phases[GN_PROBLEM_PHASES]; /* in their order in time */
    size_t phase_count;                                /* 0: it is not about these */
    double grows; /* the last fifth of the run takes so many times as long as the first one; 0: it does not */
    bool is_replayed;               /* the gain is by replay, and so is what was lost */
    double even_low_s, even_high_s; /* … if the work were spread evenly over all; 0: not replayed */
    struct gn_problem_gain gains[GN_PROBLEM_GAINS];
    size_t gain_count;
    struct gn_problem_hop hops[GN_PROBLEM_HOPS]; /* how it reaches the others */
    size_t hop_count;
    int64_t times;           /* that it was surely the last one; as it was seen */
    int64_t first, last, of; /* which of `of` calls, from 0; of 0: not known */
    double share_of_rank;    /* of the waiting, `rank` (or `most_rank`) is the cause of; 0: says nothing */
    double waited_each_s;    /* by all ranks in the mean: it is ranked by that; 0: by gain_high_s */
    bool is_fixed;           /* some wait, and others are waited for */
    int most_rank;           /* … of what more than one cause in turn */
    int64_t count;           /* of calls or messages, where the pattern is about these; else 0 */
    enum gn_problem_sure sure;
    unsigned assumes;
};

/* Of the run: below it nothing is worth a line. */
#define GN_PROBLEM_LEAST_SHARE 0.01
/* Of the run: so much is one run of a program longer or shorter than another. */
#define GN_PROBLEM_REPEATED_SHARE 0.005
/* Of what the latest one takes longer than the mean: who takes so much longer is late with it. */
#define GN_PROBLEM_AS_LATE 0.7
/* So much of the ranks' time without a core, and that is said before all else. */
#define GN_PROBLEM_PREEMPTED_SHARE 0.1

struct gn_problems {
    struct gn_problem items[GN_PROBLEMS_MAX]; /* by what would be gained, the largest first */
    size_t count;
    struct gn_problems_seen {
        size_t parts;  /* 0: no events were seen; 1: a trace, or one window; else windows */
        bool is_whole; /* of the run, or next to it */
        double share;  /* of the run that they cover */
        double off_s;  /* … for which nobody wanted windows */
        double waited_low_s, waited_s, waited_high_s; /* of all ranks, in the whole run */
    } seen;
    struct gn_problem_slack { /* takes longer, and nothing is gained were it faster: others are later yet */
        int rank;
        const struct gn_activity_row *row;
        double own_s, others_s;
        double longer_s; /* than the others */
        bool is_sure;
    } slacks[GN_PROBLEM_SLACKS];
    size_t slack_count;
    bool are_cores_kept; /* by ranks that wait, from others; where nobody saw them wait, perhaps */
    double small_s;      /* gain of those that were left out: less than a hundredth of the run each */
    size_t small_count;
};

/* Whether all hosts' ranks are known of the same time: else who computes more than others is not. */
bool gn_problems_can_compare(const struct gn_summary *summary);

/* All problems of a run. summary: by activity (GN_BY_ACTIVITY); it outlives them. */
void gn_problems_find(struct gn_problems *problems, const struct gn_summary *summary);

/* Whether ranks had no core for a good part of their time, or may have had none: there are more ranks than
 * cores, and nobody knows. */
bool gn_problems_lack_cores(const struct gn_summary *summary);

/* Last of all, once: where ranks that wait keep cores from others, what is mended may be slower or faster
 * than replay and totals say, by as much as a thread's share of the cores; gains may begin below 0. */
void gn_problems_share_cores(struct gn_problems *problems, const struct gn_summary *summary);

/* Whether it is of what one rank computes. */
bool gn_problem_is_of_rank(const struct gn_problem *problem);

/* Whether it is mended by giving work to others. */
bool gn_problem_is_of_work(const struct gn_problem *problem);

/* Whether the row is of a call that is about messages between two ranks, or completes requests; or of one
 * that asks for something and does not wait. */
bool gn_problem_is_of_messages(const struct gn_activity_row *row);
bool gn_problem_is_polling(const struct gn_activity_row *row);

/* Whether the rank is one of those that it is about. */
bool gn_problem_has_rank(const struct gn_problem *problem, int rank);

/* What it would be, were it mended with others. */
struct gn_problem gn_problem_of_slack(const struct gn_problem_slack *slack);

/* What is the matter with its row, of what one rank computes longer, or with its range. */
void gn_problem_tell_kind(struct gn_problem *problem, const struct gn_summary *summary);
/* All others together take so much there: next to nothing, and it is a serial section. */
void gn_problem_is_alone(struct gn_problem *problem, double others_s);
/* The others do a part of it, too: a serial section is none then. */
void gn_problem_is_shared(struct gn_problem *problem);

/* By how much samples may be off of what the rank that takes most in the row takes there, s: it has as large
 * a part of the samples as of the time. */
double gn_problem_unsure_s(const struct gn_summary *summary, const struct gn_activity_row *row);

/* What its rank computes in all beyond the mean of all, s: no more can be spread. INFINITY: that is not
 * known, as of what is done before MPI_Init. */
double gn_problem_beyond_mean_s(const struct gn_summary *summary, const struct gn_problem *problem);

/* Of a rank: the run stays as long as what any other one computes. */
void gn_problem_limit_by_others(struct gn_problem *problem, const struct gn_summary *summary);

/* What is gained in that way; NULL: not told. */
const struct gn_problem_gain *gn_problem_gain_by(const struct gn_problem *problem, enum gn_problem_how how);

/* Within what a run can lose and gain. */
void gn_problem_limit(struct gn_problem *problem, const struct gn_summary *summary);

/* Adds one: less than a hundredth of the run is only counted. */
void gn_problems_add(struct gn_problems *problems, const struct gn_summary *summary,
                     struct gn_problem problem);

/* A rank takes longer, and nothing is gained when it does not; unless it is sure, that is for replay to say.
 */
void gn_problems_add_slack(struct gn_problems *problems, const struct gn_summary *summary,
                           const struct gn_problem *problem, bool is_sure);

/* Again in order, and without what has turned out to be small, when gains have changed. */
void gn_problems_rank(struct gn_problems *problems, const struct gn_summary *summary);

#endif
