# Processes that repair a trace together: what they send arrives, complete and in order, whatever they are doing.
. "$(dirname "$0")/lib.sh"
program=$BUILD/tests/transport_check

together() { # NAME RANKS WORD...
    local name=$1 ranks=$2
    shift 2
    rm -f begun.*
    for again in 1 2 3; do # Hydra's mpirun itself dies of SIGPIPE now and then; of a process that does, it says 13
        run "$name" "$MPIRUN" -n "$ranks" "$program" "$@"
        [ "$status" = 141 ] || break
    done
    [ "$status" = 0 ] || fail "$name: exit status $status"
    [ ! -s "$work/$name.out" ] || fail "$name: wrote to standard output"
}

case $1 in
traffic)
    for ranks in 1 2 3 5; do together $ranks $ranks traffic 400 $ranks; done
    ;;
flood)
    together two 2 flood 40000 2
    together three 3 flood 40000 3
    together large 3 large 0 3
    ;;
settle)
    for ranks in 1 2 3 4 5; do together $ranks $ranks settle 0 $ranks; done
    ;;
agree)
    for ranks in 1 2 3 5; do together $ranks $ranks agree 0 $ranks; done
    together left 3 left-over 0 3
    ;;
ends) # one process that is gone ends the job
    run alone "$program" traffic 10 1
    [ "$status" = 0 ] || fail "without a launcher: exit status $status"
    for how in killed gives-up; do
        run $how "$MPIRUN" -n 3 "$program" $how
        [ "$status" != 0 ] || fail "$how: exit status 0"
    done
    ;;
errors)
    # The environment speaks of others that nobody can find.
    case $FLAVOUR in
    openmpi) run lonely env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 "$program" agree ;;
    mpich) run lonely env SLURM_STEP_NUM_TASKS=2 "$program" agree ;;
    esac
    [ "$status" = 4 ] || fail "lonely: exit status $status"
    grep -q 'started 2 processes, but only 1 found each other' "$work/lonely.err" || fail "it does not say what is wrong"
    mkdir elsewhere && cp "$program" elsewhere/
    run missing "$MPIRUN" -n 2 elsewhere/transport_check agree
    [ "$status" != 0 ] || fail "missing: exit status 0"
    grep -q "cannot find libgnomon-transport.$FLAVOUR.so" "$work/missing.err" || fail "it does not say what is missing"
    mkdir -p lib/gnomon && echo nonsense >lib/gnomon/libgnomon-transport.$FLAVOUR.so
    run nonsense "$MPIRUN" -n 2 elsewhere/transport_check agree
    [ "$status" != 0 ] || fail "nonsense: exit status 0"
    grep -q "cannot use .*lib/gnomon/libgnomon-transport.$FLAVOUR.so" "$work/nonsense.err" || fail "it does not say what is bad"
    ;;
esac
