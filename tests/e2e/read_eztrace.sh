# What eztrace writes is read completely, and what is odd about it is said: receives that never complete, requests that
# are used again, definitions that come twice, wrong numbers of events, a wrong length.
. "$(dirname "$0")/lib.sh"

command -v eztrace >/dev/null || skip "no eztrace"
command -v otf2-print >/dev/null || skip "no otf2-print"
dump=$BUILD/tests/unit/trace_dump
n=4

# trace PROGRAM: its archive's folder in $trace
trace() {
    have "$1" || skip "no $1"
    run eztrace "$MPIRUN" --bind-to none -n "$n" eztrace -t openmpi "$examples/$1.$FLAVOUR"
    trace=$PWD/$1.${FLAVOUR}_trace
    [ -e "$trace/eztrace_log.otf2" ] || skip "eztrace writes nothing here"
}

# Kinds and numbers of events, in otf2-print's words.
expected() {
    otf2-print "$trace/eztrace_log.otf2" 2>/dev/null | awk '/^[A-Z][A-Z_]+ / { print tolower($1), $1 }' |
        awk '{ sub(/^mpi_collective/, "collective", $1); n[$1]++ } END { for (k in n) print "event." k, n[k] }' | sort
}

# count NAME: of the dump
count() {
    awk -v name="$1" '$1 == name { print $2 }' dump.out
}

check() {
    "$dump" "$trace" >dump.out || fail "$1: cannot be read"
    expected >expected.out
    grep '^event\.' dump.out | sort >events.out
    diff expected.out events.out || fail "$1: other events than otf2-print finds"
    [ "$(count report.redefined)" -gt 0 ] || fail "$1: definitions that came twice were not counted"
    [ "$(count report.miscounted)" = "$n" ] || fail "$1: wrong numbers of events were not counted"
    [ "$(count report.truncated)" = 0 ] || fail "$1: said to be truncated"
    [ "$(grep -c '^location .*rank [0-3],' dump.out)" = "$n" ] || fail "$1: ranks are not known"
    [ "$(sed -n 's/.*clock domain \([0-9]*\),.*/\1/p' dump.out | sort -u | wc -l)" = "$n" ] ||
        fail "$1: clocks that start at zero in each process are not one clock"
}

# Each process has a clock of its own; the program's messages bound it, and nothing contradicts that.
bounds() {
    "$BUILD/bin/gnomon" export --to csv --bounds -o bounds.csv "$trace" 2>bounds.err || fail "$1: no bounds"
    [ ! -s bounds.err ] || fail "$1: $(head -1 bounds.err)"
    ! tail -n +2 bounds.csv | grep -q ',,.$' || fail "$1: events without bounds"
}

trace heat
check heat
bounds heat
[ "$(count report.reused_requests)" -gt 1000 ] || fail "requests that were used again were not counted"
[ "$(count report.open_requests)" -gt 0 ] || fail "receives that never complete were not counted"
[ "$(count report.open_collectives)" = 0 ] || fail "a collective's begin and end were not put together"

trace pool
check pool
bounds pool
[ "$(count report.open_requests)" = 0 ] || fail "requests where there are none"
