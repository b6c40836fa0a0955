#!/bin/bash
# All tests of the preset ci, several at a time. Some judge how long something took (label timed), which other programs on
# the machine may change: a few of these that fail are run once more, alone, and that is seen in what is printed. All else
# that fails has failed. (ctest's own --repeat tries again at once, beside the same other tests.)
set -euo pipefail
cd "$(dirname "$0")/.."
few=5

status=0
failed=build/ci/Testing/Temporary/LastTestsFailed.log
rm -f "$failed" # of another time
ctest --preset ci || status=$?
[ "$status" != 0 ] && [ -s "$failed" ] || exit "$status"
again=$(cut -d: -f2 "$failed")
timed=$(ctest --preset ci -N -L '^timed$' | sed -n 's/^ *Test *#[0-9]*: //p')
[ "$(wc -l <<<"$again")" -le "$few" ] || exit "$status"
! grep -vxF "$timed" <<<"$again" || exit "$status"
echo "once more, alone:" $again
expression=$(sed 's/[.]/[.]/g' <<<"$again" | paste -sd'|')
exec ctest --preset ci -j 1 -R "^($expression)\$"
