# gnomon frames: a run whose frames are known by its own messages, and questions that make no sense.
#
#   frames.sh slow|aggregated|bad
. "$(dirname "$0")/lib.sh"

frames() { # NAME ARGUMENT...
    local name=$1
    shift
    run "$name" "$gnomon" frames --format json --top 0 "$@"
    [ "$status" = 0 ] || fail "gnomon frames $*: exit status $status"
}

holds() { # NAME EXPRESSION over the JSON object c
    python3 -c 'import json, sys
c = json.load(open(sys.argv[1]))
sys.exit(not eval(sys.argv[2]))' "$work/$1.out" "$2" || fail "$1: not so: $2"
}

refused() { # WORD-IN-THE-MESSAGE ARGUMENT...
    local word=$1
    shift
    run bad "$gnomon" frames "$@"
    [ "$status" = 2 ] || fail "gnomon frames $*: exit status $status"
    grep -q -e "$word" "$work/bad.err" || fail "gnomon frames $*: the message does not say $word"
}

# One rank computes three times as long as the three others, which then wait for it: two thirds of the time.
run synth "$gnomon" synth collectives -n 4 --events 20000 --slower compute:200%@2 -o trace
[ "$status" = 0 ] || fail "gnomon synth: exit status $status"

case $1 in
slow)
    frames usual trace
    holds usual 'c["rows"][0]["who"] == "rank 2"'
    holds usual '30 < c["rows"][0]["time"]["percent"]["lo"] <= c["rows"][0]["time"]["percent"]["hi"] < 75'
    frames named trace -w 'all in compute'
    holds named '10 < c["all"]["percent"]["lo"] <= c["all"]["percent"]["hi"] < 60 and c["rows"] == []'
    frames two trace -w 'all but 2 in waiting, those in busy'
    holds two '0 <= c["all"]["percent"]["lo"] <= c["all"]["percent"]["hi"] < 30'
    frames host trace --by host
    holds host 'c["by"] == "host"'
    run text "$gnomon" frames trace
    [ "$status" = 0 ] && grep -q "rank 2" "$work/text.out" || fail "the text does not name rank 2"
    ;;
aggregated)
    frames narrow trace --aggregated
    holds narrow 'c["aggregated"]["all"]["seconds"]["lo"] <= c["all"]["seconds"]["lo"]'
    holds narrow 'c["aggregated"]["all"]["seconds"]["hi"] >= c["all"]["seconds"]["hi"]'
    holds narrow 'sum(c["aggregated"]["sizes_log2"]) > 0'
    ;;
bad)
    refused 'compute' trace -w 'all in compote'
    refused '"in"' trace -w 'all but in a, those in b'
    refused 'busy' trace -w 'all in busy'
    refused 'cannot' nothing-here
    refused 'rank, thread' trace --by core
    ;;
esac
