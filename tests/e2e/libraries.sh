# MPI libraries are known by what they export, whatever they are called; of others gnomon says which they are, and the
# program runs.
. "$(dirname "$0")/lib.sh"
case $FLAVOUR in
openmpi) soname=libmpi.so.40 ;;
mpich) soname=libmpich.so.12 ;;
esac
mkdir lib
export LD_LIBRARY_PATH=$PWD/lib

# The flavour's library as NAME. It keeps its soname, by which its own plugins find it; SONAME: that is changed, too.
renamed() { # NAME [SONAME]
    command -v patchelf >/dev/null || skip "no patchelf"
    local original
    original=$(ldd "$examples/crash.$FLAVOUR" | sed -n "s/.*$soname => \([^ ]*\).*/\1/p")
    [ -n "$original" ] || fail "cannot find $soname"
    cp -L "$original" "lib/$1"
    [ $# = 1 ] || patchelf --set-soname "$2" "lib/$1"
}
measured() {
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report run
    json run "r['run']['complete'] and r['run']['ranks'] == 2" || fail "not 2 complete ranks"
    json run "sum(x['count'] for x in rows if x['name'] == 'MPI_Allreduce') == 400" || fail "not all was measured"
}
# Says which library it is, and has no other effect.
passed_over() { # NAME PATTERN PROGRAM...
    local name=$1 pattern=$2
    shift 2
    run bare "$@"
    run "$name" "$gnomon" run "$@"
    [ "$status" = 0 ] || fail "exit status $status"
    diff "$work/bare.out" "$work/$name.out" || fail "other output than without gnomon"
    wait_for_report "$name"
    [ "$(grep -c "is not measured: $pattern" "$work/$name.err")" = 1 ] || fail "it does not say once what the library is"
    grep -q "nothing was measured: .* ran as it would without gnomon ($pattern" "$work/$name.err" || fail "the end does not say why"
    ! grep -q 'no MPI was seen' "$work/$name.err" || fail "no MPI, and the library is named"
}
other() { # NAME OPTION...
    local name=$1
    shift
    cc -shared -fPIC -Wl,-soname,"$name" -o "lib/$name" "$here/fixtures/other_mpi.c" "$@" &&
        cc -o program "$here/fixtures/other_program.c" "lib/$name" || fail "cannot compile $name"
}

case $1 in
renamed)
    cp "$examples/crash.$FLAVOUR" program
    if [ "$FLAVOUR" = mpich ]; then
        renamed libmpi_cray.so.12 libmpi_cray.so.12
        patchelf --replace-needed $soname libmpi_cray.so.12 program
    else
        renamed libmpi_vendor.so.40
        patchelf --replace-needed $soname libmpi_vendor.so.40 program
    fi
    run_gnomon run ./program ok
    measured
    ;;
unnamed) # nothing in the name says MPI
    cp "$examples/crash.$FLAVOUR" program
    renamed libfabricator.so.1
    patchelf --replace-needed $soname libfabricator.so.1 program
    run_gnomon run ./program ok
    measured
    ;;
local) # loaded late and for a plugin only
    printf 'extern int work(int, char **);\nint plugin(int n, char **w) { return work(n, w); }\n' >plugin.c
    "$MPICC" -shared -fPIC -Dmain=work -o lib/plugin.so plugin.c "$SOURCE/examples/crash.c" -lm 2>"$work/compile.err" ||
        fail "cannot compile the plugin"
    printf '#include <dlfcn.h>\nint main(int n, char **w) { void *p = dlopen("plugin.so", RTLD_NOW | RTLD_LOCAL);
        return p ? ((int (*)(int, char **))dlsym(p, "plugin"))(n, w) : 9; }\n' >host.c
    cc -o program host.c -ldl
    renamed libfabricator.so.1
    patchelf --replace-needed $soname libfabricator.so.1 lib/plugin.so
    run_gnomon run ./program ok
    measured
    ;;
fortran) # what lies between Fortran's entry points and C's is no part of a call path
    [ "$FLAVOUR" = mpich ] || skip "Fortran is met before its library"
    have ring_f77 || skip "no Fortran"
    soname=libmpichfort.so.12
    cp "$examples/ring_f77.$FLAVOUR" program
    original=$(ldd program | sed -n "s/.*$soname => \([^ ]*\).*/\1/p")
    command -v patchelf >/dev/null || skip "no patchelf"
    cp -L "$original" lib/libfabricator.so.1
    patchelf --set-soname libfabricator.so.1 lib/libfabricator.so.1
    patchelf --replace-needed $soname libfabricator.so.1 program
    run_gnomon run ./program
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report run
    json run "all((x['file'] or '').endswith('ring_f77.f') for x in rows if x['name'] == 'MPI_Isend')" || fail "calls are not where they were made"
    json run "any(x['name'] == 'MPI_Isend' for x in rows)" || fail "no MPI_Isend"
    ;;
unknown)
    other libother.so.3
    passed_over run 'its MPI library libother.so.3 (Other MPI 7.1) is neither Open MPI nor ' ./program
    ;;
abi)
    other libmpi_abi.so.0 -DABI
    passed_over run 'its MPI library libmpi_abi.so.0 (Other MPI 7.1) has the standard binary interface 1.0 of MPI 5' ./program
    ;;
doctor) # a call that the library has and we do not know
    other libmpi.so.40 -DEXTRA
    run told "$gnomon" doctor --format json
    python3 - "$work/told.out" <<'END' || fail "$(cat "$work/told.out")"
import json, sys
by = {f["what"]: f for f in json.load(open(sys.argv[1]))}
f = by["Open MPI's calls"]
assert not f["fine"] and not f["needed"] and f["facts"]["unknown"] == ["MPI_Comm_teleport"], f
END
    ;;
asked) # whether the library has a call: the same answers, whatever we have a wrapper for
    compile asks fixtures/asks.c -ldl
    run_bare bare ./asks
    run_gnomon run ./asks
    [ "$status" = 0 ] || fail "exit status $status"
    diff <(sort "$work/bare.out") <(sort "$work/run.out") || fail "other answers than without gnomon"
    ;;
absent) # called all the same: without us the loader ends the program
    [ "$FLAVOUR" = openmpi ] || skip "this library has it"
    printf 'int MPI_Session_init(void) { return 0; }' >stub.c
    cc -shared -fPIC -o lib/libstub.so stub.c # built with a library that had it
    printf '#include <mpi.h>\n#include <stdio.h>\nint MPI_Session_init(void *, void *, void *);
        int main(void) { MPI_Init(0, 0); printf("%%d\\n", MPI_Session_init(0, 0, 0) != 0); MPI_Finalize(); return 0; }\n' >absent.c
    "$MPICC" -Wl,-z,lazy -o absent absent.c lib/libstub.so 2>"$work/compile.err" || fail "cannot compile"
    cc -shared -fPIC -o lib/libstub.so -x c /dev/null
    run_bare bare ./absent
    [ "$status" != 0 ] || fail "the program runs without gnomon"
    run_gnomon run ./absent
    [ "$(sort -u "$work/run.out")" = 1 ] || fail "no error was returned"
    [ "$(grep -c 'calls MPI_Session_init, which its MPI library does not have' "$work/run.err")" = 2 ] || fail "not said by each"
    ;;
esac
