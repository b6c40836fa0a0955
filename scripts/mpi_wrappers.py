#!/usr/bin/env python3
"""Writes the enumeration of MPI calls and their wrappers from src/event/mpi_api.txt.

    mpi_wrappers.py TABLE calls OUT.h         enum gn_call_id
    mpi_wrappers.py TABLE table OUT.h         what event/activity says of each of them
    mpi_wrappers.py TABLE alone OUT.h         names of calls that have no wrapper
    mpi_wrappers.py TABLE wrappers OUT.c      C and Fortran entry points

The wrappers are thin: enter, real call, facts, leave. What facts a call has is written by hand in
src/capture/classes.c, one function per class; CLASSES below only says which arguments it is given. Those of collectives
follow from event/collective.h (src/capture/collectives.c).
"""
import fnmatch
import re
import sys

# class: (arguments given before the call; a leading * passes the argument's address, so that it can be replaced,
#         arguments given after a successful call)
CLASSES = {
    "none": ([], None),
    "send": ([], ["count", "datatype", "dest", "tag", "comm"]),
    "isend": ([], ["count", "datatype", "dest", "tag", "comm", "request"]),
    "send_init": ([], ["count", "datatype", "dest", "tag", "comm", "request"]),
    "recv": (["*status"], ["source", "tag", "comm", "status"]),
    "irecv": ([], ["source", "tag", "comm", "request"]),
    "recv_init": ([], ["source", "tag", "comm", "request"]),
    "psend_init": ([], ["partitions", "count", "datatype", "dest", "tag", "comm", "request"]),
    "precv_init": ([], ["partitions", "count", "datatype", "source", "tag", "comm", "request"]),
    "isendrecv": ([], ["sendcount", "sendtype", "dest", "sendtag", "source", "recvtag", "comm", "request"]),
    "isendrecv_replace": ([], ["count", "datatype", "dest", "sendtag", "source", "recvtag", "comm", "request"]),
    "mprobe": (["*status"], ["source", "tag", "comm", "message", "status"]),
    "iprobe": ([], ["flag"]),
    "improbe": (["*status"], ["source", "tag", "comm", "flag", "message", "status"]),
    "mrecv": (["message", "*status"], ["status"]),
    "imrecv": (["message"], ["request"]),
    "sendrecv": (["*status"], ["sendcount", "sendtype", "dest", "sendtag", "source", "recvtag", "comm", "status"]),
    "sendrecv_replace": (["*status"], ["count", "datatype", "dest", "sendtag", "source", "recvtag", "comm", "status"]),
    "start": (["request"], ["request"]),
    "startall": (["count", "array_of_requests"], ["array_of_requests"]),
    "wait": (["request", "*status"], ["status"]),
    "test": (["request", "*status"], ["flag", "status"]),
    "waitall": (["count", "array_of_requests", "*array_of_statuses"], ["array_of_statuses"]),
    "testall": (["count", "array_of_requests", "*array_of_statuses"], ["flag", "array_of_statuses"]),
    "waitany": (["count", "array_of_requests", "*status"], ["index", "status"]),
    "testany": (["count", "array_of_requests", "*status"], ["flag", "index", "status"]),
    "waitsome": (["incount", "array_of_requests", "*array_of_statuses"],
                 ["outcount", "array_of_indices", "array_of_statuses"]),
    "testsome": (["incount", "array_of_requests", "*array_of_statuses"],
                 ["outcount", "array_of_indices", "array_of_statuses"]),
    "request_free": (["request"], []),
    "collective": ([], None),
    "neighbor_allgather": ([], ["sendcount", "sendtype"]),
    "neighbor_alltoall": ([], ["sendcount", "sendtype", "comm"]),
    "neighbor_alltoallv": ([], ["sendcounts", "sendtype", "comm"]),
    "neighbor_alltoallw": ([], ["sendcounts", "sendtypes", "comm"]),
    "rma_put": ([], ["origin_count", "origin_datatype", "target_rank", "win"]),
    "rma_get": ([], ["origin_count", "origin_datatype", "target_rank", "win"]),
    "rma_fetch": ([], ["result_count", "result_datatype", "target_rank", "win"]),
    "rma_op": ([], ["datatype", "target_rank", "win"]),
    "io": ([], ["count", "datatype"]),
    "cancel": (["request"], None),
    "forget": ([], None),
    "comm_new": ([], None),
    "comm_made": ([], None),
    "comm_idup": ([], None),
    "spawn": ([], ["maxprocs", "root", "comm"]),
    "spawn_multiple": ([], ["count", "array_of_maxprocs", "root", "comm"]),
    "comm_free": (["comm"], []),
    "win_new": ([], None),
    "win_fence": ([], None),
    "win_sync": ([], None),
    "win_post": ([], None),
    "win_start": ([], None),
    "win_complete": ([], None),
    "win_wait": ([], None),
    "win_test": ([], None),
    "win_free": (["win"], None),
}
# Classes that share the function of another, before or after the call.
BEFORE_AS = {"mprobe": "recv", "improbe": "recv", "sendrecv": "recv", "sendrecv_replace": "recv", "test": "wait", "testany": "waitany",
             "testall": "waitall", "waitsome": "waitall", "testsome": "waitall"}
