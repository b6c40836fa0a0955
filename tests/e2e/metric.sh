# What the kernel counts besides time: the sum is what the kernel tells the program itself, and where it was is what the program
# knows. What this machine cannot count is said, and what makes no sense is refused.
. "$(dirname "$0")/lib.sh"
compile faults fixtures/faults.c -pthread

run_gnomon counted --metric page-faults,instructions ./faults
[ "$status" = 0 ] || fail "exit status $status"
wait_for_report counted
if [ "$(sql counted "SELECT max(state) FROM sampling")" = refused ]; then
    skip "the kernel refuses perf_event_open"
fi
report counted --format json >counted.json
half=$(python3 -c 'import json; print(json.load(open("counted.json"))["run"]["elapsed_s"] / 2)')
report counted --format json --between "0,$half" >half.json
python3 - counted.json half.json "$work/counted.out" <<'EOF' || fail "not what the program knows: $(cat "$work/counted.out")"
import json, sys
r, half = (json.load(open(name)) for name in sys.argv[1:3])
truth = {int(l[0]): (int(l[1]), int(l[2])) for l in (line.split() for line in open(sys.argv[3])) if len(l) == 3}
told = {c["name"]: c for c in r["counters"]}
assert set(told) == {"page-faults", "instructions"}, told
faults, instructions = told["page-faults"], told["instructions"]
assert (instructions["total"] > 0) == (instructions["reason"] is None), instructions
expected = sum(t[0] for t in truth.values()) # MPI_Init and Finalize have some, too
print(faults, expected)
assert -0.001 * expected <= faults["total"] - expected < 0.02 * expected + 5000 * len(truth)
assert faults["max_rank"] == 1 and abs(faults["max"] - truth[1][0]) < 0.02 * truth[1][0] + 5000
many = sum(t[1] for t in truth.values())
rows = {f: sum(x["page-faults"] or 0 for x in r["activities"] if x["function"] == f) for f in ("many", "some", "touch", "compute")}
named = sum(rows.values())
print(rows, many)
n = faults["samples"]
assert n > 100, n
if rows["touch"] == 0: # inlined, as it should be
    off = 5 * (.2 * .8 / n) ** .5 + .02
    assert abs(rows["many"] / named - .8) < off, (rows, off)
assert rows["compute"] < .02 * named and named > .9 * expected
part = {c["name"]: c for c in half["counters"]}["page-faults"]["total"]
assert 0.2 * faults["total"] < part < 0.9 * faults["total"], part
EOF
grep -q '^page-faults: [0-9.]* [kM], ' "$work/counted.err" || fail "the screen does not tell of it"
grep -q '^instructions: ' "$work/counted.err" || fail "the screen does not tell of instructions"

# Threads without calls count, too.
run_gnomon beside --metric page-faults ./faults -t
[ "$status" = 0 ] || fail "exit status $status"
wait_for_report beside
expected=$(awk 'NF == 3 { sum += $2 } END { print sum }' "$work/beside.out")
json beside "abs(r['counters'][0]['total'] - $expected) < .05 * $expected + 10000" || fail "other threads are not counted: $expected"
# of what is touched, 5 of 9 in some
json beside "abs(sum(x['page-faults'] or 0 for x in rows if x['function'] == 'some') /
                 max(1, sum(x['page-faults'] or 0 for x in rows if x['function'] in ('some', 'many'))) - 5 / 9) < .15 or
             any(x['function'] == 'touch' and x['page-faults'] for x in rows)" || fail "what the other thread touches is in no row"

# Threads that live for some milliseconds are in the sum.
compile short fixtures/short_threads.c -pthread
run_gnomon short --metric page-faults ./short
[ "$status" = 0 ] || fail "exit status $status"
wait_for_report short
expected=$(awk '{ sum += $1 } END { print sum }' "$work/short.out")
[ "$(sql short "SELECT max(reason) FROM counter")" != None ] ||
    json short "abs(r['counters'][0]['total'] - $expected) < .02 * $expected + 5000 * $n" || fail "threads that live shortly are not counted: $expected"

# What the kernel refuses is not none.
compile without fixtures/without.c
run refused ./without errno perf_event_open "$MPIRUN" -n "$n" "$gnomon" run --metric page-faults ./faults
if [ "$status" != 77 ]; then
    wait_for_report refused
    json refused "r['counters'][0]['total'] == 0 and 'perf_event_open' in r['counters'][0]['reason']" || fail "what is not counted is told as none"
    grep -q '^page-faults: not counted: ' "$work/refused.err" || fail "the screen does not say that nothing was counted"
fi

# Without it nothing is told of it.
run_gnomon without ./faults
wait_for_report without
json without "r['counters'] == [] and not any('page-faults' in x for x in rows)" || fail "something is told that was not counted"

refused() {
    run wrong "$gnomon" run "$@" ./faults
    [ "$status" = 2 ] || fail "gnomon run $*: exit status $status"
}
refused --metric nonsense
grep -q 'there is no metric "nonsense"; there are instructions, ' "$work/wrong.err" || fail "it does not say which there are"
refused --metric page-faults,
refused --metric ''
refused --metric page-faults --sample off
refused --sample signal --metric page-faults
refused --metric instructions,cycles,branches,page-faults,minor-faults
