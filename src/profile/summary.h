/*
 * profile/summary — the questions a report asks of a profile, answered as plain rows.
 *
 * Times of an activity on a rank are summed over the rank's threads; min, median and max go over all measured
 * ranks (a rank that never does it counts as 0). Compensated unless raw is asked for.
 */
#ifndef GNOMON_PROFILE_SUMMARY_H
#define GNOMON_PROFILE_SUMMARY_H

#include "graph/metrics.h"
#include "clock/clocks.h"
#include "event/kept_window.h"
#include "graph/last_calls.h"
#include "profile/period.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gn_by {
    GN_BY_ACTIVITY,
    GN_BY_CALLPATH,
    GN_BY_REGION,
    GN_BY_FUNCTION,
    GN_BY_LINE,
    GN_BY_RANK,
    GN_BY_HOST,
    GN_BY_PAIR,
    GN_BY_PLACE,
    GN_BY_TREE,    /* rows as by callpath, and the tree that they make */
    GN_BY_REQUEST, /* which calls start requests, and which ones complete them */
    GN_BY_TIME     /* of parts of the run, each by activity: not asked of a summary */
};

/* How it is known what a row's time was spent on. */
enum gn_how {
    GN_HOW_CALL,         /* it was recorded: a call at its place */
    GN_HOW_RANGE,        /* between two calls, and nobody knows where */
    GN_HOW_SAMPLED,      /* samples were taken there */
    GN_HOW_OTHER_PLACES, /* likewise, in more places than were kept apart */
    GN_HOW_UNSEEN        /* between two calls, where no sample can be: in the kernel, or on no core */
};

/* Not a number: not known. */
struct gn_between {
    double low, high;
};

/* parallel = load_balance × communication; 0 … 1 */
struct gn_efficiency {
    bool is_known;
    double parallel, load_balance, communication;
    double length_s; /* of the rank that takes longest */
};

#define GN_MPI_UNKNOWN INT64_MIN

struct gn_activity_row {
    char *kind;     /* "computation", "mpi", "region", "off", "other"; "gnomon": its own cost; "unrecorded";
                       for ranks and hosts: "rank", "host" */
    char *name;     /* "computation", the MPI call, the region, "rank 3" */
    char *function; /* NULL when unknown; of GN_HOW_RANGE, and of other places, the call that it follows */
    char *file;
    char *callers; /* "PCG::solve ← main", who calls function, where that tells MPI calls apart; else NULL */
    char *until_function, *until_file; /* of these the call ahead of which it is; else NULL */
    char *library, *called;            /* a function in a library, sampled while called from there; or NULL */
    char *runtime;                     /* what that does: "waiting for a GPU"; NULL: not known */
    char *path;                        /* call path "main > step > exchange", for by callpath; else NULL */
    int line, until_line;
    enum gn_how how;
    int64_t from, to; /* activities, by callpath */
    int64_t count;
    int64_t bytes;
    int64_t total_ns;
    int64_t min_ns, median_ns, max_ns;
    int64_t mean_ns; /* over the ranks */
    int64_t mpi_ns;  /* of total; GN_MPI_UNKNOWN of regions whose begins and ends do not tell */
    int max_rank;    /* the rank with the largest time (the lowest such) */
    int place; /* of a range: the row of the place in which max_rank takes longer than others by most, and by
                  half of what it takes longer in all; -1: there is none */
    int in_range;                    /* of a row: the range in which nearly all of it is; -1: there is none */
    bool on_no_core;                 /* of GN_HOW_UNSEEN: samples are of the kernel, too */
    bool between_polls;              /* of a range: from a call that polls to itself */
    int64_t place_ns;                /* of a range: what max_rank takes in that place there */
    size_t number;                   /* in the order in which rows were met */
    double share;                    /* of the time of all measured threads together */
    struct gn_efficiency efficiency; /* of a region */
    int64_t samples;                 /* that this rests on; 0: on none */
    int64_t cpu_ns;                  /* of total, on a core, by the samples that were taken then */
    int64_t asleep_ns;               /* of total, found asleep there */
    int64_t others_ns;               /* processor time of other threads at the same place */
    int64_t open_ns;                 /* of total, in calls that nobody has left */
    struct gn_between off_core_s, preempted_s; /* of total: on none; … though it was ready */
    struct gn_between waited_s;                /* of total: for other ranks; NAN: not known */
    double amounts[GN_METRICS_AT_A_TIME]; /* of the summary's counters, by samples; by rank, host, region 0 */
    double low,
        high; /* between which the share lies, at 99 %; both are the share where samples say nothing */
};

