# gnomon run --trace: an OTF2 archive that other tools read without a warning, with every event, however the run ends;
# and what is lost when buffers or the disk are full is counted.
. "$(dirname "$0")/lib.sh"
mode=$1
[ "$mode" != disk ] || need_mounts "$@"
command -v otf2-print >/dev/null || skip "no otf2-print"

# records NAME: what kinds of records the archive of NAME's run has, and how many of each: "ENTER 12" …
records() {
    otf2-print "$(folder_of "$1")/trace/traces.otf2" >"$work/$1.events" 2>"$work/otf2.err" ||
        fail "otf2-print cannot read the archive: $(cat "$work/otf2.err")"
    [ ! -s "$work/otf2.err" ] || fail "otf2-print warns: $(head -5 "$work/otf2.err")"
    awk '/^[A-Z_]+ +[0-9]+ +[0-9]+ / { count[$1]++; total++ }
         END { for (kind in count) print kind, count[kind]; print "ALL", total + 0 }' "$work/$1.events" >"$work/$1.records"
}

# count NAME KIND
count() {
    awk -v kind="$2" '$1 == kind { n = $2 } END { print n + 0 }' "$work/$1.records"
}

case $mode in
whole)
    run_bare bare "$examples/heat.$FLAVOUR" $(brief heat)
    run_gnomon gnomon --trace "$examples/heat.$FLAVOUR" $(brief heat)
    [ "$status" = 0 ] || fail "exit status $status"
    diff "$work/bare.out" "$work/gnomon.out" || fail "other output than without gnomon"
    wait_for_report gnomon
    records gnomon
    [ "$(count gnomon ENTER)" = "$(count gnomon LEAVE)" ] || fail "not as many enters as leaves: $(cat "$work/gnomon.records")"
    [ "$(count gnomon ENTER)" = "$(sql gnomon "SELECT sum(n.count) FROM node n JOIN activity a ON a.id = n.activity
        WHERE a.kind = 'mpi'")" ] || fail "not as many enters as the profile has calls"
    [ "$(count gnomon MPI_ISEND)" = "$(count gnomon MPI_IRECV)" ] || fail "messages sent are not messages received"
    json gnomon "r['trace']['events'] == $(count gnomon ALL) and r['trace']['archives'] == 1" ||
        fail "the report counts other events than otf2-print"
    json gnomon 'r["trace"]["dropped"] == r["trace"]["garbled"] == 0 and r["trace"]["error"] is None' || fail "something was lost"
    grep -q "^trace: .* events, .* none lost" "$work/gnomon.err" || fail "the report does not tell of the trace"
    grep -q 'CALLING_CONTEXT; "MPI_Waitall@heat.c:' "$work/gnomon.events" || fail "no call path with its line"
    otf2-print -G "$(folder_of gnomon)/trace/traces.otf2" >"$work/definitions"
    grep -q 'LOCATION_GROUP .*"Rank 1"' "$work/definitions" || fail "rank 1 is not defined"
    grep -q 'COMM .*"MPI_COMM_WORLD"' "$work/definitions" || fail "MPI_COMM_WORLD is not defined"
    grep -q '^trace 4096K$' "$(folder_of gnomon)/config" || fail "config does not say it"
    ;;
front) # gnomon in front of the launcher
    run gnomon "$gnomon" run --trace=1M "$MPIRUN" -n "$n" "$examples/heat.$FLAVOUR" $(brief heat)
    wait_for_report gnomon
    records gnomon
    [ "$(count gnomon ENTER)" -gt 1000 ] || fail "no events"
    ;;
kill | abort)
    run_gnomon gnomon --trace "$examples/crash.$FLAVOUR" "$mode"
    wait_for_report gnomon
    records gnomon
    # 100 rounds of an exchange and an Allreduce ahead of it, on both ranks; the other one may not have come out of the last
    [ "$(count gnomon MPI_COLLECTIVE_BEGIN)" -ge 200 ] && [ "$(count gnomon MPI_COLLECTIVE_END)" -ge 199 ] || fail "events before the end are missing: $(cat "$work/gnomon.records")"
    [ "$(count gnomon ENTER)" -ge "$(count gnomon LEAVE)" ] || fail "more leaves than enters"
    json gnomon 'r["trace"]["dropped"] == r["trace"]["garbled"] == 0' || fail "something was lost"
    ;;
