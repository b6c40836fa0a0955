# After a bad end the report says what each rank did last, as the program has logged it itself, and begins with the rank
# that ended first.
. "$(dirname "$0")/lib.sh"
mode=$1 trace=${2-}
program=$work/last_calls
compile "$program" fixtures/last_calls.c
: >"$work/log"
if [ "$mode" = hang ]; then # ended by SIGINT to mpirun
    : >"$work/gnomon.err"
    env --default-signal=INT "$MPIRUN" -n "$n" "$gnomon" run $trace "$program" hang "$work/log" \
        >"$work/gnomon.out" 2>>"$work/gnomon.err" </dev/null &
    launcher=$!
    for _ in $(seq 300); do
        grep -q 'waits for ever' "$work/gnomon.err" && break
        sleep 0.1
    done
    sleep 1
    kill -INT $launcher
    wait $launcher || :
else
    run_gnomon gnomon $trace "$program" "$mode" "$work/log"
fi
wait_for_report gnomon
report gnomon --format json --no-trace >"$work/report.json"
python3 "$here/check_last_calls.py" "$work/report.json" "$work/log" || fail "other calls than the program's own"
grep -q 'its last calls: ' "$work/gnomon.err" || fail "the report does not show the last calls"
[ "$(sql gnomon 'SELECT count(*) FROM last_call')" = $((8 * n)) ] || fail "not 8 calls of each rank in the profile"
case $mode in
kill | segv | exit)
    json gnomon 'troubles[0]["rank"] == 1 and troubles[0]["ending"]["first"]' || fail "rank 1 is not the first"
    report gnomon | grep -A1 '^PARTIAL' | grep -q 'rank 1 on ' || fail "the text does not begin with rank 1"
    ;;
abort)
    json gnomon 'troubles[0]["rank"] == 1 and troubles[0]["last_calls"][-1]["inside"]' || fail "MPI_Abort is not the first"
    ;;
hang)
    json gnomon '[t for t in troubles if t["rank"] == 1][0]["last_calls"][-1]["name"] == "MPI_Recv"' || fail "not MPI_Recv"
    ;;
esac
json gnomon 'all(0 <= t["ending"]["known_to_s"] < 2 and t["ending"]["later_lo_s"] <= t["ending"]["later_hi_s"] for t in troubles)' ||
    fail "impossible endings"
# a complete run keeps none of it
[ "$mode" = kill ] || exit 0
run_gnomon whole "$examples/crash.$FLAVOUR" ok
wait_for_report whole
[ "$(sql whole 'SELECT (SELECT count(*) FROM last_call) + (SELECT count(*) FROM ending)')" = 0 ] || fail "a complete run keeps them, too"
