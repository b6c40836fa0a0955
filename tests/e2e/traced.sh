# With --trace too the examples print and return the same, and their traces are whole: what is sent is received,
# what is started completes, members of a communicator agree on its collectives.
. "$(dirname "$0")/lib.sh"

# Open MPI 4.1's one-sided communication by "rdma" gives wrong results between processes of a host, with or without us.
export OMPI_MCA_osc=^rdma

# The distribution's otf2 module is for the distribution's Python.
check() {
    local code=0
    /usr/bin/python3 "$here/check_trace.py" "$(folder_of traced)/trace/traces.otf2" "$@" >"$work/check.out" 2>&1 ||
        code=$?
    [ $code != 77 ] || skip "no otf2 module for Python"
    [ $code = 0 ] || fail "$(cat "$work/check.out")"
}

# traced UNRECEIVED_TAGS PROGRAM ARGUMENT...
traced() {
    local unreceived=$1 program=$2
    shift 2
    have "$program" || return 0
    run_bare bare "$examples/$program.$FLAVOUR" "$@"
    local expected=$status
    [ "$expected" = 0 ] || fail "$program fails without gnomon: $(cat "$work/bare.out")"
    run_gnomon traced --trace "$examples/$program.$FLAVOUR" "$@"
    [ "$status" = "$expected" ] || fail "$program: exit status $status instead of $expected"
    diff <(sort "$work/bare.out") <(sort "$work/traced.out") || fail "$program: other output than without gnomon"
    wait_for_report traced
    grep -q '^trace: .*none lost' "$work/traced.err" || fail "$program: events were lost"
    check ${unreceived:+--unmatched-tags "$unreceived"}
}

case $1 in
everything)
    traced '' everything
    traced '' everything --spawn
    [ "$FLAVOUR" != openmpi ] || n=3 traced '' everything # sides of unequal size
    ;;
errors) # tags 10 to 14: messages that a receive failed on
    traced 10,11,12,13,14 errors
    ;;
plain)
    traced '' heat --nx 200 --ny 200 --iterations 10
    traced '' pool --iterations 40 --steps 1000
    traced '' multigrid --levels 6 --iterations 2
    traced '' regions --iterations 5 --count 1000
    traced '' threads --threads 3 --iterations 20
    traced '' kmeans --points 4000 --iterations 10 --threads 2
    traced '' pagerank --scale 8 --threads 2 --straggler
    traced '' components --scale 8 --threads 2 --straggler
    ;;
languages)
    for program in ring_f77 halo_usempi stencil_f08; do
        traced '' $program $(brief $program)
    done
    traced '' hello_cxx --iterations 3 --count 100
    ;;
esac
