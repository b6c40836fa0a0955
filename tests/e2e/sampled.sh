# Where time goes between two calls is found out by samples, and is what the program knows itself. Where samples may not be
# taken, or shall not be, it is said, and a computation is named by what it lies between.
. "$(dirname "$0")/lib.sh"
compile shares fixtures/shares.c -pthread -lm

# shares NAME FUNCTION: of the samples between two calls.
shares() {
    json "$1" "sum(x['samples'] for x in rows if x['kind'] == 'computation' and x['function'] == '$2' and x['known'] == 'samples')"
}

truth_of() {
    tail -1 "$work/$1.out"
}

# As far from the truth as chance may take it once in 100,000 times, and half a point.
check_shares() {
    python3 - $(truth_of "$1") "$(shares "$1" first)" "$(shares "$1" second)" "$(shares "$1" third)" <<'EOF' ||
import sys
truth, samples = [float(x) for x in sys.argv[1:4]], [int(x) for x in sys.argv[4:]]
n = sum(samples)
assert n > 50, f"{n} samples"
for t, s in zip(truth, samples):
    assert abs(s / n - t) < 4.4 * (t * (1 - t) / n) ** .5 + .005, f"{s} of {n} samples, {t:.4f} in truth"
EOF
        fail "$1: not the shares that the program knows: $(truth_of "$1")"
}

case $1 in
shares)
    run_gnomon one ./shares 2
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report one
    if [ "$(sql one "SELECT max(state) FROM sampling")" = refused ]; then
        skip "the kernel refuses perf_event_open"
    fi
    [ "$(sql one "SELECT count(*) FROM sampling WHERE state = 'sampled' AND samples > 20")" = "$n" ] || fail "not both ranks are sampled"
    check_shares one
    json one "any(x['function'] == 'third' and x['library'] and 'libm' in x['library'] for x in rows)" ||
        fail "sin is not known as what third called in libm"
    line=$(line_of "$here/fixtures/shares.c" 'value = value')
    json one "all(abs(x['line'] - $line) < 3 for x in rows if x['function'] == 'second' and x['known'] == 'samples')" ||
        fail "second is not named by its loop"
    [ "$(sql one "SELECT 100 * sum(unattributed) < sum(samples) FROM sampling")" = 1 ] || fail "samples are lost"
    ;;
threads)
    run_gnomon many ./shares 1 -t
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report many
    if [ "$(sql many "SELECT max(state) FROM sampling")" = refused ]; then
        skip "the kernel refuses perf_event_open"
    fi
    [ "$(sql many "SELECT sum(x.count) > 20 FROM sample x JOIN site s ON s.id = x.site WHERE x.other_threads AND s.function = 'beside'")" = 1 ] ||
        fail "a thread without calls is not seen"
    [ "$(sql many "SELECT count(*) FROM sample x JOIN site s ON s.id = x.site WHERE x.other_threads AND s.function IN ('first', 'second', 'third')")" = 0 ] ||
        fail "what the rank's own thread does is another one's"
    grep -q '^other threads of ranks kept [0-9.]* cores busy ([0-9,]* samples): [0-9.]* % beside (shares.c:[0-9]*)' "$work/many.err" || fail "the screen does not tell of it"
    json many "r['other_threads']['places'][0]['function'] == 'beside' and r['other_threads']['places'][0]['share'] > .9" || fail "… nor JSON"
    ;;
