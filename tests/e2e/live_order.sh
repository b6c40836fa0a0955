# gnomon order --live RUN: readers of a run that goes on see its events in causal order, from its begin if they come
# early, and told what they missed otherwise; one that is killed or stopped disturbs neither the run nor its trace.
. "$(dirname "$0")/lib.sh"
mode=$1
started= # nothing outlives a test that fails
trap 'code=$?; [ -z "$started" ] || kill -KILL $started 2>/dev/null || :; touch go end; cd /; rm -rf "$work" || :; exit $code' EXIT

start() { # OPTION-OR-WORD...: the program, in the background, up to where it waits for the file `go`
    compile "$work/paced" fixtures/paced.c
    "$MPIRUN" -n "$n" "$gnomon" run "$@" >"$work/run.out" 2>"$work/run.err" </dev/null &
    launcher=$!
    started="$started $launcher"
    until_ 'the run has a folder' 'test -e gnomon-*/parts/*.open'
    folder=$(echo gnomon-*)
}

until_() { # WHAT COMMAND...: within a minute, evaluated anew each time
    local what=$1
    shift
    for _ in $(seq 3000); do
        eval "$*" && return 0
        sleep 0.1
    done
    fail "not so after five minutes: $what"
}

watch_() { # NAME ARGUMENT...: a reader in the background whose events go to NAME.jsonl; $! is its process
    local name=$1
    shift
    "$gnomon" order --live "$@" --to jsonl -o "$work/$name.jsonl" --stats --format json >"$work/$name.json" \
        2>"$work/$name.err" </dev/null &
    started="$started $!"
}

came() { # NAME TEXT: a line of its events has that
    until_ "$1 has seen $2" "grep -qs '$2' '$work/$1.jsonl'"
}

finish() { # the run, which is whole
    touch end
    status=0
    wait $launcher || status=$?
    [ "$status" = 0 ] || fail "the run's exit status is $status"
    wait_for_report run
    json run 'r["run"]["complete"] and r["trace"]["garbled"] == r["trace"]["unwritten"] == 0' || fail "the trace is not whole"
    total=$(json run 'r["trace"]["events"] + r["trace"]["dropped"]')
}

# seen NAME EXPRESSION: holds for its events e, how many it was told are lost, its statistics s and of the sort o.
seen() {
    python3 - "$work/$1.jsonl" "$work/$1.json" "$2" <<'END' || fail "$1: not so: $2"
import collections, json, sys
e = [json.loads(line) for line in open(sys.argv[1])]
s = json.load(open(sys.argv[2]))
o = s["sort"]
lost = sum(x["count"] for x in e if x["kind"] == "lost")
events = sum(x["kind"] != "lost" for x in e)
kinds = collections.Counter(x["kind"] for x in e)
sys.exit(0 if eval(sys.argv[3]) else 1)
END
}

ended_well() { # NAME PROCESS
    status=0
    wait "$2" || status=$?
    [ "$status" = 0 ] || fail "$1 ended with $status: $(cat "$work/$1.err")"
}

ended_with_losses() { # NAME PROCESS: no whole answer, and it says so
    status=0
    wait "$2" || status=$?
    [ "$status" = 1 ] && grep -q 'events were lost while the program was measured' "$work/$1.err" ||
        fail "$1 ended with $status: $(cat "$work/$1.err")"
}

case $mode in
whole) # from the begin to the end; the question is answered while the program waits
    start --trace "$work/paced" 1000
    watch_ all
    all=$!
    run question "$gnomon" order --live "$folder" --when 'kind=mpi_recv && rank==1 && bytes>1k' --stop
    [ "$status" = 0 ] || fail "--stop: exit status $status: $(cat "$work/question.err")"
    grep -q '"kind":"mpi_recv",.*"sent":.*"sender":' "$work/question.out" || fail "no receive: $(cat "$work/question.out")"
    came all '"region":"MPI_Recv"'
    touch go
    finish
    ended_well all $all
    seen all "events == $total and lost == 0 and o['lost'] == 0 and s['live']['died'] == 0 and s['live']['undefined'] == 0"
    seen all "kinds['mpi_recv'] == kinds['mpi_send'] == $n * 1200 == o['messages'] and o['backward_in_output'] == 0"
    seen all "o['unmatched_sends'] + o['unmatched_receives'] + o['released'] + o['ambiguous'] == 0 and s['locations'] == $n"
    seen all "all('sender' in x for x in e if x['kind'] == 'mpi_recv') and kinds['program_end'] == $n"
    run after "$gnomon" order --live "$folder"
    [ "$status" = 2 ] && grep -q 'not the folder of a program that runs' "$work/after.err" || fail "it runs no more: $status"
    run after "$gnomon" order --live
    [ "$status" = 2 ] && grep -q 'nothing runs here' "$work/after.err" || fail "nothing runs any more: $status"
    ;;
disturbed) # more events than a reader that does not read may leave waiting: 17 MiB
    start --trace "$work/paced" 40000
    for name in killed paused stuck; do
        watch_ $name "$folder"
        eval "$name=\$!"
        came $name '"region":"MPI_Recv"'
    done
    kill -KILL $killed
    kill -STOP $paused $stuck
    touch go
    until_ 'the middle rounds are through' test -e waits-for-end
    kill -CONT $paused
    watch_ late "$folder"
    late=$!
    came late '"kind":"lost"'
    finish
    ended_with_losses paused $paused
    ended_with_losses late $late
    kill -KILL $stuck
    seen paused "lost > 0 and events + lost == $total and s['live']['died'] == 0"
    seen late "lost > 100000 and events + lost == $total and s['live']['died'] == 0 and kinds['program_end'] == $n"
    json run 'r["trace"]["dropped"] == 0' || fail "the readers cost the trace events"
    ;;
untraced)
    start "$work/paced" 10
    run no "$gnomon" order --live "$folder"
    [ "$status" = 2 ] && grep -q 'the run is not traced' "$work/no.err" || fail "no trace, but $status: $(cat "$work/no.err")"
    touch go end
    wait $launcher
    ;;
esac
started=
