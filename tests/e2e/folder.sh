# Where runs go and how they are found again; nobody else reads them; a place that cannot be written.
. "$(dirname "$0")/lib.sh"
program=$examples/crash.$FLAVOUR

as_without() { # NAME: the program's own output and status
    [ -f "$work/bare.out" ] || run_bare bare "$program" ok
    [ "$status" = 0 ] || fail "$1: exit status $status"
    diff "$work/bare.out" "$work/$1.out" || fail "$1: other output than without gnomon"
}

runs_in() { # FOLDER
    ls -d "$1"/gnomon-*/profile.db 2>/dev/null | wc -l
}

nothing_here() {
    [ -z "$(ls -d gnomon-* 2>/dev/null)" ] || fail "a run was left in the working directory: $(ls)"
}

owners_alone() { # FOLDER
    local others
    others=$(find "$1" \( -type d ! -perm 700 \) -o \( -type f ! -perm 600 \) | head)
    [ -z "$others" ] || fail "not the owner's alone: $(ls -ld $others)"
}

case $1 in
option) # a folder that is made, as seen from the working directory
    run one "$MPIRUN" -n $n "$gnomon" run -d some/place --trace "$program" ok
    as_without one
    wait_for_report one
    [ "$(runs_in some/place)" = 1 ] || fail "the run is not in some/place: $(ls -R)"
    owners_alone some
    nothing_here
    for command in report stragglers frames whatif critical paths check order "export --to csv"; do
        "$gnomon" $command -d some/place >"$work/found.out" 2>"$work/found.err" || [ $? = 1 ] || fail "gnomon $command -d finds no run"
        if [ "$command" != order ]; then # which takes several
            "$gnomon" $command some/place >"$work/named.out" 2>"$work/found.err" || [ $? = 1 ] || fail "gnomon $command FOLDER finds no run"
            diff "$work/found.out" "$work/named.out" || fail "gnomon $command FOLDER is of another run"
        fi
        ! "$gnomon" $command >"$work/lost.out" 2>"$work/lost.err" </dev/null || fail "gnomon $command finds a run here"
        grep -q 'no run folder' "$work/lost.err" || fail "gnomon $command does not say what is missing"
    done
    "$gnomon" clock --last -d some/place >"$work/found.out" || [ $? = 1 ] || fail "gnomon clock --last -d finds no run"
    run clock "$MPIRUN" -n $n "$gnomon" clock -s 0.2 --keep -d measured
    [ "$(runs_in measured)" = 1 ] || fail "what gnomon clock measured is not there: $(ls -R)"
    owners_alone measured
    "$gnomon" sync -d some/place -o repaired >"$work/found.out" || fail "gnomon sync -d finds no run"
    ;;
variable) # the option goes before it
    export GNOMON_FOLDER=$PWD/of/all
    run_gnomon one "$program" ok
    as_without one
    wait_for_report one
    run two "$MPIRUN" -n $n "$gnomon" run --folder="$PWD/of/one" "$program" ok
    wait_for_report two
    [ "$(runs_in of/all) $(runs_in of/one)" = "1 1" ] || fail "the runs are not where they should be: $(ls -R)"
    nothing_here
    "$gnomon" report >"$work/found.out" || fail "gnomon report does not look there"
    "$gnomon" report -d of/one >"$work/found.out" || fail "the option does not go before the variable"
    GNOMON_FOLDER='' "$gnomon" report 2>"$work/lost.err" && fail "an empty variable names a folder"
    grep -q 'no run folder' "$work/lost.err" || fail "what is missing is not said"
    ;;
front) # in front of the launcher, the variable is the user's
    GNOMON_FOLDER=of/all run one "$gnomon" run -- "$MPIRUN" -n $n "$program" ok
    as_without one
    wait_for_report one
    run two "$gnomon" run -d of/one -- "$MPIRUN" -n $n "$program" ok
    wait_for_report two
    [ "$(runs_in of/all) $(runs_in of/one)" = "1 1" ] || fail "the runs are not where they should be: $(ls -R)"
    owners_alone of
    nothing_here
    ;;
