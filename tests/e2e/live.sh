# Of a run that goes on: whom ranks wait for, by all commands that say so, as it is now; what it measures is changed; and what
# it had kept when all of it was killed is not lost.
. "$(dirname "$0")/lib.sh"
compile late fixtures/late.c -g

# seen NAME RANK: by explain and by stragglers, of the run in folder NAME
seen() {
    for _ in $(seq 30); do
        if "$gnomon" explain --live -d "$1" --format json >"$1.json" 2>"$1.why" &&
            "$gnomon" stragglers --live -d "$1" --format json >"$1.late" 2>"$1.why" &&
            python3 - "$1" "$2" 2>"$1.why" <<'EOP'
import json
import sys
name, rank = sys.argv[1], int(sys.argv[2])
report, late = json.load(open(name + ".json")), json.load(open(name + ".late"))
assert not report["seen"]["whole"] and report["seen"]["share"] > 0, report["seen"]
assert "/gnomon-live-" not in late["trace"] and late["trace"].startswith(name), late["trace"]
causes = [cause for cause in report["causes"] if cause["kind"] not in ("preempted", "oversubscribed", "MPI_Init and MPI_Finalize")]
assert causes and causes[0]["ranks"] == [rank], causes
assert any(hop["waits_for"] == rank for hop in causes[0]["chain"]), causes[0]["chain"]
assert late["live"] and late["stragglers"][0]["name"] == f"rank {rank}" and late["seen"]["share"] > 0, late["stragglers"]
EOP
        then
            return
        fi
        sleep 0.2
    done
    cat "$1.json" "$1.late" "$1.why"
    return 1
}

# looked NAME WORD...: a command that looks at events of what goes on
looked() {
    local name=$1
    shift
    "$gnomon" "$@" --live -d "$name" --format json >"looked.$1" 2>looked.err || fail "$1 --live: $(cat looked.err)"
}

# states NAME: "windows sample" of each host, rates or "off"
states() {
    "$gnomon" live -d "$1" --format json | python3 -c 'import json, sys
for host in json.load(sys.stdin)["hosts"]:
    print(*(host[what]["rate"] if host[what]["state"] == "on" else host[what]["state"] for what in ("windows", "sample")))'
}

changed() {
    "$gnomon" live -d "$1" --windows off --sample 20 >live.out 2>&1 || fail "not changed: $(cat live.out)"
    [ "$(states "$1" | sort -u)" = "off 20.0" ] || fail "it is not as it was wanted: $(states "$1")"
    local before after
    before=$(events_of "$1")
    sleep 0.5
    after=$(events_of "$1")
    [ "$before" = "$after" ] || fail "events are kept, though none are wanted: $before, $after"
    "$gnomon" live -d "$1" --windows 50000 >live.out 2>&1 || fail "not changed again: $(cat live.out)"
    [ "$(states "$1" | sort -u)" = "50000.0 20.0" ] || fail "it is not as it was wanted: $(states "$1")"
    for _ in $(seq 30); do
        after=$(events_of "$1")
        [ "$after" -gt "$before" ] && return
        sleep 0.2
    done
    fail "none are kept, though some are wanted again: $before, $after"
}

# counted_of NAME: what is counted besides time, of each host
counted_of() {
    "$gnomon" live -d "$1" --format json | python3 -c 'import json, sys
for host in json.load(sys.stdin)["hosts"]:
    print(host["metrics"]["state"], *host["metrics"]["names"])'
}

# Counted from now on, and no more; as often as somebody wants, but for more at a time than there is room for.
counts_anew() {
    [ "$(counted_of "$1" | sort -u)" = off ] || fail "something is counted: $(counted_of "$1")"
    "$gnomon" live -d "$1" --metric page-faults,minor-faults >live.out 2>&1 || fail "nothing counts: $(cat live.out)"
    [ "$(counted_of "$1" | sort -u)" = "on page-faults minor-faults" ] || fail "not as it was wanted: $(counted_of "$1")"
    sleep 0.3
    "$gnomon" live -d "$1" --metric page-faults >live.out 2>&1 || fail "not changed: $(cat live.out)"
    status=0
    "$gnomon" live -d "$1" --metric cycles,branches,instructions >live.out 2>&1 || status=$?
    [ $status = 2 ] && grep -q 'no more than four' live.out || fail "more than there is room for: $(cat live.out)"
    [ "$(counted_of "$1" | sort -u)" = "on page-faults" ] || fail "what was refused holds: $(counted_of "$1")"
}

# How many windows there are up to now.
events_of() {
    "$gnomon" explain --live -d "$1" --format json | python3 -c 'import json, sys; print(json.load(sys.stdin)["seen"]["parts"])'
}

nothing_left() {
    [ -z "$(ls -d "$TMPDIR"/gnomon-live-* 2>/dev/null)" ] || fail "copies are left: $(ls -d "$TMPDIR"/gnomon-live-*)"
}

