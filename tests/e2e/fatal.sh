# MPI ends the program: the rank that raised the error comes first, with its call, line, peer, the error's class and text;
# the others are told as what they are. Status and message are the program's own. An error that comes back is none.
. "$(dirname "$0")/lib.sh"
mode=$1
compile "$work/fatal" fixtures/fatal.c
# MPI's own message, without numbers and names that change from run to run. gnomon's report may be in the same file.
said() {
    grep -v -e '^gnomon' -e ' its last calls' -e '^  rank' -e '^ *[0-9.]* [mnu]*s ' -e 'fatal\.c' "$1" |
        grep -aE 'MPI_ERR|^\*\*\*|MPI_Abort|Fatal error|error stack|failed$' |
        sed -E 's/0x[0-9a-f]+|[0-9]+|\[[^]]*\]//g' | sort -u
}
# Launchers lose it now and then when they take the ranks down, with and without gnomon.
case $mode in
returned* | exit) tries=1 ;;
*) tries=8 ;;
esac
for run in bare gnomon; do
    for _ in $(seq $tries); do
        run_$run $run "$work/fatal" "$mode"
        [ $run = bare ] || wait_for_report gnomon
        said "$work/$run.err" >"$work/$run.said"
        [ ! -s "$work/$run.said" ] || break
    done
    [ $run = gnomon ] || expected=$status
done
case $mode.$FLAVOUR in # which rank Hydra collects first is luck, with and without gnomon
*.mpich) case $expected.$status in 0.0 | [!0]*.[!0]*) ;; *) fail "exit status $status, without gnomon $expected" ;; esac ;;
*) [ $status = $expected ] || fail "exit status $status, without gnomon $expected" ;;
esac
if [ -s "$work/bare.said" ] && [ -s "$work/gnomon.said" ]; then
    [ -z "$(comm -23 "$work/bare.said" "$work/gnomon.said")" ] ||
        fail "MPI's message is another: $(diff "$work/bare.said" "$work/gnomon.said")"
elif [ "$FLAVOUR" = mpich ] && [ $tries -gt 1 ]; then
    fail "MPI has said nothing"
fi

# fatal KIND CALL MARK CLASS TEXT ASKS PEER TAG: as Python has them
fatal() {
    local line=$(line_of "$here/fixtures/fatal.c" "$3")
    json gnomon "(lambda f: (f['kind'], f['call'], f['file'].split('/')[-1], f['line'], f['class'], f['asks'], f['peer'],
        f['tag']))(troubles[0]['fatal']) == ('$1', '$2', 'fatal.c', $line, $4, $6, $7, $8)" || {
        json gnomon "troubles[0]['fatal']"
        fail "not the error"
    }
    json gnomon "troubles[0]['rank'] == 1 and not troubles[0]['victim']" || fail "rank 1 does not come first"
    json gnomon "$5 in (troubles[0]['fatal']['text'] or '').lower()" || fail "not the library's text"
    json gnomon "[(t['rank'], t['victim'], t['fatal']) for t in troubles[1:]] == [(0, True, None)]" || fail "rank 0 is no victim"
    grep -A1 '^PARTIAL' "$work/gnomon.err" | grep -q '^  rank 1 on ' || fail "the text does not begin with rank 1"
    grep -q '^  the others, taken down after that:$' "$work/gnomon.err" || fail "the victims are not told apart"
}
case $mode in
truncate)
    fatal error MPI_Recv '/. truncated ./' "'MPI_ERR_TRUNCATE'" "'truncated'" "'from'" 0 7
    grep -q 'it raised MPI_ERR_TRUNCATE (.*) in MPI_Recv at fatal.c:.*, from rank 0 with tag 7' "$work/gnomon.err" || fail "text"
    ;;
rank)
    fatal error MPI_Send '/. no such rank ./' "'MPI_ERR_RANK'" "'invalid rank'" "'to'" 99 5
    ;;
root)
    fatal error MPI_Bcast '/. no such root ./' "'MPI_ERR_ROOT'" "'root'" "'root'" 3 None
    json gnomon "not troubles[0]['fatal']['in_comm_world']" || fail "it is not MPI_COMM_WORLD"
    ;;
abort)
    fatal abort MPI_Abort '/. aborted ./' None "''" None None None
    json gnomon "troubles[0]['fatal']['code'] == 3" || fail "not MPI_Abort's code"
    ;;
exit)
    fatal exit MPI_Comm_free '/. exits ./' None "''" None None None
    json gnomon "troubles[0]['fatal']['code'] is None" || fail "a code from nowhere"
    ;;
returned)
    json gnomon 'r["run"]["complete"] and not troubles' || fail "an error that came back is called fatal"
    json gnomon 'sum(x["count"] for x in rows if x["name"] == "MPI_Send") == 11' || fail "not the calls"
    ;;
returned_kill)
    json gnomon 'all(t["fatal"] is None and not t["victim"] for t in troubles) and len(troubles) == 2' ||
        fail "an error that came back is called fatal"
    ;;
esac
