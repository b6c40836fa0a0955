# One call in the source is one row, on all ranks whatever their address space layout; with and without debug
# information, in executables of either kind and in libraries.
. "$(dirname "$0")/lib.sh"

build() { # options of the executable
    "$MPICC" "$@" -fPIC -shared -DFUNCTION=in_library -o libsites.so "$here/fixtures/sites_library.c" &&
        "$MPICC" "$@" -fPIC -shared -DFUNCTION=in_plugin -o libplugin.so "$here/fixtures/sites_library.c" &&
        "$MPICC" "$@" -o sites "$here/fixtures/sites.c" -L. -lsites -ldl -Wl,-rpath,"$PWD"
}
measure() {
    run_gnomon sites ./sites
    [ "$status" = 0 ] || fail "exit status $status"
}
# Two libraries are made of one source: their rows differ by the function's name.
calls=$(($(grep -c '/\* call \*/' "$here/fixtures/sites.c") + 2 * $(grep -c '/\* call \*/' "$here/fixtures/sites_library.c")))

case $1 in
pie | nopie)
    build -O2 -g $([ "$1" = pie ] && echo -fPIE -pie || echo -no-pie) || fail "cannot compile"
    measure
    got=$(json sites 'len([x for x in rows if x["kind"] == "mpi"])')
    [ "$got" = "$calls" ] || fail "$got rows for $calls calls: $(report sites --format csv)"
    json sites 'all(x["count"] == (2 if x["name"] in ("MPI_Init", "MPI_Finalize") else 6) for x in rows if x["kind"] == "mpi")' ||
        fail "a row is not of both ranks"
    json sites 'all(x["file"] and x["line"] for x in rows if x["kind"] == "mpi")' || fail "a row without a line"
    json sites '{"in_library", "in_plugin", "in_function", "in_inlined", "main"} <= {x["function"] for x in rows}' ||
        fail "functions are missing"
    for line in $(grep -n '/\* call \*/' "$here/fixtures/sites.c" | cut -d: -f1); do
        json sites "$line in [x['line'] for x in rows if x['kind'] == 'mpi' and x['file'].endswith('/sites.c')]" ||
            fail "sites.c:$line is missing"
    done
    ;;
nodebug | stripped)
    build -O2 -g0 $([ "$1" = nodebug ] || echo -s) || fail "cannot compile"
    measure
    got=$(json sites 'len([x for x in rows if x["kind"] == "mpi"])')
    [ "$got" = "$calls" ] || fail "$got rows for $calls calls: $(report sites --format csv)"
    json sites 'all(x["function"] for x in rows if x["kind"] == "mpi")' || fail "a place without any name"
    report sites | grep -q 'no source lines for .*compile with -g' || fail "the report does not say how to get lines"
    ;;
languages)
    have hello_cxx || skip "no C++"
    run_gnomon cxx "$examples/hello_cxx.$FLAVOUR" --iterations 3 --count 100
    json cxx 'any("<" in (x["function"] or "") and "::" in x["function"] for x in rows)' ||
        fail "no member of a template: $(report cxx --format csv)"
    json cxx 'not any((x["function"] or "").startswith("_Z") for x in rows)' || fail "mangled names"
    for program in stencil_f08 halo_usempi ring_f77; do
        have $program || continue
        run_gnomon $program "$examples/$program.$FLAVOUR"
        json $program 'len([x for x in rows if x["kind"] == "mpi" and (x["file"] or "").endswith((".f90", ".f"))]) >= 4' ||
            fail "$program: calls without a line of the source: $(report $program --format csv)"
        json $program 'not any((x["function"] or "").endswith("_") or "_MOD_" in (x["function"] or "") for x in rows)' ||
            fail "$program: names as the linker sees them: $(report $program --format csv)"
    done
    ;;
esac
