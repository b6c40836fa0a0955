#!/usr/bin/env python3
"""Writes the enumeration of MPI calls and their wrappers from src/event/mpi_api.txt.

    mpi_wrappers.py TABLE calls OUT.h         enum gn_call, names, groups
    mpi_wrappers.py TABLE wrappers OUT.c      C and Fortran entry points

The wrappers are thin: enter, real call, facts, leave. What facts a call has is written by hand in
src/capture/classes.c, one function per class; CLASSES below only says which arguments it is given.
"""
import sys

# class: (arguments given before the call; a leading * passes the argument's address, so that it can be replaced,
#         arguments given after a successful call)
CLASSES = {
    "none": ([], None),
    "send": ([], ["count", "datatype", "dest", "tag", "comm"]),
    "isend": ([], ["count", "datatype", "dest", "tag", "comm", "request"]),
    "send_init": ([], ["count", "datatype", "dest", "tag", "comm", "request"]),
    "recv": (["*status"], ["source", "comm", "status"]),
    "irecv": ([], ["source", "tag", "comm", "request"]),
    "recv_init": ([], ["source", "tag", "comm", "request"]),
    "mprobe": ([], ["source", "tag", "comm", "message"]),
    "iprobe": ([], ["flag"]),
    "improbe": ([], ["source", "tag", "comm", "flag", "message"]),
    "mrecv": (["message", "*status"], ["status"]),
    "imrecv": (["message"], ["request"]),
    "sendrecv": (["*status"], ["sendcount", "sendtype", "dest", "sendtag", "source", "comm", "status"]),
    "sendrecv_replace": (["*status"], ["count", "datatype", "dest", "sendtag", "source", "comm", "status"]),
    "start": ([], ["request"]),
    "startall": ([], ["count", "array_of_requests"]),
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
    "bcast": ([], ["count", "datatype", "root"]),
    "reduce": ([], ["count", "datatype", "root"]),
    "local": ([], ["count", "datatype"]),
    "gather": ([], ["sendbuf", "sendcount", "sendtype", "recvcount", "recvtype", "root"]),
    "gatherv": ([], ["sendbuf", "sendcount", "sendtype", "recvcounts", "recvtype", "root", "comm"]),
    "allgather": ([], ["sendbuf", "sendcount", "sendtype", "recvcount", "recvtype"]),
    "allgatherv": ([], ["sendbuf", "sendcount", "sendtype", "recvcounts", "recvtype", "comm"]),
    "scatter": ([], ["recvbuf", "recvcount", "recvtype", "root"]),
    "alltoall": ([], ["sendbuf", "sendcount", "sendtype", "recvcount", "recvtype", "comm"]),
    "alltoallv": ([], ["sendbuf", "sendcounts", "sendtype", "recvcounts", "recvtype", "comm"]),
    "alltoallw": ([], ["sendbuf", "sendcounts", "sendtypes", "recvcounts", "recvtypes", "comm"]),
    "reduce_scatter": ([], ["recvcounts", "datatype", "comm"]),
    "reduce_scatter_block": ([], ["recvcount", "datatype", "comm"]),
    "neighbor_allgather": ([], ["sendcount", "sendtype"]),
    "neighbor_alltoall": ([], ["sendcount", "sendtype", "comm"]),
    "neighbor_alltoallv": ([], ["sendcounts", "sendtype", "comm"]),
    "neighbor_alltoallw": ([], ["sendcounts", "sendtypes", "comm"]),
    "rma_put": ([], ["origin_count", "origin_datatype", "target_rank", "win"]),
    "rma_get": ([], ["origin_count", "origin_datatype", "target_rank", "win"]),
    "rma_fetch": ([], ["result_count", "result_datatype", "target_rank", "win"]),
    "rma_op": ([], ["datatype", "target_rank", "win"]),
    "io": ([], ["count", "datatype"]),
    "cancel": ([], []),
    "forget": ([], None),
    "comm_new": ([], None),
    "comm_made": ([], None),
    "comm_idup": ([], None),
    "comm_free": (["comm"], []),
    "win_new": ([], None),
    "win_fence": ([], None),
    "win_sync": ([], None),
    "win_test": ([], None),
    "win_free": (["win"], None),
}
# Classes that share the function of another, before or after the call.
BEFORE_AS = {"sendrecv": "recv", "sendrecv_replace": "recv", "test": "wait", "testany": "waitany",
             "testall": "waitall", "waitsome": "waitall", "testsome": "waitall"}
