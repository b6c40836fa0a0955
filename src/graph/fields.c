/* graph/fields — what the rows of a graph are made of; profile/schema.c has a table of the same name for
 * each. */
#include "graph/graph.h"

#define FIELD(kind, name, type)                                                                              \
    {                                                                                                        \
#name, type, GN_GRAPH_KINDS, false, offsetof(struct gn_graph_##kind, name)                           \
    }
#define INTEGER(kind, name) FIELD(kind, name, GN_GRAPH_INTEGER)
#define NUMBER(kind, name) FIELD(kind, name, GN_GRAPH_NUMBER)
#define REAL(kind, name) FIELD(kind, name, GN_GRAPH_REAL)
#define TEXT(kind, name) FIELD(kind, name, GN_GRAPH_TEXT)
#define COUNTS(kind, name) FIELD(kind, name, GN_GRAPH_HISTOGRAM)
#define SERIES(kind, name) FIELD(kind, name, GN_GRAPH_BYTES)
#define OF(kind, name, other)                                                                                \
    {                                                                                                        \
#name, GN_GRAPH_OF, other, false, offsetof(struct gn_graph_##kind, name)                             \
    }
#define MAY_BE_OF(kind, name, other)                                                                         \
    {                                                                                                        \
#name, GN_GRAPH_MAY_BE_OF, other, false, offsetof(struct gn_graph_##kind, name)                      \
    }
/* What a row is known by. */
#define KEY(kind, name, type)                                                                                \
    {                                                                                                        \
#name, type, GN_GRAPH_KINDS, true, offsetof(struct gn_graph_##kind, name)                            \
    }
#define KEY_OF(kind, name, other)                                                                            \
    {                                                                                                        \
#name, GN_GRAPH_OF, other, true, offsetof(struct gn_graph_##kind, name)                              \
    }

static const struct gn_graph_field host[] = {KEY(host, name, GN_GRAPH_TEXT)};

static const struct gn_graph_field module[] = {
    KEY(module, path, GN_GRAPH_TEXT), KEY(module, build_id, GN_GRAPH_TEXT), NUMBER(module, has_lines)};

static const struct gn_graph_field site[] = {KEY_OF(site, module, GN_GRAPH_MODULE),
                                             KEY(site, offset, GN_GRAPH_INTEGER),
                                             INTEGER(site, resolved),
                                             TEXT(site, function),
                                             TEXT(site, file),
                                             NUMBER(site, line),
                                             NUMBER(site, symbol_offset),
                                             TEXT(site, label),
                                             TEXT(site, loop_function),
                                             TEXT(site, loop_file),
                                             NUMBER(site, loop_line)};

static const struct gn_graph_field inlined[] = {
    KEY_OF(inlined, site, GN_GRAPH_SITE), KEY(inlined, depth, GN_GRAPH_INTEGER), TEXT(inlined, function),
    TEXT(inlined, file), NUMBER(inlined, line)};

static const struct gn_graph_field path[] = {KEY_OF(path, parent, GN_GRAPH_PATH),
                                             KEY_OF(path, site, GN_GRAPH_SITE), INTEGER(path, depth),
                                             INTEGER(path, folded)};

static const struct gn_graph_field activity[] = {
    KEY(activity, kind, GN_GRAPH_TEXT), KEY(activity, name, GN_GRAPH_TEXT), TEXT(activity, call_group),
    KEY_OF(activity, callpath, GN_GRAPH_PATH)};

static const struct gn_graph_field computation[] = {KEY_OF(computation, from_activity, GN_GRAPH_ACTIVITY),
                                                    KEY_OF(computation, to_activity, GN_GRAPH_ACTIVITY),
                                                    TEXT(computation, function),
                                                    TEXT(computation, file),
                                                    NUMBER(computation, line),
                                                    TEXT(computation, until_function),
                                                    TEXT(computation, until_file),
                                                    NUMBER(computation, until_line)};

static const struct gn_graph_field world[] = {
    KEY(world, key, GN_GRAPH_TEXT), INTEGER(world, size),         TEXT(world, launcher), TEXT(world, launch),
    NUMBER(world, launched),        NUMBER(world, launched_rank), NUMBER(world, spawner)};

static const struct gn_graph_field moment[] = {KEY_OF(moment, host, GN_GRAPH_HOST),
                                               KEY(moment, number, GN_GRAPH_INTEGER), INTEGER(moment, ticks)};