struct gn_pair_row {
    int from, to; /* ranks in MPI_COMM_WORLD, -1: outside */
    int64_t messages, bytes;
};

struct gn_request_end {
    char *call, *function, *file; /* of the call's place; NULL: not known, of a start: another thread's */
    int line;
};

/* Requests that one call has started and another one completed, of all ranks. Times begin when the one was
 * left. */
struct gn_request_row {
    struct gn_request_end start, end;
    int64_t count;
    int64_t total_ns; /* until the other one was left */
    int64_t ahead_ns; /* of it, until that was entered: what messages can overlap with */
    int64_t max_ns;   /* of the one that took longest; of a rank. -1: not known, of a part of the run */
    int max_rank;
};

/* Of graph/last_calls.h, told again. */
struct gn_last_call_row {
    int thread;
    char *name, *function, *file; /* of the call's place; function and file NULL: not known */
    int line;
    bool open;
    int64_t enter_ns;      /* since the process began */
    int64_t before_end_ns; /* from its enter to its process's end */
    int64_t length_ns;
    int64_t calls, completed, root;
    struct gn_last_side sent, received;
    char *comm; /* NULL: none */
};

struct gn_ending {
    bool known;
    int64_t lo_ns, hi_ns; /* on the run's time line */
    bool first;           /* nobody is known to have ended before it */
    /* How long after the first one. */
    int64_t later_lo_ns, later_hi_ns;
};

struct gn_fatal_row { /* how it ended the run; docs/profile-format.md, fatal */
    char *kind;       /* "error", "abort", "exit"; NULL: it did not */
    char *call, *function, *file;
    int line, thread;
    bool has_code;
    int code;
    char *class_name, *text; /* NULL: not known */
    char *asks;              /* "to", "from", "root"; NULL: nobody */
    int64_t peer, tag;       /* as the call gave them; GN_LAST_UNKNOWN: none */
    bool in_world;           /* peer is a rank in MPI_COMM_WORLD */
};

struct gn_trouble_row { /* a process whose measurement is not whole */
    int rank;
    char *host, *ended, *message;
    int exit_status;
    char *last;    /* what it did last, with place, or NULL */
    bool inside;   /* it was inside of that call */
    double last_s; /* for how long */
    int64_t process;
    struct gn_ending ending;
    struct gn_fatal_row fatal;
    bool victim;                    /* another one ended the run */
    struct gn_last_call_row *calls; /* by thread, and in their order */
    size_t call_count;
};

struct gn_lost_row {
    char *what;
    int64_t count;
};

struct gn_trace_facts { /* of the archive of all events, when one was asked for */
    bool asked;
    bool apart;     /* it has several worlds, which cannot be compared */
    int archives;   /* 0: none could be made; more than 1: one per host */
    char path[512]; /* of (one of) them: in the run's folder, or absolute */
    int64_t events, bytes;
    int64_t dropped;    /* records (calls, mostly) lost, because a buffer was full */
    int64_t unwritten;  /* events lost, because the archive could not be written: error says why */
    int64_t garbled;    /* references that made no sense */
    int64_t lost_comms; /* communicators whose messages are not in the trace */
    char error[512];
};

enum { GN_WINDOWS_OFF_MOST = 32 };
struct gn_windows_facts { /* of the events that were kept without a trace */
    char path[512];       /* of the archive, in the run's folder; "": there is none */
    struct gn_kept_window *kept;
    size_t count;
    int64_t events, dropped;
    struct gn_kept_window off[GN_WINDOWS_OFF_MOST]; /* none were wanted then, on their clock */
    size_t off_count;
    bool is_whole;             /* nothing was left out */
    double init_s, finalize_s; /* from the first begin of the one to its last end, if all began together; from
                                  the first begin of the other to the end */
    struct gn_kept_window middle; /* from the last end of the first to the first begin of the other, on the
                                     only host's counter; each 0: not known */
    char error[400]; /* why there are none, of several hosts; "": there are, or none were asked for */
};

