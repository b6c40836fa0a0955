# Analyses of a trace that is none, and questions that make no sense: exit status 2 and a message that says so.
. "$(dirname "$0")/lib.sh"

refused() { # WORD-IN-THE-MESSAGE ARGUMENT...
    local word=$1
    shift
    run bad "$gnomon" "$@"
    [ "$status" = 2 ] || fail "gnomon $*: exit status $status"
    grep -q -e "$word" "$work/bad.err" || fail "gnomon $*: the message does not say $word"
}

run made "$gnomon" synth ring -o "$work/ring" -n 3 -e 300
mkdir "$work/nothing"
: > "$work/empty.otf2"
for command in stragglers frames whatif critical paths; do
    refused 'no run folder' $command
    refused missing-trace $command missing-trace
    refused 'no OTF2 anchor' $command "$work/empty.otf2"
    refused 'gnomon run --trace' $command "$work/nothing"
    refused 'one trace' $command "$work/ring" "$work/ring"
    refused -1 $command --top=-1 "$work/ring"
    refused xml $command --format=xml "$work/ring"
    run full sh -c "'$gnomon' $command '$work/ring' > /dev/full"
    [ "$status" = 2 ] && grep -q 'No space' "$work/full.err" || fail "$command does not say that the disk is full"
done
# One parser of --format, and one way to refuse.
for command in stragglers frames whatif critical paths report clock; do
    refused '--format xml: text, json or csv is expected' $command --format xml
done
for command in check doctor order sync; do
    refused '--format xml: text or json is expected' $command --format xml
    refused '--format csv: text or json is expected' $command --format csv
done
refused '--top none: a number of rows is expected' report --top none
refused 'did you mean "main"' whatif --region mian --faster 10% "$work/ring"
refused 'did you mean' whatif --region '' --faster 10% "$work/ring"
refused 'no rank 77' whatif --region main --faster 10% --rank 77 "$work/ring"
refused 'a time is expected' whatif --longest 1e300s "$work/ring"
refused 'a time is expected' critical --longest inf "$work/ring"
refused '100% of its time' whatif --region main --faster 101% "$work/ring"
refused 'a share is expected' whatif --region main --faster nan "$work/ring"
refused 'did you mean' paths --at MPI_Sned "$work/ring"
refused 'did you mean "main"' stragglers --busy mian "$work/ring"
refused 'did you mean "main"' frames --where 'all in mian' "$work/ring"
refused 'the text ends here' frames --where 'all but one in' "$work/ring"
