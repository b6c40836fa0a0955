/*
 * cli/trace_names — names that users give for what is in a trace: the one place where commands look them up
 * (analyse/names.h says what they mean there), and what is said of those that mean nothing.
 *
 * The report names computation by what the program's code and samples say of it, which is in the run's
 * profile and not in its trace: "slow app.c:7" is looked up there, and means the computation before the same
 * call.
 */
#ifndef GNOMON_CLI_TRACE_NAMES_H
#define GNOMON_CLI_TRACE_NAMES_H

#include "analyse/names.h"
#include "base/error.h"

#include <argp.h>

enum { GN_TRACE_NAMES = 16 };

/* As an option that may be given again says them. */
struct gn_trace_names {
    const char *list[GN_TRACE_NAMES];
    size_t count;
};

/* One more; too many end gnomon, as wrong usage. */
void gn_trace_name_option(struct argp_state *state, struct gn_trace_names *names, const char *name);

/* So much of what is chosen is meant, 0 … 1, in any rank: samples know no better where it ends. */
struct gn_name_part {
    double low, high;
};

/* What is computed: chosen[activity] of all that `name` means. trace: where it is, for the run's profile. A
 * place that only samples know is a part of it: *part (NULL: nobody asks), else all. How many; 0: it is a
 * call, before which nothing is; -ENOENT with err naming what is near. */
int gn_trace_name_computed(bool *chosen, struct gn_name_part *part, const struct gn_history *history,
                           const char *trace, const char *name, struct gn_error *err);

/* What one may be in: adds what `name` means. -ENOENT with err naming what is near. */
int gn_trace_name_entered(struct gn_named *named, const struct gn_history *history, const char *trace,
                          const char *name, struct gn_error *err);
/* All of them: *chosen is `named`, which the caller clears, or NULL without any name. */
int gn_trace_names_chosen(struct gn_named *named, const struct gn_named **chosen, const char *trace,
                          const struct gn_history *history, const struct gn_trace_names *names,
                          struct gn_error *err);

/* As gn_names_each, and what the profile names. 0, or -ENOMEM with err set. */
int gn_trace_names_each(const struct gn_history *history, const char *trace, gn_name_found *found, void *self,
                        struct gn_error *err);

#endif