AFTER_AS = {"neighbor_allgather": "local", "sendrecv_replace": "sendrecv", "testsome": "waitsome", "rma_fetch": "rma_get"}
# class: what has to be done ahead of the real call whether it is recorded or not, so that a handle that the library gives
# out again is never taken for what it was before.
ALWAYS = {
    "forget": "gn_forget_handles();",
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
    "comm_idup": "gn_made_comm({binding}, {parent}, {new}, {parent});",
    "win_new": "gn_made_window({binding}, {parent}, {new});",
}

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
    "comm_idup": (None, ["gn_traced_made_comm(&call, {parent}, {new}, {parent});"], None),
    "win_new": ("gn_traced_win_begin(&call, GN_COLLECTIVE_CREATE_HANDLE, GN_NONE);",
                [], "gn_traced_made_window(&call, {parent}, {new}, result);"),
    "win_fence": ("gn_traced_win_begin(&call, GN_COLLECTIVE_BARRIER, gn_window_number({win}));", [],
                  "gn_traced_win_end(&call);"),
    "win_free": (None, ["gn_traced_window_gone(&call);"], "gn_traced_win_end(&call);"),
    "win_sync": (None, ["gn_traced_win_sync(&call, {win});"], None),
    "win_test": (None, ["if (*(const int *)flag)", "    gn_traced_win_sync(&call, {win});"], None),
    "rma": (None, ["gn_traced_rma(&call, GN_EVENT_RMA_{rma}, {target_rank}, {win}, {request});"], None),
    "io": (None, ["gn_traced_io(&call, {request});"], None),
}
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
C_TYPES = {"P": "void *", "S": "void *", "I": "int ", "L": "int64_t ", "H": "gn_handle "}
F2C = {"win": "win"} | {name: "comm" for name in PARENTS}  # every other handle that is looked at is a datatype


