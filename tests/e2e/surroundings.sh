# What surrounds a job: a resource manager that kills, limits of memory, other tools that are preloaded. The program ends as it
# would without gnomon, and what was measured until then is there.
. "$(dirname "$0")/lib.sh"
program=$examples/crash.$FLAVOUR

# The ranks and the agent of the run that NAME.err belongs to are told by this variable: only processes of this test have it.
export GNOMON_TEST_OF=$work

# ours COMMAND: process ids of this test's that run COMMAND
ours() {
    for environment in /proc/[0-9]*/environ; do
        local pid=${environment#/proc/}
        pid=${pid%/environ}
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$1" ] || continue
        { tr '\0' '\n' <"$environment"; } 2>/dev/null | grep -qxF "GNOMON_TEST_OF=$work" && echo "$pid" || :
    done
}

# Whatever of a run is left, as the documentation says: made whole, into profile.db.
made_whole() {
    [ -s "$1/profile.db" ] || "$gnomon" merge -o "$1/profile.db" "$1"/parts/*.db 2>"$work/merge.err" ||
        fail "no profile can be made of $(ls -R "$1")"
}

# Begins program `until` in the background, and waits until it is measured.
begin_until() { # WORD...: what is in front of gnomon run
    compile until fixtures/until.c
    setsid "$@" "$MPIRUN" -n 2 "$gnomon" run ./until stop >"$work/run.out" 2>"$work/run.err" </dev/null &
    launcher=$!
    within_20_s eval 'ls gnomon-*/parts/*.open'
    within_20_s eval '[ $(ours until | wc -l) = 2 ]'
    sleep 2
}

# How many calls of a name the only run here has.
calls() {
    "$gnomon" report gnomon-* --format json | python3 -c 'import json, sys
print(sum(x["count"] for x in json.load(sys.stdin)["activities"] if x["name"] == sys.argv[1]))' "$1"
}

ended_badly() {
    "$gnomon" report gnomon-* >"$work/report.txt" || fail "no report"
    grep -q '^PARTIAL' "$work/report.txt" || fail "not PARTIAL: $(cat "$work/report.txt")"
}

case $1 in
terminated) # as resource managers do: SIGTERM to all that they started, and SIGKILL to who is still there 2 s later
    begin_until
    kill -TERM $launcher $(ours until) 2>/dev/null || :
    sleep 2
    kill -KILL $launcher $(ours until) 2>/dev/null || :
    within_20_s eval '[ -s "$(echo gnomon-*/profile.db)" ]'
    ended_badly
    [ "$(calls MPI_Bcast)" -gt 500 ] || fail "only $(calls MPI_Bcast) rounds are there"
    ;;
all_killed) # the same, and gnomon's agent is among them: it saves what there is, or ends the run in time
    begin_until
    kill -TERM $launcher $(ours until) $(ours gnomon) 2>/dev/null || :
    sleep 2
    kill -KILL $launcher $(ours until) $(ours gnomon) 2>/dev/null || :
    made_whole gnomon-*
    [ "$(calls MPI_Bcast)" -gt 500 ] || fail "only $(calls MPI_Bcast) rounds are there"
    ;;
address_space) # ulimit -v: whatever runs without gnomon runs with it, and is measured, or says why not
    measured=
    for mib in 16000 2000 1000 500 400 300 200 100; do
        limited() { # NAME LESS WORD...
            run "$1" "$MPIRUN" -n 2 sh -c "ulimit -v $(((mib - $2) * 1024)); exec \"\$0\" \"\$@\"" "${@:3}"
        }
        for less in 0 1 8; do # the library itself takes a MiB, and MPI libraries may fail under one limit and not under a lower one
            limited bare $less "$program" ok
            [ "$status" = 0 ] || continue 2
        done
        limited gnomon 0 "$gnomon" run "$program" ok
        if [ "$status" != 0 ]; then # Open MPI itself fails one time in five at its limit: its threads take memory in any order
            failed=$status
            for _ in $(seq 20); do
                limited again 0 "$program" ok
                [ "$status" = 0 ] || continue 2
            done
            fail "$mib MiB: exit status $failed, without gnomon 0, 23 times"
        fi
        diff "$work/bare.out" "$work/gnomon.out" || fail "$mib MiB: other output than without gnomon"
        wait_for_report gnomon
        if grep -q '^next: ' "$work/gnomon.err"; then
            json gnomon 'sum(x["count"] for x in rows if x["name"] == "MPI_Allreduce") in (200, 400)' ||
                fail "$mib MiB: calls are missing"
            measured="$measured $mib"
        else
            grep -q 'is not measured: ' "$work/gnomon.err" || fail "$mib MiB: not measured, and nobody says why"
        fi
    done
    [ "$measured" = ' 16000 2000' ] || fail "measured under limits of$measured MiB"
    ;;