signal) # without events of the kernel's. One rank: where ranks take turns on a core, the kernel's ticks go along with the turns
    n=1
    for again in 1 2 3 4 5; do # … nor where other programs take turns with it: measured again, and if need be skipped
        run_gnomon own --sample signal ./shares 2
        [ "$status" = 0 ] || fail "exit status $status"
        wait_for_report own
        turns=$(sql own "SELECT coalesce(sum(preempted_ns), 0) > 1e8 FROM resource")
        [ "$turns" != 0 ] || break
    done
    [ "$(sql own "SELECT count(*) FROM sampling WHERE state = 'sampled' AND samples > 20 AND lost = 0")" = "$n" ] || fail "it is not sampled"
    [ "$turns" != 0 ] || check_shares own
    json own "any(x['function'] == 'third' and x['library'] and 'libm' in x['library'] for x in rows)" ||
        fail "sin is not known as what third called in libm"
    run_gnomon beside --sample signal ./shares 1 -t
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report beside
    [ "$(sql beside "SELECT sum(x.count) > 20 FROM sample x JOIN site s ON s.id = x.site WHERE x.other_threads AND s.function = 'beside'")" = 1 ] ||
        fail "a thread without calls is not seen"
    compile signals fixtures/signals.c -pthread
    run_gnomon harmless --sample signal,1000 ./signals
    [ "$status" = 0 ] || fail "exit status $status"
    [ "$(tail -1 "$work/harmless.out")" = ok ] || fail "it disturbs: $(tail -1 "$work/harmless.out")"
    wait_for_report harmless
    # of its processor time, however little the machine gives it; the kernel has no more than its ticks
    [ "$(sql harmless "SELECT min(samples) > 20 AND min(samples * 1e9 / time_ns) > 120 FROM sampling")" = 1 ] ||
        fail "a thousand a second were asked for: $(sql harmless "SELECT samples, time_ns FROM sampling")"
    run_gnomon taken --sample signal ./signals -t
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report taken
    [ "$(tail -1 "$work/taken.out")" = ok ] || fail "it takes a signal that is the program's"
    [ "$(sql taken "SELECT count(*) FROM sampling WHERE state = 'refused' AND reason LIKE '%by a signal%'")" = "$n" ] ||
        fail "it does not say that no signal is free"
    [ "$turns" = 0 ] || skip "shares are not judged, since other programs took turns with it in each of five runs"
    exit 0
    ;;
asleep | asleep_user) # what is slept, and what the kernel does, is not what another function computes
    compile asleep fixtures/asleep.c
    if [ "$1" = asleep_user ]; then # who may not see what the kernel does
        printf '#!/bin/sh\nexec setpriv --bounding-set=-sys_admin,-perfmon "%s" "$@"\n' "$gnomon" >as_user.sh
        chmod +x as_user.sh
        ./as_user.sh --version >user.txt 2>&1 || skip "no capabilities can be given up: $(cat user.txt)"
        [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -eq 2 ] || skip "kernel.perf_event_paranoid is not 2"
        gnomon=$PWD/as_user.sh
    fi
    for again in 1 2 3 4 5; do # where other programs have the cores, nobody knows whose time that was
        run_gnomon asleep ./asleep 40
        [ "$status" = 0 ] || fail "exit status $status"
        wait_for_report asleep
        turns=$(sql asleep "SELECT coalesce(sum(preempted_ns), 0) > 3e8 FROM resource")
        [ "$turns" != 0 ] || break
    done
    if [ "$(sql asleep "SELECT max(state) FROM sampling")" = refused ]; then
        skip "the kernel refuses perf_event_open"
    fi
    [ "$1" != asleep_user ] || [ "$(sql asleep "SELECT max(with_kernel) FROM sampling")" = 0 ] || fail "it sees the kernel"
    [ "$turns" = 0 ] || skip "not judged, since other programs took turns with it in each of five runs"
    run rows "$gnomon" report --format json "$(folder_of asleep)"
    "$gnomon" explain --format json "$(folder_of asleep)" >explained.json
    python3 - "$work/rows.out" $(truth_of asleep) "$(sql asleep "SELECT min(with_kernel) FROM sampling")" <<'EOF' || fail "not what the program has seen: $(truth_of asleep)"
import json, os, sys
rows, (work, dozed, touched) = json.load(open(sys.argv[1]))["activities"], [float(x) for x in sys.argv[2:5]]
with_kernel = sys.argv[5] == "1"
rows = [r for r in rows if r["kind"] == "computation"]
all_s = sum(r["total_s"] for r in rows)
may_look = True
try: # as the agent may, or not
    pid = os.fork()
    if pid == 0:
        import time
        time.sleep(1)
        os._exit(0)
    open(f"/proc/{pid}/syscall").read()
except PermissionError:
    may_look = False
computed = [r for r in rows if r["known"] == "samples" and r["function"] == "work"]
slept = [r for r in rows if r["doing"] == "sleeping" and r["function"] == "doze"]
unseen = [r for r in rows if r["known"] == "no samples"]
told = [("work", work, computed), ("doze", dozed, slept if may_look else unseen)]
if with_kernel: # what the kernel does for a page, and takes to give them back, is where it is touched
    told.append(("touch", touched, [r for r in rows if r["known"] == "samples" and r["function"] == "touch"]))
for name, truth, chosen in told:
    total = sum(r["total_s"] for r in chosen)
    off = sum(r["total_s"] * (r["high"] / r["share"] - 1) for r in chosen)
    print(f"{name}: {truth} s in truth, {total:.3f} ± {off:.3f} s told")
    assert chosen and abs(total - truth) <= off + 0.1 * truth, name
