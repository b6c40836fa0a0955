# kmeans, pagerank and components compute the same whatever the number of ranks and threads, the pace and the
# straggler; what they compute is right; and each of their threads shows its regions in a trace.
. "$(dirname "$0")/lib.sh"

program=$1
have "$program" || skip "no $program"
case $program in
kmeans) small="--points 4000 --iterations 5" region=assign ;;
pagerank) small="--scale 8 --edges 4" region=rank ;;
components) small="--scale 8 --edges 1" region=propagate ;;
esac

# same RANKS OPTION...: prints what one rank with one thread prints
same() {
    local n=$1
    shift
    run_bare other "$examples/$program.$FLAVOUR" $small "$@"
    [ "$status" = 0 ] || fail "$program $small $*: exit status $status"
    diff "$work/one.out" "$work/other.out" || fail "$program $small $*: another result of $n ranks than of one"
}

n=1 run_bare one "$examples/$program.$FLAVOUR" $small
[ "$status" = 0 ] || fail "$program $small: exit status $status"
same 2
same 3 --threads 2
same 2 --threads 3 --pace 0
same 2 --straggler --straggler-work 2.5
same 2 --straggler=0 --threads 2
same 2 --straggler --balanced

if [ "$program" != kmeans ]; then
    for seed in 1 2; do
        n=2 run_bare solved "$examples/$program.$FLAVOUR" $small --seed "$seed" --threads 2
        run reference python3 "$here/check_graph.py" "$program" $small --seed "$seed" "$work/solved.out"
        [ "$status" = 0 ] || fail "$program $small --seed $seed: $(cat "$work/solved.out" "$work/reference.out")"
    done
fi

run_gnomon traced --trace --sample off "$examples/$program.$FLAVOUR" $small --threads 2 --straggler
[ "$status" = 0 ] || fail "$program: exit status $status with --trace"
diff "$work/one.out" "$work/traced.out" || fail "$program: another result with --trace"
wait_for_report traced
iterations=$(sed -n 's/.* \([0-9]*\) iterations.*/\1/p' "$work/one.out")
code=0
/usr/bin/python3 "$here/check_regions.py" "$(folder_of traced)/trace/traces.otf2" "$n" 2 "$iterations" "$region" exchange \
    >"$work/check.out" 2>&1 || code=$?
[ $code != 77 ] || skip "no otf2 module for Python"
[ $code = 0 ] || fail "$(cat "$work/check.out")"
# Between begin and end of a region is the program's own code. (Samples may fall into begin and end themselves.)
json traced "$((n * 2 * iterations)) <= sum(x['count'] for x in rows if x['kind'] == 'computation' and
             (x['function'], x['until_function']) in (('iterate', 'iterate'), ('member_begin', 'member_end')))" ||
    fail "what a region does is not named: $(report traced --format csv)"
