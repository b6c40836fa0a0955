# What the kernel tells of each rank is in the report: memory, files, cores; and ranks that share a core are said to,
# whoever of them takes longer.
. "$(dirname "$0")/lib.sh"
command -v taskset >/dev/null || skip "no taskset"
core=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
[ "$FLAVOUR" = openmpi ] && bind="--bind-to none --oversubscribe" || bind="-bind-to none"
compile resources fixtures/resources.c

MPIRUN="taskset -c $core $MPIRUN $bind"
status=0
timeout -k 5 "$most" $MPIRUN -n 2 "$gnomon" run ./resources 64 3000 500 >"$work/shared.out" 2>"$work/shared.err" </dev/null || status=$?
[ "$status" = 0 ] || fail "exit status $status"
wait_for_report shared
r0='r["ranks"][0]'
r1='r["ranks"][1]'
json shared "$r1['rss_bytes'] - $r0['rss_bytes'] > 48 << 20" || fail "rank 1 has no more memory: $(json shared 'r["ranks"]')"
json shared "r['resources']['peak_rank'] == 1 and r['resources']['peak_bytes'] == $r1['rss_bytes']" || fail "not rank 1"
json shared "all(x['written_bytes'] >= 3000 << 10 for x in r['ranks'])" || fail "what was written: $(json shared 'r["ranks"]')"
json shared "all(x['cores'] == '$core' and x['cpu_s'] >= 0.5 and x['preempted_s'] > 0.1 for x in r['ranks'])" ||
    fail "cores and time without one: $(json shared 'r["ranks"]')"
json shared "r['cause']['kind'] in ('preempted', 'oversubscribed') or r['resources']['preempted_share'] < 0.1" || fail "why: $(json shared 'r["cause"]')"
json shared 'r["resources"]["cores"] == 1 and r["hosts"][0]["cores"] == 1' || fail "one core: $(json shared 'r["resources"]')"
verdict() { # NAME
    json shared "next(c['verdict'] for c in r['checks'] if c['name'] == '$1')"
}
[ "$(verdict cores)" = failed ] || fail "nobody says that ranks share a core"
[ "$(verdict complete)" = good ] && [ "$(verdict programs)" = good ] || fail "$(report shared --checks)"
report shared --checks | grep -q '^failed  *cores: 2 ranks share 1 core' || fail "$(report shared --checks)"
e='r["efficiency"]'
json shared "abs($e['parallel'] - $e['load_balance'] * $e['communication']) < 1e-9" || fail "efficiency is no product"
json shared "abs($e['parallel'] - sum(x['useful_s'] for x in r['ranks']) / 2 / max(x['useful_s'] + x['mpi_s'] for x in r['ranks'])) < 1e-9" ||
    fail "efficiency is not that of its definition"

# The tree has all of the time, and its exports have the tree.
json shared 'abs(r["tree"]["total_s"] - sum(c["total_s"] for c in r["tree"]["children"])) < 1e-6' --by tree || fail "the tree does not add up"
"$gnomon" export --to collapsed -o stacks.txt "$(folder_of shared)" || fail "no stacks"
"$gnomon" export --to speedscope -o scope.json "$(folder_of shared)" || fail "no file for speedscope"
"$gnomon" export --to pprof -o profile.pb "$(folder_of shared)" || fail "no file for pprof"
protoc --decode=perftools.profiles.Profile --proto_path="$SOURCE/src/answer" pprof.proto <profile.pb >profile.txt || fail "no profile of pprof's"
"$gnomon" export --to hatchet -o hatchet.json "$(folder_of shared)" || fail "no file for Hatchet"
report shared --by tree --format json >"$work/tree.json"
python3 - "$work/tree.json" <<'END' || fail "exports do not have the tree: $(cat stacks.txt)"
import json, sys
total = json.load(open(sys.argv[1]))["tree"]["total_s"]
lines = open("stacks.txt").read().splitlines()
assert any(line.startswith("main;MPI_Barrier in main (resources.c:") for line in lines)
assert abs(sum(int(line.rsplit(" ", 1)[1]) for line in lines) / 1e6 - total) < 1e-6 * (len(lines) + 20)
scope = json.load(open("scope.json"))
profile, frames = scope["profiles"][0], scope["shared"]["frames"]
assert sum(profile["weights"]) == profile["endValue"] == round(total * 1e9) and len(profile["weights"]) == len(profile["samples"])
assert all(0 < i < len(frames) for stack in profile["samples"] for i in stack)
import re
text = open("profile.txt").read()
values = re.findall(r"^sample \{.*?value: (\d+)", text, re.M | re.S)
assert sum(map(int, values)) == round(total * 1e9) and len(values) == len(profile["weights"]), values
strings = re.findall(r'^string_table: "(.*)"$', text, re.M)
assert strings[:3] == ["", "time", "nanoseconds"] and any(s.startswith("MPI_Barrier in main (resources.c:") for s in strings), strings
functions = set(re.findall(r"^function \{\n  id: (\d+)", text, re.M))
assert set(re.findall(r"location_id: (\d+)", text)) <= set(re.findall(r"^location \{\n  id: (\d+)", text, re.M)) == functions
root, = json.load(open("hatchet.json"))
def sums(node):
    own = node["metrics"]["time"] + sum(sums(child) for child in node["children"])
    assert abs(own - node["metrics"]["time (inc)"]) < 1e-6, node["frame"]
    return own
assert abs(sums(root) - total) < 1e-6
END