named = sum(r["total_s"] for r in rows if r["known"] == "samples" and r["function"] not in ("work", "doze", "touch"))
assert named < 0.1 * all_s, f"{named} s are told of others"
first = json.load(open("explained.json"))["causes"][0]
# where the kernel needs longer for pages than the program sleeps, that is what rank 0 is late by
kinds = ["blocked rank"] if dozed > touched else ["serial section", "static imbalance"]
kinds += [] if with_kernel else ["blocked rank"] # of pages nothing is seen
assert first["kind"] in kinds and first["ranks"] == [0], first
EOF
    ;;
polls) # of ranks that poll at one place, who sleeps in between is in MPI, and who computes is not
    compile unlike_polls fixtures/unlike_polls.c
    for again in 1 2 3 4 5; do
        run_gnomon polls ./unlike_polls
        [ "$status" = 0 ] || fail "exit status $status"
        wait_for_report polls
        turns=$(sql polls "SELECT coalesce(sum(preempted_ns), 0) > 3e8 FROM resource")
        [ "$turns" != 0 ] || break
    done
    if [ "$(sql polls "SELECT max(state) FROM sampling")" = refused ]; then
        skip "the kernel refuses perf_event_open"
    fi
    [ "$turns" = 0 ] || skip "not judged, since other programs took turns with it in each of five runs"
    json polls "all((x['useful_s'] > 1.2 and x['mpi_s'] < .3) if x['rank'] == 0 else (x['mpi_s'] > 1 and x['useful_s'] < .5)
                    for x in r['ranks'])" || fail "who computes is taken for who sleeps: $(json polls "r['ranks']")"
    json polls "r['efficiency']['parallel'] < .8" || fail "a rank that sleeps is told as useful"
    # nobody waits for anybody, and half of the time is lost: that is not balanced
    "$gnomon" explain --format json "$(folder_of polls)" >explained.json
    python3 -c 'import json; a = json.load(open("explained.json")); assert not a["balanced"], a' || fail "it is told as balanced"
    ;;
turns | stubs) # calls that take turns have the computations of both; what leads to another library is its caller's
    if [ "$1" = turns ]; then
        compile turns fixtures/turns.c
        larger=more smaller=less low=.52 high=.82
    else
        cc -O2 -g -shared -fPIC -DTINY -o libtiny.so "$here/fixtures/stubs.c"
        compile stubs fixtures/stubs.c -L. -ltiny "-Wl,-rpath,$PWD"
        larger=often smaller=seldom low=.6 high=.9
    fi
    # as in misses: what polls gives its core away to the tests beside this one
    OMPI_MCA_mpi_yield_when_idle=0 n=1 run_gnomon one --sample=500 "./$1"
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report one
    if [ "$(sql one "SELECT max(state) FROM sampling")" = refused ]; then
        skip "the kernel refuses perf_event_open"
    fi
    json one "(lambda a, b, there: a + b + there > .6 * sum(x['total_s'] for x in rows if not x['called']) and $low < a / (a + b) < $high)(
              *[sum(x['total_s'] for x in rows if x['function'] == f and x['known'] == 'samples') for f in ('$larger', '$smaller', 'tiny')])" --by place || # the return from tiny takes most on some processors
        fail "not what is computed: $(json one "[(x['name'], x['function'], x['called'], x['total_s']) for x in rows]" --by place)"
    ;;
misses) # what memory keeps the program waiting for is the program's, although it is in a call by then
    compile misses fixtures/misses.c
    # six million polls, each of which would give its core to whatever else runs here, for some ms each
    OMPI_MCA_mpi_yield_when_idle=0 n=1 run_gnomon misses ./misses
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report misses
    if [ "$(sql misses "SELECT max(state) FROM sampling")" = refused ]; then
        skip "the kernel refuses perf_event_open"
    fi
    json misses "(lambda computed: computed('plain') > .6 * computed('ordered') > .1)(
                 lambda f: sum(x['total_s'] for x in rows if x['function'] == f and x['known'] == 'samples' and not x['called']))" --by place ||
        fail "updates are told as the call behind them: $(json misses "[(x['function'], x['called'], x['total_s']) for x in rows]" --by place)"
    ;;