struct gn_clock_fact { /* of a clock domain; docs/profile-format.md, clock_domain */
    char *domain, *host, *parent, *counter, *problem, *rests_on;
    bool shared, reached, mixed;
    int cores, untried;
    double shared_width_ns, rate_lo_ppb, rate_hi_ppb;
    int64_t asked, answered, narrowed, refused;
    int64_t width_ns; /* at its widest */
    double width_at_s;
    char *refuted; /* an assumption, NULL: none */
    double seen_ppb, allowed_ppb;
};

enum gn_cost_reason { /* what most of it is, where it is more than 1 % */
                      GN_COST_SMALL,
                      GN_COST_CALLS,    /* so many calls */
                      GN_COST_REGIONS,  /* so many begins and ends of regions, named functions among them */
                      GN_COST_UNWOUND,  /* stacks that had to be unwound in full */
                      GN_COST_FIRST,    /* what calls take the first time */
                      GN_COST_START_UP, /* before the first call */
};

/* What measuring has cost, processor time of all processes. */
struct gn_cost {
    int64_t calls;      /* recorded events */
    int64_t regions;    /* of them: begins and ends of regions */
    int64_t unwound;    /* … : their stack was unwound in full; the others' paths were known or walked */
    double ns_per_call; /* of an ordinary one; 0: there were too few to be sampled */
    double slow_s;      /* what first calls, new call paths and full unwindings took beyond that */
    double startup_s;   /* taking the memory, meeting agent and other hosts */
    double probe_ns_per_call; /* mean of all calls, slow ones included, without start-up */
    double own_s;             /* all of it */
    double program_cpu_s;     /* what is left of the processes' time; 0: not known */
    double share;             /* own_s of program_cpu_s; of the time of all threads where that is not known */
    enum gn_cost_reason reason;
};

/* One rank; numbers that are not known are not a number. */
struct gn_rank_row {
    int rank;
    char *host, *cores; /* cores as "0-3,8"; NULL: not known */
    double elapsed_s;
    double cost_s;          /* what measuring has taken of it then; 0 where it is in these */
    double useful_s, mpi_s; /* between the end of MPI_Init and MPI_Finalize, of the thread that called it */
    double cpu_s, preempted_s;
    double helpers; /* its threads without a call that work */
    int64_t messages, sent_bytes;
    double peak_bytes, peak_age_s, read_bytes, written_bytes;
    double cores_quota;             /* what its control group gives; not a number: no limit */
    double core_mhz, core_most_mhz; /* at which its core ran while it computed, and the highest that it has */
    double resident_bytes, remote_bytes; /* of its memory, and what of that lies at another NUMA node */
};

/* Of some ranks and of all others, in the mean; not a number: not known. */
struct gn_cores_beside {
    double mhz, others_mhz;
    double remote, others_remote; /* shares of their memory that lie at other NUMA nodes than they ran on */
};

struct gn_host_row {
    const char *name; /* a rank's */
    int ranks;
    double cores; /* that its ranks may use; 0: not known */
    double useful_s, elapsed_s, cpu_s, preempted_s;
};

/* Of all ranks; what is not known of one of them is not a number. */
struct gn_resources_told {
    bool peak_known, sizes_known;
    double peak_most, peak_median, peak_age_s; /* bytes */
    int peak_rank;
    double read_bytes, written_bytes, cpu_s, preempted_s, preempted_share;
    double cores, cores_busy;
    double size_low, size_high; /* of a message of median size */
    int64_t messages, sent_bytes;
};

/* How samples were taken, over all ranks. */
struct gn_sampling_told {
    char state[16];   /* "sampled"; "off", "refused", "failed" of all ranks; "": not known */
    char reason[256]; /* why not, or not all; "": none */
    int64_t samples, unattributed;
    double time_s, per_burst; /* processor time that they stand for; samples that depend on each other */
    double ours_s;            /* of time_s, in gnomon's own code, if that is in the rows */
    bool with_kernel;         /* they are of what the kernel does, too */
    bool has_others;          /* some are of threads beside those that rows are of */
};

