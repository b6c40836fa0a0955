# The examples print and return the same with gnomon as without: results, error codes, statuses.
. "$(dirname "$0")/lib.sh"

# Hydra's mpiexec is now and then ended by SIGPIPE, when its proxy has gone before it: with gnomon and without, as it happens,
# and after the program has ended well. Its luck is tried again; who is ended like that every time is not lucky.
lucky() { # run_bare|run_gnomon NAME WORD...
    for _ in 1 2 3; do
        "$@"
        [ "$FLAVOUR.$status" = mpich.141 ] || return 0
    done
}

# Ranks may write in any order; stdout is compared line by line, sorted.
same() {
    local name=$1
    shift
    lucky run_bare bare "$@"
    local expected=$status
    lucky run_gnomon gnomon "$@"
    [ "$status" = "$expected" ] || fail "$name: exit status $status, without gnomon $expected"
    diff <(sort "$work/bare.out") <(sort "$work/gnomon.out") || fail "$name: other output than without gnomon"
    [ -s "$work/bare.out" ] || [ "$expected" != 0 ] || fail "$name prints nothing: nothing was compared"
}

example() {
    local program=$1
    shift
    have "$program" || return 0
    same "$program $*" "$examples/$program.$FLAVOUR" "$@"
}

case $1 in
plain)
    example heat --nx 200 --ny 200 --iterations 10
    example heat --nx 200 --ny 200 --iterations 10 --imbalance=3 --check-every 5
    example heat --nonsense
    example pool --iterations 40 --steps 1000
    example kmeans --points 4000 --straggler
    example pagerank --scale 8 --straggler
    example components --scale 8 --threads 2 --straggler=0
    example kmeans --straggler-work 0.5
    example multigrid --levels 6 --iterations 2
    example multigrid --deep 20000
    example regions --iterations 5 --count 1000
    ;;
everything)
    example everything
    example everything --spawn
    example errors
    ;;
threads)
    example threads --threads 3 --iterations 20
    ;;
languages)
    for program in ring_f77 halo_usempi stencil_f08; do
        example $program $(brief $program)
    done
    example hello_cxx --iterations 3 --count 100
    # mpi4py of the distribution is built for one MPI; the other one's mpirun would start two singletons
    if /usr/bin/python3 -c 'import mpi4py' 2>/dev/null && [ "$FLAVOUR" = openmpi ]; then
        same hello_mpi4py /usr/bin/python3 "$SOURCE/examples/hello_mpi4py.py"
    fi
    ;;
ends)
    for mode in ok noinit; do
        example crash $mode --extra 10
    done
    ;;
esac
