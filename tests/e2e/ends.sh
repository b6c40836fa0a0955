# Whoever is killed, and whatever becomes of the disk: what report and trace hold is compared with what the program has
# counted itself (fixtures/ends.c). AFTER: seconds from its first steps to the end
# that is tested; by hand also 10 and 70, with KILLS=1.
. "$(dirname "$0")/lib.sh"
what=$1 after=${2:-0.1}
case $what in disk_*) need_mounts "$@" ;; esac
. "$here/ends_lib.sh"

# A disk of the test's own, that another program fills: whatever becomes free is taken, until it stops.
small_disk() {
    mount -t tmpfs -o size=8m none "$work/cwd"
    cd "$work/cwd"
}
fill() {
    while [ -e "$work/cwd" ]; do
        dd if=/dev/zero bs=4k oflag=append conv=notrunc of=fill 2>/dev/null || :
        sleep 0.05
    done &
    filler=$!
    sleep 0.2
}
stop_filling() {
    kill $filler
    wait $filler 2>/dev/null || :
}

# What is known of the clocks.
bounds() {
    python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for table in "clock_bound", "clock_refuted": print(table, *db.execute(f"SELECT * FROM {table} ORDER BY 1, 2"))
print(*db.execute("SELECT name, reached, rate_lo_ppb, rate_hi_ppb, width_ns FROM clock_domain ORDER BY 1"))' gnomon-*/profile.db
}

case $what in
disk_start) # full from the beginning: the profile lies elsewhere, there is no trace, and both is said
    small_disk
    fill
    begin_ends --trace
    end_ends
    wait_for_report run
    stop_filling
    [ $status = 0 ] || fail "exit status $status"
    held equal "$(folder_of run)"
    json run "r['trace']['archives'] == r['trace']['events'] == 0 < r['trace']['unwritten']" || fail "another trace than none"
    grep -q '^trace: there is none: .*No space' "$work/run.err" || fail "the report does not say so"
    [ -z "$(ls -d gnomon-* 2>/dev/null)" ] || fail "something was left: $(ls -R gnomon-*)"
    ;;
disk_middle | disk_end) # the trace as far as it was written, what is missing is counted, the profile is in its place
    small_disk
    trace=--trace more=1000
    begin_ends --trace --trace-full=block # whatever else the machine does, only the disk loses events
    sleep "$after"
    [ $what = disk_end ] || fill
    sleep 2
    [ $what = disk_middle ] || fill
    stop_filling # it stays full; what gnomon gives back is not taken in that moment
    end_ends
    wait_for_report run
    [ $status = 0 ] || fail "exit status $status"
    case $(folder_of run) in gnomon-*) ;; *) fail "the profile lies in $(folder_of run)" ;; esac
    held full
    ;;
disk_profile) # its room was kept free
    small_disk
    begin_ends
    saved_once
    fill
    stop_filling
    end_ends
    wait_for_report run
    [ $status = 0 ] || fail "exit status $status"
    case $(folder_of run) in gnomon-*) ;; *) fail "the profile lies in $(folder_of run)" ;; esac
    held equal
    ;;
disk_definitions) # the trace's definitions cannot be written, either: they are when they can. Whether a disk is full in that
    # moment is luck: where they go, another one is mounted
    small_disk
    trace=--trace more=1000
    begin_ends --trace --trace-full=block
    within_20_s test -s gnomon-*/trace/part
    fill
    sleep 2
    stop_filling
    new=$(echo gnomon-*/trace)/definitions.new
    mkdir "$new"
    mount -t tmpfs -o size=4k none "$new"
    end_ends
    wait_for_report run
    [ $status = 0 ] || fail "exit status $status"
    [ ! -e gnomon-*/trace/traces.otf2 ] || fail "they were written"
    json run "r['run']['complete'] and 'gnomon merge' in r['trace']['error']" || fail "it does not say what to do"
    ! "$gnomon" merge gnomon-* 2>"$work/merge.err" || fail "merged, and it cannot be"
    grep -q 'definitions' "$work/merge.err" || fail "it does not say why not: $(cat "$work/merge.err")"
    bounds >"$work/bounds.before"
    rm fill
    umount "$new"
    "$gnomon" merge gnomon-* || fail "merge"
    held full
    bounds >"$work/bounds.after"
    [ -s "$work/bounds.before" ] && diff "$work/bounds.before" "$work/bounds.after" || fail "the clocks are no longer solved"
    json run "'No space' in r['trace']['error'] and r['trace']['unwritten'] > 0" || fail "why it is not whole is not told"
    "$gnomon" merge gnomon-* 2>&1 | grep -q 'nothing to finish' || fail "it is finished again"
    ;;
agent | agent_traced | agent_limited) # the agent, again and again: nothing is lost
    case $what in
    *_traced) trace=--trace ;;
    *_limited) ulimit -v 3000000 ;; # tables are smaller
    esac
    begin_ends $trace
    for _ in $(seq "${KILLS:-3}"); do
        sleep "$after"
        kill_one agent
        another_agent
    done
    end_ends
    [ $status = 0 ] || fail "exit status $status"
    wait_for_report run
    held equal
    ! grep -q PARTIAL "$work/run.err" || fail "a whole run is called partial"
    no_zombie
    ;;
