# Hosts meet, their clocks are compared, and whatever is missing, nothing hangs. Two ranks each of one machine are a
# host here (GNOMON_HOST): both count the same ticks, so the same reading must be the same moment on both.
. "$(dirname "$0")/lib.sh"
n=4
program=$examples/crash.$FLAVOUR
[ "$FLAVOUR" = openmpi ] && MPIRUN="$MPIRUN --bind-to none --oversubscribe"
ok=ok
[ "$FLAVOUR" = openmpi ] || ok="ok --after 30 --extra 30" # ranks that spin take as many slices of time as there are rounds

cat >on_hosts.sh <<'END' # ranks 0 and 1 are one host, 2 and 3 the other
#!/bin/sh
export GNOMON_HOST=h$((${OMPI_COMM_WORLD_RANK:-$PMI_RANK} / 2))
exec "$@"
END
chmod +x on_hosts.sh

on_hosts() { # NAME WORD...
    local name=$1
    shift
    run "$name" $MPIRUN -n 4 ./on_hosts.sh "$@"
    [ "$status" = 0 ] || fail "$name: exit status $status"
    wait_for_report "$name"
}

clocks() { # NAME EXPRESSION: over c, the report's member clocks, and d, its domains by host
    json "$1" "(lambda c, d: $2)(r['clocks'], {x['host']: x for x in r['clocks']['domains']})"
}

same_output() {
    run bare $MPIRUN -n 4 "$program" $ok
    diff "$work/bare.out" "$work/$1.out" || fail "other output than without gnomon"
}

compared() { # NAME
    clocks "$1" "sorted(d) == ['h0', 'h1'] and all(x['compared'] for x in d.values())" || fail "not both are compared"
    clocks "$1" "d['h0']['parent'] is None and d['h1']['parent'] == 'h0'" || fail "the reference is not rank 0's host"
    clocks "$1" "d['h1']['answered'] > 0 and 0 < d['h1']['width_ns'] < 10**9" || fail "no exchanges, or bounds of no use"
    grep -q 'clocks.*: 2 hosts compared to ± .* exchanges' "$work/$1.err" || fail "the report does not say so"
}

# Makes example.py of the example in docs/profile-format.md: class Clock, and db, the profile in this folder.
take_example() {
    sed -n '/^## When was that/,$ { /^```python/,/^```$/ { /^```/d; p } }' "$SOURCE/docs/profile-format.md" >example.py
    [ -s example.py ] || fail "there is no example in docs/profile-format.md"
}

# same_moment NAME LEFT RIGHT SHIFT: when LEFT's counter shows t, RIGHT's shows t + SHIFT: a moment on both is one moment,
# from long before the run to long after it.
same_moment() {
    take_example
    cat >>example.py <<END
left, right, shift = Clock(db, "$2"), Clock(db, "$3"), $4
first, last = db.execute("SELECT min(epoch_ticks), max(last_ticks) FROM clock_domain WHERE name = '$2'").fetchone()
for i in range(-1000, 2001):
    ticks = first + (last - first) * i // 1000
    a, b = left.interval(ticks), right.interval(ticks + shift)
    assert a[0] <= a[1] and b[0] <= b[1], (ticks, a, b)
    assert a[0] <= b[1] and b[0] <= a[1], ("not the same moment", ticks, a, b)
END
    (cd "$(folder_of "$1")" && python3 ../example.py >/dev/null 2>"$work/example.err") || fail "bounds of $2 and $3 are wrong"
}

# Hosts h0 and h1. On one of them the last core's counter is ahead of the others'; its first rank is bound to the first core.
processors_counter() { # cores have counters of their own only where that one is read, which some kernels do not trust
    [ "$(nproc)" -ge 2 ] || skip "one core"
    [ "$(uname -m)" = x86_64 ] && export GNOMON_COUNTER=tsc || export GNOMON_COUNTER=cntvct
}

two_counters() { # last|both RANK: the cores of its second rank, and its first one
    processors_counter
    export GNOMON_TEST_PATIENCE=3000 # to try cores that are busy with other things, too
    first=$(python3 -c 'import os; print(min(os.sched_getaffinity(0)))')
    last=$(python3 -c 'import os; print(max(os.sched_getaffinity(0)))')
    ahead=1000000000000
    [ "$1" = last ] && its=$last || its=$first,$last
    cat >on_hosts.sh <<END
#!/bin/sh
rank=\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}
export GNOMON_HOST=h\$((rank / 2))
[ \$((rank / 2 * 2)) != $2 ] || export GNOMON_TEST_DOMAIN=$last:+$ahead
[ \$rank != $2 ] || exec taskset -c $first "\$@"
[ \$rank != $(($2 + 1)) ] || exec taskset -c $its "\$@"
exec "\$@"
END
}