one_limited) # one rank has no addresses for gnomon: who it is, and why it is not measured, is in the report
    printf '#!/bin/sh\n[ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 0 ] || ulimit -v 1000000\nexec "$@"\n' >limit.sh
    chmod +x limit.sh
    run bare "$MPIRUN" -n 2 ./limit.sh "$program" ok
    [ "$status" = 0 ] || skip "the MPI library does not run under this limit"
    run gnomon "$MPIRUN" -n 2 ./limit.sh "$gnomon" run "$program" ok
    [ "$status" = 0 ] || fail "exit status $status"
    diff "$work/bare.out" "$work/gnomon.out" || fail "other output than without gnomon"
    wait_for_report gnomon
    json gnomon 'not r["run"]["complete"] and sum(x["count"] for x in rows if x["name"] == "MPI_Allreduce") == 200' ||
        fail "called complete, or not the calls of one rank"
    report gnomon | grep -A3 '^PARTIAL' | grep -q 'rank 1 .*its address space is limited' || fail "rank 1 is not named with the reason"
    ;;
cgroup) # at its limit of memory: whom the kernel ends is told, and all that was measured is there
    [ "$(id -u)" = 0 ] || skip "not root"
    base=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup) limit=memory.limit_in_bytes
    [ -e "$base/$limit" ] || base=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup) limit=memory.max
    group=$base/gnomon-test-$$
    mkdir "$group" 2>/dev/null || skip "no cgroup can be made here"
    trap 'code=$?; cd /; rmdir "$group" 2>/dev/null || :
        grep -qF " $work/" /proc/self/mounts || rm -rf "$work" || :; exit $code' EXIT
    echo $((256 << 20)) >"$group/$limit" 2>/dev/null || skip "the memory of a cgroup cannot be limited here"
    compile hungry fixtures/hungry.c
    limited() {
        run "$1" sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$group" "${@:2}"
    }
    limited bare "$MPIRUN" -n 2 ./hungry
    [ "$status" != 0 ] || skip "the limit of this cgroup does not hold"
    limited gnomon "$MPIRUN" -n 2 "$gnomon" run ./hungry
    [ "$status" != 0 ] || fail "exit status 0, without gnomon another"
    wait_for_report gnomon
    grep -q '^PARTIAL' "$work/gnomon.err" || fail "not PARTIAL"
    json gnomon 'sum(x["count"] for x in rows if x["name"] == "MPI_Barrier") >= 200' || fail "calls before the end are missing"
    # on a busy machine both ends may be known no better than to the same moment
    json gnomon '[t["rank"] for t in troubles][:1] == [1]' || grep -q 'rank 1 .*as early as any' "$work/gnomon.err" ||
        fail "rank 1 is not the first"
    within_20_s eval '[ -z "$(cat "$group/cgroup.procs")" ]'
    ;;
no_shm) # not a page in /dev/shm: the MPI library may not run; if it does, it is measured
    need_mounts "$@"
    mount -t tmpfs -o size=4k none /dev/shm
    : >/dev/shm/taken 2>/dev/null && head -c 4096 /dev/zero >/dev/shm/taken || :
    run_bare bare "$program" ok
    expected=$status
    run_gnomon gnomon "$program" ok
    [ "$(test "$status" = 0 && echo well)" = "$(test "$expected" = 0 && echo well)" ] ||
        fail "exit status $status, without gnomon $expected"
    wait_for_report gnomon
    [ "$expected" = 0 ] || exit 0
    diff "$work/bare.out" "$work/gnomon.out" || fail "other output than without gnomon"
    json gnomon 'r["run"]["complete"] and sum(x["count"] for x in rows if x["name"] == "MPI_Allreduce") == 400' ||
        fail "not all was measured"
    ;;