agent_finishing) # the agent, while it finishes the run: the next one does it again
    trace=--trace
    begin_ends --trace
    open=$(mark)
    touch "$log.stop"
    kills=0
    while [ -e "$open" ] && [ $kills -lt 4 ]; do # the mark goes when the profile is saved
        # held still first: with the mark there, it has not saved, and told nothing yet
        if grep -qs 'state finishing' "$open"; then
            agent=$(sed -n 's/^agent //p' "$open" 2>/dev/null) || break
            kill -STOP "$agent" 2>/dev/null || continue
            while grep -qs '^State:.[^T]' "/proc/$agent/status"; do :; done
            if [ -e "$open" ]; then
                kill -KILL "$agent" 2>/dev/null && kills=$((kills + 1))
            else
                kill -CONT "$agent" 2>/dev/null || break
            fi
        fi
        sleep 0.02
    done
    wait_for_end
    [ $status = 0 ] || fail "exit status $status"
    wait_for_report run
    [ $kills -gt 0 ] || skip "it had finished before it could be killed"
    [ "$(grep -c '^next: ' "$work/run.err")" = 1 ] || fail "not one report"
    held equal
    ;;
agent_saved) # the agent, when all is saved and nothing told: the next one tells it, and leaves what is whole alone
    trace=--trace
    cc -shared -fPIC -o "$work/dies.so" "$here/fixtures/dies_saved.c" 2>"$work/compile.err" || fail "dies_saved.c"
    export GNOMON_TEST_PRELOAD="$work/dies.so" GNOMON_TEST_DIED="$work/died"
    begin_ends --trace
    end_ends
    [ $status = 0 ] || fail "exit status $status"
    wait_for_report run
    [ -e "$work/died" ] || fail "the agent was not killed"
    held equal
    ;;
guard) # the agent goes on by itself
    begin_ends
    sleep "$after"
    kill_one guard
    end_ends
    [ $status = 0 ] || fail "exit status $status"
    wait_for_report run
    held equal
    ;;
both | both_traced) # nobody is left: the program ends well and says so, what was saved can be had
    [ "$what" = both ] || trace=--trace
    begin_ends $trace
    sleep "$after"
    saved_once
    guard=$(pid_of guard) agent=$(pid_of agent)
    kill -KILL "$guard" "$agent"
    within_20_s is_dead "$guard"
    within_20_s is_dead "$agent"
    end_ends
    [ $status = 0 ] || fail "exit status $status"
    grep -q '^over$' "$work/run.out" || fail "the program did not come to its end"
    [ "$(grep -c "gnomon's agent and guard on this host have died" "$work/run.err")" = "$n" ] || fail "not said once by each rank"
    held saved
    ;;
rank | rank_traced) # one of the program's processes
    [ "$what" = rank ] || trace=--trace
    begin_ends $trace
    sleep "$after"
    kill -KILL "$(pid_of_rank 1)"
    wait_for_end
    [ $status != 0 ] || fail "the job ended well"
    wait_for_report run
    held killed
    ;;
all | all_traced) # everything at once, as with a cgroup or a node: whoever asks for the run next finishes it
    [ "$what" = all ] || trace=--trace
    begin_ends $trace
    sleep "$after"
    saved_once
    kill_all
    wait_for_end
    held saved
    ;;
merge) # the same, by name
    begin_ends --trace
    saved_once
    kill_all
    wait_for_end
    "$gnomon" merge gnomon-* 2>"$work/merge.err" || fail "merge: $(cat "$work/merge.err")"
    [ -s gnomon-*/profile.db ] && [ -s gnomon-*/trace/traces.otf2 ] && [ ! -e gnomon-*/parts ] || fail "not finished: $(ls -R)"
    held saved
    ;;
term) # a resource manager: SIGTERM to all, and SIGKILL after a grace
    begin_ends
    sleep "$after"
    kill -TERM $(all_pids)
    sleep 1
    kill_all
    wait_for_end
    held killed_or_saved
    ;;
folder | folder_traced) # it is removed while the program runs: the program ends as it would
    [ $what = folder ] || traced=--trace
    begin_ends ${traced-}
    sleep "$after"
    until rm -rf gnomon-* 2>/dev/null; do sleep 0.1; done # the agent may be writing there
    end_ends
    [ $status = 0 ] || fail "exit status $status"
    wait_for_report run
    case $(folder_of run) in "$TMPDIR"/*) ;; *) fail "the folder is $(folder_of run)" ;; esac
    held equal "$(folder_of run)"
    [ $what = folder ] || json run "r['trace']['events'] == r['trace']['archives'] == 0 < r['trace']['unwritten'] and
        'removed' in r['trace']['error'] and 'gnomon merge' not in r['trace']['error']" || fail "what became of the trace is not told"
    ;;
esac