# Begins program `until` with gnomon on both hosts, in the background. `touch stop` ends it.
begin_until() {
    compile until fixtures/until.c
    timeout -k 5 120 $MPIRUN -n 4 ./on_hosts.sh "$gnomon" run ./until stop >"$work/run.out" 2>"$work/run.err" </dev/null &
    launcher=$!
}

end_until() {
    touch stop
    wait $launcher || fail "exit status $?"
    [ "$(cat "$work/run.out")" = over ] || fail "other output"
    wait_for_report run
}

agent_of() { # HOST, while it runs
    sed -n 's/^agent //p' gnomon-*/parts/$1.open
}

guard_of() {
    sed -n 's/^guard //p' gnomon-*/parts/$1.open
}

case $1 in
compared)
    on_hosts run "$gnomon" run --keep-exchanges 100 "$program" $ok
    same_output run
    compared run
    [ "$(ls -d gnomon-* | wc -l)" = 1 ] || fail "more than one run folder"
    [ ! -e gnomon-*/parts ] || fail "the parts of a whole run were kept"
    [ "$(sql run "SELECT count(*) > 0 FROM clock_message")" = 1 ] || fail "no messages in the profile"
    [ "$(sql run "SELECT count(*) BETWEEN 1 AND 100 FROM clock_exchange")" = 1 ] || fail "exchanges were not kept"
    ;;
document) # the example of docs/profile-format.md: the same reading is the same moment on both hosts
    on_hosts run "$gnomon" run "$program" $ok
    take_example
    cd "$(folder_of run)"
    python3 ../example.py >"$work/example.out" 2>"$work/example.err" || fail "the example does not run"
    [ "$(grep -c measured "$work/example.out")" = 2 ] || fail "the example does not know both hosts"
    cat >>../example.py <<'END'
left, right = Clock(db, "h0"), Clock(db, "h1")
first, last = db.execute("SELECT min(epoch_ticks), max(last_ticks) FROM clock_domain").fetchone()
length = last - first
for i in range(-1000, 2001): # from long before to long after
    ticks = first + length * i // 1000
    a, b = left.interval(ticks), right.interval(ticks)
    assert a[0] <= a[1] and b[0] <= b[1], (ticks, a, b)
    assert a[0] <= b[1] and b[0] <= a[1], ("not the same moment", ticks, a, b)
for clock in left, right:
    for ticks, lo, hi in clock.rows:
        assert clock.interval(ticks) == (lo, hi), ticks
END
    python3 ../example.py >/dev/null 2>"$work/example.err" || fail "the example gets other bounds"
    ;;
counters) # a group of cores that has a counter of its own is a clock domain, compared through the host's first one
    two_counters last 2
    on_hosts run "$gnomon" run "$program" $ok
    same_output run
    clocks run "[x['domain'] for x in c['domains']] == ['h0', 'h1', 'h1/2'] and all(x['compared'] for x in c['domains'])" ||
        fail "not three clocks"
    [ "$(sql run 'SELECT rank, clock_domain FROM process ORDER BY rank' | tr '\n' ' ')" = "0 h0 1 h0 2 h1 3 h1/2 " ] ||
        fail "ranks are on other clocks: $(sql run 'SELECT rank, clock_domain FROM process')"
    clocks run "c['ranks_without'] == ''" || fail "ranks without a clock"
    same_moment run h0 h1 0
    same_moment run h1 h1/2 $ahead
    same_moment run h0 h1/2 $ahead
    grep -q 'clocks.*: 3 counters of 2 hosts compared to ± ' "$work/run.err" || fail "the report does not say so"
    ;;
counters_traced) # an archive does not say on which counter an event is: those of such a host have no bounds
    for torn in 2 0; do
        two_counters last $torn
        on_hosts $torn "$gnomon" run --trace "$program" $ok
        "$gnomon" export --to csv --bounds -o events.csv "$(folder_of $torn)/trace" 2>"$work/export.err" || fail "no export"
        grep -q 'does not bound the clocks of 2 of its 4 locations' "$work/export.err" || fail "it is not told"
        python3 - events.csv $torn <<'END' >"$work/events.err" 2>&1 || fail "other events have bounds"
