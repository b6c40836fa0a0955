# Threads of a rank that use the same channels at the same time: whatever order events arrive in, no receive is joined to a send
# that comes later on the same clock, no send to two receives, none is left over, and who is not marked got the message that
# the sort says. The messages themselves say whose they are (check_shared.py).
#
#   shared_channels.sh tag|random|sync [RANKS [THREADS [EPOCHS [SEEDS]]]]      2 ranks, 4 threads, 8 epochs, seed 1
#
# In an epoch of `tag` each thread sends 8 messages to each other rank: a million by 4 ranks of 4 threads are 2605 epochs
# (docs/testing.md). `random` has other communicators, tags, wildcards and calls with each seed. `sync`: a trace of one counter, in
# which nothing is wrong, stays as it is; where each rank's clock is wrong, no repaired time is farther from the truth than that.
. "$(dirname "$0")/lib.sh"

mode=$1 n=${2:-2} threads=${3:-4} epochs=${4:-8} seeds=${5:-1}
most=3600
limits=
compile "$work/shared_channels" fixtures/shared_channels.c -pthread

# judge TRACE ARRIVAL
judge() {
    run order "$gnomon" order --arrival "$2" --to jsonl --stats --format json -o events.jsonl \
        --when 'kind ~ "mpi_*send" || kind ~ "mpi_*recv" || kind = collective_end' "$1"
    [ "$status" = 0 ] || fail "seed $seed, $2: exit status $status"
    python3 "$here/check_shared.py" . events.jsonl "$work/order.out" $limits >"$work/judged.out" 2>&1 ||
        fail "seed $seed, $1, $2: $(cat "$work/judged.out")"
    echo "seed $seed, $2: $(cat "$work/judged.out")"
}

if [ $mode = sync ]; then
    [ "$FLAVOUR" = openmpi ] || skip "one MPI is enough for that"
    for seed in $seeds; do
        rm -rf truth.* gnomon-* same skewed repaired
        run gnomon "$MPIRUN" -n "$n" bash -c 'export GNOMON_HOST=host$OMPI_COMM_WORLD_RANK; exec "$@"' - \
            "$gnomon" run --trace --trace-full=block "$work/shared_channels" random $threads $epochs $seed
        [ "$status" != 77 ] || skip "this MPI has no MPI_THREAD_MULTIPLE"
        wait_for_report gnomon
        trace=$(folder_of gnomon)/trace
        run same "$gnomon" sync "$trace" -o same --presync none --verify --partial --format json
        [ "$status" = 0 ] && python3 -c 'import json, sys; sys.exit(json.load(sys.stdin)["moved"] != 0)' <"$work/same.out" || fail "seed $seed: a right trace is changed: $(head -c 2000 "$work/same.out")"
        "$BUILD/tests/fidelity/skew" "$trace" skewed 50000 $seed || fail "seed $seed: cannot be skewed"
        # what is estimated is no fact: how long messages take at least
        run repaired "$gnomon" sync skewed -o repaired --presync none --latency 0 --verify --partial
        [ "$status" = 0 ] || fail "seed $seed: gnomon sync: exit status $status"
        "$BUILD/tests/fidelity/fidelity" skewed none=repaired >errors.json || fail "seed $seed: no figures"
        python3 - <<'END' || fail "seed $seed: farther from the truth than the clocks were wrong: $(cat errors.json)"
import json
told = {r["times"]: r for r in map(json.loads, open("errors.json"))}
before, after = told["raw"]["error_max_us"], told["none"]["error_max_us"]
print(f"at most {before} us wrong before, {after} us after")
assert after <= before + 0.002
END
    done
    exit 0
fi

for seed in $seeds; do
    rm -rf truth.* gnomon-* plain
    run_gnomon gnomon --trace --trace-full=block "$work/shared_channels" $mode $threads $epochs $seed
    [ "$status" != 77 ] || skip "this MPI has no MPI_THREAD_MULTIPLE"
    [ "$status" = 0 ] || fail "seed $seed: exit status $status"
    wait_for_report gnomon
    trace=$(folder_of gnomon)
    for arrival in recorded roundrobin random:1 random:2 delayed delayed:buffer=20,latency=0..5ms; do
        judge "$trace" $arrival
    done
    # as check, sync and the analyses read it, and by rules of check_order's own, whose random order lets the threads of a long
    # trace get farther apart than the sort waits for (docs/order.md)
    random=
    [ "$epochs" -gt 500 ] || random=random:1
    run check_order "$BUILD/tests/unit/check_order" "$trace" aligned recorded $random delayed:buffer=50
    [ "$status" = 0 ] || fail "seed $seed: the order is not causal: $(cat "$work/check_order.out")"
    # without the numbers that gnomon's own traces have
    run plain "$gnomon" order --to otf2 -o plain "$trace"
    [ "$status" = 0 ] || fail "seed $seed: an archive cannot be written: exit status $status"
    if command -v otf2-print >/dev/null; then
        otf2-print plain/traces.otf2 >plain.txt 2>"$work/otf2.err"
        ! grep -q -e 'ATTRIBUTES.*gnomon\.\(number\|late\|unordered\)' plain.txt || fail "an archive of another command has numbers"
    fi
    limits=--known-limits # without numbers, marks of the first messages that threads share may be missing (docs/order.md)
    judge plain recorded
    judge plain random:1
    limits=
    # one counter, and nothing on it goes backward
    run check "$gnomon" check --format json "$trace"
    [ "$status" = 0 ] || fail "seed $seed: gnomon check: exit status $status: $(cat "$work/check.out")"
done
