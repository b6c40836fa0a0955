# gnomon whatif and gnomon critical: what they say of runs whose cause is known, and of bad input.
#
#   whatif.sh synth|kmeans|names|anybody|input
. "$(dirname "$0")/lib.sh"

# answer NAME WORD...: as JSON to NAME.out
answer() {
    local name=$1
    shift
    run "$name" "$gnomon" "$@" --format json
    [ "$status" = 0 ] || fail "gnomon $*: exit status $status"
}

# holds NAME EXPRESSION: over the JSON object r; inside(a, b): interval a in b
holds() {
    python3 - "$work/$1.out" "$2" <<'END' || fail "$1: not so: $2: $(cat "$work/$1.out")"
import json, sys
r = json.load(open(sys.argv[1]))
inside = lambda a, b: b["lo"] <= a["lo"] <= a["hi"] <= b["hi"]
sys.exit(0 if eval("(" + sys.argv[2] + ")", {"r": r, "inside": inside}) else 1)
END
}

refused() { # WORDS-IN-THE-MESSAGE WORD...
    local words=$1
    shift
    run bad "$gnomon" "$@"
    [ "$status" = 2 ] || fail "gnomon $*: exit status $status"
    grep -q -e "$words" "$work/bad.err" || fail "gnomon $*: the message does not say '$words'"
}

synth() { # NAME ARGUMENT...
    local name=$1
    shift
    run synth "$gnomon" synth "$@" -o "$name"
    [ "$status" = 0 ] || fail "gnomon synth $*: exit status $status"
}

# With messages in another order the run may be longer.
intervals="all((0 <= r[k]['lo'] or r['may_reorder']) and r[k]['lo'] <= r[k]['hi'] for k in ('new_length_s', 'reduction_s', 'speedup_percent'))"

case $1 in
synth)
    for pattern in $("$gnomon" synth --list | awk '{ print $1 }'); do
        synth "$pattern" "$pattern" -n 8 -e 6000 --seed 3 --domains 4 --offset 20us --rate 1ppm
        answer none whatif "$pattern" --region compute --faster 0%
        holds none "r['new_length_s'] == r['length_s'] and r['reduction_s'] == {'lo': 0, 'hi': 0}"
        answer some whatif "$pattern" --region compute --faster 30%
        holds some "$intervals and r['speedup_percent']['hi'] > 0 and r['ranks'] is None"
        holds some "(r['new_length_s']['hi'] <= r['length_s']['hi'] or r['may_reorder']) and r['activities']"
        answer more whatif "$pattern" --region compute --faster 60%
        python3 - "$work/some.out" "$work/more.out" <<'END' || fail "$pattern: a larger share gains less"
import json, sys
answers = [json.load(open(f)) for f in sys.argv[1:]]
some, more = (a["reduction_s"] for a in answers)
sys.exit(0 if more["lo"] >= some["lo"] and more["hi"] >= some["hi"] or answers[1]["may_reorder"] else 1)
END
        answer critical critical "$pattern" --top 0
        holds critical "sum(w['on_path_s']['lo'] for w in r['rows']) <= r['length_s']['hi']"
        holds critical "any('compute' in w['name'] for w in r['rows'])"
        holds critical "all(0 <= w['share_percent']['lo'] <= w['share_percent']['hi'] <= 100 for w in r['rows'])"
        answer ranks critical "$pattern" --by rank --top 0
        holds ranks "sorted(w['rank'] for w in r['rows']) == sorted(set(w['rank'] for w in r['rows']))"
        holds ranks "sum(w['on_path_s']['lo'] for w in r['rows']) <= r['length_s']['hi']"
    done
    # Where one clock has all, and nobody waits for a message that might have been there: the path is known.
    synth exact ring -n 4 -e 6000 --domains 1
    answer critical critical exact --top 0
    holds critical "r['branches'] == 0 or r['rows'][0]['share_percent']['lo'] > 0"
    # The best answer is what it says when it is asked for alone.
    answer best whatif stencil2 --top 3
    holds best "len(r['answers']) == 3 and 0 < r['tried'] <= r['candidates']"
    holds best "r['answers'][0]['activity']['place'] and 'compute' in r['answers'][0]['activity']['name']"
    holds best "[a['reduction_s']['lo'] for a in r['answers']] == sorted((a['reduction_s']['lo'] for a in r['answers']), reverse=True)"
    answer alone whatif stencil2 --region compute --faster 50%
    holds alone "r['speedup_percent']['lo'] > 10"
    run text "$gnomon" whatif stencil2 --region compute --faster 50%
    grep -q 'what compute computes, what it calls included' "$work/text.out" || fail "what a region means is not told"
    # Who is removed is who is named, also where nobody was ever busy while all others waited.
    synth near stencil2 -n 5 -e 6000 --compute 100us --imbalance 0.3
    answer named stragglers near
    answer removed whatif near --remove-straggler
    named=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["stragglers"][0]["name"])' <"$work/named.out")
    holds removed "'rank %d' % r['straggler']['rank'] == '$named' and r['faster_percent']['hi'] > 0"
    answer lost whatif lost --region compute --faster 10%
    holds lost "r['rests_on']['lost'] > 0"
    answer unmatched whatif unmatched --region compute --faster 10%
    answer master whatif master --region compute --faster 10%
    holds master "r['rests_on']['any_source'] > 0"
    # What is assumed stands by its name; how the program starts and ends is no remedy.
    holds some "{'same_program', 'cost_stays'} <= {a['name'] for a in r['assumptions']}"
    holds best "not r['answers'][0]['start_or_end']"
    # All names are accepted by all.
    answer names whatif stencil2 --list
    holds names "len(r['names']) > 3 and {n['kind'] for n in r['names']} >= {'call', 'computation'}"
    python3 -c 'import json, sys; print(*[n["name"] for n in json.load(open(sys.argv[1]))["names"] if n["kind"] == "call"], sep="\n")' "$work/names.out" >calls
    while read -r name; do
        answer one whatif stencil2 --region "$name" --faster 10%
        answer one critical stencil2 --region "$name"
        answer one stragglers stencil2 --busy "$name"
        answer one frames stencil2 --where "any in '$name'"
    done <calls
    ;;
