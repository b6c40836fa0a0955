# gnomon clock: this host alone; a job on one host; a job on two, which are one machine under two names, so that the
# truth is known: both read the same counter. Standard output is the report's alone.
. "$(dirname "$0")/lib.sh"

# on_two NAME CLOCK OPTION...: CLOCK is what the second host pretends to have (GNOMON_TEST_CLOCK). For a second, unless
# OPTION says more.
on_two() {
    local name=$1 clock=$2 with=-x is==
    shift 2
    case $FLAVOUR in
    openmpi) set -- "$MPIRUN" --bind-to none -n 1 -x GNOMON_HOST=one "$gnomon" clock --seconds 1 "$@" : \
        -n 1 -x GNOMON_HOST=two ${clock:+-x "GNOMON_TEST_CLOCK=$clock"} "$gnomon" clock --seconds 1 "$@" ;;
    *) set -- "$MPIRUN" -n 1 -env GNOMON_HOST one "$gnomon" clock --seconds 1 "$@" : \
        -n 1 -env GNOMON_HOST two ${clock:+-env GNOMON_TEST_CLOCK "$clock"} "$gnomon" clock --seconds 1 "$@" ;;
    esac
    run "$name" "$@"
}

# holds NAME EXPRESSION: of the JSON in NAME.out.
holds() {
    python3 - "$work/$1.out" "$2" <<'END' || fail "$1: not true: $2"
import json, sys
r = json.load(open(sys.argv[1]))
inside = lambda value, bounds: bounds[0] <= value <= bounds[1]
sys.exit(0 if eval(sys.argv[2], {"r": r, "clocks": r["clocks"], "pairs": r["pairs"], "inside": inside}) else 1)
END
}

ended_with() {
    [ "$status" = "$1" ] || fail "exit status $status instead of $1"
}

nothing_left() {
    [ -z "$(ls -A .)" ] || fail "left behind: $(ls -A .)"
}

case $1 in
here)
    run here "$gnomon" clock --format json
    ended_with 0
    holds here 'len(clocks) == 1 and clocks[0]["reached"] and pairs == [] and r["run"] is None'
    run here "$gnomon" clock
    grep -q "There is one host" "$work/here.out" || fail "no answer"
    run here env GNOMON_HOST=elsewhere "$gnomon" clock --format json
    holds here 'clocks[0]["host"] == "elsewhere"'
    nothing_left
    ;;
one)
    run one "$MPIRUN" -n 2 "$gnomon" clock --seconds 0.2 --format json
    ended_with 0
    holds one 'len(clocks) == 1 and clocks[0]["reached"] and r["comparable_ns"]["most"] is None'
    nothing_left
    ;;
two)
    on_two two "" --format json
    ended_with 0
    holds two '[c["clock"] for c in clocks] == ["one", "two"] and clocks[1]["parent"] == "one"'
    holds two 'clocks[1]["exchanges"]["answered"] > 8'
    holds two 'len(pairs) == 1 and inside(0, pairs[0]["offset_ns"]) and inside(0, clocks[1]["rate_ppm"])'
    holds two 'clocks[1]["width_ns"]["least"] >= 0.9 * clocks[1]["floor_ns"] > 0'
    nothing_left
    on_two two ""
    head -1 "$work/two.out" | grep -q "^Times of 2 hosts can be compared to ± .* at any moment" || fail "no answer"
    ! grep -q "$(printf '\033')" "$work/two.out" || fail "colours in a file"
    ;;
known)
    on_two known rate=40ppm --format json
    ended_with 0
    holds known 'inside(40, clocks[1]["rate_ppm"]) and not inside(0, clocks[1]["rate_ppm"])'
    holds known '"simulated" in clocks[1]["counter"]["name"]'
    ;;
refuted)
    on_two refuted sine=200ppm/400ms --wander 1 --format json
    ended_with 1
    holds refuted 'r["refuted"] == 1 and clocks[1]["refuted"][0]["assumption"] == "wanders"'
    holds refuted 'clocks[1]["rests_on"] != "wanders"'
    nothing_left
    ;;
stepped) # as after a suspended machine: a jump is told, and its bounds rest on less
    export GNOMON_COUNTER=monotonic_raw # on both: ticks are ns, so that it is known when the jump is
    now=$(python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW))')
    on_two stepped "step=50ms@3s,origin=$now" --format json --seconds 6
    ended_with 1
    holds stepped 'r["refuted"] == 1 and clocks[1]["rests_on"] == "unknown"'
    holds stepped 'inside(0, clocks[1]["offset_ns"]) or inside(50e6, clocks[1]["offset_ns"])'
    ;;
stopped) # an agent that gets no time for a while: nothing is known of that while, and bounds are as right
    on_two stopped "" --format json --seconds 4 &
    for _ in $(seq 100); do
        agent=$(sed -n 's/^agent //p' gnomon-clock-*/parts/two.open 2>/dev/null) || :
        [ -z "$agent" ] || break
        sleep 0.1
    done
    [ -n "$agent" ] || fail "there is no agent of the other host"
    sleep 1
    kill -STOP "$agent"
    sleep 1.5
    kill -CONT "$agent"
    wait $! || fail "it did not end"
    holds stopped 'clocks[1]["reached"] and r["refuted"] == 0'
    holds stopped 'inside(0, clocks[1]["offset_ns"]) and inside(0, clocks[1]["rate_ppm"])'
    nothing_left
    ;;
