#!/bin/bash
# All of it: a hundred million conversions over simulated hosts, the wrong formulas, what the analyses say of programs
# whose truth is known, and the real runs over emulated hosts for each MPI. Prints the tables; ends with 1 when anything was wrong.
#
#     BUILD=… SOURCE=… all.sh
set -u
: "${BUILD:?}" "${SOURCE:?}" "${CONVERSIONS:=100000000}"
here=$SOURCE/tests/soundness
failed=0
skipped=0 runs=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

"$BUILD/tests/soundness/soundness" --conversions "$CONVERSIONS" || failed=1
"$here/mutations.sh" || failed=1
"$BUILD/tests/unit/test_history" -n 2000 || failed=1
"$BUILD/tests/unit/test_history_waits" -n 20000 || failed=1
"$BUILD/tests/unit/test_whatif_truth" -n 20000 -s 7 || failed=1
for flavour in openmpi mpich; do
    command -v "mpirun.$flavour" >/dev/null || { echo "no $flavour here"; continue; }
    if [ "$flavour" = openmpi ]; then # long enough for the step to come between exchanges, whenever the job begins
        FLAVOUR=$flavour timeout 300 "$here/hosts.sh" step quiet two 500000 15 || { [ $? = 77 ] || failed=1; }
    fi
    for wander in constant 0.1ppm 1ppm 5ppm violated; do
        for network in quiet loaded asymmetric; do
            for hosts in two chain tree; do
                status=0
                FLAVOUR=$flavour timeout 300 "$here/hosts.sh" $wander $network $hosts 500000 2 >"$log" 2>&1 || status=$?
                runs=$((runs + 1))
                cat "$log"
                case $status in
                0) ;;
                77) skipped=$((skipped + 1)) ;;
                *)
                    echo "FAILED: $wander $network $hosts with $flavour: exit status $status"
                    failed=1
                    ;;
                esac
            done
        done
    done
done
echo "$runs real runs, $skipped of them skipped"
[ $skipped = 0 ] || [ $skipped = $runs ] || failed=1 # none of them is for want of permission, then
exit $failed
