# Of a trace of more than a million events not all is looked at: windows of it tell as much, and quickly.
. "$(dirname "$0")/lib.sh"
compile many fixtures/many.c
run_gnomon large --trace ./many 160000
[ "$status" = 0 ] || fail "exit status $status"
wait_for_report large
json large 'r["trace"]["events"] > 1200000 and r["trace"]["dropped"] == 0' || skip "the trace is not as large as it should be"
run explain "$gnomon" explain --format json "$(folder_of large)"
[ "$status" = 0 ] && [ ! -s "$work/explain.err" ] || fail "explain"
python3 - "$work/explain.out" <<'EOP'
import json, sys
told = json.load(open(sys.argv[1]))
seen = told["seen"]
print(seen, [(cause["kind"], cause["ranks"], cause["certainty"]) for cause in told["causes"]])
assert seen["parts"] == 40 and not seen["whole"] and 0.3 < seen["share"] < 0.95, seen
late = next(c for c in told["causes"] if c["kind"] in ("static imbalance", "slow rank", "waiting in turn", "serial section"))
assert late["ranks"] == [1] and late["certainty"] == "possible", late
assert "windows of events stand for all of the time" in late["assumptions"], late
EOP
