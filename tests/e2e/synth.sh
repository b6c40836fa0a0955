# gnomon synth: an archive that OTF2's own tools read, and true times that belong to its events.
. "$(dirname "$0")/lib.sh"

refused() { # WORD-IN-THE-MESSAGE ARGUMENT...
    local word=$1
    shift
    run bad "$gnomon" synth "$@"
    [ "$status" = 2 ] || fail "gnomon synth $*: exit status $status"
    grep -q -e "$word" "$work/bad.err" || fail "gnomon synth $*: the message does not say $word"
}

# check FOLDER OFFSET_NS: each record's reading is within the offset of its true time, as many of both.
check() {
    otf2-print "$1/traces.otf2" >"$work/print.out" 2>"$work/print.err" || fail "otf2-print cannot read $1"
    [ ! -s "$work/print.err" ] || fail "otf2-print complains about $1"
    python3 - "$work/print.out" "$1/true-times" "$2" "$(sed 's/.*: \([0-9,]*\) events.*/\1/; s/,//g' "$work/$3.out")" <<'END'
import collections, struct, sys
path, truth_path, offset, events = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
shown, truth = collections.defaultdict(list), collections.defaultdict(list)
for line in open(path):
    words = line.split()
    if len(words) > 2 and line[0] in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" and words[1].isdigit() and words[2].isdigit():
        shown[int(words[1])].append(int(words[2]))
data = open(truth_path, "rb").read()
assert data[:8] == b"GNTRUTH1"
at = 8
while at < len(data):
    location, count = struct.unpack_from("<QQ", data, at)
    truth[location] += struct.unpack_from("<%dd" % count, data, at + 16)
    at += 16 + 8 * count
assert shown.keys() == truth.keys(), (shown.keys(), truth.keys())
assert sum(map(len, shown.values())) == events, (sum(map(len, shown.values())), events)
for location, ticks in shown.items():
    assert len(ticks) == len(truth[location]), location
    for tick, true in zip(ticks, truth[location]):
        assert abs(tick - 10**15 - true) <= offset + 1, (location, tick, true)
END
}

# ---- every pattern is an archive with its truth ----

"$gnomon" synth --list >list
[ "$(wc -l <list)" -ge 12 ] || fail "--list shows few patterns"
while read -r pattern rest; do
    run "$pattern" "$gnomon" synth "$pattern" -n 6 -e 3000 --domains 2 --offset 1ms -o "$pattern"
    [ "$status" = 0 ] || fail "$pattern: exit status $status"
    check "$pattern" 1e6 "$pattern" || fail "$pattern: the true times do not belong to the archive"
done <list

run perfect "$gnomon" synth --pattern ring -n 3 -e 1000 -o perfect
check perfect 0 perfect || fail "a perfect clock does not show the truth"

run everything "$gnomon" synth stencil3 -n 27 -e 1e4 --seed 7 --domains 9 --offset 20us --rate 5ppm \
    --wander sine:5ppm:10s --latency 1.5us --compute 0.1ms --imbalance 30% --faster compute:20%@3 \
    --unmatched 0.01 --lost 0.001 -o everything
[ "$status" = 0 ] || fail "all options: exit status $status"
grep -q 'more events lost' "$work/everything.out" || fail "lost events are not told"
check everything 21000 everything || fail "all options: the true times do not belong to the archive"

# ---- clocks that were measured ----

# offsets FOLDER: location, reading, offset and deviation of each clock offset.
offsets() {
    otf2-print -C "$1/traces.otf2" 2>"$work/print.err" |
        sed -n 's/^CLOCK_OFFSET *\([0-9]*\) *Time: \([0-9]*\), Offset: +\{0,1\}\([-0-9]*\), StdDev: \(.*\)/\1 \2 \3 \4/p'
    [ ! -s "$work/print.err" ] || fail "otf2-print complains about $1"
}

run quiet "$gnomon" synth multigrid -n 8 -e 1e4 --domains 4 --offset 1ms --rate 5ppm --wander sine:0.5ppm:900s \
    --latency 5us --latency-within 1us --quiet 600s --measure-offsets 1us -o quiet
