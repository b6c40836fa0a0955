# Names out of a trace may be any bytes: no answer, and no message, sends them to the terminal as they are, and JSON
# stays JSON.
. "$(dirname "$0")/lib.sh"
python3 -c "import otf2" 2> /dev/null || skip "the Python module otf2 is missing"

printable() { # FILE
    ! LC_ALL=C grep -qaP '[\x00-\x08\x0b-\x1f\x7f]' "$1" || fail "control characters in $1: $what"
    iconv -f utf-8 -t utf-8 "$1" > /dev/null || fail "$1 is not UTF-8: $what"
}

ask() { # TRACE COMMAND...
    local trace=$1
    shift
    for format in text json; do
        what="gnomon $* of $trace as $format"
        run answer "$gnomon" "$@" --format "$format" "$work/$trace"
        [ "$status" = 0 ] || fail "$what: exit status $status"
        printable "$work/answer.out"
        printable "$work/answer.err"
    done
    python3 -m json.tool < "$work/answer.out" > /dev/null || fail "$what: no JSON"
}

refuse() { # TRACE COMMAND...
    local trace=$1
    shift
    what="gnomon $* of $trace"
    run answer "$gnomon" "$@" "$work/$trace"
    [ "$status" = 2 ] || fail "$what: exit status $status"
    printable "$work/answer.err"
}

python3 "$here/hostile_names.py" "$work/escapes" '\x1b]0;pwn\x07\x1b[31m\n\r\x9b'
cp -r "$work/escapes" "$work/bytes"
sed -i 's/pwn/\xff\xfe\xc3/g' "$work/bytes/traces.def" # as long as it was, and no UTF-8
python3 "$here/hostile_names.py" "$work/long" "$(printf '\\xfc%.0s' $(seq 3000))"
for trace in escapes bytes long; do
    ask $trace stragglers --phase --by host
    ask $trace stragglers --by thread
    ask $trace frames --aggregated --by host
    ask $trace whatif
    ask $trace critical
    ask $trace critical --by rank
    refuse $trace whatif --faster 10% --region nothing
    refuse $trace stragglers --busy nothing
    refuse $trace frames --where 'all in nothing'
done
