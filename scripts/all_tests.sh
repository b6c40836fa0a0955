#!/bin/bash
# All tests of the preset ci, several at a time. What programs do together hangs on when each of them has a core, and other
# tests have it, too: a few tests of whole programs (label e2e) or of times (label timed) that fail are run again, alone on
# the machine, and that is seen in what is printed. One that judges times has to pass then; another one three times in a
# row. All else that fails has failed. (ctest's own --repeat tries again at once, beside the same other tests.)
set -euo pipefail
cd "$(dirname "$0")/.."
few=8

status=0
failed=build/ci/Testing/Temporary/LastTestsFailed.log
rm -f "$failed" # of another time
ctest --preset ci || status=$?
[ "$status" != 0 ] && [ -s "$failed" ] || exit "$status"
again=$(cut -d: -f2 "$failed")
labelled() { # REGEX: tests that have such a label
    ctest --preset ci -N -L "^($1)\$" | sed -n 's/^ *Test *#[0-9]*: //p'
}
[ "$(wc -l <<<"$again")" -le "$few" ] || exit "$status"
! grep -vxF "$(labelled "e2e|timed")" <<<"$again" || exit "$status"

alone() { # TIMES TEST...
    local times=$1 expression
    shift
    [ $# -gt 0 ] || return 0
    echo "again, alone: ($times times)" "$@"
    expression=$(printf '%s\n' "$@" | sed 's/[.]/[.]/g' | paste -sd'|')
    ctest --preset ci -j 1 -R "^($expression)\$" --repeat "until-fail:$times"
}
timed=$(labelled timed)
alone 1 $(grep -xF "$timed" <<<"$again" || :)
alone 3 $(grep -vxF "$timed" <<<"$again" || :)