[ "$status" = 0 ] || fail "measured offsets: exit status $status"
check quiet 8e6 quiet || fail "quiet: the true times do not belong to the archive"
offsets quiet >offsets.txt
[ "$(wc -l <offsets.txt)" = 16 ] || fail "$(wc -l <offsets.txt) clock offsets, and not two of each location"
awk '{ deviation = $1 < 2 ? 0 : 1002; if ($4 != deviation || ($1 < 2 && $3 != 0)) exit 1 }' offsets.txt ||
    fail "the offsets' deviations are not the error of the measurement"
"$gnomon" order quiet --to none >/dev/null || fail "gnomon order does not read an archive with offsets"

run bounded "$gnomon" synth multigrid -n 8 -e 1e4 --domains 4 --offset 1ms --rate 5ppm --wander sine:0.5ppm:900s \
    --quiet 600s --measure-offsets 1us:10s -o bounded
[ "$(offsets bounded | wc -l)" -gt 900 ] || fail "there are fewer bounds than asked for"
"$gnomon" export bounded --bounds --to csv -o bounded.csv || fail "the archive's bounds are none"

# ---- the same trace for the same seed ----

run again "$gnomon" synth --pattern ring -n 3 -e 1000 -o again
cmp perfect/true-times again/true-times || fail "two runs differ"
cmp perfect/traces/1.evt again/traces/1.evt || fail "two runs differ"
run other "$gnomon" synth --pattern ring -n 3 -e 1000 --seed 2 -o other
cmp -s perfect/true-times other/true-times && fail "another seed changes nothing"

# ---- the same as an event stream ----

run whole "$gnomon" synth --pattern ring -n 3 -e 1000 --to stream -o ring.gn
[ "$status" = 0 ] || fail "--to stream: exit status $status"
"$gnomon" synth --pattern ring -n 3 -e 1000 --to stream 2>"$work/piped.err" >piped.gn || fail "--to stream does not pipe"
cmp ring.gn piped.gn || fail "two streams differ"
[ "$(sed 's/.*: //' "$work/whole.out")" = "$(sed 's/.*: //' "$work/piped.err")" ] || fail "both tell different things"
"$gnomon" order ring.gn --live --to jsonl -o ring.jsonl || fail "the stream is none"
[ "$(wc -l <ring.jsonl)" = "$(sed 's/.*: \([0-9,]*\) events.*/\1/; s/,//g' "$work/perfect.out")" ] || fail "the stream has other events"

# ---- wrong usage ----

refused 'otf2 or stream' ring --to jsonl -o bad
refused 'nowhere' ring --to stream -o nowhere/bad

refused 'there is no pattern "rings"' rings -o bad
refused 'a folder to write to' ring
refused 'one pattern at a time' ring stencil1 -o bad
refused 'not empty' ring -o perfect
refused 'nowhere' ring -o nowhere/bad
refused '0 locations' ring -n 0 -o bad
refused 'too much' ring -n 4294967297 -o bad
refused 'a whole number' ring -n 2.5 -o bad
refused 'a whole number' ring -e -5 -o bad
refused 'clock domains' ring -n 2 --domains 3 -o bad
refused 'a time is expected' ring --offset 5 -o bad
refused 'a rate is expected' ring --rate 5us -o bad
refused 'KIND:RATE:PERIOD' ring --wander sine -o bad
refused 'sine, ramp or step' ring --wander sinus:5ppm:1s -o bad
refused 'period' ring --wander sine:5ppm:0 -o bad
refused 'a time is expected' ring --quiet 5 -o bad
refused 'between events' ring --spacing 0s -o bad
refused 'a time is expected' ring --latency-within 5 -o bad
refused 'a time is expected' ring --measure-offsets 5 -o bad
refused 'a period longer' ring --measure-offsets 5us:0s -o bad
refused 'has no clock offsets' ring --measure-offsets 5us --to stream -o bad
refused 'a share' ring --lost many -o bad
refused 'between 0 and 0.5' ring --unmatched 0.9 -o bad
refused 'REGION:PERCENT' ring --faster compute -o bad
refused 'faster in "cmopute"' ring --faster cmopute:10% -o bad
refused 'faster at rank 9' ring --faster compute:10%@9 -o bad
refused 'seed' ring --seed x -o bad
[ ! -e bad ] || fail "bad usage left a folder"
