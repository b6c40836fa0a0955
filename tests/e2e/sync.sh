# gnomon sync: 0 violations afterwards, everything else as it was, and nothing at all changed where nothing is wrong; the
# same bytes by any number of processes; what is wrong is said, and leaves the input and the place of the output alone.
#
#   sync.sh skewed|offsets|inside|drifting|perfect|scorep|together|input|places|mounts|streams|memory|full|killed|eztrace|hosts
. "$(dirname "$0")/lib.sh"
case $1 in full | mounts) need_mounts "$@" ;; esac
python=$PYTHON
otf2_print() { command -v otf2-print >/dev/null || skip "no otf2-print"; }

# anchor FOLDER: its archive's anchor file
anchor() { ls "$1"/*.otf2; }

# value REPORT EXPRESSION: a Python expression over the JSON summary r; a truth value becomes the exit status
value() {
    "$python" -c '
import json, sys
r = json.load(open(sys.argv[1]))
value = eval("(" + sys.argv[2] + ")")
if isinstance(value, bool):
    sys.exit(0 if value else 1)
print(value)' "$1" "$2"
}

# sync NAME TRACE [OPTION...]: to NAME.repaired, verified; the summary in NAME.json
sync() {
    local name=$1 trace=$2
    shift 2
    run "$name" "$gnomon" sync "$trace" -o "$name.repaired" --verify --format json "$@"
    [ "$status" = 0 ] || fail "$name: exit status $status: $(tail -20 "$work/$name.out")"
    cp "$work/$name.out" "$name.json"
    [ ! -e "$name.repaired.unfinished" ] || fail "$name: an unfinished archive was left"
    value "$name.json" 'r["verified"]["holds"] and r["verified"]["backward"] == 0 and
        r["verified"]["point_to_point"]["violating"] == r["verified"]["collectives"]["violating"] == 0' ||
        fail "$name: the clock condition does not hold"
}

# same NAME TRACE unchanged|moved|bounded: nothing but times differs
same() {
    "$python" "$here/same_events.py" "$(anchor "$2")" "$(anchor "$1.repaired")" "$3" >"$work/same.out" 2>"$work/same.err" ||
        fail "$1: $(tail -1 "$work/same.err")"
}

# documented JSON DOCUMENT: each member of the tables there is here, and no other than those named around them
documented() {
    "$python" - "$1" "$2" <<'END'
import json, re, sys
def members(value):
    for inner in value if isinstance(value, list) else value.values() if isinstance(value, dict) else ():
        yield from members(inner)
    if isinstance(value, dict):
        yield from value
section = next(s for s in open(sys.argv[2]).read().split("\n## ") if "| member |" in s)
name = r"`([a-z_]+)`"
named, rows = set(re.findall(name, section)), set(re.findall(name, " ".join(re.findall(r"^\| (`.*?) \|", section, re.M))))
printed = set(members(json.load(open(sys.argv[1]))))
print("not documented:", *sorted(printed - named), "; not printed:", *sorted(rows - printed), file=sys.stderr)
sys.exit(not rows <= printed <= named)
END
}

checksum() { find "$1" -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum; }

# refused STATUS WORD ARGUMENT...: nothing is left under the name bad.repaired
refused() {
    local expected=$1 word=$2
    shift 2
    run bad "$gnomon" sync -o bad.repaired "$@"
    [ "$status" = "$expected" ] || fail "gnomon sync $*: exit status $status"
    grep -q -e "$word" "$work/bad.err" || fail "gnomon sync $*: the message does not say $word: $(cat "$work/bad.err")"
    [ ! -e bad.repaired ] && [ ! -e bad.repaired.unfinished ] || fail "gnomon sync $*: something was left"
}

patterns() { "$gnomon" synth --list | awk '{ print $1 }'; }

case $1 in
skewed)
    otf2_print
    for pattern in $(patterns); do
        "$gnomon" synth $pattern -n 8 -e 4000 --domains 4 --offset 20us --rate 1ppm --wander sine:1ppm:10s \
            -o $pattern >synth.out || fail "$pattern: no trace"
        partial=
        if [ $pattern = unmatched ]; then
            run short "$gnomon" sync $pattern -o short --verify --format json
            [ "$status" = 1 ] && [ -e short ] || fail "not everything could be checked: exit status $status"
            grep -q 'not everything could be checked; --partial' "$work/short.err" || fail "it is not told"
            partial=--partial
        fi
        sync $pattern $pattern $partial
        value $pattern.json 'r["verified"]["coverage"]["complete"] == ("'$pattern'" != "unmatched") and all(
            k["all"] == k["checked"] for n, k in r["verified"]["coverage"].items()
            if isinstance(k, dict) and (n, "'$pattern'") != ("messages", "unmatched"))' || fail "$pattern: coverage"
        value $pattern.json 'r["presync"]["kind"] == "none" and not r["unchanged"] and r["moved"] > 0 and
            len(r["passes"]) > 0 and r["amortization"]["largest_shift_ns"] <= 3 * 2 * 21000' ||
            fail "$pattern: presynchronised, or not repaired, or moved too far"
        same $pattern $pattern moved
    done
    # µ as given, and as a file says
    "$gnomon" synth ring -n 4 -e 4000 --domains 2 --offset 20us -o given >synth.out
    sync zero given --latency 0
    value zero.json 'r["latency"]["between_most_ns"] == 0' || fail "µ is not 0"
    sync fixed given --latency 500ns
    value fixed.json 'r["latency"]["between_least_ns"] == 500 and r["latency"]["within_most_ns"] == 0' || fail "µ is not 500 ns"
    sync odd given --latency 32383ns # not a whole number any more, as a part of a second and back
    value odd.json 'abs(r["latency"]["between_least_ns"] - 32383) < 0.5' || fail "µ is not 32383 ns"
    names=$("$gnomon" clock given --format json 2>/dev/null | python3 -c '
import json, sys
print(*[c["clock"] for c in json.load(sys.stdin)["clocks"]])')
    set -- $names
    printf '# slower back\n* * 300ns\n\n%s %s 700ns\n' "$2" "$1" >latencies
    sync file given --latency latencies
    value file.json 'r["latency"]["between_least_ns"] == 300 and r["latency"]["between_most_ns"] == 700' || fail "µ of the file"
    sync gamma given --gamma 0.9 --threshold 10s
    value gamma.json '[p["gamma"] for p in r["passes"]] == [0.9] and r["threshold_ns"] == 10e9 and r["converged"]' ||
        fail "gamma and threshold as given"
    sync strict given --threshold 1ns
    value strict.json 'r["threshold_ns"] == 1 and len(r["passes"]) > 1' || fail "no other pass above the threshold"
    sync gentle given --amortize 0.5%,1ms
    sync sudden given --amortize 100%,1us
    [ "$(value gentle.json 'r["moved"]')" -gt "$(value sudden.json 'r["moved"]')" ] || fail "windows as long as given"
    # each step can be left out
    sync steep given --amortize none
    value steep.json 'r["amortization"]["jumps"] > 0' || fail "no jumps"
    ;;
offsets) # clocks that were compared at the begin and the end, and that have bounds
    otf2_print
    skew="-n 8 -e 20000 --domains 4 --offset 20ms --rate 20ppm --wander sine:1ppm:10s"
    "$gnomon" synth stencil2 $skew --measure-offsets 5us -o linear >synth.out || fail "no offsets"
    sync linear linear
    value linear.json 'r["presync"]["kind"] == "linear" and r["presync"]["chosen"] and not r["unchanged"]' || fail "linear"
    same linear linear moved
    value linear.json 'r["amortization"]["largest_shift_ns"] < 100e3' || fail "the offsets are not applied"
    sync raw linear --presync none
    value raw.json 'r["amortization"]["largest_shift_ns"] > 1e6' || fail "the offsets are applied nevertheless"
    "$gnomon" synth stencil2 $skew --measure-offsets 5us:100us -o bounds >synth.out || fail "no bounds"
    sync bounds bounds
    value bounds.json 'r["presync"]["kind"] == "bounds" and r["bounds"]["bounded"] >= r["events"] > 0' || fail "bounds"
    same bounds bounds bounded
    # what offsets repair already stays as it is, offsets and all
    "$gnomon" synth ring -n 4 -e 4000 --domains 4 --offset 20ms --measure-offsets 0 -o repaired >synth.out || fail "no offsets"
    sync repaired repaired
    value repaired.json 'r["unchanged"] and r["presync"]["kind"] == "linear"' || fail "exact offsets do not repair it"
    for file in repaired/traces/*; do
        cmp "$file" "repaired.repaired/traces/${file##*/}" || fail "other bytes where nothing is wrong"
    done
    same repaired repaired unchanged
    ;;