/* What a metric of the kernel's came to, over all ranks. */
struct gn_counter_told {
    uint32_t metric; /* graph/metrics.h */
    char name[32];
    char reason[200]; /* why it, or a part of it, was not counted; "": it was */
    int64_t total, samples, median, most;
    int most_rank;
    bool is_scaled; /* it was counted part of the time, and this is what it would have come to */
};

struct gn_call_tree; /* profile/summary_tree.h */

struct gn_summary {
    char exe[256], command[1024], version[32], started[32], flavour[16], library[64];
    int ranks; /* measured */
    int world; /* as MPI said; >= ranks */
    int hosts;
    char host_names[512];
    double elapsed_s;  /* of the longest process; in virtual time (profile/virtual.h) as if not measured */
    double measured_s; /* … as measured */
    double own_share;  /* of the thread's time of which measuring has taken most, as far as it has been taken
                          off; raw: 0 */
    struct gn_between unmeasured_s; /* in virtual time: elapsed_s lies between; else measured_s, both */
    double mpi_share;               /* of the time of all threads */
    size_t unclear_regions; /* of a part of the run: rows that are left out, since when ranks were in them is
                               not known */
    struct gn_period_told period; /* that it is of; not set: all of the run */
    bool complete;
    int failed; /* ranks that ended with MPI_Finalize, and with another exit status than 0 */
    int failed_rank, failed_status; /* … of the first of them */
    double saved_s; /* nobody has finished it: of those hosts it is as it was so long after the begin */
    char saved_hosts[256]; /* "": none */
    bool is_live;          /* the run goes on: all hosts are as they were saved */
    char refused[1024];    /* parts that could not be joined, and why; "": none */
    struct gn_cost cost;
    int modules_without_lines;
    char no_lines_in[256]; /* the user's own module without line information, "" when there is none */
    char missing_ranks[256];
    struct gn_trace_facts trace;
    struct gn_windows_facts windows;
    bool has_naps; /* between some polls threads sleep (profile/naps.h): that stands as computation */
    struct gn_clock_fact *clocks; /* those that can be compared first, the reference ahead of them */
    size_t clock_count;
    char ranks_without_clock[256]; /* they may run on cores with different counters; "" none */
    struct gn_assumption assumption;
    struct gn_activity_row *rows;
    size_t row_count;
    struct gn_activity_row *ranges; /* by activity, of computations: what rows of places divide, undivided */
    size_t range_count;             /* 0 without samples: then rows have them */
    int64_t
        total_ns; /* of all threads: what shares are of, and rows add up to (regions contain each other) */
    struct gn_activity_row
        *others; /* what threads without a call did, by place, the largest first; share: of */
    size_t other_count;
    double helpers;  /* of all ranks: threads without a call that work */
    double others_s; /* … their processor time, by so many samples */
    int64_t others_samples;
    double unsampled_s;        /* processor time that is in no sample: of threads that ended too soon */
    struct gn_call_tree *tree; /* only by tree */
    struct gn_pair_row *pairs;
    size_t pair_count;
    struct gn_request_row *requests; /* the longest in sum first */
    size_t request_count;
    struct gn_rank_row *ranks_told; /* of those that were measured, in their order */
    size_t rank_count;
    struct gn_host_row *hosts_told;
    size_t host_count;
    struct gn_efficiency efficiency;
    struct gn_resources_told resources;
    struct gn_sampling_told sampling;
    struct gn_counter_told counters[GN_METRICS_AT_A_TIME];
    size_t counter_count;
    int programs;            /* different ones that ranks run */
    char two_builds_of[256]; /* a program or library that is not the same on all ranks; "": none */
    struct gn_trouble_row *troubles;
    size_t trouble_count;
    struct gn_lost_row *lost;
    size_t lost_count;
};

/*
 * Fills *summary. Rows are sorted by their share of all threads' time, largest first (ties: name, file,
 * line); those of ranks by what they did outside of MPI. Caller clears.
 */
int gn_summarise(sqlite3 *db, enum gn_by by, bool raw, struct gn_summary *summary, struct gn_error *err);
/* Likewise by call path, without gnomon's own cost; what is computed is told as it is by `named`. */
int gn_summarise_paths(sqlite3 *db, enum gn_by named, struct gn_summary *summary, struct gn_error *err);
/* Whether measuring has made the run longer by so much that it is worth a word. */
bool gn_summary_is_slowed(const struct gn_summary *summary);
/* "MPICH Version:\t4.0.2" as a person would write it. */
void gn_summary_tidy_library(char *text);
/* Parts of these two. */
/* named: as which what is computed has its names. */
int gn_summarise_rows(sqlite3 *db, enum gn_by by, enum gn_by named, bool raw, struct gn_summary *summary,
                      struct gn_error *err);
