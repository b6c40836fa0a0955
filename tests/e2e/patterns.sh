# patterns.sh PROGRAM RANKS KIND RANK: what explain says first of a program of tests/patterns is what it was made with, from
# a trace and from windows; the gain is what the same program takes less without the cause. RANK as 2 or 2,3; - where there is none.
. "$(dirname "$0")/lib.sh"
kind=$3 rank=$4
n=$2
gnomon_of_ranks=("$gnomon")
program=("./$1")
source=$here/../patterns/$1
case $1 in
*_f)
    source=$source.f90
    "${MPICC%cc*}f90${MPICC##*cc}" -g -o "$1" "$source" 2>"$work/compile.err" || skip "no Fortran for this MPI"
    ;;
*_p)
    [ "$FLAVOUR" = openmpi ] || skip "Debian's mpi4py is for Open MPI"
    /usr/bin/python3 -c 'import mpi4py, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || skip "no mpi4py"
    source=$source.py
    program=(/usr/bin/python3 "$source")
    ;;
*)
    source=$source.c
    flags=-O1; [[ $1 = hybrid* || $1 = imbalance ]] && flags="-O1 -fopenmp"
    compile "$1" "../patterns/$1.c" -g $flags
    ;;
esac

for again in 1 2; do # the fastest: what a machine with other work adds is no part of the program
    run_bare mended "${program[@]}" mended
    [ "$status" = 0 ] || fail "exit status $status"
    tail -1 "$work/mended.out" >>"$work/all_mended"
done
sort -n "$work/all_mended" | head -1 >"$work/mended.out"
line=$(line_of "$source" '[/*!#]* here\b')
if [ "$1" = slow_host ]; then # half of the ranks on another one
    printf '#!/bin/sh\nexport GNOMON_HOST=h$((${OMPI_COMM_WORLD_RANK:-$PMI_RANK} / %d))\nexec "$@"\n' $((n / 2)) >on_hosts.sh
    chmod +x on_hosts.sh
    gnomon_of_ranks=(./on_hosts.sh "$gnomon")
fi
cat >judge.py <<'EOP'
import json, sys
program = sys.argv[7]
answer, kind, rank, line = json.load(open(sys.argv[1])), sys.argv[2], sys.argv[3], int(sys.argv[4])
bad, mended = float(sys.argv[5]), float(sys.argv[6])
# a machine that has something else to do is told of first; and how MPI starts is not what the program was made with
others = {c["kind"] for c in answer["causes"]} & {"preempted", "oversubscribed", "preempted rank"}
causes = [c for c in answer["causes"] if c["kind"] not in others and c["kind"] != "MPI_Init and MPI_Finalize"]
print(json.dumps(causes[:2], indent=1), answer["seen"])
# where a message is late and another one could be taken, either may be mended
first = next(c for c in causes if c["kind"] == kind) if program == "wrong_order" else causes[0]
# where ranks that wait keep cores from others, gains may be anything: that nothing is gained in one half is not said
crowded = program == "slack" and causes[0]["doubt"] == "ranks waited for cores"
told = [(c["kind"], c["ranks"], c["places"][0] if c["places"] else None) for c in causes]
assert all(told.count(one) == 1 for one in told), told # nothing is told twice
assert answer["seen"]["whole"], "a program of few calls is seen from end to end"
# a machine that interrupts ranks at every step has noise of its own, and then few steps are no longer what it is
interrupted = kind == "noise" and mended > 0.75
assert first["kind"] in kind.split("|") or (interrupted and first["kind"] == "moving imbalance"), (first["kind"], mended)
if interrupted:
    sys.exit(0)
assert rank == "-" or first["ranks"] == [int(r) for r in rank.split(",")], first["ranks"]
if kind == "growth over time": # nobody waits
    assert first["differs"]["after"]["line"] == line and first["differs"]["grows"] > 1.2, first["differs"]
elif program == "io_mpi" or kind in ("lock contention", "large messages", "slow collective", "main thread serial", "threads unequal"): # the call itself; or for whom is not known, or for nobody
    assert first["places"][0]["line"] == line, first["places"]
