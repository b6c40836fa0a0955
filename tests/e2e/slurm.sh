# Programs that Slurm's srun starts, on one machine: what is measured is what ran, however a job is put together and ends.
. "$(dirname "$0")/lib.sh"
case=$1
. "$here/slurm_here.sh"
program=$examples/crash.$FLAVOUR

# measured NAME FOLDER RANKS: a whole profile of so many ranks in that folder
measured() {
    "$gnomon" report "$2" --format json >"$work/report.json" 2>>"$work/$1.err" || fail "$1: no report of $2"
    python3 - "$work/report.json" "$3" <<'END' || fail "$1: not $3 complete ranks: $("$gnomon" report "$2" 2>&1)"
import json, sys
r = json.load(open(sys.argv[1]))
rounds = sum(x["count"] for x in r["activities"] if x["name"] == "MPI_Allreduce")
sys.exit(0 if r["run"]["complete"] and r["run"]["ranks"] == int(sys.argv[2]) and rounds == 200 * int(sys.argv[2]) else 1)
END
}

# one_folder NAME RANKS: the only one that there is, and it is gone afterwards
one_folder() {
    [ "$status" = 0 ] || fail "$1: exit status $status"
    [ "$(ls -d gnomon-* 2>/dev/null | wc -l)" = 1 ] || fail "$1: not one run folder: $(ls)"
    measured "$1" gnomon-* "$2"
    rm -rf gnomon-*
}

# as_without NAME WORD...: with and without gnomon, srun's words up to --, then the program's
as_without() {
    local name=$1 before=()
    shift
    while [ "$1" != -- ]; do
        before+=("$1")
        shift
    done
    shift
    run bare "${before[@]}" "$@"
    local expected=$status
    run "$name" "${before[@]}" "$gnomon" run "$@"
    [ "$status" = "$expected" ] || fail "$name: exit status $status, without gnomon $expected"
    diff <(sort "$work/bare.out") <(sort "$work/$name.out") || fail "$name: other output than without gnomon"
}

need_flavour() {
    run try srun --mpi=$pmi -n 2 "$program" ok
    [ "$status" = 0 ] || skip "srun --mpi=$pmi does not start programs of $FLAVOUR here: $(tail -3 "$work/try.err")"
}

# A job in the background that goes on until somebody ends it: its number in $job
begin_until() {
    compile until fixtures/until.c
    srun --mpi=$pmi -n 2 "$@" "$gnomon" run ./until stop >"$work/run.out" 2>"$work/run.err" </dev/null &
    launcher=$!
    for _ in $(seq 300); do
        [ -z "$(ls gnomon-*/parts/*.open 2>/dev/null)" ] || break
        sleep 0.1
    done
    ls gnomon-*/parts/*.open >/dev/null || fail "the program does not begin"
    job=$(squeue -h -o %A)
}

# What was measured until the end is there, or can be made of what is.
ended_badly() {
    wait $launcher || : # srun's status is its own
    for _ in $(seq 300); do
        [ ! -s "$(echo gnomon-*/profile.db)" ] || break
        sleep 0.1
    done
    [ -s "$(echo gnomon-*/profile.db)" ] || fail "no profile: $(ls -R gnomon-*)"
    "$gnomon" report gnomon-* >"$work/report.txt" || fail "no report"
    grep -q '^PARTIAL' "$work/report.txt" || fail "not PARTIAL: $(cat "$work/report.txt")"
    [ "$("$gnomon" report gnomon-* --format json | python3 -c 'import json, sys
print(sum(x["count"] for x in json.load(sys.stdin)["activities"] if x["name"] == "MPI_Bcast") > '"$1"')')" = True ] ||
        fail "not all that was measured is there: $(cat "$work/report.txt")"
}

need_flavour
case $case in
starts)
    as_without plain srun --mpi=$pmi -n 2 -- "$program" ok
    wait_for_report plain
    one_folder plain 2
    as_without cores srun --mpi=$pmi -N1 -n4 -c2 -- "$program" ok
    wait_for_report cores
    one_folder cores 4
    run front "$gnomon" run -- srun --mpi=$pmi -n 2 "$program" ok
    one_folder front 2
    printf '0 %s run %s ok\n1 %s run %s ok\n' "$gnomon" "$program" "$gnomon" "$program" >several.conf
    run several srun --mpi=$pmi -n 2 --multi-prog several.conf
    wait_for_report several
    one_folder several 2
    ;;
alone) # without PMI, or the other MPI's: each process is a world of its own, with or without gnomon
    for wrong in none $other_pmi; do
        as_without $wrong srun --mpi=$wrong -n 2 "$here/alone.sh" -- "$program" ok --rank 0
        if [ "$status" = 0 ]; then
            [ "$(ls -d gnomon-* 2>/dev/null | wc -l)" = 1 ] || fail "$wrong: not one folder: $(ls -d gnomon-*)"
            "$gnomon" report gnomon-* >report.txt 2>&1 || fail "$wrong: $(cat report.txt)"
            grep -q "^WORLDS: 2 programs ran as 2 separate worlds of 1 rank: started by Slurm's srun" report.txt ||
                fail "$wrong: what happened is not told: $(cat report.txt)"
        fi
        rm -rf gnomon-*
    done
    ;;
batch) # each job of an array has its folder; gnomon in front of srun, in a script
    printf '#!/bin/sh\nexec srun --mpi=%s -n 2 %s run %s ok\n' $pmi "$gnomon" "$program" >array.sh
    job=$(sbatch --parsable --array=1-3 -n 2 array.sh)
    wait_for_job "$job"
    for _ in $(seq 200); do
        [ "$(ls gnomon-*/profile.db 2>/dev/null | wc -l)" != 3 ] || break
        sleep 0.1
    done
    [ "$(ls -d gnomon-* | wc -l)" = 3 ] || fail "not a folder for each job of the array: $(ls; tail slurm-*.out)"
    for folder in gnomon-*; do
        measured array "$folder" 2
    done
    rm -rf gnomon-*
    printf '#!/bin/sh\nexec %s run -- srun --mpi=%s -n 2 %s ok\n' "$gnomon" $pmi "$program" >front.sh
    run front sbatch --wait -n 2 --output=front.out front.sh
    grep -q '^next: gnomon report' front.out || fail "no report in the job's output: $(cat front.out)"
    one_folder front 2
    ;;
cancelled) # SIGTERM, and SIGKILL for who is still there after KillWait
    begin_until
    sleep 2
    scancel "$job"
    ended_badly 500
    ;;
killed) # the step, by SIGKILL, a second after the begin
    begin_until
    sleep 1
    scancel -s KILL "$job.0"
    ended_badly 0
    ;;
time_limit) # of a minute, which is the shortest that there is
    begin_until --time=1
    ended_badly 10000
    ;;
*) fail "which? $case" ;;
esac