static const struct gn_graph_field process[] = {OF(process, host, GN_GRAPH_HOST),
                                                NUMBER(process, rank),
                                                NUMBER(process, pid),
                                                TEXT(process, exe),
                                                TEXT(process, flavour),
                                                TEXT(process, library),
                                                NUMBER(process, world),
                                                NUMBER(process, thread_level),
                                                TEXT(process, ended),
                                                NUMBER(process, exit_status),
                                                INTEGER(process, complete),
                                                TEXT(process, message),
                                                REAL(process, tick_ns),
                                                NUMBER(process, elapsed_ns),
                                                NUMBER(process, init_ns),
                                                NUMBER(process, finalized_ns),
                                                TEXT(process, clock_domain),
                                                NUMBER(process, cpu_ns),
                                                NUMBER(process, startup_cpu_ns),
                                                MAY_BE_OF(process, world_id, GN_GRAPH_WORLD),
                                                INTEGER(process, traced),
                                                INTEGER(process, spawned),
                                                NUMBER(process, start_ticks)};

static const struct gn_graph_field location[] = {OF(location, process, GN_GRAPH_PROCESS),
                                                 INTEGER(location, thread),
                                                 NUMBER(location, thread_id),
                                                 INTEGER(location, elapsed_ns),
                                                 INTEGER(location, events),
                                                 REAL(location, probe_ns_per_event),
                                                 INTEGER(location, probe_ns),
                                                 MAY_BE_OF(location, last_activity, GN_GRAPH_ACTIVITY),
                                                 INTEGER(location, last_inside),
                                                 INTEGER(location, last_ns),
                                                 INTEGER(location, unwound)};

static const struct gn_graph_field node[] = {OF(node, location, GN_GRAPH_LOCATION),
                                             OF(node, activity, GN_GRAPH_ACTIVITY),
                                             INTEGER(node, count),
                                             INTEGER(node, total_ns),
                                             INTEGER(node, min_ns),
                                             INTEGER(node, max_ns),
                                             REAL(node, spread_ns),
                                             INTEGER(node, open_ns),
                                             INTEGER(node, errors),
                                             INTEGER(node, messages),
                                             INTEGER(node, bytes),
                                             COUNTS(node, time_log2),
                                             COUNTS(node, size_log2),
                                             SERIES(node, series)};

static const struct gn_graph_field edge[] = {OF(edge, location, GN_GRAPH_LOCATION),
                                             OF(edge, from_activity, GN_GRAPH_ACTIVITY),
                                             OF(edge, to_activity, GN_GRAPH_ACTIVITY),
                                             INTEGER(edge, count),
                                             INTEGER(edge, total_ns),
                                             INTEGER(edge, own_ns),
                                             INTEGER(edge, min_ns),
                                             INTEGER(edge, max_ns),
                                             REAL(edge, spread_ns),
                                             INTEGER(edge, bytes),
                                             SERIES(edge, series)};

static const struct gn_graph_field peer[] = {OF(peer, location, GN_GRAPH_LOCATION),
                                             OF(peer, activity, GN_GRAPH_ACTIVITY),
                                             INTEGER(peer, peer),
                                             INTEGER(peer, sent_messages),
                                             INTEGER(peer, sent_bytes),
                                             INTEGER(peer, received_messages),
                                             INTEGER(peer, received_bytes),
                                             SERIES(peer, series)};

static const struct gn_graph_field completion[] = {OF(completion, location, GN_GRAPH_LOCATION),
                                                   OF(completion, from_activity, GN_GRAPH_ACTIVITY),
                                                   OF(completion, to_activity, GN_GRAPH_ACTIVITY),
                                                   INTEGER(completion, count),
                                                   INTEGER(completion, total_ns),
                                                   INTEGER(completion, ahead_ns),
                                                   INTEGER(completion, max_ns),
                                                   COUNTS(completion, time_log2),
                                                   SERIES(completion, series)};

static const struct gn_graph_field lost[] = {OF(lost, process, GN_GRAPH_PROCESS), TEXT(lost, what),
                                             INTEGER(lost, count)};

static const struct gn_graph_field ending[] = {OF(ending, process, GN_GRAPH_PROCESS),
                                               INTEGER(ending, after_ticks), INTEGER(ending, before_ticks)};

static const struct gn_graph_field fatal[] = {OF(fatal, process, GN_GRAPH_PROCESS),
                                              TEXT(fatal, kind),
                                              INTEGER(fatal, thread),
                                              NUMBER(fatal, code),
                                              TEXT(fatal, class),
                                              TEXT(fatal, text),
                                              TEXT(fatal, asks),
                                              NUMBER(fatal, peer),
                                              NUMBER(fatal, tag),
                                              INTEGER(fatal, in_world)};

static const struct gn_graph_field last_call[] = {OF(last_call, process, GN_GRAPH_PROCESS),
                                                  INTEGER(last_call, thread),
                                                  INTEGER(last_call, position),
                                                  OF(last_call, activity, GN_GRAPH_ACTIVITY),
                                                  INTEGER(last_call, inside),
                                                  INTEGER(last_call, enter_ns),
                                                  INTEGER(last_call, length_ns),
                                                  INTEGER(last_call, calls),
                                                  INTEGER(last_call, sent_messages),
                                                  NUMBER(last_call, sent_to),
                                                  NUMBER(last_call, sent_tag),
                                                  INTEGER(last_call, sent_bytes),
                                                  INTEGER(last_call, received_messages),
                                                  NUMBER(last_call, received_from),
                                                  NUMBER(last_call, received_tag),
                                                  INTEGER(last_call, received_bytes),
                                                  INTEGER(last_call, completed),
                                                  TEXT(last_call, communicator),
                                                  NUMBER(last_call, root)};