inside) # the truth is inside all bounds and violates nothing: so must be what is written, and there is room for it
    for pattern in ring multigrid stencil2 collectives nbc; do
        for measured in 20us:1ms 5us:10ms 20us:60s; do
            rm -rf bounded bounds.repaired
            "$gnomon" synth $pattern -n 16 -e 40000 --domains 4 --offset 1ms --rate 5ppm --wander sine:1ppm:1s \
                --measure-offsets $measured -o bounded >synth.out || fail "$pattern: no trace"
            sync bounds bounded --presync bounds
            value bounds.json 'r["bounds"]["bounded"] == r["events"] > 0 and not r["unchanged"]' ||
                fail "$pattern, $measured: nothing was bounded, or moved"
            value bounds.json 'sum(r["messages"][kind]["reversed"] for kind in r["messages"]) > 20' ||
                fail "$pattern, $measured: nothing to repair"
            value bounds.json 'r["bounds"]["outside"] == 0' ||
                fail "$pattern, $measured: $(value bounds.json 'r["bounds"]["outside"]') events are outside of their bounds"
            # bounds hold the truth, too: not farther apart than they are wide
            "$BUILD/tests/fidelity/fidelity" bounded bounds=bounds.repaired | tail -1 >truth.json || fail "no truth"
            value truth.json "r['times'] == 'bounds' and r['error_max_us'] <= 2 * ${measured%%us*} + 0.1" ||
                fail "$pattern, $measured: $(value truth.json 'r["error_max_us"]') us from the truth"
            value bounds.json 'r["verified"]["collectives"]["violating"] == 0' || fail "$pattern, $measured: collectives"
            value bounds.json 'r["messages"]["uncertain"]["corrected"] == 0' || fail "$pattern, $measured: moved for what may not hold"
            value bounds.json '{pass_["gamma"] for pass_ in r["passes"]} == {0.999999}' || fail "another gamma"
        done
    done
    ;;
