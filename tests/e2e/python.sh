# Programs in Python: calls are shown at their lines, on all ranks, in the report, the profile and the trace, in each
# interpreter that is here; the programs do what they do without.
. "$(dirname "$0")/lib.sh"

program=$here/fixtures/python_calls.py
library=libmpi.so.40
[ "$FLAVOUR" = openmpi ] || library=libmpich.so.12
shopt -s nullglob

# Those that capture understands.
interpreters() {
    local python
    for python in /usr/bin/python3 /usr/local/bin/python3 "$HOME"/.pyenv/versions/*/bin/python3; do
        "$python" -c 'import sys, ctypes; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null && echo "$python"
    done
}

printable() { # FILE
    ! LC_ALL=C grep -qaP '[\x00-\x08\x0b-\x1f\x7f]' "$1" || fail "control characters in $1"
    iconv -f utf-8 -t utf-8 "$1" >/dev/null || fail "$1 is not UTF-8"
}

check_lines() { # NAME: each marked line has a row of its own, of both ranks
    local name=$1 line
    for line in $(grep -n '# call$' "$program" | cut -d: -f1); do
        json "$name" "$line in [x['line'] for x in rows if x['name'] == 'MPI_Barrier' and x['file'] == '$program']" ||
            fail "$python: line $line is missing: $(report "$name" --format csv)"
    done
    json "$name" 'all(x["count"] % 2 == 0 for x in rows if x["kind"] == "mpi")' || fail "$python: a row is not of both ranks"
    json "$name" '{"exchange", "Solver.step", "Solver.recursive", "generator", "main.<locals>.<lambda>"} <= {x["function"] for x in rows}' ||
        fail "$python: functions are missing"
    json "$name" 'any(x["kind"] == "computation" and x["function"] == "main" and x["file"].endswith("python_calls.py") for x in rows)' ||
        fail "$python: no computation in main()"
    json "$name" 'sum(x["count"] for x in rows if x["name"] == "MPI_Barrier" and x["function"] == "generator") == 2 * 2 * 20' ||
        fail "$python: calls of the generator are missing"
    json "$name" 'any(all(f + ":" in x["callpath"] for f in ("<module>", "main", "Solver.step", "exchange")) for x in rows)' --by callpath || fail "$python: no path by Python: $(report "$name" --by callpath --format csv)"
    json "$name" 'not any("PyEval" in x["callpath"] for x in rows if x["name"] == "MPI_Barrier")' --by callpath ||
        fail "$python: frames of the interpreter in a path"
}

case $1 in
lines)
    [ -n "$(interpreters)" ] || skip "no Python that is understood"
    for python in $(interpreters); do
        run_bare bare "$python" "$program" "$library" 20
        [ "$status" = 0 ] || skip "$python does not load $library"
        run_gnomon python "$python" "$program" "$library" 20
        [ "$status" = 0 ] || fail "$python: exit status $status"
        cmp -s "$work/bare.out" "$work/python.out" || fail "$python: another output"
        wait_for_report python
        check_lines python
        rm -rf "$(folder_of python)"
    done
    ;;
computing) # functions between two calls, and sleep, by lines of Python: within what the report says of each
    [ -n "$(interpreters)" ] || skip "no Python that is understood"
    for python in $(interpreters); do
        for _ in 1 2 3 4 5; do # where other programs had the cores, what the program measures is not what it computed
            run_gnomon computing "$python" "$here/fixtures/python_computing.py" "$library" 3
            [ "$status" = 0 ] || skip "$python does not load $library"
            wait_for_report computing
            [ "$(sql computing "SELECT coalesce(sum(preempted_ns), 0) > 1e8 FROM resource")" = 1 ] || break
        done
        [ "$(sql computing "SELECT coalesce(sum(preempted_ns), 0) > 1e8 FROM resource")" = 0 ] ||
            skip "other programs had the cores in five runs"
        [ "$(sql computing "SELECT min(state) FROM sampling")" = sampled ] || skip "sampling is refused"
        [ "$(sql computing "SELECT count(*) FROM sampling WHERE reason LIKE '%ptrace_scope%'")" = 0 ] || skip "one must not look"
        report computing --format json >"$work/report.json"
        python3 - "$work/computing.out" "$work/report.json" <<'EOF' || fail "$python: functions do not take what they take"
import collections
import json
import re
import sys
true, told, off, samples = (collections.Counter() for _ in range(4))
for name, seconds in re.findall(r"truth \d+ (\S+) ([0-9.]+)", open(sys.argv[1]).read()):  # ranks' lines may run together
    true[name] += float(seconds)
report = json.load(open(sys.argv[2]))
whole = sum(row["total_s"] for row in report["activities"])
for row in report["activities"]:
    name = (row["function"] or "?").replace(".<locals>", "").replace(".<genexpr>", "")
    told[name] += row["total_s"]
    samples[name] += row["samples"] or 0
    off[name] += ((row["high"] - row["low"]) / 2 * whole) ** 2
told["nap"] = sum(row["total_s"] for row in report["activities"]
                  if row["function"] == "nap" and "sleep" in (row["called"] or ""))
for name, seconds in true.items():
    off[name] = off[name] ** 0.5
    print(f"{name:14} true {seconds:.3f} told {told[name]:.3f} ± {off[name]:.3f} of {samples[name]}")
    # of so many intervals of 99 % one misses now and then; of those of 99.99 %, which are 1.5 times as wide, none
    assert abs(told[name] - seconds) <= 1.5 * off[name] + 0.01 * sum(true.values()), name
    assert samples[name] > 5, name
assert all(row["file"].endswith("python_computing.py") for row in report["activities"]
           if row["function"] in true), "another file"
EOF
        rm -rf "$(folder_of computing)"
    done
    ;;
names)
    python=$(interpreters | head -1)
    [ -n "$python" ] || skip "no Python that is understood"
    run_gnomon names --trace "$python" "$program" "$library" 3
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report names
    printable "$work/names.err"
    for by in activity callpath function line; do
        report names --by $by --top 0 >"$work/answer.out" || fail "--by $by fails"
        printable "$work/answer.out"
        report names --by $by --format csv >"$work/answer.csv" || fail "--by $by as csv fails"
        report names --by $by --format json >"$work/answer.json" || fail "--by $by as json fails"
        python3 -m json.tool <"$work/answer.json" >/dev/null || fail "--by $by: no JSON"
    done
    run answer "$gnomon" stragglers "$(folder_of names)"
    printable "$work/answer.out"
    ;;
trace)
    python=$(interpreters | head -1)
    [ -n "$python" ] || skip "no Python that is understood"
    command -v otf2-print >/dev/null || skip "no otf2-print"
    run_gnomon trace --trace "$python" "$program" "$library" 5
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report trace
    otf2-print -G "$(folder_of trace)/trace/traces.otf2" >"$work/definitions" || fail "no trace"
    for function in exchange Solver.step generator; do
        grep -q "^REGION .*Name: \"$function\" .*python_calls.py" "$work/definitions" || fail "$function is not in the trace"
    done
    line=$(grep -n '# call$' "$program" | head -1 | cut -d: -f1)
    grep -q "SOURCE_CODE_LOCATION.*python_calls.py.*Line Number: $line\$" "$work/definitions" || fail "line $line is not in the trace"
    ;;
embedded)
    # An interpreter that comes after MPI_Init is found when it is first met on a stack: the next call has its frames.
    compile embedded fixtures/python_embedded.c -ldl
    run_gnomon embedded ./embedded libpython3.11.so.1.0
    [ "$status" != 77 ] || skip "no libpython3.11"
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report embedded
    json embedded 'sum(x["count"] for x in rows if x["name"] == "MPI_Barrier" and x["function"] == "calls" and x["line"] == 7) == 2 * 19' ||
        fail "no lines of Python: $(report embedded --format csv)"
    json embedded 'any(x["name"] == "MPI_Barrier" and x["function"] == "main" for x in rows)' || fail "no call of the program itself"
    ;;
mpi4py)
    [ "$FLAVOUR" = openmpi ] || skip "Debian's mpi4py is for Open MPI"
    /usr/bin/python3 -c 'import mpi4py, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || skip "no mpi4py"
    run_bare bare /usr/bin/python3 "$SOURCE/examples/hello_mpi4py.py"
    run_gnomon hello /usr/bin/python3 "$SOURCE/examples/hello_mpi4py.py"
    [ "$status" = 0 ] || fail "exit status $status"
    cmp -s "$work/bare.out" "$work/hello.out" || fail "another output"
    wait_for_report hello
    for call in MPI_Allreduce:reduce_buffers MPI_Isend:exchange_objects MPI_Mprobe:exchange_objects 'MPI_Init_thread:<module>'; do
        json hello "any(x['name'] == '${call%:*}' and x['function'] == '${call#*:}' and x['file'].endswith('hello_mpi4py.py')
            and x['line'] for x in rows)" || fail "no ${call%:*} in ${call#*:}(): $(report hello --format csv)"
    done
    json hello 'any(x["kind"] == "computation" and x["function"] == "iterate" for x in rows)' || fail "no computation in iterate()"
    # the interpreter has modules built in, and is none of them
    json hello 'not any((x["function"] or "").startswith(("_socket", "_io.", "_abc")) for x in rows)' ||
        fail "the interpreter is called by a module: $(report hello --format csv)"
    ;;
esac