AFTER_AS = {"startall": "start", "sendrecv_replace": "sendrecv", "testsome": "waitsome", "rma_fetch": "rma_get",
            "isendrecv_replace": "isendrecv"}
# class: what has to be done ahead of the real call whether it is recorded or not, so that a handle that the library gives
# out again is never taken for what it was before.
ALWAYS = {
    "forget": "gn_forget_handles();",
}
# class: the same, of C's arguments, which it may replace.
REPLACES = {
    "spawn": "gn_spawn_through(&spawn, &command, &argv, info, root, comm);",
    "spawn_multiple": "gn_spawn_all_through(&spawn, count, &array_of_commands, &array_of_argv, array_of_info, root, comm);",
}
# class: the same for calls that are not recorded; of those that are, gn_before_X sees to it.
FORGET = "gn_forget_requests({binding}, {%s}, {%s});"
UNRECORDED = {
    "comm_free": "gn_forget_comm({binding}, {comm});",
    "win_free": "gn_forget_window({binding}, {win});",
    "request_free": "gn_forget_requests({binding}, 1, {request});",
    "wait": "gn_forget_requests({binding}, 1, {request});", "test": "gn_forget_requests({binding}, 1, {request});",
    "waitall": FORGET % ("count", "array_of_requests"), "testall": FORGET % ("count", "array_of_requests"),
    "waitany": FORGET % ("count", "array_of_requests"), "testany": FORGET % ("count", "array_of_requests"),
    "waitsome": FORGET % ("incount", "array_of_requests"), "testsome": FORGET % ("incount", "array_of_requests"),
}
# class: what has to be done after a successful call that is not recorded, so that what is made is numbered alike in all
# processes.
MADE = {
    "comm_new": "gn_made_comm({binding}, {parent}, {new}, 0);",
    "comm_made": "gn_made_comm({binding}, {parent}, {new}, 0);",
    "spawn": "gn_made_comm({binding}, {parent}, {new}, 0);",
    "spawn_multiple": "gn_made_comm({binding}, {parent}, {new}, 0);",
    "comm_idup": "gn_made_comm({binding}, {parent}, {new}, {parent});",
    "win_new": "gn_made_window({binding}, {parent}, {new});",
    "win_fence": "gn_made_fence({win});",
    "win_post": "gn_made_epoch(GN_EPOCH_EXPOSURE, {group}, {win});",
    "win_start": "gn_made_epoch(GN_EPOCH_ACCESS, {group}, {win});",
    "psend_init": "gn_made_partitioned({comm}, {dest}, {tag}, false);",
    "precv_init": "gn_made_partitioned({comm}, {source}, {tag}, true);",
    "persistent": "gn_made_persistent({comm});",
}
# What a collective tells, in place of what CLASSES says of the others.
CONTRIBUTES = "gn_after_collective(&call, {op}, {comm}, {root}, {buffers});"
# What a call that makes a persistent collective tells, beside its class: it has moved nothing yet.
PERSISTENT = "gn_after_collective_init(&call, {op}, {comm}, {root}, {buffers}, request);"