drifting) # messages too rare to tell a latency, on clocks that offsets do not make run alike: shifts must not pile up
    "$gnomon" synth ring -n 16 -e 4e5 --domains 16 --offset 20us --wander step:20ppm:1s --measure-offsets 1us \
        --spacing 50us -o rare >synth.out || fail "no trace"
    for presync in none linear; do
        sync $presync rare --presync $presync
        value $presync.json 'r["converged"] and r["messages"]["point_to_point"]["reversed"] > 100' || fail "$presync: nothing to repair"
        value $presync.json 'r["amortization"]["largest_shift_ns"] <= 3 * r["messages"]["point_to_point"]["error_max_ns"]' ||
            fail "$presync: shifts of $(value $presync.json 'r["amortization"]["largest_shift_ns"]') ns"
    done
    # what gamma it starts with: clocks without offsets run as they like, whatever is asked for
    value none.json 'r["passes"][0]["gamma"] == 0.9999' || fail "none: another gamma"
    value linear.json 'r["passes"][0]["gamma"] == 0.999999' || fail "linear: another gamma"
    "$gnomon" synth ring -n 4 -e 4000 --domains 4 --offset 20us -o bare >synth.out
    sync asked bare --presync linear
    value asked.json 'r["presync"]["kind"] == "linear" and r["passes"][0]["gamma"] == 0.9999' || fail "no offsets: another gamma"
    sync given bare --gamma 0.99
    value given.json 'r["passes"][0]["gamma"] == 0.99' || fail "given: another gamma"
    ;;
perfect)
    for pattern in $(patterns); do
        "$gnomon" synth $pattern -n 6 -e 4000 --unmatched 0 --lost 0 -o $pattern >synth.out || fail "$pattern: no trace"
        partial=--partial # sends that nobody receives
        [ $pattern = unmatched ] || partial=
        sync $pattern $pattern $partial
        value $pattern.json 'r["unchanged"] and r["moved"] == 0 and r["passes"] == []' || fail "$pattern: was changed"
        for file in $pattern/traces/*.evt $pattern/traces/*.def; do
            cmp "$file" "$pattern.repaired/traces/${file##*/}" || fail "$pattern: other bytes"
        done
    done
    # clocks that agree although they are several
    "$gnomon" synth ring -n 6 -e 4000 --domains 3 -o agreed >synth.out
    sync agreed agreed
    value agreed.json 'r["unchanged"]' || fail "clocks that agree were changed"
    cmp agreed/traces/1.evt agreed.repaired/traces/1.evt || fail "clocks that agree: other bytes"
    ;;
