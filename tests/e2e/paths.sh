# gnomon paths: each sequence of calls between two passes of a point, once, with how often it was gone; from whom receives
# took that may take from anybody; by a trace and by windows.
. "$(dirname "$0")/lib.sh"
n=3
compile passes fixtures/passes.c -g

# holds NAME EXPRESSION: of the answer p; taken(call): its paths whose first step is that call, as ((call, from, to), …): count
holds() {
    python3 - "$1" "$2" <<'END' || fail "$1: not so: $2: $(head -c 3000 "$1")"
import json, sys
p = json.load(open(sys.argv[1]))
def taken(call):
    of = {}
    for path in p["paths"]:
        steps = tuple((s["call"].split()[0], tuple(s["from"]), tuple(s["to"])) for s in path["steps"])
        if steps[0][0] == call:
            of[steps] = of.get(steps, 0) + path["count"]
    return of
def one(call, **with_):
    return [path for path in p["paths"] if path["steps"][0]["call"].startswith(call)]
sys.exit(not eval("(" + sys.argv[2] + ")"))
END
}

run_gnomon traced --trace ./passes
[ "$status" = 0 ] || fail "exit status $status"
wait_for_report traced
run=$(folder_of traced)
"$gnomon" paths --top 0 --format json "$run" >all.json || fail "no answer"
# both loops are found; alike ranks have one path
holds all.json "taken('MPI_Sendrecv') == {(('MPI_Sendrecv', (-1,), (1,)),): 588, (('MPI_Sendrecv', (-1,), (1,)), ('MPI_Bcast', (), ())): 9}"
holds all.json "all(path['ranks'] == 3 and 0 < path['least_s'] <= path['total_s'] / path['count'] <= path['most_s'] for path in one('MPI_Sendrecv'))"
holds all.json "abs(sum(path['total_s'] for path in p['paths']) - p['total_s']) < 1e-6 and p['rest'] == p['cut'] == p['without'] == 0"
# what a path takes is what its steps take
holds all.json "all(abs(path['total_s'] - path['behind_s'] - sum(s['computed_s'] + s['call_s'] for s in path['steps'])) < 0.02 * path['total_s'] + 1e-5 for path in p['paths'])"
holds all.json "all(0 <= s['waited_s'] <= s['call_s'] * 1.000001 + 1e-9 for path in p['paths'] for s in path['steps'])"
# orders in which messages of anybody come, and whose they were
"$gnomon" paths --at MPI_Barrier --top 0 --format json "$run" >second.json || fail "no answer"
holds second.json "taken('MPI_Barrier')[(('MPI_Barrier', (), ()), ('MPI_Recv', (1,), ()), ('MPI_Send', (), (-1,)), ('MPI_Recv', (-1,), ()))] == 20"
holds second.json "taken('MPI_Barrier')[(('MPI_Barrier', (), ()), ('MPI_Recv', (-1,), ()), ('MPI_Send', (), (1,)), ('MPI_Recv', (1,), ()))] == 10"
run_gnomon free --trace ./passes free
wait_for_report free
"$gnomon" paths --at MPI_Barrier --top 0 --format json "$(folder_of free)" >free.json || fail "no answer"
holds free.json "{rank: sum(s['count'] for s in p['senders'] if s['rank'] == rank) for rank in (0, 1, 2)} == {0: 0, 1: 30, 2: 30}"
holds free.json "sum(c for steps, c in taken('MPI_Barrier').items() if len(steps) == 3 and steps[1][0] == 'MPI_Recv') == 30"
"$gnomon" paths --at MPI_Barrier --partners absolute --format json "$run" >absolute.json || fail "no answer"
holds absolute.json "taken('MPI_Barrier')[(('MPI_Barrier', (), ()), ('MPI_Recv', (1,), ()), ('MPI_Send', (), (2,)), ('MPI_Recv', (2,), ()))] == 20"
# by its place, as other commands have it
line=$(line_of "$here/fixtures/passes.c" "MPI_Sendrecv(")
"$gnomon" paths --at "MPI_Sendrecv at passes.c:$line" --format json "$run" >place.json || fail "no answer"
holds place.json "p['passes'] == 3 * 199"
status=0
"$gnomon" paths --at MPI_Nothing "$run" 2>why || status=$?
[ $status = 2 ] && grep -q MPI_Nothing why || fail "what is not there is found: $(cat why)"
for width in 72 100 140; do
    COLUMNS=$width "$gnomon" paths "$run" >text || fail "no text"
    python3 -c 'import sys; sys.exit(max(len(line.rstrip("\n")) for line in open("text", encoding="utf-8")) > int(sys.argv[1]))' "$width" ||
        fail "wider than $width: $(cat text)"
done
grep -q 'from -1 to +1' text && grep -q 'MPI_Bcast' text || fail "not told: $(cat text)"
"$gnomon" paths --format csv "$run" | head -1 | grep -q '^point,' || fail "no CSV"
# without a trace
run_gnomon some ./passes
wait_for_report some
"$gnomon" paths --top 0 --format json "$(folder_of some)" >some.json || fail "no answer without a trace"
holds some.json "any(path['steps'][0]['from'] == [-1] and path['steps'][0]['to'] == [1] for path in one('MPI_Sendrecv'))"