static const struct gn_graph_field sampling[] = {OF(sampling, process, GN_GRAPH_PROCESS),
                                                 TEXT(sampling, state),
                                                 TEXT(sampling, reason),
                                                 INTEGER(sampling, time_ns),
                                                 INTEGER(sampling, samples),
                                                 INTEGER(sampling, bursts),
                                                 INTEGER(sampling, by_place),
                                                 INTEGER(sampling, unattributed),
                                                 INTEGER(sampling, lost),
                                                 INTEGER(sampling, helpers),
                                                 INTEGER(sampling, is_whole),
                                                 INTEGER(sampling, with_kernel)};

static const struct gn_graph_field sample[] = {OF(sample, location, GN_GRAPH_LOCATION),
                                               OF(sample, from_activity, GN_GRAPH_ACTIVITY),
                                               MAY_BE_OF(sample, to_activity, GN_GRAPH_ACTIVITY),
                                               MAY_BE_OF(sample, site, GN_GRAPH_SITE),
                                               MAY_BE_OF(sample, called, GN_GRAPH_SITE),
                                               INTEGER(sample, other_threads),
                                               INTEGER(sample, how),
                                               INTEGER(sample, count),
                                               INTEGER(sample, time_ns),
                                               SERIES(sample, series)};

static const struct gn_graph_field counter[] = {OF(counter, process, GN_GRAPH_PROCESS),
                                                INTEGER(counter, metric),
                                                TEXT(counter, name),
                                                INTEGER(counter, total),
                                                INTEGER(counter, samples),
                                                INTEGER(counter, is_scaled),
                                                TEXT(counter, reason)};

static const struct gn_graph_field resource[] = {OF(resource, process, GN_GRAPH_PROCESS),
                                                 NUMBER(resource, peak_bytes),
                                                 NUMBER(resource, peak_age_ns),
                                                 NUMBER(resource, read_bytes),
                                                 NUMBER(resource, written_bytes),
                                                 NUMBER(resource, storage_read_bytes),
                                                 NUMBER(resource, storage_written_bytes),
                                                 NUMBER(resource, preempted_ns),
                                                 TEXT(resource, cores),
                                                 REAL(resource, cores_quota),
                                                 REAL(resource, core_mhz),
                                                 REAL(resource, core_most_mhz),
                                                 NUMBER(resource, resident_bytes),
                                                 NUMBER(resource, remote_bytes)};

/* The name is that of the table; a call path's rows are known to everybody as callpath. */
#define KIND(name, called, known)                                                                            \
    {                                                                                                        \
        called, sizeof(struct gn_graph_##name), name, sizeof name / sizeof name[0], known                    \
    }

const struct gn_graph_fields gn_graph_fields[GN_GRAPH_KINDS] = {
    [GN_GRAPH_HOST] = KIND(host, "host", true),
    [GN_GRAPH_MODULE] = KIND(module, "module", true),
    [GN_GRAPH_SITE] = KIND(site, "site", true),
    [GN_GRAPH_INLINED] = KIND(inlined, "inlined", true),
    [GN_GRAPH_PATH] = KIND(path, "callpath", true),
    [GN_GRAPH_ACTIVITY] = KIND(activity, "activity", true),
    [GN_GRAPH_COMPUTATION] = KIND(computation, "computation", true),
    [GN_GRAPH_WORLD] = KIND(world, "world", true),
    [GN_GRAPH_MOMENT] = KIND(moment, "moment", true),
    [GN_GRAPH_PROCESS] = KIND(process, "process", false),
    [GN_GRAPH_LOCATION] = KIND(location, "location", false),
    [GN_GRAPH_NODE] = KIND(node, "node", false),
    [GN_GRAPH_EDGE] = KIND(edge, "edge", false),
    [GN_GRAPH_PEER] = KIND(peer, "peer", false),
    [GN_GRAPH_COMPLETION] = KIND(completion, "completion", false),
    [GN_GRAPH_LOST] = KIND(lost, "lost", false),
    [GN_GRAPH_ENDING] = KIND(ending, "ending", false),
    [GN_GRAPH_FATAL] = KIND(fatal, "fatal", false),
    [GN_GRAPH_LAST_CALL] = KIND(last_call, "last_call", false),
    [GN_GRAPH_SAMPLING] = KIND(sampling, "sampling", false),
    [GN_GRAPH_SAMPLE] = KIND(sample, "sample", false),
    [GN_GRAPH_COUNTER] = KIND(counter, "counter", false),
    [GN_GRAPH_RESOURCE] = KIND(resource, "resource", false),
};
