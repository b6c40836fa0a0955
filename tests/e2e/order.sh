# gnomon order: causal order from files and from streams, and what it says about bad words and bad input.
. "$(dirname "$0")/lib.sh"

refused() { # WORD-IN-THE-MESSAGE ARGUMENT...
    local word=$1
    shift
    run bad "$gnomon" order "$@"
    [ "$status" = 2 ] || fail "gnomon order $*: exit status $status"
    grep -q -e "$word" "$work/bad.err" || fail "gnomon order $*: the message does not say $word"
}

order() { # NAME ARGUMENT...: succeeds
    local name=$1
    shift
    run "$name" "$gnomon" order "$@"
    [ "$status" = 0 ] || fail "gnomon order $*: exit status $status"
}

# json NAME EXPRESSION: holds for the statistics s (all) and o (of the sort).
json() {
    python3 - "$work/$1.out" "$2" <<'END' || fail "$1: not so: $2"
import json, sys
s = json.load(open(sys.argv[1]))
o = s.get("sort", {})
sys.exit(0 if eval(sys.argv[2]) else 1)
END
}

# causal FILE EVENTS: lines of JSON in an order that programs can have had.
causal() {
    python3 - "$1" "$2" <<'END' || fail "$1 is not in causal order"
import collections, json, sys
sent, received, count = collections.Counter(), collections.Counter(), 0
last = {}
for n, line in enumerate(open(sys.argv[1])):
    e = json.loads(line)
    assert e["n"] == n, "positions count"
    assert e["ticks"] >= last.get(e["location"], 0), "a location's order is kept"
    last[e["location"]] = e["ticks"]
    count += 1
    if e["kind"] in ("mpi_send", "mpi_isend"):
        sent[e["rank"], e["peer"], e["tag"]] += 1
    if e["kind"] in ("mpi_recv", "mpi_irecv"):
        channel = e["peer"], e["rank"], e["tag"]
        received[channel] += 1
        assert received[channel] <= sent[channel], "received before sent"
        assert "sent" in e and "sender" in e, "correlated"
assert received, "there are messages"
assert count == int(sys.argv[2]), "all events"
END
}

run synth "$gnomon" synth ring -n 4 -e 20000 --domains 4 --offset 300us -o ring
[ "$status" = 0 ] || fail "gnomon synth: exit status $status"
events=$(sed 's/.*: \([0-9,]*\) events.*/\1/; s/,//g' "$work/synth.out")

# Every arrival: nothing backward comes out, however much arrives so; clocks that are wrong show in a merge.
for arrival in recorded roundrobin random:5 delayed delayed:buffer=50,latency=1ms..4ms; do
    order stats --arrival "$arrival" --format json ring
    json stats "o['events'] == $events and o['backward_in_output'] == 0 and o['receives'] == o['messages'] > 0"
    json stats "o['backward_by_timestamp'] > 0"
    order events --arrival "$arrival" --to jsonl -o events.jsonl ring
    causal events.jsonl "$events"
done
json stats "o['backward_in_arrival'] > 0 and o['delayed'] > 0 and o['delay_max_pushes'] > 0"
order text ring
grep -q 'mean window .* (paper 3.6), mean unreported .* (paper 0.6)' "$work/text.out" || fail "no figures of the paper"

# The picture is XML, with both curves.
order plot --arrival delayed --plot window.svg ring
python3 - <<'END' || fail "the plot is not XML"
import xml.etree.ElementTree as tree
curves = tree.parse("window.svg").getroot().findall(".//{http://www.w3.org/2000/svg}polyline")
assert len(curves) == 2 and all(0 < len(c.get("points").split()) <= 2000 for c in curves)
END

# Written again, the archive has the same events; adjusted, no message goes backward by its times either.
order again --to otf2 -o again --arrival random:2 ring
order stats --format json again
json stats "o['events'] == $events and o['backward_by_timestamp'] > 0"
json stats "all(v == 0 for v in s['trace'].values())"
order adjusted --to otf2 -o adjusted --adjust ring
order stats --format json adjusted
json stats "o['backward_by_timestamp'] == 0 and all(v == 0 for v in s['trace'].values())"

