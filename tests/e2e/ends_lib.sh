# ends_lib.sh — runs of fixtures/ends.c that come to an end of some kind, and what is left of them. After lib.sh.
#
#     begin_ends OPTION...    starts it under gnomon run; returns when it is at work
#     end_ends                lets it come to its end, and waits for that
#     pid_of agent|guard      as the run folder says
#     held HOW                compares report and trace with the program's own counts

log=$work/log
compile "$work/ends" fixtures/ends.c
trace= more=

begin_ends() {
    "$MPIRUN" -n "$n" "$gnomon" run "$@" "$work/ends" 100 "$log" $more >"$work/run.out" 2>"$work/run.err" </dev/null &
    launcher=$!
    within_20_s grep -q 'is at work' "$work/run.err"
}

wait_for_end() {
    status=0
    wait $launcher || status=$?
}

end_ends() {
    touch "$log.stop"
    wait_for_end
}

mark() {
    ls gnomon-*/parts/*.open
}

pid_of() {
    sed -n "s/^$1 //p" "$(mark)"
}

# Each rank has its log open under a name of its own.
pid_of_rank() {
    for process in /proc/[0-9]*; do
        grep -qs -F " $log.$1" "$process/maps" && echo "${process#/proc/}" && return
    done
}

all_pids() {
    for rank in $(seq 0 $((n - 1))); do
        pid_of_rank "$rank"
    done
    pid_of guard
    pid_of agent
}

kill_one() {
    killed=$(pid_of "$1")
    kill -KILL "$killed"
}

is_another() {
    [ "$(pid_of agent 2>/dev/null)" != "$killed" ] && kill -0 "$(pid_of agent)" 2>/dev/null
}

another_agent() {
    within_20_s is_another
}

# With some of the steps in it.
saved_once() {
    within_20_s is_saved
}

is_saved() {
    python3 - gnomon-*/parts/*.db 2>/dev/null <<'EOF'
import sqlite3, sys
steps = "SELECT count(*) FROM node n JOIN activity a ON a.id = n.activity WHERE a.name = 'MPI_Allreduce' AND n.count > 0"
sys.exit(sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True).execute(steps).fetchone()[0] < 2)
EOF
}

# The launcher and its daemons, too: as a cgroup is killed.
kill_all() {
    local all
    all=$(all_pids 2>/dev/null) || : # they may have ended
    kill -KILL $all $launcher $(pgrep -P $launcher) 2>/dev/null || :
    for process in $all; do
        within_20_s is_dead "$process"
    done
}

# Its guard has waited for the agent that was killed last.
no_zombie() {
    within_20_s test ! -e "/proc/$killed"
}

# held HOW [FOLDER]. equal: everything; killed: a rank was killed at some moment; saved: as of a moment that is told.
held() {
    "$gnomon" report "${2-$(ls -d gnomon-* | tail -1)}" --format json --no-trace >"$work/report.json" 2>"$work/report.err" ||
        fail "no report: $(cat "$work/report.err")"
    : >"$work/events"
    if [ -n "$trace" ]; then
        otf2-print gnomon-*/trace/traces.otf2 >"$work/events" 2>"$work/otf2.err" || fail "otf2-print cannot read the trace"
        [ ! -s "$work/otf2.err" ] || fail "otf2-print warns: $(head -5 "$work/otf2.err")"
    fi
    python3 "$here/check_ends.py" "$1" "$work/report.json" "$work/events" "$log" "$n" "${more:-0}" || fail "not what the program has counted"
}
