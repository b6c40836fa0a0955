# gnomon stragglers: the rank whose own work is longest is named first, with its line; a balanced run has none.
#
#   stragglers.sh synth|bounds|kmeans|late|polls|groups|names|bad
. "$(dirname "$0")/lib.sh"

n=3

# stragglers NAME ARGUMENT...: as JSON to NAME.out
stragglers() {
    local name=$1
    shift
    run "$name" "$gnomon" stragglers --format json --top 0 "$@"
    [ "$status" = 0 ] || fail "gnomon stragglers $*: exit status $status"
}

# holds NAME EXPRESSION: over the JSON object c, where first and second are the first stragglers
holds() {
    python3 - "$work/$1.out" "$2" <<'END' || fail "$1: not so: $2"
import json, sys
c = json.load(open(sys.argv[1]))
first, second = (c["stragglers"] + [None, None])[:2]
of = {s["name"]: s for s in c["stragglers"]}
def width(interval):
    return interval["hi"] - interval["lo"]
def total(what):
    return sum(s[what]["lo"] for s in c["stragglers"]), sum(s[what]["hi"] for s in c["stragglers"])
sound = all(0 <= s[w]["lo"] <= s[w]["hi"] for s in c["stragglers"]
            for w in ("score_percent", "caused_percent", "caused_s", "waited_s"))
sys.exit(0 if sound and eval("(" + sys.argv[2] + ")") else 1)
END
}

refused() { # WORD-IN-THE-MESSAGE ARGUMENT...
    local word=$1
    shift
    run bad "$gnomon" stragglers "$@"
    [ "$status" = 2 ] || fail "gnomon stragglers $*: exit status $status"
    grep -q -e "$word" "$work/bad.err" || fail "gnomon stragglers $*: the message does not say $word"
}

synth() { # NAME ARGUMENT...
    local name=$1
    shift
    run synth "$gnomon" synth "$@" -o "$name"
    [ "$status" = 0 ] || fail "gnomon synth $*: exit status $status"
}

# traced PROGRAM ARGUMENT...: its run's folder in $run
traced() {
    run_gnomon traced --trace "$@"
    [ "$status" = 0 ] || fail "$*: exit status $status"
    wait_for_report traced
    run=$(folder_of traced)
}

case $1 in
synth)
    # Whoever is made slower is found, whatever the ranks exchange and whoever waits in between.
    for pattern in ring stencil1 stencil2 persistent collectives nbc; do
        for rank in 0 3 6; do
            name=$pattern.$rank
            synth "$name" "$pattern" -n 7 -e 7000 --seed $((rank + 2)) --compute 100us --slower "compute:300%@$rank"
            stragglers "$name" "$name"
            holds "$name" "c['waited_for'] == 'certain' and c['verdict'] == 'possible' and first['name'] == 'rank $rank' and first['is_persistent']"
            holds "$name" "first['cause']['work'].startswith('compute') and 'MPI_' in first['cause']['waited_in']"
        done
    done
    # By one clock, all that was waited has its cause, and nobody is blamed for more.
    for name in ring.3 stencil2.3 collectives.3; do
        holds "$name" "total('waited_s')[0] * 0.99 < total('caused_s')[0] <= total('waited_s')[1] * 1.001"
    done
    # A balanced run says so.
    synth even ring -n 7 -e 7000 --imbalance 0 --compute 10ms
    stragglers even even
    holds even "c['verdict'] == 'nobody'"
    # Nor is anybody to blame where all wait in turn for what all do alike.
    synth wavefront wavefront -n 9 -e 8000 --imbalance 0 --compute 100us
    stragglers wavefront wavefront
    holds wavefront "c['verdict'] == 'nobody' and first['caused_percent']['lo'] > 1"
    run text "$gnomon" stragglers even
    grep -q "^nobody holds the others up" "$work/text.out" || fail "text: a balanced run is not said to be"
    ;;
bounds)
    # Several clocks: the same rank, as an interval in which the score by one clock lies.
    synth one collectives -n 6 -e 6000 --compute 1ms --slower compute:200%@4
    synth three collectives -n 6 -e 6000 --compute 1ms --slower compute:200%@4 --domains 3 --offset 1ms --rate 5ppm
    stragglers one one
    stragglers three three
    holds one "c['waited_for'] == 'certain' and c['verdict'] == 'possible' and first['name'] == 'rank 4' and width(first['score_percent']) < 0.1"
    holds three "c['waited_for'] == 'certain' and c['verdict'] == 'possible' and first['name'] == 'rank 4' and width(first['score_percent']) <= 1"
    python3 - "$work/one.out" "$work/three.out" <<'END' || fail "the truth is not within the bounds"