# What capture/counting is told of messages: class: (side, arguments that name the peer and the tag) of what the call may
# send or receive, asked for ahead of it and when it has failed.
COUNTS = {
    "send": [("SEND", "dest", "tag")], "isend": [("SEND", "dest", "tag")],
    "recv": [("RECEIVE", "source", "tag")], "irecv": [("RECEIVE", "source", "tag")],
    "mprobe": [("RECEIVE", "source", "tag")], "improbe": [("RECEIVE", "source", "tag")],
    "sendrecv": [("SEND", "dest", "sendtag"), ("RECEIVE", "source", "recvtag")],
    "sendrecv_replace": [("SEND", "dest", "sendtag"), ("RECEIVE", "source", "recvtag")],
    "isendrecv": [("SEND", "dest", "sendtag"), ("RECEIVE", "source", "recvtag")],
    "isendrecv_replace": [("SEND", "dest", "sendtag"), ("RECEIVE", "source", "recvtag")],
}
# Classes of which something else is done after a call that has failed.
FAILED = {"start", "startall"}
# Classes whose functions after the call know calls that are counted only (call->recorder is NULL); others are not called.
COUNTED = set(COUNTS) | FAILED | {"send_init", "recv_init", "psend_init", "precv_init", "mrecv", "imrecv", "wait", "test", "waitall", "testall",
                                       "waitany", "testany", "waitsome", "testsome", "request_free", "comm_free"}

# What a traced call tells: statements ahead of the real call, after success, and after it whatever its result, which are
# made first: the end of a collective stands in the call's own record. {buffers} is a struct gn_buffers of those arguments that say something about its data.
# They are written by hand in src/capture/traced.c and collectives.c.
TRACES = {
    "collective": ("gn_traced_begin(&call, {op}, {comm}, {root});", [],
                   "gn_traced_end(&call, {op}, {comm}, {root}, result == 0 ? {buffers} : NULL);"),
    "icollective": (None, ["gn_traced_start(&call, {op}, {comm}, {root}, {buffers}, request);"], None),
    "neighbours": (None, ["gn_traced_neighbours(&call, {comm}, {buffers}, {request});"], None),
    "comm_new": ("gn_traced_begin(&call, GN_COLLECTIVE_CREATE_HANDLE, {parent}, GN_NO_ROOT);",
                 ["gn_traced_made_comm(&call, {parent}, {new}, 0);"],
                 "gn_traced_end(&call, GN_COLLECTIVE_CREATE_HANDLE, {parent}, GN_NO_ROOT, NULL);"),
    "comm_made": (None, ["gn_traced_made_comm(&call, {parent}, {new}, 0);"], None),
    "spawn": (None, ["gn_traced_made_comm(&call, {parent}, {new}, 0);"], None),
    "spawn_multiple": (None, ["gn_traced_made_comm(&call, {parent}, {new}, 0);"], None),
    "comm_idup": (None, ["gn_traced_made_comm(&call, {parent}, {new}, {parent});"], None),
    "win_new": ("gn_traced_win_begin(&call, GN_COLLECTIVE_CREATE_HANDLE, GN_NONE);",
                [], "gn_traced_made_window(&call, {parent}, {new}, result);"),
    "win_fence": ("gn_traced_win_begin(&call, GN_COLLECTIVE_BARRIER, gn_window_number({win}));", [],
                  "gn_traced_fence_end(&call, result);"),
    "win_free": (None, ["gn_traced_window_gone(&call);"], "gn_traced_win_end(&call);"),
    "win_sync": (None, ["gn_traced_win_sync(&call, {win});"], None),
    "win_post": (None, ["gn_traced_epoch(&call, GN_EPOCH_EXPOSURE, {group}, {win});"], None),
    "win_start": (None, ["gn_traced_epoch(&call, GN_EPOCH_ACCESS, {group}, {win});"], None),
    "win_complete": (None, ["gn_traced_epoch_end(&call, GN_EPOCH_ACCESS, {win});"], None),
    "win_wait": (None, ["gn_traced_epoch_end(&call, GN_EPOCH_EXPOSURE, {win});"], None),
    "win_test": (None, ["if (*(const int *)flag)", "    gn_traced_epoch_end(&call, GN_EPOCH_EXPOSURE, {win});"], None),
    "rma": (None, ["gn_traced_rma(&call, GN_EVENT_RMA_{rma}, {target_rank}, {win}, {request});"], None),
    "io": (None, ["gn_traced_io(&call, {request});"], None),
}
# What a call's class, or its name, says of it besides (event/activity.h).
WAITS = {"recv", "mprobe", "iprobe", "improbe", "mrecv", "sendrecv", "sendrecv_replace", "wait", "test", "waitall", "testall",
         "waitany", "testany", "waitsome", "testsome", "win_fence"}
