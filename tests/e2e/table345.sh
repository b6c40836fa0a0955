# The paper's tables 3, 4 and 5 on four emulated hosts with clocks of their own: every way to bring times together has
# its rows, gnomon's score is that of a straggler, and what cannot be asked is told. Open MPI.
. "$(dirname "$0")/lib.sh"
[ -x "$BUILD/bench/stragglers" ] || skip "this build has no bench/stragglers"
have kmeans || skip "no examples for $FLAVOUR"

small="--program kmeans --runs 1 --iterations 3 --seconds 0.1"
run table "$SOURCE/bench/table345.py" "$BUILD" $small --keep "$work/runs"
[ $status != 77 ] || skip "$(cat "$work/table.err")"
[ $status = 0 ] || fail "exit status $status"
for clocks in "gnomon" "linear regression, exchanges" "convex hull, exchanges" "linear regression, program" \
    "convex hull, program"; do
    [ "$(grep -c "^$clocks  .*[0-9]$\|^$clocks  .*none$" "$work/table.out")" = 1 ] || fail "not one score by $clocks"
    [ "$(grep -c "^$clocks: to the others' median  .*[0-9)]$\|^$clocks: .*median  .*none$" "$work/table.out")" = 4 ] ||
        fail "not two predictions by $clocks and their errors"
done
[ "$(grep -c '^actual  .*[0-9]$' "$work/table.out")" = 2 ] || fail "no actual reduction"
[ "$(grep -c 'met$\|MISSED$' "$work/table.out")" = 11 ] || fail "not all aims are spoken of"

# What is printed for one run: shares and reductions in order, and less is gone by gnomon's clocks than the run had.
run=$(ls -d "$work"/runs/kmeans-straggler-0/gnomon-*)
run one "$BUILD/bench/stragglers" "$run" assign exchange 3 3
[ $status = 0 ] || fail "one run: exit status $status"
python3 -c '
import json, sys
ways = json.load(open(sys.argv[1]))
assert len(ways) == 5 and ways[0]["clocks"] == "gnomon"
for way in ways:
    if "problem" in way:
        continue
    assert 0 <= way["score"][0] <= way["score"][1] <= 100, way
    for form in way["forms"].values():
        assert 0 <= form["share"][0] <= form["share"][1] <= 1, way
        assert 0 <= form["reduction_s"][0] <= form["reduction_s"][1] <= way["length_s"][1], way
assert ways[0]["score"][0] > 0 and ways[0]["forms"]["factor"]["reduction_s"][0] > 0, ways[0]
' "$work/one.out" || fail "what is printed for one run: $(cat "$work/one.out")"

refused() { # refused NAME TEXT ARGUMENTS...: exit status 2 and what is wrong
    local name=$1 text=$2
    shift 2
    run "$name" "$BUILD/bench/stragglers" "$@"
    [ $status = 2 ] || fail "$name: exit status $status"
    grep -q "$text" "$work/$name.err" || fail "$name: not said: $text"
}
refused usage "usage: " "$run"
refused nobody "there is no rank 9" "$run" assign exchange 9 3
refused region "nothing is computed in a region \"asign\"" "$run" asign exchange 3 3
refused nowhere "nowhere" "$work/nowhere" assign exchange 3 3
