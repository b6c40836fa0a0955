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
    "send": ([], ["count", "datatype", "dest", "comm"]),
    "send_init": ([], ["count", "datatype", "dest", "comm", "request"]),
    "recv": (["*status"], ["source", "comm", "status"]),
    "irecv": ([], ["source", "comm", "request"]),
    "recv_init": ([], ["source", "comm", "request"]),
    "mrecv": (["*status"], ["status"]),
    "imrecv": ([], ["request"]),
    "sendrecv": (["*status"], ["sendcount", "sendtype", "dest", "source", "comm", "status"]),
    "sendrecv_replace": (["*status"], ["count", "datatype", "dest", "source", "comm", "status"]),
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
    "request_free": ([], None),
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
    "comm_free": ([], None),
}
# Classes that share the function of another, before or after the call.
BEFORE_AS = {"mrecv": "recv", "sendrecv": "recv", "sendrecv_replace": "recv", "test": "wait", "testany": "waitany",
             "testall": "waitall", "waitsome": "waitall", "testsome": "waitall"}
AFTER_AS = {"neighbor_allgather": "local", "sendrecv_replace": "sendrecv", "testsome": "waitsome", "rma_fetch": "rma_get"}
# class: what has to be done ahead of the real call whether it is recorded or not, so that a handle that the library gives
# out again is never taken for what it was before.
ALWAYS = {
    "forget": "gn_forget_handles();",
    "comm_free": "gn_forget_comm({binding}, {comm});",
    "request_free": "gn_forget_requests({binding}, 1, {request});",
}
# class: what has to be done ahead of a call that is not recorded (number of requests, array).
UNRECORDED = {
    "wait": ("1", "request"), "test": ("1", "request"),
    "waitall": ("count", "array_of_requests"), "testall": ("count", "array_of_requests"),
    "waitany": ("count", "array_of_requests"), "testany": ("count", "array_of_requests"),
    "waitsome": ("incount", "array_of_requests"), "testsome": ("incount", "array_of_requests"),
}
C_TYPES = {"P": "void *", "S": "void *", "I": "int ", "L": "int64_t ", "H": "gn_handle "}
F2C = {"comm": "comm", "win": "win"}  # every other handle that a class looks at is a datatype


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


def body(call, convert, fortran):
    name, _, klass, arguments = call
    kinds = dict((a[1], a[0]) for a in arguments)
    before, after = CLASSES[klass]
    lines = []
    if before:
        given = ["&" + a[1:] if a[0] == "*" else convert(kinds[a], a) for a in before]
        lines.append(f"    gn_before_{BEFORE_AS.get(klass, klass)}({', '.join(['&call'] + given)});")
    lines.append("REAL")
    lines.append("    call.exit_ticks = gn_ticks();")
    # a callback inside the call may have forked: then this is a child, which has no segment
    lines.append(f"    if (gn_is_closed())\n        return{'' if fortran else ' result'};")
    if after is not None:
        given = [convert(kinds[a], a) for a in after]
        lines.append(f"    if (result == 0)\n        gn_after_{AFTER_AS.get(klass, klass)}({', '.join(['&call'] + given)});")
    lines.append("    gn_leave(&call, result);")
    return lines


def housekeeping(call, binding):
    """Lines for all calls, and lines for calls that are not recorded."""
    klass, kinds = call[2], dict((a[1], a[0]) for a in call[3])
    convert = c_argument if binding == "GN_C" else fortran_argument
    names = {a[1]: a[1] for a in call[3]}
    always = "    " + ALWAYS[klass].format(binding=binding, **names) + "\n" if klass in ALWAYS else ""
    unrecorded = ""
    if klass in UNRECORDED:
        count, array = UNRECORDED[klass]
        count = convert(kinds[count], count) if count in kinds else count
        unrecorded = f"        gn_forget_requests({binding}, {count}, {array});\n"
    return always, unrecorded


def write_c(call, out):
    name, _, klass, arguments = call
    parameters = ", ".join(C_TYPES[k] + n for k, n in arguments) or "void"
    types = ", ".join(C_TYPES[k].strip() for k, _ in arguments) or "void"
    passed = ", ".join(n for _, n in arguments)
    real = f"((int (*)({types}))gn_real(GN_C, GN_CALL_{name.upper()}))({passed})"
    out.write(f"GN_EXPORT int MPI_{name}({parameters})\n{{\n    struct gn_call call;\n    call.binding = GN_C;\n")
    always, unrecorded = housekeeping(call, "GN_C")
    out.write(always)
    out.write(f"    if (!gn_enter(&call, GN_CALL_{name.upper()}, GN_CALLER, GN_FRAME)) {{\n{unrecorded}"
              f"        return {real};\n    }}\n")
    for line in body(call, c_argument, False):
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
    always, unrecorded = housekeeping(call, binding)
    if always:
        out.write(f"    if (gn_flavour.direct[{binding}])\n    {always}")
    if unrecorded:
        unrecorded = f"        if (gn_flavour.direct[{binding}])\n    {unrecorded}"
    out.write(f"    if (!gn_flavour.direct[{binding}] ||\n        "
              f"!gn_enter(&call, GN_CALL_{name.upper()}, GN_CALLER, GN_FRAME)) {{\n{unrecorded}        {real};\n"
              "        return;\n    }\n")
    for line in body(call, fortran_argument, True):
        out.write(line.replace("REAL", f"    {real};\n    int result = ierror ? *(int *)ierror : 0;") + "\n")
    out.write("}\n")


def write_wrappers(calls, out):
    out.write("/* Written by scripts/mpi_wrappers.py from event/mpi_api.txt. */\n")
    out.write('#include "capture/classes.h"\n#include "capture/real.h"\n\n')
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
