# Traces of which every third event file is missing: order, check and sync mark and count, and join nothing wrongly; with all
# files the same checker finds the same of all messages.
. "$(dirname "$0")/lib.sh"

python=/usr/bin/python3
"$python" -c 'import otf2' 2>/dev/null || python=python3
"$python" -c 'import otf2' 2>/dev/null || skip "this Python cannot read OTF2"

# judge NAME TRACE MISSING [REPAIRED.jsonl]
judge() {
    local name=$1 trace=$2 missing=$3
    shift 3
    run order "$gnomon" order --to jsonl -o $name.jsonl $trace
    [ "$status" = $([ "$missing" ] && echo 1 || echo 0) ] || fail "$name: gnomon order: exit status $status"
    run check "$gnomon" check --format json $trace
    [ "$status" -lt 2 ] || fail "$name: gnomon check: exit status $status"
    "$python" "$here/missing_thirds.py" $trace.whole/traces.otf2 "$missing" $name.jsonl "$work/check.out" "$@" >"$work/judge.out" 2>"$work/judge.err" ||
        fail "$name: $(tail -1 "$work/judge.err")"
}

for pattern in stencil2 master nonblocking multigrid collectives nbc scorep; do
    missing=2,5
    if [ $pattern = scorep ]; then
        cp -r "$SOURCE/tests/data/scorep-misc-4ranks" scorep
        missing=2
    else
        "$gnomon" synth $pattern -n 7 -e 2000 --domains 4 --offset 20us --seed 3 -o $pattern >synth.out || fail "$pattern: no trace"
    fi
    cp -r $pattern $pattern.whole
    judge $pattern.all $pattern ""
    rm $pattern/traces/2.evt
    [ $missing = 2 ] || rm $pattern/traces/5.evt
    run short "$gnomon" sync $pattern -o short.$pattern --keep-going --verify
    [ "$status" = 1 ] || fail "$pattern: not everything could be checked: exit status $status"
    run sync "$gnomon" sync $pattern -o repaired.$pattern --keep-going --verify --partial
    [ "$status" = 0 ] || fail "$pattern: gnomon sync: exit status $status"
    grep -q '[12] locations\{0,1\} without an event file' "$work/sync.out" || fail "$pattern: missing files are not told"
    [ ! -e repaired.$pattern/traces/2.evt ] || fail "$pattern: a file that was not there"
    run order "$gnomon" order --to jsonl -o repaired.jsonl repaired.$pattern
    judge $pattern.some $pattern $missing repaired.jsonl
done
