# What MPI 4 has brought is measured: the profile and the trace say what the program's own log says (fixtures/mpi4.c).
. "$(dirname "$0")/lib.sh"
what=$1
shift
if [ "$what" = fortran ]; then
    [ "$FLAVOUR" = mpich ] || skip "a library of MPI 3"
    "${MPICC%cc*}f90${MPICC##*cc}" -g -o mpi4 "$here/fixtures/mpi4_f08.f90" 2>"$work/compile.err" || skip "no mpi_f08 with MPI 4"
else
    compile mpi4 fixtures/mpi4.c -w
fi

# The log of rank 0, which is that of rank 1 with two ranks.
log() {
    sed -n 's/^rank 0 to 1: \([0-9]*\) messages, \([0-9]*\) bytes; \([0-9]*\) contributions$/\1 \2 \3/p' "$work/$1.out"
}

run_bare bare ./mpi4 "$what" "$@"
[ "$status" != 77 ] || skip "a library of MPI 3"
[ "$status" = 0 ] || fail "fails without gnomon"
run_gnomon run --trace ./mpi4 "$what" "$@"
[ "$status" = 0 ] || fail "exit status $status"
diff <(sort "$work/bare.out") <(sort "$work/run.out") || fail "other output than without gnomon"
wait_for_report run
read -r messages bytes contributions <<<"$(log run)"
json run "r['run']['complete'] and r['run']['ranks'] == 2" || fail "not 2 complete ranks"
json run 'not r["lost"]' || fail "something was lost"
grep -q '^trace: .*none lost' "$work/run.err" || fail "events were lost"

expected="[]"
[ "$messages" = 0 ] || expected="[(0, 1, $messages, $bytes), (1, 0, $messages, $bytes)]"
[ "$what" = wide ] || json run "sorted((p['from'], p['to'], p['messages'], p['bytes']) for p in pairs) == $expected" --by pair ||
    fail "not $messages messages with $bytes bytes but $(report run --by pair --format csv)"

sizeless='' # what an MPI_Isendrecv received: MPICH's statuses do not tell
[ "$what" != large ] || sizeless='--sizeless-tags 5,6'
code=0
/usr/bin/python3 "$here/check_trace.py" "$(folder_of run)/trace/traces.otf2" $sizeless >"$work/check.out" 2>&1 || code=$?
[ $code = 77 ] || [ $code = 0 ] || fail "$(cat "$work/check.out")"
"$gnomon" check "$(folder_of run)" >"$work/check.err" 2>&1 || fail "gnomon check"
! grep -q 'could not be checked' "$work/check.err" || fail "not all ends of messages and collectives are there"

called() { # NAME COUNT, of both ranks
    json run "sum(x['count'] for x in rows if x['name'] == '$1') == $2" || fail "$1 was not seen $2 times"
}
contributed() { # BYTES NAME...: of both ranks
    local bytes=$1
    shift
    local got
    got=$(sql run "SELECT sum(n.bytes) FROM node n JOIN activity a ON a.id = n.activity WHERE a.name IN ($(printf "'%s'," "$@")'')")
    [ "$got" = "$bytes" ] || fail "$*: not $bytes bytes but $got"
}
case $what in
sessions)
    called MPI_Session_init $((2 + 2 * $#))
    called MPI_Comm_create_from_group $((2 + 2 * $#))
    called MPI_Session_finalize $((2 + 2 * $#))
    called MPI_Allreduce $((2 * contributions))
    ;;
large)
    for call in Isend_c Irecv_c Sendrecv_c Isendrecv_c Isendrecv_replace Allreduce_c Bcast_c Alltoallv_c Allgatherv_c; do
        called MPI_$call 2
    done
    contributed $((2 * (16 + 16 + 16 + 8))) MPI_Allreduce_c MPI_Bcast_c MPI_Alltoallv_c MPI_Allgatherv_c
    ;;
wide)
    for call in Gather Gatherv Scatter Scatterv Allgather Alltoall Alltoallw Reduce Scan Exscan Reduce_scatter Ireduce_scatter \
        Reduce_scatter_block Neighbor_alltoall Ineighbor_alltoallv Bsend Mrecv Put Accumulate Win_create File_write_at_all \
        File_iread_at; do
        called MPI_${call}_c 2
    done
    contributed 16 MPI_Gather_c
    contributed 32 MPI_Alltoallw_c
    contributed 32 MPI_Reduce_scatter_c
    contributed 16 MPI_Put_c
    contributed 16 MPI_File_iread_at_c
    ;;
partitioned)
    called MPI_Pready 24
    called MPI_Pready_list 12
    called MPI_Pready_range 12
    called MPI_Psend_init 4
    called MPI_Precv_init 4
    ;;
fortran)
    called MPI_Session_init 2
    called MPI_Sendrecv_c 8
    called MPI_Psend_init 2
    contributed $((2 * (contributions * 40 + 3 * 240))) MPI_Start # collective and partitioned
    ;;
persistent)
    contributed $((contributions * 16 * 2)) MPI_Start
    ;;
esac
