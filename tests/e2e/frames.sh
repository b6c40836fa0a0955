# gnomon frames: a run whose frames are known by its own messages, and questions that make no sense.
#
#   frames.sh slow|states|aggregated|bad
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
states)
    # What the usual question says of rank 2, in other words; what is all of the time, and what is none of it.
    frames usual trace
    frames named trace -w '2 computing and at least 3 waiting'
    holds named 'c["times"]["lo"] > 0 and c["times"]["hi"] >= c["times"]["lo"] and c["rows"] == []'
    holds named 'len(c["periods"]) >= c["times"]["lo"]'
    python3 - "$work/usual.out" "$work/named.out" << 'END' || fail "rank 2 is busy while three wait for other times"
import json, sys
usual, named = (json.load(open(name)) for name in sys.argv[1:])
theirs, ours = usual["rows"][0]["time"]["seconds"], named["all"]["seconds"]
sys.exit(ours["lo"] > theirs["hi"] or theirs["lo"] > ours["hi"])
END
    frames always trace -w 'any running or not (0 in compute)'
    holds always '99 < c["all"]["percent"]["lo"] and c["times"] == {"lo": 1, "hi": 1}'
    frames never trace -w 'at least 5 running or (2 in compute and not rank 2 in compute)'
    holds never 'c["all"]["seconds"] == {"lo": 0, "hi": 0} and c["times"] == {"lo": 0, "hi": 0} and not c["periods"]'
    frames set trace -w 'exactly 2 of 0, 2-3 in compute' --aggregated
    holds set 'c["aggregated"]["all"]["seconds"]["hi"] >= c["all"]["seconds"]["lo"]'
    frames threads trace -w 'all busy and 0:0 busy' --by thread
    holds threads 'c["by"] == "thread" and c["all"]["percent"]["hi"] < 60'
    # The forms mean what they mean within any other question, also of those that are several locations.
    run synth "$gnomon" synth wavefront -n 6 -e 3000 --domains 1 -o together
    for by in rank thread host; do
        for question in 'all in waiting' 'all in MPI_Recv' 'all but one in waiting, that one in busy' \
            'all but 2 in compute, those in busy' 'all but one in MPI_Recv, that one in compute'; do
            frames form together --by $by -w "$question"
            frames within together --by $by -w "not not ($question)"
            holds within "c['all'] == json.load(open('$work/form.out'))['all']"
        done
    done
    run text "$gnomon" frames trace -w '2 busy' --top 1
    [ "$status" = 0 ] && grep -q "as asked" "$work/text.out" && grep -q "from" "$work/text.out" ||
        fail "the text does not tell of periods"
    run csv "$gnomon" frames trace -w '2 busy' --format csv
    [ "$(head -n 1 "$work/csv.out")" = percent_lo,percent_hi,seconds_lo,seconds_hi,from_lo,from_hi,to_lo,to_hi ] ||
        fail "the columns of periods have other names"
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
    refused 'at "at compute)"' trace -w '0 busy and (1 at compute)'
    refused 'not closed, at "(0 busy"' trace -w '1 busy or (0 busy'
    refused 'no rank 77.*at "77 busy"' trace -w 'not 77 busy'
    refused 'no thread 0:9' trace -w '0:9 in compute'
    refused 'host "nowhere"' trace -w 'any of host nowhere busy'
    refused 'as a whole' trace -w 'any of 0 busy' --by host
    refused 'is expected.*character 2[0-9]*)' trace -w "$(printf '0 busy and %.0s' $(seq 200)) 0 bsy"
    run synth "$gnomon" synth ring -n 256 --events 6000 -o many
    refused 'ask about fewer' many -w "$(printf 'any busy or %.0s' $(seq 5000)) any busy"
    refused 'did you mean "compute"' trace -w '0 busy and any in compote'
    refused 'cannot' nothing-here
    refused 'rank, thread' trace --by core
    ;;
esac