scorep)
    otf2_print
    trace=$SOURCE/tests/data/scorep-misc-4ranks
    before=$(checksum "$trace")
    sync scorep "$trace"
    [ "$(value scorep.json 'r["presync"]["kind"]')" = linear ] || fail "Score-P's clock offsets are not used"
    "$gnomon" synth ring -n 4 -e 4000 --domains 4 --offset 20us -o ring >synth.out
    sync ring ring
    documented ring.json "$SOURCE/docs/repair.md" || fail "the summary of a repair is not as documented"
    run check "$gnomon" check --format json ring
    documented "$work/check.out" "$SOURCE/docs/repair-check.md" || fail "the report of gnomon check is not as documented"
    if value scorep.json 'r["unchanged"]'; then mode=unchanged; else mode=moved; fi
    same scorep "$trace" $mode
    sync raw "$trace" --presync none
    value raw.json 'r["presync"]["kind"] == "none" and not r["presync"]["chosen"]' || fail "--presync none"
    [ "$before" = "$(checksum "$trace")" ] || fail "the input was written to"
    ;;
together)
    have_transport=$(ls "$BUILD"/lib*/gnomon/libgnomon-transport.$FLAVOUR.so 2>/dev/null || :)
    [ -n "$have_transport" ] || skip "no transport for $FLAVOUR"
    for pattern in ring stencil2 collectives; do
        "$gnomon" synth $pattern -n 9 -e 20000 --domains 3 --offset 20us --rate 1ppm -o $pattern >synth.out ||
            fail "$pattern: no trace"
        run alone "$gnomon" sync $pattern -o alone.$pattern --verify --format json
        [ "$status" = 0 ] || fail "alone: exit status $status"
        cp "$work/alone.out" alone.json
        for ranks in 1 2 3; do
            run together "$MPIRUN" -n $ranks "$gnomon" sync $pattern -o together.$ranks.$pattern --verify --format json
            [ "$status" = 0 ] || fail "$pattern, $ranks processes: exit status $status"
            diff -r alone.$pattern together.$ranks.$pattern || fail "$pattern: $ranks processes make other bytes than one"
            cp "$work/together.out" together.json
            value together.json "r['ranks'] == $ranks" || fail "$pattern: not $ranks processes"
            "$python" -c '
import json
a, b = json.load(open("alone.json")), json.load(open("together.json"))
for r in a, b:
    for name in "ranks", "seconds", "output": del r[name]
assert a == b, [(k, a[k], b[k]) for k in a if a[k] != b[k]]' || fail "$pattern, $ranks processes: another summary"
        done
    done
    # an error that one process has is an error of all
    run together "$MPIRUN" -n 2 "$gnomon" sync ring -o alone.ring
    [ "$status" = 2 ] || fail "the output is there already: exit status $status"
    [ "$(grep -c 'alone.ring is there already' "$work/together.err")" -ge 1 ] || fail "nobody says so"
    run together "$MPIRUN" -n 2 "$gnomon" sync nowhere -o new
    [ "$status" = 2 ] && [ ! -e new ] || fail "a trace that is not there"
    # what only the rank that reads it sees
    printf '\177\177\177\177\177\177\177\177' | dd of=ring/traces/8.evt bs=1 seek=19 conv=notrunc 2>/dev/null
    run together "$MPIRUN" -n 2 "$gnomon" sync ring -o new
    [ "$status" = 2 ] && [ ! -e new ] && [ ! -e new.unfinished ] || fail "a broken file: exit status $status"
    [ "$(grep -c '2^62' "$work/together.err")" = 1 ] || fail "a broken file: it is not said once"
    ;;
