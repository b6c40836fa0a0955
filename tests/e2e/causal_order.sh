# Every event of a trace comes out of the sort exactly once, no receive before its send, no end of a collective before
# the begins it depends on, whatever order the events arrive in. check_order decides that by rules of its own.
#
#   causal_order.sh archive|synth|examples|real|eztrace|paper
. "$(dirname "$0")/lib.sh"

check_order=$BUILD/tests/unit/check_order

# check NAME ARCHIVE [MESSAGES]: at least so many messages were found in it
check() {
    run "$1" "$check_order" "$2" recorded roundrobin random:1 random:2 aligned delayed:buffer=50,latency=0..2ms
    [ "$status" = 0 ] || fail "$1: the order is not causal: $(cat "$work/$1.out")"
    local messages
    messages=$(sed -n 's/^recorded: .* events, \([0-9]*\) messages.*/\1/p' "$work/$1.out")
    [ "$messages" -ge "${3:-0}" ] || fail "$1: only $messages messages were checked"
}

# traced NAME PROGRAM...: the archive of a traced run in $archive
traced() {
    rm -rf gnomon-*
    run_gnomon "$@"
    archive=$(echo gnomon-*/trace/traces.otf2)
    [ -e "$archive" ] || fail "$1: there is no trace"
}

run_gnomon() {
    local name=$1
    shift
    run "$name" "$MPIRUN" -n "$n" "$gnomon" run --trace --trace-full=block --quiet "$@"
}

case $1 in
archive)
    check scorep "$SOURCE/tests/data/scorep-misc-4ranks/traces.otf2" 10
    ;;
synth)
    for pattern in $("$gnomon" synth --list | awk '{ print $1 }'); do
        run synth "$gnomon" synth "$pattern" -n 12 -e 2e4 --seed 3 --domains 3 --offset 5ms --rate 20ppm -o "$pattern"
        [ "$status" = 0 ] || fail "gnomon synth $pattern"
        check "$pattern" "$pattern/traces.otf2"
    done
    check again stencil2/traces.otf2 1000
    ;;
examples)
    [ "$FLAVOUR" = openmpi ] && n=4
    export OMPI_MCA_osc=^rdma # Open MPI 4.1.4's gives wrong results here, measured or not
    for program in heat pool kmeans pagerank components multigrid everything threads hello_cxx ring_f77 halo_usempi stencil_f08; do
        have $program || continue
        traced $program "$examples/$program.$FLAVOUR" $(brief $program)
        check $program "$archive"
    done
    traced heat "$examples/heat.$FLAVOUR" $(brief heat)
    check heat "$archive" 200
    ;;
real)
    command -v lmp >/dev/null || skip "no lmp"
    [ "$FLAVOUR" = openmpi ] || skip "Debian's lmp is of Open MPI"
    cat >in.melt <<'END'
units lj
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
run 100
END
    traced lmp lmp -in in.melt
    check lmp "$archive" 500
    ;;
paper) # the experiment of Kimelman and Zernik: a ring, monitored through buffers of 100 bytes
    have ring_f77 || skip "no ring_f77"
    n=4
    [ "$FLAVOUR" = openmpi ] || n=2
    traced ring "$examples/ring_f77.$FLAVOUR"
    "$gnomon" order --arrival delayed:buffer=100B --format json "$archive" >"$work/order.out"
    python3 - "$work/order.out" <<'END' || fail "the sort shows messages backward, or the arrival does not: $(cat "$work/order.out")"
import json, sys
sort = json.load(open(sys.argv[1]))["sort"]
assert sort["receives"] >= 500, sort
assert sort["backward_in_arrival"] > 0, sort
assert sort["backward_in_output"] == 0, sort
assert sort["window_mean"] < 100, sort
END
    ;;
eztrace)
    command -v eztrace >/dev/null || skip "no eztrace"
    [ "$FLAVOUR" = openmpi ] || skip "one MPI is enough for eztrace"
    n=4
    for program in heat pool kmeans multigrid; do
        have $program || continue
        run $program "$MPIRUN" -n "$n" eztrace -t openmpi "$examples/$program.$FLAVOUR"
        [ -e "$program.${FLAVOUR}_trace/eztrace_log.otf2" ] || skip "eztrace writes nothing here"
        check $program "$program.${FLAVOUR}_trace/eztrace_log.otf2"
    done
    ;;
esac
