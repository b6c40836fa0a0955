# gnomon run --activity: functions of libraries are activities, whatever they take and give back; of what cannot be met it
# is said why, and the program runs all the same.
. "$(dirname "$0")/lib.sh"
"$MPICC" -g -O1 -fPIC -shared -o libnamed.so "$here/fixtures/named_lib.c" || fail "named_lib.c does not compile"
"$MPICC" -g -O1 -o named "$here/fixtures/named.c" -L. -lnamed -Wl,-rpath,"$PWD" || fail "named.c does not compile"
all=named_work,named_many,named_large,named_long_double,named_complex,named_sum,named_errno,named_recursive,named_leaves,named_wide

# counted RUN: times that each was called, in all ranks
counted() {
    python3 - "$1/profile.db" <<'END'
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as profile:
    for name, count in profile.execute("SELECT a.name, sum(n.count) FROM activity a JOIN node n ON n.activity = a.id"
                                       " WHERE a.kind = 'region' GROUP BY a.name ORDER BY a.name"):
        print(name, count)
END
}

for trace in "" --trace; do
    run_gnomon "named$trace" $trace --activity "$all,own,named_own,MPI_Barrier,nothing,errno,setjmp" ./named
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report "named$trace"
    run=$(folder_of "named$trace")
    [ "$(grep -c '^0 failures' "$work/named$trace.out")" = "$n" ] || fail "something went wrong in the program"
    err=$work/named$trace.err
    [ "$(grep -c -- '--activity [a-zA-Z_]*:' "$err")" = 6 ] || fail "not six are refused, once"
    grep -q -- '--activity own: it is a part of .*/named, .*gnomon_region_begin' "$err" || fail "own"
    grep -q -- '--activity named_own: .*/libnamed.so has it, but neither ' "$err" || fail "named_own"
    grep -q -- '--activity MPI_Barrier: it is a call of MPI' "$err" || fail "MPI_Barrier"
    grep -q -- '--activity nothing: neither .*/named nor a library it is linked with has it' "$err" || fail "nothing"
    grep -q -- '--activity errno: it is data' "$err" || fail "errno"
    grep -q -- '--activity setjmp: it would do something else' "$err" || fail "setjmp"
    counted "$run" >counts
    grep -qx "named_work $((20 * n))" counts || fail "work: $(cat counts)"
    for name in many large long_double complex sum errno leaves; do # behind MPI_Finalize, too
        grep -qx "named_$name $((21 * n))" counts || fail "$name: $(cat counts)"
    done
    # what it takes is what it takes, on each rank
    "$gnomon" report "$run" --by region --format json >report.json || fail "no report"
    python3 - report.json <<'END' || fail "named_work: $(grep -A12 named_work report.json | head -40)"
import json, sys
regions = {r["name"]: r for r in json.load(open(sys.argv[1]))["activities"]}
work = regions["named_work"]
sys.exit(not (0.39 < work["min_s"] < 0.6 and 0.58 < work["max_s"] < 0.9 and work["max_rank"] == 1))
END
    # nothing is left behind
    for file in $(sed -n 's/^preload //p' "$err" | tr ' :' '\n\n' | grep gnomon-activities); do
        [ ! -e "$file" ] || fail "$file is still there"
        found=yes
    done
    [ "${found:-}" = yes ] || fail "nothing was preloaded"
done

# In whatever the program is, an unknown name does no harm.
run_gnomon unknown --activity nothing ./named
[ "$status" = 0 ] || fail "exit status $status"
[ "$(grep -c '^0 failures' "$work/unknown.out")" = "$n" ] || fail "something went wrong in the program"
