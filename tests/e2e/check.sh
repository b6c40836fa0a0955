# gnomon check: the same counts as a checker that looks at each pair; what it says, and its exit status.
#
#   check.sh synth|archive|examples|eztrace|latency|words
. "$(dirname "$0")/lib.sh"

python=/usr/bin/python3
"$python" -c 'import otf2' 2>/dev/null || python=python3
"$python" -c 'import otf2' 2>/dev/null || skip "this Python cannot read OTF2"

# check NAME STATUS ARGUMENT...: as JSON to NAME.out
check() {
    local name=$1 expected=$2
    shift 2
    run "$name" "$gnomon" check --format json "$@"
    [ "$status" = "$expected" ] || fail "gnomon check $*: exit status $status and not $expected"
}

# compare NAME ANCHOR ARGUMENT...: what check NAME has printed is what all pairs say
compare() {
    local name=$1 anchor=$2
    shift 2
    "$python" "$here/check_condition.py" "$anchor" --compare "$work/$name.out" "$@" >"$work/pairs.out" ||
        fail "$name: other counts than those of all pairs"
}

# holds NAME EXPRESSION: over the JSON object c, where m, l and u are the counts
holds() {
    "$python" - "$work/$1.out" "$2" <<'END' || fail "$1: not so: $2"
import json, sys
c = json.load(open(sys.argv[1]))
m, l, u = c["messages"], c["collectives"], c["uncertain"]
sys.exit(0 if eval("(" + sys.argv[2] + ")") else 1)
END
}

refused() { # WORD-IN-THE-MESSAGE ARGUMENT...
    local word=$1
    shift
    run bad "$gnomon" check "$@"
    [ "$status" = 2 ] || fail "gnomon check $*: exit status $status"
    grep -q -e "$word" "$work/bad.err" || fail "gnomon check $*: the message does not say $word"
}

synth() { # NAME ARGUMENT...
    local name=$1
    shift
    run synth "$gnomon" synth "$@" -o "$name"
    [ "$status" = 0 ] || fail "gnomon synth $*: exit status $status"
}

case $1 in
synth)
    # What was lost cannot be counted by anybody; the rest of what the pattern is about is stencil2.
    for pattern in $("$gnomon" synth --list | awk '$1 != "lost" { print $1 }'); do
        synth "$pattern" "$pattern" -n 8 -e 4000 --seed 5 --domains 4
        check "$pattern" 0 "$pattern"
        compare "$pattern" "$pattern/traces.otf2"
        holds "$pattern" "c['holds'] and c['worst'] is None and m['messages'] + l['messages'] > 100"
        synth "$pattern.skewed" "$pattern" -n 8 -e 4000 --seed 5 --domains 4 --offset 200us --rate 20ppm
        check "$pattern.skewed" 1 "$pattern.skewed"
        compare "$pattern.skewed" "$pattern.skewed/traces.otf2"
        holds "$pattern.skewed" "not c['holds'] and m['reversed'] + l['reversed'] > 0 and c['backward'] == 0 and
            c['worst']['from']['ticks'] ==
            c['worst']['to']['ticks'] + max(m['missing_max_ticks'], l['missing_max_ticks'])"
    done
    # Instances in which a few members have begun long before the others, and all of them wait.
    synth many collectives -n 64 -e 32000 --domains 7 --offset 1ms
    check many 1 many
    compare many many/traces.otf2
    for lost in stencil2 collectives nbc; do
        synth "$lost.lost" "$lost" -n 8 -e 50000 --lost 0.01 --domains 4
        check "$lost.lost" 0 "$lost.lost"
        holds "$lost.lost" "c['unmatched'] + c['ambiguous'] > 0"
    done
    ;;
archive)
    archive=$SOURCE/tests/data/scorep-misc-4ranks
    check scorep 0 "$archive"
    compare scorep "$archive/traces.otf2"
    holds scorep "m['messages'] > 20 and l['messages'] > 40 and u['messages'] > 100"
    # There, communicators are freed before others have begun to: MPI does not say that it synchronises.
    holds scorep "u['reversed'] > 0 and c['holds']"
    ;;
examples)
    export OMPI_MCA_osc=^rdma # Open MPI 4.1's one-sided communication by "rdma" is wrong between processes of a host
    # One host, one clock: whatever MPI offers, no end comes before what it depends on.
    for program in everything pool threads; do
        have $program || continue
        rm -rf gnomon-*
        run_gnomon $program --trace --trace-full=block --quiet "$examples/$program.$FLAVOUR"
        trace=$(echo gnomon-*/trace/traces.otf2)
        [ -e "$trace" ] || fail "$program: there is no trace"
        check $program.check 0 "$trace"
        compare $program.check "$trace"
    done
    holds everything.check "m['messages'] > 50 and l['messages'] > 50 and u['messages'] > 10"
    ;;
