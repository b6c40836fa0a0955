# The network between two hosts is cut for gnomon's datagrams in the middle of a run: the run is what it is, nothing waits,
# and bounds hold. Both hosts are one machine and count the same ticks: the same reading is the same moment on both.
. "$(dirname "$0")/lib.sh"
. "$here/hosts.sh"
compile until fixtures/until.c
on_left bare "touch stop; $launch ./until stop"
[ $status = 0 ] || skip "two emulated hosts do not work here even without gnomon"
rm stop

(
    for _ in $(seq 100); do # until both hosts take part, and a while of exchanges
        [ "$(ls gnomon-*/parts/*.open 2>/dev/null | wc -l)" = 2 ] && break
        sleep 0.1
    done
    sleep 2
    for space in $left $right; do # MPI's own connections are of another protocol
        ip -n $space rule add ipproto udp blackhole pref 10 2>/dev/null || touch "$work/not-cut"
    done
    sleep 4
    touch stop
) &
on_left run "$launch $gnomon run ./until stop"
wait
[ ! -e "$work/not-cut" ] || skip "the network cannot be cut here"
[ $status = 0 ] || fail "exit status $status"
diff "$work/bare.out" "$work/run.out" || fail "other output than without gnomon"
wait_for_report run
json run "r['run']['complete']" || fail "not complete"
json run "[d['compared'] for d in r['clocks']['domains']] == [True, True]" || fail "not both are compared"
grep -q 'right: host left .* has not answered in the last .* s: bounds are wider' "$work/run.err" || fail "it is not told"
sed -n '/^## When was that/,$ { /^```python/,/^```$/ { /^```/d; p } }' "$SOURCE/docs/profile-format.md" >example.py
cat >>example.py <<'END'
left, right = Clock(db, "left"), Clock(db, "right")
first, last = db.execute("SELECT min(epoch_ticks), max(last_ticks) FROM clock_domain").fetchone()
for i in range(-1000, 2001):
    ticks = first + (last - first) * i // 1000
    a, b = left.interval(ticks), right.interval(ticks)
    assert a[0] <= b[1] and b[0] <= a[1], ("not the same moment", ticks, a, b)
heard, = db.execute("SELECT max(received_ticks) FROM clock_message").fetchone()
hz, over = db.execute("SELECT hz, last_ticks FROM clock_domain WHERE name = 'right'").fetchone()
lo, hi = right.interval(over)
silence_ns = (over - heard) / hz * 1e9
wander_ppb = int(db.execute("SELECT value FROM run WHERE key = 'clock/wander_ppb'").fetchone()[0])
assert silence_ns > 3e9 and hi - lo > silence_ns * 1.8e-9 * wander_ppb, ("not wider", silence_ns, lo, hi)
END
(cd "$(folder_of run)" && python3 ../example.py >/dev/null 2>"$work/example.err") || fail "bounds are wrong, or not wider"