def read_table(path):
    calls = []
    for number, line in enumerate(open(path), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        name, group, klass, arguments = words[0], words[1], words[2], [w.split(":") for w in words[3:]]
        where = f"{path}:{number}: MPI_{name}"
        if klass != "hand" and klass not in CLASSES:
            sys.exit(f"{where}: unknown class {klass}")
        for argument in arguments:
            if len(argument) != 2 or argument[0] not in C_TYPES:
                sys.exit(f"{where}: bad argument {':'.join(argument)}")
        if klass != "hand":
            before, after = CLASSES[klass]
            for wanted in before + (after or []):
                if wanted.lstrip("*") not in [a[1] for a in arguments]:
                    sys.exit(f"{where}: class {klass} needs an argument {wanted}")
        calls.append((name, group, klass, arguments))
    return calls


def write_calls(calls, out):
    groups = []
    for call in calls:
        if call[1] not in groups:
            groups.append(call[1])
    out.write("/* Written by scripts/mpi_wrappers.py from event/mpi_api.txt. */\n")
    out.write("#ifndef GNOMON_CALLS_H\n#define GNOMON_CALLS_H\n\n")
    out.write("enum gn_call_id {\n")
    for name, *_ in calls:
        out.write(f"    GN_CALL_{name.upper()},\n")
    out.write("    GN_CALL_COUNT\n};\n\n")
    out.write("static const char *const gn_call_names[] __attribute__((unused)) = {\n")
    for name, *_ in calls:
        out.write(f'    "MPI_{name}",\n')
    out.write("};\n\nstatic const char *const gn_call_groups[] __attribute__((unused)) = {\n")
    for _, group, *_ in calls:
        out.write(f'    "{group}",\n')
    out.write("};\n\n#endif\n")


def c_argument(kind, name):
    return name


def fortran_argument(kind, name):
    if kind == "I":
        return f"*(int *){name}"
    if kind == "H":
        return f"gn_f2c_{F2C.get(name, 'type')}(*(int *){name})"
    return name


def trace_of(call):
    """Key into TRACES, or None."""
    name, group, klass, arguments = call
    if "eighbor_" in name:
        return "neighbours"
    if group == "collective" and name != "Probe":
        return "icollective" if name[0] == "I" and name[1].islower() else "collective"
    return "rma" if klass.startswith("rma") else klass if klass in TRACES else None


def words_of(call, binding):
    """What the placeholders of the templates above stand for."""
    name, _, _, arguments = call
    convert = c_argument if binding == "GN_C" else fortran_argument
    kinds = {n: k for k, n in arguments}
    words = {n: convert(k, n) for n, k in kinds.items()}
    operation = name[1:] if name[0] == "I" and name[1].islower() else name
    fields = []
    for field, names in BUFFERS.items():
        found = next((n for n in names if n in kinds), None)
        if field in ("sendcounts", "sendcount") and "recvcounts" in kinds and "sendtype" not in kinds:
            found = {"sendcounts": "recvcounts"}.get(field)  # MPI_Reduce_scatter: what is received was sent in sum
        if found:
            fields.append(f".{field} = {words[found]}")
    words |= {
        "binding": binding,
        "op": f"GN_COLLECTIVE_{operation.upper()}",
        "root": words.get("root", "GN_NO_ROOT"),
        "request": words.get("request", "NULL"),
        "rma": RMA.get(name, "ATOMIC"),
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
    if before:
        given = ["&" + a[1:] if a[0] == "*" else convert(kinds[a], a) for a in before]
        lines.append(f"    gn_before_{BEFORE_AS.get(klass, klass)}({', '.join(['&call'] + given)});")
    if trace_before:
        lines.append(f"    if (call.traced)\n        {trace_before.format(**words)}")
    lines.append("REAL")
    lines.append("    call.exit_ticks = gn_ticks();")
    # a callback inside the call may have forked: then this is a child, which has no segment
    lines.append(f"    if (gn_is_closed())\n        return{'' if fortran else ' result'};")
    if after is not None:
        given = [convert(kinds[a], a) for a in after]
        lines.append(f"    if (result == 0)\n        gn_after_{AFTER_AS.get(klass, klass)}({', '.join(['&call'] + given)});")
    if trace_end:
        lines.append(f"    if (call.traced)\n        {trace_end.format(**words)}")
    if trace_after:
        statements = "\n        ".join(s.format(**words) for s in trace_after)
        lines.append(f"    if (call.traced && result == 0) {{\n        {statements}\n    }}")
    if klass in MADE:
        lines.append(f"    if (!call.traced && result == 0)\n        {MADE[klass].format(**words)}")
    lines.append("    gn_leave(&call, result);")
    return lines


def housekeeping(call, binding):
    """Statements ahead of all calls, and ahead of and after calls that are not recorded; empty if there are none."""
    words = words_of(call, binding)
    return [table[call[2]].format(**words) if call[2] in table else "" for table in (ALWAYS, UNRECORDED, MADE)]


def write_c(call, out):
    name, _, klass, arguments = call
    parameters = ", ".join(C_TYPES[k] + n for k, n in arguments) or "void"
    types = ", ".join(C_TYPES[k].strip() for k, _ in arguments) or "void"
    passed = ", ".join(n for _, n in arguments)
    real = f"((int (*)({types}))gn_real(GN_C, GN_CALL_{name.upper()}))({passed})"
    out.write(f"GN_EXPORT int MPI_{name}({parameters})\n{{\n    struct gn_call call;\n    call.binding = GN_C;\n")
    always, unrecorded, made = housekeeping(call, "GN_C")
    if always:
        out.write(f"    {always}\n")
    out.write(f"    if (!gn_enter(&call, GN_CALL_{name.upper()}, GN_CALLER, GN_FRAME)) {{\n")
    if unrecorded:
        out.write(f"        {unrecorded}\n")
    if made:
        out.write(f"        int result = {real};\n        if (result == 0)\n            {made}\n        return result;\n    }}\n")
    else:
        out.write(f"        return {real};\n    }}\n")
    for line in body(call, "GN_C"):
        out.write(line.replace("REAL", f"    int result = {real};") + "\n")
    out.write("    return result;\n}\n\n")


def write_fortran(call, symbol, binding, out):
    name, _, klass, arguments = call
    names = [n for _, n in arguments] + ["ierror"]
    hidden = [f"hidden_{n}" for k, n in arguments if k == "S"]
    parameters = ", ".join(["void *" + n for n in names] + ["size_t " + n for n in hidden])
    types = ", ".join(["void *"] * len(names) + ["size_t"] * len(hidden))
    real = f"((void (*)({types}))gn_real({binding}, GN_CALL_{name.upper()}))({', '.join(names + hidden)})"
    out.write(f"GN_EXPORT void {symbol}({parameters})\n{{\n    struct gn_call call;\n    call.binding = {binding};\n")
    always, unrecorded, made = housekeeping(call, binding)
    if always:
        out.write(f"    if (gn_flavour.direct[{binding}])\n        {always}\n")
    out.write(f"    if (!gn_flavour.direct[{binding}] ||\n        "
              f"!gn_enter(&call, GN_CALL_{name.upper()}, GN_CALLER, GN_FRAME)) {{\n")
    if unrecorded:
        out.write(f"        if (gn_flavour.direct[{binding}])\n            {unrecorded}\n")
    out.write(f"        {real};\n")
    if made:
        out.write(f"        if (gn_flavour.direct[{binding}] && !(ierror && *(int *)ierror))\n            {made}\n")
    out.write("        return;\n    }\n")
    for line in body(call, binding):
        out.write(line.replace("REAL", f"    {real};\n    int result = ierror ? *(int *)ierror : 0;") + "\n")
    out.write("}\n")


def write_wrappers(calls, out):
    out.write("/* Written by scripts/mpi_wrappers.py from event/mpi_api.txt. */\n")
    out.write('#include "capture/classes.h"\n#include "capture/real.h"\n#include "capture/traced.h"\n\n')
    for call in calls:
        if call[2] == "hand":
            continue
        write_c(call, out)
        lower = "mpi_" + call[0].lower()
        write_fortran(call, lower + "_", "GN_F77", out)
        for alias in (lower, lower + "__", lower.upper()):
            out.write(f"GN_ALIAS({alias}, {lower}_);\n")
        write_fortran(call, lower + "_f08_", "GN_F08", out)
        out.write("\n")


def main():
    if len(sys.argv) != 4 or sys.argv[2] not in ("calls", "wrappers"):
        sys.exit(__doc__)
    calls = read_table(sys.argv[1])
    with open(sys.argv[3], "w") as out:
        (write_calls if sys.argv[2] == "calls" else write_wrappers)(calls, out)


if __name__ == "__main__":
    main()