import json, sys
one, three = [{s["name"]: s for s in json.load(open(f))["stragglers"]} for f in sys.argv[1:]]
wrong = [(name, what, one[name][what], three[name][what]) for name in one for what in ("score_percent", "waited_s")
         if three[name][what]["lo"] > one[name][what]["hi"] or three[name][what]["hi"] < one[name][what]["lo"]]
print(*wrong, sep="\n")
sys.exit(1 if wrong else 0)
END
    stragglers hosts three --by host
    holds hosts "first['name'] == 'host ' + sorted(of)[0].split()[1] or c['count'] == 3"
    # Bounds wider than what there is to see: nobody is named for certain.
    synth blind collectives -n 6 -e 6000 --domains 6 --latency 500us --offset 1ms --rate 5ppm --compute 20us
    stragglers blind blind
    holds blind "c['waited_for'] != 'certain'"
    # A clock that is not as assumed: marked, not hidden.
    synth refuted ring -n 4 -e 6000 --domains 2 --compute 1ms --wander step:200ppm:100ms
    stragglers refuted refuted
    holds refuted "c['how_sure']['rests_on']['refuted']"
    run text "$gnomon" stragglers refuted
    grep -q '^refuted' "$work/text.out" || fail "text: the refuted assumption is not told"
    # What is lost is counted.
    synth lost lost -n 6 -e 6000 --lost 5%
    stragglers lost lost
    holds lost "c['how_sure']['rests_on']['lost'] > 0"
    ;;
kmeans)
    have kmeans || skip "kmeans was not built"
    traced "$examples/kmeans.$FLAVOUR" --straggler=1
    stragglers kmeans "$run"
    holds kmeans "c['waited_for'] == 'certain' and c['verdict'] == 'possible' and first['name'] == 'rank 1'"
    holds kmeans "width(first['score_percent']) <= 1 and first['score_percent']['lo'] > second['score_percent']['hi']"
    holds kmeans "first['cause']['work'].startswith('assign') and 'MPI_Allreduce at kmeans.c:' in first['cause']['waited_in']"
    stragglers regions "$run" --busy assign --waiting exchange
    holds regions "c['waited_for'] == 'certain' and c['verdict'] == 'possible' and first['name'] == 'rank 1' and first['score_percent']['lo'] > second['score_percent']['hi']"
    stragglers phases "$run" --phase
    holds phases "len(c['phases']) > 1"
    run text "$gnomon" stragglers "$run"
    grep -q "^rank 1 holds the others up: that they wait for it is certain" "$work/text.out" || fail "text: rank 1 is not named first"
    [ "$(wc -l <"$work/text.out")" -le 24 ] || fail "text: more than a screen"
    # A run that is not whole says so wherever it is analysed.
    holds kmeans "c['how_sure']['rests_on']['partial'] is False"
    python3 -c "
import sqlite3
with sqlite3.connect('$run/profile.db') as profile:
    profile.execute('UPDATE process SET complete = 0 WHERE rank = 2')"
    for command in stragglers whatif critical; do
        run text "$gnomon" $command "$run"
        grep -q '^PARTIAL: ' "$work/text.out" || fail "$command does not say that the run is partial"
    done
    ;;
polls)
    # Whoever asks again and again waits as long as it says itself.
    compile polled fixtures/polled.c -g
    n=2
    for how in Test Testany Testall Testsome Iprobe; do
        for _ in 1 2 3 4 5 6; do # who loses its core between two polls may have computed there: again, then
            traced ./polled $how
            stragglers $how "$run"
            ! grep -q '"waited_for": "certain"' "$work/$how.out" || break
        done
        took=$(tail -1 "$work/traced.out")
        holds $how "c['waited_for'] == 'certain' and first['name'] == 'rank 1' and first['cause']['waited_in'].startswith('MPI_')"
        holds $how "0.85 * $took < of['rank 0']['waited_s']['hi'] < 1.02 * $took + 0.05"
        [ $how = Iprobe ] || {
            for again in 1 2 3; do # 5 ms of 10; between two polls that it was preempted in it may have computed
                traced ./polled $how overlap
                stragglers overlap "$run"
                took=$(tail -1 "$work/traced.out")
                waits="0.6 * ($took - 0.25) < of['rank 0']['waited_s']['hi'] < 1.02 * ($took - 0.25) + 0.05"
                ! (holds overlap "$waits") >/dev/null 2>&1 || break
            done
            holds overlap "$waits"
        }
        traced ./polled $how nap # who sleeps in between does
        stragglers naps "$run"
        took=$(tail -1 "$work/traced.out")
        holds naps "first['name'] == 'rank 1' and 0.6 * $took < of['rank 0']['waited_s']['hi'] < 1.02 * $took + 0.05"
        holds naps "c['waited_for'] == 'possible'"
        # … and is in MPI meanwhile
        run efficiency "$gnomon" report --format json --no-trace "$run"
        python3 -c 'import json, sys
