# A region is where the user's code began it, in reports and in what is said of the trace: whether or not the compiler
# inlined what gnomon.h does, which is never named.
. "$(dirname "$0")/lib.sh"
source=$here/fixtures/region_lines.c
line() {
    line_of "$source" "/\* $1 \*/"
}

for options in '-O0 -g' '-O1 -g' '-O2 -g' '-O3 -g -fno-inline' '-O2 -g -flto'; do
    "$MPICC" $options -I"$SOURCE/include" -o lines "$source" -ldl 2>"$work/compile.err" || fail "cannot compile $options"
    rm -rf gnomon-lines-*
    run_gnomon lines --trace --pcontrol regions ./lines
    [ "$status" = 0 ] || fail "$options: exit status $status"
    wait_for_report lines

    report lines --by callpath --top 0 >"$work/text.out"
    for place in "solve:$(line 'begin solve')" "solve:$(line 'end solve')" ":$(line 'begin told')" ":$(line 'end told')" \
        "refine:$(line 'begin level')" "refine:$(line 'end level')" \
        "main:$(line 'call solve') > solve:$(line 'begin solve')"; do
        grep -q "$place" "$work/text.out" || fail "$options: no $place by call path: $(cat "$work/text.out")"
    done
    json lines "sorted((x['name'], x['count']) for x in rows if x['name'].startswith('level')) == [('level 0', 5 * $n), ('level 1', 5 * $n)]" --by region ||
        fail "$options: not a region for each level"
    json lines "len([x for x in rows if x['name'].startswith('a name of more than forty')]) == 2" --by region ||
        fail "$options: long names with a number are one"
    json lines "all(x['mpi_s'] is None or 0 <= x['mpi_s'] <= x['total_s'] for x in rows) and any(x['mpi_s'] for x in rows)" --by region ||
        fail "$options: nobody is in MPI inside of a region: $(json lines "[(x['name'], x['mpi_s'], x['total_s']) for x in rows]" --by region)"
    for by in activity callpath function line; do
        ! report lines --by $by --top 0 | grep 'gnomon\.h\|gnomon_call\|gnomon_region' || fail "$options: our own code by $by"
    done

    begun="solve (region_lines.c:$(line 'begin solve'))"
    report lines | grep -q "^straggler: rank 1 (possible; that they wait for it is certain, [^)]*): .*; ${begun}\$" || fail "$options: the report does not say $begun"
    "$gnomon" stragglers "$(folder_of lines)" >"$work/stragglers.out" || fail "$options: stragglers"
    grep -q "^  work  *${begun}\$" "$work/stragglers.out" || fail "$options: not $begun: $(cat "$work/stragglers.out")"
    "$gnomon" whatif "$(folder_of lines)" --region "region_lines.c:$(line 'begin told')" --faster 50% >"$work/whatif.out" ||
        fail "$options: no computation in the region of MPI_Pcontrol, by its line"
    grep -q "^    told (region_lines.c:$(line 'begin told'))\$" "$work/whatif.out" || fail "$options: $(cat "$work/whatif.out")"

    # Other readers find it, too, and a leave says no more than it has to.
    otf2-print "$(folder_of lines)/trace/traces.otf2" >"$work/otf2.out" || fail "$options: otf2-print"
    python3 - "$work/otf2.out" <<'END' || fail "$options: paths in the archive"
import sys
lines = open(sys.argv[1]).read().splitlines()
def have_path(kind, name):
    events = [i for i, line in enumerate(lines) if line.startswith(kind + " ") and f'"{name}"' in line]
    assert len(events) == 20, (kind, name, len(events))
    return ["gnomon.path" in lines[i + 1] and f'"{name}@region_lines.c:' in lines[i + 1] for i in events]
for name in "solve", "told":
    assert all(have_path("ENTER", name)) and not any(have_path("LEAVE", name)), name
END
done

# Without debug information the functions' names are all that is known.
"$MPICC" -O0 -I"$SOURCE/include" -o lines "$source" -ldl || fail "cannot compile"
rm -rf gnomon-lines-*
run_gnomon lines --trace --pcontrol regions ./lines
wait_for_report lines
report lines --by callpath --top 0 >"$work/text.out"
grep -q 'solve' "$work/text.out" || fail "no function: $(cat "$work/text.out")"
! grep 'gnomon_call\|gnomon_region' "$work/text.out" || fail "our own code"
