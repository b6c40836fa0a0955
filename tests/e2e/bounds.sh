# Simulated programs on hosts with wrong clocks, which were never compared: `gnomon export --bounds` says between which
# times each event was, and the truth is. Where an assumption does not hold, that is said.
. "$(dirname "$0")/lib.sh"
for pattern in stencil2 master collectives nbc lost; do
    for wander in sine ramp step; do
        rm -rf "$work/trace"
        "$gnomon" synth "$pattern" -n 12 -e 20000 --domains 3 --offset 5s --rate 50ppm --wander $wander:2ppm:20ms \
            -o "$work/trace" 2>"$work/synth.err" || fail "synth $pattern"
        "$gnomon" export --to csv --bounds -o "$work/bounds.csv" "$work/trace" 2>"$work/export.err" || fail "export"
        [ ! -s "$work/export.err" ] || fail "$pattern, $wander: something is said about clocks that are as assumed"
        python3 "$here/check_bounds.py" "$work/trace/true-times" "$work/bounds.csv" || fail "$pattern, $wander: bounds"
    done
done

rm -rf "$work/trace"
"$gnomon" synth stencil2 -n 12 -e 20000 --domains 2 --rate 3000ppm --compute 1ms -o "$work/trace" 2>"$work/synth.err"
"$gnomon" export --to csv --bounds -o "$work/bounds.csv" "$work/trace" 2>"$work/export.err" || fail "export"
grep -q "contradict what was assumed of the clock of node1" "$work/export.err" || fail "a refuted assumption is not told"

status=0
"$gnomon" export --to chrome --bounds "$work/trace" >/dev/null 2>"$work/chrome.err" || status=$?
[ $status != 0 ] && grep -q "goes with csv and jsonl" "$work/chrome.err" || fail "--bounds in a format without a place for it"
