# A run that is several worlds: which they are, why, and nothing of one in another.
. "$(dirname "$0")/lib.sh"
what=$1

# The shares of each world's rows make up its time, the run's rows no more than its length.
apart() {
    json "$1" 'all(abs(sum(x["share"] for x in w["activities"]) - 1) < 0.02 for w in r["worlds"])' --raw ||
        fail "$1: shares are not a world's own"
    json "$1" 'all(sum(x["total_s"] for x in w["activities"]) <= w["run"]["ranks"] * w["run"]["elapsed_s"] * 1.02 for w in r["worlds"])' --raw ||
        fail "$1: more than 100 % of the time"
    json "$1" '[w["world"]["number"] for w in r["worlds"]] == list(range(1, len(r["worlds"]) + 1))' || fail "$1: numbers"
    # each stands alone as it stands among the others
    json "$1" 'r["world"]["number"] == 2 and r["run"]["ranks"] == r["world"]["measured"]' --world 2 || fail "$1: --world 2"
    report "$1" --world 2 | grep -q '^world 2 of ' || fail "$1: the text does not say which world"
    report "$1" --format csv 2>&1 >/dev/null | grep -q 'world 1 of .*--world N shows another' ||
        fail "$1: a table does not say which world"
    code=0
    for world in 1 2; do # what is told of one is of its ranks
        "$gnomon" explain "$(folder_of "$1")" --world $world --format json >"$work/explained.json" || fail "$1: explain --world"
        json "$1" "r['run']['measured_s'] == __import__('json').load(open('$work/explained.json'))['measured_s']" --world $world ||
            fail "$1: explain --world $world is of another one"
    done
    code=0
    "$gnomon" explain "$(folder_of "$1")" --world 99 >"$work/none.out" 2>"$work/none.err" || code=$?
    [ $code = 2 ] && grep -q 'there is no world 99 in this run' "$work/none.err" || fail "$1: explain of a world that is none"
    code=0
    report "$1" --world 99 >"$work/none.out" 2>"$work/none.err" || code=$?
    [ $code = 2 ] && grep -q 'there is no world 99 in this run' "$work/none.err" || fail "$1: a world that is none"
}

case $what in
wrong)
    # By the launcher of the other MPI library: each process is a world of its own.
    case $FLAVOUR in
    openmpi) other=mpich launcher="MPICH's mpiexec" library='Open MPI' remedy=mpirun.openmpi word=hydra ;;
    *) other=openmpi launcher="Open MPI's mpirun" library='MPICH' remedy=mpirun.mpich word=openmpi ;;
    esac
    command -v mpirun.$other >/dev/null || skip "there is no other launcher"
    run bare mpirun.$other -n 4 "$here/alone.sh" "$examples/heat.$FLAVOUR" --nx 200 --ny 200 --iterations 50
    expected=$status
    run wrong mpirun.$other -n 4 "$here/alone.sh" "$gnomon" run "$examples/heat.$FLAVOUR" --nx 200 --ny 200 --iterations 50
    [ $status = $expected ] || fail "exit status $status, without gnomon $expected"
    [ $expected = 0 ] || skip "they do not run without gnomon"
    wait_for_report wrong
    grep -qE "^WORLDS: 4 programs ran as 4 separate worlds of 1 rank: started by $launcher, but linked with $library.*$remedy" \
        "$work/wrong.err" || fail "what happened is not told"
    [ "$(ls -d gnomon-* | wc -l)" = 1 ] || fail "not one run folder"
    json wrong 'len(r["worlds"]) == 4 and "4 programs ran as 4 separate worlds" in r["why"]' || fail "not four worlds"
    json wrong "[(w['run']['ranks'], w['run']['world'], w['run']['complete'], w['world']['launcher'],
        w['world']['launched'], w['world']['launched_rank']) for w in r['worlds']] ==
        [(1, 1, True, '$word', 4, i) for i in range(4)]" || fail "the worlds are not what was started"
    apart wrong
    # All are in a trace, each by its own; what compares ranks with each other refuses it.
    rm -rf gnomon-*
    run traced mpirun.$other -n 2 "$here/alone.sh" "$gnomon" run --trace "$examples/heat.$FLAVOUR" --nx 100 --ny 100 --iterations 10
    wait_for_report traced
    ! grep -q '^analyse: ' "$work/traced.err" || fail "commands are named that refuse it"
    for command in stragglers whatif critical paths; do
        code=0
        "$gnomon" $command "$(folder_of traced)" >"$work/refused.out" 2>"$work/refused.err" || code=$?
        [ $code = 2 ] && grep -q 'has 2 separate worlds of MPI processes' "$work/refused.err" || fail "$command compares them"
    done
    "$gnomon" check "$(folder_of traced)" 2>&1 >/dev/null | grep -q 'has 2 separate worlds' || fail "check says nothing"
    ;;
