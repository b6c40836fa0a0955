# Two hosts that share a file system: network namespaces with names of their own, joined by a veth pair. One run folder,
# all ranks in it, both hosts named; and a host that is killed with its agent is named as missing. Open MPI.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

on_left bare "$launch $examples/pool.$FLAVOUR --iterations 40"
[ $status = 0 ] || skip "two emulated hosts do not work here even without gnomon"
on_left gnomon "$launch $gnomon run $examples/pool.$FLAVOUR --iterations 40"
[ $status = 0 ] || fail "exit status $status"
diff "$work/bare.out" "$work/gnomon.out" || fail "other output than without gnomon"
grep -q "4 ranks on 2 hosts (left, right)" "$work/gnomon.err" || fail "not 4 ranks on the two hosts"
! grep -q PARTIAL "$work/gnomon.err" || fail "a whole run is called partial"
[ "$(ls -d gnomon-* | wc -l)" = 1 ] || fail "more than one run folder: $(ls -d gnomon-*)"
[ ! -e gnomon-*/parts ] || fail "the parts of a whole run were kept"

# Their clocks were compared while the program ran; rank 0's host is the reference.
compared() {
    json $1 "[(d['host'], d['parent'], d['compared']) for d in r['clocks']['domains']] == $2" || fail "$1: not $2"
}
compared gnomon "[('left', None, True), ('right', 'left', True)]"
grep -q "clocks.*: 2 hosts compared to ± " "$work/gnomon.err" || fail "the report does not say how well"
[ "$(sql gnomon "SELECT min(hi_ns - lo_ns) BETWEEN 1 AND 1000000000 FROM clock_bound b JOIN clock_domain d ON d.id = b.domain
    WHERE d.name = 'right'")" = 1 ] || fail "bounds of no use"

on_left front "$gnomon run -- $launch $examples/pool.$FLAVOUR --iterations 40"
grep -q "4 ranks on 2 hosts (left, right)" "$work/front.err" || fail "from in front: not 4 ranks on the two hosts"

# No datagram passes between the hosts: the run is what it is, and the report says what is missing. MPI's own connections
# are of another protocol.
for space in $left $right; do
    ip -n $space rule add ipproto udp blackhole pref 10 2>/dev/null || blocked=not
done
if [ -z "${blocked-}" ]; then
    on_left blocked "$launch $gnomon run $examples/pool.$FLAVOUR --iterations 40"
    [ $status = 0 ] || fail "blocked: exit status $status"
    diff "$work/bare.out" "$work/blocked.out" || fail "blocked: other output than without gnomon"
    json blocked "r['run']['complete']" || fail "blocked: not complete"
    compared blocked "[('left', None, True), ('right', 'left', False)]"
    json blocked "len(r['clocks']['domains'][1]['problem']) > 0" || fail "blocked: no reason is told"
    grep -q "right is not compared with the others: " "$work/blocked.err" || fail "blocked: the report does not say so"
    for space in $left $right; do
        ip -n $space rule del pref 10
    done
fi

# One trace of both: every rank's events, on one clock, and one MPI_COMM_WORLD.
rm -rf gnomon-*
on_left trace "$launch $gnomon run --trace $examples/heat.$FLAVOUR"
wait_for_report trace
trace=$(folder_of trace)/trace
[ -z "$(ls -d "$trace"-* 2>/dev/null)" ] || fail "traces of single hosts were left: $(ls -d "$trace"-*)"
json trace 'r["trace"]["archives"] == 1 and r["trace"]["error"] is None' || fail "the traces were not joined"
if command -v otf2-print >/dev/null; then
    otf2-print "$trace/traces.otf2" >"$work/events" 2>"$work/otf2.err" || fail "otf2-print cannot read it"
    [ ! -s "$work/otf2.err" ] || fail "otf2-print warns: $(head -5 "$work/otf2.err")"
    ! grep -q INVALID "$work/events" || fail "undefined references: $(grep -m3 INVALID "$work/events")"
    json trace "r['trace']['events'] == $(grep -cE '^[A-Z_]+ +[0-9]+ +[0-9]+ ' "$work/events")" || fail "not all events"
    for rank in 0 1 2 3; do
        grep -qE "^MPI_COLLECTIVE_END +$rank " "$work/events" || fail "no events of rank $rank"
    done
    otf2-print -G "$trace/traces.otf2" >"$work/definitions"
    [ "$(grep -c '^COMM .*"MPI_COMM_WORLD"' "$work/definitions")" = 1 ] || fail "not one MPI_COMM_WORLD"
    [ "$(grep -c '^REGION .*"MPI_Waitall"' "$work/definitions")" = 1 ] || fail "not one MPI_Waitall"
    grep -q 'LOCATION_GROUP .*"Rank 3".*"node::right"' "$work/definitions" || fail "rank 3 is not on the other host"
fi

rm -rf gnomon-*
on_left crash "$launch $gnomon run $examples/crash.$FLAVOUR kill --rank 3"
wait_for_report crash
grep -q PARTIAL "$work/crash.err" || fail "a killed rank is not told"
how="was ended by signal 9"
kernel=$(uname -r)
# what the launcher has already collected, only Linux 6.15 and later still tell
[ "$(printf '%s\n' 6.15 "$kernel" | sort -V | head -1)" = 6.15 ] || how="(was ended by signal 9|ended before MPI_Finalize)"
grep -qE "rank 3 on right $how" "$work/crash.err" || fail "rank 3 on right is not named"
compared crash "[('left', None, True), ('right', 'left', True)]"
[ "$(sqlite3 gnomon-*/profile.db 'SELECT count(DISTINCT process) FROM last_call')" = 4 ] || fail "last calls of all ranks"
"$gnomon" report gnomon-* | grep -A1 '^PARTIAL' | grep -q 'rank 3 on right .*first of all' || fail "rank 3 is not the first"
[ "$(sqlite3 gnomon-*/profile.db 'SELECT count(DISTINCT rank) FROM process')" = 4 ] || fail "not all ranks are kept"
