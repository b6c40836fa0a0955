# gnomon sync on random traces with random settings: see sync_random.py, which can be run on its own for more seeds.
. "$(dirname "$0")/lib.sh"
command -v otf2-print >/dev/null || skip "no otf2-print"
python=/usr/bin/python3
"$python" -c "import otf2" 2>/dev/null || python=python3
run random "$python" "$here/sync_random.py" "$gnomon" "${1:-1}" "${2:-16}"
[ "$status" != 77 ] || skip "no otf2 module"
cat "$work/random.out"
[ "$status" = 0 ] || fail "exit status $status"