import csv, sys
bounded = {}
for row in csv.DictReader(open(sys.argv[1])):
    bounded.setdefault(int(row["rank"]), set()).add(row["lo_ns"] != "")
assert bounded == {rank: {rank // 2 * 2 != int(sys.argv[2])} for rank in range(4)}, bounded
END
    done
    ;;
counters_agent) # the agent of such a host reads one counter only; others' may run where they like
    two_counters last 2
    begin_until
    cores_of() {
        grep -h Cpus_allowed_list: /proc/$(agent_of $1)/task/*/status | sort -u
    }
    comparing() {
        grep -q gnomon-clock /proc/$(agent_of $1)/task/*/comm
    }
    within_20_s comparing h1
    within_20_s comparing h0
    left=$(cores_of h0) right=$(cores_of h1)
    end_until
    [ "$left" = "$(grep Cpus_allowed_list: /proc/self/status)" ] || fail "an agent was bound without need: $left"
    [ "$right" = "$(taskset -c 0-$((last - 1)) grep Cpus_allowed_list: /proc/self/status)" ] || fail "not bound: $right"
    ;;
astride) # a rank that may run on cores with different counters has no clock
    two_counters both 2
    on_hosts run "$gnomon" run "$program" $ok
    same_output run
    [ "$(sql run 'SELECT rank, clock_domain FROM process ORDER BY rank' | tr '\n' ' ')" = "0 h0 1 h0 2 h1 3 None " ] ||
        fail "ranks are on other clocks: $(sql run 'SELECT rank, clock_domain FROM process')"
    clocks run "c['ranks_without'] == '3'" || fail "the rank is not named in JSON"
    grep -q 'rank 3: not comparable with others in time' "$work/run.err" || fail "the report does not say so"
    ;;
unbound) # whoever did not look at the begin knows nothing of any time of the host
    processors_counter
    export GNOMON_TEST_DOMAIN=$(python3 -c 'import os; print(max(os.sched_getaffinity(0)))'):+1000000000000
    run run $MPIRUN -n 2 "$gnomon" run "$program" $ok
    wait_for_report run
    clocks run "[x['compared'] for x in c['domains']] == [False]" || fail "there is a clock"
    clocks run "'do not share the counter' in c['domains'][0]['problem']" || fail "the reason is not told"
    grep -q 'no time is compared between ranks' "$work/run.err" || fail "the report does not say so"
    [ "$(sql run 'SELECT count(*) FROM clock_bound')" = 0 ] || fail "there are bounds"
    ;;
launcher) # from in front of it
    run run "$gnomon" run --clock-interval 20 -- $MPIRUN -n 4 ./on_hosts.sh "$program" $ok
    # GNOMON_HOST comes too late for gnomon, which is ahead of the script: one host
    wait_for_report run
    clocks run "len(d) == 1 and c['domains'][0]['compared']" || fail "not one clock"
    ;;
one_host) # no MPI call of ours, and one clock
    compile libspy.so fixtures/spy.c -shared -fPIC -ldl
    run run $MPIRUN -n 2 env LD_PRELOAD="$PWD/libspy.so" "$gnomon" run "$program" $ok
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report run
    ! grep -q spy: "$work/run.err" || fail "gnomon has made a communicator for one host"
    clocks run "len(d) == 1 and c['domains'][0]['compared'] and c['domains'][0]['parent'] is None" || fail "not one clock"
    grep -q 'clocks.*: one counter (' "$work/run.err" || fail "the report does not say so"
    ;;
two_make_one) # communicator, by the two envoys
    compile libspy.so fixtures/spy.c -shared -fPIC -ldl
    on_hosts run env LD_PRELOAD="$PWD/libspy.so" "$gnomon" run "$program" $ok
    [ "$(grep -c spy: "$work/run.err")" = 2 ] || fail "not two envoys: $(grep -c spy: "$work/run.err")"
    ;;
