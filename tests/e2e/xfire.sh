# The simulator of forest fires of Sikora 2016, section 5.6, by the same causes: explain names them, with what each part
# of the master contributes, and whatif tells of each remedy what it gains.
. "$(dirname "$0")/lib.sh"
n=4
steps=15
compile xfire ../patterns/xfire.c -g -I"$SOURCE/include"
line=$(line_of "$here/../patterns/xfire.c" '[/*!#]* here\b')

for how in bad prealloc datatype overlap mended; do
    for again in 1 2; do # the fastest: what a machine with other work adds is no part of the program
        run_bare bare ./xfire $how $steps
        [ "$status" = 0 ] || fail "exit status $status"
        tail -1 "$work/bare.out" >>$how.all
    done
    sort -n $how.all | head -1 >$how
done
for trace in "" --trace; do
    run_gnomon measured $trace ./xfire bad $steps
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report measured
    run=$(folder_of measured)
    "$gnomon" explain "$run" --format json >explain.json || fail "no answer"
    python3 - explain.json "$line" "$(cat bad)" "$(cat mended)" <<'END' || fail "explain: $(head -c 3000 explain.json)"
import json, sys
answer, line, bad, mended = json.load(open(sys.argv[1])), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
others = {"preempted", "oversubscribed", "preempted rank", "MPI_Init and MPI_Finalize"}
causes = [c for c in answer["causes"] if c["kind"] not in others]
turns = next(c for c in causes if any(hop.get("line") == line for hop in c["chain"]))
assert turns["kind"] in ("waiting in turn", "serial section"), turns["kind"]
assert turns["ranks"] == [0] and turns["certainty"] == "possible", turns
# what the master does meanwhile: of what was made 22, 8, 13 (less what is for the first worker) and 10 ms
parts = {m["region"] or (m["what"], m["call"]): (m["share"]["low"] + m["share"]["high"]) / 2 for m in turns["meanwhile"]}
model = parts["global model"]
assert 0.3 < model < 0.5, parts
assert 0.3 < parts["fire line"] / model < 0.45 and 0.2 < parts["pack"] / model < 0.6, parts
assert 0.38 < parts["computes", "MPI_Recv"] / model < 0.55, parts
assert turns["gain_s"]["low"] <= bad - mended <= turns["gain_s"]["high"], (turns["gain_s"], bad - mended)
# the other side: it waits for what workers compute, and they send no sooner
assert not any(c["kind"] == "late sender" for c in causes), causes
END
done
for remedy in prealloc,fire\ line,100 datatype,pack,61.54 overlap,global\ model,50; do
    IFS=, read -r how region share <<<"$remedy"
    "$gnomon" whatif "$run" --region "$region" --faster "$share%" --format json >whatif.json || fail "$region"
    python3 - whatif.json "$(cat bad)" "$(cat $how)" <<'END' || fail "$how: $(head -c 600 whatif.json) $(cat bad $how)"
import json, sys
told, gained = json.load(open(sys.argv[1]))["reduction_s"], float(sys.argv[2]) - float(sys.argv[3])
near = 0.1 * gained + 0.02 # two runs of one program differ
assert told["lo"] - near < gained < told["hi"] + near, (told, gained)
END
done