kmeans)
    have kmeans || skip "no kmeans"
    n=3
    run_gnomon kmeans --trace --trace-full=block --quiet "$examples/kmeans.$FLAVOUR" --straggler=1 \
        --straggler-work 6 --points 9000 --iterations 60
    trace=$(echo gnomon-*/trace/traces.otf2)
    [ -e "$trace" ] || fail "there is no trace"
    folder=$(echo gnomon-*)
    answer best whatif
    holds best "[a for a in r['answers'] if a['rank'] is not None][0]['rank'] == 1"
    holds best "[a for a in r['answers'] if a['rank'] is not None][0]['activity']['name'].startswith('assign')"
    answer removed whatif --remove-straggler --region assign "$folder"
    holds removed "r['straggler']['rank'] == 1 and r['ranks'] == [1]"
    holds removed "r['speedup_percent']['lo'] > 0 and 0 < r['faster_percent']['lo'] < 100"
    answer one whatif --region assign --rank 1 --faster 20% "$trace"
    holds one "$intervals and r['reduction_s']['lo'] > 0 and r['ranks'] == [1]"
    answer other whatif --region assign --rank 0,2 --faster 20%
    holds other "r['ranks'] == [0, 2]"
    answer critical critical "$folder"
    holds critical "any(w['kind'] == 'call' and w['place'].startswith('kmeans.c:') for w in r['rows'])"
    answer ranks critical --by rank --top 1
    holds ranks "r['rows'][0]['rank'] == 1 and len(r['rows']) == 1"
    run text "$gnomon" whatif
    grep -q 'assign' "$work/text.out" && grep -q 'kmeans.c:[0-9]' "$work/text.out" || fail "no places: $(cat "$work/text.out")"
    grep -q 'assumed: the program does the same' "$work/text.out" || fail "what is assumed is not told"
    run text "$gnomon" critical --top 2
    grep -q 'more (--top 0 shows all)' "$work/text.out" || fail "what is left out is not told"

    # Eight parts in nine of the straggler's work are too much. Two threads that do it together take as long as one.
    mkdir threads && cd threads
    run_gnomon threads --trace --trace-full=block --quiet "$examples/kmeans.$FLAVOUR" --straggler=1 --threads 2 \
        --straggler-work 9 --points 9000 --iterations 5 --pace 10000
    answer removed whatif --remove-straggler --region assign "$(echo gnomon-*)"
    holds removed "r['straggler']['rank'] == 1 and r['faster_percent']['lo'] > 50"
    ;;
names)
    # Whatever the report prints of what is computed and called is a name for the analyses.
    have heat || skip "heat was not built"
    n=3
    run_gnomon heat --trace "$examples/heat.$FLAVOUR" --nx 128 --ny 64 --iterations 20
    wait_for_report heat
    folder=$(folder_of heat)
    run list "$gnomon" whatif --list "$folder"
    [ "$status" = 0 ] && [ "$(wc -l <"$work/list.out")" -gt 5 ] || fail "there is no list of names"
    for by in activity function line callpath; do
        COLUMNS=1000 run rows "$gnomon" report "$folder" --by $by --top 0 --format json
        python3 - "$work/rows.out" $by >>"$work/names" <<'END'