WAITS_TOO = {"Probe", "Ssend", "Finalize"}
# One-sided calls that may last until another rank does something, and those that all ranks of a file make together. What is
# seen of them does not tell who was waited for.
UNTOLD = re.compile("Win_(start|complete|wait|lock|lock_all|unlock|unlock_all|flush|flush_all|flush_local|flush_local_all)$"
                    "|File_(open|close|set_size|preallocate|set_view|set_atomicity|set_info|sync|seek_shared|(read|write)_.*)$")
UNTOLD_NOT = re.compile("File_(read|write)_at$")  # one rank's own
STARTS = {"isend", "irecv", "imrecv", "isendrecv", "isendrecv_replace", "send_init", "recv_init", "psend_init", "precv_init",
          "start", "startall", "comm_idup"}
MODES = {"SYNCHRONOUS": {"Ssend", "Issend", "Ssend_init"}, "BUFFERED": {"Bsend", "Ibsend", "Bsend_init"}}
# Classes whose calls send, or take, a message; those of neighbours do both.
SENDS = {klass for klass, sides in COUNTS.items() if any(side[0] == "SEND" for side in sides)} | {"start", "startall"}
RECEIVES = {klass for klass, sides in COUNTS.items() if any(side[0] == "RECEIVE" for side in sides)} | \
           {"mrecv", "imrecv", "start", "startall"}
POLLS = {"test", "testany", "testall", "testsome", "iprobe", "improbe"}
SEVERAL = {"start", "startall"}  # MPI_Start: of a persistent neighbourhood collective
# Keys of TRACES whose calls are instances on a communicator, the same ones on all its ranks.
INSTANCES = {"collective", "icollective", "comm_new"}
# Names of the handle that a new one comes from, and of where the new one is put.
PARENTS = ["comm", "old_comm", "comm_old", "local_comm", "intercomm"]
NEW = ["newcomm", "new_comm", "comm_cart", "comm_graph", "comm_dist_graph", "newintercomm", "intercomm", "win"]
RMA = {"Put": "PUT", "Rput": "PUT", "Get": "GET", "Rget": "GET"}  # all others are atomic
# Field of struct gn_buffers: names of arguments, the first that a call has.
BUFFERS = {
    "sendbuf": ["sendbuf"], "recvbuf": ["recvbuf"],
    "sendcount": ["sendcount", "count", "recvcount"], "recvcount": ["recvcount", "count", "sendcount"],
    "sendcounts": ["sendcounts"], "recvcounts": ["recvcounts"],
    "sendtype": ["sendtype", "datatype", "recvtype"], "recvtype": ["recvtype", "datatype", "sendtype"],
    "sendtypes": ["sendtypes"], "recvtypes": ["recvtypes"],
}
# A and B stand for what C:counts is in a call's usual and in its large form.
C_TYPES = {"P": "void *", "S": "void *", "I": "int ", "L": "int64_t ", "H": "gn_handle ", "A": "void *", "B": "void *"}
COUNT_KINDS = {"usual": {"N": "I", "C": "A"}, "large": {"N": "L", "C": "B"}}
F2C = {"win": "win", "group": "group"} | {name: "comm" for name in PARENTS}  # every other handle that is looked at is a datatype


def with_counts(arguments, form):
    return [[COUNT_KINDS[form].get(kind, kind), name] for kind, name in arguments]


def is_persistent(call):
    """Whether it makes a persistent collective."""
    return call[1] == "collective" and bool(re.search("_init(_c)?$", call[0]))


def forms_of(calls):
    """The forms of the calls that MPI 4 has made by rule: see the table."""
    persistent = []
    for name, group, klass, arguments in calls:
        if group == "collective" and not (name[0] == "I" and name[1].islower()):
            arguments = arguments + [["H", "info"], ["P", "request"]]
            persistent.append((name + "_init", group, klass, arguments))
            persistent.append(("MPIX_" + name + "_init", group, klass, with_counts(arguments, "usual")))
    return persistent + [(name + "_c", group, klass, with_counts(arguments, "large"))
                         for name, group, klass, arguments in calls + persistent
                         if any(kind in "NC" for kind, _ in arguments)]


