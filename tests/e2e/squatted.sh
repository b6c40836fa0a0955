# Another user has taken the name by which a job's ranks find their agent: the program runs as it would without gnomon,
# unmeasured, which is said once, and nothing is sent to that user.
. "$(dirname "$0")/lib.sh"
mode=$1
[ "$(id -u)" = 0 ] || skip "only root can be somebody else"
program=$examples/crash.$FLAVOUR

# The first rank lets the squatter in, all wait for that.
cat >behind.sh <<END
#!/bin/bash
rank=\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}
if [ "\$rank" = 0 ]; then
    "$BUILD/tests/squatter" $mode "$work/log" >squatter </dev/null 2>/dev/null &
fi
until [ -s squatter ]; do sleep 0.02; done
date +%s%N >begin.\$rank
exec "\$@"
END
cat >before.sh <<'END'
#!/bin/bash
date +%s%N >end.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
exec "$@"
END
chmod +x behind.sh before.sh
chmod 1777 . # the squatter may write here

run_bare bare "$program" ok
run gnomon "$MPIRUN" -n "$n" ./behind.sh "$gnomon" run ./before.sh "$program" ok
kill "$(cat squatter)" || fail "the squatter is not there any more"
[ "$status" = 0 ] || fail "exit status $status"
diff "$work/bare.out" "$work/gnomon.out" || fail "other output than without gnomon"
[ "$(grep -c 'runs unmeasured' "$work/gnomon.err")" = 1 ] || fail "not said exactly once that it is not measured"
case $mode in
accepts) grep -q 'another user (uid 65534, process [0-9]*) has taken' "$work/gnomon.err" || fail "not said why" ;;
*) grep -q 'nobody answers to its name' "$work/gnomon.err" || fail "not said why" ;;
esac
! grep -qv 'received 0$' "$work/log" || fail "the other user was sent something: $(cat "$work/log")"
[ -z "$(ls -d gnomon-* 2>/dev/null)" ] || fail "something was left: $(ls)"
for rank in 0 1; do
    delay_ms=$((($(cat end.$rank) - $(cat begin.$rank)) / 1000000))
    echo "rank $rank: start delayed by $delay_ms ms"
    [ $delay_ms -lt 20000 ] || fail "the start was delayed by $delay_ms ms"
done
