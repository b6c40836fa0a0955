# Threads made and joined: the program sees nothing of who looks on, and the trace has each of them that it made and
# joined between MPI_Init and MPI_Finalize.
. "$(dirname "$0")/lib.sh"

words() {
    grep -oE '[[:alpha:]#]+|[0-9.]+' "$1" | sort
}

# check NAME PROGRAM...: the same output as without gnomon, and the threads it speaks of.
check() {
    local name=$1
    shift
    run_bare bare "$@"
    [ "$status" = 0 ] || fail "$name: exit status $status without gnomon"
    run_gnomon gnomon --trace --trace-full=block "$@"
    [ "$status" = 0 ] || fail "$name: exit status $status"
    # what two ranks print at one moment the launcher may mix: words and numbers
    diff <(words "$work/bare.out") <(words "$work/gnomon.out") || fail "$name: other output than without gnomon"
    grep -q '^sum' "$work/bare.out" || skip "this MPI has no threads"
    wait_for_report gnomon
    run order "$gnomon" order --to jsonl --stats --format json -o events.jsonl "$(folder_of gnomon)"
    [ "$status" = 0 ] || fail "$name: order: exit status $status"
    run check "$gnomon" check "$(folder_of gnomon)"
    [ "$status" = 0 ] || fail "$name: check: exit status $status"
    read -r _ _ created _ joined _ calling <<<"$(grep '^#' "$work/gnomon.out")"
    python3 - events.jsonl "$created" "$joined" "$calling" "$n" <<'END' || fail "$name: not so"
import collections, json, sys
created, joined, calling, ranks = map(int, sys.argv[2:])
events = collections.defaultdict(dict)
counts = collections.Counter()
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e["kind"].startswith("thread_"):
        assert e["request"] not in events[e["kind"]], f"{e} twice"
        events[e["kind"]][e["request"]] = e
        counts[e["kind"], e["rank"]] += 1
print(sorted(counts.items()))
made, waited, begun, ended = (events["thread_" + kind] for kind in ("create", "wait", "begin", "end"))
for rank in range(ranks):
    assert counts["thread_create", rank] == created, "created"
    assert counts["thread_wait", rank] == joined, "joined"
    assert counts["thread_begin", rank] == counts["thread_end", rank] == calling, "threads that call MPI"
assert set(waited) <= set(made), "joined, but not made"
assert set(begun) == set(ended) and set(begun) <= set(made), "begun, but not made"
for number, begin in begun.items():
    assert made[number]["time"] <= begin["time"] <= ended[number]["time"], "before it was made"
    assert number not in waited or ended[number]["time"] <= waited[number]["time"], "joined before its end"
    assert made[number]["rank"] == begin["rank"], "of another rank"
END
    # What would help assumes that they go along, and says so.
    run whatif "$gnomon" whatif --format json "$(folder_of gnomon)"
    [ "$status" = 0 ] || fail "$name: whatif: exit status $status"
    [ "$(python3 -c 'import json, sys; print(*(x["count"] for x in json.load(sys.stdin)["assumptions"] if x["name"] == "threads"))' \
        <"$work/whatif.out")" = $((n * joined)) ] || fail "$name: whatif does not say that threads go along"
    # another reader
    command -v otf2-print >/dev/null || return 0
    otf2-print "$(folder_of gnomon)"/trace/traces.otf2 >"$work/printed" || fail "$name: otf2-print"
    [ "$(grep -c '^THREAD_CREATE' "$work/printed")" = $((n * created)) ] || fail "$name: otf2-print: created"
    [ "$(grep -c '^THREAD_WAIT' "$work/printed")" = $((n * joined)) ] || fail "$name: otf2-print: joined"
}

case $1 in
all)
    compile "$work/plugin.so" fixtures/made_threads_plugin.c -shared -fPIC -pthread
    compile "$work/made" fixtures/made_threads.c -pthread -ldl
    check "all ways" "$work/made" "$work/plugin.so"
    ;;
own)
    compile "$work/made" fixtures/made_threads.c -DOWN_CREATE -pthread -ldl -rdynamic
    check "a pthread_create of its own" "$work/made"
    ;;
cxx)
    command -v "mpicxx.$FLAVOUR" >/dev/null || skip "no mpicxx.$FLAVOUR"
    "mpicxx.$FLAVOUR" -O2 -o "$work/made" "$here/fixtures/made_threads.cc" -pthread 2>"$work/compile.err" ||
        fail "cannot compile"
    check "std::thread" "$work/made"
    ;;
esac