keep)
    on_two keep "" --keep
    ended_with 0
    folder=$(ls -d gnomon-clock-*)
    grep -q "^next: gnomon clock $folder\$" "$work/keep.out" || fail "the folder is not named"
    for form in "$folder" "$folder/profile.db" --last; do
        run again "$gnomon" clock "$form" --format json
        ended_with 0
        holds again 'len(clocks) == 2 and inside(0, pairs[0]["offset_ns"])'
    done
    run again "$gnomon" clock "$folder" --assume constant --format json
    holds again 'r["assumption"]["kind"] == "constant" and clocks[1]["rests_on"] == "constant"'
    run again "$BUILD/bench/compare" "$folder" --same-counter --json
    ended_with 0
    python3 -c 'import json, sys
(clock,) = json.load(open(sys.argv[1]))
assert len(clock["methods"]) == 9, clock
assert all(m["outside"] == 0 for m in clock["methods"] if m["method"].startswith("gnomon")), clock' "$work/again.out" ||
        fail "not what is known of two hosts with one counter"
    run again "$BUILD/bench/compare" "$folder"
    grep -q "convex hull" "$work/again.out" || fail "no comparison as text"
    run again "$gnomon" clock "$folder" --format csv
    [ "$(wc -l <"$work/again.out")" = 2 ] || fail "not one pair as CSV"
    run again "$gnomon" report "$folder"
    ended_with 0
    python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE clock_domain SET granularity_ticks = 1 << 62"); db.commit()' "$folder/profile.db"
    run again "$gnomon" clock "$folder"
    ended_with 1 # nothing is known of such counters
    grep -q "^Times of these 2 hosts cannot be compared" "$work/again.out" || fail "something was compared"
    ;;
run)
    # what a measured program's run says
    case $FLAVOUR in
    openmpi) run prog "$MPIRUN" --bind-to none -n 1 -x GNOMON_HOST=one "$gnomon" run "$examples/heat.$FLAVOUR" : \
        -n 1 -x GNOMON_HOST=two "$gnomon" run "$examples/heat.$FLAVOUR" ;;
    *) run prog "$MPIRUN" -n 1 -env GNOMON_HOST one "$gnomon" run "$examples/heat.$FLAVOUR" : \
        -n 1 -env GNOMON_HOST two "$gnomon" run "$examples/heat.$FLAVOUR" ;;
    esac
    ended_with 0
    wait_for_report prog
    run again "$gnomon" clock "$(folder_of prog)" --format json
    ended_with 0
    holds again 'len(clocks) == 2 and inside(0, pairs[0]["offset_ns"])'
    run again "$BUILD/bench/compare" "$(folder_of prog)"
    ended_with 2
    grep -q "no exchanges were kept" "$work/again.err" || fail "why there is no comparison is not told"
    ;;
trace)
    # bounds from a program's messages alone; the simulation's offsets are within 1 ms, so two differ by 2 at most
    "$gnomon" synth stencil2 -n 16 --domains 4 --offset 1ms --rate 20ppm -o synthetic >/dev/null
    run trace "$gnomon" clock synthetic --format json
    ended_with 0
    holds trace 'len(clocks) == 4 and len(pairs) == 6 and r["trace"]["messages"] > 100'
    holds trace 'all(abs(bound) < 3e6 for p in pairs for bound in p["offset_ns"])'
    run trace "$gnomon" clock synthetic
    head -1 "$work/trace.out" | grep -q "^Times of 4 hosts can be compared" || fail "no answer"
    run trace "$gnomon" clock "$SOURCE/tests/data/scorep-misc-4ranks"
    ended_with 0
    grep -q "on one clock" "$work/trace.out" || fail "a trace of one host"
    ;;
apart)
    # hosts that share no folder cannot meet
    mkdir a b
    set -- "$gnomon" clock --seconds 0.2
    case $FLAVOUR in
    openmpi) run apart "$MPIRUN" --bind-to none -n 1 -x GNOMON_HOST=one sh -c "cd a; exec $*" : \
        -n 1 -x GNOMON_HOST=two sh -c "cd b; exec $*" ;;
    *) run apart "$MPIRUN" -n 1 -env GNOMON_HOST one sh -c "cd a; exec $*" : \
        -n 1 -env GNOMON_HOST two sh -c "cd b; exec $*" ;;
    esac
    ended_with 1
    grep -q "^MISSING: the clocks of 1 ranks" "$work/apart.out" || fail "the missing host is not told"
    grep -q "working directory" "$work/apart.out" || fail "what to do is not told"
    [ -z "$(ls -A a)" ] || fail "left behind: $(ls -A a)"
    ;;
library)
    run library "$MPIRUN" -n 1 "$gnomon" clock --seconds 0.2 --mpi /no/such/library.so
    [ "$status" != 0 ] || fail "exit status 0 without an MPI library"
    grep -q "/no/such/library.so" "$work/library.err" || fail "the library is not named"
    [ ! -s "$work/library.out" ] || fail "something on standard output"
    nothing_left
    ;;
interrupted)
    case $FLAVOUR in
    openmpi) set -- "$MPIRUN" --bind-to none -n 2 "$gnomon" clock --seconds 60 ;;
    *) set -- "$MPIRUN" -n 2 "$gnomon" clock --seconds 60 ;;
    esac
    "$@" >"$work/int.out" 2>"$work/int.err" &
    launcher=$!
    for _ in $(seq 100); do
        [ -z "$(ls -d gnomon-clock-*/parts/*.open 2>/dev/null)" ] || break
        sleep 0.1
    done
    kill -TERM $launcher
    wait $launcher || :
    for _ in $(seq 100); do
        [ -n "$(ls -A .)" ] || break
        sleep 0.1
    done
    nothing_left
    ! grep -qE "^(Times of|There is)" "$work/int.out" || fail "a report of an interrupted measurement"
    ;;
esac
