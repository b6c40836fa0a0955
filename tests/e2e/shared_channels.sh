# Threads of a rank that use one tag at the same time: whatever order events arrive in, no receive is joined to a send that
# comes later on the same clock, no send to two receives, and none is left over.
. "$(dirname "$0")/lib.sh"

threads=4 messages=300
compile "$work/shared_tag" fixtures/shared_tag.c -pthread
run_gnomon gnomon --trace --trace-full=block "$work/shared_tag" $threads $messages
[ "$status" != 77 ] || skip "this MPI has no MPI_THREAD_MULTIPLE"
[ "$status" = 0 ] || fail "exit status $status"
wait_for_report gnomon

for arrival in recorded roundrobin random:1 random:2 delayed:buffer=20,latency=0..5ms; do
    run order "$gnomon" order --arrival "$arrival" --to jsonl --stats --format json -o events.jsonl "$(folder_of gnomon)"
    [ "$status" = 0 ] || fail "$arrival: exit status $status"
    python3 - events.jsonl "$work/order.out" $((2 * threads * messages)) <<'END' || fail "$arrival: not so"
import collections, json, sys
taken, early, receives, users = collections.Counter(), 0, 0, collections.Counter()
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e["kind"] not in ("mpi_recv", "mpi_irecv"):
        continue
    receives += 1
    users[e["rank"], e["location"]] += 1
    early += e["sent"] > e["time"]
    taken[e["sender"], e["sent"]] += 1
sort = json.load(open(sys.argv[2]))["sort"]
print(f"{receives} receives, {early} before their send, {sort['ambiguous']} ambiguous")
assert receives == int(sys.argv[3]), "all messages are there"
assert early == 0, "received before sent"
assert max(taken.values()) == 1, "a send is received twice"
assert len(users) == 8, "the channels are shared"
assert sort["unmatched_receives"] == sort["unmatched_sends"] == sort["backward_in_output"] == 0, sort
END
done