void gn_summary_clear_rows(struct gn_summary *summary);
int gn_summarise_ranks(sqlite3 *db, bool raw, struct gn_summary *summary, struct gn_error *err);
/* Efficiencies of rows that are regions; ranks are known. */
int gn_summarise_regions(sqlite3 *db, bool raw, struct gn_summary *summary, struct gn_error *err);
/* The tree of rows by tree. */
int gn_summarise_requests(sqlite3 *db, struct gn_summary *summary, struct gn_error *err);
int gn_summarise_tree(sqlite3 *db, struct gn_summary *summary, struct gn_error *err);
/* A row's place, by a sample's, whose texts it has then; a row with texts of its own, and these gone. */
struct gn_sample_place;
void gn_row_at(struct gn_activity_row *row, const struct gn_sample_place *place);
struct gn_activity_row gn_row_copied(const struct gn_activity_row *row);
void gn_row_clear(struct gn_activity_row *row);
/* By samples: what its slowest rank takes longer than the fastest is mostly on no core. */
bool gn_row_is_asleep(const struct gn_activity_row *row);
struct gn_samples;
int gn_summarise_threads(const struct gn_samples *samples, struct gn_summary *summary, struct gn_error *err);
void gn_summarise_unsampled(sqlite3 *db, struct gn_summary *summary);
/* Into rows of places: what other threads computed there, after gn_summarise_threads. */
void gn_summarise_helped(struct gn_summary *summary);
/* What was counted; of rows, once that is known, by what of samples they have (from gn_summarise_rows). */
int gn_summarise_counters(sqlite3 *db, struct gn_summary *summary, struct gn_error *err);
/* Of instructions and cycles per row; not a number: not both are counted. */
double gn_summary_instructions_per_cycle(const struct gn_summary *summary, const struct gn_activity_row *row);
void gn_summary_clear_threads(struct gn_summary *summary);
/* How much of their time rows were on no core; ranks are known. */
void gn_summarise_cores(struct gn_summary *summary);
void gn_summary_clear_requests(struct gn_summary *summary);
void gn_summary_clear_tree(struct gn_summary *summary);
void gn_summary_clear_ranks(struct gn_summary *summary);
/* Which share of a rank's memory lies at other NUMA nodes than it ran on; not a number: not known. */
double gn_remote_share(const struct gn_rank_row *rank);
/* Whether that is enough to be told; not where one is not a number. */
bool gn_runs_slower(double mhz, double others_mhz);
/* The ranks that are named, beside all others. */
struct gn_cores_beside gn_cores_beside(const struct gn_summary *s, const int *ranks, size_t count);

struct gn_efficiency gn_efficiency_of(const struct gn_rank_row *ranks, size_t count);
/* "main:162 > iterate:110", the call path of an activity; of an edge two of them with " → " between; NULL:
 * not known. */
char *gn_summary_path(sqlite3 *db, int64_t from, int64_t to);
void gn_summarise_clocks(sqlite3 *db, struct gn_summary *summary);
void gn_summarise_windows(sqlite3 *db, struct gn_windows_facts *windows);
void gn_summarise_cost(sqlite3 *db, struct gn_cost *cost);
void gn_summarise_fatal(sqlite3 *db, struct gn_summary *summary);
/* 2: it raised an error or called MPI_Abort, 1: it exited inside of a call, 0: neither. */
int gn_summary_blame(const struct gn_trouble_row *trouble);
void gn_summary_clear_fatal(struct gn_trouble_row *trouble);
/* Fills endings and last calls of the troubles, and sorts them: who called MPI_Abort, then as they ended; of
 * those that ended together, what happened by itself ahead of what was done to others. */
void gn_summarise_endings(sqlite3 *db, struct gn_summary *summary);
void gn_summary_clear_calls(struct gn_trouble_row *trouble);
void gn_summary_clear_clocks(struct gn_summary *summary);
void gn_summary_clear(struct gn_summary *summary);

#endif
