# The communication matrix is exact, on any communicator, by any kind of send. Sums: fixtures/matrix.c.
. "$(dirname "$0")/lib.sh"
compile matrix fixtures/matrix.c
run_gnomon matrix ./matrix
[ "$status" = 0 ] || fail "exit status $status"
pair() {
    json matrix "[(p['messages'], p['bytes']) for p in pairs if p['from'] == $1 and p['to'] == $2] == [($3, $4)]" --by pair ||
        fail "from $1 to $2: not $3 messages with $4 bytes but $(report matrix --by pair --format csv)"
}
pair 0 1 $((3 + 5 + 2 + 6 + 2)) $((3 * 100 + 5 * 8 + 2 * 24 + 6 * 7 + 2 * 11))
pair 1 0 $((4 + 2 + 1)) $((4 * 16 + 2 * 40 + 13))
json matrix 'len(pairs) == 2' --by pair || fail "more pairs than there are"
got=$(sql matrix 'SELECT sum(received_messages), sum(received_bytes) FROM peer')
[ "$got" = "25 609" ] || fail "received: not 25 messages with 609 bytes but $got"
json matrix 'not r["lost"]' || fail "something was lost"
