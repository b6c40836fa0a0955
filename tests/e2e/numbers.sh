# The numbers of messages and collectives in a trace are those that the program has counted itself: by all kinds of calls,
# behind and in front of wildcards, where the measurement is switched off, in callbacks, with requests that are cancelled
# and freed, with threads, and on more channels than usual. None is wrong, and those that can be known are there.
. "$(dirname "$0")/lib.sh"

mode=$1
seeds='1 2'
share=()
case $mode in
mixed) # behind a freed wildcard, and after a receive that failed, nobody can know
    share=(--share freed_wildcard=80 --share truncated=80 --share orphans=0) ;;
threads) # calls on one channel at the same time have no order
    seeds=1 share=(--share unlocked=0) ;;
jump) # nor after a call that may have taken a message
    share=(--share after_jump=0) ;;
tags | crowd)
    seeds=1 ;;
fortran) # nor what a call has sent that failed
    seeds=1 share=(--share after=50) ;;
esac
if [ "$mode" = fortran ]; then
    have stencil_f08 || skip "no mpi_f08"
    "${MPICC%cc*}f90${MPICC##*cc}" -g -o "$work/numbers" "$here/fixtures/numbers_f08.f90" 2>"$work/compile.err" ||
        fail "cannot compile numbers_f08.f90"
else
    compile "$work/numbers" fixtures/numbers.c -pthread
fi

for seed in $seeds; do
    rm -f numbers.*
    run_gnomon gnomon --trace --trace-full=block "$work/numbers" "$mode" "$seed"
    [ "$status" != 77 ] || skip "this MPI has no MPI_THREAD_MULTIPLE"
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report gnomon
    grep -q '^trace: .*none lost' "$work/gnomon.err" || fail "events were lost"
    # The distribution's otf2 module is for the distribution's Python.
    code=0
    /usr/bin/python3 "$here/check_numbers.py" "$(folder_of gnomon)/trace/traces.otf2" . "${share[@]}" >"$work/check.out" 2>&1 ||
        code=$?
    [ $code != 77 ] || skip "no otf2 module for Python"
    echo "seed $seed"
    cat "$work/check.out"
    [ $code = 0 ] || fail "$mode $seed"
done