import json, os, sys
by = sys.argv[2]
for row in json.load(open(sys.argv[1]))["activities"]:
    file, line = os.path.basename(row["file"] or ""), row["line"]
    name = row["name"] if row["name"] != row["function"] and by != "line" else ""
    if row["kind"] in ("off", "other") or not row["function"]:
        continue
    at = " %s:%d" % (file, line) if file and line and by != "function" else ""
    print((name + " in " if name and by != "function" else "") + row["function"] + at)
END
    done
    COLUMNS=1000 run rows "$gnomon" report "$folder" --by callpath --top 0
    grep -o '[a-z_]*:[0-9]* → .*' "$work/rows.out" | grep -v '(end)' >>"$work/names"
    [ "$(sort -u "$work/names" | wc -l)" -gt 10 ] || fail "the report prints no names: $(cat "$work/names")"
    sort -u "$work/names" | while read -r name; do
        run one "$gnomon" whatif "$folder" --region "$name" --faster 10%
        [ "$status" = 0 ] || fail "'$name' of the report: $(cat "$work/one.err")"
        run one "$gnomon" critical "$folder" --region "$name"
        [ "$status" = 0 ] || fail "'$name' of the report: $(cat "$work/one.err")"
    done || exit 1
    refused 'did you mean.*--list' whatif "$folder" --region 'MPI_Sendrcv' --faster 10%
    refused 'did you mean.*--list' frames "$folder" --where 'any in MPI_Sendrcv'
    ;;
anybody)
    # Whatever each place has seen, a receive from anybody may take another message; one that names its sender may not.
    "$MPICC" -g -O1 -o anybody "$here/fixtures/anybody.c" || fail "anybody.c does not compile"
    n=3
    run_gnomon anybody --trace ./anybody
    wait_for_report anybody
    answer one whatif --region main --rank 1 --faster 100% "$(folder_of anybody)"
    holds one "r['rests_on']['any_source'] == 2"
    ;;
input)
    synth trace stencil2 -n 4 -e 4000 --domains 2 --offset 20us
    refused 'did you mean "compute"' whatif trace --region compte --faster 20%
    refused 'there is no rank 9' whatif trace --region compute --rank 1,9 --faster 20%
    refused 'ranks are expected' whatif trace --region compute --rank=-1 --faster 20%
    refused 'ranks are expected' whatif trace --region compute --rank 1,,2 --faster 20%
    refused 'between 0% and 100%' whatif trace --region compute --faster 101%
    refused 'a share is expected' whatif trace --region compute --faster=-5%
    refused 'a share is expected' whatif trace --region compute --faster much
    refused 'by how much' whatif trace --region compute
    refused 'what is faster' whatif trace --faster 10%
    refused 'what is faster' whatif trace --rank 1
    refused 'says itself' whatif trace --remove-straggler --faster 10%
    refused 'a time is expected' whatif trace --longest long
    refused 'number of rows' whatif trace --top=-1
    refused 'text, json or csv is expected' whatif trace --format yaml
    refused 'one trace at a time' whatif trace trace
    refused 'nonsense' whatif --nonsense trace
    refused 'missing' whatif missing
    refused 'missing' critical missing
    refused 'activity or rank' critical trace --by host
    refused 'number of rows' critical trace --top many
    refused 'one trace at a time' critical trace trace
    refused 'run folder' whatif
    # A run that was measured without a trace: how to get one.
    mkdir -p gnomon-app-1-20260101T000000
    : >gnomon-app-1-20260101T000000/profile.db
    refused 'gnomon run --trace' whatif gnomon-app-1-20260101T000000
    refused 'gnomon run --trace' critical gnomon-app-1-20260101T000000
    # A message that may have taken as long as anything: less is certain, and what was said holds.
    answer short whatif trace --region compute --faster 40%
    answer long whatif trace --region compute --faster 40% --longest 1s
    python3 - "$work/short.out" "$work/long.out" <<'END' || fail "a weaker assumption gives a narrower answer"
import json, sys
short, long = (json.load(open(f))["reduction_s"] for f in sys.argv[1:])
sys.exit(0 if long["lo"] <= short["lo"] and short["hi"] <= long["hi"] else 1)
END
    head -c 3000 trace/traces/1.evt >cut
    cp cut trace/traces/1.evt
    answer cut whatif trace --region compute --faster 20%
    grep -q 'not whole' "$work/cut.err" || fail "a file that ends early is not told"
    ;;
*)
    fail "there is no test $1"
    ;;
esac
