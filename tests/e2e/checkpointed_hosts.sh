# A host that finishes late, and has saved on the way what it had measured by then: the host of rank 0 waits for it all the
# same, and the report of a whole run does not call it partial. Open MPI.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
compile "$work/late_end" fixtures/late_end.c

: >"$work/go"
on_left bare "$launch $work/late_end $work/go 0"
[ $status = 0 ] || skip "two emulated hosts do not work here even without gnomon"

on_left run "$launch $gnomon run $work/late_end $work/stop 4" &
job=$!
# Not before the host on the right has saved. It does so by itself sooner or later, and at once when it is asked to.
for _ in $(seq 300); do
    agent=$(sed -n 's/^agent //p' gnomon-*/parts/right.open 2>/dev/null || :)
    [ -z "$agent" ] || kill -TERM "$agent" 2>/dev/null || :
    [ -s "$(echo gnomon-*/parts/right.db)" ] && break
    sleep 0.1
done
saved=$(echo gnomon-*/parts/right.db)
[ -s "$saved" ] || missing=1
: >"$work/stop"
wait $job || fail "the run failed"
[ -z "${missing-}" ] || fail "the host on the right did not save while the program ran"
wait_for_report run
grep -q "4 ranks on 2 hosts (left, right)" "$work/run.err" || fail "not 4 ranks on the two hosts"
! grep -q PARTIAL "$work/run.err" || fail "a whole run is called partial"
json run "r['run']['complete'] and not troubles" || fail "not complete"
[ "$(sql run "SELECT count(*) FROM process WHERE complete AND ended = 'exit'")" = 4 ] || fail "not the ends of all ranks"
for _ in $(seq 100); do # the host that was waited for may still be looking
    [ -e gnomon-*/parts ] || break
    sleep 0.1
done
[ ! -e gnomon-*/parts ] || fail "the parts of a whole run were kept"