case $1 in
one)
    mkdir runs
    "$MPIRUN" -n 2 "$gnomon" run -d runs ./late 1 20 2000 >out 2>err &
    job=$!
    seen runs 1 || fail "not seen while it goes on"
    for what in frames whatif critical paths; do
        looked runs $what
    done
    changed runs
    counts_anew runs
    nothing_left
    for _ in 1 2 3; do
        "$gnomon" explain --live -d runs --format json 2>/dev/null | true # who reads it is gone
    done
    nothing_left
    TMPDIR=/nowhere "$gnomon" explain --live -d runs --format json >nowhere.json 2>nowhere.err || fail "without a folder for a copy: $(cat nowhere.err)"
    python3 -c 'import json; assert json.load(open("nowhere.json"))["seen"] is None' && grep -q /nowhere nowhere.err || fail "not told: $(cat nowhere.err)"
    status=0
    "$gnomon" stragglers -d runs 2>why || status=$?
    [ $status = 2 ] && grep -q -- '--live' why || fail "no advice for what goes on: $(cat why)"
    "$gnomon" stragglers --live -d runs --format json >/dev/null 2>&1 &
    sleep 0.05
    kill -TERM $! && wait $! || :
    nothing_left
    touch enough # the run goes on as long as it takes to look at it
    wait $job || fail "the run has ended badly: $(cat err)"
    run=$(echo runs/gnomon-*)
    [ "$(sqlite3 "$run/profile.db" "SELECT count(*) FROM run WHERE key GLOB 'changed/*'")" = 5 ] || fail "what was changed is not told"
    [ "$(sqlite3 "$run/profile.db" "SELECT group_concat(name || ':' || reason, ';') FROM (SELECT DISTINCT name, reason FROM counter ORDER BY name)")" = \
        'minor-faults:it was not counted from the beginning;page-faults:it was not counted from the beginning' ] || fail "it is not told what was counted: $(sqlite3 "$run/profile.db" 'SELECT * FROM counter')"
    grep -q 'events' "$run/config" || [ -f "$run/windows/traces.otf2" ] || fail "no windows"
    status=0
    "$gnomon" live "$run" 2>why || status=$?
    [ $status = 2 ] && grep -q 'goes on' why || fail "what has ended is told to go on: $(cat why)"
    "$gnomon" explain --format json "$run" >end.json || fail "not explained at the end"
    python3 - <<'EOP' || fail "what nobody wanted to see is judged by the rest: $(head -c 3000 end.json)"
import json
report = json.load(open("end.json"))
off, waited = report["seen"]["off_s"], report["seen"]["waited_s"]
assert off > 0.3 and waited["high"] - waited["low"] > 0.3 * off, report["seen"]
EOP
    # of what has ended --live says what there is, and not that it goes on
    "$gnomon" stragglers --live "$run" --format json | grep -v '"trace"' >a && "$gnomon" stragglers "$run" --format json | grep -v '"trace"' | diff - a ||
        fail "with --live something else"
    nothing_left
    ;;
never) # what a run was started without
    mkdir runs
    "$MPIRUN" -n 2 "$gnomon" run --windows off --sample off -d runs ./late 1 20 150 >out 2>err &
    job=$!
    for _ in $(seq 30); do
        "$gnomon" live -d runs >live.out 2>&1 && break
        sleep 0.1
    done
    grep -q -- '--windows off' live.out && grep -q -- '--sample off' live.out || fail "not told: $(cat live.out)"
    for option in "--windows 1000" "--sample 50"; do
        status=0
        "$gnomon" live -d runs $option >live.out 2>&1 || status=$?
        [ $status = 2 ] && grep -q 'started with' live.out || fail "$option: status $status: $(cat live.out)"
    done
    status=0
    "$gnomon" stragglers --live -d runs >live.out 2>&1 || status=$?
    [ $status = 2 ] && grep -q -- '--windows off' live.out || fail "events of a run without: status $status: $(cat live.out)"
    wait $job || fail "the run has ended badly: $(cat err)"
    nothing_left
    ;;
killed) # all at once: what was kept by the last checkpoint is in the folder, and is used
    mkdir runs
    steps=10000${#FLAVOUR} # tests beside this one have other processes
    "$MPIRUN" -n 2 "$gnomon" run -d runs ./late 1 20 $steps >out 2>err &
    job=$!
    seen runs 1 || fail "not seen while it goes on"
    run=$(echo runs/gnomon-*)
    agent=$(sed -n 's/^agent //p' "$run"/parts/*.open)
    guard=$(sed -n 's/^guard //p' "$run"/parts/*.open)
    kill -KILL "$guard" # it would start another agent
    kill -KILL "$agent"
    kill -KILL $job
    pkill -KILL -f "^[.]/late 1 20 $steps" || :
    wait $job 2>/dev/null || :
    for process in "$guard" "$agent"; do # on a busy machine they live on for a while
        within_20_s is_dead "$process"
    done
    "$gnomon" stragglers --live --format json "$run" >late.json 2>why || fail "no answer: $(cat why)"
    grep -q '"partial": true' late.json && ! grep -q '"live"' late.json || fail "what was killed goes on: $(head -c 2000 late.json)"
    "$gnomon" explain --format json "$run" >killed.json 2>why || fail "not explained: $(cat why)"
    python3 - <<'EOP' || fail "what was kept is lost: $(cat killed.json)"
import json
report = json.load(open("killed.json"))
assert report["seen"] and report["seen"]["share"] > 0.3, report["seen"]
assert any(cause["ranks"] == [1] for cause in report["causes"]), report["causes"]
EOP
    "$gnomon" stragglers --format json "$run" >late.json || fail "no answer"
    grep -q '"partial": true' late.json || fail "it is not said that it is partial"
    ;;
hosts) # two of them, whose clocks are seconds apart
    [ "$FLAVOUR" = openmpi ] || skip "Open MPI only"
    right_env=GNOMON_TEST_CLOCK=offset=-5s,rate=20ppm,sine=1ppm/2s
    . "$(dirname "$0")/hosts.sh"
    mkdir runs
    on_left job "$launch --wdir $PWD $gnomon run -d $PWD/runs ./late 3 20 400" &
    job=$!
    seen runs 3 || fail "not seen while it goes on"
    changed runs
    nothing_left
    wait $job || fail "the run has ended badly"
    ;;
esac