mpi_fails | mpi_raises) # the job goes on, and the report says that there is no comparison
    compile libspy.so fixtures/spy.c -shared -fPIC -ldl
    mode=fail
    [ "$1" = mpi_raises ] && mode=raise
    on_hosts run env SPY=$mode LD_PRELOAD="$PWD/libspy.so" "$gnomon" run "$program" $ok
    same_output run
    json run "r['run']['complete']" || fail "not complete"
    clocks run "[x['compared'] for x in c['domains']].count(True) == 1" || fail "something was compared"
    clocks run "'could not connect' in d['h1']['problem']" || fail "the reason is not told"
    grep -q 'could not connect 2 hosts' "$work/run.err" || fail "the report does not say why"
    ;;
mpmd) # a rank runs without gnomon, on a host where another is measured: the hosts meet all the same
    run run $MPIRUN -n 1 ./on_hosts.sh "$gnomon" run "$program" $ok : -n 1 "$program" $ok : \
        -n 2 ./on_hosts.sh "$gnomon" run "$program" $ok
    [ "$status" = 0 ] || fail "exit status $status"
    same_output run
    wait_for_report run
    compared run
    ;;
mpmd_host) # no rank of a host runs with gnomon
    run run $MPIRUN -n 2 ./on_hosts.sh "$gnomon" run "$program" $ok : -n 2 "$program" $ok
    [ "$status" = 0 ] || fail "exit status $status"
    same_output run
    wait_for_report run
    clocks run "list(d) == ['h0'] and 'only 2 of 4 ranks were seen' in d['h0']['problem']" || fail "the reason is not told"
    ;;
aside) # the rank that the other host would have sent finds no agent; the next one goes
    cat >aside.sh <<'END'
#!/bin/sh
[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 2 ] && export GNOMON_AGENT=nobody
exec "$@"
END
    chmod +x aside.sh
    on_hosts run "$gnomon" run ./aside.sh "$program" $ok
    same_output run
    compared run
    ;;
unshared) # each host has a folder of its own
    mkdir h0 h1
    sed -i 's/^exec/cd $GNOMON_HOST; exec/' on_hosts.sh
    on_hosts run "$gnomon" run "$program" $ok
    same_output run
    cd h0
    clocks run "'do not share that folder' in d['h0']['problem']" || fail "the reason is not told"
    cd ..
    [ "$(ls -d h0/gnomon-*/profile.db h1/gnomon-*/profile.db | wc -l)" = 2 ] || fail "not a profile of each host"
    "$gnomon" merge -o whole.db h?/gnomon-*/profile.db || fail "they cannot be merged"
    "$gnomon" report whole.db >"$work/whole.err" || fail "the whole cannot be shown"
    grep -q 'h1 is not compared with the others' "$work/whole.err" || fail "the report of the whole does not say so"
    ;;
killed) # a rank of the other host: what was compared until then is there
    run run $MPIRUN -n 4 ./on_hosts.sh "$gnomon" run "$program" kill --rank 3
    wait_for_report run
    grep -q PARTIAL "$work/run.err" || fail "not PARTIAL"
    clocks run "sorted(d) == ['h0', 'h1']" || fail "not both clocks are in the profile"
    ;;
