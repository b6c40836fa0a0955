# No room where gnomon would write: the program does not notice, and the profile lies elsewhere and is named.
. "$(dirname "$0")/lib.sh"
need_mounts "$@"
program=$examples/crash.$FLAVOUR

case $1 in
shm) # /dev/shm full
    mount -t tmpfs -o size=8m none /dev/shm
    dd if=/dev/zero of=/dev/shm/fill bs=64k 2>/dev/null || :
    ;;
full | front) # the working directory's disk full
    mount -t tmpfs -o size=256k none "$work/cwd"
    cd "$work/cwd"
    dd if=/dev/zero of=fill bs=1k 2>/dev/null || :
    ;;
tight) # room for a folder and a file, not for a profile
    mount -t tmpfs -o size=64k none "$work/cwd"
    cd "$work/cwd"
    dd if=/dev/zero of=fill bs=1k count=48 2>/dev/null || :
    ;;
readonly)
    mount -t tmpfs -o size=1m none "$work/cwd"
    mount -o remount,ro "$work/cwd"
    cd "$work/cwd"
    ;;
esac

run_bare bare "$program" ok
expected=$status
if [ "$1" = front ]; then # the same, when gnomon starts the launcher
    run gnomon "$gnomon" run "$MPIRUN" -n "$n" "$program" ok
else
    run_gnomon gnomon "$program" ok
fi
if [ "$expected" != 0 ]; then # which rank's signal becomes the status is MPICH's luck
    [ "$status" != 0 ] || fail "exit status 0, without gnomon $expected"
    wait_for_report gnomon # what is removed under an agent is saved in /tmp
    skip "the program itself does not run like that"
fi
[ "$status" = 0 ] || fail "exit status $status, without gnomon 0"
diff "$work/bare.out" "$work/gnomon.out" || fail "other output than without gnomon"
wait_for_report gnomon
folder=$(folder_of gnomon)
[ -s "$folder/profile.db" ] || fail "no profile in the folder that the report names: '$folder'"
case $1 in
full | front | tight | readonly) case $folder in "$TMPDIR"/*) ;; *) fail "the folder is $folder" ;; esac ;;
esac
# On a full disk a folder can be made: that is known at the end only.
[ "$1" != readonly ] ||
    [ "$(grep -c "^gnomon: runs cannot be kept in $work/cwd: Read-only file system; this one is in $folder " "$work/gnomon.err")" = 1 ] ||
    fail "that it is elsewhere is not said at the start, once"
[ "$1" = shm ] || [ -z "$(ls -d gnomon-* 2>/dev/null)" ] || fail "something was left here: $(ls -R gnomon-*)"
json gnomon 'r["run"]["complete"]' || fail "the run ended well"
json gnomon 'sum(x["count"] for x in rows if x["name"] == "MPI_Allreduce") == 400' || fail "not all was measured"