no_proc) # hidden, in a mount namespace of the command's own: measured, with functions and lines
    unshare -m --propagation private sh -c 'mount -t tmpfs none /proc' 2>/dev/null || skip "may not mount"
    hidden() {
        run "$1" unshare -m --propagation private sh -c 'mount -t tmpfs none /proc && exec "$0" "$@"' "${@:2}"
    }
    hidden bare "$MPIRUN" -n 2 "$program" ok
    [ "$status" = 0 ] || skip "the MPI library does not run without /proc"
    hidden gnomon "$MPIRUN" -n 2 "$gnomon" run "$program" ok
    [ "$status" = 0 ] || fail "exit status $status, without gnomon 0"
    diff "$work/bare.out" "$work/gnomon.out" || fail "other output than without gnomon"
    wait_for_report gnomon
    json gnomon 'sum(x["count"] for x in rows if x["name"] == "MPI_Allreduce") == 400' || fail "not all was measured"
    report gnomon | grep -q 'MPI_Allreduce in round_of_messages  crash.c:' || fail "no function, or no line"
    ;;
preloaded) # another tool, with wrappers, an allocator and a signal handler of its own, before gnomon and after it
    compile libother_tool.so fixtures/other_tool.c -shared -fPIC -ldl
    tool=$PWD/libother_tool.so
    rounds() { # NAME CALLS: what the tool of each rank has seen
        [ "$(grep -c "^$2 calls, allocations seen" "$work/$1.tool")" = 2 ] ||
            fail "$1: the other tool has seen something else: $(cat "$work/$1.tool")"
    }
    for order in before after; do # of two that wrap a call, the first one has it; it may hand it on
        export OTHER_TOOL=$work/$order.tool
        if [ $order = before ]; then
            run $order "$MPIRUN" -n 2 env LD_PRELOAD="$tool" "$gnomon" run "$program" ok
        else # gnomon's library is in the environment already when the program's script adds another one
            printf '#!/bin/sh\nLD_PRELOAD=%s:$LD_PRELOAD exec "$@"\n' "$tool" >add.sh
            chmod +x add.sh
            run_gnomon $order ./add.sh "$program" ok
        fi
        [ "$status" = 0 ] || fail "$order: exit status $status"
        [ $order = before ] && rounds $order 0 || rounds $order 200
        wait_for_report $order
        json $order 'r["run"]["complete"] and sum(x["count"] for x in rows if x["name"] == "MPI_Allreduce") == 400' ||
            fail "$order: not all was measured"
        rm -rf gnomon-*
    done
    unset OTHER_TOOL
    run bare "$MPIRUN" -n 2 env LD_PRELOAD="$tool" "$program" segv
    expected=$status
    run gnomon "$MPIRUN" -n 2 env LD_PRELOAD="$tool" "$gnomon" run "$program" segv
    [ "$status" = "$expected" ] || fail "exit status $status, without gnomon $expected"
    if [ "$FLAVOUR" = mpich ]; then # Open MPI has a handler of its own, with gnomon and without
        [ "$(grep -c 'other tool: caught' "$work/gnomon.err")" = "$(grep -c 'other tool: caught' "$work/bare.err")" ] ||
            fail "the other tool's handler was not called as it is without gnomon"
    fi
    for allocator in libtcmalloc_minimal.so.4 libjemalloc.so.2; do # where there are
        ldconfig -p | grep -q "$allocator" || continue
        run $allocator "$MPIRUN" -n 2 env LD_PRELOAD=$allocator "$gnomon" run "$program" ok
        [ "$status" = 0 ] || fail "$allocator: exit status $status"
        wait_for_report $allocator
        json $allocator 'r["run"]["complete"]' || fail "$allocator: not complete"
    done
    ;;
*) fail "which? $1" ;;
esac