host_dies | reference_dies | reference_lost) # an agent and its guard, with kill -9: in the middle of the run, or before it was saved
    dead=h1 alive=h0
    [ "$1" = host_dies ] || dead=h0 alive=h1
    begin_until
    saved() { # batch systems announce the end with SIGTERM: then what is known is saved
        kill -TERM $(agent_of $1) &&
            [ "$(python3 -c 'import glob, sqlite3, sys
print(*sqlite3.connect(glob.glob("gnomon-*/parts/%s.db" % sys.argv[1])[0]).execute(sys.argv[2]).fetchone())' $1 \
                "$2")" = 1 ]
    }
    compared_by_now="SELECT max(received_ticks) > 0 FROM clock_message" # in h1's part, who asks
    within_20_s saved h1 "$compared_by_now"
    [ "$1" = reference_lost ] || within_20_s saved $dead "SELECT count(*) FROM clock_domain"
    kill -KILL $(guard_of $dead) $(agent_of $dead)
    [ "$1" != reference_lost ] || rm -f gnomon-*/parts/$dead.db # as if in its first half second
    touch -d '5 minutes ago' gnomon-*/parts/$dead.open # or the others wait for a minute whether it comes back
    sleep 2.5 # without it
    end_until
    grep -q PARTIAL "$work/run.err" || fail "not PARTIAL"
    if [ "$1" = reference_lost ]; then
        clocks run "list(d) == ['h1'] and not d['h1']['compared']" || fail "compared with a clock that is not known"
        [ "$(sql run 'SELECT count(*) FROM clock_bound')" = 0 ] || fail "there are bounds"
        exit 0
    fi
    clocks run "sorted(d) == ['h0', 'h1'] and all(x['compared'] for x in d.values())" || fail "not both are compared"
    clocks run "'did not live' in d['$dead']['problem']" || fail "it is not told that the agent has died"
    same_moment run h0 h1 0
    cat >>example.py <<END
# without a question for so long, bounds are wider by as much as rates may differ: 4 × 2 ppm at least
heard = db.execute("SELECT max(received_ticks) FROM clock_message").fetchone()[0]
hz, over = db.execute("SELECT hz, last_ticks FROM clock_domain WHERE name = '$alive'").fetchone()
silence_ns = (over - heard) / hz * 1e9
lo, hi = right.interval(over)
assert silence_ns > 2e9 and hi - lo > silence_ns * 7e-6, (silence_ns, lo, hi)
END
    (cd "$(folder_of run)" && python3 ../example.py >/dev/null 2>"$work/example.err") || fail "bounds did not get wider"
    ;;
interrupted) # Ctrl-C: what was compared until then is there
    $MPIRUN -n 4 ./on_hosts.sh "$gnomon" run "$examples/heat.$FLAVOUR" --iterations 10000000 \
        >"$work/run.out" 2>"$work/run.err" &
    for _ in $(seq 100); do
        [ "$(ls gnomon-*/parts/*.open 2>/dev/null | wc -l)" = 2 ] && [ -e gnomon-*/parts/meeting ] && break
        sleep 0.1
    done
    sleep 1
    kill -INT $!
    wait $! && fail "it ended well"
    wait_for_report run
    grep -q PARTIAL "$work/run.err" || fail "not PARTIAL"
    compared run
    ;;
no_stamps) # the kernel gives no time stamps: readings of this process do, wider and as right, and the report says so
    compile no_stamps.so fixtures/no_stamps.c -shared -fPIC -ldl
    GNOMON_TEST_PRELOAD="$PWD/no_stamps.so" on_hosts run "$gnomon" run "$program" $ok
    same_output run
    compared run
    clocks run "d['h1']['narrowed'] == 0" || fail "stamps that nobody gave were used"
    grep -q 'h1: .*time stamps' "$work/run.err" || fail "the report does not say that there are no stamps"
    ;;
two_counters) # one host reads the processor's counter, the other the kernel's clock: ticks of different lengths
    sed -i 's/^exec/[ $GNOMON_HOST = h0 ] || export GNOMON_COUNTER=monotonic_raw\nexec/' on_hosts.sh
    on_hosts run "$gnomon" run "$program" $ok
    same_output run
    compared run
    clocks run "d['h1']['counter'] == 'monotonic_raw'" || fail "h1 does not read the kernel's clock"
    clocks run "d['h1']['rate_lo_ppb'] <= 200000 and d['h1']['rate_hi_ppb'] >= -200000" || fail "their rates do not fit"
    ;;
nonsense) # settings of one host that make no sense are told with its name, and the program is measured all the same
    for setting in GNOMON_TEST_CLOCK=sundial GNOMON_COUNTER=sundial; do
        sed "s/^exec/[ \$GNOMON_HOST = h0 ] || export $setting\nexec/" on_hosts.sh >nonsense.sh
        chmod +x nonsense.sh
        run run $MPIRUN -n 4 ./nonsense.sh "$gnomon" run "$program" $ok
        [ "$status" = 0 ] || fail "$setting: exit status $status"
        wait_for_report run
        same_output run
        json run "r['run']['complete']" || fail "$setting: not complete"
        clocks run "sorted(d) == ['h0', 'h1']" || fail "$setting: not both hosts are in the profile"
        grep -q "h1.*${setting%=*}" "$work/run.err" || fail "$setting: the report names neither"
    done
    ;;
bad_option)
    for option in --clock-interval=0 --clock-branching=x --keep-exchanges=-1; do
        run bad "$gnomon" run $option "$program" $ok
        [ "$status" != 0 ] && grep -q -- "${option%=*}" "$work/bad.err" || fail "$option is not refused"
    done
    ;;
*) fail "which? $1" ;;
esac
