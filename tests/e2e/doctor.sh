# gnomon doctor tries what it speaks of: what has been taken away is named, with what is lost, and nothing else.
. "$(dirname "$0")/lib.sh"

# doctor STATUS WORD...: runs `WORD... --format json`; everything it found is in doctor.json.
doctor() {
    local expected=$1
    shift
    run doctor "$@" --format json
    cp "$work/doctor.out" "$work/doctor.json"
    [ "$status" = "$expected" ] || fail "exit status $status instead of $expected: $(cat "$work/doctor.out")"
}

# found EXPRESSION: over f, a function from a row's name to the row, and notes, the names of those that are not fine.
found() {
    python3 -c 'import json, sys
rows = json.load(open(sys.argv[1]))
by_name = {row["what"]: row for row in rows}
assert len(by_name) == len(rows)
assert all(row["detail"] and row["lost"] and row["mend"] for row in rows)
notes = {row["what"] for row in rows if not row["fine"]}
sys.exit(0 if eval(sys.argv[2], {"f": by_name.get, "notes": notes}) else 1)' "$work/doctor.json" "$1" ||
        fail "not so: $1: $(cat "$work/doctor.json")"
}

# Programs in a folder that is the whole PATH: NAME=TARGET...
only() {
    mkdir -p only
    for pair in "$@"; do
        ln -s "$(command -v "${pair#*=}")" "only/${pair%%=*}" || skip "no ${pair#*=}"
    done
}

# What any machine may lack that tests run on.
usual='{"tick counter", "cores share the counter", "datagrams", "core files", "perf_event_open", "open files", "Slurm",
    "gnomon sync by several", "Open MPI'\''s calls", "MPICH'\''s calls", "room for the MPI library"}'

case $1 in
here)
    doctor 0 "$gnomon" doctor
    found "notes <= $usual | {'Open MPI', 'MPICH'}"
    found "f('capture library')['needed'] and not f('/proc')['needed']"
    run text "$gnomon" doctor
    [ "$status" = 0 ] || fail "exit status $status"
    ! grep -q '^BAD' "$work/text.out" || fail "BAD, and all is well"
    ;;
program) # one that can be measured, one that cannot, one without lines
    doctor 0 "$gnomon" doctor "$examples/heat.$FLAVOUR"
    found "f('the program')['fine'] and f('debug information')['fine']"
    printf 'int main(void) { return 0; }\n' >plain.c
    cc -static -o static plain.c 2>"$work/cc.err" || skip "nothing can be linked statically"
    doctor 1 "$gnomon" doctor ./static
    found "'static' in f('the program')['detail'] and f('the program')['needed']"
    cc -o stripped -s plain.c
    doctor 0 "$gnomon" doctor ./stripped
    found "f('the program')['fine'] and not f('debug information')['fine']"
    doctor 1 "$gnomon" doctor ./nothing
    ;;
no_proc) # hidden, in a mount namespace of the command's own
    unshare -m --propagation private sh -c 'mount -t tmpfs none /proc' 2>/dev/null || skip "may not mount"
    doctor 0 unshare -m --propagation private sh -c 'mount -t tmpfs none /proc && exec "$0" "$@"' "$gnomon" doctor
    found "'/proc' in notes and notes <= $usual | {'/proc', 'Open MPI', 'MPICH'}"
    found "f('capture library')['fine'] and f('debug information')['fine']"
    ;;
