# Which counter times are read from: the processor's or the kernel's, the same one for all of a host; and what gnomon
# doctor says of it.
. "$(dirname "$0")/lib.sh"

raw_ns() {
    python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW))'
}

# finding WHAT EXPRESSION: a Python expression over one finding f of doctor's.
finding() {
    "$gnomon" doctor --format json >"$work/doctor.json" || fail "doctor's exit status $?"
    python3 -c 'import json, sys
f = next(f for f in json.load(open(sys.argv[1])) if f["what"] == sys.argv[2])
sys.exit(0 if eval(sys.argv[3], {"f": f}) else 1)' "$work/doctor.json" "$1" "$2"
}

case $1 in
kernel) # all times of a trace are readings of CLOCK_MONOTONIC_RAW
    command -v otf2-print >/dev/null || skip "no otf2-print"
    export GNOMON_COUNTER=monotonic_raw
    before=$(raw_ns)
    run_gnomon run --trace "$examples/heat.$FLAVOUR" $(brief heat)
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report run
    after=$(raw_ns)
    json run 'r["trace"]["dropped"] == r["trace"]["garbled"] == 0' || fail "events make no sense to the agent"
    trace=$(folder_of run)/trace/traces.otf2
    otf2-print -G "$trace" >"$work/definitions"
    grep -q '^CLOCK_PROPERTIES .*Ticks per Seconds: 1000000000,' "$work/definitions" ||
        fail "a tick is not 1 ns: $(grep CLOCK_PROPERTIES "$work/definitions")"
    otf2-print "$trace" | awk -v before="$before" -v after="$after" '
        /^[A-Z_]+ +[0-9]+ +[0-9]+ / { events++; if ($3 < before || $3 > after) print "at " $3 ", not in " before ".." after }
        END { if (events < 1000) print "only " events " events" }' >"$work/outside"
    [ ! -s "$work/outside" ] || fail "$(head -3 "$work/outside")"
    ;;
nonsense) # is told, and the program is measured all the same
    GNOMON_COUNTER=sundial run_gnomon run "$examples/heat.$FLAVOUR" $(brief heat)
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report run
    grep -q 'GNOMON_COUNTER: .* is expected; the setting is ignored' "$work/run.err" || fail "nothing was said"
    json run "r['run']['complete']" || fail "not measured"
    ;;
doctor)
    modules=$(ls "$BUILD"/lib*/gnomon/libgnomon-transport.*.so 2>/dev/null | sed 's/.*transport\.\(.*\)\.so/"\1"/' | paste -sd,)
    finding "gnomon sync by several" "f['fine'] == bool([$modules]) and all(m in f['detail'] for m in [$modules])" ||
        fail "what sync needs under mpirun"
    mkdir -p bin lib/gnomon && cp "$gnomon" bin/ && cp "$BUILD/lib/gnomon/gnomon-commands" lib/gnomon/ # without libraries
    { bin/gnomon doctor || :; } | grep -q '^note .*libgnomon-transport.*one process only' || fail "nothing is missing"
    finding "tick counter" 'f["facts"]["hz"] > 1e6 and f["facts"]["granularity_ticks"] >= 1' || fail "no counter"
    GNOMON_COUNTER=monotonic_raw finding "tick counter" \
        'not f["fine"] and not f["needed"] and f["facts"]["name"] == "monotonic_raw" and f["facts"]["hz"] == 1e9' ||
        fail "not the kernel's clock"
    GNOMON_COUNTER=sundial finding "tick counter" 'not f["fine"] and "is expected" in f["detail"]' || fail "nonsense taken"
    [ "$(nproc)" -ge 2 ] || skip "one core"
    last=$(python3 -c 'import os; print(max(os.sched_getaffinity(0)))')
    GNOMON_TEST_DOMAIN=$last:+1000000000000 finding "cores share the counter" 'not f["fine"]' ||
        fail "a core with a counter of its own was not found"
    ;;
esac