ranks = {x["rank"]: x for x in json.load(open(sys.argv[1]))["ranks"]}
assert ranks[0]["mpi_s"] > 0.5 * float(sys.argv[2]) and ranks[0]["useful_s"] < 0.5 * float(sys.argv[2]), ranks[0]' \
            "$work/efficiency.out" "$took" || fail "$how: what it sleeps between polls is told as useful"
        # who computes in between does not wait
        traced ./polled $how work
        stragglers works "$run"
        holds works "of['rank 0']['waited_s']['hi'] < 0.1 * $(tail -1 "$work/traced.out")"
    done
    ;;
late)
    "$MPICC" -g -O1 -o late "$here/fixtures/late.c" || fail "late.c does not compile"
    line=$(grep -n 'REDUCED HERE' "$here/fixtures/late.c" | cut -d: -f1)
    traced ./late 2 200 16
    stragglers late "$run"
    holds late "c['waited_for'] == 'certain' and c['verdict'] == 'possible' and first['name'] == 'rank 2'"
    holds late "first['cause']['place'] == 'late.c:$line' and 'late.c:$line' in first['cause']['waited_in']"
    holds late "first['caused_s']['lo'] > sum(s['caused_s']['hi'] for s in c['stragglers'][1:])"
    run text "$gnomon" stragglers "$run"
    grep -q "^rank 2 holds the others up: that they wait for it is certain" "$work/text.out" || fail "text: rank 2 is not named first"
    grep -q "late.c:$line" "$work/text.out" || fail "text: its line is not named"
    # Without it nobody is, whatever else goes on at this machine: nobody by far.
    traced ./late -1 200 16
    stragglers balanced "$run" --waiting MPI_Allreduce
    holds balanced "all(s['score_percent']['hi'] < 50 for s in c['stragglers'])"
    ;;
groups)
    "$MPICC" -g -O1 -o late "$here/fixtures/late.c" || fail "late.c does not compile"
    n=4
    traced ./late 1 200 6 halves
    stragglers groups "$run"
    holds groups "first['name'] == 'rank 1' and first['context'] and first['context']['expected'] == 2"
    holds groups "first['context']['instances'] == 6 and first['context']['score_percent']['lo'] > 1"
    ;;
names)
    have regions || skip "regions was not built"
    traced "$examples/kmeans.$FLAVOUR" --iterations 5
    stragglers mpi "$run" --waiting MPI_Allreduce
    stragglers both "$run" --waiting MPI_Allreduce --waiting exchange --busy assign --by thread
    refused 'did you mean "assign"' "$run" --busy asign
    refused 'did you mean "MPI_Allreduce"' "$run" --waiting MPI_Alreduce
    ;;
bad)
    have kmeans || skip "kmeans was not built"
    run_gnomon windowed "$examples/kmeans.$FLAVOUR" --iterations 3
    wait_for_report windowed # few calls: its window is all of it, and as good as a trace
    "$gnomon" stragglers "$(folder_of windowed)" >/dev/null || fail "a window that is the whole run is refused"
    sleep 1                  # the newest one is the other one
    run_gnomon plain --windows off "$examples/kmeans.$FLAVOUR" --iterations 3
    wait_for_report plain
    refused 'gnomon run --trace' "$(folder_of plain)"
    refused 'gnomon run --trace' # the newest one is that
    refused 'cannot open' nothing.otf2
    echo hello >hello.otf2
    refused 'no OTF2 anchor' hello.otf2
    mkdir empty
    refused 'no OTF2 archive' empty
    synth ring ring -n 2 -e 1000
    refused 'did you mean "compute"' ring --busy computer
    refused 'rank, thread or host' ring --by node
    refused 'number of rows' ring --top x
    refused 'text, json or csv is expected' ring --format xml
    refused 'too much' ring ring
    mkdir none && cd none
    refused 'no run'
    ;;
esac
