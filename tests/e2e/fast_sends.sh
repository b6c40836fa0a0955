# The paper's table 2 on two emulated hosts: every method has its row, gnomon's bounds put no message's end before its
# beginning, and no wrong answer is given where there is nobody to answer.
. "$(dirname "$0")/lib.sh"
[ -x "$BUILD/bench/fast_sends" ] || skip "this build has no bench/fast_sends"

run table "$SOURCE/bench/table2.sh" "$BUILD" 3 100
[ $status != 77 ] || skip "$(cat "$work/table.out")"
[ $status = 0 ] || fail "exit status $status: $(cat "$work/table.err")"
for method in "gnomon, rate wanders" "gnomon, rate constant" "linear regression" "convex hull" "hull, LP per reading" \
    "two points" "FreeZer as published" "FreeZer mended"; do
    grep -q "^$method  .* 3$" "$work/table.out" || fail "no three trials of: $method"
done
for method in "gnomon, rate wanders" "gnomon, rate within limits" "gnomon, rate constant" "hull, LP per reading"; do
    grep -q "^$method  .* 0.000      3$" "$work/table.out" || fail "inversions by $method: $(cat "$work/table.out")"
done

run alone "$BUILD/bench/fast_sends" ask 127.0.0.1 9 1 3
[ $status = 1 ] || fail "nobody there: exit status $status"
grep -q "no answer to any of 3 messages" "$work/alone.err" || fail "nobody there: $(cat "$work/alone.err")"
GNOMON_TEST_CLOCK=nonsense run clock "$BUILD/bench/fast_sends" ask 127.0.0.1 9 1 3
[ $status = 1 ] || fail "a clock that is none: exit status $status"
