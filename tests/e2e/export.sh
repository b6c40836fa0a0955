# gnomon export: what other programs are given of a real run's trace. export.sh MODE
. "$(dirname "$0")/lib.sh"

mode=$1
have heat || skip "no heat"
run_gnomon heat --trace "$examples/heat.$FLAVOUR" $(brief heat)
wait_for_report heat
trace=$(folder_of heat)
[ -f "$trace/trace/traces.otf2" ] || fail "no trace in $trace"

export_to() { # FORMAT
    "$gnomon" export --to "$1" -o "$work/heat.$1" "$trace" 2>"$work/export.err" || fail "export to $1"
}

csv_and_jsonl() {
    export_to csv
    export_to jsonl
    python3 - "$work/heat.csv" "$work/heat.jsonl" <<'P' || fail "the two tables do not say the same"
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1], newline='')))
lines = [json.loads(line) for line in open(sys.argv[2])]
assert len(rows) == len(lines) > 100
for row, line in zip(rows, lines):
    assert None not in row and None not in row.values()
    assert row['kind'] == line['kind'] and int(row['ticks']) == line['ticks']
    assert row['region'] == line.get('region', '') and row['peer'] == str(line.get('peer', ''))
assert any(row['site'].split(':')[0].endswith('heat.c') for row in rows)
for i in {line['location'] for line in lines}:
    times = [line['ticks'] for line in lines if line['location'] == i]
    assert times == sorted(times)
P
}

chrome() {
    export_to chrome
    python3 - "$work/heat.chrome" <<'P' || fail "the Chrome trace is not what it should be"
import json, sys
events = json.load(open(sys.argv[1]))['traceEvents']
of = lambda phase: [e for e in events if e['ph'] == phase]
assert len(of('B')) == len(of('E')) > 100
sent, received = {e['id']: e for e in of('s')}, {e['id']: e for e in of('f')}
assert sent and sent.keys() == received.keys()
assert all(sent[i]['tid'] != received[i]['tid'] for i in sent)
names = {e['args']['name'] for e in of('M') if e['name'] == 'process_name'}
assert len(names) == 2
P
}

perfetto() {
    command -v protoc >/dev/null || skip "no protoc"
    export_to perfetto
    protoc --decode=perfetto.protos.Trace --proto_path="$SOURCE/src/trace" perfetto.proto \
        <"$work/heat.perfetto" >"$work/heat.text" 2>"$work/protoc.err" || fail "not a Perfetto trace"
    begins=$(grep -c TYPE_SLICE_BEGIN "$work/heat.text") ends=$(grep -c TYPE_SLICE_END "$work/heat.text")
    [ "$begins" = "$ends" ] && [ "$begins" -gt 100 ] || fail "$begins slices begin, $ends end"
    sed -n 's/^ *flow_ids: //p' "$work/heat.text" | sort >"$work/sent"
    sed -n 's/^ *terminating_flow_ids: //p' "$work/heat.text" | sort >"$work/received"
    [ -s "$work/sent" ] && cmp -s "$work/sent" "$work/received" || fail "messages are sent and not received"
    ! grep -q '^ *[0-9]*: ' "$work/heat.text" || fail "there are fields that the format does not have"
}

# expect STATUS WORD...: gnomon export WORD... ends with that status, and says why.
expect() {
    local wanted=$1
    shift
    run export "$gnomon" export "$@"
    [ "$status" = "$wanted" ] || fail "status $status instead of $wanted: $*"
    [ -s "$work/export.err" ] || fail "nothing said: $*"
}

errors() {
    expect 2 --to csv "$work/nowhere"
    expect 2 --to tables "$trace"
    expect 2 "$trace"
    (mkdir none && cd none && expect 2 --to csv)
    expect 2 --to csv "$trace" "$trace"
    expect 1 --to csv -o "$work/no/such/folder" "$trace"
    for format in csv jsonl chrome perfetto; do
        expect 1 --to $format -o /dev/full "$trace"
        (set +e && "$gnomon" export --to $format "$trace" 2>"$work/pipe.err"; echo $? >"$work/status") | head -c 1 >/dev/null
        [ "$(cat "$work/status")" -le 1 ] && [ ! -s "$work/pipe.err" ] || fail "a reader that went away: $format"
    done
}

"$mode"