input)
    "$gnomon" synth ring -n 4 -e 20000 --domains 4 --offset 20us -o ring >synth.out
    before=$(checksum ring)
    refused 2 nowhere nowhere
    echo "no archive" >text.otf2
    refused 2 text.otf2 text.otf2
    mkdir empty
    refused 2 empty empty
    mkdir there && echo mine >there/file
    run there "$gnomon" sync ring -o there
    [ "$status" = 2 ] && [ "$(cat there/file)" = mine ] || fail "a folder that is there"
    grep -q 'there is there already' "$work/there.err" || fail "a folder that is there is not named"
    run file "$gnomon" sync ring -o text.otf2
    [ "$status" = 2 ] && [ "$(cat text.otf2)" = "no archive" ] || fail "a file in the place of the output"
    run itself "$gnomon" sync ring -o ring
    [ "$status" = 2 ] || fail "a trace into itself"
    run nowhere "$gnomon" sync ring -o no/where
    [ "$status" = 2 ] || fail "a folder in one that is not there"
    refused 2 'linear or bounds' ring --presync all
    refused 2 'less than 1' ring --gamma 1
    refused 2 'a share' ring --gamma -1
    refused 2 'slope' ring --amortize 0
    refused 2 'slope' ring --amortize 200%
    refused 2 'a time' ring --amortize 1%,5
    refused 2 'a time' ring --threshold 5
    refused 2 'a size' ring --memory 5
    refused 2 xml ring --format xml
    refused 2 'cannot read nothing' ring --latency nothing
    echo 'a b' >bad.latency
    refused 2 'line 1: FROM TO TIME' ring --latency bad.latency
    echo 'nobody * 1us' >bad.latency
    refused 2 'nobody' ring --latency bad.latency
    run missing "$gnomon" sync ring
    [ "$status" = 2 ] || fail "no output is named"

    # one more definition than files, one more file than definitions, a file that was cut, one that is no event file
    cp -r ring lacking && rm lacking/traces/2.evt
    refused 2 '1 of the 4 locations.*2.evt' lacking
    run lacking "$gnomon" sync lacking -o lacking.repaired --keep-going --verify --partial
    [ "$status" = 0 ] && [ ! -e lacking.repaired/traces/2.evt ] || fail "--keep-going without a file"
    grep -q '^covered: .* of .* messages (.*' "$work/lacking.out" || fail "what is covered is not told"
    grep -q '1 location without an event file' "$work/lacking.out" || fail "a missing file is not told"
    cp -r ring more && cp ring/traces/2.evt more/traces/77.evt
    refused 2 '77.evt' more
    run more "$gnomon" sync more -o more.repaired --keep-going --verify
    [ "$status" = 0 ] || fail "--keep-going with one file too many"
    cp -r ring cut && truncate -s 60% cut/traces/2.evt 2>/dev/null ||
        head -c $(($(stat -c %s ring/traces/2.evt) * 6 / 10)) ring/traces/2.evt >cut/traces/2.evt
    run cut "$gnomon" sync cut -o cut.repaired --verify --partial
    [ "$status" = 0 ] || fail "a file that was cut off: exit status $status"
    grep -q '1 location whose file ends in the middle' "$work/cut.out" || fail "a cut is not told"
    grep -q 'sends\? without a receive\|receives\? without a send' "$work/cut.out" || fail "what lost its partner is not told"
    cp -r ring noise && head -c 50000 /dev/urandom >noise/traces/2.evt
    run noise "$gnomon" sync noise -o noise.repaired
    [ "$status" -lt 3 ] || fail "noise: exit status $status"
    cp -r ring broken && printf '\377\377\377\377' | dd of=broken/traces/2.evt bs=1 seek=40000 conv=notrunc 2>/dev/null
    refused 2 'cannot read the events of location 2\|2.evt is broken' broken
    # a timestamp that is none
    cp -r ring late # the first chunk of an event file begins with 18 bytes of its own, the byte 5 and a time
    [ "$(head -c 19 late/traces/2.evt | tail -c 1 | od -An -tx1)" = ' 05' ] || fail "no time where one is expected"
    printf '\177\177\177\177\177\177\177\177' | dd of=late/traces/2.evt bs=1 seek=19 conv=notrunc 2>/dev/null
    refused 2 '2^62' late
    # ones that would be none
    refused 2 'above 4611686018427387903.*is a latency given' ring --latency 3000000000s
    echo '* * 9e280s' >bad.latency
    refused 2 'above 4611686018427387903.*is a latency given' ring --latency bad.latency
    printf '\374\377\377\377\377\377\377\077' | dd of=late/traces/2.evt bs=1 seek=19 conv=notrunc 2>/dev/null
    refused 2 'above 4611686018427387903.*damaged' late
    [ "$before" = "$(checksum ring)" ] || fail "the input was written to"
    [ -z "$(ls -d *.unfinished gnomon-ops-* 2>/dev/null)" ] || fail "something was left"

    # lost events and sends that nobody receives
    "$gnomon" synth stencil2 -n 4 -e 20000 --domains 4 --offset 20us --unmatched 0.02 --lost 0.001 -o lossy >synth.out
    sync lossy lossy --partial
    value lossy.json 'not r["verified"]["coverage"]["complete"]' || fail "what nobody receives is covered"
    value lossy.json 'r["left_out"]["uncounted"] + r["left_out"]["unmatched_sends"] > 0' || fail "nothing was passed by"
    ;;