plugins) # what is loaded where something else was before
    for name in alpha beta; do
        cc -O2 -g -shared -fPIC "-DNAME=$name" -o "lib$name.so" "$here/fixtures/plugins.c"
    done
    compile plugins fixtures/plugins.c -ldl
    n=1
    run_gnomon plugins ./plugins ./libalpha.so ./libbeta.so ./libalpha.so ./libbeta.so
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report plugins
    if [ "$(sql plugins "SELECT max(state) FROM sampling")" = refused ]; then
        skip "the kernel refuses perf_event_open"
    fi
    json plugins "all(.35 < sum(x['total_s'] for x in rows if x['function'] == name) /
                      sum(x['total_s'] for x in rows if x['known'] == 'samples') < .65 for name in ('alpha', 'beta'))" ||
        fail "one plug-in is taken for the other"
    ;;
devices)
    cc -O2 -g -shared -fPIC -DLIBRARY -Wl,-soname,libcuda.so.1 -o libcuda.so.1 "$here/fixtures/devices.c"
    compile devices fixtures/devices.c ./libcuda.so.1 -Wl,-rpath,"$PWD"
    run_gnomon devices ./devices
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report devices
    if [ "$(sql devices "SELECT max(state) FROM sampling")" = refused ]; then
        skip "the kernel refuses perf_event_open"
    fi
    grep -q 'waiting for a GPU (cuStreamSynchronize), called by step' "$work/devices.err" || fail "it is not told what is waited for"
    # of the steps: how MPI starts and ends takes as long as the machine lets it
    json devices "any(x['doing'] == 'waiting for a GPU' and x['share'] > .6 * (1 - sum(y['share'] for y in rows if y['name'] in ('MPI_Init', 'MPI_Finalize'))) for x in rows)" ||
        fail "… nor for how long"
    ;;
gaps) # four ranks a core: what is on no core is found between the calls where the program itself has seen it
    compile gaps fixtures/gaps.c
    n=$((4 * $(nproc)))
    [ "$n" -le 16 ] || n=16
    run_gnomon gaps ./gaps 40
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report gaps
    if [ "$(sql gaps "SELECT max(state) FROM sampling")" = refused ]; then
        skip "the kernel refuses perf_event_open"
    fi
    run by_callpath "$gnomon" report --by callpath --format json "$(folder_of gaps)"
    first=$(line_of "$here/fixtures/gaps.c" 'MPI_Barrier(') second=$(line_of "$here/fixtures/gaps.c" 'MPI_Allreduce(')
    python3 - "$work/by_callpath.out" $(truth_of gaps) "$first" "$second" <<'EOF' || fail "not what the program has seen: $(truth_of gaps)"
import json, sys
rows, truth, lines = json.load(open(sys.argv[1]))["activities"], [float(x) for x in sys.argv[2:4]], sys.argv[4:]
for t, (start, end) in zip(truth, (lines[::-1], lines)):
    here = [r for r in rows if r["kind"] == "computation" and r["callpath"].endswith(f"main:{end}") and f"main:{start} →" in r["callpath"]]
    low, high = (sum(r["off_core_s"][x] for r in here) for x in ("lo", "hi"))
    total, ready = (sum(f(r) for r in here) for f in (lambda r: r["total_s"], lambda r: r["preempted_s"]["hi"]))
    print(f"{t} s: {low} to {high} of {total} s in {len(here)} rows")
    assert here and t > 0 and low - .02 * t <= t <= high + .02 * t and ready > .9 * t, (t, here)
EOF
    ;;
off)
    run_gnomon off --sample off ./shares 0.2
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report off
    [ "$(sql off "SELECT DISTINCT state FROM sampling")" = off ] || fail "it was to be off"
    ;;
refused | deadly) # as containers do it
    compile without fixtures/without.c
    how=errno
    [ "$1" = refused ] || how=kill
    run "$1" ./without $how perf_event_open "$MPIRUN" -n "$n" "$gnomon" run ./shares 0.2
    [ "$status" != 77 ] || skip "no seccomp"
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report "$1"
    [ "$(sql "$1" "SELECT DISTINCT state FROM sampling")" = refused ] || fail "it was refused"
    sql "$1" "SELECT reason FROM sampling" | grep -q 'perf_event_open: ' || fail "no reason is told"
    json "$1" 'r["run"]["complete"]' || fail "the run is not complete"
    ;;
esac

# Without samples: between the same call and itself.
case $1 in off | refused | deadly)
    line=$(line_of "$here/fixtures/shares.c" 'MPI_Allreduce(')
    [ "$(sql "$1" "SELECT count(*) FROM sample")" = 0 ] || fail "there are samples"
    json "$1" "any(x['kind'] == 'computation' and x['known'] == 'range' and x['function'] == x['until_function'] == 'main' and
               x['line'] == x['until_line'] == $line for x in rows)" || fail "not named by what it lies between"
    ;;
esac
