# The size of the result depends on the program's structure, not on how long it ran or how deep it recursed.
. "$(dirname "$0")/lib.sh"

case $1 in
iterations)
    compile loop fixtures/loop.c
    run_gnomon short ./loop 200
    run_gnomon long ./loop 2000000
    json long 'max(x["count"] for x in rows if x["name"] == "MPI_Send") == 2 * 2000000' || fail "not all was measured"
    for name in short long; do
        # but for the time series, which is bounded by itself (unit.series)
        python3 -c '
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
assert db.execute("SELECT count(*) FROM moment").fetchone()[0] <= 513
for table in ("node", "edge", "sample", "peer", "completion"):
    db.execute(f"UPDATE {table} SET series = NULL")
db.execute("DELETE FROM moment")
db.commit()
db.execute("VACUUM")' "$(folder_of $name)/profile.db" || fail "$name: the series"
        eval "${name}_bytes=$(stat -c %s "$(folder_of $name)/profile.db") ${name}_kib=$(cat "$work/$name.out")"
    done
    difference=$((long_bytes - short_bytes))
    [ ${difference#-} -le 4096 ] || fail "profile.db: $short_bytes bytes after 200 iterations, $long_bytes after 2,000,000"
    [ "$short_kib" -gt 0 ] || fail "no shared memory was found"
    difference=$((long_kib - short_kib))
    [ ${difference#-} -le 8 ] || fail "shared memory: $short_kib KiB after 200 iterations, $long_kib after 2,000,000"
    ;;
depth)
    for how in "--deep 100" "--deep 20000" "--deep 200000" "--levels 2" "--levels 8" "--levels 14"; do
        run_gnomon deep "$examples/multigrid.$FLAVOUR" $how --iterations 2
        [ "$status" = 0 ] || fail "$how: exit status $status"
        nodes=$(sql deep 'SELECT max(n) FROM (SELECT count(*) AS n FROM node GROUP BY location)')
        [ "$nodes" -lt 200 ] || fail "$how: $nodes nodes"
        activities=$(sql deep 'SELECT count(*) FROM activity')
        [ "$activities" -lt 200 ] || fail "$how: $activities activities"
        json deep 'not r["lost"]' || fail "$how: something was lost"
    done
    ;;
esac