places) # that no archive can get are found before any work; the trace's own folder is one of them
    "$gnomon" synth ring -n 4 -e 4000 --domains 4 --offset 20us -o ring >synth.out
    cp -r ring whole
    head -c 5000 /dev/urandom >ring/traces/0.evt # what would be complained of if events were read before
    # refused_at PLACE WORD: and there is nothing that was not there
    refused_at() {
        find . >before.list
        run place "$gnomon" sync "${trace:-ring}" -o "$1"
        [ "$status" = 2 ] || fail "-o $1: exit status $status"
        grep -q -e "$2" "$work/place.err" || fail "-o $1: the message does not say $2: $(cat "$work/place.err")"
        find . | grep -vFx -f before.list | grep -v '^./before.list$' && fail "-o $1: something was left" || :
    }
    : >before.list
    before=$(checksum ring)
    refused_at ring 'ring is there already'
    refused_at ring/new 'in the folder of the trace itself'
    refused_at ring/traces/new 'in the folder of the trace itself'
    ln -s ring link
    refused_at link/new 'in the folder of the trace itself'
    refused_at link 'is there already'
    mkdir apart && mv ring/traces apart/files && ln -s ../apart/files ring/traces
    refused_at apart/files/new 'in the folder of the trace itself'
    rm ring/traces && mv apart/files ring/traces && rmdir apart
    cd ring
    trace=traces.otf2 refused_at new "such as -o $PWD/../new" && rm before.list
    cd ..
    mkdir empty
    cd empty
    trace=../ring refused_at . 'name the folder itself'
    cd ..
    refused_at no/where 'No such file'
    refused_at ring/traces.otf2/new 'Not a directory'
    long=$(printf '%0250d' 0)
    refused_at $long 'File name too long'
    refused_at $(printf '/%0200d' $(seq 30) | tr -d '\n') 'too long'
    cp -r ring new.unfinished
    refused_at new 'not known to be'
    rm -r new.unfinished
    mkdir new.unfinished && : >new.unfinished/.gnomon-unfinished
    exec 7<new.unfinished/.gnomon-unfinished
    flock 7
    refused_at new 'being written by another'
    exec 7<&-
    run stale "$gnomon" sync whole -o new # nobody writes it any more
    [ "$status" = 0 ] || fail "what was left is in the way: $(cat "$work/stale.err")"
    [ "$before" = "$(checksum ring)" ] || fail "the input was written to"
    # odd names are names like others
    for name in 'with space' 'new
line' 'öäü' '-dash' $(printf '%0230d' 1); do
        cp -r whole "./$name.trace"
        run odd "$gnomon" sync "./$name.trace" -o "./$name" --verify
        [ "$status" = 0 ] && [ -f "./$name/traces.otf2" ] || fail "$name: exit status $status"
    done
    ;;
mounts) # places that are there, but not for this
    "$gnomon" synth ring -n 4 -e 4000 --domains 4 --offset 20us -o ring >synth.out
    mkdir mounted
    mount -t tmpfs none mounted
    run mounted "$gnomon" sync ring -o mounted
    [ "$status" = 2 ] && grep -q 'is mounted there' "$work/mounted.err" || fail "a mount point: exit status $status"
    run inside "$gnomon" sync ring -o mounted/new --verify
    [ "$status" = 0 ] || fail "in a mounted file system: exit status $status"
    mount -o remount,ro mounted
    run readonly "$gnomon" sync ring -o mounted/again
    [ "$status" = 2 ] && grep -q 'Read-only' "$work/readonly.err" || fail "read-only: exit status $status"
    umount mounted
    ;;
