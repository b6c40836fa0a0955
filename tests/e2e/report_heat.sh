# The report of a stencil with one slow rank says so: which computation, where, who.
. "$(dirname "$0")/lib.sh"
heat=$SOURCE/examples/heat.c
first=$(line_of "$heat" 'noinline)) double relax(')
last=$(awk -v first="$first" 'NR > first && /^}/ { print NR; exit }' "$heat")

for slow in 0 1; do
    run_gnomon slow$slow "$examples/heat.$FLAVOUR" --nx 512 --ny 1024 --iterations 80 --imbalance=8 --slow-rank $slow
    [ "$status" = 0 ] || fail "exit status $status"
    # Where the kernel lets samples be taken it is relax; else what lies between exchange_halo and the Allreduce.
    uneven='max((x for x in rows if x["kind"] == "computation"), key=lambda x: x["max_s"] - x["mean_s"])'
    json slow$slow "$uneven['file'].endswith('/heat.c')" || fail "not in heat.c"
    json slow$slow "$uneven['function'] == 'relax' and $first <= $uneven['line'] <= $last or $uneven['known'] == 'range' and
        $uneven['function'] == 'exchange_halo' and $uneven['until_function'] == 'iterate'" || fail "not relax: $(json slow$slow "$uneven")"
    json slow$slow "$uneven['max_rank'] == $slow" || fail "not rank $slow"
    report slow$slow | grep -q '^why: ' || fail "the text does not say why"
done
json slow1 'r["run"]["complete"] and r["run"]["ranks"] == 2 and r["run"]["flavour"] == "'"$FLAVOUR"'"' || fail "run facts"
json slow1 'r["cost"]["calls"] > 80 * 6 * 2 and not r["lost"]' || fail "costs and losses"
json slow1 '0 < r["cost"]["own_s"] < r["cost"]["program_cpu_s"] and r["cost"]["startup_s"] > 0' || fail "own cost in CPU time"
json slow1 'abs(r["cost"]["share"] * r["cost"]["program_cpu_s"] / r["cost"]["own_s"] - 1) < 1e-6' || fail "share of own cost"
report slow1 | grep -q "own cost: .* % of the program's CPU time: .* events" || fail "the text does not say the cost"
for by in activity callpath function line place rank host; do
    json slow1 'abs(sum(x["share"] for x in rows) - 1) < 1e-9' --by $by || fail "shares by $by do not add up to 1"
done
for by in activity callpath function line place rank host; do
    json slow1 'len(rows) > 0' --by $by || fail "no rows by $by"
    report slow1 --by $by --format csv | python3 -c '
import csv, sys
rows = list(csv.reader(sys.stdin))
assert len(rows) > 1 and all(len(r) == len(rows[0]) for r in rows), rows' || fail "bad CSV by $by"
    report slow1 --by $by >/dev/null || fail "no text by $by"
done
