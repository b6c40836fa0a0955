# When a run is over, however it ended, nothing of gnomon is left but its folder: no file, no link, no process.
. "$(dirname "$0")/lib.sh"
end=$1
program=$examples/crash.$FLAVOUR
export XDG_RUNTIME_DIR=$work/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"

agents() { # of this test: they are where its ranks were
    for process in /proc/[0-9]*; do
        case $(readlink "$process/cwd") in "$work"/*) ;; *) continue ;; esac
        [ "$(cat "$process/comm")" != gnomon ] || echo "${process#/proc/}"
    done 2>/dev/null
}

files() { # of ours in places that others use, too; all but MPI's in this test's own
    find /dev/shm -name '*gnomon*' ! -name 'gnomon-fuzz.*' # another test's
    find /tmp -maxdepth 1 -type l -lname "*$work/*"
    find "$XDG_RUNTIME_DIR" "$TMPDIR" -mindepth 1 ! -path '*ompi*' ! -path '*pmix*' ! -path '*prte*' ! -path '*hydra*'
    find . -name '.gnomon*'
}

case $end in
ok | kill | abort)
    run run "$MPIRUN" -n $n "$gnomon" run --trace "$program" $end
    cat "$work/run.err" >"$work/kept.err"
    ;;
launcher) # killed, and its ranks with it
    compile until fixtures/until.c
    "$MPIRUN" -n $n "$gnomon" run --trace ./until over >"$work/run.out" 2>"$work/run.err" </dev/null &
    for _ in $(seq 600); do
        ls gnomon-*/parts/*.open >"$work/marks" 2>/dev/null && break
        sleep 0.1
    done
    [ -n "$(agents)" ] || fail "no agent is seen while the program runs"
    kill -KILL $!
    wait $! || :
    touch over
    ;;
spaces) # the library is reached by a link
    mkdir "a b" && cp -rL "$BUILD/bin" "$BUILD/lib" "a b/"
    compile until fixtures/until.c
    "$MPIRUN" -n $n "a b/bin/gnomon" run ./until over >"$work/run.out" 2>"$work/run.err" </dev/null &
    for _ in $(seq 600); do
        ls gnomon-*/parts/*.open >"$work/marks" 2>/dev/null && break
        sleep 0.1
    done
    [ -n "$(files)" ] || fail "no link is seen while the program runs"
    touch over
    wait $! || fail "exit status $?"
    ;;
esac

for _ in $(seq 600); do
    [ -n "$(agents)" ] || break
    sleep 0.1
done
[ -z "$(agents)" ] || fail "an agent is left: $(agents)"
[ -z "$(files)" ] || fail "files are left: $(files)"
[ -s gnomon-*/profile.db ] || fail "there is no profile"
[ "$(ls -A gnomon-* | sort | tr '\n' ' ')" = "config profile.db $([ $end = spaces ] && echo windows || echo trace) " ] ||
    fail "other things in the run's folder: $(ls -AR gnomon-*)"