else:
    lines = [hop.get("line") for hop in first["chain"]]
    lines += [first["differs"]["after"]["line"]] if first["differs"] else []
    assert first["chain"] and line in lines, (line, first["chain"])
    assert first["steps"]["count"] > 0, first["steps"]
    assert first["steps"]["of"] is None or first["steps"]["of"] >= first["steps"]["count"], first["steps"]
if program == "several": # twice as many blocks, each as long
    assert 1.8 < first["differs"]["times"] < 2.2 and 0.7 < first["differs"]["each"] < 1.4, first["differs"]
if program == "meanwhile": # what rank 1 does while rank 0 waits for it
    parts = next(c["meanwhile"] for c in causes if c["ranks"] == [1])
    # who has no core is for longer in its calls
    told = [(part["what"], part["share"]) for part in parts if part["what"] != "calls" or part["share"]["high"] > 0.15]
    assert [what for what, _ in told] == ["computes", "waits", "computes", "other"], told
    assert sum(s["low"] for _, s in told) <= 1.0001 and sum(part["share"]["high"] for part in parts) >= 0.9999, told
    # the machine wakes who sleeps a little late
    in_calls = sum(part["share"]["high"] for part in parts if part["what"] == "calls")
    for (_, share), true in zip(told, (1 / 2, 1 / 3, 1 / 6)):
        assert share["low"] - 0.06 < true < share["high"] + 0.06 + in_calls, told
    # and behind the wait in it what rank 2 does
    roots = next(c["contributions"] for c in causes if c["ranks"] == [1])
    known = [(part["rank"], part["what"], part["share"]) for part in roots if part["what"] == "computes"]
    assert [(rank, what) for rank, what, _ in known[:3]] == [(1, "computes"), (2, "computes"), (1, "computes")], roots
    in_calls = sum(part["share"]["high"] for part in roots if part["what"] != "computes")
    for (_, _, share), true in zip(known, (1 / 2, 1 / 3, 1 / 6)):
        assert share["low"] - 0.06 < true < share["high"] + 0.06 + in_calls, roots
if program == "slack" and not crowded:
    assert [s["rank"] for s in answer["slack"]] == [1], answer["slack"]
if program == "large" and not others: # hardly any of it is waiting
    assert first["lost_s"]["low"] > 0.5 * first["lost_s"]["high"], first["lost_s"]
if program in ("hybrid_serial", "hybrid_unequal") and not others:
    assert first["gain_s"]["low"] > 0, first["gain_s"]
# two runs of one program differ, by a tenth of what they take at most where nothing else is done
gain = bad - mended
assert others or first["gain_s"]["low"] - 0.1 * bad <= gain <= first["gain_s"]["high"] + 0.1 * bad, (gain, first["gain_s"])
# of each way to mend it by itself, too
if program.startswith("pipeline") and not others:
    assert first["blocks"]["count"] >= 2 and first["blocks"]["gain_s"]["low"] > 0, first["blocks"]
if program in ("imbalance", "imbalance_f", "chain", "several", "coupled") and not others:
    like = first["like_s"]
    assert like["low"] - 0.1 * bad <= gain <= like["high"] + 0.1 * bad, (gain, like)
EOP

# judge HOW OPTION...: measures it, and says whether the first cause is the right one
judge() {
    local how=$1
    shift
    run "$how" "$MPIRUN" -n "$n" "${gnomon_of_ranks[@]}" run "$@" "${program[@]}" bad
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report "$how"
    "$gnomon" explain --top 0 --format json "$(folder_of "$how")" >"$how.json" || fail "explain: exit status $?"
    python3 judge.py "$how.json" "$kind" "$rank" "$line" "$(tail -1 "$work/$how.out")" "$(tail -1 "$work/mended.out")" "$name"
}

is_busy() { # other programs have the cores: then it is measured again, twice at most
    awk '{ exit !($1 > 1.5) }' /proc/loadavg
}

name=$1
for how in windows traced; do
    option=
    [ "$how" = windows ] || option=--trace
    again=1
    until judge "$how" $option; do
        is_busy && [ "$again" -lt 3 ] || fail "$how: not explained"
        again=$((again + 1))
    done
done