# Questions.
order when --when 'kind=mpi_recv && rank==2' ring
[ "$(grep -c '"rank":2.*"kind":"mpi_recv"' "$work/when.out")" = "$(wc -l <"$work/when.out")" ] || fail "other events match"
[ -s "$work/when.out" ] || fail "no event matches"
order stop --when 'region~MPI_* && rank>2' --stop ring
[ "$(wc -l <"$work/stop.out")" = 1 ] || fail "--stop does not stop"
order count --when 'kind=mpi_send' --count 7 ring
[ "$(wc -l <"$work/count.out")" = 7 ] || fail "--count 7 does not print 7"
order counted --when 'kind=mpi_send' --to none --format json ring
json counted "s['matches'] == o['messages']"
run never "$gnomon" order --when 'rank=99' --stop ring
[ "$status" = 1 ] || fail "--stop that finds nothing: exit status $status"
refused rnk --when 'rnk==3' ring
grep -q '^  ^$' "$work/bad.err" || fail "no caret under the text"

# Streams: one, several at once through FIFOs, one that breaks off, one that is none.
order stream --to stream --unsorted --arrival roundrobin -o all.gn ring
order live --live --to jsonl all.gn
causal "$work/live.out" "$events"
mkfifo fifo0 fifo1 fifo2 fifo3
"$gnomon" order --to stream --unsorted --arrival random:3 -o 'fifo%' ring &
writer=$!
order fifos --live --to jsonl fifo3 fifo0 fifo1 fifo2
wait "$writer" || fail "writing four streams: exit status $?"
causal "$work/fifos.out" "$events"
head -c 300000 all.gn >half.gn
run half "$gnomon" order --live --stats --format json half.gn
[ "$status" = 1 ] || fail "a stream that breaks off: exit status $status"
json half "s['live']['died'] == 1 and o['backward_in_output'] == 0 and 0 < o['events'] < $events"
mkdir split
order split --to stream --unsorted -o 'split/%.gn' ring
head -c 100000 split/1.gn >split/dead.gn
run dead "$gnomon" order --live --format json split/0.gn split/dead.gn split/2.gn split/3.gn
[ "$status" = 1 ] || fail "a location that died: exit status $status"
json dead "s['live']['died'] == 1 and o['released'] + o['unmatched_receives'] + o['unmatched_sends'] > 0"
head -c 5000 /dev/urandom >random.gn
refused random.gn --live random.gn
refused 'carried by' --live split/0.gn split/0.gn
refused 'one program' --live split/0.gn "$(
    "$gnomon" synth stencil2 -n 9 -e 1000 -o other >/dev/null && "$gnomon" order --to stream -o other.gn other && echo other.gn
)"

# Words and traces that are wrong.
refused 'run folder'
refused nonsense --nonsense ring
refused yaml --format yaml ring
refused wide --arrival wide ring
refused buffer --arrival delayed:buffer=x ring
refused 'xml' --to xml ring
refused 'FOLDER' --to otf2 ring
refused 'need a --when' --stop ring
refused missing missing
echo "anything but a trace" >anything
refused 'no OTF2 anchor file' anything
refused 'not parts of one run' ring other
refused 'go on' ring ring

# Sends that nobody receives.
run synth "$gnomon" synth unmatched -n 4 -e 2000 -o unmatched
run unmatched "$gnomon" order unmatched --to none
[ "$status" = 1 ] || fail "sends without a receive: exit status $status"
grep -q 'sends have no receive in the trace' "$work/unmatched.err" || fail "sends without a receive are not told"

# After losses, what is there cannot always be joined: that it is missing would not be true.
run synth "$gnomon" synth lost -n 4 -e 4000 --lost 0.02 -o lost
run lost "$gnomon" order lost --to none --stats
[ "$status" = 1 ] || fail "events were lost: exit status $status"
grep -q 'sends have no receive in the trace, or none that can be told after losses' "$work/lost.err" || fail "a receive that cannot be told is said to be missing"
! grep -q 'in the trace$' "$work/lost.err" || fail "what cannot be told is said to be missing"
grep -q 'sends without a receive, or without one that can be told after losses' "$work/lost.out" || fail "statistics say that it is missing"

# What is not all there is said, and is no success; a location that has no events needs no file.
cp -r ring cut
rm cut/traces/1.evt
run cut "$gnomon" order cut --to jsonl -o cut.jsonl
[ "$status" = 1 ] || fail "a location's file is missing: exit status $status"
grep -q '1 locations were cut off, 1 of them have no file' "$work/cut.err" || fail "a missing file is not told"
grep -q '"released":true' cut.jsonl || fail "what waited for the missing location is not marked"