def read_lines(path):
    """Calls of MPI 3.1, the others, and what is left alone."""
    old, new, alone = [], [], []
    calls = old
    for number, line in enumerate(open(path), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if words[0] == "beyond":
            calls = new
            continue
        if words[0] == "alone":
            alone += words[1:]
            continue
        name, group, klass, arguments = words[0], words[1], words[2], [w.split(":") for w in words[3:]]
        where = f"{path}:{number}: {name}"
        if klass != "hand" and klass not in CLASSES:
            sys.exit(f"{where}: unknown class {klass}")
        for argument in arguments:
            if len(argument) != 2 or argument[0] not in "PSILHNC":
                sys.exit(f"{where}: bad argument {':'.join(argument)}")
        if klass != "hand":
            before, after = CLASSES[klass]
            for wanted in before + (after or []):
                if wanted.lstrip("*") not in [a[1] for a in arguments]:
                    sys.exit(f"{where}: class {klass} needs an argument {wanted}")
        calls.append((name, group, klass, arguments))
    return old, new, alone


def read_table(path):
    """Calls of MPI 3.1, all calls, and what is left alone."""
    old, new, alone = read_lines(path)
    new += forms_of(old + new)
    for call in old + new:
        if any(fnmatch.fnmatchcase(call[0], pattern) for pattern in alone):
            sys.exit(f"{path}: {call[0]} is recorded and left alone")
    usual = [[(name, group, klass, with_counts(arguments, "usual")) for name, group, klass, arguments in calls]
             for calls in (old, new)]
    return usual[0], usual[0] + usual[1], alone


def spelled(name):
    return name if name.startswith("MPIX_") else "MPI_" + name


def operation(name):
    """What MPI_Iallreduce, MPIX_Allreduce_init and MPI_Allreduce_init_c have in common: Allreduce."""
    name = re.sub("_c$", "", name)
    name = re.sub("_init$", "", name.removeprefix("MPIX_"))
    return name[1:] if name[0] == "I" and name[1].islower() else name


def write_calls(old, calls, out):
    out.write("/* Written by scripts/mpi_wrappers.py from event/mpi_api.txt. */\n")
    out.write("#ifndef GNOMON_CALLS_H\n#define GNOMON_CALLS_H\n\n")
    out.write("enum gn_call_id {\n")
    for name, *_ in calls:
        out.write(f"    GN_CALL_{name.upper()},\n")
    out.write(f"    GN_CALL_COUNT,\n    GN_CALLS_OF_MPI_3 = {len(old)} /* the first ones */\n}};\n\n#endif\n")


def op_of(call):
    """The collective operation that a call is, or starts: its name in GN_COLLECTIVES."""
    if trace_of(call) in ("collective", "icollective"):
        return operation(call[0]).upper()
    return {"comm_new": "CREATE_HANDLE", "comm_free": "DESTROY_HANDLE"}.get(call[2], "UNKNOWN")


def traits_of(call):
    """Bits of enum gn_trait: see event/activity.h."""
    name, klass = re.sub("_c$", "", call[0]), call[2]
    kind = trace_of(call)
    traits = []
    if klass in WAITS or name in WAITS_TOO or (kind == "neighbours" and name.startswith("Neighbor_")):
        traits.append("WAITS")
    if klass in STARTS or is_persistent(call) or kind == "icollective" or name.startswith("Ineighbor_"):
        traits.append("STARTS")
    traits += [trait for trait, names in MODES.items() if name in names]
    if klass in POLLS:
        traits.append("POLLS")
    if UNTOLD.match(name) and not UNTOLD_NOT.match(name):
        traits.append("UNTOLD")
    traits += [trait for trait, classes in (("SENDS", SENDS), ("RECEIVES", RECEIVES), ("SEVERAL", SEVERAL))
               if klass in classes or (kind == "neighbours" and not is_persistent(call))]
    return " | ".join("GN_TRAIT_" + trait for trait in traits) or "0"


def write_table(calls, out):
    out.write("/* Written by scripts/mpi_wrappers.py from event/mpi_api.txt. */\n")
    for call in calls:
        out.write(f'CALL("{spelled(call[0])}", "{call[1]}", {op_of(call)}, {traits_of(call)}),\n')


def write_alone(alone, out):
    out.write("/* Written by scripts/mpi_wrappers.py from event/mpi_api.txt: patterns of fnmatch(3). */\n")
    out.write("static const char *const gn_calls_left_alone[] = {\n")
    for name in alone:
        out.write(f'    "{spelled(name)}",\n')
    out.write("};\n")


def c_argument(kind, name):
    if kind in "AB":
        return f"gn_counts({name}, {'true' if kind == 'B' else 'false'})"
    return name


def fortran_argument(kind, name):
    if kind == "I":
        return f"*(int *){name}"
    if kind == "L":
        return f"*(int64_t *){name}"
    if kind == "A":
        return c_argument(kind, name)
    if kind == "H":
        return f"gn_f2c_{F2C.get(name, 'type')}(*(int *){name})"
    return name


def parent_of(call):
    """The argument that a new handle comes from, or None."""
    kinds = {n: k for k, n in call[3]}
    makes = any(kinds.get(n) == "P" for n in NEW)
    return next((n for n in PARENTS if kinds.get(n) == "H"), None) if makes else None


def trace_of(call):
    """Key into TRACES, or None."""
    name, group, klass, arguments = call
    if is_persistent(call):
        return None
    if "eighbor_" in name:
        return "neighbours"
    if group == "collective":
        return "icollective" if name[0] == "I" and name[1].islower() else "collective"
    return "rma" if klass.startswith("rma") else klass if klass in TRACES else None


def asked_of(call, binding):
    """What the call asks of whom, for struct gn_asked: the statement, or None."""
    kinds = {n: k for k, n in call[3]}
    for peer, asks in (("dest", "TO"), ("source", "FROM"), ("target_rank", "TO"), ("root", "ROOT")):
        if kinds.get(peer) != "I":
            continue
        tag = next((n for n in ("tag", "sendtag") if n in kinds and asks != "ROOT"), None)
        plain = lambda n: n if binding == "GN_C" else f"*(int *){n}"
        comm = plain("comm") if kinds.get("comm") == "H" else "0"
        if binding != "GN_C" and comm != "0":
            comm = f"(gn_handle)(uint32_t){comm}"
        return f"gn_record_asked(&call, GN_ASKS_{asks}, {plain(peer)}, {plain(tag) if tag else '-1'}, {comm});"
    return None


def words_of(call, binding):
    """What the placeholders of the templates above stand for."""
    name, _, _, arguments = call
    convert = c_argument if binding == "GN_C" else fortran_argument
    kinds = {n: k for k, n in arguments}
    words = {n: convert(k, n) for n, k in kinds.items()}
    parent = parent_of(call)
    if binding != "GN_C" and parent:
        words[parent] = f"gn_f2c_comm(given_{parent})"
    fields = []
    for field, names in BUFFERS.items():
        found = next((n for n in names if n in kinds), None)
        if field in ("sendcounts", "sendcount") and "recvcounts" in kinds and "sendtype" not in kinds:
            found = {"sendcounts": "recvcounts"}.get(field)  # MPI_Reduce_scatter: what is received was sent in sum
        if found:
            fields.append(f".{field} = {words[found]}")
    words |= {
        "binding": binding,
        "op": "GN_COLLECTIVE_" + ("UNKNOWN" if "eighbor_" in name else operation(name).upper()),
        "root": words.get("root", "GN_NO_ROOT"),
        "request": words.get("request", "NULL"),
        "rma": RMA.get(operation(name), "ATOMIC"),
        "parent": next((words[n] for n in PARENTS if kinds.get(n) == "H"), "0"),
        "new": next((n for n in NEW if kinds.get(n) == "P"), "NULL"),
        "buffers": f"&(struct gn_buffers){{{', '.join(fields) or '0'}}}",
    }
    return words


def body(call, binding):
    name, _, klass, arguments = call
    fortran = binding != "GN_C"
    convert = fortran_argument if fortran else c_argument
    kinds = dict((a[1], a[0]) for a in arguments)
    before, after = CLASSES[klass]
    trace_before, trace_after, trace_end = TRACES.get(trace_of(call), (None, [], None))
    words = words_of(call, binding)
    lines = []
    asked = asked_of(call, binding)
    if asked:
        lines.append(f"    {asked}")
    if before:
        given = ["&" + a[1:] if a[0] == "*" else convert(kinds[a], a) for a in before]
        lines.append(f"    gn_before_{BEFORE_AS.get(klass, klass)}({', '.join(['&call'] + given)});")
    for side, peer, tag in COUNTS.get(klass, []):
        lines.append(f"    call.inside[GN_NUMBER_{side}] = 0;\n    if (gn_counts_threads)\n        "
                     f"gn_counts_begin(&call, GN_NUMBER_{side}, {words[peer]}, {words[tag]}, {words['comm']});")
    if trace_before:
        lines.append(f"    if (call.traced)\n        {trace_before.format(**words)}")
    lines.append("REAL")
    lines.append("    call.exit_ticks = gn_ticks();")
    # a callback inside the call may have forked: then this is a child, which has no segment
    lines.append(f"    if (gn_is_closed())\n        return{'' if fortran else ' result'};")
    if after is not None:
        given = [words[a] if kinds[a] == "H" else convert(kinds[a], a) for a in after]
        only = "" if klass in COUNTED else " && call.recorder"
        lines.append(f"    if (result == 0{only})\n        gn_after_{AFTER_AS.get(klass, klass)}({', '.join(['&call'] + given)});")
    if klass == "collective":
        lines.append(f"    if (result == 0 && call.recorder)\n        {CONTRIBUTES.format(**words)}")
    if is_persistent(call):
        lines.append(f"    if (result == 0)\n        {PERSISTENT.format(**words)}")
    for side, peer, tag in COUNTS.get(klass, []):
        lines.append(f"    if (result != 0)\n        "
                     f"gn_counts_failed(&call, GN_NUMBER_{side}, {words[peer]}, {words[tag]}, {words['comm']});")
    if klass in FAILED:
        lines.append("    if (result != 0)\n        gn_failed_start(&call);")
    if trace_of(call) in INSTANCES:
        comm = words["parent" if klass == "comm_new" else "comm"]
        number = f"gn_counts_comm(&call, {comm})"
        if trace_of(call) in ("collective", "comm_new"):  # their begin has asked
            number = f"call.traced ? call.collective_comm : {number}"
        lines.append(f"    gn_counted_collective(&call, {number}, result);")
    if trace_end:
        lines.append(f"    if (call.traced)\n        {trace_end.format(**words)}")
    if trace_after:
        statements = "\n        ".join(s.format(**words) for s in trace_after)
        lines.append(f"    if (call.traced && result == 0) {{\n        {statements}\n    }}")
    if klass in MADE and klass in TRACES:
        lines.append(f"    if (!call.traced && result == 0)\n        {MADE[klass].format(**words)}")
    lines.append("    gn_leave(&call, result);")
    return lines


def housekeeping(call, binding):
    """Statements ahead of all calls, and ahead of and after calls that are not recorded; empty if there are none."""
    words = words_of(call, binding)
    klass = "persistent" if is_persistent(call) else call[2]
    return [table[klass].format(**words) if klass in table else "" for table in (ALWAYS, UNRECORDED, MADE)]


def own_name(symbol, is_new):
    """Of an entry point; the new ones get their symbol from a macro (capture/classes.h)."""
    return "gn_new_" + symbol if is_new else symbol


def write_c(call, is_new, out):
    name, _, klass, arguments = call
    parameters = ", ".join(C_TYPES[k] + n for k, n in arguments) or "void"
    types = ", ".join(C_TYPES[k].strip() for k, _ in arguments) or "void"
    passed = ", ".join(n for _, n in arguments)
    real = f"((int (*)({types}))gn_real(GN_C, GN_CALL_{name.upper()}))({passed})"
    symbol = own_name(spelled(name), is_new)
    out.write(f"GN_EXPORT int {symbol}({parameters})\n{{\n    struct gn_capture_call call;\n    call.binding = GN_C;\n")
    always, unrecorded, made = housekeeping(call, "GN_C")
    if always:
        out.write(f"    {always}\n")
    if klass in REPLACES:
        out.write(f"    struct gn_spawn spawn;\n    {REPLACES[klass]}\n")
    out.write(f"    if (!gn_enter(&call, GN_CALL_{name.upper()}, GN_CALLER, GN_FRAME) &&\n"
              f"        !gn_enter_unrecorded(&call, GN_CALL_{name.upper()}, GN_CALLER, GN_FRAME)) {{\n")
    if unrecorded:
        out.write(f"        {unrecorded}\n")
    if made:
        out.write(f"        int result = {real};\n        if (result == 0)\n            {made}\n        return result;\n    }}\n")
    else:
        out.write(f"        return {real};\n    }}\n")
    for line in body(call, "GN_C"):
        out.write(line.replace("REAL", f"    int result = {real};") + "\n")
    out.write("    return result;\n}\n")
    out.write(f"GN_NEW({spelled(name)});\n\n" if is_new else "\n")


def write_fortran(call, spelling, binding, is_new, out):
    name, _, klass, arguments = call
    names = [n for _, n in arguments] + ["ierror"]
    hidden = [f"hidden_{n}" for k, n in arguments if k == "S"]
    parameters = ", ".join(["void *" + n for n in names] + ["size_t " + n for n in hidden])
    types = ", ".join(["void *"] * len(names) + ["size_t"] * len(hidden))
    real = f"((void (*)({types}))gn_real({binding}, GN_CALL_{name.upper()}))({', '.join(names + hidden)})"
    symbol = own_name(spelling, is_new)
    out.write(f"GN_EXPORT void {symbol}({parameters})\n{{\n    struct gn_capture_call call;\n    call.binding = {binding};\n")
    # mpi_f08 lets a program leave it out, which is a null pointer; whether the call has failed is asked all the same
    out.write("    int own_error = 0;\n    if (!ierror)\n        ierror = &own_error;\n")
    if is_new:  # the library may not have it, and then nobody else says so
        out.write("    *(int *)ierror = GN_NO_SUCH_CALL;\n")
    parent = parent_of(call)
    if parent:  # one variable may be that of the old handle and of the new one
        out.write(f"    int given_{parent} = *(int *){parent};\n")
    always, unrecorded, made = housekeeping(call, binding)
    if always:
        out.write(f"    if (gn_flavour.direct[{binding}])\n        {always}\n")
    out.write(f"    if (!gn_flavour.direct[{binding}] ||\n        "
              f"(!gn_enter(&call, GN_CALL_{name.upper()}, GN_CALLER, GN_FRAME) &&\n         "
              f"!gn_enter_unrecorded(&call, GN_CALL_{name.upper()}, GN_CALLER, GN_FRAME))) {{\n")
    if unrecorded:
        out.write(f"        if (gn_flavour.direct[{binding}])\n            {unrecorded}\n")
    out.write(f"        {real};\n")
    if made:
        out.write(f"        if (gn_flavour.direct[{binding}] && *(int *)ierror == 0)\n            {made}\n")
    out.write("        return;\n    }\n")
    for line in body(call, binding):
        out.write(line.replace("REAL", f"    {real};\n    int result = *(int *)ierror;") + "\n")
    out.write("}\n")
    if is_new:
        out.write(f"GN_NEW({spelling});\n")


def write_wrappers(old, calls, out):
    out.write("/* Written by scripts/mpi_wrappers.py from event/mpi_api.txt. */\n")
    out.write('#include "capture/classes.h"\n#include "capture/counting.h"\n#include "capture/real.h"\n#include "capture/spawn.h"\n#include "capture/traced.h"\n\n')
    for call in calls:
        if call[2] == "hand":
            continue
        is_new = call not in old
        write_c(call, is_new, out)
        if call[0].endswith("_c"):
            continue
        lower = spelled(call[0]).lower()
        write_fortran(call, lower + "_", "GN_F77", is_new, out)
        for alias in (lower, lower + "__", lower.upper()):
            if is_new:
                out.write(f"GN_NEW_ALIAS({alias}, {lower}_);\n")
            else:
                out.write(f"GN_ALIAS({alias}, {lower}_);\n")
        write_fortran(call, lower + "_f08_", "GN_F08", is_new, out)
        out.write("\n")


def main():
    if len(sys.argv) != 4 or sys.argv[2] not in ("calls", "table", "alone", "wrappers"):
        sys.exit(__doc__)
    old, calls, alone = read_table(sys.argv[1])
    with open(sys.argv[3], "w") as out:
        if sys.argv[2] == "calls":
            write_calls(old, calls, out)
        elif sys.argv[2] == "table":
            write_table(calls, out)
        elif sys.argv[2] == "alone":
            write_alone(alone, out)
        else:
            write_wrappers(old, calls, out)


if __name__ == "__main__":
    main()
