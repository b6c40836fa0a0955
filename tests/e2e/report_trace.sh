# The report of a run with a trace has the first line of each analysis, the same as the commands; whatever the trace is
# like, there is a report.
. "$(dirname "$0")/lib.sh"

# --straggler gives rank 1 more work: what it does in region "assign", while the other waits
run_gnomon traced --trace "$examples/kmeans.$FLAVOUR" --points 40000 --iterations 20 --threads 1 --straggler
[ "$status" = 0 ] || fail "exit status $status"
wait_for_report traced
run=$(folder_of traced)
grep -q "^analyse: gnomon stragglers|whatif|critical $run\$" "$work/traced.err" || fail "no commands after the run"
! grep -q '^straggler: ' "$work/traced.err" || fail "the launcher waits for analyses"

report traced >"$work/text.out"
for line in 'straggler: rank 1 (possible; that they wait for it is certain, but it may have had no core): score ' 'what if: ' 'critical path: '; do
    grep -q "^$line" "$work/text.out" || fail "no line $line: $(cat "$work/text.out")"
done
"$gnomon" stragglers "$run" --format json >"$work/stragglers.json"
"$gnomon" whatif "$run" --format json >"$work/whatif.json"
"$gnomon" critical "$run" --format json >"$work/critical.json"
report traced --format json >"$work/report.json"
python3 - "$work" <<'END' || fail "other answers than those of the commands: $(cat "$work/report.json")"
import json, sys
report, stragglers, whatif, critical = (json.load(open(f"{sys.argv[1]}/{name}.json"))
                                        for name in ("report", "stragglers", "whatif", "critical"))
def close(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key]) for key in a)
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-9 * max(abs(a), abs(b))
    return a == b
a = report["analysis"]
assert a["problem"] is None and a["verdict"] == stragglers["verdict"] == "possible", a["verdict"]
assert stragglers["waited_for"] == "certain", stragglers["waited_for"]
assert a["straggler"]["name"] == "rank 1"
assert a["assumptions"] == whatif["assumptions"] and any(x["name"] == "same_program" for x in a["assumptions"]), a["assumptions"]
# of the changes that help most the first at one rank, where one alone helps
telling = [x for x in whatif["answers"] if x["rank"] is not None and x["speedup_percent"]["lo"] >= 1]
for mine, theirs in ((a["straggler"], stragglers["stragglers"][0]), (a["whatif"], (telling + whatif["answers"])[0]),
                     (a["critical"], critical["rows"][0])):
    assert close(mine, theirs), f"{mine} is not {theirs}"
END

"$gnomon" report "$run/profile.db" | grep -q "^analyse: .* $run\$" || fail "not the run that a profile.db is of"
(cd "$run" && "$gnomon" report profile.db) | grep -q '^straggler: rank 1 ' || fail "not in the run's folder"

# What costs time is only done where it was asked for.
for how in '--no-trace' '--by rank' '--by callpath'; do
    json traced 'r["analysis"] is None' $how || fail "$how looks at the trace"
    ! report traced $how | grep -q '^straggler: ' || fail "$how looks at the trace"
done
report traced --format csv | grep -q '^kind,' || fail "no CSV"

# A trace that is too large, one that is damaged, and none at all: a line says so, and the report stays.
mv "$run/trace" whole
problem() { # WORD
    report traced >"$work/text.out" || fail "exit status $?: $1"
    grep -q "^analysis: .*$1" "$work/text.out" || fail "the report does not say $1: $(cat "$work/text.out")"
    grep -q "^next: " "$work/text.out" && grep -q 'MPI_Allreduce' "$work/text.out" || fail "a part of the report: $1"
    json traced "'$1' in r['analysis']['problem']" || fail "JSON: not $1"
}
"$gnomon" synth ring -n 2 --events 1.1e6 -o "$run/trace" >/dev/null
problem 'events, more than 1000000'
rm -r "$run/trace"
cp -r whole "$run/trace"
for file in "$run"/trace/traces/*.evt; do
    head -c 1000 /dev/urandom >"$file"
done
problem 'no event can be read'
rm -r "$run/trace"
cp -r whole "$run/trace"
rm "$run/trace/traces/0.evt"
problem 'the trace is not whole'
rm -r "$run/trace"
problem 'trace: No such file'

run_gnomon plain "$examples/kmeans.$FLAVOUR" --points 4000 --iterations 5
! report plain | grep -q -e '^analysis: ' -e '^analyse: ' || fail "a run without a trace"
json plain 'r["analysis"] is None' || fail "a run without a trace, in JSON"