srun)
    # srun without a PMI that the program's MPI understands, as far as its ranks see that
    for rank in 0 1 2; do
        SLURM_JOB_ID=$$ SLURM_STEP_ID=0 SLURM_PROCID=$rank SLURM_NTASKS=3 SLURM_STEP_TASKS_PER_NODE=3 \
            "$here/alone.sh" "$gnomon" run "$examples/heat.$FLAVOUR" --nx 200 --ny 200 --iterations 50 >/dev/null 2>>"$work/srun.err" &
    done
    wait
    wait_for_report srun
    grep -q "^WORLDS: 3 programs ran as 3 separate worlds of 1 rank: started by Slurm's srun, but linked with .*srun --mpi=" \
        "$work/srun.err" || fail "what happened is not told"
    json srun '[(w["world"]["launcher"], w["world"]["launched_rank"]) for w in r["worlds"]] ==
        [("slurm", 0), ("slurm", 1), ("slurm", 2)]' || fail "not the three of srun"
    apart srun
    ;;
spawn | multiple)
    compile "$work/program" fixtures/spawn.c
    how=one
    [ $what = spawn ] || how=multiple
    mkdir "$work/bare.words" "$work/gnomon.words"
    run_bare bare "$work/program" $how "$work/bare.words"
    [ $status = 0 ] || skip "MPI_Comm_spawn does not work here without gnomon"
    run_gnomon gnomon "$work/program" $how "$work/gnomon.words"
    [ $status = 0 ] || fail "exit status $status"
    diff "$work/bare.out" "$work/gnomon.out" || fail "other output than without gnomon"
    sed -i s/gnomon.words/bare.words/ "$work"/gnomon.words/*
    diff -r "$work/bare.words" "$work/gnomon.words" || fail "the children were given other words than without gnomon"
    wait_for_report gnomon
    [ "$(ls -d gnomon-* | wc -l)" = 1 ] || fail "not one run folder"
    grep -q '^WORLDS: 2 worlds: 1 of them spawned by MPI_Comm_spawn' "$work/gnomon.err" || fail "what happened is not told"
    json gnomon '[(w["world"]["size"], w["run"]["ranks"], w["run"]["complete"], w["world"]["spawned_by"])
        for w in r["worlds"]] == [(2, 2, True, None), (2, 2, True, 1)]' || fail "not the two worlds"
    json gnomon 'all(w["lost"] == {} for w in r["worlds"])' || fail "something is called lost"
    json gnomon '[sum(x["count"] for x in w["activities"] if x["name"] == "MPI_Allreduce") for w in r["worlds"]] ==
        [0, 2 * 64]' || fail "the calls of one world are another's"
    json gnomon 'any(x["function"] == "child_rounds" for x in r["worlds"][1]["activities"])' || fail "no places in the child"
    apart gnomon
    # A trace is of the world that spawned: the other's ranks have the same numbers.
    rm -rf gnomon-*
    run_gnomon traced --trace "$work/program" $how "$work/gnomon.words"
    wait_for_report traced
    json traced '[w["trace"] is not None for w in r["worlds"]] == [True, False]' || fail "the trace is not of one world"
    "$gnomon" critical "$(folder_of traced)" 2>&1 >/dev/null | grep -q "of the run's 2 worlds the trace is of world 1" ||
        fail "it is not told which world is meant"
    ;;
unseen)
    # Where the command may be looked for elsewhere, the call is left as it is, and its processes are counted.
    compile "$work/program" fixtures/spawn.c
    mkdir "$work/words"
    PATH=$work:$PATH
    run_bare bare "$work/program" info "$work/words"
    [ $status = 0 ] || skip "MPI_Comm_spawn does not work here without gnomon"
    run_gnomon gnomon "$work/program" info "$work/words"
    [ $status = 0 ] || fail "exit status $status"
    diff "$work/bare.out" "$work/gnomon.out" || fail "other output than without gnomon"
    wait_for_report gnomon
    ! grep -q '^WORLDS' "$work/gnomon.err" || fail "worlds that were not measured"
    json gnomon 'r["lost"] == {"processes of MPI_Comm_spawn that were not measured": 2}' || fail "they are not counted"
    ;;
script)
    # Two jobs of one script, one after the other.
    printf '#!/bin/sh\n"%s" -n 2 "%s" --iterations 20\n"%s" -n 2 "%s" --iterations 20\n' "$MPIRUN" "$examples/heat.$FLAVOUR" "$MPIRUN" \
        "$examples/pool.$FLAVOUR" >"$work/script"
    chmod +x "$work/script"
    run gnomon "$gnomon" run "$work/script"
    [ $status = 0 ] || fail "exit status $status"
    wait_for_report gnomon
    grep -q '^WORLDS: 2 worlds: MPI programs that were started independently' "$work/gnomon.err" || fail "not told"
    json gnomon '[(w["run"]["exe"].split("/")[-1].split(".")[0], w["run"]["ranks"], w["run"]["world"], w["run"]["complete"])
        for w in r["worlds"]] == [("heat", 2, 2, True), ("pool", 2, 2, True)]' || fail "not the two jobs"
    apart gnomon
    ;;
esac
