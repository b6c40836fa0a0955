# Two emulated hosts, one of which has its events on a clock that was made up: five seconds off, too fast, and its rate
# wanders. They share the machine's counter, so the true time of every event is known: it must be within the bounds that
# the joined trace carries, as gnomon exports them and as the example of docs/trace-format.md reads them; and within
# those that the messages alone give where the trace carries none. Open MPI.
. "$(dirname "$0")/lib.sh"
right_clock="offset=-5s,rate=20ppm,sine=1ppm/2s"
right_env="GNOMON_TEST_CLOCK=$right_clock"
. "$(dirname "$0")/hosts.sh"

on_left bare "$launch $examples/pool.$FLAVOUR --iterations 40"
[ $status = 0 ] || skip "two emulated hosts do not work here even without gnomon"
on_left trace "$launch $gnomon run --trace $examples/heat.$FLAVOUR"
[ $status = 0 ] || fail "exit status $status"
wait_for_report trace
run=$(folder_of trace)
trace=$run/trace/traces.otf2
sqlite3 "$run/profile.db" "SELECT count(*) FROM clock_domain WHERE counter LIKE '%(simulated)'" | grep -qx 1 ||
    fail "not one host has a clock that was made up"
rate=$(sqlite3 "$run/profile.db" "SELECT d.hz FROM clock_domain d JOIN host h ON h.id = d.host WHERE h.name = 'right'")

"$gnomon" export --to csv --bounds -o "$work/bounds.csv" "$run" 2>"$work/bounds.err" || fail "export --bounds"
[ ! -s "$work/bounds.err" ] || fail "export --bounds has something to say"
check() { # check FILE WIDEST_NS: the true times of the right host's events are in their bounds
    python3 "$here/check_clocks.py" --clock "$right_clock" --hz "$rate" --widest "$2" "$1" || fail "bounds of $1"
}
check "$work/bounds.csv" 1000000

# As OTF2's own Python module shows them.
for python in /usr/bin/python3 python3; do
    "$python" -c 'import otf2' 2>/dev/null || continue
    "$python" "$here/check_offsets.py" "$SOURCE/docs/trace-format.md" "$trace" "$work/bounds.csv" ||
        fail "what OTF2's module reads is not what gnomon reads"
    break
done

# The same in JSON.
"$gnomon" export --to jsonl --bounds "$run" | python3 -c '
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
lines = [json.loads(line) for line in sys.stdin]
assert len(rows) == len(lines)
assert all(int(r["lo_ns"]) == l["lo_ns"] and int(r["hi_ns"]) == l["hi_ns"] for r, l in zip(rows, lines))
' "$work/bounds.csv" || fail "other bounds in JSON"

# Without the profile's exchanges and the archive's word on its bounds: from the program's messages.
cp -r "$run/trace" "$work/alone"
python3 -c '
import sys
data = open(sys.argv[1], "rb").read()
assert data.count(b"GNOMON::CLOCK_BOUNDS") == 1
open(sys.argv[1], "wb").write(data.replace(b"GNOMON::CLOCK_BOUNDS", b"GNOMON::CLOCK_BOUNDZ"))
' "$work/alone/traces.otf2"
"$gnomon" export --to csv --bounds -o "$work/messages.csv" "$work/alone" || fail "bounds from messages"
check "$work/messages.csv" 100000000

# With the profile beside it, the exchanges count again.
mkdir "$work/run"
cp -r "$work/alone" "$work/run/trace"
cp "$run/profile.db" "$work/run/"
"$gnomon" export --to csv --bounds -o "$work/both.csv" "$work/run" || fail "bounds from messages and exchanges"
check "$work/both.csv" 1000000