chroot) # copies, never mounts: they are removed. There is no /proc, no /dev, and no MPI
    [ "$(id -u)" = 0 ] || skip "not root"
    root=$work/root
    mkdir -p "$root/tmp" "$root/opt"
    cp -rL "$BUILD/bin" "$BUILD/lib" "$root/opt/"
    for file in $(ldd "$BUILD/lib/gnomon/gnomon-commands" "$BUILD/lib/gnomon/libgnomon.so" | grep -o '/[^ :]*' | sort -u); do
        case $file in "$BUILD"/*) continue ;; esac
        mkdir -p "$root$(dirname "$file")" && cp -L "$file" "$root$file"
    done
    doctor 1 chroot "$root" /opt/bin/gnomon doctor
    found "{'/proc', 'Open MPI', 'MPICH', 'room for the MPI library'} <= notes"
    found "notes <= $usual | {'/proc', 'Open MPI', 'MPICH'}"
    found "f('Open MPI')['needed'] and f('MPICH')['needed'] and f('capture library')['detail'].startswith('/opt/lib')"
    found "not f('gnomon sync by several')['fine'] and '-t tmpfs' in f('room for the MPI library')['mend']"
    run text chroot "$root" /opt/bin/gnomon doctor
    grep -A1 '^note  /proc' "$work/text.out" | grep -q 'without it: ' || fail "what is lost is not told"
    ;;
one_mpi) # by the name that both have for their launcher, and as no other says
    only "mpirun=$MPIRUN" "mpicc=$MPICC"
    own='Open MPI' other=MPICH
    [ "$FLAVOUR" = openmpi ] || own=MPICH other='Open MPI'
    doctor 0 env PATH="$PWD/only" "$gnomon" doctor
    found "f('$own')['fine'] and f('$own')['detail'].startswith('mpirun ') and 'mpicc' in f('$own')['detail']"
    found "not f('$other')['fine'] and not f('$other')['needed']"
    mkdir none
    doctor 1 env PATH="$PWD/none" "$gnomon" doctor
    found "f('$own')['needed'] and f('$other')['needed'] and {'Open MPI', 'MPICH'} <= notes"
    ;;
forbidden) # by a filter of system calls, in either way that containers have
    compile without fixtures/without.c
    for how in errno kill; do
        run probe ./without $how perf_event_open true
        [ "$status" = 0 ] || skip "system calls cannot be filtered here"
        doctor 0 ./without $how perf_event_open "$gnomon" doctor
        found "'perf_event_open' in notes and notes <= $usual"
        doctor 0 ./without $how process_vm_readv "$gnomon" doctor
        found "'reading own memory' in notes and notes <= $usual | {'reading own memory'}"
        doctor 1 ./without $how pidfd_open "$gnomon" doctor
        found "'watching processes' in notes and notes <= $usual | {'watching processes'}"
    done
    doctor 1 ./without errno memfd_create "$gnomon" doctor # the loader of `gnomon` itself may ask for one
    found "'shared memory files' in notes and notes <= $usual | {'shared memory files'}"
    ;;
no_shm) # in a mount namespace of the test's own
    need_mounts "$@"
    mount -t tmpfs -o size=4k none /dev/shm
    doctor 0 "$gnomon" doctor
    found "'room for the MPI library' in notes and f('shared memory files')['fine']"
    umount /dev/shm
    doctor 0 "$gnomon" doctor
    found "f('room for the MPI library')['fine']"
    ;;
full) # no room where runs go; then nowhere
    case $BUILD in /tmp/*) skip "the build is in /tmp, which this test hides" ;; esac
    need_mounts "$@"
    mount -t tmpfs -o size=64k none "$work/cwd"
    cd "$work/cwd"
    doctor 0 "$gnomon" doctor
    found "'place for run folders' in notes and f('any place for them')['detail'] == '$TMPDIR'"
    [ -z "$(ls -A)" ] && [ -z "$(ls -A "$TMPDIR")" ] || fail "something was left: $(ls -A . "$TMPDIR")"
    mkdir "$work/room"
    GNOMON_FOLDER=$work/room doctor 0 "$gnomon" doctor
    found "f('place for run folders')['fine'] and '$work/room' in f('place for run folders')['detail']"
    mount -t tmpfs -o size=64k none /tmp # hides this test's folder, too, but for what is open
    export TMPDIR=/tmp HOME=/tmp
    doctor_at=$("$gnomon" doctor) && code=0 || code=$?
    umount /tmp
    [ "$code" = 1 ] || fail "exit status $code, and there is no place"
    echo "$doctor_at" | grep -q '^BAD   any place for them' || fail "it is not told: $doctor_at"
    ;;
limits)
    doctor 1 sh -c 'ulimit -v 1000000; exec "$0" "$@"' "$gnomon" doctor
    found "'977 MiB' in f('address space')['detail'] and notes <= $usual | {'address space'}"
    doctor 0 sh -c 'ulimit -v 16000000; exec "$0" "$@"' "$gnomon" doctor
    found "f('address space')['fine']"
    doctor 0 sh -c 'ulimit -v 3000000; exec "$0" "$@"' "$gnomon" doctor
    found "f('address space')['fine'] and 'tables of 3' in f('address space')['detail']"
    doctor 0 sh -c 'ulimit -n 64; exec "$0" "$@"' "$gnomon" doctor
    found "'open files' in notes"
    doctor 0 sh -c 'ulimit -c 0; exec "$0" "$@"' "$gnomon" doctor
    found "'core files' in notes"
    ;;
*) fail "which? $1" ;;
esac
