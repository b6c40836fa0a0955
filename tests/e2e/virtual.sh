# virtual.sh PROGRAM: measuring is made dear, by a known amount (capture/delay.h); what is told in virtual time is as if it
# had cost nothing, of a trace and of windows. The program prints how long it takes from barrier to barrier by itself.
. "$(dirname "$0")/lib.sh"
program=$1
compile staged ../virtual/staged.c -g -O1

# The fastest of some: what else a machine does is no part of the program.
for again in 1 2 3; do
    run_bare bare ./staged "$program" 3000
    [ "$status" = 0 ] || fail "exit status $status"
    tail -1 "$work/bare.out" >>all_bare
done
bare=$(sort -n all_bare | head -1)

judge() { # measured and virtual: most of what measuring has added is gone
    python3 - "$bare" "$@" <<'EOP'
import sys
bare, measured, told = map(float, sys.argv[1:])
added, left = measured - bare, told - bare
print(f"bare {bare:.3f} s, measured {measured:.3f} s, told {told:.3f} s")
assert added > 0.05 * bare, "measuring costs something"
sys.exit(abs(left) > 0.35 * added)
EOP
}

good=0
for again in 1 2 3 4; do # on a machine that does something else the program takes longer by itself
    export GNOMON_TEST_COST=100000:$again
    run_gnomon "trace$again" --trace ./staged "$program" 3000
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report "trace$again"
    run=$(folder_of "trace$again")
    "$BUILD/tests/virtual/stages" "$run/trace" >stages.out || fail "no stages"
    judge $(tail -1 stages.out) && good=1 && break
done
[ $good = 1 ] || fail "virtual time is not what the program takes"

"$gnomon" explain --format json "$run" >explain.json || fail "explain"
"$gnomon" explain --raw --format json "$run" >raw.json || fail "explain --raw"
"$gnomon" report --format json --top 0 "$run" >report.json || fail "report"
"$gnomon" report --raw --format json --top 0 "$run" >report_raw.json || fail "report --raw"
run_gnomon windows ./staged "$program" 3000
wait_for_report windows
"$gnomon" explain --format json "$(folder_of windows)" >windows.json || fail "explain of windows"
unset GNOMON_TEST_COST
run_gnomon free ./staged "$program" 3000
wait_for_report free
"$gnomon" explain --format json "$(folder_of free)" >free.json || fail "explain of a run at its own cost"
python3 - "$program" <<'EOP'
import json, sys
load = lambda name: json.load(open(name + ".json"))
for name in "explain", "windows":
    told = load(name)
    between = told["unmeasured_s"]
    assert between["low"] <= told["elapsed_s"] <= between["high"] <= told["measured_s"] * 1.01, (name, between)
    assert told["elapsed_s"] < 0.97 * told["measured_s"], (name, told["elapsed_s"], told["measured_s"])
    for cause in told["causes"]:
        assert cause["certainty"] == "possible" and "measuring has cost what is known of it" in cause["assumptions"], cause
raw, virtual = load("report_raw"), load("report")
assert load("raw")["elapsed_s"] == load("raw")["measured_s"] == virtual["run"]["measured_s"]
assert raw["run"]["elapsed_s"] == virtual["run"]["measured_s"] > virtual["run"]["elapsed_s"]
total = lambda report: sum(row["total_s"] for row in report["activities"])
in_mpi = lambda report: sum(row["total_s"] for row in report["activities"] if row["kind"] == "mpi")
# what is gone is told as gnomon's, and the rows add up to the same
assert abs(total(raw) - total(virtual)) < 1e-3 * total(raw), (total(raw), total(virtual))
# who waits for what was delayed waits less; where both are, one may wait longer
assert sys.argv[1] == "stencil" or in_mpi(virtual) < in_mpi(raw), (in_mpi(virtual), in_mpi(raw))
free = load("free")
assert free["elapsed_s"] > 0.97 * free["measured_s"], free["elapsed_s"]
EOP
