# gnomon report --by request: which call has started what which other one completes, as the program has counted and measured
# it itself; of another thread it is only known that it was one.
. "$(dirname "$0")/lib.sh"

compile requests fixtures/requests.c -pthread
run_gnomon plain ./requests "$work/truth"
[ "$status" = 0 ] || fail "exit status $status"
wait_for_report plain
report plain --by request --format json >plain.json || fail "no requests in JSON"
python3 - plain.json "$work/truth" "$n" <<'EOP' || fail "not as the program has counted"
import json, pathlib, sys
answer, path, ranks = json.load(open(sys.argv[1])), sys.argv[2], int(sys.argv[3])
truth = {}
for rank in range(ranks):
    for text in pathlib.Path(f"{path}.{rank}").read_text().splitlines():
        start, end, count, s, ahead_s = text.split()
        sums = truth.setdefault((int(start), int(end)), [0, 0.0, 0.0])
        for i, value in enumerate((int(count), float(s), float(ahead_s))):
            sums[i] += value
told = {}
for r in answer["requests"]:
    assert r["file"].endswith("requests.c") and 0 <= r["ahead_s"] <= r["total_s"] and r["max_s"] <= r["total_s"], r
    sums = told.setdefault((r["line"], r["completed_line"]), [0, 0.0, 0.0])
    for i, value in enumerate((r["count"], r["total_s"], r["ahead_s"])):
        sums[i] += value
assert set(told) == set(truth), (sorted(told), sorted(truth))
off = [0.0, 0.0]
for way, (count, s, ahead_s) in truth.items():
    assert told[way][0] == count, (way, told[way], count)
    off[0] += abs(told[way][1] - s)
    off[1] += abs(told[way][2] - ahead_s)
# who measures it a little later may lose the core in between
whole = sum(s for _, s, _ in truth.values())
assert max(off) < 0.1 * whole + 0.01, (off, whole)
EOP
report plain --by request >plain.txt || fail "no requests on the screen"
grep -q "MPI_Irecv requests.c:[0-9]* *MPI_Testall requests.c:[0-9]*" plain.txt || fail "not told who completes a receive"

run_gnomon threads ./requests "$work/threads" threads
[ "$status" = 0 ] || fail "exit status $status"
wait_for_report threads
json threads "r['requests'] == [] or [(x['call'], x['count'], x['completed_by']) for x in r['requests']] == [(None, $((20 * n)), 'MPI_Waitall')]" --by request ||
    fail "of another thread"