drop | block) # events faster than they can be taken
    compile "$work/loop" fixtures/loop.c
    run_gnomon gnomon --trace=64K --trace-full="$mode" "$work/loop" 20000
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report gnomon
    records gnomon
    [ "$(count gnomon ENTER)" = "$(count gnomon LEAVE)" ] || fail "not as many enters as leaves: $(cat "$work/gnomon.records")"
    if [ "$mode" = block ]; then
        json gnomon 'r["trace"]["dropped"] == 0' || fail "events were lost"
        [ "$(count gnomon MPI_SEND)" = "$((n * 20000))" ] || fail "not all sends are there: $(cat "$work/gnomon.records")"
    else
        json gnomon 'r["trace"]["dropped"] > 0' || skip "this machine is too fast to lose an event"
        grep -q '^trace: .* calls lost because a buffer was full' "$work/gnomon.err" || fail "the report does not tell of it"
        lost=$(sed -n '/gnomon.lost/s/^PARAMETER_UINT64.*Value: \([0-9]*\).*/\1/p' "$work/gnomon.events" | paste -sd+ | bc)
        json gnomon "r['trace']['dropped'] == $lost" || fail "the trace tells of $lost lost events"
    fi
    ;;
agent) # the agent is killed with its guard and everything else: `gnomon merge` completes what it left
    "$MPIRUN" -n "$n" "$gnomon" run --trace "$examples/crash.$FLAVOUR" hang --after 300 >/dev/null 2>"$work/gnomon.err" </dev/null &
    launcher=$!
    for _ in $(seq 300); do
        [ -s "$(echo gnomon-*/trace/part)" ] && grep -q 'waits for ever' "$work/gnomon.err" && break
        sleep 0.1
    done
    sleep 2
    agent=$(sed -n 's/^agent //p' gnomon-*/parts/*.open)
    kill -TERM "$agent" # saves the profile so far, as batch systems announce the kill
    for _ in $(seq 50); do
        ls gnomon-*/parts/*.db >/dev/null 2>&1 && break
        sleep 0.1
    done
    kill -KILL "$(sed -n 's/^guard //p' gnomon-*/parts/*.open)" "$agent"
    kill -TERM $launcher
    wait $launcher || :
    folder=$(ls -d gnomon-*)
    [ ! -e "$folder/trace/traces.otf2" ] || fail "there is an archive already"
    "$gnomon" merge -o "$folder/profile.db" "$folder"/parts/*.db 2>"$work/merge.err" || fail "merge: $(cat "$work/merge.err")"
    grep -q 'trace in .* was completed' "$work/merge.err" || fail "merge does not say that it completed the trace"
    echo "next: gnomon report $folder --by callpath" >>"$work/gnomon.err"
    records gnomon
    [ "$(count gnomon MPI_COLLECTIVE_END)" -ge 600 ] || fail "events are missing: $(cat "$work/gnomon.records")"
    grep -q 'CALLING_CONTEXT; "MPI_Allreduce@crash.c:' "$work/gnomon.events" || fail "no call path with its line"
    ;;
disk) # room for a part of the trace
    mount -t tmpfs -o size=4m none "$work/cwd"
    cd "$work/cwd"
    compile "$work/loop" fixtures/loop.c
    run_gnomon gnomon --trace "$work/loop" 20000
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report gnomon
    json gnomon 'r["run"]["complete"]' || fail "the profile is not whole"
    trace=$(ls -d "$PWD"/gnomon-*/trace)
    otf2-print "$trace/traces.otf2" >"$work/events" 2>"$work/otf2.err" || fail "the part that was written is not readable"
    json gnomon "r['trace']['events'] == $(grep -cE '^[A-Z_]+ +[0-9]+ +[0-9]+ ' "$work/events") > 1000" || fail "wrong count"
    json gnomon 'r["trace"]["unwritten"] > 0 and "No space" in r["trace"]["error"]' || fail "the loss is not counted"
    grep -q 'it is not whole: .*No space' "$work/gnomon.err" || fail "the report does not say why"
    ;;
esac