eztrace)
    command -v eztrace >/dev/null || skip "no eztrace"
    [ "$FLAVOUR" = openmpi ] || skip "one MPI is enough for eztrace"
    n=4
    for program in kmeans pool; do
        have $program || skip "no $program"
        run $program "$MPIRUN" --bind-to none -n "$n" eztrace -t openmpi "$examples/$program.$FLAVOUR"
        trace=$program.${FLAVOUR}_trace/eztrace_log.otf2
        [ -e "$trace" ] || skip "eztrace writes nothing here"
        run $program.check "$gnomon" check --format json "$trace"
        [ "$status" -lt 2 ] || fail "gnomon check $trace: exit status $status"
        compare $program.check "$trace"
    done
    ;;
latency)
    synth trace stencil2 -n 8 -e 8000 --domains 4 --latency 5us
    check least 0 --latency 5us trace
    compare least trace/traces.otf2 --latency 5000
    check more 1 --latency 6us trace
    compare more trace/traces.otf2 --latency 6000
    holds more "m['violating'] > 0 and m['reversed'] == 0 and c['latency_between_s'] == 6e-6"
    holds more "0 < m['missing_max_s'] <= 1e-6 and c['worst']['kind'] == 'message'"
    holds more "c['worst']['from']['clock'] != c['worst']['to']['clock']"
    printf '# by hand\nnode0 node1 6us\n\nnode1 node0 5us\n' >latencies
    check file 1 --latency latencies trace
    holds file "0 < m['violating']"
    holds file "c['worst']['from']['clock'] == 'node0' and c['worst']['to']['clock'] == 'node1'"
    synth coll collectives -n 8 -e 8000 --domains 4 --latency 5us
    for latency in 5 50; do
        check "coll.$latency" "$((latency > 5))" --latency "${latency}us" coll
        compare "coll.$latency" coll/traces.otf2 --latency "${latency}000"
    done
    printf 'node0 node9 6us\n' >latencies
    refused node9 --latency latencies trace
    printf 'node0 node1\n' >latencies
    refused 'line 1' --latency latencies trace
    refused nowhere --latency nowhere trace
    refused 'a time or a file' --latency auto trace
    ;;
words)
    synth trace ring -n 4 -e 4000 --domains 2 --offset 300us
    run text "$gnomon" check trace
    [ "$status" = 1 ] || fail "gnomon check: exit status $status"
    grep -q '^  point to point  *[1-9][0-9,]*  *[1-9][0-9,]* (' "$work/text.out" || fail "no counts: $(cat "$work/text.out")"
    grep -q '^the worst one, a message: rank [0-3] (node[01]) at .* to rank [0-3] (node[01]) at .* too early$' "$work/text.out" ||
        fail "the worst message is not told: $(cat "$work/text.out")"
    grep -q '^next: gnomon sync trace -o' "$work/text.out" || fail "what to do is not told"
    synth right ring -n 4 -e 4000 --domains 2
    run text "$gnomon" check right/traces.otf2
    [ "$status" = 0 ] || fail "gnomon check: exit status $status"
    grep -q '^the clock condition holds$' "$work/text.out" || fail "it does not say that it holds"
    ! grep -q 'worst' "$work/text.out" || fail "there is no worst message"
    # A clock's bounds make a trace right that is wrong as its clocks showed it.
    synth both ring -n 4 -e 20000 --domains 2 --offset 300us --latency 1us
    check raw 1 --presync none both
    run bounds "$gnomon" check --presync bounds --format json both
    [ "$status" -lt 2 ] || fail "--presync bounds: exit status $status"
    holds bounds "c['presync'] == 'bounds' and m['error_max_s'] < 100e-6"
    refused 'linear, none or bounds' --presync best trace
    refused 'text or json' --format yaml trace
    refused 'one trace at a time' trace right
    refused nonsense --nonsense trace
    refused missing missing
    refused 'run folder'
    head -c 3000 trace/traces/1.evt >cut
    cp cut trace/traces/1.evt
    run cut "$gnomon" check trace
    grep -q 'not whole' "$work/cut.err" || fail "a file that ends early is not told"
    ;;
*)
    fail "there is no test $1"
    ;;
esac