unwritable) # it runs, unmeasured: said once, with the place and what to do
    touch file
    run named "$MPIRUN" -n $n "$gnomon" run -d file/place "$program" ok
    as_without named
    [ "$(grep -c 'runs unmeasured' "$work/named.err")" = 1 ] || fail "not said exactly once"
    grep -q 'cannot be kept in file/place (-d): Not a directory; .*-d FOLDER' "$work/named.err" || fail "not said what and where"
    run named "$MPIRUN" -n $n env GNOMON_FOLDER=/proc/none "$gnomon" run sh -c 'exit 3'
    [ "$status" = 3 ] || fail "exit status $status instead of the program's 3"
    grep -q 'cannot be kept in /proc/none (GNOMON_FOLDER)' "$work/named.err" || fail "not said what and where"
    run front "$gnomon" run -d file/place -- "$MPIRUN" -n $n "$program" ok
    as_without front
    [ "$(grep -c 'runs unmeasured' "$work/front.err")" = 1 ] || fail "not said exactly once"
    nothing_here
    ;;
hosts) # on a file system that hosts share, whatever umask says
    printf '#!/bin/sh\nexport GNOMON_HOST=h${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\numask 0\nexec "$@"\n' >on_hosts.sh
    chmod +x on_hosts.sh
    run one "$MPIRUN" -n 2 ./on_hosts.sh "$gnomon" run --trace -d place "$program" ok
    as_without one
    wait_for_report one
    [ "$(ls -d place/gnomon-* | wc -l) $(runs_in place)" = "1 1" ] || fail "not one folder: $(ls -R place)"
    json one "r['run']['complete'] and r['run']['ranks'] == 2" || fail "not both hosts"
    owners_alone place
    [ -z "$(find place -name '.gnomon-*')" ] || fail "something was left: $(ls -A place)"
    chmod 1777 place # another user is there first, and waits for us in a folder of his own
    [ "$(id -u)" = 0 ] || exit 0
    cat >trap.sh <<END
#!/bin/sh
link=.gnomon-\$("$BUILD/tests/squatter" hash)
mkdir -m 777 -p place/gnomon-trap/parts && chmod 777 place/gnomon-trap/parts && ln -s gnomon-trap place/\$link &&
    chown -hR 65534 place/\$link place/gnomon-trap
exec ./on_hosts.sh "\$@"
END
    chmod +x trap.sh
    run two "$MPIRUN" -n 1 ./trap.sh "$gnomon" run -d place "$program" ok : -n 1 sh -c \
        'until [ -L place/.gnomon-* ]; do sleep 0.1; done; sleep 1; exec "$@"' sh ./on_hosts.sh "$gnomon" run -d place "$program" ok
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report two
    grep -q "by which hosts find each other's, is another user's" "$work/two.err" || fail "that hosts do not meet is not said"
    [ -z "$(find place/gnomon-trap ! -user 65534)" ] || fail "files in the other user's folder: $(ls -lR place/gnomon-trap)"
    for _ in $(seq 200); do # the report is that of rank 0's host
        [ "$(runs_in place)" = 3 ] && break
        sleep 0.1
    done
    [ "$(runs_in place)" = 3 ] || fail "not a folder of each host: $(ls -R place)"
    ;;
umask) # neither one that leaves all to all, nor one that leaves nothing to anybody
    for mask in 0 0277; do
        run $mask "$MPIRUN" -n $n sh -c 'umask '$mask'; exec "$@"' sh "$gnomon" run --trace -d "of/$mask" "$program" ok
        [ "$status" = 0 ] || fail "umask $mask: exit status $status"
        wait_for_report $mask
        [ "$(runs_in of/$mask)" = 1 ] || fail "umask $mask: no run"
        owners_alone of
    done
    run_gnomon killed "$program" kill
    wait_for_report killed
    owners_alone "$(folder_of killed)"
    [ "$(umask; "$gnomon" run sh -c umask 2>"$work/own.err")" = "$(umask; umask)" ] || fail "the program has another umask"
    ;;
removed) # while it runs
    compile until fixtures/until.c
    (for _ in $(seq 600); do
        ls gnomon-*/parts/*.open >"$work/marks" 2>/dev/null && rm -r gnomon-* && break
        sleep 0.1
    done
    touch over) &
    run_gnomon one ./until over
    wait
    [ "$status $(cat "$work/one.out")" = "0 over" ] || fail "exit status $status, or other output"
    wait_for_report one
    [ -s "$(folder_of one)/profile.db" ] || fail "no profile in the folder that the report names: '$(folder_of one)'"
    json one "r['run']['complete']" || fail "the run ended well"
    ;;
esac