streams) # what is printed goes nowhere when there is nowhere, and not into files
    "$gnomon" synth ring -n 4 -e 4000 --domains 4 --offset 20us -o ring >synth.out
    sync whole ring
    run summary sh -c '"$0" sync ring -o out >&-' "$gnomon"
    [ "$status" = 1 ] && grep -q 'out is written, but its summary cannot be' "$work/summary.err" || fail "no output: $status"
    diff -r out whole.repaired || fail "without standard output: another archive"
    rm -r out
    run silent sh -c '"$0" sync ring -o out >&- 2>&- <&-' "$gnomon"
    diff -r out whole.repaired || fail "without any stream: another archive"
    run nowhere sh -c '"$0" sync nowhere -o new 2>&-' "$gnomon"
    [ "$status" = 2 ] || fail "without standard error: exit status $status"
    run full sh -c '"$0" check ring >/dev/full' "$gnomon"
    [ "$status" = 2 ] && grep -q 'cannot write the report' "$work/full.err" || fail "check: exit status $status"
    run closed sh -c '"$0" check ring >&-' "$gnomon"
    [ "$status" = 2 ] && grep -q 'cannot write the report' "$work/closed.err" || fail "check, closed: exit status $status"
    ;;
memory) # follows what is being looked at, and not the trace
    "$gnomon" synth ring -n 4 -e 1000 -o small >synth.out
    # data: what a process has of its own, and that no file holds. 8 MiB of it are the stack of a thread.
    (ulimit -d 20480 && "$gnomon" sync small -o small.repaired --memory 0 >small.out 2>&1) || skip "20 MiB are too little for anything"
    for pattern in ring master; do # of the master's workers nobody ever waits
        "$gnomon" synth $pattern -n 8 -e 6e6 --domains 4 --offset 20us -o large >synth.out || fail "$pattern: no trace"
        run $pattern bash -c 'ulimit -d 20480 && exec "$0" sync large -o large.repaired --memory 0' "$gnomon"
        [ "$status" = 0 ] || fail "$pattern: exit status $status"
        grep -q '^pass 1' "$work/$pattern.out" || fail "$pattern: nothing to repair"
        run check "$gnomon" check large.repaired
        [ "$status" = 0 ] || fail "$pattern: gnomon check: exit status $status"
        run much bash -c 'ulimit -d 20480 && exec "$0" sync large -o none' "$gnomon"
        [ "$status" = 1 ] && grep -q 'Cannot allocate memory' "$work/much.err" || fail "$pattern: too little memory: exit status $status"
        [ ! -e none ] && [ ! -e none.unfinished ] || fail "$pattern: something was left"
        rm -r large large.repaired
    done
    ;;
full) # the disk is full half way: after the ops, or after a part of the files
    "$gnomon" synth ring -n 4 -e 1e5 --domains 4 --offset 20us -o ring >synth.out
    before=$(checksum ring)
    size=$(du -sb ring/traces | cut -f1)
    mkdir small
    failed=0
    # with the ops in a file, and in memory
    for percent in "2 --memory 0" "60 --memory 0" "180 --memory 0" "400 --memory 0" 2 20 60 90 120 150 180; do
        set -- $percent
        mount -t tmpfs -o size=$((size * $1 / 100)) none small
        shift
        run full "$gnomon" sync ring -o small/out "$@"
        if [ "$status" != 0 ]; then
            failed=$((failed + 1))
            [ "$status" = 1 ] || fail "$percent %: exit status $status"
            grep -qi 'no space\|no room' "$work/full.err" || fail "$percent %: the message is $(cat "$work/full.err")"
            [ -z "$(ls -A small)" ] || fail "$percent %: something was left: $(ls -A small)"
        fi
        umount small
    done
    [ $failed -ge 6 ] || fail "the disk was hardly ever full"
    [ "$before" = "$(checksum ring)" ] || fail "the input was written to"
    ;;
