# Archives of eztrace of programs with MPI and threads: teams and communicators have the same numbers there, each process's
# threads have locations of their own. What gnomon sync writes has no violation, and everything of it could be checked.
. "$(dirname "$0")/lib.sh"

command -v eztrace >/dev/null || skip "no eztrace"
compile "$work/hybrid" fixtures/hybrid.c -fopenmp -pthread || skip "no OpenMP"
n=4

# whole NAME: whether all of its trace could be checked
whole() {
    python3 -c 'import json, sys; sys.exit(not json.load(open(sys.argv[1]))["coverage"]["complete"])' "$work/$1.before.out"
}

# traced NAME MODULES [ARGUMENT]: before the repair, and after it. Now and then eztrace loses events or ends the program by
# an assertion of its own: then it is run again.
traced() {
    local name=$1 modules=$2
    shift 2
    for _ in 1 2 3 4 5 6; do
        rm -rf hybrid_trace $name.trace
        run $name timeout 60 "$MPIRUN" --bind-to none -n $n eztrace -t "$modules" "$work/hybrid" "$@"
        [ -e hybrid_trace/eztrace_log.otf2 ] || continue
        mv hybrid_trace $name.trace
        run $name.before "$gnomon" check --format json $name.trace/eztrace_log.otf2
        [ "$status" -lt 2 ] || fail "$name: gnomon check: exit status $status"
        ! whole $name || break
    done
    [ -e $name.trace ] || skip "eztrace writes nothing here"
    run $name.sync "$gnomon" sync $name.trace/eztrace_log.otf2 -o $name.repaired --verify --format json
    [ "$status" = 0 ] || fail "$name: gnomon sync: exit status $status"
    run $name.after "$gnomon" check --format json $name.repaired
    [ "$status" = 0 ] || fail "$name: the repaired trace: exit status $status"
}

# holds NAME EXPRESSION: before, after: of gnomon check; r: of gnomon sync
holds() {
    python3 - "$work/$1.before.out" "$work/$1.after.out" "$work/$1.sync.out" "$2" <<'END' || fail "$1: not so: $2"
import json, sys
before, after, r = (json.load(open(name)) for name in sys.argv[1:4])
sys.exit(0 if eval("(" + sys.argv[4] + ")") else 1)
END
}

traced teams "openmpi openmp"
traced threads openmpi threads
for name in teams threads; do
    holds $name 'after["holds"] and after["backward"] == 0'
    holds $name 'before["coverage"] == after["coverage"] == r["verified"]["coverage"] and after["coverage"]["complete"]'
    holds $name 'all(before[k]["messages"] == after[k]["messages"] for k in ("messages", "collectives"))'
    holds $name 'r["unchanged"] or r["moved"] > 0 and
        sum(r["messages"][k]["corrected"] for k in ("point_to_point", "collectives")) > 0'
done
holds teams 'after["coverage"]["teams"]["all"] == 4 * 15 and after["coverage"]["collectives"]["all"] == 10 * (2 * 3 + 1)'
