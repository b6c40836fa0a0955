# However a program is started, it is measured, and it and its children do not notice.
. "$(dirname "$0")/lib.sh"
program=$examples/crash.$FLAVOUR
rounds=400 # 2 ranks, 200 rounds

measured() { # NAME RANKS
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report $1
    json $1 "r['run']['complete'] and r['run']['ranks'] == $2" || fail "not $2 complete ranks"
    json $1 "sum(x['count'] for x in rows if x['name'] == 'MPI_Allreduce') == 200 * $2" || fail "not all was measured"
    [ "$(ls -d gnomon-* | wc -l)" = 1 ] || fail "more than one folder: $(ls)"
}

case $1 in
after)
    run_gnomon run "$program" ok
    measured run 2
    ;;
before)
    run run "$gnomon" run -- "$MPIRUN" -n 2 "$program" ok
    measured run 2
    ;;
before_bad) # the launcher's exit status is handed on
    run_bare bare "$program" abort
    expected=$status
    run run "$gnomon" run "$MPIRUN" -n 2 "$program" abort
    [ "$status" = "$expected" ] || fail "exit status $status, without gnomon $expected"
    wait_for_report run
    grep -q PARTIAL "$work/run.err" || fail "not PARTIAL"
    ;;
before_mpmd)
    run run "$gnomon" run "$MPIRUN" -n 1 "$program" ok : -n 1 "$program" ok
    measured run 2
    ;;
aside) # one rank finds no agent: it runs all the same and says so once, and the run is partial
    printf '#!/bin/sh\n[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] && export GNOMON_AGENT=nobody\nexec "%s" ok\n' \
        "$program" >lost.sh
    chmod +x lost.sh
    run_bare bare "$program" ok
    run_gnomon run ./lost.sh
    [ "$status" = 0 ] || fail "exit status $status"
    diff "$work/bare.out" "$work/run.out" || fail "other output than without gnomon"
    wait_for_report run
    [ "$(grep -c 'is not measured: ' "$work/run.err")" = 1 ] || fail "not said exactly once"
    json run "not r['run']['complete'] and [t['rank'] for t in troubles] == [1]" || fail "rank 1 is not named as missing"
    json run "sum(x['count'] for x in rows if x['name'] == 'MPI_Allreduce') == 200" || fail "rank 0 was not measured"
    ;;
script)
    printf '#!/bin/sh\necho script\n"%s" "$@"\n' "$program" >wrapper.sh
    chmod +x wrapper.sh
    run_gnomon run ./wrapper.sh ok
    measured run 2
    [ "$(grep -c script "$work/run.out")" = 2 ] || fail "the script's own output"
    ;;
interpreter)
    run_gnomon run python3 -c 'import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:], close_fds=False))' "$program" ok
    measured run 2
    ;;
around) # a script that itself calls mpirun
    printf '#!/bin/sh\nexec "%s" -n 2 "%s" ok\n' "$MPIRUN" "$program" >job.sh
    chmod +x job.sh
    run run "$gnomon" run ./job.sh
    measured run 2
    ;;
singleton)
    run run "$gnomon" run "$program" ok --rank 0
    measured run 1
    ;;
nompi)
    run run "$gnomon" run sh -c 'echo hello; exit 5'
    [ "$status" = 5 ] || fail "exit status $status"
    [ "$(cat "$work/run.out")" = hello ] || fail "other output"
    wait_for_report run
    grep -q 'no MPI was seen' "$work/run.err" || fail "it does not say that there is no MPI"
    [ -z "$(ls)" ] || fail "something was left: $(ls)"
    run_gnomon all "$program" noinit
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report all
    [ -z "$(ls)" ] || fail "something was left: $(ls)"
    run front "$gnomon" run "$MPIRUN" -n 2 "$program" noinit
    [ "$status" = 0 ] || fail "exit status $status"
    grep -q 'nothing was measured' "$work/front.err" || fail "it does not say that nothing was measured"
    [ -z "$(ls)" ] || fail "something was left: $(ls)"
    ;;
children)
    compile children fixtures/children.c
    run_bare bare ./children
    run_gnomon run ./children
    diff "$work/bare.out" "$work/run.out" || fail "children see that they are measured"
    ;;
not_found)
    run run "$gnomon" run ./does_not_exist
    [ "$status" = 2 ] || fail "exit status $status"
    grep -q does_not_exist "$work/run.err" || fail "the message does not name it"
    [ -z "$(ls)" ] || fail "something was left: $(ls)"
    ;;
other_root) # a program with another root, as in a container: the agent is outside. Copies, never mounts: they are removed
    [ "$(id -u)" = 0 ] || skip "not root"
    mkdir -p "$work/root/bin"
    cp -L "$(command -v sh)" "$work/root/bin/sh"
    for file in $(ldd "$(command -v sh)" | grep -o '/[^ ]*'); do
        mkdir -p "$work/root$(dirname "$file")" && cp -L "$file" "$work/root$file"
    done
    run hidden "$gnomon" run chroot "$work/root" /bin/sh -c 'echo hello; exit 5' # libgnomon.so cannot be seen there
    [ "$status" = 5 ] || fail "exit status $status"
    [ "$(cat "$work/hidden.out")" = hello ] || fail "other output"
    wait_for_report hidden
    grep -q 'no MPI was seen' "$work/hidden.err" || fail "it does not say that nothing was seen"
    library=$(readlink -f "$BUILD/lib/gnomon/libgnomon.so")
    mkdir -p "$work/root$(dirname "$library")" && cp "$library" "$work/root$library"
    for file in $(ldd "$library" | grep -o '/[^ ]*'); do # every glibc has these
        mkdir -p "$work/root$(dirname "$file")" && cp -L "$file" "$work/root$file"
    done
    run seen "$gnomon" run chroot "$work/root" /bin/sh -c 'echo hello; exit 5'
    [ "$status" = 5 ] || fail "exit status $status"
    grep -q 'cannot be preloaded' "$work/hidden.err" || fail "ld.so says nothing of a library that is not there"
    ! grep -q 'cannot be preloaded' "$work/seen.err" || fail "it was not preloaded"
    ;;
waiting) # for a host that has not finished: that is told after a second, and the report comes all the same
    printf '#!/bin/sh\n"%s" ok\nfor parts in gnomon-*/parts; do mkdir -p "$parts/another.open"; done\n' "$program" >wrapper.sh
    chmod +x wrapper.sh
    (for _ in $(seq 300); do
        grep -q 'its profile is being finished' "$work/run.err" 2>/dev/null && break
        sleep 0.1
    done
    rmdir gnomon-*/parts/another.open gnomon-*/parts) &
    run run "$gnomon" run -- "$MPIRUN" -n 2 ./wrapper.sh
    wait
    grep -q 'its profile is being finished' "$work/run.err" || fail "nothing was told"
    measured run 2
    ;;
spaces) # in the names of program, folder and library
    mkdir "a b" && cp "$program" "a b/my program" && cp -r "$BUILD/bin" "$BUILD/lib" "a b/"
    cd "a b"
    gnomon="./bin/gnomon"
    run_gnomon run "./my program" ok
    measured run 2
    ;;
esac