killed) # by a signal, in the middle of writing
    events=1000000
    make() {
        rm -rf ring whole
        "$gnomon" synth ring -n 4 -e $events --domains 4 --offset 20us -o ring >synth.out
        "$gnomon" sync ring -o whole >whole.out || fail "undisturbed"
        before=$(checksum ring)
    }
    ranks_of() { # ranks_of PID: the gnomons below it
        local child
        for child in $(pgrep -P "$1"); do
            [ "$(cat /proc/$child/comm 2>/dev/null)" = gnomon ] && echo $child || ranks_of $child
        done
    }
    hit() { # hit SIGNAL COMMAND...: once the unfinished archive is there
        local signal=$1 child
        shift
        for _ in 1 2 3 4; do
            rm -rf out out.unfinished*
            "$@" >"$work/killed.out" 2>"$work/killed.err" &
            child=$!
            while [ ! -e out.unfinished ] && kill -0 $child 2>/dev/null; do :; done
            victim=$child
            [ "$1" = "$gnomon" ] || victim=$(ranks_of $child | tail -1)
            kill -$signal $victim 2>/dev/null || :
            status=0
            wait $child || status=$?
            [ $status = 0 ] || return 0
            events=$((events * 3)) # it was done before
            make
        done
        skip "too fast to be killed"
    }
    make
    for signal in TERM HUP; do # a shell has what it starts in the background ignore INT
        hit $signal "$gnomon" sync ring -o out
        [ ! -e out ] || diff -r out whole || fail "$signal: half an archive"
        [ ! -e out.unfinished ] || fail "$signal: something was left"
    done
    hit KILL "$gnomon" sync ring -o out
    [ ! -e out ] || diff -r out whole || fail "KILL: half an archive"
    rm -rf out
    run after "$gnomon" sync ring -o out --verify # what it left is in nobody's way
    [ $status = 0 ] && [ ! -e out.unfinished ] || fail "after KILL: exit status $status"
    if [ -n "$(ls "$BUILD"/lib*/gnomon/libgnomon-transport.$FLAVOUR.so 2>/dev/null)" ]; then
        hit KILL "$MPIRUN" -n 2 "$gnomon" sync ring -o out
        [ ! -e out ] || diff -r out whole || fail "a process of the job was killed: half an archive"
    fi
    [ "$before" = "$(checksum ring)" ] || fail "the input was written to"
    ;;
eztrace | hosts)
    otf2_print
    right_env="GNOMON_TEST_CLOCK=offset=-5s,rate=20ppm,sine=1ppm/2s"
    . "$here/hosts.sh"
    on_left bare "$launch $examples/pool.$FLAVOUR --iterations 40"
    [ $status = 0 ] || skip "two emulated hosts do not work here even without gnomon"
    ;;&
eztrace)
    command -v eztrace >/dev/null || skip "no eztrace"
    for program in heat pool; do
        on_left $program "$launch eztrace -t openmpi $examples/$program.$FLAVOUR"
        trace=$PWD/$program.${FLAVOUR}_trace
        [ -e "$trace/eztrace_log.otf2" ] || skip "eztrace writes nothing here"
        before=$(checksum "$trace")
        # of heat's receives eztrace does not say when they complete: its sends stay alone
        partial=--partial
        [ $program = heat ] || partial=
        sync $program "$trace" $partial
        kind=point_to_point
        [ $program = pool ] || kind=collectives
        value $program.json "r['messages']['$kind']['violating'] > 0 and r['locations'] == 4" || fail "$program: $kind"
        if value $program.json 'r["unchanged"]'; then mode=unchanged; else mode=moved; fi
        same $program "$trace" $mode
        [ "$before" = "$(checksum "$trace")" ] || fail "the input was written to"
    done
    ;;
hosts) # five seconds apart, and drifting
    on_left trace "$launch $gnomon run --trace $examples/heat.$FLAVOUR"
    [ $status = 0 ] || fail "exit status $status"
    wait_for_report trace
    run=$(folder_of trace)
    sync bounds "$run"
    value bounds.json 'r["presync"]["kind"] == "bounds" and r["presync"]["chosen"] and r["bounds"]["bounded"] > 0 or r["unchanged"]' ||
        fail "the archive's bounds are not used"
    if value bounds.json 'r["unchanged"]'; then mode=unchanged; else mode=bounded; fi
    same bounds "$run/trace" $mode
    # seconds apart, it is all to be done by the messages
    sync none "$run" --presync none
    value none.json 'not r["unchanged"] and r["messages"]["point_to_point"]["reversed"] > 0' || fail "nothing was reversed"
    # the archive's word on its bounds taken away, it has offsets like others
    cp -r "$run/trace" offsets
    sed -i 's/GNOMON::CLOCK_BOUNDS/GNOMON::CLOCK_BOUNDZ/' offsets/traces.otf2
    sync linear offsets
    value linear.json 'r["presync"]["kind"] == "linear"' || fail "the archive's offsets are not used"
    sync messages offsets --presync bounds
    value messages.json 'r["presync"]["kind"] == "bounds" and r["bounds"]["bounded"] > 0' || fail "bounds from messages"
    ;;
esac
